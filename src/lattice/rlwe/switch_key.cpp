#include "lattice/rlwe/switch_key.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "whorl/error.h"

namespace whorl::lattice::rlwe {

std::vector<SwitchSource> switch_sources(unsigned parts, std::vector<std::uint32_t> automorphisms) {
  if (parts < 2 || parts > 8)
    throw ParameterError("relinearise: " + std::to_string(parts) +
                         " parts are outside 2 … 8 (2: no key)");
  std::vector<SwitchSource> out;
  for (unsigned power = 2; power < parts; ++power) out.push_back({1, power});
  std::sort(automorphisms.begin(), automorphisms.end());
  automorphisms.erase(std::unique(automorphisms.begin(), automorphisms.end()), automorphisms.end());
  for (const std::uint32_t g : automorphisms)
    if (g != 1) out.push_back({g, 1});
  return out;
}

ring::KeyLayout usual_layout(unsigned limbs, unsigned special, unsigned digit_limbs) {
  ring::KeyLayout out{ring::Basis::range(0, limbs), {}, ring::Basis::range(limbs, special)};
  for (unsigned first = 0; first < limbs; first += digit_limbs)
    out.digits.push_back(ring::Basis::range(first, std::min(digit_limbs, limbs - first)));
  return out;
}

std::size_t switch_key_bytes(std::uint32_t N, unsigned digits, unsigned rows, unsigned word_bytes) {
  return std::size_t{digits} * rows * N * word_bytes + std::tuple_size_v<Seed> + 8;
}

}  // namespace whorl::lattice::rlwe
