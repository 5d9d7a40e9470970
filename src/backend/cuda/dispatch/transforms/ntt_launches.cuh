// How kernels of transforms are launched, and how calls on rows of RNS arrays are cut into
// launches: what the files of transforms share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/transforms/ntt_rows.h"
#include "backend/cuda/kernels/transforms.cuh"
#include "backend/cuda/tuning/transforms.h"

namespace whorl::backend::cuda {

inline constexpr int smallest_log_n = 8, largest_log_n = 17;

/// A kernel and how it is launched, for any arguments.
template <class Arguments>
struct Launch {
  void (*kernel)(Arguments) = nullptr;
  const char* name = "";
  unsigned units = 1, threads = 0, log_parts = 0, cluster = 1;
  std::size_t shared_bytes = 0;

  template <KernelShape shape, class T>
  static Launch of(void (*kernel)(Arguments), const char* name) {
    return {kernel,
            name,
            static_cast<unsigned>(shape.units),
            static_cast<unsigned>(shape.threads()),
            static_cast<unsigned>(shape.log_parts()),
            1u << shape.log_cluster,
            shape.shared_elements() * sizeof(T)};
  }

  void operator()(const Stream& stream, std::size_t batch, const Arguments& arguments,
                  std::size_t rows = 1, std::size_t parts = 1) const {
    const std::size_t all_units = batch << log_parts;
    const dim3 grid(static_cast<unsigned>((all_units + units - 1) / units),
                    static_cast<unsigned>(rows), static_cast<unsigned>(parts)),
        block(threads);
    launch_chained(stream, name, kernel, {grid, block, shared_bytes, cluster}, arguments);
  }
};

/// The launches of one direction of one size, in their order.
template <class Arguments>
struct Launches {
  int count = 0;
  Launch<Arguments> launch[2];
};

/// Calls f.template operator()<log_n>() for a size known at run time; plans allow no others.
template <int log_n = smallest_log_n, class F>
auto for_size(std::uint32_t N, const F& f) {
  if constexpr (log_n < largest_log_n)
    if (N != 1u << log_n) return for_size<log_n + 1>(N, f);
  return f.template operator()<log_n>();
}

/// How many transforms are launched together, and whether by clusters of blocks.
struct Many {
  bool clusters, few;
  Many(const Stream& stream, std::size_t transforms)
      : clusters(stream.gpu().has_clusters()), few(transforms <= stream.gpu().multiprocessors) {}
};

/// Calls f.template operator()<headroom>(), where headroom says how many times the largest modulus
/// fits in a word.
template <class Word, class F>
auto for_headroom(Word q, const F& f) {
  if constexpr (sizeof(Word) == 4) {
    if (q < (1u << 28)) return f.template operator()<16>();
    if (q < (1u << 30)) return f.template operator()<4>();
    return f.template operator()<2>();
  } else {
    return f.template operator()<8>();
  }
}

/// Calls f.template operator()<headroom, Tuning>() for what transforms of N points modulo up to q
/// are tuned to.
template <class Word, class F>
auto for_tuning(Many many, std::uint32_t N, Word q, const F& f) {
  return for_headroom(q, [&]<int headroom>() {
    return for_size(N, [&]<int log_n>() {
      if constexpr (few_ntt_cluster<sizeof(Word)>(log_n) > 0)
        if (many.clusters && many.few)
          return f.template operator()<headroom, FewNttTuning<sizeof(Word), log_n>>();
      using With = typename NttTuning<sizeof(Word), log_n, Clusters::present>::Canonical;
      using Without = typename NttTuning<sizeof(Word), log_n, Clusters::none>::Canonical;
      return many.clusters ? f.template operator()<headroom, With>()
                           : f.template operator()<headroom, Without>();
    });
  });
}

/// The launches of plain transforms, for moduli up to q. The functions that choose kernels are in
/// files of their own, because kernels take long to compile.
template <class Word, Direction direction>
Launches<NttArguments<Word>> choose_ntt(Many many, std::uint32_t N, Word q);
template <class Word>
Launches<NttArguments<Word>> choose_ntt(Many many, std::uint32_t N, bool forward, Word q) {
  return forward ? choose_ntt<Word, Direction::forward>(many, N, q)
                 : choose_ntt<Word, Direction::inverse>(many, N, q);
}
/// The kernel for few forward transforms with `ends`: converts, or converts_and_divides. It exists
/// only for some N.
template <class Word, NttEnds ends>
Launch<NttArguments<Word>> converting_launch(std::uint32_t N, Word q);
/// The last kernel of forward transforms that divide.
template <class Word>
Launch<NttArguments<Word>> dividing_launch(Many many, std::uint32_t N, Word q);
/// The first kernel of inverse transforms of products.
template <class Word>
Launch<NttArguments<Word>> multiplying_launch(Many many, std::uint32_t N, Word q);

/// All launches for `rows` rows of each part as `arguments` places them: the first from `in` to
/// `out`, a second in place.
template <class Word>
void launch_all(const Stream& stream, const Launches<NttArguments<Word>>& launches,
                std::size_t batch, std::size_t rows, std::size_t parts,
                NttArguments<Word>& arguments) {
  for (int i = 0; i < launches.count; ++i) {
    launches.launch[i](stream, batch, arguments, rows, parts);
    arguments.in = arguments.out;
    arguments.places.in_first = arguments.places.out_first;
    arguments.places.in_stride = arguments.places.out_stride;
  }
}

/// Calls run(arguments, rows of a part) for as many rows of each part at a time as a launch
/// takes; `limbs`: those of the direction.
template <class Word, class Run>
void for_row_launches(const std::vector<NttLimb<Word>>& limbs, const NttSelection& selection,
                      std::size_t batch, RowsOf<const Word> in, RowsOf<Word> out, const Run& run) {
  for (std::size_t first = 0; first < selection.rows; first += ntt_limbs_a_launch) {
    const std::size_t rows = std::min<std::size_t>(ntt_limbs_a_launch, selection.rows - first);
    NttArguments<Word> arguments = {};
    arguments.in = in.data;
    arguments.out = out.data;
    arguments.batch = static_cast<std::uint32_t>(batch);
    arguments.places = {static_cast<std::uint32_t>(in.first + first),
                        static_cast<std::uint32_t>(in.stride),
                        static_cast<std::uint32_t>(out.first + first),
                        static_cast<std::uint32_t>(out.stride),
                        selection.digit_limbs,
                        selection.own_below + selection.missing,
                        static_cast<std::uint32_t>(first + selection.missing)};
    for (std::size_t row = 0; row < rows; ++row)
      arguments.limbs[row] = limbs[selection.limb(first + row)];
    run(arguments, rows);
  }
}
/// The largest modulus of the rows.
template <class Word>
Word largest_modulus(const std::vector<NttLimb<Word>>& limbs, const NttSelection& selection) {
  Word largest = 0;
  for (std::size_t row = 0; row < selection.rows; ++row)
    largest = std::max(largest, limbs[selection.limb(row)].q);
  return largest;
}

}  // namespace whorl::backend::cuda
