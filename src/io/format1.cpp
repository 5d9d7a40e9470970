// Literals as files of format 1 have them: every field at its place. Nothing else of a payload
// differs but that later ones name shapes.
#include <string>
#include <vector>

#include "io/bgv_literal.h"
#include "io/binfhe_literal.h"

namespace whorl::io {

namespace {

template <class Enum>
Enum decode_enum(ByteReader& in, Enum last, const std::string& field) {
  ByteReader byte(in.take(1, field));
  return FieldValue<Enum>::read(byte, static_cast<std::uint64_t>(last), field);
}

/// Behind its length.
std::string decode_text(ByteReader& in, std::size_t limit, const std::string& field) {
  const auto length = in.value<std::uint16_t>(field);
  ByteReader text(in.take(length, field));
  return FieldValue<std::string>::read(text, limit, field);
}

/// `count` elements.
template <class Element>
std::vector<Element> decode_vector(ByteReader& in, std::uint64_t count, const std::string& field) {
  if (count > max_list && count * sizeof(Element) <= in.remaining())
    throw FormatError(field + " has " + std::to_string(count) + " elements; it may have at most " +
                      std::to_string(max_list));
  ByteReader elements(in.take(count * sizeof(Element), field));
  return FieldValue<std::vector<Element>>::read(elements, count, field);
}

}  // namespace

binfhe::ParameterLiteral LiteralCodec<binfhe::Parameters>::format1(ByteReader& in) {
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
  ByteReader padding(in.take(1, "padding"));
  literal.padding = FieldValue<bool>::read(padding, 1, "padding");
  literal.log_B_ks = in.value<std::uint32_t>("log_B_ks");
  literal.ks_digits = in.value<std::uint32_t>("ks_digits");
  literal.max_p = in.value<std::uint32_t>("max_p");
  literal.sigma_lwe = in.value<double>("sigma_lwe");
  literal.sigma_ring = in.value<double>("sigma_ring");
  const auto ranges = in.value<std::uint32_t>("gadget");
  literal.gadget = decode_vector<binfhe::GadgetRange>(in, ranges, "gadget");
  literal.name = decode_text(in, max_name_bytes, "name");
  literal.source = decode_text(in, max_source_bytes, "source");
  return literal;
}

bgv::ParameterLiteral LiteralCodec<bgv::Parameters>::format1(ByteReader& in) {
  bgv::ParameterLiteral literal;
  literal.N = in.value<std::uint32_t>("N");
  literal.digit_limbs = in.value<std::uint32_t>("digit_limbs");
  literal.t = in.value<std::uint64_t>("t");
  literal.sigma = in.value<double>("sigma");
  literal.depth = in.value<std::uint32_t>("depth");
  const auto chain = in.value<std::uint16_t>("chain");
  const auto special = in.value<std::uint16_t>("special");
  literal.chain = decode_vector<std::uint64_t>(in, chain, "chain");
  literal.special = decode_vector<std::uint64_t>(in, special, "special");
  literal.name = decode_text(in, max_name_bytes, "name");
  return literal;
}

}  // namespace whorl::io
