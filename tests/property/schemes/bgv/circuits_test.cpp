// Random BGV circuits against the same on vectors in clear, on every device that is present: no
// wrong value, noise below its bound after every operation, the same bits everywhere.
//
// support/circuits.h says how the environment chooses number, part and seed (tools/circuits.sh,
// which `make test-full` calls: 100,000). From some thousands on, secure parameters of depth 12 and
// 24 are among them. WHORL_TEST_CIRCUITS_DEPTH=6 leaves out small rings for more than 6 products in
// a row.
//
// Each process closes with one line:
//
//   BGV-CIRCUITS shard=3/16 seed=… devices=cpu+cuda:0 circuits=6250 deep=… operations=… dropped=…
//   wrong=0 differing=0 over_bound=0 least_slack=6.2 cpu_seconds=… seconds=…
//
// deep: circuits of parameters for depth 12 or 24. dropped: results that had no budget left by the
// bound, which nothing is promised of. wrong: values; differing: results that were not the same
// bits on all devices; over_bound: ciphertexts with less budget than their bound said; least_slack:
// what bounds were at least too careful by, in bits.
#include "support/circuits.h"
#include "support/bgv_sets.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

using test::Clear;

std::size_t circuits_wanted() { return test::circuits_wanted(2000, 400); }

unsigned most_depth() {
  const char* given = std::getenv("WHORL_TEST_CIRCUITS_DEPTH");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 24;
}

using Fleet = test::CircuitServers<Server, SessionOptions, EvaluationKeys>;

/// A value of a circuit: in clear, and on each server of those that take part.
struct Wire {
  Clear clear;
  std::vector<Array> arrays;
  const CiphertextInfo& info() const { return arrays[0].info(); }
  double budget() const { return arrays[0].noise_budget(); }
};

class Circuit {
 public:
  Circuit(const Parameters& p, Fleet::Crew crew, test::Random& random, test::CircuitTotals& totals)
      : p_(p),
        client_(test::bgv_pair(p).client),
        crew_(std::move(crew)),
        packing_(p.has_slots() ? Packing::slots : Packing::coefficients),
        count_(1 + random.below(p.N() > 2048 ? 2 : 5)),
        random_(random),
        totals_(totals) {
    ++totals.circuits;
    if (p.literal().depth >= 12) ++totals.deep;
  }

  Wire fresh() {
    Clear m = Clear::random(p_, packing_, count_, random_);
    const auto values = m.as_signed();
    static std::map<KeyId, PublicKey> keys;
    const Ciphertexts c =
        random_.below(2)
            ? client_.encrypt(values, packing_)
            : encrypt(keys.try_emplace(client_.key_id(), client_.public_key()).first->second,
                      values, packing_);
    Wire out{std::move(m), {}};
    for (const Fleet::Member* member : crew_)
      out.arrays.push_back(member->with([&](const Server& s) { return s.upload(c); }));
    return out;
  }

  /// operation(server, which of the servers) on all servers.
  template <class Operation>
  Wire apply(Clear clear, const Operation& operation) {
    ++totals_.operations;
    Wire out{std::move(clear), {}};
    for (std::size_t k = 0; k < crew_.size(); ++k)
      out.arrays.push_back(crew_[k]->with([&](const Server& s) { return operation(s, k); }));
    return out;
  }

  Wire add(const Wire& a, const Wire& b) {
    return apply(a.clear + b.clear,
                 [&](const Server& s, std::size_t k) { return s.add(a.arrays[k], b.arrays[k]); });
  }
  Wire sub(const Wire& a, const Wire& b) {
    return apply(a.clear - b.clear,
                 [&](const Server& s, std::size_t k) { return s.sub(a.arrays[k], b.arrays[k]); });
  }
  Wire multiply(const Wire& a, const Wire& b, bool relinearised) {
    return apply(a.clear * b.clear, [&](const Server& s, std::size_t k) {
      return s.multiply(a.arrays[k], b.arrays[k], relinearised);
    });
  }
  Wire square(const Wire& a, bool relinearised) {
    return apply(a.clear * a.clear, [&](const Server& s, std::size_t k) {
      return s.square(a.arrays[k], relinearised);
    });
  }
  Wire turned(const Wire& a) {
    if (packing_ != Packing::slots) return a;
    if (random_.below(4) == 0)
      return apply(a.clear.swapped(),
                   [&](const Server& s, std::size_t k) { return s.swap_rows(a.arrays[k]); });
    const std::int64_t columns[] = {-1, 3, 1, 2, 16, p_.N() / 4, 0};
    const std::int64_t by = columns[random_.below(7)];
    return apply(a.clear.rotated(by),
                 [&](const Server& s, std::size_t k) { return s.rotate(a.arrays[k], by); });
  }
  /// One of the batch, alone or as often as there are others.
  Wire one_of(const Wire& a) {
    const std::vector<std::uint32_t> one(random_.below(2) ? 1 : count_,
                                         static_cast<std::uint32_t>(random_.below(count_)));
    return apply(a.clear.taken(one),
                 [&](const Server& s, std::size_t k) { return s.take(a.arrays[k], one); });
  }
  /// Some of both, of equal parts.
  Wire mixed(const Wire& a, const Wire& b) {
    auto some = random_.numbers(count_, 2 * count_);
    return apply(a.clear.followed_by(b.clear).taken(some), [&](const Server& s, std::size_t k) {
      return s.take(s.concatenate(std::vector<Array>{a.arrays[k], b.arrays[k]}), some);
    });
  }
  /// With plaintexts, prepared or not, or scalars, of all sizes.
  Wire plain(const Wire& a) {
    const auto kind = random_.below(6);
    if (kind < 3) {
      Clear m = Clear::random(p_, packing_, random_.below(2) ? 1 : count_, random_);
      if (random_.below(2))
        for (auto& x : m.values) x %= 2;
      const auto values = m.as_signed();
      const Clear due = kind == 0 ? a.clear + m : kind == 1 ? a.clear - m : a.clear * m;
      const bool prepared = random_.below(2);
      return apply(due, [&](const Server& s, std::size_t k) {
        const Array& x = a.arrays[k];
        if (prepared) {
          const Plaintexts p = s.encode(values, packing_);
          return kind == 0   ? s.add_plain(x, p)
                 : kind == 1 ? s.sub_plain(x, p)
                             : s.multiply_plain(x, p);
        }
        return kind == 0   ? s.add_plain(x, values)
               : kind == 1 ? s.sub_plain(x, values)
                           : s.multiply_plain(x, values);
      });
    }
    const auto t = static_cast<std::int64_t>(p_.t());
    const std::int64_t v = random_.below(2) ? random_.between(-4, 4) : random_.between(-t, t);
    const Clear c = a.clear.constant(v);
    return apply(
        kind == 3   ? a.clear + c
        : kind == 4 ? a.clear * c
                    : a.clear.zero() - a.clear,
        [&](const Server& s, std::size_t k) {
          const Array& x = a.arrays[k];
          return kind == 3 ? s.add_scalar(x, v) : kind == 4 ? s.multiply_scalar(x, v) : s.negate(x);
        });
  }
  Wire lowered(const Wire& a) {
    if (random_.below(3) == 0)
      return apply(a.clear, [&](const Server& s, std::size_t k) { return s.shrink(a.arrays[k]); });
    const auto limbs = static_cast<unsigned>(1 + random_.below(a.info().limbs));
    return apply(a.clear,
                 [&](const Server& s, std::size_t k) { return s.mod_switch(a.arrays[k], limbs); });
  }
  Wire relinearised(const Wire& a) {
    return apply(a.clear,
                 [&](const Server& s, std::size_t k) { return s.relinearise(a.arrays[k]); });
  }

  /// Same bits on all servers; right, with no less budget than promised. For promises above 0.
  void check(const Wire& wire, const char* what) {
    const auto download = [&](std::size_t k) {
      return crew_[k]->with([&](const Server& s) { return s.download(wire.arrays[k]); });
    };
    const auto same_info = [](const CiphertextInfo& other, const CiphertextInfo& first) {
      EXPECT_EQ(other.noise, first.noise);
      EXPECT_EQ(other.factor, first.factor);
    };
    const Ciphertexts c = test::same_on_all(crew_.size(), download, same_info, what, totals_);
    for (const double budget : client_.noise_budget(c)) {
      totals_.over_bound += budget < wire.budget() ? 1u : 0u;
      EXPECT_GE(budget, wire.budget()) << what;
      totals_.least_slack = std::min(totals_.least_slack, budget - wire.budget());
    }
    const auto got = client_.decrypt(c, {.all_slots = true});
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != wire.clear.values[i] ? 1u : 0u;
    totals_.wrong += wrong;
    EXPECT_EQ(wrong, 0u) << what << ": wrong of " << got.size() << " values, batch " << count_;
  }

  /// Any operations, of which those are dropped that leave no budget by the bound.
  void free_form() {
    std::vector<Wire> wires = {fresh(), fresh(), fresh()};
    const std::size_t steps = 4 + random_.below(16);
    for (std::size_t step = 0; step < steps; ++step) {
      const Wire& a = wires[random_.below(wires.size())];
      Wire b = wires[random_.below(wires.size())];
      const auto kind = random_.below(17);
      const bool relinearise = random_.below(3) != 0;
      // Keys bring back up to five parts.
      if (kind < 7 && a.info().parts + b.info().parts > 6) continue;
      if (kind == 7 && a.info().parts > 3) continue;
      if (kind == 16 && a.info().parts != b.info().parts) continue;
      if (kind < 7 && random_.below(4) == 0) b = one_of(b);
      Wire out = kind < 3    ? multiply(a, b, relinearise)
                 : kind < 5  ? add(a, b)
                 : kind < 7  ? sub(a, b)
                 : kind == 7 ? square(a, relinearise)
                 : kind < 11 ? turned(a)
                 : kind < 13 ? plain(a)
                 : kind < 15 ? lowered(a)
                 : kind < 16 ? relinearised(a)
                             : mixed(a, b);
      if (out.budget() <= 0) {
        ++totals_.dropped;
        continue;
      }
      const std::string what =
          "operation " + std::to_string(kind) + " in step " + std::to_string(step);
      check(out, what.c_str());
      if (::testing::Test::HasFailure()) return;
      if (wires.size() < 6)
        wires.push_back(std::move(out));
      else
        wires[random_.below(wires.size())] = std::move(out);
    }
  }

  /// What the parameters are rated for: at each level sums of up to eight terms, turned or not,
  /// then products; operands may come from any earlier level. The bound must last to the end.
  void rated(unsigned depth) {
    std::vector<Wire> wires;
    for (std::size_t i = 0; i < 2 + random_.below(3); ++i) wires.push_back(fresh());
    const auto some_sum = [&](std::size_t begin, std::size_t end) {
      const auto one = [&] {
        const Wire& w = wires[begin + random_.below(end - begin)];
        return random_.below(3) == 0 ? turned(w) : w;
      };
      Wire sum = one();
      for (std::size_t more = random_.below(8); more > 0; --more)
        sum = random_.below(2) ? add(sum, one()) : sub(sum, one());
      return sum;
    };
    std::size_t first = 0;
    for (unsigned level = 0; level < depth; ++level) {
      const std::size_t before = wires.size();
      for (std::size_t products = 1 + random_.below(2); products > 0; --products) {
        const Wire a = some_sum(random_.below(2) ? first : 0, before);
        Wire out = random_.below(4) == 0
                       ? square(a, true)
                       : multiply(a, some_sum(random_.below(2) ? first : 0, before), true);
        ASSERT_GT(out.budget(), 0) << "the bound ran out at level " << level + 1 << " of " << depth;
        wires.push_back(std::move(out));
      }
      first = before;
      check(wires.back(), "product");
      if (::testing::Test::HasFailure()) return;
    }
    const Wire last = some_sum(random_.below(2) ? first : 0, wires.size());
    ASSERT_GT(last.budget(), 0) << "the bound ran out in the last sum";
    check(last, "last sum");
  }

 private:
  const Parameters& p_;
  const Client& client_;
  Fleet::Crew crew_;
  Packing packing_;
  std::size_t count_;
  test::Random& random_;
  test::CircuitTotals& totals_;
};

test::CircuitReport& report = test::CircuitReport::of("BGV");

/// Small rings: every operation is quick, and what chains of many primes do is all there.
struct SmallSet {
  test::BgvShape shape;
  unsigned depth;
  unsigned share;  ///< of the circuits in small rings, in percent
};
const SmallSet small_sets[] = {
    {{1024, 65537, 30}, 2, 23}, {{1024, 12289, 50}, 3, 19},  {{2048, 65537, 28}, 4, 10},
    {{1024, 65537, 60}, 6, 5},  {{1024, 786433, 31}, 3, 14}, {{1024, 2, 30}, 3, 7},
    {{1024, 256, 50}, 3, 7},    {{1024, 1000003, 31}, 2, 6}, {{1024, 1000000, 30}, 2, 6},
    {{1024, 65537, 30}, 12, 2}, {{1024, 786433, 30}, 24, 1},
};
/// As Parameters::choose has them, in rings of 2^13 to 2^16.
struct SecureSet {
  unsigned depth;
  std::uint64_t t;
  std::size_t of_100000;  ///< circuits
  std::size_t least;
  std::size_t circuits() const { return std::max(least, circuits_wanted() * of_100000 / 100'000); }
};
constexpr SecureSet secure_sets[] = {
    {1, 65537, 500, 6}, {5, 65537, 100, 3}, {12, 65537, 30, 0}, {24, 786433, 10, 0}};

/// This process's part of `total` circuits; `set` is a number of its own for each set.
void run(std::size_t total, std::size_t set, const std::function<Parameters()>& parameters,
         unsigned depth, bool free_form) {
  const test::Shard shard = test::Shard::chosen();
  const auto [begin, end] = shard.part(total, set);
  if (begin == end) return;
  const double start = test::cpu_seconds();
  const Parameters p = parameters();
  SCOPED_TRACE(p.literal().name + ", WHORL_TEST_SHARD=" + shard.text() +
               ", WHORL_TEST_CIRCUITS=" + std::to_string(circuits_wanted()));
  test::Random random = shard.random(report.seed(), set);
  test::CircuitTotals& totals = report.next_set();
  // Other shards have the other cores.
  Fleet fleet(test::bgv_pair(p).keys, shard.count > 1 || p.N() < 8192 ? 1 : 2, true);
  for (std::size_t i = begin; i < end; ++i) {
    Circuit circuit(p, fleet.crew(i), random, totals);
    free_form&& i % 3 != 0 ? circuit.free_form() : circuit.rated(depth);
    totals.cpu_seconds = test::cpu_seconds() - start;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "circuit " << i;
  }
  std::printf("%s: %s\n", p.literal().name.c_str(), totals.text().c_str());
  std::fflush(stdout);
}

TEST(BgvCircuits, SmallRings) {
  std::size_t total = circuits_wanted(), share = 0, set = std::size(secure_sets);
  for (const SecureSet& secure : secure_sets) total -= std::min(total, secure.circuits());
  for (const SmallSet& small : small_sets) {
    const std::size_t before = total * share / 100;
    share += small.share;
    run(
        small.depth > most_depth() ? 0 : total * share / 100 - before, set++,
        [&] { return test::bgv_rated(small.shape, small.depth); }, small.depth, true);
    if (HasFailure()) return;
  }
  ASSERT_EQ(share, 100u);
}

void secure(std::size_t set) {
  const SecureSet& chosen = secure_sets[set];
  if (chosen.circuits() == 0)
    GTEST_SKIP() << "none among so few; set WHORL_TEST_CIRCUITS to 10000 or more";
  run(
      chosen.circuits(), set,
      [&] {
        Requirements r;
        r.depth = chosen.depth;
        r.plain_modulus = chosen.t;
        return Parameters::choose(r);
      },
      chosen.depth, false);
}
TEST(BgvCircuits, Depth1) { secure(0); }
TEST(BgvCircuits, Depth5) { secure(1); }
TEST(BgvCircuits, Depth12) { secure(2); }
TEST(BgvCircuits, Depth24) { secure(3); }

}  // namespace
}  // namespace whorl::bgv
