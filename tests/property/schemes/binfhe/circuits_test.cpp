// Random circuits of gates on bootstrapped bits against the same circuits on plain bits.
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

TEST(BinfheGates, RandomCircuitsAgreeWithPlainBits) {
  test::Random random;
  int wide = 0;
  for (const Parameters& parameters : test::varied_sets())
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(parameters.name());
      // Inputs may coincide, so that weights add up: 9 for MAJORITY at a margin of q/8 is the
      // worst, 16 for XOR at q/4. All runs decide at most 2^14 times: below 2^-47·2^14.
      if (parameters.gate_failure_log2(9, 4, transform) > -47 ||
          parameters.gate_failure_log2(16, 2, transform) > -47)
        continue;
      ++wide;
      const test::Pair& pair = test::pair_of(parameters);
      const Server server(pair.keys, {.device = "cpu", .threads = 2},
                          test::failing({.transform = transform}));
      const std::size_t width = 20;
      std::vector<std::vector<std::uint32_t>> plain;
      std::vector<Ciphertexts> wires;
      for (int i = 0; i < 3; ++i) {
        plain.emplace_back(width);
        for (auto& b : plain.back()) b = static_cast<std::uint32_t>(random.below(2));
        wires.push_back(pair.client.encrypt(plain.back()));
      }
      for (int step = 0; step < 30; ++step) {
        const std::size_t x = random.below(wires.size()), y = random.below(wires.size()),
                          z = random.below(wires.size());
        const Ciphertexts *two[] = {&wires[x], &wires[y]},
                          *three[] = {&wires[x], &wires[y], &wires[z]};
        const auto kind = random.below(9);
        Ciphertexts out = wires[x];
        std::vector<std::uint32_t> expected(width);
        for (std::size_t i = 0; i < width; ++i) {
          const std::uint32_t a = plain[x][i], b = plain[y][i], c = plain[z][i];
          const std::uint32_t table[] = {a & b,
                                         a | b,
                                         1 - (a & b),
                                         1 - (a | b),
                                         a ^ b,
                                         1 - (a ^ b),
                                         static_cast<std::uint32_t>(a + b + c >= 2),
                                         a ? b : c,
                                         1 - a};
          expected[i] = table[kind];
        }
        if (kind < 6)
          out = server.gate(static_cast<Gate>(kind), two);
        else if (kind == 6)
          out = server.gate(Gate::majority, three);
        else if (kind == 7)
          out = server.bootstrap(server.mux(wires[x], wires[y], wires[z]));
        else
          out = server.not_(wires[x]);
        ASSERT_EQ(pair.client.decrypt(out), expected) << "step " << step << ", kind " << kind;
        wires[step % 3] = std::move(out);
        plain[step % 3] = std::move(expected);
      }
    }
  EXPECT_GE(wide, 12);
}

}  // namespace
}  // namespace whorl::binfhe
