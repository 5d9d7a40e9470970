// The server's half: evaluation keys only. It cannot decrypt.
#pragma once

#include <cstdint>
#include <functional>
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
#include "whorl/devices.h"

namespace whorl::binfhe {

/// Gates of one bootstrap. Inputs are bits with p = 4 for two inputs and MAJORITY, p = 6 for AND3
/// and OR3, p = 8 for AND4 and OR4 (larger even p is accepted for all but XOR and XNOR).
enum class Gate : std::uint8_t { and_, or_, nand, nor, xor_, xnor, majority, and3, or3, and4, or4 };

std::string_view gate_name(Gate gate);
/// Number of inputs: 2, 3 or 4.
unsigned gate_inputs(Gate gate);

/// Ways to spread blind rotations over a GPU, for comparison; a CPU ignores it. Keys that a way has
/// no room for (several blocks: the largest rings with many digits; two ciphertexts a block: from
/// N = 2048 on) take `single`.
enum class RotationSchedule : std::uint8_t {
  automatic,  ///< the fastest for the batch
  single,     ///< one ciphertext in a thread block
  cluster,    ///< one ciphertext over several thread blocks
  shared      ///< several ciphertexts in a thread block share each step of the key
};

/// The first five are those of bgv::ServerOptions.
struct ServerOptions {
  /// "cpu"; "cuda" (the first GPU), "cuda:1", several as "cuda:0,1" or "cuda:all"; "" takes the
  /// best there is. DeviceError for one that is not there: none is replaced by another.
  std::string device = {};
  unsigned threads = 0;  ///< host threads; 0: all cores
  /// Polled from the calling thread during long calls; true stops the call with InterruptedError.
  std::function<bool()> interrupt = {};
  /// Bytes that keys may take of each device; those used least recently make room. 0: no bound.
  std::size_t key_budget = 0;
  /// Room for keys that several servers share, instead of a budget of this server's own; keys are
  /// prepared when they are used, and when the server is made. ParameterError if key_budget is
  /// given as well.
  std::optional<KeyCache> key_cache = {};
  std::optional<Transform> transform = {};  ///< default: the parameters'
  RotationSchedule rotation = RotationSchedule::automatic;
  /// Of several devices: ciphertexts that one should have before a batch is spread over another. A
  /// GPU takes about as long for one as for a thousand.
  std::size_t least_share = 1024;
  /// The largest failure probability that an operation on a ciphertext may have, in (0, 1].
  double allow_failure = allowed_failure;
};

using whorl::FailedDevice;

/// A batch of ciphertexts on a server's devices, of several spread over all of them. Copies share
/// the memory, which is never written again. An array may outlive its server: it keeps what it
/// needs of it alive. Any thread may drop it, also while another is inside a call of the server.
///
/// Operators are gates of two inputs, with the errors of Server::gate; DeviceError if the server is
/// gone. With a bool they need no bootstrap.
class Array {
 public:
  Encoding encoding() const;
  std::size_t count() const;
  /// Bytes on the devices.
  std::size_t bytes() const;
  /// Variance of the errors, an upper bound, in units of that of a bootstrapped ciphertext.
  double noise() const;

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
  struct State;
  Array gate(Gate gate, const Array& other) const;
  Array gate(Gate gate, bool bit) const;
  explicit Array(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Evaluates on batches of any size. Same input, same bits, whatever the batch, the thread count or
/// the number of devices; with the FFT on a GPU, for one rotation schedule (`automatic` changes it
/// with the batch: results then differ by rounding, within docs/fft-error.md). All methods are
/// const and may be called from several threads at once.
///
/// Batches of the host beyond a device's memory go through it in pieces, OutOfMemoryError if not
/// even one ciphertext fits. Several devices share large batches by their measured speed; results
/// are in order. One of several that fails is left out from then on and its share done by the
/// others (failed_devices); DeviceError if none is left.
///
/// Arrays stay on the devices: (a ^ b) & c moves three batches in and one out. They are cut by the
/// memory that was free when the server was made; where it is short later, what is not in use waits
/// in the host's memory, and OutOfMemoryError says that one piece did not fit. Operations on them
/// take arrays of equal count, or of one ciphertext, which meets all of the others, and give the
/// bits that the same operations on Ciphertexts give. MismatchError for those of another server.
/// One of several devices that fails is left out from then on. What lay there is lost unless it is
/// elsewhere too: on the host, where it was uploaded from or had to wait for room, or on another
/// device, where a single has met a batch. A call that needs nothing that is lost is done again by
/// the others; the DeviceError of another names the arrays that it would need.
///
/// An operation that gives a wrong result with a probability above ServerOptions::allow_failure is
/// refused: NoiseError, which names the operation, its probability and what would serve. Gates and
/// tables are reckoned on bootstrapped inputs, or on the noise of the inputs where that is more, as
/// it is of sums; sums, on what they sum. Probabilities are of one ciphertext, not of a batch.
class Server {
 public:
  explicit Server(const EvaluationKeys& keys, const ServerOptions& options = {});
  ~Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  const Parameters& parameters() const;
  const KeyId& key_id() const;
  const std::string& device() const;  ///< "cuda:0 (NVIDIA H200)"; several joined by ", "
  const std::vector<std::string>& devices() const;   ///< names, one each
  std::vector<FailedDevice> failed_devices() const;  ///< of several, oldest failure first
  Transform transform() const;
  RotationSchedule rotation() const;  ///< as asked for
  unsigned threads() const;           ///< of the (first) device
  double allow_failure() const;
  std::size_t key_bytes() const;  ///< memory of the keys as they lie on the devices now

  /// `inputs` has gate_inputs(gate) batches of equal count and encoding. Output bits carry
  /// `output` (default: the inputs' encoding).
  Ciphertexts gate(Gate gate, std::span<const Ciphertexts* const> inputs,
                   std::optional<Encoding> output = {}) const;
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
  /// Free: no bootstrap, no key.
  Ciphertexts not_(const Ciphertexts& a) const;
  /// select ? a : b; two blind rotations and one key switch. p = 4 or larger even.
  Ciphertexts mux(const Ciphertexts& select, const Ciphertexts& a, const Ciphertexts& b) const;
  /// Refreshes bits; `output` may change their encoding.
  Ciphertexts bootstrap(const Ciphertexts& a, std::optional<Encoding> output = {}) const;
  /// Ciphertext i goes through luts[index[i]]; index empty: all through luts[0]. All tables share
  /// input and output encodings and kind. NoiseError if outputs of tables that are not exact may be
  /// off by more than `within`, or than Lut::error_bound() states where it is not given.
  Ciphertexts apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                    const Ciphertexts& a, std::optional<std::uint32_t> within = {}) const;
  /// How far outputs of a table that is not exact may be from f(m), around the circle of p', for
  /// the noise that `a` has, with allow_failure() as the probability of more.
  std::uint32_t error_bound(const Lut& lut, const Ciphertexts& a) const;

  /// constant·(q/sectors) + sum_k weights[k]·inputs[k], without bootstrap. Variances add up, times
  /// the squares of the weights; standard deviations, where inputs may share errors (docs/noise.md:
  /// the same ciphertexts, and sums of the same).
  ///
  /// With padding the sum must stay in 0 … p-1 for all messages that the inputs may have: 0 … p-1,
  /// or 0 … 1 for results of gates, or the largest value of a table. EncodingError otherwise,
  /// unless it is `modular`: meant modulo p, or of messages that the caller knows to be smaller. A
  /// padded table takes a message of p or more, or below 0, for another one, and negates what it
  /// finds.
  Ciphertexts linear(std::span<const std::int32_t> weights,
                     std::span<const Ciphertexts* const> inputs, std::int32_t constant = 0,
                     bool modular = false) const;
  /// An encryption of known messages without noise or mask; anyone can read it.
  Ciphertexts trivial(std::span<const std::uint32_t> messages, Encoding encoding = {}) const;
  Ciphertexts trivial(std::initializer_list<std::uint32_t> messages, Encoding encoding = {}) const {
    return trivial(std::span(messages.begin(), messages.size()), encoding);
  }

  // ---- arrays that stay; each as its namesake above

  Array upload(const Ciphertexts& ciphertexts) const;
  /// Of several devices, one that fails takes nothing of this array along: the array holds the
  /// ciphertexts, which must not be changed.
  Array upload(const std::shared_ptr<const Ciphertexts>& ciphertexts) const;
  /// Waits for what the array is made of.
  Ciphertexts download(const Array& array) const;

  Array gate(Gate gate, std::span<const Array* const> inputs,
             std::optional<Encoding> output = {}) const;
  Array not_(const Array& a) const;
  Array mux(const Array& select, const Array& a, const Array& b) const;
  Array bootstrap(const Array& a, std::optional<Encoding> output = {}) const;
  Array apply(std::span<const Lut> luts, std::span<const std::uint32_t> index, const Array& a,
              std::optional<std::uint32_t> within = {}) const;
  std::uint32_t error_bound(const Lut& lut, const Array& a) const;
  Array linear(std::span<const std::int32_t> weights, std::span<const Array* const> inputs,
               std::int32_t constant = 0, bool modular = false) const;
  Array trivial_array(std::span<const std::uint32_t> messages, Encoding encoding = {}) const;
  Array trivial_array(std::initializer_list<std::uint32_t> messages, Encoding encoding = {}) const {
    return trivial_array(std::span(messages.begin(), messages.size()), encoding);
  }

  // Where all inputs but one are known: no bootstrap, unless `output` is another encoding. Results
  // are the input, its negation, or trivial; they have the input's noise. Bits are as many as the
  // ciphertexts, or one, which meets all; so is the ciphertext. ShapeError, EncodingError.

  /// `ones[i]` of the gate's other inputs are 1: of a gate of two inputs, the other bit.
  Array gate(Gate gate, const Array& a, std::span<const std::uint32_t> ones,
             std::optional<Encoding> output = {}) const;
  Array gate(Gate gate, const Array& a, std::initializer_list<std::uint32_t> ones,
             std::optional<Encoding> output = {}) const {
    return this->gate(gate, a, std::span(ones.begin(), ones.size()), output);
  }
  Array mux(const Array& select, std::span<const std::uint32_t> a,
            std::span<const std::uint32_t> b) const;
  Array mux(std::span<const std::uint32_t> select, const Array& a, const Array& b) const;

  /// Ciphertext i is a's number index[i]; ShapeError names one that is not there.
  Array take(const Array& a, std::span<const std::uint32_t> index) const;
  /// One after another; at least one, of one encoding.
  Array concatenate(std::span<const Array> arrays) const;

  /// Waits for all work on arrays so far.
  void synchronise() const;

 private:
  friend class Array;
  template <class Batch, class... Batches>
  Batch named(Gate gate, const Batch& first, const Batches&... others) const {
    const Batch* inputs[] = {&first, &others...};
    return this->gate(gate, std::span<const Batch* const>(inputs));
  }
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::binfhe
