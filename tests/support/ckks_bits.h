// What servers on different devices must give alike, bit for bit: operations, circuits and whole
// bootstraps of CKKS.
#pragma once

#include "support/ckks_sets.h"
#include "support/test.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/circuits/ckks/matrices.h"
#include "whorl/circuits/ckks/polynomials.h"
#include "whorl/ckks.h"

namespace whorl::test {

/// Keys and ciphertexts that servers are given; batches that do not divide evenly among devices.
class CkksBits {
 public:
  using Results = std::vector<std::pair<std::string, ckks::Ciphertexts>>;

  /// The ring is small and not secure. For two iterations, the scale needs 45 bits.
  explicit CkksBits(const ckks::Requirements& needs) : client_(parameters(needs)) {}

  const ckks::EvaluationKeys& keys() const { return keys_; }

  /// Operations of a server, maps, polynomials and products of matrices.
  Results circuits(const ckks::Server& s) const {
    Results out;
    const auto add = [&](const char* name, const ckks::Array& a) {
      out.emplace_back(name, s.download(a));
    };
    const ckks::Array a = s.upload(complex_), b = s.upload(other_), x = s.upload(real_),
                      one = s.upload(one_);
    const ckks::Array product = s.multiply(a, b);
    add("add", s.add(a, b));
    add("one for all", s.sub(s.multiply(one, a), one));
    add("multiply", product);
    add("other levels", s.add(product, b));
    add("three parts", s.multiply(a, b, {false, false}));
    add("square", s.square(product));
    add("plaintexts", s.sub_plain(s.add_plain(s.multiply_plain(a, plain_), plain_), plain_));
    add("numbers", s.add_scalar(s.multiply_scalar(a, {0.3, -0.4}), {0.1, 0.2}));
    add("integers", s.multiply_by_i(s.multiply_integer(a, -3)));
    add("rotate", s.rotate(a, 1));
    add("conjugate", s.conjugate(a));
    add("sum", s.sum(a, 4));
    add("lower", s.lower(a, 1));
    const std::vector<ckks::Array> both = {product, a};
    const std::vector<std::uint32_t> some = {5, 0, 3, 1};
    add("take", s.take(s.concatenate(both), some));
    add("linear map", ckks::apply(s, a, ckks::encode(s, map(few), 2)));
    // Plaintexts of long periods are stored whole, or compact.
    for (const bool compact : {false, true})
      for (const unsigned level : {1u, 2u, 4u})
        add("linear map by keys of low levels",
            ckks::apply(s, a,
                        ckks::encode(s, map(most), level,
                                     {.low_rotations = level < 4, .compact = compact})));
    const auto sine = [](double t) { return std::sin(3 * t) / 2; };
    const ckks::Polynomial p = ckks::approximate(sine, -1, 1, 7);
    add("polynomial", ckks::evaluate(s, x, p));
    ckks::PolynomialVector each{{p, ckks::approximate(sine, -1, 1, 5), {{0.25}}}, {}, few};
    for (std::int32_t j = 0; j < 3 * static_cast<std::int32_t>(few); ++j)
      each.mapping.push_back(j % 4 - 1);
    add("polynomials of slots", ckks::evaluate(s, x, each));
    add("polynomials of ciphertexts", ckks::evaluate(s, one, each));
    const ckks::EncodedMatrixProduct square = ckks::encode(s, square_matrices(), 3),
                                     flat = ckks::encode(s, flat_matrices(), 2);
    add("matrices", ckks::multiply_matrices(s, a, b, square));
    add("matrices, one for all", ckks::multiply_matrices(s, x, one, square));
    add("matrices of fewer rows", ckks::multiply_matrices(s, s.upload(rows_), b, flat));
    return out;
  }

  /// Bootstraps of complex and real vectors, full and repeated ones, once and with a second
  /// iteration.
  Results bootstraps(const ckks::Server& s) const {
    Results out;
    const ckks::Array full = s.upload(full_), real = s.upload(short_);
    const ckks::EncodedBootstrap of_full = ckks::encode_bootstrap(s, most),
                                 of_real = ckks::encode_bootstrap(s, 64);
    for (const unsigned iterations : {1u, 2u}) {
      const std::string times = ", " + std::to_string(iterations) + " iterations";
      out.emplace_back("complex" + times,
                       s.download(ckks::bootstrap(s, full, of_full, iterations)));
      out.emplace_back("real" + times, s.download(ckks::bootstrap(s, real, of_real, iterations)));
      out.emplace_back("real, by longer maps" + times,
                       s.download(ckks::bootstrap(s, real, of_full, iterations)));
    }
    return out;
  }

  static void expect_same(const Results& a, const Results& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      SCOPED_TRACE(a[i].first);
      const ckks::Ciphertexts &x = a[i].second, &y = b[i].second;
      EXPECT_EQ(x.info.level, y.info.level);
      EXPECT_EQ(x.info.scale, y.info.scale);
      EXPECT_EQ(x.info.bound, y.info.bound);
      EXPECT_EQ(x.info.error, y.info.error);
      ASSERT_EQ(x.data.bytes(), y.data.bytes());
      EXPECT_EQ(std::memcmp(x.data.data(), y.data.data(), x.data.bytes()), 0) << "bits differ";
    }
  }

 private:
  static constexpr std::size_t few = 16, most = 512;

  static ckks::Parameters parameters(ckks::Requirements needs) {
    needs.bootstrap = true;
    ckks::ParameterLiteral literal = ckks::Parameters::choose(needs).literal();
    literal.N = 2 * most;
    return ckks::Parameters::create(literal, true);
  }
  static ckks::MatrixProduct square_matrices() { return {4, 4}; }
  static ckks::MatrixProduct flat_matrices() { return {4, 2}; }
  static ckks::LinearMap map(std::uint64_t period) {
    std::mt19937_64 random(5);
    ckks::LinearMap out{period, period, 0, {}};
    for (const std::int64_t k : {-1, 0, 1, 2}) out.diagonals[k] = random_complexes(random, period);
    return out;
  }
  static ckks::KeyRequest request(const ckks::Parameters& p) {
    ckks::KeyRequest out{.rotations = {1}, .conjugate = true};
    ckks::request_sum(out, few);
    for (const std::int64_t k : ckks::rotations_of(map(few))) out.rotations.push_back(k);
    for (const std::int64_t k : ckks::rotations_of(map(most))) out.rotations.push_back(k);
    out.low_rotations[2] = ckks::rotations_of(map(most));
    ckks::request_matrix_product(out, square_matrices());
    ckks::request_matrix_product(out, flat_matrices());
    ckks::request_bootstrap(out, p, most);
    ckks::request_bootstrap(out, p, 64);
    return out;
  }
  /// Three vectors, or another number.
  ckks::Ciphertexts complex(std::size_t length, std::size_t count = 3) {
    return client_.encrypt(random_complexes(random_, count * length), {.length = length});
  }
  ckks::Ciphertexts real(std::size_t length, std::size_t count = 3) {
    std::vector<double> values;
    for (const auto& z : random_complexes(random_, count * length)) values.push_back(z.real());
    return client_.encrypt(values, {.length = length});
  }

  std::mt19937_64 random_{17};
  ckks::Client client_;
  ckks::EvaluationKeys keys_ = client_.evaluation_keys(request(client_.parameters()));
  Complexes plain_ = random_complexes(random_, few);
  ckks::Ciphertexts complex_ = complex(few), other_ = complex(few), full_ = complex(most),
                    rows_ = complex(flat_matrices().a_length()), real_ = real(few),
                    one_ = real(few, 1), short_ = real(50);
};

/// Both orders of a bootstrap, and both sizes of words.
inline std::vector<ckks::Requirements> bits_requirements() {
  return {{.depth = 4, .scale_bits = 45},
          {.depth = 4, .scale_bits = 45, .coefficients_last = true},
          {.depth = 4, .scale_bits = 46, .word_bits = 64}};
}

}  // namespace whorl::test
