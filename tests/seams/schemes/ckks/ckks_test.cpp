// CKKS = encoder + account + circuits: they fit on lattice/rlwe as it is, with exact scales and
// levels that are sets of primes.
#include "seams/schemes/ckks/ckks.h"
#include "lattice/rlwe/secret.h"
#include "support/strained_device.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

struct Ckks : ::testing::Test {
  static constexpr std::size_t count = 3;

  Ckks() {
    std::vector<std::uint32_t> chain, special;
    for (const auto& [bits, primes, to] :
         {std::tuple(30, 6, &chain), {26, 3, &chain}, {31, 3, &special}})
      for (const std::uint64_t q : math::ntt_primes(bits, N, primes))
        to->push_back(static_cast<std::uint32_t>(q));
    plan = std::make_shared<const ring::RnsPlan<std::uint32_t>>(N, chain, special, 3);
    rules = {{ring::Basis::range(0, 6), {0, 1, 2, 3, 6}, {0, 1, 6, 7}, {6, 7, 8}}, plan->moduli()};
    const auto ternary = rlwe::random_ternary_secret(N);
    secret = std::make_unique<const rlwe::Secret>(plan, std::span(ternary.data(), N), sigma);
    for (auto& z : clear) z.resize(count * N / 2);
    for (auto& z : clear)
      for (auto& x : z)
        x = std::polar(random.below(1001) / 1000.0, static_cast<double>(random.below(7)));
  }
  Vector encrypt(const rlwe::Evaluator& e, const Slots& z) {
    Seed seed;
    for (auto& byte : seed) byte = static_cast<std::uint8_t>(random.below(256));
    const Account account = rules.fresh(1);
    const auto words =
        secret->encrypt(rules.levels[0], 1, seed, count, [&](std::size_t i, auto out) {
          encoder.encode(&z[i * N / 2], account.scale.value(), out);
        });
    return {account, e.upload(words, {2, rules.levels[0], count})};
  }
  /// The largest error over slots, read with a scale.
  double error(const rlwe::Evaluator& e, const Vector& a, double scale, const Slots& due) const {
    const ring::Basis basis = rules.levels[a.account.level];
    EXPECT_EQ(a.array.basis(), basis);
    constexpr std::uint64_t m = 1ULL << 60;  // phases are smaller
    const auto phases =
        secret->phases_modulo({basis, 2, count, e.download(a.array)}, m, 1, [](auto, auto) {});
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::int64_t> coefficients;
      for (std::size_t k = 0; k < N; ++k) {
        const std::uint64_t x = phases[i * N + k];
        coefficients.push_back(static_cast<std::int64_t>(x) -
                               static_cast<std::int64_t>(x > m / 2 ? m : 0));
      }
      const Slots got = encoder.decode(coefficients.data(), scale);
      for (std::size_t j = 0; j < N / 2; ++j)
        largest = std::max(largest, std::abs(got[j] - due[i * N / 2 + j]));
    }
    return largest;
  }
  static Slots turned(const Slots& z, std::size_t by) {
    Slots out(z.size());
    for (std::size_t at = 0; at < z.size(); ++at)
      out[at] = z[at / (N / 2) * (N / 2) + (at + by) % (N / 2)];
    return out;
  }

  test::Random random;
  Encoder encoder;
  Rules rules;
  std::shared_ptr<const ring::RnsPlan<std::uint32_t>> plan;
  std::unique_ptr<const rlwe::Secret> secret;
  Slots clear[2];
};

TEST_F(Ckks, IsEncoderAccountAndCircuits) {
  const std::uint32_t by = 3, g = 125;  // 5^3
  const rlwe::SwitchSource sources[] = {{1, 2}, {g, 1}};
  const auto data = secret->switch_keys(sources, 1, 1, {});
  for (const std::size_t devices : {1u, 2u}) {
    const auto e = rlwe::Evaluator::make(test::StrainedFleet(devices).fleet, plan);
    const rlwe::Keys keys(e, data, std::make_shared<run::KeyBudget>());
    const Server server{*e, keys, rules};
    const auto expect = [&](const Vector& a, const Slots& due) {
      EXPECT_LE(error(*e, a, a.account.scale.value(), due), a.account.precision());
      EXPECT_LE(a.account.precision(), std::exp2(-12));
    };
    Slots due = clear[0];
    const Vector x = encrypt(*e, clear[0]), y = encrypt(*e, clear[1]);
    expect(x, due);
    // (x·y + x)^2, turned, and squared again on the last level.
    const Vector product = server.multiply(x, y);
    EXPECT_THROW(server.add(product, x), MismatchError);
    Vector z = server.add(product, server.match(x, product.account.scale));
    for (std::size_t at = 0; at < due.size(); ++at) due[at] = due[at] * clear[1][at] + due[at];
    expect(z, due);
    for (int i = 0; i < 2; ++i) {
      z = server.rotate(server.multiply(z, z), g);
      for (auto& value : due) value *= value;
      due = turned(due, by);
      expect(z, due);
    }
    EXPECT_EQ(z.array.basis(), (ring::Basis{6, 7, 8})) << "none of the primes that it began with";
    EXPECT_GT(error(*e, z, std::exp2(34), due), z.account.precision()) << "a scale about right";
  }
}

}  // namespace
}  // namespace whorl::ckks
