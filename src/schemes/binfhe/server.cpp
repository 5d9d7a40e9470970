#include "whorl/binfhe/server.h"

#include <mutex>
#include <string>

#include "run/fleet.h"
#include "run/keys.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/plan.h"

namespace whorl::binfhe {

namespace {

backend::BlindRotation rotation_of(RotationSchedule schedule) {
  switch (schedule) {
    case RotationSchedule::single:
      return backend::BlindRotation::single;
    case RotationSchedule::cluster:
      return backend::BlindRotation::cluster;
    case RotationSchedule::shared:
      return backend::BlindRotation::shared;
    default:
      return backend::BlindRotation::automatic;
  }
}

/// Before devices are looked for: keys that do not fit are the caller's mistake.
void check_keys(const EvaluationKeys& keys) {
  const auto expect = [](const char* what, const WordArray& got, std::size_t words,
                         std::size_t bytes) {
    if (got.size() != words || got.word_bytes() != bytes)
      throw ShapeError(std::string(what) + " has " + std::to_string(got.size()) + " words of " +
                       std::to_string(got.word_bytes()) + " bytes where " + std::to_string(words) +
                       " of " + std::to_string(bytes) + " are due");
  };
  const Parameters& p = keys.parameters;
  expect("blind-rotation key", keys.rotation_b, p.rotation_key_rows() * p.rotation_row_words(),
         narrow(p) ? 4 : 8);
  expect("key-switching key", keys.switch_b, p.key_switch_rows(), word_bytes_for(p.Q_ks()));
}

std::shared_ptr<const run::Fleet> open_fleet(const ServerOptions& options) {
  run::FleetOptions fleet;
  fleet.interrupt = options.interrupt;
  fleet.least_share = options.least_share;
  return run::Fleet::open(options.device, {options.threads, {}, rotation_of(options.rotation)},
                          fleet);
}

std::shared_ptr<const lattice::lwe::Keys> make_keys(const EvaluationKeys& keys, Transform transform,
                                                    const ServerOptions& options) {
  const auto budget = run::budget_of(options.key_cache, options.key_budget);
  return std::make_shared<const lattice::lwe::Keys>(
      budget, lattice::lwe::KeyMaterial{
                  rotation_shape(keys.parameters, transform), keys.rotation_seed, keys.rotation_b,
                  switch_shape(keys.parameters), keys.switch_seed, keys.switch_b});
}

}  // namespace

struct Array::State {
  Parameters parameters;
  KeyId key_id;
  Encoding encoding;
  lattice::lwe::Array rows;
  std::shared_ptr<const Ciphertexts> host = {};  ///< that it was uploaded from
};

Encoding Array::encoding() const { return state_->encoding; }
std::size_t Array::count() const { return state_->rows.count(); }
std::size_t Array::bytes() const { return state_->rows.bytes(); }

std::string_view gate_name(Gate gate) { return rule_of(gate).name; }
unsigned gate_inputs(Gate gate) { return rule_of(gate).inputs; }

/// What a call needs, whether its operands are arrays or lie on the host.
struct Server::State {
  State(const EvaluationKeys& keys, const ServerOptions& options)
      : parameters(keys.parameters),
        key_id(keys.key_id),
        transform(options.transform.value_or(keys.parameters.literal().transform)),
        rotation(options.rotation),
        fleet(open_fleet(options)),
        server_keys(make_keys(keys, transform, options)),
        evaluator(fleet, server_keys, most_memory(parameters)),
        device_names(fleet->names()),
        all_devices(fleet->name()) {
    // Now rather than in the first call, so that a device that cannot is refused here.
    for (std::size_t l = 0; l < fleet->size(); ++l) server_keys->on(*fleet->lane(l));
  }

  // ---- checks

  void check_owner(const Parameters& of, const KeyId& key) const {
    if (of != parameters)
      throw ParameterMismatchError("ciphertexts under parameters \"" + of.name() +
                                   "\" were given to a server of \"" + parameters.name() + "\"");
    if (key != key_id)
      throw KeyMismatchError("ciphertexts of another key were given to this server");
  }
  void check(const Ciphertexts& c) const {
    check_owner(c.parameters, c.key_id);
    check_encoding(parameters, c.encoding);
    if (c.data.size() / c.row() != c.count || c.data.size() % c.row() != 0)
      throw ShapeError(std::to_string(c.count) + " ciphertexts need " +
                       std::to_string(c.count * c.row()) + " words, not " +
                       std::to_string(c.data.size()));
  }
  void check(const Array& a) const { check_owner(a.state_->parameters, a.state_->key_id); }

  static Encoding encoding_of(const Ciphertexts& c) { return c.encoding; }
  static Encoding encoding_of(const Array& a) { return a.encoding(); }

  /// Their encoding, which is one; `due` of them, or any number from one on.
  template <class Batch>
  Encoding check_together(std::string_view what, std::span<const Batch* const> inputs,
                          std::size_t due = 0) const {
    if (inputs.empty() || (due != 0 && inputs.size() != due))
      throw ShapeError(std::string(what) + " takes " + (due ? std::to_string(due) : "some") +
                       " inputs, not " + std::to_string(inputs.size()));
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      check(*inputs[k]);
      if constexpr (std::is_same_v<Batch, Ciphertexts>)
        if (inputs[k]->count != inputs[0]->count)
          throw ShapeError("input " + std::to_string(k) + " has " +
                           std::to_string(inputs[k]->count) + " ciphertexts, input 0 has " +
                           std::to_string(inputs[0]->count));
      if (encoding_of(*inputs[k]) != encoding_of(*inputs[0]))
        throw EncodingError("input " + std::to_string(k) + " has " +
                            describe(encoding_of(*inputs[k])) + ", input 0 has " +
                            describe(encoding_of(*inputs[0])));
    }
    return encoding_of(*inputs[0]);
  }
  void check_tables(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                    Encoding encoding, std::size_t count) const {
    if (luts.empty()) throw ShapeError("apply: no look-up table");
    for (std::size_t l = 0; l < luts.size(); ++l) {
      if (luts[l].parameters() != parameters)
        throw ParameterMismatchError("table " + std::to_string(l) + " was made for \"" +
                                     luts[l].parameters().name() + "\"");
      if (luts[l].input() != luts[0].input() || luts[l].output() != luts[0].output() ||
          luts[l].kind() != luts[0].kind())
        throw EncodingError("table " + std::to_string(l) +
                            " differs from table 0 in encodings or kind");
    }
    if (luts[0].input() != encoding)
      throw EncodingError("the table is for " + describe(luts[0].input()) +
                          ", the ciphertexts have " + describe(encoding));
    if (!index.empty() && index.size() != count)
      throw ShapeError("apply: " + std::to_string(index.size()) + " table numbers for " +
                       std::to_string(count) + " ciphertexts");
    for (std::size_t i = 0; i < index.size(); ++i)
      if (index[i] >= luts.size())
        throw ShapeError("apply: ciphertext " + std::to_string(i) + " asks for table " +
                         std::to_string(index[i]) + " of " + std::to_string(luts.size()));
  }

  // ---- one plan, two kinds of batches

  Ciphertexts empty(Encoding encoding, std::size_t count) const {
    return {parameters, key_id, encoding, count, {}, {}, {}};
  }
  Array wrap(Encoding encoding, lattice::lwe::Array rows,
             std::shared_ptr<const Ciphertexts> host = {}) const {
    return Array(std::make_shared<const Array::State>(
        Array::State{parameters, key_id, encoding, std::move(rows), std::move(host)}));
  }
  /// `host` is empty, or `ciphertexts`, and kept where it is of use.
  Array upload(const Ciphertexts& ciphertexts, std::shared_ptr<const Ciphertexts> host) const {
    check(ciphertexts);
    if (fleet->size() == 1) host = {};  // the caller has it, too
    auto rows =
        evaluator.upload(form_of(parameters), ciphertexts.count, ciphertexts.data.data(), host);
    return wrap(ciphertexts.encoding, std::move(rows), std::move(host));
  }

  Ciphertexts run(const Plan& plan, std::span<const Ciphertexts* const> inputs) const {
    Ciphertexts out = empty(plan.output, inputs[0]->count);
    std::vector<lattice::lwe::HostRows> rows;
    for (const Ciphertexts* input : inputs)
      rows.push_back({form_of(parameters), input->data.data()});
    // Room is made when the first results are there, so that a GPU works meanwhile.
    std::once_flag made;
    const auto room = [&]() -> void* {
      std::call_once(made, [&] { out.data.resize(out.count * out.row()); });
      return out.data.data();
    };
    evaluator.stream(out.count, plan.memory, rows, plan.rotates, plan.work, room);
    return out;
  }
  Array run(const Plan& plan, std::span<const Array* const> inputs) const {
    std::vector<const lattice::lwe::Array*> rows;
    for (const Array* input : inputs) rows.push_back(&input->state_->rows);
    const lattice::lwe::Form out[] = {form_of(parameters)};
    return wrap(plan.output, evaluator.map(rows, out, plan.rotates, plan.work)[0]);
  }

  template <class Batch>
  Batch gate(Gate gate, std::span<const Batch* const> inputs,
             std::optional<Encoding> output) const {
    const GateRule& rule = rule_of(gate);
    const Encoding input = check_together(rule.name, inputs, rule.inputs);
    return run(plan_gate(parameters, gate, input, output), inputs);
  }
  template <class Batch>
  Batch mux(const Batch& select, const Batch& a, const Batch& b) const {
    const Batch* inputs[] = {&select, &a, &b};
    const std::span<const Batch* const> all = inputs;
    return run(plan_mux(parameters, check_together("mux", all)), all);
  }
  template <class Batch>
  Batch bootstrap(const Batch& a, std::optional<Encoding> output) const {
    const Batch* inputs[] = {&a};
    const std::span<const Batch* const> all = inputs;
    return run(plan_bootstrap(parameters, check_together("bootstrap", all), output), all);
  }
  template <class Batch>
  Batch apply(std::span<const Lut> luts, std::span<const std::uint32_t> index, const Batch& a,
              std::size_t count) const {
    check(a);
    check_tables(luts, index, encoding_of(a), count);
    const Batch* inputs[] = {&a};
    return run(plan_look_up(parameters, luts, index), std::span<const Batch* const>(inputs));
  }
  template <class Batch>
  Batch linear(std::span<const std::int32_t> weights, std::span<const Batch* const> inputs,
               std::int32_t constant) const {
    if (inputs.empty() || weights.size() != inputs.size())
      throw ShapeError("linear: " + std::to_string(weights.size()) + " weights for " +
                       std::to_string(inputs.size()) + " inputs; at least one");
    const Encoding input = check_together("linear", inputs);
    return run(plan_linear(parameters, weights, constant, input), inputs);
  }
  template <class Batch>
  Batch negated(const Batch& a) const {
    const std::int32_t weights[] = {-1};
    const Batch* inputs[] = {&a};
    return linear<Batch>(weights, inputs, 1);
  }

  Parameters parameters;
  KeyId key_id;
  Transform transform;
  RotationSchedule rotation;
  std::shared_ptr<const run::Fleet> fleet;
  std::shared_ptr<const lattice::lwe::Keys> server_keys;
  lattice::lwe::Evaluator evaluator;
  std::vector<std::string> device_names;
  std::string all_devices;
};

Server::Server(const EvaluationKeys& keys, const ServerOptions& options) {
  check_keys(keys);
  state_ = std::make_unique<State>(keys, options);
}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

const Parameters& Server::parameters() const { return state_->parameters; }
const KeyId& Server::key_id() const { return state_->key_id; }
const std::string& Server::device() const { return state_->all_devices; }
const std::vector<std::string>& Server::devices() const { return state_->device_names; }
std::vector<FailedDevice> Server::failed_devices() const { return state_->fleet->failed(); }
Transform Server::transform() const { return state_->transform; }
RotationSchedule Server::rotation() const { return state_->rotation; }
unsigned Server::threads() const { return state_->fleet->lane(0)->device().threads(); }
std::size_t Server::key_bytes() const {
  std::size_t sum = 0;
  for (std::size_t l = 0; l < state_->fleet->size(); ++l)
    sum += state_->server_keys->bytes_on(*state_->fleet->lane(l));
  return sum;
}

Ciphertexts Server::gate(Gate gate, std::span<const Ciphertexts* const> inputs,
                         std::optional<Encoding> output) const {
  return state_->gate(gate, inputs, output);
}
Array Server::gate(Gate gate, std::span<const Array* const> inputs,
                   std::optional<Encoding> output) const {
  return state_->gate(gate, inputs, output);
}
Ciphertexts Server::not_(const Ciphertexts& a) const { return state_->negated(a); }
Array Server::not_(const Array& a) const { return state_->negated(a); }
Ciphertexts Server::mux(const Ciphertexts& select, const Ciphertexts& a,
                        const Ciphertexts& b) const {
  return state_->mux(select, a, b);
}
Array Server::mux(const Array& select, const Array& a, const Array& b) const {
  return state_->mux(select, a, b);
}
Ciphertexts Server::bootstrap(const Ciphertexts& a, std::optional<Encoding> output) const {
  return state_->bootstrap(a, output);
}
Array Server::bootstrap(const Array& a, std::optional<Encoding> output) const {
  return state_->bootstrap(a, output);
}
Ciphertexts Server::apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                          const Ciphertexts& a) const {
  return state_->apply(luts, index, a, a.count);
}
Array Server::apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                    const Array& a) const {
  return state_->apply(luts, index, a, a.count());
}
Ciphertexts Server::linear(std::span<const std::int32_t> weights,
                           std::span<const Ciphertexts* const> inputs,
                           std::int32_t constant) const {
  return state_->linear(weights, inputs, constant);
}
Array Server::linear(std::span<const std::int32_t> weights, std::span<const Array* const> inputs,
                     std::int32_t constant) const {
  return state_->linear(weights, inputs, constant);
}

Ciphertexts Server::trivial(std::span<const std::uint32_t> messages, Encoding encoding) const {
  check_encoding(parameters(), encoding);
  Ciphertexts out = state_->empty(encoding, messages.size());
  out.data.resize(out.count * out.row());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i] >= encoding.p)
      throw EncodingError("message " + std::to_string(i) + " = " + std::to_string(messages[i]) +
                          " is not below p = " + std::to_string(encoding.p));
    out.data[i * out.row() + parameters().n()] =
        static_cast<std::uint32_t>(encode(messages[i], encoding, parameters().q()));
  }
  return out;
}
Array Server::trivial_array(std::span<const std::uint32_t> messages, Encoding encoding) const {
  return upload(trivial(messages, encoding));
}

Array Server::upload(const Ciphertexts& ciphertexts) const {
  return state_->upload(ciphertexts, {});
}
Array Server::upload(const std::shared_ptr<const Ciphertexts>& ciphertexts) const {
  if (!ciphertexts) throw ShapeError("upload: no ciphertexts");
  return state_->upload(*ciphertexts, ciphertexts);
}
Ciphertexts Server::download(const Array& array) const {
  state_->check(array);
  Ciphertexts out = state_->empty(array.encoding(), array.count());
  out.data.resize(out.count * out.row());
  state_->evaluator.download(array.state_->rows, out.data.data());
  return out;
}

Array Server::take(const Array& a, std::span<const std::uint32_t> index) const {
  state_->check(a);
  return state_->wrap(a.encoding(), state_->evaluator.take(a.state_->rows, index));
}
Array Server::concatenate(std::span<const Array> arrays) const {
  std::vector<const Array*> inputs;
  std::vector<lattice::lwe::Array> rows;
  for (const Array& array : arrays) {
    inputs.push_back(&array);
    rows.push_back(array.state_->rows);
  }
  const Encoding encoding =
      state_->check_together("concatenate", std::span<const Array* const>(inputs));
  return state_->wrap(encoding, state_->evaluator.join(rows));
}
void Server::synchronise() const { state_->fleet->wait(); }

}  // namespace whorl::binfhe
