// Keys of blind rotation as the CPU's kernels read them, and the kernels for each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/cpu/blind_rotate.h"
#include "backend/cpu/by_word.h"
#include "backend/cpu/rotation_steps.h"
#include "backend/key_memory.h"
#include "math/modulus.h"
#include "ring/fft_plan.h"
#include "ring/host/fft_tables.h"
#include "ring/host/ntt_tables.h"
#include "ring/ntt_plan.h"
#include "whorl/word_array.h"

namespace whorl::backend::cpu {

/// Spectra of the key in the order of use: block (KeyBlock), vector v, digit polynomial (component,
/// digit), key, component of the result; real vector, imaginary vector. With 32-bit words the
/// spectra are kept as 32-bit integers, value·scale, the largest of each block filling the word:
/// half the bytes to stream, at a rounding error that lattice::key_spectrum_variance accounts for.
/// Otherwise, and with a raised modulus, of which they are residues modulo P·Q, they are doubles;
/// where accumulators are fractions of the circle, scaled so that products have the fractions'
/// unit.
class FftRotationKey final : public RotationKey {
 public:
  FftRotationKey(RotationShape shape, unsigned lanes)
      : RotationKey(std::move(shape)),
        plan(this->shape().N),
        tables(plan, lanes),
        compact(ring_word_bytes(this->shape().Q) == 4 && !this->shape().raised()),
        blocks(key_blocks(this->shape())),
        scale(blocks.size(), 1.0) {
    if (compact)
      words = {values(), "blind-rotation key"};
    else
      doubles = {values(), "blind-rotation key"};
  }
  std::size_t bytes() const override {
    return values() * (compact ? sizeof(std::int32_t) : sizeof(double));
  }
  /// Whether accumulators are fractions of the circle.
  bool fractions() const {
    return ring_word_bytes(shape().Q) == 8 && !shape().raised() && shape().most_digits() == 1;
  }
  /// What doubles are multiplied by. It is rounded less than they are: all share its error.
  long double unit() const {
    return fractions() ? 0x1p32L / (static_cast<long double>(shape().Q) * plan.M()) : 1.0L;
  }
  /// A row has two components of N/2 complex values.
  std::size_t values() const { return shape().row_count * 2 * shape().N; }
  /// Where a block begins.
  std::size_t offset(std::size_t block) const { return blocks[block].first * 2 * shape().N; }

  ring::FftPlan plan;
  ring::FftTables tables;
  bool compact;
  std::vector<KeyBlock> blocks;
  std::vector<double> scale;  ///< of each block's spectra
  KeyMemory<std::int32_t> words;
  KeyMemory<double> doubles;
};

/// The kernels for one target of Highway.
struct FftRotationKernels {
  template <class Word>
  struct Rotate {
    void (*tile)(const FftRotationKey& key, const RotationBatch<Word>& batch, std::size_t begin,
                 std::size_t count);
  };

  unsigned lanes;
  ByWord<Rotate> rotate;
  void (*key_spectrum)(const ring::FftTables& tables, const double* coefficients, double* out);
  void (*place_words)(const double* spectrum, std::size_t vectors, double scale, std::size_t stride,
                      std::int32_t* out);
  void (*place_doubles)(const double* spectrum, std::size_t vectors, long double scale,
                        std::size_t stride, double* out);
};

/// Values of the key modulo one prime at the roots, times N^-1 (and P^-1, modulo Q), in Montgomery
/// form, in the order of use: block (KeyBlock), vector v, digit polynomial (component, digit), key,
/// component of the result.
template <class Word>
struct NttRotationLimb {
  NttRotationLimb(std::uint32_t N, Word q, unsigned lanes, std::size_t values)
      : plan(N, q),
        tables(plan, lanes),
        montgomery(plan.modulus()),
        words(values, "blind-rotation key"),
        monomials(2 * N) {
    Word power = montgomery.to_montgomery(1);
    const Word psi = montgomery.to_montgomery(plan.psi());
    for (Word& value : monomials) {
      value = power;
      power = montgomery.mul(power, psi);
    }
    const unsigned bits = static_cast<unsigned>(std::bit_width(N) - 1);
    auto exponent = [&](std::uint32_t i) { return 2 * ring::bit_reverse(i, bits) + 1; };
    for (std::uint32_t v = 0; v < tables.vectors; ++v)
      vector_exponent.push_back(exponent(v / lanes * lanes * lanes + v % lanes));
    for (unsigned k = 0; k < lanes; ++k) lane_exponent.push_back(exponent(k * lanes) - 1);
  }

  ring::NttPlan<Word> plan;
  ring::NttTables<Word> tables;
  math::Montgomery<Word> montgomery;
  KeyMemory<Word> words;
  std::vector<Word> monomials;  ///< psi^e, e < 2N, in Montgomery form
  std::vector<std::uint32_t> vector_exponent, lane_exponent;
};

template <class Word>
class NttRotationKey final : public RotationKey {
 public:
  NttRotationKey(RotationShape shape, unsigned lanes)
      : RotationKey(std::move(shape)), blocks(key_blocks(this->shape())) {
    const RotationShape& own = this->shape();
    const std::size_t values = own.row_count * 2 * own.N;
    limbs.reserve(2);
    limbs.emplace_back(own.N, static_cast<Word>(own.Q), lanes, values);
    if (!own.raised()) return;
    limbs.emplace_back(own.N, static_cast<Word>(own.raised_by), lanes, values);
    const math::Modulus<Word>& q = limbs[0].plan.modulus();
    inverse_P = q.inverse(static_cast<Word>(own.raised_by % own.Q));
    inverse_P_shoup = q.shoup(inverse_P);
  }
  std::size_t bytes() const override {
    return shape().row_count * 2 * shape().N * limbs.size() * sizeof(Word);
  }
  unsigned lanes() const { return limbs[0].tables.lanes; }
  /// Where a block begins.
  std::size_t offset(std::size_t block) const { return blocks[block].first * 2 * shape().N; }

  std::vector<KeyBlock> blocks;
  std::vector<NttRotationLimb<Word>> limbs;  ///< modulo Q and, where it is raised, modulo P
  Word inverse_P = 1, inverse_P_shoup = 0;   ///< modulo Q
};

template <class Word>
struct NttRotationKernels {
  unsigned lanes;
  void (*rotate)(const NttRotationKey<Word>& key, const RotationBatch<Word>& batch,
                 std::size_t begin, std::size_t count);
  void (*key_values)(const ring::NttTables<Word>& tables, Word* data);
};

}  // namespace whorl::backend::cpu
