// Keys of blind rotation as the CPU's kernels read them, and the kernels for each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/cpu/blind_rotate.h"
#include "backend/cpu/by_word.h"
#include "backend/key_memory.h"
#include "math/modulus.h"
#include "ring/fft_plan.h"
#include "ring/host/fft_tables.h"
#include "ring/host/ntt_tables.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::cpu {

/// Spectra of the key in the order of use: LWE coefficient, vector v, digit polynomial (component,
/// digit), key, component of the result; real vector, imaginary vector. With 32-bit words the
/// spectra are kept as 32-bit integers, value·scale, the largest of each LWE coefficient filling
/// the word: half the bytes to stream, at a rounding error that lattice::key_spectrum_variance
/// accounts for. Otherwise they are doubles.
class FftRotationKey final : public RotationKey {
 public:
  FftRotationKey(RotationShape shape, unsigned lanes, bool compact)
      : RotationKey(std::move(shape)),
        plan(this->shape().N),
        tables(plan, lanes),
        compact(compact),
        first(this->shape().first_row),
        scale(this->shape().n, 1.0) {
    // A row has two components of N/2 complex values.
    const std::size_t values = first.back() * 2 * this->shape().N;
    if (compact)
      words = {values, "blind-rotation key"};
    else
      doubles = {values, "blind-rotation key"};
  }
  std::size_t bytes() const override {
    return first.back() * 2 * this->shape().N * (compact ? sizeof(std::int32_t) : sizeof(double));
  }

  ring::FftPlan plan;
  ring::FftTables tables;
  bool compact;
  const std::vector<std::size_t>& first;  ///< row of each LWE coefficient: the shape's
  std::vector<double> scale;              ///< of each LWE coefficient's spectra
  KeyMemory<std::int32_t> words;
  KeyMemory<double> doubles;
};

/// For one target of Highway.
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
  void (*place_doubles)(const double* spectrum, std::size_t vectors, std::size_t stride,
                        double* out);
};

/// Values of the key at the roots, times N^-1, in Montgomery form, in the order of use: LWE
/// coefficient, vector v, digit polynomial (component, digit), key, component of the result.
template <class Word>
class NttRotationKey final : public RotationKey {
 public:
  NttRotationKey(RotationShape shape, unsigned lanes)
      : RotationKey(std::move(shape)),
        plan(this->shape().N, static_cast<Word>(this->shape().Q)),
        tables(plan, lanes),
        montgomery(plan.modulus()),
        first(this->shape().first_row),
        words(first.back() * 2 * this->shape().N, "blind-rotation key"),
        monomials(2 * this->shape().N) {
    Word power = montgomery.to_montgomery(1);
    const Word psi = montgomery.to_montgomery(plan.psi());
    for (Word& value : monomials) {
      value = power;
      power = montgomery.mul(power, psi);
    }
    const unsigned bits = static_cast<unsigned>(std::bit_width(this->shape().N) - 1);
    auto exponent = [&](std::uint32_t i) { return 2 * ring::bit_reverse(i, bits) + 1; };
    for (std::uint32_t v = 0; v < tables.vectors; ++v)
      vector_exponent.push_back(exponent(v / lanes * lanes * lanes + v % lanes));
    for (unsigned k = 0; k < lanes; ++k) lane_exponent.push_back(exponent(k * lanes) - 1);
  }
  std::size_t bytes() const override { return first.back() * 2 * this->shape().N * sizeof(Word); }

  ring::NttPlan<Word> plan;
  ring::NttTables<Word> tables;
  math::Montgomery<Word> montgomery;
  const std::vector<std::size_t>& first;  ///< row of each LWE coefficient: the shape's
  KeyMemory<Word> words;
  std::vector<Word> monomials;  ///< psi^e, e < 2N, in Montgomery form
  std::vector<std::uint32_t> vector_exponent, lane_exponent;
};

template <class Word>
struct NttRotationKernels {
  unsigned lanes;
  void (*rotate)(const NttRotationKey<Word>& key, const RotationBatch<Word>& batch,
                 std::size_t begin, std::size_t count);
  void (*key_values)(const ring::NttTables<Word>& tables, Word* data);
};

}  // namespace whorl::backend::cpu
