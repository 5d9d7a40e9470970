#include "schemes/binfhe/linear_part.h"

#include "schemes/binfhe/derived.h"

namespace whorl::binfhe {

namespace {

using Wide = __int128;

/// round(Q·numerator/denominator) modulo Q.
std::uint64_t on_circle(Wide numerator, Wide denominator, std::uint64_t Q) {
  const Wide part = (numerator % denominator + denominator) % denominator;
  return static_cast<std::uint64_t>((2 * part * Q + denominator) / (2 * denominator) % Q);
}

LinearPart part_of(const Lut& lut) {
  return {lut.weight(), std::uint64_t{lut.values()[0]} + lut.values()[lut.input().p / 2]};
}

/// 4·S'·constant, which is 2·first - weight·S'.
Wide four_constants(const LinearPart& part, Wide sectors) {
  return 2 * Wide{part.first} - part.weight * sectors;
}

}  // namespace

std::optional<LinearPart> linear_part(std::span<const std::uint32_t> values, Encoding input,
                                      Encoding output) {
  const std::size_t p = input.p, half = p / 2;
  if (input.padding || p % 2 != 0) return {};
  const auto sectors = static_cast<std::int64_t>(output.sectors());
  const auto sum = [&](std::size_t x) { return std::int64_t{values[x]} + values[x + half]; };
  std::int64_t rise = half > 1 ? (sum(1) - sum(0)) % sectors : 0;
  if (2 * rise > sectors) rise -= sectors;
  if (2 * rise <= -sectors) rise += sectors;
  for (std::size_t x = 1; x < half; ++x)
    if ((sum(x) - sum(x - 1) - rise) % sectors != 0) return {};
  const std::int64_t twice = static_cast<std::int64_t>(p) * rise;
  if (twice % (2 * sectors) != 0) return {};
  return LinearPart{static_cast<std::int32_t>(twice / (2 * sectors)),
                    static_cast<std::uint64_t>(sum(0))};
}

std::uint64_t rotated_value(const Lut& lut, std::uint64_t x, std::uint64_t Q) {
  const std::uint32_t value = lut.values()[x];
  if (lut.kind() != LutKind::near_negacyclic) return encode(value, lut.output(), Q);
  const Wide sectors = lut.output().sectors(), p = lut.input().p;
  const LinearPart part = part_of(lut);
  return on_circle(
      4 * p * value - 4 * sectors * part.weight * Wide{x} - p * four_constants(part, sectors),
      4 * p * sectors, Q);
}

std::uint64_t added_constant(const Lut& lut, std::uint64_t Q) {
  if (lut.kind() != LutKind::near_negacyclic) return 0;
  const Wide sectors = lut.output().sectors();
  return on_circle(four_constants(part_of(lut), sectors), 4 * sectors, Q);
}

}  // namespace whorl::binfhe
