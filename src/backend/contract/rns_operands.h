// What the operations on arrays over RNS bases are given: tables, keys, terms of sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/contract/device.h"
#include "ring/base_conversion.h"
#include "ring/gadget.h"
#include "ring/rns_plan.h"

namespace whorl::backend {

/// A device's tables for a plan: twiddles, factors of conversions, made when first needed and kept.
template <class Word>
class RnsTables : public Prepared {
 public:
  const ring::RnsPlan<Word>& plan() const { return *plan_; }
  const std::shared_ptr<const ring::RnsPlan<Word>>& shared_plan() const { return plan_; }

 protected:
  explicit RnsTables(std::shared_ptr<const ring::RnsPlan<Word>> plan) : plan_(std::move(plan)) {}

 private:
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
};

/// A base conversion's factors where the device reads them.
template <class Word>
class Conversion : public Prepared {
 public:
  const ring::BaseConversion<Word>& rule() const { return rule_; }

 protected:
  explicit Conversion(ring::BaseConversion<Word> rule) : rule_(std::move(rule)) {}

 private:
  ring::BaseConversion<Word> rule_;
};

/// Writes the row of a switching key that multiplies digit `digit`: a and b, residues in evaluation
/// form modulo the primes of the key's rows, (rows, N). Called from several threads at once.
template <class Word>
using RnsRowSource = std::function<void(unsigned digit, std::span<Word> a, std::span<Word> b)>;

/// A key of hybrid key switching, laid out in a backend's order of use.
template <class Word>
class RnsSwitchKey : public Prepared {
 public:
  virtual std::size_t bytes() const = 0;
  const ring::RnsPlan<Word>& plan() const { return *plan_; }
  const ring::KeyLayout& layout() const { return layout_; }

 protected:
  RnsSwitchKey(std::shared_ptr<const ring::RnsPlan<Word>> plan, ring::KeyLayout layout)
      : plan_(std::move(plan)), layout_(std::move(layout)) {}

 private:
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  ring::KeyLayout layout_;
};

/// How an array over `from` is decomposed: digit d has the residues modulo the primes of digits[d],
/// which is not empty. Each digit is extended to all primes of `to`.
struct Extension {
  ring::Basis from, to;
  std::vector<ring::Basis> digits;
  ring::Lift lift = ring::Lift::exact;
};

/// The rows and digits of a key that are used with an array over a part of the key's chain.
struct InnerProduct {
  ring::Basis rows;              ///< of digits and results: the part, and the key's special primes
  std::vector<unsigned> digits;  ///< numbers of the key's digits that the part has
  std::uint32_t g = 1;
};

// A factor of a product may be stored by its period, of N >> log_repeats words a polynomial: value
// i is word i >> log_repeats. So lie the values of a polynomial in X^(2^log_repeats), in the order
// of ring::NttPlan. log_repeats is 0, or 2 … log2(N).

/// A term of RnsOps::inner_products and sum_of_inner_products: the inner product with `key` at X^g.
template <class Word>
struct TurnedKey {
  const RnsSwitchKey<Word>* key = nullptr;
  std::uint32_t g = 1;
};

/// What RnsOps::sum_of_inner_products adds up, once it is checked: `product` is what all terms have
/// in common, without g; `of` arrays are in the digits and, if it is not null, in `added`.
template <class Word>
struct SumOfInnerProducts {
  std::span<const TurnedKey<Word>> terms;
  const InnerProduct& product;
  std::size_t batch, of, first;
  const Word* digits;
  const Word* added;
  bool onto;
};

/// A term of RnsOps::sums_of_turned_products: a ciphertext at X^g under its own secret, times
/// plaintexts. `over` includes the rows; its other rows are not read. m has (rows of `over`, B, N)
/// or (rows of `over`, 1, N): then one m is multiplied by every polynomial of the batch. It may be
/// stored by its period.
template <class Word>
struct TurnedProduct {
  struct Factor {
    Slice<const Word> m;
    ring::Basis over;
    std::uint32_t sum = 0;  ///< the number of the sum that it belongs to; one factor a sum
    unsigned log_repeats = 0;
    /// Whether it is one polynomial for all of the batch.
    bool is_one(std::size_t N) const { return m.size == over.size() * (N >> log_repeats); }
  };
  const RnsSwitchKey<Word>* key = nullptr;  ///< of g; null for g = 1: nothing is switched
  std::uint32_t g = 1;
  std::vector<Factor> factors;
};

/// Where sums of products lie: some one after another, (parts, rows, B, N) each, and behind them
/// the last `batched` of them as one batch, (parts, rows, batched, B, N).
struct SumLayout {
  std::size_t sums = 1, parts = 1, batched = 0;

  std::size_t alone() const { return sums - batched; }
  /// Where a row of a part of a sum begins, in polynomials; there are `rows` rows in a part.
  std::size_t at(std::size_t sum, std::size_t part, std::size_t row, std::size_t rows,
                 std::size_t batch) const {
    if (sum < alone()) return ((sum * parts + part) * rows + row) * batch;
    return (alone() * parts * rows + (part * rows + row) * batched + sum - alone()) * batch;
  }
};

/// A term of RnsOps::sum_of_products: x(X^g)·m. x has the shape (parts, rows, B, N) of the sum, or
/// (parts, rows, 1, N): then one x is multiplied by every m. m has (rows of `over`, B, N) or (rows
/// of `over`, 1, N): then one m is multiplied by every polynomial of the batch. `over` includes the
/// sum's primes; its other rows are not read. m may be stored by its period.
template <class Word>
struct ProductTerm {
  Slice<const Word> x, m;
  ring::Basis over;
  std::uint32_t g = 1;
  std::uint32_t sum = 0;  ///< the number of the sum that it belongs to
  unsigned log_repeats = 0;
};
/// The same, as a device gets it: `one`, m has a batch of 1; `one_x`, x has.
template <class Word>
struct CheckedProduct {
  const Word *x, *m;
  ring::Basis over;
  std::uint32_t g, sum;
  bool one;
  unsigned log_repeats;
  bool one_x = false;
};

/// A term of RnsOps::combine: x(X^g), times a residue for each row. x has the shape (parts, rows of
/// `over`, B, N), or (parts, rows of `over`, 1, N): then it is added to every item of the batch.
/// Rows of `over` that the sum lacks are not read; to rows that `over` lacks nothing is added.
template <class Word>
struct ScaledTerm {
  Slice<const Word> x;
  ring::Basis over;
  std::vector<Word> weights = {};  ///< modulo each prime of the sum, reduced or not; none: all 1
  std::uint32_t g = 1;
};
/// The same, as a device gets it: with reduced weights, one for each row of the sum.
template <class Word>
struct CheckedScaling {
  const Word* x;
  ring::Basis over;
  std::vector<Word> weights;
  std::uint32_t g;
  bool one = false;  ///< x has a batch of 1
};

/// What RnsOps::weighted_sums adds up: a matrix W (M, K) of residues times ciphertexts x (K, B).
template <class Word>
struct WeightedSums {
  Slice<const Word> x;          ///< (parts, rows, K, B, N)
  Slice<const Word> weights;    ///< (rows, M·K words or more), reduced: W row by row, at the start
  Slice<const Word> constants;  ///< (rows, M), reduced; none: 0
  std::size_t inputs = 1;       ///< K
  std::size_t first = 0;        ///< of the (M, B) results that which comes first; below B
};
/// The same, as a device gets it.
template <class Word>
struct CheckedSums {
  const Word *x, *weights, *constants;  ///< constants: null if there are none
  std::size_t stride;                   ///< words of weights from one row to the next
  std::size_t inputs, columns, first;   ///< columns: B
  std::size_t outputs;                  ///< M: rows of W that the results need
};

/// What RnsOps::masked_tensors adds up: products of ciphertexts high_h with sums of others.
template <class Word>
struct MaskedTensors {
  static constexpr std::size_t most = 16;
  std::span<const Slice<const Word>> high, low;  ///< 1 … most of each, (2, rows, B, N)
  std::span<const std::uint16_t> masks;          ///< (outputs, H): bit l is set: low_l is in a sum
};
/// The same, as a device gets it.
template <class Word>
struct CheckedMasks {
  std::span<const Word*const> high, low;
  std::span<const std::uint16_t> masks;
  std::span<Word* const> out;  ///< (3, rows, B, N) each
};

/// How devices take the digits of ring::Gadget from a residue modulo q, an odd number, in words
/// without signs. y = (x - above mod q) + raise is the centred x, the gadget's offset and a
/// multiple of the top digit's weight, so many times `top` that y is not negative. Digit j is the
/// field of y from bit shift(j) on, less less(j).
template <class Word>
struct DigitFields {
  Word q, above, raise, top;
  unsigned dropped, log_base, digits;

  explicit DigitFields(const ring::Gadget& gadget)
      : q(static_cast<Word>(gadget.modulus())),
        above(static_cast<Word>(q / 2 + 1)),
        dropped(gadget.dropped()),
        log_base(gadget.log_base()),
        digits(gadget.digits()) {
    const unsigned shift = gadget.shift(digits - 1);
    top = static_cast<Word>((q / 2 >> shift) + 1);
    raise = static_cast<Word>((top << shift) + static_cast<Word>(gadget.offset()) - q / 2);
  }
  unsigned shift(unsigned j) const { return dropped + j * log_base; }
  /// The bits of the field of digit j.
  Word mask(unsigned j) const {
    return j + 1 == digits ? static_cast<Word>(~Word{0})
                           : static_cast<Word>((Word{1} << log_base) - 1);
  }
  Word less(unsigned j) const { return j + 1 == digits ? top : Word{1} << (log_base - 1); }
};

struct Division {
  ring::Basis from, to;
  std::uint64_t t = 1;
  ring::Basis kept() const { return from & to; }
  ring::Basis dropped() const { return from - to; }
  ring::Basis taken() const { return to - from; }
  /// Whether no prime comes, and the rows that stay are the first.
  bool keeps_head() const {
    return from.includes(to) && !to.empty() && from.rank(to.indices().back()) + 1 == to.size();
  }
};

/// What is done to the parts of a product at last: it is doubled, the constant is added to part 0,
/// and `added` to its first parts.
template <class Word>
struct TensorEnd {
  bool doubled = false;
  std::span<const Word> constant = {};  ///< modulo each prime, reduced or not; none: 0
  Slice<const Word> added = {};         ///< (added_parts, rows, B, N)
  std::size_t added_parts = 0;
  bool empty() const { return !doubled && constant.empty() && added_parts == 0; }
};

/// A product of two ciphertexts of two parts, whose third part is switched:
/// RnsOps::switched_product.
template <class Word>
struct FactorsOf {
  Slice<const Word> a, b;  ///< (2, rows, B, N); b may be (2, rows, 1, N)
  bool doubled = false;
  std::span<const Word> constant = {};  ///< modulo each prime of the factors, reduced or not
  std::span<const Word> weights = {};   ///< modulo each prime of the result, reduced or not
};
/// The same, as a device gets it: with reduced residues; `one`, b has a batch of 1.
template <class Word>
struct CheckedFactors {
  const Word *a, *b;
  bool one, doubled;
  std::vector<Word> constant;  ///< empty, or one for each row of the factors
  std::vector<Word> weights;   ///< one for each row of the result
};

}  // namespace whorl::backend
