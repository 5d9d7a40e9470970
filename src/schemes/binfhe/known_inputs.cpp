// Operations whose inputs are known but for one: no ciphertext is bootstrapped.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string>

#include "math/memory.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/server_state.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

void check_bits(std::span<const std::uint32_t> bits) {
  check_values(bits, 2, "the number of values of a bit");
}

/// How many they are together; ShapeError unless counts are equal, or 1.
std::size_t common_count(std::initializer_list<std::size_t> counts) {
  std::size_t most = 1;
  for (const std::size_t count : counts)
    if (count != 1) most = count;
  for (const std::size_t count : counts)
    if (count != most && count != 1)
      throw ShapeError(std::to_string(count) + " and " + std::to_string(most) +
                       ": there must be as many bits as ciphertexts, or one of either");
  return most;
}

/// ShapeError unless 32 bits number the ciphertexts.
const Array& indexed(const Array& a) {
  if (a.count() > std::numeric_limits<std::uint32_t>::max())
    throw ShapeError(std::to_string(a.count()) + " ciphertexts are more than 2^32 - 1");
  return a;
}

}  // namespace

template <class Function>
Array Server::State::make(const Array& x, std::size_t count, const Function& made) const {
  std::array<bool, 4> used{};
  std::vector<Made> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = made(i);
    used[static_cast<std::size_t>(all[i])] = true;
  }
  const auto only = [&](Made what) {
    return x.count() == count &&
           std::all_of(all.begin(), all.end(), [&](Made m) { return m == what; });
  };
  if (only(Made::same)) return x;
  if (only(Made::opposite)) return not_(x);
  std::vector<Array> from{trivial_array(std::array{0U, 1U}, encoding_of(x), under_of(x))};
  std::array<std::size_t, 4> starts{0, 1, 0, 0};
  for (const Made what : {Made::same, Made::opposite}) {
    if (!used[static_cast<std::size_t>(what)]) continue;
    starts[static_cast<std::size_t>(what)] = 2 + (from.size() - 1) * x.count();
    from.push_back(what == Made::same ? x : not_(x));
  }
  std::vector<std::uint32_t> index(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool constant = all[i] == Made::zero || all[i] == Made::one;
    index[i] = static_cast<std::uint32_t>(starts[static_cast<std::size_t>(all[i])] +
                                          (constant || x.count() == 1 ? 0 : i));
  }
  return take(indexed(concatenate(from)), index);
}

Array Server::State::gate(Gate gate, const Array& a, std::span<const std::uint32_t> ones,
                          std::optional<Encoding> output) const {
  const GateRule& rule = rule_of(gate);
  check(a);
  check_bits_of(rule.name, 0, as_bits_of(a));
  const Encoding encoding = encoding_of(a);
  plan_gate(parameters, gate, encoding, output);  // for its refusals
  check_values(ones, rule.inputs, "the number of inputs");
  const std::size_t count = common_count({a.count(), ones.size()});
  const auto known = [&](std::size_t i) { return ones[ones.size() == 1 ? 0 : i]; };
  if (output.value_or(encoding) != encoding) {
    std::vector<Array> others;
    std::vector<std::uint32_t> bits(count);
    for (unsigned k = 0; k + 1 < rule.inputs; ++k) {
      for (std::size_t i = 0; i < count; ++i) bits[i] = k < known(i);
      others.push_back(trivial_array(bits, encoding, under_of(a)));
    }
    std::vector<const Array*> inputs{&a};
    for (const Array& other : others) inputs.push_back(&other);
    return this->gate<Array>(gate, inputs, output, Under::lwe);
  }
  const auto value = [&rule](std::uint32_t sum) {
    return (rule.doubled ? sum % 2 == 1 : sum >= rule.threshold) != rule.negated;
  };
  return make(a, count, [&](std::size_t i) {
    const bool of_0 = value(known(i)), of_1 = value(known(i) + 1);
    if (of_0 == of_1) return of_0 ? Made::one : Made::zero;
    return of_1 ? Made::same : Made::opposite;
  });
}

Array Server::State::mux(const Array& select, std::span<const std::uint32_t> a,
                         std::span<const std::uint32_t> b) const {
  check(select);
  plan_mux(parameters, select.encoding());  // for its refusals
  check_bits_of("mux", 0, as_bits_of(select));
  check_bits(a);
  check_bits(b);
  return make(select, common_count({select.count(), a.size(), b.size()}), [&](std::size_t i) {
    const bool of_1 = a[a.size() == 1 ? 0 : i] != 0, of_0 = b[b.size() == 1 ? 0 : i] != 0;
    if (of_0 == of_1) return of_0 ? Made::one : Made::zero;
    return of_1 ? Made::same : Made::opposite;
  });
}

Array Server::State::mux(std::span<const std::uint32_t> select, const Array& a,
                         const Array& b) const {
  const Array* inputs[] = {&a, &b};
  const Encoding encoding = check_together("mux", std::span<const Array* const>(inputs));
  plan_mux(parameters, encoding);  // for its refusals
  check_bits_of("mux", 1, as_bits_of(a));
  check_bits_of("mux", 2, as_bits_of(b));
  check_bits(select);
  const std::size_t count = common_count({select.size(), a.count(), b.count()});
  std::vector<std::uint32_t> index(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool first = select[select.size() == 1 ? 0 : i] != 0;
    const std::size_t at = (first ? a : b).count() == 1 ? 0 : i;
    index[i] = static_cast<std::uint32_t>(first ? at : a.count() + at);
  }
  return take(indexed(concatenate(std::array{a, b})), index);
}

Ciphertexts trivial_ciphertexts(const Parameters& parameters, const KeyId& key,
                                std::span<const std::uint32_t> messages, Encoding encoding,
                                Under under) {
  check_coarse(parameters, encoding);
  check_values(messages, encoding.p);
  Ciphertexts out{parameters, key, encoding, messages.size(), {}, {}, {}};
  out.under = under;
  with_words(out, [&]<class Word>(std::vector<Word>& words) {
    math::with_memory_for("ciphertexts", [&] { make_words(words, out); });
    for (std::size_t i = 0; i < messages.size(); ++i)
      words[(i + 1) * out.row() - 1] =
          static_cast<Word>(encode(messages[i], encoding, out.modulus()));
  });
  set_trivial(out, messages.empty() ? 0 : *std::max_element(messages.begin(), messages.end()));
  // They are not fresh, so that the noise of encryptions does not matter.
  set_origin(out, origin_of(out, 0, encoding_offset(parameters, encoding, under)));
  return out;
}

Array Server::State::trivial_array(std::span<const std::uint32_t> messages, Encoding encoding,
                                   Under under) const {
  const auto host = std::make_shared<const Ciphertexts>(
      trivial_ciphertexts(parameters, key_id, messages, encoding, under));
  return upload(*host, host);
}

}  // namespace whorl::binfhe
