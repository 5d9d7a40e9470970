// The payloads of BGV's frames; docs/file-format.md has the bytes.

#include "io/native/bgv_literal.h"
#include "io/native/files.h"
#include "io/native/rlwe_codec.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/encoder.h"

namespace whorl::io {

namespace {

using bgv::CiphertextInfo;
using bgv::Ciphertexts;
using bgv::EvaluationKeys;
using bgv::Parameters;
using bgv::PublicKey;

ResidueShape shape_of(const CiphertextInfo& info) {
  return {info.parts, ring::Basis::range(0, info.limbs), info.count};
}
ring::Basis fresh_primes(const Parameters& parameters) {
  return ring::Basis::range(0, parameters.limbs());
}

/// RangeError or EncodingError for what no ciphertexts can have.
void check_info(const Parameters& parameters, const CiphertextInfo& info, bool seeded) {
  bgv::Encoder::check(parameters, info.packing);
  bgv::Account::check(parameters, info);
  if (seeded) check_seeded(info.parts, "limbs", info.limbs, parameters.limbs());
}

}  // namespace

template <>
struct Codec<Ciphertexts> {
  static constexpr FrameKind kind{.type = FrameType::bgv_ciphertexts, .seeded = true};

  static void write(const Ciphertexts& value, PayloadWriter& out) {
    const CiphertextInfo& info = value.info;
    check_info(value.parameters, info, value.seed.has_value());
    write_head(out.fields(), info, &CiphertextInfo::limbs);
    out.fields().value(info.factor);
    out.fields().value(info.noise);
    out.seed(value.seed);
    check_last_axis<ShapeError>(info.each(value.parameters.N()), out.shape_of(value.shape));
    out.array({out.shape_of(value.shape), runs_of(value.numbers), info.length,
               static_cast<std::uint8_t>(info.rest)},
              info.count);
    out.align();
    write_residues(out, value, shape_of(info));
  }

  static Ciphertexts read(PayloadReader& in, const Parameters& parameters) {
    auto info = read_head(in.fields(), &CiphertextInfo::limbs);
    info.factor = in.fields().value<std::uint64_t>("factor");
    info.noise = in.fields().value<double>("noise");
    const auto seed = in.seed();
    check_info(parameters, info, seed.has_value());
    const ArrayFields array = in.array(info.count);
    if (array.of_lwe() || array.of_reals() || array.ring_key)
      throw FormatError(
          "noise, sum, largest, as_bits, off, failure_log2, low, high and ring_key are fields that "
          "BGV's ciphertexts "
          "do not have");
    info.length = array.length;
    info.rest = static_cast<bgv::Rest>(array.rest);
    check_info(parameters, info, seed.has_value());
    check_last_axis<FormatError>(info.each(parameters.N()), array.shape);
    return read_residues<Ciphertexts>(in, parameters, info, shape_of(info), seed, array);
  }
};

template <>
struct Codec<Parameters> : ParametersCodec<Parameters, FrameType::bgv_parameters> {};
template <>
struct Codec<PublicKey> : PublicKeyCodec<PublicKey, FrameType::bgv_public_key, fresh_primes> {};
template <>
struct Codec<EvaluationKeys> : SwitchKeysCodec<EvaluationKeys, FrameType::bgv_evaluation_keys> {};

WHORL_INSTANTIATE_FILES(Parameters);
WHORL_INSTANTIATE_FILES(Ciphertexts);
WHORL_INSTANTIATE_FILES(PublicKey);
WHORL_INSTANTIATE_FILES(EvaluationKeys);

}  // namespace whorl::io
