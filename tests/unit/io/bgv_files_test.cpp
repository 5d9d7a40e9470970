// Files of BGV: what it does not share with other schemes (rlwe_files_test.cpp).
#include "support/test.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/rlwe_frames.h"

namespace whorl::io {
namespace {

using samples::insecure;
using samples::loading;
using samples::Sample;

using IoBgv = samples::Files;

/// What travels works at the other end.
TEST_F(IoBgv, ACircuitOverFiles) {
  const auto parameters = samples::bgv_parameters([] {
    auto literal = samples::bgv_literals()[1];
    literal.t = 12289;  // 1 mod 2N, too, and small enough for two multiplications
    return literal;
  }());
  const bgv::Client client(samples::bgv_secret_key(parameters, random));
  std::vector<std::int64_t> values(parameters.N());
  for (auto& value : values) value = static_cast<std::int64_t>(random() % parameters.t());
  save(folder / "keys", client.evaluation_keys({3, {1}, false}));
  save(folder / "public", client.public_key());
  save(folder / "c", encrypt(load<bgv::PublicKey>(folder / "public", insecure()), values));
  const bgv::Server server(load<bgv::EvaluationKeys>(folder / "keys", insecure()), {"cpu", 1, {}});
  const auto c = server.upload(load<bgv::Ciphertexts>(folder / "c", insecure()));
  save(folder / "result", server.download(server.rotate(server.multiply(c, c), 1)));
  const auto result = client.decrypt(load<bgv::Ciphertexts>(folder / "result", insecure()));
  const auto row = static_cast<std::size_t>(parameters.N()) / 2;
  for (std::size_t j = 0; j < parameters.N(); ++j) {
    const auto x = static_cast<std::uint64_t>(values[j / row * row + (j % row + 1) % row]);
    ASSERT_EQ(result[j], x * x % parameters.t()) << j;
  }
}

TEST_F(IoBgv, RefusesToWriteBrokenFacts) {
  const auto parameters = samples::bgv_parameters(samples::bgv_literals()[1]);
  const auto good = samples::bgv_ciphertexts(parameters, 2, 2, 3, random);
  const auto said = [&](const auto& change) {
    auto bad = good;
    change(bad.info);
    return samples::thrown([&] { dump(bad); });
  };
  EXPECT_EQ(said([](auto&) {}), "nothing");
  EXPECT_EQ(said([](auto& i) { i.limbs = 2; }), "Shape");
  EXPECT_EQ(said([](auto& i) { i.limbs = 6; }), "Range");
  EXPECT_EQ(said([](auto& i) { i.factor = 0; }), "Range");
  EXPECT_EQ(said([&](auto& i) { i.factor = parameters.t(); }), "Range");
  for (const double noise : {-1.0, 1e6, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(said([=](auto& i) { i.noise = noise; }), "Range");
}

TEST_F(IoBgv, FieldsOfCiphertexts) {
  const auto literal = samples::bgv_literals()[0];
  const std::size_t packing = samples::payload_at + samples::bgv_literal_bytes(literal),
                    limbs = packing + 8, count = packing + 16, factor = packing + 24,
                    noise = packing + 32;
  const auto frames = samples::rlwe_frames<samples::Bgv>(random);
  for (const std::size_t which : {3, 4}) {
    const Sample& sample = frames[which];
    SCOPED_TRACE(which == 4 ? "seeded" : "whole");
    const auto with = [&](std::size_t at, auto value) {
      return loading(sample, samples::patched(sample.frame, at, value));
    };
    for (const std::uint32_t bad : {0U, 17U, 0xffffffffU}) EXPECT_EQ(with(limbs, bad), "Range");
    EXPECT_EQ(with(count, std::uint64_t{1} << 40), "Truncated");
    EXPECT_EQ(with(count, std::uint64_t{1} << 52), "Oversized");  // wraps around
    EXPECT_EQ(with(factor, std::uint64_t{0}), "Range");
    EXPECT_EQ(with(factor, std::uint64_t{12289}), "Range");
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -0.5, 1e6})
      EXPECT_EQ(with(noise, bad), "Range");
    EXPECT_EQ(with(noise, 999999.0), "nothing");
  }
  // Slots that the parameters do not have.
  const auto wide = samples::bgv_parameters(samples::bgv_literals()[2]);
  const Bytes frame = dump(samples::bgv_ciphertexts(wide, 1, 2, 1, random));
  const std::size_t at =
      samples::payload_at + samples::bgv_literal_bytes(samples::bgv_literals()[2]);
  EXPECT_EQ(loading(frames[3], samples::patched(frame, at, std::uint32_t{0})), "Encoding");
  // A factor that decryption could not divide by: t = 1000.
  EXPECT_EQ(loading(frames[3], samples::patched(frame, at + 24, std::uint64_t{6})), "Range");
  EXPECT_EQ(loading(frames[3], samples::patched(frame, at + 24, std::uint64_t{7})), "nothing");
}

}  // namespace
}  // namespace whorl::io
