// Images of keys, inputs and results in the core's memory: rtl/README.md, section 3. Words are
// little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/contract/lwe.h"
#include "backend/contract/rotation.h"
#include "backend/rtl/shape.h"
#include "backend/rtl/transform.h"

namespace whorl::backend::rtl {

using Bytes = std::vector<std::uint8_t>;

/// Addresses of images are multiples of it.
inline constexpr std::uint64_t alignment = 4096;
inline std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// ---- the bootstrapping key

/// A chunk's polynomials in evaluation form, times N^-1: `words` has N for each of
/// ((T - 1)·2L + row)·2 + col. `ports[s]` has chunk_beats beats of port s.
void pack_chunk(const Shape& shape, std::span<const std::uint64_t> words,
                std::span<const std::span<std::uint8_t>> ports);
/// N words: one of them.
void unpack_polynomial(const Shape& shape, std::span<const std::span<const std::uint8_t>> ports,
                       std::size_t polynomial, std::span<std::uint64_t> words);

/// The image at each port, from the rows of an unrolled rotation: residues modulo p, in the order
/// of lattice::lwe::RotationMethod. ParameterError unless the core's shape is the rotation's.
std::vector<Bytes> rotation_key_images(const Shape& shape, const RotationShape& rotation,
                                       const RowSource<std::uint64_t>& rows, unsigned threads);
/// The rows of the key that images hold, as coefficients. A RowSource; the images must outlive it.
class RotationKeyRows {
 public:
  /// ParameterError as above.
  RotationKeyRows(const Shape& shape, const RotationShape& rotation, std::span<const Bytes> images);
  void operator()(std::size_t row, std::span<std::uint64_t> a, std::span<std::uint64_t> b) const;

 private:
  Shape shape_;
  const RotationShape& rotation_;
  std::span<const Bytes> images_;
  std::shared_ptr<const Transform> transform_;
};

// ---- the key-switching key

/// Makes the image from rows i·L_KS + j of n words of a and one of b.
Bytes switch_key_image(const Shape& shape, std::uint32_t n,
                       const std::function<void(std::size_t row, std::uint32_t* out)>& rows);
void switch_key_row(const Shape& shape, std::uint32_t n, std::span<const std::uint8_t> image,
                    std::size_t row, std::span<std::uint32_t> out);

// ---- records: rows of words of 32 or 64 bits, each padded to whole beats

template <class Word>
void put_record(std::span<const Word> words, std::uint8_t* out);
template <class Word>
void get_record(const std::uint8_t* in, std::span<Word> words);

}  // namespace whorl::backend::rtl
