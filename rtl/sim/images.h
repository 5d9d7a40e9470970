// The memory images of rtl/README.md section 3, and the bootstrap that the core computes from them, in plain arithmetic.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "reference.h"

namespace reference {

struct Shape {
  unsigned log_n, L, log_bg, m, pes, log_b, K, l_ks, log_bks, mem_bits, bk_ports, ksk_bits;
  unsigned N() const { return 1u << log_n; }
  unsigned b() const { return 1u << log_b; }
  unsigned lanes() const { return 2 * b(); }
  unsigned rows() const { return N() / lanes(); }
  unsigned sets() const { return (1u << m) - 1; }
  unsigned steps(unsigned n) const { return (n + m - 1) / m; }
  unsigned wide() const { return mem_bits / 32; }
  /// Words of a chunk's row, of a port's part of it, and with padding.
  unsigned U() const { return sets() * 4 * L * lanes(); }
  unsigned Us() const { return (U() + bk_ports - 1) / bk_ports; }
  unsigned Uw() const { return (Us() + wide() - 1) / wide() * wide(); }
  std::size_t chunk_bytes() const { return std::size_t{rows()} * Uw() * 33 / 8; }
  std::size_t beats(std::size_t words32) const { return (words32 + wide() - 1) / wide(); }
  std::size_t record_bytes(unsigned n, bool switch_only) const {
    return beats(switch_only ? N() + 1 : n + 2) * mem_bits / 8;
  }
  std::size_t result_bytes(unsigned n, bool extract) const {
    return beats(extract ? 2 * (N() + 1) : n + 1) * mem_bits / 8;
  }
  std::size_t ksk_row_bytes(unsigned n) const {
    return (n + 1 + ksk_bits / 32 - 1) / (ksk_bits / 32) * ksk_bits / 8;
  }
};

/// Polynomials of a key in evaluation form, times 1/N: step, set T - 1, row, column.
using Key = std::vector<std::vector<u64>>;
inline std::size_t key_at(const Shape& s, unsigned step, unsigned set, unsigned row, unsigned column) {
  return ((std::size_t{step} * s.sets() + set) * 2 * s.L + row) * 2 + column;
}

/// Words of 33 bits in groups of `bits`, each a beat of their top bits and 32 of the low ones. Zeros lie at `at`.
inline void pack(const std::vector<u64>& words, unsigned bits, std::uint8_t* at) {
  for (std::size_t group = 0; group < words.size(); group += bits) {
    for (unsigned k = 0; k < bits; ++k)
      at[k / 8] |= static_cast<std::uint8_t>((words[group + k] >> 32 & 1) << (k % 8));
    at += bits / 8;
    for (unsigned k = 0; k < bits; ++k, at += 4) {
      const auto low = static_cast<std::uint32_t>(words[group + k]);
      std::memcpy(at, &low, 4);
    }
  }
}

/// The image behind port `port`.
inline std::vector<std::uint8_t> bk_image(const Shape& s, unsigned n, const Key& key, unsigned port) {
  std::vector<std::uint8_t> out(s.steps(n) * s.chunk_bytes());
  std::vector<u64> words;
  for (unsigned step = 0; step < s.steps(n); ++step) {
    words.clear();
    for (unsigned r = 0; r < s.rows(); ++r)
      for (unsigned v = 0; v < s.Uw(); ++v) {
        const unsigned u = port * s.Us() + v;
        u64 word = 0;
        if (v < s.Us() && u < s.U()) {
          const unsigned lane = u % s.lanes(), column = u / s.lanes() % 2;
          const unsigned row = u / s.lanes() / 2 % (2 * s.L), set = u / s.lanes() / 2 / (2 * s.L);
          word = key[key_at(s, step, set, row, column)][s.lanes() * r + lane];
        }
        words.push_back(word);
      }
    pack(words, s.mem_bits, out.data() + step * s.chunk_bytes());
  }
  return out;
}

/// Rows (N·l_ks) of n + 1 words.
inline std::vector<std::uint8_t> ksk_image(const Shape& s, unsigned n, const std::vector<std::uint32_t>& rows) {
  const std::size_t row_bytes = s.ksk_row_bytes(n), count = std::size_t{s.N()} * s.l_ks;
  std::vector<std::uint8_t> out(count * row_bytes);
  for (std::size_t r = 0; r < count; ++r)
    std::memcpy(out.data() + r * row_bytes, rows.data() + r * (n + 1), 4 * (n + 1));
  return out;
}

/// Exponents of an LWE ciphertext (a, b) modulo 2^32: switch_row of the library, and + offset to b.
inline std::vector<unsigned> exponents(const Shape& s, const std::vector<std::uint32_t>& lwe, bool centred, unsigned offset) {
  const i128 two_n = 2 * s.N(), from = i128{1} << 32;
  std::vector<unsigned> out;
  i128 sum = 0;
  for (std::size_t i = 0; i + 1 < lwe.size(); ++i) {
    const i128 shifted = lwe[i] * two_n + from / 2, rounded = shifted / from;
    sum += from / 2 - (shifted - rounded * from);
    out.push_back(static_cast<unsigned>(rounded % two_n));
  }
  if (!centred) {
    out.push_back(static_cast<unsigned>((round_scaled(lwe.back(), u64{1} << 32, 2 * s.N()) + offset) % (2 * s.N())));
    return out;
  }
  const i128 last = static_cast<i128>(lwe.size()) - 1, turns = last / 2 / two_n + 1;
  const i128 numerator = 2 * (2 * i128{lwe.back()} * two_n + from + 2 * turns * two_n * from) + 2 * sum;
  out.push_back(static_cast<unsigned>((static_cast<u64>(numerator / (4 * from) % two_n) + offset) % (2 * s.N())));
  return out;
}

/// Transforms with tables made once.
class Transforms {
 public:
  explicit Transforms(unsigned log_n) : log_n_(log_n) {
    const u64 root = psi(log_n), back = inverse(root);
    for (unsigned i = 0; i < 1u << log_n; ++i) {
      forward_.push_back(pow(root, brv(i, log_n)));
      inverse_.push_back(pow(back, brv(i, log_n)));
    }
    powers_.push_back(1);
    for (unsigned i = 1; i < 2u << log_n; ++i) powers_.push_back(mul(powers_.back(), root));
  }
  void ntt(std::vector<u64>& x) const {
    const std::size_t N = x.size();
    for (std::size_t m = 1, t = N / 2; m < N; m *= 2, t /= 2)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
          const u64 u = x[j], v = mul(x[j + t], forward_[m + i]);
          x[j] = add(u, v);
          x[j + t] = sub(u, v);
        }
  }
  void intt(std::vector<u64>& x) const {
    const std::size_t N = x.size();
    for (std::size_t m = N / 2, t = 1; m >= 1; m /= 2, t *= 2)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
          const u64 u = x[j], v = x[j + t];
          x[j] = add(u, v);
          x[j + t] = mul(sub(u, v), inverse_[m + i]);
        }
  }
  /// X^a at location l.
  u64 monomial(u64 a, unsigned l) const {
    return powers_[a * (2 * brv(l, log_n_) + 1) % powers_.size()];
  }

 private:
  unsigned log_n_;
  std::vector<u64> forward_, inverse_, powers_;
};

/// t·X^-turn modulo X^N + 1.
inline std::vector<u64> turned(const std::vector<u64>& t, unsigned turn) {
  const unsigned N = static_cast<unsigned>(t.size());
  std::vector<u64> out(N);
  for (unsigned j = 0; j < N; ++j) {
    const unsigned at = (j + turn) % (2 * N);
    out[j] = at < N ? t[at] : sub(0, t[at - N]);
  }
  return out;
}

/// (a, b), N coefficients each.
using Accumulator = std::array<std::vector<u64>, 2>;

/// One step of the rotation: the group's products are added to `acc`. `e` has m exponents.
inline void take_step(const Shape& s, const Transforms& transforms, const Key& key, unsigned step, const unsigned* e,
                      Accumulator& acc) {
  const unsigned N = s.N();
  const Gadget gadget(p, s.log_bg, s.L);
  Accumulator product = {std::vector<u64>(N), std::vector<u64>(N)};
  for (unsigned row = 0; row < 2 * s.L; ++row) {
    std::vector<u64> digits(N);
    for (unsigned j = 0; j < N; ++j)
      digits[j] = residue(gadget.digit(gadget.centred(acc[row / s.L][j]), row % s.L));
    transforms.ntt(digits);
    for (unsigned set = 0; set < s.sets(); ++set) {
      u64 a = 0;
      for (unsigned i = 0; i < s.m; ++i)
        if ((set + 1) >> i & 1) a += e[i];
      for (unsigned l = 0; l < N; ++l) {
        const u64 factor = mul(digits[l], sub(transforms.monomial(a, l), 1));
        for (unsigned column = 0; column < 2; ++column)
          product[column][l] = add(product[column][l], mul(factor, key[key_at(s, step, set, row, column)][l]));
      }
    }
  }
  for (unsigned column = 0; column < 2; ++column) {
    transforms.intt(product[column]);
    for (unsigned j = 0; j < N; ++j) acc[column][j] = add(acc[column][j], product[column][j]);
  }
}

/// The sample of coefficient 0 after the rotation, modulo p.
inline std::vector<u64> rotate_extract(const Shape& s, const Transforms& transforms, const Key& key, std::vector<unsigned> e,
                                       const std::vector<u64>& lut, u64 constant) {
  const unsigned N = s.N(), n = static_cast<unsigned>(e.size()) - 1, turn = e.back();
  Accumulator acc = {std::vector<u64>(N), turned(lut, turn)};
  // The last group may be short: the exponents that it lacks are 0.
  e.pop_back();
  e.resize(std::size_t{s.steps(n)} * s.m);
  for (unsigned step = 0; step < s.steps(n); ++step) take_step(s, transforms, key, step, &e[std::size_t{step} * s.m], acc);
  std::vector<u64> out{acc[0][0]};
  for (unsigned j = N - 1; j > 0; --j) out.push_back(sub(0, acc[0][j]));
  out.push_back(add(acc[1][0], constant));
  return out;
}

inline std::vector<std::uint32_t> key_switch(const Shape& s, unsigned n, const std::vector<std::uint32_t>& rows,
                                             const std::vector<std::uint32_t>& in) {
  const Gadget gadget(u64{1} << 32, s.log_bks, s.l_ks);
  std::vector<std::uint32_t> out(n + 1);
  out[n] = in.back();
  for (unsigned i = 0; i < s.N(); ++i)
    for (unsigned j = 0; j < s.l_ks; ++j) {
      const auto d = static_cast<std::uint32_t>(gadget.digit(gadget.centred(in[i]), j));
      const std::uint32_t* row = rows.data() + (std::size_t{i} * s.l_ks + j) * (n + 1);
      for (unsigned k = 0; k <= n; ++k) out[k] -= d * row[k];
    }
  return out;
}

}  // namespace reference
