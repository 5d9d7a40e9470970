// Random BGV circuits against the same on vectors in clear, on every device that is present: no
// wrong value, noise below its bound after every operation, the same bits everywhere.
//
// WHORL_TEST_CIRCUITS=<number> sets how many circuits are run in all (`make test-full`: 100,000);
// from 10,000 on, the deep parameter sets are tried too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "support/bgv_sets.h"
#include "support/targets.h"
#include "whorl/bgv/server.h"
#include "whorl/error.h"

namespace whorl::bgv {
namespace {

using test::Clear;

std::size_t circuits_wanted() {
  const char* given = std::getenv("WHORL_TEST_CIRCUITS");
  // Every device runs every circuit: with GPUs there are two or more to wait for.
  return given ? std::strtoull(given, nullptr, 10) : test::usable_gpus().empty() ? 2000 : 400;
}

/// One server for each device that is present, the CPU's first, and one for the CPU's least SIMD
/// target.
class Fleet {
 public:
  explicit Fleet(const EvaluationKeys& keys, unsigned threads = 1) {
    servers_.push_back(std::make_unique<Server>(keys, ServerOptions{"cpu", threads, {}}));
    targets_.emplace_back();
    if (const auto targets = hwy::SupportedAndGeneratedTargets(); targets.size() > 1) {
      const test::TargetGuard guard(targets.back());
      servers_.push_back(std::make_unique<Server>(keys, ServerOptions{"cpu", 2, {}}));
      targets_.emplace_back(targets.back());
    }
    for (const std::string& gpu : test::usable_gpus()) {
      servers_.push_back(std::make_unique<Server>(keys, ServerOptions{gpu, 1, {}}));
      targets_.emplace_back();
    }
  }
  std::size_t size() const { return servers_.size(); }
  /// body(server), seeing the SIMD target of that server.
  template <class Body>
  auto with(std::size_t which, const Body& body) const {
    std::optional<test::TargetGuard> guard;
    if (targets_[which]) guard.emplace(*targets_[which]);
    return body(*servers_[which]);
  }

 private:
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::optional<std::int64_t>> targets_;
};

/// A value of a circuit: in clear, and on each server of those that take part.
struct Wire {
  Clear clear;
  std::vector<Array> arrays;
  const CiphertextInfo& info() const { return arrays[0].info(); }
  double budget() const { return arrays[0].noise_budget(); }
};

struct Totals {
  std::size_t circuits = 0, operations = 0, dropped = 0;
  double least_slack = 1e9;
};

class Circuit {
 public:
  Circuit(const Parameters& p, const Fleet& fleet, std::size_t used, test::Random& random,
          Totals& totals)
      : p_(p),
        client_(test::bgv_pair(p).client),
        fleet_(fleet),
        used_(used),
        packing_(p.has_slots() ? Packing::slots : Packing::coefficients),
        count_(1 + random.below(p.N() > 2048 ? 2 : 5)),
        random_(random),
        totals_(totals) {
    ++totals.circuits;
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
    for (std::size_t k = 0; k < used_; ++k)
      out.arrays.push_back(fleet_.with(k, [&](const Server& s) { return s.upload(c); }));
    return out;
  }

  /// operation(server, which of the servers) on all servers.
  template <class Operation>
  Wire apply(Clear clear, const Operation& operation) {
    ++totals_.operations;
    Wire out{std::move(clear), {}};
    for (std::size_t k = 0; k < used_; ++k)
      out.arrays.push_back(fleet_.with(k, [&](const Server& s) { return operation(s, k); }));
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
    std::vector<std::uint32_t> some(count_);
    for (auto& i : some) i = static_cast<std::uint32_t>(random_.below(2 * count_));
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
    const Ciphertexts c =
        fleet_.with(0, [&](const Server& s) { return s.download(wire.arrays[0]); });
    for (std::size_t k = 1; k < used_; ++k) {
      const Ciphertexts other =
          fleet_.with(k, [&](const Server& s) { return s.download(wire.arrays[k]); });
      ASSERT_EQ(other.data.bytes(), c.data.bytes()) << what;
      ASSERT_EQ(std::memcmp(other.data.data(), c.data.data(), c.data.bytes()), 0)
          << what << ": device " << k << " differs from the first";
      ASSERT_EQ(other.info.noise, c.info.noise);
      ASSERT_EQ(other.info.factor, c.info.factor);
    }
    for (const double budget : client_.noise_budget(c)) {
      ASSERT_GE(budget, wire.budget()) << what;
      totals_.least_slack = std::min(totals_.least_slack, budget - wire.budget());
    }
    const auto got = client_.decrypt(c);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != wire.clear.values[i] ? 1u : 0u;
    ASSERT_EQ(wrong, 0u) << what << ": wrong of " << got.size() << " values, batch " << count_;
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
      if (::testing::Test::HasFatalFailure()) return;
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
      if (::testing::Test::HasFatalFailure()) return;
    }
    const Wire last = some_sum(random_.below(2) ? first : 0, wires.size());
    ASSERT_GT(last.budget(), 0) << "the bound ran out in the last sum";
    check(last, "last sum");
  }

 private:
  const Parameters& p_;
  const Client& client_;
  const Fleet& fleet_;
  std::size_t used_;
  Packing packing_;
  std::size_t count_;
  test::Random& random_;
  Totals& totals_;
};

void report(const char* what, const Totals& totals) {
  std::printf(
      "%s: %zu circuits, %zu operations, %zu left out for lack of budget, least slack of "
      "the bound %.1f bits\n",
      what, totals.circuits, totals.operations, totals.dropped, totals.least_slack);
  std::fflush(stdout);
}

struct SmallSet {
  test::BgvShape shape;
  unsigned depth;
  unsigned share;  ///< of the circuits, in percent
};
const SmallSet small_sets[] = {
    {{1024, 65537, 30}, 2, 25}, {{1024, 12289, 50}, 3, 20},  {{2048, 65537, 28}, 4, 10},
    {{1024, 65537, 60}, 6, 5},  {{1024, 786433, 31}, 3, 14}, {{1024, 2, 30}, 3, 7},
    {{1024, 256, 50}, 3, 7},    {{1024, 1000003, 31}, 2, 6}, {{1024, 1000000, 30}, 2, 6},
};

void run(const char* name, std::size_t circuits, const Parameters& p, unsigned depth,
         unsigned threads, bool free_form, test::Random& random) {
  SCOPED_TRACE(p.literal().name);
  const Fleet fleet(test::bgv_pair(p).keys, threads);
  Totals totals;
  for (std::size_t i = 0; i < circuits; ++i) {
    // The least SIMD target is slow: one circuit in eight.
    const std::size_t used = fleet.size() > 2 || i % 8 == 0 ? fleet.size() : 1;
    Circuit circuit(p, fleet, used, random, totals);
    free_form&& i % 3 != 0 ? circuit.free_form() : circuit.rated(depth);
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "circuit " << i;
  }
  report((std::string(name) + ", " + p.literal().name).c_str(), totals);
}

TEST(BgvCircuits, SmallRings) {
  test::Random random;
  for (const SmallSet& set : small_sets) {
    run("small rings", circuits_wanted() * set.share / 100, test::bgv_rated(set.shape, set.depth),
        set.depth, 1, true, random);
    if (HasFatalFailure()) return;
  }
}

void chosen(unsigned depth, std::uint64_t t, std::size_t circuits) {
  test::Random random;
  Requirements r;
  r.depth = depth;
  r.plain_modulus = t;
  run("chosen", circuits, Parameters::choose(r), depth, 2, false, random);
}
TEST(BgvCircuits, Depth1) { chosen(1, 65537, 6); }
TEST(BgvCircuits, Depth5) { chosen(5, 65537, 3); }
TEST(BgvCircuits, Depth12) {
  if (circuits_wanted() < 10'000) GTEST_SKIP() << "slow; set WHORL_TEST_CIRCUITS to 10000 or more";
  chosen(12, 65537, 4);
}
TEST(BgvCircuits, Depth24) {
  if (circuits_wanted() < 10'000) GTEST_SKIP() << "slow; set WHORL_TEST_CIRCUITS to 10000 or more";
  chosen(24, 786433, 2);
}

}  // namespace
}  // namespace whorl::bgv
