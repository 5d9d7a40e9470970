// A pair of objects, one for each size of words. A file of kernels exports such a pair for each
// target of Highway.
#pragma once

#include <cstdint>

namespace whorl::backend::cpu {

template <template <class> class Of>
struct ByWord {
  Of<std::uint32_t> narrow;
  Of<std::uint64_t> wide;

  template <class Word>
  constexpr const Of<Word>& of() const {
    if constexpr (sizeof(Word) == 4)
      return narrow;
    else
      return wide;
  }
};

}  // namespace whorl::backend::cpu
