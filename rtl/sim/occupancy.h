// How busy every unit of a simulated core is: cycles in which it had work, over bins of time, in a file of comma-separated
// values. A row is a bin: its first cycle since the core was made, its length, and for each unit the busy cycles.
// Signals are those of observed.vlt. Those within a PE are of the first, which has a ciphertext in every slot.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "verilated.h"
#include "verilated_syms.h"

class Occupancy {
 public:
  /// `path`: of the file; empty: sample() only counts slots. `bin`: cycles.
  Occupancy(const VerilatedContext& context, const std::string& path, std::uint64_t bin) : bin_(bin) {
    for (std::size_t u = 0; u < units.size(); ++u) {
      const Unit& unit = units[u];
      data_[u] = signal(context, unit.scope, unit.signal);
      if (unit.only) only_[u] = signal(context, unit.scope, unit.only);
    }
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "w");
    if (!file_) throw std::runtime_error("cannot write " + path);
    std::fputs("cycle,cycles", file_);
    for (const Unit& unit : units) std::fprintf(file_, ",%s", unit.name);
    std::fputc('\n', file_);
  }
  Occupancy(const Occupancy&) = delete;
  Occupancy& operator=(const Occupancy&) = delete;
  ~Occupancy() {
    if (!file_) return;
    if (cycle_ % bin_ != 0) write(cycle_ % bin_);
    std::fclose(file_);
  }

  /// Once a cycle, before the clock's edge, when all is settled.
  void sample() {
    slots_ += *data_[slot_begins] & 1;
    if (!file_) return;
    for (std::size_t u = 0; u < units.size(); ++u) {
      const unsigned now = u == key_beats ? static_cast<unsigned>(__builtin_popcount(*data_[u])) : *data_[u] & 1u;
      busy_[u] += only_[u] ? now & *only_[u] : now;
    }
    if (++cycle_ % bin_ == 0) write(bin_);
  }
  /// Slots that began since the core was made.
  std::uint64_t slots() const { return slots_; }

 private:
  struct Unit {
    const char *name, *scope, *signal;
    const char* only;  ///< it counts in cycles in which this signal is 1, too
  };
  static constexpr std::size_t key_beats = 1, slot_begins = 4;
  static constexpr const char *core = "TOP.whorl_core", *pe = "TOP.whorl_core.g_pe[0].element",
                              *acc = "TOP.whorl_core.g_pe[0].element.acc",
                              *forward = "TOP.whorl_core.g_pe[0].element.g_forward[0].forward",
                              *backward = "TOP.whorl_core.g_pe[0].element.g_back[0].backward";
  static constexpr std::array<Unit, 17> units = {{
      {"runs", core, "runs", nullptr},
      {"key_beats", core, "bk_beat", nullptr},  // of all ports
      {"io_read", core, "io_beat", nullptr},
      {"acc_read", core, "read_valid", nullptr},
      {"slots", core, "slot_begins", nullptr},
      {"transform", forward, "out_valid", nullptr},
      {"bundle", pe, "bundle_valid", nullptr},
      {"mac", pe, "mac_valid", nullptr},
      {"inverse", backward, "out_valid", nullptr},
      {"acc_write", acc, "write_valid", nullptr},
      {"wait_key", core, "waits_for_key", nullptr},
      {"wait_acc", core, "waits_for_accumulator", nullptr},
      {"wait_load", core, "waits_for_batch", nullptr},
      {"drain", core, "sample_valid", "sample_ready"},
      {"ksk_beats", core, "ksk_beat", nullptr},
      {"key_switch", core, "ks_busy", nullptr},
      {"io_write", core, "io_write_beat", nullptr},
  }};

  static const std::uint8_t* signal(const VerilatedContext& context, const char* in, const char* name) {
    const VerilatedScope* const scope = context.scopeFind(in);
    const VerilatedVar* const var = scope ? scope->varFind(name) : nullptr;
    if (!var || var->vltype() != VLVT_UINT8)
      throw std::runtime_error(std::string(in) + "." + name + " is not in the core");
    return static_cast<const std::uint8_t*>(var->datap());
  }
  void write(std::uint64_t cycles) {
    std::fprintf(file_, "%llu,%llu", static_cast<unsigned long long>(cycle_ - cycles),
                 static_cast<unsigned long long>(cycles));
    for (std::uint64_t& busy : busy_) {
      std::fprintf(file_, ",%llu", static_cast<unsigned long long>(busy));
      busy = 0;
    }
    std::fputc('\n', file_);
  }

  std::uint64_t bin_, cycle_ = 0, slots_ = 0;
  std::FILE* file_ = nullptr;
  std::array<const std::uint8_t*, units.size()> data_{}, only_{};
  std::array<std::uint64_t, units.size()> busy_{};
};
