// Does the time of encryption or decryption depend on messages or keys? Method and bounds:
// timing.h.
#include "support/timing.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

/// 37 is no power of two: its encoding needs a true division by 74.
constexpr Encoding plain{37, false}, padded{37, true};

TEST(BinfheTiming, EncryptionOfZeroAndOfTheLargestMessage) {
  const Client client(Parameters::named("W128_P128"));
  std::vector<std::uint32_t> message(1);
  test::expect_constant_time(
      [&](int label) { message[0] = 36u & (0u - static_cast<std::uint32_t>(label)); },
      [&] { client.encrypt(message, plain); });
}

/// Class 0: phases near 0; class 1: phases just below q, where rounding wraps, and the padding bit
/// is set. Only the b's are written, by the same instructions from the same place.
void check_decryption(Encoding encoding) {
  const Client client(Parameters::named("W128_P128"));
  const std::uint64_t q = client.parameters().q();
  const auto below = static_cast<std::uint32_t>(q - q / encoding.sectors());
  Ciphertexts used = client.encrypt(std::vector<std::uint32_t>(4, 0), encoding);
  used.seed.reset();
  std::vector<std::uint32_t> low;
  for (std::size_t i = 0; i < used.count; ++i) low.push_back(used[i].back());
  test::expect_constant_time(
      [&](int label) {
        for (std::size_t i = 0; i < used.count; ++i)
          used.data[(i + 1) * used.row() - 1] =
              (low[i] + (below & (0u - static_cast<std::uint32_t>(label)))) &
              static_cast<std::uint32_t>(q - 1);
        _mm_mfence();
      },
      [&] { client.decrypt(used); });
}
TEST(BinfheTiming, DecryptionOfLowAndHighPhases) { check_decryption(plain); }
TEST(BinfheTiming, DecryptionWithPaddingOfLowAndHighPhases) { check_decryption(padded); }

}  // namespace
}  // namespace whorl::binfhe
