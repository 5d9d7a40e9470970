// What serves in place of requirements that no parameters meet: BGV and CKKS search alike.
#pragma once

#include <optional>
#include <string>

namespace whorl {

/// "; N = 65536 with dnum = 4 serves", or "; depth = 12 serves", the largest that does; empty if
/// neither another ring nor a smaller depth serves. find(r) gives parameters, or std::nullopt.
template <class Requirements, class Find>
std::string remedy_of(Requirements r, Find find) {
  if (r.N != 0 || r.dnum != 0) {
    Requirements any = r;
    any.N = any.dnum = 0;
    if (const auto p = find(any))
      return "; N = " + std::to_string(p->N()) + " with dnum = " + std::to_string(p->digits()) +
             " serves";
  }
  unsigned fails = r.depth, serves = 0;
  r.depth = 0;
  if (fails == 0 || !find(r)) return "";
  while (fails - serves > 1) {
    r.depth = (serves + fails) / 2;
    (find(r) ? serves : fails) = r.depth;
  }
  return "; depth = " + std::to_string(serves) + " serves";
}

}  // namespace whorl
