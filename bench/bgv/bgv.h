// What the parts of bench_bgv share: configurations, how times are taken, how records look.
#pragma once

#include "common/server.h"
#include "whorl/bgv.h"

namespace whorl::bench {

struct BgvOptions : ServerOptions {
  unsigned depth = 0;
  bool worker = false;
  SessionOptions server() const { return {device, threads, {}}; }
};

struct Configuration {
  unsigned depth;
  std::uint64_t t;
  std::uint32_t N;
};
bgv::Parameters choose(const Configuration& configuration);
/// "depth=5, t=65537, N=16384, limbs 9+3, dnum 3".
std::string in_words(const bgv::Parameters& parameters);

/// A record of `times`; those of the host alone, and those of data that is copied, say so.
class BgvRecords {
 public:
  explicit BgvRecords(const BgvOptions& options);
  /// `record`: with op, batch and members of its own.
  void add(const bgv::Parameters& parameters, Record record, const Times& times,
           bool waited = true) const;

 private:
  Records records_;
  std::string clock_;
};

/// A client, a server and two batches, one in the host's memory and one on the device.
class BgvOperations {
 public:
  BgvOperations(const BgvOptions& options, const Configuration& configuration);
  BgvOperations(const BgvOperations&) = delete;
  BgvOperations& operator=(const BgvOperations&) = delete;
  ~BgvOperations();

  void run(const BgvRecords& records) const;
  /// Answers lines "OP RUNS" of stdin with the CPU time of one call.
  void work() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a server of many rotations takes of the device's memory.
void measure_memory(const BgvOptions& options, const Configuration& configuration,
                    const BgvRecords& records);

/// OpenFHE's simple-integers-bgvrns, from nothing to its results; a record for each of its steps.
void measure_example(const BgvOptions& options, const Configuration& configuration,
                     const BgvRecords& records);

}  // namespace whorl::bench
