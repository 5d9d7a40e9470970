#include "whorl/circuits/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "circuits/cosine_fit.h"
#include "support/ckks_sets.h"
#include "support/targets.h"
#include "whorl/ckks/client.h"
#include "whorl/error.h"

namespace whorl::ckks {
namespace {

using Complex = std::complex<double>;
using test::Complexes;

/// The primes of the chosen set in a smaller ring, which is not secure.
Parameters small_ring(std::uint32_t N, unsigned depth = 2, unsigned word_bits = 32,
                      BootstrapLiteral shape = {}) {
  Requirements needs{.depth = depth, .word_bits = word_bits, .bootstrap = true};
  if (word_bits == 64) needs.scale_bits = 46;
  ParameterLiteral literal = Parameters::choose(needs).literal();
  literal.N = N;
  literal.bootstrap = shape;
  return Parameters::create(literal, true);
}

struct Party {
  Party(const Parameters& parameters, std::uint64_t slots)
      : client(parameters),
        server(keys(client, slots), {.device = test::tested_device, .threads = 1}),
        maps(encode_bootstrap(server, slots)) {}

  static EvaluationKeys keys(const Client& client, std::uint64_t slots) {
    KeyRequest request;
    request_bootstrap(request, client.parameters(), slots);
    return client.evaluation_keys(request);
  }

  Client client;
  Server server;
  EncodedBootstrap maps;
};

double worst(std::span<const Complex> got, std::span<const Complex> want) {
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) most = std::max(most, std::abs(got[i] - want[i]));
  return most;
}

/// Refreshes a batch of vectors, twice; errors are within what the account states.
void expect_refreshed(const Party& party, const Array& x, const Complexes& values) {
  const Parameters& p = party.server.parameters();
  Array y = x;
  for (int i = 0; i < 2; ++i) {
    y = bootstrap(party.server, party.server.lower(y, p.literal().bootstrap->to_coefficients),
                  party.maps);
    EXPECT_EQ(y.info().level, p.depth());
    EXPECT_EQ(y.info().scale, p.scale(p.depth()));
    EXPECT_EQ(y.info().packing, x.info().packing);
    EXPECT_EQ(y.info().count, x.info().count);
    EXPECT_EQ(y.info().length, x.info().length);
    const double error = worst(party.client.decrypt_raw(party.server.download(y)), values);
    if (getenv("SHOW")) printf("bits %.2f stated %.2f\n", -std::log2(error), -y.info().error);
    EXPECT_LT(error, 8 * std::exp2(y.info().error));
    EXPECT_GT(error, std::exp2(y.info().error - 8));
    EXPECT_LT(error, std::exp2(-18));
  }
}

TEST(CkksBootstrap, ComplexVectorsOfAnyNumberOfSlots) {
  std::mt19937_64 random(3);
  for (const std::size_t slots : {1024u, 512u, 64u, 4u, 2u, 1u}) {
    const Party party(small_ring(2048), slots);
    Complexes x(2 * slots);
    for (Complex& z : x) z = test::random_complexes(random, 1)[0] / std::numbers::sqrt2;
    expect_refreshed(party, party.server.upload(party.client.encrypt(x, {.length = slots})), x);
  }
}

}  // namespace
}  // namespace whorl::ckks
