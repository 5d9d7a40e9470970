// Arrays that begin at a multiple of 16 bytes, for kernels that move 16 bytes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// The values in a queue's memory, or a copy of them if they do not begin at a multiple of 16
/// bytes.
template <class T>
class Aligned {
 public:
  using Value = std::remove_const_t<T>;
  Aligned(const Stream& stream, T* values, std::size_t size)
      : stream_(stream), values_(values), size_(size) {
    if (reinterpret_cast<std::uintptr_t>(values) % 16 == 0) return;
    copy_ = stream.allocate<Value>(size);
    stream.copy_within(values, copy_.data(), size * sizeof(T));
  }
  T* data() const { return copy_.size() ? copy_.data() : values_; }
  void write_back() const {
    if constexpr (!std::is_const_v<T>)
      if (copy_.size()) stream_.copy_within(copy_.data(), values_, size_ * sizeof(T));
  }

 private:
  const Stream& stream_;
  T* values_;
  std::size_t size_;
  DeviceArray<Value> copy_;
};

}  // namespace whorl::backend::cuda
