// The server's half: evaluation keys only. It cannot decrypt.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/program.h"
#include "whorl/counters.h"
#include "whorl/session.h"

namespace whorl::binfhe {

/// Gates that take one bootstrap. Input bits have p = 4 for gates of two inputs and for MAJORITY, p
/// = 6 for AND3 and OR3, and p = 8 for AND4 and OR4. All gates except XOR and XNOR also accept a
/// larger even p.
enum class Gate : std::uint8_t { and_, or_, nand, nor, xor_, xnor, majority, and3, or3, and4, or4 };

std::string_view gate_name(Gate gate);
/// Number of inputs: 2, 3 or 4.
unsigned gate_inputs(Gate gate);

/// A matrix of clear integers, row by row: `columns` weights for each result.
struct Weights {
  std::size_t columns;
  std::span<const std::int32_t> entries;
  std::size_t rows() const { return columns == 0 ? 0 : entries.size() / columns; }
  std::span<const std::int32_t> row(std::size_t r) const {
    return entries.subspan(r * columns, columns);
  }
};

/// Ways to spread blind rotations over a GPU, for comparison; a CPU ignores the choice. If a way
/// has no room for a key, `single` is used instead. `cluster` and `grid` have no room for the
/// largest rings with many digits. `shared` often has no room from N = 2048 on. `grid` is the
/// "multi-blocks" of Xiao et al. (TCHES 2025, §3.1); a batch whose blocks do not all run at once
/// takes several launches. Only keys of GINX without a raised modulus rotate so.
enum class RotationSchedule : std::uint8_t {
  automatic,  ///< the fastest for the batch
  single,     ///< one ciphertext in a thread block
  cluster,    ///< one ciphertext over several thread blocks, which meet in shared memory
  grid,       ///< one ciphertext over several thread blocks, which meet in device memory
  shared      ///< several ciphertexts in a thread block share each step of the key
};

/// How a server evaluates; SessionOptions say where.
struct ServerOptions {
  std::optional<Transform> transform = {};  ///< default: the transform of the parameters
  RotationSchedule rotation = RotationSchedule::automatic;
  /// With several devices, a batch is spread over so many devices that each gets at least this
  /// number of ciphertexts. A GPU takes about as long for one ciphertext as for a thousand.
  std::size_t least_share = 1024;
  /// The largest failure probability that an operation on a ciphertext may have, in (0, 1].
  double allow_failure = allowed_failure;
};

using whorl::FailedDevice;

/// A batch of ciphertexts on a server's devices; if there are several, it is spread over them.
/// Copies share the memory, which never changes. An array may outlive its server. Any thread may
/// destroy it, also while another thread is inside a call of the server.
///
/// The operators are gates of two inputs, with the errors of Server::gate. They throw DeviceError
/// if the server does not exist any more. With a bool they need no bootstrap.
class Array {
 public:
  Encoding encoding() const;
  std::size_t count() const;
  /// Bytes on the devices.
  std::size_t bytes() const;
  /// The key that the ciphertexts are under.
  Under under() const;
  /// An upper bound of the variance of the errors, in units of the variance of a bootstrapped
  /// ciphertext under the same key.
  double noise() const;
  /// The messages lie in 0 … largest(): p or more, up to 2p - 1, where the padding bit may be set.
  std::uint32_t largest() const;
  /// The range that with_range() stated, or that follows from such ranges.
  std::optional<MessageRange> range() const;
  /// How far a decrypted message may be from that of exact tables, around the circle of p: what
  /// tables that are not exact promise, added up by sums and read on by tables, and what the noise
  /// passes with a probability of 2^-40. 0 where messages are exact.
  std::uint32_t error_bound() const;
  /// log2 of a bound on the probability that a message is further off than error_bound(), or that a
  /// rotation on its way decided wrongly. It adds up all that a message is made of, so that what is
  /// used twice counts twice; DryRun counts it once.
  double failure_log2() const;

  friend Array operator&(const Array& a, const Array& b) { return a.gate(Gate::and_, b); }
  friend Array operator|(const Array& a, const Array& b) { return a.gate(Gate::or_, b); }
  friend Array operator^(const Array& a, const Array& b) { return a.gate(Gate::xor_, b); }
  friend Array operator&(const Array& a, bool bit) { return a.gate(Gate::and_, bit); }
  friend Array operator|(const Array& a, bool bit) { return a.gate(Gate::or_, bit); }
  friend Array operator^(const Array& a, bool bit) { return a.gate(Gate::xor_, bit); }
  friend Array operator&(bool bit, const Array& a) { return a & bit; }
  friend Array operator|(bool bit, const Array& a) { return a | bit; }
  friend Array operator^(bool bit, const Array& a) { return a ^ bit; }
  Array operator~() const;

 private:
  friend class Server;
  friend struct Access;
  struct State;
  Array gate(Gate gate, const Array& other) const;
  Array gate(Gate gate, bool bit) const;
  explicit Array(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Evaluates gates and tables on batches of any size. The same input gives the same bits, whatever
/// the batch, the number of threads or the number of devices. There is one exception: with the FFT
/// on a GPU the bits depend on the rotation schedule, and `automatic` changes it with the batch.
/// The results then differ by rounding (docs/fft-error.md). All methods are const, and several
/// threads may call them at once.
///
/// Ciphertexts, which lie in the host's memory, pass through a device in pieces that fit its
/// memory. OutOfMemoryError if not even one ciphertext fits. Several devices share large batches by
/// their measured speed; the order of results is that of the inputs. If one of several devices
/// fails, it is left out from then on (failed_devices), and the others do its share. DeviceError if
/// no device is left.
///
/// An Array stays on the devices: (a ^ b) & c copies three batches there and one back. Arrays are
/// cut into pieces by the memory that was free when the server was made. If memory is short later,
/// pieces that are not in use wait in the host's memory; OutOfMemoryError says that a piece does
/// not fit even then. Operands have equal counts; one may also be a single ciphertext, which is
/// combined with each member of the others. Arrays give the same bits as Ciphertexts. Servers on
/// one Session with the same parameters and key take each other's arrays; DeviceError for one of
/// another session.
///
/// If one of several devices fails, arrays lose the pieces that lay on it alone. A piece survives
/// if the host has it, because it was uploaded from there or had to wait there. A single ciphertext
/// also survives if it was combined with a batch on another device. The other devices repeat the
/// call if it needs no lost piece. Otherwise it throws a DeviceError that names the lost
/// ciphertexts.
///
/// A server refuses an operation that gives a wrong result with a probability above
/// ServerOptions::allow_failure. The NoiseError names the operation, its probability, and what
/// would serve. Inputs of gates and tables count as bootstrapped; if their noise is larger, as
/// after sums, that noise counts. A sum is checked for the decryption of its result. Probabilities
/// are those of one ciphertext, not of a batch.
class Server {
 public:
  /// Opens a session of its own. ParameterError for the rotation `grid` with keys that do not
  /// rotate so.
  explicit Server(const EvaluationKeys& keys, const SessionOptions& where = {},
                  const ServerOptions& options = {});
  /// ParameterError for a rotation schedule that is not automatic: the session's devices are open.
  Server(const EvaluationKeys& keys, const Session& session, const ServerOptions& options = {});
  ~Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  const Parameters& parameters() const;
  const KeyId& key_id() const;
  const std::string& device() const;  ///< "cuda:0 (NVIDIA H200)"; several joined by ", "
  const std::vector<std::string>& devices() const;   ///< the name of each device
  std::vector<FailedDevice> failed_devices() const;  ///< the oldest failure first
  Transform transform() const;
  RotationSchedule rotation() const;  ///< as asked for
  unsigned threads() const;           ///< host threads of the first device
  double allow_failure() const;
  std::size_t key_bytes() const;  ///< bytes that keys take on the devices now
  /// Returns what the first device counted in its last run of each kind; it is empty where the
  /// device does not count. Waits for a run that is under way.
  std::vector<RunCounters> device_counters() const;
  /// Keys that the first device runs itself, where it leaves those of other kinds to the CPU behind
  /// it, as the accelerator does; null for a device that runs all.
  std::optional<std::size_t> device_keys() const;

  /// Evaluates a gate in one bootstrap. `inputs` are gate_inputs(gate) batches of equal count and
  /// encoding. The result has the encoding `output`, by default that of the inputs. Inputs of
  /// gates, of mux and of bootstrap are bits: EncodingError for a sum or a result of a table that
  /// may be larger than 1. (What fresh ciphertexts hold is not known. They are taken for bits.)
  /// xor and xnor of encrypted inputs also take sums: they tell whether all of them together are
  /// odd.
  Ciphertexts gate(Gate gate, std::span<const Ciphertexts* const> inputs,
                   std::optional<Encoding> output = {}, Under under = Under::lwe) const;
  // Gates by name, on Ciphertexts or on Arrays; bits keep their encoding.

  template <class Batch>
  Batch and_(const Batch& a, const Batch& b) const {
    return named(Gate::and_, a, b);
  }
  template <class Batch>
  Batch or_(const Batch& a, const Batch& b) const {
    return named(Gate::or_, a, b);
  }
  template <class Batch>
  Batch nand(const Batch& a, const Batch& b) const {
    return named(Gate::nand, a, b);
  }
  template <class Batch>
  Batch nor(const Batch& a, const Batch& b) const {
    return named(Gate::nor, a, b);
  }
  template <class Batch>
  Batch xor_(const Batch& a, const Batch& b) const {
    return named(Gate::xor_, a, b);
  }
  template <class Batch>
  Batch xnor(const Batch& a, const Batch& b) const {
    return named(Gate::xnor, a, b);
  }
  template <class Batch>
  Batch majority(const Batch& a, const Batch& b, const Batch& c) const {
    return named(Gate::majority, a, b, c);
  }
  template <class Batch>
  Batch and3(const Batch& a, const Batch& b, const Batch& c) const {
    return named(Gate::and3, a, b, c);
  }
  template <class Batch>
  Batch or3(const Batch& a, const Batch& b, const Batch& c) const {
    return named(Gate::or3, a, b, c);
  }
  template <class Batch>
  Batch and4(const Batch& a, const Batch& b, const Batch& c, const Batch& d) const {
    return named(Gate::and4, a, b, c, d);
  }
  template <class Batch>
  Batch or4(const Batch& a, const Batch& b, const Batch& c, const Batch& d) const {
    return named(Gate::or4, a, b, c, d);
  }
  /// Negates bits, without a bootstrap or a key.
  Ciphertexts not_(const Ciphertexts& a) const;
  /// select ? a : b, in two blind rotations and one key switch. p is 4 or a larger even number.
  Ciphertexts mux(const Ciphertexts& select, const Ciphertexts& a, const Ciphertexts& b,
                  Under under = Under::lwe) const;
  /// Makes the noise of bits small again. `output` may change their encoding.
  Ciphertexts bootstrap(const Ciphertexts& a, std::optional<Encoding> output = {},
                        Under under = Under::lwe) const;
  /// Looks ciphertext i up in luts[index[i]]; with an empty index all are looked up in luts[0]. All
  /// tables have the same kind, input encoding and output encoding. EncodingError for tables with
  /// padding if the inputs' padding bit may be set (Array::largest). NoiseError if outputs of
  /// tables that are not exact may be off by more than `within`; without `within` the limit is
  /// Lut::error_bound().
  Ciphertexts apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                    const Ciphertexts& a, std::optional<std::uint32_t> within = {},
                    Under under = Under::lwe) const;
  /// How far outputs of a table that is not exact may be from f(m), around the circle of p', for
  /// the noise and the range that `a` has. A larger distance has a probability of at most
  /// allow_failure().
  std::uint32_t error_bound(const Lut& lut, const Ciphertexts& a) const;

  /// constant·(q/sectors) + sum_k weights[k]·inputs[k], without a bootstrap. The noise variance of
  /// the result is sum_k weights[k]^2 times the variance of inputs[k]. If inputs may share errors,
  /// because they are the same ciphertexts or sums of the same, their standard deviations add up
  /// instead. The part of bootstraps' errors that is constant under a key adds up in the same way
  /// (docs/noise.md).
  ///
  /// With padding the sum must stay in 0 … p-1 for all messages that the inputs may have. These are
  /// 0 … p-1, for results of gates 0 … 1, and for results of a table the values up to its largest.
  /// EncodingError otherwise, unless the caller says one of two things. `modular`: the sum is meant
  /// modulo p. It decrypts so, but may set the padding bit, with which a padded table would negate
  /// what it finds: apply and eval_decomp refuse it. `largest`: the caller knows that all messages
  /// of the sum lie in 0 … largest, which must be below p. Nothing checks this. Gates take a sum
  /// for bits only where it follows, or is said with `largest`, that it is at most 1.
  ///
  /// NoiseError if a message of the sum is read wrongly too often, unless some term is known nearly
  /// already. With `exact` false the sum is known nearly: Array::error_bound says how far messages
  /// may be off, and Array::failure_log2 how often they are further off.
  Ciphertexts linear(std::span<const std::int32_t> weights,
                     std::span<const Ciphertexts* const> inputs, std::int32_t constant = 0,
                     bool modular = false, std::optional<std::uint32_t> largest = {},
                     bool exact = true) const;
  /// Trivial encryptions of known messages, without noise or mask. Anyone can read them.
  Ciphertexts trivial(std::span<const std::uint32_t> messages, Encoding encoding = {},
                      Under under = Under::lwe) const;
  Ciphertexts trivial(std::initializer_list<std::uint32_t> messages, Encoding encoding = {},
                      Under under = Under::lwe) const {
    return trivial(std::span(messages.begin(), messages.size()), encoding, under);
  }
  /// The same messages under the LWE key, by one key switch each. What is under it already is
  /// returned as it is. Errors of the input are scaled to q, and those of the key switch and of its
  /// roundings added (docs/noise.md).
  Ciphertexts to_lwe_key(const Ciphertexts& a) const;

  // ---- arrays on the devices; methods do the same as those above that have the same name

  Array upload(const Ciphertexts& ciphertexts) const;
  /// The array shares the ciphertexts with the caller, who must not change them. If one of several
  /// devices fails, its part of the array is uploaded again from them.
  Array upload(const std::shared_ptr<const Ciphertexts>& ciphertexts) const;
  /// Waits for the work that makes the array, and copies it to the host.
  Ciphertexts download(const Array& array) const;
  /// Throws unless operations take the array: DeviceError for one of another session,
  /// KeyMismatchError or ParameterMismatchError for one of another key or of other parameters.
  void check(const Array& array) const;

  Array gate(Gate gate, std::span<const Array* const> inputs, std::optional<Encoding> output = {},
             Under under = Under::lwe) const;
  Array not_(const Array& a) const;
  Array mux(const Array& select, const Array& a, const Array& b, Under under = Under::lwe) const;
  Array bootstrap(const Array& a, std::optional<Encoding> output = {},
                  Under under = Under::lwe) const;
  Array apply(std::span<const Lut> luts, std::span<const std::uint32_t> index, const Array& a,
              std::optional<std::uint32_t> within = {}, Under under = Under::lwe) const;
  Array to_lwe_key(const Array& a) const;
  /// Result l is what luts[l] gives for each ciphertext. All tables share the rotations of one: two
  /// if one of them is arbitrary, else one. Inputs are rounded to 1/2^v of the phases for up to 2^v
  /// tables, which has more noise (Chillotti, Ligier, Orfila, Tap, ASIACRYPT 2021). Where that
  /// fails too often, exact tables whose outputs have one encoding are multiplied to a common
  /// factor after its rotation, which leaves outputs more noise (Carpov, Izabachène, Mollimard,
  /// CT-RSA 2019). The tables have the input encoding of `a`; outputs may differ. Refusals are
  /// those of apply; EncodingError also if a sector has fewer than 4 of these phases, and
  /// ParameterError under sets with automorphisms, if neither way is left.
  std::vector<Array> apply_many(std::span<const Lut> luts, const Array& a,
                                std::optional<std::uint32_t> within = {},
                                Under under = Under::lwe) const;
  /// The messages divided by `by`, of p/by, without a bootstrap: the same words mean these. All
  /// messages must be multiples of it. Nothing checks this. EncodingError unless p is a multiple of
  /// `by` and above it.
  Array divided(const Array& a, std::uint32_t by) const;
  std::uint32_t error_bound(const Lut& lut, const Array& a) const;
  /// How far from m the message may be that a table looks up in its place.
  std::uint32_t reach(const Lut& lut, const Array& a) const;
  Array linear(std::span<const std::int32_t> weights, std::span<const Array* const> inputs,
               std::int32_t constant = 0, bool modular = false,
               std::optional<std::uint32_t> largest = {}, bool exact = true) const;
  /// W·x + constants: each `weights.columns` ciphertexts of `a` that follow one another, as many as
  /// there are vectors, give weights.rows() results. One product on the device for all, exact; as
  /// many sums as linear() would make one by one, with its rules for messages and errors.
  /// `constants`: one for each row, or none. `largest` bounds all messages. What is known of noise
  /// and messages is that of the row that has the most, as an array knows no more. Results of one
  /// vector have errors in common, so that sums of them count the worst: look them up in tables.
  /// Under the ring key the noise of a sum of bootstrapped ciphertexts is that of rotations only.
  /// ShapeError for numbers that do not fit.
  Array linear(const Weights& weights, const Array& a, std::span<const std::int32_t> constants = {},
               bool modular = false, std::optional<std::uint32_t> largest = {},
               bool exact = true) const;
  /// The same messages, read as integers of a range that the caller knows: as the only one that is
  /// the message modulo p, or with padding modulo 2p. Nothing checks this, and results are wrong if
  /// it is not true. Sums of such arrays, and products with integers, have the range that follows;
  /// linear() refuses those whose range has more than p integers (EncodingError). Results of gates
  /// and tables have no range. A range that is known already becomes no larger. EncodingError for a
  /// range of more than p integers, one that contradicts what is known, and one with an end outside
  /// -MessageRange::most … most; ParameterError if `low` is above `high`.
  Array with_range(const Array& a, MessageRange range) const;
  Array trivial_array(std::span<const std::uint32_t> messages, Encoding encoding = {},
                      Under under = Under::lwe) const;
  Array trivial_array(std::initializer_list<std::uint32_t> messages, Encoding encoding = {},
                      Under under = Under::lwe) const {
    return trivial_array(std::span(messages.begin(), messages.size()), encoding, under);
  }

  // Gates of which only one input is encrypted, and the others are known. They need no bootstrap,
  // unless `output` is another encoding. Each result is the encrypted input, its negation, or a
  // trivial encryption; it has the input's noise. There are as many known bits as ciphertexts, or
  // one bit for all ciphertexts, or one ciphertext for all bits. ShapeError for other numbers,
  // EncodingError for values out of range.

  /// ones[i] is the number of known inputs that are 1; for a gate of two inputs it is the other
  /// bit. The result stays under the key of `a`, unless `output` is another encoding: then it is
  /// bootstrapped, to the LWE key.
  Array gate(Gate gate, const Array& a, std::span<const std::uint32_t> ones,
             std::optional<Encoding> output = {}) const;
  Array gate(Gate gate, const Array& a, std::initializer_list<std::uint32_t> ones,
             std::optional<Encoding> output = {}) const {
    return this->gate(gate, a, std::span(ones.begin(), ones.size()), output);
  }
  Array mux(const Array& select, std::span<const std::uint32_t> a,
            std::span<const std::uint32_t> b) const;
  Array mux(std::span<const std::uint32_t> select, const Array& a, const Array& b) const;

  /// Ciphertext i of the result is ciphertext index[i] of a. ShapeError names an index that is not
  /// below the count.
  Array take(const Array& a, std::span<const std::uint32_t> index) const;
  /// Joins arrays of equal encoding, in sequence. ShapeError if there is none.
  Array concatenate(std::span<const Array> arrays) const;

  /// Does all operations of a program, on one device, and returns its results. They are those of
  /// the operations one by one, bit for bit, with the same noise and ranges; but all that lies
  /// between two layers of tables is one step, and nothing waits. What the operations check is
  /// checked, and what they throw is thrown. Inputs are under the ring key.
  std::vector<Array> run(const Program& program, std::span<const Array* const> inputs) const;

  /// Waits until all work on arrays so far is done.
  void synchronise() const;

 private:
  friend class Array;
  friend class DryRun;
  friend struct Access;
  template <class Batch, class... Batches>
  Batch named(Gate gate, const Batch& first, const Batches&... others) const {
    const Batch* inputs[] = {&first, &others...};
    return this->gate(gate, std::span<const Batch* const>(inputs));
  }
  struct State;
  explicit Server(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// What a circuit costs, of one ciphertext each.
struct Costs {
  std::size_t bootstraps = 0;    ///< blind rotations; a mux takes two, a table up to two
  std::size_t key_switches = 0;  ///< from the ring key to the LWE key
  std::size_t sums = 0;          ///< weighted sums and sums with constants, also before rotations
  std::size_t key_bytes = 0;     ///< of the evaluation keys as they are sent
};

/// A server without keys, which says what a circuit costs before there is a key. Its arrays have
/// the encodings, noise and ranges that they would have, and operations throw the same errors as
/// those of a Server; blind rotations and key switches are counted, and not done, so that what
/// download() gives means nothing. Several threads may call it.
class DryRun {
 public:
  explicit DryRun(const Parameters& parameters, const ServerOptions& options = {});

  const Server& server() const { return server_; }
  /// Ciphertexts as a client encrypts them, all different. EncodingError for an encoding that the
  /// parameters do not carry.
  Array fresh(Encoding encoding, std::size_t count, Under under = Under::lwe) const;
  /// What operations have cost so far.
  Costs costs() const;
  /// log2 of a bound on the probability that a rotation so far decided wrongly, or that one of
  /// `results` decrypts to another message: the sum over all values of all operations, at most 1.
  /// Tables that are not exact count with values further off than they may be, and what is made of
  /// their results with messages further off than Array::error_bound.
  double failure_log2(std::span<const Array> results) const;

 private:
  struct Counted;
  std::shared_ptr<Counted> counted_;
  Server server_;
};

}  // namespace whorl::binfhe
