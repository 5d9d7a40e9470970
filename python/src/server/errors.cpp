// The exceptions of include/whorl/error.h, one to one.
#include "whorl/error.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/calls.h"
#include "parts.h"

namespace whorl::python {

namespace {

/// A class of the library, and what Python says of it.
template <class E>
struct Kind {
  const char* name;
  const char* doc;
};

/// Names of files in a message need not be UTF-8: Python has them as os.fsdecode gives them.
void raise(void* type, std::string_view message) {
  const auto text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "surrogateescape"));
  if (text) PyErr_SetObject(static_cast<PyObject*>(type), text.ptr());
}

/// What nanobind has caught, if it is an E. It has caught no exception where Python ends the thread
/// by unwinding it.
template <class E>
void translate(const std::exception_ptr& thrown, void* type) {
  if (!thrown) wait_for_the_end();
  try {
    std::rethrow_exception(thrown);
  } catch (const E& error) {
    raise(type, error.what());
  }
}

template <class E>
nb::object bind_error(nb::module_& module, nb::handle base, Kind<E> kind) {
  const std::string name = std::string("whorl.") + kind.name;  // picklable, as users import it
  auto type = nb::steal(PyErr_NewExceptionWithDoc(name.c_str(), kind.doc, base.ptr(), nullptr));
  if (!type) nb::raise_python_error();
  module.attr(kind.name) = type;
  nb::register_exception_translator(&translate<E>, type.ptr());
  return type;
}

template <class... E>
void bind_errors(nb::module_& module, nb::handle base, Kind<E>... kinds) {
  (bind_error(module, base, kinds), ...);
}

/// Where the system gives no memory C++ throws exceptions of its own: the same to users.
void bind_memory_errors(nb::handle out_of_memory) {
  const auto translate = [](const std::exception_ptr& thrown, void* type) {
    if (!thrown) wait_for_the_end();
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      raise(type, "the system did not give the memory needed");
    } catch (const std::length_error&) {
      raise(type, "more memory would be needed than there can be");
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
      Kind<MissingKeyError>{"MissingKeyError",
                            "An evaluation key is missing; the message has which to ask for."},
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
