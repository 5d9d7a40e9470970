// The waveform of a simulated core, as a VCD file: a window that begins with a slot. One unit of time is a picosecond; the
// clock has the 180 MHz of the paper. Without WAVES nothing is recorded.
#pragma once

#include <cstdint>
#include <string>

#include "Vwhorl_core.h"
#ifdef WAVES
#include "verilated_vcd_c.h"
#endif

class Waves {
 public:
  /// From slot `from` on, counted from 1; 0: from the beginning. `cycles`: 0: to the end.
  Waves(VerilatedContext& context, Vwhorl_core& top, std::string path, std::uint64_t from, std::uint64_t cycles)
      : path_(std::move(path)), from_(from), left_(cycles == 0 ? ~std::uint64_t{0} : 2 * cycles) {
#ifdef WAVES
    context.traceEverOn(true);
    top.trace(&file_, 99);
#else
    static_cast<void>(context);
    static_cast<void>(top);
#endif
  }

  /// Twice a cycle, after each half. `slots`: how many have begun.
  void dump(std::uint64_t slots) {
#ifdef WAVES
    if (left_ > 0 && slots >= from_) {
      if (!file_.isOpen()) file_.open(path_.c_str());
      file_.dump(half_ * 25000 / 9);
      if (--left_ == 0) file_.close();
    }
#else
    static_cast<void>(slots);
#endif
    ++half_;
  }

 private:
  std::string path_;
  std::uint64_t from_, left_, half_ = 0;
#ifdef WAVES
  VerilatedVcdC file_;
#endif
};
