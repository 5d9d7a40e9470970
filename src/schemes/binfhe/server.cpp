#include "whorl/binfhe/server.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "backend/ops.h"
#include "math/random.h"
#include "schemes/binfhe/derived.h"

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

/// Ciphertexts that go through the stages of a bootstrap together: bounds their memory.
constexpr std::size_t batch_limit = 512;

}  // namespace

std::string_view gate_name(Gate gate) { return rule_of(gate).name; }
unsigned gate_inputs(Gate gate) { return rule_of(gate).inputs; }

struct Server::State {
  using Weights = std::span<const std::int64_t>;
  using Inputs = std::span<const Ciphertexts* const>;
  /// LWE ciphertexts on the device.
  using Batch = backend::Buffer<std::uint32_t>;

  State(const EvaluationKeys& keys, ServerOptions options)
      : parameters(keys.parameters),
        key_id(keys.key_id),
        transform(options.transform.value_or(keys.parameters.literal().transform)),
        device(
            backend::make_device(options.device, {options.threads, std::move(options.interrupt)})),
        device_name(device->name()) {
    const ParameterLiteral& p = parameters.literal();
    auto expect = [](const char* what, std::size_t got, std::size_t want) {
      if (got != want)
        throw ShapeError(std::string(what) + " has " + std::to_string(got) + " words where " +
                         std::to_string(want) + " are due");
    };
    expect("blind-rotation key", keys.rotation_b.size(), parameters.rotation_key_rows() * p.N);
    expect("key-switching key", keys.switch_b.size(), parameters.key_switch_rows());

    backend::RotationShape shape{
        p.n,
        p.N,
        p.Q,
        parameters.keys_per_coefficient(),
        rotation_gadgets(parameters),
        transform == Transform::fft ? backend::Arithmetic::fft : backend::Arithmetic::ntt};
    if (narrow(parameters))
      rotation_key = prepare_rotation<std::uint32_t>(shape, keys);
    else
      rotation_key = prepare_rotation<std::uint64_t>(shape, keys);
    const backend::SwitchShape switch_shape{p.N, p.n, p.Q_ks, switch_gadget(parameters),
                                            p.key_switch == KeySwitch::table};
    switch (word_bytes_for(p.Q_ks)) {
      case 2:
        switch_key = prepare_switch<std::uint16_t>(switch_shape, keys);
        break;
      case 4:
        switch_key = prepare_switch<std::uint32_t>(switch_shape, keys);
        break;
      default:
        switch_key = prepare_switch<std::uint64_t>(switch_shape, keys);
    }
  }

  template <class Word>
  std::unique_ptr<backend::RotationKey> prepare_rotation(const backend::RotationShape& shape,
                                                         const EvaluationKeys& keys) const {
    const auto bodies = keys.rotation_b.as<Word>();
    return device->prepare_rotation_key(
        shape, backend::RowSource<Word>([&](std::size_t r, std::span<Word> a, std::span<Word> b) {
          math::expand_uniform<Word>(keys.rotation_seed, r, shape.Q, a);
          std::copy_n(bodies.begin() + static_cast<std::ptrdiff_t>(r * shape.N), shape.N,
                      b.begin());
        }));
  }
  template <class Word>
  std::unique_ptr<backend::SwitchKey> prepare_switch(const backend::SwitchShape& shape,
                                                     const EvaluationKeys& keys) const {
    const auto bodies = keys.switch_b.as<Word>();
    return device->prepare_switch_key(
        shape, backend::SwitchRows<Word>(
                   [&](std::size_t first, std::size_t count, Word* out, std::size_t stride) {
                     math::expand_uniform_rows<Word>(keys.switch_seed, first, shape.Q_ks,
                                                     {out, count, shape.n, stride});
                     for (std::size_t r = 0; r < count; ++r)
                       out[r * stride + shape.n] = bodies[first + r];
                   }));
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
  Ciphertexts empty(std::size_t count, Encoding encoding) const {
    Ciphertexts out{parameters, key_id, encoding, count, {}, {}};
    out.data.resize(count * out.row());
    return out;
  }

  std::size_t row() const { return parameters.n() + 1; }
  std::uint64_t two_n() const { return 2ULL * parameters.N(); }

  /// Rows begin … begin+count-1 of sum_k weights[k]·inputs[k] + (0, constant) modulo q.
  Batch combine(Weights weights, Inputs inputs, std::uint64_t constant, std::size_t begin,
                std::size_t count) const {
    std::vector<Batch> uploaded;
    std::vector<backend::Slice<const std::uint32_t>> slices;
    for (const Ciphertexts* input : inputs) {
      uploaded.push_back(device->allocate<std::uint32_t>(count * row()));
      device->upload(std::span(input->data).subspan(begin * row(), count * row()),
                     uploaded.back().slice());
    }
    slices.reserve(uploaded.size());
    for (const Batch& batch : uploaded) slices.push_back(batch.slice());
    Batch sum = device->allocate<std::uint32_t>(count * row());
    device->lwe_linear(parameters.q(), row(), weights, slices, constant, sum.slice());
    return sum;
  }

  /// Rounding is centred where the secret has a mean and something is rounded at all.
  bool centred(std::uint64_t from, std::uint64_t to) const {
    return parameters.literal().lwe_secret == SecretDistribution::binary && to % from != 0;
  }

  /// Rounds ciphertexts modulo q to `modulus` (2N or N) and adds `offset` to their phases.
  void round_for_rotation(Batch& lwe, std::uint64_t modulus, std::uint64_t offset) const {
    device->modulus_switch(parameters.q(), modulus, row(), centred(parameters.q(), modulus),
                           std::as_const(lwe).slice(), lwe.slice());
    add_constant(lwe, modulus, offset);
  }
  void add_constant(Batch& lwe, std::uint64_t modulus, std::uint64_t constant) const {
    const std::int64_t one[] = {1};
    const backend::Slice<const std::uint32_t> in[] = {std::as_const(lwe).slice()};
    device->lwe_linear(modulus, row(), one, in, constant, lwe.slice());
  }

  /// Blind rotation of ciphertexts modulo 2N by test vectors, extraction of coefficient 0 plus
  /// `constant`: LWE (B, N+1) modulo Q.
  template <class Word>
  backend::Buffer<Word> rotate(const Batch& lwe, std::span<const Word> test_vectors,
                               std::span<const std::uint32_t> index, std::uint64_t constant) const {
    const std::size_t count = index.size(), N = parameters.N();
    auto luts = device->allocate<Word>(test_vectors.size());
    device->upload(test_vectors, luts.slice());
    auto which = device->allocate<std::uint32_t>(count);
    device->upload(index, which.slice());
    auto rlwe = device->allocate<Word>(count * 2 * N);
    device->blind_rotate(*rotation_key, lwe.slice(), std::as_const(luts).slice(),
                         std::as_const(which).slice(), rlwe.slice());
    auto extracted = device->allocate<Word>(count * (N + 1));
    device->sample_extract(parameters.Q(), parameters.N(), constant, std::as_const(rlwe).slice(),
                           extracted.slice());
    return extracted;
  }

  /// LWE modulo Q under the ring key -> LWE modulo `modulus` under the LWE key.
  template <class Word>
  Batch switch_key_and_modulus(const backend::Buffer<Word>& extracted, std::size_t count,
                               std::uint64_t modulus) const {
    const std::size_t big = parameters.N() + 1;
    auto at_ks = device->allocate<std::uint64_t>(count * big);
    device->modulus_switch(parameters.Q(), parameters.Q_ks(), big, false, extracted.slice(),
                           at_ks.slice());
    auto switched = device->allocate<std::uint64_t>(count * row());
    device->lwe_key_switch(*switch_key, std::as_const(at_ks).slice(), switched.slice());
    Batch out = device->allocate<std::uint32_t>(count * row());
    device->modulus_switch(parameters.Q_ks(), modulus, row(), centred(parameters.Q_ks(), modulus),
                           std::as_const(switched).slice(), out.slice());
    return out;
  }

  void download(const Batch& from, Ciphertexts& to, std::size_t begin, std::size_t count) const {
    device->download(from.slice(), std::span(to.data).subspan(begin * row(), count * row()));
  }

  /// body(begin, count) over the batch in pieces.
  template <class Body>
  void in_pieces(std::size_t count, const Body& body) const {
    for (std::size_t begin = 0; begin < count; begin += batch_limit)
      body(begin, std::min(batch_limit, count - begin));
  }

  /// Phase offset in Z_2N that puts sums from `threshold` on into [0, N): -(threshold - 1/2)
  /// sectors.
  std::uint64_t threshold_offset(unsigned threshold, Encoding encoding) const {
    const std::uint64_t sectors = encoding.sectors();
    return two_n() - ((2 * threshold - 1) * two_n() + sectors) / (2 * sectors);
  }

  /// Bits: 1 where the sum reaches the threshold (0 where negated). The test vector is the constant
  /// polynomial of value half, half an output sector: its extract is ±half, plus half.
  template <class Word>
  backend::Buffer<Word> decide(Batch lwe, std::size_t count, std::uint64_t offset, bool negated,
                               Encoding output) const {
    round_for_rotation(lwe, two_n(), offset);
    const std::uint64_t Q = parameters.Q();
    const std::uint64_t half = (encode(1, output, Q) + 1) / 2;
    const std::vector<Word> test_vector(parameters.N(),
                                        static_cast<Word>(negated ? Q - half : half));
    const std::vector<std::uint32_t> index(count, 0);
    return rotate<Word>(lwe, test_vector, index, half);
  }

  template <class Word>
  Ciphertexts threshold_gate(Weights weights, Inputs inputs, std::uint64_t offset, bool negated,
                             Encoding output) const {
    check_encoding(parameters, output);
    Ciphertexts out = empty(inputs[0]->count, output);
    in_pieces(out.count, [&](std::size_t begin, std::size_t count) {
      const auto decided =
          decide<Word>(combine(weights, inputs, 0, begin, count), count, offset, negated, output);
      download(switch_key_and_modulus<Word>(decided, count, parameters.q()), out, begin, count);
    });
    return out;
  }

  template <class Word>
  Ciphertexts mux(const Ciphertexts& select, const Ciphertexts& a, const Ciphertexts& b) const {
    // AND(select, a) + AND(not select, b): at most one of them is 1 (Chillotti et al. 2020, §6).
    const Encoding encoding = select.encoding;
    const std::uint64_t offset = threshold_offset(2, encoding);
    const std::uint64_t one = encode(1, encoding, parameters.q());
    const math::Modulus<Word> q(static_cast<Word>(parameters.Q()));
    Ciphertexts out = empty(select.count, encoding);
    in_pieces(out.count, [&](std::size_t begin, std::size_t count) {
      const std::int64_t both[] = {1, 1}, without[] = {-1, 1};
      const Ciphertexts *first[] = {&select, &a}, *second[] = {&select, &b};
      auto sum =
          decide<Word>(combine(both, first, 0, begin, count), count, offset, false, encoding);
      const auto other =
          decide<Word>(combine(without, second, one, begin, count), count, offset, false, encoding);
      device->add({&q, 1}, std::as_const(sum).slice(), other.slice(), sum.slice());
      download(switch_key_and_modulus<Word>(sum, count, parameters.q()), out, begin, count);
    });
    return out;
  }

  /// Test vectors, coefficient j being the value looked up for phases of j (half a sector above the
  /// message's lower border): floor(j·sectors/2N) counts sectors of the half circle.
  template <class Word>
  std::vector<Word> test_vectors(std::span<const Lut> luts) const {
    const std::size_t N = parameters.N();
    std::vector<Word> out(luts.size() * N);
    for (std::size_t l = 0; l < luts.size(); ++l) {
      const Lut& lut = luts[l];
      // An arbitrary table spreads all of p over the half circle; its input's top bit is removed
      // first.
      const std::uint64_t across = lut.kind() == LutKind::negacyclic ? two_n() : N;
      for (std::size_t j = 0; j < N; ++j)
        out[l * N + j] = static_cast<Word>(
            encode(lut.values()[j * lut.input().p / across], lut.output(), parameters.Q()));
    }
    return out;
  }

  template <class Word>
  Ciphertexts apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                    const Ciphertexts& a) const {
    const Lut& like = luts[0];
    const std::vector<Word> vectors = test_vectors<Word>(luts);
    Ciphertexts out = empty(a.count, like.output());
    const std::int64_t one[] = {1};
    const Ciphertexts* inputs[] = {&a};
    const std::uint64_t N = parameters.N(), sectors = like.input().sectors();
    in_pieces(a.count, [&](std::size_t begin, std::size_t count) {
      std::vector<std::uint32_t> which(count, 0);
      if (!index.empty())
        std::copy_n(index.begin() + static_cast<std::ptrdiff_t>(begin), count, which.begin());
      Batch lwe = combine(one, inputs, 0, begin, count);
      if (like.kind() == LutKind::arbitrary) {
        round_for_rotation(lwe, N, (N + sectors) / (2 * sectors));
        remove_top_bit<Word>(lwe, count);
      } else {
        round_for_rotation(lwe, two_n(), (two_n() + sectors) / (2 * sectors));
      }
      const auto looked_up = rotate<Word>(lwe, vectors, which, 0);
      download(switch_key_and_modulus<Word>(looked_up, count, parameters.q()), out, begin, count);
    });
    return out;
  }

  /// Ciphertexts modulo N, read modulo 2N, have phase x or x + N for x in [0, N). A rotation by the
  /// constant -Q/4 gives -Q/4 or Q/4 for these; with Q/4 added, that is 0 or N at modulus 2N, and
  /// is subtracted (Liu, Micciancio, Polyakov 2022, §5.1, Algorithm 3).
  template <class Word>
  void remove_top_bit(Batch& lwe, std::size_t count) const {
    const std::uint64_t Q = parameters.Q(), quarter = Q / 4;
    const std::vector<Word> test_vector(parameters.N(), static_cast<Word>(Q - quarter));
    const std::vector<std::uint32_t> index(count, 0);
    const auto sign = rotate<Word>(lwe, test_vector, index, quarter);
    const Batch bit = switch_key_and_modulus<Word>(sign, count, two_n());
    const std::int64_t weights[] = {1, -1};
    const backend::Slice<const std::uint32_t> in[] = {std::as_const(lwe).slice(), bit.slice()};
    device->lwe_linear(two_n(), row(), weights, in, 0, lwe.slice());
  }

  Parameters parameters;
  KeyId key_id;
  Transform transform;
  std::unique_ptr<backend::Device> device;
  std::string device_name;
  std::unique_ptr<backend::RotationKey> rotation_key;
  std::unique_ptr<backend::SwitchKey> switch_key;
};

Server::Server(const EvaluationKeys& keys, ServerOptions options)
    : state_(std::make_unique<State>(keys, std::move(options))) {}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

const Parameters& Server::parameters() const { return state_->parameters; }
const KeyId& Server::key_id() const { return state_->key_id; }
const std::string& Server::device() const { return state_->device_name; }
Transform Server::transform() const { return state_->transform; }
unsigned Server::threads() const { return state_->device->threads(); }
std::size_t Server::key_bytes() const {
  return state_->rotation_key->bytes() + state_->switch_key->bytes();
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
    offset = state_->two_n() - state_->two_n() / 4;
  } else {
    // Sums 0 … threshold-1 and threshold … inputs must fit into half circles.
    const std::uint64_t least =
        2 * std::max<std::uint64_t>(rule.threshold, rule.inputs - rule.threshold + 1);
    if (sectors % 2 != 0 || sectors < least)
      throw EncodingError(std::string(rule.name) + " needs bits with an even p of at least " +
                          std::to_string(least) + ", not " + describe(encoding) +
                          ": encrypt with p = " + std::to_string(least) +
                          " or give the gates before it output p = " + std::to_string(least));
    offset = state_->threshold_offset(rule.threshold, encoding);
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
  const std::uint64_t offset = state_->threshold_offset(1, a.encoding);
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
  Ciphertexts out = state_->empty(inputs[0]->count, encoding);
  state_->in_pieces(out.count, [&](std::size_t begin, std::size_t count) {
    state_->download(state_->combine(wide, inputs, shift, begin, count), out, begin, count);
  });
  return out;
}

Ciphertexts Server::trivial(std::span<const std::uint32_t> messages, Encoding encoding) const {
  check_encoding(parameters(), encoding);
  Ciphertexts out = state_->empty(messages.size(), encoding);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i] >= encoding.p)
      throw EncodingError("message " + std::to_string(i) + " = " + std::to_string(messages[i]) +
                          " is not below p = " + std::to_string(encoding.p));
    out.data[i * out.row() + parameters().n()] =
        static_cast<std::uint32_t>(encode(messages[i], encoding, parameters().q()));
  }
  return out;
}

}  // namespace whorl::binfhe
