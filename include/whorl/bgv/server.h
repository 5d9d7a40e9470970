// The server's half: computes on ciphertexts, which stay on its devices until they are downloaded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/ring_server.h"

namespace whorl::bgv {

/// A batch of ciphertexts. The operators below call the server that made it, and need it to exist
/// still. The server's methods offer more: products without relinearisation, and levels by hand.
class Array : public RingArray<CiphertextInfo> {
 public:
  /// How many ciphertexts a vector takes: CiphertextInfo::each.
  std::size_t each() const { return each_; }
  /// Bits that are left by the noise bound: log2(Q/2) - noise.
  double noise_budget() const { return budget_; }

 private:
  friend class Server;
  friend struct ServerState;
  double budget_ = 0;
  std::size_t each_ = 1;
  std::size_t repeats_ = 1;  // take() gave each ciphertext a multiple of so many times in sequence
  std::weak_ptr<const void> server_;
};

/// Plaintexts on a server's devices, each a row of N values. They are encoded and uploaded once,
/// and serve many ciphertexts of any level, also those of other servers of the session with the
/// same parameters: plaintexts have no key. Copies share the memory. Lifetime and threads are as
/// for Array.
class Plaintexts {
 public:
  std::size_t count() const;
  Packing packing() const;
  /// Number of values of each vector: CiphertextInfo::length.
  std::uint64_t length() const;
  /// How many rows a vector takes.
  std::size_t each() const;
  /// Bytes on the devices. The host's memory holds another 8·N bytes for each row.
  std::size_t bytes() const;

 private:
  friend class Server;
  friend struct ServerState;
  struct Storage;
  std::shared_ptr<const Storage> storage_;
};

/// Computes on arrays. An operation takes two batches of equal packing and equal count. One of them
/// may also be a single ciphertext or plaintext, which is combined with each member of the other.
/// The server brings operands to one level and one factor by itself; to do it by hand, use
/// mod_switch and read info(). The same input gives the same bits on any devices and any number of
/// them. Several threads may call a server at once.
///
/// Vectors are `length` values (CiphertextInfo) with zeros behind them. Some operations leave
/// something else behind the values. Before rotations, and where such vectors meet longer ones, the
/// server then multiplies them by ones. Where zeros are known to be there, this costs nothing.
///
/// Several devices share each batch in pieces of equal size. Where a device's memory is short,
/// pieces that are not in use wait in the host's memory. If one of several devices fails, it is
/// left out from then on (failed_devices), and the others repeat the call. If the call needs
/// results that lay on the failed device alone, it throws a DeviceError that names them.
class Server : public RingServer<Parameters, CiphertextInfo, struct ServerState> {
 public:
  using RingServer::RingServer;

  /// Copies ciphertexts to the devices. ParameterMismatchError or KeyMismatchError if they have
  /// other parameters or another key. RangeError if parts, limbs, factor, noise or length are out
  /// of range, or if a residue is not below its prime.
  Array upload(const Ciphertexts& ciphertexts) const;

  Array add(const Array& a, const Array& b) const;
  Array sub(const Array& a, const Array& b) const;
  Array negate(const Array& a) const;
  /// Operations with plaintexts: vectors of `length` values each, cut as Client::encrypt cuts them,
  /// with the packing of `a`. There are as many vectors as in `a`, or one for all of them; if `a`
  /// is a single vector, there may be any number.
  Array add_plain(const Array& a, std::span<const std::int64_t> values,
                  std::size_t length = 0) const;
  Array sub_plain(const Array& a, std::span<const std::int64_t> values,
                  std::size_t length = 0) const;
  Array multiply_plain(const Array& a, std::span<const std::int64_t> values,
                       std::size_t length = 0) const;
  /// The same with plaintexts that are on the devices already; the bits are the same. Sums encode
  /// them again if the factor of `a` is not 1; products never do.
  Array add_plain(const Array& a, const Plaintexts& b) const;
  Array sub_plain(const Array& a, const Plaintexts& b) const;
  Array multiply_plain(const Array& a, const Plaintexts& b) const;
  /// Encodes and uploads vectors, with the arguments of Client::encrypt. EncodingError for slots if
  /// the parameters have none.
  Plaintexts encode(std::span<const std::int64_t> values, Packing packing = Packing::slots,
                    std::size_t length = 0) const;
  Plaintexts encode(std::initializer_list<std::int64_t> values, Packing packing = Packing::slots,
                    std::size_t length = 0) const {
    return encode(std::span(values.begin(), values.size()), packing, length);
  }
  /// Operations with one integer, which goes to every value (with coefficients: a sum adds it to
  /// the constant coefficient). Zeros behind the values of short vectors stay zero.
  Array add_scalar(const Array& a, std::int64_t value) const;
  Array multiply_scalar(const Array& a, std::int64_t value) const;

  /// The product. It has two parts, unless `relinearised` is false. Before it the server drops
  /// primes of the operands if this leaves the product a larger noise budget.
  Array multiply(const Array& a, const Array& b, bool relinearised = true) const;
  Array square(const Array& a, bool relinearised = true) const;
  /// Brings ciphertexts back to two parts. MissingKeyError names a key that is missing.
  Array relinearise(const Array& a) const;

  /// Rotates both rows of slots to the left by `columns` (negative: to the right). EncodingError
  /// for coefficients, ShapeError for vectors that take several ciphertexts. If there is no key for
  /// the rotation, MissingKeyError names it and lists the rotations that have keys.
  Array rotate(const Array& a, std::int64_t columns) const;
  /// Rotations by several distances. The ciphertext is decomposed once for all of them (hoisting).
  std::vector<Array> rotate_many(const Array& a, std::span<const std::int64_t> columns) const;
  Array swap_rows(const Array& a) const;
  /// Slot i becomes the sum of `columns` slots of its row, from slot i on, cyclically. `columns` is
  /// a power of two up to N/2 (ParameterError). It uses the rotations by 1, 2, 4, … below
  /// `columns`.
  Array inner_sum(const Array& a, std::uint32_t columns) const;

  /// The members at `indices`, in this order; an index may come several times. ShapeError if an
  /// index is not below the count, if there is no index, or if the indices take only a part of a
  /// vector that has several ciphertexts.
  Array take(const Array& a, std::span<const std::uint32_t> indices) const;
  Plaintexts take(const Plaintexts& a, std::span<const std::uint32_t> indices) const;
  /// Joins arrays of equal packing and parts to one batch, in sequence. The result has the lowest
  /// level of the arrays, one factor, and the largest noise bound that an array has after that.
  Array concatenate(std::span<const Array> arrays) const;

  /// Drops primes until `limbs` are left; the message stays, the factor changes.
  Array mod_switch(const Array& a, unsigned limbs) const;
  /// Drops all primes that decryption does not need, keeping `spare_bits` of noise budget. Use it
  /// before download().
  Array shrink(const Array& a, double spare_bits = 8) const;

  /// The server of an array. DeviceError if it is gone.
  static Server of(const Array& a);
};

/// Counts what a circuit needs. Plaintexts in slots, and matrices, stand for any values: they count
/// with the largest norm, and no diagonal is left out, so that bounds of the noise may be larger
/// than a Server's.
class DryRun : public RingDryRun<Server, KeyRequest> {
 public:
  explicit DryRun(const Parameters& parameters);
  /// A batch of so many values in vectors of `length` values, with the arguments and the errors of
  /// Client::encrypt: as it is encrypted under the public key, which makes more noise than the
  /// secret key, or under that one.
  Array fresh(Packing packing, std::size_t values, std::size_t length = 0,
              bool secret_key = false) const;
};

/// Operators for Server's add, sub, multiply (with relinearisation) and negate. The second operand
/// is an array, Plaintexts, or one integer.
Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator-(const Array& a);
Array operator+(const Array& a, const Plaintexts& b);
Array operator-(const Array& a, const Plaintexts& b);
Array operator*(const Array& a, const Plaintexts& b);
Array operator+(const Array& a, std::int64_t b);
Array operator-(const Array& a, std::int64_t b);
Array operator*(const Array& a, std::int64_t b);
inline Array operator+(std::int64_t a, const Array& b) { return b + a; }
inline Array operator-(std::int64_t a, const Array& b) { return -b + a; }
inline Array operator*(std::int64_t a, const Array& b) { return b * a; }

}  // namespace whorl::bgv
