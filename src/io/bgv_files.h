// What whorl/io.h offers for BGV, with the cost of opening a secret key in the caller's hand.
#pragma once

#include <string_view>

#include "io/bytes.h"
#include "io/passphrase.h"
#include "whorl/io.h"

namespace whorl::io {

/// The canonical bytes of a literal. ParameterError for a name that is too long or not UTF-8.
void encode_bgv_literal(const bgv::ParameterLiteral& literal, ByteWriter& out);
/// Errors: TruncatedError, FormatError. Relations are left to Parameters::create.
bgv::ParameterLiteral decode_bgv_literal(ByteReader& in);

Bytes dump_secret_key(const bgv::SecretKey& value, std::string_view passphrase,
                      const KdfCost& cost);
bgv::SecretKey load_bgv_secret_key(ByteSpan bytes, std::string_view passphrase,
                                   const LoadOptions& options, const KdfCost& limit);

}  // namespace whorl::io
