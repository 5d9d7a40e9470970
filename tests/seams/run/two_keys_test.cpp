// Keys of two servers, each with a fleet of its own, take turns on hardware with room for one.
#include "run/fleet.h"
#include "run/keys.h"
#include "run/move.h"
#include "support/limited_device.h"
#include "support/test.h"

namespace whorl::run {
namespace {

using Words = backend::Buffer<std::uint32_t>;
constexpr std::size_t words = 256, key_bytes = words * sizeof(std::uint32_t);

/// What a server is to its keys: a fleet, and one key.
struct Holder {
  Holder(const std::shared_ptr<KeyBudget>& budget, const std::shared_ptr<test::MemoryLimit>& limit,
         const std::string& device, std::uint32_t value, const std::string& memory = "limited:0")
      : fleet({std::make_shared<test::LimitedDevice>(device, memory, limit)}, {}),
        key(budget, key_bytes, [value](const backend::Queue& queue) -> SizedKey {
          auto out = std::make_shared<Words>(queue.allocate<std::uint32_t>(words));
          queue.upload<std::uint32_t>(std::vector<std::uint32_t>(words, value), out->slice());
          return {out, key_bytes};
        }) {}

  const Lane& lane() const { return *fleet.lane(0); }
  bool there() const { return key.is_on(lane()); }
  std::uint32_t use() const {
    const auto held = lane().hold();
    const auto prepared = key.on<Words>(lane());
    return fetch<std::uint32_t>(lane(), prepared->slice())[words - 1];
  }

  Fleet fleet;
  KeyOnDevices key;
};

TEST(SeamTwoKeys, TakeTurnsOnHardwareWithRoomForOne) {
  const auto limit = std::make_shared<test::MemoryLimit>();
  limit->bytes = 1 << 20;
  const auto budget = std::make_shared<KeyBudget>(key_bytes);
  // The second describes the same hardware in other words, as a CPU with other threads does.
  const Holder a(budget, limit, "limited:0 (one thread)", 1),
      b(budget, limit, "limited:0 (two threads)", 2),
      apart(budget, limit, "limited:1", 3, "limited:1");
  EXPECT_EQ(apart.use(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a.use(), 1u);
    EXPECT_TRUE(a.there() && !b.there());
    EXPECT_EQ(b.use(), 2u);
    EXPECT_TRUE(!a.there() && b.there());
    EXPECT_EQ(limit->used, 2 * key_bytes);
    EXPECT_EQ(budget->used(a.lane()), key_bytes) << "counted by hardware, not by fleet";
  }
  EXPECT_TRUE(apart.there()) << "other hardware has room of its own";
}

TEST(SeamTwoKeys, MemoryThatIsShortIsTakenFromTheOther) {
  const auto limit = std::make_shared<test::MemoryLimit>();
  limit->bytes = key_bytes;
  const auto budget = std::make_shared<KeyBudget>();
  const Holder a(budget, limit, "limited:0", 1), b(budget, limit, "limited:0", 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a.use(), 1u);
    EXPECT_EQ(b.use(), 2u);
    EXPECT_TRUE(!a.there() && b.there());
  }
}

}  // namespace
}  // namespace whorl::run
