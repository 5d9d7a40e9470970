// Known answers computed by tests/kat/generate.py: randomness, transforms, digits, rounding.
#include <gtest/gtest.h>

#include "support/known_answers.h"
#include "support/schoolbook.h"
#include "support/targets.h"

namespace whorl::backend {
namespace {

using Numbers = std::vector<std::uint64_t>;
using test::known_answers;

Numbers tail(const Numbers& line, std::size_t from) {
  return {line.begin() + static_cast<std::ptrdiff_t>(from), line.end()};
}

template <class Word>
void check_expand(const Numbers& line) {
  const auto got = test::expanded<Word>(11, line[1], line[2], line.size() - 3);
  EXPECT_EQ(Numbers(got.begin(), got.end()), tail(line, 3)) << "modulus " << line[2];
}
TEST(KnownAnswers, ExpandUniform) {
  for (const Numbers& line : known_answers("expand")) {
    if (line[0] == 2) check_expand<std::uint16_t>(line);
    if (line[0] == 4) check_expand<std::uint32_t>(line);
    if (line[0] == 8) check_expand<std::uint64_t>(line);
  }
}

template <class Word>
void check_ntt(const Numbers& line) {
  const auto q = static_cast<Word>(line[1]);
  const ring::NttPlan<Word> plan(256, q);
  const ring::NttPlan<Word>* plans[] = {&plan};
  for (const Numbers& root :
       known_answers("psi " + std::to_string(line[0]) + " " + std::to_string(q)))
    EXPECT_EQ(plan.psi(), root[0]);
  test::on_each_device([&](const test::Executor& on) {
    const auto device = on.queue();
    auto data = test::put(*device, test::expanded<Word>(12, 0, q, 256));
    device->ring<Word>().ntt(plans, data.slice());
    const auto got = test::get(*device, data);
    EXPECT_EQ(Numbers(got.begin(), got.end()), tail(line, 2)) << "q = " << q;
  });
}
TEST(KnownAnswers, Ntt) {
  for (const Numbers& line : known_answers("ntt"))
    line[0] == 4 ? check_ntt<std::uint32_t>(line) : check_ntt<std::uint64_t>(line);
}

TEST(KnownAnswers, GadgetDigits) {
  for (const Numbers& line : known_answers("gadget")) {
    const std::uint64_t Q = line[0];
    const ring::Gadget gadget(Q, static_cast<unsigned>(line[1]), static_cast<unsigned>(line[2]));
    Numbers values = {0, 1, Q - 1, Q / 2, Q / 2 + 1};
    for (const std::uint64_t x : test::expanded<std::uint64_t>(13, 0, Q, 12)) values.push_back(x);
    Numbers got;
    for (const std::uint64_t x : values)
      for (unsigned j = 0; j < gadget.digits(); ++j)
        got.push_back(static_cast<std::uint64_t>(gadget.digit(test::centred(x, Q), j)));
    EXPECT_EQ(got, tail(line, 3)) << "Q = " << Q;
  }
}

TEST(KnownAnswers, ModulusSwitch) {
  for (const char* const name : test::tested_devices()) {
    const auto device = backend::open_queue(name);
    for (const Numbers& line : known_answers("switch")) {
      const auto in = test::put(*device, test::expanded<std::uint32_t>(14, 0, line[0], 41));
      auto out = device->allocate<std::uint32_t>(41);
      device->lwe().modulus_switch(line[0], line[1], 41, line[2] == 1 ? 2 : 0, in.slice(),
                                   out.slice());
      const auto got = test::get(*device, out);
      EXPECT_EQ(Numbers(got.begin(), got.end()), tail(line, 3)) << line[0] << " to " << line[1];
    }
  }
}

}  // namespace
}  // namespace whorl::backend
