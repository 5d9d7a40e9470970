// Runs a test on each SIMD target that was compiled and that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "hwy/highway.h"
#include "hwy/targets.h"

namespace whorl::test {

/// While it lives, dynamic dispatch takes this target only.
class TargetGuard {
 public:
  explicit TargetGuard(std::int64_t target)
      : trace_(__FILE__, __LINE__, std::string("SIMD target ") + hwy::TargetName(target)) {
    choose(target);
  }
  ~TargetGuard() { choose(0); }
  TargetGuard(const TargetGuard&) = delete;
  TargetGuard& operator=(const TargetGuard&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ::testing::ScopedTrace trace_;
};

/// body() on every target; what looks for a target is made inside, so that it sees it.
template <class Body>
void on_each_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const TargetGuard guard(target);
    body();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace whorl::test
