// What a dry run says before there is a key is what a server says of ciphertexts.
#include "support/ckks_sets.h"
#include "support/counting_rns.h"
#include "support/test.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/functions.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/circuits/ckks/matrices.h"
#include "whorl/circuits/ckks/polynomials.h"
#include "whorl/ckks.h"

namespace whorl::ckks {
namespace {

using Circuit = std::function<Array(const Server&, const Array&)>;

const SignStages& stages() {
  static const SignStages found = minimax_sign(0x1p-3, 0x1p-3);
  return found;
}

/// Three of them, of different degrees, between -2 and 2.
PolynomialVector several(std::vector<std::int32_t> mapping, std::size_t length = 0) {
  std::vector<Polynomial> each;
  for (const unsigned degree : {3, 7, 5})
    each.push_back(approximate([](double t) { return t * t / 4; }, -2, 2, degree));
  return {std::move(each), std::move(mapping), length};
}

Array alone(const Server& s, const Array& x) {
  const std::uint32_t first = 1;
  return s.take(x, std::span(&first, 1));
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
      {"numbers at a product's scale",
       [](const Server& s, const Array& x) {
         return s.add_plain(s.square(x, {true, false}), std::vector<std::complex<double>>(8, 1e6));
       }},
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
      {"polynomials of slots",
       [](const Server& s, const Array& x) {
         return evaluate(s, x, several({0, 1, 2, PolynomialVector::none, 2, 1, 0, 0}));
       }},
      {"polynomials of ciphertexts",
       [](const Server& s, const Array& x) {
         return evaluate(s, x, several({2, 0, 1}, 1));
       }},
      {"polynomials of one ciphertext",
       [](const Server& s, const Array& x) {
         std::vector<std::int32_t> mapping(32);
         for (std::size_t i = 0; i < 32; ++i) mapping[i] = static_cast<std::int32_t>(i % 3);
         return evaluate(s, alone(s, x), several(mapping, 8));
       }},
      {"polynomials without a variable",
       [](const Server& s, const Array& x) {
         return evaluate(s, x, several(std::vector(8, PolynomialVector::none)));
       }},
      {"some values everywhere",
       [](const Server& s, const Array& x) {
         return s.replicate(s.square(x, {.relinearised = false}), 2, 2);
       }},
      {"all values everywhere",
       [](const Server& s, const Array& x) {
         return s.add(s.replicate(x, 0, 8), s.replicate(x, 5));
       }},
      {"product of matrices",
       [](const Server& s, const Array& x) {
         const MatrixProduct shape{.side = 4, .rows = 2};
         const Array b = s.square(s.repeat(x, 16), {.relinearised = false});
         return multiply_matrices(s, x, b, encode(s, shape, 5));
       }},
      {"products of one matrix and many",
       [](const Server& s, const Array& x) {
         const MatrixProduct shape{.side = 2, .rows = 2, .matrices = 2};
         const EncodedMatrixProduct product = encode(s, shape, 2);
         return s.add(multiply_matrices(s, x, alone(s, x), product),
                      multiply_matrices(s, alone(s, x), x, product));
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
  const RingCosts costs = dry.costs();
  KeyRequest request = dry.asked();
  if (bootstrap != 0) request_bootstrap(request, p, bootstrap);
  const auto counts = test::name_counting_device();
  const Client client(p);
  const auto run = [&](const KeyRequest& keys) {
    const Server server(client.evaluation_keys(keys), {.device = test::named_devices});
    return circuit(server, encrypted(client, server));
  };
  expect_equal(planned, run(request), what);
  EXPECT_EQ(costs.products, counts->products.load()) << what;
  EXPECT_EQ(costs.key_switches, counts->key_switches.load()) << what;
  EXPECT_EQ(costs.keys, key_count(p, request)) << what;
  EXPECT_EQ(costs.key_bytes, key_bytes(p, request)) << what;
  EXPECT_EQ(costs.bootstraps > 0, bootstrap != 0) << what;
  if (bootstrap != 0) return;
  if (request.relinearise > 2) {
    KeyRequest less = request;
    --less.relinearise;
    EXPECT_THROW(run(less), MissingKeyError) << what;
  }
  for (std::size_t i = 0; i < request.rotations.size(); ++i) {
    KeyRequest less = request;
    less.rotations.erase(less.rotations.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THROW(run(less), MissingKeyError) << what << " without " << request.rotations[i];
  }
  if (request.conjugate) {
    request.conjugate = false;
    EXPECT_THROW(run(request), MissingKeyError) << what;
  }
}

TEST(DryRun, SaysWhatAServerSays) {
  for (const test::CkksShape& shape : {test::CkksShape{40, 32, 9}, test::CkksShape{50, 64, 9}})
    for (const auto& [what, circuit] : circuits()) check(test::ckks_insecure(shape), what, circuit);
}

/// What a server refuses of ciphertexts before it works on them.
const std::map<std::string, Circuit>& refused() {
  const auto matrices = [](const MatrixProduct& shape, unsigned level) -> Circuit {
    return [=](const Server& s, const Array& x) {
      return multiply_matrices(s, x, x, encode(s, shape, level));
    };
  };
  static const MatrixProduct square{.side = 2, .rows = 2, .matrices = 2};
  static const std::map<std::string, Circuit> all{
      {"replicate from where no part begins",
       [](const Server& s, const Array& x) { return s.replicate(x, 3, 2); }},
      {"replicate at the last level",
       [](const Server& s, const Array& x) { return s.replicate(s.lower(x, 0), 4, 4); }},
      {"rotate a vector without a period",
       [](const Server& s, const Array& x) {
         const std::vector<std::complex<double>> three{1, 0.5, 0.25};
         return s.rotate(s.add_plain(s.sum(x), three), 1);
       }},
      {"rows of another length",
       [](const Server& s, const Array& x) {
         return evaluate(s, x, several({0, 1, 2}));
       }},
      {"rows of another number",
       [](const Server& s, const Array& x) {
         return evaluate(s, x, several({0, 1}, 1));
       }},
      {"polynomials at a low level",
       [](const Server& s, const Array& x) {
         return evaluate(s, s.lower(x, 2), several(std::vector(8, 1)));
       }},
      {"polynomials outside their interval",
       [](const Server& s, const Array& x) {
         return evaluate(s, s.multiply_integer(x, 3), several(std::vector(8, 1)));
       }},
      {"coefficients that are too large",
       [](const Server& s, const Array& x) {
         const Polynomial p{{0, 0x1p40}, Polynomial::Basis::monomial, -2, 2};
         return evaluate(s, x, PolynomialVector{{p}, std::vector(8, 0), 0});
       }},
      {"matrices of another length", matrices({.side = 4, .rows = 2}, 2)},
      {"matrices at no level", matrices(square, 1)},
      {"matrices that do not fit", matrices({.side = 32, .rows = 1}, 2)},
      {"matrices of a low level",
       [](const Server& s, const Array& x) {
         return multiply_matrices(s, x, s.lower(x, 2), encode(s, square, 3));
       }},
      {"matrices in batches of other sizes",
       [](const Server& s, const Array& x) {
         const std::vector<std::uint32_t> two{2, 0};
         return multiply_matrices(s, x, s.take(x, two), encode(s, square, 3));
       }},
      {"matrices of values that are too large",
       [](const Server& s, const Array& x) {
         const Array y = s.multiply_integer(x, 1 << 20);
         return multiply_matrices(s, y, y, encode(s, square, 2));
       }},
  };
  return all;
}

TEST(DryRun, RefusesWhatAServerRefuses) {
  const Parameters p = test::ckks_insecure({40, 32, 9});
  const Client client(p);
  KeyRequest request;
  request_sum(request, 8);
  request_matrix_product(request, {.side = 2, .rows = 2, .matrices = 2});
  const Server server(client.evaluation_keys(request),
                      {.device = test::tested_device, .threads = 1});
  const DryRun dry(p);
  for (const auto& [what, circuit] : refused()) {
    const auto said = [&](const Server& s, const Array& x) {
      return test::refusal_of([&] { static_cast<void>(circuit(s, x)); });
    };
    const std::string real = said(server, encrypted(client, server));
    EXPECT_NE(real, "nothing") << what;
    EXPECT_EQ(said(dry.server(), dry.fresh(Packing::real, 3, 8, 1)), real) << what;
  }
}

TEST(DryRun, BootstrapsLikeAServer) {
  for (const bool last : {false, true}) {
    Requirements r;
    r.depth = 2;
    r.scale_bits = 45;
    r.bootstrap = true;
    r.coefficients_last = last;
    r.arcsine = last ? 7 : 0;
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
  const Array vectors = dry.fresh(Packing::real, 2, p.slots() + 6, 1);
  EXPECT_EQ(vectors.info().count, 4u);
  EXPECT_EQ(vectors.info().length, p.slots());
  EXPECT_EQ(vectors.info().vector, p.slots() + 6);
  for (const std::size_t count : {std::size_t{1} << 24, std::size_t{1} << 63})
    EXPECT_THROW(static_cast<void>(dry.fresh(Packing::real, count, 2 * p.slots(), 1)), ShapeError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::real, 1, std::uint64_t{1} << 63, 1)),
               ShapeError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::coefficients, 1, p.N() + 1, 1)), ShapeError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::real, 0, 1, 1)), ShapeError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::real, 1, 1, 0x1p60)), EncodingError);
  const DryRun other(p);
  EXPECT_THROW(static_cast<void>(other.server().negate(x)), DeviceError);
}

}  // namespace
}  // namespace whorl::ckks
