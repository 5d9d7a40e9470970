// What records say of parameter sets of binfhe.
#pragma once

#include <optional>

#include "common/records.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::bench {

/// "fft" or "ntt".
inline const char* name_of(binfhe::Transform transform) {
  return transform == binfhe::Transform::fft ? "fft" : "ntt";
}

/// Security and failures of a set; its transform, if given.
inline void describe(Record& record, const binfhe::Parameters& parameters,
                     std::optional<binfhe::Transform> transform = {}) {
  record.scheme = "binfhe";
  record.security_bits = parameters.security().bits();
  record.pfail_log2 = transform ? parameters.failure_log2(*transform) : parameters.failure_log2();
  if (transform) record.more.emplace_back("transform", name_of(*transform));
}

}  // namespace whorl::bench
