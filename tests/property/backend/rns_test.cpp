// RNS entries against exact integers, on every device and SIMD target. Source bases are small
// enough for their product to fit 128 bits.
#include "support/rns.h"
#include "ring/base_conversion.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::Executor;
using test::get;
using test::put;
using Signed = __int128;

template <class Word>
using Moduli = std::span<const math::Modulus<Word>>;

/// x modulo the product of the primes, 0 <= x, from its residues: Garner's mixed radix.
template <class Word>
Signed garner(Moduli<Word> primes, std::vector<Word> x) {
  for (std::size_t l = 0; l < primes.size(); ++l)
    for (std::size_t m = l + 1; m < primes.size(); ++m) {
      const auto& q = primes[m];
      x[m] = q.mul(q.sub(x[m], q.reduce(x[l])), q.inverse(q.reduce(primes[l].value())));
    }
  Signed out = 0;
  for (std::size_t l = primes.size(); l-- > 0;)
    out = out * static_cast<Signed>(primes[l].value()) + static_cast<Signed>(x[l]);
  return out;
}

template <class Word>
Word residue(const math::Modulus<Word>& p, Signed x) {
  const auto q = static_cast<Signed>(p.value());
  return static_cast<Word>((x % q + q) % q);
}

/// The integers z for which t·z may represent x: [x/t]_Q in (-Q/2, Q/2], and its neighbour where
/// it is near an end.
template <class Word>
std::vector<Signed> quotients(Moduli<Word> from, std::uint64_t t, std::vector<Word> x) {
  Signed Q = 1;
  for (std::size_t l = 0; l < from.size(); ++l) {
    Q *= static_cast<Signed>(from[l].value());
    x[l] = from[l].mul(x[l], from[l].inverse(static_cast<Word>(t % from[l].value())));
  }
  Signed z = garner<Word>(from, std::move(x));
  if (z > Q / 2) z -= Q;
  const Signed margin =
      (Q >> ring::BaseConversion<Word>::fraction_bits) * static_cast<Signed>(from.size()) * 3 / 2 +
      1;
  std::vector<Signed> out = {z};
  if (z <= -Q / 2 + margin) out.push_back(z + Q);
  return out;
}

/// Residues x of a basis, and what a conversion made of them modulo `to`, but for targets to skip.
template <class Word>
::testing::AssertionResult converts(Moduli<Word> from, Moduli<Word> to, std::uint64_t t,
                                    const std::vector<Word>& x, const std::vector<Word>& got) {
  for (const Signed z : quotients<Word>(from, t, x)) {
    bool same = true;
    for (std::size_t k = 0; k < to.size(); ++k)
      same &= got[k] == to[k].mul(residue(to[k], z), static_cast<Word>(t % to[k].value()));
    if (same) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "first source residue " << x[0] << ", first result " << (got.empty() ? 0 : got[0]);
}

/// Word j of rows `first` … of an array with rows of `row` words.
template <class Word>
std::vector<Word> column(const std::vector<Word>& data, std::size_t row, std::size_t first,
                         std::size_t count, std::size_t j) {
  std::vector<Word> out(count);
  for (std::size_t r = 0; r < count; ++r) out[r] = data[(first + r) * row + j];
  return out;
}

/// Coefficients of data (parts, basis, B, N), by RingOps::intt.
template <class Word>
std::vector<Word> coefficients(const Queue& queue, const ring::RnsPlan<Word>& plan,
                               const ring::Basis& basis, std::size_t parts,
                               const std::vector<Word>& data) {
  const auto plans = plan.ntts_of(basis);
  auto buffer = put(queue, data);
  for (std::size_t part = 0; part < parts; ++part)
    queue.ring<Word>().intt(plans,
                            buffer.slice().part(part * data.size() / parts, data.size() / parts));
  return get(queue, buffer);
}

/// Primes of a source basis of which 128 bits hold the product.
template <class Word>
inline constexpr unsigned most_sources = sizeof(Word) == 4 ? 3 : 2;

struct Case {
  std::uint32_t N;
  unsigned limbs, special, digit_limbs, used;  ///< used: limbs of the call
  std::size_t batch, parts;
  std::uint64_t t;
};
template <class Word>
Case random_case(test::Random& random) {
  Case c = {};
  c.N = 1u << (8 + random.below(2));
  c.limbs = 1 + static_cast<unsigned>(random.below(7));
  c.special = 1 + static_cast<unsigned>(random.below(most_sources<Word>));
  c.digit_limbs = 1 + static_cast<unsigned>(random.below(std::min(most_sources<Word>, c.limbs)));
  c.used = 1 + static_cast<unsigned>(random.below(c.limbs));
  c.batch = 1 + random.below(3);
  c.parts = 1 + random.below(3);
  c.t = random.below(2) ? 65537 : 1;
  return c;
}

/// body(case, plan, random) for some random plans.
template <class Word, class Body>
void cases(unsigned count, const Body& body) {
  test::Random random;
  for (unsigned i = 0; i < count; ++i) {
    const Case c = random_case<Word>(random);
    // Two 61-bit primes and a sign are more than 128 bits hold with room for a neighbour.
    const auto plan = test::random_rns_plan<Word>(c.N, c.limbs, c.special, c.digit_limbs, random,
                                                  sizeof(Word) == 4 ? 31 : 60);
    SCOPED_TRACE(test::describe(*plan) + ", " + std::to_string(c.used) + " limbs used, batch " +
                 std::to_string(c.batch) + ", " + std::to_string(c.parts) +
                 " parts, t = " + std::to_string(c.t));
    body(c, plan, random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class Word>
class BackendRns : public ::testing::Test {};
TYPED_TEST_SUITE(BackendRns, test::BothWords);

TYPED_TEST(BackendRns, BaseConversion) {
  using Word = TypeParam;
  cases<Word>(20, [](const Case& c, const auto& plan, test::Random& random) {
    const Moduli<Word> all = plan->moduli();
    const auto from = all.subspan(plan->limbs()), to = all.first(plan->limbs());
    const ring::BaseConversion<Word> conversion(from, to, c.t);
    const std::size_t row = c.batch * c.N;
    std::vector<Word> in;
    Signed P = 1;
    for (const auto& p : from) {
      const auto limb = random.residues<Word>(row, p.value());
      in.insert(in.end(), limb.begin(), limb.end());
      P *= static_cast<Signed>(p.value());
    }
    // t times the integers about P/2, -P/2 and 0, where rounding decides.
    for (std::size_t j = 0; j < 64; ++j) {
      const Signed middle = j % 2 ? 0 : P / 2;
      const Signed z = middle + random.between(-3, 3);
      for (std::size_t l = 0; l < from.size(); ++l)
        in[l * row + j] =
            from[l].mul(residue(from[l], z), static_cast<Word>(c.t % from[l].value()));
    }
    test::on_each_device([&](const Executor& on) {
      const auto device = on.queue(2);
      const auto x = put(*device, in);
      auto out = device->template allocate<Word>(to.size() * row);
      device->rns<Word>().convert(*device->rns<Word>().prepare_conversion(conversion), c.N,
                                  x.slice(), out.slice());
      const auto got = get(*device, out);
      for (std::size_t j = 0; j < row; ++j)
        ASSERT_TRUE(converts<Word>(from, to, c.t, column(in, row, 0, from.size(), j),
                                   column(got, row, 0, to.size(), j)))
            << "coefficient " << j;
    });
  });
}

TYPED_TEST(BackendRns, Transforms) {
  using Word = TypeParam;
  cases<Word>(8, [](const Case& c, const auto& plan, test::Random& random) {
    for (const bool with_special : {false, true}) {
      const ring::Basis basis = test::basis_of(*plan, c.used, with_special);
      const auto data = test::random_rows(*plan, basis, c.parts, c.batch, random);
      test::on_each_device([&](const Executor& on) {
        const auto device = on.queue(2);
        const auto tables = device->rns<Word>().prepare(plan);
        auto x = put(*device, data);
        device->rns<Word>().intt(*tables, basis, c.parts, x.slice());
        ASSERT_TRUE(get(*device, x) == coefficients(*device, *plan, basis, c.parts, data));
        device->rns<Word>().ntt(*tables, basis, c.parts, x.slice());
        ASSERT_TRUE(get(*device, x) == data);
      });
    }
  });
}

TYPED_TEST(BackendRns, ModUp) {
  using Word = TypeParam;
  cases<Word>(20, [](const Case& c, const auto& plan, test::Random& random) {
    const std::size_t row = c.batch * c.N, rows = c.used + c.special;
    const ring::Basis low = plan->level(c.used), high = low | plan->special_basis();
    const auto in = test::random_rows(*plan, low, 1, c.batch, random);
    const unsigned digits = plan->digits(c.used);
    const auto moduli = plan->moduli_of(high);
    test::on_each_device([&](const Executor& on) {
      const auto device = on.queue(2);
      const auto tables = device->rns<Word>().prepare(plan);
      const auto x = put(*device, in);
      auto out = device->template allocate<Word>(digits * rows * row);
      test::mod_up(*device, *tables, c.used, x.slice(), out.slice());
      const auto values = get(*device, out);
      const auto source = coefficients(*device, *plan, low, 1, in);
      const auto got = coefficients(*device, *plan, high, digits, values);
      for (unsigned d = 0; d < digits; ++d) {
        const std::size_t first = d * c.digit_limbs;
        const std::size_t size = std::min<std::size_t>(c.digit_limbs, c.used - first);
        ASSERT_TRUE(
            std::equal(in.begin() + static_cast<std::ptrdiff_t>(first * row),
                       in.begin() + static_cast<std::ptrdiff_t>((first + size) * row),
                       values.begin() + static_cast<std::ptrdiff_t>((d * rows + first) * row)))
            << "own limbs of digit " << d;
        // A digit's t is 1; its own limbs represent it as well.
        for (std::size_t j = 0; j < row; ++j)
          ASSERT_TRUE(converts<Word>(Moduli<Word>(moduli).subspan(first, size), moduli, 1,
                                     column(source, row, first, size, j),
                                     column(got, row, d * rows, rows, j)))
              << "digit " << d << ", coefficient " << j;
      }
    });
  });
}

TYPED_TEST(BackendRns, InnerProduct) {
  using Word = TypeParam;
  cases<Word>(12, [](const Case& c, const auto& plan, test::Random& random) {
    const std::size_t rows = c.used + c.special, all = plan->moduli().size(), N = c.N;
    const unsigned digits = plan->digits(c.used), bits = std::bit_width(c.N) - 1u;
    const auto moduli = plan->moduli_of(test::basis_of(*plan, c.used, true));
    const test::RnsKeyRows<Word> key(*plan, random);
    const auto data =
        test::random_rows(*plan, test::basis_of(*plan, c.used, true), digits, c.batch, random);
    for (const std::uint32_t g : {1u, static_cast<std::uint32_t>(2 * random.below(N) + 1)}) {
      SCOPED_TRACE("g = " + std::to_string(g));
      // Value j is at psi^(2·brv(j) + 1).
      std::vector<std::size_t> place(2 * N), from(N);
      for (std::uint32_t j = 0; j < N; ++j) place[2 * ring::bit_reverse(j, bits) + 1] = j;
      for (std::uint32_t j = 0; j < N; ++j)
        from[j] = place[std::uint64_t{2 * ring::bit_reverse(j, bits) + 1} * g % (2 * N)];
      std::vector<Word> expected;
      for (std::size_t part = 0; part < 2; ++part)
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t b = 0; b < c.batch; ++b)
            for (std::size_t j = 0; j < N; ++j) {
              const auto& q = moduli[r];
              const std::size_t limb = r < c.used ? r : plan->limbs() + r - c.used;
              Word sum = 0;
              for (unsigned d = 0; d < digits; ++d)
                sum = q.add(sum, q.mul(data[((d * rows + r) * c.batch + b) * N + from[j]],
                                       key.words[((2 * d + 1 - part) * all + limb) * N + j]));
              expected.push_back(sum);
            }
      test::on_each_device([&](const Executor& on) {
        const auto device = on.queue(2);
        const auto tables = device->rns<Word>().prepare(plan);
        const auto prepared = device->rns<Word>().prepare_key(*tables, key.source());
        EXPECT_EQ(prepared->bytes(), key.words.size() * sizeof(Word));
        const auto x = put(*device, data);
        auto out = device->template allocate<Word>(expected.size());
        device->rns<Word>().inner_product(*prepared, *tables, plan->level(c.used), g, x.slice(),
                                          out.slice());
        ASSERT_TRUE(get(*device, out) == expected);
      });
    }
  });
}

/// `got`, minus `before`, must be (E·in - delta)/D, as RnsOps::divide has it.
template <class Word>
void check_division(const ring::RnsPlan<Word>& plan, const ring::Basis& from, const ring::Basis& to,
                    const Case& c, const std::vector<Word>& in, const std::vector<Word>& before,
                    const std::vector<Word>& got) {
  const auto wanted = plan.moduli_of(to), going = plan.moduli_of(from - to),
             coming = plan.moduli_of(to - from);
  const auto gone = (from - to).indices(), there = to.indices();
  const auto product = [](const auto& primes, const math::Modulus<Word>& q) {
    Word out = 1;
    for (const auto& p : primes) out = q.mul(out, q.reduce(p.value()));
    return out;
  };
  const std::size_t row = c.batch * c.N;
  for (std::size_t part = 0; part < c.parts; ++part)
    for (std::size_t j = 0; j < row; ++j) {
      const auto x = column(in, row, part * from.size(), from.size(), j);
      const auto times_E = [&](const math::Modulus<Word>& q, unsigned prime) {
        return q.mul(product(coming, q), from.contains(prime) ? x[from.rank(prime)] : 0);
      };
      auto delta = column(got, row, part * to.size(), to.size(), j);
      for (std::size_t l = 0; l < wanted.size(); ++l) {
        const auto& q = wanted[l];
        const Word quotient = q.sub(delta[l], before[(part * to.size() + l) * row + j]);
        delta[l] = q.sub(times_E(q, there[l]), q.mul(quotient, product(going, q)));
      }
      std::vector<Word> dropped;
      for (std::size_t l = 0; l < going.size(); ++l) dropped.push_back(times_E(going[l], gone[l]));
      ASSERT_TRUE(converts<Word>(going, wanted, c.t, dropped, delta))
          << "part " << part << ", coefficient " << j;
    }
}

TYPED_TEST(BackendRns, ModDown) {
  using Word = TypeParam;
  cases<Word>(20, [](const Case& c, const auto& plan, test::Random& random) {
    const ring::Basis low = plan->level(c.used), high = low | plan->special_basis();
    const auto in = test::random_rows(*plan, high, c.parts, c.batch, random),
               before = test::random_rows(*plan, low, c.parts, c.batch, random);
    test::on_each_device([&](const Executor& on) {
      const auto device = on.queue(2);
      const auto tables = device->rns<Word>().prepare(plan);
      for (std::size_t added = 0; added <= c.parts; ++added) {
        const auto x = put(*device, in);
        auto out = put(*device, before);
        test::mod_down(*device, *tables, c.t, c.used, c.parts, x.slice(),
                       std::as_const(out).slice().part(0, out.size() / c.parts * added), 1,
                       out.slice());
        // From elsewhere, and at X^g.
        const auto y = put(*device, before);
        const auto g = static_cast<std::uint32_t>(2 * random.below(c.N) + 1);
        for (const std::uint32_t by : {1u, g}) {
          const std::size_t size = out.size() / c.parts * added;
          auto moved = put(*device, before), same = device->template allocate<Word>(out.size()),
               got = device->template allocate<Word>(out.size());
          const auto moduli = plan->moduli_of(low);
          for (std::size_t part = 0; part < added; ++part)
            device->ring<Word>().automorphism(
                moduli, c.N, by, true, y.slice().part(part * size / added, size / added),
                moved.slice().part(part * size / added, size / added));
          test::mod_down(*device, *tables, c.t, c.used, c.parts, x.slice(),
                         std::as_const(moved).slice().part(0, size), 1, same.slice());
          test::mod_down(*device, *tables, c.t, c.used, c.parts, x.slice(), y.slice().part(0, size),
                         by, got.slice());
          EXPECT_EQ(get(*device, got), get(*device, same)) << "g = " << by;
          if (by == 1) {
            EXPECT_EQ(get(*device, got), get(*device, out));
          }
        }
        auto start = coefficients(*device, *plan, low, c.parts, before);
        std::fill(start.begin() + static_cast<std::ptrdiff_t>(start.size() / c.parts * added),
                  start.end(), 0);
        check_division<Word>(*plan, high, low, c, coefficients(*device, *plan, high, c.parts, in),
                             start, coefficients(*device, *plan, low, c.parts, get(*device, out)));
      }
    });
  });
}

/// Rescaling by the last prime, and between bases of any primes, of which some may be new.
TYPED_TEST(BackendRns, Division) {
  using Word = TypeParam;
  cases<Word>(20, [](const Case& c, const auto& plan, test::Random& random) {
    ring::Basis from, to;
    do {
      from = test::random_part(plan->all(), random);
      to = test::random_part(plan->all(), random);
    } while ((from - to).empty() || (from - to).size() > most_sources<Word>);
    for (const bool rescaled : {true, false}) {
      if (rescaled && c.used == 1) continue;
      const ring::Basis high = rescaled ? plan->level(c.used) : from,
                        low = rescaled ? plan->level(c.used - 1) : to;
      SCOPED_TRACE(high.describe() + " to " + low.describe());
      const auto in = test::random_rows(*plan, high, c.parts, c.batch, random);
      test::on_each_device([&](const Executor& on) {
        const auto device = on.queue(2);
        const auto tables = device->rns<Word>().prepare(plan);
        const auto x = put(*device, in);
        auto out = device->template allocate<Word>(c.parts * low.size() * c.batch * c.N);
        device->rns<Word>().divide(*tables, high, low, c.t, c.parts, x.slice(), out.slice());
        check_division<Word>(*plan, high, low, c, coefficients(*device, *plan, high, c.parts, in),
                             std::vector<Word>(out.size(), 0),
                             coefficients(*device, *plan, low, c.parts, get(*device, out)));
      });
    }
  });
}

// Empty batches are nothing to do.
TYPED_TEST(BackendRns, Empty) {
  using Word = TypeParam;
  test::Random random;
  const auto plan = test::random_rns_plan<Word>(256, 3, 1, 2, random);
  const ring::BaseConversion<Word> conversion(Moduli<Word>(plan->moduli()).first(2),
                                              plan->moduli());
  test::on_each_device([&](const Executor& on) {
    const auto device = on.queue();
    const auto tables = device->rns<Word>().prepare(plan);
    const test::RnsKeyRows<Word> rows(*plan, random);
    const auto key = device->rns<Word>().prepare_key(*tables, rows.source());
    auto none = device->template allocate<Word>(0);
    const auto in = std::as_const(none).slice();
    device->rns<Word>().ntt(*tables, test::basis_of(*plan, 3, true), 2, none.slice());
    device->rns<Word>().intt(*tables, test::basis_of(*plan, 3, true), 2, none.slice());
    device->rns<Word>().convert(*device->rns<Word>().prepare_conversion(conversion), 256, in,
                                none.slice());
    test::mod_up(*device, *tables, 3, in, none.slice());
    device->rns<Word>().inner_product(*key, *tables, plan->level(3), 3, in, none.slice());
    test::mod_down(*device, *tables, 1, 3, 2, in, in, 1, none.slice());
    test::rescale(*device, *tables, 1, 3, 2, in, none.slice());
    device->rns<Word>().tensor(*tables, plan->level(3), 2, in, 2, in, none.slice());
    EXPECT_TRUE(get(*device, none).empty());
  });
}

// What does not fit, on every device.
TYPED_TEST(BackendRns, Errors) {
  using Word = TypeParam;
  test::Random random;
  const auto plan = test::random_rns_plan<Word>(256, 3, 1, 2, random);
  const auto other = test::random_rns_plan<Word>(256, 3, 0, 2, random);
  test::on_each_device([&](const Executor& on) {
    const auto device = on.queue();
    const auto tables = device->rns<Word>().prepare(plan),
               plain = device->rns<Word>().prepare(other);
    const test::RnsKeyRows<Word> rows(*plan, random);
    const auto key = device->rns<Word>().prepare_key(*tables, rows.source());
    auto x = device->template allocate<Word>(3 * 256), y = device->template allocate<Word>(9 * 256);
    const auto in = std::as_const(x).slice(), digits = std::as_const(y).slice();
    EXPECT_THROW(device->rns<Word>().prepare_key(*plain, rows.source()), ParameterError);
    EXPECT_THROW(device->rns<Word>().ntt(*tables, ring::Basis{0, 1, 4}, 1, x.slice()),
                 ParameterError);
    EXPECT_THROW(device->rns<Word>().ntt(*tables, test::basis_of(*plan, 3, true), 1, x.slice()),
                 ShapeError);
    EXPECT_THROW(device->rns<Word>().ntt(*tables, test::basis_of(*plan, 3, false), 0, x.slice()),
                 ShapeError);
    EXPECT_THROW(test::mod_up(*device, *tables, 3, in, y.slice()), ShapeError);
    EXPECT_THROW(test::mod_up(*device, *plain, 3, in, y.slice()), ShapeError);
    EXPECT_THROW(test::mod_up(*device, *tables, 0, in, y.slice()), ParameterError);
    EXPECT_THROW(
        device->rns<Word>().inner_product(*key, *tables, plan->level(3), 1, digits, x.slice()),
        ShapeError);
    EXPECT_THROW(
        device->rns<Word>().inner_product(*key, *tables, plan->level(3), 2, digits, x.slice()),
        ParameterError);
    EXPECT_THROW(
        device->rns<Word>().inner_product(*key, *tables, plan->level(3), 513, digits, x.slice()),
        ParameterError);
    const auto four = digits.part(0, 4 * 256);  // three limbs and a special prime
    EXPECT_THROW(test::mod_down(*device, *plain, 1, 3, 1, digits, {}, 1, x.slice()),
                 ParameterError);
    EXPECT_THROW(test::mod_down(*device, *tables, 1, 3, 1, in, {}, 1, x.slice()), ShapeError);
    EXPECT_THROW(test::mod_down(*device, *tables, 1, 3, 1, four, digits, 1, x.slice()), ShapeError);
    EXPECT_THROW(test::mod_down(*device, *tables, 1, 3, 1, four, in.part(0, 256), 1, x.slice()),
                 ShapeError);
    for (const std::uint32_t g : {0u, 2u, 513u})
      EXPECT_THROW(test::mod_down(*device, *tables, 1, 3, 1, four, {}, g, x.slice()),
                   ParameterError);
    // In the output only where it is added, and at X itself.
    auto wide = device->template allocate<Word>(7 * 256);
    const Slice<const Word> inside = std::as_const(wide).slice();
    EXPECT_THROW(test::mod_down(*device, *tables, 1, 3, 1, four, inside.part(0, 3 * 256), 3,
                                wide.slice().part(0, 3 * 256)),
                 ShapeError);
    EXPECT_THROW(test::mod_down(*device, *tables, 1, 3, 1, four, inside.part(256, 3 * 256), 1,
                                wide.slice().part(0, 3 * 256)),
                 ShapeError);
    EXPECT_THROW(test::rescale(*device, *tables, 1, 3, 1, in, y.slice()), ShapeError);
    EXPECT_THROW(test::rescale(*device, *tables, 1, 1, 1, in, y.slice()), ParameterError);
    EXPECT_THROW(device->rns<Word>().tensor(*tables, plan->level(3), 1, in, 1, digits, y.slice()),
                 ShapeError);
    EXPECT_THROW(device->rns<Word>().tensor(*tables, plan->level(1), 1, in, 0, in, y.slice()),
                 ShapeError);
    // Outputs lie apart from inputs.
    auto large = device->template allocate<Word>(16 * 256);
    const Slice<const Word> read = std::as_const(large).slice();
    const auto written = [&](std::size_t first, std::size_t rows_of_it) {
      return large.slice().part(first * 256, rows_of_it * 256);
    };
    const auto raise = [&](std::size_t to) {
      test::mod_up(*device, *tables, 3, read.part(0, 3 * 256), written(to, 8));
    };
    const auto inner = [&](std::size_t to) {
      device->rns<Word>().inner_product(*key, *tables, plan->level(3), 1, read.part(0, 8 * 256),
                                        written(to, 8));
    };
    const auto multiply = [&](std::size_t a, std::size_t b) {
      device->rns<Word>().tensor(*tables, plan->level(1), 1, read.part(a * 256, 256), 1,
                                 read.part(b * 256, 256), large.slice().part(128, 256));
    };
    const auto drop = [&](std::size_t to) {
      test::rescale(*device, *tables, 1, 3, 1, read.part(0, 3 * 256), written(to, 2));
    };
    EXPECT_THROW(drop(0), ShapeError);
    EXPECT_THROW(drop(2), ShapeError);
    EXPECT_NO_THROW(drop(3));
    EXPECT_THROW(raise(2), ShapeError);
    EXPECT_NO_THROW(raise(3));
    EXPECT_THROW(inner(7), ShapeError);
    EXPECT_NO_THROW(inner(8));
    EXPECT_THROW(multiply(0, 2), ShapeError);
    EXPECT_THROW(multiply(2, 1), ShapeError);
    EXPECT_NO_THROW(multiply(2, 3));
    const auto another = device->device().open();
    EXPECT_THROW(test::mod_up(*another, *tables, 3, in, y.slice()), DeviceError);  // buffers stay
  });
}

}  // namespace
}  // namespace whorl::backend
