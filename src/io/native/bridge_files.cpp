// The payloads of the frames of keys between schemes, and of those that compress results;
// docs/file-format.md has the bytes.
#include <cstdint>
#include <utility>
#include <vector>

#include "bridges/output.h"
#include "bridges/packing.h"
#include "bridges/products_noise.h"
#include "io/native/binfhe_literal.h"
#include "io/native/binfhe_ring_rows.h"
#include "io/native/ckks_literal.h"
#include "io/native/files.h"

namespace whorl::io {

namespace {

using bridges::CompressionKeys;
using bridges::LweInputKeys;
using bridges::LweOutputKeys;
using bridges::ProductKeys;

/// The CKKS parameters come first, as those of the frame.
void write_lwe_party(const binfhe::Parameters& lwe, const KeyId& key, PayloadWriter& out) {
  write_literal(lwe, out.fields());
  out.fields().bytes(key);
}
std::pair<binfhe::Parameters, KeyId> read_lwe_party(PayloadReader& in) {
  auto lwe = binfhe::Parameters::create(read_literal<binfhe::Parameters>(in.fields()),
                                        in.options().allow_insecure);
  const auto key = in.fields().array<16>("LWE key id");
  return {std::move(lwe), key};
}

/// Bodies of a switching key between the CKKS key and a secret of the subring.
WordRule switch_rule(const ckks::Parameters& p, const bridges::Packing& packing) {
  return {packing.primes.size(), p.N(), p.word_bytes(), packing.primes, "switch_b"};
}

}  // namespace

template <>
struct Codec<LweInputKeys> {
  static constexpr FrameKind kind{.type = FrameType::lwe_input_keys};

  static void write(const LweInputKeys& value, PayloadWriter& out) {
    write_lwe_party(value.lwe_parameters, value.lwe_key_id, out);
    out.fields().bytes(value.seed);
    out.fields().bytes(value.switch_seed);
    const bridges::Packing packing(value.parameters);
    out.align();
    out.words(value.b, rule(value.parameters, packing, value.lwe_parameters));
    out.align();
    out.words(value.switch_b, switch_rule(value.parameters, packing));
  }

  static LweInputKeys read(PayloadReader& in, const ckks::Parameters& parameters) {
    auto [lwe, lwe_key] = read_lwe_party(in);
    const auto seed = in.fields().array<32>("seed"),
               switch_seed = in.fields().array<32>("switch_seed");
    const bridges::Packing packing(parameters);
    in.align();
    const TakenWords b = in.take(rule(parameters, packing, lwe));
    in.align();
    const TakenWords switch_b = in.take(switch_rule(parameters, packing));
    in.finish();
    return {parameters, in.header().key_id, std::move(lwe), lwe_key,
            seed,       in.words(b),        switch_seed,    in.words(switch_b)};
  }

 private:
  static WordRule rule(const ckks::Parameters& p, const bridges::Packing& packing,
                       const binfhe::Parameters& lwe) {
    return {checked_product(lwe.n(), packing.primes.size(), "b"), packing.dimension, p.word_bytes(),
            packing.primes, "b"};
  }
};

template <>
struct Codec<LweOutputKeys> {
  static constexpr FrameKind kind{.type = FrameType::lwe_output_keys};

  static void write(const LweOutputKeys& value, PayloadWriter& out) {
    write_lwe_party(value.lwe_parameters, value.lwe_key_id, out);
    out.fields().bytes(value.switch_seed);
    out.fields().bytes(value.seed);
    const bridges::Packing packing(value.parameters);
    out.align();
    out.words(value.switch_b, switch_rule(value.parameters, packing));
    out.align();
    out.words(value.b, rule(packing, value.lwe_parameters));
  }

  static LweOutputKeys read(PayloadReader& in, const ckks::Parameters& parameters) {
    auto [lwe, lwe_key] = read_lwe_party(in);
    const auto switch_seed = in.fields().array<32>("switch_seed"),
               seed = in.fields().array<32>("seed");
    const bridges::Packing packing(parameters);
    in.align();
    const TakenWords switch_b = in.take(switch_rule(parameters, packing));
    in.align();
    const TakenWords b = in.take(rule(packing, lwe));
    in.finish();
    return {parameters,  in.header().key_id, std::move(lwe), lwe_key,
            switch_seed, in.words(switch_b), seed,           in.words(b)};
  }

 private:
  static WordRule rule(const bridges::Packing& packing, const binfhe::Parameters& lwe) {
    const backend::SwitchShape shape = bridges::output_switch(packing, lwe);
    return {bridges::output_rows(shape), 1, word_bytes_for(shape.Q_ks), {shape.Q_ks}, "b"};
  }
};

template <>
struct Codec<CompressionKeys> : RingRowsCodec<CompressionKeys, FrameType::binfhe_compression_keys,
                                              [](const binfhe::Parameters& p) { return p.n(); }> {};

template <>
struct Codec<ProductKeys> {
  static constexpr FrameKind kind{.type = FrameType::binfhe_product_keys};

  static void write(const ProductKeys& value, PayloadWriter& out) {
    out.fields().bytes(value.rotation_seed);
    out.fields().bytes(value.ring_seed);
    out.align();
    out.words(value.rotation_b, rotation_rule(value.parameters));
    out.align();
    out.words(value.ring_b, ring_rule(value.parameters));
  }

  static ProductKeys read(PayloadReader& in, const binfhe::Parameters& parameters) {
    bridges::check_multiplies(parameters);
    const auto rotation_seed = in.fields().array<32>("rotation_seed"),
               ring_seed = in.fields().array<32>("ring_seed");
    in.align();
    const TakenWords rotation = in.take(rotation_rule(parameters));
    in.align();
    const TakenWords ring = in.take(ring_rule(parameters));
    in.finish();
    return {parameters,         in.header().key_id, rotation_seed,
            in.words(rotation), ring_seed,          in.words(ring)};
  }

 private:
  static WordRule rotation_rule(const binfhe::Parameters& p) {
    const binfhe::Parameters second = bridges::second_rotation(p);
    return {second.rotation_key_rows(0),
            second.rotation_row_words(),
            ring_word_bytes(p.Q()),
            {p.Q()},
            "rotation_b"};
  }
  static WordRule ring_rule(const binfhe::Parameters& p) {
    return {bridges::product_key_rows(p), p.N(), ring_word_bytes(p.Q()), {p.Q()}, "ring_b"};
  }
};

WHORL_INSTANTIATE_FILES(CompressionKeys);
WHORL_INSTANTIATE_FILES(LweInputKeys);
WHORL_INSTANTIATE_FILES(LweOutputKeys);
WHORL_INSTANTIATE_FILES(ProductKeys);

}  // namespace whorl::io
