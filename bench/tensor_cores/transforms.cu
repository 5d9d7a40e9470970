// NTTs of 2^8 and 2^16 points: the library's, and as byte matrices on tensor cores.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/ntt_rows.h"
#include "backend/cuda/tuning/transforms.h"
#include "common/rates.h"
#include "math/primes.h"
#include "tensor_cores/bench.h"
#include "tensor_cores/ntt.cuh"

namespace whorl::bench {
namespace {

using namespace backend::cuda;
using Word = TensorBench::Word;

struct Tuned256 {
  static constexpr KernelShape shape = ntt_shape<4, true>(8).kernel[0];
};

/// Transforms modulo one prime of 30 bits: the library's tables, data, room for results.
struct Problem {
  Problem(TensorBench& on, const TransformTables& tables, std::uint32_t N, std::size_t many)
      : bench(on),
        count(many),
        plan(N, static_cast<Word>(math::ntt_primes(30, N, 1)[0])),
        p(plan.modulus().value()),
        reduction(make_uint2(0u - p, static_cast<Word>((std::uint64_t{1} << 48) / p))),
        limbs(ntt_limbs<Word>(on.stream(), tables, std::array{&std::as_const(plan)})),
        in(on.residues({p}, many, N)),
        out(on.stream().allocate<Word>(in.size())),
        want(on.stream().allocate<Word>(in.size())) {
    on.stream().fill(want.data(), 0xff, want.size() * sizeof(Word));
    library();
  }
  /// To `want`.
  void library() const { rows({in.data(), 1, 0}); }
  /// The library's once more on what it gave.
  void library_again() const { rows({want.data(), 1, 0}); }
  void compare(const std::string& what, const std::function<void()>& run) const {
    bench.compare(what, run, out, want);
  }

  TensorBench& bench;
  std::size_t count;
  ring::NttPlan<Word> plan;
  Word p;
  uint2 reduction;  ///< (-p, floor(2^48/p))
  NttLimbs<Word> limbs;
  DeviceArray<Word> in, out, want;

 private:
  void rows(RowsOf<const Word> from) const {
    ntt_rows<Word>(bench.stream(), limbs, true, {.rows = 1}, count, from, {want.data(), 1, 0});
  }
};

template <unsigned cluster>
void launch_long(const Stream& stream, const Ntt65536Arguments& a) {
  constexpr auto kernel = ntt_65536_radix16<cluster>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(long_shared(cluster))),
        "cudaFuncSetAttribute of ntt_65536_radix16");
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(cluster);
  config.blockDim = dim3(tensor_threads);
  config.dynamicSmemBytes = long_shared(cluster);
  config.stream = stream.handle();
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config),
        "cudaOccupancyMaxActiveClusters of ntt_65536_radix16");
  const unsigned rounds = (a.count + static_cast<unsigned>(clusters) - 1) /
                          static_cast<unsigned>(std::max(clusters, 1));
  config.gridDim = dim3((a.count + rounds - 1) / rounds * cluster);
  check(cudaLaunchKernelEx(&config, kernel, a), "cudaLaunchKernelEx of ntt_65536_radix16");
  check_launch("ntt_65536_radix16", config.gridDim, config.blockDim, config.dynamicSmemBytes);
}

}  // namespace

void bench_transforms(TensorBench& bench, const TransformTables& tables) {
  constexpr std::uint32_t N = 256;
  constexpr std::size_t count = std::size_t{1} << 17;  // 128 MB: more than caches hold
  constexpr std::uint32_t repeats = 16;
  const Problem problem(bench, tables, N, count);
  const Word p = problem.p;
  const Word* const in = problem.in.data();
  Word* const out = problem.out.data();
  const Stream& stream = bench.stream();
  const auto upload = [&](const auto& host) { return stream.upload(host.data(), host.size()); };
  const auto matrices = upload(radix16_matrices(problem.plan));
  const auto twiddles = upload(radix16_twiddles(problem.plan));
  const auto large = upload(radix256_matrix(problem.plan));
  check(cudaFuncSetAttribute(ntt_256_radix256, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(matrix256_shared)),
        "cudaFuncSetAttribute of ntt_256_radix256");

  const auto radix16 = [&](std::uint32_t times) {
    const Radix16Arguments a = {
        in, out, count, times, matrices.data(), twiddles.data(), p, problem.reduction};
    const unsigned blocks = 2 * stream.gpu().multiprocessors;
    ntt_256_radix16<<<blocks, tensor_threads, 0, stream.handle()>>>(a);
    check_launch("ntt_256_radix16", blocks, tensor_threads, 0);
  };
  const auto radix256 = [&] {
    const Radix256Arguments a = {in, out, count, large.data(), problem.reduction};
    constexpr unsigned blocks = count / matrix256_columns;
    ntt_256_radix256<<<blocks, tensor_threads, matrix256_shared, stream.handle()>>>(a);
    check_launch("ntt_256_radix256", blocks, tensor_threads, matrix256_shared);
  };
  const auto butterflies = [&](std::uint32_t times) {
    constexpr KernelShape shape = Tuned256::shape;
    const ButterflyArguments a = {in, out, count, times, problem.limbs.forward[0]};
    const unsigned blocks = static_cast<unsigned>((count + shape.units - 1) / shape.units);
    const std::size_t shared = shape.shared_elements() * sizeof(Word);
    ntt_256_butterflies<4, Tuned256><<<blocks, shape.threads(), shared, stream.handle()>>>(a);
    check_launch("ntt_256_butterflies", blocks, shape.threads(), shared);
  };
  const auto library = [&] { problem.library(); };

  const auto verify = [&](const std::string& what, const std::function<void()>& run) {
    problem.compare("ntt_256, " + what, run);
  };
  verify("int8, two passes of radix 16", [&] { radix16(1); });
  verify("int8, one of radix 256", radix256);
  verify("butterflies", [&] { butterflies(1); });
  for (std::uint32_t i = 1; i < repeats; ++i) problem.library_again();
  verify("int8, two passes of radix 16, repeated", [&] { radix16(repeats); });
  verify("butterflies, repeated", [&] { butterflies(repeats); });

  const double values = static_cast<double>(count * N), memory = 8 * values / memory_rate;
  const double once = std::max(memory, values * 2 * 256 / byte_rate);
  bench.time("ntt_256", "N=2^8, 1 limb of 30 bits", count, 8 * values,
             {{"wide", library, std::max(memory, values * 4 / shoup_rate)},
              {"int8", [&] { radix16(1); }, once},
              {"int8, radix 256", radix256, std::max(memory, values * 4096 / byte_rate)}});
  bench.time("ntt_256_repeated", "N=2^8, 1 limb of 30 bits, 16 times in registers", count,
             8 * values,
             {{"wide", [&] { butterflies(repeats); }, values * repeats * 4 / shoup_rate},
              {"int8", [&] { radix16(repeats); }, values * repeats * 2 * 256 / byte_rate}});
}

void bench_long_transforms(TensorBench& bench, const TransformTables& tables, std::uint32_t count) {
  const Problem problem(bench, tables, 1 << 16, count);
  const Stream& stream = bench.stream();
  const auto upload = [&](const auto& host) { return stream.upload(host.data(), host.size()); };
  const auto matrices = upload(radix16_matrices(problem.plan));
  const auto twiddles = upload(long_twiddles(problem.plan));
  const auto powers = upload(long_powers(problem.plan));
  const Ntt65536Arguments a = {problem.in.data(),
                               problem.out.data(),
                               count,
                               matrices.data(),
                               twiddles.data(),
                               powers.data(),
                               problem.p,
                               math::Montgomery<Word>(problem.plan.modulus()).inverse(),
                               problem.reduction};
  const std::function<void()> int8[2] = {[&] { launch_long<8>(stream, a); },
                                         [&] { launch_long<4>(stream, a); }};
  for (unsigned i = 0; i < 2; ++i)
    problem.compare("ntt_65536, int8, clusters of " + std::string(i == 0 ? "8" : "4"), int8[i]);
  const double values = static_cast<double>(problem.in.size()), memory = 8 * values / memory_rate;
  const double bytes = std::max(memory, values * 4 * 256 / byte_rate);
  bench.time("ntt", "N=2^16, 1 limb of 30 bits", count, 8 * values,
             {{"wide", [&] { problem.library(); }, std::max(memory, values * 8 / shoup_rate)},
              {"int8, clusters of 8", int8[0], bytes},
              {"int8, clusters of 4", int8[1], bytes}});
}

}  // namespace whorl::bench
