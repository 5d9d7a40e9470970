// The payloads of CKKS's frames; docs/file-format.md has the bytes.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "io/native/ckks_literal.h"
#include "io/native/files.h"
#include "io/native/rlwe_codec.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/compact_bits.h"
#include "schemes/ckks/derived.h"

namespace whorl::io {

namespace {

using ckks::CiphertextInfo;
using ckks::Ciphertexts;
using ckks::CompactBits;
using ckks::EvaluationKeys;
using ckks::Parameters;
using ckks::PublicKey;

ResidueShape shape_of(const Parameters& parameters, const CiphertextInfo& info) {
  return {info.parts, ckks::basis_of(parameters, info.level), info.count};
}
ring::Basis fresh_primes(const Parameters& parameters) {
  return ckks::basis_of(parameters, parameters.depth());
}

/// What the field `rest` is: 1 where copies of the first values lie behind the values of a vector.
std::uint8_t rest_of(const CiphertextInfo& info) {
  return info.packing != ckks::Packing::coefficients && info.length != info.slots() ? 1 : 0;
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
    ArrayFields array{out.shape_of(value.shape), runs_of(value.numbers)};
    check_last_axis<ShapeError>(info.each(value.parameters.N()), array.shape);
    array.length = info.vector;
    array.rest = rest_of(info);
    // What the bound says too is left out.
    const double most = std::exp2(info.bound);
    if (info.packing == ckks::Packing::real && info.low > -most) array.low = info.low;
    if (info.packing == ckks::Packing::real && info.high < most) array.high = info.high;
    out.array(std::move(array), info.count);
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
    const ArrayFields array = in.array(info.count);
    if (array.of_lwe() || array.ring_key)
      throw FormatError(
          "noise, sum, largest, as_bits, off, failure_log2 and ring_key are fields of arrays that "
          "CKKS's ciphertexts "
          "do not have");
    if (array.rest != rest_of(info))
      throw FormatError("rest = " + std::to_string(array.rest) + ": behind vectors of " +
                        std::to_string(info.length) + " values " +
                        (rest_of(info) != 0 ? "lie copies of the first ones, which is 1"
                                            : "lies nothing, which is 0"));
    if (array.of_reals() && info.packing != ckks::Packing::real)
      throw FormatError("low and high are fields of real values only");
    info.vector = array.length;
    info.low = array.low.value_or(info.low);
    info.high = array.high.value_or(info.high);
    ckks::Account::check(parameters, info);
    check_last_axis<FormatError>(info.each(parameters.N()), array.shape);
    return read_residues<Ciphertexts>(in, parameters, info, shape_of(parameters, info), seed,
                                      array);
  }
};

template <>
struct Codec<CompactBits> {
  static constexpr FrameKind kind{.type = FrameType::ckks_compact_bits};

  static void write(const CompactBits& value, PayloadWriter& out) {
    const ckks::CompactLayout layout(value.parameters, value.count, value.length);
    out.fields().value(static_cast<std::uint64_t>(value.count));
    out.fields().value(value.length);
    out.fields().bytes(value.seed);
    out.shape(value.shape, value.count);
    out.align();
    out.words(value.data, rule(layout));
  }

  static CompactBits read(PayloadReader& in, const Parameters& parameters) {
    const auto count = in.fields().value<std::uint64_t>("count"),
               length = in.fields().value<std::uint64_t>("length");
    const auto seed = in.fields().array<32>("seed");
    const ckks::CompactLayout layout(parameters, count, length);
    auto shape = in.shape(count);
    in.align();
    const TakenWords words = in.take(rule(layout));
    // A server makes ring ciphertexts of them.
    const WordRule expanded =
        residue_rule(parameters, {2, layout.basis, layout.ciphertexts()}, "compact bits");
    in.finish(count, expanded.bytes(), true);
    return {parameters,      in.header().key_id, static_cast<std::size_t>(count), length, seed,
            in.words(words), std::move(shape)};
  }

 private:
  static WordRule rule(const ckks::CompactLayout& layout) {
    return {layout.numbers, layout.slots, 2, {std::uint64_t{1} << ckks::compact_word_bits}, "data"};
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
WHORL_INSTANTIATE_FILES(CompactBits);
WHORL_INSTANTIATE_FILES(EvaluationKeys);

}  // namespace whorl::io
