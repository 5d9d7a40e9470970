// What a GPU computes against what the CPU does: integers bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "math/primes.h"
#include "support/random.h"
#include "support/reference_rotation.h"
#include "support/targets.h"

namespace whorl::test {

/// A CPU and a GPU device. Making them takes milliseconds: one pair serves many comparisons.
struct Two {
  std::unique_ptr<backend::Device> cpu = backend::make_device("cpu"), gpu = cuda();
};

/// run(device) on both must give the same.
template <class Run>
void expect_same(const Two& two, const Run& run) {
  const auto expected = run(*two.cpu), got = run(*two.gpu);
  ASSERT_EQ(got.size(), expected.size());
  const auto [theirs, ours] = std::mismatch(got.begin(), got.end(), expected.begin());
  ASSERT_TRUE(theirs == got.end()) << "at " << theirs - got.begin() << " of " << got.size()
                                   << ": GPU " << *theirs << ", CPU " << *ours;
}

/// `count` primes = 1 mod 2N of random sizes that a word holds.
template <class Word>
std::vector<Word> random_primes(std::uint32_t N, std::size_t count, Random& random) {
  const unsigned least = N > 4096 ? 26 : 22, most = sizeof(Word) == 4 ? 31 : 61;
  std::vector<Word> out;
  while (out.size() < count) {
    const auto bits = static_cast<unsigned>(least + random.below(most - least + 1));
    const auto primes = math::ntt_primes(bits, N, 3);
    out.push_back(static_cast<Word>(primes[random.below(primes.size())]));
  }
  return out;
}

template <class Word>
std::vector<Word> random_limbs(const std::vector<Word>& qs, std::size_t each, Random& random) {
  std::vector<Word> out;
  for (const Word q : qs) {
    const auto limb = random.residues<Word>(each, q);
    out.insert(out.end(), limb.begin(), limb.end());
  }
  return out;
}

/// Device::ntt and intt of `limbs` moduli, `batch` polynomials each.
template <class Word>
void compare_ntt(const Two& two, std::uint32_t N, std::size_t limbs, std::size_t batch,
                 Random& random) {
  const auto qs = random_primes<Word>(N, limbs, random);
  SCOPED_TRACE("N = " + std::to_string(N) + ", " + std::to_string(8 * sizeof(Word)) + " bits, " +
               std::to_string(limbs) + " limbs, batch " + std::to_string(batch) + ", first q " +
               std::to_string(qs[0]));
  std::vector<ring::NttPlan<Word>> plans;
  for (const Word q : qs) plans.emplace_back(N, q);
  std::vector<const ring::NttPlan<Word>*> pointers;
  for (const auto& plan : plans) pointers.push_back(&plan);
  const auto data = random_limbs(qs, batch * N, random);
  for (const bool forward : {true, false})
    expect_same(two, [&](const backend::Device& device) {
      auto buffer = put(device, data);
      forward ? device.ntt(pointers, buffer.slice()) : device.intt(pointers, buffer.slice());
      return get(device, buffer);
    });
}

/// Every element-wise entry.
template <class Word>
void compare_elementwise(const Two& two, std::size_t each, std::size_t limbs, Random& random) {
  constexpr unsigned top = sizeof(Word) == 4 ? 31 : 61;
  std::vector<Word> qs, scalars;
  std::vector<math::Modulus<Word>> moduli;
  for (std::size_t l = 0; l < limbs; ++l) {
    const auto bits = static_cast<unsigned>(2 + random.below(top - 1));
    const Word low = Word{1} << (bits - 1);
    qs.push_back(static_cast<Word>(low + random.below(low)));
    moduli.emplace_back(qs.back());
    scalars.push_back(static_cast<Word>(random.word()));
  }
  SCOPED_TRACE(std::to_string(8 * sizeof(Word)) + " bits, " + std::to_string(limbs) + " limbs of " +
               std::to_string(each) + ", first q " + std::to_string(qs[0]));
  const auto a = random_limbs(qs, each, random), b = random_limbs(qs, each, random),
             c = random_limbs(qs, each, random);
  for (int op = 0; op < 6; ++op) {
    SCOPED_TRACE("operation " + std::to_string(op));
    expect_same(two, [&](const backend::Device& device) {
      const auto x = put(device, a), y = put(device, b);
      auto z = put(device, c);
      const backend::Slice<const Word> sx = x.slice(), sy = y.slice();
      switch (op) {
        case 0:
          device.add(moduli, sx, sy, z.slice());
          break;
        case 1:
          device.sub(moduli, sx, sy, z.slice());
          break;
        case 2:
          device.neg(moduli, sx, z.slice());
          break;
        case 3:
          device.mul(moduli, sx, sy, z.slice());
          break;
        case 4:
          device.mul_add(moduli, sx, sy, z.slice());
          break;
        default:
          device.mul_scalar(moduli, sx, std::span<const Word>(scalars), z.slice());
      }
      return get(device, z);
    });
  }
}

template <class Word>
void compare_automorphism(const Two& two, std::uint32_t N, std::size_t limbs, std::size_t batch,
                          Random& random) {
  const auto qs = random_primes<Word>(N, limbs, random);
  std::vector<math::Modulus<Word>> moduli;
  for (const Word q : qs) moduli.emplace_back(q);
  const auto data = random_limbs(qs, batch * N, random);
  for (const std::uint32_t g : {2 * N - 1, static_cast<std::uint32_t>(2 * random.below(N) + 1)})
    for (const bool evaluation_form : {false, true}) {
      SCOPED_TRACE("N = " + std::to_string(N) + ", " + std::to_string(limbs) + " limbs, batch " +
                   std::to_string(batch) + ", g = " + std::to_string(g) +
                   (evaluation_form ? ", evaluation form" : ", coefficient form"));
      expect_same(two, [&](const backend::Device& device) {
        const auto in = put(device, data);
        auto out = device.allocate<Word>(data.size());
        device.automorphism(moduli, N, g, evaluation_form, in.slice(), out.slice());
        return get(device, out);
      });
    }
}

/// Random words: they are only moved. Some of the output is not taken and stays.
template <class Word>
void compare_take(const Two& two, std::size_t rows, std::uint32_t N, std::size_t batch,
                  std::size_t taken, Random& random) {
  const std::size_t first = random.below(3), out_batch = first + taken + random.below(3);
  SCOPED_TRACE("N = " + std::to_string(N) + ", " + std::to_string(rows) + " rows, " +
               std::to_string(taken) + " of " + std::to_string(batch) + " from place " +
               std::to_string(first) + " of " + std::to_string(out_batch));
  std::vector<Word> in(rows * batch * N), before(rows * out_batch * N);
  for (auto* values : {&in, &before})
    for (Word& x : *values) x = static_cast<Word>(random.word());
  std::vector<std::uint32_t> index(taken);
  for (auto& i : index) i = static_cast<std::uint32_t>(random.below(batch));
  for (const std::size_t offset : {0, 1})  // vectors of 16 bytes, or words
    expect_same(two, [&](const backend::Device& device) {
      const auto x = put(device, in);
      auto out = device.allocate<Word>(before.size() + offset);
      const auto part = out.slice().part(offset, before.size());
      device.upload(std::span<const Word>(before), part);
      device.take(rows, N, index, x.slice(), first, part);
      return get<Word>(device, part);
    });
}

template <class Word>
void compare_extract(const Two& two, std::uint32_t N, std::size_t count, Random& random) {
  const Word Q = random_primes<Word>(N, 1, random)[0];
  const std::uint64_t constant = random.below(Q);
  SCOPED_TRACE("N = " + std::to_string(N) + ", Q = " + std::to_string(Q) + ", count " +
               std::to_string(count));
  const auto data = random.residues<Word>(count * 2 * N, Q);
  expect_same(two, [&](const backend::Device& device) {
    const auto in = put(device, data);
    auto out = device.allocate<Word>(count * (N + 1));
    device.sample_extract(Q, N, constant, in.slice(), out.slice());
    return get(device, out);
  });
}

template <class In, class Out>
void compare_modulus_switch(const Two& two, std::uint64_t from, std::uint64_t to, std::size_t row,
                            std::size_t rows, Random& random) {
  const auto data = random.residues<In>(rows * row, from);
  for (const bool centre : {false, true}) {
    if (centre && row > 1 && from / 2 > INT64_MAX / (row - 1)) continue;  // refused
    SCOPED_TRACE("from " + std::to_string(from) + " to " + std::to_string(to) + ", " +
                 std::to_string(rows) + " rows of " + std::to_string(row) +
                 (centre ? ", centred" : ""));
    expect_same(two, [&](const backend::Device& device) {
      const auto in = put(device, data);
      auto out = device.allocate<Out>(data.size());
      device.modulus_switch(from, to, row, centre, in.slice(), out.slice());
      return get(device, out);
    });
  }
}

/// Rows made in words of `Word`, which hold Q_ks.
template <class Word>
void compare_key_switch(const Two& two, std::uint32_t N, std::uint32_t n, std::uint64_t Q_ks,
                        unsigned log_base, unsigned digits, bool table, std::size_t count,
                        Random& random) {
  const ring::Gadget gadget(Q_ks, log_base, digits);
  SCOPED_TRACE("N = " + std::to_string(N) + ", n = " + std::to_string(n) +
               ", Q_ks = " + std::to_string(Q_ks) + ", log_base = " + std::to_string(log_base) +
               ", digits = " + std::to_string(digits) + (table ? ", table" : ", product") +
               ", count = " + std::to_string(count));
  std::size_t rows = 0;
  for (unsigned j = 0; j < digits; ++j) rows += N * (table ? gadget.bound(j) : 1);
  const auto key = random.residues<Word>(rows * (n + 1), Q_ks);
  const auto data = random.residues<std::uint64_t>(count * (N + 1), Q_ks);
  const backend::SwitchRows<Word> source = [&](std::size_t first, std::size_t many, Word* out,
                                               std::size_t stride) {
    for (std::size_t r = first; r < first + many; ++r, out += stride)
      std::copy_n(key.begin() + static_cast<std::ptrdiff_t>(r * (n + 1)), n + 1, out);
  };
  expect_same(two, [&](const backend::Device& device) {
    const auto prepared = device.prepare_switch_key({N, n, Q_ks, gadget, table}, source);
    const auto in = put(device, data);
    auto out = device.allocate<std::uint64_t>(count * (n + 1));
    device.lwe_key_switch(*prepared, in.slice(), out.slice());
    return get(device, out);
  });
}

inline void compare_linear(const Two& two, std::size_t row, std::size_t rows, std::size_t terms,
                           Random& random) {
  const auto bits = static_cast<unsigned>(1 + random.below(32));
  const std::uint64_t q = random.below(2) ? 1ULL << bits : 2 + random.below(1ULL << bits);
  SCOPED_TRACE("q = " + std::to_string(q) + ", " + std::to_string(terms) + " terms, " +
               std::to_string(rows) + " rows of " + std::to_string(row));
  std::vector<std::vector<std::uint32_t>> data;
  std::vector<std::int64_t> weights;
  for (std::size_t k = 0; k < terms; ++k) {
    data.push_back(random.residues<std::uint32_t>(rows * row, q));
    weights.push_back(random.below(4) == 0 ? (random.below(2) ? INT64_MAX : INT64_MIN)
                                           : random.between(-5, 5));
  }
  const std::uint64_t constant = random.word();
  expect_same(two, [&](const backend::Device& device) {
    std::vector<backend::Buffer<std::uint32_t>> in;
    std::vector<backend::Slice<const std::uint32_t>> slices;
    for (const auto& values : data) in.push_back(put(device, values));
    for (const auto& buffer : in) slices.push_back(buffer.slice());
    auto out = device.allocate<std::uint32_t>(rows * row);
    device.lwe_linear(q, row, weights, slices, constant, out.slice());
    return get(device, out);
  });
}

/// A blind-rotation key's shape to be filled with random rows.
struct Rotation {
  std::uint32_t n, N;
  unsigned bits, keys;                                ///< bits of Q; 1: binary, 2: ternary
  std::vector<std::pair<unsigned, unsigned>> ranges;  ///< log_base, digits, in turn
};
inline std::string describe(const Rotation& r) {
  std::string out = "n = " + std::to_string(r.n) + ", N = " + std::to_string(r.N) + ", Q of " +
                    std::to_string(r.bits) + " bits, keys = " + std::to_string(r.keys) +
                    ", gadgets";
  for (const auto& [log_base, digits] : r.ranges)
    out += " (" + std::to_string(log_base) + ", " + std::to_string(digits) + ")";
  return out;
}

/// A batch for one key, and the key's rows.
template <class Word>
struct RotationCase {
  RotationRows<Word> key;
  std::size_t tables = 1;
  std::vector<std::uint32_t> lwe, index;
  std::vector<Word> luts;

  RotationCase(const Rotation& r, std::size_t count, std::size_t table_count, Random& random)
      : tables(table_count) {
    const std::uint64_t Q = math::ntt_primes(r.bits, r.N, 1)[0];
    key.shape = {r.n, r.N, Q, r.keys, {}, backend::Arithmetic::ntt};
    for (std::uint32_t i = 0; i < r.n; ++i) {
      const auto& [log_base, digits] = r.ranges[i * r.ranges.size() / r.n];
      key.shape.gadgets.emplace_back(Q, log_base, digits);
    }
    const std::size_t rows = row_count(key.shape);
    for (std::size_t i = 0; i < rows; ++i) {
      key.a.push_back(random.residues<Word>(r.N, Q));
      key.b.push_back(random.residues<Word>(r.N, Q));
    }
    const std::uint32_t edges[] = {0, r.N, 2 * r.N - 1, 1, r.N - 1, r.N + 1};
    lwe.resize(count * (r.n + 1));
    for (auto& a : lwe)
      a = random.below(3) == 0 ? edges[random.below(6)]
                               : static_cast<std::uint32_t>(random.below(2ULL * r.N));
    luts = random.residues<Word>(tables * r.N, Q);
    index.resize(count);
    for (auto& i : index) i = static_cast<std::uint32_t>(random.below(tables));
  }

  /// Ciphertexts first … first + count - 1.
  std::vector<Word> rotate(const backend::Device& device, const backend::RotationKey& prepared,
                           std::size_t first, std::size_t count) const {
    return run(device, first, count, 2 * key.shape.N, [&](auto x, auto t, auto which, auto out) {
      device.blind_rotate(prepared, x, t, which, out);
    });
  }
  /// Their samples, `constant` added.
  std::vector<Word> extract(const backend::Device& device, const backend::RotationKey& prepared,
                            std::size_t first, std::size_t count) const {
    return run(device, first, count, key.shape.N + 1, [&](auto x, auto t, auto which, auto out) {
      device.blind_rotate_extract(prepared, x, t, which, constant(), out);
    });
  }
  /// What `extract` should give where accumulators are such.
  std::vector<Word> samples_of(const std::vector<Word>& accumulators) const {
    const std::size_t N = key.shape.N;
    const std::uint64_t Q = key.shape.Q;
    std::vector<Word> out;
    for (std::size_t at = 0; at < accumulators.size(); at += 2 * N) {
      out.push_back(accumulators[at]);
      for (std::size_t j = N - 1; j > 0; --j)
        out.push_back(static_cast<Word>((Q - accumulators[at + j]) % Q));
      out.push_back(static_cast<Word>((accumulators[at + N] + constant()) % Q));
    }
    return out;
  }
  std::uint64_t constant() const { return key.shape.Q - key.shape.Q / 8; }

 private:
  template <class Work>
  std::vector<Word> run(const backend::Device& device, std::size_t first, std::size_t count,
                        std::size_t out_row, const Work& work) const {
    const std::size_t row = key.shape.n + 1;
    const auto part = [](const auto& values, std::size_t from, std::size_t many) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
      return std::decay_t<decltype(values)>(begin, begin + static_cast<std::ptrdiff_t>(many));
    };
    const auto x = put(device, part(lwe, first * row, count * row));
    const auto which = put(device, part(index, first, count));
    const auto t = put(device, luts);
    auto out = device.allocate<Word>(count * out_row);
    work(x.slice(), t.slice(), which.slice(), out.slice());
    return get(device, out);
  }

 public:
  std::unique_ptr<backend::RotationKey> prepare(const backend::Device& device,
                                                backend::Arithmetic arithmetic) const {
    backend::RotationShape shape = key.shape;
    shape.arithmetic = arithmetic;
    return device.prepare_rotation_key(shape, key.source());
  }
};

inline constexpr backend::BlindRotation forced_ways[] = {backend::BlindRotation::single,
                                                         backend::BlindRotation::cluster,
                                                         backend::BlindRotation::shared};
/// For batches whose blocks all run at once: `grid` takes `single` for larger ones.
inline constexpr backend::BlindRotation ways_of_few[] = {
    backend::BlindRotation::single, backend::BlindRotation::cluster, backend::BlindRotation::grid,
    backend::BlindRotation::shared};
inline constexpr backend::BlindRotation all_ways[] = {
    backend::BlindRotation::automatic, backend::BlindRotation::single,
    backend::BlindRotation::cluster, backend::BlindRotation::grid, backend::BlindRotation::shared};

/// By NTT: the first 1, 2, … of `batches` ciphertexts, spread in every way, bit for bit as the CPU.
template <class Word>
void compare_rotation(const Rotation& r, const std::vector<std::size_t>& batches, Random& random) {
  SCOPED_TRACE(describe(r));
  const std::size_t most = *std::max_element(batches.begin(), batches.end());
  const RotationCase<Word> c(r, most, most, random);  // a table each
  std::vector<Word> expected;
  {
    const auto device = backend::make_device("cpu");
    expected = c.rotate(*device, *c.prepare(*device, backend::Arithmetic::ntt), 0, most);
  }
  for (const auto way : all_ways) {
    const auto device = cuda(0, way);
    const auto prepared = c.prepare(*device, backend::Arithmetic::ntt);
    for (const std::size_t count : batches) {
      const auto got = c.rotate(*device, *prepared, 0, count);
      const auto [ours, theirs] = std::mismatch(got.begin(), got.end(), expected.begin());
      const std::size_t at = static_cast<std::size_t>(ours - got.begin());
      ASSERT_TRUE(ours == got.end())
          << way_name(way) << ", batch " << count << ": ciphertext " << at / (2 * r.N)
          << ", coefficient " << at % (2 * r.N) << ": GPU " << *ours << ", CPU " << *theirs;
      ASSERT_TRUE(c.extract(*device, *prepared, 0, count) == c.samples_of(got))
          << way_name(way) << ", batch " << count << ": samples";
    }
  }
}

}  // namespace whorl::test
