// Files that earlier revisions wrote load, decrypt and evaluate; tests/data/format2/README.md says
// what they hold.
#include "support/bgv_sets.h"
#include "support/test.h"
#include "support/test_data.h"
#include "unit/io/expectations.h"
#include "whorl/bgv.h"

namespace whorl::io {
namespace {

using samples::insecure;

std::filesystem::path file(const std::string& name) {
  return test::test_data("data/format2/" + name + ".whorl");
}

/// Loaded from its file; from its bytes comes the same, which is saved as these bytes again.
template <class T>
T kept(const std::string& name) {
  std::ifstream stream(file(name), std::ios::binary);
  const Bytes bytes{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(info(bytes).version, format_version);
  T value = load<T>(file(name), insecure());
  EXPECT_EQ(dump(value), bytes);
  EXPECT_EQ(dump(load<T>(bytes, insecure())), bytes);
  return value;
}

template <class Key>
Key kept_secret(const std::string& name) {
  LoadOptions options = insecure();
  options.allow_readable_by_others = true;  // as a checkout of the repository makes them
  EXPECT_THROW(load<Key>(file(name), "keep", options), PassphraseError);
  return load<Key>(file(name), "kept", options);
}

TEST(IoKeptFiles, Binfhe) {
  for (const std::string set : {"binfhe", "binfhe-wide"}) {
    SCOPED_TRACE(set);
    const auto parameters = kept<binfhe::Parameters>(set + "-parameters");
    const binfhe::Client client(kept_secret<binfhe::SecretKey>(set + "-secret-key"));
    EXPECT_EQ(client.parameters().literal(), parameters.literal());
    const auto fresh = kept<binfhe::Ciphertexts>(set + "-fresh");
    const auto nand = kept<binfhe::Ciphertexts>(set + "-nand");
    EXPECT_TRUE(fresh.seed.has_value());
    EXPECT_FALSE(nand.seed.has_value());
    EXPECT_EQ(fresh.shape, std::nullopt);
    EXPECT_EQ(client.decrypt(fresh), (std::vector<std::uint32_t>{0, 0, 1, 1, 1}));
    EXPECT_EQ(client.decrypt(nand), (std::vector<std::uint32_t>{1, 1, 1, 0, 1}));
    const auto lut = kept<binfhe::Lut>(set + "-lut");
    EXPECT_TRUE(std::ranges::equal(lut.values(), std::vector<std::uint32_t>{1, 0, 3, 2}));
    EXPECT_EQ(lut.kind(), binfhe::LutKind::padded);

    const binfhe::Server server(kept<binfhe::EvaluationKeys>(set + "-evaluation-keys"), {"cpu"});
    const binfhe::Ciphertexts* const inputs[] = {&fresh, &nand};
    EXPECT_EQ(client.decrypt(server.gate(binfhe::Gate::and_, inputs)),
              (std::vector<std::uint32_t>{0, 0, 1, 0, 1}));
    const std::vector<std::uint32_t> messages = {0, 1, 2, 3};
    const auto looked_up =
        server.apply({&lut, 1}, {}, client.encrypt(messages, binfhe::Encoding{4, true}));
    EXPECT_EQ(client.decrypt(looked_up), (std::vector<std::uint32_t>{1, 0, 3, 2}));
  }
  const auto literal = kept<binfhe::Parameters>("binfhe-wide-parameters").literal();
  EXPECT_EQ(literal.name, "format 1, wide");
  EXPECT_EQ(literal.ring_secret, binfhe::SecretDistribution::gaussian);
  EXPECT_EQ(literal.transform, binfhe::Transform::ntt);
  EXPECT_TRUE(literal.padding);
  EXPECT_EQ(literal.gadget, (std::vector<binfhe::GadgetRange>{{6, 23, 1}, {10, 24, 1}}));
  EXPECT_EQ(kept<binfhe::Parameters>("binfhe-parameters").literal().source,
            "tests; kept as format 1 wrote it: Größe ≤ 32");
}

TEST(IoKeptFiles, Bgv) {
  for (const std::string set : {"bgv", "bgv-wide"}) {
    SCOPED_TRACE(set);
    const auto parameters = kept<bgv::Parameters>(set + "-parameters");
    const bgv::Client client(kept_secret<bgv::SecretKey>(set + "-secret-key"));
    EXPECT_EQ(client.parameters().literal(), parameters.literal());
    const bool slots = parameters.has_slots();
    test::Clear clear{parameters.N(), parameters.t(),
                      slots ? bgv::Packing::slots : bgv::Packing::coefficients,
                      std::vector<std::uint64_t>(parameters.N())};
    for (std::size_t i = 0; i < clear.values.size(); ++i)
      clear.values[i] = (7 * i + 3) % parameters.t();

    const auto fresh = kept<bgv::Ciphertexts>(set + "-fresh");
    const auto square = kept<bgv::Ciphertexts>(set + "-square");
    EXPECT_TRUE(fresh.seed.has_value());
    EXPECT_FALSE(square.seed.has_value());
    EXPECT_EQ(client.decrypt(fresh), clear.values);
    EXPECT_EQ(client.decrypt(square), (clear * clear).values);
    EXPECT_EQ(square.info.factor != 1, slots);
    const auto key = kept<bgv::PublicKey>(set + "-public-key");
    EXPECT_EQ(client.decrypt(encrypt(key, clear.as_signed(), clear.packing)), clear.values);

    const bgv::Server server(kept<bgv::EvaluationKeys>(set + "-evaluation-keys"));
    auto product = server.multiply(server.upload(fresh), server.upload(fresh));
    if (slots) product = server.rotate(product, 1);
    EXPECT_EQ(client.decrypt(server.download(product)),
              (slots ? (clear * clear).rotated(1) : clear * clear).values);
  }
  const auto literal = kept<bgv::Parameters>("bgv-wide-parameters").literal();
  EXPECT_EQ(literal.name, "format 1, wide");
  EXPECT_EQ(literal.sigma, 3.2);
  EXPECT_EQ(literal.depth, 1U);
}

}  // namespace
}  // namespace whorl::io
