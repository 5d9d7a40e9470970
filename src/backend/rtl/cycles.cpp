// The accelerator's cycles for those who design one.
#include <string>

#include "backend/rtl/timing.h"
#include "whorl/error.h"
#include "whorl/rtl.h"

namespace whorl::rtl {

Cycles count_cycles(const Core& core, const Memory& memory, const Run& run) {
  namespace model = backend::rtl;
  const model::Shape shape{core.log_N,    core.L,        core.log_Bg,     core.M,
                           core.pes,      core.log_b,    core.K,          core.mem_bits,
                           core.bk_ports, core.ksk_bits, run.n,           core.L_ks,
                           core.log_Bks,  core.ks_lanes, core.bk_buffers, core.ksk_rows};
  constexpr std::uint32_t most = 1u << 20;
  if (run.n == 0) throw ParameterError("n = 0; a ciphertext has at least one coefficient");
  if (run.count == 0 || run.count > most)
    throw ParameterError("count = " + std::to_string(run.count) + " is not in 1 … " +
                         std::to_string(most));
  shape.check();
  // All that reads and writes lies at address 0: only places within bursts count.
  model::Descriptor d;
  d.group = core.M;
  d.n = run.n;
  d.count = run.count;
  d.luts = 1;
  const std::vector<std::uint32_t> index(run.count, 0);
  model::Timing timing(
      shape, d, index,
      {memory.latency, memory.bytes_a_cycle, memory.stall, memory.stall_cycles, memory.seed});
  timing.advance(~0ull);
  const model::Counters& counters = timing.counters();
  Cycles out;
  for (std::size_t c = 0; c < model::Counters::size; ++c)
    out.counters.emplace_back(model::counter_name(c), counters[c]);
  out.multipliers = shape.multipliers();
  out.ks_lanes = core.ks_lanes;
  out.utilisation = static_cast<double>(counters.pe_slots * shape.rows()) /
                    static_cast<double>(counters.cycles * core.pes);
  out.chunk_bytes = shape.chunk_beats() * shape.mem_bytes() * core.bk_ports;
  return out;
}

}  // namespace whorl::rtl
