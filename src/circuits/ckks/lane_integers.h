// What operations on integers in lanes share (docs/lanes-integers.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/table_fit.h"
#include "schemes/ckks/server_state.h"

namespace whorl::ckks {

struct Lanes::Integers {
  explicit Integers(const Lanes& of) : lanes(of) {}

  using Entries = std::vector<std::int64_t>;

  const Lanes& lanes;
  const Server& server = lanes.server_;
  const unsigned least = server.parameters().least_bootstrap_level();

  /// What an array holds now; its messages are read first, and hold for later values too.
  struct Operand {
    LaneMessages messages;
    Array values;
    double error;
  };
  static Operand operand(const LaneMessages& messages, Array values) {
    const double error = error_of(values.info());
    return {messages, std::move(values), error};
  }
  Operand operand(const LaneArray& a) const {
    const LaneMessages messages = a.messages();
    return operand(messages, lanes.values_of(a));
  }

  /// Integers modulo p are refreshed before they are larger: then scales that are rounded to
  /// doubles change none by more than 2^-30, and of the error that grows with them a bootstrap,
  /// which squares errors, leaves about limit(p).
  std::int64_t largest(unsigned p) const {
    const double most = std::sqrt(lanes.limit(p) / p) / error_of_maps(server, 1);
    return std::int64_t{1} << std::clamp(std::ilogb(most), 0, 20);
  }
  unsigned largest_modulus() const { return 1u << server.parameters().literal().bootstrap->bits; }
  void check_modulus(unsigned p) const;
  /// The p of all of them. ParameterError for bits, and for several; ShapeError for counts that do
  /// not meet.
  unsigned modulus(std::span<const LaneArray> arrays) const;
  /// ParameterError for integers where bits are needed.
  static void check_bits(const LaneArray& a);
  /// ShapeError unless both are equal or one is 1; `count` becomes the larger one.
  static void check_counts(std::size_t& count, std::size_t own);

  /// Brings errors of operands down and levels up, until errors times these weights are at most
  /// limit(p) together, and each has `levels` levels. False where that is not reached.
  bool settle(std::span<const LaneArray> arrays, std::span<const double> weights, unsigned p,
              unsigned levels = 0) const;
  /// The same, and NoiseError.
  void settled(std::span<const LaneArray> arrays, std::span<const double> weights, unsigned p,
               unsigned levels = 0) const;
  void settled(const LaneArray& a, unsigned p) const {
    const double once = 1;
    settled(std::span(&a, 1), std::span(&once, 1), p);
  }
  /// a + b, or a - b, of which the errors are at most those that p wants.
  Operand sum(const LaneArray& a, const LaneArray& b, bool subtract, unsigned p) const;
  /// a·b by bits, whose errors are so small that those of a and b are not magnified.
  LaneArray product_of_bits(const LaneArray& a, const LaneArray& b, unsigned p) const;
  /// Bits of all integers by one bootstrap, cleaned: those of one vector after those of another.
  Array cleaned_bits(const Array& x, unsigned bits) const;

  /// A table of some vectors; none: of all.
  struct Task {
    Entries entries;
    std::vector<std::uint32_t> vectors = {};
  };
  /// Tables of integers by one bootstrap. Two integers share a coefficient where they fit.
  std::vector<Array> tables(const Operand& x, std::span<const Task> tasks) const;
  /// The error of a table, as it is stated.
  double table_error(const TablePolynomial& table, const Array& turns, unsigned p) const;
  /// The same of a coefficient each.
  std::vector<Array> bootstrapped(const Operand& x, std::span<const Task> tasks) const;
  Array table(const Operand& x, Entries entries) const {
    const Task task{std::move(entries)};
    return tables(x, std::span(&task, 1))[0];
  }
  Array table(const LaneArray& a, Entries entries) const {
    settled(a, a.messages().p);
    return table(operand(a), std::move(entries));
  }
  /// The entries for 0 … p - 1.
  template <class F>
  static Entries table_of(unsigned p, const F& f) {
    Entries out;
    for (std::int64_t m = 0; m < p; ++m) out.push_back(f(m));
    return out;
  }

  /// The difference of integers as one modulo 2p, in which its sign can be seen; none where 2p is
  /// too large, or where they are not in 0 … p - 1.
  std::optional<Operand> signed_difference(const LaneArray& a, const LaneArray& b,
                                           unsigned p) const;
  /// The smaller one of both, or the larger one.
  LaneArray extreme(const LaneArray& a, const LaneArray& b, bool smaller) const;

  /// As many ciphertexts as that.
  LaneArray spread(const LaneArray& a, std::size_t count) const {
    return a.info().count == count ? a : lanes.take(a, std::vector<std::uint32_t>(count, 0));
  }
  Array part(const Array& x, std::size_t first, std::size_t count) const;
  /// Every `step`-th ciphertext from `first` on.
  Array each_of(const Array& x, std::size_t first, std::size_t step) const;

  static std::int64_t size_of(const LaneMessages& m) { return std::max(-m.low, m.high); }
  static bool is_reduced(const LaneMessages& m) { return m.low >= 0 && m.high < m.p; }
};

inline unsigned log2_of(unsigned p) { return static_cast<unsigned>(std::countr_zero(p)); }

}  // namespace whorl::ckks
