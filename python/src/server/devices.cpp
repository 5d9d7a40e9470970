// Which devices there are, and sessions on them; what a file says of itself.
#include "whorl/devices.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "base_server.h"
#include "common/files.h"
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
      using D = DeviceInfo;
      result.emplace_back(add_members({}, device, "name", &D::name, "description", &D::description,
                                      "usable", &D::usable, "why", &D::why, "memory", &D::memory,
                                      "free_memory", &D::free_memory));
    }
    return result;
  });
  module.def(
      "frame_info",
      [](const std::filesystem::path& path) -> Record {
        const io::FrameInfo info = io::info(path);
        nb::dict result;
        result["type"] = io::type_name(info.type);
        result["version"] = info.version;
        result["parameters_digest"] = as_bytes(info.parameters_digest);
        result["key_id"] = as_bytes(info.key_id);
        return result;
      },
      "path"_a);
}

}  // namespace whorl::python
