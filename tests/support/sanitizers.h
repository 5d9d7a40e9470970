// Which sanitizer tests are built with.
#pragma once

#if defined(__has_feature)
#define WHORL_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define WHORL_TEST_HAS_FEATURE(name) 0
#endif

namespace whorl::test {

#if defined(__SANITIZE_THREAD__) || WHORL_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || WHORL_TEST_HAS_FEATURE(address_sanitizer)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

}  // namespace whorl::test
