// What every program of tests takes that does not say otherwise.
#include "support/targets.h"

namespace whorl::test {
const bool tests_on_gpus = false;
const char* const tested_device = "cpu";
}  // namespace whorl::test
