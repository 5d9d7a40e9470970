// Every failure that Whorl reports. A message names the field, the value and the bound. The class
// says what kind of failure it is, so that a caller can catch one kind. Python has the same
// classes.
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
WHORL_DECLARE_ERROR(EncodingError, Error);   ///< a message, packing or encoding is out of range
WHORL_DECLARE_ERROR(MismatchError, Error);   ///< two objects do not belong together
WHORL_DECLARE_ERROR(ParameterMismatchError, MismatchError);  ///< they have different parameters
WHORL_DECLARE_ERROR(KeyMismatchError, MismatchError);        ///< they belong to different keys
WHORL_DECLARE_ERROR(MissingKeyError, Error);  ///< a server lacks an evaluation key; names it
WHORL_DECLARE_ERROR(FormatError, Error);            ///< bytes from outside are not what they should be
WHORL_DECLARE_ERROR(TruncatedError, FormatError);   ///< there are fewer bytes than announced
WHORL_DECLARE_ERROR(OversizedError, FormatError);   ///< bytes exceed what is allowed or announced
WHORL_DECLARE_ERROR(TypeMismatchError, FormatError);  ///< the frame holds another type of object
WHORL_DECLARE_ERROR(VersionError, FormatError);     ///< this build does not read the format version
WHORL_DECLARE_ERROR(CorruptionError, FormatError);  ///< the digest does not match: bits were flipped
WHORL_DECLARE_ERROR(RangeError, FormatError);       ///< a residue or a field is out of its range
WHORL_DECLARE_ERROR(NoiseError, Error);        ///< noise is so large that a result may be wrong
WHORL_DECLARE_ERROR(PassphraseError, Error);   ///< a passphrase is empty or does not open the key
WHORL_DECLARE_ERROR(DeviceError, Error);       ///< a device is absent, lost or refused a call
WHORL_DECLARE_ERROR(OutOfMemoryError, Error);  ///< memory is short; names the bytes needed
WHORL_DECLARE_ERROR(RandomnessError, Error);   ///< the system gave no randomness
WHORL_DECLARE_ERROR(IoError, Error);           ///< the operating system refused a file operation
WHORL_DECLARE_ERROR(InterruptedError, Error);  ///< the caller asked a long call to stop
// clang-format on

#undef WHORL_DECLARE_ERROR

}  // namespace whorl
