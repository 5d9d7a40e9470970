// A device that counts the products of ciphertexts and the switches of keys that it makes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "backend/contract/relay.h"
#include "support/named_devices.h"

namespace whorl::test {

struct RnsCounts {
  std::atomic<std::size_t> products = 0, key_switches = 0;  ///< of one ciphertext each
};

template <class Word>
class CountingRns final : public backend::RelayRns<Word> {
  using Base = backend::RelayRns<Word>;

 public:
  CountingRns(const backend::Queue& queue, const backend::Queue& behind,
              std::shared_ptr<RnsCounts> counts)
      : Base(queue, behind), counts_(std::move(counts)) {}

 protected:
  using typename Base::Key;
  using typename Base::Tables;
  void run_inner_product(const Key& key, const Tables& tables, const backend::InnerProduct& product,
                         std::size_t batch, const Word* digits, Word* out) const override {
    counts_->key_switches += batch;
    Base::run_inner_product(key, tables, product, batch, digits, out);
  }
  void run_sum_of_inner_products(const Tables& tables, const backend::SumOfInnerProducts<Word>& sum,
                                 Word* out) const override {
    counts_->key_switches += sum.terms.size() * sum.batch;
    Base::run_sum_of_inner_products(tables, sum, out);
  }
  void run_tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts,
                  std::size_t b_parts, std::size_t batch, bool one_b, const Word* a, const Word* b,
                  const backend::TensorEnd<Word>& end, Word* out) const override {
    if (a_parts > 1 && b_parts > 1) counts_->products += batch;  // not by plaintexts
    Base::run_tensor(tables, basis, a_parts, b_parts, batch, one_b, a, b, end, out);
  }

 private:
  std::shared_ptr<RnsCounts> counts_;
};

class CountingRnsQueue final : public backend::Relay {
 public:
  CountingRnsQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> behind,
                   const std::shared_ptr<RnsCounts>& counts)
      : Relay(std::move(device), std::move(behind)) {
    offer<backend::RnsOps<std::uint32_t>>(
        std::make_shared<CountingRns<std::uint32_t>>(*this, this->behind(), counts));
    offer<backend::RnsOps<std::uint64_t>>(
        std::make_shared<CountingRns<std::uint64_t>>(*this, this->behind(), counts));
  }
};

/// Such a device under the name that servers take, of one thread.
inline std::shared_ptr<RnsCounts> name_counting_device() {
  const auto counts = std::make_shared<RnsCounts>();
  using Device = backend::RelayDevice<CountingRnsQueue, std::shared_ptr<RnsCounts>>;
  name_devices(
      {std::make_shared<Device>(named_devices, backend::make_device("cpu", {1, {}}), counts)});
  return counts;
}

}  // namespace whorl::test
