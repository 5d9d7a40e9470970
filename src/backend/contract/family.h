// What the families of operations share: checks of memory and keys, and the errors of these checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backend/contract/device.h"

namespace whorl::backend {

/// Writes row `r` of a key: `a` and `b` have the row's length. Called from several threads at once.
template <class Word>
using RowSource = std::function<void(std::size_t row, std::span<Word> a, std::span<Word> b)>;

/// A key, laid out in a device's order of use; its shape says what the device needs to know of it.
template <class Shape>
class PreparedKey : public Prepared {
 public:
  virtual std::size_t bytes() const = 0;
  const Shape& shape() const { return shape_; }

 protected:
  explicit PreparedKey(Shape shape) : shape_(std::move(shape)) {}

 private:
  Shape shape_;
};

/// Public entries are not virtual. They check shapes, owners and ranges, once for all backends.
/// Then they call protected virtual functions with the checked views; these enqueue the work and
/// return.
class Family {
 public:
  explicit Family(const Queue& queue) : queue_(queue) {}
  virtual ~Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  const Queue& queue() const { return queue_; }

 protected:
  template <class... T>
  void check(const Slice<T>&... slices) const {
    (queue_.check(slices), ...);
  }
  /// DeviceError unless this queue's device prepared it.
  void check_owner(const char* what, const Prepared& prepared) const;
  /// Records this device as the owner.
  template <class T>
  std::unique_ptr<T> own(std::unique_ptr<T> prepared) const {
    static_cast<Prepared&>(*prepared).owner_ = queue_.shared_device();
    return prepared;
  }

  /// ShapeError unless they are equal.
  static void check_size(const char* what, std::size_t got, std::size_t want);
  /// Rows of `row` elements; ShapeError unless it is a whole number of them.
  static std::size_t rows_of(const char* what, std::size_t size, std::size_t row);
  /// ParameterError unless a word holds residues up to `largest`.
  template <class Word>
  static void check_word(const char* what, std::uint64_t largest) {
    if (largest > std::numeric_limits<Word>::max()) refuse_word(what, largest, 8 * sizeof(Word));
  }
  [[noreturn]] static void refuse_word(const char* what, std::uint64_t largest, std::size_t bits);

 private:
  const Queue& queue_;
};

}  // namespace whorl::backend
