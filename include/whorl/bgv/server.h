// The server's half: evaluates on ciphertexts that stay on its device until asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/devices.h"

namespace whorl::lattice::rlwe {
class Array;
}

namespace whorl::bgv {

struct ServerOptions {
  /// "cpu"; "cuda" (the first GPU), "cuda:1", several as "cuda:0,1" or "cuda:all"; "" takes the
  /// best there is. DeviceError for one that is not there: none is replaced by another.
  std::string device = {};
  unsigned threads = 0;  ///< host threads; 0: all cores
  /// Polled from the calling thread during long calls; true stops the call with InterruptedError.
  std::function<bool()> interrupt = {};
  /// Bytes that keys may take of each device; those used least recently make room. 0: no bound, and
  /// keys are prepared when the server is made.
  std::size_t key_budget = 0;
  /// Room for keys that several servers share, instead of a budget of this server's own; keys are
  /// prepared when they are used. ParameterError if key_budget is given as well.
  std::optional<KeyCache> key_cache = {};
};

/// A batch of ciphertexts on a server's devices, of several spread over all of them. Copies share
/// the memory, which is never written again. An array may outlive its server: it keeps what it
/// needs of it alive. It may be dropped by any thread, also while another is inside a call of the
/// server.
///
/// Operators, below, are those of the array's server, which must be there still; what they lack
/// (other packings of a product, levels by hand) its methods have.
class Array {
 public:
  const CiphertextInfo& info() const { return info_; }
  /// Ciphertexts that a vector takes: CiphertextInfo::each.
  std::size_t each() const { return each_; }
  /// Bits left by the noise bound: log2(Q/2) - noise.
  double noise_budget() const { return budget_; }
  /// Bytes on the devices.
  std::size_t bytes() const;

 private:
  friend class Server;
  friend struct Access;
  CiphertextInfo info_;
  double budget_ = 0;
  std::size_t each_ = 1;
  std::weak_ptr<const void> server_;
  std::shared_ptr<const lattice::rlwe::Array> residues_;
};

/// Plaintexts on a server's devices, encoded and uploaded once, for many ciphertexts of any level:
/// a row of N values each. Copies share the memory; lifetime and threads as for Array.
class Plaintexts {
 public:
  std::size_t count() const;
  Packing packing() const;
  /// Values of each vector, as CiphertextInfo has it.
  std::uint64_t length() const;
  /// Ciphertexts that a vector takes.
  std::size_t each() const;
  /// Bytes on the devices. In the host's memory there are 8·N more for each row.
  std::size_t bytes() const;

 private:
  friend class Server;
  friend struct Access;
  struct Storage;
  std::shared_ptr<const Storage> storage_;
};

/// Vectors are `length` values (CiphertextInfo) and zeros. Where an operation left something else
/// behind the values, and it would count, the server first multiplies by ones: before rotations,
/// and where vectors meet longer ones. Where zeros are known to be there this costs nothing.
///
/// Operations take two batches of equal packing and of equal count, or one of which is a single
/// ciphertext or plaintext: it meets all of the other. Levels and factors are brought together by
/// the server: whoever wants to do it by hand uses mod_switch and reads info(). Same input, same
/// bits, whatever the devices and their number. May be called from several threads at once.
///
/// Batches beyond a device's memory are worked on in pieces, which wait in the host's; several
/// devices share a batch. One of several that fails makes the call fail, unless all that the call
/// needs of it is elsewhere too: the DeviceError names what is lost with it. Later calls do without
/// the device (failed_devices).
class Server {
 public:
  explicit Server(const EvaluationKeys& keys, const ServerOptions& options = {});

  const Parameters& parameters() const;
  const KeyId& key_id() const;
  const std::string& device() const;  ///< "cuda:0 (NVIDIA H200)"; several joined by ", "
  const std::vector<std::string>& devices() const;   ///< names, one each
  unsigned threads() const;                          ///< of the (first) device
  std::vector<FailedDevice> failed_devices() const;  ///< of several, oldest failure first
  std::size_t key_bytes() const;                     ///< of the keys as they lie on the devices now

  /// ParameterMismatchError or KeyMismatchError for others' ciphertexts, RangeError for parts,
  /// limbs, factor or noise that none can have and for residues not below their primes.
  Array upload(const Ciphertexts& ciphertexts) const;
  Ciphertexts download(const Array& a) const;

  Array add(const Array& a, const Array& b) const;
  Array sub(const Array& a, const Array& b) const;
  Array negate(const Array& a) const;
  /// With vectors of `length` values each, packed as `a` is and cut as Client::encrypt does: as
  /// many as those of `a`, one for all of them, or any number for one ciphertext.
  Array add_plain(const Array& a, std::span<const std::int64_t> values,
                  std::size_t length = 0) const;
  Array sub_plain(const Array& a, std::span<const std::int64_t> values,
                  std::size_t length = 0) const;
  Array multiply_plain(const Array& a, std::span<const std::int64_t> values,
                       std::size_t length = 0) const;
  /// The same with plaintexts that are there already, and the same bits. To add them to a
  /// ciphertext whose factor is not 1, they are encoded anew, with the factor; to multiply, never.
  Array add_plain(const Array& a, const Plaintexts& b) const;
  Array sub_plain(const Array& a, const Plaintexts& b) const;
  Array multiply_plain(const Array& a, const Plaintexts& b) const;
  /// Vectors as Client::encrypt takes them. EncodingError for slots that the parameters do not
  /// have.
  Plaintexts encode(std::span<const std::int64_t> values, Packing packing = Packing::slots,
                    std::size_t length = 0) const;
  Plaintexts encode(std::initializer_list<std::int64_t> values, Packing packing = Packing::slots,
                    std::size_t length = 0) const {
    return encode(std::span(values.begin(), values.size()), packing, length);
  }
  /// With one integer for every value (or, of coefficients, for the constant one). Slots that are
  /// zero behind the values of short vectors stay zero.
  Array add_scalar(const Array& a, std::int64_t value) const;
  Array multiply_scalar(const Array& a, std::int64_t value) const;

  /// The product, of two parts unless `relinearised` is false. Operands lose the primes that the
  /// product is better off without.
  Array multiply(const Array& a, const Array& b, bool relinearised = true) const;
  Array square(const Array& a, bool relinearised = true) const;
  /// To two parts. KeyMismatchError names the key that is missing.
  Array relinearise(const Array& a) const;

  /// Rows to the left by `columns` (negative: to the right). Packed in slots only, and not for
  /// vectors over several ciphertexts. KeyMismatchError names a rotation that has no key, and those
  /// that have.
  Array rotate(const Array& a, std::int64_t columns) const;
  /// The same for several, decomposed once (hoisted).
  std::vector<Array> rotate_many(const Array& a, std::span<const std::int64_t> columns) const;
  Array swap_rows(const Array& a) const;
  /// Each slot: the sum of `columns` slots of its row from it on, by rotations by 1, 2, 4 …;
  /// columns: a power of two up to N/2.
  Array inner_sum(const Array& a, std::uint32_t columns) const;

  /// Those at `indices`, in this order; any may come several times. ShapeError for an index that is
  /// not below the count, for none, and for parts of vectors over several ciphertexts.
  Array take(const Array& a, std::span<const std::uint32_t> indices) const;
  Plaintexts take(const Plaintexts& a, std::span<const std::uint32_t> indices) const;
  /// One batch of all in sequence, of equal packing and parts: at the level of the lowest, with one
  /// factor, and as much noise as the noisiest has then.
  Array concatenate(std::span<const Array> arrays) const;

  /// Drops primes until `limbs` are left; the message stays, the factor changes.
  Array mod_switch(const Array& a, unsigned limbs) const;
  /// To as few primes as decrypt with `spare_bits` to spare by the noise bound: what to download.
  Array shrink(const Array& a, double spare_bits = 8) const;

  /// Waits for all work so far.
  void synchronise() const;

  /// The server of an array. DeviceError if it is gone.
  static Server of(const Array& a);

 private:
  friend struct Access;
  struct State;
  explicit Server(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// As Server's add, sub, multiply (relinearised) and negate, with arrays, prepared plaintexts, and
/// one integer.
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
