// What whorl/io.h offers, with the cost of opening a secret key in the caller's hand.
#pragma once

#include <string_view>

#include "io/bytes.h"
#include "io/passphrase.h"
#include "whorl/io.h"

namespace whorl::io {

Bytes dump_secret_key(const binfhe::SecretKey& value, std::string_view passphrase,
                      const KdfCost& cost);
binfhe::SecretKey load_secret_key(ByteSpan bytes, std::string_view passphrase,
                                  const LoadOptions& options, const KdfCost& limit);

}  // namespace whorl::io
