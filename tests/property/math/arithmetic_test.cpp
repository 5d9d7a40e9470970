// Random moduli and operands, against __int128.
#include <rapidcheck/gtest.h>

#include "math/inner_product.h"
#include "math/modulus.h"
#include "support/test.h"

namespace whorl::math {
namespace {

// Every bit length is as likely as any other.
template <class Word>
Word any_modulus() {
  const unsigned bits = *rc::gen::inRange(2U, sizeof(Word) == 4 ? 32U : 62U);
  const uint64_t low = uint64_t{1} << (bits - 1);
  return static_cast<Word>(*rc::gen::inRange<uint64_t>(low, 2 * low));
}

template <class Word>
Word any_word() {
  return *rc::gen::noShrink(rc::gen::arbitrary<Word>()) ^
         static_cast<Word>(*rc::gen::element<uint64_t>(0, ~uint64_t{0}));
}

template <class Word>
void check_modulus() {
  const Word q = any_modulus<Word>();
  const Modulus<Word> modulus(q);
  for (int i = 0; i < 20; ++i) {
    const Word x = any_word<Word>();
    const Word y = any_word<Word>();
    const Wide<Word> wide = (static_cast<Wide<Word>>(x) << word_bits<Word>) | y;
    RC_ASSERT(modulus.reduce(x) == x % q);
    RC_ASSERT(modulus.reduce_wide(wide) == static_cast<Word>(wide % q));
    const Word a = x % q;
    const Word b = y % q;
    const Word product = static_cast<Word>(static_cast<Wide<Word>>(a) * b % q);
    RC_ASSERT(modulus.mul(a, b) == product);
    RC_ASSERT(modulus.mul_shoup(a, b, modulus.shoup(b)) == product);
    const Word lazy = modulus.mul_shoup_lazy(x, b, modulus.shoup(b));
    RC_ASSERT(lazy < 2 * q);
    RC_ASSERT(lazy % q == static_cast<Word>(static_cast<Wide<Word>>(x) * b % q));
    RC_ASSERT(modulus.sub(modulus.add(a, b), b) == a);
    RC_ASSERT(modulus.add(a, modulus.neg(a)) == 0);
    RC_ASSERT(modulus.from_signed(modulus.centred(a)) == a);
    if (std::gcd(a, q) == 1) {
      RC_ASSERT(modulus.mul(a, modulus.inverse(a)) == 1);
    } else {
      RC_ASSERT_THROWS_AS(modulus.inverse(a), ParameterError);
    }
    if (q % 2 == 1) {
      const Montgomery<Word> montgomery(modulus);
      RC_ASSERT(montgomery.from_montgomery(montgomery.mul(montgomery.to_montgomery(a),
                                                          montgomery.to_montgomery(b))) == product);
    }
  }
}

RC_GTEST_PROP(MathModulusProperty, words_of_32_bits, ()) { check_modulus<uint32_t>(); }
RC_GTEST_PROP(MathModulusProperty, words_of_64_bits, ()) { check_modulus<uint64_t>(); }

std::vector<int32_t> any_secret(size_t n) {
  // Small ones as keys are, and all there are.
  if (*rc::gen::arbitrary<bool>()) {
    return *rc::gen::container<std::vector<int32_t>>(n, rc::gen::inRange(-600, 601));
  }
  return *rc::gen::container<std::vector<int32_t>>(
      n, rc::gen::element(INT32_MIN, INT32_MAX, INT32_MIN + 1, -1, 0, 1));
}

template <class Word>
void check_inner_product() {
  const Word q = any_modulus<Word>();
  const Modulus<Word> modulus(q);
  const size_t n = *rc::gen::inRange<size_t>(0, 300);
  const std::vector<int32_t> s = any_secret(n);
  std::vector<Word> a(n);
  __int128 sum = 0;
  for (size_t i = 0; i < n; ++i) {
    a[i] = i % 3 == 0 ? q - 1 : any_word<Word>() % q;
    sum += static_cast<__int128>(static_cast<int64_t>(a[i])) * s[i];
  }
  sum %= static_cast<__int128>(q);
  if (sum < 0) sum += q;
  RC_ASSERT(inner_product<Word>(a, s, modulus) == static_cast<Word>(sum));
}

RC_GTEST_PROP(MathInnerProductProperty, words_of_32_bits, ()) { check_inner_product<uint32_t>(); }
RC_GTEST_PROP(MathInnerProductProperty, words_of_64_bits, ()) { check_inner_product<uint64_t>(); }

template <class Word>
void check_masked() {
  const Word mask = static_cast<Word>(~uint64_t{0} >>
                                      (64 - *rc::gen::inRange<unsigned>(1, 8 * sizeof(Word) + 1)));
  const size_t n = *rc::gen::inRange<size_t>(0, 300);
  const std::vector<int32_t> s = any_secret(n);
  std::vector<Word> a(n);
  __int128 sum = 0;
  for (size_t i = 0; i < n; ++i) {
    a[i] = any_word<Word>();
    sum += static_cast<__int128>(a[i]) * s[i];
  }
  RC_ASSERT(inner_product_masked<Word>(a, s, mask) ==
            static_cast<Word>(static_cast<uint64_t>(sum) & mask));
}

RC_GTEST_PROP(MathInnerProductProperty, masked_16_bits, ()) { check_masked<uint16_t>(); }
RC_GTEST_PROP(MathInnerProductProperty, masked_32_bits, ()) { check_masked<uint32_t>(); }
RC_GTEST_PROP(MathInnerProductProperty, masked_64_bits, ()) { check_masked<uint64_t>(); }

TEST(MathInnerProduct, lengths_must_agree) {
  const std::vector<uint32_t> a(5);
  const std::vector<int32_t> s(6);
  EXPECT_THROW(inner_product<uint32_t>(a, s, Modulus<uint32_t>(17)), ShapeError);
  EXPECT_THROW(inner_product_masked<uint32_t>(a, s, 15), ShapeError);
}

}  // namespace
}  // namespace whorl::math
