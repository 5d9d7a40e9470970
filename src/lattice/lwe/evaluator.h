// Operations on LWE ciphertexts over the devices of a fleet. Arrays stay on the devices; batches of
// the host pass through them. Both go through the same stages, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lattice/lwe/array.h"
#include "lattice/lwe/device_keys.h"
#include "lattice/lwe/stages.h"

namespace whorl::lattice::lwe {

/// The work on a piece of a batch. It enqueues operations without waiting, and returns the rows of
/// each result. Operands have as many rows as the range.
using Work = std::function<std::vector<Rows>(
    const Stages& stages, std::span<const Rows* const> operands, run::Range range)>;

/// Work on whole arrays, on one lane. It enqueues operations without waiting, and returns the rows
/// of each result.
using WholeWork = std::function<std::vector<Rows>(const run::Lane& lane, const Stages& stages,
                                                  std::span<const Rows* const> operands)>;

/// Rows of a batch in the host's memory.
struct HostRows {
  Form form;
  const void* words = nullptr;
};

/// All methods may be called from several threads at once.
class Evaluator {
 public:
  /// `keys` may be null. `row_bytes` is the device memory that a ciphertext takes in the operation
  /// that needs the most; it decides the size of an array's pieces. DeviceError for devices without
  /// LWE operations, or without ring operations in the words of LWE or of the keys.
  Evaluator(std::shared_ptr<const run::Fleet> fleet, std::shared_ptr<const Keys> keys,
            std::size_t row_bytes);

  const run::Fleet& fleet() const { return *fleet_; }
  const Keys* keys() const { return keys_.get(); }

  /// DeviceError unless all of them lie on these devices, opened once for their servers and this.
  void check(std::span<const Array* const> in) const;

  // ---- arrays. Operands have equal counts; a single ciphertext is combined with all of the
  // others.

  /// Does any work. The results are arrays of the forms `out`, one for each result of the work.
  /// `with_keys` says that the work uses the keys, and takes so long that each device gets a
  /// thread. If a device fails, the work is repeated on the other devices, unless a piece of an
  /// operand lay on the failed device alone: then DeviceError names it. The host still has pieces
  /// that were uploaded or that left the device once; other devices have single ciphertexts that
  /// were combined with batches there.
  std::vector<Array> map(std::span<const Array* const> in, std::span<const Form> out,
                         bool with_keys, const Work& work) const;

  /// Does work with the keys on arrays of any counts, of which none is cut: one device does all of
  /// it. The results have the forms `out`, and as many ciphertexts as the work gives.
  std::vector<Array> whole(std::span<const Array* const> in, std::span<const Form> out,
                           const WholeWork& work) const;

  /// `owner` keeps the words in memory. While it exists, pieces on a device that fails are uploaded
  /// again, if there are several devices.
  Array upload(const Form& form, std::size_t count, const void* words,
               const std::shared_ptr<const void>& owner = {}) const;
  /// The same of ciphertexts whose masks a seed gives: only the seed and the bodies travel. Row i
  /// has the number numbers[i], or i if there are none.
  Array expand(const Form& form, std::size_t count, const void* words, const math::Seed& seed,
               std::span<const std::uint32_t> numbers,
               const std::shared_ptr<const void>& owner = {}) const;
  /// Waits; `words` has room for all.
  void download(const Array& array, void* words) const;
  /// Ciphertext i is in[index[i]].
  Array take(const Array& in, std::span<const std::uint32_t> index) const;
  /// One after another, of one form.
  Array join(std::span<const Array> in) const;
  /// R results of each K ciphertexts that follow one another: entries (R, K), R constants, as
  /// Stages::products. ShapeError unless K divides the count.
  Array products(std::span<const std::int64_t> entries, std::span<const std::uint64_t> constants,
                 const Array& in) const;

  // ---- rows where other work needs them, in memory of each piece's lane

  /// make(stages, number of the piece), under the lane's hold, again where memory was short.
  std::vector<Rows> placed(
      std::span<const run::Piece> pieces,
      const std::function<Rows(const Stages& stages, std::size_t piece)>& make) const;
  /// The rows of an array that the pieces say. They are copied only where a piece's rows lie in
  /// several pieces of the array, or on another device.
  std::vector<Rows> placed(const Array& in, std::span<const run::Piece> pieces) const;

  // ---- batches of the host

  /// Does work on `count` rows of the host, in pieces that take `memory` bytes of device memory for
  /// each row. `room` returns the place for the results; it is called when the first result is
  /// ready, by several threads at once.
  void stream(std::size_t count, std::size_t memory, std::span<const HostRows> in, bool with_keys,
              const Work& work, const std::function<void*()>& room) const;

 private:
  /// Rows of an array that a piece reads.
  struct Want {
    const Array* array;
    run::Range range;
  };
  using Wants = std::function<std::vector<Want>(run::Range piece)>;
  using Words = std::vector<std::uint64_t>;  ///< any bytes
  /// The operands of one piece, and the words of those that come from other devices. The words are
  /// empty for an operand that is on the device already, such as the replica of a single
  /// ciphertext.
  struct Operands {
    std::vector<Want> wants;
    std::vector<Words> moved;
  };

  /// An array of what `make` gives of each piece's rows, which `words` has, too.
  Array placed(const Form& form, std::size_t count, const void* words,
               const std::shared_ptr<const void>& owner,
               const std::function<Rows(const Stages& stages, run::Range range)>& make) const;
  /// Arrays of `count`, of work on what `wants` says; `in` are all that it may name.
  std::vector<Array> run(std::size_t count, std::span<const Array* const> in,
                         std::span<const Form> out, bool with_keys, const Wants& wants,
                         const Work& work) const;
  /// Without a count the results of the only piece are whole arrays.
  std::vector<Array> attempt(std::span<const run::Piece> pieces, std::optional<std::size_t> count,
                             std::span<const Form> out, bool with_keys, const Wants& wants,
                             const Work& work) const;
  void check_not_lost(std::span<const Array* const> in) const;
  Operands gather(const run::Piece& piece, std::vector<Want> wants) const;
  std::vector<Rows> place(const run::Lane& lane, const Stages& stages,
                          const Operands& operands) const;
  DeviceKeys keys_on(std::size_t lane, bool with_keys) const;

  std::shared_ptr<const run::Fleet> fleet_;
  std::shared_ptr<const Keys> keys_;
  std::size_t most_;  ///< ciphertexts of a piece
};

}  // namespace whorl::lattice::lwe
