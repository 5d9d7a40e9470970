// The tag of a wrapped key cannot be guessed, so the repair takes what lies in the place of the
// wrapped coefficients for the coefficients and wraps them.
#include "fuzz/support/frames.h"
#include "io/native/binfhe_literal.h"

using namespace whorl::io;

namespace {

Bytes rewrapped(Bytes frame) {
  if (frame.size() < samples::payload_at + samples::trailer_bytes) return frame;
  try {
    ByteReader reader(
        std::span<const std::uint8_t>(frame).subspan(0, frame.size() - samples::trailer_bytes));
    reader.take(samples::payload_at, "header");
    read_literal<whorl::binfhe::Parameters>(reader);
    const WrapHeader header = decode_wrap_header(reader, samples::cheap_cost);
    const std::size_t start = reader.position();
    if (reader.remaining() < wrap_tag_bytes) return frame;
    const auto coefficients = reader.take(reader.remaining() - wrap_tag_bytes, "coefficients");
    const auto wrapped = wrap(coefficients, samples::passphrase, header,
                              std::span<const std::uint8_t>(frame).first(start));
    std::ranges::copy(wrapped, frame.begin() + static_cast<std::ptrdiff_t>(start));
    samples::reseal(frame);
  } catch (const whorl::Error&) {
    // The loader will say the same.
  }
  return frame;
}

void load_and_compare(std::span<const std::uint8_t> bytes) {
  try {
    const auto key = load<whorl::binfhe::SecretKey>(bytes, samples::passphrase, fuzz::options(),
                                                    samples::cheap_cost);
    const Bytes again = dump_secret(key, samples::passphrase, samples::cheap_cost);
    const auto same = load<whorl::binfhe::SecretKey>(again, samples::passphrase, fuzz::options(),
                                                     samples::cheap_cost);
    if (again.size() != bytes.size() || same.key_id() != key.key_id() ||
        !std::ranges::equal(same.lwe(), key.lwe()) || !std::ranges::equal(same.ring(), key.ring()))
      std::abort();
  } catch (const whorl::Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::literals()) {
    const auto key = samples::secret_key(samples::parameters(literal), random);
    Bytes seed = dump_secret(key, samples::passphrase, samples::cheap_cost);
    seeds.push_back(seed);
    // With the coefficients in clear, for the repair to wrap.
    auto at = seed.begin() +
              static_cast<std::ptrdiff_t>(samples::payload_at + samples::literal_bytes(literal) +
                                          WrapHeader::encoded_bytes);
    at = std::ranges::copy(bytes_of(key.lwe()), at).out;
    std::ranges::copy(bytes_of(key.ring()), at);
    seeds.push_back(seed);
  }
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  load_and_compare({data, size});
  load_and_compare(rewrapped(fuzz::repaired<whorl::binfhe::Parameters>(
      {data, size}, {.type = FrameType::binfhe_secret_key})));
  return 0;
}
