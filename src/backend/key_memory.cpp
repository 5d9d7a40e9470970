#include "backend/key_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "math/memory.h"
#include "whorl/error.h"

namespace whorl::backend::detail {

namespace {
constexpr std::size_t huge_page = std::size_t{1} << 21;
}

std::shared_ptr<void> allocate_pages(std::size_t bytes, const char* what) {
  bytes = std::max<std::size_t>(bytes, 1);
  // Huge pages begin at multiples of their size: more is asked for, and the ends given back.
  const std::size_t slack = bytes >= huge_page ? huge_page : 0;
  void* const all =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED)
    throw OutOfMemoryError(std::string(what) + ": " + std::to_string(bytes) +
                           " bytes could not be allocated");
  char* pages = static_cast<char*>(all);
  if (slack) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + page - 1) / page * page;
    const std::size_t before =
        (huge_page - reinterpret_cast<std::uintptr_t>(all) % huge_page) % huge_page;
    if (before) munmap(all, before);
    pages += before;
    const std::size_t end = (bytes + slack + page - 1) / page * page;
    if (before + used < end) munmap(pages + used, end - before - used);
  }
  math::prefer_large_pages(pages, bytes);
  return {pages, [bytes](void* p) { munmap(p, bytes); }};
}

}  // namespace whorl::backend::detail
