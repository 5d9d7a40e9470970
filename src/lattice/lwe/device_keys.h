// A server's keys: on the host, and as a device holds them.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "backend/contract/lwe.h"
#include "backend/contract/rotation.h"
#include "math/random.h"
#include "run/keys.h"
#include "whorl/word_array.h"

namespace whorl::lattice::lwe {

/// A blind-rotation key as it is sent.
struct RotationMaterial {
  backend::RotationShape shape;
  math::Seed seed{};
  WordArray b;  ///< as RotationMethod::generate makes it
};

/// Keys in the form in which they are sent: the seeds of the uniform halves, and the b halves.
struct KeyMaterial {
  backend::RotationShape rotation;
  math::Seed rotation_seed{};
  WordArray rotation_b;  ///< as RotationMethod::generate makes them
  backend::SwitchShape key_switch;
  math::Seed switch_seed{};
  WordArray switch_b;  ///< as switch_key_bodies makes them
  /// Other blind-rotation keys of the same secrets, n, N and Q.
  std::vector<RotationMaterial> further_rotations{};
};

/// Keys that a device has prepared. They stay on the device as long as this object exists.
struct DeviceKeys {
  std::shared_ptr<const backend::RotationKey> rotation;
  std::shared_ptr<const backend::SwitchKey> key_switch;
  std::vector<std::shared_ptr<const backend::RotationKey>> further_rotations{};
};

/// Puts a blind-rotation key on a device.
run::SizedKey prepare_rotation(const backend::Queue& queue, const backend::RotationShape& shape,
                               const math::Seed& seed, const WordArray& b_halves);

/// Keys are put on a device when they are used there, and leave it where the budget asks for it.
class Keys {
 public:
  Keys(const std::shared_ptr<run::KeyBudget>& budget, KeyMaterial material);

  const backend::RotationShape& rotation() const { return material_->rotation; }
  const backend::SwitchShape& key_switch() const { return material_->key_switch; }
  /// Prepares the keys that are not on the device. OutOfMemoryError if they do not fit the budget
  /// or the device; DeviceError if the device has no kernel for them.
  DeviceKeys on(const run::Lane& lane) const;
  /// Bytes that the keys take on a lane's device now.
  std::size_t bytes_on(const run::Lane& lane) const;
  void release(const run::Lane& lane) const;

 private:
  std::shared_ptr<const KeyMaterial> material_;
  run::KeyOnDevices rotation_, key_switch_;
  std::deque<run::KeyOnDevices> further_rotations_;
};

}  // namespace whorl::lattice::lwe
