#include "math/memory.h"

#include <sys/mman.h>

namespace whorl::math {

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  // Whole large pages within; their size is that of x86-64 and of most Arm systems. A refusal only
  // costs time.
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page,
             end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace whorl::math
