#include "ring/host/ntt_tables.h"

#include <bit>

#include "whorl/error.h"

namespace whorl::ring {

template <class Word>
NttTables<Word>::NttTables(const NttPlan<Word>& plan, unsigned lane_count, Word* memory)
    : lanes(lane_count),
      log_lanes(static_cast<unsigned>(std::bit_width(lane_count) - 1)),
      N(plan.N()),
      vectors(plan.N() / lane_count),
      q(plan.modulus().value()),
      roots(plan.roots().data()),
      roots_shoup(plan.roots_shoup().data()),
      inverse_roots(plan.inverse_roots().data()),
      inverse_roots_shoup(plan.inverse_roots_shoup().data()),
      inverse_N(plan.inverse_N()),
      inverse_N_shoup(plan.modulus().shoup(plan.inverse_N())) {
  if (!memory) {
    own_ = hwy::AllocateAligned<Word>(words(plan));
    if (!own_) throw OutOfMemoryError("the system gave no memory for the twiddles of an NTT");
    memory = own_.get();
  }
  Word* forward = memory;
  Word* inverse = memory + std::size_t{2} * N;
  forward_lanes = forward;
  inverse_lanes = inverse;
  for (std::uint32_t group = 0; group < vectors / lanes; ++group)
    for (unsigned level = 0; level < log_lanes; ++level)
      for (unsigned node = 0; node < 1u << level; ++node) {
        for (unsigned lane = 0; lane < lanes; ++lane) {
          const std::size_t i =
              ((vectors + group * lanes + lane) << level) + node;  // m + i, m = vectors·2^level
          forward[lane] = roots[i];
          forward[lanes + lane] = roots_shoup[i];
          inverse[lane] = inverse_roots[i];
          inverse[lanes + lane] = inverse_roots_shoup[i];
        }
        forward += 2 * lanes;
        inverse += 2 * lanes;
      }
}

template struct NttTables<std::uint32_t>;
template struct NttTables<std::uint64_t>;

}  // namespace whorl::ring
