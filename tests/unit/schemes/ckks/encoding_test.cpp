// Encodings: what a server's device makes of values, what the host makes of them, and how far both
// are off.
#include "lattice/rlwe/evaluator.h"
#include "schemes/ckks/encoder.h"
#include "support/ckks_sets.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

namespace rlwe = lattice::rlwe;
using Values = test::Complexes;

/// An evaluator with one prime of 60 bits, which holds the coefficients as they are.
struct Ring {
  explicit Ring(std::uint32_t N)
      : plan(std::make_shared<const ring::RnsPlan<std::uint64_t>>(
            N, math::ntt_primes(60, N, 1), std::span<const std::uint64_t>(), 1)),
        evaluator(rlwe::Evaluator::make(run::Fleet::open(test::tested_device, {2, {}}, {}), plan)),
        encoder(ring::FftPlan(N)) {}

  std::shared_ptr<const ring::RnsPlan<std::uint64_t>> plan;
  std::shared_ptr<const rlwe::Evaluator> evaluator;
  Encoder encoder;

  std::vector<std::int64_t> coefficients(const rlwe::Array& a) const {
    const WordArray words = evaluator->download(evaluator->transform(a, rlwe::Form::coefficient));
    std::vector<std::int64_t> out;
    for (const std::uint64_t x : words.as<std::uint64_t>())
      out.push_back(plan->moduli()[0].centred(x));
    return out;
  }
  std::vector<std::int64_t> on_device(const Values& values, double scale) const {
    return coefficients(evaluator->interpolate(values, values.size(), scale, evaluator->level(1)));
  }
  std::vector<std::int64_t> on_host(const Values& values, double scale) const {
    std::vector<std::int64_t> out(plan->N());
    encoder.encode(values, Packing::complex, scale, out);
    return out;
  }
};

// One unit, where doubles keep that many bits; else what a transform may be off on either side.
TEST(CkksEncoding, DeviceAndHostAgree) {
  std::mt19937_64 random(1);
  for (const std::uint32_t N : {1024u, 1u << 13, 1u << 16}) {
    const Ring of(N);
    for (std::size_t slots = 1; slots <= N / 2; slots *= 2)
      for (const int log2_scale : {30, 45, 55}) {
        SCOPED_TRACE(testing::Message()
                     << "N = " << N << ", " << slots << " slots, scale 2^" << log2_scale);
        const double scale = std::ldexp(1.0, log2_scale);
        Values values = test::random_complexes(random, slots);
        const auto device = of.on_device(values, scale), host = of.on_host(values, scale);
        const std::int64_t most = log2_scale <= 45 ? 1 : 1 + (std::int64_t{1} << (55 - 49));
        for (std::size_t k = 0; k < N; ++k)
          ASSERT_LE(std::abs(device[k] - host[k]), most) << "coefficient " << k;
      }
  }
}

/// The first slots of polynomials of integers, in long doubles.
class Decoder {
 public:
  explicit Decoder(std::size_t N) : N_(N), roots_(2 * N) {
    for (std::size_t e = 0; e < 2 * N; ++e) {
      const long double angle = std::numbers::pi_v<long double> * static_cast<long double>(e) /
                                static_cast<long double>(N);
      roots_[e] = {std::cos(angle), std::sin(angle)};
    }
  }
  std::vector<std::complex<long double>> slots(const std::vector<std::int64_t>& coefficients,
                                               std::size_t count) const {
    std::vector<std::complex<long double>> out(count);
    std::size_t g = 1;
    for (auto& z : out) {
      for (std::size_t k = 0; k < N_; ++k)
        z += static_cast<long double>(coefficients[k]) * roots_[g * k % (2 * N_)];
      g = 5 * g % (2 * N_);
    }
    return out;
  }

 private:
  std::size_t N_;
  std::vector<std::complex<long double>> roots_;
};

// The account states sqrt(N/12) for the rounding, and 2^-52 of the values for doubles. A power of X
// has the largest coefficient that there is.
TEST(CkksEncoding, ErrorsAreWhatTheAccountStatesUpToTheLargestScale) {
  std::mt19937_64 random(2);
  constexpr std::size_t looked_at = 32;
  for (const auto& [log_N, log2_scales] :
       {std::pair(12, std::vector{30, 55}), {17, std::vector{45, 55}}}) {
    const std::uint32_t N = 1u << log_N;
    const Ring of(N);
    const Decoder decoder(N);
    const Values any = test::random_complexes(random, N / 2);
    Values power(N / 2);
    std::uint64_t e = N / 3;
    for (auto& z : power) {
      z = std::polar(1.0, std::numbers::pi * static_cast<double>(e) / N);
      e = 5 * e % (2 * std::uint64_t{N});
    }
    for (const int log2_scale : log2_scales)
      for (const Values& values : {any, power})
        for (const bool on_device : {true, false}) {
          SCOPED_TRACE(testing::Message() << "N = 2^" << log_N << ", scale 2^" << log2_scale
                                          << (values == any ? ", any values" : ", a power of X")
                                          << (on_device ? ", device" : ", host"));
          const double scale = std::ldexp(1.0, log2_scale);
          const auto got = decoder.slots(
              on_device ? of.on_device(values, scale) : of.on_host(values, scale), looked_at);
          long double squares = 0;
          for (std::size_t j = 0; j < looked_at; ++j)
            squares += std::norm(got[j] / static_cast<long double>(scale) -
                                 std::complex<long double>(values[j]));
          // Of so many slots, which have two parts each: 2 is beyond 11 deviations of what is
          // measured.
          EXPECT_LT(std::sqrt(static_cast<double>(squares) / looked_at),
                    2 * std::sqrt(N / 12.0) / scale + 0x1p-52);
        }
  }
}

}  // namespace
}  // namespace whorl::ckks
