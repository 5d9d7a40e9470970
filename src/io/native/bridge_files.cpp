// The payloads of the frames of keys between schemes; docs/file-format.md has the bytes.
#include <cstdint>
#include <utility>
#include <vector>

#include "bridges/packing.h"
#include "io/native/binfhe_literal.h"
#include "io/native/ckks_literal.h"
#include "io/native/files.h"
#include "schemes/ckks/derived.h"

namespace whorl::io {

namespace {

using bridges::LweInputKeys;

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

/// Bodies of a switching key with that to the sparse secret's layout.
WordRule low_switch_rule(const ckks::Parameters& p) {
  const ring::KeyLayout layout = ckks::layout_of(p.literal(), {SwitchRole::to_sparse});
  std::vector<std::uint64_t> all = p.literal().chain, primes;
  all.insert(all.end(), p.literal().special.begin(), p.literal().special.end());
  layout.rows().for_each([&](unsigned i) { primes.push_back(all[i]); });
  return {layout.digits.size() * primes.size(), p.N(), p.word_bytes(), primes, "switch_b"};
}

}  // namespace

template <>
struct Codec<LweInputKeys> {
  static constexpr FrameKind kind{.type = FrameType::lwe_input_keys};

  static void write(const LweInputKeys& value, PayloadWriter& out) {
    write_lwe_party(value.lwe_parameters, value.lwe_key_id, out);
    out.fields().bytes(value.seed);
    out.fields().bytes(value.switch_seed);
    out.align();
    out.words(value.b, rule(value.parameters, value.lwe_parameters));
    out.align();
    out.words(value.switch_b, low_switch_rule(value.parameters));
  }

  static LweInputKeys read(PayloadReader& in, const ckks::Parameters& parameters) {
    auto [lwe, lwe_key] = read_lwe_party(in);
    const auto seed = in.fields().array<32>("seed"),
               switch_seed = in.fields().array<32>("switch_seed");
    in.align();
    const TakenWords b = in.take(rule(parameters, lwe));
    in.align();
    const TakenWords switch_b = in.take(low_switch_rule(parameters));
    in.finish();
    return {parameters, in.header().key_id, std::move(lwe), lwe_key,
            seed,       in.words(b),        switch_seed,    in.words(switch_b)};
  }

 private:
  static WordRule rule(const ckks::Parameters& p, const binfhe::Parameters& lwe) {
    const bridges::Packing packing(p);
    return {checked_product(lwe.n(), packing.primes.size(), "b"), packing.dimension, p.word_bytes(),
            packing.primes, "b"};
  }
};

WHORL_INSTANTIATE_FILES(LweInputKeys);

}  // namespace whorl::io
