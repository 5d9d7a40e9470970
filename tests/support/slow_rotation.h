// A device that takes blind_rotate alone, of kinds that no other has a kernel for: straight from
// what lattice::lwe::RotationMethod says of their keys. The rest is left to the CPU.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/contract/relay.h"
#include "support/schoolbook.h"

namespace whorl::test {

template <class Word>
class SlowRotation final : public backend::RelayRotation<Word> {
 public:
  using backend::RelayRotation<Word>::RelayRotation;

 protected:
  using typename backend::RelayRotation<Word>::Batch;
  using Poly = std::vector<Word>;

  struct Key final : backend::RotationKey {
    explicit Key(backend::RotationShape shape) : RotationKey(std::move(shape)) {}
    std::size_t bytes() const override { return 2 * a.size() * this->shape().N * sizeof(Word); }
    std::vector<Poly> a, b;
  };
  std::unique_ptr<backend::RotationKey> make_key(
      const backend::RotationShape& shape, const backend::RowSource<Word>& rows) const override {
    auto key = std::make_unique<Key>(shape);
    key->a.assign(shape.rows(), Poly(shape.row_words()));
    key->b = key->a;
    for (std::size_t r = 0; r < shape.rows(); ++r) rows(r, key->a[r], key->b[r]);
    return key;
  }

  void run_rotations(const backend::RotationKey& prepared, const Batch& batch) const override {
    const auto& key = static_cast<const Key&>(prepared);
    const backend::RotationShape& shape = key.shape();
    const std::uint32_t N = shape.N;
    for (std::size_t c = 0; c < batch.count; ++c) {
      const std::uint32_t* const row = batch.lwe + c * (shape.n + 1);
      const Word* const lut = batch.luts + batch.index[c] * std::size_t{N};
      Poly acc[2] = {
          Poly(N, 0),
          to_poly(times_monomial(Poly(lut, lut + N), (2 * N - row[shape.n]) % (2 * N), shape.Q))};
      const std::vector<std::size_t> first = shape.first_rows();
      for (std::uint32_t i = 0; i < shape.n; ++i) {
        if (shape.kind == backend::RotationKind::unrolled && i % shape.group == 0)
          unrolled(key, i, first[i], row, acc);
        if (shape.kind == backend::RotationKind::ap) ap(key, i, first[i], row[i], acc);
      }
      if (!batch.constant) {
        for (unsigned part = 0; part < 2; ++part)
          std::copy(acc[part].begin(), acc[part].end(), batch.out + (2 * c + part) * N);
        continue;
      }
      Poly rlwe = acc[0];
      rlwe.insert(rlwe.end(), acc[1].begin(), acc[1].end());
      const std::uint32_t zero = 0;
      this->run_extraction(shape.Q, N, std::span(&zero, 1), *batch.constant, 1, rlwe.data(),
                           batch.out + c * (N + 1));
    }
  }

 private:
  static Poly to_poly(const std::vector<std::uint64_t>& x) { return {x.begin(), x.end()}; }
  /// out += X^power·x
  static void add(Poly& out, const Poly& x, std::uint64_t power, std::uint64_t Q) {
    const auto turned = times_monomial(x, power, Q);
    for (std::size_t t = 0; t < out.size(); ++t)
      out[t] = static_cast<Word>((out[t] + turned[t]) % Q);
  }
  /// decompose(acc) times rows, of which row(r, part) gives each half: (2, N).
  template <class Row>
  static std::pair<Poly, Poly> product(const backend::RotationShape& shape,
                                       const ring::Gadget& gadget, const Poly (&acc)[2],
                                       const Row& row) {
    Poly out[2] = {Poly(shape.N), Poly(shape.N)};
    std::vector<std::vector<std::int64_t>> digits;
    for (const Poly& part : acc)
      for (unsigned j = 0; j < gadget.digits(); ++j) {
        digits.emplace_back(shape.N);
        for (std::size_t t = 0; t < shape.N; ++t)
          digits.back()[t] = gadget.digit(centred(part[t], shape.Q), j);
      }
    for (unsigned part = 0; part < 2; ++part) {
      std::vector<Int128> sum(shape.N, 0);
      for (std::size_t r = 0; r < digits.size(); ++r) {
        const auto one = negacyclic(digits[r], row(r, part));
        for (std::size_t t = 0; t < shape.N; ++t) sum[t] += one[t];
      }
      for (std::size_t t = 0; t < shape.N; ++t)
        out[part][t] = static_cast<Word>(reduce(sum[t], shape.Q));
    }
    return {out[0], out[1]};
  }

  /// ACC <- ACC + ACC ⊡ sum_S (X^a_S - 1)·K_S: the bundle is formed here.
  static void unrolled(const Key& key, std::uint32_t i, std::size_t first, const std::uint32_t* row,
                       Poly (&acc)[2]) {
    const backend::RotationShape& shape = key.shape();
    const ring::Gadget& gadget = shape.gadgets[i];
    const std::size_t of_key = 2 * std::size_t{gadget.digits()};
    const std::size_t keys = shape.rows_of(i) / of_key;
    const auto bundle = [&](std::size_t r, unsigned part) {
      Poly sum(shape.N, 0);
      for (std::size_t k = 0; k < keys; ++k) {
        const Poly& from = (part == 0 ? key.a : key.b)[first + k * of_key + r];
        std::uint64_t power = 0;
        for (unsigned t = 0; t < shape.group; ++t)
          if ((k + 1) >> t & 1) power += row[i + t];
        add(sum, from, power % (2 * shape.N), shape.Q);
        add(sum, from, shape.N, shape.Q);  // -1
      }
      return sum;
    };
    const auto [a, b] = product(shape, gadget, acc, bundle);
    add(acc[0], a, 0, shape.Q);
    add(acc[1], b, 0, shape.Q);
  }
  /// ACC <- ACC ⊡ K_(j,v) for each digit v of the exponent.
  static void ap(const Key& key, std::uint32_t i, std::size_t first, std::uint32_t exponent,
                 Poly (&acc)[2]) {
    const backend::RotationShape& shape = key.shape();
    const ring::Gadget& gadget = shape.gadgets[i];
    for (std::size_t j = 0; exponent != 0; ++j, exponent /= shape.group) {
      const std::size_t v = exponent % shape.group;
      if (v == 0) continue;
      const std::size_t at =
          first + (j * (shape.group - 1) + v - 1) * 2 * std::size_t{gadget.digits()};
      auto [a, b] = product(shape, gadget, acc, [&](std::size_t r, unsigned part) -> const Poly& {
        return (part == 0 ? key.a : key.b)[at + r];
      });
      acc[0] = std::move(a);
      acc[1] = std::move(b);
    }
  }
};

class SlowRotationQueue final : public backend::Relay {
 public:
  SlowRotationQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> of)
      : Relay(std::move(device), std::move(of)) {
    offer<backend::RotationOps<std::uint32_t>>(
        std::make_shared<SlowRotation<std::uint32_t>>(*this, behind()));
    offer<backend::RotationOps<std::uint64_t>>(
        std::make_shared<SlowRotation<std::uint64_t>>(*this, behind()));
  }
};

}  // namespace whorl::test
