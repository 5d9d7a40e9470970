// Exact bits in the slots of CKKS ciphertexts. A lane is a slot of a real vector that holds 0 or 1,
// less a small error, so that gates on all lanes are sums and products (Drucker, Moshkowich,
// Pelleg, Shaul, BLEACH, J. Cryptology 2024). docs/lanes.md says why results are exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/ckks/compact_bits.h"
#include "whorl/ckks/server.h"

namespace whorl::ckks {

/// A batch of ciphertexts whose slots hold bits. Copies, and what bit_not() gives, share one state:
/// what a Lanes does to keep the bits readable, it does for all of them.
class LaneArray {
 public:
  /// Level, length, and what else is public. The error is a 48th of error().
  CiphertextInfo info() const { return held().info(); }
  /// No lane of any ciphertext is farther from its bit, but with the probability that
  /// Lanes::log2_failure() states.
  double error() const;
  std::size_t bytes() const;

 private:
  friend class Lanes;
  struct State;

  /// The ciphertexts of the state; ShapeError of an array that is empty.
  Array held() const;

  std::shared_ptr<State> state_;
  bool inverted_ = false;  ///< its bits are not those of the state
};

struct LanesOptions {
  /// log2 of the largest probability that any lane of any operation comes out wrong.
  double most_log2_failure = -64;
};

/// What Lanes has done.
struct LaneCounts {
  std::uint64_t bootstraps = 0;  ///< ciphertexts that were refreshed; two together count twice
  std::uint64_t cleanings = 0;   ///< ciphertexts
  std::uint64_t products = 0;    ///< ciphertexts, those of cleanings too
};

/// Logic on lanes, by the operations of a server that has the keys of relinearisation and of a
/// bootstrap. Each operation follows a bound of the errors, in which deviations are added as if all
/// errors had one direction. Before an operation whose result would be too far from bits, operands
/// are cleaned by 3x² - 2x³ (Cheon, Kim, Kim, Lee, Lee, ASIACRYPT 2019); before one that has no
/// level left they are refreshed, two ciphertexts in one complex bootstrap. Both change the state
/// of the operands, so that they are done once.
///
/// Operands have equal counts, or one is a single ciphertext, and equal lengths (ShapeError).
/// Results that may be farther than 1/8 from bits, which a client refuses, are NoiseErrors.
/// Several threads may call it at once.
class Lanes {
 public:
  /// `maps`: for vectors of as many lanes as the arrays will have, best with Multiples::all.
  /// ParameterError for parameters
  /// with coefficients_last, and for bootstraps too coarse for bits: with the message are the
  /// errors.
  Lanes(const Server& server, const EncodedBootstrap& maps, const LanesOptions& options = {});

  /// Takes encrypted bits in. The client has encrypted 0 and 1 with Bounds(0, 1) under a key that
  /// serves lanes (Client::serves_lanes), or store() gave them. Errors that are stated to be below
  /// those of a fresh encryption count as these. EncodingError for another packing, for values that
  /// are no bits with their error by the bounds, and for a scale or a level that lanes do not have,
  /// as results of finish(); ShapeError for another length than that of the maps, and for vectors
  /// over several ciphertexts.
  LaneArray take_in(const Array& bits) const;
  /// The same of compact bits, by one bootstrap of all: Client::encrypt_bits has made them, under a
  /// key that serves lanes. KeyMismatchError or ParameterMismatchError for those of another client;
  /// ShapeError for another number of lanes than that of the maps, and for words that do not belong
  /// to such vectors.
  LaneArray take_in(const CompactBits& bits) const;

  LaneArray bit_not(const LaneArray& a) const;
  LaneArray bit_and(const LaneArray& a, const LaneArray& b) const;
  LaneArray bit_or(const LaneArray& a, const LaneArray& b) const;
  LaneArray bit_xor(const LaneArray& a, const LaneArray& b) const;
  /// `a` where `choice` is 1, `b` where it is 0: one product.
  LaneArray select(const LaneArray& choice, const LaneArray& a, const LaneArray& b) const;
  /// The sum and the carry of three bits: two products.
  std::array<LaneArray, 2> full_add(const LaneArray& a, const LaneArray& b,
                                    const LaneArray& c) const;
  /// Functions of 1 to 16 bits in each lane, of equal counts: tables[j][i] is bit j of the result
  /// where the inputs are the bits of i, the lowest one first. A minterm is 1 for one number, and a
  /// table is a sum of minterms of the high inputs times sums of those of the low ones (baby steps
  /// and giant steps). Minterms are made once for all tables, those of 16 inputs by 556 products,
  /// and each table is relinearised once. It takes ⌈log2 k⌉ levels for k inputs. ParameterError for
  /// other numbers of inputs or entries, and for entries other than 0 and 1.
  std::vector<LaneArray> lookup(std::span<const LaneArray> inputs,
                                std::span<const std::vector<std::uint8_t>> tables) const;
  /// The bits of how many of the arrays have a 1 in each lane, the lowest one first, refreshed: the
  /// arrays are added up, without products, and go through one bootstrap, by parameters for bits.
  /// With BootstrapLiteral::bits = k up to 2^k - 1 arrays of equal counts; ParameterError for
  /// others.
  std::vector<LaneArray> count_ones(std::span<const LaneArray> arrays) const;
  /// Moves lanes to the left, round within the vector. MissingKeyError names a rotation that has no
  /// key.
  LaneArray rotate(const LaneArray& a, std::int64_t lanes) const;

  /// As many ciphertexts as `like`, with this bit in all lanes.
  LaneArray constant(const LaneArray& like, bool bit) const;
  /// Bits that everybody knows, as an array that meets encrypted ones of the length and level of
  /// `like`: rows of as many bits as its vectors have lanes. It hides nothing. ShapeError for bits
  /// that are no rows, ParameterError for numbers other than 0 and 1.
  LaneArray known(const LaneArray& like, std::span<const std::uint8_t> bits) const;
  LaneArray take(const LaneArray& a, std::span<const std::uint32_t> indices) const;
  LaneArray concatenate(std::span<const LaneArray> arrays) const;

  /// Brings errors down, where that is possible, and levels up: the latter of all arrays at once.
  void clean(std::span<const LaneArray> arrays) const;
  void refresh(std::span<const LaneArray> arrays) const;

  /// The bits for the client, at level 0 whatever was computed: Client::decrypt_bits takes no
  /// other.
  Array finish(const LaneArray& a) const;

  /// The bits with all that is known of them, for a server that goes on with them later: take_in()
  /// takes them. At a lower level, from Parameters::least_bootstrap_level on, they are smaller.
  /// ParameterError for other levels than these up to their own. Clients do not decrypt them.
  Array store(const LaneArray& a, std::optional<unsigned> level = {}) const;

  /// log2 of a bound of the probability that a lane of any result so far is wrong.
  double log2_failure() const;
  LaneCounts counts() const;
  /// The largest error that operations leave.
  double limit() const { return limit_; }
  const Server& server() const { return server_; }

 private:
  friend struct LanesAccess;
  using State = LaneArray::State;
  struct Counters;

  /// The ciphertexts that hold the array's own bits.
  Array values_of(const LaneArray& a) const;
  LaneArray lanes_of(Array values) const;
  /// `exact` is the result of operands without errors; theirs make at most one of `error`.
  LaneArray result(const Array& exact, double error) const;
  /// Cleans and refreshes operands until they have `levels` levels, and together no error above
  /// limit(). Returns their ciphertexts, which other threads do not change any more.
  std::vector<Array> prepare(std::span<const LaneArray> operands, unsigned levels) const;
  Array cleaned(const Array& x) const;
  Array refreshed(const Array& x) const;
  /// The same with up to `most` vectors in one.
  Array refreshed_bits(const Array& x, unsigned most) const;
  /// The bits of whole numbers below 2^bits, by one bootstrap.
  std::vector<Array> bits_of(const Array& numbers, unsigned bits) const;
  /// Whether operands whose result may have that error, so many levels above those of a refresh,
  /// must be cleaned now.
  bool is_due(double error, unsigned left) const;
  /// The largest error that a bootstrap leaves, and fit_.
  double floor_of_sine();
  /// What is left of an error of each of so many bits in a coefficient.
  double error_of_bits(unsigned bits, double error) const;
  /// NoiseError if this much more would fail too often.
  void count(std::uint64_t bootstraps, std::uint64_t cleanings, std::uint64_t products,
             std::uint64_t lanes) const;

  Server server_;
  EncodedBootstrap maps_;
  LanesOptions options_;
  double fit_ = 0;  ///< what a bootstrap's error lacks as it states it, for the worst lane
  double limit_;
  double entry_;  ///< the largest error that a refresh makes no larger
  std::shared_ptr<Counters> counters_;
};

}  // namespace whorl::ckks
