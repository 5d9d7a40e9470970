// A library that offers a core as rtl/sim/library.cpp does, with the model in place of Verilator,
// so that its loader and callers are tested without one. WHORL_TESTS_CORE_FAULT names what is wrong
// with it; the tests that load it set that.
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/rtl/core_abi.h"
#include "backend/rtl/model.h"
#include "backend/rtl/registers.h"
#include "whorl/error.h"

namespace {

namespace rtl = whorl::backend::rtl;

bool fault(std::string_view name) {
  const char* const given = std::getenv("WHORL_TESTS_CORE_FAULT");
  return given && name == given;
}
const rtl::Shape& shape() {
  static const rtl::Shape of{.log_N = 8, .M = 2, .max_n = 9};
  return of;
}

/// What an exception is as a number.
template <class Call>
int status(Call call) {
  try {
    call();
    return 0;
  } catch (const whorl::OutOfMemoryError&) {
    return WHORL_RTL_NO_MEMORY;
  } catch (const std::exception&) {
    return 1;
  }
}

}  // namespace

struct whorl_rtl_core {
  rtl::Model model{shape()};
  std::string error;
};

#pragma GCC visibility push(default)

uint32_t whorl_rtl_abi() { return fault("abi") ? WHORL_RTL_ABI + 1 : WHORL_RTL_ABI; }
void whorl_rtl_shape(uint32_t words[WHORL_RTL_SHAPE_WORDS]) {
  rtl::Shape said = shape();
  if (fault("shape")) said.M = 9;
  const auto from = said.words();
  std::copy(from.begin(), from.end(), words);
}
whorl_rtl_core* whorl_rtl_create(const uint32_t*) {
  return fault("create") ? nullptr : new whorl_rtl_core;
}
void whorl_rtl_destroy(whorl_rtl_core* core) { delete core; }
const char* whorl_rtl_error(const whorl_rtl_core* core) {
  return core->error.empty() ? nullptr : core->error.c_str();
}

uint32_t whorl_rtl_read(whorl_rtl_core* core, uint32_t address) {
  return core->model.read(address);
}
int whorl_rtl_write(whorl_rtl_core* core, uint32_t address, uint32_t value) {
  if (fault("write")) return 1;
  return status([&] { core->model.write(address, value); });
}
int whorl_rtl_resize(whorl_rtl_core* core, uint32_t port, uint64_t bytes) {
  if (fault("memory")) return WHORL_RTL_NO_MEMORY;
  return status([&] { core->model.resize(port, bytes); });
}
int whorl_rtl_store(whorl_rtl_core* core, uint32_t port, uint64_t address, const void* bytes,
                    uint64_t count) {
  return status([&] {
    core->model.store(port, address, {static_cast<const std::uint8_t*>(bytes), count});
  });
}
int whorl_rtl_load(whorl_rtl_core* core, uint32_t port, uint64_t address, void* bytes,
                   uint64_t count) {
  return status([&] {
    core->model.load(port, address, {static_cast<std::uint8_t*>(bytes), count});
  });
}
int whorl_rtl_timing(whorl_rtl_core* core, uint32_t latency, uint32_t bytes_a_cycle, uint32_t stall,
                     uint32_t stall_cycles, uint64_t seed) {
  core->model.set_timing({latency, bytes_a_cycle, stall, stall_cycles, seed});
  return 0;
}
uint64_t whorl_rtl_step(whorl_rtl_core* core, uint64_t cycles) {
  if (fault("assertion")) core->error = "an assertion of the test";
  core->model.advance(cycles);
  return core->model.read(rtl::reg::status) & rtl::reg::busy ? cycles : 0;
}

#pragma GCC visibility pop
