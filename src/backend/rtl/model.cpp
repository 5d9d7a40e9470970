#include "backend/rtl/model.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "whorl/error.h"

namespace whorl::backend::rtl {

Model::Model(const Shape& shape, Workers workers)
    : shape_(shape), workers_(std::move(workers)), memory_(port_count) {
  shape_.check();
  engine_ = std::make_unique<Engine>(shape_);
}

// ---- memory

void Model::resize(Port port, std::uint64_t bytes) {
  if (port >= port_count) throw ShapeError("core: there is no port " + std::to_string(port));
  try {
    memory_[port].resize(bytes);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("model of the core: the system gave no memory for " +
                           std::to_string(bytes) + " bytes behind port " + std::to_string(port));
  }
  if (port < ksk_port) key_read_.reset();
}
Bytes& Model::memory(Port port, std::uint64_t address, std::uint64_t bytes) {
  if (port >= port_count) throw ShapeError("core: there is no port " + std::to_string(port));
  if (address > memory_[port].size() || bytes > memory_[port].size() - address)
    throw ShapeError("core: bytes " + std::to_string(address) + " … " +
                     std::to_string(address + bytes) + " are past the end of port " +
                     std::to_string(port) + "'s memory of " + std::to_string(memory_[port].size()) +
                     " bytes");
  return memory_[port];
}
void Model::store(Port port, std::uint64_t address, std::span<const std::uint8_t> bytes) {
  Bytes& to = memory(port, address, bytes.size());
  if (!bytes.empty()) std::memcpy(to.data() + address, bytes.data(), bytes.size());
  if (port < ksk_port) key_read_.reset();
}
void Model::load(Port port, std::uint64_t address, std::span<std::uint8_t> bytes) {
  const Bytes& from = memory(port, address, bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from.data() + address, bytes.size());
}
Memories Model::memories() {
  Memories out;
  for (Port s = 0; s < ksk_port; ++s) out.bk[s] = memory_[s];
  out.ksk = memory_[ksk_port];
  out.io = memory_[io_port];
  return out;
}

// ---- registers

std::uint32_t Model::read(std::uint32_t address) {
  address &= 0xFFC;
  if (address == reg::id) return reg::id_value;
  if (address == reg::version) return reg::version_value;
  if (address == reg::status)
    return (busy_ ? reg::busy : 0) | (done_ ? reg::done : 0) |
           (error_ != Code::ok ? reg::failed : 0);
  if (address == reg::error) return static_cast<std::uint32_t>(error_);
  if (address == reg::irq_enable) return irq_enable_;
  if (address == reg::lat_bku) return shape_.lat_bku();
  if (address == reg::lat_wb) return shape_.lat_wb();
  for (std::size_t f = 0; f < Shape::fields; ++f)
    if (address == reg::shape_field(f)) return shape_.words()[f];
  if (address >= reg::mode && address < reg::descriptor_end)
    return words_[(address - reg::mode) / 4];
  if (address >= reg::counters && address < reg::counters + 8 * Counters::size) {
    const std::uint64_t value = counters()[(address - reg::counters) / 8];
    return static_cast<std::uint32_t>(address % 8 == 0 ? value : value >> 32);
  }
  return 0;
}

void Model::write(std::uint32_t address, std::uint32_t value) {
  address &= 0xFFC;
  if (address == reg::irq_enable) irq_enable_ = value & 1;
  if (address >= reg::mode && address < reg::descriptor_end && !busy_)
    words_[(address - reg::mode) / 4] = value;
  if (address != reg::control) return;
  if (busy_ && (value & reg::abort)) return end(Code::aborted);
  if (!busy_ && (value & reg::start)) start();
}

Descriptor Model::descriptor() const {
  const auto at = [this](std::uint32_t address) { return words_[(address - reg::mode) / 4]; };
  const auto wide = [&](std::uint32_t address) {
    return at(address) | std::uint64_t{at(address + 4)} << 32;
  };
  Descriptor d{at(reg::mode),  at(reg::group), at(reg::lwe_n),
               at(reg::count), at(reg::luts),  at(reg::offset)};
  d.constant = wide(reg::constant);
  d.in_addr = wide(reg::in_addr);
  d.lut_addr = wide(reg::lut_addr);
  d.out_addr = wide(reg::out_addr);
  d.ksk_addr = wide(reg::ksk_addr);
  for (std::uint32_t s = 0; s < 8; ++s) d.bk_addr[s] = wide(reg::bk_addr + 8 * s);
  d.io_bytes = wide(reg::io_bytes);
  d.ksk_bytes = wide(reg::ksk_bytes);
  d.bk_bytes = wide(reg::bk_bytes);
  return d;
}

// ---- runs

void Model::start() {
  run_ = descriptor();
  done_ = false;
  counters_ = {};
  timing_.reset();
  error_ = result_ = Code::ok;
  const Code code = check(run_, shape_);
  if (code != Code::ok) return end(code);
  // Where the host said that there is more memory than there is, reads and writes fail.
  for (const Region& region : regions(run_, shape_))
    if (memory_[region.port].size() < region.address + region.bytes)
      return end(region.written ? Code::write_error : Code::read_error);
  busy_ = true;
  compute();
}

/// The results, and what the run will end with.
void Model::compute() {
  const bool same =
      key_read_ && key_read_->n == run_.n &&
      std::equal(std::begin(run_.bk_addr), std::end(run_.bk_addr), std::begin(key_read_->bk_addr));
  try {
    if (run_.rotates() && !same) {
      key_read_.reset();
      engine_->read_key(run_, memories(), workers_.threads);
      key_read_ = run_;
    }
    result_ = engine_->run(run_, memories(), workers_, index_);
  } catch (...) {
    end(Code::aborted);
    throw;
  }
  if (result_ == Code::ok) timing_.emplace(shape_, run_, index_, memory_timing_);
}

void Model::end(Code code) {
  busy_ = false;
  error_ = code;
  done_ = code == Code::ok;
}

void Model::advance(std::uint64_t cycles) {
  if (!busy_) return;
  if (!timing_) return end(result_);
  if (timing_->advance(cycles)) end(Code::ok);
}
void Model::finish(std::uint64_t) {
  if (busy_) end(result_);
}

const Counters& Model::counters() {
  if (timing_) {
    if (!busy_ && done_) timing_->advance(~0ull);
    counters_ = timing_->counters();
  }
  return counters_;
}

}  // namespace whorl::backend::rtl
