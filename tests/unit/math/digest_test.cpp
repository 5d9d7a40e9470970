#include "math/digest.h"
#include "support/test.h"

namespace whorl::math {
namespace {

TEST(Digest, IsBlake2bOfAllWords) {
  constexpr std::uint64_t last = (1ULL << 63) + 3;
  // Python: hashlib.blake2b(struct.pack("<3Q", 1, 2, 2**63 + 3), digest_size=16)
  const Digest expected = {0x09, 0x3f, 0xcd, 0x25, 0x04, 0x2d, 0xa3, 0x1a,
                           0x51, 0xa0, 0xdd, 0x65, 0x62, 0xad, 0x87, 0xe5};
  EXPECT_EQ(digest_of(1, 2, last), expected);
  EXPECT_EQ(digest_of(1, std::vector<std::uint64_t>{2, last}), expected);
  EXPECT_EQ(digest_of_words({1, 2, last}), expected);
  EXPECT_EQ(digest_of(std::string_view("\1\2"), last), expected);
}

}  // namespace
}  // namespace whorl::math
