#include "backend/cpu/key_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "whorl/error.h"

namespace whorl::backend::cpu::detail {

std::shared_ptr<void> allocate_pages(std::size_t bytes, const char* what) {
  bytes = std::max<std::size_t>(bytes, 1);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw OutOfMemoryError(std::string(what) + ": " + std::to_string(bytes) +
                           " bytes could not be allocated");
#ifdef MADV_HUGEPAGE
  madvise(pages, bytes, MADV_HUGEPAGE);  // a wish: where it is refused, all still works
#endif
  return {pages, [bytes](void* p) { munmap(p, bytes); }};
}

}  // namespace whorl::backend::cpu::detail
