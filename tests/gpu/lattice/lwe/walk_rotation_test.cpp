// Blind rotation by AP, by automorphisms and with a raised modulus on a GPU: by NTT against the CPU
// bit for bit; by FFT the same bits for any batch, and samples of what is rotated. Small N are
// compared with exact integers in property/lattice/lwe/rotation_kinds_test.cpp, which runs here
// too.
#include "gpu/backend/compare.h"
#include "support/rotation_kinds.h"
#include "support/test.h"

namespace whorl::test {
namespace {

using backend::Arithmetic;
using Kind = backend::RotationKind;
using lattice::SecretKind;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// A key, and inputs of a batch.
template <class Word>
struct Inputs {
  RotationRows<Word> key;
  std::vector<U32> lwe, index;
  std::vector<Word> luts;

  Inputs(const RotationOfKind& c, Arithmetic arithmetic, std::size_t count, Random& random)
      : key(random_key<Word>(c, arithmetic, random)),
        lwe(exponents(c, count, random)),
        index(count),
        luts(random.residues<Word>(std::size_t{3} * c.N, key.shape.Q)) {
    for (auto& i : index) i = static_cast<U32>(random.below(3));
  }
  std::unique_ptr<const backend::RotationKey> prepare(const backend::Queue& queue) const {
    return queue.rotation<Word>().prepare(key.shape, key.source());
  }
  /// Ciphertexts first … first + count - 1.
  std::vector<Word> rotate(const backend::Queue& queue, const backend::RotationKey& prepared,
                           std::size_t first, std::size_t count) const {
    const auto part = [](const auto& from, std::size_t begin, std::size_t many) {
      const auto at = from.begin() + static_cast<std::ptrdiff_t>(begin);
      return std::vector<U32>(at, at + static_cast<std::ptrdiff_t>(many));
    };
    const std::size_t row = key.shape.n + 1;
    return test::rotate<Word>(queue, prepared, part(lwe, first * row, count * row), luts,
                              part(index, first, count));
  }
  std::vector<Word> samples(const backend::Queue& queue,
                            const backend::RotationKey& prepared) const {
    const auto x = put(queue, lwe);
    const auto tables = put(queue, luts);
    auto out = queue.allocate<Word>(index.size() * (key.shape.N + 1));
    queue.rotation<Word>().rotate_extract(prepared, {x.slice(), tables.slice(), index}, 5,
                                          out.slice());
    return get(queue, out);
  }
};

/// Samples of coefficient 0, 5 added.
template <class Word>
std::vector<Word> samples_of(const std::vector<Word>& accumulators, std::size_t N, U64 Q) {
  std::vector<Word> out;
  for (std::size_t at = 0; at < accumulators.size(); at += 2 * N) {
    out.push_back(accumulators[at]);
    for (std::size_t j = N - 1; j > 0; --j)
      out.push_back(static_cast<Word>((Q - accumulators[at + j]) % Q));
    out.push_back(static_cast<Word>((accumulators[at + N] + 5) % Q));
  }
  return out;
}

/// By NTT, a whole batch and its first ciphertext alone, and samples.
template <class Word>
void compare(const RotationOfKind& c, std::size_t count, Random& random) {
  SCOPED_TRACE(describe(c) + ", " + std::to_string(count) + " ciphertexts");
  const Inputs<Word> in(c, Arithmetic::ntt, count, random);
  const auto host = backend::open_queue("cpu"), gpu = cuda();
  const auto expected = in.rotate(*host, *in.prepare(*host), 0, count);
  const auto prepared = in.prepare(*gpu);
  const auto got = in.rotate(*gpu, *prepared, 0, count);
  const auto [ours, theirs] = std::mismatch(got.begin(), got.end(), expected.begin());
  const auto at = static_cast<std::size_t>(ours - got.begin());
  ASSERT_TRUE(ours == got.end()) << "ciphertext " << at / (2 * c.N) << ", coefficient "
                                 << at % (2 * c.N) << ": GPU " << *ours << ", CPU " << *theirs;
  const auto alone = in.rotate(*gpu, *prepared, count - 1, 1);
  ASSERT_TRUE(std::equal(alone.begin(), alone.end(), got.end() - 2 * std::ptrdiff_t{c.N}));
  ASSERT_TRUE(in.samples(*gpu, *prepared) == samples_of(got, c.N, in.key.shape.Q));
}

TEST(GpuWalksNtt, EveryLength) {
  Random random;
  for (U32 N = 1 << 8; N <= 1 << 13; N *= 2) {
    const U32 n = N <= 1024 ? 5 : 2;
    for (const auto& [base, unit] : {std::pair{32u, 1u}, {8u, 2u}, {2u, 1u}}) {
      compare<U32>({Kind::ap, base, n, N, 27, 7, 3, 0, unit, SecretKind::ternary}, 3, random);
      compare<U64>({Kind::ap, base, n, N, 54, 27, 1, 0, unit, SecretKind::binary}, 3, random);
      compare<U32>({Kind::ap, base, n, N, 27, 27, 1, 30, unit, SecretKind::ternary}, 3, random);
      compare<U64>({Kind::ap, base, n, N, 50, 30, 1, 55, unit, SecretKind::binary}, 3, random);
      if (HasFatalFailure()) return;
    }
    for (const unsigned window : {1u, 10u, 256u}) {
      compare<U32>({Kind::automorphism, window, n, N, 27, 9, 3, 0, 1, SecretKind::gaussian}, 2,
                   random);
      compare<U64>({Kind::automorphism, window, n, N, 54, 18, 2, 0, 1, SecretKind::ternary}, 2,
                   random);
      compare<U32>({Kind::automorphism, window, n, N, 28, 28, 1, 20, 1, SecretKind::binary}, 2,
                   random);
      if (HasFatalFailure()) return;
    }
    for (const auto secret : {SecretKind::binary, SecretKind::ternary}) {
      compare<U32>({Kind::ginx, 1, n, N, 27, 27, 1, 30, 1, secret}, 3, random);
      compare<U32>({Kind::ginx, 1, n, N, 28, 28, 1, 20, 1, secret}, 3, random);
      compare<U64>({Kind::ginx, 1, n, N, 60, 30, 1, 58, 1, secret}, 3, random);
      if (HasFatalFailure()) return;
    }
  }
}

// Counts of digits that sets use, and more than shared memory holds.
TEST(GpuWalksNtt, EveryCountOfDigits) {
  Random random;
  for (unsigned digits = 1; digits <= 16; ++digits) {
    const unsigned log_base = std::max(1u, 27 / digits);
    compare<U32>({Kind::ap, 32, 2, 1024, 27, log_base, digits, 0, 1, SecretKind::ternary}, 2,
                 random);
    compare<U32>({Kind::automorphism, 10, 2, 1024, 27, log_base, digits, 0, 1, SecretKind::ternary},
                 2, random);
    if (HasFatalFailure()) return;
  }
  compare<U64>({Kind::ap, 32, 1, 2048, 60, 4, 15, 0, 1, SecretKind::ternary}, 2, random);
  compare<U64>({Kind::automorphism, 10, 1, 2048, 60, 4, 15, 0, 1, SecretKind::ternary}, 2, random);
}

// More ciphertexts than run at once, and as many as go through device memory in pieces.
TEST(GpuWalksNtt, LargeBatches) {
  Random random;
  compare<U32>({Kind::ap, 32, 3, 512, 27, 7, 3, 0, 1, SecretKind::ternary}, 3000, random);
  compare<U32>({Kind::automorphism, 10, 6, 512, 27, 9, 3, 0, 1, SecretKind::gaussian}, 300, random);
  compare<U32>({Kind::ginx, 1, 4, 1024, 22, 22, 1, 28, 1, SecretKind::ternary}, 2000, random);
  compare<U64>({Kind::ap, 32, 1, 1024, 60, 4, 15, 0, 1, SecretKind::ternary}, 700, random);
}

// As long as sets are.
TEST(GpuWalksNtt, AsManyStepsAsSetsHave) {
  Random random;
  compare<U32>({Kind::ap, 32, 100, 1024, 27, 8, 3, 0, 1, SecretKind::ternary}, 4, random);
  compare<U32>({Kind::automorphism, 10, 450, 1024, 27, 9, 3, 0, 1, SecretKind::ternary}, 3, random);
  compare<U32>({Kind::ginx, 1, 1024, 2048, 22, 22, 1, 28, 1, SecretKind::ternary}, 3, random);
}

TEST(GpuWalksNtt, EdgeExponents) {
  Random random;
  for (const U32 N : {256u, 1024u})
    for (const U32 a : {0u, 1u, N - 1, N, N + 1, 2 * N - 1, 5u, 2 * N - 5}) {
      SCOPED_TRACE("all exponents " + std::to_string(a));
      for (const RotationOfKind& c :
           {RotationOfKind{Kind::ap, 32, 5, N, 27, 7, 3, 0, 1, SecretKind::ternary},
            RotationOfKind{Kind::automorphism, 10, 5, N, 27, 7, 3, 0, 1, SecretKind::ternary},
            RotationOfKind{Kind::ginx, 1, 5, N, 27, 27, 1, 30, 1, SecretKind::ternary}}) {
        if (c.kind == Kind::automorphism && a % 2 == 0) continue;
        Inputs<U32> in(c, Arithmetic::ntt, 2, random);
        for (std::size_t j = 0; j < in.lwe.size(); ++j)
          if (j % (c.n + 1) != c.n) in.lwe[j] = a;
        const auto host = backend::open_queue("cpu"), gpu = cuda();
        ASSERT_TRUE(in.rotate(*gpu, *in.prepare(*gpu), 0, 2) ==
                    in.rotate(*host, *in.prepare(*host), 0, 2))
            << describe(c);
      }
    }
}

// A GPU does not read exponents on the host: an even one counts as the next odd one.
TEST(GpuWalksNtt, EvenExponentsOfAutomorphismsCountAsTheNextOddOnes) {
  Random random;
  const RotationOfKind c{Kind::automorphism, 10, 9, 512, 27, 9, 3, 0, 1, SecretKind::ternary};
  Inputs<U32> in(c, Arithmetic::ntt, 4, random);
  const auto queue = cuda();
  const auto prepared = in.prepare(*queue);
  const auto odd = in.rotate(*queue, *prepared, 0, 4);
  for (std::size_t j = 0; j < in.lwe.size(); ++j)
    if (j % (c.n + 1) != c.n) in.lwe[j] &= ~1u;
  ASSERT_TRUE(in.rotate(*queue, *prepared, 0, 4) == odd);
}

/// By FFT: the same bits for any part of a batch, spread the same way; samples.
template <class Word>
void same_for_any_part(const RotationOfKind& c, std::size_t count, Random& random) {
  SCOPED_TRACE(describe(c));
  const Inputs<Word> in(c, Arithmetic::fft, count, random);
  const auto queue = cuda(0, backend::BlindRotation::single);
  const auto prepared = in.prepare(*queue);
  const auto whole = in.rotate(*queue, *prepared, 0, count);
  for (std::size_t begin = 0; begin < count;) {
    const std::size_t size = std::min<std::size_t>(1 + random.below(90), count - begin);
    const auto part = in.rotate(*queue, *prepared, begin, size);
    ASSERT_TRUE(std::equal(part.begin(), part.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(begin * 2 * c.N)))
        << "ciphertexts " << begin << " + " << size << " of " << count;
    begin += size;
  }
  ASSERT_TRUE(in.samples(*queue, *prepared) == samples_of(whole, c.N, in.key.shape.Q));
}

TEST(GpuWalksFft, SameBitsForAnyBatch) {
  Random random;
  same_for_any_part<U32>({Kind::ap, 32, 5, 1024, 27, 8, 3, 0, 1, SecretKind::ternary}, 400, random);
  same_for_any_part<U32>({Kind::ap, 32, 3, 2048, 27, 4, 7, 0, 1, SecretKind::ternary}, 200, random);
  same_for_any_part<U64>({Kind::ap, 64, 2, 2048, 50, 25, 1, 0, 1, SecretKind::ternary}, 200,
                         random);
  same_for_any_part<U64>({Kind::ap, 32, 2, 1024, 54, 18, 2, 0, 1, SecretKind::ternary}, 200,
                         random);
  same_for_any_part<U32>({Kind::ap, 32, 3, 1024, 16, 16, 1, 20, 2, SecretKind::ternary}, 300,
                         random);
  same_for_any_part<U32>({Kind::automorphism, 10, 20, 1024, 27, 9, 3, 0, 1, SecretKind::gaussian},
                         200, random);
  same_for_any_part<U64>({Kind::automorphism, 10, 9, 512, 54, 18, 2, 0, 1, SecretKind::gaussian},
                         100, random);
  same_for_any_part<U32>({Kind::automorphism, 10, 9, 1024, 22, 22, 1, 28, 1, SecretKind::ternary},
                         100, random);
  same_for_any_part<U32>({Kind::ginx, 1, 9, 2048, 22, 22, 1, 28, 1, SecretKind::ternary}, 300,
                         random);
}

/// Keys whose rows are the gadget's, times a monomial for each key: a product turns ACC and rounds
/// the bits that the gadget drops. Against the CPU's NTT, which is exact.
template <class Word>
void many_steps(const RotationOfKind& c, std::size_t count, double units, Random& random) {
  SCOPED_TRACE(describe(c));
  Inputs<Word> in(c, Arithmetic::fft, count, random);
  const backend::RotationShape& shape = in.key.shape;
  for (auto* halves : {&in.key.a, &in.key.b})
    for (auto& row : *halves) std::fill(row.begin(), row.end(), Word{0});
  // Row r: component `part` is value·X^e.
  const auto set = [&](std::size_t r, unsigned part, U32 e, U64 value) {
    auto& row = (part == 0 ? in.key.a : in.key.b)[r];
    const U64 moduli[] = {shape.Q, shape.raised_by};
    for (unsigned limb = 0; limb < (shape.raised() ? 2u : 1u); ++limb) {
      const U64 residue = value % moduli[limb];
      row[limb * c.N + e % c.N] =
          static_cast<Word>(e < c.N || residue == 0 ? residue : moduli[limb] - residue);
    }
  };
  const auto weight = [&](unsigned digit) {
    const ring::Gadget& g = shape.gadgets[0];
    return shape.raised() ? shape.raised_by : U64{1} << (g.dropped() + digit * g.log_base());
  };
  const unsigned digits = shape.gadgets[0].digits();
  const std::size_t steps = shape.first_row.back();
  for (std::size_t first = 0; first < steps; first += 2 * digits) {
    const auto e = static_cast<U32>(random.below(2ULL * c.N));
    for (unsigned part = 0; part < 2; ++part)
      for (unsigned j = 0; j < digits; ++j) set(first + part * digits + j, part, e, weight(j));
  }
  for (std::size_t first = steps; first < shape.row_count; first += digits) {
    const auto e = static_cast<U32>(random.below(2ULL * c.N));
    for (unsigned part = 0; part < 2; ++part)
      for (unsigned j = 0; j < digits; ++j)
        set(first + j, part, (e + 3 * part) % (2 * c.N), weight(j));
  }
  // Away from ±Q/2, where rounding turns a digit's sign.
  for (Word& x : in.luts) x = static_cast<Word>(shape.Q / 8 + x % (shape.Q / 4));
  Inputs<Word> by_ntt = in;
  by_ntt.key.shape.arithmetic = Arithmetic::ntt;
  const auto host = backend::open_queue("cpu");
  const auto exact = by_ntt.rotate(*host, *by_ntt.prepare(*host), 0, count);
  const auto queue = cuda();
  const auto got = in.rotate(*queue, *in.prepare(*queue), 0, count);
  double largest = 0;
  for (std::size_t j = 0; j < got.size(); ++j) {
    ASSERT_LT(got[j], shape.Q);
    const auto error = centred((got[j] + shape.Q - exact[j]) % shape.Q, shape.Q);
    largest = std::max(largest, std::abs(static_cast<double>(error)));
  }
  EXPECT_LE(largest, units);
}

// No bit is dropped, and keys are sparse: a transform's error is a few units at most, and those of
// the hundreds of steps of N = 4096 add up, in a and from there in b. A wrong coefficient is off by
// about Q/8.
TEST(GpuWalksFft, ManyStepsStayCloseToExactOnes) {
  Random random;
  for (U32 N = 256; N <= 4096; N *= 2) {
    const U32 n = N <= 1024 ? 6 : 2;
    for (const auto& [kind, group] : {std::pair{Kind::ap, 8u}, {Kind::automorphism, 10u}}) {
      for (const auto& [log_base, digits] : {std::pair{14u, 2u}, {9u, 3u}, {7u, 4u}, {6u, 5u}})
        many_steps<U32>({kind, group, n, N, 27, log_base, digits, 0, 1, SecretKind::ternary}, 3,
                        1 << 14, random);
      many_steps<U64>({kind, group, n, N, 50, 25, 2, 0, 1, SecretKind::ternary}, 3, 1 << 26,
                      random);
      many_steps<U32>({kind, group, n, N, 22, 22, 1, 26, 1, SecretKind::ternary}, 3, 1 << 9,
                      random);
      if (HasFatalFailure()) return;
    }
  }
}

// One of each kernel, for compute-sanitizer.
TEST(GpuWalksSmall, EveryKernel) {
  Random random;
  for (const auto& [kind, group] :
       {std::pair{Kind::ap, 32u}, {Kind::automorphism, 10u}, {Kind::ginx, 1u}}) {
    const auto same = [&]<class Word>(Word, unsigned bits, unsigned log_base, unsigned digits,
                                      unsigned raised) {
      const RotationOfKind c{kind,     group,  3,      256, bits,
                             log_base, digits, raised, 1,   SecretKind::ternary};
      same_for_any_part<Word>(c, 4, random);
      compare<Word>(c, 3, random);
    };
    same(U32{}, 22, 22, 1, 28);
    if (kind == Kind::ginx) continue;  // without a raised modulus it has kernels of its own
    same(U32{}, 27, 9, 3, 0);
    same(U64{}, 50, 25, 1, 0);
    same(U64{}, 54, 18, 2, 0);
  }
}

TEST(GpuWalks, KeysWithoutKernelsAreRefused) {
  Random random;
  const auto queue = cuda();
  for (const RotationOfKind& c :
       {RotationOfKind{Kind::ginx, 1, 2, 256, 33, 30, 1, 37},
        RotationOfKind{Kind::ap, 32, 2, 256, 33, 30, 1, 37, 1, SecretKind::ternary}}) {
    const Inputs<U64> in(c, Arithmetic::fft, 1, random);
    EXPECT_THROW(in.prepare(*queue), DeviceError) << describe(c);
  }
  const RotationOfKind raised{Kind::unrolled, 2, 4, 256, 27, 27, 1, 30};
  EXPECT_THROW((Inputs<U32>(raised, Arithmetic::ntt, 1, random).prepare(*queue)), DeviceError);
}

}  // namespace
}  // namespace whorl::test
