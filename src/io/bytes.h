// Little-endian bytes: a cursor that cannot leave what is there, and its counterpart for writing.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "math/memory.h"
#include "whorl/error.h"

namespace whorl::io {

// Words are used where they lie in a mapped file, so the host's order must be the file's.
static_assert(std::endian::native == std::endian::little, "Whorl needs a little-endian host");

using ByteSpan = std::span<const std::uint8_t>;

/// The bytes of anything trivially copyable.
template <class T>
ByteSpan bytes_of(std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

/// a·b, or OversizedError naming the field if that is not below 2^64.
inline std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, std::string_view field) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw OversizedError(std::string(field) + ": " + std::to_string(a) + " times " +
                         std::to_string(b) + " bytes is beyond 64 bits");
  return product;
}

/// allocate(count) for `count` of T; OutOfMemoryError naming the field when memory is short.
template <class T, class Allocate>
auto room_for(std::uint64_t count, std::string_view field, const Allocate& allocate) {
  try {
    return allocate(static_cast<std::size_t>(count));
  } catch (const std::exception&) {  // std::bad_alloc, or std::length_error
    throw OutOfMemoryError(std::string(field) + " needs " + std::to_string(count) + " times " +
                           std::to_string(sizeof(T)) + " bytes, which the system did not give");
  }
}
template <class T>
void reserve(std::vector<T>& values, std::uint64_t count, std::string_view field) {
  room_for<T>(count, field, [&](std::size_t size) { values.reserve(size); });
}
/// Words of any value: filling them with zeros first would take as long as reading them.
template <class Word>
std::shared_ptr<Word[]> unfilled(std::uint64_t count, std::string_view field) {
  return room_for<Word>(count, field, math::unfilled<Word>);
}

/// Brings bytes when they are asked for.
class ByteSource {
 public:
  /// The bytes before `end` are there when it returns.
  virtual void fill_to(const std::uint8_t* end) = 0;

 protected:
  ~ByteSource() = default;
};

/// Reads a span from front to back. Each read names its field; reading past the end is a
/// TruncatedError.
class ByteReader {
 public:
  /// `source` brings the bytes, if they are not there yet.
  explicit ByteReader(ByteSpan bytes, ByteSource* source = nullptr)
      : bytes_(bytes), source_(source) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  ByteSpan take(std::uint64_t count, std::string_view field) {
    const ByteSpan taken = skip(count, field);
    if (source_ != nullptr) source_->fill_to(taken.data() + taken.size());
    return taken;
  }

  /// The same, of bytes that are looked at later, when the source has brought all.
  ByteSpan skip(std::uint64_t count, std::string_view field) {
    if (count > remaining())
      throw TruncatedError(std::string(field) + ": " + std::to_string(count) +
                           " bytes are needed, but " + std::to_string(remaining()) + " are there");
    const ByteSpan taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  /// An integer or a double.
  template <class T>
  T value(std::string_view field) {
    static_assert(std::is_arithmetic_v<T>);
    T result;
    std::memcpy(&result, take(sizeof(T), field).data(), sizeof(T));
    return result;
  }

  template <std::size_t size>
  std::array<std::uint8_t, size> array(std::string_view field) {
    std::array<std::uint8_t, size> result;
    std::memcpy(result.data(), take(size, field).data(), size);
    return result;
  }

  /// `count` bytes that must be zero, so that one object has one encoding.
  void zeros(std::size_t count, std::string_view field) {
    const ByteSpan taken = take(count, field);
    if (std::any_of(taken.begin(), taken.end(), [](std::uint8_t byte) { return byte != 0; }))
      throw FormatError(std::string(field) + ": padding is not zero");
  }

  /// OversizedError if anything is left.
  void finish(std::string_view what) const {
    if (remaining() != 0)
      throw OversizedError(std::string(what) + ": " + std::to_string(remaining()) +
                           " bytes follow its end");
  }

 private:
  ByteSpan bytes_;
  ByteSource* source_;
  std::size_t position_ = 0;
};

/// Gathers small fields.
class ByteWriter {
 public:
  void bytes(ByteSpan more) {
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + more.size());
    std::ranges::copy(more, bytes_.data() + begin);
  }
  template <class T>
  void value(T number) {
    static_assert(std::is_arithmetic_v<T>);
    bytes(bytes_of(std::span<const T>(&number, 1)));
  }
  void zeros(std::size_t count) { bytes_.resize(bytes_.size() + count); }

  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::uint8_t>& data() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace whorl::io
