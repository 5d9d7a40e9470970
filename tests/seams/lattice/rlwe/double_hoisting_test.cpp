// A device that fuses weighted inner products (double hoisting: Bossuat, Mouchet, Troncoso-
// Pastoriza, Hubaux, EUROCRYPT 2021, §4) overrides one entry and says how many terms it takes at
// once. Evaluators give it as many, and results have the same bits as without it.
#include "ring/automorphism.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

constexpr std::size_t at_once = 4;

/// Terms of each fused call, on any device of a fleet.
struct Seen {
  std::mutex mutex;
  std::vector<std::size_t> terms;
};

/// Keeps the rows of keys as they come, beside a key of the device behind.
template <class Word>
class FusedRns final : public backend::RelayRns<Word> {
  using Base = backend::RelayRns<Word>;

 public:
  using typename Base::Key;
  using typename Base::Tables;
  FusedRns(const backend::Queue& queue, const backend::Queue& behind, std::shared_ptr<Seen> seen)
      : Base(queue, behind), seen_(std::move(seen)) {}
  backend::RnsFusions fusions() const override { return {.weighted_products = at_once}; }

 protected:
  using typename Base::WeightedTerm;
  struct OwnKey final : Key {
    OwnKey(const Tables& tables, const ring::KeyLayout& layout)
        : Key(tables.shared_plan(), layout),
          row(layout.rows().size() * std::size_t{tables.plan().N()}),
          a(layout.digits.size() * row),
          b(a.size()) {}
    std::size_t bytes() const override { return behind->bytes() + 2 * a.size() * sizeof(Word); }
    std::size_t row;         ///< words of a digit's a or b
    std::vector<Word> a, b;  ///< (digits, rows, N)
    std::unique_ptr<Key> behind;
  };
  std::unique_ptr<Key> make_key(const Tables& tables, const ring::KeyLayout& layout,
                                const backend::RnsRowSource<Word>& rows) const override {
    auto key = std::make_unique<OwnKey>(tables, layout);
    for (unsigned d = 0; d < layout.digits.size(); ++d)
      rows(d, {&key->a[d * key->row], key->row}, {&key->b[d * key->row], key->row});
    key->behind = Base::make_key(tables, layout, rows);
    return key;
  }
  void run_inner_product(const Key& key, const Tables& tables, const backend::InnerProduct& product,
                         std::size_t batch, const Word* digits, Word* out) const override {
    Base::run_inner_product(*static_cast<const OwnKey&>(key).behind, tables, product, batch, digits,
                            out);
  }
  /// One pass over the output: all terms of a word are summed before it is reduced and written.
  void run_weighted(std::span<const WeightedTerm> terms, const Tables& tables,
                    const backend::InnerProduct& product, std::size_t batch, const Word* digits,
                    bool onto, Word* out) const override {
    {
      const std::scoped_lock lock(seen_->mutex);
      seen_->terms.push_back(terms.size());
    }
    using Sum = unsigned __int128;
    const std::uint32_t N = tables.plan().N();
    const auto primes = product.rows.indices();
    std::vector<std::vector<std::uint32_t>> from;
    for (const WeightedTerm& term : terms) from.push_back(ring::evaluation_permutation(N, term.g));
    for (std::size_t r = 0; r < primes.size(); ++r)
      for (std::size_t at = 0; at < batch * N; ++at) {
        const Sum q = tables.plan().moduli()[primes[r]].value();
        const std::size_t i = at / N, j = at % N;
        Word* const to[] = {out + r * batch * N + at, out + (primes.size() + r) * batch * N + at};
        Sum sums[] = {onto ? *to[0] : Word{0}, onto ? *to[1] : Word{0}};
        for (std::size_t k = 0; k < terms.size(); ++k) {
          const auto& key = static_cast<const OwnKey&>(*terms[k].key);
          const std::size_t row = key.layout().rows().rank(primes[r]) * std::size_t{N} + j;
          Sum inner[] = {0, 0};
          for (std::size_t d = 0; d < product.digits.size(); ++d) {
            const Sum x = digits[((d * primes.size() + r) * batch + i) * N + from[k][j]];
            inner[0] += x * key.b[product.digits[d] * key.row + row];
            inner[1] += x * key.a[product.digits[d] * key.row + row];
          }
          const std::size_t place = terms[k].one ? r * N + j : r * batch * N + at;
          const Word weight = terms[k].weight[place >> terms[k].log_repeats];
          for (unsigned part = 0; part < 2; ++part) sums[part] += inner[part] % q * weight;
        }
        for (unsigned part = 0; part < 2; ++part) *to[part] = static_cast<Word>(sums[part] % q);
      }
  }

 private:
  std::shared_ptr<Seen> seen_;
};

template <class Word>
using FusedQueue = backend::RelayWith<backend::RnsOps<Word>, FusedRns<Word>, std::shared_ptr<Seen>>;

template <class Word>
std::shared_ptr<const run::Fleet> fused_fleet(std::size_t devices,
                                              const std::shared_ptr<Seen>& seen) {
  std::vector<std::shared_ptr<const backend::Device>> all;
  for (std::size_t i = 0; i < devices; ++i)
    all.push_back(std::make_shared<backend::RelayDevice<FusedQueue<Word>, std::shared_ptr<Seen>>>(
        "fused:" + std::to_string(i),
        test::strained_device("behind:" + std::to_string(i), std::make_shared<test::Strain>()),
        seen));
  return std::make_shared<const run::Fleet>(std::move(all), run::FleetOptions{});
}

template <class Word>
class DoubleHoisting : public ::testing::Test {};
TYPED_TEST_SUITE(DoubleHoisting, test::BothWords);

TYPED_TEST(DoubleHoisting, AFusedDeviceGivesTheSameBits) {
  using Word = TypeParam;
  auto rig = test::RlweRig<Word>::even(5, 3, 2);
  std::vector<SwitchKeyData> keys;
  for (const std::uint32_t g : {5u, 25u, 125u, 3u, 511u, 77u, 9u}) keys.push_back(rig.key(g, 1));
  for (const std::size_t devices : {1u, 2u})
    for (const unsigned limbs : {5u, 3u})
      for (const std::size_t terms : {1u, 2u, 3u, 7u}) {
        SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(limbs) + " limbs, " +
                     std::to_string(terms) + " terms");
        const ring::Basis basis = rig.plan->level(limbs);
        const Shape shape{2, basis, 3};
        const WordArray x = rig.residues(shape);
        std::vector<std::vector<std::int64_t>> plains;  // of every ciphertext, or one for all
        for (std::size_t i = 0; i <= terms; ++i) plains.push_back(rig.integers(i % 2 ? 3 : 1, 99));
        /// Over special primes too, so that it is hoisted twice, and without them.
        const auto sums = [&](const std::shared_ptr<const run::Fleet>& fleet) {
          const auto e = rig.evaluator(fleet);
          const Keys held(e, keys, test::any_keys());
          const Array a = e->upload(x, shape);
          std::vector<WordArray> out;
          for (const ring::Basis& over : {basis | e->special(), basis}) {
            std::vector<Evaluator::Term> all = {{1, e->lift(plains[terms], over)}};
            for (std::size_t i = 0; i < terms; ++i)
              all.push_back({keys[i].g, e->lift(plains[i], over)});
            out.push_back(e->download(e->weighted_sum(a, all, held, 1)));
          }
          return out;
        };
        const auto seen = std::make_shared<Seen>();
        const auto due = sums(test::StrainedFleet(devices).fleet);
        const auto got = sums(fused_fleet<Word>(devices, seen));
        for (std::size_t k = 0; k < 2; ++k)
          EXPECT_TRUE(std::ranges::equal(got[k].template as<Word>(), due[k].template as<Word>()))
              << (k == 0 ? "hoisted twice" : "hoisted once");
        // Only those that are hoisted twice reach the entry: full calls, and what is left.
        std::vector<std::size_t> calls;
        for (std::size_t piece = 0; piece < devices; ++piece)
          for (std::size_t left = terms; left > 0; left -= calls.back())
            calls.push_back(std::min(left, at_once));
        EXPECT_EQ(seen->terms, calls);
      }
}

}  // namespace
}  // namespace whorl::lattice::rlwe
