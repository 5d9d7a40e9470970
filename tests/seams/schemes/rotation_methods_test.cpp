// Every rotation fits through the same entries: clients, keys and servers know nothing of it. The
// CPU has kernels for all; another device takes blind_rotate alone.
#include "support/binfhe_sets.h"
#include "support/slow_rotation.h"
#include "support/test.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

void register_slow() {
  backend::register_devices({"slow", "\"slow\"",
                             [](const std::string&, const backend::DeviceOptions& options) {
                               return std::vector<std::shared_ptr<const backend::Device>>{
                                   std::make_shared<backend::RelayDevice<test::SlowRotationQueue>>(
                                       "slow:0", backend::make_device("cpu", options))};
                             },
                             [] { return std::vector<DeviceInfo>(); }});
}

ParameterLiteral with(Rotation rotation, SecretDistribution secret) {
  ParameterLiteral p = test::small_literal();
  p.rotation = rotation;
  p.lwe_secret = secret;
  return p;
}

void check_gates_and_tables(const Parameters& parameters) {
  SCOPED_TRACE(static_cast<int>(parameters.literal().rotation.kind));
  SCOPED_TRACE(static_cast<int>(parameters.literal().lwe_secret));
  const Client client(parameters);
  const EvaluationKeys keys = client.evaluation_keys(2);
  EXPECT_EQ(keys.rotation_b.size(),
            parameters.rotation_key_rows() * parameters.rotation_row_words());
  const std::vector<std::uint32_t> x = {0, 0, 1, 1}, y = {0, 1, 0, 1}, m = {0, 1, 2, 3};
  for (const char* device : {"slow", "cpu", "cpu by the other transform"}) {
    SCOPED_TRACE(device);
    ServerOptions options = test::failing();
    if (std::string(device).size() > 4)
      options.transform =
          parameters.literal().transform == Transform::fft ? Transform::ntt : Transform::fft;
    const Server server(keys, {std::string(device).substr(0, device[0] == 's' ? 4 : 3), 2},
                        options);
    const Array a = server.upload(client.encrypt(x)), b = server.upload(client.encrypt(y));
    const Array* both[] = {&a, &b};
    const auto bits = [&](const Array& array) { return client.decrypt(server.download(array)); };
    EXPECT_EQ(bits(server.gate(Gate::nand, both)), (std::vector<std::uint32_t>{1, 1, 1, 0}));
    EXPECT_EQ(bits(server.gate(Gate::xor_, both)), (std::vector<std::uint32_t>{0, 1, 1, 0}));
    const Lut lut = Lut::create(parameters, {3, 1, 0, 2}, {4, false}, {4, false});
    EXPECT_EQ(client.decrypt(server.apply({&lut, 1}, {}, client.encrypt(m))),
              (std::vector<std::uint32_t>{3, 1, 0, 2}));
  }
}

TEST(RotationMethods, ADeviceTakesUnrolledRotationsAlone) {
  register_slow();
  check_gates_and_tables(
      test::insecure(with({RotationKind::unrolled, 2}, SecretDistribution::binary)));
  // A last group of one coefficient.
  ParameterLiteral odd = with({RotationKind::unrolled, 2}, SecretDistribution::binary);
  odd.n = odd.gadget[0].count = 17;
  const Parameters parameters = test::insecure(odd);
  EXPECT_EQ(parameters.rotation_key_rows(), (8 * 3 + 1) * 2 * odd.gadget[0].digits);
  check_gates_and_tables(parameters);
  odd.rotation.kind = RotationKind::unrolled_all;
  EXPECT_EQ(test::insecure(odd).rotation_key_rows(), (8 * 4 + 2) * 2 * odd.gadget[0].digits);
  check_gates_and_tables(test::insecure(odd));
}

TEST(RotationMethods, ADeviceTakesBlocksAlone) {
  register_slow();
  for (const std::uint32_t length : {2u, 4u, 8u}) {
    ParameterLiteral literal =
        with({RotationKind::block, length}, SecretDistribution::block_binary);
    const Parameters parameters = test::insecure(literal);
    EXPECT_EQ(parameters.keys_per_coefficient(), length);
    EXPECT_EQ(parameters.rotation_key_rows(), 16u * 2 * 3);  // as GINX
    check_gates_and_tables(parameters);
    // Rounded from q > 2N, and centred at 1/(length + 1).
    literal.q = literal.Q_ks = 1 << 15;
    literal.log_B_ks = 4;
    literal.ks_digits = 3;
    check_gates_and_tables(test::insecure(literal));
  }
}

TEST(RotationMethods, ADeviceTakesApAlone) {
  register_slow();
  for (const auto secret : {SecretDistribution::ternary, SecretDistribution::gaussian}) {
    const Parameters parameters = test::insecure(with({RotationKind::ap, 32}, secret));
    // 2N = 512 = 16·32: two places, of which the second has 15 values that are not 0.
    EXPECT_EQ(parameters.keys_per_coefficient(), 31u + 15u);
    check_gates_and_tables(parameters);
  }
}

TEST(RotationMethods, ADeviceTakesAutomorphismsAlone) {
  register_slow();
  for (const auto secret : {SecretDistribution::ternary, SecretDistribution::gaussian}) {
    const Parameters parameters = test::insecure(with({RotationKind::automorphism, 10}, secret));
    // A key for each coefficient, and 11 of digits of a alone.
    EXPECT_EQ(parameters.rotation_key_rows(), 16u * 2 * 3 + 11 * 3);
    check_gates_and_tables(parameters);
  }
}

TEST(RotationMethods, ADeviceTakesARaisedModulusAlone) {
  register_slow();
  const std::uint64_t P = math::ntt_primes(30, 256, 1)[0];
  for (const auto& [kind, group] : {std::pair{RotationKind::ginx, 1u},
                                    {RotationKind::unrolled, 2u},
                                    {RotationKind::unrolled_all, 2u},
                                    {RotationKind::ap, 32u},
                                    {RotationKind::automorphism, 10u},
                                    {RotationKind::block, 4u}})
    for (const auto secret : {SecretDistribution::binary, SecretDistribution::ternary,
                              SecretDistribution::gaussian, SecretDistribution::block_binary}) {
      ParameterLiteral literal = with({kind, group, P}, secret);
      literal.gadget[0].digits = 1;
      const bool blocks = secret == SecretDistribution::block_binary;
      const bool any = kind == RotationKind::ap || kind == RotationKind::automorphism;
      if (kind == RotationKind::block || blocks) {
        if (kind == RotationKind::block && blocks)
          check_gates_and_tables(test::insecure(literal));
        else
          EXPECT_THROW(test::insecure(literal), ParameterError);
      } else if (any || secret == SecretDistribution::binary ||
                 (kind == RotationKind::ginx && secret == SecretDistribution::ternary))
        check_gates_and_tables(test::insecure(literal));
      else
        EXPECT_THROW(test::insecure(literal), ParameterError);
    }
}

TEST(RotationMethods, ExponentsOfFewerValuesThan2NTakeFewerDigits) {
  register_slow();
  ParameterLiteral literal = with({RotationKind::ap, 16}, SecretDistribution::ternary);
  literal.q = 256;
  literal.sigma_lwe = 0.5;
  const Parameters parameters = test::insecure(literal);
  EXPECT_EQ(parameters.keys_per_coefficient(), 15u + 15u);  // q = 16·16, and not 2N = 16·16·2
  check_gates_and_tables(parameters);
}

/// A device that has kernels for GINX alone.
template <class Word>
class GinxAlone final : public backend::RelayRotation<Word> {
 public:
  using backend::RelayRotation<Word>::RelayRotation;

 protected:
  std::unique_ptr<backend::RotationKey> make_key(
      const backend::RotationShape& shape, const backend::RowSource<Word>& rows) const override {
    this->require_ginx(shape);
    return backend::RelayRotation<Word>::make_key(shape, rows);
  }
};
class GinxAloneQueue final : public backend::Relay {
 public:
  GinxAloneQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> of)
      : Relay(std::move(device), std::move(of)) {
    offer<backend::RotationOps<std::uint32_t>>(
        std::make_shared<GinxAlone<std::uint32_t>>(*this, behind()));
  }
};

TEST(RotationMethods, WhoHasNoKernelRefusesTheKeys) {
  backend::register_devices({"ginx", "\"ginx\"",
                             [](const std::string&, const backend::DeviceOptions& options) {
                               return std::vector<std::shared_ptr<const backend::Device>>{
                                   std::make_shared<backend::RelayDevice<GinxAloneQueue>>(
                                       "ginx:0", backend::make_device("cpu", options))};
                             },
                             [] { return std::vector<DeviceInfo>(); }});
  const std::uint64_t P = math::ntt_primes(30, 256, 1)[0];
  for (const auto& [rotation, name] :
       {std::pair{Rotation{RotationKind::unrolled, 2}, "unrolled"},
        {Rotation{RotationKind::unrolled_all, 2}, "unrolled (all keys)"},
        {Rotation{RotationKind::ap, 32}, "AP"},
        {Rotation{RotationKind::automorphism, 4}, "automorphism"},
        {Rotation{RotationKind::block, 4}, "block"},
        {Rotation{RotationKind::ginx, 1, P}, "modulo Q"}}) {
    ParameterLiteral literal =
        with(rotation, rotation.kind == RotationKind::block ? SecretDistribution::block_binary
                                                            : SecretDistribution::binary);
    if (rotation.raised_by != 1) literal.gadget[0].digits = 1;
    const Client client(test::insecure(literal));
    test::expect_message<DeviceError>(
        [&] {
          const Server server(client.evaluation_keys(2), {"ginx", 1}, test::failing());
        },
        {name});
  }
}

}  // namespace
}  // namespace whorl::binfhe
