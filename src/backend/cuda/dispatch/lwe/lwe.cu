#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/lwe/lwe.h"
#include "backend/cuda/dispatch/lwe/strides.h"
#include "backend/cuda/kernels/lwe.cuh"
#include "math/modulus.h"

namespace whorl::backend::cuda {

namespace {

template <class Arithmetic, class In, class Out>
void switch_with(const Stream& stream, std::uint64_t from, std::uint64_t to, std::size_t row,
                 unsigned centre, std::size_t count, const In* in, Out* out) {
  const ModulusRatio<Arithmetic> ratio(from, to);
  if (centre != 0) {
    const std::size_t blocks = (count * 32 + lwe_threads - 1) / lwe_threads;
    return stream.launch("switch_rows_centred", switch_rows_centred<Arithmetic, In, Out>,
                         urgent(dim3(static_cast<unsigned>(blocks)), dim3(lwe_threads)), ratio, row,
                         centre, count, in, out);
  }
  constexpr unsigned width = 16 / std::max(sizeof(In), sizeof(Out));
  const std::size_t size = count * row;
  const bool vectors = aligned(in, width * sizeof(In)) && aligned(out, width * sizeof(Out));
  stream.launch(
      "switch_values",
      vectors ? switch_values<Arithmetic, In, Out, width> : switch_values<Arithmetic, In, Out, 1>,
      urgent(dim3(blocks_for(stream, size, width * lwe_threads)), dim3(lwe_threads)), ratio, size,
      in, out);
}

}  // namespace

template <class Word>
void sample_extract(const Stream& stream, std::uint64_t Q, std::uint32_t N,
                    std::span<const std::uint32_t> offsets, std::uint64_t constant,
                    std::size_t count, const Word* rlwe, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const math::Modulus<Word> q(static_cast<Word>(Q));
  for (std::size_t first = 0; first < offsets.size(); first += most_extracted) {
    const auto some =
        offsets.subspan(first, std::min<std::size_t>(most_extracted, offsets.size() - first));
    ExtractArguments<Word> a = {};
    a.Q = q.value();
    a.constant = static_cast<Word>(constant % Q);
    a.N = N;
    a.offsets = static_cast<std::uint32_t>(some.size());
    std::copy(some.begin(), some.end(), a.offset);
    a.out_stride = offsets.size() * (std::size_t{N} + 1);
    const auto blocks = static_cast<unsigned>(std::min<std::size_t>(count * some.size(), 1u << 20));
    stream.launch("extract_samples", extract_samples<Word>, urgent(dim3(blocks), dim3(lwe_threads)),
                  a, count * some.size(), rlwe, out + first * (std::size_t{N} + 1));
  }
}

template <class In, class Out>
void modulus_switch(const Stream& stream, std::uint64_t from, std::uint64_t to, std::size_t row,
                    unsigned centre, std::size_t count, const In* in, Out* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  if (count == 0 || row == 0) return;
  if (from <= (1ULL << 30))
    switch_with<std::uint32_t>(stream, from, to, row, centre, count, in, out);
  else if (from <= (1ULL << 62))
    switch_with<std::uint64_t>(stream, from, to, row, centre, count, in, out);
  else
    switch_with<unsigned __int128>(stream, from, to, row, centre, count, in, out);
}

template <class Word>
void lwe_linear(const Stream& stream, std::uint64_t q, std::size_t row,
                std::span<const std::int64_t> weights,
                std::type_identity_t<std::span<const Word* const>> in, std::uint64_t constant,
                std::size_t count, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  constexpr unsigned width = 16 / sizeof(Word);
  const std::size_t size = count * row;
  if (size == 0) return;
  // More inputs than one launch takes: the sum so far becomes an input of the next, in memory of
  // its own, as `out` may be an input still to come.
  DeviceArray<Word> so_far;
  std::size_t next = 0;
  bool first = true;
  while (first || next < in.size()) {
    LinearArguments<Word> p{};
    p.q = q;
    p.barrett = ~std::uint64_t{0} / q;
    p.row = row;
    p.size = size;
    auto add = [&](const Word* from, std::uint64_t factor) {
      p.in[p.inputs] = from;
      p.factor[p.inputs] = static_cast<Word>(factor);
      p.factor_shoup[p.inputs++] =
          static_cast<Word>((math::Wide<std::uint64_t>{factor} << (8 * sizeof(Word))) / q);
    };
    if (first)
      p.constant = static_cast<Word>(constant % q);
    else
      add(so_far.data(), 1 % q);
    while (p.inputs < most_linear_inputs && next < in.size()) {
      const auto modulus = static_cast<std::int64_t>(q);
      add(in[next], static_cast<std::uint64_t>((weights[next] % modulus + modulus) % modulus));
      ++next;
    }
    const bool last = next == in.size();
    if (!last && !so_far.data()) so_far = stream.allocate<Word>(size);
    Word* to = last ? out : so_far.data();
    const bool vectors =
        size % width == 0 && aligned(to, 16) &&
        std::all_of(p.in, p.in + p.inputs, [](const Word* x) { return aligned(x, 16); });
    const unsigned blocks = blocks_for(stream, vectors ? size / width : size, lwe_threads);
    stream.launch("combine_linearly",
                  vectors ? combine_linearly<Word, width> : combine_linearly<Word, 1>,
                  urgent(dim3(blocks), dim3(lwe_threads)), p, to);
    first = false;
  }
}

#define WHORL_INSTANTIATE(Word)                                                            \
  template void sample_extract(const Stream&, std::uint64_t, std::uint32_t,                \
                               std::span<const std::uint32_t>, std::uint64_t, std::size_t, \
                               const Word*, Word*);                                        \
  template void lwe_linear(const Stream&, std::uint64_t, std::size_t,                      \
                           std::span<const std::int64_t>, std::span<const Word* const>,    \
                           std::uint64_t, std::size_t, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE
#define WHORL_INSTANTIATE(In, Out)                                                                 \
  template void modulus_switch(const Stream&, std::uint64_t, std::uint64_t, std::size_t, unsigned, \
                               std::size_t, const In*, Out*);
WHORL_INSTANTIATE(std::uint32_t, std::uint32_t)
WHORL_INSTANTIATE(std::uint32_t, std::uint64_t)
WHORL_INSTANTIATE(std::uint64_t, std::uint64_t)
WHORL_INSTANTIATE(std::uint64_t, std::uint32_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
