// Small, insecure sets for EvalFloor, EvalSign and EvalDecomp: 16 steps a rotation, the errors of
// whole sets or less.
#pragma once

#include "support/binfhe_sets.h"
#include "support/test.h"
#include "whorl/binfhe.h"
#include "whorl/circuits/binfhe/large_precision.h"

namespace whorl::test {

inline binfhe::ParameterLiteral large_literal(const char* name, unsigned log_q) {
  binfhe::ParameterLiteral p;
  p.name = name;
  p.source = "tests";
  p.n = 16;
  p.q = 1ULL << log_q;
  p.N = 2048;
  p.Q = 18014398509404161;
  p.Q_ks = 1ULL << 35;
  p.key_switch = binfhe::KeySwitch::product;
  p.log_B_ks = 2;
  p.gadget = {{16, 14, 3}};
  p.transform = binfhe::Transform::ntt;
  return p;
}

/// Sets that differ in what the operations depend on: bits of q, 2N, keys, secrets, words.
inline std::vector<binfhe::Parameters> large_sets() {
  std::vector<binfhe::Parameters> sets;
  const auto add = [&](const char* name, unsigned log_q, auto change) {
    binfhe::ParameterLiteral p = large_literal(name, log_q);
    change(p);
    sets.push_back(insecure(p));
  };
  add("2^29, three bases", 29, [](auto& p) {
    p.small_modulus_gadgets = {{26, 18, 2}, {17, 27, 1}};
  });
  add("2^23, unequal digits", 23, [](auto& p) { p.gadget = {{16, 18, 2}}; });
  add("2^17, binary, table", 17, [](auto& p) {
    p.lwe_secret = binfhe::SecretDistribution::binary;
    p.key_switch = binfhe::KeySwitch::table;
    p.log_B_ks = 4;
    p.gadget = {{16, 27, 1}};
  });
  add("2^20, N = 512, two bases, fft", 20, [](auto& p) {
    p.N = 512;
    p.Q = math::ntt_primes(54, 512, 1)[0];
    p.gadget = {{16, 12, 3}};
    p.small_modulus_gadgets = {{16, 18, 2}};
    p.transform = binfhe::Transform::fft;
  });
  add("2^11, N = 1024, Q_ks above Q", 11, [](auto& p) {
    p.N = 1024;
    p.Q = 134215681;
    p.gadget = {{16, 5, 5}};
  });
  return sets;
}

// The circuits of large precision on ciphertexts of the host.

inline binfhe::Ciphertexts floor_of(const binfhe::Server& server, const binfhe::Ciphertexts& in,
                                    unsigned bits) {
  return server.download(eval_floor(server, server.upload(in), bits));
}
inline binfhe::Ciphertexts sign_of(const binfhe::Server& server, const binfhe::Ciphertexts& in,
                                   binfhe::Encoding output = {}) {
  return server.download(eval_sign(server, server.upload(in), output));
}
inline std::vector<binfhe::Ciphertexts> digits_of(const binfhe::Server& server,
                                                  const binfhe::Ciphertexts& in) {
  std::vector<binfhe::Ciphertexts> digits;
  for (const binfhe::Array& digit : eval_decomp(server, server.upload(in)))
    digits.push_back(server.download(digit));
  return digits;
}

}  // namespace whorl::test
