// Memory of a queue, and views of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "whorl/error.h"

namespace whorl::backend {

class Queue;

/// The error of a call that is wrong in itself. It does not mean that the device has failed.
class RefusedError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A view of a queue's memory. Operations of another queue on it throw DeviceError.
template <class T>
struct Slice {
  T* data = nullptr;
  std::size_t size = 0;
  const Queue* queue = nullptr;
  template <class Const>  // a template, as nvcc warns of a conversion of const to itself
  requires(std::is_same_v<Const, const T> && !std::is_const_v<T>) operator Slice<Const>() const {
    return {data, size, queue};
  }
  Slice part(std::size_t offset, std::size_t count) const {
    if (offset > size || count > size - offset)
      throw ShapeError("slice [" + std::to_string(offset) + ", " + std::to_string(offset + count) +
                       ") does not lie within a buffer of " + std::to_string(size));
    return {data + offset, count, queue};
  }
};

/// Whether two ranges of bytes have none in common.
bool apart(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);

[[noreturn]] void refuse_overlap(const char* what, std::size_t in, std::size_t out,
                                 std::ptrdiff_t offset);
/// ShapeError if the output lies in the input: `what` names the operation and the input.
template <class In, class Out>
void check_apart(const char* what, const Slice<const In>& in, const Slice<Out>& out) {
  if (apart(in.data, in.size * sizeof(In), out.data, out.size * sizeof(Out))) return;
  const auto* const from = reinterpret_cast<const char*>(in.data);
  const auto* const to = reinterpret_cast<const char*>(out.data);
  refuse_overlap(what, in.size, out.size, (to - from) / static_cast<std::ptrdiff_t>(sizeof(In)));
}
/// The same for operations element by element: the output may be the whole input itself, if both
/// have words of the same size.
template <class In, class Out>
void check_same_or_apart(const char* what, const Slice<const In>& in, const Slice<Out>& out) {
  const bool same = sizeof(In) == sizeof(Out) && in.size == out.size &&
                    static_cast<const void*>(in.data) == static_cast<const void*>(out.data);
  if (!same) check_apart(what, in, out);
}

/// Memory that belongs to one queue; moved explicitly by Queue::upload and download. Copies share
/// it; any thread may drop one.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<void> storage, std::size_t size, const Queue* queue)
      : storage_(std::move(storage)), size_(size), queue_(queue) {}
  Slice<T> slice() { return {static_cast<T*>(storage_.get()), size_, queue_}; }
  Slice<const T> slice() const { return {static_cast<const T*>(storage_.get()), size_, queue_}; }
  std::size_t size() const { return size_; }
  /// Whether another object shares the memory.
  bool shared() const { return storage_.use_count() > 1; }

 private:
  std::shared_ptr<void> storage_;
  std::size_t size_ = 0;
  const Queue* queue_ = nullptr;
};

}  // namespace whorl::backend
