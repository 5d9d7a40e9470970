// The payload of keys that are polynomials modulo the Q of FHEW/TFHE: the seed of their uniform
// halves, and the others.
#pragma once

#include <cstddef>

#include "io/native/binfhe_literal.h"
#include "io/native/files.h"

namespace whorl::io {

/// `rows` says how many polynomials there are, by the parameters.
template <class Keys, FrameType type, auto rows>
struct RingRowsCodec {
  static constexpr FrameKind kind{.type = type};

  static void write(const Keys& value, PayloadWriter& out) {
    out.fields().bytes(value.seed);
    out.align();
    out.words(value.b, rule(value.parameters));
  }

  static Keys read(PayloadReader& in, const binfhe::Parameters& parameters) {
    const auto seed = in.fields().array<32>("seed");
    in.align();
    const TakenWords b = in.take(rule(parameters));
    in.finish();
    return {parameters, in.header().key_id, seed, in.words(b)};
  }

 private:
  static WordRule rule(const binfhe::Parameters& p) {
    return {std::size_t{rows(p)}, p.N(), ring_word_bytes(p.Q()), {p.Q()}, "b"};
  }
};

}  // namespace whorl::io
