// Memory for keys, which are large, written once, and then read in each operation.
#pragma once

#include <cstddef>
#include <memory>

namespace whorl::backend {

namespace detail {
/// Pages of their own, huge ones where the system gives them: a key of 4-KB pages costs a
/// page-table walk for every row. Zeroed. OutOfMemoryError names `what` and the bytes.
std::shared_ptr<void> allocate_pages(std::size_t bytes, const char* what);
}  // namespace detail

template <class T>
class KeyMemory {
 public:
  KeyMemory() = default;
  KeyMemory(std::size_t count, const char* what)
      : pages_(detail::allocate_pages(count * sizeof(T), what)) {}
  T* get() const { return static_cast<T*>(pages_.get()); }
  T& operator[](std::size_t i) const { return get()[i]; }

 private:
  std::shared_ptr<void> pages_;
};

}  // namespace whorl::backend
