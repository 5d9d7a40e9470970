// External products over RNS rings are the evaluator's operations: RGSW ciphertexts are two
// switching keys, one from m and one from m·s, and a product is digits, inner products and one
// division. A tree of them chooses among arrays that stay on two devices.
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

/// Hybrid gadget: rows encrypt P·m and P·m·s modulo the primes of their digit (RGSW: Gentry,
/// Sahai, Waters, CRYPTO 2013, over rings as Ducas and Micciancio, EUROCRYPT 2015, have it).
struct Rgsw {
  std::shared_ptr<const Key> m, m_times_s;
};

template <class Word>
class ExternalProduct : public ::testing::Test {
 protected:
  using Rig = test::RlweRig<Word>;

  /// A switching key leads from any ternary polynomial; 0 or a monomial times s is one, too.
  Rgsw encrypt(const Evaluator& e, std::span<const std::int64_t> m) {
    const std::vector<std::int64_t> s(rig_.coefficients.data(),
                                      rig_.coefficients.data() + rig_.N());
    const auto from = [&](std::span<const std::int64_t> message) {
      const std::vector<std::int32_t> narrow(message.begin(), message.end());
      const RnsSecret<Word> source(rig_.plan, narrow, Rig::sigma);
      SwitchKeyData data{1, 1, {}, {}, rig_.plan->key_layout()};
      data.seed = rig_.random.template bytes<32>();
      data.b = rig_.secret.switch_key_bodies(data.layout, 1, {}, data.seed, 1, {}, &source);
      return e.prepare(data, test::any_keys());
    };
    return {from(m), from(rig_.product(m, s))};
  }
  Rgsw encrypt_bit(const Evaluator& e, bool bit) {
    std::vector<std::int64_t> m(rig_.N());
    m[0] = bit;
    return encrypt(e, m);
  }
  /// (c_0 + c_1·s)·m of c = a: digits of c_0 meet m, those of c_1 meet m·s.
  static Array product(const Evaluator& e, const Array& a, const Rgsw& key) {
    const auto part = [&](unsigned k, const Key& with) {
      return e.inner_product(e.digits(a, k, with.layout()), with, 1);
    };
    return e.divide(e.add(part(0, *key.m), part(1, *key.m_times_s)), a.basis(), 1);
  }
  /// CMUX: d_0 + c·(d_1 - d_0) (CMux of Chillotti, Gama, Georgieva, Izabachène, J. Cryptology
  /// 2020).
  static Array choose(const Evaluator& e, const Rgsw& c, const Array& d0, const Array& d1) {
    return e.add(d0, product(e, e.sub(d1, d0), c));
  }

  Rig rig_ = Rig::even(4, 2, 2);
};

TYPED_TEST_SUITE(ExternalProduct, test::BothWords);

TYPED_TEST(ExternalProduct, ATreeChoosesAmongArrays) {
  auto& rig = this->rig_;
  const auto e = rig.evaluator(test::StrainedFleet(2).fleet);
  for (const unsigned limbs : {4u, 3u, 1u}) {
    const ring::Basis basis = rig.plan->level(limbs);
    std::vector<std::vector<std::int64_t>> messages;
    std::vector<Array> leaves;
    for (int i = 0; i < 4; ++i) {
      messages.push_back(rig.integers(3, 1 << 20));
      leaves.push_back(e->upload(rig.encrypt(basis, messages.back()), {2, basis, 3}));
    }
    for (unsigned wanted = 0; wanted < 4; ++wanted) {
      const Rgsw low = this->encrypt_bit(*e, wanted & 1), high = this->encrypt_bit(*e, wanted & 2);
      const Array chosen = this->choose(*e, high, this->choose(*e, low, leaves[0], leaves[1]),
                                        this->choose(*e, low, leaves[2], leaves[3]));
      EXPECT_EQ(chosen.pieces().size(), 2u);
      // A product adds a few hundred at most: D, a digit's primes, is about P. Messages differ by
      // far more.
      EXPECT_LE(rig.largest_difference(rig.phases(*e, chosen), messages[wanted]), 1 << 12)
          << limbs << " limbs, leaf " << wanted;
    }
  }
}

TYPED_TEST(ExternalProduct, AMonomialTurnsAndAMissingBitGivesZero) {
  auto& rig = this->rig_;
  const auto e = rig.evaluator(test::StrainedFleet(1).fleet);
  const ring::Basis basis = rig.plan->level(3);
  const auto m = rig.integers(2, 1 << 20);
  const Array a = e->upload(rig.encrypt(basis, m), {2, basis, 2});
  std::vector<std::int64_t> monomial(rig.N()), none(m.size());
  monomial[rig.N() - 3] = -1;
  const auto turned = this->product(*e, a, this->encrypt(*e, monomial));
  EXPECT_LE(rig.largest_difference(rig.phases(*e, turned), rig.product(m, monomial)), 1 << 12);
  const auto zero = this->product(*e, a, this->encrypt_bit(*e, false));
  EXPECT_LE(rig.largest_difference(rig.phases(*e, zero), none), 1 << 12);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
