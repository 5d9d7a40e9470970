// Which devices there are, and sessions on them.
#include "whorl/devices.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "base_server.h"
#include "common/calls.h"
#include "parts.h"
#include "whorl/device_library.h"

namespace whorl::python {

namespace {

/// Names the CUDA backend that pip has installed, if it has; it is loaded when it is first needed.
void find_cuda_library() {
  try {
    set_cuda_library(nb::cast<std::string>(nb::module_::import_("whorl_cuda13").attr("library")));
  } catch (nb::python_error& error) {
    // None, or what is left of one: devices() then says that there is no backend.
    if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
  }
}

}  // namespace

void bind_devices(nb::module_& module) {
  find_cuda_library();
  nb::class_<Session> session(module, "Session");
  session
      .def(
          "__init__",
          [](Session* self, const std::string& device, unsigned threads, std::size_t key_bytes) {
            without_gil([&] {
              new (self) Session(options_of({device, threads, key_bytes}));
              return 0;
            });
          },
          "device"_a, "threads"_a, "key_bytes"_a)
      .def_prop_ro("key_bytes", &Session::key_bytes);
  bind_devices_of(session);
  module.def(
      "device_name",
      [](const std::string& device) { return without_gil([&] { return device_name(device); }); },
      "device"_a);
  module.def("devices", [] {
    std::vector<Record> result;
    for (const DeviceInfo& device : without_gil([] { return list_devices(); })) {
      nb::dict entry;
      entry["name"] = device.name;
      entry["description"] = device.description;
      entry["usable"] = device.usable;
      entry["why"] = device.why;
      entry["memory"] = device.memory;
      entry["free_memory"] = device.free_memory;
      result.emplace_back(std::move(entry));
    }
    return result;
  });
}

}  // namespace whorl::python
