// The literal of FHEW/TFHE's parameters in frames, and encodings of messages.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "io/native/codec.h"
#include "schemes/binfhe/derived.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::io {

template <>
struct StructFields<binfhe::Rotation> {
  using Rotation = binfhe::Rotation;
  static constexpr std::tuple fields{Field{1, "rotation.kind", &Rotation::kind,
                                           static_cast<std::uint64_t>(binfhe::RotationKind::block)},
                                     Field{2, "rotation.group", &Rotation::group},
                                     Field{3, "rotation.raised_by", &Rotation::raised_by}};
};

template <>
struct LiteralCodec<binfhe::Parameters> {
  using Literal = binfhe::ParameterLiteral;
  static constexpr std::tuple fields{
      Field{1, "n", &Literal::n},
      Field{2, "q", &Literal::q},
      Field{3, "N", &Literal::N},
      Field{4, "Q", &Literal::Q},
      Field{5, "Q_ks", &Literal::Q_ks},
      Field{6, "key_switch", &Literal::key_switch,
            static_cast<std::uint64_t>(binfhe::KeySwitch::product)},
      Field{7, "lwe_secret", &Literal::lwe_secret,
            static_cast<std::uint64_t>(binfhe::SecretDistribution::block_binary)},
      Field{8, "ring_secret", &Literal::ring_secret,
            static_cast<std::uint64_t>(binfhe::SecretDistribution::gaussian)},
      Field{9, "transform", &Literal::transform,
            static_cast<std::uint64_t>(binfhe::Transform::fft)},
      Field{10, "padding", &Literal::padding},
      Field{11, "log_B_ks", &Literal::log_B_ks},
      Field{12, "ks_digits", &Literal::ks_digits},
      Field{13, "max_p", &Literal::max_p},
      Field{14, "sigma_lwe", &Literal::sigma_lwe},
      Field{15, "sigma_ring", &Literal::sigma_ring},
      Field{16, "gadget", &Literal::gadget, 16},
      Field{17, "name", &Literal::name, max_name_bytes},
      Field{18, "source", &Literal::source, max_source_bytes},
      Field{19, "rotation", &Literal::rotation},
      Field{20, "small_modulus_gadgets", &Literal::small_modulus_gadgets, 4}};
};

inline void write_encoding(ByteWriter& out, const binfhe::Encoding& encoding) {
  out.value(encoding.p);
  out.value(static_cast<std::uint8_t>(encoding.padding));
  out.zeros(3);
}

inline binfhe::Encoding read_encoding(ByteReader& in, const binfhe::Parameters& parameters,
                                      const std::string& field) {
  binfhe::Encoding encoding;
  encoding.p = in.value<std::uint32_t>(field);
  const auto padding = in.value<std::uint8_t>(field);
  if (padding > 1)
    throw FormatError(field + ": padding is " + std::to_string(padding) + "; it must be at most 1");
  encoding.padding = padding != 0;
  in.zeros(3, field);
  binfhe::check_coarse(parameters, encoding);
  return encoding;
}

}  // namespace whorl::io
