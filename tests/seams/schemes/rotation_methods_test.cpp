// Every rotation fits through the same entries: clients, keys and servers know nothing of it. The
// CPU has kernels for all; another device takes blind_rotate alone.
#include "support/binfhe_sets.h"
#include "support/slow_rotation.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

void register_slow() { test::register_relay<test::SlowRotationQueue>("slow"); }

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

TEST(RotationMethods, ADeviceTakesEachAlone) {
  register_slow();
  constexpr auto binary = SecretDistribution::binary, ternary = SecretDistribution::ternary,
                 gaussian = SecretDistribution::gaussian, blocks = SecretDistribution::block_binary;
  const auto as_it_is = [](ParameterLiteral&) {};
  const auto odd = [](ParameterLiteral& p) { p.n = p.gadget[0].count = 17; };
  // Rounded from q > 2N, and centred.
  const auto rounded = [](ParameterLiteral& p) {
    p.q = p.Q_ks = 1 << 15;
    p.log_B_ks = 4;
    p.ks_digits = 3;
  };
  const auto small_q = [](ParameterLiteral& p) { p.q = 256, p.sigma_lwe = 0.5; };
  struct Case {
    Rotation rotation;
    SecretDistribution secret;
    std::uint64_t rows;  ///< of n = 16 coefficients, or 17
    std::function<void(ParameterLiteral&)> change;
  };
  // RGSW keys have 2 rows for each of the gadget's 3 digits.
  for (const Case& c : std::vector<Case>{
           {{RotationKind::unrolled, 2}, binary, 8 * 3 * 6, as_it_is},
           {{RotationKind::unrolled, 2}, binary, (8 * 3 + 1) * 6, odd},  // one in the last group
           {{RotationKind::unrolled_all, 2}, binary, (8 * 4 + 2) * 6, odd},
           {{RotationKind::block, 2}, blocks, 16 * 6, as_it_is},  // as GINX
           {{RotationKind::block, 2}, blocks, 16 * 6, rounded},
           {{RotationKind::block, 4}, blocks, 16 * 6, as_it_is},
           {{RotationKind::block, 4}, blocks, 16 * 6, rounded},
           {{RotationKind::block, 8}, blocks, 16 * 6, as_it_is},
           {{RotationKind::block, 8}, blocks, 16 * 6, rounded},
           // 2N = 512 = 16·32: two places, of which the second has 15 values that are not 0.
           {{RotationKind::ap, 32}, ternary, 16 * (31 + 15) * 6, as_it_is},
           {{RotationKind::ap, 32}, gaussian, 16 * (31 + 15) * 6, as_it_is},
           // q = 16·16, and not 2N = 16·16·2.
           {{RotationKind::ap, 16}, ternary, 16 * (15 + 15) * 6, small_q},
           // A key for each coefficient, and 11 of digits of a alone.
           {{RotationKind::automorphism, 10}, ternary, 16 * 6 + 11 * 3, as_it_is},
           {{RotationKind::automorphism, 10}, gaussian, 16 * 6 + 11 * 3, as_it_is}}) {
    ParameterLiteral literal = with(c.rotation, c.secret);
    c.change(literal);
    const Parameters parameters = test::insecure(literal);
    EXPECT_EQ(parameters.rotation_key_rows(), c.rows);
    if (c.rotation.kind == RotationKind::block)
      EXPECT_EQ(parameters.keys_per_coefficient(), c.rotation.group);
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
  test::register_relay<GinxAloneQueue>("ginx");
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
