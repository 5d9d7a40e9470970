// Files that tests read.
#pragma once

#include "support/test.h"

namespace whorl::test {

/// tests/`name`. Programs that were carried to another machine have it beside them.
inline std::filesystem::path test_data(const std::string& name) {
  const char* folder = std::getenv("WHORL_TEST_DATA");
  return std::filesystem::path(folder ? folder : WHORL_SOURCE_DIR) / "tests" / name;
}

}  // namespace whorl::test
