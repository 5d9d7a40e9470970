// All loaders of BGV: the type in the input's header says which one the repaired input is for.
#include "fuzz/support/frames.h"
#include "unit/io_bgv_samples.h"

using namespace whorl::io;

namespace {

/// The repair puts the digest of FHEW's parameters; this one puts that of BGV's.
Bytes repaired(std::span<const std::uint8_t> input, FrameType type) {
  Bytes frame = fuzz::repaired(input, type);
  if (frame.size() < samples::payload_at + samples::trailer_bytes) return frame;
  if (type == FrameType::bgv_parameters)
    samples::put(frame, samples::key_id_at, whorl::bgv::KeyId{});
  if (type == FrameType::bgv_ciphertexts && input[samples::flags_at] % 2 == 1)
    samples::put(frame, samples::flags_at, flag_seeded);
  try {
    ByteReader reader(std::span<const std::uint8_t>(frame).subspan(
        samples::payload_at, frame.size() - samples::payload_at - samples::trailer_bytes));
    const auto parameters = whorl::bgv::Parameters::create(decode_bgv_literal(reader), true);
    samples::put(frame, samples::digest_at, parameters.digest());
  } catch (const whorl::Error&) {
    // The loader will say the same.
  }
  samples::reseal(frame);
  return frame;
}

void load(std::span<const std::uint8_t> bytes, FrameType type) {
  switch (type) {
    case FrameType::bgv_parameters:
      return fuzz::load_and_dump(bytes, [](auto data, const LoadOptions& options) {
        return load_bgv_parameters(data, options);
      });
    case FrameType::bgv_evaluation_keys:
      return fuzz::load_and_dump(bytes, [](auto data, const LoadOptions& options) {
        return load_bgv_evaluation_keys(data, options);
      });
    case FrameType::bgv_ciphertexts:
      return fuzz::load_and_dump(bytes, [](auto data, const LoadOptions& options) {
        return load_bgv_ciphertexts(data, options);
      });
    case FrameType::bgv_public_key:
      return fuzz::load_and_dump(bytes, [](auto data, const LoadOptions& options) {
        return load_bgv_public_key(data, options);
      });
    default:
      break;
  }
  try {
    load_bgv_secret_key(bytes, samples::passphrase, fuzz::options(), samples::cheap_cost);
  } catch (const whorl::Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::bgv_literals()) {
    const auto parameters = samples::bgv_parameters(literal);
    seeds.push_back(dump(parameters));
    seeds.push_back(dump(samples::bgv_public_key(parameters, random)));
    seeds.push_back(dump(samples::bgv_evaluation_keys(parameters, random)));
    seeds.push_back(dump(samples::bgv_ciphertexts(parameters, 1, 2, 1, random)));
    seeds.push_back(dump(samples::bgv_fresh(parameters, 1, random)));
    seeds.push_back(dump_secret_key(samples::bgv_secret_key(parameters, random),
                                    samples::passphrase, samples::cheap_cost));
  }
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr FrameType types[] = {FrameType::bgv_parameters, FrameType::bgv_secret_key,
                                 FrameType::bgv_evaluation_keys, FrameType::bgv_ciphertexts,
                                 FrameType::bgv_public_key};
  const std::span<const std::uint8_t> input{data, size};
  const FrameType type =
      types[size > samples::type_at ? (data[samples::type_at] + 5U - 16U % 5U) % 5 : 0];
  load(input, type);
  load(repaired(input, type), type);
  return 0;
}
