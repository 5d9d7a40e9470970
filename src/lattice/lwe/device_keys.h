// A server's keys: on the host, and as a device holds them.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/contract/lwe.h"
#include "backend/contract/rotation.h"
#include "math/random.h"
#include "run/keys.h"
#include "whorl/word_array.h"

namespace whorl::lattice::lwe {

/// What keys are made of, as it travels: seeds of the uniform halves, and the b halves.
struct KeyMaterial {
  backend::RotationShape rotation;
  math::Seed rotation_seed{};
  WordArray rotation_b;  ///< as RotationMethod::generate makes them
  backend::SwitchShape key_switch;
  math::Seed switch_seed{};
  WordArray switch_b;  ///< as switch_key_bodies makes them
};

/// Prepared by a device. Whoever has them keeps them there.
struct DeviceKeys {
  std::shared_ptr<const backend::RotationKey> rotation;
  std::shared_ptr<const backend::SwitchKey> key_switch;
};

/// Put on a device when they are used there, and taken off again where the budget asks for it.
class Keys {
 public:
  Keys(const std::shared_ptr<run::KeyBudget>& budget, KeyMaterial material);

  const backend::RotationShape& rotation() const { return material_->rotation; }
  const backend::SwitchShape& key_switch() const { return material_->key_switch; }
  /// Prepares those that are not there. OutOfMemoryError if they do not fit the budget or the
  /// device; DeviceError if it has no kernel for them.
  DeviceKeys on(const run::Lane& lane) const;
  /// What those that are on a lane's device take of it.
  std::size_t bytes_on(const run::Lane& lane) const;
  void release(const run::Lane& lane) const;

 private:
  std::shared_ptr<const KeyMaterial> material_;
  run::KeyOnDevices rotation_, key_switch_;
};

}  // namespace whorl::lattice::lwe
