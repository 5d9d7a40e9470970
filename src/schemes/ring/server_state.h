// What the servers of BGV and CKKS are made of alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lattice/rlwe/dry_evaluator.h"
#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "math/memory.h"
#include "math/text.h"
#include "run/session.h"
#include "schemes/ring/derived.h"
#include "whorl/error.h"
#include "whorl/ring_keys.h"
#include "whorl/ring_server.h"

namespace whorl {

/// The keys of a kind; `layout` says what they are over, by default what the plan's usual ones are.
inline std::vector<lattice::rlwe::SwitchKeyData> keys_of_kind(
    const std::vector<RingSwitchKey>& keys, SwitchKind kind, const ring::KeyLayout& layout = {}) {
  std::vector<lattice::rlwe::SwitchKeyData> out;
  for (const RingSwitchKey& key : keys)
    if (key.kind == kind) out.push_back({key.g, key.power, key.seed, key.b, layout});
  return out;
}

/// The session of a dry run.
inline std::shared_ptr<const run::SessionState> no_session() {
  run::SessionState out({.device = "cpu", .threads = 1});
  out.names = {"no device: a dry run"};
  out.name = out.names[0];
  return std::make_shared<const run::SessionState>(std::move(out));
}

/// What a server is made of, besides its account and keys.
template <class Parameters>
struct RingServerState {
  /// The evaluator leaves room for the keys beside arrays.
  RingServerState(const RingEvaluationKeys<Parameters>& data,
                  std::shared_ptr<const run::SessionState> on)
      : parameters(data.parameters),
        key_id(data.key_id),
        session(std::move(on)),
        evaluator(lattice::rlwe::Evaluator::make(
            fleet, any_plan_of(parameters), std::min(2 * data.bytes(), session->budget->bytes()),
            lattice::rlwe::Owner{parameters.digest(), key_id})) {}
  /// Makes that of a dry run.
  explicit RingServerState(const Parameters& of)
      : parameters(of),
        key_id{},
        session(no_session()),
        evaluator(std::make_shared<const lattice::rlwe::DryEvaluator>(
            fleet, of.N(), of.limbs(), of.special(), of.word_bytes())) {}

  Parameters parameters;
  KeyId key_id;
  std::shared_ptr<const run::SessionState> session;
  std::shared_ptr<const run::Fleet> fleet = session->fleet;
  std::shared_ptr<const lattice::rlwe::Evaluator> evaluator;

  /// ShapeError for no array, DeviceError for one of another session, KeyMismatchError or
  /// ParameterMismatchError for one of another owner. Plaintexts have parameters and no key.
  void check_residues(const lattice::rlwe::Array* a) const {
    if (!a) throw ShapeError("an empty array was given to a server");
    if (evaluator->takes(*a)) return;
    const lattice::rlwe::Evaluator& other = a->evaluator();
    const bool plain = a->parts() == 1;
    const std::string given = (plain ? "plaintexts of another server were given to "
                                     : "an array of another server was given to ") +
                              session->name;
    if (&other.fleet() != fleet.get() || !other.owner())
      throw DeviceError(given + ": " +
                        (plain ? "encode them here" : "download it there, and upload it here") +
                        ", or give both servers one session");
    if (plain || other.owner()->key == key_id)
      throw ParameterMismatchError(given + ", whose parameters are others: \"" +
                                   parameters.literal().name + "\"");
    throw KeyMismatchError(given + ": it is of key " + math::short_id(other.owner()->key) +
                           ", and the server of key " + math::short_id(key_id));
  }
};

/// What circuits see of a server.
template <class State_>
struct RingAccess {
  using State = State_;
  static const State& of(const auto& server) { return server.state(); }
};

template <class Parameters, class Info, class State>
RingServer<Parameters, Info, State>::RingServer(const RingEvaluationKeys<Parameters>& keys,
                                                const Session& session)
    : state_(math::with_memory_for("a server", [&] {
        return std::make_shared<const State>(keys, run::state_of(session));
      })) {}
template <class Parameters, class Info, class State>
const Parameters& RingServer<Parameters, Info, State>::parameters() const {
  return state_->parameters;
}
template <class Parameters, class Info, class State>
const KeyId& RingServer<Parameters, Info, State>::key_id() const {
  return state_->key_id;
}
template <class Parameters, class Info, class State>
const std::string& RingServer<Parameters, Info, State>::device() const {
  return state_->session->name;
}
template <class Parameters, class Info, class State>
const std::vector<std::string>& RingServer<Parameters, Info, State>::devices() const {
  return state_->session->names;
}
template <class Parameters, class Info, class State>
unsigned RingServer<Parameters, Info, State>::threads() const {
  return state_->fleet->lane(0)->device().threads();
}
template <class Parameters, class Info, class State>
std::vector<FailedDevice> RingServer<Parameters, Info, State>::failed_devices() const {
  return state_->fleet->failed();
}
template <class Parameters, class Info, class State>
std::size_t RingServer<Parameters, Info, State>::key_bytes() const {
  std::size_t sum = 0;
  for (const lattice::rlwe::Keys& keys : state_->all_keys()) sum += keys.bytes();
  return sum;
}
template <class Parameters, class Info, class State>
RingCiphertexts<Parameters, Info> RingServer<Parameters, Info, State>::download(
    const RingArray<Info>& a) const {
  check(a);
  return {parameters(), key_id(), a.info_, state_->evaluator->download(*a.residues_), std::nullopt};
}
template <class Parameters, class Info, class State>
void RingServer<Parameters, Info, State>::check(const RingArray<Info>& a) const {
  state_->check_residues(a.residues_.get());
}
template <class Parameters, class Info, class State>
void RingServer<Parameters, Info, State>::synchronise() const {
  state_->fleet->wait();
}
template <class Info>
std::size_t RingArray<Info>::bytes() const {
  return residues_ ? residues_->bytes() : 0;
}

/// ShapeError unless the numbers of ciphertexts and of `of_b` are equal, or one of them is 1.
inline void check_counts(std::size_t a, std::size_t b, const char* of_b) {
  if (a != b && a != 1 && b != 1)
    throw ShapeError("a batch of " + std::to_string(a) + " ciphertexts meets " + std::to_string(b) +
                     " " + of_b + ": the numbers must be equal, or one of them must be 1");
}

/// The arrays that make() makes of the residues of a(X^g) for each of `gs`; `a` itself for g = 1.
template <class Array, class Make>
std::vector<Array> images_of(const Array& a, std::span<const std::uint32_t> gs,
                             const std::vector<lattice::rlwe::Array>& turned, const Make& make) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < gs.size(); ++i) out.push_back(gs[i] == 1 ? a : make(turned[i]));
  return out;
}

}  // namespace whorl
