// Options of benches of servers, and what they record beside times.
#pragma once

#include "common/bench.h"
#include "common/energy.h"
#include "common/kernel_records.h"

namespace whorl::bench {

struct ServerOptions : Common {
  unsigned threads = 1;
  std::uint64_t batch = 1;
  Clock clock() const { return device == "cpu" && threads == 1 ? Clock::cpu : Clock::wall; }
  /// "clock" of records.
  std::string clock_name() const { return clock() == Clock::cpu ? "cpu" : "wall"; }
  CommandLine& declare(CommandLine& line) {
    line.device(*this).record(*this).only(*this).quick(*this);
    return line.add("--threads", threads, "of the host")
        .add("--batch", batch, "ciphertexts of an operation");
  }
};

struct CkksOptions : ServerOptions {
  explicit CkksOptions(unsigned levels) : depth(levels) {}
  unsigned depth, scale_bits = 40, dnum = 4, energy = 0;
  std::string set;
  bool kernels = false;
  CommandLine& declare(CommandLine& line) {
    return ServerOptions::declare(line)
        .add("--depth", depth, "levels above level 0, or between bootstraps")
        .add("--scale-bits", scale_bits, "log2 of the scale")
        .add("--dnum", dnum, "digits of key switching, at least")
        .add("--set", set, "a named set, in place of what is chosen")
        .flag("--kernels", kernels, "record the kernels of each operation")
        .add("--energy", energy, "seconds of each operation whose energy is measured");
  }
  /// The kernels of a call and its energy, where they are asked for.
  void add_watched(const Records& records, const std::function<Record(const std::string&)>& blank,
                   const std::string& op, const std::function<void()>& call,
                   const std::function<void()>& wait) const {
    if (kernels) add_kernels(records, blank(op + "_kernel"), call, wait);
    if (energy > 0) add_energy(records, blank(op + "_energy"), device, energy, call, wait);
  }
};

}  // namespace whorl::bench
