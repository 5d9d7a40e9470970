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
#include "support/rotation_shapes.h"
#include "support/targets.h"

namespace whorl::test {

/// Queues of a CPU and of a GPU. Opening them takes milliseconds: one pair serves many comparisons.
struct Two {
  std::unique_ptr<backend::Queue> cpu = backend::open_queue("cpu"), gpu = cuda();
};

/// What tests that compare both have.
struct CpuAndGpu : ::testing::Test {
  Random random;
  const Two two;
};

/// run(queue) on both must give the same.
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

/// ntt and intt of `limbs` moduli, `batch` polynomials each.
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
    expect_same(two, [&](const backend::Queue& queue) {
      auto buffer = put(queue, data);
      const auto& ops = queue.ring<Word>();
      forward ? ops.ntt(pointers, buffer.slice()) : ops.intt(pointers, buffer.slice());
      return get(queue, buffer);
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
    expect_same(two, [&](const backend::Queue& queue) {
      const auto x = put(queue, a), y = put(queue, b);
      auto z = put(queue, c);
      const backend::Slice<const Word> sx = x.slice(), sy = y.slice();
      const auto& ops = queue.ring<Word>();
      switch (op) {
        case 0:
          ops.add(moduli, sx, sy, z.slice());
          break;
        case 1:
          ops.sub(moduli, sx, sy, z.slice());
          break;
        case 2:
          ops.neg(moduli, sx, z.slice());
          break;
        case 3:
          ops.mul(moduli, sx, sy, z.slice());
          break;
        case 4:
          ops.mul_add(moduli, sx, sy, z.slice());
          break;
        default:
          ops.mul_scalar(moduli, sx, std::span<const Word>(scalars), z.slice());
      }
      return get(queue, z);
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
      expect_same(two, [&](const backend::Queue& queue) {
        const auto in = put(queue, data);
        auto out = queue.allocate<Word>(data.size());
        queue.ring<Word>().automorphism(moduli, N, g, evaluation_form, in.slice(), out.slice());
        return get(queue, out);
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
    expect_same(two, [&](const backend::Queue& queue) {
      const auto x = put(queue, in);
      auto out = queue.allocate<Word>(before.size() + offset);
      const auto part = out.slice().part(offset, before.size());
      queue.upload(std::span<const Word>(before), part);
      queue.ring<Word>().take(rows, N, index, x.slice(), first, part);
      return get<Word>(queue, part);
    });
}

/// Coefficient 0 is extracted, and several at once, more than a launch takes.
template <class Word>
void compare_extract(const Two& two, std::uint32_t N, std::size_t count, Random& random) {
  const Word Q = random_primes<Word>(N, 1, random)[0];
  const std::uint64_t constant = random.below(Q);
  const auto data = random.residues<Word>(count * 2 * N, Q);
  for (const std::size_t several : {1, 2, 5, 130}) {
    if (several * count * N > (std::size_t{1} << 22)) break;
    std::vector<std::uint32_t> offsets(several);
    for (auto& k : offsets) k = static_cast<std::uint32_t>(random.below(N));
    offsets.back() = several == 1 ? 0 : N - 1;
    SCOPED_TRACE("N = " + std::to_string(N) + ", Q = " + std::to_string(Q) + ", count " +
                 std::to_string(count) + ", " + std::to_string(several) + " coefficients");
    expect_same(two, [&](const backend::Queue& queue) {
      const auto in = put(queue, data);
      auto out = queue.allocate<Word>(count * several * (N + 1));
      queue.rotation<Word>().extract(Q, N, offsets, constant, in.slice(), out.slice());
      return get(queue, out);
    });
  }
}

template <class In, class Out>
void compare_modulus_switch(const Two& two, std::uint64_t from, std::uint64_t to, std::size_t row,
                            std::size_t rows, Random& random) {
  const auto data = random.residues<In>(rows * row, from);
  for (const unsigned centre : {0u, 2u, 4u, 5u}) {
    if (centre != 0 && row > 1 && from / 2 > INT64_MAX / (row - 1)) continue;  // refused
    SCOPED_TRACE("from " + std::to_string(from) + " to " + std::to_string(to) + ", " +
                 std::to_string(rows) + " rows of " + std::to_string(row) +
                 (centre != 0 ? ", centred at 1/" + std::to_string(centre) : ""));
    expect_same(two, [&](const backend::Queue& queue) {
      const auto in = put(queue, data);
      auto out = queue.allocate<Out>(data.size());
      queue.lwe().modulus_switch<In, Out>(from, to, row, centre, in.slice(), out.slice());
      return get(queue, out);
    });
  }
}

/// Rows made in words of `Word`, which hold Q_ks; ciphertexts in 64-bit words, and in 32-bit ones
/// where they hold it.
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
  const backend::SwitchRows<Word> source = [&](std::size_t first, std::size_t many, Word* out,
                                               std::size_t stride) {
    for (std::size_t r = first; r < first + many; ++r, out += stride)
      std::copy_n(key.begin() + static_cast<std::ptrdiff_t>(r * (n + 1)), n + 1, out);
  };
  const auto cpu_key = two.cpu->lwe().prepare_switch_key<Word>({N, n, Q_ks, gadget, table}, source);
  const auto gpu_key = two.gpu->lwe().prepare_switch_key<Word>({N, n, Q_ks, gadget, table}, source);
  const auto in_words = [&]<class Of>(Of) {
    const auto data = random.residues<Of>(count * (N + 1), Q_ks);
    expect_same(two, [&](const backend::Queue& queue) {
      const auto in = put(queue, data);
      auto out = queue.allocate<Of>(count * (n + 1));
      queue.lwe().key_switch<Of>(&queue == two.cpu.get() ? *cpu_key : *gpu_key, in.slice(),
                                 out.slice());
      return get(queue, out);
    });
  };
  in_words(std::uint64_t{});
  if (Q_ks <= std::uint64_t{1} << 32) in_words(std::uint32_t{});
}

/// A power of two or any modulus, of up to so many bits.
inline std::uint64_t random_lwe_modulus(unsigned most_bits, Random& random) {
  const auto bits = static_cast<unsigned>(1 + random.below(most_bits));
  const std::uint64_t power = std::uint64_t{1} << bits;
  return random.below(2) ? power : std::max<std::uint64_t>(2, power - random.below(power));
}
inline std::int64_t random_weight(Random& random) {
  switch (random.below(8)) {
    case 0:
      return INT64_MAX;
    case 1:
      return INT64_MIN;
    case 2:
      return 0;
    default:
      return random.between(-5, 5);
  }
}

template <class Word>
void compare_linear(const Two& two, std::size_t row, std::size_t rows, std::size_t terms,
                    Random& random) {
  const std::uint64_t q = random_lwe_modulus(sizeof(Word) == 4 ? 32 : 60, random);
  SCOPED_TRACE("q = " + std::to_string(q) + ", " + std::to_string(terms) + " terms, " +
               std::to_string(rows) + " rows of " + std::to_string(row));
  std::vector<std::vector<Word>> data;
  std::vector<std::int64_t> weights;
  for (std::size_t k = 0; k < terms; ++k) {
    data.push_back(random.residues<Word>(rows * row, q));
    weights.push_back(random_weight(random));
  }
  const std::uint64_t constant = random.word();
  for (const bool in_place : {false, terms > 0})
    expect_same(two, [&](const backend::Queue& queue) {
      std::vector<backend::Buffer<Word>> in;
      std::vector<backend::Slice<const Word>> slices;
      for (const auto& values : data) in.push_back(put(queue, values));
      for (const auto& buffer : in) slices.push_back(std::as_const(buffer).slice());
      auto other = queue.allocate<Word>(rows * row);
      auto& out = in_place ? in.back() : other;
      queue.lwe().linear<Word>(q, row, weights, slices, constant, out.slice());
      return get(queue, out);
    });
}

/// Makes `results` sums of `inputs` arrays.
template <class Word>
void compare_matrix(const Two& two, std::size_t row, std::size_t rows, std::size_t inputs,
                    std::size_t results, Random& random) {
  const std::uint64_t q = random_lwe_modulus(sizeof(Word) == 4 ? 32 : 60, random);
  SCOPED_TRACE("q = " + std::to_string(q) + ", " + std::to_string(results) + " sums of " +
               std::to_string(inputs) + ", " + std::to_string(rows) + " rows of " +
               std::to_string(row));
  // Each group has an equal part of the rows.
  const std::size_t groups = rows % 3 == 0 ? rows : rows % 2 == 0 ? 2 : 1;
  const auto data = random.residues<Word>(inputs * rows * row, q);
  std::vector<std::int64_t> matrix(results * inputs);
  for (auto& weight : matrix) weight = random_weight(random);
  std::vector<std::uint64_t> constants(results);
  for (auto& constant : constants) constant = random.word();
  expect_same(two, [&](const backend::Queue& queue) {
    const auto in = put(queue, data);
    auto out = queue.allocate<Word>(results * rows * row);
    queue.lwe().matrix<Word>(q, row, matrix, constants, in.slice(), out.slice(), groups);
    return get(queue, out);
  });
}

/// Sums of few rows each, of `inputs` inputs.
template <class Word>
void compare_sums(const Two& two, std::size_t row, std::size_t inputs, std::size_t count,
                  Random& random) {
  backend::LweSumsShape shape{.q = random_lwe_modulus(sizeof(Word) == 4 ? 32 : 60, random),
                              .row = row,
                              .word_bytes = sizeof(Word)};
  SCOPED_TRACE("q = " + std::to_string(shape.q) + ", " + std::to_string(count) + " sums of " +
               std::to_string(inputs) + " inputs, rows of " + std::to_string(row));
  std::vector<std::vector<Word>> data;
  for (std::size_t k = 0; k < inputs; ++k) {
    shape.inputs.push_back(1 + random.below(9));
    data.push_back(random.residues<Word>(shape.inputs.back() * row, shape.q));
  }
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t k = random.below(9); k > 0; --k) {
      const auto input = static_cast<std::uint32_t>(random.below(inputs));
      const auto of = static_cast<std::uint32_t>(random.below(shape.inputs[input]));
      shape.terms.push_back({input, of, random_weight(random)});
    }
    shape.begin.push_back(static_cast<std::uint32_t>(shape.terms.size()));
    shape.constants.push_back(random.word());
  }
  const std::size_t first = random.below(count);
  expect_same(two, [&](const backend::Queue& queue) {
    std::vector<backend::Buffer<Word>> in;
    std::vector<backend::Slice<const Word>> slices;
    for (const auto& each : data) in.push_back(put(queue, each));
    for (const auto& each : in) slices.push_back(each.slice());
    const auto sums = queue.lwe().prepare_sums(shape);
    auto out = queue.allocate<Word>((count - first) * row);
    queue.lwe().sums<Word>(*sums, first, count - first, slices, out.slice());
    return get(queue, out);
  });
}

/// Columns `first` … of `vectors` vectors, as many polynomials as take them.
template <class In, class Out>
void compare_polynomials(const Two& two, backend::LwePolynomials rule, std::size_t vectors,
                         std::size_t first, std::size_t columns, Random& random) {
  SCOPED_TRACE("q = " + std::to_string(rule.q) + " to " + std::to_string(rule.to) + ", " +
               std::to_string(vectors) + " vectors of " + std::to_string(rule.length) +
               " rows of " + std::to_string(rule.row) + ", " + std::to_string(rule.weights.size()) +
               " together, N = " + std::to_string(rule.N) + ", columns " + std::to_string(first) +
               " + " + std::to_string(columns) + ", words of " + std::to_string(8 * sizeof(In)) +
               " and " + std::to_string(8 * sizeof(Out)) + " bits");
  for (auto& weight : rule.weights) weight = random.word();
  rule.constant = random.word();
  for (auto& prime : rule.primes) prime = (1ULL << 30) - random.below(1ULL << 20);
  const auto data = random.residues<In>(vectors * rule.length * rule.row, rule.q);
  const std::size_t each = 2 * rule.weights.size(), batch = (vectors + each - 1) / each;
  expect_same(two, [&](const backend::Queue& queue) {
    const auto in = put(queue, data);
    auto out = queue.allocate<Out>(columns * rule.primes.size() * batch * rule.N);
    queue.lwe().to_polynomials(rule, first, columns, in.slice(), out.slice());
    return get(queue, out);
  });
}

template <class Word>
void compare_expansion(const Two& two, std::uint64_t q, std::size_t n, std::size_t count,
                       Random& random) {
  SCOPED_TRACE("q = " + std::to_string(q) + ", " + std::to_string(count) + " rows of n = " +
               std::to_string(n) + ", words of " + std::to_string(8 * sizeof(Word)) + " bits");
  const math::Seed seed = random.bytes<32>();
  const auto bodies = random.residues<Word>(count, q);
  for (const bool numbered : {false, true}) {
    const auto numbers = random.numbers(numbered ? count : 0, 1ULL << 32);
    const std::uint64_t first = random.below(1ULL << 33);
    expect_same(two, [&](const backend::Queue& queue) {
      const auto names = put(queue, numbers);
      const auto b = put(queue, bodies);
      auto out = queue.allocate<Word>(count * (n + 1));
      queue.lwe().expand<Word>({seed, q, n + 1, first}, names.slice(), b.slice(), out.slice());
      return get(queue, out);
    });
  }
}

/// From one place of a buffer to another, which need not begin at 16 bytes.
template <class Word>
void compare_copy(const Two& two, std::size_t count, Random& random) {
  const std::size_t from = random.below(5), to = random.below(5);
  SCOPED_TRACE(std::to_string(count) + " words, from " + std::to_string(from) + " to " +
               std::to_string(to));
  const auto data = random.residues<Word>(count + from, 1 << 20);
  expect_same(two, [&](const backend::Queue& queue) {
    const auto in = put(queue, data);
    auto out = put(queue, std::vector<Word>(count + to, 7));
    queue.copy<Word>(in.slice().part(from, count), out.slice().part(to, count));
    return get(queue, out);
  });
  // Among other operations, by a kernel.
  expect_same(two, [&](const backend::Queue& queue) {
    const auto in = put(queue, data);
    auto out = put(queue, std::vector<Word>(count + to, 7)),
         again = put(queue, std::vector<Word>(count + to, 8));
    backend::together(queue, [&] {
      queue.copy<Word>(in.slice().part(from, count), out.slice().part(to, count));
      queue.copy<Word>(out.slice(), again.slice());
    });
    return get(queue, again);
  });
}

/// A blind-rotation key's shape to be filled with random rows.
struct Rotation {
  std::uint32_t n, N;
  unsigned bits, keys;                                ///< bits of Q; 1: binary, 2: ternary
  std::vector<std::pair<unsigned, unsigned>> ranges;  ///< log_base, digits, in turn
  unsigned group = 0;                                 ///< coefficients an unrolled step; 0: GINX
  backend::RotationKind kind = backend::RotationKind::unrolled;  ///< of unrolled steps
};
/// Keys of an unrolled step for so many coefficients.
inline unsigned keys_of_step(backend::RotationKind kind, unsigned size) {
  return kind == backend::RotationKind::block      ? size
         : kind == backend::RotationKind::unrolled ? (1u << size) - 1
                                                   : 1u << size;
}
inline std::string describe(const Rotation& r) {
  std::string out = "n = " + std::to_string(r.n) + ", N = " + std::to_string(r.N) + ", Q of " +
                    std::to_string(r.bits) + " bits, " +
                    (r.group == 0 ? "keys = " + std::to_string(r.keys)
                                  : std::to_string(keys_of_step(r.kind, r.group)) +
                                        " keys for groups of " + std::to_string(r.group)) +
                    ", gadgets";
  for (const auto& [log_base, digits] : r.ranges)
    out += " (" + std::to_string(log_base) + ", " + std::to_string(digits) + ")";
  return out;
}

/// From a shape of GINX to one of groups of so many coefficients.
inline void unroll(backend::RotationShape& shape, backend::RotationKind kind, unsigned group) {
  shape.kind = kind;
  shape.group = group;
  shape.keys = keys_of_step(kind, group);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const unsigned keys = i % group != 0 ? 0 : keys_of_step(kind, std::min(group, shape.n - i));
    shape.step_keys[i] = keys;
    shape.first_row[i + 1] = shape.first_row[i] + std::size_t{2} * keys * shape.gadgets[i].digits();
  }
  shape.row_count = shape.first_row.back();
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
    std::vector<ring::Gadget> gadgets;
    for (std::uint32_t i = 0; i < r.n; ++i) {
      const std::uint32_t step = r.group == 0 ? i : i - i % r.group;  // one gadget
      const auto& [log_base, digits] = r.ranges[step * r.ranges.size() / r.n];
      gadgets.emplace_back(Q, log_base, digits);
    }
    key.shape = ginx_shape(r.N, Q, r.keys, std::move(gadgets), backend::Arithmetic::ntt);
    if (r.group != 0) unroll(key.shape, r.kind, r.group);
    const std::size_t rows = key.shape.row_count;
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
  std::vector<Word> rotate(const backend::Queue& queue, const backend::RotationKey& prepared,
                           std::size_t first, std::size_t count) const {
    return run(queue, first, count, 2 * key.shape.N, [&](const auto& batch, auto out) {
      queue.rotation<Word>().rotate(prepared, batch, out);
    });
  }
  /// Their samples, `constant` added.
  std::vector<Word> extract(const backend::Queue& queue, const backend::RotationKey& prepared,
                            std::size_t first, std::size_t count) const {
    return run(queue, first, count, key.shape.N + 1, [&](const auto& batch, auto out) {
      queue.rotation<Word>().rotate_extract(prepared, batch, constant(), out);
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
  std::vector<Word> run(const backend::Queue& queue, std::size_t first, std::size_t count,
                        std::size_t out_row, const Work& work) const {
    const std::size_t row = key.shape.n + 1;
    const auto part = [](const auto& values, std::size_t from, std::size_t many) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
      return std::decay_t<decltype(values)>(begin, begin + static_cast<std::ptrdiff_t>(many));
    };
    const auto x = put(queue, part(lwe, first * row, count * row));
    const auto which = part(index, first, count);
    const auto t = put(queue, luts);
    auto out = queue.allocate<Word>(count * out_row);
    work(backend::Rotations<Word>{x.slice(), t.slice(), which}, out.slice());
    return get(queue, out);
  }

 public:
  std::unique_ptr<const backend::RotationKey> prepare(const backend::Queue& queue,
                                                      backend::Arithmetic arithmetic) const {
    backend::RotationShape shape = key.shape;
    shape.arithmetic = arithmetic;
    return queue.rotation<Word>().prepare(shape, key.source());
  }
};

inline constexpr backend::BlindRotation forced_ways[] = {
    backend::BlindRotation::single, backend::BlindRotation::cluster, backend::BlindRotation::grid,
    backend::BlindRotation::shared};
inline constexpr backend::BlindRotation all_ways[] = {
    backend::BlindRotation::automatic, backend::BlindRotation::single,
    backend::BlindRotation::cluster, backend::BlindRotation::grid, backend::BlindRotation::shared};

/// By NTT: the first 1, 2, … of `batches` ciphertexts, spread in each way, and their samples, bit
/// for bit as expected.
template <class Word>
void expect_rotation(const RotationCase<Word>& c, const std::vector<Word>& expected,
                     std::span<const backend::BlindRotation> ways,
                     const std::vector<std::size_t>& batches) {
  const std::size_t N = c.key.shape.N;
  for (const auto way : ways) {
    const auto queue = cuda(0, way);
    const auto prepared = c.prepare(*queue, backend::Arithmetic::ntt);
    for (const std::size_t count : batches) {
      const auto got = c.rotate(*queue, *prepared, 0, count);
      const auto [ours, theirs] = std::mismatch(got.begin(), got.end(), expected.begin());
      const std::size_t at = static_cast<std::size_t>(ours - got.begin());
      ASSERT_TRUE(ours == got.end())
          << way_name(way) << ", batch " << count << ": ciphertext " << at / (2 * N)
          << ", coefficient " << at % (2 * N) << ": GPU " << *ours << ", expected " << *theirs;
      ASSERT_TRUE(c.extract(*queue, *prepared, 0, count) == c.samples_of(got))
          << way_name(way) << ", batch " << count << ": samples";
    }
  }
}

/// The same in every way, as the CPU.
template <class Word>
void compare_rotation(const Rotation& r, const std::vector<std::size_t>& batches, Random& random) {
  SCOPED_TRACE(describe(r));
  const std::size_t most = *std::max_element(batches.begin(), batches.end());
  const RotationCase<Word> c(r, most, most, random);  // a table each
  const auto queue = backend::open_queue("cpu");
  expect_rotation(c, c.rotate(*queue, *c.prepare(*queue, backend::Arithmetic::ntt), 0, most),
                  all_ways, batches);
}

}  // namespace whorl::test
