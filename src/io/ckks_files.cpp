// The payloads of CKKS's frames; docs/file-format.md has the bytes.
#include <optional>
#include <utility>
#include <vector>

#include "io/ckks_literal.h"
#include "io/files.h"
#include "io/rlwe_codec.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"

namespace whorl::io {

namespace {

using ckks::CiphertextInfo;
using ckks::Ciphertexts;
using ckks::EvaluationKeys;
using ckks::Parameters;
using ckks::PublicKey;

ResidueShape shape_of(const Parameters& parameters, const CiphertextInfo& info) {
  return {info.parts, ckks::basis_of(parameters, info.level), info.count};
}
ring::Basis fresh_primes(const Parameters& parameters) {
  return ckks::basis_of(parameters, parameters.depth());
}

/// RangeError for what no ciphertexts can have.
void check_info(const Parameters& parameters, const CiphertextInfo& info, bool seeded) {
  ckks::Account::check(parameters, info);
  if (seeded) check_seeded(info.parts, "level", info.level, parameters.depth());
}

}  // namespace

template <>
struct Codec<Ciphertexts> {
  static constexpr FrameKind kind{.type = FrameType::ckks_ciphertexts, .seeded = true};

  static void write(const Ciphertexts& value, PayloadWriter& out) {
    const CiphertextInfo& info = value.info;
    check_info(value.parameters, info, value.seed.has_value());
    write_head(out.fields(), info, &CiphertextInfo::level);
    out.fields().value(info.length);
    out.fields().value(info.scale);
    out.fields().value(info.bound);
    out.fields().value(info.error);
    out.seed(value.seed);
    out.array({out.shape_of(value.shape), runs_of(value.numbers)}, info.count);
    out.align();
    write_residues(out, value, shape_of(value.parameters, info));
  }

  static Ciphertexts read(PayloadReader& in, const Parameters& parameters) {
    auto info = read_head(in.fields(), &CiphertextInfo::level);
    info.length = in.fields().value<std::uint64_t>("length");
    info.scale = in.fields().value<double>("scale");
    info.bound = in.fields().value<double>("bound");
    info.error = in.fields().value<double>("error");
    const auto seed = in.seed();
    check_info(parameters, info, seed.has_value());
    ArrayFields array = in.array(info.count);
    if (array.length != 0 || array.rest != 0 || array.noise != 1 || array.sum)
      throw FormatError(
          "length, rest, noise and sum are fields of arrays that CKKS's ciphertexts do not have");
    in.align();
    std::vector<std::uint32_t> numbers;
    WordArray data =
        read_residues(in, parameters, shape_of(parameters, info), seed, array, numbers);
    return {
        parameters,        in.header().key_id, info, std::move(data), seed, std::move(array.shape),
        std::move(numbers)};
  }
};

template <>
struct Codec<Parameters> : ParametersCodec<Parameters, FrameType::ckks_parameters> {};
template <>
struct Codec<PublicKey> : PublicKeyCodec<PublicKey, FrameType::ckks_public_key, fresh_primes> {};
template <>
struct Codec<EvaluationKeys>
    : SwitchKeysCodec<EvaluationKeys, FrameType::ckks_evaluation_keys, ckks::layout_of> {};

WHORL_INSTANTIATE_FILES(Parameters);
WHORL_INSTANTIATE_FILES(Ciphertexts);
WHORL_INSTANTIATE_FILES(PublicKey);
WHORL_INSTANTIATE_FILES(EvaluationKeys);

}  // namespace whorl::io
