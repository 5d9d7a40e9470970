// Moduli at the edges of their range, against plain division. Random moduli are in the property
// tests.
#include "math/modulus.h"
#include "support/test.h"

namespace whorl::math {
namespace {

template <class Word>
class MathModulus : public testing::Test {
 public:
  static std::vector<Word> moduli() {
    std::vector<Word> values = {2, 3, 4, 5, 255, 256, 257, 65536, 65537};
    values.push_back(static_cast<Word>(ntt_prime_below(uint64_t{1} << 27, 1024)));
    values.push_back(Word{1} << 30);
    values.push_back((Word{1} << 31) - 1);
    if constexpr (sizeof(Word) == 8) {
      values.push_back(Word{1} << 31);
      values.push_back((Word{1} << 32) - 1);
      values.push_back(Word{1} << 32);
      values.push_back((Word{1} << 32) + 1);
      values.push_back(ntt_prime_below(uint64_t{1} << 54, 2048));
      values.push_back(Word{1} << 60);
      values.push_back(ntt_prime_below(uint64_t{1} << 61, 1 << 17));
      values.push_back((Word{1} << 61) - 1);
    }
    return values;
  }

  // Words near every boundary that a reduction could get wrong.
  static std::vector<Word> words(Word q, std::mt19937_64& random) {
    const Word top = std::numeric_limits<Word>::max();
    std::vector<Word> values = {0,
                                1,
                                Word(q - 1),
                                q,
                                Word(q + 1),
                                Word(2 * q - 1),
                                Word(2 * q),
                                Word(top / q * q - 1),
                                Word(top / q * q),
                                Word(top - 1),
                                top};
    for (int i = 0; i < 50; ++i) values.push_back(static_cast<Word>(random()));
    return values;
  }

  // Calls body(q, random) for every modulus, until one fails an assertion.
  template <class Body>
  static void each_modulus(const Body& body) {
    const uint64_t seed = std::random_device{}();
    std::mt19937_64 random(seed);
    for (const Word q : moduli()) {
      SCOPED_TRACE(testing::Message() << "q = " << q << ", seed = " << seed);
      body(q, random);
      if (HasFatalFailure()) return;
    }
  }
};

using Words = testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(MathModulus, Words);

TYPED_TEST(MathModulus, edge_moduli_match_division) {
  using Word = TypeParam;
  this->each_modulus([&](Word q, std::mt19937_64& random) {
    const Modulus<Word> modulus(q);
    EXPECT_EQ(modulus.value(), q);
    EXPECT_EQ(modulus.bits(), static_cast<unsigned>(std::bit_width(q)));
    const std::vector<Word> words = this->words(q, random);
    for (const Word a : words) {
      ASSERT_EQ(modulus.reduce(a), a % q) << a;
      for (const Word b : words) {
        const Wide<Word> wide = (static_cast<Wide<Word>>(a) << word_bits<Word>) | b;
        ASSERT_EQ(modulus.reduce_wide(wide), static_cast<Word>(wide % q)) << a << ", " << b;
        const Word x = a % q;
        const Word w = b % q;
        const Word product = static_cast<Word>(static_cast<Wide<Word>>(x) * w % q);
        ASSERT_EQ(modulus.add(x, w), static_cast<Word>((static_cast<Wide<Word>>(x) + w) % q));
        ASSERT_EQ(modulus.sub(x, w), static_cast<Word>((static_cast<Wide<Word>>(x) + q - w) % q));
        ASSERT_EQ(modulus.neg(x), static_cast<Word>((q - x) % q));
        ASSERT_EQ(modulus.mul(x, w), product) << x << ", " << w;
        const Word w_shoup = modulus.shoup(w);
        const Word full = static_cast<Word>(static_cast<Wide<Word>>(a) * w % q);
        ASSERT_EQ(modulus.mul_shoup(a, w, w_shoup), full) << a << ", " << w;
        const Word lazy = modulus.mul_shoup_lazy(a, w, w_shoup);
        ASSERT_LT(lazy, 2 * q);
        ASSERT_EQ(lazy % q, full);
      }
    }
  });
}

TYPED_TEST(MathModulus, montgomery_matches_division) {
  using Word = TypeParam;
  this->each_modulus([&](Word q, std::mt19937_64& random) {
    if (q % 2 == 0) {
      EXPECT_THROW(Montgomery<Word>(Modulus<Word>(q)), ParameterError);
      return;
    }
    const Montgomery<Word> montgomery{Modulus<Word>(q)};
    ASSERT_EQ(static_cast<Word>(montgomery.inverse() * q), 1);
    ASSERT_EQ(montgomery.to_montgomery(1), montgomery.r());
    const std::vector<Word> words = this->words(q, random);
    for (const Word a : words) {
      const Word x = a % q;
      const Word x_form = montgomery.to_montgomery(x);
      ASSERT_EQ(x_form, static_cast<Word>((static_cast<Wide<Word>>(x) << word_bits<Word>) % q));
      ASSERT_EQ(montgomery.from_montgomery(x_form), x);
      for (const Word b : words) {
        const Word y = b % q;
        const Word product = montgomery.mul(x_form, montgomery.to_montgomery(y));
        ASSERT_EQ(montgomery.from_montgomery(product),
                  static_cast<Word>(static_cast<Wide<Word>>(x) * y % q));
      }
    }
  });
}

TYPED_TEST(MathModulus, signed_and_centred) {
  using Word = TypeParam;
  this->each_modulus([&](Word q, std::mt19937_64& random) {
    const Modulus<Word> modulus(q);
    std::vector<int64_t> values = {0,
                                   1,
                                   -1,
                                   std::numeric_limits<int64_t>::max(),
                                   std::numeric_limits<int64_t>::min(),
                                   static_cast<int64_t>(q),
                                   -static_cast<int64_t>(q)};
    for (int i = 0; i < 1000; ++i) values.push_back(static_cast<int64_t>(random()) >> (i % 64));
    for (const int64_t v : values) {
      __int128 expected = static_cast<__int128>(v) % static_cast<__int128>(q);
      if (expected < 0) expected += q;
      ASSERT_EQ(modulus.from_signed(v), static_cast<Word>(expected)) << v;
    }
    for (const Word a : this->words(q, random)) {
      const int64_t c = modulus.centred(a % q);
      ASSERT_GT(2 * c, -static_cast<int64_t>(q));
      ASSERT_LE(2 * c, static_cast<int64_t>(q));
      ASSERT_EQ(modulus.from_signed(c), a % q);
    }
  });
}

TYPED_TEST(MathModulus, inverse_and_pow) {
  using Word = TypeParam;
  this->each_modulus([&](Word q, std::mt19937_64& random) {
    const Modulus<Word> modulus(q);
    EXPECT_THROW(modulus.inverse(0), ParameterError);
    for (const Word a : this->words(q, random)) {
      if (std::gcd(a % q, q) != 1) {
        ASSERT_THROW(modulus.inverse(a % q), ParameterError) << a;
        continue;
      }
      ASSERT_EQ(modulus.mul(modulus.inverse(a % q), a % q), 1) << a;
    }
    Word power = 1;
    const Word base = static_cast<Word>(random()) % q;
    for (uint64_t e = 0; e < 40; ++e) {
      ASSERT_EQ(modulus.pow(base, e), power);
      power = static_cast<Word>(static_cast<Wide<Word>>(power) * base % q);
    }
  });
}

TYPED_TEST(MathModulus, range_is_enforced) {
  using Word = TypeParam;
  for (const Word bad : {Word{0}, Word{1}, max_modulus<Word>, std::numeric_limits<Word>::max()}) {
    EXPECT_THROW(Modulus<Word>{bad}, ParameterError) << bad;
  }
  EXPECT_NO_THROW(Modulus<Word>{2});
  EXPECT_NO_THROW(Modulus<Word>{max_modulus<Word> - 1});
}

// All of it can be computed by the compiler.
static_assert(Modulus<uint32_t>(7).mul(5, 6) == 2);
static_assert(Modulus<uint64_t>(7).inverse(3) == 5);
static_assert(Montgomery<uint32_t>(Modulus<uint32_t>(7))
                  .from_montgomery(Montgomery<uint32_t>(Modulus<uint32_t>(7)).to_montgomery(4)) ==
              4);

}  // namespace
}  // namespace whorl::math
