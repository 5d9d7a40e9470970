// What a dry run says before there is a key is what a server says of ciphertexts.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/ckks_sets.h"
#include "support/targets.h"
#include "whorl/circuits/bootstrap.h"
#include "whorl/circuits/functions.h"
#include "whorl/circuits/linear_maps.h"
#include "whorl/circuits/polynomials.h"
#include "whorl/ckks.h"
#include "whorl/error.h"

namespace whorl::ckks {
namespace {

using Circuit = std::function<Array(const Server&, const Array&)>;

const SignStages& stages() {
  static const SignStages found = minimax_sign(0x1p-3, 0x1p-3);
  return found;
}

/// Vectors of eight real numbers each, a batch of three.
const std::map<std::string, Circuit>& circuits() {
  static const std::map<std::string, Circuit> all{
      {"product", [](const Server& s, const Array& x) { return s.multiply(x, s.rotate(x, 3)); }},
      {"bare products",
       [](const Server& s, const Array& x) {
         const Array y = s.multiply(x, s.square(x, {false, false}), {false, false});
         return s.rescale(s.relinearise(y));
       }},
      {"sum, and of another length",
       [](const Server& s, const Array& x) { return s.add(s.sum(x), s.rotate(x, -1)); }},
      {"numbers",
       [](const Server& s, const Array& x) {
         const Array y = s.multiply_integer(s.multiply_scalar(s.add_scalar(x, 0.5), 0.25), 3);
         return s.sub(s.multiply_by_i(y), s.conjugate(s.multiply_by_i(x)));
       }},
      {"members",
       [](const Server& s, const Array& x) {
         const std::vector<std::uint32_t> two{2, 0};
         return s.concatenate(std::vector{s.take(x, two), s.square(x)});
       }},
      {"polynomial",
       [](const Server& s, const Array& x) {
         return evaluate(s, x, approximate([](double t) { return t * t * t - t; }, -2, 2, 7));
       }},
      {"sign",
       [](const Server& s, const Array& x) { return maximum(s, x, s.negate(x), stages()); }},
      {"linear map",
       [](const Server& s, const Array& x) {
         std::vector<std::complex<double>> matrix(64);
         for (std::size_t i = 0; i < 64; ++i) matrix[i] = 0.01 * static_cast<double>(i % 11);
         return apply(s, x, encode(s, matrix_map(matrix, 8, 8), 2));
       }},
  };
  return all;
}

void expect_equal(const Array& dry, const Array& real, const std::string& what) {
  const CiphertextInfo &a = dry.info(), &b = real.info();
  EXPECT_EQ(a.packing, b.packing) << what;
  EXPECT_EQ(a.count, b.count) << what;
  EXPECT_EQ(a.parts, b.parts) << what;
  EXPECT_EQ(a.level, b.level) << what;
  EXPECT_EQ(a.scale, b.scale) << what;
  EXPECT_EQ(a.length, b.length) << what;
  EXPECT_EQ(a.bound, b.bound) << what;
  EXPECT_EQ(a.error, b.error) << what;
  EXPECT_EQ(dry.bytes(), real.bytes()) << what;
}

Array encrypted(const Client& client, const Server& server) {
  std::vector<double> values(24);
  for (std::size_t i = 0; i < 24; ++i) values[i] = 0.01 * static_cast<double>(i);
  return server.upload(encrypt(client.public_key(), values, {.length = 8}));
}

/// Runs with the keys that were asked for, and with none of them less.
void check(const Parameters& p, const std::string& what, const Circuit& circuit,
           std::uint64_t bootstrap = 0) {
  const DryRun dry(p);
  const Array planned = circuit(dry.server(), dry.fresh(Packing::real, 3, 8, 1));
  KeyRequest request = dry.asked();
  if (bootstrap != 0) request_bootstrap(request, p, bootstrap);
  const Client client(p);
  const auto run = [&](const KeyRequest& keys) {
    const Server server(client.evaluation_keys(keys),
                        {.device = test::tested_device, .threads = 1});
    return circuit(server, encrypted(client, server));
  };
  expect_equal(planned, run(request), what);
  if (bootstrap != 0) return;
  if (request.relinearise > 2) {
    KeyRequest less = request;
    --less.relinearise;
    EXPECT_THROW(run(less), KeyMismatchError) << what;
  }
  for (std::size_t i = 0; i < request.rotations.size(); ++i) {
    KeyRequest less = request;
    less.rotations.erase(less.rotations.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THROW(run(less), KeyMismatchError) << what << " without " << request.rotations[i];
  }
  if (request.conjugate) {
    request.conjugate = false;
    EXPECT_THROW(run(request), KeyMismatchError) << what;
  }
}

TEST(DryRun, SaysWhatAServerSays) {
  for (const test::CkksShape& shape : {test::CkksShape{40, 32, 9}, test::CkksShape{50, 64, 9}})
    for (const auto& [what, circuit] : circuits()) check(test::ckks_insecure(shape), what, circuit);
}

TEST(DryRun, BootstrapsLikeAServer) {
  Requirements r;
  r.depth = 2;
  r.bootstrap = true;
  ParameterLiteral literal = Parameters::choose(r).literal();
  literal.N = 1024;
  const Parameters p = Parameters::create(literal, true);
  check(
      p, "bootstrap",
      [&](const Server& s, const Array& x) {
        const Array low = s.lower(x, p.least_bootstrap_level());
        return bootstrap(s, s.rotate(low, 1), encode_bootstrap(s, 8), 2);
      },
      8);
}

TEST(DryRun, AsksForRotationsAsTheyAreMeant) {
  const DryRun dry(test::ckks_insecure());
  const Array x = dry.fresh(Packing::real, 1, 8, 1);
  static_cast<void>(dry.server().rotate(x, -1));
  static_cast<void>(dry.server().rotate(dry.server().repeat(x, 16), -1));
  static_cast<void>(dry.server().rotate(x, 7));  // the key of -1 serves it
  static_cast<void>(dry.server().rotate(x, 8));  // it stays where it is
  static_cast<void>(dry.server().rotate(x, 13));
  EXPECT_EQ(dry.asked().rotations, (std::vector<std::int64_t>{5, -1}));
  EXPECT_EQ(dry.asked().relinearise, 2u);
}

TEST(DryRun, HasNoCiphertexts) {
  const Parameters p = test::ckks_insecure();
  const DryRun dry(p);
  const Array x = dry.fresh(Packing::coefficients, 2, p.N(), 1);
  EXPECT_THROW(static_cast<void>(dry.server().download(x)), DeviceError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::real, 1, p.slots() + 1, 1)), ShapeError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::real, 0, 1, 1)), ShapeError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::real, 1, 1, 0x1p60)), EncodingError);
  const DryRun other(p);
  EXPECT_THROW(static_cast<void>(other.server().negate(x)), DeviceError);
}

}  // namespace
}  // namespace whorl::ckks
