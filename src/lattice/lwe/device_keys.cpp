#include "lattice/lwe/device_keys.h"

#include <algorithm>
#include <utility>

#include "lattice/lwe/rotation_method.h"

namespace whorl::lattice::lwe {

run::SizedKey prepare_rotation(const backend::Queue& queue, const backend::RotationShape& shape,
                               const math::Seed& seed, const WordArray& b_halves) {
  const auto with = [&]<class Word>(Word) {
    const auto bodies = b_halves.as<Word>();
    const std::size_t words = shape.row_words();
    const backend::RowSource<Word> rows = [&](std::size_t r, std::span<Word> a, std::span<Word> b) {
      RotationMethod::expand<Word>(shape, seed, r, a);
      std::copy_n(bodies.begin() + static_cast<std::ptrdiff_t>(r * words), words, b.begin());
    };
    return run::sized(queue.rotation<Word>().prepare(shape, rows));
  };
  return backend::with_word_bytes(static_cast<unsigned>(b_halves.word_bytes()), with);
}

namespace {

run::SizedKey prepare_switch(const backend::Queue& queue, const KeyMaterial& keys) {
  const auto with = [&]<class Word>(Word) {
    const auto bodies = keys.switch_b.as<Word>();
    const backend::SwitchShape& shape = keys.key_switch;
    const backend::SwitchRows<Word> rows = [&](std::size_t first, std::size_t count, Word* out,
                                               std::size_t stride) {
      math::expand_uniform_rows<Word>(keys.switch_seed, first, shape.Q_ks,
                                      {out, count, shape.n, stride});
      for (std::size_t r = 0; r < count; ++r) out[r * stride + shape.n] = bodies[first + r];
    };
    return run::sized(queue.lwe().prepare_switch_key(shape, rows));
  };
  return backend::with_word_bytes<2>(static_cast<unsigned>(keys.switch_b.word_bytes()), with);
}

/// About so many bytes of a device's memory a switching key takes: for each of its rows n + 1
/// words, as large as those in which it travels.
std::size_t switch_bytes(const KeyMaterial& keys) {
  return keys.switch_b.size() * (keys.key_switch.n + 1) * keys.switch_b.word_bytes();
}

}  // namespace

Keys::Keys(const std::shared_ptr<run::KeyBudget>& budget, KeyMaterial material)
    : material_(std::make_shared<const KeyMaterial>(std::move(material))),
      rotation_(budget, RotationMethod::bytes(material_->rotation),
                [keys = material_](const backend::Queue& queue) {
                  return prepare_rotation(queue, keys->rotation, keys->rotation_seed,
                                          keys->rotation_b);
                }),
      key_switch_(budget, switch_bytes(*material_),
                  [keys = material_](const backend::Queue& queue) {
                    return prepare_switch(queue, *keys);
                  }) {
  for (std::size_t k = 0; k < material_->further_rotations.size(); ++k)
    further_rotations_.emplace_back(budget,
                                    RotationMethod::bytes(material_->further_rotations[k].shape),
                                    [keys = material_, k](const backend::Queue& queue) {
                                      const RotationMaterial& one = keys->further_rotations[k];
                                      return prepare_rotation(queue, one.shape, one.seed, one.b);
                                    });
}

DeviceKeys Keys::on(const run::Lane& lane) const {
  DeviceKeys keys{rotation_.on<backend::RotationKey>(lane),
                  key_switch_.on<backend::SwitchKey>(lane)};
  for (const run::KeyOnDevices& key : further_rotations_)
    keys.further_rotations.push_back(key.on<backend::RotationKey>(lane));
  return keys;
}

std::size_t Keys::bytes_on(const run::Lane& lane) const {
  std::size_t sum = rotation_.bytes_on(lane) + key_switch_.bytes_on(lane);
  for (const run::KeyOnDevices& key : further_rotations_) sum += key.bytes_on(lane);
  return sum;
}

void Keys::release(const run::Lane& lane) const {
  rotation_.release(lane);
  key_switch_.release(lane);
  for (const run::KeyOnDevices& key : further_rotations_) key.release(lane);
}

}  // namespace whorl::lattice::lwe
