#include "schemes/binfhe/named_sets.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <set>
#include <string>

#include "math/primes.h"

namespace whorl::binfhe {
namespace {

TEST(NamedSets, NamesAreUniqueAndOwnSetsComeFirst) {
  std::set<std::string> names;
  bool foreign = false;
  for (const ParameterLiteral& set : named_sets()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_FALSE(set.source.empty()) << set.name;
    EXPECT_LE(set.name.size(), 64U) << set.name;
    const bool is_foreign = set.name.find('/') != std::string::npos;
    EXPECT_TRUE(is_foreign || !foreign) << set.name << " after the sets of others";
    foreign = foreign || is_foreign;
  }
  for (const char* name :
       {"W128_P64", "W128_P128", "xiao/STD128", "xiao/EVALFUNC", "velofhe/GD_I", "velofhe/GD_II",
        "openfhe_1_5/STD128", "openfhe_1_6/STD128", "openfhe_1_6/LARGE_PRECISION"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST(NamedSets, RingModuliAreTheLargestPrimesOfTheirSize) {
  for (const ParameterLiteral& set : named_sets()) {
    EXPECT_EQ(set.Q, math::ntt_prime_below(std::bit_ceil(set.Q), set.N)) << set.name;
  }
}

TEST(NamedSets, GadgetsCoverTheKeyAndDropLessThanADigit) {
  for (const ParameterLiteral& set : named_sets()) {
    std::uint32_t count = 0;
    const auto log_Q = static_cast<std::uint32_t>(std::bit_width(set.Q));
    for (const GadgetRange& range : set.gadget) {
      count += range.count;
      EXPECT_GE(range.digits, 1U) << set.name;
      if (set.name.find('/') != std::string::npos) {
        // OpenFHE's rule: one digit fewer than covers Q.
        EXPECT_LT(range.log_base * range.digits, log_Q) << set.name;
        EXPECT_GE(range.log_base * (range.digits + 1), log_Q) << set.name;
      }
    }
    EXPECT_EQ(count, set.n) << set.name;
  }
}

}  // namespace
}  // namespace whorl::binfhe
