// What a file says of itself.
#include <nanobind/stl/string.h>

#include "common/files.h"
#include "parts.h"

namespace whorl::python {

void bind_frames(nb::module_& module) {
  module.def(
      "frame_info",
      [](const std::filesystem::path& path) -> Record {
        const io::FrameInfo info = io::info(path);
        nb::dict result;
        result["type"] = io::type_name(info.type);
        result["version"] = info.version;
        result["parameters_digest"] = as_bytes(info.parameters_digest);
        result["key_id"] = as_bytes(info.key_id);
        result["payload_bytes"] = info.payload_bytes;
        return result;
      },
      "path"_a);
}

}  // namespace whorl::python
