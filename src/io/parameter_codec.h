// Parameter literals as bytes.
#pragma once

#include "io/bytes.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::io {

/// The canonical bytes of a literal. ParameterError if its texts are too long or not UTF-8.
void encode_literal(const binfhe::ParameterLiteral& literal, ByteWriter& out);

/// Errors: TruncatedError, FormatError for an enumerator or text that is none. Relations between
/// the fields are left to Parameters::create.
binfhe::ParameterLiteral decode_literal(ByteReader& in);

}  // namespace whorl::io
