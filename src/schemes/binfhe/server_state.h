// What an FHEW/TFHE server is made of, for its methods and for circuits' access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lattice/lwe/evaluator.h"
#include "lattice/lwe/noise.h"
#include "run/session.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/origin.h"
#include "schemes/binfhe/plan.h"
#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

struct Array::State {
  Parameters parameters;
  KeyId key_id;
  Encoding encoding;
  std::shared_ptr<const Origin> origin;
  std::weak_ptr<const Server::State> server;
  lattice::lwe::Array rows;
  std::shared_ptr<const Ciphertexts> host = {};  ///< that it was uploaded from

  Under under() const { return static_cast<Under>(rows.form().under); }
  /// DeviceError if the server does not exist any more.
  std::shared_ptr<const Server::State> open_server() const;
  Decrypted decrypted() const { return binfhe::decrypted(parameters, encoding, under(), *origin); }
  /// What download() gives, but for the words.
  Ciphertexts without_words() const;
};

/// EncodingError where input `k` is known to be no bit: a gate would give wrong results.
void check_bits_of(std::string_view what, std::size_t k, std::uint32_t largest);
/// EncodingError where the padding bit may be set, which would negate what is found.
void check_padding(std::string_view what, Encoding encoding, Largest largest);
/// Checks tables of one call: of one kind, for these parameters and this encoding of `count`
/// ciphertexts.
void check_tables(const Parameters& parameters, std::span<const Lut> luts,
                  std::span<const std::uint32_t> index, Encoding encoding, std::size_t count);
/// Trivial encryptions, and what is known of them.
Ciphertexts trivial_ciphertexts(const Parameters& parameters, const KeyId& key,
                                std::span<const std::uint32_t> messages, Encoding encoding,
                                Under under);
/// KeyMismatchError for a table that adds its input, unless it takes and gives the LWE key.
void check_sides(const Lut& lut, Under under);

/// The sum of the failure probabilities of all values of all operations, which bounds that of a
/// program.
class Failures {
 public:
  void add(double failure_log2, std::size_t count) {
    const std::lock_guard lock(mutex_);
    log2_ = lattice::sum_log2(log2_, failure_log2 + std::log2(static_cast<double>(count)));
  }
  double log2() const {
    const std::lock_guard lock(mutex_);
    return log2_;
  }

 private:
  mutable std::mutex mutex_;
  double log2_ = -HUGE_VAL;
};

/// What is known of the results of an operation that is allowed, before its work.
struct Outcome {
  struct Result {
    Encoding encoding;
    std::shared_ptr<const Origin> origin;
  };
  double failure_log2;  ///< log2 of the probability that a rotation decides wrongly
  std::vector<Result> results;
  Under under = Under::lwe;  ///< of the results
};

/// The plan says what is to be done, the account whether it may be, and the evaluator does it.
/// Operations on a `Batch` take arrays, or ciphertexts of the host.
struct Server::State : std::enable_shared_from_this<State> {
  State(const EvaluationKeys& keys, std::shared_ptr<const run::SessionState> on,
        const ServerOptions& options, std::shared_ptr<Failures> counted = {});

  Parameters parameters;
  KeyId key_id;
  Transform transform;
  RotationSchedule rotation;
  Account account;
  std::shared_ptr<const run::SessionState> session;
  std::shared_ptr<const run::Fleet> fleet;  ///< the session's, with the server's least share
  std::shared_ptr<const lattice::lwe::Keys> server_keys;
  lattice::lwe::Evaluator evaluator;
  std::shared_ptr<Failures> failures;  ///< of a dry run; null for a server with keys

  // ---- checks

  void check_owner(const Parameters& of, const KeyId& key) const;
  void check(const Ciphertexts& c) const;
  void check(const Array& a) const { check_owner(a.state_->parameters, a.state_->key_id); }
  /// Returns the inputs' encoding, which is one, as their key is. `due` is their number, 0 for any
  /// from one on.
  template <class Batch>
  Encoding check_together(std::string_view what, std::span<const Batch* const> inputs,
                          std::size_t due = 0) const;
  /// Returns how tables of one input that share phases are read.
  Reading check_together(std::span<const Lut> luts, Encoding encoding) const;

  // ---- what is known of operands and results

  static Encoding encoding_of(const Ciphertexts& c) { return c.encoding; }
  static Encoding encoding_of(const Array& a) { return a.state_->encoding; }
  static Under under_of(const Ciphertexts& c) { return c.under; }
  static Under under_of(const Array& a) { return a.state_->under(); }
  std::shared_ptr<const Origin> origin(const Ciphertexts& c) const;
  static std::shared_ptr<const Origin> origin(const Array& a) { return a.state_->origin; }
  static std::uint32_t as_bits_of(const Ciphertexts& c) { return largest_of(c).as_bits; }
  static std::uint32_t as_bits_of(const Array& a) { return origin(a)->largest.as_bits; }

  /// Operands and their weights.
  struct Operands {
    std::vector<std::shared_ptr<const Origin>> held;
    std::vector<Term> terms;
    double most = 0;  ///< noise of an operand
    Under under = Under::lwe;
  };
  /// All weights are 1 where there are none.
  template <class Batch>
  Operands operands(std::span<const Batch* const> inputs,
                    std::span<const std::int32_t> weights = {}) const;
  /// Returns the noise of what is rotated, under the LWE key: each encrypted operand counts as
  /// bootstrapped at least, see Account.
  double rotated_noise(std::vector<Term> terms, Under under) const;
  /// Returns the origin of what one operation makes of each of the inputs.
  std::shared_ptr<const Origin> bootstrapped(std::span<const Term> inputs,
                                             std::span<const std::uint64_t> tags,
                                             std::span<const std::uint32_t> index, Largest largest,
                                             const Promise& promise, Encoding output,
                                             Under under) const;
  /// By how much tables' values are off where they are rounded to units of Q. Under the LWE key
  /// that is scaled to q, where it is nothing beside the errors.
  double table_offset(Encoding output, Under under) const;

  // ---- batches

  Ciphertexts empty(Encoding encoding, std::size_t count, Under under) const;
  Array array(Encoding encoding, std::shared_ptr<const Origin> origin, lattice::lwe::Array rows,
              std::shared_ptr<const Ciphertexts> host = {}) const;
  /// `host` is empty, or `ciphertexts`, and kept where it is of use.
  Array upload(const Ciphertexts& ciphertexts, std::shared_ptr<const Ciphertexts> host) const;
  Ciphertexts download(const Array& array) const;
  Array take(const Array& a, std::span<const std::uint32_t> index) const;
  Array concatenate(std::span<const Array> arrays) const;

  /// Does the plan's work; `origin` makes what is known of the result, while devices work.
  using MakeOrigin = std::function<std::shared_ptr<const Origin>()>;
  Ciphertexts run(const Plan& plan, const MakeOrigin& origin,
                  std::span<const Ciphertexts* const> inputs) const;
  Array run(const Plan& plan, const MakeOrigin& origin, std::span<const Array* const> inputs) const;
  /// Does a circuit's work on an array, which rotates.
  std::vector<Array> run(const Array& a, const Outcome& outcome,
                         const lattice::lwe::Work& work) const;

  // ---- operations

  template <class Batch>
  Batch gate(Gate gate, std::span<const Batch* const> inputs, std::optional<Encoding> output,
             Under under) const;
  template <class Batch>
  Batch mux(const Batch& select, const Batch& a, const Batch& b, Under under) const;
  template <class Batch>
  Batch bootstrap(const Batch& a, std::optional<Encoding> output, Under under) const;
  template <class Batch>
  Batch apply(std::span<const Lut> luts, std::span<const std::uint32_t> index, const Batch& a,
              std::size_t count, std::optional<std::uint32_t> within, Under under) const;
  /// What is known of look-ups that are allowed: `luts` and `index` outlive the origin's maker.
  struct LookUp {
    double failure_log2;  ///< log2 of the probability that a rotation decides wrongly
    MakeOrigin origin;
  };
  LookUp check_apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                     const Operands& of, Encoding encoding, std::optional<std::uint32_t> within,
                     Under under) const;
  template <class Batch>
  Batch to_lwe_key(const Batch& a) const;
  std::vector<Array> apply_many(std::span<const Lut> luts, const Array& a,
                                std::optional<std::uint32_t> within, Under under) const;
  /// What is known of the output of tables, where result `slot` of a shared rotation is one.
  std::shared_ptr<const Origin> looked_up(std::span<const Lut> luts,
                                          std::span<const std::uint32_t> index,
                                          const Reading& reading, std::size_t slot,
                                          const std::shared_ptr<const Origin>& input,
                                          const Promise& promise, Under under) const;
  /// The same of a sum of coefficients of an accumulator, which has that noise and offset.
  std::shared_ptr<const Origin> summed_up(const Lut& lut, bool arbitrary, double noise,
                                          double offset, const Origin& input,
                                          const Promise& promise) const;
  /// Divides messages by `by`, of which they and p are multiples: the words stay.
  Array divided(const Array& a, std::uint32_t by) const;
  template <class Batch>
  Bound bound(const Lut& lut, const Batch& a) const;
  /// Checks a sum; `all` outlives the origin's maker.
  MakeOrigin check_linear(const Operands& all, Encoding input, std::int32_t constant, bool modular,
                          std::optional<std::uint32_t> stated, bool exact = true) const;
  template <class Batch>
  Batch linear(std::span<const std::int32_t> weights, std::span<const Batch* const> inputs,
               std::int32_t constant, bool modular, std::optional<std::uint32_t> stated,
               bool exact = true) const;
  Array linear(const Weights& weights, const Array& a, std::span<const std::int32_t> constants,
               bool modular, std::optional<std::uint32_t> stated, bool exact = true) const;
  Array with_range(const Array& a, MessageRange range) const;
  /// Negates bits.
  template <class Batch>
  Batch not_(const Batch& a) const;

  /// Runs a program of operations, on one device; `inputs` outlive the call.
  std::vector<Array> run(const Program::State& program, std::span<const Array* const> inputs) const;

  // ---- what the account says of circuits of large precision

  Outcome of_floor(const Array& a, unsigned round_bits) const;
  Outcome of_sign(const Array& a, Encoding output) const;
  Outcome of_decomposition(const Array& a) const;

  // ---- operations whose inputs are known but for one

  Array gate(Gate gate, const Array& a, std::span<const std::uint32_t> ones,
             std::optional<Encoding> output) const;
  Array mux(const Array& select, std::span<const std::uint32_t> a,
            std::span<const std::uint32_t> b) const;
  Array mux(std::span<const std::uint32_t> select, const Array& a, const Array& b) const;
  Array trivial_array(std::span<const std::uint32_t> messages, Encoding encoding,
                      Under under) const;

  /// What a gate makes of the one input that is not known.
  enum class Made : std::uint8_t { zero, one, same, opposite };
  /// Makes `made(i)` of ciphertext i, or of the only one; there is no bootstrap.
  template <class Function>
  Array make(const Array& x, std::size_t count, const Function& made) const;
};

/// What circuits use of a server and its arrays, and users do not see.
struct Access {
  using State = Server::State;
  static const State& of(const Server& server) { return *server.state_; }
  static const Array::State& of(const Array& array) { return *array.state_; }
};

}  // namespace whorl::binfhe
