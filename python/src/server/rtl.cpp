// Cycles of the FPGA accelerator, by its model.
#include "whorl/rtl.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>

#include "common/calls.h"
#include "parts.h"
#include "whorl/error.h"

namespace whorl::python {

namespace {

using Fields = std::map<std::string, std::uint64_t>;

/// Takes fields out of the arguments, if they are there: name, number, name, number, …
template <class Number, class... More>
void take(Fields& from, const char* name, Number& to, More&&... more) {
  if (const auto found = from.extract(name)) {
    to = static_cast<Number>(found.mapped());
    if (to != found.mapped())
      throw ParameterError(std::string(name) + " = " + std::to_string(found.mapped()) +
                           " is too large");
  }
  if constexpr (sizeof...(more) > 0)
    take(from, more...);
  else if (!from.empty())
    throw ParameterError("no field has the name " + from.begin()->first);
}

}  // namespace

void bind_rtl(nb::module_& module) {
  module.def(
      "count_cycles",
      [](Fields design_fields, Fields memory_fields, std::uint32_t n,
         std::uint32_t count) -> Record {
        rtl::Design design;
        take(design_fields, "log_N", design.log_N, "L", design.L, "log_Bg", design.log_Bg, "M",
             design.M, "pes", design.pes, "log_b", design.log_b, "K", design.K, "mem_bits",
             design.mem_bits, "bk_ports", design.bk_ports, "ksk_bits", design.ksk_bits, "L_ks",
             design.L_ks, "log_Bks", design.log_Bks, "ks_lanes", design.ks_lanes, "bk_buffers",
             design.bk_buffers, "ksk_rows", design.ksk_rows);
        rtl::Memory memory;
        take(memory_fields, "latency", memory.latency, "bytes_a_cycle", memory.bytes_a_cycle,
             "stall", memory.stall, "stall_cycles", memory.stall_cycles, "seed", memory.seed);
        const rtl::Cycles cycles = without_gil([&] {
          return rtl::count_cycles(design, memory, {n, count}, &interrupted);
        });
        nb::dict out;
        for (const auto& [name, value] : cycles.counters) out[name.c_str()] = value;
        out["multipliers"] = cycles.multipliers;
        out["utilisation"] = cycles.utilisation;
        out["chunk_bytes"] = cycles.chunk_bytes;
        return out;
      },
      "design"_a, "memory"_a, "n"_a, "count"_a);
}

}  // namespace whorl::python
