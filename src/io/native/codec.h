// How a type becomes a frame and back. A scheme describes its literal and, for each type that is
// saved, the fields behind it; all else is here, once.
#pragma once

#include <type_traits>
#include <utility>

#include "io/native/frame.h"
#include "io/native/payload.h"
#include "io/native/sink.h"
#include "io/native/tagged.h"
#include "whorl/io.h"

namespace whorl::io {

/// The codec of a scheme's parameters has:
///   using Literal = …;
///   static constexpr std::tuple fields{Field{1, "n", &Literal::n}, …};
template <class Parameters>
struct LiteralCodec;

/// Elements of a list in a literal, such as the primes of a chain.
inline constexpr std::uint64_t max_list = 65535;

/// The codec of a type that is saved has:
///   static constexpr FrameKind kind;
///   static void write(const T& value, PayloadWriter& out);  // checks the value
///   static T read(PayloadReader& in, const Parameters& parameters);
/// `read` takes all fields and arrays, calls in.finish(), and only then allocates.
template <class T>
struct Codec;

/// A payload that holds the literal only.
template <class Parameters, FrameType type>
struct ParametersCodec {
  static constexpr FrameKind kind{type, false};
  static void write(const Parameters&, PayloadWriter&) {}
  static Parameters read(PayloadReader& in, const Parameters& parameters) {
    in.finish();
    return parameters;
  }
};

/// The parameters of a value; parameters themselves are such a value.
template <class T>
decltype(auto) parameters_of(const T& value) {
  if constexpr (requires { value.parameters(); })
    return value.parameters();
  else if constexpr (requires { value.parameters; })
    return (value.parameters);
  else
    return (value);
}
template <class T>
using ParametersOf = std::remove_cvref_t<decltype(parameters_of(std::declval<const T&>()))>;

template <class Parameters>
void write_literal(const Parameters& parameters, ByteWriter& out) {
  write_fields(parameters.literal(), LiteralCodec<Parameters>::fields, out);
}

template <class Parameters>
auto read_literal(ByteReader& in) {
  using Literals = LiteralCodec<Parameters>;
  return read_fields<typename Literals::Literal>(in, Literals::fields, "parameters");
}

/// Rebuilds the parameters at the head of a payload, which must be those that the header names.
template <class Parameters>
Parameters read_parameters(PayloadReader& in) {
  auto parameters =
      Parameters::create(read_literal<Parameters>(in.fields()), in.options().allow_insecure);
  if (parameters.digest() != in.header().parameters_digest)
    throw ParameterMismatchError(
        "parameter digest: the header names other parameters than the payload holds");
  return parameters;
}

template <class T>
void write_frame(Sink& sink, const T& value, const SaveOptions& options = {}) {
  const auto& parameters = parameters_of(value);
  PayloadWriter out(options);
  write_literal(parameters, out.fields());
  Codec<T>::write(value, out);
  KeyId key_id{};
  if constexpr (Codec<T>::kind.keyed) key_id = value.key_id;
  out.write_frame(sink, Codec<T>::kind.type, parameters.digest(), key_id);
}

/// Returns read(PayloadReader&, const OpenFrame&) of a frame in memory.
template <class Read>
auto read_frame(ByteSpan bytes, const FrameKind& kind, const LoadOptions& options,
                const Read& read) {
  const OpenFrame frame = open_frame(bytes, kind, options);
  PayloadReader in(frame, options, nullptr);
  return read(in, frame);
}

/// The same for a frame in a file, which is read as far as `read` looks, and as a whole once `read`
/// has found nothing wrong and calls in.finish(). An error that `read` finds before is thrown only
/// if the digest is right, as for a frame in memory; so the rest of the file is read then, but not
/// kept.
template <class Read>
auto read_frame(const Contents& contents, const FrameKind& kind, const LoadOptions& options,
                const Read& read) {
  const OpenFrame frame = split_frame(contents->bytes(), kind, options);
  PayloadReader in(frame, options, contents);
  try {
    return read(in, frame);
  } catch (const Error&) {
    if (!in.finished()) check_digest(*contents, options.interrupt);
    throw;
  }
}

/// The function that read_frame takes to read a T by its Codec.
template <class T>
inline constexpr auto read_value = [](PayloadReader& in, const OpenFrame&) {
  return Codec<T>::read(in, read_parameters<ParametersOf<T>>(in));
};

}  // namespace whorl::io
