// What the fuzz targets of the loaders share: seeds that are good frames, and a repair of header
// and digest that lets mutated bytes reach the code behind the hash.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/native/codec.h"
#include "io/native/frame.h"
#include "unit/io/samples.h"
#include "unit/io/temporary_folder.h"

namespace whorl::io::fuzz {

/// Every input is tried with these: insecure sets are small, and nothing may grow large.
inline LoadOptions options() {
  LoadOptions result;
  result.allow_insecure = true;
  result.max_bytes = 1 << 20;
  result.max_expanded_bytes = 1 << 24;
  return result;
}

/// Writes the seeds to a temporary folder and adds it to the arguments, unless they name a file to
/// be replayed. For LLVMFuzzerInitialize.
inline int add_seeds(int* argc, char*** argv, const std::vector<Bytes>& seeds) {
  for (int i = 1; i < *argc; ++i)
    if (std::filesystem::is_regular_file((*argv)[i])) return 0;
  static const TemporaryFolder folder;
  static std::string folder_name = folder.path().string();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(folder / ("seed-" + std::to_string(i)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seeds[i].data()),
               static_cast<std::streamsize>(seeds[i].size()));
  }
  static std::vector<char*> arguments;
  arguments.assign(*argv, *argv + *argc);
  arguments.push_back(folder_name.data());
  arguments.push_back(nullptr);
  *argc += 1;
  *argv = arguments.data();
  return 0;
}

/// The same bytes with magic, version, type, length, parameter digest, check and digest
/// as they would be, were the payload good.
template <class Parameters>
Bytes repaired(std::span<const std::uint8_t> input, const FrameKind& kind) {
  Bytes frame(input.begin(), input.end());
  if (frame.size() < samples::payload_at + samples::trailer_bytes) return frame;
  const std::size_t payload_bytes = frame.size() - samples::payload_at - samples::trailer_bytes;
  const bool seeded = kind.seeded && (frame[samples::flags_at] & 1) != 0;
  std::copy_n("WHRL", 4, frame.begin());
  samples::put(frame, samples::version_at, format_version);
  samples::put(frame, samples::type_at, kind.type);
  samples::put(frame, samples::flags_at, std::uint32_t{seeded});
  samples::put(frame, samples::reserved_at, std::uint32_t{0});
  samples::put(frame, samples::length_at, std::uint64_t{payload_bytes});
  if (!kind.keyed) samples::put(frame, samples::key_id_at, KeyId{});
  try {
    ByteReader reader(std::span<std::uint8_t>(frame).subspan(samples::payload_at, payload_bytes));
    const auto parameters = Parameters::create(read_literal<Parameters>(reader), true);
    samples::put(frame, samples::digest_at, parameters.digest());
  } catch (const Error&) {
    // The loader will say the same.
  }
  samples::reseal(frame);
  return frame;
}

/// Ends the program for a shape that NumPy cannot hold, with 2^22 bytes for each element.
inline void check_shape(const std::optional<Shape>& shape) {
  if (!shape) return;
  std::uint64_t left = std::uint64_t{1} << 41;  // of 2^63 bytes
  for (const std::uint64_t length : *shape)
    if (length != 0) left /= length;
  if (shape->size() > 32 || left == 0) std::abort();
}

/// Loads; what is refused must be refused by one of Whorl's exceptions (others end the program),
/// and what is accepted must be just what dump writes.
template <class T>
void load_and_dump(std::span<const std::uint8_t> bytes) {
  Bytes again;
  try {
    const T value = load<T>(bytes, options());
    if constexpr (requires { value.shape; }) check_shape(value.shape);
    again = dump(value);
  } catch (const Error&) {
    return;
  }
  if (!std::ranges::equal(bytes, again)) std::abort();
}

/// Tries the input as it is and repaired.
template <class T>
void try_both(std::span<const std::uint8_t> input, const FrameKind& kind) {
  load_and_dump<T>(input);
  load_and_dump<T>(repaired<ParametersOf<T>>(input, kind));
}

}  // namespace whorl::io::fuzz
