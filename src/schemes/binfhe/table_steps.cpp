#include "schemes/binfhe/table_steps.h"

#include <algorithm>
#include <utility>

#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/linear_part.h"

namespace whorl::binfhe {

using run::Range;

TopBit::TopBit(const Parameters& parameters, std::uint32_t step)
    : parameters_(parameters),
      tables_(std::make_shared<const Tables>(parameters.N(), parameters.Q(),
                                             parameters.Q() - parameters.Q() / 4)),
      step_(std::max(rotation_method(parameters.literal()).unit(), step)) {}

Rows TopBit::remove(const Stages& stages, Rows lwe, Range range) const {
  const std::uint64_t two_n = 2ULL * parameters_.N();
  lwe.read_modulo(two_n);
  const Rows sign = stages.rotate(lwe, *tables_, range, parameters_.Q() / 4);
  // The bit is a multiple of the unit of exponents: odd ones stay odd.
  Rows bit = to_lwe_key(parameters_, stages, sign, two_n / static_cast<std::uint64_t>(step_));
  bit.read_modulo(two_n);
  const std::int64_t weights[] = {1, -step_};
  const Rows* in[] = {&lwe, &bit};
  return stages.linear(weights, in, 0);
}

std::uint64_t test_coefficient(const Lut& lut, std::uint64_t j) {
  // floor(j·sectors/2N) counts sectors of the half circle. An arbitrary table spreads all of p over
  // it; its input's top bit is removed first.
  const Parameters& parameters = lut.parameters();
  const bool halves = lut.kind() == LutKind::negacyclic || lut.kind() == LutKind::near_negacyclic;
  const std::uint64_t across = (halves ? 2ULL : 1ULL) * parameters.N();
  return rotated_value(lut, j * lut.input().p / across, parameters.Q());
}

Rows ExponentsOf::operator()(const Stages& stages, const Rows& in, Range range) const {
  const std::int64_t weights[] = {1};
  const Rows* input[] = {&in};
  return (*this)(stages, stages.linear(weights, input, 0), range);
}

Rows ExponentsOf::operator()(const Stages& stages, Rows&& in, Range range) const {
  const std::uint64_t phases = (arbitrary_ ? 1ULL : 2ULL) * parameters_.N();
  // Coarse tables are looked up at messages, and not between them.
  const std::uint64_t half_sector = phases > sectors_ ? (phases + sectors_) / (2 * sectors_) : 0;
  Rows lwe = to_rotate(parameters_, stages, std::move(in));
  lwe = to_exponents(parameters_, stages, std::move(lwe), phases, half_sector);
  return arbitrary_ ? top_bit_.remove(stages, std::move(lwe), range) : std::move(lwe);
}

Rows plus(const Stages& stages, Rows rows, std::int32_t weight, const Rows& in) {
  if (weight == 0) return rows;
  const std::int64_t weights[] = {1, weight};
  const Rows* both[] = {&rows, &in};
  return stages.linear(weights, both, 0);
}

std::vector<Rows> slots_of(const Stages& stages, const Rows& rows, std::size_t slots) {
  std::vector<Rows> out;
  std::vector<std::uint32_t> index(rows.count() / slots);
  for (std::size_t i = 0; i < slots; ++i) {
    for (std::size_t k = 0; k < index.size(); ++k)
      index[k] = static_cast<std::uint32_t>(k * slots + i);
    out.push_back(stages.take(rows, index));
  }
  return out;
}

lattice::lwe::Work in_parts(std::size_t memory, std::size_t results, OneInput work) {
  return [=, work = std::move(work)](const Stages& stages, Operands in, Range range) {
    const std::size_t most = std::max<std::size_t>(1, stages.queue().batch_limit(memory, 0));
    if (range.count <= most) return work(stages, *in[0]);
    std::vector<std::vector<Rows>> parts(results);
    for (std::size_t begin = 0; begin < range.count; begin += most) {
      const Range some[] = {{begin, std::min(most, range.count - begin)}};
      std::vector<Rows> found = work(stages, stages.join(in, some));
      for (std::size_t r = 0; r < results; ++r) parts[r].push_back(std::move(found[r]));
    }
    std::vector<Rows> out;
    for (const std::vector<Rows>& of : parts) {
      std::vector<const Rows*> rows;
      std::vector<Range> ranges;
      for (const Rows& part : of) {
        rows.push_back(&part);
        ranges.push_back({0, part.count()});
      }
      out.push_back(stages.join(rows, ranges));
    }
    return out;
  };
}

}  // namespace whorl::binfhe
