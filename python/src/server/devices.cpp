// Which devices there are, and room for keys on them.
#include "whorl/devices.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "common/calls.h"
#include "parts.h"

namespace whorl::python {

void bind_devices(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<KeyCache>(module, "KeyCache")
      .def(nb::init<std::size_t>(), "bytes_a_device"_a)
      .def_prop_ro("bytes_a_device", &KeyCache::bytes_a_device);
  module.def(
      "device_name",
      [](const std::string& device) { return without_gil([&] { return device_name(device); }); },
      "device"_a);
  module.def("devices", [] {
    std::vector<nb::dict> result;
    for (const DeviceInfo& device : without_gil([] { return list_devices(); })) {
      nb::dict entry;
      entry["name"] = device.name;
      entry["description"] = device.description;
      entry["usable"] = device.usable;
      entry["why"] = device.why;
      entry["memory"] = device.memory;
      entry["free_memory"] = device.free_memory;
      result.push_back(entry);
    }
    return result;
  });
}

}  // namespace whorl::python
