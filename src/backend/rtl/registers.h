// The registers and error codes of rtl/README.md, sections 4 and 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/rtl/core.h"

namespace whorl::backend::rtl {

namespace reg {
inline constexpr std::uint32_t id = 0x000, version = 0x004, control = 0x008, status = 0x00C,
                               error = 0x010, irq_enable = 0x014, shape = 0x020, lat_bku = 0x05C,
                               lat_wb = 0x060, ksk_rows = 0x064, mode = 0x080, group = 0x084,
                               lwe_n = 0x088, count = 0x08C, luts = 0x090, offset = 0x094,
                               constant = 0x098, in_addr = 0x0A0, lut_addr = 0x0A8,
                               out_addr = 0x0B0, ksk_addr = 0x0B8, bk_addr = 0x0C0,
                               io_bytes = 0x100, ksk_bytes = 0x108, bk_bytes = 0x110,
                               counters = 0x180;
/// The registers of the shape: 15 in a row, and KSK_ROWS.
constexpr std::uint32_t shape_field(std::size_t field) {
  return field < 15 ? shape + 4 * static_cast<std::uint32_t>(field) : ksk_rows;
}
inline constexpr std::uint32_t descriptor_end = 0x118;
inline constexpr std::uint32_t id_value = 0x57484F52, version_value = 0x00010000;
inline constexpr std::uint32_t start = 1, abort = 2;                    ///< of control
inline constexpr std::uint32_t busy = 1, done = 2, failed = 4;          ///< of status
inline constexpr std::uint32_t exponents = 1u << 8, centred = 1u << 9;  ///< of mode
}  // namespace reg

enum class Mode : std::uint32_t { bootstrap = 0, rotate = 1, key_switch = 2 };
inline constexpr Mode modes[] = {Mode::bootstrap, Mode::rotate, Mode::key_switch};
/// "bootstrap", …
const char* mode_name(Mode mode);

enum class Code : std::uint32_t {
  ok = 0,
  n_zero = 1,
  n_large = 2,
  group_wrong = 3,
  count_zero = 4,
  mode_wrong = 5,
  luts_zero = 6,
  range_wrong = 7,
  misaligned = 8,
  inputs_end = 9,
  luts_end = 10,
  results_end = 11,
  ksk_end = 12,
  bk_end = 13,
  exponent_wrong = 14,
  aborted = 15,
  lut_number = 16,
  lut_value = 17,
  read_error = 18,
  write_error = 19
};
/// What the code means, for messages.
const char* meaning(Code code);

/// The counters, in the order of their registers.
struct Counters {
  std::uint64_t cycles = 0, slots = 0, pe_slots = 0, wait_key = 0, wait_acc = 0, wait_load = 0;
  std::uint64_t bk_beats = 0, ksk_beats = 0, io_read_beats = 0, io_write_beats = 0, ks_busy = 0;
  std::uint64_t results = 0;
  static constexpr std::size_t size = 12;
  std::uint64_t& operator[](std::size_t c) { return (&cycles)[c]; }
  std::uint64_t operator[](std::size_t c) const { return (&cycles)[c]; }
  bool operator==(const Counters&) const = default;
};
/// "CYCLES", …, as README has them.
const char* counter_name(std::size_t c);

/// What a host writes before it starts a run.
struct Descriptor {
  std::uint32_t mode = 0, group = 0, n = 0, count = 0, luts = 0, offset = 0;
  std::uint64_t constant = 0, in_addr = 0, lut_addr = 0, out_addr = 0, ksk_addr = 0;
  std::uint64_t bk_addr[8] = {};
  std::uint64_t io_bytes = 0, ksk_bytes = 0, bk_bytes = 0;

  Mode kind() const { return static_cast<Mode>(mode & 3); }
  bool rotates() const { return kind() != Mode::key_switch; }
  bool switches() const { return kind() != Mode::rotate; }
};

struct Shape;
/// The first thing that is wrong with a descriptor, in the order of README, section 5.
Code check(const Descriptor& descriptor, const Shape& shape);

/// Bytes behind a port that a run reads, or writes.
struct Region {
  Port port;
  std::uint64_t address, bytes;
  bool written;
};
/// Those of a descriptor that has passed its check.
std::vector<Region> regions(const Descriptor& descriptor, const Shape& shape);

/// Words of 32 bits of a record of the inputs, and of one of the results.
std::uint64_t record_words(const Descriptor& descriptor, const Shape& shape);
std::uint64_t result_words(const Descriptor& descriptor, const Shape& shape);

}  // namespace whorl::backend::rtl
