// What serves in place of requirements that no parameters meet: BGV and CKKS search alike.
#pragma once

#include <string>

namespace whorl {

/// "; N = 65536 with dnum = 4 serves", or the largest depth that serves, in the same ring or in any
/// other; empty if not even depth 0 serves. find(r) gives parameters, or std::nullopt.
template <class Requirements, class Find>
std::string remedy_of(const Requirements& r, Find find) {
  const auto in_ring = [](const auto& p) {
    return "N = " + std::to_string(p.N()) + " with dnum = " + std::to_string(p.digits());
  };
  Requirements any = r;
  any.N = any.dnum = 0;
  const bool free = r.N == 0 && r.dnum == 0;
  if (!free)
    if (const auto p = find(any)) return "; " + in_ring(*p) + " serves";
  for (Requirements less : {r, any}) {
    unsigned fails = r.depth, serves = 0;
    less.depth = 0;
    if (fails == 0 || !find(less)) continue;
    while (fails - serves > 1) {
      less.depth = (serves + fails) / 2;
      (find(less) ? serves : fails) = less.depth;
    }
    less.depth = serves;
    const bool elsewhere = less.N != r.N || less.dnum != r.dnum;
    if (serves == 0 && !free && !elsewhere) continue;  // another ring has more levels
    return "; depth = " + std::to_string(serves) +
           (elsewhere ? ", " + in_ring(*find(less)) : std::string()) + " serves";
  }
  return "";
}

}  // namespace whorl
