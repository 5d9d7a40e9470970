// What rows of rotation keys encrypt, of every kind, by exact integers; their number and their
// cost.
#include "lattice/lwe/rotation_method.h"
#include "support/rotation_shapes.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

using Kind = RotationMethod::Kind;
using test::Int128;

constexpr std::uint32_t N = 256;

struct Case {
  RotationMethod method;
  SecretKind lwe;
};

/// m·X^e of each key of the step of coefficient i, as the comment at RotationMethod has it.
std::vector<std::pair<int, std::uint64_t>> messages(const RotationMethod& method, SecretKind kind,
                                                    const std::vector<std::int32_t>& s,
                                                    std::uint32_t i) {
  std::vector<std::pair<int, std::uint64_t>> out;
  const auto n = static_cast<std::uint32_t>(s.size());
  const unsigned group = method.group();
  const auto monomial = [&](std::uint64_t times) {
    const std::int64_t e =
        static_cast<std::int64_t>(times * method.unit()) % (2 * N) * s[i] % (2 * N);
    out.emplace_back(1, static_cast<std::uint64_t>(e < 0 ? e + 2 * N : e));
  };
  if (method.kind() == Kind::ginx) {
    out.emplace_back(s[i] == 1, 0);
    if (kind == SecretKind::ternary) out.emplace_back(s[i] == -1, 0);
  } else if (method.kind() == Kind::unrolled || method.kind() == Kind::unrolled_all) {
    if (i % group != 0) return out;
    const unsigned size = std::min(group, n - i);
    for (unsigned set = method.kind() == Kind::unrolled ? 1 : 0; set < 1u << size; ++set) {
      bool all = true;
      for (unsigned t = 0; t < size; ++t) all = all && (s[i + t] == 1) == ((set >> t & 1) == 1);
      out.emplace_back(all, 0);
    }
  } else if (method.kind() == Kind::block) {
    for (unsigned t = 0; t < group && i % group == 0; ++t) out.emplace_back(s[i + t] == 1, 0);
  } else if (method.kind() == Kind::ap) {
    const std::uint64_t values = 2 * N / method.unit();
    for (std::uint64_t weight = 1; weight < values; weight *= group)
      for (unsigned v = 1; v < group && v * weight < values; ++v) monomial(v * weight);
  } else {
    out.emplace_back(1, static_cast<std::uint64_t>((s[i] + 2 * std::int64_t{N}) % (2 * N)));
  }
  return out;
}

template <class Word>
void check_rows(const Case& c, unsigned bits, test::Random& random) {
  SCOPED_TRACE(c.method.describe() + ", " + std::to_string(bits) + " bits");
  const auto Q = static_cast<Word>(math::ntt_primes(bits, N, 1)[0]);
  // Coefficients of GINX, which are steps of their own, have other gadgets in their second half.
  const unsigned digits = c.method.raised() ? 1 : 3;
  const bool two = c.method.kind() == Kind::ginx && !c.method.raised();
  const std::uint32_t n = c.lwe == SecretKind::block_binary ? 2 * c.method.group() : 7;
  std::vector<ring::Gadget> gadgets(n, ring::Gadget(Q, 7, digits));
  for (std::uint32_t i = n / 2; two && i < n; ++i) gadgets[i] = ring::Gadget(Q, bits / 2, 1);
  const auto shape = c.method.shape(N, Q, c.lwe, gadgets, backend::Arithmetic::ntt);
  std::vector<std::int32_t> lwe(n);
  const auto ring = random.integers(N, -1, 1);
  for (auto& s : lwe) {
    s = static_cast<std::int32_t>(c.lwe == SecretKind::binary    ? random.between(0, 1)
                                  : c.lwe == SecretKind::ternary ? random.between(-1, 1)
                                                                 : random.between(-9, 9));
  }
  if (c.lwe == SecretKind::block_binary) {
    math::PrivateStream stream("a test");
    math::sample_block_binary(stream, c.method.group(), lwe);
  }
  const math::GaussianSampler error(3.19);
  const math::Seed seed = math::random_seed();
  const WordArray bodies = RotationMethod::generate<Word>(shape, lwe, ring, error, seed, 2, {});
  ASSERT_EQ(bodies.size(), shape.row_count * shape.row_words());
  const auto words = bodies.as<Word>();

  /// Row r less what it should encrypt is an error, the same one modulo Q and modulo P.
  std::size_t row = 0;
  const auto check = [&](const std::vector<Int128>& polynomial, std::uint32_t i, unsigned j) {
    std::vector<Word> a(shape.row_words());
    RotationMethod::expand<Word>(shape, seed, row, a);
    std::vector<std::int64_t> errors;
    for (std::size_t l = 0; l * N < shape.row_words(); ++l) {
      const std::uint64_t q = l == 0 ? shape.Q : shape.raised_by;
      const std::uint64_t factor =
          shape.raised_by == 1 ? gadgets[i].factor(j) : shape.raised_by % q;
      const auto mask = test::negacyclic(ring, test::part(a, l * N, N), q);
      for (std::uint32_t t = 0; t < N; ++t) {
        const Int128 b = words[row * shape.row_words() + l * N + t];
        const auto e = test::centred(
            test::reduce(
                b - static_cast<Int128>(mask[t]) - polynomial[t] * static_cast<Int128>(factor), q),
            q);
        ASSERT_LE(std::abs(e), error.bound()) << "row " << row << ", coefficient " << t;
        if (l == 0)
          errors.push_back(e);
        else
          ASSERT_EQ(e, errors[t]);
      }
    }
    ++row;
  };
  const auto turned = [&](const std::vector<Int128>& x, std::uint64_t e) {
    std::vector<Int128> out(N, 0);
    for (std::uint32_t t = 0; t < N; ++t) {
      const std::uint64_t to = (t + e) % (2 * N);
      out[to % N] = to < N ? x[t] : -x[t];
    }
    return out;
  };
  std::vector<Int128> one(N, 0), minus_s(N, 0);
  one[0] = 1;
  for (std::uint32_t t = 0; t < N; ++t) minus_s[t] = -ring[t];
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto keys = messages(c.method, c.lwe, lwe, i);
    EXPECT_EQ(shape.rows_of(i), keys.size() * 2 * gadgets[i].digits());
    for (const auto& [m, e] : keys)
      for (const auto& base : {minus_s, one})
        for (unsigned j = 0; j < gadgets[i].digits(); ++j)
          check(m ? turned(base, e) : std::vector<Int128>(N, 0), i, j);
  }
  if (c.method.kind() == Kind::automorphism) {
    std::uint64_t g = 1;
    for (unsigned k = 0; k <= c.method.group(); ++k) {
      g = k < c.method.group() ? g * 5 % (2 * N) : 2 * N - 5;
      std::vector<Int128> moved(N, 0);
      for (std::uint64_t t = 0; t < N; ++t) {
        const std::uint64_t to = t * g % (2 * N);
        moved[to % N] = to < N ? minus_s[t] : -minus_s[t];
      }
      for (unsigned j = 0; j < digits; ++j) check(moved, 0, j);
    }
  }
  EXPECT_EQ(row, shape.row_count);
}

TEST(RotationMethod, EveryRowOfEveryKindEncryptsItsMessage) {
  test::Random random;
  const std::uint64_t P = math::ntt_primes(20, N, 1)[0], wide = math::ntt_primes(40, N, 1)[0];
  for (const auto secret : {SecretKind::binary, SecretKind::ternary})
    check_rows<std::uint32_t>({RotationMethod(), secret}, 31, random);
  for (const Case& c : {Case{RotationMethod(), SecretKind::binary},
                        {RotationMethod(), SecretKind::ternary},
                        {RotationMethod(Kind::unrolled, 3), SecretKind::binary},
                        {RotationMethod(Kind::unrolled_all, 3), SecretKind::binary},
                        {RotationMethod(Kind::block, 2), SecretKind::block_binary},
                        {RotationMethod(Kind::block, 5), SecretKind::block_binary},
                        {RotationMethod(Kind::ap, 8), SecretKind::gaussian},
                        {RotationMethod(Kind::ap, 32, 1, 4), SecretKind::gaussian},
                        {RotationMethod(Kind::ap, 23), SecretKind::ternary},
                        {RotationMethod(Kind::automorphism, 4), SecretKind::gaussian}}) {
    check_rows<std::uint32_t>(c, 27, random);
    check_rows<std::uint64_t>(c, 50, random);
    const RotationMethod& m = c.method;
    const std::uint32_t unit = m.odd() ? 1 : m.unit();
    check_rows<std::uint32_t>({RotationMethod(m.kind(), m.group(), P, unit), c.lwe}, 27, random);
    check_rows<std::uint64_t>({RotationMethod(m.kind(), m.group(), wide, unit), c.lwe}, 50, random);
  }
}

TEST(RotationMethod, CostsAreThoseOfThePapers) {
  // W128_P128's shape: n = 843, one digit; groups of m take n/m steps.
  const ring::Gadget gadget(math::ntt_primes(48, 2048, 1)[0], 23, 1);
  const RotationMethod ginx, two(Kind::unrolled, 2), ap(Kind::ap, 32), walk(Kind::automorphism, 1),
      window(Kind::automorphism, 10);
  const auto transforms = [&](const RotationMethod& m, std::uint32_t n, std::uint32_t ring,
                              std::uint32_t coefficients) {
    const RotationMethod::Range range{gadget, coefficients};
    return m.transforms(n, ring, {&range, 1});
  };
  const auto variance = [](const RotationMethod& m, const RotationMethod::Noise& noise,
                           const ring::Gadget& of, std::uint32_t coefficients) {
    const RotationMethod::Range range{of, coefficients};
    return m.variance(noise, {&range, 1});
  };
  EXPECT_EQ(transforms(ginx, 843, 2048, 843), 843 * 4);
  EXPECT_EQ(transforms(two, 843, 2048, 842), 421 * 4);
  // 2N = 2^11 has digits of 32, 32 and 2 values: 2 - 1/16 + 1/2 products. Modulo q = 2^10, as FHEW
  // and OpenFHE take them, two digits of 32 are enough: 2 - 1/16, and 62 keys.
  EXPECT_NEAR(transforms(ap, 500, 1024, 500), 500 * 4 * 2.4375, 1e-6);
  const RotationMethod by_q(Kind::ap, 32, 1, 2);
  EXPECT_NEAR(transforms(by_q, 500, 1024, 500), 500 * 4 * 1.9375, 1e-6);
  EXPECT_EQ(by_q.keys(1024, SecretKind::ternary), 62u);
  // Lee et al.: N automorphisms without a window; n = 554, N = 1024: some 430 with a wide one.
  EXPECT_NEAR((transforms(walk, 554, 1024, 554) - 554 * 4) / 3, 1025, 1);
  EXPECT_NEAR((transforms(window, 554, 1024, 554) - 554 * 4) / 3, 431, 4);
  const RotationMethod::Noise at{842, 2048, gadget.modulus(), 1, 10, 0.5, 0.5, false};
  // Unrolled by 2: half the steps, 3 keys whose rows count twice; what is dropped, 2·3/4 to 1/2.
  const ring::Gadget exact(gadget.modulus(), 24, 2);
  EXPECT_NEAR(variance(two, at, exact, 842) / variance(ginx, at, exact, 842), 3, 1e-3);
  // With a key for none of a group: 4 keys that count once, after 3 that count twice.
  const RotationMethod all(Kind::unrolled_all, 2);
  EXPECT_NEAR(variance(two, at, exact, 842) / variance(all, at, exact, 842), 6.0 / 4, 1e-3);
  // A last group of one: a step of GINX, but that ACC itself is decomposed.
  EXPECT_NEAR(variance(two, at, exact, 3) / variance(two, at, exact, 2), (3 + 1) / 3.0, 1e-3);
  // Blocks of 3: a third of the steps, 3 keys that count twice; what is dropped, 2·3/4 to 1/2.
  const RotationMethod blocks(Kind::block, 3);
  EXPECT_EQ(transforms(blocks, 843, 2048, 843), 281 * 4);
  EXPECT_EQ(blocks.keys(2048, SecretKind::block_binary), 3u);
  EXPECT_NEAR(variance(blocks, at, exact, 843) / variance(ginx, at, exact, 843), 2, 1e-3);
  const RotationMethod::Noise no_errors{843, 2048, gadget.modulus(), 1, 0, 0.5, 0.5, false};
  EXPECT_NEAR(variance(blocks, no_errors, gadget, 843) / variance(ginx, no_errors, gadget, 843), 1,
              1e-3);
  // A raised modulus: the formula of its own, 2·2N·Q²/12·σ²/P² a step and the rounding.
  const double P = 1e6;
  const RotationMethod raised(Kind::ginx, 1, 1'000'000);
  const double Q = static_cast<double>(gadget.modulus());
  EXPECT_NEAR(variance(raised, at, gadget, 1) / (1 - 1 / 4096.0),
              2.0 * 2 * 2048 * Q * Q / 12 * 10 / (P * P) + (1 + 1024.0) / 12, 1e-9 * Q * Q / P);
}

TEST(RotationMethod, ShapesOfBackendTestsAreItsOwn) {
  const std::uint64_t Q = math::ntt_primes(27, 256, 1)[0];
  const std::vector<ring::Gadget> gadgets = {ring::Gadget(Q, 7, 2), ring::Gadget(Q, 7, 3)};
  for (const unsigned keys : {1u, 2u}) {
    const auto secret = keys == 1 ? SecretKind::binary : SecretKind::ternary;
    const auto own = RotationMethod().shape(256, Q, secret, gadgets, backend::Arithmetic::ntt),
               other = test::ginx_shape(256, Q, keys, gadgets, backend::Arithmetic::ntt);
    EXPECT_EQ(own.keys, other.keys);
    EXPECT_EQ(own.step_keys, other.step_keys);
    EXPECT_EQ(own.first_row, other.first_row);
    EXPECT_EQ(own.row_count, other.row_count);
    EXPECT_EQ(own.automorphisms, 0u);
  }
}

TEST(RotationMethod, RefusesWhatItCannot) {
  EXPECT_THROW(RotationMethod(Kind::ginx, 2), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::unrolled, 0), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::unrolled, 9), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::ap, 1), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::automorphism, 257), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::unrolled_all, 9), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::block, 1), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::block, 9), ParameterError);
  EXPECT_THROW(RotationMethod(static_cast<Kind>(6)), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::ap, 32, 1, 3), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::ginx, 1, 1, 2), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::ginx, 1, 0), ParameterError);
  EXPECT_THROW(RotationMethod().check_secret(SecretKind::gaussian), ParameterError);
  EXPECT_THROW(RotationMethod(Kind::unrolled, 2).check_secret(SecretKind::ternary), ParameterError);
  for (const auto secret : {SecretKind::binary, SecretKind::ternary, SecretKind::gaussian})
    EXPECT_THROW(RotationMethod(Kind::block, 3).check_secret(secret), ParameterError);
  for (const auto& other :
       {RotationMethod(), RotationMethod(Kind::unrolled, 3), RotationMethod(Kind::unrolled_all, 3),
        RotationMethod(Kind::ap, 32), RotationMethod(Kind::automorphism, 10)})
    EXPECT_THROW(other.check_secret(SecretKind::block_binary), ParameterError);
  const std::uint64_t Q = math::ntt_primes(27, 256, 1)[0];
  EXPECT_THROW(
      RotationMethod(Kind::block, 3)
          .shape(256, Q, SecretKind::block_binary,
                 std::vector<ring::Gadget>(7, ring::Gadget(Q, 7, 2)), backend::Arithmetic::ntt),
      ParameterError);
  EXPECT_NO_THROW(RotationMethod(Kind::block, 3).check_secret(SecretKind::block_binary));
  EXPECT_NO_THROW(RotationMethod(Kind::ap, 32).check_secret(SecretKind::gaussian));
}

}  // namespace
}  // namespace whorl::lattice::lwe
