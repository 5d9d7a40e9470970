// A device that takes blind_rotate alone, of every kind and modulo P·Q too: straight from what
// lattice::lwe::RotationMethod says of their keys. The rest is left to the CPU.
#pragma once

#include "support/test.h"

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
    std::size_t bytes() const override {
      return 2 * a.size() * this->shape().row_words() * sizeof(Word);
    }
    std::vector<Poly> a, b;
  };
  std::unique_ptr<backend::RotationKey> make_key(
      const backend::RotationShape& shape, const backend::RowSource<Word>& rows) const override {
    auto key = std::make_unique<Key>(shape);
    key->a.assign(shape.row_count, Poly(shape.row_words()));
    key->b = key->a;
    for (std::size_t r = 0; r < shape.row_count; ++r) rows(r, key->a[r], key->b[r]);
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
      using Kind = backend::RotationKind;
      if (shape.kind == Kind::automorphism) automorphisms(key, row, acc);
      for (std::uint32_t i = 0; i < shape.n; ++i) {
        if (shape.kind == Kind::ginx) bundled(key, i, {row[i], 2 * N - row[i]}, acc);
        if ((shape.kind == Kind::unrolled || shape.kind == Kind::unrolled_all) &&
            i % shape.group == 0)
          bundled(key, i, powers(key, i, row), acc);
        if (shape.kind == Kind::block && i % shape.group == 0)
          bundled(key, i, {row + i, row + i + shape.group}, acc);
        if (shape.kind == Kind::ap) ap(key, i, row[i] / shape.unit, acc);
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
  static std::uint64_t modulus(const backend::RotationShape& shape, unsigned limb) {
    return limb == 0 ? shape.Q : shape.raised_by;
  }
  /// decompose(parts) times rows, of which row(r, component, limb) gives N residues modulo Q or, as
  /// limb 1, modulo P. With a raised modulus digits are whole coefficients, and what comes out is
  /// divided by P: x -> (x - (x mod P))/P modulo Q.
  template <class Row>
  static void product(const backend::RotationShape& shape, const ring::Gadget& gadget,
                      const std::vector<Poly>& parts, const Row& row, Poly (&out)[2]) {
    const bool raised = shape.raised_by != 1;
    std::vector<std::vector<std::int64_t>> digits;
    for (const Poly& part : parts)
      for (unsigned j = 0; j < gadget.digits(); ++j) {
        digits.emplace_back(shape.N);
        for (std::size_t t = 0; t < shape.N; ++t) {
          const std::int64_t x = centred(part[t], shape.Q);
          digits.back()[t] = raised ? x : gadget.digit(x, j);
        }
      }
    const std::uint64_t inverse = power(shape.raised_by % shape.Q, shape.Q - 2, shape.Q);
    for (unsigned component = 0; component < 2; ++component) {
      std::vector<std::uint64_t> sums[2];
      for (unsigned limb = 0; limb < (raised ? 2u : 1u); ++limb) {
        std::vector<Int128> sum(shape.N, 0);
        for (std::size_t r = 0; r < digits.size(); ++r) {
          const auto one = negacyclic(digits[r], row(r, component, limb));
          for (std::size_t t = 0; t < shape.N; ++t) sum[t] += one[t];
        }
        for (const Int128 x : sum) sums[limb].push_back(reduce(x, modulus(shape, limb)));
      }
      out[component].resize(shape.N);
      for (std::size_t t = 0; t < shape.N; ++t) {
        Int128 x = sums[0][t];
        if (raised) x = (x - centred(sums[1][t], shape.raised_by)) * static_cast<Int128>(inverse);
        out[component][t] = static_cast<Word>(reduce(x, shape.Q));
      }
    }
  }
  static Poly half(const Key& key, std::size_t r, unsigned component, unsigned limb) {
    const auto begin = (component == 0 ? key.a : key.b)[r].begin() +
                       static_cast<std::ptrdiff_t>(limb * key.shape().N);
    return Poly(begin, begin + static_cast<std::ptrdiff_t>(key.shape().N));
  }

  /// The sums of the exponents that each of an unrolled step's keys stands for.
  static std::vector<std::uint32_t> powers(const Key& key, std::uint32_t i,
                                           const std::uint32_t* row) {
    std::vector<std::uint32_t> out(key.shape().step_keys[i], 0);
    const std::size_t first = key.shape().kind == backend::RotationKind::unrolled ? 1 : 0;
    for (std::size_t k = 0; k < out.size(); ++k)
      for (unsigned t = 0; t < key.shape().group; ++t)
        if ((k + first) >> t & 1) out[k] += row[i + t];
    return out;
  }
  /// ACC <- ACC + ACC ⊡ sum_k (X^powers[k] - 1)·K_k, or ACC <- ACC ⊡ sum_k X^powers[k]·K_k where
  /// there is a key for no coefficient too: the bundle is formed here.
  static void bundled(const Key& key, std::uint32_t i, const std::vector<std::uint32_t>& powers,
                      Poly (&acc)[2]) {
    const backend::RotationShape& shape = key.shape();
    const unsigned keys = shape.step_keys[i];
    const std::size_t first = shape.first_row[i], of_key = shape.rows_of(i) / keys;
    const bool all = shape.kind == backend::RotationKind::unrolled_all;
    const auto bundle = [&](std::size_t r, unsigned component, unsigned limb) {
      Poly sum(shape.N, 0);
      for (std::size_t k = 0; k < keys; ++k) {
        const Poly from = half(key, first + k * of_key + r, component, limb);
        add(sum, from, powers[k] % (2 * shape.N), modulus(shape, limb));
        if (!all) add(sum, from, shape.N, modulus(shape, limb));  // -1
      }
      return sum;
    };
    Poly out[2];
    product(shape, shape.gadgets[i], {acc[0], acc[1]}, bundle, out);
    for (unsigned component = 0; component < 2; ++component)
      if (all)
        acc[component] = std::move(out[component]);
      else
        add(acc[component], out[component], 0, shape.Q);
  }
  /// ACC <- ACC ⊡ K, key number k of the step that coefficient i begins.
  static void times(const Key& key, std::uint32_t i, std::size_t k, Poly (&acc)[2]) {
    const backend::RotationShape& shape = key.shape();
    const std::size_t first = shape.first_row[i] + k * (shape.rows_of(i) / shape.step_keys[i]);
    Poly out[2];
    product(
        shape, shape.gadgets[i], {acc[0], acc[1]},
        [&](std::size_t r, unsigned component, unsigned limb) {
          return half(key, first + r, component, limb);
        },
        out);
    acc[0] = std::move(out[0]);
    acc[1] = std::move(out[1]);
  }
  /// A product for each digit v of the exponent that is not 0.
  static void ap(const Key& key, std::uint32_t i, std::uint32_t exponent, Poly (&acc)[2]) {
    const unsigned base = key.shape().group;
    for (std::size_t j = 0; exponent != 0; ++j, exponent /= base)
      if (const std::size_t v = exponent % base; v != 0) times(key, i, j * (base - 1) + v - 1, acc);
  }

  /// x(X^g)
  static Poly moved(const Poly& x, std::uint32_t g, std::uint64_t Q) {
    const std::uint64_t N = x.size();
    Poly out(N);
    for (std::uint64_t t = 0; t < N; ++t) {
      const std::uint64_t to = t * g % (2 * N);
      out[to % N] = to < N ? x[t] : static_cast<Word>((Q - x[t]) % Q);
    }
    return out;
  }
  /// ACC <- ACC(X^g), which key number k brings back under s.
  static void automorphism(const Key& key, unsigned k, std::uint32_t g, Poly (&acc)[2]) {
    const backend::RotationShape& shape = key.shape();
    const std::size_t first =
        shape.first_row.back() +
        k * ((shape.row_count - shape.first_row.back()) / shape.automorphisms);
    Poly out[2];
    product(
        shape, shape.gadgets[0], {moved(acc[0], g, shape.Q)},
        [&](std::size_t r, unsigned component, unsigned limb) {
          return half(key, first + r, component, limb);
        },
        out);
    add(out[1], moved(acc[1], g, shape.Q), 0, shape.Q);
    acc[0] = std::move(out[0]);
    acc[1] = std::move(out[1]);
  }
  /// Lee et al. 2023, §3: exponents are ±5^k. X^s_i comes in where as many automorphisms X -> X^5
  /// are to follow as make it X^(a_i·s_i); one X -> X^-5 parts the negative ones, which are first,
  /// from the others. Together they are X -> X^(-1/5), which is undone before.
  static void automorphisms(const Key& key, const std::uint32_t* row, Poly (&acc)[2]) {
    const backend::RotationShape& shape = key.shape();
    const std::uint32_t two_n = 2 * shape.N;
    for (std::uint32_t i = 0; i < shape.n; ++i)
      if (row[i] % 2 == 0) throw ShapeError("exponent " + std::to_string(row[i]) + " is not odd");
    std::vector<std::uint32_t> fifth{1};  // powers of 5
    while (fifth.size() < shape.N / 2) fifth.push_back(fifth.back() * 5 % two_n);
    acc[1] = moved(acc[1], two_n - 5, shape.Q);
    unsigned pending = 0;
    const auto walk = [&] {
      while (pending != 0) {
        const unsigned step = std::min(pending, shape.group);
        automorphism(key, step - 1, fifth[step], acc);
        pending -= step;
      }
    };
    for (const bool negative : {true, false}) {
      for (std::size_t k = fifth.size(); k-- > 0;) {
        const std::uint32_t wanted = negative ? two_n - fifth[k] : fifth[k];
        for (std::uint32_t i = 0; i < shape.n; ++i) {
          if (row[i] != wanted) continue;
          walk();
          times(key, i, 0, acc);
        }
        if (k != 0) ++pending;
      }
      walk();
      if (negative) automorphism(key, shape.group, two_n - 5, acc);
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

/// A queue whose rotations are those.
inline std::unique_ptr<backend::Queue> exact_queue() {
  static const bool once = (register_relay<SlowRotationQueue>("exact"), true);
  static_cast<void>(once);
  return backend::open_queue("exact", {1, {}});
}

}  // namespace whorl::test
