#include "backend/rtl/registers.h"

#include <array>
#include <iterator>

#include "backend/rtl/shape.h"

namespace whorl::backend::rtl {

namespace {

/// Where `count` things of `bytes` each end that begin at `address`.
struct Reach {
  Port port;
  std::uint64_t address;
  unsigned __int128 bytes;
  Code code;                                         ///< if they end too late
  unsigned __int128 most = ~(unsigned __int128){0};  ///< bytes
  bool fits(std::uint64_t end) const { return bytes <= most && address + bytes <= end; }
};

/// What a run reads and writes, in the order of checks.
std::vector<Reach> reaches(const Descriptor& d, const Shape& shape) {
  using Wide = unsigned __int128;
  const std::uint64_t beat = shape.mem_bytes();
  std::vector<Reach> out;
  out.push_back({io_port, d.in_addr,
                 Wide{d.count} * (shape.io_beats(record_words(d, shape)) * beat),
                 Code::inputs_end});
  if (d.rotates())
    out.push_back(
        {io_port, d.lut_addr, Wide{d.luts} * (std::uint64_t{shape.N()} * 8), Code::luts_end});
  out.push_back({io_port, d.out_addr,
                 Wide{d.count} * (shape.io_beats(result_words(d, shape)) * beat), Code::results_end,
                 ((Wide{1} << 40) - 1) * beat});  // beats are counted in 40 bits
  if (d.switches())
    out.push_back({ksk_port, d.ksk_addr,
                   Wide{std::uint64_t{shape.N()} * shape.L_ks} *
                       (shape.ksk_row_beats(d.n) * shape.ksk_bytes()),
                   Code::ksk_end});
  for (Port s = 0; d.rotates() && s < shape.bk_ports; ++s)
    out.push_back({bk_port + s, d.bk_addr[s], Wide{shape.steps(d.n)} * (shape.chunk_beats() * beat),
                   Code::bk_end});
  return out;
}

}  // namespace

const char* meaning(Code code) {
  static constexpr const char* meanings[] = {
      "no error",
      "n is 0",
      "n is above MAX_N_LWE",
      "the group is not the core's",
      "there are no ciphertexts",
      "the mode is unknown",
      "there are no test vectors",
      "the offset is not below 2N, or the constant not below p",
      "an address is not a multiple of 4,096",
      "inputs reach past the memory",
      "test vectors reach past the memory",
      "results reach past the memory",
      "the key-switching key reaches past its memory",
      "the bootstrapping key reaches past its memory",
      "an exponent is not below 2N",
      "the run was aborted",
      "the number of a test vector is not below their count",
      "a word of a test vector is not below p",
      "a read was answered with an error",
      "a write was answered with an error",
  };
  static_assert(std::size(meanings) == static_cast<std::size_t>(Code::write_error) + 1);
  const auto number = static_cast<std::size_t>(code);
  return number < std::size(meanings) ? meanings[number] : "an unknown code";
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
  for (const Reach& reach : reaches(d, shape))
    if (!reach.fits(reach.port == io_port    ? d.io_bytes
                    : reach.port == ksk_port ? d.ksk_bytes
                                             : d.bk_bytes))
      return reach.code;
  return Code::ok;
}

std::vector<Region> regions(const Descriptor& d, const Shape& shape) {
  std::vector<Region> out;
  for (const Reach& reach : reaches(d, shape))
    out.push_back({reach.port, reach.address, static_cast<std::uint64_t>(reach.bytes),
                   reach.code == Code::results_end});
  return out;
}

}  // namespace whorl::backend::rtl
