#include "io/native/secret_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace whorl::io {

void write_wrapped(Sink& sink, FrameType type, const Digest& parameters, const KeyId& key_id,
                   PayloadWriter& out, std::span<const Coefficients> parts,
                   std::string_view passphrase, const KdfCost& cost) {
  std::size_t count = 0;
  for (const Coefficients& part : parts) count += part.size();
  math::SecretVector<std::int32_t> coefficients(count);
  std::size_t filled = 0;
  for (const Coefficients& part : parts) {
    std::copy(part.begin(), part.end(), coefficients.begin() + filled);
    filled += part.size();
  }

  const WrapHeader wrap_header = make_wrap_header(cost);
  encode_wrap_header(wrap_header, out.fields());
  const std::uint64_t wrapped_bytes = count * sizeof(std::int32_t) + wrap_tag_bytes;
  ByteWriter associated;
  associated.bytes(
      encode_header(make_header(type, parameters, key_id, out.fields().size() + wrapped_bytes)));
  associated.bytes(out.fields().data());
  out.fields().bytes(wrap(bytes_of(std::as_const(coefficients).span()), passphrase, wrap_header,
                          associated.data()));
  out.write_frame(sink, type, parameters, key_id);
}

math::SecretVector<std::int32_t> read_wrapped(PayloadReader& in, ByteSpan bytes, std::size_t count,
                                              std::string_view passphrase, const KdfCost& limit) {
  ByteReader& fields = in.fields();
  const WrapHeader wrap_header = decode_wrap_header(fields, limit);
  const std::size_t clear_bytes = header_bytes + fields.position();
  const ByteSpan wrapped =
      fields.take(count * sizeof(std::int32_t) + wrap_tag_bytes, "wrapped key");
  in.finish();

  const auto secret = unwrap(wrapped, passphrase, wrap_header, bytes.first(clear_bytes));
  math::SecretVector<std::int32_t> coefficients(count);
  std::memcpy(coefficients.data(), secret.data(), secret.size());
  return coefficients;
}

}  // namespace whorl::io
