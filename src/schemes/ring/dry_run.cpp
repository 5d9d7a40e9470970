#include "schemes/ring/dry_run.h"

#include "lattice/rlwe/switch_key.h"

namespace whorl {

RingCosts costs_of(const lattice::rlwe::Evaluator& evaluator, unsigned word_bytes,
                   std::span<const lattice::rlwe::Keys> keys) {
  RingCosts out = static_cast<const lattice::rlwe::DryEvaluator&>(evaluator).costs();
  for (const lattice::rlwe::Keys& of : keys)
    for (const auto& [g, power] : of.sources()) {
      const ring::KeyLayout& layout = of.get(g, power).layout();
      ++out.keys;
      out.key_bytes += lattice::rlwe::switch_key_bytes(evaluator.N(),
                                                       static_cast<unsigned>(layout.digits.size()),
                                                       layout.rows().size(), word_bytes);
    }
  return out;
}

}  // namespace whorl
