// Switching keys on a server's devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "math/process.h"
#include "run/keys.h"

namespace whorl::lattice::rlwe {

/// One switching key, prepared on the devices that have used it: see run::KeyOnDevices.
class Key {
 public:
  Key(std::uint32_t g, unsigned power, ring::KeyLayout layout, std::size_t bytes,
      std::shared_ptr<run::KeyBudget> budget, run::PrepareKey prepare)
      : g_(g),
        power_(power),
        layout_(std::move(layout)),
        devices_(std::move(budget), bytes, std::move(prepare)) {}

  std::uint32_t g() const { return g_; }
  unsigned power() const { return power_; }
  const ring::KeyLayout& layout() const { return layout_; }
  const run::KeyOnDevices& devices() const { return devices_; }

 private:
  std::uint32_t g_;
  unsigned power_;
  ring::KeyLayout layout_;
  run::KeyOnDevices devices_;
};

/// The keys of one secret, by what they switch from: s(X^g)^power.
class Keys {
 public:
  /// ShapeError or ParameterError if the data are not keys over the evaluator's primes. If the
  /// budget has no bound, keys are prepared on all devices at once; otherwise when they are first
  /// used.
  Keys(std::shared_ptr<const Evaluator> evaluator, std::span<const SwitchKeyData> keys,
       std::shared_ptr<run::KeyBudget> budget);

  /// Keys of a dry run (DryEvaluator): each is there once get() has asked for it.
  Keys(std::shared_ptr<const Evaluator> evaluator, ring::KeyLayout layout);

  /// Whether get() has it.
  bool has(std::uint32_t g, unsigned power) const { return is_open() || holds(g, power); }
  /// Whether it is there; of a dry run, whether it was asked for.
  bool holds(std::uint32_t g, unsigned power) const;
  /// Whether they are those of a dry run.
  bool is_open() const { return open_ != nullptr; }
  /// What the keys that are there switch from.
  std::vector<SwitchSource> sources() const;
  /// MissingKeyError names the key that is missing.
  const Key& get(std::uint32_t g, unsigned power) const;
  /// Bytes on all devices, as of now.
  std::size_t bytes() const;

 private:
  using Map = std::map<std::pair<std::uint32_t, unsigned>, std::shared_ptr<const Key>>;
  /// What get() has made. Keys stay where they are.
  struct Open {
    ring::KeyLayout layout;
    math::ProcessMutex mutex;
    Map keys;
  };

  std::shared_ptr<const Evaluator> evaluator_;
  Map keys_;
  std::shared_ptr<Open> open_;  ///< of a dry run
};

}  // namespace whorl::lattice::rlwe
