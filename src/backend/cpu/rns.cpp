// RNS operations on the CPU: phases of pieces that follow on one another.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/rns_conversions.h"
#include "backend/cpu/rns_kernels.h"
#include "backend/cpu/rns_tables.h"

namespace whorl::backend::cpu {

namespace {

/// Calls body(begin, count) for the stretches of N coefficients.
template <class Body>
void each_stretch(std::size_t N, const Body& body) {
  for (std::size_t at = 0; at < N; at += rns_stretch) body(at, std::min(rns_stretch, N - at));
}

/// Calls body(row, begin, count) for all of `rows` rows of N coefficients, in stretches where rows
/// are too few to give all threads the same to do.
template <class Body>
void each_row(std::size_t rows, std::size_t N, const Workers& workers, const Body& body) {
  const bool whole = workers.threads == 1 || rows >= std::size_t{8} * workers.threads;
  const std::size_t size = whole ? N : std::min(rns_stretch, N), pieces = N / size;
  parallel_for(rows * pieces, workers,
               [&](std::size_t i) { body(i / pieces, i % pieces * size, size); });
}

/// Inner products with a key, a row and a stretch of it at a time, and what is added to them.
template <class Word>
class ProductOfRows {
 public:
  ProductOfRows(const RnsSwitchKey<Word>& key, const CpuRnsTables<Word>& tables,
                const InnerProduct& product, std::size_t batch, std::size_t parts,
                const CheckedScaling<Word>* added, bool onto, bool unreduced, Word* out,
                const Resources& on)
      : key_(static_cast<const CpuRnsSwitchKey<Word>&>(key)),
        tables_(tables),
        product_(product),
        batch_(batch),
        parts_(parts),
        N_(tables.plan().N()),
        added_(added),
        onto_(onto),
        unreduced_(unreduced),
        out_(out),
        on_(on),
        primes_(product.rows.indices()),
        permutation_(product.g == 1 ? nullptr : key_.permutation(product.g)),
        past_caches_(!added &&
                     2 * product.rows.size() * batch * N_ * sizeof(Word) >= bytes_past_caches &&
                     reinterpret_cast<std::uintptr_t>(out) % 64 == 0) {}

  /// Where in x the aligned block comes from whose results are at `at`: blocks of a power of two of
  /// vectors stay together.
  std::size_t source(std::size_t at) const {
    return permutation_ ? permutation_->moves()[at / simd_words(sizeof(Word))].from : at;
  }

  /// Row i / batch of item i % batch, of digits x.
  class Row {
   public:
    Row(const ProductOfRows& of, std::size_t i, const std::vector<const Word*>& x)
        : of_(of), i_(i), x_(x) {
      const std::size_t key_row = of.key_.layout().rows().rank(prime());
      for (const unsigned digit : of.product_.digits) {
        b_.push_back(of.key_.row(digit, 1, key_row));
        a_.push_back(of.key_.row(digit, 0, key_row));
      }
      if (of.onto_) aside_ = scratch<Word>(of.on_, 2 * of.N_);
    }
    /// A share, one of so many, of what make(at, count) touches but for the digits `near`.
    ring::Ahead ahead(std::size_t share, std::size_t shares, std::size_t at, std::size_t count,
                      const std::vector<bool>& near) const {
      ring::Ahead out{{}, 0, count * sizeof(Word)};
      std::size_t i = 0;
      const auto add = [&](const Word* row) {
        if (i++ % shares == share && out.count < ring::kMostAhead) out.from[out.count++] = row + at;
      };
      for (std::size_t d = 0; d < x_.size(); ++d) {
        add(b_[d]);
        add(a_[d]);
        if (!near[d]) add(x_[d] + of_.source(at) - at);
      }
      if (!of_.past_caches_)
        for (std::size_t part = 0; part < 2; ++part) add(result(part));
      return out;
    }
    void make(std::size_t at, std::size_t count) const {
      // Results are (b, a): part 0 is what the secret does not multiply.
      Word* const out[] = {result(0), result(1)};
      const KeyProducts<Word> sums{
          x_,
          {b_.data(), a_.data()},
          {of_.onto_ ? aside_.get() : out[0], of_.onto_ ? aside_.get() + of_.N_ : out[1]},
          of_.past_caches_,
          of_.unreduced_};
      const math::Montgomery<Word>& q = of_.tables_.montgomery[prime()];
      rns_kernels<Word>().key_products(q, sums, of_.permutation_.get(), at, count);
      for (std::size_t part = 0; part < 2; ++part) {
        std::array<Summand<Word>, 2> terms;
        std::size_t many = 0;
        if (of_.onto_) terms[many++] = {sums.out[part], nullptr, nullptr, q.r()};
        if (of_.added_ && part < of_.parts_ && of_.added_->over.contains(prime())) {
          const CheckedScaling<Word>& added = *of_.added_;
          const std::size_t row = part * added.over.size() + added.over.rank(prime()),
                            from = added.one ? row : row * of_.batch_ + i_ % of_.batch_;
          terms[many++] = {added.x + from * of_.N_, of_.permutation_.get(), nullptr,
                           q.to_montgomery(added.weights[i_ / of_.batch_])};
        }
        if (many > 0)
          rns_kernels<Word>().sum_scaled(q, std::span(terms).first(many), Word{0}, true, out[part],
                                         at, count);
      }
    }

   private:
    unsigned prime() const { return of_.primes_[i_ / of_.batch_]; }
    Word* result(std::size_t part) const {
      return of_.out_ + (part * of_.primes_.size() * of_.batch_ + i_) * of_.N_;
    }
    const ProductOfRows& of_;
    std::size_t i_;
    const std::vector<const Word*>& x_;
    std::vector<const Word*> b_, a_;
    std::shared_ptr<Word[]> aside_;
  };

 private:
  const CpuRnsSwitchKey<Word>& key_;
  const CpuRnsTables<Word>& tables_;
  const InnerProduct& product_;
  std::size_t batch_, parts_, N_;
  const CheckedScaling<Word>* added_;
  bool onto_, unreduced_;
  Word* out_;
  const Resources& on_;
  std::vector<unsigned> primes_;
  std::shared_ptr<const EvaluationPermutation<Word>> permutation_;
  bool past_caches_;
};

template <class Word>
class CpuRns final : public RnsOps<Word>, private FusedRns<Word> {
 public:
  using typename RnsOps<Word>::Tables;
  using typename RnsOps<Word>::Key;
  CpuRns(const Queue& queue, const Host& host) : RnsOps<Word>(queue), host_(host) {}

 protected:
  const FusedRns<Word>* fused() const override { return this; }
  std::unique_ptr<Tables> make_tables(
      std::shared_ptr<const ring::RnsPlan<Word>> plan) const override {
    return std::make_unique<CpuRnsTables<Word>>(std::move(plan));
  }
  std::unique_ptr<Conversion<Word>> make_conversion(
      const ring::BaseConversion<Word>& rule) const override {
    return std::make_unique<CpuConversion<Word>>(rule);
  }
  std::unique_ptr<Key> make_key(const Tables& tables, const ring::KeyLayout& layout,
                                const RnsRowSource<Word>& rows) const override {
    return std::make_unique<CpuRnsSwitchKey<Word>>(own(tables), layout, rows, host_.workers);
  }

  void transform(const Tables& any, const ring::Basis& basis, bool forward, std::size_t parts,
                 std::size_t batch, Word* data) const override {
    const CpuRnsTables<Word>& tables = own(any);
    const std::vector<unsigned> primes = basis.indices();
    const std::size_t rows = primes.size(), N = any.plan().N(), items = rows * parts * batch;
    const Resources on = host_.on();
    parallel_for(items, on.workers_for(items * N), [&](std::size_t i) {
      const std::size_t b = i % batch, part = i / batch % parts, row = i / batch / parts;
      const NttTables<Word>& ntt = tables.ntt[primes[row]];
      Word* const values = data + ((part * rows + row) * batch + b) * N;
      forward ? ntt_polynomial(ntt, values, values) : intt_polynomial(ntt, values, values);
    });
  }

  void run_conversion(const Conversion<Word>& any, std::uint32_t N, std::size_t batch,
                      const Word* in, Word* out) const override {
    const auto& conversion = static_cast<const CpuConversion<Word>&>(any);
    const ring::BaseConversion<Word>& rule = conversion.rule();
    const std::size_t L = rule.from().size(), row = batch * N, targets = rule.to().size();
    const Resources on = host_.on();
    parallel_for(batch, on.workers_for((L + targets) * row), [&](std::size_t b) {
      const auto y = scratch<Word>(on, L * rns_stretch);
      std::vector<const Word*> digits(L);
      std::vector<ConversionTarget<Word>> to(targets);
      each_stretch(N, [&](std::size_t at, std::size_t size) {
        for (std::size_t l = 0; l < L; ++l) {
          rns_kernels<Word>().conversion_digits(rule, l, in + l * row + b * N + at, size,
                                                y.get() + l * rns_stretch);
          digits[l] = y.get() + l * rns_stretch;
        }
        for (std::size_t k = 0; k < targets; ++k)
          to[k] = {&conversion.moduli[k], rule.factors(k).data(), out + k * row + b * N + at};
        convert_digits<Word>(rule, digits, to, size);
      });
    });
  }

  void run_extension(const Tables& tables, const Extension& extension, std::size_t batch,
                     const Word* in, Word* out) const override {
    cpu::extend(own(tables), extension, batch, in, out, host_.on());
  }

  /// A digit is transformed while it is in a cache.
  void run_decomposition(const Tables& tables, const ring::Basis& basis, const ring::Gadget& gadget,
                         std::size_t parts, std::size_t batch, const Word* in,
                         Word* out) const override {
    const DigitFields<Word> rule(gadget);
    const NttTables<Word>& ntt = own(tables).ntt[basis.indices()[0]];
    const std::size_t N = tables.plan().N(), rows = parts * batch, digits = rule.digits;
    const Resources on = host_.on();
    const auto coefficients = scratch<Word>(on, rows * N);
    const Phase phases[] = {
        {rows, [&](std::size_t i) { intt_polynomial(ntt, in + i * N, coefficients.get() + i * N); },
         [](std::size_t i) { return i; }},
        {rows * digits,
         [&](std::size_t i) {
           const std::size_t row = i / digits, j = i % digits;
           Word* const to = out + ((row / batch * digits + j) * batch + row % batch) * N;
           rns_kernels<Word>().decompose(rule, static_cast<unsigned>(j),
                                         coefficients.get() + row * N, to, N);
           ntt_polynomial(ntt, to, to);
         },
         [digits](std::size_t i) { return i / digits; }}};
    parallel_phases(phases, on.workers_for((digits + 1) * rows * N), rows);
  }

  void run_inner_product(const Key& key, const Tables& tables, const InnerProduct& product,
                         std::size_t batch, const Word* digits, Word* out) const override {
    inner_product(key, tables, product, batch, digits, 0, nullptr, false, out);
  }
  void run_sum_of_inner_products(const Tables& tables, const SumOfInnerProducts<Word>& sum,
                                 Word* out) const override {
    const std::vector<math::Montgomery<Word>>& montgomery = own(tables).montgomery;
    const std::vector<unsigned> primes = sum.product.rows.indices();
    const ring::Basis key_rows = sum.terms[0].key->layout().rows();
    const std::size_t N = tables.plan().N(), rows = primes.size(),
                      count = sum.product.digits.size();
    std::vector<std::shared_ptr<const EvaluationPermutation<Word>>> permutations;
    permutations.reserve(sum.terms.size());
    for (const TurnedKey<Word>& term : sum.terms)
      permutations.push_back(
          term.g == 1 ? nullptr
                      : static_cast<const CpuRnsSwitchKey<Word>&>(*term.key).permutation(term.g));
    const Resources on = host_.on();
    const auto one = [&](std::size_t i, std::size_t at, std::size_t size) {
      const std::size_t row = i / sum.batch;
      const math::Montgomery<Word>& q = montgomery[primes[row]];
      const std::size_t key_row = key_rows.rank(primes[row]);
      const Word unit = q.to_montgomery(1);
      const auto inner = scratch<Word>(on, 2 * N);
      std::vector<const Word*> x(count), b(count), a(count);
      for (std::size_t k = 0; k < sum.terms.size(); ++k) {
        const auto& key = static_cast<const CpuRnsSwitchKey<Word>&>(*sum.terms[k].key);
        const auto* const permutation = permutations[k].get();
        const std::size_t from = sum.first + k;
        for (std::size_t d = 0; d < count; ++d) {
          x[d] = sum.digits + (((d * rows + row) * sum.of + from) * sum.batch + i % sum.batch) * N;
          b[d] = key.row(sum.product.digits[d], 1, key_row);
          a[d] = key.row(sum.product.digits[d], 0, key_row);
        }
        const KeyProducts<Word> sums{x, {b.data(), a.data()}, {inner.get(), inner.get() + N}};
        rns_kernels<Word>().key_products(q, sums, permutation, at, size);
        for (std::size_t part = 0; part < 2; ++part) {
          std::vector<Summand<Word>> both = {{inner.get() + part * N, nullptr, nullptr, unit}};
          if (part == 0 && sum.added)
            both.push_back({sum.added + ((row * sum.of + from) * sum.batch + i % sum.batch) * N,
                            permutation, nullptr, unit});
          rns_kernels<Word>().sum_scaled(q, both, Word{0}, sum.onto || k > 0,
                                         out + (part * rows * sum.batch + i) * N, at, size);
        }
      }
    };
    each_row(rows * sum.batch, N, on.workers_for(2 * sum.terms.size() * rows * sum.batch * N), one);
  }

  void run_division(const Tables& tables, const Division& division, std::size_t parts,
                    std::size_t batch, const Word* in, std::span<const Word> added, std::uint32_t g,
                    Word* out) const override {
    if (g != 1 && !added.empty()) {
      permute_added(tables.plan().N(), g, added, out);
      added = {out, added.size()};
    }
    cpu::divide(own(tables), own(tables).division(division), division.from.size(), parts, batch, in,
                added, out, host_.on());
  }

  void run_tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts,
                  std::size_t b_parts, std::size_t batch, bool one_b, const Word* a, const Word* b,
                  const TensorEnd<Word>& end, Word* out) const override {
    const std::vector<math::Montgomery<Word>>& montgomery = own(tables).montgomery;
    const std::vector<unsigned> primes = basis.indices();
    const std::size_t limbs = primes.size(), N = tables.plan().N(), part = limbs * batch * N,
                      b_part = one_b ? limbs * N : part;
    const bool past_caches = end.empty() && 3 * part * sizeof(Word) >= bytes_past_caches &&
                             reinterpret_cast<std::uintptr_t>(out) % 64 == 0;
    each_row(limbs * batch, N, host_.on().workers_for(limbs * batch * N),
             [&](std::size_t i, std::size_t from, std::size_t count) {
               const math::Montgomery<Word>& q = montgomery[primes[i / batch]];
               const std::size_t first = i * N + from;
               const Word* const of_b = b + (one_b ? i / batch : i) * N + from;
               if (a_parts == 2 && b_parts == 2) {
                 const Word* const x[] = {a + first, a + part + first};
                 const Word* const y[] = {of_b, of_b + b_part};
                 Word* const to[] = {out + first, out + part + first, out + 2 * part + first};
                 rns_kernels<Word>().two_by_two(q, x, y, to, count, past_caches);
                 if (!end.empty())
                   for (std::size_t k = 0; k < 3; ++k)
                     end_tensor(tables.plan().moduli()[primes[i / batch]].value(), end, i / batch,
                                k, k * part + first, {to[k], count});
                 return;
               }
               std::vector<const Word*> x, y;
               each_stretch(count, [&](std::size_t at, std::size_t size) {
                 const std::size_t offset = first + at;
                 for (std::size_t k = 0; k < a_parts + b_parts - 1; ++k) {
                   x.clear();
                   y.clear();
                   for (std::size_t j = k < b_parts ? 0 : k - b_parts + 1;
                        j <= std::min(k, a_parts - 1); ++j) {
                     x.push_back(a + j * part + offset);
                     y.push_back(of_b + (k - j) * b_part + at);
                   }
                   rns_kernels<Word>().sum_of_products(q, x, y, out + k * part + offset, size);
                   if (!end.empty())
                     end_tensor(tables.plan().moduli()[primes[i / batch]].value(), end, i / batch,
                                k, k * part + offset, {out + k * part + offset, size});
                 }
               });
             });
  }

  /// Words of a part of a product modulo q, from number `place` of the array on, whose row is
  /// `row`.
  static void end_tensor(Word q, const TensorEnd<Word>& end, std::size_t row, std::size_t part,
                         std::size_t place, std::span<Word> words) {
    const auto once = [q](Word x) { return std::min<Word>(x, x - q); };
    const Word constant = part == 0 && !end.constant.empty() ? end.constant[row] : 0;
    if (end.doubled)
      for (Word& x : words) x = once(once(x + x) + constant);
    else if (constant != 0)
      for (Word& x : words) x = once(x + constant);
    if (part >= end.added_parts) return;
    const Word* const added = end.added.data + place;
    for (std::size_t j = 0; j < words.size(); ++j) words[j] = once(words[j] + added[j]);
  }

  void run_products(const Tables& tables, const ring::Basis& basis, const SumLayout& sums,
                    std::size_t batch, std::span<const CheckedProduct<Word>> terms, bool onto,
                    Word* out) const override {
    const std::vector<unsigned> primes = basis.indices();
    const std::size_t N = tables.plan().N(), rows = primes.size() * batch,
                      of_sum = sums.parts * rows;
    const Permutations permutations(tables.plan().N(), terms);
    each_row(sums.sums * of_sum, N, host_.on().workers_for(sums.sums * of_sum * N),
             [&](std::size_t i, std::size_t at, std::size_t count) {
               const std::size_t sum = i / of_sum, row = i % rows / batch, b = i % batch;
               const unsigned prime = primes[row];
               std::vector<Summand<Word>> summands;
               summands.reserve(terms.size());
               for (const CheckedProduct<Word>& term : terms) {
                 if (term.sum != sum) continue;
                 const std::size_t its_row = term.over.rank(prime),
                                   from = term.one ? its_row : its_row * batch + b;
                 const std::size_t of_x = term.one_x ? i % of_sum / batch : i % of_sum;
                 summands.push_back({term.x + of_x * N, permutations.of(term.g),
                                     term.m + (from * N >> term.log_repeats), 0, term.log_repeats});
               }
               if (onto && summands.empty()) return;
               const std::size_t to =
                   sums.at(sum, i % of_sum / rows, row, primes.size(), batch) + b;
               rns_kernels<Word>().sum_products(own(tables).montgomery[prime], summands, onto,
                                                out + to * N, at, count);
             });
  }
  void run_combination(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                       std::size_t batch, std::span<const CheckedScaling<Word>> terms,
                       std::span<const Word> constant, bool onto, Word* out) const override {
    const std::vector<unsigned> primes = basis.indices();
    const std::size_t N = tables.plan().N(), rows = primes.size() * batch;
    const Permutations permutations(tables.plan().N(), terms);
    each_row(parts * rows, N, host_.on().workers_for(parts * rows * N),
             [&](std::size_t i, std::size_t at, std::size_t count) {
               const std::size_t part = i / rows, row = i % rows / batch;
               const unsigned prime = primes[row];
               const math::Montgomery<Word>& q = own(tables).montgomery[prime];
               std::vector<Summand<Word>> summands;
               summands.reserve(terms.size());
               for (const CheckedScaling<Word>& term : terms) {
                 if (!term.over.contains(prime)) continue;
                 const std::size_t its_row = part * term.over.size() + term.over.rank(prime),
                                   from = term.one ? its_row : its_row * batch + i % batch;
                 summands.push_back({term.x + from * N, permutations.of(term.g), nullptr,
                                     q.to_montgomery(term.weights[row])});
               }
               const Word more = part == 0 && !constant.empty() ? constant[row] : Word{0};
               if (onto && summands.empty() && more == 0) return;
               rns_kernels<Word>().sum_scaled(q, summands, more, onto, out + i * N, at, count);
             });
  }

  /// Inputs are read a stretch at a time, for all outputs while they are in a cache.
  void run_weighted_sums(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                         std::size_t count, const CheckedSums<Word>& sums,
                         Word* out) const override {
    const std::vector<unsigned> primes = basis.indices();
    const std::size_t N = tables.plan().N(), rows = primes.size(), B = sums.columns,
                      K = sums.inputs, stretch = 128, stretches = N / stretch,
                      columns = std::min(B, count);
    const Resources on = host_.on();
    parallel_for(parts * rows * columns * stretches, on.workers_for(parts * rows * count * K * N),
                 [&](std::size_t task) {
                   const std::size_t at = task % stretches * stretch,
                                     column = task / stretches % columns,
                                     slab = task / stretches / columns, row = slab % rows,
                                     place = sums.first + column;
                   // Results of one column are B results apart.
                   const std::size_t j = place / B, outputs = (count - column + B - 1) / B;
                   const auto kept = scratch<Word>(on, K * stretch);
                   rns_kernels<Word>().multiply_matrix(
                       own(tables).montgomery[primes[row]],
                       {.x = sums.x + (slab * K * B + place % B) * N + at,
                        .inputs = K,
                        .x_stride = B * N,
                        .weights = sums.weights + row * sums.stride + j * K,
                        .constants = slab < rows && sums.constants != nullptr
                                         ? sums.constants + row * sums.outputs + j
                                         : nullptr,
                        .outputs = outputs,
                        .out_stride = B * N,
                        .out = out + (slab * count + column) * N + at,
                        .scratch = kept.get()},
                       stretch);
                 });
  }

  void run_masked_tensors(const Tables& tables, const ring::Basis& basis, std::size_t batch,
                          const CheckedMasks<Word>& of) const override {
    const std::vector<unsigned> primes = basis.indices();
    const std::size_t N = tables.plan().N(), rows = primes.size() * batch;
    const std::size_t products = of.masks.size() + of.low.size();
    each_row(rows, N, host_.on().workers_for(rows * products * N),
             [&](std::size_t i, std::size_t at, std::size_t count) {
               rns_kernels<Word>().masked_tensors(
                   own(tables).montgomery[primes[i / batch]],
                   {of.high, of.low, of.masks, of.out, i * N + at, rows * N}, count);
             });
  }

  void run_rounding(const Tables& tables, const ring::Basis& basis, double scale, std::uint32_t n,
                    std::uint32_t step, std::size_t batch, const double* in,
                    Word* out) const override {
    const std::vector<math::Modulus<Word>> moduli = tables.plan().moduli_of(basis);
    const std::size_t N = tables.plan().N(), every = step / (N / n);  // of what comes in
    each_row(batch, N, host_.on().workers_for(moduli.size() * batch * N),
             [&](std::size_t b, std::size_t from, std::size_t size) {
               std::array<std::int64_t, rns_stretch> integers;
               each_stretch(size, [&](std::size_t offset, std::size_t count) {
                 const std::size_t at = from + offset, first = (at + step - 1) / step,
                                   some = (at + count + step - 1) / step - first;
                 for (std::size_t k = 0; k < some; ++k)
                   integers[k] = std::llrint(scale * in[b * n + (first + k) * every]);
                 for (std::size_t l = 0; l < moduli.size(); ++l) {
                   Word* const row = out + (l * batch + b) * N;
                   if (step > 1) std::fill_n(row + at, count, Word{0});
                   for (std::size_t k = 0; k < some; ++k)
                     row[(first + k) * step] = moduli[l].from_signed(integers[k]);
                 }
               });
             });
  }

 private:
  // ---- FusedRns

  bool inner_product_with(const Key& key, const Tables& tables, const InnerProduct& product,
                          std::size_t batch, const Word* digits, std::size_t parts,
                          const CheckedScaling<Word>& added, bool onto, Word* out) const override {
    inner_product(key, tables, product, batch, digits, parts, &added, onto, out);
    return true;
  }

  /// A row's digits are transformed and multiplied while they are in a cache. Before, its blocks of
  /// the key are brought nearer.
  bool extended_product(const Key& any, const Tables& tables, const Extension& extension,
                        const InnerProduct& product, std::size_t batch, const Word* in,
                        std::size_t parts, const CheckedScaling<Word>* added, bool onto,
                        Word* out) const override {
    const std::size_t N = tables.plan().N(), digits = extension.digits.size(),
                      items = product.rows.size() * batch;
    const Resources on = host_.on();
    const Workers workers = on.workers_for(digits * items * N);
    if (workers.threads > 1 && items < std::size_t{8} * workers.threads) return false;
    const auto values = scratch<Word>(on, digits * items * N);
    const Extender<Word> extender(own(tables), extension, batch, in, values.get(), on, workers);
    const ProductOfRows<Word> products(any, own(tables), product, batch, parts, added, onto, true,
                                       out, on);
    const std::size_t blocks = ntt_block_count(own(tables).ntt[0]), size = N / blocks;
    const auto finish = [&](std::size_t i) {
      const std::size_t row = i / batch, b = i % batch;
      const NttTables<Word>& ntt = extender.ntt(row);
      std::vector<const Word*> x(digits);
      std::vector<bool> near(digits);
      std::vector<Word*> transformed;
      for (std::size_t d = 0; d < digits; ++d) {
        x[d] = extender.is_own(row, d) ? extender.own(row, b) : extender.values(row, d, b);
        near[d] = !extender.is_own(row, d);
        if (near[d]) ntt_above_blocks(ntt, transformed.emplace_back(extender.values(row, d, b)));
      }
      typename ProductOfRows<Word>::Row product_of_row(products, i, x);
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t at = block * size;
        for (std::size_t k = 0; k < transformed.size(); ++k)
          rns_kernels<Word>().transform_block(
              ntt, products.source(at) / size, transformed[k],
              product_of_row.ahead(k, transformed.size(), at, size, near));
        product_of_row.make(at, size);
      }
    };
    const std::size_t groups = digits * batch;
    const Phase phases[] = {extender.lifts(), extender.conversions(), {items, finish}};
    parallel_phases(phases, workers, groups);
    return true;
  }

  void inner_product(const Key& key, const Tables& tables, const InnerProduct& product,
                     std::size_t batch, const Word* digits, std::size_t parts,
                     const CheckedScaling<Word>* added, bool onto, Word* out) const {
    const std::size_t N = tables.plan().N(), items = product.rows.size() * batch;
    const Resources on = host_.on();
    const ProductOfRows<Word> products(key, own(tables), product, batch, parts, added, onto, false,
                                       out, on);
    each_row(items, N, on.workers_for(2 * items * N),
             [&](std::size_t i, std::size_t at, std::size_t size) {
               std::vector<const Word*> x;
               for (std::size_t d = 0; d < product.digits.size(); ++d)
                 x.push_back(digits + (d * items + i) * N);
               typename ProductOfRows<Word>::Row row(products, i, x);
               each_stretch(
                   size, [&](std::size_t from, std::size_t count) { row.make(at + from, count); });
             });
  }

  /// Those of some terms, each made once.
  class Permutations {
   public:
    template <class Terms>
    Permutations(std::uint32_t N, const Terms& terms) {
      for (const auto& term : terms)
        if (term.g != 1) made_.try_emplace(term.g, N, term.g);
    }
    const EvaluationPermutation<Word>* of(std::uint32_t g) const {
      return g == 1 ? nullptr : &made_.at(g);
    }

   private:
    std::map<std::uint32_t, EvaluationPermutation<Word>> made_;
  };
  static const CpuRnsTables<Word>& own(const Tables& tables) {
    return static_cast<const CpuRnsTables<Word>&>(tables);
  }
  /// added(X^g) to the start of `out`.
  void permute_added(std::size_t N, std::uint32_t g, std::span<const Word> added, Word* out) const {
    const EvaluationPermutation<Word> permutation(static_cast<std::uint32_t>(N), g);
    const std::size_t stretch = std::min(N, Host::least_piece), count = N / stretch;
    host_.each(added.size() / stretch, stretch, [&](std::size_t i) {
      const std::size_t first = i / count * N;
      rns_kernels<Word>().permute(permutation, added.data() + first, out + first,
                                  i % count * stretch, stretch);
    });
  }

  Host host_;
};

}  // namespace

template <class Word>
std::shared_ptr<const RnsOps<Word>> make_rns(const Queue& queue, const Host& host) {
  return std::make_shared<CpuRns<Word>>(queue, host);
}
template std::shared_ptr<const RnsOps<std::uint32_t>> make_rns(const Queue&, const Host&);
template std::shared_ptr<const RnsOps<std::uint64_t>> make_rns(const Queue&, const Host&);

}  // namespace whorl::backend::cpu
