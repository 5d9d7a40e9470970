// What a dry run says before there is a key is what a server says of ciphertexts.
#include "lattice/lwe/noise.h"
#include "schemes/binfhe/account.h"
#include "support/counting_lwe.h"
#include "support/large_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using Circuit = std::function<std::vector<Array>(const Server&, const Array&, const Array&)>;

Array looked_up(const Server& s, const Array& x, const std::vector<std::uint32_t>& values) {
  const Lut table = Lut::create(s.parameters(), values, {4}, {4});
  return s.apply(std::span(&table, 1), {}, x);
}

/// On bits of p = 4.
const std::map<std::string, Circuit>& circuits() {
  static const std::map<std::string, Circuit> all{
      {"gate", [](const Server&, const Array& a, const Array& b) { return std::vector{a & b}; }},
      {"gates",
       [](const Server&, const Array& a, const Array& b) { return std::vector{(a ^ b) | ~a}; }},
      {"a known bit",
       [](const Server&, const Array& a, const Array&) { return std::vector{a ^ true}; }},
      {"mux", [](const Server& s, const Array& a,
                 const Array& b) { return std::vector{s.mux(a, b, a & b)}; }},
      {"sum",
       [](const Server& s, const Array& a, const Array& b) {
         const std::int32_t weights[] = {1, 1};
         const Array* inputs[] = {&a, &b};
         return std::vector{s.linear(weights, inputs)};
       }},
      {"results under the ring key, their sum, and a table",
       [](const Server& s, const Array& a, const Array& b) {
         const Array x = s.bootstrap(a, {}, Under::ring), y = s.bootstrap(b, {}, Under::ring);
         const std::int32_t weights[] = {3, -1};
         const Array* inputs[] = {&x, &y};
         const Array sum = s.linear(weights, inputs);
         return std::vector{sum, looked_up(s, sum, {1, 0, 3, 0}), s.to_lwe_key(sum)};
       }},
      {"tables of one rotation and of two",
       [](const Server& s, const Array& a, const Array& b) {
         return std::vector{looked_up(s, a, {1, 0, 3, 0}), looked_up(s, b, {1, 1, 1, 0})};
       }},
  };
  return all;
}

/// On messages of p = 2^9.
const std::map<std::string, Circuit>& large_circuits() {
  static const std::map<std::string, Circuit> all{
      {"floor", [](const Server& s, const Array& a,
                   const Array&) { return std::vector{eval_floor(s, a, 6)}; }},
      {"sign", [](const Server& s, const Array& a,
                  const Array& b) { return std::vector{eval_sign(s, a) & eval_sign(s, b)}; }},
      {"digits", [](const Server& s, const Array& a, const Array&) { return eval_decomp(s, a); }},
  };
  return all;
}

/// Three ciphertexts of each input.
void compare(const Parameters& p, Encoding encoding, const std::map<std::string, Circuit>& all) {
  const test::Pair& pair = test::pair_of(p);
  const ServerOptions options = test::failing();
  const auto counts = test::name_counting_lwe();
  const Server server(pair.keys, {.device = test::named_devices}, options);
  for (const auto& [what, circuit] : all) {
    SCOPED_TRACE(p.name() + ", " + what);
    const DryRun dry(p, options);
    const auto planned = circuit(dry.server(), dry.fresh(encoding, 3), dry.fresh(encoding, 3));
    counts->rotations = counts->key_switches = counts->sums = 0;
    const auto real = circuit(server, server.upload(pair.client.encrypt({0, 1, 1}, encoding, 1)),
                              server.upload(pair.client.encrypt({1, 0, 1}, encoding, 1)));
    ASSERT_EQ(planned.size(), real.size());
    for (std::size_t k = 0; k < real.size(); ++k) {
      EXPECT_EQ(planned[k].encoding(), real[k].encoding());
      EXPECT_EQ(planned[k].count(), real[k].count());
      EXPECT_EQ(planned[k].bytes(), real[k].bytes());
      EXPECT_EQ(planned[k].noise(), real[k].noise());
      EXPECT_EQ(planned[k].largest(), real[k].largest());
    }
    const Costs costs = dry.costs();
    EXPECT_EQ(costs.bootstraps, counts->rotations);
    EXPECT_EQ(costs.key_switches, counts->key_switches);
    EXPECT_EQ(costs.sums, counts->sums);
    EXPECT_EQ(costs.key_bytes, pair.keys.bytes());
  }
}

TEST(BinfheDryRun, SaysWhatAServerSays) {
  for (const Parameters& p : test::varied_sets()) compare(p, {4}, circuits());
}

TEST(BinfheDryRun, SaysWhatAServerSaysOfLargePrecision) {
  for (const Parameters& p : test::large_sets())
    if (p.q() / 256 >= 512) compare(p, {512}, large_circuits());
}

TEST(BinfheDryRun, CountsRotations) {
  const DryRun dry(test::varied_sets()[0], test::failing());
  const Server& s = dry.server();
  const auto counted = [&](const auto& operation) {
    const std::size_t before = dry.costs().bootstraps;
    static_cast<void>(operation(dry.fresh({4}, 5)));
    return dry.costs().bootstraps - before;
  };
  EXPECT_EQ(counted([&](const Array& x) { return x & x; }), 5U);
  EXPECT_EQ(counted([&](const Array& x) { return s.mux(x, x, x); }), 10U);
  EXPECT_EQ(counted([&](const Array& x) { return looked_up(s, x, {1, 0, 3, 0}); }), 5U);
  EXPECT_EQ(counted([&](const Array& x) { return looked_up(s, x, {1, 1, 1, 0}); }), 10U);
  // Five key switches of five sums behind ten rotations, before five more.
  const std::size_t before = dry.costs().key_switches;
  const Array x = s.bootstrap(dry.fresh({4}, 5), {}, Under::ring);
  EXPECT_EQ(dry.costs().key_switches, before);
  EXPECT_EQ(dry.fresh({4}, 5, Under::ring).under(), Under::ring);
  EXPECT_EQ(dry.fresh({4}, 5, Under::ring).noise(), fresh_noise(s.parameters(), Under::ring));
  EXPECT_EQ(counted([&](const Array&) { return x & x; }), 5U);
  EXPECT_EQ(dry.costs().key_switches, before + 10);  // inputs', and results'
  const DryRun large(Parameters::named("openfhe_1_6/STD128_LOGQ_29", true));
  static_cast<void>(eval_sign(large.server(), large.fresh({1U << 21}, 1)));
  EXPECT_EQ(large.costs().bootstraps, 11U);
}

// The counts are those of each operation by its formula in docs/noise.md, times the ciphertexts.
TEST(BinfheDryRun, AddsUpFailures) {
  const Parameters p = Parameters::named("W128_P64");
  const Transform transform = p.literal().transform;
  const double two = p.gate_failure_log2(2, 4, transform);
  const auto sum = [](std::initializer_list<double> all) {
    double out = -HUGE_VAL;
    for (const double each : all) out = lattice::sum_log2(out, each);
    return out;
  };
  const auto decrypted = [&](const Array& x) {
    return std::log2(static_cast<double>(x.count())) +
           decryption_failure_log2(p, x.noise() * unit_of_noise(p), x.encoding());
  };
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); };
  const double three = std::log2(3), nine = std::log2(9);
  const DryRun dry(p);
  const Server& s = dry.server();
  EXPECT_EQ(dry.failure_log2({}), -HUGE_VAL);
  const Array a = dry.fresh({4}, 3), b = dry.fresh({4}, 3), c = dry.fresh({4}, 1);
  EXPECT_EQ(dry.failure_log2({&a, 1}), decrypted(a));
  const Array bits = a & b;
  EXPECT_PRED2(near, dry.failure_log2({}), three + two);
  EXPECT_PRED2(near, dry.failure_log2({&bits, 1}), sum({three + two, decrypted(bits)}));
  // A single ciphertext meets all. Either of a mux's rotations may be wrong.
  const Array chosen = s.mux(c, a, b);
  EXPECT_PRED2(near, dry.failure_log2({}), sum({nine + two}));
  const Array refreshed = s.bootstrap(c);
  EXPECT_PRED2(near, dry.failure_log2({}), sum({nine + two, p.gate_failure_log2(1, 4, transform)}));
  const Array made[] = {chosen, refreshed};
  EXPECT_PRED2(near, dry.failure_log2(made),
               sum({nine + two, p.gate_failure_log2(1, 4, transform), decrypted(chosen),
                    decrypted(refreshed)}));
}

TEST(BinfheDryRun, AddsUpFailuresOfTables) {
  const Parameters p = Parameters::named("W128_P128");
  const Transform transform = p.literal().transform;
  const DryRun exact(p);
  const Array x = exact.fresh({4}, 3);
  static_cast<void>(looked_up(exact.server(), x, {1, 1, 1, 0}));
  EXPECT_NEAR(exact.failure_log2({}), std::log2(3) + p.lut_failure_log2({4}, true, transform),
              1e-6);
  // With a bound that no value is beyond, the table is wrong as rarely as can be stated; without
  // one as rarely as what it states as its error.
  const DryRun never(p), stated(p);
  const Lut table = Lut::create(
      p, [](std::uint32_t m) { return m; }, {128, true}, {128, true}, false);
  static_cast<void>(
      never.server().apply(std::span(&table, 1), {}, never.fresh({128, true}, 1), 128));
  EXPECT_LT(never.failure_log2({}), -990);
  static_cast<void>(stated.server().apply(std::span(&table, 1), {}, stated.fresh({128, true}, 1)));
  EXPECT_LE(stated.failure_log2({}), -40);
  EXPECT_GT(stated.failure_log2({}), -990);
  EXPECT_LE(table.error_bound(1, std::exp2(stated.failure_log2({}))), table.error_bound());
  EXPECT_GT(table.error_bound(1, std::exp2(stated.failure_log2({}) - 0.02)), table.error_bound());
}

TEST(BinfheDryRun, AddsUpFailuresOfLargePrecision) {
  const Parameters p = Parameters::named("openfhe_1_6/STD128_LOGQ_29", true);
  const Encoding encoding{1U << 21};
  const Transform transform = p.literal().transform;
  const auto failure = [&](const auto& operation) {
    const DryRun dry(p);
    operation(dry.server(), dry.fresh(encoding, 2));
    return dry.failure_log2({});
  };
  EXPECT_NEAR(failure([](const Server& s, const Array& x) { return eval_sign(s, x); }),
              1 + p.sign_failure_log2(encoding.p, transform), 1e-6);
  EXPECT_NEAR(failure([](const Server& s, const Array& x) { return eval_decomp(s, x); }),
              1 + p.sign_failure_log2(encoding.p, transform), 1e-6);
  EXPECT_NEAR(failure([](const Server& s, const Array& x) { return eval_floor(s, x, 7); }),
              1 + p.floor_failure_log2(encoding.p, 7, transform), 1e-6);
}

TEST(BinfheDryRun, FreshCiphertextsAreDifferent) {
  const DryRun dry(test::varied_sets()[0], test::failing());
  const auto count = static_cast<std::uint32_t>(dry.server().parameters().q() + 3);
  const Array x = dry.fresh({4}, count);
  const std::int32_t weights[] = {1, 1};
  for (std::uint32_t shift = 1; shift < count; ++shift) {
    std::vector<std::uint32_t> index(count);
    for (std::uint32_t i = 0; i < count; ++i) index[i] = (i + shift) % count;
    const Array y = dry.server().take(x, index);
    const Array* inputs[] = {&x, &y};
    ASSERT_EQ(dry.server().linear(weights, inputs).noise(), 2 * x.noise()) << shift;
  }
  // Not one pair cancels another, and none is taken for trivial.
  for (const std::vector<std::uint32_t>& pair :
       std::vector<std::vector<std::uint32_t>>{{1, count - 4}, {0, (count - 3) / 2}}) {
    const Array a = dry.server().take(x, std::span(pair).first(1)),
                b = dry.server().take(x, std::span(pair).last(1));
    const Array* inputs[] = {&a, &b};
    EXPECT_EQ(dry.server().linear(weights, inputs).noise(), 2 * x.noise());
  }
}

TEST(BinfheDryRun, RefusesWhatAServerRefuses) {
  const DryRun dry(test::varied_sets()[0], {.allow_failure = 0x1p-900});
  const Array x = dry.fresh({4}, 2);
  EXPECT_THROW(static_cast<void>(x & x), NoiseError);
  EXPECT_EQ(dry.costs().bootstraps, 0u);
  EXPECT_THROW(static_cast<void>(x & dry.fresh({4}, 3)), ShapeError);
  EXPECT_THROW(static_cast<void>(x & dry.fresh({6}, 2)), EncodingError);
  EXPECT_THROW(static_cast<void>(dry.fresh({1u << 30}, 1)), EncodingError);
}

}  // namespace
}  // namespace whorl::binfhe
