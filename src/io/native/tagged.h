// Fields behind tags: (tag u16, bytes u32, value), tags ascending, the whole behind its length. A
// field that holds its default is left out, so that a field added later invalidates no older file,
// and one object has one encoding. Tags and defaults are part of the format and never change.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "io/bytes.h"
#include "io/native/text.h"
#include "whorl/error.h"

namespace whorl::io {

/// A member that is written. `most` bounds what has no bound of its own: the last enumerator, bytes
/// of a text, elements of a vector.
template <class Object, class Value>
struct Field {
  std::uint16_t tag;
  const char* name;
  Value Object::*member;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};
// Compilers that do not deduce aggregates need these (clang before 17).
template <class Object, class Value>
Field(int, const char*, Value Object::*) -> Field<Object, Value>;
template <class Object, class Value>
Field(int, const char*, Value Object::*, std::uint64_t) -> Field<Object, Value>;

template <class Value>
struct FieldValue;

/// An integer or a double, in its own width.
template <class Value>
requires std::is_arithmetic_v<Value>
struct FieldValue<Value> {
  static void write(Value value, std::uint64_t, const std::string&, ByteWriter& out) {
    out.value(value);
  }
  static Value read(ByteReader& in, std::uint64_t, const std::string& name) {
    if (in.remaining() != sizeof(Value))
      throw FormatError(name + " has " + std::to_string(in.remaining()) + " bytes; it must have " +
                        std::to_string(sizeof(Value)));
    return in.value<Value>(name);
  }
};

/// One byte, at most `most`.
template <class Value>
requires std::is_enum_v<Value>
struct FieldValue<Value> {
  static void write(Value value, std::uint64_t, const std::string&, ByteWriter& out) {
    out.value(static_cast<std::uint8_t>(value));
  }
  static Value read(ByteReader& in, std::uint64_t most, const std::string& name) {
    const auto value = FieldValue<std::uint8_t>::read(in, most, name);
    if (value > most)
      throw FormatError(name + " is " + std::to_string(value) + "; it must be at most " +
                        std::to_string(most));
    return static_cast<Value>(value);
  }
};

template <>
struct FieldValue<bool> {
  enum class Byte : std::uint8_t {};
  static void write(bool value, std::uint64_t, const std::string&, ByteWriter& out) {
    out.value(static_cast<std::uint8_t>(value));
  }
  static bool read(ByteReader& in, std::uint64_t, const std::string& name) {
    return FieldValue<Byte>::read(in, 1, name) != Byte{0};
  }
};

/// UTF-8.
template <>
struct FieldValue<std::string> {
  static void write(const std::string& value, std::uint64_t most, const std::string& name,
                    ByteWriter& out) {
    check_text<ParameterError>(value, most, name);
    out.bytes(bytes_of(std::span<const char>(value)));
  }
  static std::string read(ByteReader& in, std::uint64_t most, const std::string& name) {
    const ByteSpan bytes = in.take(in.remaining(), name);
    std::string text(bytes.begin(), bytes.end());
    check_text<FormatError>(text, most, name);
    return text;
  }
};

/// The elements as they lie in memory: integers, or structs of integers without padding.
template <class Element>
struct FieldValue<std::vector<Element>> {
  static_assert(std::has_unique_object_representations_v<Element>);
  static void write(const std::vector<Element>& value, std::uint64_t most, const std::string& name,
                    ByteWriter& out) {
    check_count<ParameterError>(value.size(), most, name);
    out.bytes(bytes_of(std::span<const Element>(value)));
  }
  static std::vector<Element> read(ByteReader& in, std::uint64_t most, const std::string& name) {
    const std::size_t bytes = in.remaining(), count = bytes / sizeof(Element);
    if (bytes % sizeof(Element) != 0)
      throw FormatError(name + " has " + std::to_string(bytes) +
                        " bytes; the number must be a multiple of " +
                        std::to_string(sizeof(Element)));
    check_count<FormatError>(count, most, name);
    std::vector<Element> value(count);
    const ByteSpan taken = in.take(bytes, name);
    if (count != 0) std::memcpy(value.data(), taken.data(), bytes);
    return value;
  }

 private:
  template <class Exception>
  static void check_count(std::uint64_t count, std::uint64_t most, const std::string& name) {
    if (count > most)
      throw Exception(name + " has " + std::to_string(count) + " elements; it may have at most " +
                      std::to_string(most));
  }
};

/// A field of this type is not written if there is no value.
template <class Value>
struct FieldValue<std::optional<Value>> {
  static void write(const std::optional<Value>& value, std::uint64_t most, const std::string& name,
                    ByteWriter& out) {
    FieldValue<Value>::write(*value, most, name, out);
  }
  static std::optional<Value> read(ByteReader& in, std::uint64_t most, const std::string& name) {
    return FieldValue<Value>::read(in, most, name);
  }
};

/// What is written of a struct within an object: `static constexpr std::tuple fields`.
template <class Struct>
struct StructFields;

/// All fields together have at most this, where nothing else is said: it is more than two chains of
/// 2^16 primes take.
inline constexpr std::uint64_t most_field_bytes = std::uint64_t{1} << 21;

template <class Object, class... Values>
void write_fields(const Object& object, const std::tuple<Field<Object, Values>...>& fields,
                  ByteWriter& out);
template <class Object, class... Values>
Object read_fields(ByteReader& in, const std::tuple<Field<Object, Values>...>& fields,
                   const std::string& what, std::uint64_t most_bytes = most_field_bytes);

/// A struct as tagged fields inside a field; it may get more fields later.
template <class Struct>
requires requires { StructFields<Struct>::fields; }
struct FieldValue<Struct> {
  static void write(const Struct& value, std::uint64_t, const std::string&, ByteWriter& out) {
    write_fields(value, StructFields<Struct>::fields, out);
  }
  static Struct read(ByteReader& in, std::uint64_t, const std::string& name) {
    Struct value = read_fields<Struct>(in, StructFields<Struct>::fields, name);
    in.finish(name);
    return value;
  }
};

template <class Object, class Value>
void write_field(const Object& object, const Object& absent, const Field<Object, Value>& field,
                 ByteWriter& out) {
  if (object.*field.member == absent.*field.member) return;
  ByteWriter value;
  FieldValue<Value>::write(object.*field.member, field.most, field.name, value);
  out.value(field.tag);
  out.value(static_cast<std::uint32_t>(value.size()));
  out.bytes(value.data());
}

template <class Object, class Value>
void read_field(Object& object, const Object& absent, const Field<Object, Value>& field,
                ByteReader value) {
  object.*field.member = FieldValue<Value>::read(value, field.most, field.name);
  if (object.*field.member == absent.*field.member)
    throw FormatError(std::string(field.name) + ": it holds its default, which must be left out");
}

/// ParameterError for texts and vectors that read_fields would refuse.
template <class Object, class... Values>
void write_fields(const Object& object, const std::tuple<Field<Object, Values>...>& fields,
                  ByteWriter& out) {
  const Object absent{};
  ByteWriter records;
  std::apply([&](const auto&... field) { (write_field(object, absent, field, records), ...); },
             fields);
  out.value(static_cast<std::uint32_t>(records.size()));
  out.bytes(records.data());
}

/// FormatError for a tag that is unknown, not above the one before, or whose value has another
/// length or is the default, and for more than `most_bytes` in all; TruncatedError. `what` names
/// the object.
template <class Object, class... Values>
Object read_fields(ByteReader& in, const std::tuple<Field<Object, Values>...>& fields,
                   const std::string& what, std::uint64_t most_bytes) {
  const Object absent{};
  Object object{};
  const auto bytes = in.value<std::uint32_t>(what);
  if (bytes > most_bytes && bytes <= in.remaining())
    throw FormatError(what + ": the fields have " + std::to_string(bytes) +
                      " bytes; they may have at most " + std::to_string(most_bytes));
  ByteReader records(in.take(bytes, what));
  for (std::uint16_t last = 0; records.remaining() != 0;) {
    const auto tag = records.value<std::uint16_t>(what);
    const ByteReader value(records.take(records.value<std::uint32_t>(what), what));
    const std::string name = what + ": field " + std::to_string(tag);
    const auto read_if = [&](const auto& field) {
      if (field.tag != tag) return false;
      if (tag == last) throw FormatError(name + " (" + field.name + ") is there twice");
      if (tag < last)
        throw FormatError(name + " (" + field.name + ") stands behind field " +
                          std::to_string(last));
      read_field(object, absent, field, value);
      return true;
    };
    if (!std::apply([&](const auto&... field) { return (read_if(field) || ...); }, fields))
      throw FormatError(name + " is unknown to this build");
    last = tag;
  }
  return object;
}

}  // namespace whorl::io
