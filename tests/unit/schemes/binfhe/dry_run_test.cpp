// What a dry run says before there is a key is what a server says of ciphertexts.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/binfhe_sets.h"
#include "support/targets.h"
#include "whorl/binfhe.h"
#include "whorl/error.h"

namespace whorl::binfhe {
namespace {

struct Case {
  std::function<Array(const Server&, const Array&, const Array&)> circuit;
  std::size_t bootstraps = 0, key_switches = 0;  ///< of three ciphertexts
};

const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> all{
      {"gate", {[](const Server&, const Array& a, const Array& b) { return a & b; }, 3, 3}},
      {"gates", {[](const Server&, const Array& a, const Array& b) { return (a ^ b) | ~a; }, 6, 6}},
      {"a known bit", {[](const Server&, const Array& a, const Array&) { return a ^ true; }, 0, 0}},
      {"mux",
       {[](const Server& s, const Array& a, const Array& b) { return s.mux(a, b, a & b); }, 9, 6}},
      {"sum",
       {[](const Server& s, const Array& a, const Array& b) {
          const std::int32_t weights[] = {1, 1};
          const Array* inputs[] = {&a, &b};
          return s.linear(weights, inputs);
        },
        0, 0}},
  };
  return all;
}

TEST(BinfheDryRun, SaysWhatAServerSays) {
  for (const Parameters& p : test::varied_sets()) {
    const test::Pair& pair = test::pair_of(p);
    const ServerOptions options = test::failing();
    const Server server(pair.keys, {.device = test::tested_device, .threads = 1}, options);
    for (const auto& [what, each] : cases()) {
      SCOPED_TRACE(p.name() + ", " + what);
      const DryRun dry(p, options);
      const Encoding bits{4};
      const Array planned = each.circuit(dry.server(), dry.fresh(bits, 3), dry.fresh(bits, 3));
      const Array real =
          each.circuit(server, server.upload(pair.client.encrypt({0, 1, 1}, bits, 1)),
                       server.upload(pair.client.encrypt({1, 0, 1}, bits, 1)));
      EXPECT_EQ(planned.encoding(), real.encoding());
      EXPECT_EQ(planned.count(), real.count());
      EXPECT_EQ(planned.bytes(), real.bytes());
      EXPECT_EQ(planned.noise(), real.noise());
      EXPECT_EQ(planned.largest(), real.largest());
      const Costs costs = dry.costs();
      EXPECT_EQ(costs.bootstraps, each.bootstraps);
      EXPECT_EQ(costs.key_switches, each.key_switches);
      EXPECT_EQ(costs.key_bytes, pair.keys.bytes());
    }
  }
}

TEST(BinfheDryRun, CountsTables) {
  const DryRun dry(test::varied_sets()[0], test::failing());
  const Server& s = dry.server();
  const std::vector<std::uint32_t> none;
  for (const auto& [values, bootstraps] :
       std::vector<std::pair<std::vector<std::uint32_t>, std::size_t>>{{{1, 0, 3, 0}, 1},
                                                                       {{1, 1, 1, 0}, 2}}) {
    const Lut table = Lut::create(s.parameters(), values, {4}, {4});
    const std::size_t before = dry.costs().bootstraps;
    static_cast<void>(s.apply(std::span(&table, 1), none, dry.fresh({4}, 5)));
    EXPECT_EQ(dry.costs().bootstraps - before, 5 * bootstraps);
  }
}

TEST(BinfheDryRun, FreshCiphertextsAreDifferent) {
  const DryRun dry(test::varied_sets()[0], test::failing());
  const auto count = static_cast<std::uint32_t>(dry.server().parameters().q() + 3);
  const Array x = dry.fresh({4}, count);
  const std::int32_t weights[] = {1, 1};
  for (std::uint32_t shift = 1; shift < count; ++shift) {
    std::vector<std::uint32_t> index(count);
    for (std::uint32_t i = 0; i < count; ++i) index[i] = (i + shift) % count;
    const Array y = dry.server().take(x, index);
    const Array* inputs[] = {&x, &y};
    ASSERT_EQ(dry.server().linear(weights, inputs).noise(), 2 * x.noise()) << shift;
  }
  // Not one pair cancels another, and none is taken for trivial.
  for (const std::vector<std::uint32_t>& pair :
       std::vector<std::vector<std::uint32_t>>{{1, count - 4}, {0, (count - 3) / 2}}) {
    const Array a = dry.server().take(x, std::span(pair).first(1)),
                b = dry.server().take(x, std::span(pair).last(1));
    const Array* inputs[] = {&a, &b};
    EXPECT_EQ(dry.server().linear(weights, inputs).noise(), 2 * x.noise());
  }
}

TEST(BinfheDryRun, RefusesWhatAServerRefuses) {
  const DryRun dry(test::varied_sets()[0], {.allow_failure = 0x1p-900});
  const Array x = dry.fresh({4}, 2);
  EXPECT_THROW(static_cast<void>(x & x), NoiseError);
  EXPECT_EQ(dry.costs().bootstraps, 0u);
  EXPECT_THROW(static_cast<void>(x & dry.fresh({4}, 3)), ShapeError);
  EXPECT_THROW(static_cast<void>(x & dry.fresh({6}, 2)), EncodingError);
  EXPECT_THROW(static_cast<void>(dry.fresh({1u << 30}, 1)), EncodingError);
}

}  // namespace
}  // namespace whorl::binfhe
