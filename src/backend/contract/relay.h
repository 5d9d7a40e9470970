// A device that forwards every operation to another device. It is the base of test doubles, and of
// hardware that does only a few things itself. A family that changes something derives from the
// relay of its family and overrides that; the queue then offers it in the place of the relay.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "backend/contract/lwe.h"
#include "backend/contract/ring.h"
#include "backend/contract/rns.h"
#include "backend/contract/rotation.h"

namespace whorl::backend {

template <class Word>
class RelayRing : public RingOps<Word> {
 public:
  RelayRing(const Queue& queue, const Queue& behind)
      : RingOps<Word>(queue), behind_(behind.ring<Word>()) {}

 protected:
  void transform(NttPlans<Word> plans, bool forward, std::size_t batch, Word* data) const override {
    behind_.transform(plans, forward, batch, data);
  }
  void elementwise(Elementwise op, Moduli<Word> q, std::size_t size, const Word* a, const Word* b,
                   Word* out) const override {
    behind_.elementwise(op, q, size, a, b, out);
  }
  void multiply_scalar(Moduli<Word> q, std::span<const Word> scalars, std::size_t size,
                       const Word* a, Word* out) const override {
    behind_.multiply_scalar(q, scalars, size, a, out);
  }
  void permute(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,
               std::size_t size, const Word* a, Word* out) const override {
    behind_.permute(q, N, g, evaluation_form, size, a, out);
  }
  bool below(Moduli<Word> q, std::size_t size, const Word* a) const override {
    return behind_.below(q, size, a);
  }
  void gather(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
              std::size_t in_batch, const Word* in, std::size_t out_batch,
              Word* out) const override {
    behind_.gather(rows, N, index, in_batch, in, out_batch, out);
  }

 private:
  const RingOps<Word>& behind_;
};

class RelayFft : public FftOps {
 public:
  RelayFft(const Queue& queue, const Queue& behind) : FftOps(queue), behind_(behind.fft()) {}

 protected:
  void forward(const ring::FftPlan& plan, std::size_t batch, const double* in,
               std::complex<double>* out) const override {
    behind_.forward(plan, batch, in, out);
  }
  void inverse(const ring::FftPlan& plan, std::size_t batch, const std::complex<double>* in,
               double* out) const override {
    behind_.inverse(plan, batch, in, out);
  }
  void inverse_of_powers(const ring::FftPlan& plan, std::size_t batch,
                         const std::complex<double>* in, double* out) const override {
    behind_.inverse_of_powers(plan, batch, in, out);
  }

 private:
  const FftOps& behind_;
};

/// It fuses nothing, whatever the device behind it fuses, so that every result is made by entries
/// that a derived class may override.
template <class Word>
class RelayRns : public RnsOps<Word> {
 public:
  using typename RnsOps<Word>::Tables;
  using typename RnsOps<Word>::Key;
  RelayRns(const Queue& queue, const Queue& behind)
      : RnsOps<Word>(queue), behind_(behind.rns<Word>()) {}

 protected:
  std::unique_ptr<Tables> make_tables(
      std::shared_ptr<const ring::RnsPlan<Word>> plan) const override {
    return behind_.make_tables(std::move(plan));
  }
  std::unique_ptr<Conversion<Word>> make_conversion(
      const ring::BaseConversion<Word>& rule) const override {
    return behind_.make_conversion(rule);
  }
  std::unique_ptr<Key> make_key(const Tables& tables, const ring::KeyLayout& layout,
                                const RnsRowSource<Word>& rows) const override {
    return behind_.make_key(tables, layout, rows);
  }
  void transform(const Tables& tables, const ring::Basis& basis, bool forward, std::size_t parts,
                 std::size_t batch, Word* data) const override {
    behind_.transform(tables, basis, forward, parts, batch, data);
  }
  void run_conversion(const Conversion<Word>& conversion, std::uint32_t N, std::size_t batch,
                      const Word* in, Word* out) const override {
    behind_.run_conversion(conversion, N, batch, in, out);
  }
  void run_extension(const Tables& tables, const Extension& extension, std::size_t batch,
                     const Word* in, Word* out) const override {
    behind_.run_extension(tables, extension, batch, in, out);
  }
  void run_decomposition(const Tables& tables, const ring::Basis& basis, const ring::Gadget& gadget,
                         std::size_t parts, std::size_t batch, const Word* in,
                         Word* out) const override {
    behind_.run_decomposition(tables, basis, gadget, parts, batch, in, out);
  }
  void run_inner_product(const Key& key, const Tables& tables, const InnerProduct& product,
                         std::size_t batch, const Word* digits, Word* out) const override {
    behind_.run_inner_product(key, tables, product, batch, digits, out);
  }
  void run_division(const Tables& tables, const Division& division, std::size_t parts,
                    std::size_t batch, const Word* in, std::span<const Word> added, std::uint32_t g,
                    Word* out) const override {
    behind_.run_division(tables, division, parts, batch, in, added, g, out);
  }
  void run_tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts,
                  std::size_t b_parts, std::size_t batch, bool one_b, const Word* a, const Word* b,
                  const TensorEnd<Word>& end, Word* out) const override {
    behind_.run_tensor(tables, basis, a_parts, b_parts, batch, one_b, a, b, end, out);
  }
  void run_sum_of_inner_products(const Tables& tables, const SumOfInnerProducts<Word>& sum,
                                 Word* out) const override {
    behind_.run_sum_of_inner_products(tables, sum, out);
  }
  void run_products(const Tables& tables, const ring::Basis& basis, const SumLayout& sums,
                    std::size_t batch, std::span<const CheckedProduct<Word>> terms, bool onto,
                    Word* out) const override {
    behind_.run_products(tables, basis, sums, batch, terms, onto, out);
  }
  void run_combination(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                       std::size_t batch, std::span<const CheckedScaling<Word>> terms,
                       std::span<const Word> constant, bool onto, Word* out) const override {
    behind_.run_combination(tables, basis, parts, batch, terms, constant, onto, out);
  }
  void run_weighted_sums(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                         std::size_t count, const CheckedSums<Word>& sums,
                         Word* out) const override {
    behind_.run_weighted_sums(tables, basis, parts, count, sums, out);
  }
  void run_masked_tensors(const Tables& tables, const ring::Basis& basis, std::size_t batch,
                          const CheckedMasks<Word>& of) const override {
    behind_.run_masked_tensors(tables, basis, batch, of);
  }
  void run_rounding(const Tables& tables, const ring::Basis& basis, double scale, std::uint32_t n,
                    std::uint32_t step, std::size_t batch, const double* in,
                    Word* out) const override {
    behind_.run_rounding(tables, basis, scale, n, step, batch, in, out);
  }

 private:
  const RnsOps<Word>& behind_;
};

template <class Word>
class RelayRotation : public RotationOps<Word> {
 public:
  RelayRotation(const Queue& queue, const Queue& behind)
      : RotationOps<Word>(queue), behind_(behind.rotation<Word>()) {}

 protected:
  using typename RotationOps<Word>::Batch;
  std::unique_ptr<RotationKey> make_key(const RotationShape& shape,
                                        const RowSource<Word>& rows) const override {
    return behind_.make_key(shape, rows);
  }
  void run_rotations(const RotationKey& key, const Batch& batch) const override {
    behind_.run_rotations(key, batch);
  }
  void run_extraction(std::uint64_t Q, std::uint32_t N, std::span<const std::uint32_t> offsets,
                      Word constant, std::size_t count, const Word* rlwe,
                      Word* out) const override {
    behind_.run_extraction(Q, N, offsets, constant, count, rlwe, out);
  }

 private:
  const RotationOps<Word>& behind_;
};

class RelayLwe : public LweOps {
 public:
  RelayLwe(const Queue& queue, const Queue& behind) : LweOps(queue), behind_(behind.lwe()) {}

 protected:
  void run_modulus_switch(const Rounding& rounding, std::size_t count, ConstWords in,
                          Words out) const override {
    behind_.run_modulus_switch(rounding, count, in, out);
  }
  std::unique_ptr<SwitchKey> make_switch_key(const SwitchShape& shape,
                                             const SwitchRowSource& source) const override {
    return behind_.make_switch_key(shape, source);
  }
  void run_key_switch(const SwitchKey& key, std::size_t count, ConstWords in,
                      Words out) const override {
    behind_.run_key_switch(key, count, in, out);
  }
  void run_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const ConstWords> in, std::uint64_t constant, std::size_t count,
                  Words out) const override {
    behind_.run_linear(q, row, weights, in, constant, count, out);
  }
  void run_matrix(const Matrix& matrix, ConstWords in, Words out) const override {
    behind_.run_matrix(matrix, in, out);
  }
  std::unique_ptr<LweSums> make_sums(LweSumsShape shape) const override {
    return behind_.make_sums(std::move(shape));
  }
  void run_sums(const LweSums& sums, std::size_t first, std::size_t count,
                std::span<const ConstWords> in, Words out) const override {
    behind_.run_sums(sums, first, count, in, out);
  }
  void run_to_polynomials(const LwePolynomials& rule, const Coefficients& of, ConstWords in,
                          Words out) const override {
    behind_.run_to_polynomials(rule, of, in, out);
  }
  void run_expansion(const LweExpansion& rule, std::size_t count, const std::uint32_t* numbers,
                     ConstWords bodies, Words out) const override {
    behind_.run_expansion(rule, count, numbers, bodies, out);
  }

 private:
  const LweOps& behind_;
};

/// A queue that forwards its work to another queue. A derived class offers the families that it
/// changes, and may override the methods that move bytes.
class Relay : public Queue {
 public:
  Relay(std::shared_ptr<const Device> device, std::unique_ptr<Queue> behind);

  const Queue& behind() const { return *behind_; }
  std::size_t batch_limit(std::size_t bytes, std::size_t reserved) const override {
    return behind_->batch_limit(bytes, reserved);
  }
  void wait() const override { behind_->wait(); }
  void begin_together() const override { behind_->begin_together(); }
  void end_together() const override { behind_->end_together(); }

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    return behind_->allocate_bytes(bytes);
  }
  void copy_in(const void* host, void* device, std::size_t bytes) const override {
    behind_->copy_in(host, device, bytes);
  }
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    behind_->copy_out(device, host, bytes);
  }
  void copy_within(const void* from, void* to, std::size_t bytes) const override {
    behind_->copy_within(from, to, bytes);
  }
  void fill_words(std::uint64_t value, unsigned word_bytes, std::size_t count,
                  void* out) const override {
    behind_->fill_words(value, word_bytes, count, out);
  }

 private:
  std::unique_ptr<Queue> behind_;
};

/// A relay queue with `Other` in the place of one family. `Other` is constructed from the queue,
/// the queue behind it and `shared`.
template <class Family, class Other, class... Shared>
class RelayWith final : public Relay {
 public:
  RelayWith(std::shared_ptr<const Device> device, std::unique_ptr<Queue> behind, Shared... shared)
      : Relay(std::move(device), std::move(behind)) {
    offer<Family>(std::make_shared<Other>(*this, this->behind(), std::move(shared)...));
  }
};

/// A device named `name` whose queues are of type `Relaying`. Each is constructed from the device,
/// a queue of `behind`, and `shared`, which is the same object for all queues.
template <class Relaying = Relay, class... Shared>
class RelayDevice : public Device {
 public:
  RelayDevice(std::string name, std::shared_ptr<const Device> behind, Shared... shared)
      : name_(std::move(name)), behind_(std::move(behind)), shared_(std::move(shared)...) {}
  std::string name() const override { return name_; }
  std::string memory() const override { return behind_->memory(); }
  unsigned threads() const override { return behind_->threads(); }
  unsigned queues() const override { return behind_->queues(); }
  std::unique_ptr<Queue> open() const override {
    return std::apply(
        [this](const Shared&... shared) -> std::unique_ptr<Queue> {
          return std::make_unique<Relaying>(shared_from_this(), behind_->open(), shared...);
        },
        shared_);
  }

 private:
  std::string name_;
  std::shared_ptr<const Device> behind_;
  std::tuple<Shared...> shared_;
};

}  // namespace whorl::backend
