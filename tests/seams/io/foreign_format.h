// Another format beside ours, as OpenFHE's would be: other magic, big-endian numbers, names and
// lengths in front of values. Its reader takes the fields, rules and checks of our codecs.
#pragma once

#include "io/native/bgv_literal.h"
#include "io/native/rlwe_codec.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/encoder.h"
#include "support/test.h"

namespace whorl::io {

inline constexpr std::string_view foreign_magic = "FRGN";
using Info = bgv::CiphertextInfo;
inline constexpr std::tuple info_fields{
    Field{1, "packing", &Info::packing, 1}, Field{2, "count", &Info::count},
    Field{3, "parts", &Info::parts},        Field{4, "limbs", &Info::limbs},
    Field{5, "factor", &Info::factor},      Field{6, "noise", &Info::noise}};

/// Bytes that are turned round together: of a number, or of each in a vector.
template <class Value>
constexpr std::size_t unit = std::is_arithmetic_v<Value> ? sizeof(Value) : 1;
template <class Element>
constexpr std::size_t unit<std::vector<Element>> = sizeof(Element);

/// Between their order and ours.
inline Bytes turned(ByteSpan bytes, std::size_t of) {
  Bytes out(bytes.begin(), bytes.end());
  for (auto at = out.begin(); at != out.end();) {
    const auto end = at + std::min<std::ptrdiff_t>(out.end() - at, static_cast<std::ptrdiff_t>(of));
    std::reverse(at, end);
    at = end;
  }
  return out;
}
inline std::uint64_t number(ByteReader& in, const char* what) {
  const Bytes bytes = turned(in.take(8, what), 8);
  return ByteReader(bytes).value<std::uint64_t>(what);
}

using Named = std::map<std::string, ByteSpan>;
inline Named records(ByteSpan bytes, const char* what) {
  Named out;
  for (ByteReader in(bytes); in.remaining() != 0;) {
    const ByteSpan name = in.take(number(in, what), what);
    const ByteSpan value = in.take(number(in, what), what);
    if (!out.emplace(std::string(name.begin(), name.end()), value).second)
      throw FormatError(std::string(what) + ": a field is there twice");
  }
  return out;
}
inline ByteSpan record(const Named& all, const char* name) {
  const auto found = all.find(name);
  if (found == all.end()) throw FormatError(std::string(name) + " is not there");
  return found->second;
}
template <class Object, class... Values>
Object read_named(ByteSpan bytes, const std::tuple<Field<Object, Values>...>& fields,
                  const char* what) {
  Object object{};
  for (const auto& record : records(bytes, what)) {
    const std::string& name = record.first;
    const ByteSpan value = record.second;
    const auto read_if = [&]<class Value>(const Field<Object, Value>& field) {
      if (field.name != name) return false;
      const Bytes ours = turned(value, unit<Value>);
      ByteReader in(ours);
      object.*field.member = FieldValue<Value>::read(in, field.most, field.name);
      return true;
    };
    if (!std::apply([&](const auto&... field) { return (read_if(field) || ...); }, fields))
      throw FormatError(std::string(what) + ": field " + name + " is unknown to this build");
  }
  return object;
}

inline bgv::Ciphertexts load_foreign(ByteSpan bytes, const LoadOptions& options) {
  ByteReader in(bytes);
  in.take(foreign_magic.size(), "magic");
  const std::uint64_t announced = number(in, "length");
  if (announced > options.max_bytes)
    throw OversizedError("length is " + std::to_string(announced) + " bytes; it must be at most " +
                         std::to_string(options.max_bytes));
  const Named all = records(in.take(announced, "file"), "file");
  in.finish("file");
  const auto parameters = bgv::Parameters::create(
      read_named(record(all, "parameters"), LiteralCodec<bgv::Parameters>::fields, "parameters"),
      options.allow_insecure);
  const Info info = read_named(record(all, "ciphertexts"), info_fields, "ciphertexts");
  bgv::Encoder::check(parameters, info.packing);
  bgv::Account::check(parameters, info);
  const WordRule rule =
      residue_rule(parameters, {info.parts, ring::Basis::range(0, info.limbs), info.count}, "data");
  ByteReader data(record(all, "data")), key(record(all, "key"));
  const ByteSpan words = data.take(rule.bytes(), "data");
  data.finish("data");
  WordArray ours = take_words(turned(words, rule.word_bytes), rule, nullptr);
  check_range(ours, rule);
  const KeyId key_id = key.array<16>("key");
  key.finish("key");
  return {parameters, key_id, info, std::move(ours), std::nullopt, std::nullopt};
}
inline bgv::Ciphertexts load_any(ByteSpan bytes, const LoadOptions& options) {
  const bool foreign = bytes.size() >= foreign_magic.size() &&
                       std::equal(foreign_magic.begin(), foreign_magic.end(), bytes.begin());
  return foreign ? load_foreign(bytes, options) : load<bgv::Ciphertexts>(bytes, options);
}

}  // namespace whorl::io
