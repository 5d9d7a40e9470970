// What a file says of itself.
#include <nanobind/stl/string.h>

#include "common/files.h"
#include "parts.h"

namespace whorl::python {

namespace {

using io::FrameType;

constexpr std::pair<FrameType, const char*> type_names[] = {
    {FrameType::parameters, "parameters"},
    {FrameType::secret_key, "secret key"},
    {FrameType::evaluation_keys, "evaluation keys"},
    {FrameType::ciphertexts, "ciphertexts"},
    {FrameType::lut, "look-up table"},
    {FrameType::bgv_parameters, "BGV parameters"},
    {FrameType::bgv_secret_key, "BGV secret key"},
    {FrameType::bgv_evaluation_keys, "BGV evaluation keys"},
    {FrameType::bgv_ciphertexts, "BGV ciphertexts"},
    {FrameType::bgv_public_key, "BGV public key"}};

std::string type_name(FrameType type) {
  for (const auto& [known, name] : type_names)
    if (type == known) return name;
  const std::string number = std::to_string(static_cast<unsigned>(type));
  if (type >= FrameType::first_foreign) return "type " + number + ", of another scheme";
  throw FormatError("type: " + number + " is unknown");
}

}  // namespace

void bind_frames(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "frame_info",
      [](const std::string& path) {
        const io::FrameInfo info = io::info(std::filesystem::path(path));
        nb::dict result;
        result["type"] = type_name(info.type);
        result["version"] = info.version;
        result["parameters_digest"] = as_bytes(info.parameters_digest);
        result["key_id"] = as_bytes(info.key_id);
        result["payload_bytes"] = info.payload_bytes;
        return result;
      },
      "path"_a);
}

}  // namespace whorl::python
