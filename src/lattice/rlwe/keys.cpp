#include "lattice/rlwe/keys.h"

#include <mutex>
#include <string>

#include "whorl/error.h"

namespace whorl::lattice::rlwe {

Keys::Keys(std::shared_ptr<const Evaluator> evaluator, std::span<const SwitchKeyData> keys,
           std::shared_ptr<run::KeyBudget> budget)
    : evaluator_(std::move(evaluator)) {
  const run::Fleet& fleet = evaluator_->fleet();
  for (const SwitchKeyData& data : keys) {
    auto key = evaluator_->prepare(data, budget);
    if (budget->bytes() == run::KeyBudget::unlimited)
      for (std::size_t lane = 0; lane < fleet.size(); ++lane)
        key->devices().on<void>(*fleet.lane(lane));
    keys_[{data.g, data.power}] = std::move(key);
  }
}

Keys::Keys(std::shared_ptr<const Evaluator> evaluator, ring::KeyLayout layout)
    : evaluator_(std::move(evaluator)), open_(std::make_shared<Open>()) {
  open_->layout = std::move(layout);
}

bool Keys::holds(std::uint32_t g, unsigned power) const {
  if (!open_) return keys_.contains({g, power});
  const std::lock_guard lock(open_->mutex);
  return open_->keys.contains({g, power});
}

std::vector<SwitchSource> Keys::sources() const {
  std::unique_lock<math::ProcessMutex> lock;
  if (open_) lock = std::unique_lock(open_->mutex);
  std::vector<SwitchSource> out;
  for (const auto& [name, key] : open_ ? open_->keys : keys_)
    out.push_back({name.first, name.second});
  return out;
}

const Key& Keys::get(std::uint32_t g, unsigned power) const {
  if (open_) {
    const std::lock_guard lock(open_->mutex);
    auto found = open_->keys.find({g, power});
    if (found == open_->keys.end())
      found =
          open_->keys
              .emplace(std::pair(g, power), evaluator_->prepare({g, power, {}, {}, open_->layout},
                                                                std::make_shared<run::KeyBudget>()))
              .first;
    return *found->second;
  }
  const auto found = keys_.find({g, power});
  if (found != keys_.end()) return *found->second;
  if (power > 1)
    throw MissingKeyError("there is no relinearisation key for s^" + std::to_string(power) +
                          ": ask the client for relinearise=" + std::to_string(power + 1));
  throw MissingKeyError("there is no rotation key for X -> X^" + std::to_string(g) +
                        (g == 2 * evaluator_->N() - 1 ? ", the exchange of rows" : ""));
}

std::size_t Keys::bytes() const {
  const run::Fleet& fleet = evaluator_->fleet();
  std::size_t sum = 0;
  for (const auto& [name, key] : keys_)
    for (std::size_t lane = 0; lane < fleet.size(); ++lane)
      sum += key->devices().bytes_on(*fleet.lane(lane));
  return sum;
}

}  // namespace whorl::lattice::rlwe
