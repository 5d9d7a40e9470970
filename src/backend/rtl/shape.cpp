#include "backend/rtl/shape.h"

#include <algorithm>
#include <bit>
#include <string>

#include "whorl/error.h"

namespace whorl::backend::rtl {

namespace {

// Cycles of units: rtl/src/whorl_pkg.sv.
constexpr std::uint32_t mul_latency = 9, butterfly_latency = mul_latency + 1;
constexpr std::uint32_t decompose_latency = 2, monomials_latency = 4, acc_read_latency = 2;

std::uint32_t tree_latency(std::uint32_t terms) {
  return terms <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(terms - 1));
}

std::uint32_t transform_latency(const Shape& shape) {
  return shape.log_N * butterfly_latency + shape.rows() - 1;
}

void check_range(std::size_t field, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return;
  throw ParameterError(std::string("core: ") + Shape::names()[field] + " = " +
                       std::to_string(value) + " is not in " + std::to_string(least) + " … " +
                       std::to_string(most));
}

}  // namespace

const std::array<const char*, Shape::fields>& Shape::names() {
  static const std::array<const char*, fields> all = {
      "LOG_N",    "L",        "LOG_BG",    "M",    "PES",     "LOG_B",    "K",          "MEM_BITS",
      "BK_PORTS", "KSK_BITS", "MAX_N_LWE", "L_KS", "LOG_BKS", "KS_LANES", "BK_BUFFERS", "KSK_ROWS"};
  return all;
}

std::array<std::uint32_t, Shape::fields> Shape::words() const {
  return {log_N,    L,        log_Bg, M,    pes,     log_b,    K,          mem_bits,
          bk_ports, ksk_bits, max_n,  L_ks, log_Bks, ks_lanes, bk_buffers, ksk_rows};
}

Shape Shape::of(const std::array<std::uint32_t, fields>& w) {
  return {w[0], w[1], w[2],  w[3],  w[4],  w[5],  w[6],  w[7],
          w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]};
}

void Shape::check() const {
  constexpr std::array<std::array<std::uint32_t, 2>, fields> ranges = {{{6, 13},
                                                                        {1, 16},
                                                                        {1, 31},
                                                                        {1, 4},
                                                                        {1, 1024},
                                                                        {0, 7},
                                                                        {1, 64},
                                                                        {64, 1024},
                                                                        {1, 8},
                                                                        {64, 1024},
                                                                        {1, 65535},
                                                                        {1, 32},
                                                                        {1, 31},
                                                                        {1, 65536},
                                                                        {2, 1024},
                                                                        {2, 1u << 18}}};
  const auto values = words();
  for (std::size_t f = 0; f < fields; ++f) check_range(f, values[f], ranges[f][0], ranges[f][1]);
  for (const std::size_t field : {7, 9, 14})
    if (!std::has_single_bit(values[field]))
      throw ParameterError(std::string("core: ") + names()[field] + " = " +
                           std::to_string(values[field]) + " is not a power of two");
  if (N() < 32 * lanes())
    throw ParameterError("core: LOG_N = " + std::to_string(log_N) + " and LOG_B = " +
                         std::to_string(log_b) + " leave fewer than 32 rows a polynomial");
  if (L * log_Bg > 33)
    throw ParameterError("core: L·LOG_BG = " + std::to_string(L * log_Bg) + " is above 33");
  if (L_ks * log_Bks > 32)
    throw ParameterError("core: L_KS·LOG_BKS = " + std::to_string(L_ks * log_Bks) + " is above 32");
  for (const std::uint32_t beat : {ksk_bits / 32, mem_bits / 32})
    if (ks_lanes % beat != 0)
      throw ParameterError("core: KS_LANES = " + std::to_string(ks_lanes) +
                           " is not a multiple of a beat's " + std::to_string(beat) + " words");
}

std::uint32_t Shape::lat_bku() const {
  return acc_read_latency + decompose_latency + transform_latency(*this) -
         (mul_latency + tree_latency(sets())) - monomials_latency - 1;
}

std::uint32_t Shape::lat_wb() const {
  return acc_read_latency + decompose_latency + 2 * transform_latency(*this) +
         (mul_latency + tree_latency(2 * L)) + 1;
}

std::uint32_t Shape::ks_rows_at_once() const {
  std::uint32_t rows = 1;
  for (std::uint32_t t = 2; t <= 8; t *= 2)
    if (L_ks % t == 0 && ks_lanes / t > max_n && ks_lanes % (t * ksk_bits / 32) == 0 &&
        ks_lanes % (t * mem_bits / 32) == 0)
      rows = t;
  return rows;
}
std::uint64_t Shape::ksk_rows_held() const {
  const std::uint64_t group = ks_rows_at_once();
  return std::min((ksk_rows + group - 1) / group * group, ksk_row_count());
}

std::uint64_t Shape::multipliers() const {
  const std::uint64_t b = lanes() / 2;
  const std::uint64_t transforms = (2 * L + 2) * log_N * b;
  const std::uint64_t bundle = std::uint64_t{sets()} * 4 * L * lanes();
  const std::uint64_t products = std::uint64_t{4} * L * lanes();
  return pes * (transforms + bundle + products);
}

}  // namespace whorl::backend::rtl
