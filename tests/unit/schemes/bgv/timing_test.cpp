// Does the time of encryption or decryption depend on messages? Method and bounds: timing.h.
#include "support/timing.h"
#include "support/bgv_sets.h"
#include "whorl/bgv.h"

namespace whorl::bgv {
namespace {

constexpr std::size_t timings = 10000;

/// Rows of slots, and of coefficients modulo a t that is no power of two and no prime.
struct Case {
  test::BgvShape shape;
  Packing packing;
};
constexpr Case cases[] = {{{1024, 65537, 30, 2, 1}, Packing::slots},
                          {{1024, 1000000, 50, 2, 1}, Packing::coefficients}};

/// Class 0: rows of 0. Class 1: rows of values of both signs. Both are written by the same
/// instructions to the same place. (lattice/rlwe times encryption under public keys.)
TEST(BgvTiming, EncryptionOfZerosAndOfLargeMessages) {
  for (const auto& [shape, way] : cases) {
    const Packing packing = way;
    const Client client(test::bgv_insecure(shape));
    const auto high = static_cast<std::int64_t>(shape.t / 2);
    std::vector<std::int64_t> values(shape.N);
    test::expect_constant_time(
        [&](int label) {
          for (std::size_t j = 0; j < values.size(); ++j)
            values[j] = (j % 2 ? high : -high) * label;
          _mm_mfence();
        },
        [&] { client.encrypt(values, packing); }, timings);
  }
}

/// Class 0: phases that are errors alone. Class 1: those of uniform messages. The words of both
/// ciphertexts are uniform; both are copied to the same place by the same instructions.
template <class Word>
void check_decryption(const Client& client, Packing packing) {
  const Parameters& p = client.parameters();
  std::vector<std::int64_t> values(p.N());
  const Ciphertexts zeros = client.encrypt(values, packing);
  test::Random random;
  for (std::int64_t& x : values) x = static_cast<std::int64_t>(random.below(p.t()));
  const Ciphertexts uniform = client.encrypt(values, packing);
  const auto first = zeros.data.as<Word>(), second = uniform.data.as<Word>();
  std::vector<Word> words(first.size());
  Ciphertexts used = zeros;
  used.seed.reset();
  used.data = WordArray(nullptr, words.data(), words.size(), sizeof(Word));
  test::expect_constant_time(
      [&](int label) {
        const auto mask = static_cast<Word>(Word{0} - static_cast<Word>(label));
        for (std::size_t j = 0; j < words.size(); ++j)
          words[j] = static_cast<Word>((first[j] & ~mask) | (second[j] & mask));
        _mm_mfence();
      },
      [&] { client.decrypt(used); }, timings);
}

TEST(BgvTiming, DecryptionOfZerosAndOfUniformMessages) {
  check_decryption<std::uint32_t>(Client(test::bgv_insecure(cases[0].shape)), cases[0].packing);
  check_decryption<std::uint64_t>(Client(test::bgv_insecure(cases[1].shape)), cases[1].packing);
}

}  // namespace
}  // namespace whorl::bgv
