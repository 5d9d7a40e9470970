// Sets of a plan's primes. The residues of a ciphertext, a key or a conversion are modulo such a
// set.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace whorl::ring {

/// Indices into a plan's primes, ascending: rows of an array over a basis come in this order. Limbs
/// are a set, not a prefix: rational rescaling drops some and takes others back, and a key may live
/// over a few primes of its own. Small, and cheap to copy and to compare.
class Basis {
 public:
  static constexpr unsigned most = 128;  ///< primes of a plan

  Basis() = default;
  Basis(std::initializer_list<unsigned> indices) {
    for (const unsigned i : indices) insert(i);
  }
  /// first … first + count - 1.
  static Basis range(unsigned first, unsigned count) {
    Basis out;
    if (count == 0) return out;
    const unsigned end = first + count;
    static_cast<void>(out.words_.at((end - 1) / 64));  // in range
    for (unsigned w = 0; w < 2; ++w) {
      const unsigned from = std::max(first, 64 * w), to = std::min(end, 64 * w + 64);
      if (from < to) out.words_[w] = ~std::uint64_t{0} >> (64 - (to - from)) << (from - 64 * w);
    }
    return out;
  }

  void insert(unsigned i) { words_.at(i / 64) |= std::uint64_t{1} << (i % 64); }
  bool contains(unsigned i) const { return i < most && (words_[i / 64] >> (i % 64) & 1) != 0; }
  bool empty() const { return words_[0] == 0 && words_[1] == 0; }
  unsigned size() const {
    return static_cast<unsigned>(std::popcount(words_[0]) + std::popcount(words_[1]));
  }
  /// Whether it is 0 … size() - 1: what kernels for chains are made for.
  bool is_prefix() const {
    const unsigned n = size();
    return n < 64 ? words_[0] == (std::uint64_t{1} << n) - 1 && words_[1] == 0
                  : *this == range(0, n);
  }
  bool includes(const Basis& other) const {
    return (other.words_[0] & ~words_[0]) == 0 && (other.words_[1] & ~words_[1]) == 0;
  }
  /// body(index), in ascending order.
  template <class Body>
  void for_each(const Body& body) const {
    for (unsigned w = 0; w < 2; ++w)
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
        body(64 * w + static_cast<unsigned>(std::countr_zero(left)));
  }
  /// Its indices, in ascending order.
  std::vector<unsigned> indices() const {
    std::vector<unsigned> out;
    out.reserve(size());
    for_each([&](unsigned i) { out.push_back(i); });
    return out;
  }
  /// How many of its indices are below i: the row of i, if it is there.
  unsigned rank(unsigned i) const {
    const std::uint64_t below = (std::uint64_t{1} << (i % 64)) - 1;
    return static_cast<unsigned>(i < 64
                                     ? std::popcount(words_[0] & below)
                                     : std::popcount(words_[0]) + std::popcount(words_[1] & below));
  }

  friend Basis operator|(Basis a, const Basis& b) {
    for (unsigned w = 0; w < 2; ++w) a.words_[w] |= b.words_[w];
    return a;
  }
  friend Basis operator&(Basis a, const Basis& b) {
    for (unsigned w = 0; w < 2; ++w) a.words_[w] &= b.words_[w];
    return a;
  }
  /// The indices of a that are not in b.
  friend Basis operator-(Basis a, const Basis& b) {
    for (unsigned w = 0; w < 2; ++w) a.words_[w] &= ~b.words_[w];
    return a;
  }
  auto operator<=>(const Basis&) const = default;

  /// "{0 … 4, 7}", for messages.
  std::string describe() const {
    std::string out = "{";
    const std::vector<unsigned> all = indices();
    for (std::size_t first = 0, next = 0; first < all.size(); first = next) {
      for (next = first + 1; next < all.size() && all[next] == all[next - 1] + 1;) ++next;
      if (first > 0) out += ", ";
      out += std::to_string(all[first]);
      if (next - first > 1)
        out += (next - first > 2 ? " … " : ", ") + std::to_string(all[next - 1]);
    }
    return out + "}";
  }

 private:
  std::array<std::uint64_t, 2> words_{};
};

/// What a key of hybrid key switching is over: a property of the key, not of the plan. Digits
/// partition the chain, the primes that it takes apart; its rows are modulo all of rows().
struct KeyLayout {
  Basis chain;
  std::vector<Basis> digits;
  Basis special;  ///< their product P carries the switching's noise

  Basis rows() const { return chain | special; }
  bool operator==(const KeyLayout&) const = default;
};

}  // namespace whorl::ring
