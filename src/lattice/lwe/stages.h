// The steps of operations on LWE ciphertexts, on one queue of a device. Everything is enqueued;
// only download waits. This file does not know what is encrypted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lattice/lwe/array.h"
#include "lattice/lwe/device_keys.h"
#include "lattice/lwe/tables.h"

namespace whorl::lattice::lwe {

class Stages {
 public:
  /// `queue` outlives it. Keys may be missing where no stage needs them.
  explicit Stages(const backend::Queue& queue, DeviceKeys keys = {})
      : queue_(queue), keys_(std::move(keys)) {}

  const backend::Queue& queue() const { return queue_; }
  const DeviceKeys& keys() const { return keys_; }
  /// The same with another blind-rotation key: 0 is the first, k is further_rotations[k - 1].
  Stages with_rotation_key(std::size_t k) const;

  /// `words` has those of `count` rows of the form.
  Rows upload(const Form& form, std::size_t count, const void* words) const;
  /// Fresh ciphertexts, of which the bodies travel, and a seed for the rest: see LweOps::expand.
  /// `bodies` has those of `count` rows, in words of the form.
  Rows expand(const Form& form, const math::Seed& seed, std::uint64_t first,
              std::span<const std::uint32_t> numbers, std::size_t count, const void* bodies) const;
  /// Waits for the work that makes the rows; `words` has room for all.
  void download(const Rows& rows, void* words) const;
  Rows copy(const Rows& in) const;
  /// Rows of `in` one after another.
  Rows join(std::span<const Rows* const> in, std::span<const run::Range> ranges) const;
  /// Row i is in[index[i]].
  Rows take(const Rows& in, std::span<const std::uint32_t> index) const;

  /// sum_k weights[k]·in[k] + (0, constant), of one form and count.
  Rows linear(std::span<const std::int64_t> weights, std::span<const Rows* const> in,
              std::uint64_t constant) const;
  /// rows <- rows + (0, constant).
  void add_constant(Rows& rows, std::uint64_t constant) const;
  /// out_r = sum_k entries[r·K + k]·in_k + (0, constants[r]).
  std::vector<Rows> matrix(std::span<const std::int64_t> entries,
                           std::span<const std::uint64_t> constants,
                           std::span<const Rows* const> in) const;

  /// The same of each K rows of `in` that follow one another: rows `range` of (groups, results),
  /// where `in` has the groups that the range is of, from the first on.
  Rows products(std::span<const std::int64_t> entries, std::span<const std::uint64_t> constants,
                const Rows& in, run::Range range) const;

  /// Sums first … first + count - 1 of those that are prepared: see LweOps::sums.
  Rows sums(const backend::LweSums& sums, std::size_t first, std::size_t count,
            std::span<const Rows* const> in) const;

  /// Brings rows to another modulus, and to its words; see LweOps::modulus_switch.
  Rows modulus_switch(const Rows& in, std::uint64_t to, unsigned centre) const;
  /// The same for rows that are not needed any more. It works in place if both words are equally
  /// wide.
  Rows modulus_switch(Rows&& in, std::uint64_t to, unsigned centre) const;
  /// What blind rotation reads: residues modulo `to` (2N, or N) with `offset` added to the phase;
  /// odd a_i where the key's method asks for them.
  Rows to_exponents(Rows rows, std::uint64_t to, std::uint64_t offset, unsigned centre) const;
  /// Brings rows from the ring key to the LWE key, both modulo Q_ks.
  Rows key_switch(const Rows& in) const;

  /// Rotates into the tables by rows modulo 2N, ciphertexts `range` of the batch that the tables
  /// are for, and extracts the coefficients `offsets`, with `constant` added: rows (range, offsets)
  /// modulo Q under the ring key.
  Rows rotate(const Rows& exponents, const Tables& tables, run::Range range,
              std::span<const std::uint32_t> offsets, std::uint64_t constant) const;
  Rows rotate(const Rows& exponents, const Tables& tables, run::Range range,
              std::uint64_t constant) const {
    const std::uint32_t zero = 0;
    return rotate(exponents, tables, range, std::span(&zero, 1), constant);
  }
  /// The same without extraction: rows (a, b) of 2N words, whose phase is b - a·s in the ring.
  Rows accumulate(const Rows& exponents, const Tables& tables, run::Range range) const;
  /// The same as rotate of coefficient 0 by tables on the device, of which the rows begin with
  /// number `first`; results become rows `at` … of `out`.
  void rotate(const Rows& exponents, const DeviceTables& tables, std::size_t first,
              std::uint64_t constant, Rows& out, std::size_t at) const;

 private:
  /// body(rotations): what the entries of blind rotation take.
  template <class Word, class Body>
  void rotated(const Rows& exponents, const Tables& tables, run::Range range,
               const Body& body) const;
  const backend::RotationKey& rotation_key() const;
  /// ShapeError unless these are what blind rotation reads, `count` of them.
  void check_exponents(const Rows& exponents, std::size_t count) const;
  /// Rows (1, …, 1, 0), as many as `like` has, of its form.
  Rows ones(const Rows& like) const;

  const backend::Queue& queue_;
  DeviceKeys keys_;
};

/// The form of ciphertexts that are extracted from accumulators modulo Q.
Form extracted_form(const backend::RotationShape& shape);

}  // namespace whorl::lattice::lwe
