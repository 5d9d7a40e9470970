// Random programs of gates, tables, sums (plain, modular, and of which the program says how large
// they are), MUX with encrypted and known operands, floors, signs and digits, against the same on
// messages in clear: every result is right, or an Error.
//
// support/circuits.h says how the environment chooses number, part and seed (tools/circuits.sh:
// 10,000). Each process closes with one line:
//
//   BINFHE-CIRCUITS shard=3/16 seed=… devices=cpu circuits=625 … dropped=… wrong=0 …
//
// deep: programs with operations of large precision. dropped: operations that the server refused.
// wrong: messages. over_bound: errors of more than nine of the deviations that the server stated,
// of which one in 10^18 is; least_slack: how far below that all errors were, in bits.
#include "schemes/binfhe/account.h"
#include "support/binfhe_sets.h"
#include "support/circuits.h"
#include "support/test.h"
#include "support/truth.h"
#include "whorl/circuits/binfhe/large_precision.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;

test::CircuitReport& report = test::CircuitReport::of("BINFHE");

/// An array and its messages modulo the number of sectors: with padding those of p or more have set
/// the padding bit.
struct Wire {
  Array array;
  Messages clear;
  /// That a fresh message, of which nobody knows anything, is no bit: gates may not have it.
  bool loose = false;
  Encoding encoding() const { return array.encoding(); }
};

class Program {
 public:
  Program(const Parameters& parameters, const Server& server, std::vector<Encoding> encodings,
          test::Random& random, test::CircuitTotals& totals)
      : parameters_(parameters),
        client_(test::pair_of(parameters).client),
        server_(server),
        encodings_(std::move(encodings)),
        count_(1 + random.below(3)),
        random_(random),
        totals_(totals) {
    ++totals.circuits;
  }

  void run() {
    for (int i = 0; i < 4; ++i) wires_.push_back(fresh());
    const std::size_t steps = 6 + random_.below(14);
    for (std::size_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      const auto kind = random_.below(16);
      SCOPED_TRACE("step " + std::to_string(step) + ", operation " + std::to_string(kind));
      ++totals_.operations;
      try {
        operation(kind);
      } catch (const Error&) {
        ++totals_.dropped;
      }
    }
  }

 private:
  // ---- what operations take

  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[random_.below(all.size())];
  }
  std::int32_t small(std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(random_.between(low, high));
  }
  bool once_in(std::uint64_t runs) { return random_.below(runs) == 0; }
  Messages random_messages(std::uint32_t p) {
    Messages out(count_);
    for (auto& each : out) each = static_cast<std::uint32_t>(random_.below(p));
    return out;
  }
  Wire fresh() {
    const Encoding encoding = one_of(encodings_);
    const std::uint32_t top = once_in(2) ? 2 : encoding.p;
    Messages m = random_messages(top);
    if (once_in(6)) return {server_.trivial_array(m, encoding), m};
    const bool loose = std::any_of(m.begin(), m.end(), [](auto each) { return each > 1; });
    return {server_.upload(client_.encrypt(m, encoding)), m, loose};
  }
  const Wire& any() { return one_of(wires_); }
  /// With the encoding of another, if there is one besides.
  const Wire& like(const Wire& other) {
    const Wire* found = &other;
    for (int tries = 0; tries < 12; ++tries)
      if (const Wire& wire = any(); wire.encoding() == other.encoding()) found = &wire;
    return *found;
  }
  std::optional<Encoding> some_output() {
    return once_in(3) ? std::optional(one_of(encodings_)) : std::nullopt;
  }

  // ---- results

  /// Checks them, and keeps them.
  void add(Array array, Messages clear, bool loose = false) {
    const Encoding encoding = array.encoding();
    const Ciphertexts host = server_.download(array);
    const Messages got = client_.decrypt(host);
    std::size_t wrong = got.size() == clear.size() ? 0 : 1;
    for (std::size_t i = 0; wrong == 0 && i < got.size(); ++i)
      wrong += got[i] != clear[i] % encoding.p;
    for (const std::uint32_t m : clear) wrong += m > array.largest() && !loose ? 1 : 0;
    totals_.wrong += wrong;
    EXPECT_EQ(wrong, 0u) << "wrong of " << clear.size();
    if (wrong == 0 &&
        std::all_of(clear.begin(), clear.end(), [&](auto m) { return m < encoding.p; }))
      check_noise(host, clear);
    Wire wire{std::move(array), std::move(clear), loose};
    if (wires_.size() < 8)
      wires_.push_back(std::move(wire));
    else
      wires_[random_.below(wires_.size())] = std::move(wire);
  }
  void check_noise(const Ciphertexts& host, const Messages& clear) {
    const double stated = 9 * std::sqrt(host.noise * unit_of_noise(parameters_));
    for (const std::int64_t error : client_.noise(host, clear)) {
      const double size = static_cast<double>(std::abs(error));
      totals_.over_bound += size > stated ? 1u : 0u;
      EXPECT_LE(size, stated);
      if (size > 0) totals_.least_slack = std::min(totals_.least_slack, std::log2(stated / size));
    }
  }
  template <class Function>
  Messages of(const Function& function) {
    Messages out(count_);
    for (std::size_t i = 0; i < count_; ++i) out[i] = function(i);
    return out;
  }

  // ---- operations

  void operation(std::uint64_t kind) {
    if (kind < 5) return sum();
    if (kind < 8) return look_up();
    if (kind < 10) return gate();
    switch (kind) {
      case 10:
        return mux();
      case 11:
        return known();
      case 12:
        return free_of_bootstraps();
      case 13:
        return moved();
      case 14:
        return large();
      default:
        wires_[random_.below(wires_.size())] = fresh();
    }
  }

  /// Sums and differences, multiples, linear combinations, constants.
  void sum() {
    const Wire a = any();
    std::vector<Wire> terms{a};
    for (std::uint64_t more = random_.below(3); more > 0; --more) terms.push_back(like(a));
    std::vector<std::int32_t> weights;
    std::vector<const Array*> arrays;
    for (const Wire& term : terms) {
      weights.push_back(once_in(3) ? small(-3, 4) : once_in(4) ? -1 : 1);
      arrays.push_back(&term.array);
    }
    const std::int32_t constant = once_in(2) ? 0 : small(-3, 9);
    const auto sectors = static_cast<std::int64_t>(a.encoding().sectors());
    Messages clear = of([&](std::size_t i) {
      std::int64_t total = constant;
      for (std::size_t k = 0; k < terms.size(); ++k)
        total += std::int64_t{weights[k]} * terms[k].clear[i];
      return static_cast<std::uint32_t>((total % sectors + sectors) % sectors);
    });
    bool loose = std::any_of(terms.begin(), terms.end(), [](const Wire& w) { return w.loose; });
    const std::uint32_t most = *std::max_element(clear.begin(), clear.end());
    std::optional<std::uint32_t> largest;
    if (once_in(3) && most < a.encoding().p) {
      largest = most + static_cast<std::uint32_t>(random_.below(a.encoding().p - most));
      loose = false;
    }
    add(server_.linear(weights, arrays, constant, once_in(2), largest), std::move(clear), loose);
  }
  void look_up() {
    const Wire a = any();
    const Encoding output = once_in(2) ? a.encoding() : one_of(encodings_);
    std::vector<Lut> luts;
    for (std::size_t l = 0; l < 2; ++l) {
      Messages values(a.encoding().p);
      for (auto& value : values)
        value = static_cast<std::uint32_t>(random_.below(once_in(2) ? 2 : output.p));
      if (const std::size_t half = values.size() / 2; !a.encoding().padding && once_in(2))
        for (std::size_t m = 0; m < half; ++m)
          values[m + half] = (output.p - values[m]) % output.p;  // negacyclic
      luts.push_back(Lut::create(parameters_, values, a.encoding(), output));
    }
    const std::vector<std::uint32_t> index = random_messages(2);
    // Those of another kind would be refused.
    const bool both = luts[0].kind() == luts[1].kind();
    add(server_.apply(
            std::span(luts).first(both ? 2 : 1),
            both ? std::span<const std::uint32_t>(index) : std::span<const std::uint32_t>(),
            a.array),
        of([&](std::size_t i) {
          return luts[both ? index[i] : 0].values()[a.clear[i] % a.encoding().p];
        }));
  }
  void gate() {
    const auto gate = static_cast<Gate>(random_.below(11));
    std::vector<Wire> inputs{any()};
    while (inputs.size() < gate_inputs(gate)) inputs.push_back(like(inputs[0]));
    std::vector<const Array*> arrays;
    for (const Wire& input : inputs) {
      if (input.loose && gate != Gate::xor_ && gate != Gate::xnor) return;
      arrays.push_back(&input.array);
    }
    add(server_.gate(gate, arrays, some_output()), of([&](std::size_t i) {
          std::uint32_t ones = 0;
          for (const Wire& input : inputs) ones += input.clear[i];
          return test::truth(gate, ones);
        }));
  }
  void mux() {
    const Wire s = any(), a = like(s), b = like(s);
    if (s.loose || a.loose || b.loose) return;
    add(server_.mux(s.array, a.array, b.array),
        of([&](std::size_t i) { return s.clear[i] ? a.clear[i] : b.clear[i]; }));
  }
  /// All operands but one are known, or the select alone is.
  void known() {
    const Wire a = any(), b = like(a);
    const Messages x = random_messages(2), y = random_messages(2);
    if (a.loose || b.loose) return;
    switch (random_.below(3)) {
      case 0:
        return add(server_.mux(x, a.array, b.array),
                   of([&](std::size_t i) { return x[i] ? a.clear[i] : b.clear[i]; }));
      case 1:
        return add(server_.mux(a.array, x, y),
                   of([&](std::size_t i) { return a.clear[i] ? x[i] : y[i]; }));
      default: {
        const auto gate = static_cast<Gate>(random_.below(11));
        const Messages ones = random_messages(gate_inputs(gate));
        add(server_.gate(gate, a.array, ones, some_output()),
            of([&](std::size_t i) { return test::truth(gate, ones[i] + a.clear[i]); }));
      }
    }
  }
  void free_of_bootstraps() {
    const Wire a = any();
    if (a.loose) return;
    if (once_in(2))
      add(server_.not_(a.array), of([&](std::size_t i) { return 1 - a.clear[i]; }));
    else
      add(server_.bootstrap(a.array, some_output()), Messages(a.clear));
  }
  /// Taken and joined; or through the host's memory, as through a file, or an older one, which does
  /// not say how large messages are.
  void moved() {
    const Wire a = any(), b = like(a);
    if (once_in(2)) {
      std::vector<std::uint32_t> index = random_messages(static_cast<std::uint32_t>(2 * count_));
      const Array both[] = {a.array, b.array};
      return add(server_.take(server_.concatenate(both), index), of([&](std::size_t i) {
                   return index[i] < count_ ? a.clear[index[i]] : b.clear[index[i] - count_];
                 }),
                 a.loose || b.loose);
    }
    Ciphertexts host = server_.download(a.array);
    const bool older = once_in(3);
    if (once_in(2) || older) host.origin = {};
    if (older) host.largest = host.as_bits = {};
    const bool bits = std::all_of(a.clear.begin(), a.clear.end(), [](auto m) { return m < 2; });
    add(server_.upload(host), Messages(a.clear), a.loose || (older && !bits));
  }
  void large() {
    const Wire a = any();
    const std::uint64_t sectors = a.encoding().sectors();
    switch (random_.below(3)) {
      case 0: {
        const auto bits = static_cast<unsigned>(1 + random_.below(4));
        return add(eval_floor(server_, a.array, bits),
                   of([&](std::size_t i) { return a.clear[i] >> bits; }));
      }
      case 1:
        return add(eval_sign(server_, a.array, one_of(encodings_)),
                   of([&](std::size_t i) { return a.clear[i] >= sectors / 2 ? 1u : 0u; }));
      default: {
        const std::vector<Array> digits = eval_decomp(server_, a.array);
        Messages rest = a.clear;
        for (const Array& digit : digits) {
          Messages low = rest;
          for (std::size_t i = 0; i < count_; ++i) {
            low[i] = rest[i] % digit.encoding().p;
            rest[i] /= digit.encoding().p;
          }
          add(digit, std::move(low));
        }
        for (const std::uint32_t left : rest) {
          totals_.wrong += left != 0 ? 1u : 0u;
          EXPECT_EQ(left, 0u);
        }
      }
    }
  }

  const Parameters& parameters_;
  const Client& client_;
  const Server& server_;
  std::vector<Encoding> encodings_;
  std::size_t count_;
  test::Random& random_;
  test::CircuitTotals& totals_;
  std::vector<Wire> wires_;
};

/// Sixteen steps a rotation, and errors that let most operations pass.
struct Set {
  const char* name;
  std::uint64_t log_q;
  std::uint32_t N, log_Q, log_base, digits;
  std::vector<Encoding> encodings;
  bool large;
  unsigned share;  ///< of all programs, in percent

  Parameters parameters() const {
    ParameterLiteral p = test::small_literal();
    p.name = name;
    p.q = 1ULL << log_q;
    p.N = N;
    p.Q = math::ntt_primes(log_Q, N, 1)[0];
    p.Q_ks = large ? 1ULL << 35 : 1 << 20;
    if (large) p.key_switch = KeySwitch::product;
    p.log_B_ks = large ? 2 : 5;
    p.gadget = {{p.n, log_base, digits}};
    p.transform = large ? Transform::ntt : Transform::fft;
    return test::insecure(p);
  }
};
const Set sets[] = {
    {"gates", 10, 512, 27, 7, 3, {{4, false}, {4, false}, {8, false}, {2, true}}, false, 35},
    {"tables", 11, 1024, 27, 7, 3, {{16, true}, {8, true}, {4, false}, {16, false}}, false, 35},
    {"digits", 15, 512, 54, 12, 3, {{128, false}, {64, true}, {4, false}, {8, true}}, true, 30},
};

class BinfheCircuits : public testing::TestWithParam<std::size_t> {};

TEST_P(BinfheCircuits, GiveWhatTheClearGivesOrAnError) {
  const std::size_t total = test::circuits_wanted(300, 100);
  std::size_t share = 0;
  for (std::size_t s = 0; s < GetParam(); ++s) share += sets[s].share;
  const Set& set = sets[GetParam()];
  const test::Shard shard = test::Shard::chosen();
  const auto [begin, end] =
      shard.part(total * (share + set.share) / 100 - total * share / 100, GetParam());
  if (begin == end) return;
  const double start = test::cpu_seconds();
  const Parameters parameters = set.parameters();
  SCOPED_TRACE(parameters.name() + ", WHORL_TEST_SHARD=" + shard.text() +
               ", WHORL_TEST_CIRCUITS=" + std::to_string(total));
  const Server server(test::pair_of(parameters).keys, {.device = "cpu", .threads = 1});
  test::Random random = shard.random(report.seed(), GetParam());
  test::CircuitTotals& totals = report.next_set();
  for (std::size_t i = begin; i < end; ++i) {
    if (set.large) ++totals.deep;
    Program(parameters, server, set.encodings, random, totals).run();
    totals.cpu_seconds = test::cpu_seconds() - start;
    ASSERT_FALSE(HasFailure()) << "program " << i;
  }
  EXPECT_LT(totals.dropped, totals.operations / 2);  // most are done
  std::printf("%s: %s\n", set.name, totals.text().c_str());
  std::fflush(stdout);
}
INSTANTIATE_TEST_SUITE_P(Programs, BinfheCircuits, testing::Range<std::size_t>(0, std::size(sets)),
                         [](const auto& s) { return std::string(sets[s.param].name); });

}  // namespace
}  // namespace whorl::binfhe
