// Rings of one prime: signed digits, automorphisms without keys, parts as arrays, and sums of
// products of one ciphertext with many plaintexts, as gadgets multiply.
#include "lattice/rlwe/dry_evaluator.h"
#include "ring/gadget.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using test::expect_same;
using test::RlweRig;
using test::StrainedFleet;

template <class Word>
class RlweDigits : public ::testing::Test {};
TYPED_TEST_SUITE(RlweDigits, test::BothWords);

/// One device and several, one piece and many.
constexpr std::pair<std::size_t, std::size_t> fleets[] = {{1, 512}, {1, 2}, {2, 512}, {3, 2}};

template <class Word>
std::uint64_t prime_of(const RlweRig<Word>& rig, unsigned prime) {
  return rig.plan->moduli()[prime].value();
}

/// Coefficients of an array over one prime, centred: (parts, count, N).
template <class Word>
std::vector<std::int64_t> coefficients(const Evaluator& e, const Array& a, std::uint64_t q) {
  const WordArray words = e.download(e.transform(a, Form::coefficient));
  std::vector<std::int64_t> out;
  for (const Word x : words.as<Word>()) out.push_back(test::centred(x, q));
  return out;
}

TYPED_TEST(RlweDigits, AreThoseOfTheGadgetAndRecombine) {
  using Word = TypeParam;
  // The largest ring is the one that has a bridge: N = 2048, a prime of 48 bits if words have them.
  const std::uint64_t large = math::ntt_primes(sizeof(Word) == 4 ? 30 : 48, 2048, 1)[0];
  const std::vector<Word> one = {static_cast<Word>(large)};
  RlweRig<Word> rigs[] = {RlweRig<Word>::mixed(3, 1, 1),
                          RlweRig<Word>(std::make_shared<const ring::RnsPlan<Word>>(
                              2048, std::span<const Word>(one), std::span<const Word>(), 1))};
  for (auto& rig : rigs)
    for (const auto& [devices, most] : fleets) {
      const auto e = rig.evaluator(StrainedFleet(devices, most).fleet);
      const unsigned prime = rig.plan->limbs() - 1;
      const std::uint64_t q = prime_of(rig, prime);
      const auto bits = static_cast<unsigned>(std::bit_width(q - 1));
      const ring::Gadget gadgets[] = {
          {q, 9, (bits + 8) / 9}, {q, 4, 3}, {q, 23, 2}, {q, 31, 1}, {q, 7, 1}};
      for (const ring::Gadget& gadget : gadgets)
        for (const auto& [parts, count] : {std::pair<unsigned, std::size_t>{1, 1}, {2, 5}}) {
          SCOPED_TRACE(testing::Message()
                       << devices << " devices, pieces of " << most << ", q = " << q
                       << ", log_base " << gadget.log_base() << ", " << gadget.digits()
                       << " digits, " << parts << " parts, count " << count);
          const Shape shape{parts, ring::Basis{prime}, count};
          const Array a = e->upload(rig.residues(shape), shape), got = e->gadget_digits(a, gadget);
          EXPECT_EQ(got.parts(), parts * gadget.digits());
          EXPECT_EQ(got.basis(), a.basis());
          EXPECT_EQ(got.count(), count);
          EXPECT_EQ(got.form(), Form::evaluation);
          EXPECT_EQ(got.pieces(), a.pieces());
          const std::size_t part = count * rig.N();
          const auto x = coefficients<Word>(*e, a, q), digits = coefficients<Word>(*e, got, q);
          ASSERT_EQ(digits.size(), x.size() * gadget.digits());
          for (std::size_t i = 0; i < x.size(); ++i)
            for (unsigned j = 0; j < gadget.digits(); ++j)
              ASSERT_EQ(digits[(i / part * gadget.digits() + j) * part + i % part],
                        gadget.digit(x[i], j))
                  << "coefficient " << i << ", digit " << j;
          // sum_j digit_j·2^shift(j) is the part, but for what is dropped.
          const std::int64_t dropped =
              gadget.exact() ? 0 : std::int64_t{1} << (gadget.dropped() - 1);
          for (unsigned p = 0; p < parts; ++p) {
            std::vector<Array> of_part;
            std::vector<std::vector<std::uint64_t>> factors;
            for (unsigned j = 0; j < gadget.digits(); ++j) {
              of_part.push_back(e->parts(got, p * gadget.digits() + j, 1));
              factors.push_back({gadget.factor(j)});
            }
            const Array less =
                e->sub(e->combination(of_part, factors, a.basis()), e->parts(a, p, 1));
            for (const std::int64_t r : coefficients<Word>(*e, less, q))
              ASSERT_LE(std::abs(r), dropped) << "part " << p;
          }
        }
    }
}

TYPED_TEST(RlweDigits, SubstitutionsAreThoseOfCoefficients) {
  using Word = TypeParam;
  auto rig = RlweRig<Word>::mixed(3, 1, 1);
  const auto top = static_cast<std::uint32_t>(2 * rig.N() - 1);
  for (const auto& [devices, most] : fleets) {
    const auto e = rig.evaluator(StrainedFleet(devices, most).fleet);
    for (const unsigned prime : {0u, 2u})
      for (const std::uint32_t g : {1u, 3u, 5u, top}) {
        SCOPED_TRACE(testing::Message() << devices << " devices, prime " << prime << ", g = " << g);
        const std::uint64_t q = prime_of(rig, prime);
        const Shape shape{3, ring::Basis{prime}, 5};
        const Array a = e->upload(rig.residues(shape), shape), got = e->substitute(a, g);
        EXPECT_EQ(got.parts(), 3u);
        EXPECT_EQ(got.pieces(), a.pieces());
        EXPECT_EQ(coefficients<Word>(*e, got, q), rig.turned(coefficients<Word>(*e, a, q), g));
      }
    // Over several primes it is that of each.
    const ring::Basis two{0, 2};
    const Shape shape{2, two, 3};
    const Array a = e->upload(rig.residues(shape), shape), got = e->substitute(a, 7);
    for (const unsigned prime : {0u, 2u})
      expect_same(e->download(e->restrict(got, {prime})),
                  e->download(e->substitute(e->restrict(a, {prime}), 7)), "several primes");
  }
}

/// A ciphertext at X^g is one of the message at X^g under the secret at X^g.
TYPED_TEST(RlweDigits, SubstitutedCiphertextsMeanTheirMessagesTurned) {
  auto rig = RlweRig<TypeParam>::even(2, 1, 1);
  const auto e = rig.evaluator(StrainedFleet(2).fleet);
  const auto m = rig.integers(3, 1000);
  const std::uint32_t g = 11;
  std::uint32_t inverse = 1;
  while (inverse * g % (2 * rig.N()) != 1) inverse += 2;
  const Shape shape{2, ring::Basis{1}, 3};
  const Array a = e->upload(rig.encrypt(shape.basis, m), shape);
  // There is no secret at X^g here: back under s, the message is turned back too.
  const Array back = e->substitute(e->substitute(a, g), inverse);
  expect_same(e->download(back), e->download(a), "there and back");
  EXPECT_LE(rig.largest_difference(rig.phases(*e, back), m), 40);
}

TYPED_TEST(RlweDigits, PartsAreArraysOfTheSameMemory) {
  auto rig = RlweRig<TypeParam>::mixed(3, 1, 1);
  for (const auto& [devices, most] : fleets)
    for (const std::size_t count : {1u, 5u}) {
      SCOPED_TRACE(testing::Message() << devices << " devices, count " << count);
      const StrainedFleet fleet(devices, most);
      const auto e = rig.evaluator(fleet.fleet);
      const ring::Basis basis{0, 2};
      const Shape shape{4, basis, count}, single{2, basis, 1};
      const WordArray words = rig.residues(shape);
      Array a = e->upload(words, shape);
      const Array middle = e->parts(a, 1, 2), last = e->parts(a, 3, 1), all = e->parts(a, 0, 4);
      EXPECT_EQ(middle.parts(), 2u);
      EXPECT_EQ(middle.bytes(), a.bytes() / 2);
      EXPECT_EQ(last.pieces(), a.pieces());
      const auto of = [&](unsigned first, unsigned parts) {
        const auto from = words.as<TypeParam>();
        const std::size_t part = from.size() / 4;
        const auto some = from.subspan(first * part, parts * part);
        return WordArray(std::vector<TypeParam>(some.begin(), some.end()));
      };
      expect_same(e->download(middle), of(1, 2), "two");
      expect_same(e->download(last), of(3, 1), "one");
      expect_same(e->download(all), words, "all");
      // As operands, and after the array is gone, or has left for the host.
      const Array x = e->upload(rig.residues(single), single);
      const Array product = e->multiply_plain(x, last), sum = e->add(middle, middle),
                  two = e->join(std::vector<Array>{middle, e->parts(a, 0, 2)});
      expect_same(e->download(e->take(two, std::vector<std::uint32_t>{0})),
                  e->download(e->take(middle, std::vector<std::uint32_t>{0})), "joined");
      const Array copy = e->upload(of(3, 1), {1, basis, count});
      expect_same(e->download(product), e->download(e->multiply_plain(x, copy)), "a product");
      expect_same(e->download(sum), e->download(e->scale(middle, 2)), "a sum");
      for (std::size_t lane = 0; lane < devices; ++lane) fleet.spill(lane);
      expect_same(e->download(a), words, "spilled");
      expect_same(e->download(e->negate(e->negate(middle))), of(1, 2), "spilled");
      a = Array();
      expect_same(e->download(middle), of(1, 2), "alone");
      expect_same(e->download(e->parts(middle, 1, 1)), of(2, 1), "a part of parts");
    }
}

/// One ciphertext of two parts times many plaintexts, many times one, and both kinds in one sum:
/// what products of each and their sums are.
TYPED_TEST(RlweDigits, SumsTakeSinglesOfBothKinds) {
  auto rig = RlweRig<TypeParam>::mixed(3, 1, 1);
  for (const auto& [devices, most] : fleets)
    for (const ring::Basis& basis : {ring::Basis{1}, ring::Basis{0, 2}})
      for (const unsigned parts : {1u, 2u, 3u})
        for (const std::size_t terms : {1u, 2u, 35u, 130u}) {
          SCOPED_TRACE(testing::Message() << devices << " devices, " << parts << " parts, " << terms
                                          << " terms over " << basis.describe());
          const auto e = rig.evaluator(StrainedFleet(devices, most).fleet);
          // 0: one ciphertext, many plaintexts; 1: the other way round; 2: mixed.
          for (const unsigned kind : {0u, 1u, 2u}) {
            if (terms == 130 && (devices > 1 || most < 512)) continue;
            std::vector<Array> arrays, plains;
            Array due;
            for (std::size_t k = 0; k < terms; ++k) {
              const bool one_array = kind == 0 || (kind == 2 && k % 2 == 0),
                         one_plain = kind == 1 || (kind == 2 && k % 3 == 1);
              const Shape shape{parts, basis, one_array ? 1u : 5u},
                  plain{1, k % 2 ? basis : basis | ring::Basis{3}, one_plain ? 1u : 5u};
              arrays.push_back(e->upload(rig.residues(shape), shape));
              plains.push_back(e->upload(rig.residues(plain), plain));
              const Array term = e->multiply_plain(arrays[k], plains[k]);
              due = k == 0 ? term : e->add(due, term);
            }
            const Array got = e->sum_of_products(arrays, plains, basis);
            EXPECT_EQ(got.count(), due.count());
            EXPECT_EQ(got.parts(), parts);
            expect_same(e->download(got), e->download(due), "kind " + std::to_string(kind));
          }
        }
}

TYPED_TEST(RlweDigits, Refusals) {
  using Word = TypeParam;
  auto rig = RlweRig<Word>::mixed(3, 1, 1);
  const auto e = rig.evaluator(StrainedFleet(2).fleet),
             other = rig.evaluator(StrainedFleet(1).fleet);
  const std::uint64_t q = prime_of(rig, 1);
  const ring::Gadget gadget(q, 7, 2), of_another(prime_of(rig, 0), 7, 2);
  const Shape shape{2, ring::Basis{1}, 3}, wide{2, ring::Basis{0, 1}, 3};
  const Array a = e->upload(rig.residues(shape), shape), b = e->upload(rig.residues(wide), wide),
              coefficients = e->transform(a, Form::coefficient), empty;
  test::expect_message<ShapeError>([&] { e->gadget_digits(b, gadget); }, {"there must be one"});
  test::expect_message<ParameterError>([&] { e->gadget_digits(a, of_another); },
                                       {std::to_string(of_another.modulus()), std::to_string(q)});
  EXPECT_THROW(e->gadget_digits(coefficients, gadget), ShapeError);
  EXPECT_THROW(e->gadget_digits(empty, gadget), ShapeError);
  EXPECT_THROW(other->gadget_digits(a, gadget), DeviceError);
  for (const std::uint32_t g : {0u, 2u, static_cast<std::uint32_t>(2 * rig.N() + 1)})
    EXPECT_THROW(e->substitute(a, g), ParameterError) << g;
  EXPECT_THROW(e->substitute(coefficients, 3), ShapeError);
  EXPECT_THROW(e->substitute(empty, 3), ShapeError);
  EXPECT_THROW(other->substitute(a, 3), DeviceError);
  test::expect_message<ShapeError>([&] { e->parts(a, 1, 2); }, {"2 parts from part 1", "has 2"});
  EXPECT_THROW(e->parts(a, 0, 0), ShapeError);
  EXPECT_THROW(e->parts(a, 2, 1), ShapeError);
  EXPECT_THROW(e->parts(a, 1, ~0u), ShapeError);
  EXPECT_THROW(e->parts(empty, 0, 1), ShapeError);
  EXPECT_THROW(other->parts(a, 0, 1), DeviceError);
}

/// A dry run has the same shapes, and counts nothing.
TYPED_TEST(RlweDigits, DryRunsHaveTheSameShapes) {
  using Word = TypeParam;
  auto rig = RlweRig<Word>::mixed(3, 1, 1);
  const StrainedFleet fleet(1);
  const auto e = rig.evaluator(fleet.fleet);
  const auto dry = std::make_shared<const DryEvaluator>(fleet.fleet, rig.plan->N(), 3, 1,
                                                        static_cast<unsigned>(sizeof(Word)));
  const Shape shape{2, ring::Basis{1}, 3};
  const WordArray words = rig.residues(shape);
  const ring::Gadget gadget(prime_of(rig, 1), 7, 3);
  const auto shapes = [&](const Evaluator& of) {
    const Array a = of.upload(words, shape), digits = of.gadget_digits(a, gadget);
    return std::vector<Array>{digits, of.substitute(a, 3), of.parts(digits, 1, 4)};
  };
  const auto got = shapes(*dry), due = shapes(*e);
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_EQ(got[i].parts(), due[i].parts());
    EXPECT_EQ(got[i].basis(), due[i].basis());
    EXPECT_EQ(got[i].count(), due[i].count());
    EXPECT_EQ(got[i].form(), due[i].form());
    EXPECT_EQ(got[i].bytes(), due[i].bytes());
  }
  EXPECT_EQ(dry->costs().key_switches, 0u);
  EXPECT_EQ(dry->costs().rotations, 0u);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
