// Every kernel once on a small shape: what tools/sanitize-gpu.sh runs, under tools that slow it
// down a hundred times. Names contain "Small".
#include "backend/cuda/runtime/gpu.h"
#include "gpu/backend/compare.h"
#include "gpu/backend/rns_compare.h"

namespace whorl::test {
namespace {

using P = std::pair<unsigned, unsigned>;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

using GpuSmall = CpuAndGpu;

TEST_F(GpuSmall, Transforms) {
  for (U32 N = 1 << 8; N <= 1 << 17; N *= 2) {
    const std::size_t batch = N <= 4096 ? 3 : 1;
    compare_ntt<U32>(two, N, 2, batch, random);
    compare_ntt<U64>(two, N, 2, batch, random);
    // Fewer than multiprocessors may go by other kernels.
    if (N >= 1 << 13 && N <= 1 << 15)
      compare_ntt<U32>(two, N, 1, backend::cuda::describe_gpu(0).multiprocessors + 1, random);
    const ring::FftPlan plan(N);
    std::vector<double> in(batch * N);
    for (double& x : in) x = static_cast<double>(random.between(-1000, 1000));
    const auto x = put(*two.gpu, in);
    auto spectrum = two.gpu->allocate<std::complex<double>>(batch * plan.M());
    auto back = two.gpu->allocate<double>(in.size());
    two.gpu->fft().fft(plan, x.slice(), spectrum.slice());
    two.gpu->fft().ifft(plan, std::as_const(spectrum).slice(), back.slice());
    const auto out = get(*two.gpu, back);
    for (std::size_t j = 0; j < in.size(); ++j) ASSERT_NEAR(out[j], in[j], 1e-6) << "N = " << N;
    if (HasFatalFailure()) return;
  }
}

TEST_F(GpuSmall, Elementwise) {
  compare_elementwise<U32>(two, 517, 2, random);
  compare_elementwise<U64>(two, 517, 2, random);
  compare_automorphism<U32>(two, 256, 2, 2, random);
  compare_automorphism<U64>(two, 1024, 1, 1, random);
  compare_take<U32>(two, 3, 256, 2, 5, random);
  compare_take<U64>(two, 3, 512, 2, 5, random);
}

TEST_F(GpuSmall, Lwe) {
  compare_extract<U32>(two, 512, 3, random);
  compare_extract<U64>(two, 256, 3, random);
  compare_modulus_switch<U32, U32>(two, 134215681, 2048, 101, 5, random);
  compare_modulus_switch<U32, U64>(two, 134215681, 1 << 15, 257, 5, random);
  compare_modulus_switch<U64, U32>(two, 1 << 15, 2048, 101, 5, random);
  compare_modulus_switch<U64, U64>(two, 18014398509404161, 1ULL << 35, 257, 5, random);
  compare_linear<U32>(two, 101, 5, 3, random);
  compare_linear<U32>(two, 1, 1, 0, random);
  compare_linear<U64>(two, 101, 5, 3, random);
  compare_linear<U64>(two, 4, 4, 17, random);
  compare_matrix<U32>(two, 11, 3, 4, 3, random);
  compare_matrix<U64>(two, 11, 3, 4, 3, random);
  compare_copy<U32>(two, 1001, random);
  for (const bool table : {false, true}) {
    compare_key_switch<U16>(two, 256, 40, 1 << 15, 5, 3, table, 3, random);
    compare_key_switch<U16>(two, 256, 70, 1 << 14, 7, 2, table, 70, random);
    compare_key_switch<U32>(two, 256, 40, 1 << 20, 5, 4, table, 3, random);
    compare_key_switch<U32>(two, 256, 40, 134215681, 5, 4, table, 3, random);
    compare_key_switch<U64>(two, 256, 40, 1ULL << 35, 5, 7, table, 3, random);
  }
}

// Conversions from one to many limbs; batches that key values are read for at once: 1, 2, 4 and 5.
TEST_F(GpuSmall, Rns) {
  for (const unsigned size : {1u, 2u, 3u, 4u, 7u, 17u})
    for (const std::size_t batch : {1u, 2u, 5u}) {
      const U32 g = static_cast<U32>(2 * random.below(256) + 1);
      for (const unsigned bits : {30u, 31u})
        compare_rns<U32>(two, random_rns_plan<U32>(256, size + 1, size, size, random, bits),
                         size + 1, batch, 2, g, 65537, random);
      compare_rns<U64>(two, random_rns_plan<U64>(256, size + 1, size, size, random), size + 1,
                       batch, 2, g, 65537, random);
      if (HasFatalFailure()) return;
    }
  compare_rns<U32>(two, random_rns_plan<U32>(1 << 15, 2, 1, 1, random), 2, 1, 3, 5, 1, random);
  // From one limb few transforms convert what they load, from more they do not.
  for (const unsigned size : {1u, 2u})
    for (const unsigned bits : {30u, 31u})
      compare_rns<U32>(two, random_rns_plan<U32>(1 << 13, size + 1, size, size, random, bits),
                       size + 1, 1, 2, 77, 65537, random);
}

TEST_F(GpuSmall, RnsBases) {
  for (const std::size_t batch : {1u, 3u}) {
    compare_bases<U32>(two, random_rns_plan<U32>(256, 6, 3, 2, random), batch, random);
    compare_bases<U64>(two, random_rns_plan<U64>(256, 5, 2, 2, random), batch, random);
    if (HasFatalFailure()) return;
  }
}

// Many pieces of pinned memory, by several threads, in and out.
TEST_F(GpuSmall, CopiesOfManyPieces) {
  backend::DeviceOptions options;
  options.threads = 4;
  const auto queue = backend::open_queue("cuda:0", options);
  for (const std::size_t size :
       {std::size_t{1}, (std::size_t{1} << 20) - 1, (std::size_t{20} << 20) + random.below(4096)}) {
    std::vector<std::uint8_t> there(size), back(size);
    for (std::size_t i = 0; i < size; ++i)
      there[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
    auto buffer = queue->allocate<std::uint8_t>(size);
    queue->upload<std::uint8_t>(there, buffer.slice());
    queue->download<std::uint8_t>(std::as_const(buffer).slice(), back);
    ASSERT_TRUE(back == there) << size << " bytes";
  }
}

TEST_F(GpuSmall, AnInterruptStopsThePreparationOfKeys) {
  const RotationCase<U32> c({3, 512, 27, 2, {P{7, 3}}}, 1, 1, random);
  bool stop = true;
  backend::DeviceOptions options;
  options.threads = 2;
  options.interrupt = [&] { return stop; };
  const auto queue = backend::open_queue("cuda:0", options);
  EXPECT_THROW(c.prepare(*queue, backend::Arithmetic::ntt), InterruptedError);
  stop = false;
  const auto cpu_queue = backend::open_queue("cpu");
  EXPECT_TRUE(c.rotate(*queue, *c.prepare(*queue, backend::Arithmetic::ntt), 0, 1) ==
              c.rotate(*cpu_queue, *c.prepare(*cpu_queue, backend::Arithmetic::ntt), 0, 1));
}

// In every way; over clusters of eight blocks (three digits) and of four.
// One case a test, so that racecheck, the slowest of the sanitizers, can run them side by side.
class GpuSmallRing : public testing::TestWithParam<std::tuple<U32, unsigned, int>> {};
INSTANTIATE_TEST_SUITE_P(N, GpuSmallRing,
                         testing::Combine(testing::Values(256, 512, 1024, 2048, 4096, 8192),
                                          testing::Values(1, 2), testing::Range(0, 4)),
                         [](const auto& row) {
                           return std::to_string(std::get<0>(row.param)) +
                                  (std::get<1>(row.param) == 1 ? "_binary_" : "_ternary_") +
                                  std::to_string(std::get<2>(row.param));
                         });

TEST_P(GpuSmallRing, BlindRotationNtt) {
  Random random;
  const auto [N, keys, number] = GetParam();
  // A block takes one ciphertext of large rings.
  const std::size_t some = N >= 4096 ? 1 : 3;
  switch (number) {
    case 0:
      return compare_rotation<U32>({2, N, 27, keys, {P{7, 3}}}, {some}, random);
    case 1:
      return compare_rotation<U32>({2, N, 27, keys, {P{9, 2}}}, {1}, random);
    case 2:
      return compare_rotation<U64>({2, N, 54, keys, {P{27, 1}, P{14, 3}}}, {some}, random);
    default:
      return compare_rotation<U64>({2, N, 54, keys, {P{27, 1}}}, {1}, random);
  }
}

// Values are the business of rotation_test.cpp; here they only have to repeat.
template <class Word>
void twice(const Rotation& r, Random& random) {
  SCOPED_TRACE(describe(r));
  const RotationCase<Word> c(r, 3, 2, random);
  for (const auto way : forced_ways) {
    const auto queue = cuda(0, way);
    const auto prepared = c.prepare(*queue, backend::Arithmetic::fft);
    const auto first = c.rotate(*queue, *prepared, 0, 3);
    ASSERT_LT(*std::max_element(first.begin(), first.end()), c.key.shape.Q) << way_name(way);
    ASSERT_TRUE(c.rotate(*queue, *prepared, 0, 3) == first) << way_name(way);
    // Samples are those of the accumulators: a bit for bit, b summed in another order. A last step
    // that was not taken, or another taken for it, would leave b anywhere.
    const auto samples = c.extract(*queue, *prepared, 0, 3), wanted = c.samples_of(first);
    const std::uint64_t Q = c.key.shape.Q;
    for (std::size_t j = 0; j < wanted.size(); ++j) {
      const auto error = centred((samples[j] + Q - wanted[j]) % Q, Q);
      ASSERT_LE(std::abs(static_cast<double>(error)),
                j % (r.N + 1) == r.N ? static_cast<double>(Q) * 0x1p-7 : 0)
          << way_name(way) << ", word " << j;
    }
  }
}

TEST_F(GpuSmall, BlindRotationFft) {
  for (U32 N = 1 << 8; N <= 1 << 13; N *= 2)
    for (const unsigned keys : {1u, 2u}) {
      twice<U32>({2, N, 27, keys, {P{7, 4}}}, random);
      twice<U32>({2, N, 27, keys, {P{9, 2}}}, random);
      twice<U64>({2, N, 54, keys, {P{27, 1}}}, random);
      if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace whorl::test
