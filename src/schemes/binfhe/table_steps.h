// Steps that look-up tables have, one of one input or several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "schemes/binfhe/steps.h"
#include "whorl/binfhe/lut.h"

namespace whorl::binfhe {

/// Ciphertexts modulo N, read modulo 2N, have phase x or x + N for x in [0, N). A rotation by the
/// constant -Q/4 gives -Q/4 or Q/4 for these; with Q/4 added, that is 0 or N at modulus 2N, and
/// is subtracted (Liu, Micciancio, Polyakov 2022, §5.1, Algorithm 3). Multiples of `step` stay
/// such.
class TopBit {
 public:
  explicit TopBit(const Parameters& parameters, std::uint32_t step = 1);
  Rows remove(const Stages& stages, Rows lwe, run::Range range) const;

 private:
  Parameters parameters_;
  std::shared_ptr<const Tables> tables_;
  std::int64_t step_;
};

/// Coefficient j of the test vector of a table: the value for phases of j, half a sector above the
/// message's lower border.
std::uint64_t test_coefficient(const Lut& lut, std::uint64_t j);

/// Inputs modulo q as the exponents by which tables are rotated, with half a sector added: by their
/// top bit if the tables are `arbitrary`.
class ExponentsOf {
 public:
  ExponentsOf(const Parameters& parameters, Encoding input, bool arbitrary)
      : parameters_(parameters),
        top_bit_(parameters),
        sectors_(input.sectors()),
        arbitrary_(arbitrary) {}
  Rows operator()(const Stages& stages, const Rows& in, run::Range range) const;
  /// The same of rows that are not needed any more.
  Rows operator()(const Stages& stages, Rows&& in, run::Range range) const;

 private:
  Parameters parameters_;
  TopBit top_bit_;
  std::uint64_t sectors_;
  bool arbitrary_;
};

/// rows + weight·in.
Rows plus(const Stages& stages, Rows rows, std::int32_t weight, const Rows& in);

/// Rows (B, slots) as `slots` rows of B.
std::vector<Rows> slots_of(const Stages& stages, const Rows& rows, std::size_t slots);

/// Work on one input that gives `results`, in parts of the piece where `memory` bytes for each
/// ciphertext are more than pieces are cut for.
using OneInput = std::function<std::vector<Rows>(const Stages& stages, const Rows& in)>;
lattice::lwe::Work in_parts(std::size_t memory, std::size_t results, OneInput work);

}  // namespace whorl::binfhe
