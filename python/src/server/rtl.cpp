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

/// Takes a field out of the arguments, if it is there.
template <class Number>
void take(Fields& from, const char* name, Number& to) {
  const auto found = from.find(name);
  if (found == from.end()) return;
  to = static_cast<Number>(found->second);
  if (to != found->second)
    throw ParameterError(std::string(name) + " = " + std::to_string(found->second) +
                         " is too large");
  from.erase(found);
}
void expect_none(const Fields& left) {
  if (!left.empty()) throw ParameterError("no field has the name " + left.begin()->first);
}

}  // namespace

void bind_rtl(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "count_cycles",
      [](Fields core_fields, Fields memory_fields, std::uint32_t n, std::uint32_t count) {
        rtl::Core core;
        take(core_fields, "log_N", core.log_N);
        take(core_fields, "L", core.L);
        take(core_fields, "log_Bg", core.log_Bg);
        take(core_fields, "M", core.M);
        take(core_fields, "pes", core.pes);
        take(core_fields, "log_b", core.log_b);
        take(core_fields, "K", core.K);
        take(core_fields, "mem_bits", core.mem_bits);
        take(core_fields, "bk_ports", core.bk_ports);
        take(core_fields, "ksk_bits", core.ksk_bits);
        take(core_fields, "L_ks", core.L_ks);
        take(core_fields, "log_Bks", core.log_Bks);
        take(core_fields, "ks_lanes", core.ks_lanes);
        take(core_fields, "bk_buffers", core.bk_buffers);
        take(core_fields, "ksk_rows", core.ksk_rows);
        expect_none(core_fields);
        rtl::Memory memory;
        take(memory_fields, "latency", memory.latency);
        take(memory_fields, "bytes_a_cycle", memory.bytes_a_cycle);
        take(memory_fields, "stall", memory.stall);
        take(memory_fields, "stall_cycles", memory.stall_cycles);
        take(memory_fields, "seed", memory.seed);
        expect_none(memory_fields);
        const rtl::Cycles cycles = without_gil([&] {
          return rtl::count_cycles(core, memory, {n, count});
        });
        nb::dict out;
        for (const auto& [name, value] : cycles.counters) out[name.c_str()] = value;
        out["multipliers"] = cycles.multipliers;
        out["utilisation"] = cycles.utilisation;
        out["chunk_bytes"] = cycles.chunk_bytes;
        return out;
      },
      "core"_a, "memory"_a, "n"_a, "count"_a);
}

}  // namespace whorl::python
