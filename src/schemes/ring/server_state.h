// What the servers of BGV and CKKS are made of alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "run/session.h"
#include "schemes/ring/derived.h"
#include "whorl/error.h"
#include "whorl/ring_keys.h"

namespace whorl {

/// An evaluator that leaves room for the keys beside arrays.
template <class EvaluationKeys>
auto evaluator_for(const EvaluationKeys& keys, const run::SessionState& session) {
  return lattice::rlwe::Evaluator::make(session.fleet, any_plan_of(keys.parameters),
                                        std::min(2 * keys.bytes(), session.budget->bytes()));
}

/// The keys of a role; `layout` says what they are over, by default what the plan's usual ones are.
inline std::vector<lattice::rlwe::SwitchKeyData> keys_of_role(
    const std::vector<RingSwitchKey>& keys, SwitchRole role, const ring::KeyLayout& layout = {}) {
  std::vector<lattice::rlwe::SwitchKeyData> out;
  for (const RingSwitchKey& key : keys)
    if (key.role == role) out.push_back({key.g, key.power, key.seed, key.b, layout});
  return out;
}

/// ShapeError for no array, and DeviceError for one of another server.
inline void check_array(const lattice::rlwe::Array* a, const lattice::rlwe::Evaluator& evaluator,
                        const run::SessionState& session) {
  if (!a) throw ShapeError("an empty array was given to a server");
  if (!a->is_of(evaluator))
    throw DeviceError("an array of another server was given to " + session.name);
}

/// ShapeError unless the numbers of ciphertexts and of `of_b` are equal, or one of them is 1.
inline void check_counts(std::size_t a, std::size_t b, const char* of_b) {
  if (a != b && a != 1 && b != 1)
    throw ShapeError("a batch of " + std::to_string(a) + " ciphertexts meets " + std::to_string(b) +
                     " " + of_b + ": the numbers must be equal, or one of them must be 1");
}

/// Arrays of results of automorphisms by `gs`, which put() makes, and `a` itself for g = 1.
template <class Array, class Put>
std::vector<Array> put_turned(const Array& a, std::span<const std::uint32_t> gs,
                              const std::vector<lattice::rlwe::Array>& turned, const Put& put) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < gs.size(); ++i) out.push_back(gs[i] == 1 ? a : put(turned[i]));
  return out;
}

}  // namespace whorl
