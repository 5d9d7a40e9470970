// What users are told where there is no driver, or one that is too old.
#include "backend/cuda/runtime/driver.h"

#include "support/test.h"

namespace whorl::backend::cuda {
namespace {

TEST(CudaDriver, NamesWhatIsWrongAndTheRemedy) {
  EXPECT_EQ(driver_problem(0, 13000),
            "no NVIDIA driver is found: install a driver (580 or newer, for CUDA 13)");
  EXPECT_EQ(driver_problem(12040, 13020),
            "the NVIDIA driver is too old: it is for CUDA 12.4, and this build for CUDA 13.2: "
            "install a driver (580 or newer, for CUDA 13)");
  EXPECT_EQ(driver_problem(11080, 12080),
            "the NVIDIA driver is too old: it is for CUDA 11.8, and this build for CUDA 12.8: "
            "install a driver (525 or newer, for CUDA 12)");
  EXPECT_EQ(driver_problem(0, 14010), "no NVIDIA driver is found: install a driver (for CUDA 14)");
}

}  // namespace
}  // namespace whorl::backend::cuda
