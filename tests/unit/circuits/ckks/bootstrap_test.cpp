#include "whorl/circuits/ckks/bootstrap.h"

#include "circuits/ckks/cosine_fit.h"
#include "schemes/ckks/derived.h"
#include "support/ckks_bootstraps.h"
#include "support/ckks_party.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

using Complex = std::complex<double>;
using test::Complexes;

/// What is chosen for a number of requirements, in a smaller ring, which is not secure.
ParameterLiteral insecure_literal(Requirements needs, std::uint32_t N) {
  needs.bootstrap = true;
  ParameterLiteral literal = Parameters::choose(needs).literal();
  literal.N = N;
  return literal;
}
Parameters insecure(const Requirements& needs, std::uint32_t N) {
  return Parameters::create(insecure_literal(needs, N), true);
}
/// With this bootstrap in place of the chosen one.
Parameters small_ring(std::uint32_t N, unsigned depth = 2, unsigned word_bits = 32,
                      const BootstrapLiteral& shape = {}) {
  Requirements needs{.depth = depth, .word_bits = word_bits};
  if (word_bits == 64) needs.scale_bits = 46;
  ParameterLiteral literal = insecure_literal(needs, N);
  literal.bootstrap = shape;
  return Parameters::create(literal, true);
}

/// For one number of slots.
struct Party : test::Refresher {
  Party(const Parameters& parameters, std::uint64_t slots)
      : Refresher(parameters, {slots}), maps(Refresher::maps.at(slots)) {}
  const EncodedBootstrap& maps;
};

/// Their absolute values are at most 1/sqrt(2).
Complexes random_values(std::mt19937_64& random, std::size_t count) {
  Complexes out = test::random_complexes(random, count);
  for (Complex& z : out) z /= std::numbers::sqrt2;
  return out;
}

/// Refreshes a batch of vectors, twice; errors are within what the account states.
void expect_refreshed(const Party& party, const Array& x, const Complexes& values) {
  const Parameters& p = party.server.parameters();
  Array y = x;
  for (int i = 0; i < 2; ++i) {
    y = bootstrap(party.server, party.server.lower(y, p.literal().bootstrap->slots_to_coeffs),
                  party.maps);
    EXPECT_EQ(y.info().level, p.depth());
    EXPECT_EQ(y.info().scale, p.scale(p.depth()));
    EXPECT_EQ(y.info().packing, x.info().packing);
    EXPECT_EQ(y.info().count, x.info().count);
    EXPECT_EQ(y.info().length, x.info().length);
    const double error = test::worst(party.client.decrypt_raw(party.server.download(y)), values);
    EXPECT_LT(error, test::largest_error(y));
    EXPECT_GT(error, std::exp2(y.info().error - 4));
    EXPECT_LT(error, std::exp2(-18));
  }
}

TEST(CkksBootstrap, ComplexVectorsOfAnyNumberOfSlots) {
  std::mt19937_64 random(3);
  for (const std::size_t slots : {1024u, 512u, 64u, 4u, 2u, 1u}) {
    const Party party(small_ring(2048), slots);
    const Complexes x = random_values(random, 2 * slots);
    expect_refreshed(party, party.server.upload(party.client.encrypt(x, {.length = slots})), x);
  }
}

TEST(CkksBootstrap, RealVectorsThatDoNotFillTheirSlots) {
  std::mt19937_64 random(4);
  const Party party(small_ring(1024), 64);
  std::vector<double> x(3 * 50);
  Complexes values;
  for (double& v : x) values.emplace_back(v = test::random_complexes(random, 1)[0].real() / 0.7);
  const Array a = party.server.upload(party.client.encrypt(x, {.length = 50}));
  expect_refreshed(party, a, values);
}

TEST(CkksBootstrap, ShortVectorsByTheMapsOfLongerOnes) {
  std::mt19937_64 random(5);
  const Party party(small_ring(1024), 256);
  for (const std::size_t length : {1u, 3u, 8u, 256u}) {
    const Complexes x = random_values(random, 2 * length);
    expect_refreshed(party, party.server.upload(party.client.encrypt(x, {.length = length})), x);
  }
  const Array longer = party.server.upload(party.client.encrypt(Complexes(512)));
  EXPECT_NE(test::message_of<ShapeError>([&] {
              static_cast<void>(bootstrap(party.server, longer, party.maps));
            }).find("512 slots meet maps that are encoded for 256"),
            std::string::npos);
}

/// A map has some of the log2(slots) layers of butterflies; its diagonals repeat with the blocks of
/// the largest, and each is stored as twice as many words for each prime, or as N.
TEST(CkksBootstrap, MapsAreStoredByTheirPeriod) {
  const Parameters p = small_ring(4096);
  const BootstrapLiteral& shape = *p.literal().bootstrap;
  ASSERT_EQ(shape.slots_to_coeffs, 3u);
  ASSERT_EQ(shape.coeffs_to_slots, 4u);
  struct Map {
    std::size_t layers, blocks;  ///< blocks: log2 of the largest
  };
  struct Case {
    std::uint64_t slots;
    std::vector<Map> slots_to_coeffs, coeffs_to_slots;
  };
  // Where the first map has all slots' blocks, steps back are among those forth: half as many.
  const std::vector<Case> cases = {
      {2048, {{4, 4}, {3, 7}, {4, 11}}, {{3, 11}, {2, 8}, {3, 6}, {3, 3}}},
      {64, {{2, 2}, {2, 4}, {2, 6}}, {{2, 6}, {1, 4}, {1, 3}, {2, 2}}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.slots);
    std::size_t whole = 0, stored = 0;
    const auto count = [&](const std::vector<Map>& maps, unsigned level, std::size_t special) {
      for (const Map& map : maps) {
        const bool all = std::size_t{1} << map.blocks == c.slots;
        const std::size_t diagonals = all ? std::size_t{1} << map.layers
                                          : (std::size_t{2} << map.layers) - 1,
                          period = std::size_t{1} << map.blocks,
                          rows = p.primes(level--).size() + special;
        whole += diagonals * rows * p.N() * 4;
        stored += diagonals * rows * 4 * (period > p.slots() / 4 ? p.N() : 2 * period);
      }
    };
    count(c.slots_to_coeffs, shape.slots_to_coeffs,
          layout_of(p.literal(), slots_to_coeffs_kind(p.literal())).special.size());
    count(c.coeffs_to_slots, p.top(), p.literal().special.size());
    EXPECT_LT(3 * stored, 2 * whole);
    if (c.slots < p.slots()) {
      // A word for each prime of the sum of images, the last map once more for twice the slots, and
      // whole plaintexts: two factors of the polynomial, and one for each doubling.
      const unsigned sine = p.depth() + shape.sine();
      const std::size_t special = p.literal().special.size(), word = 4;
      stored += (p.primes(p.top()).size() + special) * word;
      stored += 7 * (p.primes(sine + 1).size() + special) * 4 * c.slots * word;
      stored += 2 * p.primes(sine).size() * p.N() * word;
      for (unsigned d = 0; d < shape.doublings; ++d)
        stored += p.primes(p.depth() + d).size() * p.N() * word;
    }
    EXPECT_EQ(Party(p, c.slots).maps.bytes(), stored);
    EXPECT_EQ(encode_bootstrap(DryRun(p).server(), c.slots).bytes(), stored);
  }
}

TEST(CkksBootstrap, WordsOf64BitsAndFromEveryLevel) {
  std::mt19937_64 random(5);
  const Party party(small_ring(1024, 2, 64), 512);
  const unsigned depth = party.server.parameters().depth();
  const Complexes x(512, {0.6, -0.8});
  const Array a = party.server.upload(party.client.encrypt(x));
  for (unsigned level = 3; level <= depth; ++level) {
    const Array y = bootstrap(party.server, party.server.lower(a, level), party.maps);
    EXPECT_LT(test::worst(party.client.decrypt_raw(party.server.download(y)), x), std::exp2(-18))
        << level;
  }
}

TEST(CkksBootstrap, EveryMessageInEveryNumberOfSlotsFromEveryLevel) {
  const Parameters p = small_ring(1024, 4);
  const test::Refresher refresher(p, test::all_numbers_of_slots(p));
  std::mt19937_64 random(9);
  unsigned level = p.least_bootstrap_level();
  for (const auto& [slots, maps] : refresher.maps)
    for (const bool real : {false, true})
      for (const auto& [name, values] : test::messages(random, slots, 1, real)) {
        EXPECT_LT(refresher.error(values, slots, real, level), std::exp2(-22))
            << name << ", " << slots << " slots, level " << level << (real ? ", real" : "");
        level = level == p.depth() ? p.least_bootstrap_level() : level + 1;
      }
}

/// The worst slot is within what the result states, of every message in these numbers of slots from
/// every level, and has so many bits.
void expect_stated_bounds(const Parameters& p, double least_bits,
                          const std::vector<std::uint64_t>& numbers_of_slots = {1, 32, 512}) {
  const unsigned depth = p.depth(), least = p.least_bootstrap_level();
  const test::Refresher refresher(p, numbers_of_slots);
  std::mt19937_64 random(9);
  unsigned level = least;
  for (const auto& [slots, maps] : refresher.maps)
    for (const bool real : {false, true})
      for (const auto& [name, values] : test::messages(random, slots, 2, real)) {
        const Array x = refresher.server.lower(refresher.encrypted(values, slots, real), level);
        const Array y = bootstrap(refresher.server, x, maps);
        const std::string what = name + ", " + std::to_string(slots) + " slots, level " +
                                 std::to_string(level) + (real ? ", real" : "");
        EXPECT_EQ(y.info().level, depth);
        EXPECT_EQ(y.info().scale, p.scale(depth));
        EXPECT_EQ(y.info().packing, x.info().packing);
        EXPECT_EQ(y.info().count, 2u);
        Complexes want = values;
        if (real)
          for (Complex& z : want) z = z.real();
        const double most =
            test::worst(refresher.client.decrypt_raw(refresher.server.download(y)), want);
        EXPECT_LT(most, test::largest_error(y)) << what;
        // The largest of a few Gaussian errors is often close to 0; of 64 it is so below 2^-200.
        if (slots >= 32) {
          EXPECT_GT(most, std::exp2(y.info().error - 5)) << what;
        }
        EXPECT_LT(most, std::exp2(-least_bits)) << what;
        level = level == depth ? least : level + 1;
      }
}

TEST(CkksBootstrap, CoefficientsLast) {
  const Parameters p = insecure({.depth = 4, .coefficients_last = true}, 1024);
  EXPECT_EQ(p.depth(), 4u);
  EXPECT_EQ(p.least_bootstrap_level(), 0u);
  EXPECT_EQ(p.top(), p.depth() + 3 + 8 + 4);
  expect_stated_bounds(p, 20, test::all_numbers_of_slots(p));
}

TEST(CkksBootstrap, CoefficientsLastWithWordsOf64Bits) {
  expect_stated_bounds(
      insecure({.depth = 2, .scale_bits = 46, .word_bits = 64, .coefficients_last = true}, 1024),
      19);
}

/// The message's multiple is an integer, and so misses the ratio that is asked for.
TEST(CkksBootstrap, CoefficientsLastWithRatiosBetweenIntegers) {
  ParameterLiteral literal = insecure_literal({.depth = 2, .coefficients_last = true}, 1024);
  const double most = std::log2(static_cast<double>(literal.chain[0]));
  for (const double ratio : {9.75, 10.25, 11.0}) {
    literal.bootstrap->log2_ratio = ratio;
    // The sine's error is 2^-2·ratio·(2π)²/12, 2^-17.7 of the coarsest.
    expect_stated_bounds(Parameters::create(literal, true), 17, {4, 512});
  }
  literal.bootstrap->log2_ratio = most;
  EXPECT_THROW(Parameters::create(literal, true), ParameterError);
}

TEST(CkksBootstrap, AnArcsineGivesBits) {
  // The same scale, and the same levels for users.
  expect_stated_bounds(insecure({.depth = 4, .scale_bits = 50, .arcsine = 7}, 1024), 31);
  expect_stated_bounds(
      insecure({.depth = 4, .scale_bits = 50, .coefficients_last = true, .arcsine = 7}, 1024), 28);
  std::mt19937_64 random(13);
  const auto bits = [&](unsigned arcsine, bool last) {
    const Parameters p = insecure(
        {.depth = 2, .scale_bits = 45, .coefficients_last = last, .arcsine = arcsine}, 1024);
    const test::Refresher refresher(p, {p.slots()});
    return -std::log2(refresher.error(Complexes(p.slots(), 1), p.slots(), true, p.depth()));
  };
  for (const bool last : {false, true}) EXPECT_GT(bits(7, last), bits(0, last) + 6);
  // A lower degree has fewer levels, and gives fewer bits.
  const double cubic = bits(3, false);
  EXPECT_GT(cubic, bits(0, false) + 4);
  EXPECT_LE(cubic, bits(7, false) + 1);
}

/// A denser one has larger multiples.
TEST(CkksBootstrap, EncapsulatedSecretOfWeight192) {
  for (const bool last : {false, true}) {
    ParameterLiteral literal = insecure_literal({.depth = 4, .coefficients_last = last}, 1024);
    literal.bootstrap->weight = 192;
    literal.bootstrap->range = 40;
    literal.bootstrap->degree = 63;
    literal.bootstrap->coeffs_to_slots = 3;  // the sine takes a level more
    const Parameters p = Parameters::create(literal, true);
    EXPECT_EQ(p.depth() - p.least_bootstrap_level(), 4u);
    EXPECT_LT(p.log2_failure(), -60);
    EXPECT_GT(p.log2_failure(), -80);
    expect_stated_bounds(p, last ? 19 : 21, {2, 512});
    // K of weight 32 is too small, and says so.
    literal.bootstrap->range = 16;
    EXPECT_GT(Parameters::create(literal, true).log2_failure(), -10);
  }
}

TEST(CkksBootstrap, SparseSecretsAreBoundedByWeight32) {
  ParameterLiteral literal = Parameters::choose({.depth = 4, .bootstrap = true}).literal();
  const double bits = Parameters::create(literal).sparse_security_bits();
  literal.bootstrap->weight = 192;
  EXPECT_EQ(Parameters::create(literal).sparse_security_bits(), bits);
  literal.bootstrap->weight = 31;
  EXPECT_THROW(Parameters::create(literal), ParameterError);
}

TEST(CkksBootstrap, KeysOfCoefficientsLast) {
  const Parameters p = insecure({.depth = 2, .coefficients_last = true}, 1024);
  KeyRequest request;
  request_bootstrap(request, p, 64);
  EXPECT_TRUE(request.low_rotations.empty());
  const Client client(p);
  const auto refreshed = [&](const KeyRequest& with) {
    const Server server(client.evaluation_keys(with),
                        {.device = test::tested_device, .threads = 1});
    const std::vector<Complex> values(64, 0.5);
    return bootstrap(server, server.upload(client.encrypt(values)), encode_bootstrap(server, 64));
  };
  EXPECT_NO_THROW(static_cast<void>(refreshed(request)));
  // Each rotation is needed.
  std::ranges::sort(request.rotations);
  const auto [first, last] = std::ranges::unique(request.rotations);
  request.rotations.erase(first, last);
  for (std::size_t i = 0; i < request.rotations.size(); i += 5) {
    KeyRequest fewer = request;
    fewer.rotations.erase(fewer.rotations.begin() + static_cast<std::ptrdiff_t>(i));
    std::set<std::uint32_t> left;
    for (const std::int64_t k : fewer.rotations) left.insert(rotation_exponent(p.N(), k));
    if (left.contains(rotation_exponent(p.N(), request.rotations[i]))) continue;
    EXPECT_THROW(static_cast<void>(refreshed(fewer)), MissingKeyError) << request.rotations[i];
  }
}

TEST(CkksBootstrap, IterationsWithCoefficientsLast) {
  const Parameters p = insecure({.depth = 3, .scale_bits = 45, .coefficients_last = true}, 1024);
  const Party party(p, 512);
  std::mt19937_64 random(7);
  const Complexes x = test::random_complexes(random, 512);
  const Array a = party.server.upload(party.client.encrypt(x));
  const auto bits = [&](unsigned iterations) {
    const Array y = bootstrap(party.server, a, party.maps, iterations);
    const double most = test::worst(party.client.decrypt_raw(party.server.download(y)), x);
    EXPECT_LT(most, test::largest_error(y));
    return -std::log2(most);
  };
  EXPECT_GT(bits(2), bits(1) + 6);
}

TEST(CkksBootstrap, RefusesShapesThatAreNone) {
  const ParameterLiteral literal = Parameters::choose({.depth = 4, .bootstrap = true}).literal();
  const auto with = [&](const auto& change) {
    ParameterLiteral other = literal;
    change(*other.bootstrap);
    static_cast<void>(Parameters::create(other, true));
  };
  for (const std::uint32_t degree : {1u, 2u, 4u, 17u})
    EXPECT_THROW(with([&](BootstrapLiteral& b) { b.arcsine = degree; }), ParameterError) << degree;
  EXPECT_THROW(with([](BootstrapLiteral& b) { b.coefficients_last = 2; }), ParameterError);
  // Level 0 has not the bits for this ratio.
  EXPECT_THROW(with([](BootstrapLiteral& b) { b.coefficients_last = 1; }), ParameterError);
  EXPECT_THROW(Parameters::choose({.depth = 2, .coefficients_last = true}), ParameterError);
  EXPECT_THROW(Parameters::choose({.depth = 2, .arcsine = 7}), ParameterError);
  EXPECT_THROW(Parameters::choose({.depth = 2, .bootstrap = true, .arcsine = 6}), ParameterError);
}

/// After one bootstrap and after ten: the root of the mean square of the errors of all slots.
std::pair<double, double> first_and_tenth_error(const Parameters& p) {
  std::mt19937_64 random(6);
  const std::size_t slots = p.slots();
  const Party party(p, slots);
  const Complexes x = random_values(random, slots);
  Array y = party.server.upload(party.client.encrypt(x));
  double first = 0, last = 0;
  for (int i = 0; i < 10; ++i) {
    y = party.server.with_bound(bootstrap(party.server, y, party.maps), 1);
    const Complexes got = party.client.decrypt_raw(party.server.download(y));
    double sum = 0;
    for (std::size_t j = 0; j < slots; ++j) sum += std::norm(got[j] - x[j]);
    last = std::sqrt(sum / static_cast<double>(slots));
    if (i == 0) first = last;
  }
  EXPECT_LT(last, test::largest_error(y));
  return {first, last};
}

/// In a small ring with a scale of 2^40 the error is the sine's, which is the same each time: ten
/// add up to ten. The noise beside it is less than a hundredth.
TEST(CkksBootstrap, TenInARowAddUpTheErrorsOfTheSine) {
  const auto [first, last] = first_and_tenth_error(small_ring(2048));
  EXPECT_NEAR(last / first, 10, 0.1);
  EXPECT_LT(last, 0x1p-20);
}

/// With a scale of 2^28 it is noise, 2^-19.5, which is independent each time: ten add up to
/// sqrt(10). The sine's error, 2^-25.3 as above, adds 0.2 % to that ratio. A root mean square is
/// that of 1,024 complex numbers, whose variances differ as |s|² does at the roots, so that half as
/// many count. Its relative deviation is 1/sqrt(2·1024), and that of the ratio of two 3.1 %. So 20
/// % are 5.9 deviations: a false alarm has a probability below 10^-8.
TEST(CkksBootstrap, TenInARowAddUpTheirNoiseAsIndependent) {
  const auto [first, last] = first_and_tenth_error(insecure({.depth = 2, .scale_bits = 28}, 2048));
  EXPECT_LT(last, 1.2 * std::sqrt(10.0) * first);
  EXPECT_GT(last, std::sqrt(10.0) / 1.2 * first);
}

/// The series needs a smaller range than the fit: a sparser secret has one.
TEST(CkksBootstrap, TaylorsSeries) {
  BootstrapLiteral shape;
  shape.weight = 8;
  shape.range = 5;
  shape.series = 1;
  const Parameters p = small_ring(1024, 2, 32, shape);
  const test::Refresher refresher(p, {4, p.slots()});
  std::mt19937_64 random(11);
  for (const auto& [slots, maps] : refresher.maps)
    for (const bool real : {false, true})
      for (const auto& [name, values] : test::messages(random, slots, 2, real))
        EXPECT_LT(refresher.error(values, slots, real, p.depth()), std::exp2(-22))
            << name << ", " << slots << " slots" << (real ? ", real" : "");
  // A degree that is too small for its range leaves the error that is stated.
  shape.degree = 7;
  shape.range = 3;
  const Polynomial coarse = cosine_polynomial(shape);
  EXPECT_EQ(coarse.basis, Polynomial::Basis::monomial);
  EXPECT_GT(error_of_sine(shape, coarse, 2), 1);
  shape.degree = 31;
  EXPECT_LT(error_of_sine(shape, cosine_polynomial(shape), 2), std::exp2(-25));
  shape.series = 2;
  EXPECT_THROW(small_ring(1024, 2, 32, shape), ParameterError);
}

/// The cosine is odd, or even, around its centre, and its polynomial has half the powers, where
/// they serve.
TEST(CkksBootstrap, ThePolynomialHasHalfThePowers) {
  const auto powers = [](const Polynomial& p, std::size_t remainder) {
    std::size_t count = 0;
    for (std::size_t k = remainder; k < p.coefficients.size(); k += 2)
      count += p.coefficients[k] != 0;
    return count;
  };
  for (const std::uint32_t series : {0u, 1u}) {
    BootstrapLiteral shape;
    shape.log2_ratio = 13.5;
    shape.series = series;
    const Polynomial odd = cosine_polynomial(shape);
    EXPECT_EQ(powers(odd, 1), 16u);
    EXPECT_EQ(powers(odd, 0), 0u);
    shape.doublings = 1;
    shape.range = 6;
    const Polynomial even = cosine_polynomial(shape);
    EXPECT_EQ(powers(even, 1), 0u);
    EXPECT_EQ(powers(even, 0), 16u);
  }
  BootstrapLiteral shape;
  shape.log2_ratio = 13.5;
  EXPECT_LT(error_of_sine(shape, cosine_polynomial(shape), 8), std::exp2(-25.5));
  EXPECT_LT(error_of_sine(shape, cosine_polynomial(shape), 15), std::exp2(-15));
  // Fifteen odd powers would double the error.
  shape.degree = 30;
  EXPECT_EQ(powers(cosine_polynomial(shape), 0), 16u);
}

/// A single special prime is smaller than a digit of all low primes, so that keys have more digits.
TEST(CkksBootstrap, KeysOfASingleSpecialPrime) {
  std::mt19937_64 random(10);
  ParameterLiteral literal = Parameters::named("tensorfhe/packed-bootstrap").literal();
  EXPECT_EQ(literal.chain.size(), 58);
  EXPECT_EQ(literal.special.size(), 1);
  EXPECT_NEAR(Parameters::named("tensorfhe/packed-bootstrap").log2_QP(), 1624, 1);
  literal.N = 1024;
  const Parameters p = Parameters::create(literal, true);
  EXPECT_EQ(p.depth() - p.least_bootstrap_level(), 29);
  constexpr std::uint64_t slots = 64;
  const test::Refresher refresher(p, {slots});
  for (const auto& [name, values] : test::messages(random, slots, 1, false))
    EXPECT_LT(refresher.error(values, slots, false, p.depth()), std::exp2(-15)) << name;
}

TEST(CkksBootstrap, IterationsGiveBits) {
  std::mt19937_64 random(7);
  const Party party(insecure({.depth = 3, .scale_bits = 45}, 1024), 512);
  const Complexes x = random_values(random, 512);
  const Array a = party.server.lower(party.server.upload(party.client.encrypt(x)), 3);
  const Array once = bootstrap(party.server, a, party.maps),
              twice = bootstrap(party.server, a, party.maps, 2);
  const auto bits = [&](const Array& y) {
    return -std::log2(test::worst(party.client.decrypt_raw(party.server.download(y)), x));
  };
  EXPECT_EQ(twice.info().level, once.info().level - 1);
  EXPECT_EQ(twice.info().scale, party.server.parameters().scale(twice.info().level));
  EXPECT_GT(bits(twice), bits(once) + 4);
  EXPECT_GT(bits(twice), 27);
  EXPECT_GT(bits(twice), -twice.info().error - 3);
  EXPECT_LT(twice.info().error, once.info().error - 1);
  EXPECT_THROW(bootstrap(party.server, a, party.maps, 0), ParameterError);
  EXPECT_THROW(bootstrap(party.server, a, party.maps, 5), ParameterError);
}

TEST(CkksBootstrap, IterationsThatGiveNoBitsAreRefused) {
  const Party party(insecure({.depth = 3, .scale_bits = 28}, 1024), 512);
  const Array a = party.server.lower(party.server.upload(party.client.encrypt(Complexes(512))), 3);
  EXPECT_THROW(static_cast<void>(bootstrap(party.server, a, party.maps, 2)), NoiseError);
  EXPECT_NO_THROW(static_cast<void>(bootstrap(party.server, a, party.maps)));
}

TEST(CkksBootstrap, TheStatedErrorHoldsForOtherNumbersOfDoublings) {
  std::mt19937_64 random(9);
  for (const unsigned doublings : {4u, 5u}) {
    ParameterLiteral literal = insecure_literal({.depth = 4}, 1024);
    literal.bootstrap->doublings = doublings;
    literal.bootstrap->degree = doublings == 4 ? 31 : 15;
    const Party party(Parameters::create(literal, true), 512);
    const Complexes x = random_values(random, 512);
    const Array a = party.server.lower(party.server.upload(party.client.encrypt(x)),
                                       party.server.parameters().least_bootstrap_level());
    const Array y = bootstrap(party.server, a, party.maps);
    EXPECT_GT(-std::log2(test::worst(party.client.decrypt_raw(party.server.download(y)), x)),
              -y.info().error - 3)
        << doublings;
  }
}

/// The multiples of the modulus are sums of weight + 1 uniform numbers. Where they may be beyond
/// the polynomial's range, values are wrong as often as sums are.
TEST(CkksBootstrap, FailuresAreAsFrequentAsTheBound) {
  constexpr std::size_t samples = 1 << 20, count = 32, slots = 1024;
  std::mt19937_64 random(8);
  std::vector<double> beyond(8);  // P(|I| >= range)
  for (std::size_t i = 0; i < samples; ++i) {
    double sum = 0;
    for (int k = 0; k < 33; ++k) sum += static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
    for (std::size_t range = 1; range < beyond.size(); ++range)
      beyond[range] +=
          std::abs(std::nearbyint(sum)) >= static_cast<double>(range) ? 1.0 / samples : 0;
  }
  BootstrapLiteral shape;
  shape.range = 7;
  EXPECT_NEAR(small_ring(2048, 1, 32, shape).log2_failure(), std::log2(2048 * beyond[7]), 0.7);
  EXPECT_NEAR(small_ring(65536).log2_failure(), -105.7, 0.1);

  shape.range = 4;
  const Parameters p = small_ring(2 * slots, 1, 32, shape);
  EXPECT_EQ(p.log2_failure(), 0);
  const Party party(p, slots);
  const Complexes x(slots * count, {0.5, 0.5});
  const Array a = party.server.upload(party.client.encrypt(x, {.length = slots}));
  const Complexes got = party.client.decrypt_raw(
      party.server.download(bootstrap(party.server, party.server.lower(a, 3), party.maps)));
  double wrong = 0;
  for (const Complex& z : got)
    for (const double part : {z.real(), z.imag()}) wrong += std::abs(part - 0.5) > 0x1p-10 ? 1 : 0;
  // Just beyond its range the polynomial is still close to the cosine for some values.
  const double values = 2 * slots * count, most = values * beyond[4], least = values * beyond[5];
  EXPECT_LT(wrong, most + 6 * std::sqrt(most));
  EXPECT_GT(wrong, least - 6 * std::sqrt(least));
}

TEST(CkksBootstrap, EncodingReportsItsProgressAndStops) {
  for (const std::uint32_t last : {0u, 1u}) {
    const Parameters p = small_ring(1024, 2, 32, {.log2_ratio = 9, .coefficients_last = last});
    const DryRun run(p);
    std::size_t next = 0, all = 0;
    static_cast<void>(encode_bootstrap(run.server(), 64, [&](std::size_t done, std::size_t total) {
      EXPECT_EQ(done, next++);
      all = total;
      return true;
    }));
    EXPECT_EQ(next, all + 1) << last;
    EXPECT_GT(all, 20u);
    const auto stop = [](std::size_t done, std::size_t) { return done < 5; };
    EXPECT_THROW(encode_bootstrap(run.server(), 64, stop), InterruptedError);
  }
}

TEST(CkksBootstrap, RefusesWhatItCannotRefresh) {
  const Party party(small_ring(1024), 16);
  const auto encrypted = [&](std::size_t length, double bound) {
    return party.server.upload(party.client.encrypt(Complexes(length, 0.5), {.bound = bound}));
  };
  const auto refresh = [&](const Array& a) { return bootstrap(party.server, a, party.maps); };
  EXPECT_THROW(refresh(encrypted(32, 1)), ShapeError);
  EXPECT_THROW(refresh(encrypted(16, 2)), EncodingError);
  EXPECT_THROW(refresh(party.server.lower(encrypted(16, 1), 2)), NoiseError);
  const std::vector<double> coefficients(16);
  EXPECT_THROW(refresh(party.server.upload(
                   party.client.encrypt(coefficients, {.length = 16}, Packing::coefficients))),
               EncodingError);
  EXPECT_THROW(encode_bootstrap(party.server, 24), ShapeError);
  EXPECT_THROW(encode_bootstrap(party.server, 1024), ShapeError);
  // A server without the keys, and parameters without bootstrapping.
  const Server other(party.client.evaluation_keys({}),
                     {.device = test::tested_device, .threads = 1});
  const EncodedBootstrap maps = encode_bootstrap(other, 1);
  EXPECT_THROW(bootstrap(other, other.upload(party.client.encrypt(Complexes(1, 0.5))), maps),
               MissingKeyError);
  KeyRequest request;
  EXPECT_THROW(request_bootstrap(request, test::ckks_insecure(), 16), ParameterError);
  request.sparse = true;
  EXPECT_THROW(Client(test::ckks_insecure()).evaluation_keys(request), ParameterError);
}

}  // namespace
}  // namespace whorl::ckks
