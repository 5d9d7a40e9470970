#include <new>

#include "math/memory.h"
#include "support/sanitizers.h"
#include "support/test.h"

namespace whorl::math {
namespace {

TEST(MathMemory, ShortMemoryIsAnExceptionOfOurs) {
  EXPECT_EQ(with_memory_for("a number", [] { return 7; }), 7);
  const auto make = [](std::size_t count) {
    return with_memory_for("a row", [&] { return std::vector<char>(count).size(); });
  };
  EXPECT_EQ(make(10), 10u);
  EXPECT_THROW(with_memory_for("a row", []() -> int { throw std::bad_alloc(); }), OutOfMemoryError);
  // Sanitizers end the process where an allocation is larger than they take.
  if (!test::under_address_sanitizer && !test::under_thread_sanitizer) {
    EXPECT_THROW(make(~std::size_t{0} / 4), OutOfMemoryError) << "std::bad_alloc";
  }
  EXPECT_THROW(make(~std::size_t{0}), OutOfMemoryError) << "std::length_error";
  EXPECT_THROW(with_memory_for("a number", []() -> int { throw DeviceError("another"); }),
               DeviceError);
}

TEST(MathMemory, RoomIsZerosOfAnySize) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100000},
                                 std::size_t{3} << 20, (std::size_t{5} << 20) + 77}) {
    std::vector<std::uint32_t> out;
    make_room(out, size);
    EXPECT_EQ(out.size(), size);
    EXPECT_EQ(std::count(out.begin(), out.end(), 0u), static_cast<std::ptrdiff_t>(size));
  }
  std::vector<char> small(10000);
  prefer_large_pages(small.data() + 3, 9000);  // less than a page: nothing happens
  prefer_large_pages(nullptr, 0);
}

}  // namespace
}  // namespace whorl::math
