// The descriptor of a run: where README section 4 has its fields, and where descriptor_t of
// whorl_pkg.sv has them.
#pragma once

#include <array>
#include <cstdint>

namespace bench {

enum Field : unsigned {
  mode,
  group,
  lwe_n,
  count,
  luts,
  offset,
  constant,
  in_address,
  lut_address,
  out_address,
  ksk_address,
  bk_address,  // of port 0, and of seven more
  io_bytes = bk_address + 8,
  ksk_bytes,
  bk_bytes,
  fields
};
/// Registers of a field, of 32 bits, the low one first.
constexpr unsigned words_of(unsigned field) { return field < constant ? 1 : 2; }
constexpr unsigned address_of(unsigned field) {
  return field < constant ? 0x080 + 4 * field : 0x098 + 8 * (field - constant);
}
/// The lowest word of a field in descriptor_t, whose first field is the highest. Ports count from
/// the lowest.
constexpr unsigned word_of(unsigned field) {
  if (field < constant) return 37 - field;
  if (field < bk_address) return 30 - 2 * (field - constant);
  if (field < io_bytes) return 6 + 2 * (field - bk_address);
  return 4 - 2 * (field - io_bytes);
}
constexpr unsigned descriptor_words = 38;

using Descriptor = std::array<std::uint64_t, fields>;

template <class Port>
std::uint64_t get_field(const Port& port, unsigned field) {
  const unsigned at = word_of(field);
  return port[at] | (words_of(field) == 2 ? std::uint64_t{port[at + 1]} << 32 : 0);
}
template <class Port>
void put_fields(Port& port, const Descriptor& values) {
  for (unsigned field = 0; field < fields; ++field)
    for (unsigned w = 0; w < words_of(field); ++w)
      port[word_of(field) + w] = static_cast<std::uint32_t>(values[field] >> (32 * w));
}

}  // namespace bench
