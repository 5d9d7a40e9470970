// The payloads of BGV's frames; docs/file-format.md has the bytes.
#include <string>

#include "io/bgv_literal.h"
#include "io/files.h"
#include "io/rlwe_codec.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/encoder.h"

namespace whorl::io {

namespace {

using bgv::CiphertextInfo;
using bgv::Ciphertexts;
using bgv::EvaluationKeys;
using bgv::Packing;
using bgv::Parameters;
using bgv::PublicKey;

WordRule rule_of(const Parameters& parameters, const CiphertextInfo& info, const char* field) {
  return ciphertext_rule(parameters, info.parts, info.limbs, info.count, field);
}

/// RangeError or EncodingError for what no ciphertexts can have.
void check_info(const Parameters& parameters, const CiphertextInfo& info, bool seeded) {
  bgv::Encoder::check(parameters, info.packing);
  bgv::Account::check(parameters, info);
  if (seeded && (info.parts != 2 || info.limbs != parameters.limbs()))
    throw RangeError("seeded ciphertexts have " + std::to_string(info.parts) + " parts and " +
                     std::to_string(info.limbs) + " limbs; they must have 2 and " +
                     std::to_string(parameters.limbs()));
}

/// Where vectors take several ciphertexts, the last axis is of those.
template <class Exception>
void check_last_axis(const Parameters& parameters, const CiphertextInfo& info,
                     const std::optional<Shape>& shape) {
  const std::size_t each = info.each(parameters.N());
  if (each > 1 && shape && (shape->empty() || shape->back() != each))
    throw Exception("shape: its last axis must be the " + std::to_string(each) +
                    " ciphertexts that a vector of " + std::to_string(info.length) +
                    " values takes");
}

}  // namespace

template <>
struct Codec<Ciphertexts> {
  static constexpr FrameKind kind{.type = FrameType::bgv_ciphertexts, .seeded = true};

  static void write(const Ciphertexts& value, PayloadWriter& out) {
    const CiphertextInfo& info = value.info;
    check_info(value.parameters, info, value.seed.has_value());
    ByteWriter& fields = out.fields();
    fields.value(static_cast<std::uint32_t>(info.packing));
    fields.value(static_cast<std::uint32_t>(info.parts));
    fields.value(static_cast<std::uint32_t>(info.limbs));
    fields.zeros(4);
    fields.value(static_cast<std::uint64_t>(info.count));
    fields.value(info.factor);
    fields.value(info.noise);
    out.seed(value.seed);
    check_last_axis<ShapeError>(value.parameters, info, value.shape);
    out.array(
        {value.shape, runs_of(value.numbers), info.length, static_cast<std::uint8_t>(info.rest)},
        info.count);
    out.align();
    write_ciphertexts(out, value.parameters, value.data, rule_of(value.parameters, info, "data"),
                      info.count, value.seed, value.numbers);
  }

  static Ciphertexts read(PayloadReader& in, const Parameters& parameters) {
    CiphertextInfo info;
    ByteReader& fields = in.fields();
    const auto packing = fields.value<std::uint32_t>("packing");
    if (packing > 1)
      throw FormatError("packing is " + std::to_string(packing) + "; it must be at most 1");
    info.packing = static_cast<Packing>(packing);
    info.parts = fields.value<std::uint32_t>("parts");
    info.limbs = fields.value<std::uint32_t>("limbs");
    fields.zeros(4, "ciphertexts");
    info.count = fields.value<std::uint64_t>("count");
    info.factor = fields.value<std::uint64_t>("factor");
    info.noise = fields.value<double>("noise");
    const auto seed = in.seed();
    check_info(parameters, info, seed.has_value());
    ArrayFields array = in.array(info.count);
    if (array.noise != 1 || array.sum)
      throw FormatError("noise and sum are fields that BGV's ciphertexts do not have");
    info.length = array.length;
    info.rest = static_cast<bgv::Rest>(array.rest);
    check_info(parameters, info, seed.has_value());
    check_last_axis<FormatError>(parameters, info, array.shape);
    in.align();
    std::vector<std::uint32_t> numbers;
    WordArray data = read_ciphertexts(in, parameters, rule_of(parameters, info, "ciphertexts"),
                                      info.count, seed, array, numbers);
    return {
        parameters,        in.header().key_id, info, std::move(data), seed, std::move(array.shape),
        std::move(numbers)};
  }
};

template <>
struct Codec<Parameters> : ParametersCodec<Parameters, FrameType::bgv_parameters> {};
template <>
struct Codec<PublicKey> : PublicKeyCodec<PublicKey, FrameType::bgv_public_key> {};
template <>
struct Codec<EvaluationKeys> : SwitchKeysCodec<EvaluationKeys, FrameType::bgv_evaluation_keys> {};

WHORL_INSTANTIATE_FILES(Parameters);
WHORL_INSTANTIATE_FILES(Ciphertexts);
WHORL_INSTANTIATE_FILES(PublicKey);
WHORL_INSTANTIATE_FILES(EvaluationKeys);

}  // namespace whorl::io
