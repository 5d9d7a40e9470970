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
      [](Fields design_fields, Fields memory_fields, std::uint32_t n, std::uint32_t count) {
        rtl::Design design;
        take(design_fields, "log_N", design.log_N);
        take(design_fields, "L", design.L);
        take(design_fields, "log_Bg", design.log_Bg);
        take(design_fields, "M", design.M);
        take(design_fields, "pes", design.pes);
        take(design_fields, "log_b", design.log_b);
        take(design_fields, "K", design.K);
        take(design_fields, "mem_bits", design.mem_bits);
        take(design_fields, "bk_ports", design.bk_ports);
        take(design_fields, "ksk_bits", design.ksk_bits);
        take(design_fields, "L_ks", design.L_ks);
        take(design_fields, "log_Bks", design.log_Bks);
        take(design_fields, "ks_lanes", design.ks_lanes);
        take(design_fields, "bk_buffers", design.bk_buffers);
        take(design_fields, "ksk_rows", design.ksk_rows);
        expect_none(design_fields);
        rtl::Memory memory;
        take(memory_fields, "latency", memory.latency);
        take(memory_fields, "bytes_a_cycle", memory.bytes_a_cycle);
        take(memory_fields, "stall", memory.stall);
        take(memory_fields, "stall_cycles", memory.stall_cycles);
        take(memory_fields, "seed", memory.seed);
        expect_none(memory_fields);
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
