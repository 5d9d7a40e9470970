// Which switching keys there are, and their size. Both are known without a secret.
#include <utility>

#include "schemes/bgv/derived.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

std::vector<rlwe::SwitchSource> keys_of(const Parameters& p, const KeyRequest& request) {
  std::vector<std::uint32_t> exponents;
  for (const std::int64_t columns : request.rotations)
    exponents.push_back(rotation_exponent(p.N(), columns));
  if (request.swap_rows) exponents.push_back(2 * p.N() - 1);
  return rlwe::switch_sources(request.relinearise, std::move(exponents));
}

std::size_t key_count(const Parameters& p, const KeyRequest& request) {
  return keys_of(p, request).size();
}

std::size_t key_bytes(const Parameters& p, const KeyRequest& request) {
  return key_count(p, request) *
         rlwe::switch_key_bytes(p.N(), p.digits(), p.limbs() + p.special(), p.word_bytes());
}

}  // namespace whorl::bgv
