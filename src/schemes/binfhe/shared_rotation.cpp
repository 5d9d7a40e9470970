#include "schemes/binfhe/shared_rotation.h"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "schemes/binfhe/linear_part.h"
#include "schemes/binfhe/steps.h"
#include "schemes/binfhe/table_steps.h"

namespace whorl::binfhe {

using run::Range;

namespace {

/// Tables of one input that share its rotations (Chillotti, Ligier, Orfila, Tap, ASIACRYPT 2021,
/// §3.2). Exponents are multiples of `step`, so that coefficient j + i, for j a multiple of it, is
/// what table i has for phases of j: coefficient i of the accumulator is its result.
class SharedRotation {
 public:
  SharedRotation(const Parameters& parameters, std::span<const Lut> luts, const Reading& reading,
                 Under under)
      : parameters_(parameters),
        reading_(reading),
        under_(under),
        top_bit_(parameters, reading.step),
        slots_(luts.size()) {
    const std::uint32_t N = parameters.N(), step = reading.step;
    const std::uint64_t p = luts[0].input().p, sectors = luts[0].input().sectors(),
                        q = parameters.q(), Q = parameters.Q();
    const bool halves = !reading.arbitrary && !luts[0].input().padding;
    across_ = reading.arbitrary ? N : 2ULL * N;
    // Of twice as many phases as steps, so that those between two borders are counted.
    const std::uint64_t twice = 2 * (halves ? 2ULL : 1ULL) * N / step;
    tables_ = std::make_shared<const Tables>(
        N, Q, 1, std::span<const std::uint32_t>(), [&](std::size_t, std::uint64_t j) {
          const std::size_t slot = j % step;
          if (slot >= luts.size()) return std::uint64_t{0};
          const std::uint64_t x = (2 * (j / step) + 1) * p / twice;
          return reading.arbitrary ? encode(luts[slot].values()[x], luts[slot].output(), Q)
                                   : rotated_value(luts[slot], x, Q);
        });
    for (const Lut& lut : luts) {
      constants_.push_back(reading.arbitrary ? 0 : added_constant(lut, Q));
      weights_.push_back(reading.arbitrary ? 0 : lut.weight());
    }
    std::iota(slots_.begin(), slots_.end(), 0);
    // Half a sector less half a step, before the rounding, puts both borders as far away.
    const std::uint64_t parts = q * (across_ - sectors * step), of = 2 * sectors * across_;
    half_sector_ = (2 * parts + of) / (2 * of);
    const std::size_t word = ring_word_bytes(Q);
    memory_ = memory_of(parameters, {.keeps_extract = true}) +
              (2 * luts.size() + 2) * (std::size_t{N} + 1) * word;
  }

  std::size_t memory() const { return memory_; }

  std::vector<Rows> operator()(const Stages& stages, const Rows& in) const {
    const Rows* input[] = {&in};
    const Range all{0, in.count()};
    const std::int64_t one[] = {1};
    // The half sector is added modulo q, after a key switch.
    Rows lwe = to_rotate(parameters_, stages, stages.linear(one, input, 0));
    stages.add_constant(lwe, half_sector_);
    lwe = to_multiples(parameters_, stages, std::move(lwe), across_, reading_.step);
    if (reading_.arbitrary) lwe = top_bit_.remove(stages, std::move(lwe), all);
    const Rows found = stages.rotate(lwe, *tables_, all, slots_, 0);
    std::vector<Rows> out, slots = slots_of(stages, found, slots_.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Rows& slot = slots[i];
      stages.add_constant(slot, constants_[i]);
      out.push_back(
          plus(stages, result_of(parameters_, stages, std::move(slot), under_), weights_[i], in));
    }
    return out;
  }

 private:
  Parameters parameters_;
  Reading reading_;
  Under under_;
  TopBit top_bit_;
  std::vector<std::uint32_t> slots_;
  std::shared_ptr<const Tables> tables_;
  std::vector<std::uint64_t> constants_;
  std::vector<std::int32_t> weights_;
  std::uint64_t across_ = 0, half_sector_ = 0;
  std::size_t memory_ = 0;
};

}  // namespace

lattice::lwe::Work work_of_many(const Parameters& parameters, std::span<const Lut> luts,
                                const Reading& reading, Under under) {
  SharedRotation rotation(parameters, luts, reading, under);
  const std::size_t memory = rotation.memory();
  return in_parts(memory, luts.size(), std::move(rotation));
}

}  // namespace whorl::binfhe
