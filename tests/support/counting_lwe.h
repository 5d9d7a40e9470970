// A device that counts the blind rotations, key switches and sums that it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "backend/contract/relay.h"
#include "lattice/lwe/dry_device.h"
#include "support/named_devices.h"

namespace whorl::test {

using lattice::lwe::LweCounts;

template <class Word>
class CountingRotation final : public backend::RelayRotation<Word> {
  using Base = backend::RelayRotation<Word>;

 public:
  CountingRotation(const backend::Queue& queue, const backend::Queue& behind,
                   std::shared_ptr<LweCounts> counts)
      : Base(queue, behind), counts_(std::move(counts)) {}

 protected:
  using typename Base::Batch;
  void run_rotations(const backend::RotationKey& key, const Batch& batch) const override {
    counts_->rotations += batch.count;
    Base::run_rotations(key, batch);
  }

 private:
  std::shared_ptr<LweCounts> counts_;
};

class CountingLwe final : public backend::RelayLwe {
 public:
  CountingLwe(const backend::Queue& queue, const backend::Queue& behind,
              std::shared_ptr<LweCounts> counts)
      : RelayLwe(queue, behind), counts_(std::move(counts)) {}

 protected:
  void run_key_switch(const backend::SwitchKey& key, std::size_t count, backend::ConstWords in,
                      backend::Words out) const override {
    counts_->key_switches += count;
    RelayLwe::run_key_switch(key, count, in, out);
  }
  void run_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const backend::ConstWords> in, std::uint64_t constant,
                  std::size_t count, backend::Words out) const override {
    counts_->sums += count;
    RelayLwe::run_linear(q, row, weights, in, constant, count, out);
  }
  void run_matrix(const Matrix& matrix, backend::ConstWords in, backend::Words out) const override {
    counts_->sums += matrix.groups * matrix.results() * matrix.batch;
    RelayLwe::run_matrix(matrix, in, out);
  }
  void run_sums(const backend::LweSums& sums, std::size_t first, std::size_t count,
                std::span<const backend::ConstWords> in, backend::Words out) const override {
    counts_->sums += count;
    RelayLwe::run_sums(sums, first, count, in, out);
  }

 private:
  std::shared_ptr<LweCounts> counts_;
};

class CountingLweQueue final : public backend::Relay {
 public:
  CountingLweQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> behind,
                   const std::shared_ptr<LweCounts>& counts)
      : Relay(std::move(device), std::move(behind)) {
    offer<backend::RotationOps<std::uint32_t>>(
        std::make_shared<CountingRotation<std::uint32_t>>(*this, this->behind(), counts));
    offer<backend::RotationOps<std::uint64_t>>(
        std::make_shared<CountingRotation<std::uint64_t>>(*this, this->behind(), counts));
    offer<backend::LweOps>(std::make_shared<CountingLwe>(*this, this->behind(), counts));
  }
};

/// Such a device under the name that servers take, of one thread.
inline std::shared_ptr<LweCounts> name_counting_lwe() {
  const auto counts = std::make_shared<LweCounts>();
  using Device = backend::RelayDevice<CountingLweQueue, std::shared_ptr<LweCounts>>;
  name_devices(
      {std::make_shared<Device>(named_devices, backend::make_device("cpu", {1, {}}), counts)});
  return counts;
}

}  // namespace whorl::test
