// Blind rotations, measured: numbers of tuning/rotation.h.
//
// Keys have 32 steps; time is linear in steps. They encrypt random values under the ring key 1
// (rows (r, r) with r uniform, and the message on top), without noise: after all steps b - a is the
// look-up table times a power of X that the batch says, but for what the gadget drops and the FFT
// rounds. Every candidate's output is compared with that; NTT outputs also with each other, bit for
// bit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/parallel.h"
#include "lattice/lwe/rotation_method.h"
#include "math/primes.h"
#include "tuner.h"

namespace whorl::tune {

inline constexpr std::uint32_t rotation_steps = 32, rotation_tables = 4;

/// A candidate: `ciphertexts` a block, registers limited for `blocks` a multiprocessor.
struct Rotation : Measured {
  int ciphertexts = 1, blocks = 1;
  /// One ciphertext a block, blocks on three quarters of the multiprocessors: as many as are too
  /// many to be spread over several blocks each, and too few to share blocks.
  float few_ms = 0;
  bool used_single = false;
};

/// Value i of the LWE secret: 0 or 1; with two keys also -1.
inline std::int32_t rotation_secret(std::uint32_t i, unsigned keys) {
  const std::uint64_t x = random_word(std::uint64_t{i} << 40);
  return keys == 1 ? static_cast<std::int32_t>(x & 1) : static_cast<std::int32_t>(x % 3) - 1;
}

inline backend::RotationShape rotation_shape(std::uint32_t N, unsigned bits, unsigned keys,
                                             unsigned log_base, unsigned digits) {
  const std::uint64_t Q = math::ntt_primes(bits, N, 1)[0];
  return lattice::lwe::RotationMethod().shape(
      N, Q, keys == 1 ? lattice::SecretKind::binary : lattice::SecretKind::ternary,
      std::vector<ring::Gadget>(rotation_steps, ring::Gadget(Q, log_base, digits)),
      backend::Arithmetic::fft);
}

/// Rows of the key, as prepare_fft_key and prepare_ntt_key take them.
template <class Word>
backend::RowSource<Word> rotation_rows(const backend::RotationShape& shape) {
  return [shape](std::size_t row, std::span<Word> a, std::span<Word> b) {
    const unsigned digits = shape.gadgets[0].digits();
    const std::size_t polynomials = 2 * digits;  // of a key and step
    const auto i = static_cast<std::uint32_t>(row / (polynomials * shape.keys));
    const std::int32_t sign = row / polynomials % shape.keys == 0 ? 1 : -1;
    for (std::size_t j = 0; j < shape.N; ++j)
      a[j] = b[j] = static_cast<Word>(random_word(row * shape.N + j) % shape.Q);
    if (rotation_secret(i, shape.keys) == sign) {
      Word& constant = row % polynomials < digits ? a[0] : b[0];
      const std::uint64_t factor = shape.gadgets[0].factor(static_cast<unsigned>(row % digits));
      constant = static_cast<Word>((constant + factor) % shape.Q);
    }
  };
}

/// Coefficients of b - a that are off by more than `tolerance`. A block, a ciphertext.
template <class Word>
__global__ void count_wrong_coefficients(backend::cuda::RotationBatch<Word> batch,
                                         const std::int32_t* secret, std::uint32_t N, Word Q,
                                         Word tolerance, unsigned long long* count) {
  const std::uint32_t* lwe = batch.lwe + std::uint64_t{blockIdx.x} * (batch.n + 1);
  std::uint32_t rotation = 0u - lwe[batch.n];
  for (std::uint32_t i = 0; i < batch.n; ++i)
    rotation += lwe[i] * static_cast<std::uint32_t>(secret[i]);
  const Word* lut = batch.luts + std::uint64_t{batch.index[blockIdx.x]} * N;
  const Word *a = batch.out + std::uint64_t{blockIdx.x} * 2 * N, *b = a + N;
  unsigned long long mine = 0;
  for (std::uint32_t j = threadIdx.x; j < N; j += blockDim.x) {
    const std::uint32_t from = (j - rotation) & (2 * N - 1);
    Word right = lut[from & (N - 1)];
    if ((from & N) != 0 && right != 0) right = Q - right;
    right += a[j];
    if (right >= Q) right -= Q;
    const Word difference = b[j] >= right ? b[j] - right : b[j] + (Q - right);
    mine += a[j] >= Q || b[j] >= Q || min(difference, Q - difference) > tolerance;
  }
  if (mine != 0) atomicAdd(count, mine);
}

template <class Word>
class RotationProblem {
 public:
  using Batch = backend::cuda::RotationBatch<Word>;

  /// A batch that fills the GPU several times, whichever the candidate.
  RotationProblem(Tuner& tuner, const backend::RotationShape& shape)
      : tuner_(tuner), shape_(shape), count_(tuner.gpu().multiprocessors * 65536 / shape.N) {
    std::vector<std::int32_t> secret(shape.n);
    for (std::uint32_t i = 0; i < shape.n; ++i) secret[i] = rotation_secret(i, shape.keys);
    std::vector<std::uint32_t> lwe(std::size_t{count_} * (shape.n + 1)), index(count_);
    for (std::size_t i = 0; i < lwe.size(); ++i)
      lwe[i] = static_cast<std::uint32_t>(random_word(~i) % (2 * shape.N));
    for (std::size_t i = 0; i < index.size(); ++i)
      index[i] = static_cast<std::uint32_t>(i % rotation_tables);
    std::vector<Word> luts(std::size_t{rotation_tables} * shape.N);
    for (std::size_t i = 0; i < luts.size(); ++i)
      luts[i] = static_cast<Word>(random_word(i << 20) % shape.Q);
    const auto& stream = tuner.stream();
    secret_ = stream.upload(secret.data(), secret.size());
    lwe_ = stream.upload(lwe.data(), lwe.size());
    index_ = stream.upload(index.data(), index.size());
    luts_ = stream.upload(luts.data(), luts.size());
    out_ = stream.template allocate<Word>(std::size_t{count_} * 2 * shape.N);
  }

  std::uint32_t count() const { return count_; }
  std::uint32_t few() const { return tuner_.gpu().multiprocessors * 3 / 4; }

  Batch batch(std::uint32_t count) const {
    Batch out = {};
    out.lwe = lwe_.data();
    out.luts = luts_.data();
    out.index = index_.data();
    out.out = out_.data();
    out.count = count;
    out.n = shape_.n;
    return out;
  }

  /// Whether `launch` rotates the batch as it must; `exact`: and as the first that was asked about.
  bool right(const std::function<void(const Batch&)>& launch, bool exact) {
    const auto& stream = tuner_.stream();
    const std::size_t bytes = out_.size() * sizeof(Word);
    stream.fill(out_.data(), 0xff, bytes);
    launch(batch(count_));
    // The gadget's rounding is below 2^dropped a step, Q/2^11 in all; the FFT's error is below
    // that. A wrong coefficient is within Q/2^10 once in 512.
    bool right = tuner_.count([&](unsigned long long* wrong) {
      count_wrong_coefficients<Word><<<count_, 256, 0, stream.handle()>>>(
          batch(count_), secret_.data(), shape_.N, static_cast<Word>(shape_.Q),
          static_cast<Word>(shape_.Q >> 10), wrong);
      backend::cuda::check_launch("count_wrong_coefficients", count_, 256, 0);
    }) == 0;
    if (exact && reference_.size() == 0) {
      reference_ = stream.template allocate<Word>(out_.size());
      backend::cuda::check(cudaMemcpyAsync(reference_.data(), out_.data(), bytes,
                                           cudaMemcpyDeviceToDevice, stream.handle()),
                           "cudaMemcpyAsync of " + std::to_string(bytes) + " bytes");
    } else if (exact) {
      right = tuner_.equal(reinterpret_cast<const std::uint64_t*>(out_.data()),
                           reinterpret_cast<const std::uint64_t*>(reference_.data()), bytes / 8) &&
              right;
    }
    return right;
  }
  float ms(const std::function<void(const Batch&)>& launch, std::uint32_t count) const {
    return tuner_.median_ms([&] { launch(batch(count)); }, 5);
  }
  /// Nanoseconds a ciphertext and step.
  double step_ns(float ms) const { return 1e6 * ms / count_ / shape_.n; }

 private:
  Tuner& tuner_;
  backend::RotationShape shape_;
  std::uint32_t count_;
  backend::cuda::DeviceArray<std::int32_t> secret_;
  backend::cuda::DeviceArray<std::uint32_t> lwe_, index_;
  backend::cuda::DeviceArray<Word> luts_, out_, reference_;
};

Tuning tune_rotation_fft_narrow, tune_rotation_fft_wide, tune_rotation_fft_one_digit;
Tuning tune_rotation_ntt_32, tune_rotation_ntt_64;

}  // namespace whorl::tune
