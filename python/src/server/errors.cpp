// The exceptions of include/whorl/error.h, one to one.
#include "whorl/error.h"

#include <new>
#include <stdexcept>

#include "parts.h"

namespace whorl::python {

namespace {

/// A class of the library, and what Python says of it.
template <class E>
struct Kind {
  const char* name;
  const char* doc;
};

template <class E>
nb::exception<E> bind_error(nb::module_& module, nb::handle base, Kind<E> kind) {
  nb::exception<E> type(module, kind.name, base);
  type.attr("__doc__") = kind.doc;
  type.attr("__module__") = "whorl";  // where users find it; also what makes it picklable
  return type;
}

template <class... E>
void bind_errors(nb::module_& module, nb::handle base, Kind<E>... kinds) {
  (bind_error(module, base, kinds), ...);
}

/// Where the system gives no memory C++ throws exceptions of its own: the same to users.
void bind_memory_errors(nb::handle out_of_memory) {
  const auto translate = [](const std::exception_ptr& thrown, void* type) {
    const auto raise = [type](const char* message) {
      PyErr_SetString(static_cast<PyObject*>(type), message);
    };
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      raise("the system did not give the memory needed");
    } catch (const std::length_error&) {
      raise("more memory would be needed than there can be");
    }
  };
  nb::register_exception_translator(translate, out_of_memory.ptr());
}

}  // namespace

void bind_errors(nb::module_& module) {
  // Translators are tried last registered first, so parents come before children.
  const auto error = bind_error(module, PyExc_Exception,
                                Kind<Error>{"Error", "Root of all exceptions raised by Whorl."});
  bind_errors(
      module, error,
      Kind<ParameterError>{"ParameterError",
                           "A parameter is outside its range or contradicts another."},
      Kind<ShapeError>{"ShapeError", "Sizes, lengths or indices do not fit together."},
      Kind<EncodingError>{"EncodingError", "A message or plaintext modulus outside its range."},
      Kind<NoiseError>{"NoiseError", "A result that may be wrong: there is too much noise."},
      Kind<PassphraseError>{"PassphraseError",
                            "A secret key could not be unwrapped with this passphrase."},
      Kind<DeviceError>{"DeviceError", "A device is absent, lost or refused a call."},
      Kind<RandomnessError>{"RandomnessError", "The system gave no randomness."},
      Kind<IoError>{"IoError", "The operating system refused a file operation."},
      Kind<InterruptedError>{"InterruptedError", "The caller asked a long call to stop."});
  bind_memory_errors(
      bind_error(module, error,
                 Kind<OutOfMemoryError>{"OutOfMemoryError",
                                        "Memory is short; the message has what it was for."}));
  const auto mismatch =
      bind_error(module, error,
                 Kind<MismatchError>{"MismatchError", "Two objects that do not belong together."});
  bind_errors(
      module, mismatch,
      Kind<ParameterMismatchError>{"ParameterMismatchError", "Made under different parameters."},
      Kind<KeyMismatchError>{"KeyMismatchError", "Made under different keys."});
  const auto format = bind_error(
      module, error,
      Kind<FormatError>{"FormatError", "Bytes from outside are not what they should be."});
  bind_errors(
      module, format, Kind<TruncatedError>{"TruncatedError", "Fewer bytes than announced."},
      Kind<OversizedError>{"OversizedError", "More bytes than allowed or announced."},
      Kind<TypeMismatchError>{"TypeMismatchError",
                              "A frame of another type, as a secret where a key was due."},
      Kind<VersionError>{"VersionError", "A format version that this build does not read."},
      Kind<CorruptionError>{"CorruptionError", "The digest does not match: bits were flipped."},
      Kind<RangeError>{"RangeError", "A residue or a field is out of its range."});
}

}  // namespace whorl::python
