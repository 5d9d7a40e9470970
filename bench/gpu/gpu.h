// What the parts of bench_gpu share.
#pragma once

#include "common/bench.h"
#include "common/binfhe.h"
#include "whorl/binfhe.h"

namespace whorl::bench {

struct GpuOptions : Common {
  std::uint64_t most = SIZE_MAX;
  std::vector<std::string> sets;       ///< all if empty
  std::vector<std::uint64_t> batches;  ///< those that a part has by itself if empty
  bool takes(const std::string& set) const {
    return sets.empty() || std::find(sets.begin(), sets.end(), set) != sets.end();
  }
  /// Those asked for, or a part's own: of several devices only those that all of them share.
  std::vector<std::size_t> batches_of(const std::vector<std::size_t>& own) const {
    std::vector<std::size_t> out(batches.begin(), batches.end());
    if (batches.empty()) out = own;
    std::erase_if(out, [&](std::size_t batch) {
      return batch > most || (batches.empty() && !one_device() && batch < 16384);
    });
    return out;
  }
  bool one_device() const {
    return device.find(',') == std::string::npos && device.find("all") == std::string::npos;
  }
  /// Sets of others are measured as they are, whatever their probability of failure.
  binfhe::Server server(
      const binfhe::EvaluationKeys& keys, binfhe::Transform transform,
      binfhe::RotationSchedule rotation = binfhe::RotationSchedule::automatic) const {
    return binfhe::Server(keys, {device},
                          {.transform = transform, .rotation = rotation, .allow_failure = 1});
  }
};

inline Effort effort_of(const Common& options) {
  return {.fewest = options.quick ? 2u : 5u,
          .most = options.quick ? 5u : 50u,
          .seconds = options.quick ? 0.1 : 0.6,
          .slow = options.quick ? 2 : 1e30};
}
inline Times timed(const Common& options, const std::function<void()>& run) {
  return measure(effort_of(options), {.run = run});
}

/// A set by its name; "NAME binary" is the same with binary LWE keys. Those under 128 bits, too.
binfhe::Parameters parameters_of(const std::string& set);
/// Batches of encrypted messages: a few thousand, repeated, since encryption is not measured.
binfhe::Ciphertexts batch_of(const binfhe::Client& client, std::size_t count,
                             binfhe::Encoding encoding);

/// Prints a record, too.
class Report {
 public:
  explicit Report(const Common& options) : records_("gpu", options, machine_of(options.device)) {}
  void add(const Record& record) const {
    std::printf("%-9s %-20s %6zu  %-8s %12s %s\n", record.op.c_str(), record.params.c_str(),
                record.batch, record.transfers ? "included" : "excluded",
                number(record.median.value_or(0)).c_str(), record.unit.c_str());
    std::fflush(stdout);
    records_.add(record);
  }
  /// Once with transfers, beside the peer; once on a batch that is on the device and stays there.
  /// The second is left out where there was one slow run: transfers are no part of it that shows.
  void add_both(Record& record, const GpuOptions& options, const binfhe::Server& server,
                const std::function<void()>& included,
                const std::function<void()>& resident) const {
    const Times times = timed(options, included);
    add_included(record, times);
    if (times.least() > effort_of(options).slow) return;
    record.transfers = false;
    record.peer = {};
    set(record, timed(options, [&] {
          resident();
          server.synchronise();
        }));
    add(record);
  }
  void add_included(Record& record, const Times& times) const {
    record.transfers = true;
    set(record, times);
    add(record);
  }

 private:
  static void set(Record& record, const Times& times) {
    record.set(times, static_cast<double>(record.batch));
  }
  Records records_;
};

/// Keys are made once a set.
struct Keys {
  explicit Keys(const binfhe::Parameters& parameters)
      : client(parameters), evaluation(client.evaluation_keys()) {}
  binfhe::Client client;
  binfhe::EvaluationKeys evaluation;
};

void measure_gates(const GpuOptions& options, const Report& report);
void measure_tables(const GpuOptions& options, const Report& report);
void measure_large_precision(const GpuOptions& options, const Report& report);
/// Matrices times ciphertexts, which stay on the device.
void measure_products(const GpuOptions& options, const Report& report);
/// Schedules of blind rotations.
void measure_schedules(const GpuOptions& options, const Report& report);
void measure_ntts(const GpuOptions& options, const Report& report);

}  // namespace whorl::bench
