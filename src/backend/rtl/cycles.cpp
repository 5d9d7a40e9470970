// The accelerator's cycles for those who design one.
#include <string>

#include "backend/rtl/timing.h"
#include "whorl/error.h"
#include "whorl/rtl.h"

namespace whorl::rtl {

Cycles count_cycles(const Design& design, const Memory& memory, const Run& run,
                    const Interrupt& interrupt) {
  namespace model = backend::rtl;
  const model::Shape shape{
      design.log_N,   design.L,        design.log_Bg,     design.M,        design.pes, design.log_b,
      design.K,       design.mem_bits, design.bk_ports,   design.ksk_bits, run.n,      design.L_ks,
      design.log_Bks, design.ks_lanes, design.bk_buffers, design.ksk_rows};
  constexpr std::uint32_t most = 1u << 20;
  if (run.n == 0) throw ParameterError("n = 0; a ciphertext has at least one coefficient");
  if (run.count == 0 || run.count > most)
    throw ParameterError("count = " + std::to_string(run.count) + " is not in 1 … " +
                         std::to_string(most));
  shape.check();
  // All that reads and writes lies at address 0: only places within bursts count.
  model::Descriptor d;
  d.group = design.M;
  d.n = run.n;
  d.count = run.count;
  d.luts = 1;
  const std::vector<std::uint32_t> index(run.count, 0);
  const model::MemoryTiming behind{memory.latency, memory.bytes_a_cycle, memory.stall,
                                   memory.stall_cycles, memory.seed};
  behind.check();
  model::Timing timing(shape, d, index, behind);
  const model::Counters& counters = timing.counters();
  constexpr std::uint64_t period = 1u << 14;  // cycles, of less than a microsecond each
  while (!timing.advance(period))
    if (interrupt && interrupt())
      throw InterruptedError("stopped after " + std::to_string(counters.cycles) + " cycles");
  Cycles out;
  for (std::size_t c = 0; c < model::Counters::size; ++c)
    out.counters.emplace_back(model::counter_name(c), counters[c]);
  out.multipliers = shape.multipliers();
  out.ks_lanes = design.ks_lanes;
  out.utilisation = static_cast<double>(counters.pe_slots * shape.rows()) /
                    static_cast<double>(counters.cycles * design.pes);
  out.chunk_bytes = shape.chunk_beats() * shape.mem_bytes() * design.bk_ports;
  return out;
}

}  // namespace whorl::rtl
