#include "backend/rtl/driver.h"

#include <string>
#include <utility>

#include "backend/rtl/timing.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {

namespace {

std::string hex(std::uint64_t value) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  do {
    out.insert(out.begin(), digits[value % 16]);
  } while (value /= 16);
  return "0x" + out;
}

void require(const char* what, std::uint64_t got, std::uint64_t want) {
  if (got != want)
    throw ShapeError(std::string("core: ") + what + " has " + std::to_string(got) +
                     " elements; it must have " + std::to_string(want));
}

}  // namespace

Driver::Driver(std::shared_ptr<Core> core) : core_(std::move(core)) {
  if (const std::uint32_t id = core_->read(reg::id); id != reg::id_value)
    throw DeviceError("the core's ID is " + hex(id) + "; it must be " + hex(reg::id_value));
  if (const std::uint32_t version = core_->read(reg::version); version != reg::version_value)
    throw DeviceError("the core's version is " + hex(version) + "; this driver is for " +
                      hex(reg::version_value));
  std::array<std::uint32_t, Shape::fields> words{};
  for (std::size_t f = 0; f < Shape::fields; ++f) words[f] = core_->read(reg::shape_field(f));
  shape_ = Shape::of(words);
  shape_.check();
}

void Driver::write64(std::uint32_t address, std::uint64_t value) {
  core_->write(address, static_cast<std::uint32_t>(value));
  core_->write(address + 4, static_cast<std::uint32_t>(value >> 32));
}
std::uint64_t Driver::read64(std::uint32_t address) {
  return core_->read(address) | std::uint64_t{core_->read(address + 4)} << 32;
}

void Driver::set_timing(const MemoryTiming& timing) {
  timing.check();
  timing_ = timing;
  core_->set_timing(timing);
}

void Driver::settle() {
  if (!(core_->read(reg::status) & reg::busy)) return;
  core_->write(reg::control, reg::abort);
  // Bursts that were asked for are answered first.
  const std::uint64_t most =
      1000000 + 10000 * (std::uint64_t{timing_.latency} + timing_.stall_cycles);
  core_->finish(most);
  if (const std::uint32_t status = core_->read(reg::status); status & reg::busy)
    throw DeviceError("the core is busy " + std::to_string(most) +
                      " cycles after an abort; STATUS is " + hex(status));
}

void Driver::use(std::shared_ptr<const RotationImages> key) {
  if (key == rotation_) return;
  settle();
  require("a rotation key's ports", key->ports.size(), shape_.bk_ports);
  const std::uint64_t bytes = shape_.steps(key->n) * shape_.chunk_beats() * shape_.mem_bytes();
  rotation_.reset();
  for (std::uint32_t s = 0; s < shape_.bk_ports; ++s) {
    require("a port of a rotation key", key->ports[s].size(), bytes);
    core_->resize(bk_port + s, bytes);
    core_->store(bk_port + s, 0, key->ports[s]);
  }
  rotation_ = std::move(key);
}
void Driver::use(std::shared_ptr<const SwitchImage> key) {
  if (key == switch_) return;
  settle();
  switch_.reset();
  core_->resize(ksk_port, key->port.size());
  core_->store(ksk_port, 0, key->port);
  switch_ = std::move(key);
}

Descriptor Driver::describe(const Job& job) const {
  Descriptor d;
  d.mode = static_cast<std::uint32_t>(job.mode) | (job.exponents ? reg::exponents : 0) |
           (job.centred ? reg::centred : 0);
  d.group = shape_.M;
  d.count = job.count;
  if (d.rotates() && !rotation_) throw DeviceError("core: there is no rotation key in its memory");
  if (d.switches() && !switch_)
    throw DeviceError("core: there is no key-switching key in its memory");
  if (d.rotates() && d.switches() && rotation_->n != switch_->n)
    throw ShapeError("core: the rotation key has n = " + std::to_string(rotation_->n) +
                     ", the key-switching key " + std::to_string(switch_->n));
  d.n = d.rotates() ? rotation_->n : switch_->n;
  d.luts = static_cast<std::uint32_t>(job.luts.size() / shape_.N());
  d.offset = job.offset;
  d.constant = job.constant;
  const std::uint64_t beat = shape_.mem_bytes();
  d.in_addr = 0;
  d.lut_addr = aligned(job.count * shape_.io_beats(record_words(d, shape_)) * beat);
  d.out_addr = aligned(d.lut_addr + job.luts.size() * 8);
  d.io_bytes = d.out_addr + job.count * shape_.io_beats(result_words(d, shape_)) * beat;
  if (rotation_) d.bk_bytes = rotation_->ports[0].size();
  if (switch_) d.ksk_bytes = switch_->port.size();
  return d;
}

void Driver::put_inputs(const Job& job, const Descriptor& d) {
  const std::uint64_t row = d.rotates() ? std::uint64_t{d.n} + 1 : std::uint64_t{shape_.N()} + 1;
  require("the batch", job.rows.size(), job.count * row);
  if (d.rotates()) {
    require("the numbers of test vectors", job.index.size(), job.count);
    require("the test vectors", job.luts.size(), std::uint64_t{d.luts} * shape_.N());
  }
  if (d.io_bytes > io_bytes_) {
    core_->resize(io_port, d.io_bytes);
    io_bytes_ = d.io_bytes;
  }
  const std::uint64_t words = record_words(d, shape_);
  const std::uint64_t bytes = shape_.io_beats(words) * shape_.mem_bytes();
  Bytes records(job.count * bytes);
  for (std::uint32_t c = 0; c < job.count; ++c) {
    put_record(job.rows.subspan(c * row, row), records.data() + c * bytes);
    if (d.rotates()) put_record(job.index.subspan(c, 1), records.data() + c * bytes + 4 * row);
  }
  core_->store(io_port, d.in_addr, records);
  if (d.rotates())
    core_->store(io_port, d.lut_addr,
                 {reinterpret_cast<const std::uint8_t*>(job.luts.data()), job.luts.size_bytes()});
}

void Driver::start(const Descriptor& d) {
  core_->write(reg::mode, d.mode);
  core_->write(reg::group, d.group);
  core_->write(reg::lwe_n, d.n);
  core_->write(reg::count, d.count);
  core_->write(reg::luts, d.luts);
  core_->write(reg::offset, d.offset);
  write64(reg::constant, d.constant);
  write64(reg::in_addr, d.in_addr);
  write64(reg::lut_addr, d.lut_addr);
  write64(reg::out_addr, d.out_addr);
  write64(reg::ksk_addr, d.ksk_addr);
  for (std::uint32_t s = 0; s < shape_.bk_ports; ++s) write64(reg::bk_addr + 8 * s, d.bk_addr[s]);
  write64(reg::io_bytes, d.io_bytes);
  write64(reg::ksk_bytes, d.ksk_bytes);
  write64(reg::bk_bytes, d.bk_bytes);
  core_->write(reg::control, reg::start);
}

template <class Word>
void Driver::run_words(const Job& job, std::span<Word> out) {
  const Descriptor d = describe(job);
  const std::uint64_t words = result_words(d, shape_) * 4 / sizeof(Word);
  require("the output", out.size(), job.count * words);
  settle();
  put_inputs(job, d);
  if (last_ && *last_ != job.mode) kept_[static_cast<std::size_t>(*last_)] = counters();
  last_.reset();
  start(d);
  const std::uint64_t most = most_cycles(shape_, d, timing_);
  if (core_->read(reg::status) & reg::busy) core_->finish(most);
  const std::uint32_t status = core_->read(reg::status);
  if (status & reg::busy) {
    settle();
    throw DeviceError("the core did not end a run of " + std::to_string(d.count) +
                      " ciphertexts within " + std::to_string(most) + " cycles; STATUS is " +
                      hex(status));
  }
  if (const std::uint32_t code = core_->read(reg::error); code != 0)
    throw DeviceError("the core refused a run of " + std::to_string(d.count) +
                      " ciphertexts, mode " + std::to_string(d.mode) +
                      ", n = " + std::to_string(d.n) + ": error " + std::to_string(code) + ", " +
                      meaning(static_cast<Code>(code)));
  if (!(status & reg::done))
    throw DeviceError("the core did not begin a run of " + std::to_string(d.count) +
                      " ciphertexts; STATUS is " + hex(status));
  const std::uint64_t bytes = shape_.io_beats(result_words(d, shape_)) * shape_.mem_bytes();
  Bytes records(job.count * bytes);
  core_->load(io_port, d.out_addr, records);
  for (std::uint32_t c = 0; c < job.count; ++c)
    get_record(records.data() + c * bytes, out.subspan(c * words, words));
  last_ = job.mode;
}

void Driver::run(const Job& job, std::span<std::uint32_t> out) {
  if (job.mode == Mode::rotate)
    throw ShapeError("core: samples of a rotation are words of 64 bits");
  run_words(job, out);
}
void Driver::run(const Job& job, std::span<std::uint64_t> out) {
  if (job.mode != Mode::rotate) throw ShapeError("core: switched ciphertexts are words of 32 bits");
  run_words(job, out);
}

std::optional<Counters> Driver::counters(Mode kind) {
  return last_ == kind ? counters() : kept_[static_cast<std::size_t>(kind)];
}
Counters Driver::counters() {
  Counters out;
  for (std::size_t c = 0; c < Counters::size; ++c)
    out[c] = read64(reg::counters + 8 * static_cast<std::uint32_t>(c));
  return out;
}

}  // namespace whorl::backend::rtl
