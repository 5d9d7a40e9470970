// Encryptions over sets of primes and switching keys, decrypted by schoolbook arithmetic modulo
// each prime.
#include "lattice/rlwe/secret.h"
#include "lattice/rlwe/uniform.h"
#include "ring/automorphism.h"
#include "support/rns.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using ring::Basis;
using ring::KeyLayout;
using test::centred;
using test::Int128;

constexpr double sigma = 3.19;

/// A plan of 5 primes and 2 special ones, and a secret.
template <class Word>
struct Scene {
  test::Random random;
  std::uint64_t t = random.below(2) ? 65537 : 256;
  std::shared_ptr<const ring::RnsPlan<Word>> plan =
      test::random_rns_plan<Word>(256, 5, 2, static_cast<unsigned>(1 + random.below(3)), random);
  math::GaussianSampler error{sigma};
  std::vector<ring::HostNtt<Word>> ntts = ring::host_ntts<Word>(plan);
  std::vector<std::int32_t> s = random.integers(plan->N(), -1, 1);
  RnsSecret<Word> secret{plan, s, sigma};

  math::Seed seed() { return random.bytes<32>(); }
  /// Some of the first `primes`, at least one.
  Basis some(unsigned primes) {
    Basis out{static_cast<unsigned>(random.below(primes))};
    for (unsigned i = 0; i < primes; ++i)
      if (random.below(2)) out.insert(i);
    return out;
  }
  /// (parts, basis, N) residues.
  std::vector<Word> rows(const Basis& basis, std::size_t parts = 1) {
    return test::random_rows(*plan, basis, parts, 1, random);
  }
  std::vector<std::int64_t> message() {
    const auto half = static_cast<std::int64_t>(t / 2);
    return random.integers<std::int64_t>(plan->N(), -half, half);
  }
  /// Coefficients of a row of evaluations modulo prime l.
  std::vector<std::uint64_t> coefficients(unsigned l, std::span<const Word> row) const {
    std::vector<Word> out(row.size());
    ntts[l].inverse(row, out);
    return {out.begin(), out.end()};
  }
  /// b + a·s modulo prime l.
  std::vector<std::uint64_t> phase(unsigned l, std::span<const Word> a,
                                   std::span<const Word> b) const {
    const std::uint64_t q = plan->moduli()[l].value();
    const auto product = test::negacyclic(s, coefficients(l, a), q);
    auto out = coefficients(l, b);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = (out[j] + product[j]) % q;
    return out;
  }
  /// e where x = t·e modulo prime l and e is an error.
  void expect_error(unsigned l, std::uint64_t x, std::int64_t* e) const {
    const std::int64_t v = centred(x, plan->moduli()[l].value());
    ASSERT_EQ(v % static_cast<std::int64_t>(t), 0);
    *e = v / static_cast<std::int64_t>(t);
    ASSERT_LE(std::abs(*e), error.bound());
  }
};

template <class Word>
class LatticeRlweSecret : public ::testing::Test {};
TYPED_TEST_SUITE(LatticeRlweSecret, test::BothWords);

TYPED_TEST(LatticeRlweSecret, EncryptionsCarryMessageAndMultiplesOfT) {
  using Word = TypeParam;
  Scene<Word> scene;
  SCOPED_TRACE(test::describe(*scene.plan));
  const std::uint32_t N = scene.plan->N();
  for (const Basis& basis : {Basis::range(0, 5), Basis::range(0, 7), scene.some(7)}) {
    scene.t = scene.random.below(3) == 0 ? 1 : scene.t;
    SCOPED_TRACE(basis.describe() + ", t = " + std::to_string(scene.t));
    const auto a = scene.rows(basis);
    const std::vector<std::int64_t> m = scene.message();
    math::PrivateStream stream("test");
    std::vector<Word> b(a.size());
    scene.secret.encrypt(basis, scene.t, a, m, stream, b);
    std::vector<std::int64_t> errors;
    for (const unsigned l : basis.indices()) {
      const std::uint64_t q = scene.plan->moduli()[l].value();
      const std::size_t at = basis.rank(l) * N;
      const auto v = scene.phase(l, std::span(a).subspan(at, N), std::span(b).subspan(at, N));
      for (std::size_t j = 0; j < N; ++j) {
        std::int64_t e = 0;
        ASSERT_NO_FATAL_FAILURE(
            scene.expect_error(l, test::reduce(Int128{centred(v[j], q)} - m[j], q), &e));
        if (at == 0)
          errors.push_back(e);
        else
          ASSERT_EQ(errors[j], e) << "other errors modulo another prime";
      }
    }
    // 256 zeros have probability below 2^-700.
    EXPECT_NE(std::count(errors.begin(), errors.end(), 0), 256);
  }
}

TYPED_TEST(LatticeRlweSecret, PhaseOfSeveralParts) {
  using Word = TypeParam;
  Scene<Word> scene;
  const std::uint32_t N = scene.plan->N();
  for (const std::size_t parts : {1u, 2u, 3u, 5u}) {
    const Basis basis = scene.some(7);
    const unsigned rows = basis.size();
    const auto c = scene.rows(basis, parts);
    std::vector<Word> out(rows * N);
    scene.secret.phase(basis, parts, c, out);
    for (const unsigned l : basis.indices()) {
      const std::uint64_t q = scene.plan->moduli()[l].value();
      const unsigned r = basis.rank(l);
      std::vector<std::uint64_t> sum(N, 0);
      for (std::size_t k = parts; k-- > 0;) {
        sum = test::negacyclic(scene.s, sum, q);
        const auto part = scene.coefficients(l, std::span(c).subspan((k * rows + r) * N, N));
        for (std::size_t j = 0; j < N; ++j) sum[j] = (sum[j] + part[j]) % q;
      }
      const std::vector<std::uint64_t> got(out.begin() + r * N, out.begin() + (r + 1) * N);
      ASSERT_EQ(got, sum) << parts << " parts, prime " << l;
    }
  }
}

/// Every row of a key from `from`, whose secret is `source`, decrypts to what it should.
template <class Word>
void check_switch_key(Scene<Word>& scene, const KeyLayout& layout, const SwitchSource& source,
                      const std::vector<std::int32_t>& from, const RnsSecret<Word>* from_secret) {
  const std::uint32_t N = scene.plan->N(), g = source.g;
  const Basis basis = layout.rows();
  SCOPED_TRACE("g = " + std::to_string(g) + ", power " + std::to_string(source.power) + ", chain " +
               layout.chain.describe() + ", special " + layout.special.describe());
  const math::Seed seed = scene.seed();
  const WordArray bodies =
      scene.secret.switch_key_bodies(layout, scene.t, source, seed, 2, {}, from_secret);
  ASSERT_EQ(bodies.size(), layout.digits.size() * basis.size() * N);
  std::vector<std::int64_t> moved(N, 0);
  const auto to = ring::coefficient_permutation(N, g);
  for (std::uint32_t j = 0; j < N; ++j) moved[to[j] % N] = to[j] < N ? from[j] : -from[j];
  const auto rows = key_rows<Word>(scene.plan, layout, seed, bodies);
  for (unsigned d = 0; d < layout.digits.size(); ++d) {
    std::vector<Word> a(basis.size() * N), b(a.size()), expanded(a.size());
    rows(d, a, b);
    key_uniform<Word>(*scene.plan, layout, seed, d, expanded);
    ASSERT_EQ(a, expanded);
    for (const unsigned l : basis.indices()) {
      const std::uint64_t q = scene.plan->moduli()[l].value();
      const std::size_t r = basis.rank(l);
      math::expand_uniform<Word>(seed, d * basis.size() + r, scene.plan->moduli()[l].value(),
                                 std::span(expanded).subspan(r * N, N));
      auto v = scene.phase(l, std::span(a).subspan(r * N, N), std::span(b).subspan(r * N, N));
      if (layout.digits[d].contains(l)) {
        std::uint64_t P = 1;
        for (const unsigned k : layout.special.indices())
          P = test::reduce(Int128{P} * scene.plan->moduli()[k].value(), q);
        std::vector<std::uint64_t> wanted(N);
        for (std::size_t j = 0; j < N; ++j) wanted[j] = test::reduce(moved[j], q);
        for (unsigned k = 1; k < source.power; ++k) wanted = test::negacyclic(moved, wanted, q);
        for (std::size_t j = 0; j < N; ++j)
          v[j] = test::reduce(Int128{v[j]} - Int128{wanted[j]} * P, q);
      }
      std::int64_t e = 0;
      for (std::size_t j = 0; j < N; ++j)
        ASSERT_NO_FATAL_FAILURE(scene.expect_error(l, v[j], &e))
            << "digit " << d << ", prime " << l;
    }
    ASSERT_EQ(a, expanded);
  }
}

TYPED_TEST(LatticeRlweSecret, SwitchingKeysDecryptToTheirSource) {
  Scene<TypeParam> scene;
  SCOPED_TRACE(test::describe(*scene.plan));
  const std::uint32_t N = scene.plan->N();
  for (const SwitchSource& source :
       {SwitchSource{1, 2}, SwitchSource{1, 4}, SwitchSource{3, 1}, SwitchSource{2 * N - 1, 1}})
    check_switch_key(scene, scene.plan->key_layout(), source, scene.s, {});
}

TYPED_TEST(LatticeRlweSecret, KeysOverPrimesOfTheirOwn) {
  using Word = TypeParam;
  Scene<Word> scene;
  SCOPED_TRACE(test::describe(*scene.plan));
  const auto other = scene.random.integers(scene.plan->N(), -1, 1);
  const RnsSecret<Word> from(scene.plan, other, sigma);
  // q_0 and one special prime, from another secret to this one: encapsulation.
  check_switch_key(scene, {{0}, {Basis{0}}, {6}}, {}, other, &from);
  // Digits that are no ranges, special primes out of the chain.
  check_switch_key(scene, {{0, 2, 4, 5}, {Basis{0, 4}, Basis{2, 5}}, {1, 3}}, {1, 2}, scene.s, {});
}

TYPED_TEST(LatticeRlweSecret, LayoutsThatDoNotFitAreRefused) {
  using Word = TypeParam;
  Scene<Word> scene;
  const auto make = [&](const KeyLayout& layout, const RnsSecret<Word>* from = nullptr) {
    scene.secret.switch_key_bodies(layout, 1, {}, scene.seed(), 1, {}, from);
  };
  EXPECT_THROW(make({{0, 1}, {Basis{0}}, {5}}), ParameterError);
  EXPECT_THROW(make({{0}, {Basis{0}}, {}}), ParameterError);
  EXPECT_THROW(make({{0}, {Basis{0}}, {7}}), ParameterError);
  EXPECT_THROW(make({{0}, {Basis{0}}, {0}}), ParameterError);
  const Scene<Word> stranger;
  EXPECT_THROW(make(scene.plan->key_layout(), &stranger.secret), ParameterError);
  EXPECT_THROW(RnsSecret<Word>(scene.plan, std::vector<std::int32_t>(255), sigma), ShapeError);
}

TYPED_TEST(LatticeRlweSecret, ProgressStopsAKey) {
  Scene<TypeParam> scene;
  const KeyLayout& layout = scene.plan->key_layout();
  const auto stop = [](std::size_t, std::size_t) { return false; };
  EXPECT_THROW(scene.secret.switch_key_bodies(layout, 1, {1, 2}, scene.seed(), 1, stop),
               InterruptedError);
  // Of several keys together it rises to the end.
  const Secret secret(scene.plan, scene.s, sigma);
  const std::vector<SwitchSource> sources = {{1, 2}, {3, 1}};
  std::size_t most = 0;
  const auto keys = secret.switch_keys(sources, 1, 1, [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 2 * layout.digits.size());
    EXPECT_LE(most, done);
    most = done;
    return true;
  });
  EXPECT_EQ(most, 2 * layout.digits.size());
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[1].g, 3u);
  EXPECT_NE(keys[0].seed, keys[1].seed);
  EXPECT_THROW(secret.switch_keys(sources, 1, 1, stop), InterruptedError);
}

/// Messages of a batch, whoever encrypted them.
template <class Word>
struct Batch {
  Scene<Word> scene;
  std::size_t N = scene.plan->N(), count = 1 + scene.random.below(4);
  Basis basis = scene.some(5) | Basis{0};
  Secret secret{scene.plan, scene.s, sigma};
  std::vector<std::int64_t> m;
  Seed seed = scene.seed();

  Batch() {
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = scene.message();
      m.insert(m.end(), one.begin(), one.end());
    }
  }
  Encode encode() const {
    return [this](std::size_t i, std::span<std::int64_t> out) {
      std::copy_n(&m[i * N], N, out.begin());
    };
  }
  void expect_messages(const WordArray& words) const {
    const HostBatch batch{basis, 2, count, words};
    std::vector<std::size_t> finished(count, 0);
    const auto got = secret.phases_modulo(batch, scene.t, 3, [&](std::size_t i, auto message) {
      EXPECT_EQ(message.size(), N);
      ++finished[i];
    });
    EXPECT_EQ(finished, std::vector<std::size_t>(count, 1));
    for (std::size_t j = 0; j < m.size(); ++j)
      ASSERT_EQ(got[j], test::reduce(Int128{3} * m[j], scene.t));
    EXPECT_THROW(secret.phases_modulo({basis, 3, count, words}, scene.t, 1, {}), ShapeError);
    EXPECT_THROW(secret.log2_phases({basis, 0, count, words}), ShapeError);
    EXPECT_THROW(secret.log2_phases({{}, 2, count, words}), ParameterError);
  }
};

TYPED_TEST(LatticeRlweSecret, BatchesUnderTheSecret) {
  using Word = TypeParam;
  const Batch<Word> b;
  const WordArray words = b.secret.encrypt(b.basis, b.scene.t, b.seed, b.count, b.encode());
  b.expect_messages(words);
  // The second part is what the seed says.
  const std::size_t rows = b.basis.size();
  for (std::size_t i = 0; i < b.count; ++i) {
    std::vector<Word> a(rows * b.N);
    ciphertext_uniform<Word>(*b.scene.plan, b.basis, b.seed, i, a);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto row = words.as<Word>().subspan(((rows + r) * b.count + i) * b.N, b.N);
      ASSERT_TRUE(std::equal(row.begin(), row.end(), a.begin() + r * b.N));
    }
  }
  // m + t·e: no larger than that, and hardly ever below t.
  for (const double size : b.secret.log2_phases({b.basis, 2, b.count, words})) {
    const auto t = static_cast<double>(b.scene.t);
    EXPECT_LE(size, std::log2(t * (b.scene.error.bound() + 0.5)) + 1e-6);
    EXPECT_GE(size, std::log2(t));
  }
}

TEST(LatticeRlweTernary, RandomAndCopied) {
  const auto secret = random_ternary_secret(4096);
  for (const int x : {-1, 0, 1})  // each about 1365 ± 30: 300 off has probability below 2^-60
    EXPECT_NEAR(static_cast<double>(std::count(secret.begin(), secret.end(), x)), 1365, 300);
  const auto copy = ternary_secret(4096, secret.span());
  EXPECT_TRUE(std::equal(secret.begin(), secret.end(), copy.begin()));
  EXPECT_THROW(ternary_secret(4095, secret.span()), ShapeError);
  EXPECT_THROW(ternary_secret(3, std::vector<std::int32_t>{0, 1, 2}), RangeError);
  EXPECT_THROW(ternary_secret(3, std::vector<std::int32_t>{-2, 1, 1}), RangeError);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
