#include "whorl/binfhe/server.h"

#include <array>
#include <mutex>

#include "backend/ops.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/scheduler.h"
#include "schemes/binfhe/server_on_devices.h"
#include "schemes/binfhe/test_vectors.h"

namespace whorl::binfhe {

namespace {

/// A threshold gate decides whether sum_k weights[k]·bit_k >= threshold in one blind rotation. The
/// sum of k bits of weight 1 takes values 0 … k of `sectors` sectors; it can be decided if those
/// below and those from the threshold on lie in opposite halves of the circle (FHEW's trick for AND
/// and OR; Micciancio and Polyakov 2021, §3 for three and more inputs).
struct GateRule {
  std::string_view name;
  unsigned inputs;
  unsigned threshold;
  bool negated;
  bool doubled;  ///< XOR: twice the sum, p = 4 only
};
constexpr std::array<GateRule, 11> gate_rules{{{"and", 2, 2, false, false},
                                               {"or", 2, 1, false, false},
                                               {"nand", 2, 2, true, false},
                                               {"nor", 2, 1, true, false},
                                               {"xor", 2, 1, false, true},
                                               {"xnor", 2, 1, true, true},
                                               {"majority", 3, 2, false, false},
                                               {"and3", 3, 3, false, false},
                                               {"or3", 3, 1, false, false},
                                               {"and4", 4, 4, false, false},
                                               {"or4", 4, 1, false, false}}};

const GateRule& rule_of(Gate gate) {
  const auto i = static_cast<std::size_t>(gate);
  if (i >= gate_rules.size()) throw EncodingError("gate number " + std::to_string(i) + " of 11");
  return gate_rules[i];
}

std::string describe(Encoding encoding) {
  return "p = " + std::to_string(encoding.p) + (encoding.padding ? " with padding" : "");
}

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
  auto expect = [](const char* what, std::size_t got, std::size_t want) {
    if (got != want)
      throw ShapeError(std::string(what) + " has " + std::to_string(got) + " words where " +
                       std::to_string(want) + " are due");
  };
  expect("blind-rotation key", keys.rotation_b.size(),
         keys.parameters.rotation_key_rows() * keys.parameters.N());
  expect("key-switching key", keys.switch_b.size(), keys.parameters.key_switch_rows());
}

std::vector<std::unique_ptr<Engine>> make_engines(
    const EvaluationKeys& keys, Transform transform,
    std::vector<std::unique_ptr<backend::Device>> devices) {
  std::vector<std::unique_ptr<Engine>> out;
  out.reserve(devices.size());
  for (auto& device : devices)
    out.push_back(std::make_unique<Engine>(std::move(device), keys, transform));
  return out;
}

}  // namespace

std::string_view gate_name(Gate gate) { return rule_of(gate).name; }
unsigned gate_inputs(Gate gate) { return rule_of(gate).inputs; }

struct Server::State {
  using Weights = Pipeline::Weights;
  using Inputs = Pipeline::Inputs;
  using Devices = std::vector<std::unique_ptr<backend::Device>>;

  /// `options.interrupt` comes from scheduled().
  State(const EvaluationKeys& keys, Devices devices, const ServerOptions& options,
        std::size_t least_share)
      : parameters(keys.parameters),
        key_id(keys.key_id),
        transform(options.transform.value_or(keys.parameters.literal().transform)),
        rotation(options.rotation),
        scheduler(make_engines(keys, transform, std::move(devices)), options.interrupt,
                  least_share) {
    for (const auto& engine : scheduler.engines()) device_names.push_back(engine->name());
    for (const std::string& name : device_names)
      all_devices += (all_devices.empty() ? "" : ", ") + name;
  }

  void check(const Ciphertexts& c) const {
    if (c.parameters != parameters)
      throw ParameterMismatchError("ciphertexts under parameters \"" + c.parameters.name() +
                                   "\" were given to a server of \"" + parameters.name() + "\"");
    if (c.key_id != key_id)
      throw KeyMismatchError("ciphertexts of another key were given to this server");
    check_encoding(parameters, c.encoding);
    if (c.data.size() / c.row() != c.count || c.data.size() % c.row() != 0)
      throw ShapeError(std::to_string(c.count) + " ciphertexts need " +
                       std::to_string(c.count * c.row()) + " words, not " +
                       std::to_string(c.data.size()));
  }
  void check_together(Inputs inputs) const {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      check(*inputs[k]);
      if (inputs[k]->count != inputs[0]->count)
        throw ShapeError("input " + std::to_string(k) + " has " + std::to_string(inputs[k]->count) +
                         " ciphertexts, input 0 has " + std::to_string(inputs[0]->count));
      if (inputs[k]->encoding != inputs[0]->encoding)
        throw EncodingError("input " + std::to_string(k) + " has " + describe(inputs[k]->encoding) +
                            ", input 0 has " + describe(inputs[0]->encoding));
    }
  }
  Ciphertexts run(std::size_t count, Encoding encoding, const Footprint& footprint,
                  std::function<Pipeline::Batch(const Pipeline&, Range)> work) const {
    Ciphertexts out{parameters, key_id, encoding, count, {}, {}};
    std::once_flag made;
    const auto room = [&]() -> std::span<std::uint32_t> {
      std::call_once(made, [&] { out.data.resize(count * out.row()); });
      return out.data;
    };
    scheduler.run({memory_of(parameters, footprint), std::move(work), out.row(), room}, count);
    return out;
  }

  template <class Word>
  Ciphertexts threshold_gate(Weights weights, Inputs inputs, std::uint64_t offset, bool negated,
                             Encoding output) const {
    check_encoding(parameters, output);
    return run(inputs[0]->count, output, {.inputs = inputs.size()},
               [&](const Pipeline& pipeline, Range range) {
                 const auto decided = pipeline.decide<Word>(
                     pipeline.combine(weights, inputs, 0, range), offset, negated, output);
                 return pipeline.switch_key_and_modulus<Word>(decided, parameters.q());
               });
  }

  template <class Word>
  Ciphertexts mux(const Ciphertexts& select, const Ciphertexts& a, const Ciphertexts& b) const {
    // AND(select, a) + AND(not select, b): at most one of them is 1 (Chillotti et al. 2020, §6).
    const Encoding encoding = select.encoding;
    const std::uint64_t offset = threshold_offset(parameters, 2, encoding);
    const std::uint64_t one = encode(1, encoding, parameters.q());
    const std::int64_t both[] = {1, 1}, without[] = {-1, 1};
    const Ciphertexts *first[] = {&select, &a}, *second[] = {&select, &b};
    return run(select.count, encoding, {.inputs = 2, .keeps_extract = true},
               [&](const Pipeline& pipeline, Range range) {
                 auto sum = pipeline.decide<Word>(pipeline.combine(both, first, 0, range), offset,
                                                  false, encoding);
                 const auto other = pipeline.decide<Word>(
                     pipeline.combine(without, second, one, range), offset, false, encoding);
                 pipeline.add(sum, other);
                 return pipeline.switch_key_and_modulus<Word>(sum, parameters.q());
               });
  }

  template <class Word>
  Ciphertexts apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                    const Ciphertexts& a) const {
    const Lut& like = luts[0];
    const std::vector<Word> vectors = test_vectors<Word>(parameters, luts);
    const std::int64_t one[] = {1};
    const Ciphertexts* inputs[] = {&a};
    const std::uint64_t N = parameters.N(), sectors = like.input().sectors();
    return run(a.count, like.output(), {.own_table = luts.size() > 1},
               [&](const Pipeline& pipeline, Range range) {
                 const PieceTables<Word> tables(vectors, N, index, range);
                 Pipeline::Batch lwe = pipeline.combine(one, inputs, 0, range);
                 if (like.kind() == LutKind::arbitrary) {
                   pipeline.round_for_rotation(lwe, N, (N + sectors) / (2 * sectors));
                   pipeline.remove_top_bit<Word>(lwe);
                 } else {
                   pipeline.round_for_rotation(lwe, 2 * N, (2 * N + sectors) / (2 * sectors));
                 }
                 const auto found = pipeline.rotate<Word>(lwe, tables.vectors, tables.index, 0);
                 return pipeline.switch_key_and_modulus<Word>(found, parameters.q());
               });
  }

  Parameters parameters;
  KeyId key_id;
  Transform transform;
  RotationSchedule rotation;
  Scheduler scheduler;
  std::vector<std::string> device_names;
  std::string all_devices;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(const EvaluationKeys& keys, ServerOptions options) {
  check_keys(keys);
  options.interrupt = scheduled(std::move(options.interrupt));
  state_ = std::make_unique<State>(
      keys,
      backend::make_devices(options.device,
                            {options.threads, options.interrupt, rotation_of(options.rotation)}),
      options, Scheduler::usual_share);
}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

const Parameters& Server::parameters() const { return state_->parameters; }
const KeyId& Server::key_id() const { return state_->key_id; }
const std::string& Server::device() const { return state_->all_devices; }
const std::vector<std::string>& Server::devices() const { return state_->device_names; }
std::vector<FailedDevice> Server::failed_devices() const {
  std::vector<FailedDevice> out;
  for (auto& [name, message] : state_->scheduler.failed()) out.push_back({name, message});
  return out;
}
Transform Server::transform() const { return state_->transform; }
RotationSchedule Server::rotation() const { return state_->rotation; }
unsigned Server::threads() const { return state_->scheduler.engines()[0]->threads(); }
std::size_t Server::key_bytes() const {
  std::size_t sum = 0;
  for (const auto& engine : state_->scheduler.engines()) sum += engine->key_bytes();
  return sum;
}

Ciphertexts Server::gate(Gate gate, std::span<const Ciphertexts* const> inputs,
                         std::optional<Encoding> output) const {
  const GateRule& rule = rule_of(gate);
  if (inputs.size() != rule.inputs)
    throw ShapeError(std::string(rule.name) + " takes " + std::to_string(rule.inputs) +
                     " inputs, not " + std::to_string(inputs.size()));
  state_->check_together(inputs);
  const Encoding encoding = inputs[0]->encoding;
  const std::uint64_t sectors = encoding.sectors();
  std::uint64_t offset = 0;
  if (rule.doubled) {
    if (sectors != 4)
      throw EncodingError(std::string(rule.name) + " needs bits with p = 4, not " +
                          describe(encoding));
    // Twice the sum is 0, q/2 or q: 1 in (q/4, 3q/4).
    const std::uint64_t two_n = 2ULL * parameters().N();
    offset = two_n - two_n / 4;
  } else {
    // Sums 0 … threshold-1 and threshold … inputs must fit into half circles.
    const std::uint64_t least =
        2 * std::max<std::uint64_t>(rule.threshold, rule.inputs - rule.threshold + 1);
    if (sectors % 2 != 0 || sectors < least)
      throw EncodingError(std::string(rule.name) + " needs bits with an even p of at least " +
                          std::to_string(least) + ", not " + describe(encoding) +
                          ": encrypt with p = " + std::to_string(least) +
                          " or give the gates before it output p = " + std::to_string(least));
    offset = threshold_offset(parameters(), rule.threshold, encoding);
  }
  const std::vector<std::int64_t> weights(rule.inputs, rule.doubled ? 2 : 1);
  const Encoding to = output.value_or(encoding);
  return narrow(parameters())
             ? state_->threshold_gate<std::uint32_t>(weights, inputs, offset, rule.negated, to)
             : state_->threshold_gate<std::uint64_t>(weights, inputs, offset, rule.negated, to);
}

Ciphertexts Server::not_(const Ciphertexts& a) const {
  const std::int32_t weights[] = {-1};
  const Ciphertexts* inputs[] = {&a};
  return linear(weights, inputs, 1);
}

Ciphertexts Server::mux(const Ciphertexts& select, const Ciphertexts& a,
                        const Ciphertexts& b) const {
  const Ciphertexts* inputs[] = {&select, &a, &b};
  state_->check_together(inputs);
  if (select.encoding.sectors() % 2 != 0 || select.encoding.sectors() < 4)
    throw EncodingError("mux needs bits with an even p of at least 4, not " +
                        describe(select.encoding));
  return narrow(parameters()) ? state_->mux<std::uint32_t>(select, a, b)
                              : state_->mux<std::uint64_t>(select, a, b);
}

Ciphertexts Server::bootstrap(const Ciphertexts& a, std::optional<Encoding> output) const {
  const Ciphertexts* inputs[] = {&a};
  state_->check_together(inputs);
  if (a.encoding.sectors() % 2 != 0)
    throw EncodingError("bootstrap refreshes bits with an even p, not " + describe(a.encoding) +
                        ": look other messages up in a table");
  const std::int64_t weights[] = {1};
  const std::uint64_t offset = threshold_offset(parameters(), 1, a.encoding);
  const Encoding to = output.value_or(a.encoding);
  return narrow(parameters())
             ? state_->threshold_gate<std::uint32_t>(weights, inputs, offset, false, to)
             : state_->threshold_gate<std::uint64_t>(weights, inputs, offset, false, to);
}

Ciphertexts Server::apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                          const Ciphertexts& a) const {
  state_->check(a);
  if (luts.empty()) throw ShapeError("apply: no look-up table");
  for (std::size_t l = 0; l < luts.size(); ++l) {
    if (luts[l].parameters() != parameters())
      throw ParameterMismatchError("table " + std::to_string(l) + " was made for \"" +
                                   luts[l].parameters().name() + "\"");
    if (luts[l].input() != luts[0].input() || luts[l].output() != luts[0].output() ||
        luts[l].kind() != luts[0].kind())
      throw EncodingError("table " + std::to_string(l) +
                          " differs from table 0 in encodings or kind");
  }
  if (luts[0].input() != a.encoding)
    throw EncodingError("the table is for " + describe(luts[0].input()) +
                        ", the ciphertexts have " + describe(a.encoding));
  if (!index.empty() && index.size() != a.count)
    throw ShapeError("apply: " + std::to_string(index.size()) + " table numbers for " +
                     std::to_string(a.count) + " ciphertexts");
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] >= luts.size())
      throw ShapeError("apply: ciphertext " + std::to_string(i) + " asks for table " +
                       std::to_string(index[i]) + " of " + std::to_string(luts.size()));
  return narrow(parameters()) ? state_->apply<std::uint32_t>(luts, index, a)
                              : state_->apply<std::uint64_t>(luts, index, a);
}

Ciphertexts Server::linear(std::span<const std::int32_t> weights,
                           std::span<const Ciphertexts* const> inputs,
                           std::int32_t constant) const {
  if (inputs.empty() || weights.size() != inputs.size())
    throw ShapeError("linear: " + std::to_string(weights.size()) + " weights for " +
                     std::to_string(inputs.size()) + " inputs; at least one");
  state_->check_together(inputs);
  const Encoding encoding = inputs[0]->encoding;
  const auto sectors = static_cast<std::int64_t>(encoding.sectors());
  const std::int64_t wrapped = (constant % sectors + sectors) % sectors;
  const std::uint64_t shift =
      encode(static_cast<std::uint64_t>(wrapped), encoding, parameters().q());
  const std::vector<std::int64_t> wide(weights.begin(), weights.end());
  return state_->run(inputs[0]->count, encoding, {.inputs = inputs.size(), .rotates = false},
                     [&](const Pipeline& pipeline, Range range) {
                       return pipeline.combine(wide, inputs, shift, range);
                     });
}

Ciphertexts Server::trivial(std::span<const std::uint32_t> messages, Encoding encoding) const {
  check_encoding(parameters(), encoding);
  Ciphertexts out{parameters(), key_id(), encoding, messages.size(), {}, {}};
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

Server ServerOnDevices::make(const EvaluationKeys& keys,
                             std::vector<std::unique_ptr<backend::Device>> devices,
                             const ServerOptions& options, std::size_t least_share) {
  check_keys(keys);
  return Server(std::make_unique<Server::State>(keys, std::move(devices), options, least_share));
}

}  // namespace whorl::binfhe
