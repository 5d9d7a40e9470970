// Does the time of encryption or decryption depend on messages, secrets or noise? Method and
// bounds: timing.h.
#include "support/timing.h"
#include "lattice/rlwe/phase.h"
#include "lattice/rlwe/public_key.h"
#include "lattice/rlwe/secret.h"
#include "lattice/rlwe/uniform.h"

namespace whorl::lattice::rlwe {
namespace {

constexpr std::size_t N = 256, read = 16;

template <class Word>
std::shared_ptr<const ring::RnsPlan<Word>> plan() {
  const auto primes = math::ntt_primes(sizeof(Word) == 4 ? 30 : 50, N, 2);
  const std::vector<Word> chain(primes.begin(), primes.end());
  return std::make_shared<const ring::RnsPlan<Word>>(N, chain, std::span<const Word>(), 1);
}

template <class Word>
class LatticeRlweTiming : public ::testing::Test {};
TYPED_TEST_SUITE(LatticeRlweTiming, test::BothWords);

/// Class 0: the message 0. Class 1: large ones of both signs. Both are written by the same
/// instructions from the same place.
TYPED_TEST(LatticeRlweTiming, EncryptionOfZeroAndOfLargeMessages) {
  using Word = TypeParam;
  const auto p = plan<Word>();
  const auto s = random_ternary_secret(N);
  const RnsSecret<Word> secret(p, s.span(), 3.19);
  const ring::Basis basis{0, 1};
  std::vector<Word> a(2 * N), b(2 * N);
  ciphertext_uniform<Word>(*p, basis, math::random_seed(), 0, a);
  math::PrivateStream stream("test");
  std::vector<std::int64_t> m(N);
  test::expect_constant_time(
      [&](int label) {
        for (std::size_t j = 0; j < N; ++j) m[j] = (j % 2 ? 32767 : -32767) * label;
        _mm_mfence();
      },
      [&] { secret.encrypt(basis, 65537, a, m, stream, b); });
}

/// The same under a public key.
TYPED_TEST(LatticeRlweTiming, PublicKeyEncryptionOfZeroAndOfLargeMessages) {
  using Word = TypeParam;
  const AnyPlan p = plan<Word>();
  const ring::Basis basis{0, 1};
  const Seed seed = math::random_seed();
  const Secret secret(p, random_ternary_secret(N).span(), 3.19);
  const PublicKey key(p, basis, seed, secret.public_key_body(basis, 65537, seed), 3.19);
  std::vector<std::int64_t> m(N);
  test::expect_constant_time(
      [&](int label) {
        for (std::size_t j = 0; j < N; ++j) m[j] = (j % 2 ? 32767 : -32767) * label;
        _mm_mfence();
      },
      [&] {
        key.encrypt(
            65537, 1,
            [&](std::size_t, std::span<std::int64_t> out) { std::ranges::copy(m, out.begin()); },
            {}, 1);
      },
      50000);
}

/// Class 0: phases of 0. Class 1: uniform ones, which wrap and have both signs.
TYPED_TEST(LatticeRlweTiming, ReadingOfZeroAndOfLargePhases) {
  using Word = TypeParam;
  const auto p = plan<Word>();
  const PhaseReader<Word> reader(p->moduli());
  const auto reduction = reader.reduction(65537);
  std::vector<Word> uniform(2 * N), phase(2 * read);
  ciphertext_uniform<Word>(*p, {0, 1}, math::random_seed(), 0, uniform);
  std::vector<std::uint64_t> out(read);
  test::expect_constant_time(
      [&](int label) {
        const auto mask = static_cast<Word>(Word{0} - static_cast<Word>(label));
        for (std::size_t j = 0; j < 2 * read; ++j) phase[j] = uniform[j + N - read] & mask;
        _mm_mfence();
      },
      [&] { reader.modulo(reduction, phase, 3, out); });
}

/// Two secrets, of which one is 0. Each in turn is put where the other has been: two that lie apart
/// would differ by their addresses.
TYPED_TEST(LatticeRlweTiming, PhasesUnderZeroAndUnderATernarySecret) {
  using Word = TypeParam;
  const auto p = plan<Word>();
  const auto ternary = random_ternary_secret(N);
  std::vector<std::int32_t> s(N);
  std::vector<Word> c(2 * N), out(N);
  for (std::size_t part = 0; part < 2; ++part)
    ciphertext_uniform<Word>(*p, {0}, math::random_seed(), part, std::span(c).subspan(N * part, N));
  std::optional<RnsSecret<Word>> secret;
  test::expect_constant_time(
      [&](int label) {
        for (std::size_t j = 0; j < N; ++j) s[j] = ternary[j] & -label;
        secret.reset();
        secret.emplace(p, s, 3.19);
      },
      [&] { secret->phase({0}, 2, c, out); }, 50000);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
