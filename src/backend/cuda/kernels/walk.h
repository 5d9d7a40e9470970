// The steps of a rotation whose order each ciphertext has for itself: AP's digits, and walks
// through automorphisms. Everything compiles for the host too, where tests run it.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

/// The kinds of walks: AP's digits, or automorphisms.
enum class WalkSteps { digits, automorphisms };

/// A product with a key, or an automorphism and the product with its key.
struct WalkStep {
  std::uint32_t row;  ///< the key's first
  std::uint32_t how;  ///< the gadget's range; times 2^16, of an automorphism X -> X^g: g^-1 mod 2N

  WHORL_HOST_DEVICE std::uint32_t range() const { return how & 0xffff; }
  /// 0: a product.
  WHORL_HOST_DEVICE std::uint32_t inverse() const { return how >> 16; }
};

/// Keys of an LWE coefficient, which follow each other.
struct CoefficientKeys {
  std::uint32_t first_row;
  std::uint16_t range, rows;  ///< rows: of each key
};

/// AP: digits of exponents. `weights`: of the digit's places, unit·base^j < 2N.
struct DigitRules {
  static constexpr unsigned most_places = 14;
  std::uint32_t n = 0, N = 0, base = 0, places = 0;
  std::uint32_t weights[most_places] = {};
  const CoefficientKeys* keys = nullptr;

  /// Most steps of a ciphertext.
  std::uint32_t most() const { return n * places; }
  /// Step number i·places + j before those of digit 0 are left out. False: it is left out.
  WHORL_HOST_DEVICE bool step(const std::uint32_t* lwe, std::uint32_t number, WalkStep& out) const {
    const std::uint32_t i = number / places, place = number % places;
    const std::uint32_t digit = (lwe[i] & (2 * N - 1)) / weights[place] % base;
    const CoefficientKeys& of = keys[i];
    out = {of.first_row + (place * (base - 1) + digit - 1) * of.rows, of.range};
    return digit != 0;
  }
};

/// Automorphisms: Lee et al. 2023, §3 and Algorithm 3. Class k holds the exponent 5^k, class
/// N/2 + k holds -5^k.
struct AutomorphismRules {
  std::uint32_t n = 0, N = 0, window = 0;
  std::uint32_t first_row = 0, rows = 0;  ///< of the automorphisms' keys: first, and of each
  const CoefficientKeys* keys = nullptr;
  const std::uint16_t* logarithms = nullptr;  ///< 2N: k of 5^k
  const std::uint16_t* inverses = nullptr;    ///< window + 1: of each key's g, g^-1 modulo 2N

  static constexpr std::uint16_t none = 0xffff;

  /// Most steps of a ciphertext: a gap of g classes takes ceil(g/window) automorphisms, and there
  /// are at most n + 2 gaps in the N - 2 classes that follow one.
  std::uint32_t most() const {
    const std::uint32_t gaps = (N - 2) / window + n + 2;
    return n + (N - 2 < gaps ? N - 2 : gaps) + 1;
  }
  /// Writes the steps but the first automorphism, of ACC at the start, and returns how many. An
  /// even exponent counts as the next odd one. `head` and `tail` have N places, of which head's
  /// hold `none`; `next` has n.
  WHORL_HOST_DEVICE std::uint32_t write(const std::uint32_t* lwe, std::uint16_t* head,
                                        std::uint16_t* tail, std::uint16_t* next,
                                        WalkStep* out) const {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t a = (lwe[i] | 1) & (2 * N - 1);
      const bool negative = a % 4 == 3;  // powers of 5 are 1 modulo 4
      const std::uint32_t of = logarithms[negative ? 2 * N - a : a] + (negative ? N / 2 : 0);
      next[i] = none;
      if (head[of] == none)
        head[of] = static_cast<std::uint16_t>(i);
      else
        next[tail[of]] = static_cast<std::uint16_t>(i);
      tail[of] = static_cast<std::uint16_t>(i);
    }
    std::uint32_t count = 0, pending = 0;
    const std::uint32_t range = keys[0].range;
    for (std::uint32_t half = 0; half < 2; ++half) {
      const std::uint16_t* const classes = head + (half == 0 ? N / 2 : 0);
      for (std::uint32_t k = N / 2; k-- > 0;) {
        if (classes[k] != none || k == 0) walk(range, pending, out, count);
        for (std::uint32_t i = classes[k]; i != none; i = next[i])
          out[count++] = {keys[i].first_row, keys[i].range};
        if (k != 0) ++pending;
      }
      if (half == 0)
        out[count++] = {first_row + window * rows, range | std::uint32_t{inverses[window]} << 16};
    }
    return count;
  }

 private:
  WHORL_HOST_DEVICE void walk(std::uint32_t range, std::uint32_t& pending, WalkStep* out,
                              std::uint32_t& count) const {
    while (pending != 0) {
      const std::uint32_t step = pending < window ? pending : window;
      out[count++] = {first_row + (step - 1) * rows,
                      range | std::uint32_t{inverses[step - 1]} << 16};
      pending -= step;
    }
  }
};

/// The programs of a batch as kernels read them.
struct Walks {
  const WalkStep* steps;        ///< (count, most)
  const std::uint32_t* length;  ///< (count): steps of each
  std::uint32_t most;
  std::uint32_t start_move;  ///< start_accumulator's `move`
};

}  // namespace whorl::backend::cuda
