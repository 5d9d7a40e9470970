#include "backend/rtl/registers.h"

#include <array>

#include "backend/rtl/shape.h"

namespace whorl::backend::rtl {

namespace {

/// Whether `count` things of `bytes` fit between `address` and `end`.
bool fits(std::uint64_t address, unsigned __int128 count, std::uint64_t bytes, std::uint64_t end) {
  return address + count * bytes <= end;
}

}  // namespace

const char* meaning(Code code) {
  switch (code) {
    case Code::ok:
      return "no error";
    case Code::n_zero:
      return "n is 0";
    case Code::n_large:
      return "n is above MAX_N_LWE";
    case Code::group_wrong:
      return "the group is not the core's";
    case Code::count_zero:
      return "there are no ciphertexts";
    case Code::mode_wrong:
      return "the mode is unknown";
    case Code::luts_zero:
      return "there are no test vectors";
    case Code::range_wrong:
      return "the offset is not below 2N, or the constant not below p";
    case Code::misaligned:
      return "an address is not a multiple of 4,096";
    case Code::inputs_end:
      return "inputs reach past the memory";
    case Code::luts_end:
      return "test vectors reach past the memory";
    case Code::results_end:
      return "results reach past the memory";
    case Code::ksk_end:
      return "the key-switching key reaches past its memory";
    case Code::bk_end:
      return "the bootstrapping key reaches past its memory";
    case Code::exponent_wrong:
      return "an exponent is not below 2N";
    case Code::aborted:
      return "the run was aborted";
    case Code::lut_number:
      return "the number of a test vector is not below their count";
    case Code::lut_value:
      return "a word of a test vector is not below p";
    case Code::read_error:
      return "a read was answered with an error";
    case Code::write_error:
      return "a write was answered with an error";
  }
  return "an unknown code";
}

const char* mode_name(Mode mode) {
  static constexpr std::array<const char*, std::size(modes)> names = {"bootstrap", "rotate",
                                                                      "key_switch"};
  return names.at(static_cast<std::size_t>(mode));
}

const char* counter_name(std::size_t c) {
  static constexpr std::array<const char*, Counters::size> names = {
      "CYCLES",   "SLOTS",     "PE_SLOTS",      "WAIT_KEY",       "WAIT_ACC", "WAIT_LOAD",
      "BK_BEATS", "KSK_BEATS", "IO_READ_BEATS", "IO_WRITE_BEATS", "KS_BUSY",  "RESULTS"};
  return names.at(c);
}

std::uint64_t record_words(const Descriptor& d, const Shape& shape) {
  return d.rotates() ? std::uint64_t{d.n} + 2 : std::uint64_t{shape.N()} + 1;
}

std::uint64_t result_words(const Descriptor& d, const Shape& shape) {
  return d.switches() ? std::uint64_t{d.n} + 1 : 2 * (std::uint64_t{shape.N()} + 1);
}

Code check(const Descriptor& d, const Shape& shape) {
  if (d.kind() > Mode::key_switch || (d.mode & ~0x303u) != 0) return Code::mode_wrong;
  if (d.n == 0) return Code::n_zero;
  if (d.n > shape.max_n) return Code::n_large;
  if (d.group != shape.M) return Code::group_wrong;
  if (d.count == 0) return Code::count_zero;
  const bool rotates = d.rotates(), switches = d.switches();
  if (rotates && d.luts == 0) return Code::luts_zero;
  if (rotates && (d.offset >= 2 * shape.N() || d.constant >= prime)) return Code::range_wrong;
  std::uint64_t addresses = d.in_addr | d.out_addr;
  if (rotates) addresses |= d.lut_addr;
  if (switches) addresses |= d.ksk_addr;
  for (std::uint32_t s = 0; rotates && s < shape.bk_ports; ++s) addresses |= d.bk_addr[s];
  if (addresses % 4096 != 0) return Code::misaligned;
  const std::uint64_t beat = shape.mem_bytes();
  if (!fits(d.in_addr, d.count, shape.io_beats(record_words(d, shape)) * beat, d.io_bytes))
    return Code::inputs_end;
  if (rotates && !fits(d.lut_addr, d.luts, std::uint64_t{shape.N()} * 8, d.io_bytes))
    return Code::luts_end;
  if (!fits(d.out_addr, d.count, shape.io_beats(result_words(d, shape)) * beat, d.io_bytes))
    return Code::results_end;
  if (switches && !fits(d.ksk_addr, std::uint64_t{shape.N()} * shape.L_ks,
                        shape.ksk_row_beats(d.n) * shape.ksk_bytes(), d.ksk_bytes))
    return Code::ksk_end;
  for (std::uint32_t s = 0; rotates && s < shape.bk_ports; ++s)
    if (!fits(d.bk_addr[s], shape.steps(d.n), shape.chunk_beats() * beat, d.bk_bytes))
      return Code::bk_end;
  return Code::ok;
}

}  // namespace whorl::backend::rtl
