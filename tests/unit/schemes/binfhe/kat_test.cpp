// A whole gate on the NTT path against tests/kat/generate.py, which has its own keys, rotation,
// extraction and key switching in big integers.
#include "math/random.h"
#include "ring/gadget.h"
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "support/test_data.h"

namespace whorl::binfhe {
namespace {

using test::Int128;

/// The numbers of generate.py's line for one of its gates, "inputs" or "outputs".
std::vector<std::uint64_t> known_answers(const std::string& name, const std::string& what) {
  std::ifstream file(test::test_data("kat/vectors.txt"));
  std::vector<std::uint64_t> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, of, which;
    if (words >> kind >> of >> which && of == name && which == what)
      for (std::uint64_t x; words >> x;) out.push_back(x);
  }
  EXPECT_FALSE(out.empty()) << name << " " << what;
  return out;
}

math::Seed seed_of(unsigned byte) {
  math::Seed seed;
  seed.fill(static_cast<std::uint8_t>(byte));
  return seed;
}
template <class Word>
std::vector<Word> expanded(unsigned seed, std::uint64_t index, std::uint64_t modulus,
                           std::size_t count) {
  std::vector<Word> out(count);
  math::expand_uniform<Word>(seed_of(seed), index, modulus, out);
  return out;
}

/// The evaluation keys of generate.py's bootstrap(): errors are uniform in -3 … 3.
template <class Word, class SwitchWord>
EvaluationKeys make_keys(const Parameters& parameters, const SecretKey& key, unsigned seed) {
  const ParameterLiteral& p = parameters.literal();
  const std::vector<std::int32_t> s(key.lwe().begin(), key.lwe().end()),
      z(key.ring().begin(), key.ring().end());
  std::vector<Word> rotation;
  std::size_t row = 0, i = 0;
  for (const GadgetRange& range : p.gadget)
    for (std::uint32_t c = 0; c < range.count; ++c, ++i) {
      const ring::Gadget gadget(p.Q, range.log_base, range.digits);
      for (unsigned k = 0; k < parameters.keys_per_coefficient(); ++k)
        for (unsigned component = 0; component < 2; ++component)
          for (unsigned j = 0; j < gadget.digits(); ++j, ++row) {
            const auto a = expanded<Word>(seed + 1, row, p.Q, p.N);
            const auto e = expanded<std::uint32_t>(seed + 2, row, 7, p.N);
            auto b = test::negacyclic(z, a);
            const Int128 factor = s[i] == (k == 0 ? 1 : -1) ? Int128{1} << gadget.shift(j) : 0;
            for (std::uint32_t t = 0; t < p.N; ++t) {
              b[t] += Int128{e[t]} - 3 - (component == 0 ? factor * z[t] : 0);
              if (t == 0 && component == 1) b[t] += factor;
              rotation.push_back(static_cast<Word>(test::reduce(b[t], p.Q)));
            }
          }
    }
  const ring::Gadget gadget(p.Q_ks, p.log_B_ks, parameters.key_switch_digits());
  const bool table = p.key_switch == KeySwitch::table;
  std::vector<SwitchWord> switching;
  row = 0;
  for (i = 0; i < p.N; ++i)
    for (unsigned j = 0; j < gadget.digits(); ++j)
      for (std::uint64_t v = 1; v <= (table ? gadget.bound(j) : 1); ++v, ++row) {
        Int128 b = Int128{expanded<std::uint32_t>(seed + 4, row, 7, 1)[0]} - 3 +
                   static_cast<Int128>(v << gadget.shift(j)) * z[i];
        const auto a = expanded<SwitchWord>(seed + 3, row, p.Q_ks, p.n);
        for (std::uint32_t t = 0; t < p.n; ++t) b += Int128{a[t]} * s[t];
        switching.push_back(static_cast<SwitchWord>(test::reduce(b, p.Q_ks)));
      }
  return {parameters,        key.key_id(),
          seed_of(seed + 1), WordArray(std::move(rotation)),
          seed_of(seed + 3), WordArray(std::move(switching))};
}

template <class Word, class SwitchWord>
void check(const std::string& name, const Parameters& parameters, unsigned seed) {
  std::vector<std::int32_t> lwe, ring;
  const bool binary = parameters.literal().lwe_secret == SecretDistribution::binary;
  for (const std::uint32_t v : expanded<std::uint32_t>(seed, 0, binary ? 2 : 3, parameters.n()))
    lwe.push_back(static_cast<std::int32_t>(v) - (binary ? 0 : 1));
  for (const std::uint32_t v : expanded<std::uint32_t>(seed, 1, 3, parameters.N()))
    ring.push_back(static_cast<std::int32_t>(v) - 1);
  const Client client(SecretKey::from_coefficients(parameters, {}, lwe, ring));
  const EvaluationKeys keys = make_keys<Word, SwitchWord>(parameters, client.secret_key(), seed);

  const auto inputs = known_answers(name, "inputs");
  const auto outputs = known_answers(name, "outputs");
  const std::size_t row = parameters.n() + 1;
  Ciphertexts a{parameters, {}, {}, 4, {}, {}}, b = a;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    (i / row % 2 == 0 ? a : b).data.push_back(static_cast<std::uint32_t>(inputs[i]));
  ASSERT_EQ(client.decrypt(a), (std::vector<std::uint32_t>{0, 0, 1, 1}));
  ASSERT_EQ(client.decrypt(b), (std::vector<std::uint32_t>{0, 1, 0, 1}));
  const Ciphertexts* in[] = {&a, &b};
  test::on_each_target([&] {
    const Server server(keys, {.device = "cpu", .threads = 2}, {.transform = Transform::ntt});
    const Ciphertexts out = server.gate(Gate::nand, in);
    EXPECT_EQ(client.decrypt(out), (std::vector<std::uint32_t>{1, 1, 1, 0}));
    EXPECT_EQ(std::vector<std::uint64_t>(out.data.begin(), out.data.end()), outputs);
  });
}

TEST(KnownAnswers, NandOverATernaryKey) {
  ParameterLiteral p = test::small_literal();
  p.q = 1024;
  p.gadget = {{10, 7, 3}, {6, 9, 2}};
  check<std::uint32_t, std::uint16_t>("ternary", test::insecure(p), 20);
}

TEST(KnownAnswers, NandOverABinaryKey) {
  ParameterLiteral p = test::small_literal();
  p.q = 1 << 15;
  p.Q = 281474976694273;
  p.Q_ks = 1 << 20;
  p.key_switch = KeySwitch::product;
  p.log_B_ks = 4;
  p.ks_digits = 4;
  p.gadget = {{16, 23, 1}};
  p.lwe_secret = SecretDistribution::binary;
  check<std::uint64_t, std::uint32_t>("binary", test::insecure(p), 30);
}

}  // namespace
}  // namespace whorl::binfhe
