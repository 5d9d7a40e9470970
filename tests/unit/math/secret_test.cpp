#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <concepts>
#include <ostream>

#include "math/secret.h"
#include "support/test.h"

namespace whorl::math {
namespace {

using Secret = SecretVector<int32_t>;

template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
static_assert(std::is_nothrow_move_constructible_v<Secret>);
static_assert(!std::equality_comparable<Secret>);
static_assert(!Printable<Secret>);

TEST(MathSecretVector, holds_moves_and_clones) {
  Secret secret(1000);
  for (const int32_t value : secret) ASSERT_EQ(value, 0);
  for (size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<int32_t>(i);
  const int32_t* const where = secret.data();

  Secret copy = secret.clone();
  EXPECT_NE(copy.data(), where);
  secret[3] = -1;
  EXPECT_EQ(copy[3], 3);

  const Secret moved = std::move(secret);
  EXPECT_EQ(moved.data(), where);
  EXPECT_TRUE(secret.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(moved.span().size(), 1000U);
  EXPECT_EQ(moved[999], 999);

  secret = std::move(copy);
  EXPECT_EQ(secret.size(), 1000U);
  EXPECT_EQ(secret[3], 3);
  Secret& itself = secret;
  secret = std::move(itself);
  EXPECT_EQ(secret.size(), 1000U);
  EXPECT_EQ(secret[3], 3);
}

TEST(MathSecretVector, empty_and_impossible_sizes) {
  EXPECT_TRUE(Secret().empty());
  EXPECT_TRUE(Secret(0).clone().empty());
  EXPECT_TRUE(Secret().locked());
  // Volatile, lest the compiler warn of what is meant.
  for (volatile size_t size :
       {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() / 8}) {
    EXPECT_THROW(Secret{size}, OutOfMemoryError) << size;
  }
}

// Without permission to lock memory, secrets still work. (Root may lock all the same.)
TEST(MathSecretVector, works_where_locking_is_not_permitted) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    bool good = setrlimit(RLIMIT_MEMLOCK, &none) == 0;
    Secret secret(5000);
    secret[4999] = 7;
    good = good && secret.clone()[4999] == 7;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(MathSecretVectorDeathTest, guard_page_stops_an_overrun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Secret secret(1024);
  volatile int32_t* beyond = secret.data() + secret.size();
  EXPECT_DEATH(*beyond = 1, "");
}

}  // namespace
}  // namespace whorl::math
