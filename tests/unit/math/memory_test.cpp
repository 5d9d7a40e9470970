#include "math/memory.h"

#include <gtest/gtest.h>

#include <new>
#include <vector>

#include "support/message.h"
#include "support/sanitizers.h"

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

}  // namespace
}  // namespace whorl::math
