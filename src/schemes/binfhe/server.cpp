#include "whorl/binfhe/server.h"

#include <array>

#include "backend/contract/counting.h"
#include "math/text.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/program.h"
#include "schemes/binfhe/server_state.h"

namespace whorl::binfhe {

namespace {

backend::BlindRotation rotation_of(RotationSchedule schedule) {
  switch (schedule) {
    case RotationSchedule::single:
      return backend::BlindRotation::single;
    case RotationSchedule::cluster:
      return backend::BlindRotation::cluster;
    case RotationSchedule::grid:
      return backend::BlindRotation::grid;
    case RotationSchedule::shared:
      return backend::BlindRotation::shared;
    default:
      return backend::BlindRotation::automatic;
  }
}

/// Refuses a way that the keys' kind does not have. (Other ways fall back on `single`.)
void check_rotation(const Parameters& p, RotationSchedule schedule) {
  const Rotation& rotation = p.literal().rotation;
  if (schedule == RotationSchedule::grid &&
      (rotation.kind != RotationKind::ginx || rotation.raised_by != 1))
    throw ParameterError(
        "rotation: " + p.name() +
        " does not rotate over blocks that meet in device memory (grid), which "
        "takes keys of GINX without a raised modulus; leave the choice to the device");
}

/// Refuses keys that do not fit before devices are looked for: they are the caller's mistake.
void check_keys(const EvaluationKeys& keys) {
  const auto expect = [](const char* what, const WordArray& got, std::size_t words,
                         std::size_t bytes) {
    if (got.size() != words || got.word_bytes() != bytes)
      throw ShapeError("the " + std::string(what) + " has " + std::to_string(got.size()) +
                       " words of " + std::to_string(got.word_bytes()) +
                       " bytes, but the parameters call for " + std::to_string(words) + " of " +
                       std::to_string(bytes));
  };
  const Parameters& p = keys.parameters;
  expect("blind-rotation key", keys.rotation_b, p.rotation_key_rows() * p.rotation_row_words(),
         narrow(p) ? 4 : 8);
  if (keys.small_modulus_rotations.size() + 1 != p.rotation_keys())
    throw ShapeError("there are " + std::to_string(keys.small_modulus_rotations.size()) +
                     " blind-rotation keys for small moduli, but the parameters call for " +
                     std::to_string(p.rotation_keys() - 1));
  for (std::size_t k = 1; k < p.rotation_keys(); ++k)
    expect("blind-rotation key for small moduli", keys.small_modulus_rotations[k - 1].b,
           p.rotation_key_rows(k) * p.rotation_row_words(), narrow(p) ? 4 : 8);
  expect("key-switching key", keys.switch_b, p.key_switch_rows(), word_bytes_for(p.Q_ks()));
}

}  // namespace

Encoding Array::encoding() const { return state_->encoding; }
std::size_t Array::count() const { return state_->rows.count(); }
std::size_t Array::bytes() const { return state_->rows.bytes(); }
Under Array::under() const { return state_->under(); }
double Array::noise() const { return state_->origin->noise; }
std::uint32_t Array::largest() const { return state_->origin->largest.any; }

std::optional<MessageRange> Array::range() const { return state_->origin->largest.range; }
std::uint32_t Array::error_bound() const { return state_->decrypted().error_bound; }
double Array::failure_log2() const { return state_->decrypted().failure_log2; }

std::string_view gate_name(Gate gate) { return rule_of(gate).name; }
unsigned gate_inputs(Gate gate) { return rule_of(gate).inputs; }

Server::Server(const EvaluationKeys& keys, const SessionOptions& where,
               const ServerOptions& options) {
  check_keys(keys);
  check_rotation(keys.parameters, options.rotation);
  state_ = math::with_memory_for("a server", [&] {
    auto session = std::make_shared<const run::SessionState>(where, rotation_of(options.rotation));
    return std::make_shared<const State>(keys, std::move(session), options);
  });
}
Server::Server(const EvaluationKeys& keys, const Session& session, const ServerOptions& options) {
  check_keys(keys);
  if (options.rotation != RotationSchedule::automatic)
    throw ParameterError(
        "rotation: a session has opened its devices, which choose for each batch; give the server "
        "SessionOptions, so that it opens devices of its own");
  state_ = math::with_memory_for("a server", [&] {
    return std::make_shared<const State>(keys, run::state_of(session), options);
  });
}
Server::Server(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

const Parameters& Server::parameters() const { return state_->parameters; }
const KeyId& Server::key_id() const { return state_->key_id; }
const std::string& Server::device() const { return state_->session->name; }
const std::vector<std::string>& Server::devices() const { return state_->session->names; }
std::vector<FailedDevice> Server::failed_devices() const { return state_->fleet->failed(); }
Transform Server::transform() const { return state_->transform; }
RotationSchedule Server::rotation() const { return state_->rotation; }
double Server::allow_failure() const { return state_->account.allow_failure(); }
unsigned Server::threads() const { return state_->fleet->lane(0)->device().threads(); }
std::vector<RunCounters> Server::device_counters() const {
  const auto* const counts =
      dynamic_cast<const backend::Counting*>(&state_->fleet->lane(0)->device());
  return counts ? counts->counters() : std::vector<RunCounters>();
}
std::optional<std::size_t> Server::device_keys() const {
  const auto* const counts =
      dynamic_cast<const backend::Counting*>(&state_->fleet->lane(0)->device());
  return counts ? std::optional(counts->keys()) : std::nullopt;
}
std::size_t Server::key_bytes() const {
  std::size_t sum = 0;
  for (std::size_t l = 0; l < state_->fleet->size(); ++l)
    sum += state_->server_keys->bytes_on(*state_->fleet->lane(l));
  return sum;
}

Ciphertexts Server::gate(Gate gate, std::span<const Ciphertexts* const> inputs,
                         std::optional<Encoding> output, Under under) const {
  return state_->gate(gate, inputs, output, under);
}
Array Server::gate(Gate gate, std::span<const Array* const> inputs, std::optional<Encoding> output,
                   Under under) const {
  return state_->gate(gate, inputs, output, under);
}
Array Server::gate(Gate gate, const Array& a, std::span<const std::uint32_t> ones,
                   std::optional<Encoding> output) const {
  return state_->gate(gate, a, ones, output);
}
Array Server::mux(const Array& select, std::span<const std::uint32_t> a,
                  std::span<const std::uint32_t> b) const {
  return state_->mux(select, a, b);
}
Array Server::mux(std::span<const std::uint32_t> select, const Array& a, const Array& b) const {
  return state_->mux(select, a, b);
}
Array Array::gate(Gate gate, const Array& other) const {
  const Array* inputs[] = {this, &other};
  return state_->open_server()->gate(gate, std::span<const Array* const>(inputs), {}, Under::lwe);
}
Array Array::gate(Gate gate, bool bit) const {
  const std::uint32_t bits[] = {bit};
  return state_->open_server()->gate(gate, *this, bits, {});
}
Array Array::operator~() const { return state_->open_server()->not_(*this); }
Ciphertexts Server::not_(const Ciphertexts& a) const { return state_->not_(a); }
Array Server::not_(const Array& a) const { return state_->not_(a); }
Ciphertexts Server::mux(const Ciphertexts& select, const Ciphertexts& a, const Ciphertexts& b,
                        Under under) const {
  return state_->mux(select, a, b, under);
}
Array Server::mux(const Array& select, const Array& a, const Array& b, Under under) const {
  return state_->mux(select, a, b, under);
}
Ciphertexts Server::bootstrap(const Ciphertexts& a, std::optional<Encoding> output,
                              Under under) const {
  return state_->bootstrap(a, output, under);
}
Array Server::bootstrap(const Array& a, std::optional<Encoding> output, Under under) const {
  return state_->bootstrap(a, output, under);
}
Ciphertexts Server::apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                          const Ciphertexts& a, std::optional<std::uint32_t> within,
                          Under under) const {
  return state_->apply(luts, index, a, a.count, within, under);
}
Array Server::apply(std::span<const Lut> luts, std::span<const std::uint32_t> index, const Array& a,
                    std::optional<std::uint32_t> within, Under under) const {
  return state_->apply(luts, index, a, a.count(), within, under);
}
Ciphertexts Server::to_lwe_key(const Ciphertexts& a) const { return state_->to_lwe_key(a); }
Array Server::to_lwe_key(const Array& a) const { return state_->to_lwe_key(a); }
Ciphertexts Server::linear(std::span<const std::int32_t> weights,
                           std::span<const Ciphertexts* const> inputs, std::int32_t constant,
                           bool modular, std::optional<std::uint32_t> largest, bool exact) const {
  return state_->linear(weights, inputs, constant, modular, largest, exact);
}
Array Server::linear(std::span<const std::int32_t> weights, std::span<const Array* const> inputs,
                     std::int32_t constant, bool modular, std::optional<std::uint32_t> largest,
                     bool exact) const {
  return state_->linear(weights, inputs, constant, modular, largest, exact);
}
Array Server::linear(const Weights& weights, const Array& a,
                     std::span<const std::int32_t> constants, bool modular,
                     std::optional<std::uint32_t> largest, bool exact) const {
  return state_->linear(weights, a, constants, modular, largest, exact);
}
std::uint32_t Server::error_bound(const Lut& lut, const Ciphertexts& a) const {
  return state_->bound(lut, a).output;
}
std::uint32_t Server::error_bound(const Lut& lut, const Array& a) const {
  return state_->bound(lut, a).output;
}
std::uint32_t Server::reach(const Lut& lut, const Array& a) const {
  return state_->bound(lut, a).input;
}
std::vector<Array> Server::apply_many(std::span<const Lut> luts, const Array& a,
                                      std::optional<std::uint32_t> within, Under under) const {
  return state_->apply_many(luts, a, within, under);
}
Array Server::divided(const Array& a, std::uint32_t by) const { return state_->divided(a, by); }

Ciphertexts Server::trivial(std::span<const std::uint32_t> messages, Encoding encoding,
                            Under under) const {
  return trivial_ciphertexts(state_->parameters, state_->key_id, messages, encoding, under);
}
Array Server::with_range(const Array& a, MessageRange range) const {
  return state_->with_range(a, range);
}
Array Server::trivial_array(std::span<const std::uint32_t> messages, Encoding encoding,
                            Under under) const {
  return state_->trivial_array(messages, encoding, under);
}

Array Server::upload(const Ciphertexts& ciphertexts) const {
  return state_->upload(ciphertexts, {});
}
Array Server::upload(const std::shared_ptr<const Ciphertexts>& ciphertexts) const {
  if (!ciphertexts) throw ShapeError("upload: there are no ciphertexts");
  return state_->upload(*ciphertexts, ciphertexts);
}
Ciphertexts Server::download(const Array& array) const { return state_->download(array); }
void Server::check(const Array& array) const {
  state_->evaluator.check(std::array{&array.state_->rows});
  state_->check(array);
}
Array Server::take(const Array& a, std::span<const std::uint32_t> index) const {
  return state_->take(a, index);
}
Array Server::concatenate(std::span<const Array> arrays) const {
  return state_->concatenate(arrays);
}
std::vector<Array> Server::run(const Program& program, std::span<const Array* const> inputs) const {
  return state_->run(*program.state_, inputs);
}
void Server::synchronise() const { state_->fleet->wait(); }

}  // namespace whorl::binfhe
