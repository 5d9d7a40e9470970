#include "io/parameter_codec.h"

#include <string>
#include <utility>

#include "io/text.h"

namespace whorl::io {

namespace {

constexpr std::size_t max_source_bytes = 1024;
constexpr std::size_t gadget_range_bytes = 12;

template <class Enum>
Enum decode_enum(ByteReader& in, Enum last, const std::string& field) {
  const auto value = in.value<std::uint8_t>(field);
  if (value > static_cast<std::uint8_t>(last))
    throw FormatError(field + ": " + std::to_string(value) + ", at most " +
                      std::to_string(static_cast<unsigned>(last)));
  return static_cast<Enum>(value);
}

}  // namespace

void encode_literal(const binfhe::ParameterLiteral& literal, ByteWriter& out) {
  out.value(literal.n);
  out.value(literal.q);
  out.value(literal.N);
  out.value(literal.Q);
  out.value(literal.Q_ks);
  out.value(static_cast<std::uint8_t>(literal.key_switch));
  out.value(static_cast<std::uint8_t>(literal.lwe_secret));
  out.value(static_cast<std::uint8_t>(literal.ring_secret));
  out.value(static_cast<std::uint8_t>(literal.transform));
  out.value(static_cast<std::uint8_t>(literal.padding));
  out.value(literal.log_B_ks);
  out.value(literal.ks_digits);
  out.value(literal.max_p);
  out.value(literal.sigma_lwe);
  out.value(literal.sigma_ring);
  out.value(static_cast<std::uint32_t>(literal.gadget.size()));
  for (const binfhe::GadgetRange& range : literal.gadget) {
    out.value(range.count);
    out.value(range.log_base);
    out.value(range.digits);
  }
  encode_text(literal.name, max_name_bytes, "name", out);
  encode_text(literal.source, max_source_bytes, "source", out);
}

binfhe::ParameterLiteral decode_literal(ByteReader& in) {
  binfhe::ParameterLiteral literal;
  literal.n = in.value<std::uint32_t>("n");
  literal.q = in.value<std::uint64_t>("q");
  literal.N = in.value<std::uint32_t>("N");
  literal.Q = in.value<std::uint64_t>("Q");
  literal.Q_ks = in.value<std::uint64_t>("Q_ks");
  literal.key_switch = decode_enum(in, binfhe::KeySwitch::product, "key_switch");
  literal.lwe_secret = decode_enum(in, binfhe::SecretDistribution::gaussian, "lwe_secret");
  literal.ring_secret = decode_enum(in, binfhe::SecretDistribution::gaussian, "ring_secret");
  literal.transform = decode_enum(in, binfhe::Transform::fft, "transform");
  literal.padding = decode_enum<std::uint8_t>(in, 1, "padding") != 0;
  literal.log_B_ks = in.value<std::uint32_t>("log_B_ks");
  literal.ks_digits = in.value<std::uint32_t>("ks_digits");
  literal.max_p = in.value<std::uint32_t>("max_p");
  literal.sigma_lwe = in.value<double>("sigma_lwe");
  literal.sigma_ring = in.value<double>("sigma_ring");
  const auto ranges = in.value<std::uint32_t>("gadget");
  ByteReader range_bytes(in.take(std::uint64_t{ranges} * gadget_range_bytes, "gadget"));
  literal.gadget.resize(ranges);
  for (binfhe::GadgetRange& range : literal.gadget) {
    range.count = range_bytes.value<std::uint32_t>("gadget count");
    range.log_base = range_bytes.value<std::uint32_t>("gadget log_base");
    range.digits = range_bytes.value<std::uint32_t>("gadget digits");
  }
  literal.name = decode_text(in, max_name_bytes, "name");
  literal.source = decode_text(in, max_source_bytes, "source");
  return literal;
}

}  // namespace whorl::io
