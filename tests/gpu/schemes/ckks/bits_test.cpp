// A GPU, and several of them, give the bits of the CPU: each operation of CKKS, and circuits up to
// a whole bootstrap.
#include "support/ckks_bits.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

TEST(CkksBitsOfGpus, AreThoseOfTheCpu) {
  std::vector<std::string> devices = test::usable_gpus();
  if (devices.size() > 1) devices.emplace_back("cuda:all");
  for (const Requirements& needs : test::bits_requirements()) {
    SCOPED_TRACE(testing::Message() << "words of " << needs.word_bits << " bits"
                                    << (needs.coefficients_last ? ", coefficients last" : ""));
    const test::CkksBits bits(needs);
    const Server cpu(bits.keys(), {.device = "cpu", .threads = 1});
    const auto circuits = bits.circuits(cpu), bootstraps = bits.bootstraps(cpu);
    for (const std::string& device : devices) {
      SCOPED_TRACE(device);
      const Server gpu(bits.keys(), {.device = device});
      test::CkksBits::expect_same(bits.circuits(gpu), circuits);
      test::CkksBits::expect_same(bits.bootstraps(gpu), bootstraps);
      // Kernels that come again are launched in another way.
      test::CkksBits::expect_same(bits.bootstraps(gpu), bootstraps);
    }
  }
}

}  // namespace
}  // namespace whorl::ckks
