// Every failure Whorl reports. A message names the field, the value and the bound; the class says
// which kind of thing was wrong, so that a caller can catch just that. Python has the same tree.
#pragma once

#include <stdexcept>
#include <string>

namespace whorl {

/// Root of all exceptions thrown by Whorl.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Declares a child class that adds nothing but its name.
#define WHORL_DECLARE_ERROR(Name, Parent) \
  class Name : public Parent {            \
   public:                                \
    using Parent::Parent;                 \
  }

// clang-format off
WHORL_DECLARE_ERROR(ParameterError, Error);  ///< a parameter is out of range or contradicts another
WHORL_DECLARE_ERROR(ShapeError, Error);      ///< sizes, lengths or indices do not fit together
WHORL_DECLARE_ERROR(EncodingError, Error);   ///< a message or plaintext modulus out of range
WHORL_DECLARE_ERROR(MismatchError, Error);   ///< two objects that do not belong together
WHORL_DECLARE_ERROR(ParameterMismatchError, MismatchError);  ///< made under different parameters
WHORL_DECLARE_ERROR(KeyMismatchError, MismatchError);        ///< made under different keys
WHORL_DECLARE_ERROR(FormatError, Error);            ///< bytes from outside are not what they should be
WHORL_DECLARE_ERROR(TruncatedError, FormatError);   ///< fewer bytes than announced
WHORL_DECLARE_ERROR(OversizedError, FormatError);   ///< more bytes than allowed or announced
WHORL_DECLARE_ERROR(TypeMismatchError, FormatError);  ///< a frame of another type
WHORL_DECLARE_ERROR(VersionError, FormatError);     ///< a format version this build does not read
WHORL_DECLARE_ERROR(CorruptionError, FormatError);  ///< the digest does not match: bits were flipped
WHORL_DECLARE_ERROR(RangeError, FormatError);       ///< a residue or a field is out of its range
WHORL_DECLARE_ERROR(NoiseError, Error);        ///< a result that may be wrong: too much noise
WHORL_DECLARE_ERROR(PassphraseError, Error);   ///< a secret key could not be unwrapped with this
WHORL_DECLARE_ERROR(DeviceError, Error);       ///< a device is absent, lost or refused a call
WHORL_DECLARE_ERROR(OutOfMemoryError, Error);  ///< memory is short; names the bytes needed
WHORL_DECLARE_ERROR(RandomnessError, Error);   ///< the system gave no randomness
WHORL_DECLARE_ERROR(IoError, Error);           ///< the operating system refused a file operation
WHORL_DECLARE_ERROR(InterruptedError, Error);  ///< the caller asked a long call to stop
// clang-format on

#undef WHORL_DECLARE_ERROR

}  // namespace whorl
