// Memory for secrets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace whorl::math {

namespace detail {
/// Guarded, locked memory for count values. Throws OutOfMemoryError when there is none.
void* allocate_secret(size_t count, size_t value_bytes);
/// Wipes and frees.
void free_secret(void* memory) noexcept;
/// Overwrites with zeros, even if nothing reads them.
void wipe(void* memory, size_t bytes) noexcept;
/// Whether the memory is held out of swap.
bool secret_is_locked(void* memory, size_t bytes) noexcept;
}  // namespace detail

/// A fixed number of values that are kept apart: between guard pages, out of core dumps, locked
/// into memory, wiped on destruction (sodium_malloc). Where the system does not permit locking
/// (RLIMIT_MEMLOCK) all the rest still holds, but the pages may be swapped out; locked() tells.
/// Moves only; a copy is an explicit clone(). It can be neither printed nor compared.
template <class T>
class SecretVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SecretVector() = default;

  /// size values, all zero. Throws OutOfMemoryError.
  explicit SecretVector(size_t size) : size_(size) {
    if (size == 0) return;
    data_ = static_cast<T*>(detail::allocate_secret(size, sizeof(T)));
    std::uninitialized_fill_n(data_, size, T{});
  }

  ~SecretVector() { detail::free_secret(data_); }

  SecretVector(SecretVector&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SecretVector& operator=(SecretVector&& other) noexcept {
    SecretVector taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    return *this;
  }
  SecretVector(const SecretVector&) = delete;
  SecretVector& operator=(const SecretVector&) = delete;

  SecretVector clone() const {
    SecretVector copy(size_);
    std::copy_n(data_, size_, copy.data_);
    return copy;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  /// Whether the values are held out of swap.
  bool locked() const { return detail::secret_is_locked(data_, size_ * sizeof(T)); }

  bool operator==(const SecretVector&) const = delete;

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// A vector of values that would reveal a secret and are needed only for a moment, such as the
/// errors of an encryption. It is in ordinary memory, without guard pages, and is wiped on
/// destruction.
template <class T>
class WipedVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit WipedVector(size_t size) : values_(size) {}
  ~WipedVector() { detail::wipe(values_.data(), values_.size() * sizeof(T)); }
  WipedVector(const WipedVector&) = delete;
  WipedVector& operator=(const WipedVector&) = delete;

  size_t size() const { return values_.size(); }
  std::span<T> span() { return values_; }
  const T& operator[](size_t i) const { return values_[i]; }

 private:
  std::vector<T> values_;
};

}  // namespace whorl::math
