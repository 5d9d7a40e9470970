// Key switching, measured: numbers of tuning/key_switch.h. Keys and ciphertexts are random; outputs
// are compared, bit for bit, with those of the first candidate. Times have all that a call does:
// digits, products or look-ups, the last reduction.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/lwe/key_switch_launch.cuh"
#include "tuner.h"

namespace whorl::tune {

class SwitchProblem {
 public:
  /// Enqueues the switch of so many ciphertexts, in words of 32 bits where Q_ks fits them.
  using Launch = std::function<void(std::size_t, const void*, void*)>;

  /// Batches of at most `most`.
  SwitchProblem(Tuner& tuner, const backend::SwitchShape& shape, std::size_t most);

  const backend::SwitchShape& shape() const { return shape_; }
  std::unique_ptr<backend::cuda::CudaSwitchKey> key(
      const backend::cuda::SwitchLayout& numbers = {}) const;
  /// Whether `launch` does what the first one did.
  bool right(std::size_t count, const Launch& launch);
  float ms(std::size_t count, const Launch& launch) const;

 private:
  Tuner& tuner_;
  backend::SwitchShape shape_;
  std::size_t bytes(std::size_t words) const { return words * (narrow_ ? 4 : 8); }
  bool narrow_;
  backend::cuda::DeviceArray<std::uint64_t> in_, out_, reference_;  ///< of words of either size
  std::size_t known_ = 0;                                           ///< ciphertexts of `reference_`
};

/// For numbers that say up to which value one kernel serves, and another beyond.
struct Crossing {
  std::size_t value = 0;
  float below_ms = 0, above_ms = 0;
  bool right = true;
};
/// Both launches, of so many ciphertexts: `value` with each.
Crossing measure_crossing(SwitchProblem& problem, std::size_t value, std::size_t count,
                          const SwitchProblem::Launch& below, const SwitchProblem::Launch& above);
/// The same at each number of ciphertexts.
std::vector<Crossing> measure_crossings(SwitchProblem& problem,
                                        std::initializer_list<std::size_t> counts,
                                        const SwitchProblem::Launch& below,
                                        const SwitchProblem::Launch& above);
/// Prints both at each value, ascending, and marks the one in use; `below` and `above` name the
/// kernels. The number of values from the first on at which the one below is faster.
std::size_t print_crossings(Tuner& tuner, const std::string& title, std::size_t used,
                            const std::string& below, const std::string& above,
                            const std::vector<Crossing>& all);

/// Adds `all` up: the same candidates, in the same order, in another problem. One without a line
/// was not measured.
void add_measured(std::vector<Measured>& sums, const std::vector<Measured>& all);

/// "unsigned NAME = VALUE", with a remark on the number in use.
void add_switch_winner(Tuner& tuner, const std::string& declaration, const std::string& remark);
/// The first line of a ranking, with how the candidate in use compares.
void add_switch_winner(Tuner& tuner, const std::string& name, const std::vector<Measured>& ranked);
/// How the candidate in use compares.
std::string slower_text(const std::vector<Measured>& ranked);

void tune_switch_products(Tuner& tuner);
void tune_switch_tables(Tuner& tuner);

}  // namespace whorl::tune
