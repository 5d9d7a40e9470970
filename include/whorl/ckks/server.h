// The server's half: computes on ciphertexts, which stay on its devices until they are downloaded.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "whorl/ckks/ciphertexts.h"
#include "whorl/ckks/parameters.h"
#include "whorl/ring_server.h"

namespace whorl::ckks {

/// A batch of ciphertexts. (OpenFHE: a std::vector of Ciphertext; Lattigo: a slice of
/// rlwe.Ciphertext.)
class Array : public RingArray<CiphertextInfo> {
  friend class Server;
  friend struct ServerState;
};

/// How a product is finished. (OpenFHE: EvalMult, EvalMultNoRelin, and Rescale after them; Lattigo:
/// Evaluator.MulRelin, Mul, and Rescale.)
struct Finish {
  bool relinearised = true;  ///< brought back to two parts
  bool rescaled = true;      ///< divided, to the level below
};

/// Computes on arrays. An operation takes two batches of equal count, or one of them is a single
/// ciphertext, which is combined with each member of the other. Vectors have equal lengths, or one
/// of them has a single value, which stands in every slot. Beside vectors over several ciphertexts
/// this is a single ciphertext. (ShapeError.)
///
/// Products are rescaled at once, unless Finish says otherwise. Operands of different levels are
/// brought to the lower one, and to one scale, by an integer and one division. Where the scales of
/// operands of one level differ and no large integer brings one to the other, EncodingError names
/// both. Before an operation whose values may not fit the modulus, NoiseError says so.
///
/// The same input gives the same bits on any devices and any number of them; only a CPU without
/// fused multiply-adds makes plaintexts of numbers that differ in last bits. Several threads may
/// call a server at once. If one of several devices fails, it is left out from then on
/// (failed_devices), and the others repeat the call. (OpenFHE: CryptoContext with the keys of
/// EvalMultKeyGen and EvalRotateKeyGen; Lattigo: ckks.Evaluator.)
class Server : public RingServer<Parameters, CiphertextInfo, struct ServerState> {
 public:
  using RingServer::RingServer;

  /// The largest batch that the working devices multiply without cutting it: what a quarter of the
  /// memory that was free when the server was made holds of operands, digits and results, on each
  /// device. With keys for bootstraps it is about the largest that their linear maps do not cut
  /// either; those take several times as much. Larger batches are cut by every operation into
  /// pieces that fit beside the keys, so that they cost no more a ciphertext.
  std::size_t best_batch() const;

  /// Copies ciphertexts to the devices. ParameterMismatchError or KeyMismatchError if they have
  /// other parameters or another key. RangeError if their info is out of range, or if a residue is
  /// not below its prime.
  Array upload(const Ciphertexts& ciphertexts) const;

  /// Sums, differences and negatives of values. (OpenFHE: EvalAdd, EvalSub, EvalNegate; Lattigo:
  /// Evaluator.Add, Sub.)
  Array add(const Array& a, const Array& b) const;
  Array sub(const Array& a, const Array& b) const;
  Array negate(const Array& a) const;
  /// Products and squares of values, which take a level. (OpenFHE: EvalMult, EvalSquare; Lattigo:
  /// Evaluator.MulRelin.)
  Array multiply(const Array& a, const Array& b, const Finish& finish = {}) const;
  Array square(const Array& a, const Finish& finish = {}) const;
  /// Brings ciphertexts back to two parts. MissingKeyError names a key that is missing. (OpenFHE:
  /// Relinearize; Lattigo: Evaluator.Relinearize.)
  Array relinearise(const Array& a) const;
  /// Divides by the primes of one level. NoiseError at level 0; EncodingError if the scale would
  /// become smaller than 2^16, because it is rescaled already or is no product. (OpenFHE: Rescale;
  /// Lattigo: Evaluator.Rescale.)
  Array rescale(const Array& a) const;
  /// Brings ciphertexts to a lower level, and to its scale. (OpenFHE: LevelReduce; Lattigo:
  /// Evaluator.DropLevel, which leaves the scale as it is.)
  Array lower(const Array& a, unsigned level) const;

  /// The same ciphertexts with a smaller bound of their values (of coefficients: of their sum, as
  /// in CiphertextInfo::bound), or a lower and an upper one of real values, which the caller knows:
  /// bounds that operations give grow faster than values do. Results are wrong if it is not true. A
  /// larger bound changes nothing. ParameterError unless it is positive, and for two bounds of
  /// which the first one is the larger, or that contradict what is known. EncodingError for two
  /// bounds of complex values or coefficients.
  Array with_bound(const Array& a, const Bounds& bound) const;
  /// The same ciphertexts as vectors of `length` values that take several ciphertexts each
  /// (CiphertextInfo::vector); 0: each is a vector of its own again. ShapeError unless the
  /// ciphertexts hold N/2 values in slots, and their number is that of whole vectors. Sums,
  /// products and functions of each value take such vectors; what moves values to other slots does
  /// not.
  Array as_vectors(const Array& a, std::uint64_t length) const;
  /// Returns, for each ciphertext that a vector takes, a batch of them, as vectors of N/2 values.
  /// The last ones end with copies (CiphertextInfo::vector), which count in a sum of them.
  std::vector<Array> parts(const Array& a) const;
  /// The same ciphertexts with a smaller error (CiphertextInfo::error, as a number), which the
  /// caller knows: operations add errors up as if all of them had one direction. Before
  /// Client::release it must be true, or the noise there hides too little. A larger error changes
  /// nothing. ParameterError unless it is positive.
  Array with_error(const Array& a, double error) const;
  /// The same ciphertexts with an error that is larger by `error`, as a number: for errors that the
  /// server does not know. ParameterError unless it is positive and finite.
  Array with_more_error(const Array& a, double error) const;

  /// Operations with plaintexts: vectors of `length` numbers each (0: one vector of all), as many
  /// as in `a`, or one for all of them; if `a` is a single ciphertext, any number. For vectors over
  /// several ciphertexts they are N/2 numbers for each ciphertext, or one, which is equal for all
  /// ciphertexts of a vector. With coefficients they are real, and become coefficients too.
  /// EncodingError for numbers that are not finite. (OpenFHE: EvalAdd, EvalSub, EvalMult of
  /// MakeCKKSPackedPlaintext; Lattigo: Evaluator.Add, Sub, Mul of numbers or an encoded Plaintext.)
  Array add_plain(const Array& a, std::span<const std::complex<double>> values,
                  std::size_t length = 0) const;
  Array sub_plain(const Array& a, std::span<const std::complex<double>> values,
                  std::size_t length = 0) const;
  Array multiply_plain(const Array& a, std::span<const std::complex<double>> values,
                       std::size_t length = 0, bool rescaled = true) const;
  /// One number, for every value. A product with a real number needs no plaintext. (OpenFHE:
  /// EvalAdd, EvalMult of a number; Lattigo: Evaluator.Add, Mul of one.)
  Array add_scalar(const Array& a, std::complex<double> value) const;
  Array multiply_scalar(const Array& a, std::complex<double> value, bool rescaled = true) const;
  /// A product with an integer, or with the imaginary unit, takes no level.
  Array multiply_integer(const Array& a, std::int64_t value) const;
  Array multiply_by_i(const Array& a) const;

  /// A matrix W (M, K) of real numbers, `weights` row by row, times `a` as K inputs of equal
  /// batches, one after another: M batches, of the sums over k of W_jk·a_k. A constant for each of
  /// the M, if there are any, is added to all its values (of coefficients: to the first one). It
  /// takes a level, and no key. ShapeError for other numbers of ciphertexts, weights or constants;
  /// EncodingError for numbers that are not finite, and for weights that are too large. (OpenFHE:
  /// EvalLinearWSum, of one output.)
  Array weighted_sums(const Array& a, std::span<const double> weights, std::size_t inputs,
                      std::span<const double> constants = {}, bool rescaled = true) const;

  /// Rotates the values of each vector to the left by `slots` (negative: to the right), with the
  /// vector's period. ShapeError unless the vector's length is a power of two, EncodingError for
  /// coefficients; MissingKeyError names a rotation that has no key. (OpenFHE: EvalRotate,
  /// EvalAtIndex; Lattigo: Evaluator.Rotate.)
  Array rotate(const Array& a, std::int64_t slots) const;
  /// Rotations by several distances. The ciphertext is decomposed once for all of them (hoisting).
  /// (OpenFHE: EvalFastRotation; Lattigo: Evaluator.RotateHoistedNew.)
  std::vector<Array> rotate_many(const Array& a, std::span<const std::int64_t> slots) const;
  /// The complex conjugate of each value. (Lattigo: Evaluator.Conjugate.)
  Array conjugate(const Array& a) const;
  /// The sums of the values that stand a multiple of `period` apart, as vectors of `period` values;
  /// by default the sum of all values. It uses the rotations by period, 2·period, 4·period, … below
  /// CiphertextInfo::slots(). If the length is neither a power of two nor a multiple of N/2, it
  /// takes a level, for a product with ones and zeros. ShapeError unless the period is a power of
  /// two, and at most the length; of vectors over several ciphertexts it is 1. (OpenFHE: EvalSum,
  /// EvalSumRows; Lattigo: Evaluator.InnerSum.)
  Array sum(const Array& a, std::uint64_t period = 1) const;
  /// The `count` values from `first` on, in all slots: vectors of `count` values. A product with
  /// ones and zeros chooses them, which takes a level, and sum(count) spreads them by log2(slots /
  /// count) rotations; if all values are chosen, `a` stays as it is. Where zeros lie in all other
  /// slots, sum(count) alone is enough. ShapeError unless the count is a power of two, and `first`
  /// a multiple of it with so many values from there on. (HElib: replicate; Lattigo:
  /// Evaluator.Replicate, which wants the zeros.)
  Array replicate(const Array& a, std::uint64_t first, std::uint64_t count = 1) const;
  /// The same vectors, written `length` values long: slots hold them repeated, so nothing is
  /// computed. ShapeError unless the vectors' length is a power of two, and the new one a multiple
  /// of it up to the number of slots.
  Array repeat(const Array& a, std::uint64_t length) const;

  /// The members at `indices`, in this order; an index may come several times. ShapeError if an
  /// index is not below the count, if there is no index, or if the indices take only a part of a
  /// vector that has several ciphertexts.
  Array take(const Array& a, std::span<const std::uint32_t> indices) const;
  /// Joins arrays of equal packing, length and parts to one batch, at the lowest of their levels.
  Array concatenate(std::span<const Array> arrays) const;
  /// The same members in another order: the first of each array, the second of each, and so on.
  /// ShapeError for unequal counts. On several devices nearly all stay where they are.
  Array interleave(std::span<const Array> arrays) const;

 private:
  Array joined(std::span<const Array> arrays, bool interleaved) const;
};

/// Counts what a circuit needs. asked() leaves out the keys at the lowest levels and of the sparse
/// secret, which request_bootstrap adds. Where one key serves rotations by two distances of one
/// period, the first call decides which of them is asked for.
class DryRun : public RingDryRun<Server, KeyRequest> {
 public:
  explicit DryRun(const Parameters& parameters);
  /// A batch of `count` vectors as it is encrypted under the public key, whose error is larger than
  /// the secret key's, or under that one. A vector of more than N/2 values in slots takes several
  /// ciphertexts (CiphertextInfo::vector). ShapeError for no vector, for a polynomial of more than
  /// N coefficients, and for more ciphertexts than a batch has; EncodingError for a bound that does
  /// not fit.
  Array fresh(Packing packing, std::size_t count, std::uint64_t length, const Bounds& bound,
              bool secret_key = false) const;
};

}  // namespace whorl::ckks
