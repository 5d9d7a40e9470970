// Rotations of as many steps as sets have, with the kernels that batches of each size take. Keys
// encrypt the bits of a secret under the ring key 1, without noise: rows are (r, r) with r uniform,
// and the message on top. After all steps b - a is the table times a power of X, but for what the
// gadget drops and the FFT rounds.
#include "gpu/backend/compare.h"
#include "lattice/lwe/rotation_method.h"
#include "support/test.h"

namespace whorl::test {
namespace {

using backend::RotationShape;
using Kind = backend::RotationKind;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

U64 mix(U64 x) {  // SplitMix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// 0 or 1, and -1 where GINX has a key for it.
int secret(const RotationShape& shape, U32 i) {
  const U64 of_block = mix(U64{i / shape.group} << 40);
  if (shape.kind == Kind::block) return of_block % (shape.group + 1) == i % shape.group ? 1 : 0;
  const U64 x = mix(U64{i} << 40);
  if (shape.kind == Kind::ginx && shape.keys == 2) return static_cast<int>(x % 3) - 1;
  return static_cast<int>(x & 1);
}

/// Whether key number `key` of the step that coefficient i begins encrypts 1.
bool encrypts_one(const RotationShape& shape, U32 i, std::size_t key) {
  if (shape.kind == Kind::ginx) return secret(shape, i) == (key == 0 ? 1 : -1);
  const std::size_t set = shape.kind == Kind::block          ? std::size_t{1} << key
                          : shape.kind == Kind::unrolled_all ? key
                                                             : key + 1;
  for (unsigned t = 0; t < shape.group && i + t < shape.n; ++t)
    if (static_cast<std::size_t>(secret(shape, i + t)) != (set >> t & 1)) return false;
  return true;
}

template <class Word>
backend::RowSource<Word> rows_of(const RotationShape& shape) {
  return [&shape](std::size_t row, std::span<Word> a, std::span<Word> b) {
    for (std::size_t j = 0; j < shape.N; ++j)
      a[j] = b[j] = static_cast<Word>(mix(row * shape.N + j) % shape.Q);
    const auto next = std::upper_bound(shape.first_row.begin(), shape.first_row.end(), row);
    const auto i = static_cast<U32>(next - shape.first_row.begin() - 1);
    const unsigned digits = shape.gadgets[i].digits();
    const std::size_t in_step = row - shape.first_row[i], key = in_step / (2 * digits);
    if (!encrypts_one(shape, i, key)) return;
    Word& constant = in_step % (2 * digits) < digits ? a[0] : b[0];
    constant = static_cast<Word>(
        (constant + shape.gadgets[i].factor(static_cast<unsigned>(in_step % digits))) % shape.Q);
  };
}

struct Sizes {
  U32 n, N;
  unsigned bits, log_base, digits;
  /// How many of the last coefficients have others.
  U32 others = 0;
  unsigned others_log_base = 0, others_digits = 0;
};

/// Checks a set of these sizes: the last of the first 1, 32, … ciphertexts and sixteen others.
template <class Word>
void check(const Sizes& set, Kind kind, unsigned group, backend::Arithmetic arithmetic,
           const std::vector<std::size_t>& counts,
           lattice::SecretKind keys = lattice::SecretKind::binary,
           backend::BlindRotation way = backend::BlindRotation::automatic) {
  const bool block = kind == Kind::block;
  const U32 n = block ? set.n / group * group : set.n, N = set.N, tables = 4;
  const U64 Q = math::ntt_primes(set.bits, N, 1)[0];
  SCOPED_TRACE("N = " + std::to_string(N) + ", kind " + std::to_string(static_cast<int>(kind)) +
               ", groups of " + std::to_string(group) + ", digits of " +
               std::to_string(set.log_base) + " bits, " + way_name(way));
  std::vector gadgets(n - set.others, ring::Gadget(Q, set.log_base, set.digits));
  for (U32 i = 0; i < set.others; ++i)
    gadgets.emplace_back(Q, set.others_log_base, set.others_digits);
  const RotationShape shape =
      lattice::lwe::RotationMethod(kind, group)
          .shape(N, Q, block ? lattice::SecretKind::block_binary : keys, gadgets, arithmetic);
  const auto queue = cuda(0, way);
  const auto key = queue->rotation<Word>().prepare(shape, rows_of<Word>(shape));
  std::vector<Word> luts(std::size_t{tables} * N);
  for (std::size_t i = 0; i < luts.size(); ++i) luts[i] = static_cast<Word>(mix(i << 20) % Q);
  const auto t = put(*queue, luts);
  for (const std::size_t count : counts) {
    std::vector<U32> lwe(count * (n + 1)), index(count);
    for (std::size_t i = 0; i < lwe.size(); ++i) lwe[i] = static_cast<U32>(mix(~i) % (2 * N));
    for (std::size_t i = 0; i < count; ++i) index[i] = static_cast<U32>(i % tables);
    const auto x = put(*queue, lwe);
    auto out = queue->allocate<Word>(count * 2 * N);
    queue->rotation<Word>().rotate(*key, {x.slice(), t.slice(), index}, out.slice());
    const auto got = get(*queue, out);
    for (std::size_t c = count - 1; c < count; c -= std::max<std::size_t>(1, count / 16)) {
      const U32* const a = lwe.data() + c * (n + 1);
      U32 rotation = 0u - a[n];
      for (U32 i = 0; i < n; ++i) rotation += static_cast<U32>(secret(shape, i)) * a[i];
      for (U32 j = 0; j < N; ++j) {
        const U32 from = (j - rotation) & (2 * N - 1);
        const U64 value = luts[index[c] * N + (from & (N - 1))], mask = got[c * 2 * N + j],
                  body = got[c * 2 * N + N + j];
        ASSERT_LT(std::max(mask, body), Q);
        const U64 wanted = from < N ? value : (Q - value) % Q,
                  off = (body + 2 * Q - mask - wanted) % Q;
        // The gadget drops less than 2^dropped/2 of a coefficient and step.
        ASSERT_LE(std::min(off, Q - off), Q >> 8)
            << "ciphertext " << c << " of " << count << ", coefficient " << j;
      }
    }
  }
}

void check_both(Kind kind, unsigned group, backend::Arithmetic arithmetic,
                const std::vector<std::size_t>& counts) {
  check<U32>({644, 1024, 26, 8, 2}, kind, group, arithmetic, counts);
  check<U64>({843, 2048, 48, 23, 1}, kind, group, arithmetic, counts);
}

// Groups of 5 and 6 have no kernels for batches.
TEST(GpuNoiselessRotations, TurnTheTableByFft) {
  constexpr auto fft = backend::Arithmetic::fft;
  for (const auto& [kind, group] : {std::pair{Kind::ginx, 1u},
                                    {Kind::unrolled, 2u},
                                    {Kind::unrolled, 3u},
                                    {Kind::unrolled_all, 2u},
                                    {Kind::unrolled_all, 3u},
                                    {Kind::block, 3u},
                                    {Kind::block, 4u}})
    check_both(kind, group, fft, {1, 3, 8, 32, 132, 2500});
  for (const auto& [kind, group] : {std::pair{Kind::unrolled, 4u},
                                    {Kind::unrolled, 5u},
                                    {Kind::unrolled_all, 4u},
                                    {Kind::unrolled_all, 5u},
                                    {Kind::unrolled_all, 6u}})
    check_both(kind, group, fft, {1, 3, 8, 15, 16, 24, 33, 128, 132, 200, 300});
}

// The papers' sets, from one to more ciphertexts than clusters run at once: over clusters whose
// blocks have a quarter of the frequencies each, over others where there are more digits than those
// take, and in one block.
TEST(GpuNoiselessRotations, TurnTheTableWithTernaryKeys) {
  constexpr auto fft = backend::Arithmetic::fft;
  constexpr auto ternary = lattice::SecretKind::ternary;
  for (const auto way : {backend::BlindRotation::automatic, backend::BlindRotation::cluster}) {
    const auto of = [&]<class Word>(const Sizes& set, Word) {
      check<Word>(set, Kind::ginx, 1, fft, {1, 2, 9, 17, 40}, ternary, way);
    };
    of({512, 1024, 27, 7, 3}, U32{});             // xiao/STD128
    of({554, 1024, 27, 7, 3, 251, 9, 2}, U32{});  // openfhe_1_6/STD128
    of({601, 1024, 25, 4, 6}, U32{});             // openfhe_1_5/STD128Q
    of({60, 1024, 25, 3, 8}, U32{});              // as many digits as clusters do not split
    of({256, 2048, 27, 7, 3}, U32{});             // xiao/STD256Q
    of({1305, 2048, 54, 9, 5}, U64{});            // xiao/DECISION_TREE
    of({1305, 2048, 54, 27, 1}, U64{});           // xiao/EVALFUNC
    of({1305, 2048, 54, 18, 2}, U64{});           // xiao/RELU
    of({100, 2048, 54, 9, 5, 33, 13, 3}, U64{});  // digits that change
    of({60, 2048, 54, 8, 6}, U64{});              // as many as clusters do not split
    of({100, 1024, 37, 8, 4}, U64{});
    if (HasFatalFailure()) return;
  }
}

TEST(GpuNoiselessRotations, TurnTheTableByNtt) {
  for (const auto& [kind, group] : {std::pair{Kind::ginx, 1u},
                                    {Kind::unrolled, 3u},
                                    {Kind::unrolled_all, 3u},
                                    {Kind::block, 3u}})
    check_both(kind, group, backend::Arithmetic::ntt, {1, 300});
}

}  // namespace
}  // namespace whorl::test
