// Leaves with 77, which ctest takes as "skipped", where there is no GPU to test on.
#include "support/test.h"

namespace whorl::test {
const bool tests_on_gpus = true;
const char* const tested_device = "cuda:0";
}  // namespace whorl::test

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  if (!::testing::GTEST_FLAG(list_tests) && whorl::test::usable_gpus().empty()) {
    for (const auto& info : whorl::list_devices())
      if (info.name != "cpu")
        std::printf("no GPU tests were run: %s: %s\n", info.name.c_str(), info.why.c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
