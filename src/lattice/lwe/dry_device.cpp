#include "lattice/lwe/dry_device.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "backend/contract/relay.h"

namespace whorl::lattice::lwe {

namespace {

template <class Base>
struct Shaped final : Base {
  using Base::Base;
  explicit Shaped(std::remove_cvref_t<decltype(std::declval<Base>().shape())> shape)
      : Base(std::move(shape)) {}
  std::size_t bytes() const override { return 0; }
};

template <class Word>
class Rotation final : public backend::RelayRotation<Word> {
 public:
  Rotation(const backend::Queue& queue, const backend::Queue& behind,
           std::shared_ptr<LweCounts> counts)
      : backend::RelayRotation<Word>(queue, behind), counts_(std::move(counts)) {}

 protected:
  using typename backend::RelayRotation<Word>::Batch;
  std::unique_ptr<backend::RotationKey> make_key(const backend::RotationShape& shape,
                                                 const backend::RowSource<Word>&) const override {
    return std::make_unique<Shaped<backend::RotationKey>>(shape);
  }
  void run_rotations(const backend::RotationKey& key, const Batch& batch) const override {
    counts_->rotations += batch.count;
    const std::size_t N = key.shape().N;
    std::fill_n(batch.out, batch.count * (batch.constant ? N + 1 : 2 * N), Word{0});
  }

 private:
  std::shared_ptr<LweCounts> counts_;
};

class Lwe final : public backend::RelayLwe {
 public:
  Lwe(const backend::Queue& queue, const backend::Queue& behind, std::shared_ptr<LweCounts> counts)
      : RelayLwe(queue, behind), counts_(std::move(counts)) {}

 protected:
  std::unique_ptr<backend::SwitchKey> make_switch_key(const backend::SwitchShape& shape,
                                                      const SwitchRowSource&) const override {
    return std::make_unique<Shaped<backend::SwitchKey>>(shape);
  }
  void run_key_switch(const backend::SwitchKey& key, std::size_t count, backend::ConstWords,
                      backend::Words out) const override {
    counts_->key_switches += count;
    std::memset(out.data, 0, count * (std::size_t{key.shape().n} + 1) * out.bytes);
  }
  void run_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const backend::ConstWords> in, std::uint64_t constant,
                  std::size_t count, backend::Words out) const override {
    counts_->sums += count;
    RelayLwe::run_linear(q, row, weights, in, constant, count, out);
  }
  /// Matrices are large: as behind rotations, the sums are zeros.
  void run_matrix(const Matrix& matrix, backend::ConstWords, backend::Words out) const override {
    const std::size_t sums = matrix.groups * matrix.results() * matrix.batch;
    counts_->sums += sums;
    std::memset(out.data, 0, sums * matrix.row * out.bytes);
  }
  void run_sums(const backend::LweSums& sums, std::size_t, std::size_t count,
                std::span<const backend::ConstWords>, backend::Words out) const override {
    counts_->sums += count;
    std::memset(out.data, 0, count * sums.shape().row * out.bytes);
  }

 private:
  std::shared_ptr<LweCounts> counts_;
};

class Queue final : public backend::Relay {
 public:
  Queue(std::shared_ptr<const backend::Device> device, std::unique_ptr<backend::Queue> behind,
        const std::shared_ptr<LweCounts>& counts)
      : Relay(std::move(device), std::move(behind)) {
    offer<backend::RotationOps<std::uint32_t>>(
        std::make_shared<Rotation<std::uint32_t>>(*this, this->behind(), counts));
    offer<backend::RotationOps<std::uint64_t>>(
        std::make_shared<Rotation<std::uint64_t>>(*this, this->behind(), counts));
    offer<backend::LweOps>(std::make_shared<Lwe>(*this, this->behind(), counts));
  }
};

}  // namespace

std::shared_ptr<const backend::Device> dry_device(std::shared_ptr<LweCounts> counts) {
  using Device = backend::RelayDevice<Queue, std::shared_ptr<LweCounts>>;
  return std::make_shared<Device>("no device: a dry run", backend::make_device("cpu", {1, {}}),
                                  std::move(counts));
}

}  // namespace whorl::lattice::lwe
