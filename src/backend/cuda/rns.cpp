// Arrays over RNS bases on a GPU.
#include "backend/cuda/dispatch/rns/rns.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "backend/cuda/aligned.h"
#include "backend/cuda/dispatch/transforms/encoding.h"
#include "backend/cuda/queue.h"
#include "backend/cuda/tuning/rns.h"

namespace whorl::backend::cuda {

namespace {

template <class Word>
class CudaRns final : public RnsOps<Word>, private FusedRns<Word> {
 public:
  using typename RnsOps<Word>::Tables;
  using typename RnsOps<Word>::Key;
  explicit CudaRns(const CudaQueue& queue)
      : RnsOps<Word>(queue), stream_(queue.stream()), gpu_(queue.gpu()) {}

 protected:
  const FusedRns<Word>* fused() const override { return this; }
  std::unique_ptr<Tables> make_tables(
      std::shared_ptr<const ring::RnsPlan<Word>> plan) const override {
    return std::make_unique<CudaRnsTables<Word>>(stream_, gpu_.tables(), std::move(plan));
  }
  std::unique_ptr<Conversion<Word>> make_conversion(
      const ring::BaseConversion<Word>& rule) const override {
    return std::make_unique<CudaConversion<Word>>(stream_, rule);
  }
  std::unique_ptr<Key> make_key(const Tables& tables, const ring::KeyLayout& layout,
                                const RnsRowSource<Word>& rows) const override {
    return std::make_unique<CudaRnsSwitchKey<Word>>(stream_, own(tables), layout, rows,
                                                    gpu_.workers());
  }
  void transform(const Tables& tables, const ring::Basis& basis, bool forward, std::size_t parts,
                 std::size_t batch, Word* data) const override {
    const Aligned<Word> values(stream_, data, parts * words(tables, basis, batch));
    cuda::rns_transform<Word>(stream_, own(tables), basis, forward, parts, batch, values.data(),
                              values.data());
    values.write_back();
  }
  void run_conversion(const Conversion<Word>& conversion, std::uint32_t N, std::size_t batch,
                      const Word* in, Word* out) const override {
    const std::size_t row = batch * N;
    const Aligned<const Word> from(stream_, in, conversion.rule().from().size() * row);
    const Aligned<Word> to(stream_, out, conversion.rule().to().size() * row);
    cuda::base_convert(stream_, static_cast<const CudaConversion<Word>&>(conversion), N, batch,
                       from.data(), to.data());
    to.write_back();
  }
  void run_extension(const Tables& tables, const Extension& extension, std::size_t batch,
                     const Word* in, Word* out) const override {
    const Aligned<const Word> from(stream_, in, words(tables, extension.from, batch));
    const Aligned<Word> to(stream_, out,
                           extension.digits.size() * words(tables, extension.to, batch));
    cuda::extend(stream_, own(tables), extension, batch, from.data(), to.data());
    to.write_back();
  }
  void run_decomposition(const Tables& tables, const ring::Basis& basis, const ring::Gadget& gadget,
                         std::size_t parts, std::size_t batch, const Word* in,
                         Word* out) const override {
    const std::size_t part = words(tables, basis, batch);
    const Aligned<const Word> from(stream_, in, parts * part);
    const Aligned<Word> to(stream_, out, parts * gadget.digits() * part);
    cuda::decompose(stream_, own(tables), basis, gadget, parts, batch, from.data(), to.data());
    to.write_back();
  }
  void run_inner_product(const Key& key, const Tables& tables, const InnerProduct& product,
                         std::size_t batch, const Word* digits, Word* out) const override {
    inner_product(key, tables, product, batch, digits, 0, nullptr, false, out);
  }
  void run_sum_of_inner_products(const Tables& tables, const SumOfInnerProducts<Word>& sum,
                                 Word* out) const override {
    const std::size_t part = words(tables, sum.product.rows, sum.batch);
    const Aligned<const Word> from(stream_, sum.digits, sum.product.digits.size() * sum.of * part),
        x(stream_, sum.added, sum.added ? sum.of * part : 0);
    const Aligned<Word> to(stream_, out, 2 * part);
    cuda::sum_of_inner_products<Word>(stream_, own(tables), sum.terms, sum.product, sum.batch,
                                      sum.of, sum.first, from.data(),
                                      sum.added ? x.data() : nullptr, sum.onto, to.data());
    to.write_back();
  }
  void run_division(const Tables& tables, const Division& division, std::size_t parts,
                    std::size_t batch, const Word* in, std::span<const Word> added, std::uint32_t g,
                    Word* out) const override {
    const Aligned<const Word> from(stream_, in, parts * words(tables, division.from, batch)),
        more(stream_, added.data(), added.size());
    const Aligned<Word> to(stream_, out, parts * words(tables, division.to, batch));
    cuda::divide(stream_, own(tables), division, parts, batch, from.data(),
                 {more.data(), added.size()}, g, to.data());
    to.write_back();
  }
  void run_tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts,
                  std::size_t b_parts, std::size_t batch, bool one_b, const Word* a, const Word* b,
                  const TensorEnd<Word>& end, Word* out) const override {
    const std::size_t part = words(tables, basis, batch);
    const Aligned<const Word> x(stream_, a, a_parts * part),
        y(stream_, b, b_parts * words(tables, basis, one_b ? 1 : batch));
    const Aligned<const Word> added(stream_, end.added.data, end.added_parts * part);
    TensorEnd<Word> aligned = end;
    aligned.added.data = added.data();
    const Aligned<Word> to(stream_, out, (a_parts + b_parts - 1) * part);
    cuda::tensor(stream_, own(tables), basis, a_parts, b_parts, batch, one_b, x.data(), y.data(),
                 aligned, to.data());
    to.write_back();
  }

  void run_products(const Tables& tables, const ring::Basis& basis, const SumLayout& sums,
                    std::size_t batch, std::span<const CheckedProduct<Word>> terms, bool onto,
                    Word* out) const override {
    const std::size_t part = words(tables, basis, batch);
    std::vector<CheckedProduct<Word>> all(terms.begin(), terms.end());
    std::vector<Aligned<const Word>> kept;
    kept.reserve(2 * all.size());
    for (CheckedProduct<Word>& term : all) {
      const std::size_t of_x = words(tables, basis, term.one_x ? 1 : batch);
      term.x = kept.emplace_back(stream_, term.x, sums.parts * of_x).data();
      const std::size_t values = words(tables, term.over, term.one ? 1 : batch);
      term.m = kept.emplace_back(stream_, term.m, values >> term.log_repeats).data();
    }
    const Aligned<Word> to(stream_, out, sums.sums * sums.parts * part);
    cuda::sums_of_products<Word>(stream_, own(tables), basis, sums, batch, all, onto, to.data());
    to.write_back();
  }
  void run_combination(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                       std::size_t batch, std::span<const CheckedScaling<Word>> terms,
                       std::span<const Word> constant, bool onto, Word* out) const override {
    std::vector<CheckedScaling<Word>> all(terms.begin(), terms.end());
    std::vector<Aligned<const Word>> kept;
    kept.reserve(all.size());
    for (CheckedScaling<Word>& term : all)
      term.x =
          kept.emplace_back(stream_, term.x, parts * words(tables, term.over, term.one ? 1 : batch))
              .data();
    const Aligned<Word> to(stream_, out, parts * words(tables, basis, batch));
    cuda::combine<Word>(stream_, own(tables), basis, parts, batch, all, constant, onto, to.data());
    to.write_back();
  }
  void run_weighted_sums(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                         std::size_t count, const CheckedSums<Word>& sums,
                         Word* out) const override {
    const Aligned<const Word> x(stream_, sums.x,
                                parts * words(tables, basis, sums.inputs * sums.columns));
    CheckedSums<Word> aligned = sums;
    aligned.x = x.data();
    const Aligned<Word> to(stream_, out, parts * words(tables, basis, count));
    cuda::weighted_sums<Word>(stream_, own(tables), basis, parts, count, aligned, to.data());
    to.write_back();
  }
  void run_masked_tensors(const Tables& tables, const ring::Basis& basis, std::size_t batch,
                          const CheckedMasks<Word>& of) const override {
    cuda::masked_tensors<Word>(stream_, own(tables), basis, batch, of);
  }
  void run_rounding(const Tables& tables, const ring::Basis& basis, double scale, std::uint32_t n,
                    std::uint32_t step, std::size_t batch, const double* in,
                    Word* out) const override {
    const ring::RnsPlan<Word>& plan = tables.plan();
    cuda::round<Word>(stream_, plan.moduli_of(basis), scale, n, step, plan.N(), batch, in, out);
  }

 private:
  // ---- FusedRns

  RnsFusions fusions() const override {
    return {.switched_products = true,
            .inner_products = tuning::keys_a_launch,
            .turned_sums = turned_sums_a_launch};
  }
  bool inner_product_with(const Key& key, const Tables& tables, const InnerProduct& product,
                          std::size_t batch, const Word* digits, std::size_t parts,
                          const CheckedScaling<Word>& added, bool onto, Word* out) const override {
    const Aligned<const Word> x(stream_, added.x, parts * words(tables, added.over, batch));
    CheckedScaling<Word> term = added;
    term.x = x.data();
    inner_product(key, tables, product, batch, digits, parts, &term, onto, out);
    return true;
  }
  bool switched_product(const Key& key, const Tables& tables, const Extension& extension,
                        const InnerProduct& product, std::size_t batch,
                        const CheckedFactors<Word>& factors, Word* out) const override {
    const auto sequence = cuda::products_of(own(tables), extension);
    if (!sequence || words(tables, extension.from, batch) < tuning::least_switched_product)
      return false;
    const Aligned<const Word> a(stream_, factors.a, 2 * words(tables, extension.from, batch)),
        b(stream_, factors.b, 2 * words(tables, extension.from, factors.one ? 1 : batch));
    CheckedFactors<Word> aligned = factors;
    aligned.a = a.data();
    aligned.b = b.data();
    const Aligned<Word> to(stream_, out, 2 * words(tables, product.rows, batch));
    cuda::switched_product(stream_, own(tables), static_cast<const CudaRnsSwitchKey<Word>&>(key),
                           extension, *sequence, product, batch, aligned, to.data());
    to.write_back();
    return true;
  }
  bool inner_products(std::span<const TurnedKey<Word>> terms, const Tables& tables,
                      const InnerProduct& product, std::size_t batch, const Word* digits,
                      std::size_t parts, const CheckedScaling<Word>* added,
                      Word* out) const override {
    const std::size_t part = words(tables, product.rows, batch);
    const Aligned<const Word> from(stream_, digits, product.digits.size() * part),
        x(stream_, added ? added->x : nullptr,
          added ? parts * words(tables, added->over, batch) : 0);
    std::optional<CheckedScaling<Word>> term;
    if (added) {
      term = *added;
      term->x = x.data();
    }
    const Aligned<Word> to(stream_, out, terms.size() * 2 * part);
    cuda::inner_products<Word>(stream_, own(tables), terms, product, batch, from.data(), parts,
                               term ? &*term : nullptr, to.data());
    to.write_back();
    return true;
  }
  bool turned_products(std::span<const TurnedProduct<Word>> terms, const Tables& tables,
                       const InnerProduct& product, const SumLayout& sums, std::size_t batch,
                       const Word* digits, const CheckedScaling<Word>& added, bool onto,
                       Word* out) const override {
    // The kernel goes through digits that follow each other. Others have no use yet.
    const auto& numbers = product.digits;
    if (!numbers.empty() && numbers.back() - numbers.front() + 1 != numbers.size()) return false;
    const std::size_t part = words(tables, product.rows, batch);
    std::vector<TurnedProduct<Word>> all(terms.begin(), terms.end());
    std::vector<Aligned<const Word>> kept;
    std::size_t count = 2;
    for (const auto& term : all) count += term.factors.size();
    kept.reserve(count);
    const bool switches = std::ranges::any_of(all, [](auto& term) { return term.key; });
    const auto aligned = [&](const Word* from, std::size_t size) {
      return kept.emplace_back(stream_, from, size).data();
    };
    for (auto& term : all)
      for (auto& factor : term.factors) factor.m.data = aligned(factor.m.data, factor.m.size);
    CheckedScaling<Word> addend = added;
    addend.x = aligned(added.x, 2 * words(tables, added.over, batch));
    const Word* const from = switches ? aligned(digits, product.digits.size() * part) : nullptr;
    const Aligned<Word> to(stream_, out, sums.sums * 2 * part);
    cuda::sums_of_turned_products<Word>(stream_, own(tables), all, product, sums, batch, from,
                                        addend, onto, to.data());
    to.write_back();
    return true;
  }

  static const CudaRnsTables<Word>& own(const Tables& tables) {
    return static_cast<const CudaRnsTables<Word>&>(tables);
  }
  void inner_product(const Key& key, const Tables& tables, const InnerProduct& product,
                     std::size_t batch, const Word* digits, std::size_t added_parts,
                     const CheckedScaling<Word>* added, bool onto, Word* out) const {
    const std::size_t part = words(tables, product.rows, batch);
    const Aligned<const Word> from(stream_, digits, product.digits.size() * part);
    const Aligned<Word> to(stream_, out, 2 * part);
    cuda::inner_product(stream_, own(tables), static_cast<const CudaRnsSwitchKey<Word>&>(key),
                        product, batch, from.data(), added_parts, added, onto, to.data());
    to.write_back();
  }
  /// One part over a basis has so many words.
  static std::size_t words(const Tables& tables, const ring::Basis& basis, std::size_t batch) {
    return basis.size() * batch * tables.plan().N();
  }

  const Stream& stream_;
  const CudaDevice& gpu_;
};

}  // namespace

void CudaQueue::offer_rns() {
  offer<RnsOps<std::uint32_t>>(std::make_shared<CudaRns<std::uint32_t>>(*this));
  offer<RnsOps<std::uint64_t>>(std::make_shared<CudaRns<std::uint64_t>>(*this));
}

}  // namespace whorl::backend::cuda
