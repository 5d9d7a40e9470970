// Long calls on a device that never asks whether to stop, as a GPU: the host asks between their
// parts.
#include "support/ckks_sets.h"
#include "support/named_devices.h"
#include "support/test.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/lanes.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/circuits/ckks/matrices.h"
#include "whorl/ckks.h"

namespace whorl::ckks {
namespace {

struct Interrupts {
  std::size_t asked = 0, stop_at = SIZE_MAX;
  bool operator()() { return ++asked >= stop_at; }
};

/// The call is asked for so many times at least, and can be stopped each time; then it works again.
void expect_stops(Interrupts& interrupts, std::size_t times, const std::function<void()>& call) {
  interrupts = {};
  call();
  const std::size_t asked = interrupts.asked;
  EXPECT_GE(asked, times);
  for (std::size_t at = 1; at <= asked; ++at) {
    interrupts = {0, at};
    EXPECT_THROW(call(), InterruptedError) << at << " of " << asked;
    EXPECT_EQ(interrupts.asked, at);
  }
  interrupts = {};
  EXPECT_NO_THROW(call());
}

TEST(CkksInterrupts, TheHostAsksBetweenPlaintextsAndSteps) {
  constexpr std::uint64_t slots = 16;
  ParameterLiteral literal = Parameters::choose({.depth = 4, .bootstrap = true}).literal();
  literal.N = 1024;
  const Client client(Parameters::create(literal, true));
  KeyRequest request;
  request_bootstrap(request, client.parameters(), slots);
  const test::NamedStrains device(1, 2);  // which takes two ciphertexts or plaintexts at once
  Interrupts interrupts;
  const Server server(client.evaluation_keys(request),
                      {.device = test::named_devices, .interrupt = std::ref(interrupts)});
  std::mt19937_64 random(3);
  const test::Complexes values = test::random_complexes(random, 5 * slots);

  const LinearMap map = matrix_map(std::span(values).first(4 * 16), 4, 16);
  ASSERT_GE(map.diagonals.size(), 16u);
  expect_stops(interrupts, 15, [&] { static_cast<void>(encode(server, map, 1)); });
  expect_stops(interrupts, 6 + 3, [&] {
    static_cast<void>(encode(server, MatrixProduct{4, 4}, 2));
  });
  const Array x = server.upload(client.encrypt(std::span(values).first(slots), {}));
  expect_stops(interrupts, 4, [&] { static_cast<void>(server.multiply_plain(x, values, slots)); });
  const EncodedBootstrap maps = encode_bootstrap(server, slots);
  expect_stops(interrupts, 5, [&] { static_cast<void>(bootstrap(server, x, maps)); });
  expect_stops(interrupts, 15, [&] { static_cast<void>(encode_bootstrap(server, slots)); });
  const Lanes lanes(server, maps);
  const std::vector<double> bits(slots, 1);
  const LaneArray one = lanes.take_in(server.upload(client.encrypt(bits, {.bound = Bounds(0, 1)})));
  const auto look_up = [&](std::size_t inputs, std::size_t count) {
    std::vector<std::vector<std::uint8_t>> tables(
        count, std::vector<std::uint8_t>(std::size_t{1} << inputs));
    for (auto& table : tables)
      for (std::uint8_t& bit : table) bit = random() & 1;
    return [&lanes, tables, arrays = std::vector<LaneArray>(inputs, one)] {
      static_cast<void>(lanes.lookup(arrays, tables));
    };
  };
  // After the first of 2·4 products of minterms, and before each pass for 16 tables.
  expect_stops(interrupts, 7 + 2, look_up(6, 17));
  // The same of 48, and one for each of 16 rows but the most frequent.
  expect_stops(interrupts, 47 + 15, look_up(9, 1));
}

}  // namespace
}  // namespace whorl::ckks
