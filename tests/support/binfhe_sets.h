// Small parameter sets for tests, insecure and quick, and key pairs made once.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "math/primes.h"
#include "support/once.h"
#include "whorl/binfhe.h"

namespace whorl::test {

/// N = 256, ternary keys, little noise. Tests change what they are about.
inline binfhe::ParameterLiteral small_literal() {
  binfhe::ParameterLiteral p;
  p.name = "small";
  p.source = "tests";
  p.n = 16;
  p.q = 512;
  p.N = 256;
  p.Q = 134215681;
  p.Q_ks = 1 << 14;
  p.log_B_ks = 5;
  p.gadget = {{16, 7, 3}};
  p.sigma_lwe = 0.8;
  p.sigma_ring = 3.19;
  return p;
}
inline binfhe::Parameters insecure(const binfhe::ParameterLiteral& literal) {
  return binfhe::Parameters::create(literal, true);
}

/// `options` with consent to whatever probability of failure small sets have.
inline binfhe::ServerOptions failing(binfhe::ServerOptions options = {}) {
  options.allow_failure = 1;
  return options;
}

/// Blocks of four, centred at 1/5.
inline binfhe::Parameters block_set() {
  binfhe::ParameterLiteral p = small_literal();
  p.name = "block-binary";
  p.q = p.Q_ks = 1 << 15;
  p.lwe_secret = binfhe::SecretDistribution::block_binary;
  p.rotation = {binfhe::RotationKind::block, 4};
  p.log_B_ks = 4;
  p.ks_digits = 3;
  return insecure(p);
}

/// Sets that differ in kind: q against 2N, word sizes, key switching, gadgets, secrets.
inline std::vector<binfhe::Parameters> varied_sets() {
  using namespace binfhe;
  std::vector<Parameters> sets;
  auto add = [&](const char* name, auto change) {
    ParameterLiteral p = small_literal();
    p.name = name;
    change(p);
    sets.push_back(insecure(p));
  };
  add("q = 2N", [](auto&) {});
  add("q = N, ntt", [](auto& p) { p.q = 256, p.transform = Transform::ntt; });
  add("q = N/2", [](auto& p) { p.q = 128, p.sigma_lwe = 0.5; });
  add("q > 2N, binary, centred", [](auto& p) {
    p.q = p.Q_ks = 1 << 15;
    p.lwe_secret = SecretDistribution::binary;
    p.log_B_ks = 4;
    p.ks_digits = 3;
  });
  add("q = 2^20 > 2N, binary, 64-bit words, product", [](auto& p) {
    p.q = p.Q_ks = 1 << 20;
    p.Q = math::ntt_primes(48, 256, 1)[0];
    p.lwe_secret = SecretDistribution::binary;
    p.key_switch = KeySwitch::product;
    p.log_B_ks = 2;
    p.ks_digits = 8;
    p.gadget = {{16, 23, 1}};
  });
  add("several ranges, 64-bit words, ntt, Q_ks = 2^35", [](auto& p) {
    p.Q = math::ntt_primes(50, 256, 1)[0];
    p.Q_ks = 1ULL << 35;
    p.gadget = {{5, 25, 1}, {10, 13, 3}, {1, 10, 5}};
    p.transform = Transform::ntt;
  });
  add("Q_ks = Q, gaussian ring key", [](auto& p) {
    p.Q_ks = p.Q;
    p.log_B_ks = 5;
    p.ring_secret = SecretDistribution::gaussian;
  });
  add("exact gadget, binary ring key, product", [](auto& p) {
    p.gadget = {{16, 7, 4}};
    p.ring_secret = SecretDistribution::binary;
    p.key_switch = KeySwitch::product;
    p.Q_ks = 1ULL << 20;
  });
  add("unrolled, all keys, two gadgets", [](auto& p) {
    p.q = p.Q_ks = 1 << 15;
    p.lwe_secret = SecretDistribution::binary;
    p.log_B_ks = 4;
    p.ks_digits = 3;
    p.rotation = {RotationKind::unrolled_all, 3};
    p.gadget = {{6, 7, 3}, {p.n - 6, 9, 2}};
  });
  sets.push_back(block_set());
  return sets;
}

using Pair = KeyPair<binfhe::Client, binfhe::EvaluationKeys>;
/// A client and its keys, made once per parameters.
inline const Pair& pair_of(const binfhe::Parameters& parameters) {
  return made_once<Pair>(parameters, [&] {
    const binfhe::Client client(parameters);
    return Pair{client, client.evaluation_keys(2)};
  });
}

}  // namespace whorl::test
