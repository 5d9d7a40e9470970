// The exceptions of include/whorl/error.h as the classes of whorl.errors, one to one.
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

/// It is never given back, since a translator has it until Python ends.
PyObject* class_named(const char* name) {
  return nb::object(nb::module_::import_("whorl.errors").attr(name)).release().ptr();
}

/// An exception of the library's as the class of this name in whorl.errors.
template <class E>
void bind_error(const char* name) {
  nb::register_exception_translator(&translate<E>, class_named(name));
}

/// Where the system gives no memory C++ throws exceptions of its own: the same to users.
void translate_memory(const std::exception_ptr& thrown, void* type) {
  if (!thrown) wait_for_the_end();
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    raise(type, "the system did not give the memory needed");
  } catch (const std::length_error&) {
    raise(type, "more memory would be needed than there can be");
  }
}

}  // namespace

void bind_errors() {
  // Translators are tried last registered first, so parents come before children.
  bind_error<Error>("Error");
  bind_error<ParameterError>("ParameterError");
  bind_error<ShapeError>("ShapeError");
  bind_error<EncodingError>("EncodingError");
  bind_error<NoiseError>("NoiseError");
  bind_error<MissingKeyError>("MissingKeyError");
  bind_error<PassphraseError>("PassphraseError");
  bind_error<DeviceError>("DeviceError");
  bind_error<RandomnessError>("RandomnessError");
  bind_error<IoError>("IoError");
  bind_error<InterruptedError>("InterruptedError");
  bind_error<OutOfMemoryError>("OutOfMemoryError");
  bind_error<MismatchError>("MismatchError");
  bind_error<ParameterMismatchError>("ParameterMismatchError");
  bind_error<KeyMismatchError>("KeyMismatchError");
  bind_error<FormatError>("FormatError");
  bind_error<TruncatedError>("TruncatedError");
  bind_error<OversizedError>("OversizedError");
  bind_error<TypeMismatchError>("TypeMismatchError");
  bind_error<VersionError>("VersionError");
  bind_error<CorruptionError>("CorruptionError");
  bind_error<RangeError>("RangeError");
  nb::register_exception_translator(&translate_memory, class_named("OutOfMemoryError"));
}

}  // namespace whorl::python
