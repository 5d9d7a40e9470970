// Exact bits and integers in the slots of CKKS ciphertexts. A lane is a slot of a real vector that
// holds 0 or 1, or an integer modulo p, less a small error, so that gates on all lanes are sums and
// products (Drucker, Moshkowich, Pelleg, Shaul, BLEACH, J. Cryptology 2024). docs/lanes.md says why
// results are exact, and docs/lanes-integers.md has integers.
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

/// What lanes hold: 0 … p - 1. Of integers, p > 2, a lane may hold any number between `low` and
/// `high` that is equal to it modulo p.
struct LaneMessages {
  unsigned p = 2;
  std::int64_t low = 0, high = 1;
};

/// A batch of ciphertexts whose slots hold bits, or integers modulo p. Copies, and what bit_not()
/// gives, share one state: what a Lanes does to keep the lanes readable, it does for all of them.
class LaneArray {
 public:
  /// Level, length, and what else is public. The error is a 48th of error().
  CiphertextInfo info() const { return held().info(); }
  LaneMessages messages() const;
  /// No lane of any ciphertext is farther from its message, but with the probability that
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

/// A function of integers modulo p: its values for 0 … p - 1, in this order.
using LaneTable = std::vector<std::uint32_t>;
/// The vector of an array, and the table that it is looked up in: indices of both.
struct LaneLookup {
  std::uint32_t vector = 0, table = 0;
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

  /// Takes encrypted bits in, or integers modulo p. The client has encrypted 0 … p - 1 with
  /// Bounds(0, p - 1) under a key that serves lanes (Client::serves_lanes), or store() gave them;
  /// the bounds say what p is. Errors that are stated to be below those of a fresh encryption count
  /// as these. EncodingError for another packing, for values that are no bits or integers with
  /// their error by the bounds, and for a scale or a level that lanes do not have, as results of
  /// finish(); ShapeError for another length than that of the maps, and for vectors over several
  /// ciphertexts.
  LaneArray take_in(const Array& messages) const;
  /// The same of compact bits, by one bootstrap of all: Client::encrypt_bits has made them, under a
  /// key that serves lanes. KeyMismatchError or ParameterMismatchError for those of another client;
  /// ShapeError for another number of lanes than that of the maps, and for words that do not belong
  /// to such vectors.
  LaneArray take_in(const CompactBits& bits) const;

  LaneArray bit_not(const LaneArray& a) const;
  LaneArray bit_and(const LaneArray& a, const LaneArray& b) const;
  LaneArray bit_or(const LaneArray& a, const LaneArray& b) const;
  LaneArray bit_xor(const LaneArray& a, const LaneArray& b) const;
  /// `a` where `choice`, a bit, is 1, `b` where it is 0: one product.
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
  /// arrays are added up, without products, and a bootstrap gives up to k bits of the sum, for
  /// BootstrapLiteral::bits = k; those of the rest come after. ParameterError for parameters that
  /// are not for bits, ShapeError for arrays of several counts.
  std::vector<LaneArray> count_ones(std::span<const LaneArray> arrays) const;
  /// The bits of the sum of numbers, the lowest ones first, refreshed: as many as the longest
  /// number has, and ⌈log2 n⌉ more for n numbers. Digits are added up as they are, as those of
  /// multiply_numbers(). ParameterError for no number and for one without a bit, ShapeError for
  /// several counts; NoiseError as there.
  std::vector<LaneArray> sum_numbers(std::span<const std::vector<LaneArray>> numbers) const;
  /// The n + m bits of the product of numbers of n and m bits, the lowest ones first, refreshed.
  /// Digits of w bits are multiplied, which takes one level, and products of one weight added up. A
  /// bootstrap gives w bits of such a sum, and the rest goes on to the next: about (n + m)/w
  /// bootstraps, one after another. w is the largest up to BootstrapLiteral::bits that errors bear.
  /// Errors as sum_numbers(); NoiseError if no w serves.
  std::vector<LaneArray> multiply_numbers(std::span<const LaneArray> a,
                                          std::span<const LaneArray> b) const;
  /// Moves lanes to the left, round within the vector. MissingKeyError names a rotation that has no
  /// key.
  LaneArray rotate(const LaneArray& a, std::int64_t lanes) const;

  // ---- integers modulo p, a power of two up to 2^BootstrapLiteral::bits (docs/lanes-integers.md).
  // Operands have equal p (ParameterError). Where errors of a result would be too large for a
  // table, operands are refreshed before.

  /// Σ_j 2^j·bit_j as integers modulo p: free. ParameterError for another p, and for more bits than
  /// its numbers have.
  LaneArray integers(std::span<const LaneArray> bits, unsigned p) const;
  /// The log2 p bits of integers, the lowest one first, by one bootstrap.
  std::vector<LaneArray> bits(const LaneArray& a) const;
  /// Sums, differences and known multiples take no level. A multiple whose error would be too large
  /// is a table.
  LaneArray add(const LaneArray& a, const LaneArray& b) const;
  LaneArray subtract(const LaneArray& a, const LaneArray& b) const;
  /// by·a + value.
  LaneArray multiply_add(const LaneArray& a, std::int64_t by, std::int64_t value) const;
  /// The same integers modulo a divisor of their p: free. ParameterError for others.
  LaneArray modulo(const LaneArray& a, unsigned p) const;
  /// a·b: one product of ciphertexts, or of what their cleaned bits are where errors would be too
  /// large, by one bootstrap of both. NoiseError if there are not the levels for that.
  LaneArray multiply(const LaneArray& a, const LaneArray& b) const;
  /// a + p·b as integers modulo p·p', where p is the modulus of `a` and p' that of `b`: so a table
  /// of two inputs is one of their join. ParameterError for p·p' above 2^BootstrapLiteral::bits.
  LaneArray join(const LaneArray& a, const LaneArray& b) const;
  /// Tables of integers by one bootstrap: vector i of the result is what table where[i].table has
  /// for vector where[i].vector, modulo `p`; 2: bits. Tables of one vector share all but their
  /// polynomials, and two vectors are the real and imaginary parts of one bootstrap. ParameterError
  /// for tables of other lengths than the p of `a`, entries of p and more, another p, and indices
  /// out of range.
  LaneArray apply(const LaneArray& a, std::span<const LaneTable> tables,
                  std::span<const LaneLookup> where, unsigned p) const;
  /// The same with a table of its own in each lane: `which` has indices of tables, a row of as many
  /// as a vector has lanes for all vectors, or one for each (ShapeError).
  LaneArray apply(const LaneArray& a, std::span<const LaneTable> tables,
                  std::span<const std::uint32_t> which, unsigned p) const;
  /// Whether a < b, and whether a = b, as bits: a table of their difference. For `less` it must be
  /// an integer modulo 2p. Where that is none, it takes three tables and two gates.
  LaneArray less(const LaneArray& a, const LaneArray& b) const;
  LaneArray equal(const LaneArray& a, const LaneArray& b) const;
  /// By one table, or by less() and a product.
  LaneArray minimum(const LaneArray& a, const LaneArray& b) const;
  LaneArray maximum(const LaneArray& a, const LaneArray& b) const;

  // ---- bits and integers

  /// As many ciphertexts as `like`, and the same p, with this message in all lanes.
  LaneArray constant(const LaneArray& like, unsigned message) const;
  /// Messages that everybody knows, as an array that meets encrypted ones of the length, level and
  /// p of `like`: rows of as many as its vectors have lanes. It hides nothing. ShapeError for
  /// messages that are no rows, ParameterError for numbers of p and more.
  LaneArray known(const LaneArray& like, std::span<const std::uint8_t> messages) const;
  LaneArray take(const LaneArray& a, std::span<const std::uint32_t> indices) const;
  LaneArray concatenate(std::span<const LaneArray> arrays) const;

  /// Brings errors of bits down, where that is possible, and levels up: the latter of all arrays at
  /// once, and so errors of integers too.
  void clean(std::span<const LaneArray> arrays) const;
  void refresh(std::span<const LaneArray> arrays) const;

  /// The messages for the client, whatever was computed: bits at level 0 and integers at level 1.
  /// Client::decrypt_bits and decrypt_integers take no other.
  Array finish(const LaneArray& a) const;

  /// The messages with all that is known of them, for a server that goes on with them later:
  /// take_in() takes them. At a lower level, from Parameters::least_bootstrap_level on, they are
  /// smaller. Integers that have left 0 … p - 1 are refreshed before.
  /// ParameterError for other levels than these up to their own. Clients do not decrypt them.
  Array store(const LaneArray& a, std::optional<unsigned> level = {}) const;

  /// log2 of a bound of the probability that a lane of any result so far is wrong.
  double log2_failure() const;
  LaneCounts counts() const;
  /// The largest error that operations leave, of bits, and of integers modulo p.
  double limit() const { return limit_; }
  double limit(unsigned p) const;
  const Server& server() const { return server_; }

 private:
  friend struct LanesAccess;
  using State = LaneArray::State;
  struct Counters;
  struct Integers;  ///< what operations on integers share
  struct Numbers;   ///< sums whose carries go on

  /// The ciphertexts that hold the array's own messages.
  Array values_of(const LaneArray& a) const;
  LaneArray lanes_of(Array values, const LaneMessages& messages = {}) const;
  /// `exact` is the result of operands without errors; theirs make at most one of `error`.
  LaneArray result(const Array& exact, double error, const LaneMessages& messages = {}) const;
  /// Cleans and refreshes operands until they have `levels` levels, and together no error above
  /// limit(). Returns their ciphertexts, which other threads do not change any more.
  std::vector<Array> prepare(std::span<const LaneArray> operands, unsigned levels) const;
  /// lookup() by one bootstrap of numbers that have the inputs' bits, where these have too few
  /// levels and so must be refreshed; nothing where they need not or do not fit.
  std::optional<std::vector<LaneArray>> looked_up_by_bootstrap(
      std::span<const LaneArray> inputs, std::span<const std::vector<std::uint8_t>> tables,
      unsigned levels) const;
  LaneArray select_integers(const LaneArray& choice, const LaneArray& a, const LaneArray& b) const;
  Array cleaned(const Array& x) const;
  Array refreshed(const Array& x) const;
  /// The same with up to `most` vectors in one.
  Array refreshed_bits(const Array& x, unsigned most) const;
  /// The same of integers modulo p, in 0 … p - 1.
  Array refreshed_integers(const Array& x, const LaneMessages& messages) const;
  /// The bits of whole numbers modulo 2^bits, by one bootstrap.
  std::vector<Array> bits_of(const Array& numbers, unsigned bits) const;
  /// The largest error of so many bits, of which a bootstrap leaves what it leaves of none.
  double largest_entry(unsigned bits) const;
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
  double entry_;                        ///< the largest error that a refresh makes no larger
  std::vector<double> integer_limits_;  ///< limit(2^i) of integers
  std::shared_ptr<Counters> counters_;
};

}  // namespace whorl::ckks
