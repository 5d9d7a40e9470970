// The exceptions of include/whorl/error.h, one to one.
#include "whorl/error.h"

#include "parts.h"

namespace whorl::python {

namespace {

template <class E>
nb::exception<E> bind_error(nb::module_& module, const char* name, nb::handle base,
                            const char* doc) {
  nb::exception<E> type(module, name, base);
  type.attr("__doc__") = doc;
  type.attr("__module__") = "whorl";  // where users find it; also what makes it picklable
  return type;
}

}  // namespace

void bind_errors(nb::module_& module) {
  // Translators are tried last registered first, so parents come before children.
  const auto error = bind_error<Error>(module, "Error", PyExc_Exception,
                                       "Root of all exceptions raised by Whorl.");
  bind_error<ParameterError>(module, "ParameterError", error,
                             "A parameter is outside its range or contradicts another.");
  bind_error<ShapeError>(module, "ShapeError", error,
                         "Sizes, lengths or indices do not fit together.");
  bind_error<EncodingError>(module, "EncodingError", error,
                            "A message or plaintext modulus outside its range.");
  const auto mismatch = bind_error<MismatchError>(module, "MismatchError", error,
                                                  "Two objects that do not belong together.");
  bind_error<ParameterMismatchError>(module, "ParameterMismatchError", mismatch,
                                     "Made under different parameters.");
  bind_error<KeyMismatchError>(module, "KeyMismatchError", mismatch, "Made under different keys.");
  const auto format = bind_error<FormatError>(module, "FormatError", error,
                                              "Bytes from outside are not what they should be.");
  bind_error<TruncatedError>(module, "TruncatedError", format, "Fewer bytes than announced.");
  bind_error<OversizedError>(module, "OversizedError", format,
                             "More bytes than allowed or announced.");
  bind_error<TypeMismatchError>(module, "TypeMismatchError", format,
                                "A frame of another type, as a secret where a key was due.");
  bind_error<VersionError>(module, "VersionError", format,
                           "A format version that this build does not read.");
  bind_error<CorruptionError>(module, "CorruptionError", format,
                              "The digest does not match: bits were flipped.");
  bind_error<RangeError>(module, "RangeError", format, "A residue is not below its modulus.");
  bind_error<PassphraseError>(module, "PassphraseError", error,
                              "A secret key could not be unwrapped with this passphrase.");
  bind_error<DeviceError>(module, "DeviceError", error,
                          "A device is absent, lost or refused a call.");
  bind_error<OutOfMemoryError>(module, "OutOfMemoryError", error,
                               "Memory is short; the message has needed and free bytes.");
  bind_error<RandomnessError>(module, "RandomnessError", error, "The system gave no randomness.");
  bind_error<IoError>(module, "IoError", error, "The operating system refused a file operation.");
  bind_error<InterruptedError>(module, "InterruptedError", error,
                               "The caller asked a long call to stop.");
}

}  // namespace whorl::python
