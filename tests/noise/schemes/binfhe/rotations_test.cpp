// Noise of every method of blind rotation, and how often gates by it fail, against the formulas.
#include "noise/schemes/binfhe/measure.h"
#include "support/binomial.h"
#include "support/test.h"

namespace whorl {
namespace {

using namespace binfhe;

/// Per method; WHORL_TEST_BOOTSTRAPS asks for more.
std::size_t bootstraps() {
  const char* const wanted = std::getenv("WHORL_TEST_BOOTSTRAPS");
  return wanted ? std::stoul(wanted) : 512;
}

struct Case {
  const char* name;
  RotationKind kind;
  std::uint32_t group;
  SecretDistribution secret;
  std::uint32_t n;
  bool raised = false;
  bool wide = false;         ///< Q above 2^31
  std::uint64_t q = 512;     ///< 2N
  std::uint32_t coarse = 0;  ///< so many last coefficients have larger digits
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr std::uint32_t N = 256;

/// A third of the noise comes from dropped bits, or from the division by P.
ParameterLiteral literal_of(const Case& c) {
  ParameterLiteral p;
  p.name = c.name;
  p.source = "tests";
  p.n = c.n;
  p.q = c.q;
  p.N = N;
  p.Q = math::ntt_primes(c.raised ? (c.wide ? 33 : 22) : c.wide ? 40 : 27, N, 1)[0];
  p.Q_ks = 1 << 14;
  p.log_B_ks = 5;
  const std::uint32_t log_base = c.wide ? 11 : 7, digits = c.raised ? 1 : 3;
  p.gadget = {{c.n - c.coarse, log_base, digits}};
  if (c.coarse != 0) p.gadget.push_back({c.coarse, 9, 2});
  p.lwe_secret = c.secret;
  p.sigma_lwe = c.secret == SecretDistribution::gaussian ? 3.19 : 0.8;
  p.rotation = {c.kind, c.group, 1};
  if (c.raised) p.rotation.raised_by = math::ntt_primes(c.wide ? 37 : 26, N, 1)[0];
  return p;
}

class RotationNoise : public testing::TestWithParam<std::tuple<Case, Transform>> {};

template <class Word>
double measured(const Parameters& parameters, Transform transform, unsigned keys,
                std::size_t count_under_key) {
  const lattice::lwe::RotationMethod method = rotation_method(parameters.literal());
  noise::Moments moments;
  for (unsigned k = 0; k < keys; ++k) {
    const Client client(parameters);
    const EvaluationKeys evaluation = client.evaluation_keys();
    const noise::Rotator<Word> rotator(parameters, evaluation, transform, 0);
    const noise::RingPhase<Word> phase(client.secret_key().ring(), parameters.Q());
    for (std::size_t done = 0; done < count_under_key;) {
      const std::size_t count = std::min<std::size_t>(64, count_under_key - done);
      auto lwe = noise::uniform<std::uint32_t>(count * (parameters.n() + 1), 2 * N);
      for (std::size_t j = 0; j < lwe.size(); ++j) {
        if (j % (parameters.n() + 1) == parameters.n()) continue;
        lwe[j] = lwe[j] / method.unit() * method.unit() + (method.odd() ? 1 : 0);
      }
      const auto lut = noise::uniform<Word>(N, parameters.Q());
      for (const double error :
           noise::rotation_errors<Word>(phase(rotator.rotate(lwe, lut)), lut, lwe,
                                        client.secret_key().lwe(), parameters.Q()))
        moments.add(error);
      done += count;
    }
  }
  return moments.mean_square();
}

TEST_P(RotationNoise, HasTheVarianceOfTheFormula) {
  const auto& [c, transform] = GetParam();
  constexpr unsigned kKeys = 8;
  const std::size_t count = bootstraps();
  const Parameters parameters = Parameters::create(literal_of(c), true);
  const double got = c.wide ? measured<std::uint64_t>(parameters, transform, kKeys, count / kKeys)
                            : measured<std::uint32_t>(parameters, transform, kKeys, count / kKeys);
  // The first product multiplies (0, b): half of the rows meet zeros.
  const double step = parameters.noise(transform).blind_rotation;
  const double products = parameters.rotation_transforms() /
                          (c.raised ? 4.0 : 2.0 * parameters.literal().gadget[0].digits + 2);
  const double formula = step * (1 - 0.5 / products);  // about so where gadgets differ
  std::printf("%s: deviation %.4g at Q, %.4f of the formula's variance over %zu rotations\n",
              c.name, std::sqrt(got), got / formula, count);
  // By FFT a raised modulus of 70 bits adds more than all the rest, by a constant that was fitted
  // to other sums within 5 %.
  const double fitted = c.raised && c.wide && transform == Transform::fft ? 0.1 : 0;
  // Automorphisms are within 1 %, for which 2 % are allowed. With a window of 1 the formula also
  // counts those before the first product, which rotate (0, b) and add no errors: 3 %, for which 5
  // % are allowed. Others are within 3 %. Also within six deviations of a mean square of so many
  // errors. Those of one rotation are counted as a quarter of as many independent ones.
  double close = 0.03;
  if (c.kind == RotationKind::automorphism && !c.raised) close = c.group > 1 ? 0.02 : 0.05;
  const double scatter = std::sqrt(2.0 / (static_cast<double>(count) * N / 4));
  EXPECT_NEAR(got / formula, 1, close + fitted + 6 * scatter);
}

constexpr auto binary = SecretDistribution::binary, ternary = SecretDistribution::ternary,
               gaussian = SecretDistribution::gaussian, blocks = SecretDistribution::block_binary;
constexpr auto ginx = RotationKind::ginx, unrolled = RotationKind::unrolled, ap = RotationKind::ap,
               automorphism = RotationKind::automorphism, all = RotationKind::unrolled_all,
               block = RotationKind::block;

INSTANTIATE_TEST_SUITE_P(
    Noise, RotationNoise,
    testing::Combine(
        testing::Values(
            Case{"unrolled_1", unrolled, 1, binary, 64},
            Case{"unrolled_2", unrolled, 2, binary, 96},
            Case{"unrolled_3", unrolled, 3, binary, 96},
            Case{"unrolled_4_short", unrolled, 4, binary, 98},
            Case{"unrolled_5", unrolled, 5, binary, 120},
            Case{"unrolled_6", unrolled, 6, binary, 144}, Case{"all_2", all, 2, binary, 96},
            Case{"all_3_short", all, 3, binary, 97},
            Case{"unrolled_2_wide", unrolled, 2, binary, 64, false, true},
            Case{"block_2", block, 2, blocks, 96}, Case{"block_3", block, 3, blocks, 120},
            Case{"block_4", block, 4, blocks, 120}, Case{"block_8", block, 8, blocks, 160},
            Case{"block_3_wide", block, 3, blocks, 96, false, true},
            Case{"raised_block_3", block, 3, blocks, 120, true},
            Case{"ap_ternary", ap, 32, ternary, 32}, Case{"ap_binary", ap, 8, binary, 32},
            Case{"ap_gaussian_by_q", ap, 16, gaussian, 32, false, false, 256},
            Case{"ap_wide", ap, 32, ternary, 32, false, true},
            Case{"automorphism_1", automorphism, 1, ternary, 48},
            Case{"automorphism_10", automorphism, 10, gaussian, 48},
            Case{"automorphism_10_binary", automorphism, 10, binary, 48},
            Case{"automorphism_10_two_gadgets", automorphism, 10, ternary, 48, false, false, 512,
                 12},
            Case{"raised_ginx_binary", ginx, 1, binary, 48, true},
            Case{"raised_ginx_ternary", ginx, 1, ternary, 48, true},
            Case{"raised_ginx_wide", ginx, 1, ternary, 32, true, true},
            Case{"raised_unrolled_2", unrolled, 2, binary, 96, true},
            Case{"raised_all_2", all, 2, binary, 96, true},
            Case{"raised_ap_binary", ap, 32, binary, 32, true},
            Case{"raised_ap_ternary", ap, 32, ternary, 32, true},
            Case{"raised_automorphism_10", automorphism, 10, ternary, 48, true}),
        testing::Values(Transform::ntt, Transform::fft)),
    [](const auto& s) {
      return std::string(std::get<0>(s.param).name) +
             (std::get<1>(s.param) == Transform::ntt ? "_ntt" : "_fft");
    });

class RotationFailures : public testing::TestWithParam<Case> {};

/// One digit of 14 bits, or P far below Q; sigma_ring makes NAND fail as often as is wanted.
Parameters failing(const Case& c, double wanted) {
  ParameterLiteral p = literal_of(c);
  p.q = p.Q_ks = 1 << 16;
  p.log_B_ks = 4;
  p.sigma_lwe = 3.19;
  p.gadget = {{c.n, 14, 1}};
  if (c.raised) p.rotation.raised_by = 7681;
  double low = 0.5, high = 64;
  for (int i = 0; i < 40; ++i) {
    p.sigma_ring = (low + high) / 2;
    const double failure =
        std::exp2(Parameters::create(p, true).gate_failure_log2(2, 4, Transform::ntt)) / 2;
    (failure > wanted ? high : low) = p.sigma_ring;
  }
  return Parameters::create(p, true);
}

TEST_P(RotationFailures, OfNandAreAsOftenAsParametersSay) {
  const Case& c = GetParam();
  constexpr unsigned kKeys = 8;
  const std::size_t runs = std::min<std::size_t>(bootstraps() / 2, 2048);
  const Parameters parameters = failing(c, 0.05);
  // All sums of NAND have one border at q/8 and the other farther off: half of what is promised
  // for two.
  const double expected = std::exp2(parameters.gate_failure_log2(2, 4, Transform::ntt)) / 2;
  ASSERT_NEAR(expected, 0.05, 0.01) << parameters.literal().sigma_ring;
  std::size_t failures = 0;
  for (unsigned k = 0; k < kKeys; ++k) {
    const Client client(parameters);
    const Server server(client.evaluation_keys(1), {"cpu", 1},
                        {.transform = Transform::ntt, .allow_failure = 1});
    const auto refreshed = [&](const std::vector<std::uint32_t>& bits) {
      const auto fresh = client.encrypt(bits),
                 zeros = client.encrypt(std::vector<std::uint32_t>(bits.size(), 0));
      const auto noise = server.bootstrap(zeros);
      const std::int32_t weights[] = {1, 1};
      const Ciphertexts* inputs[] = {&fresh, &noise};
      return server.linear(weights, inputs, 0, false, 1);
    };
    const auto x = noise::random_messages(runs, 2), y = noise::random_messages(runs, 2);
    const auto a = refreshed(x), b = refreshed(y);
    const Ciphertexts* both[] = {&a, &b};
    const auto got = client.decrypt(server.gate(Gate::nand, both, Encoding{2, false}));
    for (std::size_t i = 0; i < runs; ++i) failures += got[i] != 1 - x[i] * y[i];
  }
  const auto [least, most] = test::clopper_pearson(failures, kKeys * runs, 1e-8);
  std::printf("%s: %zu failures of %zu, between %.4f and %.4f; %.4f expected\n", c.name, failures,
              kKeys * runs, least, most, expected);
  EXPECT_GE(expected, least);
  EXPECT_LE(expected, most);
}
INSTANTIATE_TEST_SUITE_P(
    Noise, RotationFailures,
    testing::Values(Case{"unrolled_2", unrolled, 2, binary, 64},
                    Case{"unrolled_3", unrolled, 3, binary, 63}, Case{"all_2", all, 2, binary, 64},
                    Case{"block_3", block, 3, blocks, 96}, Case{"block_4", block, 4, blocks, 96},
                    Case{"ap_ternary", ap, 32, ternary, 32},
                    Case{"automorphism_ternary", automorphism, 10, ternary, 32},
                    Case{"automorphism_binary", automorphism, 10, binary, 32},
                    Case{"raised_ginx_ternary", ginx, 1, ternary, 32, true},
                    Case{"raised_ap_ternary", ap, 32, ternary, 32, true}),
    [](const auto& s) { return std::string(s.param.name); });

}  // namespace
}  // namespace whorl
