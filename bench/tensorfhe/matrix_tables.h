// Tables of matrix_ntt.cuh, made of a ring::NttPlan, and the kernels' threads run one after another
// on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ring/ntt_plan.h"
#include "tensorfhe/matrix_ntt.cuh"

namespace whorl::bench::matrix {

/// Of one prime and one direction, on the host. Moves keep what limb() points to.
struct Tables {
  Tables(const ring::NttPlan<Word>& plan, bool forward);

  Limb limb() const {
    return {q,
            room,
            barrett,
            multiple,
            left.data(),
            right.data(),
            middle.data(),
            left_planes.data(),
            right_planes.data()};
  }

  Word q;
  unsigned room;
  std::uint64_t barrett, multiple;
  std::vector<Word> left, right;
  std::vector<Factor> middle;
  std::vector<std::uint8_t> left_planes, right_planes;
};

/// Ways to do a transform.
enum class Kind : std::uint8_t {
  butterflies,  ///< the library's
  words,        ///< TensorFHE-CO: sums of 64 bits on the CUDA cores
  five_stages,  ///< TensorFHE: planes and 16 products in memory
  two_stages,   ///< the same products; planes in shared memory, sums in registers
};
inline constexpr Kind kinds[] = {Kind::butterflies, Kind::words, Kind::five_stages,
                                 Kind::two_stages};
std::string name_of(Kind kind);

/// Runs every thread of the kernels of every kind but butterflies on the host, for each N from
/// 2^11 to 2^largest, both directions and primes of 27 to 31 bits, and compares with the CPU's
/// transforms. Prints a line each; false if any word differs.
bool check_on_host(unsigned largest);

}  // namespace whorl::bench::matrix
