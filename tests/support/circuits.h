// What runs of random circuits share: how many there are, which part of them a process runs, the
// servers that take part, and the line that says what was found.
//
// WHORL_TEST_CIRCUITS=<number>: how many circuits are run in all. WHORL_TEST_SHARD=3/16: of those,
// this process runs the third of sixteen parts, with random numbers of its own. Sixteen processes
// with 1/16 … 16/16 run all circuits, each once (tools/circuits.sh). WHORL_TEST_SEED=<number>, with
// the shard and the number of circuits, repeats a run; keys and encryptions are fresh all the same.
#pragma once

#include <ctime>
#include <deque>

#include "support/test.h"

namespace whorl::test {

/// The environment's number, or else so many: with GPUs, where every device runs every circuit.
inline std::size_t circuits_wanted(std::size_t on_cpu, std::size_t with_gpus) {
  const char* given = std::getenv("WHORL_TEST_CIRCUITS");
  return given ? std::strtoull(given, nullptr, 10) : usable_gpus().empty() ? on_cpu : with_gpus;
}

/// Which part of all circuits this process runs.
struct Shard {
  std::size_t number = 1, count = 1;

  static Shard chosen() {
    Shard shard;
    const char* const given = std::getenv("WHORL_TEST_SHARD");
    if (!given) return shard;
    char rest = 0;
    if (std::sscanf(given, "%zu/%zu%c", &shard.number, &shard.count, &rest) != 2 ||
        shard.number < 1 || shard.number > shard.count)
      throw std::invalid_argument(std::string("WHORL_TEST_SHARD is ") + given + ", not like 3/16");
    return shard;
  }
  std::string text() const { return std::to_string(number) + "/" + std::to_string(count); }
  /// A shard's part of `total` circuits: those from begin up to end. What does not divide evenly
  /// goes to other shards in each set.
  struct Part {
    std::size_t begin, end;
  };
  Part part(std::size_t total, std::size_t set) const {
    const std::size_t at = (number - 1 + 5 * set) % count;
    return {total * at / count, total * (at + 1) / count};
  }
  /// Random numbers of this process, for a set of parameters.
  Random random(std::uint64_t seed, std::size_t set) const {
    return Random(seed, set * count + number);
  }
};

/// One server for each device that is present, the CPU's first, and one of all GPUs together. More
/// of the CPU take part in some circuits: one of the least SIMD target, if it is wanted, but in
/// rings of 2^16, where a circuit takes it eight minutes, and one of two threads, which wait for
/// one another wherever else something runs.
template <class Server, class SessionOptions, class EvaluationKeys>
class CircuitServers {
 public:
  CircuitServers(const EvaluationKeys& keys, unsigned threads, bool least_target) : keys_(keys) {
    const bool least = least_target && keys.parameters.N() < 1u << 16;
    members_.push_back({"cpu", threads, 1, {}, {}});
    const std::vector<std::string> gpus = usable_gpus();
    for (const std::string& gpu : gpus) members_.push_back({gpu, 1, 1, {}, {}});
    if (gpus.size() > 1) members_.push_back({"cuda:all", 1, 1, {}, {}});
    if (const auto targets = hwy::SupportedAndGeneratedTargets(); least && targets.size() > 1)
      members_.push_back({"cpu", 1, 16, targets.back(), {}});
    members_.push_back({"cpu", 2, 64, {}, {}});
  }

  struct Member {
    std::string device;
    unsigned threads;
    std::size_t every;  ///< how many circuits it takes part in one of
    std::optional<std::int64_t> target;
    std::unique_ptr<Server> server;  ///< made when it first takes part

    /// body(), seeing the SIMD target of that server.
    template <class Body>
    auto on_target(const Body& body) const {
      std::optional<TargetGuard> guard;
      if (target) guard.emplace(*target);
      return body();
    }
    template <class Body>
    auto with(const Body& body) const {
      return on_target([&] { return body(*server); });
    }
  };
  using Crew = std::vector<const Member*>;

  Crew crew(std::size_t circuit) {
    Crew out;
    for (Member& m : members_) {
      if (circuit % m.every != 0) continue;
      if (!m.server)
        m.server = m.on_target([&] {
          return std::make_unique<Server>(keys_, SessionOptions{m.device, m.threads, {}});
        });
      out.push_back(&m);
    }
    return out;
  }

 private:
  const EvaluationKeys& keys_;
  std::vector<Member> members_;
};

/// What circuits have shown. The tests of a scheme say when a value is wrong and what is bounded.
struct CircuitTotals {
  std::size_t circuits = 0, deep = 0, operations = 0, dropped = 0;
  std::size_t wrong = 0, differing = 0, over_bound = 0;
  double least_slack = 1e9, cpu_seconds = 0;

  void add(const CircuitTotals& more) {
    circuits += more.circuits;
    deep += more.deep;
    operations += more.operations;
    dropped += more.dropped;
    wrong += more.wrong;
    differing += more.differing;
    over_bound += more.over_bound;
    least_slack = std::min(least_slack, more.least_slack);
    cpu_seconds += more.cpu_seconds;
  }
  std::string text() const {
    const auto field = [](const char* name, std::size_t value) {
      return std::string(name) + "=" + std::to_string(value) + " ";
    };
    char rest[64];
    std::snprintf(rest, sizeof(rest), "least_slack=%.1f cpu_seconds=%.1f", least_slack,
                  cpu_seconds);
    return field("circuits", circuits) + field("deep", deep) + field("operations", operations) +
           field("dropped", dropped) + field("wrong", wrong) + field("differing", differing) +
           field("over_bound", over_bound) + rest;
  }
};

/// What the first of `servers` has, download(0), and all others must have: the same bits, and what
/// same_info(other, first) expects.
template <class Download, class SameInfo>
auto same_on_all(std::size_t servers, const Download& download, const SameInfo& same_info,
                 const char* what, CircuitTotals& totals) {
  auto first = download(0);
  for (std::size_t k = 1; k < servers; ++k) {
    const auto other = download(k);
    const bool same = other.data.bytes() == first.data.bytes() &&
                      std::memcmp(other.data.data(), first.data.data(), first.data.bytes()) == 0;
    totals.differing += same ? 0u : 1u;
    EXPECT_TRUE(same) << what << ": device " << k << " differs from the first";
    same_info(other.info, first.info);
  }
  return first;
}

/// What this process has run of a scheme; its line comes at the end, however that is:
///
///   NAME-CIRCUITS shard=3/16 seed=… devices=cpu+cuda:0 circuits=… … seconds=…
class CircuitReport : public ::testing::Environment {
 public:
  /// It lives for the rest of the process. GoogleTest owns it.
  static CircuitReport& of(const char* name) {
    return *static_cast<CircuitReport*>(
        ::testing::AddGlobalTestEnvironment(new CircuitReport(name)));
  }

  std::uint64_t seed() const { return seed_; }
  CircuitTotals& next_set() { return sets_.emplace_back(); }

  void TearDown() override {
    CircuitTotals totals;
    for (const CircuitTotals& set : sets_) totals.add(set);
    if (totals.circuits == 0) return;
    std::string devices = "cpu";
    const std::vector<std::string> gpus = usable_gpus();
    for (const std::string& gpu : gpus) devices += "+" + gpu;
    if (gpus.size() > 1) devices += "+cuda:all";
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    std::printf("%s-CIRCUITS shard=%s seed=%llu devices=%s %s seconds=%.1f\n", name_,
                Shard::chosen().text().c_str(), static_cast<unsigned long long>(seed_),
                devices.c_str(), totals.text().c_str(), seconds);
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  explicit CircuitReport(const char* name) : name_(name) {}

  const char* name_;
  const Clock::time_point start_ = Clock::now();
  const std::uint64_t seed_ = Random::chosen_seed();
  std::deque<CircuitTotals> sets_;
};

/// CPU time of all threads of this process, in seconds.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace whorl::test
