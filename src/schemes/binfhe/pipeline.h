// The stages of a bootstrap on one queue of a device. Everything is enqueued; only download waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/ops.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::binfhe {

/// A server's keys as one device holds them.
struct DeviceKeys {
  DeviceKeys(const backend::Device& device, const EvaluationKeys& keys, Transform transform);
  std::size_t bytes() const { return rotation->bytes() + key_switch->bytes(); }

  std::unique_ptr<backend::RotationKey> rotation;
  std::unique_ptr<backend::SwitchKey> key_switch;
};

/// Ciphertexts begin … begin + count - 1 of a batch.
struct Range {
  std::size_t begin = 0, count = 0;
};

class Pipeline {
 public:
  using Weights = std::span<const std::int64_t>;
  using Inputs = std::span<const Ciphertexts* const>;
  /// LWE ciphertexts (count, n+1) on the device.
  using Batch = backend::Buffer<std::uint32_t>;

  /// All three must outlive the pipeline.
  Pipeline(const backend::Device& device, const Parameters& parameters, const DeviceKeys& keys)
      : device_(device), parameters_(parameters), keys_(keys) {}

  /// sum_k weights[k]·inputs[k] + (0, constant) modulo q, uploaded.
  Batch combine(Weights weights, Inputs inputs, std::uint64_t constant, Range range) const;

  /// Rounds ciphertexts modulo q to `modulus` (2N or N) and adds `offset` to their phases.
  void round_for_rotation(Batch& lwe, std::uint64_t modulus, std::uint64_t offset) const;

  /// Blind rotation of ciphertexts modulo 2N by test vectors, extraction of coefficient 0 plus
  /// `constant`: LWE (count, N+1) modulo Q.
  template <class Word>
  backend::Buffer<Word> rotate(const Batch& lwe, std::span<const Word> test_vectors,
                               std::span<const std::uint32_t> index, std::uint64_t constant) const;

  /// Rounds to 2N and decides. Bits: 1 where the phase plus `offset` lies in [0, N) (0 there if
  /// `negated`). The test vector is the constant polynomial of value half, half an output sector:
  /// its extract is ±half, plus half.
  template <class Word>
  backend::Buffer<Word> decide(Batch lwe, std::uint64_t offset, bool negated,
                               Encoding output) const;

  /// sum <- sum + other modulo Q.
  template <class Word>
  void add(backend::Buffer<Word>& sum, const backend::Buffer<Word>& other) const;

  /// LWE modulo Q under the ring key -> LWE modulo `modulus` under the LWE key.
  template <class Word>
  Batch switch_key_and_modulus(const backend::Buffer<Word>& extracted, std::uint64_t modulus) const;

  /// Ciphertexts modulo N, read modulo 2N, have phase x or x + N for x in [0, N). A rotation by the
  /// constant -Q/4 gives -Q/4 or Q/4 for these; with Q/4 added, that is 0 or N at modulus 2N, and
  /// is subtracted (Liu, Micciancio, Polyakov 2022, §5.1, Algorithm 3).
  template <class Word>
  void remove_top_bit(Batch& lwe) const;

  /// Waits for what `batch` is made of.
  void download(const Batch& batch, std::span<std::uint32_t> to) const;

 private:
  std::size_t row() const { return std::size_t{parameters_.n()} + 1; }
  std::uint64_t two_n() const { return 2ULL * parameters_.N(); }
  /// Rounding is centred where the secret has a mean and something is rounded at all.
  bool centred(std::uint64_t from, std::uint64_t to) const;

  const backend::Device& device_;
  const Parameters& parameters_;
  const DeviceKeys& keys_;
};

/// What an operation does with a ciphertext, as far as its memory is concerned.
struct Footprint {
  std::size_t inputs = 1;
  bool rotates = true;
  bool keeps_extract = false;  ///< of one rotation during the next
  bool own_table = false;      ///< a test vector for every ciphertext, at worst
};
/// Bytes of device memory that one ciphertext takes where the stages need the most.
std::size_t memory_of(const Parameters& parameters, const Footprint& footprint);

}  // namespace whorl::binfhe
