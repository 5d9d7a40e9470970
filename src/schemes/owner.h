// Whose ciphertexts, or keys, something is.
#pragma once

#include <string>

#include "math/text.h"
#include "whorl/common.h"
#include "whorl/error.h"

namespace whorl {

/// ParameterMismatchError or KeyMismatchError unless ciphertexts of `parameters` and `key` were
/// given to who has the same; `holder` is "server" or "client".
template <class Parameters>
void check_owner(const Parameters& parameters, const KeyId& key, const char* holder,
                 const Parameters& own, const KeyId& own_key) {
  if (parameters != own)
    throw ParameterMismatchError("ciphertexts under parameters \"" + parameters.literal().name +
                                 "\" were given to a " + holder + " of \"" + own.literal().name +
                                 "\"");
  if (key != own_key)
    throw KeyMismatchError("ciphertexts of key " + math::short_id(key) + " were given to a " +
                           holder + " of key " + math::short_id(own_key));
}

}  // namespace whorl
