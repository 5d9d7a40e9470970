// What the accounts of BGV and CKKS have alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace whorl {

/// Most parts of a ciphertext.
inline constexpr unsigned max_parts = 16;

/// log2(2^a + 2^b).
inline double log2_sum(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return high + std::log2(1 + std::exp2(low - high));
}

/// What is known of so many ciphertexts of a batch.
template <class Info>
Info taken(Info a, std::size_t count) {
  a.count = count;
  return a;
}

/// What is known of results, and how operands are prepared first: one, two, or any number of them.
template <class Info, class Preparation>
struct PreparedResults {
  struct One {
    Info result;
    Preparation a;
  };
  struct Two {
    Info result;
    Preparation a, b;
  };
  struct Many {
    Info result;
    std::vector<Preparation> each;
  };
};

}  // namespace whorl
