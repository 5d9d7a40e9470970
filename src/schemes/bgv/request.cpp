#include "schemes/bgv/request.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "whorl/error.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

std::vector<rlwe::SwitchSource> keys_of(const Parameters& p, const KeyRequest& request) {
  if (request.relinearise < 2 || request.relinearise > 8)
    throw ParameterError("relinearise: " + std::to_string(request.relinearise) +
                         " parts are outside 2 … 8 (2: no key)");
  std::vector<rlwe::SwitchSource> out;
  for (unsigned power = 2; power < request.relinearise; ++power) out.push_back({1, power});
  std::vector<std::uint32_t> exponents;
  for (const std::int64_t columns : request.rotations)
    exponents.push_back(rotation_exponent(p.N(), columns));
  if (request.swap_rows) exponents.push_back(2 * p.N() - 1);
  std::sort(exponents.begin(), exponents.end());
  exponents.erase(std::unique(exponents.begin(), exponents.end()), exponents.end());
  for (const std::uint32_t g : exponents)
    if (g != 1) out.push_back({g, 1});
  return out;
}

std::size_t EvaluationKeys::bytes() const {
  std::size_t sum = 0;
  for (const SwitchKeyData& key : keys) sum += key.b.bytes() + key.seed.size() + 8;
  return sum;
}

std::size_t key_bytes(const Parameters& p, const KeyRequest& request) {
  const std::size_t rows = std::size_t{p.digits()} * (p.limbs() + p.special());
  return keys_of(p, request).size() * (rows * p.N() * p.word_bytes() + std::tuple_size_v<Seed> + 8);
}

}  // namespace whorl::bgv
