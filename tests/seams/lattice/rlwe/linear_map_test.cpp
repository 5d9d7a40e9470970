// A device that takes the baby steps of a linear map at once says how many, and evaluators give it
// as many, or as many keys as there is room for. So it is with giant steps. A device may also make
// a few sums without keeping the images: then evaluators give it all products of the baby steps.
// Results have the same bits as one by one.
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

constexpr std::size_t at_once = 4;
/// Terms of each call.
struct Terms {
  std::vector<std::size_t> babies, giants, products;
  bool operator==(const Terms&) const = default;
};
struct Seen {
  backend::RnsFusions fusions;
  Terms terms = {};
};

template <class Word>
class CountingRns final : public backend::RelayRns<Word>, private backend::FusedRns<Word> {
  using Base = backend::RelayRns<Word>;

 public:
  using typename Base::Tables;
  CountingRns(const backend::Queue& queue, const backend::Queue& behind, std::shared_ptr<Seen> seen)
      : Base(queue, behind), seen_(std::move(seen)) {}

 protected:
  const backend::FusedRns<Word>* fused() const override { return this; }
  void run_sum_of_inner_products(const Tables& tables, const backend::SumOfInnerProducts<Word>& sum,
                                 Word* out) const override {
    seen_->terms.giants.push_back(sum.terms.size());
    Base::run_sum_of_inner_products(tables, sum, out);
  }

 private:
  // It takes many terms in a call, which it counts, and leaves the work to the other entries.
  backend::RnsFusions fusions() const override { return seen_->fusions; }
  bool inner_products(std::span<const backend::TurnedKey<Word>> terms, const Tables&,
                      const backend::InnerProduct&, std::size_t, const Word*, std::size_t,
                      const backend::CheckedScaling<Word>*, Word*) const override {
    seen_->terms.babies.push_back(terms.size());
    return false;
  }
  bool turned_products(std::span<const backend::TurnedProduct<Word>> terms, const Tables&,
                       const backend::InnerProduct&, const backend::SumLayout&, std::size_t,
                       const Word*, const backend::CheckedScaling<Word>&, bool,
                       Word*) const override {
    seen_->terms.products.push_back(terms.size());
    return false;
  }
  std::shared_ptr<Seen> seen_;
};

template <class Word>
using CountingQueue =
    backend::RelayWith<backend::RnsOps<Word>, CountingRns<Word>, std::shared_ptr<Seen>>;

template <class Word>
std::shared_ptr<const run::Fleet> counting_fleet(std::size_t devices,
                                                 const std::shared_ptr<Seen>& seen) {
  using Device = backend::RelayDevice<CountingQueue<Word>, std::shared_ptr<Seen>>;
  std::vector<std::shared_ptr<const backend::Device>> all;
  for (std::size_t i = 0; i < devices; ++i)
    all.push_back(std::make_shared<Device>(
        "counting:" + std::to_string(i),
        test::strained_device("behind:" + std::to_string(i), std::make_shared<test::Strain>()),
        seen));
  return std::make_shared<const run::Fleet>(std::move(all), run::FleetOptions{});
}

/// What the device should see where any number of keys, three of them, or one has room.
struct Calls {
  Terms with_all, with_three, with_one;
};

/// A map with a plaintext for each pair of a baby and a giant step that is not left out.
template <class Word>
void compare_maps(const std::vector<std::uint32_t>& giants, const Calls& calls) {
  auto rig = test::RlweRig<Word>::even(5, 3, 2);
  // Seven have keys.
  const std::vector<std::uint32_t> babies = {5, 1, 25, 0, 125, 3, 1, 511, 77, 9};
  std::vector<SwitchKeyData> data;
  for (const auto* const steps : {&babies, &giants})
    for (const std::uint32_t g : *steps)
      if (g > 1 && std::ranges::none_of(data, [&](const auto& has) { return has.g == g; }))
        data.push_back(rig.key(g, 1));
  const ring::KeyLayout layout = rig.plan->key_layout();
  const std::size_t key_bytes =
      2 * layout.digits.size() * layout.rows().size() * rig.plan->N() * sizeof(Word);
  const ring::Basis basis = rig.plan->level(4);
  const Shape shape{2, basis, 3};
  const WordArray x = rig.residues(shape);
  const auto factors = rig.integers(giants.size() * babies.size(), 99);
  const auto mapped = [&](const std::shared_ptr<const run::Fleet>& fleet, std::size_t budget) {
    const auto e = rig.evaluator(fleet);
    const Keys keys(e, data, std::make_shared<run::KeyBudget>(budget));
    const Evaluator::LinearMap map{
        babies, giants, [&](std::size_t giant, std::size_t baby) {
          if (babies[baby] == 0 || giants[giant] == 0) return Array();
          const std::size_t at = (giant * babies.size() + baby) * rig.plan->N();
          return e->lift(std::span(factors).subspan(at, rig.plan->N()), basis | e->special());
        }};
    return e->download(e->linear_map(e->upload(x, shape), map, keys, basis, 1));
  };
  const WordArray due = mapped(test::StrainedFleet(1).fleet, run::KeyBudget::unlimited);
  const std::pair<std::size_t, const Terms&> cases[] = {{run::KeyBudget::unlimited, calls.with_all},
                                                        {3 * key_bytes, calls.with_three},
                                                        {key_bytes, calls.with_one}};
  for (const auto& [budget, expected] : cases) {
    const auto seen =
        std::make_shared<Seen>(Seen{{.inner_products = at_once, .turned_sums = at_once}});
    const WordArray got = mapped(counting_fleet<Word>(1, seen), budget);
    EXPECT_TRUE(std::ranges::equal(got.template as<Word>(), due.template as<Word>()));
    EXPECT_TRUE(seen->terms == expected) << "keys may take " << budget << " bytes";
  }
}

template <class Word>
class LinearMaps : public ::testing::Test {};
TYPED_TEST_SUITE(LinearMaps, test::BothWords);

TYPED_TEST(LinearMaps, StepsAtOnceGiveTheSameBits) {
  // Two stay where they are, one has no plaintext: ten have keys, as it happens one of them twice.
  const std::vector<std::uint32_t> giants = {127, 1, 31, 33, 0, 35, 37, 39, 127, 1, 41, 43, 45};
  compare_maps<TypeParam>(
      giants, {.with_all = {{4, 3}, {4, 4, 2}, {}},
               .with_three = {{3, 3, 1}, {3, 1, 3, 1, 2}, {}},
               .with_one = {std::vector<std::size_t>(7, 1), std::vector<std::size_t>(10, 1), {}}});
}

TYPED_TEST(LinearMaps, FewSumsWithoutImagesGiveTheSameBits) {
  // Four sums, one of them of the two giant steps that stay where they are: each of the nine baby
  // steps meets it twice, and has two terms.
  const std::vector<std::uint32_t> giants = {127, 1, 31, 0, 1, 127};
  compare_maps<TypeParam>(giants, {.with_all = {{}, {3}, {18}},
                                   .with_three = {{}, {3}, {8, 8, 2}},
                                   .with_one = {{}, {1, 1, 1}, {4, 2, 2, 4, 2, 2, 2}}});
}

}  // namespace
}  // namespace whorl::lattice::rlwe
