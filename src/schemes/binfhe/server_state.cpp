#include "schemes/binfhe/server_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "math/memory.h"
#include "math/text.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/linear_part.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

std::shared_ptr<const lattice::lwe::Keys> make_keys(const EvaluationKeys& keys, Transform transform,
                                                    const std::shared_ptr<run::KeyBudget>& budget) {
  lattice::lwe::KeyMaterial material{rotation_shape(keys.parameters, transform),
                                     keys.rotation_seed,
                                     keys.rotation_b,
                                     switch_shape(keys.parameters),
                                     keys.switch_seed,
                                     keys.switch_b};
  for (std::size_t k = 1; k < keys.parameters.rotation_keys(); ++k) {
    const EvaluationKeys::RotationKey& key = keys.small_modulus_rotations[k - 1];
    material.further_rotations.push_back(
        {rotation_shape(keys.parameters, transform, k), key.seed, key.b});
  }
  return std::make_shared<const lattice::lwe::Keys>(budget, std::move(material));
}

/// Returns the origin of what an operation of large precision makes of the input; `off` as of
/// promise_of.
std::shared_ptr<const Origin> floored(std::span<const Term> inputs, std::uint64_t tag,
                                      const Allowed& allowed, double off, Largest largest) {
  const std::uint64_t tags[] = {tag};
  return std::make_shared<const Origin>(
      origin_of_bootstrapped(mark_sum(inputs), tags, {}, allowed.noise[0], largest,
                             promise_of(inputs, allowed.failure_log2, off)));
}

/// A gate's errors do not depend on its output's sign, and are taken not to on its encoding.
std::uint64_t tag_of(const GateRule& rule, Encoding input) {
  return mix(rule.doubled ? 0 : rule.threshold, input.sectors());
}

void check_bits_of(std::string_view what, std::span<const Term> terms) {
  for (std::size_t k = 0; k < terms.size(); ++k)
    binfhe::check_bits_of(what, k, terms[k].origin->largest.as_bits);
}

}  // namespace

void check_padding(std::string_view what, Encoding encoding, Largest largest) {
  if (encoding.padding && largest.any >= encoding.p)
    throw EncodingError(std::string(what) + " takes messages 0 … " +
                        std::to_string(encoding.p - 1) + " of " + describe(encoding) +
                        ", but these may be as large as " + std::to_string(largest.any) +
                        ": take a larger p, so that the sum that made them fits; or give that "
                        "sum largest=…, which you know its messages not to pass");
}

void check_bits_of(std::string_view what, std::size_t k, std::uint32_t largest) {
  if (largest > 1)
    throw EncodingError(std::string(what) + " takes bits, but input " + std::to_string(k) +
                        " may be as large as " + std::to_string(largest) +
                        ": look it up in a table; or say largest=1 in the sum that made it, "
                        "if its values are known to be 0 or 1");
}

std::shared_ptr<const Server::State> Array::State::open_server() const {
  auto open = server.lock();
  if (!open) throw DeviceError("the server that this array was made on is closed");
  return open;
}

Ciphertexts Array::State::without_words() const {
  Ciphertexts out{parameters, key_id, encoding, rows.count(), {}, {}, {}};
  out.under = under();
  set_origin(out, origin);
  return out;
}

Server::State::State(const EvaluationKeys& keys, std::shared_ptr<const run::SessionState> on,
                     const ServerOptions& options, std::shared_ptr<Failures> counted)
    : parameters(keys.parameters),
      key_id(keys.key_id),
      transform(options.transform.value_or(keys.parameters.literal().transform)),
      rotation(options.rotation),
      account(parameters, transform, options.allow_failure),
      session(std::move(on)),
      fleet(session->fleet->with_least_share(options.least_share)),
      server_keys(make_keys(keys, transform, session->budget)),
      evaluator(fleet, server_keys, most_memory(parameters)),
      failures(std::move(counted)) {
  // Keys are prepared now, not in the first call, so that a device that cannot is refused here.
  for (std::size_t l = 0; l < fleet->size(); ++l) server_keys->on(*fleet->lane(l));
}

void Server::State::check_owner(const Parameters& of, const KeyId& key) const {
  whorl::check_owner(of, key, "server", parameters, key_id);
}

void Server::State::check(const Ciphertexts& c) const {
  check_owner(c.parameters, c.key_id);
  check_coarse(parameters, c.encoding);
  check_words(c);
}

std::shared_ptr<const Origin> Server::State::origin(const Ciphertexts& c) const {
  return origin_of(c, account.fresh(c.under), encoding_offset(parameters, c.encoding, c.under));
}

template <class Batch>
Encoding Server::State::check_together(std::string_view what, std::span<const Batch* const> inputs,
                                       std::size_t due) const {
  if (inputs.empty() || (due != 0 && inputs.size() != due))
    throw ShapeError(std::string(what) + " takes " + (due ? std::to_string(due) : "some") +
                     " inputs, not " + std::to_string(inputs.size()));
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    check(*inputs[k]);
    if constexpr (std::is_same_v<Batch, Ciphertexts>)
      if (inputs[k]->count != inputs[0]->count)
        throw ShapeError("input " + std::to_string(k) + " has " + std::to_string(inputs[k]->count) +
                         " ciphertexts, but input 0 has " + std::to_string(inputs[0]->count));
    if (encoding_of(*inputs[k]) != encoding_of(*inputs[0]))
      throw EncodingError("input " + std::to_string(k) + " has " +
                          describe(encoding_of(*inputs[k])) + ", but input 0 has " +
                          describe(encoding_of(*inputs[0])));
    if (under_of(*inputs[k]) != under_of(*inputs[0]))
      throw KeyMismatchError(std::string(what) + ": input " + std::to_string(k) + " is " +
                             describe(under_of(*inputs[k])) + ", but input 0 is " +
                             describe(under_of(*inputs[0])) +
                             ": to_lwe_key brings all of them under the LWE key");
  }
  return encoding_of(*inputs[0]);
}

void check_tables(const Parameters& parameters, std::span<const Lut> luts,
                  std::span<const std::uint32_t> index, Encoding encoding, std::size_t count) {
  if (luts.empty()) throw ShapeError("apply: at least one look-up table is needed");
  for (std::size_t l = 0; l < luts.size(); ++l) {
    if (luts[l].parameters() != parameters)
      throw ParameterMismatchError("table " + std::to_string(l) + " was made for \"" +
                                   luts[l].parameters().name() + "\"");
    if (luts[l].input() != luts[0].input() || luts[l].output() != luts[0].output() ||
        luts[l].kind() != luts[0].kind() || luts[l].weight() != luts[0].weight() ||
        added_constant(luts[l], parameters.Q()) != added_constant(luts[0], parameters.Q()))
      throw EncodingError("table " + std::to_string(l) +
                          " differs from table 0 in encodings or kind, or in what is added to its "
                          "rotation");
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

template <class Batch>
Server::State::Operands Server::State::operands(std::span<const Batch* const> inputs,
                                                std::span<const std::int32_t> weights) const {
  Operands all;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    all.held.push_back(origin(*inputs[k]));
    all.terms.push_back({weights.empty() ? 1.0 : weights[k], all.held.back().get()});
    all.most = std::max(all.most, all.held.back()->noise);
    all.under = under_of(*inputs[k]);
  }
  return all;
}

double Server::State::rotated_noise(std::vector<Term> terms, Under under) const {
  // Errors of the key switch come after the sum.
  const auto rotated = [&](double noise) {
    return under == Under::lwe ? noise : account.switched(noise);
  };
  if (terms.size() == 1) {
    const double noise = terms[0].origin->noise;
    return noise > 0 ? rotated(std::max(noise, account.bootstrapped())) : 0;
  }
  const double constant = account.constant(under);
  const double own = with_offset(variance_of(terms, constant), offset_of(terms, 0));
  for (Term& term : terms)
    if (term.origin->noise > 0)
      term.weight *= std::sqrt(std::max(1.0, account.bootstrapped() / term.origin->noise));
  // Errors that inputs share with opposite signs cancel less where they count as they are.
  return rotated(std::max(own, variance_of(terms, constant)));
}

std::shared_ptr<const Origin> Server::State::bootstrapped(std::span<const Term> inputs,
                                                          std::span<const std::uint64_t> tags,
                                                          std::span<const std::uint32_t> index,
                                                          Largest largest, const Promise& promise,
                                                          Encoding output, Under under) const {
  return std::make_shared<const Origin>(
      origin_of_bootstrapped(mark_sum(inputs), tags, index, account.bootstrapped(), largest,
                             promise, table_offset(output, under)));
}

double Server::State::table_offset(Encoding output, Under under) const {
  return under == Under::lwe ? 0 : encoding_offset(parameters, output, under);
}

Ciphertexts Server::State::empty(Encoding encoding, std::size_t count, Under under) const {
  Ciphertexts out{parameters, key_id, encoding, count, {}, {}, {}};
  out.under = under;
  return out;
}

Array Server::State::array(Encoding encoding, std::shared_ptr<const Origin> origin,
                           lattice::lwe::Array rows,
                           std::shared_ptr<const Ciphertexts> host) const {
  return Array(std::make_shared<const Array::State>(
      Array::State{parameters, key_id, encoding, std::move(origin), weak_from_this(),
                   std::move(rows), std::move(host)}));
}

Array Server::State::upload(const Ciphertexts& ciphertexts,
                            std::shared_ptr<const Ciphertexts> host) const {
  check(ciphertexts);
  if (fleet->size() == 1) host = {};  // the caller has it, too
  const lattice::lwe::Form form = form_of(parameters, ciphertexts.under);
  // A seed and the bodies are a few bytes a ciphertext, where the masks are some thousand.
  // Ciphertexts of a dry run have no masks.
  const bool expands = !failures && ciphertexts.seed && ciphertexts.count > 0;
  if (expands) check_mask(ciphertexts, 0);
  auto rows = with_words(ciphertexts, [&](const auto& words) {
    return expands ? evaluator.expand(form, ciphertexts.count, words.data(), *ciphertexts.seed,
                                      ciphertexts.numbers, host)
                   : evaluator.upload(form, ciphertexts.count, words.data(), host);
  });
  return array(ciphertexts.encoding, origin(ciphertexts), std::move(rows), std::move(host));
}

Ciphertexts Server::State::download(const Array& array) const {
  check(array);
  Ciphertexts out = array.state_->without_words();
  with_words(out, [&](auto& words) {
    math::with_memory_for("ciphertexts", [&] { make_words(words, out); });
    evaluator.download(array.state_->rows, words.data());
  });
  return out;
}

Array Server::State::take(const Array& a, std::span<const std::uint32_t> index) const {
  check(a);
  auto rows = evaluator.take(a.state_->rows, index);
  auto of = std::make_shared<const Origin>(binfhe::take(*origin(a), index));
  return array(encoding_of(a), std::move(of), std::move(rows));
}

Array Server::State::concatenate(std::span<const Array> arrays) const {
  std::vector<const Array*> inputs;
  std::vector<lattice::lwe::Array> rows;
  std::vector<const Origin*> origins;
  for (const Array& array : arrays) {
    inputs.push_back(&array);
    rows.push_back(array.state_->rows);
    origins.push_back(array.state_->origin.get());
  }
  const Encoding encoding = check_together("concatenate", std::span<const Array* const>(inputs));
  return array(encoding, std::make_shared<const Origin>(join(origins, encoding)),
               evaluator.join(rows));
}

Ciphertexts Server::State::run(const Plan& plan, const MakeOrigin& origin,
                               std::span<const Ciphertexts* const> inputs) const {
  Ciphertexts out = empty(plan.output, inputs[0]->count, plan.under);
  std::vector<lattice::lwe::HostRows> rows;
  for (const Ciphertexts* input : inputs)
    with_words(*input, [&](const auto& words) {
      rows.push_back({form_of(parameters, input->under), words.data()});
    });
  with_words(out, [&](auto& words) {
    // Room is made when the first results are there, so that a GPU works meanwhile.
    std::once_flag made;
    const auto room = [&]() -> void* {
      std::call_once(made, [&] { make_words(words, out); });
      return words.data();
    };
    evaluator.stream(out.count, plan.memory, rows, plan.rotates, plan.work, room);
  });
  if (failures) failures->add(plan.failure_log2, out.count);
  set_origin(out, origin());
  return out;
}

Array Server::State::run(const Plan& plan, const MakeOrigin& origin,
                         std::span<const Array* const> inputs) const {
  std::vector<const lattice::lwe::Array*> rows;
  for (const Array* input : inputs) rows.push_back(&input->state_->rows);
  const lattice::lwe::Form out[] = {form_of(parameters, plan.under)};
  auto made = evaluator.map(rows, out, plan.rotates, plan.work)[0];
  if (failures) failures->add(plan.failure_log2, made.count());
  return array(plan.output, origin(), std::move(made));
}

std::vector<Array> Server::State::run(const Array& a, const Outcome& outcome,
                                      const lattice::lwe::Work& work) const {
  const lattice::lwe::Array* rows[] = {&a.state_->rows};
  const std::vector<lattice::lwe::Form> forms(outcome.results.size(),
                                              form_of(parameters, outcome.under));
  const std::vector<lattice::lwe::Array> made = evaluator.map(rows, forms, true, work);
  if (failures) failures->add(outcome.failure_log2, a.count());
  std::vector<Array> out;
  for (std::size_t k = 0; k < made.size(); ++k)
    out.push_back(array(outcome.results[k].encoding, outcome.results[k].origin, made[k]));
  return out;
}

template <class Batch>
Batch Server::State::gate(Gate gate, std::span<const Batch* const> inputs,
                          std::optional<Encoding> output, Under under) const {
  const GateRule& rule = rule_of(gate);
  const Encoding input = check_together(rule.name, inputs, rule.inputs);
  const Operands all = operands(inputs, {});
  Plan plan = plan_gate(parameters, gate, input, output, {all.under, under});
  // Doubled sums tell whether they are odd, whatever they are.
  if (!rule.doubled) check_bits_of(rule.name, all.terms);
  plan.failure_log2 =
      account.check_gate(gate, input, plan.output, rotated_noise(all.terms, all.under), under);
  const auto origin = [&] {
    const std::uint64_t tags[] = {tag_of(rule, input)};
    return bootstrapped(all.terms, tags, {}, {1, 1}, promise_of(all.terms, plan.failure_log2, 1),
                        plan.output, under);
  };
  return run(plan, origin, inputs);
}

template <class Batch>
Batch Server::State::mux(const Batch& select, const Batch& a, const Batch& b, Under under) const {
  const Batch* inputs[] = {&select, &a, &b};
  const std::span<const Batch* const> all = inputs;
  const Encoding encoding = check_together("mux", all);
  const Operands of = operands(all, {});
  Plan plan = plan_mux(parameters, encoding, {of.under, under});
  check_bits_of("mux", of.terms);
  const Term s = of.terms[0], of_a = of.terms[1], of_b = of.terms[2];
  // What is rotated is the sum of select and a, or of its negation and b.
  plan.failure_log2 = account.check_mux(
      plan.output,
      std::max(rotated_noise({s, of_a}, of.under), rotated_noise({{-1, s.origin}, of_b}, of.under)),
      under);
  const auto origin = [&] {
    const Term marked[] = {{3, s.origin}, {5, of_a.origin}, {7, of_b.origin}};
    const Term selected[] = {s, of_a}, other[] = {{-1, s.origin}, of_b};
    const std::uint64_t tags[] = {tag_of(rule_of(Gate::and_), plan.output)};
    // The second has the key switch too, where there is one.
    const double offset = table_offset(encoding, under);
    return std::make_shared<const Origin>(
        origin_of_mux(mark_sum(marked),
                      origin_of_bootstrapped(mark_sum(selected), tags, {},
                                             account.of_mux(under) - 1, {1, 1}, {}, offset),
                      origin_of_bootstrapped(mark_sum(other, 1), tags, {}, account.bootstrapped(),
                                             {1, 1}, {}, offset),
                      promise_of(of.terms, plan.failure_log2, 1)));
  };
  return run(plan, origin, all);
}

template <class Batch>
Batch Server::State::bootstrap(const Batch& a, std::optional<Encoding> output, Under under) const {
  const Batch* inputs[] = {&a};
  const std::span<const Batch* const> all = inputs;
  const Encoding input = check_together("bootstrap", all);
  const Operands of = operands(all, {});
  Plan plan = plan_bootstrap(parameters, input, output, {of.under, under});
  check_bits_of("bootstrap", of.terms);
  plan.failure_log2 =
      account.check_bootstrap(input, plan.output, rotated_noise(of.terms, of.under), under);
  const auto origin = [&] {
    const std::uint64_t tags[] = {mix(1, input.sectors())};
    return bootstrapped(of.terms, tags, {}, {1, 1}, promise_of(of.terms, plan.failure_log2, 1),
                        plan.output, under);
  };
  return run(plan, origin, all);
}

Server::State::LookUp Server::State::check_apply(std::span<const Lut> luts,
                                                 std::span<const std::uint32_t> index,
                                                 const Operands& of, Encoding encoding,
                                                 std::optional<std::uint32_t> within,
                                                 Under under) const {
  // All tables have one kind and one pair of encodings.
  const auto exact = std::find_if(luts.begin(), luts.end(), [](const Lut& l) { return l.exact(); });
  check_padding("apply", encoding, of.terms[0].origin->largest);
  for (const Under each : {of.under, under}) check_sides(luts[0], each);
  const Reading reading{luts[0].kind() == LutKind::arbitrary};
  const Account::Looked looked{reading, rotated_noise(of.terms, of.under),
                               of.terms[0].origin->largest.range, of.terms[0].origin->promise};
  const auto origin_with = [this, luts, index, reading, input = of.held[0],
                            under](const Promise& promise) {
    return looked_up(luts, index, reading, 0, input, promise, under);
  };
  const double result = luts[0].weight() == 0 ? account.bootstrapped() : origin_with({})->noise;
  double failure_log2 = -HUGE_VAL;
  if (exact != luts.end())
    failure_log2 = account.check_look_up(*exact, reading, looked.noise, result, under);
  account.check_approximate(luts, looked, within);
  const Promise promise = account.promise(luts, looked, failure_log2);
  if (failures && std::any_of(luts.begin(), luts.end(), [](const Lut& l) { return !l.exact(); }))
    failure_log2 = std::max(failure_log2, account.approximate_failure_log2(luts, looked, within));
  return {failure_log2, [origin_with, promise] { return origin_with(promise); }};
}

template <class Batch>
Batch Server::State::apply(std::span<const Lut> luts, std::span<const std::uint32_t> index,
                           const Batch& a, std::size_t count, std::optional<std::uint32_t> within,
                           Under under) const {
  check(a);
  check_tables(parameters, luts, index, encoding_of(a), count);
  const Batch* inputs[] = {&a};
  const std::span<const Batch* const> all = inputs;
  const Operands of = operands(all, {});
  const LookUp look_up = check_apply(luts, index, of, encoding_of(a), within, under);
  Plan plan = plan_apply(parameters, luts, index, {of.under, under});
  plan.failure_log2 = look_up.failure_log2;
  return run(plan, look_up.origin, all);
}

template <class Batch>
Batch Server::State::to_lwe_key(const Batch& a) const {
  check(a);
  if (under_of(a) == Under::lwe) return a;
  const Batch* inputs[] = {&a};
  const Encoding encoding = encoding_of(a);
  const auto of = this->origin(a);
  // Files state no less than an encryption has.
  const double noise = std::max(account.least(Under::lwe), account.switched(of->noise));
  if (!account.is_coarse(encoding, *of, Under::ring)) account.check_key_switch(encoding, noise);
  const auto origin = [&] {
    return std::make_shared<const Origin>(
        origin_of_switched(*of, account.part_of_rotation(), noise));
  };
  return run(plan_key_switch(parameters, encoding), origin, std::span<const Batch* const>(inputs));
}

Outcome Server::State::of_floor(const Array& a, unsigned round_bits) const {
  check(a);
  check_under_lwe_key("eval_floor", under_of(a));
  const Encoding input = encoding_of(a);
  check_floor("eval_floor", parameters, input, round_bits);
  const Encoding output = floored(input, round_bits);
  const Term terms[] = {{1, origin(a).get()}};
  const Allowed allowed = account.check_floor(input, round_bits, origin(a)->noise);
  // A padding bit stays.
  const Largest& known = origin(a)->largest;
  Largest largest{known.any >> round_bits, known.any >> round_bits};
  if (const auto& range = known.range)
    largest =
        largest_within("eval_floor", output, {range->low >> round_bits, range->high >> round_bits});
  return {allowed.failure_log2,
          {{output, floored(terms, mix(2 + round_bits, input.sectors()), allowed,
                            std::floor(std::ldexp(terms[0].origin->promise.most_off(),
                                                  -static_cast<int>(round_bits))) +
                                1,
                            largest)}}};
}

Outcome Server::State::of_sign(const Array& a, Encoding output) const {
  check(a);
  check_under_lwe_key("eval_sign", under_of(a));
  const Encoding input = encoding_of(a);
  check_large("eval_sign", parameters, input);
  check_encoding(parameters, output);
  const Term terms[] = {{1, origin(a).get()}};
  if (const auto& range = origin(a)->largest.range) {
    const auto half = static_cast<std::int64_t>(input.sectors() / 2);
    if (range->low < -half || range->high >= half)
      throw EncodingError("eval_sign takes " + std::to_string(-half) + " … " +
                          std::to_string(half - 1) + " of " + describe(input) +
                          ", but by their range these are " + std::to_string(range->low) + " … " +
                          std::to_string(range->high) +
                          ": take a larger p, or state a smaller range by with_range");
  }
  const Allowed allowed = account.check_sign(input, output, origin(a)->noise);
  return {allowed.failure_log2,
          {{output, floored(terms, mix(0, input.sectors()), allowed, 1, {1, 1})}}};
}

Outcome Server::State::of_decomposition(const Array& a) const {
  check(a);
  check_under_lwe_key("eval_decomp", under_of(a));
  const Encoding input = encoding_of(a);
  check_large("eval_decomp", parameters, input);
  check_padding("eval_decomp", input, origin(a)->largest);
  const Allowed allowed = account.check_decomposition(input, origin(a)->noise);
  const std::vector<Encoding> digits = digit_encodings(parameters, input);
  const Term terms[] = {{1, origin(a).get()}};
  Outcome out{allowed.failure_log2, {}};
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const std::uint32_t largest = digits[k].p - 1;
    out.results.push_back(
        {digits[k],
         std::make_shared<const Origin>(origin_of_digit(
             mark_sum(terms), mix(1, input.sectors() + (k << 32)), allowed.noise[k],
             {largest, largest}, promise_of(terms, allowed.failure_log2, digits[k].p / 2.0)))});
  }
  return out;
}

template <class Batch>
Bound Server::State::bound(const Lut& lut, const Batch& a) const {
  const Batch* inputs[] = {&a};
  check(a);
  check_tables(parameters, {&lut, 1}, {}, encoding_of(a), 0);
  const Operands of = operands(std::span<const Batch* const>(inputs), {});
  check_padding("error_bound", encoding_of(a), of.terms[0].origin->largest);
  return account.bound(lut, {{lut.kind() == LutKind::arbitrary},
                             rotated_noise(of.terms, of.under),
                             of.terms[0].origin->largest.range,
                             of.terms[0].origin->promise});
}

#define WHORL_INSTANTIATE_OPERATIONS(Batch)                                                        \
  template Encoding Server::State::check_together(std::string_view, std::span<const Batch* const>, \
                                                  std::size_t) const;                              \
  template Server::State::Operands Server::State::operands(std::span<const Batch* const>,          \
                                                           std::span<const std::int32_t>) const;   \
  template Batch Server::State::gate(Gate, std::span<const Batch* const>, std::optional<Encoding>, \
                                     Under) const;                                                 \
  template Batch Server::State::mux(const Batch&, const Batch&, const Batch&, Under) const;        \
  template Batch Server::State::bootstrap(const Batch&, std::optional<Encoding>, Under) const;     \
  template Batch Server::State::apply(std::span<const Lut>, std::span<const std::uint32_t>,        \
                                      const Batch&, std::size_t, std::optional<std::uint32_t>,     \
                                      Under) const;                                                \
  template Batch Server::State::to_lwe_key(const Batch&) const;                                    \
  template Bound Server::State::bound(const Lut&, const Batch&) const

WHORL_INSTANTIATE_OPERATIONS(Ciphertexts);
WHORL_INSTANTIATE_OPERATIONS(Array);

}  // namespace whorl::binfhe
