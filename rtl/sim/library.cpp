// The core as a shared library: whorl_core in Verilator with memories behind its ports, under the interface of
// src/backend/rtl/core_abi.h. The memories answer as src/backend/rtl/memory_timing.h says, so that the library's model of
// the core counts the same cycles. The shape comes from the makefile as SHAPE_WORDS.
// What it shows of a run besides is named by the environment when a core is made:
//   WHORL_RTL_OCCUPANCY        file of occupancy.h; WHORL_RTL_OCCUPANCY_BIN: cycles of its bins, 64 by default
//   WHORL_RTL_WAVES            file of the waveform, if the library has been built with WAVES; by default whorl_core.vcd
//   WHORL_RTL_WAVES_SLOT       the waveform begins with this slot; 0, the default: with the core
//   WHORL_RTL_WAVES_CYCLES     its length; 0, the default: all
#include "backend/rtl/core_abi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vwhorl_core.h"
#include "backend/rtl/memory_timing.h"
#include "bench.h"
#include "occupancy.h"
#include "waves.h"

namespace {

namespace rtl = whorl::backend::rtl;
using bench::get;
using bench::put;

constexpr std::uint32_t shape[] = {SHAPE_WORDS};
static_assert(sizeof shape == 4 * WHORL_RTL_SHAPE_WORDS);
constexpr unsigned mem_bits = shape[7], ports = shape[8], ksk_bits = shape[9];
constexpr std::uint32_t status = 0x00C, control = 0x008, irq_enable = 0x014;

using Bytes = std::vector<std::uint8_t>;

template <std::size_t words>
std::uint32_t* words_of(VlWide<words>& port) {
  return port.data();
}
template <class Port>
  requires std::is_integral_v<Port>
std::uint32_t* words_of(Port& port) {
  return reinterpret_cast<std::uint32_t*>(&port);
}

std::string text_of(const char* variable, const char* otherwise) {
  const char* const value = std::getenv(variable);
  return value && *value ? value : otherwise;
}
std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const std::string text = text_of(variable, "");
  return text.empty() ? otherwise : std::stoull(text);
}

/// Bytes of a beat for a port's data; false past the memory's end.
bool copy_beat(const Bytes& memory, std::uint64_t address, std::uint32_t* to, unsigned bytes) {
  const bool inside = address <= memory.size() && bytes <= memory.size() - address;
  if (inside)
    std::memcpy(to, memory.data() + address, bytes);
  else
    std::memset(to, 0, bytes);
  return inside;
}

}  // namespace

struct whorl_rtl_core {
  VerilatedContext context;
  Vwhorl_core top{&context};
  std::vector<Bytes> memory{rtl::port_count};
  rtl::MemoryTiming timing;
  rtl::Budget budget;
  std::vector<rtl::ReadTiming> bk;
  std::unique_ptr<rtl::ReadTiming> ksk, io;
  std::unique_ptr<rtl::WriteTiming> answers;
  std::deque<std::uint64_t> writes;  ///< where beats go
  bool write_failed = false;
  Occupancy occupancy{context, text_of("WHORL_RTL_OCCUPANCY", ""), number_of("WHORL_RTL_OCCUPANCY_BIN", 64)};
  Waves waves{context, top, text_of("WHORL_RTL_WAVES", "whorl_core.vcd"), number_of("WHORL_RTL_WAVES_SLOT", 0),
              number_of("WHORL_RTL_WAVES_CYCLES", 0)};

  std::string error;  ///< of the simulation, not of the run; nothing runs after one

  whorl_rtl_core() {
    context.fatalOnError(false);  // an assertion that fails must not end the process
    restart_memory();
    top.s_axil_awvalid = top.s_axil_wvalid = top.s_axil_arvalid = 0;
    top.s_axil_bready = top.s_axil_rready = 1;
    top.s_axil_wstrb = 15;
    top.s_axil_awprot = top.s_axil_arprot = 0;
    top.aresetn = 0;
    for (int i = 0; i < 4; ++i) cycle();
    top.aresetn = 1;
    restart_memory();
    write(irq_enable, 1);
  }
  ~whorl_rtl_core() { top.final(); }

  void restart_memory() {
    budget = rtl::Budget(timing.bytes_a_cycle);
    bk.clear();
    for (unsigned s = 0; s < ports; ++s) bk.emplace_back(timing, rtl::bk_port + s, mem_bits / 8);
    ksk = std::make_unique<rtl::ReadTiming>(timing, rtl::ksk_port, ksk_bits / 8);
    io = std::make_unique<rtl::ReadTiming>(timing, rtl::io_port, mem_bits / 8);
    answers = std::make_unique<rtl::WriteTiming>(timing, rtl::io_port, mem_bits / 8);
    writes.clear();
    write_failed = false;
  }

  void cycle() {
    const bool live = top.aresetn;
    budget.in_turns(ports + 3, [&](unsigned k) {
      if (k < ports)
        bk[k].look(budget);
      else if (k == ports)
        ksk->look(budget);
      else if (k == ports + 1)
        io->look(budget);
      else
        answers->look(live && top.m_axi_io_wvalid, budget);
    });
    for (unsigned s = 0; s < ports; ++s) {
      const bool valid = bk[s].rvalid();
      put(top.m_axi_bk_arready, s, 1, bk[s].arready());
      put(top.m_axi_bk_rvalid, s, 1, valid);
      const bool ok = !valid || copy_beat(memory[s], bk[s].address() + bk[s].beat() * (mem_bits / 8),
                                          words_of(top.m_axi_bk_rdata) + s * mem_bits / 32, mem_bits / 8);
      put(top.m_axi_bk_rresp, 2 * s, 2, ok ? 0 : 2);
      put(top.m_axi_bk_rlast, s, 1, 0);
    }
    top.m_axi_ksk_rvalid = ksk->rvalid();
    top.m_axi_ksk_arready = ksk->arready();
    top.m_axi_ksk_rresp = 0;
    if (top.m_axi_ksk_rvalid && !copy_beat(memory[rtl::ksk_port], ksk->address() + ksk->beat() * (ksk_bits / 8),
                                           words_of(top.m_axi_ksk_rdata), ksk_bits / 8))
      top.m_axi_ksk_rresp = 2;
    top.m_axi_io_rvalid = io->rvalid();
    top.m_axi_io_arready = io->arready();
    top.m_axi_io_rresp = 0;
    if (top.m_axi_io_rvalid && !copy_beat(memory[rtl::io_port], io->address() + io->beat() * (mem_bits / 8),
                                          words_of(top.m_axi_io_rdata), mem_bits / 8))
      top.m_axi_io_rresp = 2;
    const bool wready = answers->wready();
    top.m_axi_io_awready = answers->awready();
    top.m_axi_io_wready = wready;
    top.m_axi_io_bvalid = answers->bvalid();
    top.m_axi_io_bresp = write_failed ? 2 : 0;
    top.aclk = 0;
    top.eval();
    occupancy.sample();
    waves.dump(occupancy.slots());

    // What the core holds up in this cycle.
    const bool aw = live && top.m_axi_io_awvalid, w = live && top.m_axi_io_wvalid, last = top.m_axi_io_wlast;
    if (aw && top.m_axi_io_awready)
      for (unsigned k = 0; k <= top.m_axi_io_awlen; ++k) writes.push_back(top.m_axi_io_awaddr + k * (mem_bits / 8));
    if (w && wready) {
      beats_.emplace_back(mem_bits / 8);
      std::memcpy(beats_.back().data(), words_of(top.m_axi_io_wdata), mem_bits / 8);
    }
    while (!writes.empty() && !beats_.empty()) {
      Bytes& to = memory[rtl::io_port];
      const bool inside = writes.front() + mem_bits / 8 <= to.size();
      if (inside) std::memcpy(to.data() + writes.front(), beats_.front().data(), mem_bits / 8);
      write_failed = write_failed || !inside;
      writes.pop_front();
      beats_.pop_front();
    }
    asks_.clear();
    for (unsigned s = 0; s < ports; ++s)
      asks_.push_back({live && get(top.m_axi_bk_arvalid, s, 1) != 0, get(top.m_axi_bk_araddr, 64 * s, 64),
                      static_cast<unsigned>(get(top.m_axi_bk_arlen, 8 * s, 8)) + 1});
    const Ask of_ksk{live && top.m_axi_ksk_arvalid, top.m_axi_ksk_araddr, top.m_axi_ksk_arlen + 1u};
    const Ask of_io{live && top.m_axi_io_arvalid, top.m_axi_io_araddr, top.m_axi_io_arlen + 1u};
    top.aclk = 1;
    top.eval();
    waves.dump(occupancy.slots());
    for (unsigned s = 0; s < ports; ++s) bk[s].end(asks_[s].valid, asks_[s].address, asks_[s].beats);
    ksk->end(of_ksk.valid, of_ksk.address, of_ksk.beats);
    io->end(of_io.valid, of_io.address, of_io.beats);
    answers->end(aw, w, last);
  }

  void write(std::uint32_t address, std::uint32_t value) {
    if (address == control && (value & 1) && !(read(status) & 1)) restart_memory();
    top.s_axil_awvalid = top.s_axil_wvalid = 1;
    top.s_axil_awaddr = static_cast<SData>(address);
    top.s_axil_wdata = value;
    // Nothing waits in between: both are taken in the first cycle.
    cycle();
    top.s_axil_awvalid = top.s_axil_wvalid = 0;
    for (int i = 0; i < 3; ++i) cycle();
  }
  std::uint32_t read(std::uint32_t address) {
    top.s_axil_arvalid = 1;
    top.s_axil_araddr = static_cast<SData>(address);
    cycle();
    top.s_axil_arvalid = 0;
    const std::uint32_t value = top.s_axil_rdata;
    cycle();
    return value;
  }

 private:
  struct Ask {
    bool valid;
    std::uint64_t address;
    unsigned beats;
  };
  std::deque<Bytes> beats_;
  std::vector<Ask> asks_;
};

/// f, unless the simulation has failed; what fails in it becomes the core's error.
template <class F>
static void guarded(whorl_rtl_core* core, const F& f) {
  if (!core->error.empty()) return;
  try {
    f();
    if (core->context.gotError()) core->error = "an assertion of the core failed";
  } catch (const std::exception& error) {
    core->error = error.what();
  }
}

extern "C" {

uint32_t whorl_rtl_abi(void) { return WHORL_RTL_ABI; }
void whorl_rtl_shape(uint32_t words[WHORL_RTL_SHAPE_WORDS]) { std::memcpy(words, shape, sizeof shape); }
whorl_rtl_core* whorl_rtl_create(const uint32_t words[WHORL_RTL_SHAPE_WORDS]) {
  if (std::memcmp(words, shape, sizeof shape) != 0) return nullptr;
  try {
    return new whorl_rtl_core;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the simulated core: %s\n", error.what());
    return nullptr;
  }
}
void whorl_rtl_destroy(whorl_rtl_core* core) { delete core; }
const char* whorl_rtl_error(const whorl_rtl_core* core) { return core->error.empty() ? nullptr : core->error.c_str(); }
uint32_t whorl_rtl_read(whorl_rtl_core* core, uint32_t address) {
  uint32_t value = 0;
  guarded(core, [&] { value = core->read(address & 0xFFF); });
  return value;
}
int whorl_rtl_write(whorl_rtl_core* core, uint32_t address, uint32_t value) {
  // Interrupts tell step() when a run is over.
  if ((address & 0xFFF) != irq_enable) guarded(core, [&] { core->write(address & 0xFFF, value); });
  return 0;
}
int whorl_rtl_resize(whorl_rtl_core* core, uint32_t port, uint64_t bytes) {
  if (port >= rtl::port_count) return 1;
  try {
    core->memory[port].resize(bytes);
  } catch (const std::exception&) {
    return WHORL_RTL_NO_MEMORY;
  }
  return 0;
}
static bool within(const whorl_rtl_core* core, uint32_t port, uint64_t address, uint64_t count) {
  return port < rtl::port_count && address <= core->memory[port].size() &&
         count <= core->memory[port].size() - address;
}
int whorl_rtl_store(whorl_rtl_core* core, uint32_t port, uint64_t address, const void* bytes, uint64_t count) {
  if (!within(core, port, address, count)) return 1;
  if (count) std::memcpy(core->memory[port].data() + address, bytes, count);
  return 0;
}
int whorl_rtl_load(whorl_rtl_core* core, uint32_t port, uint64_t address, void* bytes, uint64_t count) {
  if (!within(core, port, address, count)) return 1;
  if (count) std::memcpy(bytes, core->memory[port].data() + address, count);
  return 0;
}
int whorl_rtl_timing(whorl_rtl_core* core, uint32_t latency, uint32_t bytes_a_cycle, uint32_t stall,
                     uint32_t stall_cycles, uint64_t seed) {
  core->timing = {latency, bytes_a_cycle, stall, stall_cycles, seed};
  return 0;
}
uint64_t whorl_rtl_step(whorl_rtl_core* core, uint64_t cycles) {
  uint64_t t = 0;
  guarded(core, [&] {
    for (; t < cycles && !core->top.irq && !core->context.gotError(); ++t) core->cycle();
  });
  return t;
}

}  // extern "C"
