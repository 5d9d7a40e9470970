// The scheme on a GPU: every gate and kind of table decrypts right, and with the NTT gives the
// ciphertexts that the CPU gives, bit for bit, whatever the batch.
#include "backend/cuda/runtime/launch_queue.h"
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

constexpr Gate gates[] = {Gate::and_, Gate::or_,  Gate::nand,     Gate::nor,
                          Gate::xor_, Gate::xnor, Gate::majority, Gate::and3,
                          Gate::or3,  Gate::and4, Gate::or4};

bool truth(Gate gate, unsigned ones) {
  switch (gate) {
    case Gate::and_:
      return ones == 2;
    case Gate::and3:
      return ones == 3;
    case Gate::and4:
      return ones == 4;
    case Gate::nand:
      return ones != 2;
    case Gate::nor:
      return ones == 0;
    case Gate::xor_:
      return ones == 1;
    case Gate::xnor:
      return ones != 1;
    case Gate::majority:
      return ones >= 2;
    default:
      return ones > 0;
  }
}
std::uint32_t least_p(Gate gate) {
  if (gate == Gate::and3 || gate == Gate::or3) return 6;
  return gate == Gate::and4 || gate == Gate::or4 ? 8 : 4;
}

Server server_on(const EvaluationKeys& keys, const char* device, Transform transform) {
  return Server(keys, {device}, {.transform = transform, .allow_failure = 1});
}

std::vector<std::uint32_t> random_messages(std::size_t count, std::uint32_t p,
                                           test::Random& random) {
  std::vector<std::uint32_t> out(count);
  for (auto& m : out) m = static_cast<std::uint32_t>(random.below(p));
  return out;
}

/// Operations on one batch by both servers; by NTT, `same` holds them to one another.
class Comparison {
 public:
  Comparison(const Client& client, const EvaluationKeys& keys, Transform transform,
             test::Random& random)
      : client_(client),
        cpu_(server_on(keys, "cpu", transform)),
        gpu_(server_on(keys, "cuda:0", transform)),
        exact_(transform == Transform::ntt),
        random_(random) {}

  void gate(Gate gate, std::size_t count) {
    SCOPED_TRACE(std::string(gate_name(gate)) + ", batch " + std::to_string(count));
    const Encoding encoding{least_p(gate), false};
    std::vector<Ciphertexts> in;
    std::vector<unsigned> ones(count, 0);
    std::vector<std::uint32_t> want;
    for (unsigned k = 0; k < gate_inputs(gate); ++k) {
      const auto bits = random_messages(count, 2, random_);
      for (std::size_t i = 0; i < count; ++i) ones[i] += bits[i];
      in.push_back(client_.encrypt(bits, encoding, 1));
    }
    for (const unsigned n : ones) want.push_back(truth(gate, n));
    std::vector<const Ciphertexts*> pointers;
    for (const auto& batch : in) pointers.push_back(&batch);
    same(want, [&](const Server& server) { return server.gate(gate, pointers); });
  }
  void mux_and_bootstrap(std::size_t count) {
    SCOPED_TRACE("mux, bootstrap, not, linear; batch " + std::to_string(count));
    const auto s = random_messages(count, 2, random_), a = random_messages(count, 2, random_),
               b = random_messages(count, 2, random_);
    const auto cs = client_.encrypt(s), ca = client_.encrypt(a), cb = client_.encrypt(b);
    std::vector<std::uint32_t> chosen, inverted;
    for (std::size_t i = 0; i < count; ++i) {
      chosen.push_back(s[i] ? a[i] : b[i]);
      inverted.push_back(1 - s[i]);
    }
    same(chosen, [&](const Server& server) { return server.mux(cs, ca, cb); });
    same(s, [&](const Server& server) { return server.bootstrap(cs); });
    same(inverted, [&](const Server& server) { return server.not_(server.bootstrap(cs)); });
  }
  /// A table for each ciphertext, of any kind that the set carries.
  void luts(Encoding in, std::size_t count) {
    const auto& parameters = client_.parameters();
    const Encoding out{4, false};
    std::vector<Lut> tables;
    for (int t = 0; t < 3; ++t)
      tables.push_back(Lut::create(parameters, random_messages(in.p, 4, random_), in, out));
    while (tables[1].kind() != tables[0].kind() || tables[2].kind() != tables[0].kind())
      for (Lut& table : tables)
        table = Lut::create(parameters, random_messages(in.p, 4, random_), in, out);
    SCOPED_TRACE("table of kind " + std::to_string(static_cast<int>(tables[0].kind())) +
                 ", p = " + std::to_string(in.p) + ", batch " + std::to_string(count));
    const auto messages = random_messages(count, in.p, random_),
               index = random_messages(count, 3, random_);
    std::vector<std::uint32_t> want;
    for (std::size_t i = 0; i < count; ++i) want.push_back(tables[index[i]].values()[messages[i]]);
    const auto x = client_.encrypt(messages, in, 1);
    same(want, [&](const Server& server) { return server.apply(tables, index, x); });
  }
  /// Several tables by the rotations of one: further coefficients are extracted, also where the
  /// tables are of several kinds.
  void shared(Encoding in, std::size_t tables, std::size_t count) {
    SCOPED_TRACE(std::to_string(tables) + " tables of one rotation, p = " + std::to_string(in.p) +
                 (in.padding ? " padded" : "") + ", batch " + std::to_string(count));
    const auto& parameters = client_.parameters();
    std::vector<Lut> luts;
    for (std::size_t l = 0; l + 1 < tables; ++l)
      luts.push_back(Lut::create(parameters, random_messages(in.p, 4, random_), in, {4}));
    std::vector<std::uint32_t> relu(in.p);
    for (std::uint32_t m = 0; m < in.p / 2; ++m) relu[m] = m;
    const bool exact = parameters.q() % in.p == 0;
    luts.push_back(
        Lut::create(parameters, relu, in, {std::max(2U, in.p / 2)}, true, exact && !in.padding));
    const auto messages = random_messages(count, in.p, random_);
    const auto x = client_.encrypt(messages, in, 1);
    std::vector<Ciphertexts> got[2];
    const Server* servers[] = {&cpu_, &gpu_};
    for (int s = 0; s < 2; ++s)
      for (const Array& each : servers[s]->apply_many(luts, servers[s]->upload(x)))
        got[s].push_back(servers[s]->download(each));
    for (std::size_t l = 0; l < tables; ++l) {
      std::vector<std::uint32_t> want;
      for (const std::uint32_t m : messages) want.push_back(luts[l].values()[m]);
      ASSERT_EQ(client_.decrypt(got[1][l]), want) << "table " << l;
      if (exact_) {
        ASSERT_TRUE(got[1][l].data == got[0][l].data) << "other bits than the CPU's";
      }
    }
  }

 private:
  template <class Run>
  void same(const std::vector<std::uint32_t>& want, const Run& run) {
    const Ciphertexts got = run(gpu_);
    ASSERT_EQ(client_.decrypt(got), want);
    if (exact_) {
      ASSERT_TRUE(got.data == run(cpu_).data) << "other bits than the CPU's";
    }
  }
  const Client& client_;
  Server cpu_, gpu_;
  bool exact_;
  test::Random& random_;
};

TEST(GpuBinfhe, EveryOperationOnSetsOfEveryKind) {
  test::Random random;
  for (const Parameters& parameters : test::varied_sets())
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(parameters.name() + (transform == Transform::ntt ? ", ntt" : ", fft"));
      const test::Pair& pair = test::pair_of(parameters);
      Comparison compare(pair.client, pair.keys, transform, random);
      for (const Gate gate : gates) compare.gate(gate, 1 + random.below(40));
      compare.mux_and_bootstrap(1 + random.below(40));
      for (const Encoding in : {Encoding{4, true}, Encoding{4, false}})
        if (parameters.lut_failure_log2(in, !in.padding, transform) < -30)
          compare.luts(in, 1 + random.below(40));
      for (const std::size_t tables : {2U, 3U})
        for (const Encoding in : {Encoding{2, true}, Encoding{4, true}, Encoding{4, false}})
          if (parameters.lut_failure_log2(in, !in.padding, transform,
                                          static_cast<std::uint32_t>(tables)) < -30)
            compare.shared(in, tables, 1 + random.below(40));
      for (const std::size_t count : {1, 5, 1000}) compare.gate(Gate::nand, count);
      if (testing::Test::HasFatalFailure()) return;
    }
}

// Sets as they are used; their failure probabilities are far below 10^-6 for these counts.
TEST(GpuBinfhe, NamedSets) {
  test::Random random;
  for (const char* name :
       {"W128_P64", "W128_P64_M3", "W128_P64_M4", "BLOCK4_P64", "openfhe_1_6/STD128",
        "velofhe/GD_I", "xiao/STD128", "fpga/I_M2", "fpga/II_M2", "W128_P64_RTL_M2"}) {
    const Parameters parameters = Parameters::named(name, true);
    const Client client(parameters);
    const auto keys = client.evaluation_keys();
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(std::string(name) + (transform == Transform::ntt ? ", ntt" : ", fft"));
      Comparison compare(client, keys, transform, random);
      compare.gate(Gate::nand, 1);
      compare.gate(Gate::nand, 5);
      compare.gate(Gate::nand, transform == Transform::ntt ? 100 : 300);
      compare.mux_and_bootstrap(7);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// One rotation beside a linear part and coarse tables, at the sets of Xiao et al.
TEST(GpuBinfhe, TablesOfOneRotationAndCoarseOnes) {
  const Parameters parameters = Parameters::named("xiao/RELU", true);
  const Client client(parameters);
  const Server server(client.evaluation_keys(), {"cuda:0"});
  constexpr std::uint32_t p = 1U << 16;
  const auto relu = [](std::uint32_t of) {
    return [of](std::uint32_t m) { return m < of / 2 ? m : 0; };
  };
  const Lut small = Lut::create(parameters, relu(8), {8}, {4}, true, true);
  const Lut coarse = Lut::create(parameters, relu(p), {p}, {p / 2}, false, true);
  ASSERT_EQ(coarse.kind(), LutKind::near_negacyclic);
  test::Random random;
  for (const Lut* lut : {&small, &coarse}) {
    const std::uint32_t of = lut->input().p, p_out = lut->output().p, bound = lut->error_bound();
    const auto messages = random_messages(1000, of, random);
    const auto got = client.decrypt(
        server.apply(std::span(lut, 1), {}, client.encrypt(messages, lut->input(), 1)));
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const std::uint32_t off = (got[i] + p_out - lut->values()[messages[i]]) % p_out;
      ASSERT_LE(std::min(off, p_out - off), bound) << messages[i];
    }
  }
}

// There are a few ciphertexts, for which launches are a part of the time.
TEST(GpuBinfhe, OneCallIsAtMostThreeLaunches) {
  using backend::cuda::launches_so_far;
  for (const char* name : {"W128_P64_M4", "BLOCK4_P64"}) {
    const Parameters parameters = Parameters::named(name, true);
    const Client client(parameters);
    const Server server(client.evaluation_keys(), {"cuda:0"});
    for (const std::size_t count : {1, 64}) {
      SCOPED_TRACE(std::string(name) + ", " + std::to_string(count));
      const std::vector<std::uint32_t> bits(count, 1);
      const Ciphertexts a = client.encrypt(bits);
      const Array x = server.upload(a), y = server.upload(client.encrypt(bits));
      std::uint64_t most = 0;
      for (int i = 0; i < 5; ++i) {
        const std::uint64_t before = launches_so_far();
        const Array* const both[] = {&x, &y};
        const Array nand = server.gate(Gate::nand, both);
        const Ciphertexts out = server.download(nand);
        // Graphs are made when a sequence comes again.
        if (i >= 2) most = std::max(most, launches_so_far() - before);
        EXPECT_EQ(client.decrypt(out), std::vector<std::uint32_t>(count, 0));
      }
      EXPECT_LE(most, 3u);
      EXPECT_GE(most, 1u);
    }
  }
}

/// Gates of a named set, or of one of its gadgets and moduli with a smaller n where its key would
/// take long to make.
void other_rotations(const Parameters& parameters, test::Random& random) {
  const Client client(parameters);
  const auto keys = client.evaluation_keys();
  for (const Transform transform : {Transform::ntt, Transform::fft}) {
    SCOPED_TRACE(parameters.name() + (transform == Transform::ntt ? ", ntt" : ", fft"));
    Comparison compare(client, keys, transform, random);
    compare.gate(Gate::nand, 1);
    compare.gate(Gate::xor_, 40);
    compare.gate(Gate::nand, transform == Transform::ntt ? 20 : 300);
    compare.mux_and_bootstrap(7);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuBinfhe, SetsByAutomorphismsAndWithARaisedModulus) {
  test::Random random;
  for (const char* name : {"openfhe_1_6/STD128_LMKCDEY", "velofhe/MR_I", "velofhe/MR_II"}) {
    other_rotations(Parameters::named(name, true), random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuBinfhe, SetsByApWithFewerCoefficients) {
  test::Random random;
  for (const char* name : {"velofhe/GD_I_AP", "velofhe/GD_II_AP", "velofhe/MR_I_AP",
                           "velofhe/MR_II_AP", "openfhe_1_6/STD128_AP"}) {
    ParameterLiteral p = Parameters::named(name, true).literal();
    p.name += ", n = 40";
    p.n = 40;
    // As many gadgets as the set has.
    for (GadgetRange& range : p.gadget) range.count = 4;
    p.gadget.back().count = p.n - 4 * static_cast<std::uint32_t>(p.gadget.size() - 1);
    other_rotations(test::insecure(p), random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuBinfhe, TablesOfNamedSets) {
  test::Random random;
  const Encoding four{16, true}, three{8, false};
  for (const auto& [name, encoding] :
       {std::pair{"W128_P128", four}, std::pair{"W128_P128_M2", four},
        std::pair{"W128_P128_M5", four}, std::pair{"xiao/EVALFUNC", three}}) {
    const Client client(Parameters::named(name, true));
    const auto keys = client.evaluation_keys();
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(std::string(name) + (transform == Transform::ntt ? ", ntt" : ", fft"));
      Comparison compare(client, keys, transform, random);
      compare.luts(encoding, 1);
      compare.luts(encoding, 20);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Whatever the chip is given at once: one call's bits are those of its pieces.
TEST(GpuBinfhe, BatchesLargerThanMemoryGoThroughInPieces) {
  test::Random random;
  const test::Pair& pair = test::pair_of(test::varied_sets()[1]);
  const Server server = server_on(pair.keys, "cuda:0", Transform::ntt);
  const std::size_t count = 60000;
  const auto x = random_messages(count, 2, random), y = random_messages(count, 2, random);
  const auto a = pair.client.encrypt(x), b = pair.client.encrypt(y);
  const Ciphertexts* inputs[] = {&a, &b};
  const Ciphertexts whole = server.gate(Gate::nand, inputs);
  std::vector<std::uint32_t> want;
  for (std::size_t i = 0; i < count; ++i) want.push_back(1 - x[i] * y[i]);
  ASSERT_EQ(pair.client.decrypt(whole), want);

  // All but 64 MB taken by someone else: 60,000 ciphertexts of 2 KB and more do not fit.
  const auto queue = test::cuda();
  std::size_t free = 0;
  for (const auto& info : list_devices())
    if (info.name == "cuda:0") free = info.free_memory;
  std::vector<backend::Buffer<std::uint8_t>> taken;
  for (std::size_t part = free / 2; part >= (std::size_t{16} << 20) && free > (64u << 20);) {
    const std::size_t size = std::min(part, free - (std::size_t{64} << 20));
    try {
      taken.push_back(queue->allocate<std::uint8_t>(size));
      free -= size;
    } catch (const OutOfMemoryError&) {
      part /= 2;
    }
    if (size < (std::size_t{16} << 20)) break;
  }
  ASSERT_TRUE(server.gate(Gate::nand, inputs).data == whole.data);
}

}  // namespace
}  // namespace whorl::binfhe
