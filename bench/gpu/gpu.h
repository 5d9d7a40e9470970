// What the parts of bench_gpu share.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "common/binfhe.h"
#include "common/command_line.h"
#include "common/devices.h"
#include "common/records.h"
#include "whorl/binfhe.h"

namespace whorl::bench {

struct GpuOptions : Common {
  std::uint64_t most = SIZE_MAX;
  bool one_device() const {
    return device.find(',') == std::string::npos && device.find("all") == std::string::npos;
  }
  binfhe::ServerOptions server(binfhe::Transform transform) const {
    binfhe::ServerOptions out;
    out.device = device;
    out.transform = transform;
    out.allow_failure = 1;  // sets of others are measured as they are
    return out;
  }
};

inline Effort effort_of(const Common& options) {
  return {.fewest = options.quick ? 2u : 5u,
          .most = options.quick ? 5u : 50u,
          .seconds = options.quick ? 0.1 : 0.6};
}
inline Times timed(const Common& options, const std::function<void()>& run) {
  return measure(effort_of(options), {.run = run});
}

/// Of a batch that is on the device and stays there.
template <class Work>
Times resident(const GpuOptions& options, const binfhe::Server& server, const Work& work) {
  return timed(options, [&] {
    work();
    server.synchronise();
  });
}
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
  /// Once with transfers, beside the peer; once without.
  void add_both(Record& record, const Times& included, const Times& excluded) const {
    add_included(record, included);
    record.transfers = false;
    record.peer = {};
    set(record, excluded);
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
void measure_methods(const GpuOptions& options, const Report& report);
void measure_tables(const GpuOptions& options, const Report& report);
void measure_large_precision(const GpuOptions& options, const Report& report);
/// Ways to spread blind rotations.
void measure_ways(const GpuOptions& options, const Report& report);
void measure_ntts(const GpuOptions& options, const Report& report);

}  // namespace whorl::bench
