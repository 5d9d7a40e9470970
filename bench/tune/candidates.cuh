// From a table of shapes to the kernels of each, for a TransformTuner.
#pragma once

#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/cuda/kernels/transforms.cuh"
#include "transforms.h"

namespace whorl::tune {

using backend::cuda::TunedKernel;

/// For tables: the passes of the bits of `cyclic` are cyclic (Split::cyclic).
constexpr TransformShape with_cyclic(TransformShape shape, int cyclic) {
  shape.kernel[0].split.cyclic = shape.kernel[1].split.cyclic = cyclic;
  return shape;
}

/// Candidate `index` of a table, as NttTuning and FftTuning are: a type that names kernels.
template <class Table, int index>
struct Candidate {
  static constexpr TransformShape shape = Table::shapes[index];
  static_assert(shape.kernel[0].split.valid());
  using Canonical = Candidate;
};

template <TransformShape shape>
struct ShapeTag;
template <class A, class B>
inline constexpr bool same_shape = std::is_same_v<ShapeTag<A::shape>, ShapeTag<B::shape>>;

/// A kernel of one candidate, ready to be launched.
template <class Arguments>
struct Launch {
  void (*kernel)(Arguments);
  KernelShape shape;
  std::size_t shared_bytes;

  /// Lets the kernel have its shared memory.
  KernelFacts prepare() const { return prepare_kernel(kernel, shape.threads(), shared_bytes); }

  void operator()(const backend::cuda::Stream& stream, const Arguments& arguments,
                  unsigned rows = 1) const {
    const std::size_t units = std::size_t{arguments.batch} << shape.log_parts();
    const dim3 grid(static_cast<unsigned>((units + shape.units - 1) / shape.units), rows);
    const dim3 block(static_cast<unsigned>(shape.threads()));
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream.handle();
    cudaLaunchAttribute attribute = {};
    if (shape.log_cluster > 0) {
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim = {1u << shape.log_cluster, 1, 1};
      config.attrs = &attribute;
      config.numAttrs = 1;
    }
    // The error, if any, is reported by check_launch, which names the sizes.
    (void)cudaLaunchKernelEx(&config, kernel, arguments);
    backend::cuda::check_launch("candidate", grid, block, shared_bytes);
  }
};

/// The launches of a direction in the order of the forward transform: `kernel_of(TunedKernel)` is
/// the kernel of one.
template <class Tuning, class T, class Arguments, class KernelOf>
std::vector<Launch<Arguments>> launches(const KernelOf& kernel_of) {
  constexpr TransformShape shape = Tuning::shape;
  std::vector<Launch<Arguments>> out;
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (out.push_back({kernel_of(TunedKernel<Tuning, i>{}), shape.kernel[i],
                    shape.kernel[i].shared_elements() * sizeof(T)}),
     ...);
  }
  (std::make_integer_sequence<int, shape.kernels>());
  return out;
}
template <class Arguments>
std::vector<KernelFacts> prepare(const std::vector<Launch<Arguments>>& launches) {
  std::vector<KernelFacts> out;
  for (const auto& launch : launches) out.push_back(launch.prepare());
  return out;
}

/// Calls measure<Tuning>() for the shapes in use of a size, with and without clusters, and for the
/// candidates that differ from them.
template <class With, class Without, class Table, class Measure>
void for_candidates(const Measure& measure) {
  measure.template operator()<With>();
  if constexpr (!same_shape<With, Without>) measure.template operator()<Without>();
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (
        [&] {
          using Other = Candidate<Table, i>;
          constexpr int log_n = Other::shape.kernel[0].split.log_n;
          if constexpr (log_n == With::shape.kernel[0].split.log_n && !same_shape<Other, With> &&
                        !same_shape<Other, Without>)
            measure.template operator()<Other>();
        }(),
        ...);
  }
  (std::make_integer_sequence<int, static_cast<int>(std::size(Table::shapes))>());
}
/// Calls f<log_n>() for each size from the first to the last.
template <int log_n, int last, class F>
void for_sizes(const F& f) {
  f.template operator()<log_n>();
  if constexpr (log_n < last) for_sizes<log_n + 1, last>(f);
}

}  // namespace whorl::tune
