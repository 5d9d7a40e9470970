// The FPGA accelerator (rtl/) before it is built: cycles of its runs, counted by its model.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "whorl/common.h"

namespace whorl::rtl {

/// The parameters of a core, with their ranges: rtl/README.md, section 2.
struct Design {
  std::uint32_t log_N = 10, L = 2, log_Bg = 10, M = 2, pes = 1, log_b = 0, K = 3;
  std::uint32_t mem_bits = 512, bk_ports = 1, ksk_bits = 512;
  std::uint32_t L_ks = 8, log_Bks = 2, ks_lanes = 512, bk_buffers = 4, ksk_rows = 2;
};

/// The memory behind all ports together.
struct Memory {
  std::uint32_t latency = 40;  ///< cycles from a burst's address to its first beat
  /// All ports together may move so many bytes a cycle; more than 4,096 count as 4,096. 0 stands
  /// for as many as the ports take.
  std::uint32_t bytes_a_cycle = 0;
  std::uint32_t stall = 0;         ///< of 256 beats, how many come late: 0 … 256
  std::uint32_t stall_cycles = 1;  ///< how much later
  std::uint64_t seed = 1;          ///< of which beats these are
};

/// A run of whole bootstraps, all with one test vector.
struct Run {
  std::uint32_t n = 500;    ///< LWE dimension, 1 … 65,535
  std::uint32_t count = 1;  ///< ciphertexts, 1 … 2^20
};

struct Cycles {
  /// The core's counters by name, rtl/README.md section 6.
  std::vector<std::pair<std::string, std::uint64_t>> counters;
  /// Modular multipliers in the PEs, and lanes of key switching.
  std::uint64_t multipliers = 0, ks_lanes = 0;
  /// The part of the multipliers' cycles in which they had a product.
  double utilisation = 0;
  std::uint64_t chunk_bytes = 0;  ///< of a step's part of the bootstrapping key
};

/// The counters of the run. ParameterError for a design that cannot be, and for n, a count, or a
/// memory's `stall` out of their ranges; InterruptedError.
Cycles count_cycles(const Design& design, const Memory& memory, const Run& run,
                    const Interrupt& interrupt = {});

}  // namespace whorl::rtl
