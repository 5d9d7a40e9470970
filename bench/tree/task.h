// The decision tree of apps/tree, compiled, with flowers to classify: what bench_tree reads.
#pragma once

#include "common/bench.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::bench {

using Words = std::vector<std::uint32_t>;

/// apps/tree/circuit.py says what the members mean; apps/tree/task.py writes the file.
struct TreeTask {
  binfhe::ParameterLiteral parameters;
  std::uint32_t p_in = 0, p_sum = 0, p_out = 0;
  Words features;            ///< of each test
  std::vector<Words> tests;  ///< tables: a level to a bit
  std::vector<Words> ways;   ///< of each leaf that needs a table: literals, as many for each
  std::vector<Words> ends;   ///< tables: a number of agreements to an indicator
  std::vector<std::int32_t> weights;
  std::int32_t base = 0;
  std::vector<Words> flowers;  ///< levels of the features
  Words classes;               ///< what comes out of the tree in the clear
};

/// IoError if the file cannot be read; another exception says what is wrong with its contents.
TreeTask read_task(const std::string& path);

}  // namespace whorl::bench
