// Every refusal of the device: shapes, devices, parameters.
#include "support/rotation_shapes.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::put;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr U32 q32 = 7681;  // 1 mod 512

/// `call` throws an E that says `what`.
template <class E, class Call>
void expect_error(const Call& call, const std::string& what) {
  test::expect_message<E>(call, {what});
}

struct BackendErrors : testing::TestWithParam<const char*> {
  std::unique_ptr<Queue> device = open_queue(GetParam()), other = open_queue(GetParam());
  math::Modulus<U32> q{q32};
  std::span<const math::Modulus<U32>> limb{&q, 1};
  Buffer<U32> a = device->allocate<U32>(512), b = device->allocate<U32>(512),
              small = device->allocate<U32>(511), foreign = other->allocate<U32>(512);
  Slice<const U32> ca = std::as_const(a).slice(), cs = std::as_const(small).slice(),
                   cf = std::as_const(foreign).slice();
  const RingOps<U32>& rings() const { return device->ring<U32>(); }
  const RotationOps<U32>& rotations() const { return device->rotation<U32>(); }
  const LweOps& lwe() const { return device->lwe(); }
  const FftOps& fft() const { return device->fft(); }
};

INSTANTIATE_TEST_SUITE_P(Devices, BackendErrors, testing::ValuesIn(test::tested_devices()));

TEST_P(BackendErrors, Slices) {
  EXPECT_THROW(a.slice().part(1, 512), ShapeError);
  EXPECT_THROW(a.slice().part(513, 0), ShapeError);
  EXPECT_THROW(a.slice().part(1, SIZE_MAX), ShapeError);
  EXPECT_NO_THROW(a.slice().part(512, 0));
}

TEST_P(BackendErrors, Transfers) {
  std::vector<U32> host(512);
  EXPECT_THROW(device->upload<U32>(std::span<const U32>(host), small.slice()), ShapeError);
  EXPECT_THROW(device->download<U32>(cs, std::span<U32>(host)), ShapeError);
  EXPECT_THROW(device->upload<U32>(std::span<const U32>(host), foreign.slice()), DeviceError);
  EXPECT_THROW(device->download<U32>(cf, std::span<U32>(host)), DeviceError);
}

TEST_P(BackendErrors, Elementwise) {
  EXPECT_THROW(rings().add(limb, ca, cs, b.slice()), ShapeError);
  EXPECT_THROW(rings().add(limb, ca, ca, small.slice()), ShapeError);
  EXPECT_THROW(rings().mul(limb, cf, ca, b.slice()), DeviceError);
  EXPECT_THROW(rings().mul(limb, ca, cf, b.slice()), DeviceError);
  EXPECT_THROW(rings().mul_add(limb, ca, ca, foreign.slice()), DeviceError);
  EXPECT_THROW(rings().neg(limb, ca, small.slice()), ShapeError);
  EXPECT_THROW(rings().sub({}, ca, ca, b.slice()), ShapeError);
  const math::Modulus<U32> three[] = {q, q, q};
  EXPECT_THROW(rings().add(three, ca, ca, b.slice()),
               ShapeError);  // 512 is not a multiple of 3
  const U32 scalars[] = {1, 2};
  EXPECT_THROW(rings().mul_scalar(limb, ca, scalars, b.slice()), ShapeError);
}

TEST_P(BackendErrors, Transforms) {
  const ring::NttPlan<U32> plan(256, q32), larger(512, 12289);
  const ring::NttPlan<U32>* one[] = {&plan};
  const ring::NttPlan<U32>* mixed[] = {&plan, &larger};
  EXPECT_THROW(rings().ntt(one, small.slice()), ShapeError);
  EXPECT_THROW(rings().ntt(std::span<const ring::NttPlan<U32>* const>{}, a.slice()), ShapeError);
  EXPECT_THROW(rings().ntt(mixed, a.slice()), ShapeError);
  EXPECT_THROW(rings().intt(one, foreign.slice()), DeviceError);
  const ring::FftPlan of_reals(256);
  auto reals = device->allocate<double>(512);
  auto values = device->allocate<std::complex<double>>(128);
  EXPECT_THROW(fft().fft(of_reals, std::as_const(reals).slice(), values.slice()), ShapeError);
  EXPECT_THROW(fft().ifft(of_reals, std::as_const(values).slice(), reals.slice()), ShapeError);
  EXPECT_THROW(
      other->fft().fft(of_reals, std::as_const(reals).slice().part(0, 256), values.slice()),
      DeviceError);
  const Slice<const std::complex<double>> spectra = std::as_const(values).slice();
  expect_error<ShapeError>([&] { fft().interpolate(of_reals, spectra, reals.slice()); },
                           "interpolate: input has 128 elements; it must have 256");
  EXPECT_THROW(fft().interpolate(of_reals, spectra, reals.slice().part(0, 255)), ShapeError);
  EXPECT_THROW(other->fft().interpolate(of_reals, spectra, reals.slice().part(0, 256)),
               DeviceError);
}

std::shared_ptr<const ring::RnsPlan<U32>> two_primes() {
  const auto primes = math::ntt_primes(30, 256, 2);
  const std::vector<U32> chain(primes.begin(), primes.end());
  return std::make_shared<const ring::RnsPlan<U32>>(256, chain, std::span<const U32>(), 1);
}

TEST_P(BackendErrors, Rounding) {
  const auto plan = two_primes();
  const auto& ops = device->rns<U32>();
  const auto tables = ops.prepare(plan), others = other->rns<U32>().prepare(plan);
  const auto zeros = put(*device, std::vector<double>(256, 0)),
             far = put(*other, std::vector<double>(256, 0));
  U32 step = 1;
  const auto round = [&](const auto& with, const ring::Basis& basis, double scale, U32 n,
                         Slice<const double> in, Slice<U32> out) {
    return [&, basis, scale, n, in, out] { ops.round(*with, basis, scale, n, step, in, out); };
  };
  const ring::Basis both{0, 1};
  EXPECT_NO_THROW(round(tables, both, 1, 256, zeros.slice(), a.slice())());
  for (const U32 wrong : {0u, 3u, 512u}) {
    step = wrong;
    expect_error<ParameterError>(round(tables, both, 1, 256, zeros.slice(), a.slice()),
                                 "is not a power of two in N/n = 1 … N = 256");
  }
  const Slice<const double> some = zeros.slice().part(0, 64);
  step = 2;
  expect_error<ParameterError>(round(tables, both, 1, 64, some, a.slice()), "N/n = 4");
  for (const U32 right : {4u, 256u}) {
    step = right;
    EXPECT_NO_THROW(round(tables, both, 1, 64, some, a.slice())());
  }
  for (const double scale : {0.0, -1.0, std::nan(""), HUGE_VAL})
    expect_error<ParameterError>(round(tables, both, scale, 256, zeros.slice(), a.slice()),
                                 "is not positive and finite");
  for (const U32 n : {0u, 3u, 512u})
    expect_error<ParameterError>(round(tables, both, 1, n, zeros.slice(), a.slice()),
                                 "n must be a power of two up to N = 256");
  EXPECT_THROW(round(tables, both, 1, 128, zeros.slice(), a.slice())(), ShapeError);
  EXPECT_THROW(round(tables, both, 1, 256, zeros.slice().part(0, 255), a.slice())(), ShapeError);
  EXPECT_THROW(round(tables, both, 1, 256, zeros.slice(), small.slice())(), ShapeError);
  EXPECT_THROW(round(tables, {0, 2}, 1, 256, zeros.slice(), a.slice())(), ParameterError);
  EXPECT_THROW(round(others, both, 1, 256, zeros.slice(), a.slice())(), DeviceError);
  EXPECT_THROW(round(tables, both, 1, 256, far.slice(), a.slice())(), DeviceError);
  EXPECT_THROW(round(tables, both, 1, 256, zeros.slice(), foreign.slice())(), DeviceError);
}

TEST_P(BackendErrors, Automorphism) {
  for (const U32 g : {0u, 2u, 512u, 513u, 511u + 512u})
    EXPECT_THROW(rings().automorphism(limb, 256, g, false, ca, b.slice()), ParameterError) << g;
  EXPECT_THROW(rings().automorphism(limb, 100, 3, false, ca, b.slice()), ParameterError);
  EXPECT_THROW(rings().automorphism(limb, 256, 3, false, ca, a.slice()), ShapeError);
  EXPECT_THROW(rings().automorphism(limb, 256, 3, true, cs, small.slice()), ShapeError);
  EXPECT_THROW(rings().automorphism({}, 256, 3, true, ca, b.slice()), ShapeError);
}

TEST_P(BackendErrors, Take) {  // 512 words are two polynomials of 256, `small` is one
  const U32 good[] = {1, 0}, bad[] = {1, 2};
  EXPECT_NO_THROW(rings().take(1, 256, good, ca, 0, b.slice()));
  EXPECT_NO_THROW(rings().take(1, 256, {}, ca, 2, b.slice()));
  EXPECT_THROW(rings().take(1, 256, bad, ca, 0, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(2, 256, good, ca, 0, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(0, 256, good, ca, 0, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(3, 256, good, ca, 0, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(1, 100, good, ca, 0, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(1, 256, good, ca, 1, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(1, 256, {}, ca, 3, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(1, 256, good, ca, ~std::size_t{0}, b.slice()), ShapeError);
  EXPECT_THROW(rings().take(1, 256, good, ca, 0, small.slice()), ShapeError);
  EXPECT_THROW(rings().take(1, 256, good, ca, 0, a.slice()), ShapeError);
  EXPECT_THROW(rings().take(1, 256, good, cf, 0, b.slice()), DeviceError);
  EXPECT_THROW(rings().take(1, 256, good, ca, 0, foreign.slice()), DeviceError);
}

TEST_P(BackendErrors, LweOperations) {
  EXPECT_THROW(lwe().modulus_switch(1024, 2048, 100, 0, ca, b.slice()), ShapeError);
  EXPECT_THROW(lwe().modulus_switch(1024, 2048, 0, 0, ca, b.slice()), ShapeError);
  EXPECT_THROW(lwe().modulus_switch(1024, 2048, 512, 0, ca, small.slice()), ShapeError);
  EXPECT_THROW(lwe().modulus_switch(1024, 2048, 512, 0, cf, b.slice()), DeviceError);
  EXPECT_THROW(rotations().extract(q32, 256, 0, ca, b.slice()), ShapeError);
  EXPECT_THROW(rotations().extract(q32, 200, 0, ca, b.slice()), ParameterError);
  const std::int64_t weights[] = {1, 2};
  const Slice<const U32> one[] = {ca}, wrong[] = {ca, cs}, theirs[] = {ca, cf};
  EXPECT_THROW(lwe().linear<U32>(16, 64, weights, one, 0, b.slice()), ShapeError);
  EXPECT_THROW(lwe().linear<U32>(16, 64, weights, wrong, 0, b.slice()), ShapeError);
  EXPECT_THROW(lwe().linear<U32>(16, 64, weights, theirs, 0, b.slice()), DeviceError);
  EXPECT_THROW(lwe().linear<U32>(16, 100, weights, wrong, 0, b.slice()), ShapeError);
}

// Moduli that do not fit the words in which residues are given would be cut without notice.
TEST_P(BackendErrors, ModuliBeyondTheirWords) {
  auto extracted = device->allocate<U32>(257);
  EXPECT_THROW(rotations().extract((1ULL << 32) + q32, 256, 0, ca, extracted.slice()),
               ParameterError);
  EXPECT_THROW(lwe().modulus_switch(1024, 1ULL << 33, 512, 0, ca, b.slice()), ParameterError);
  const std::int64_t weights[] = {1};
  const Slice<const U32> one[] = {ca};
  EXPECT_THROW(lwe().linear<U32>(1ULL << 33, 64, weights, one, 0, b.slice()), ParameterError);
  // Ring elements are in 32-bit words below 2^31 alone.
  expect_error<ParameterError>(
      [&] { rotations().extract(1ULL << 31, 256, 0, ca, extracted.slice()); },
      "Q = 2147483648 needs words of 64 bits");
  // Sums of products take moduli below 2^61.
  const auto wide = put(*device, std::vector<U64>(8, 1));
  const Slice<const U64> inputs[] = {wide.slice()};
  auto sum = device->allocate<U64>(8);
  const std::uint64_t constants[] = {0};
  for (const U64 q61 : {1ULL << 61, (1ULL << 62) + 1}) {
    const std::string due =
        "modulus " + std::to_string(q61) + " is outside [2, 2305843009213693952)";
    expect_error<ParameterError>(
        [&] { lwe().linear<U64>(q61, 8, weights, inputs, 0, sum.slice()); }, due);
    expect_error<ParameterError>(
        [&] { lwe().matrix<U64>(q61, 8, weights, constants, wide.slice(), sum.slice()); }, due);
  }
  EXPECT_NO_THROW(lwe().linear<U64>((1ULL << 61) - 1, 8, weights, inputs, 0, sum.slice()));
}

TEST_P(BackendErrors, OutputsThatOverlapInputs) {
  const std::int64_t entries[] = {1};
  const std::uint64_t constants[] = {0};
  const auto matrix = [&](std::size_t from, std::size_t to) {
    lwe().matrix<U32>(16, 64, entries, constants, ca.part(from, 128), a.slice().part(to, 128));
  };
  expect_error<ShapeError>([&] { matrix(0, 0); }, "begins at element 0");
  expect_error<ShapeError>(
      [&] { matrix(64, 191); },
      "input of 128 elements and the output of 128 overlap: the output begins at "
      "element 127");
  EXPECT_THROW(matrix(127, 0), ShapeError);
  EXPECT_NO_THROW(matrix(128, 0));
  EXPECT_NO_THROW(matrix(0, 128));

  device->upload<U32>(std::vector<U32>(512, 1), a.slice());
  auto large = put(*device, std::vector<U32>(2048, 1));
  const Slice<U32> out = large.slice();
  const Slice<const U32> in = std::as_const(large).slice();
  const auto apart_only = [&](const char* name, const auto& call) {
    SCOPED_TRACE(name);
    expect_error<ShapeError>([&] { call(0); }, "begins at element 0");
    expect_error<ShapeError>([&] { call(1); }, "begins at element 1");
    expect_error<ShapeError>([&] { call(511); }, "begins at element 511");
    EXPECT_NO_THROW(call(512));
  };
  const auto in_place = [&](const char* name, const auto& call) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(call(0));
    expect_error<ShapeError>([&] { call(1); }, "begins at element 1");
    expect_error<ShapeError>([&] { call(511); }, "begins at element 511");
    EXPECT_NO_THROW(call(512));
  };
  const Slice<const U32> x = in.part(0, 512);
  const auto to = [&](std::size_t begin) { return out.part(begin, 512); };
  const U32 backwards[] = {1, 0};
  apart_only("copy", [&](std::size_t k) { device->copy<U32>(x, to(k)); });
  for (const bool evaluation_form : {false, true})
    apart_only("automorphism", [&](std::size_t k) {
      rings().automorphism(limb, 256, 3, evaluation_form, x, to(k));
    });
  apart_only("take", [&](std::size_t k) { rings().take(1, 256, backwards, x, 0, to(k)); });
  in_place("add", [&](std::size_t k) { rings().add(limb, x, ca, to(k)); });
  in_place("sub", [&](std::size_t k) { rings().sub(limb, ca, x, to(k)); });
  in_place("neg", [&](std::size_t k) { rings().neg(limb, x, to(k)); });
  in_place("mul_add", [&](std::size_t k) { rings().mul_add(limb, ca, x, to(k)); });
  const U32 one[] = {1};
  in_place("mul_scalar", [&](std::size_t k) { rings().mul_scalar(limb, x, one, to(k)); });
  in_place("modulus_switch",
           [&](std::size_t k) { lwe().modulus_switch(q32, q32, 64, 0, x, to(k)); });
  const std::int64_t weights[] = {1, 1};
  const Slice<const U32> two[] = {ca, x};
  in_place("linear", [&](std::size_t k) { lwe().linear<U32>(q32, 64, weights, two, 0, to(k)); });
  apart_only("extract",
             [&](std::size_t k) { rotations().extract(q32, 256, 0, x, out.part(k, 257)); });

  // In place, words must have one size.
  const Slice<const U64> words{reinterpret_cast<const U64*>(in.data), 256, in.queue};
  expect_error<ShapeError>(
      [&] { lwe().modulus_switch(1024, 512, 64, 0, words, out.part(0, 256)); },
      "input of 256 elements and the output of 256 overlap: the output begins at element 0");
  EXPECT_NO_THROW(lwe().modulus_switch(1024, 512, 64, 0, words, out.part(512, 256)));
  const Slice<U64> wide{reinterpret_cast<U64*>(out.data), 256, out.queue};
  expect_error<ShapeError>([&] { lwe().modulus_switch(1024, 512, 64, 0, in.part(256, 256), wide); },
                           "begins at element -256");
}

RotationShape shape(U64 Q, unsigned keys, Arithmetic arithmetic) {
  return test::ginx_shape(256, Q, keys, {2, ring::Gadget(Q, 7, 2)}, arithmetic);
}
template <class Word>
RowSource<Word> zeros() {
  return [](std::size_t, std::span<Word> a, std::span<Word> b) {
    std::fill(a.begin(), a.end(), Word{0});
    std::fill(b.begin(), b.end(), Word{0});
  };
}

TEST_P(BackendErrors, KeySwitchesAndRotationsThatOverlap) {
  const SwitchShape to_lwe{16, 8, 1 << 14, ring::Gadget(1 << 14, 5, 3), false};
  const auto switching = lwe().prepare_switch_key(to_lwe, zeros<U64>());
  auto x = put(*device, std::vector<U32>(4096, 0));
  const Slice<const U32> in = std::as_const(x).slice();
  const auto key_switch = [&](std::size_t from, std::size_t to) {
    lwe().key_switch<U32>(*switching, in.part(from, 17), x.slice().part(to, 9));
  };
  expect_error<ShapeError>([&] { key_switch(0, 0); }, "key_switch: input of 17 elements");
  EXPECT_THROW(key_switch(0, 16), ShapeError);
  EXPECT_THROW(key_switch(8, 0), ShapeError);
  EXPECT_NO_THROW(key_switch(0, 20));
  EXPECT_NO_THROW(key_switch(12, 0));

  // One ciphertext of 3 words, one table of 256.
  const auto key = rotations().prepare(shape(q32, 1, Arithmetic::ntt), zeros<U32>());
  const U32 index[] = {0}, offsets[] = {0, 5};
  const auto rotate = [&](std::size_t sample, std::size_t table, std::size_t to) {
    rotations().rotate(*key, {in.part(sample, 3), in.part(table, 256), index},
                       x.slice().part(to, 512));
  };
  expect_error<ShapeError>([&] { rotate(0, 1000, 2); }, "blind_rotate: ciphertexts of 3 elements");
  expect_error<ShapeError>([&] { rotate(0, 1000, 745); }, "blind_rotate: look-up tables of 256");
  EXPECT_THROW(rotate(0, 1000, 1255), ShapeError);
  EXPECT_NO_THROW(rotate(0, 1000, 4));
  EXPECT_NO_THROW(rotate(0, 1000, 1256));
  const auto samples = [&](std::span<const U32> of, std::size_t to) {
    rotations().rotate_extract(*key, {in.part(0, 3), in.part(1000, 256), index}, of, 0,
                               x.slice().part(to, of.size() * 257));
  };
  for (const std::size_t several : {1, 2}) {
    const std::span<const U32> of = std::span(offsets).first(several);
    EXPECT_THROW(samples(of, 0), ShapeError);
    EXPECT_THROW(samples(of, 1001), ShapeError);
    EXPECT_NO_THROW(samples(of, 4));
  }
  // Two tables that are placed, for three rows.
  const std::vector<U32> vectors(512, 3);
  const U32 numbers[] = {0, 1, 1}, beyond[] = {0, 2};
  expect_error<ShapeError>([&] { rotations().place(256, vectors, beyond); },
                           "ciphertext 1 asks for table 2");
  EXPECT_THROW(rotations().place(256, std::span(vectors).first(300), numbers), ShapeError);
  const auto placed = rotations().place(256, vectors, numbers);
  EXPECT_EQ(placed.rows(), 3u);
  const auto by_placed = [&](std::size_t first, std::size_t to) {
    rotations().rotate_extract(*key, in.part(0, 3), placed, first, 0, x.slice().part(to, 257));
  };
  EXPECT_THROW(by_placed(3, 4), ShapeError);
  EXPECT_THROW(by_placed(0, 2), ShapeError);
  EXPECT_NO_THROW(by_placed(2, 4));
}

TEST_P(BackendErrors, TransformsThatOverlap) {
  if (!device->offers<FftOps>()) return;
  const ring::FftPlan plan(256);
  auto reals = put(*device, std::vector<double>(512, 0));
  const Slice<const double> in = std::as_const(reals).slice();
  const auto values = [&](std::size_t begin) {
    return Slice<std::complex<double>>{
        reinterpret_cast<std::complex<double>*>(&reals.slice().data[begin]), 128, in.queue};
  };
  expect_error<ShapeError>([&] { fft().fft(plan, in.part(0, 256), values(0)); },
                           "fft: input of 256 elements");
  EXPECT_THROW(fft().fft(plan, in.part(0, 256), values(254)), ShapeError);
  EXPECT_NO_THROW(fft().fft(plan, in.part(0, 256), values(256)));
  EXPECT_THROW(fft().ifft(plan, values(254), reals.slice().part(0, 256)), ShapeError);
  EXPECT_NO_THROW(fft().ifft(plan, values(256), reals.slice().part(0, 256)));
  EXPECT_THROW(fft().interpolate(plan, values(254), reals.slice().part(0, 256)), ShapeError);
  EXPECT_NO_THROW(fft().interpolate(plan, values(256), reals.slice().part(0, 256)));
  const auto& ops = device->rns<U32>();
  const auto tables = ops.prepare(two_primes());
  const Slice<U32> words{reinterpret_cast<U32*>(reals.slice().data), 512, in.queue};
  EXPECT_THROW(ops.round(*tables, {0, 1}, 1, 256, 1, in.part(255, 256), words), ShapeError);
  EXPECT_NO_THROW(ops.round(*tables, {0, 1}, 1, 256, 1, in.part(256, 256), words));
}

TEST_P(BackendErrors, RotationKeys) {
  constexpr U64 wide = 17179791361;
  for (const Arithmetic arithmetic : {Arithmetic::ntt, Arithmetic::fft}) {
    EXPECT_THROW(device->rotation<U64>().prepare(shape(q32, 1, arithmetic), zeros<U64>()),
                 ParameterError);
    EXPECT_THROW(rotations().prepare(shape(wide, 1, arithmetic), zeros<U32>()), ParameterError);
    for (const unsigned keys : {0u, 3u})
      EXPECT_THROW(rotations().prepare(shape(q32, keys, arithmetic), zeros<U32>()), ParameterError)
          << keys;
    const auto changed = [&](unsigned keys, const auto& change) {
      RotationShape bad = shape(q32, keys, arithmetic);
      change(bad);
      return [this, bad] { rotations().prepare(bad, zeros<U32>()); };
    };
    const auto refused = [&](const char* due, const auto& change) {
      expect_error<ParameterError>(changed(1, change), due);
    };
    EXPECT_THROW(changed(1, [](RotationShape& s) { s.gadgets.pop_back(); })(), ShapeError);
    EXPECT_THROW(changed(1, [](RotationShape& s) { s.N = 300; })(), ParameterError);
    EXPECT_THROW(changed(1, [](RotationShape& s) { s.gadgets[1] = ring::Gadget(12289, 7, 2); })(),
                 ParameterError);
    refused("N = 16384 is above 8192", [](RotationShape& s) { s.N = 16384; });
    refused("n is 0; it must be at least 1", [](RotationShape& s) {
      s.n = 0;
      s.gadgets.clear();
    });
    refused("a gadget has 17 digits; it may have at most 16", [&](RotationShape& s) {
      s = shape(134215681, 1, arithmetic);
      s.gadgets[1] = ring::Gadget(134215681, 1, 17);
    });
    refused("n = 2 is not a multiple of 3, the length of blocks", [&](RotationShape& s) {
      s = shape(q32, 2, arithmetic);
      s.kind = RotationKind::block;
      s.group = 3;
    });
    // Rows that do not fit each other, the steps or the kernels.
    const auto inconsistent = [&](const auto& change) {
      EXPECT_THROW(changed(2, change)(), ShapeError);
    };
    inconsistent([](RotationShape& s) { s.first_row.pop_back(); });
    inconsistent([](RotationShape& s) { s.first_row = {0, 16, 8}; });
    inconsistent([](RotationShape& s) { s.first_row = {1, 8, 16}; });
    inconsistent([](RotationShape& s) { s.first_row = {0, 7, 16}; });
    inconsistent([](RotationShape& s) { s.first_row = {0, 6, 16}; });
    inconsistent([](RotationShape& s) { s.step_keys = {2}; });
    inconsistent([](RotationShape& s) { s.step_keys = {2, 3}; });
    inconsistent([](RotationShape& s) { s.step_keys = {2, 0}; });
    inconsistent([](RotationShape& s) {  // fewer keys than the kernels read
      s.step_keys = {2, 1};
      s.first_row = {0, 8, 12};
      s.row_count = 12;
    });
    const auto of_kind = [&](RotationKind kind, const char* due, const auto& change) {
      expect_error<ShapeError>(changed(2,
                                       [&](RotationShape& s) {
                                         s.kind = kind;
                                         change(s);
                                       }),
                               due);
    };
    for (const auto kind :
         {RotationKind::ginx, RotationKind::unrolled, RotationKind::ap, RotationKind::automorphism,
          RotationKind::unrolled_all, RotationKind::block})
      of_kind(kind, "coefficient 1 has rows 8 … 14; it must have the rows of 2 keys of 4 rows each",
              [](RotationShape& s) {
                s.first_row = {0, 8, 14};
                s.row_count = 14;
              });
    of_kind(RotationKind::unrolled, "coefficient 0 has 3 keys; it may have at most 2",
            [](RotationShape& s) {
              s.step_keys = {3, 0};
              s.first_row = {0, 12, 12};
              s.row_count = 12;
            });
    of_kind(RotationKind::unrolled, "coefficient 0 has 2 keys; it must have 1",
            [](RotationShape&) {});
    of_kind(RotationKind::unrolled_all, "group = 9 is not in 1 … 8",
            [](RotationShape& s) { s.group = 9; });
    of_kind(RotationKind::block, "group = 1 is not in 2 … 8", [](RotationShape&) {});
    of_kind(RotationKind::block, "coefficient 1 has 2 keys; it must have 0",
            [](RotationShape& s) { s.group = 2; });
    of_kind(RotationKind::ap, "group = 1 is not in 2 … 4096", [](RotationShape&) {});
    of_kind(RotationKind::ap, "coefficient 0 has 2 keys; it must have 46",  // of 2N = 16·32
            [](RotationShape& s) { s.group = 32; });
    of_kind(RotationKind::automorphism, "coefficient 0 has 2 keys; it must have 1",
            [](RotationShape&) {});
    inconsistent([](RotationShape& s) { ++s.row_count; });
    inconsistent([](RotationShape& s) { --s.row_count; });
  }
}

TEST_P(BackendErrors, BlindRotation) {
  for (const Arithmetic arithmetic : {Arithmetic::ntt, Arithmetic::fft}) {
    const auto key = rotations().prepare(shape(q32, 1, arithmetic), zeros<U32>());
    const auto lwe = put(*device, std::vector<U32>(3, 0));
    const Slice<const U32> cl = lwe.slice();
    device->upload<U32>(std::vector<U32>(512, 0), a.slice());
    const auto with_index = [&](U32 value) {
      rotations().rotate(*key, {cl, ca, {&value, 1}}, b.slice());
    };
    EXPECT_NO_THROW(with_index(1));
    expect_error<ShapeError>([&] { with_index(2); },
                             "ciphertext 0 asks for table 2; it must be below 2");
    EXPECT_NO_THROW(with_index(0));
    const std::vector<U32> zero{0};
    const std::span<const U32> ci = zero;
    EXPECT_THROW(rotations().rotate(*key, {cl.part(0, 2), ca, ci}, b.slice()), ShapeError);
    EXPECT_THROW(rotations().rotate(*key, {cl, cs, ci}, b.slice()), ShapeError);
    EXPECT_THROW(rotations().rotate(*key, {cl, ca.part(0, 0), ci}, b.slice()), ShapeError);
    EXPECT_THROW(rotations().rotate(*key, {cl, ca, ci}, small.slice()), ShapeError);
    EXPECT_THROW(rotations().rotate(*key, {cl, ca, ci}, foreign.slice()), DeviceError);
    EXPECT_THROW(rotations().rotate_extract(*key, {cl, ca, ci}, 0, b.slice()), ShapeError);
    EXPECT_NO_THROW(rotations().rotate_extract(*key, {cl, ca, ci}, 0, b.slice().part(0, 257)));
    // Before any rotation.
    const std::vector<U32> beyond{0, 256};
    expect_error<ShapeError>(
        [&] {
          rotations().rotate_extract(*key, {cl, ca, ci}, beyond, 0, b.slice());
        },
        "blind_rotate: coefficient 256 is not below N = 256");
    expect_error<ShapeError>(
        [&] {
          rotations().rotate_extract(*key, {cl, ca, ci}, std::span<const U32>(), 0, b.slice());
        },
        "blind_rotate: no coefficient");
    EXPECT_NO_THROW(
        rotations().rotate(*key, {cl.part(0, 0), ca, ci.first(0)}, b.slice().part(0, 0)));
    // A key of the other word size.
    auto wide_luts = device->allocate<U64>(256), wide_out = device->allocate<U64>(512);
    EXPECT_THROW(device->rotation<U64>().rotate(*key, {cl, std::as_const(wide_luts).slice(), ci},
                                                wide_out.slice()),
                 Error);
  }
}

TEST_P(BackendErrors, SwitchKeys) {
  const SwitchShape shape{16, 8, 1 << 14, ring::Gadget(1 << 14, 5, 3), false};
  const auto key = lwe().prepare_switch_key(shape, zeros<U64>());
  const auto in = put(*device, std::vector<U64>(17, 0));
  auto out = device->allocate<U64>(9);
  EXPECT_NO_THROW(lwe().key_switch<U64>(*key, std::as_const(in).slice(), out.slice()));
  EXPECT_THROW(lwe().key_switch<U64>(*key, std::as_const(in).slice().part(0, 16), out.slice()),
               ShapeError);
  EXPECT_THROW(lwe().key_switch<U64>(*key, std::as_const(in).slice(), out.slice().part(0, 8)),
               ShapeError);
  EXPECT_THROW(other->lwe().key_switch<U64>(*key, std::as_const(in).slice(), out.slice()),
               DeviceError);
}

TEST_P(BackendErrors, SwitchKeyShapes) {
  const auto refused = [&](const SwitchShape& of, const char* due) {
    expect_error<ParameterError>([&] { lwe().prepare_switch_key(of, zeros<U64>()); }, due);
  };
  const ring::Gadget gadget(1 << 14, 5, 3);
  refused({0, 8, 1 << 14, gadget, false}, "N = 0 and n = 8 must both be at least 1");
  refused({16, 0, 1 << 14, gadget, false}, "N = 16 and n = 0 must both be at least 1");
  refused({16, 8, 1, gadget, false}, "Q_ks = 1 is below 2");
  refused({16, 8, 1 << 15, gadget, false}, "its gadget is for 16384, but Q_ks is 32768");
  constexpr U64 wide = (1ULL << 61) + 1;
  refused({16, 8, wide, ring::Gadget(wide, 5, 3), false},
          "Q_ks = 2305843009213693953 is no power of two");
  refused({16, 8, 1 << 30, ring::Gadget(1 << 30, 23, 1), true},
          "a coefficient has 4194304 rows; it may have at most 4194303");
  expect_error<ParameterError>(
      [&] {
        lwe().prepare_switch_key({16, 8, 1 << 20, ring::Gadget(1 << 20, 5, 3), false},
                                 SwitchRows<std::uint16_t>());
      },
      "do not fit words of 16 bits");
}

}  // namespace
}  // namespace whorl::backend
