// The payloads of programs of FHEW/TFHE, and of those of integers; docs/file-format.md has the
// bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/native/binfhe_literal.h"
#include "io/native/files.h"
#include "schemes/binfhe/program.h"
#include "whorl/circuits/binfhe/integers.h"

namespace whorl::io {

namespace {

using binfhe::Lut;
using binfhe::LutKind;
using binfhe::Operation;
using binfhe::Parameters;
using binfhe::Program;
using binfhe::ProgramAccess;
using binfhe::ProgramRecorder;
using binfhe::same_tables;
using Number = ProgramRecorder::Number;
using Words = std::vector<std::uint32_t>;

enum class Code : std::uint32_t { take, join, sum, apply, known };

template <class Word>
void write_list(ByteWriter& out, const std::vector<Word>& words) {
  out.value(static_cast<std::uint64_t>(words.size()));
  out.bytes(bytes_of(std::span(words)));
}

template <class Word>
std::vector<Word> read_words(ByteReader& in, std::uint64_t count, const std::string& field) {
  const ByteSpan bytes = in.take(checked_product(count, sizeof(Word), field), field);
  std::vector<Word> words;
  reserve(words, count, field);
  words.resize(static_cast<std::size_t>(count));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}
Words read_list(ByteReader& in, const std::string& field) {
  const auto count = in.value<std::uint64_t>(field);
  return read_words<std::uint32_t>(in, count, field);
}

/// Writes an operation.
struct OperationWriter {
  ByteWriter& out;

  void code(Code of) const { out.value(static_cast<std::uint32_t>(of)); }
  void operator()(const Operation::Take& take) const {
    code(Code::take);
    out.value(take.of);
    write_list(out, take.index);
  }
  void operator()(const Operation::Join& join) const {
    code(Code::join);
    write_list(out, join.of);
  }
  void operator()(const Operation::Sum& sum) const {
    code(Code::sum);
    out.value(sum.constant);
    write_list(out, sum.of);
    out.bytes(bytes_of(std::span(sum.weights)));
  }
  void operator()(const Operation::Apply& apply) const {
    code(Code::apply);
    out.value(apply.of);
    write_list(out, apply.tables);
    write_list(out, apply.index);
  }
  void operator()(const Operation::Known& known) const {
    code(Code::known);
    write_list(out, known.messages);
  }
};

/// What a recorder refuses is a payload whose numbers do not fit together.
template <class Record>
auto recorded(const std::string& what, const Record& record) {
  try {
    return record();
  } catch (const OversizedError& error) {
    throw OversizedError(what + ": " + error.what() + " (max_expanded_bytes)");
  } catch (const ShapeError& error) {
    throw FormatError(what + ": " + error.what());
  } catch (const EncodingError& error) {
    throw FormatError(what + ": " + error.what());
  } catch (const ParameterError& error) {
    throw FormatError(what + ": " + error.what());
  } catch (const RangeError& error) {
    throw FormatError(what + ": " + error.what());
  }
}

/// Records an operation again.
void record(ProgramRecorder& recorder, const std::vector<Lut>& luts, ByteReader& in,
            const std::string& what, std::uint64_t most_bytes) {
  const auto code = in.value<std::uint32_t>(what);
  switch (static_cast<Code>(code)) {
    case Code::take: {
      const auto of = in.value<Number>(what);
      recorder.take(of, read_list(in, what));
      return;
    }
    case Code::join:
      recorder.concatenate(read_list(in, what));
      return;
    case Code::sum: {
      const auto constant = in.value<std::int32_t>(what);
      const Words of = read_list(in, what);
      recorder.linear(read_words<std::int32_t>(in, of.size(), what), of, constant);
      return;
    }
    case Code::apply: {
      const auto of = in.value<Number>(what);
      const Words numbers = read_list(in, what);
      const Words index = read_list(in, what);
      std::vector<Lut> chosen;
      if (!luts.empty() &&
          numbers.size() > most_bytes / (sizeof(Lut) + luts[0].values().size_bytes()))
        throw OversizedError(what + ": it names " + std::to_string(numbers.size()) +
                             " tables, which take more than " + std::to_string(most_bytes) +
                             " bytes of memory (max_expanded_bytes)");
      for (const std::uint32_t number : numbers) {
        if (number >= luts.size())
          throw FormatError(what + ": there is no table " + std::to_string(number) +
                            "; there are " + std::to_string(luts.size()));
        chosen.push_back(luts[number]);
      }
      recorder.apply(chosen, index, of);
      return;
    }
    case Code::known:
      recorder.trivial(read_list(in, what));
      return;
  }
  throw FormatError(what + ": its code is " + std::to_string(code) + "; it must be at most " +
                    std::to_string(static_cast<unsigned>(Code::known)));
}

void write_program(const Program& program, PayloadWriter& out) {
  const ProgramAccess::State& state = ProgramAccess::of(program);
  ByteWriter operations;
  for (const Operation::Any& operation : state.operations)
    std::visit(OperationWriter{operations}, operation);
  ByteWriter& fields = out.fields();
  write_encoding(fields, state.encoding);
  for (const std::size_t count : {state.inputs.size(), state.luts.size(), state.operations.size(),
                                  state.results.size(), operations.size()})
    fields.value(static_cast<std::uint64_t>(count));
  for (const std::size_t count : state.inputs) fields.value(static_cast<std::uint64_t>(count));
  for (const Lut& lut : state.luts) {
    fields.value(static_cast<std::uint8_t>(lut.kind()));
    fields.value(static_cast<std::uint8_t>(!lut.exact()));
    fields.zeros(2);
    fields.bytes(bytes_of(lut.values()));
  }
  fields.bytes(operations.data());
  fields.bytes(bytes_of(std::span(state.results)));
}

/// What a payload has of a program; nothing is made of it yet.
struct ProgramBytes {
  binfhe::Encoding encoding;
  std::vector<std::uint64_t> inputs;
  std::uint64_t tables, operations, results;
  ByteSpan table_bytes, operation_bytes, result_bytes;
};

ProgramBytes take_program(PayloadReader& payload, const Parameters& parameters) {
  ByteReader& in = payload.fields();
  ProgramBytes taken{};
  taken.encoding = read_encoding(in, parameters, "encoding");
  const auto inputs = in.value<std::uint64_t>("inputs");
  if (inputs > ProgramRecorder::most_inputs)
    throw FormatError("inputs: there are " + std::to_string(inputs) + "; a program has at most " +
                      std::to_string(ProgramRecorder::most_inputs));
  taken.tables = in.value<std::uint64_t>("tables");
  taken.operations = in.value<std::uint64_t>("operations");
  taken.results = in.value<std::uint64_t>("results");
  const auto bytes = in.value<std::uint64_t>("operations");
  taken.inputs = read_words<std::uint64_t>(in, inputs, "inputs");
  const std::uint64_t table = 4 + sizeof(std::uint32_t) * std::uint64_t{taken.encoding.p};
  taken.table_bytes = in.skip(checked_product(taken.tables, table, "tables"), "tables");
  taken.operation_bytes = in.skip(bytes, "operations");
  taken.result_bytes =
      in.skip(checked_product(taken.results, sizeof(Number), "results"), "results");
  return taken;
}

Lut read_table(ByteReader& in, const Parameters& parameters, binfhe::Encoding encoding,
               const std::string& what) {
  const auto kind = in.value<std::uint8_t>(what);
  const auto approximate = in.value<std::uint8_t>(what);
  in.zeros(2, what);
  if (approximate > 1)
    throw FormatError(what + ": approximate is " + std::to_string(approximate) +
                      "; it must be at most 1");
  Lut lut = recorded(what, [&] {
    return Lut::create(parameters, read_words<std::uint32_t>(in, encoding.p, what), encoding,
                       encoding, approximate == 0,
                       kind == static_cast<std::uint8_t>(LutKind::near_negacyclic));
  });
  if (kind != static_cast<std::uint8_t>(lut.kind()))
    throw FormatError(what + ": its kind is " + std::to_string(kind) +
                      ", but these values make it " +
                      std::to_string(static_cast<unsigned>(lut.kind())));
  return lut;
}

/// Records the program again, so that all is checked as when it was made.
Program made_of(const ProgramBytes& taken, const Parameters& parameters,
                const PayloadReader& payload) {
  const std::uint64_t most_bytes = std::max(
      payload.options().max_expanded_bytes,
      payload.header().payload_bytes <= UINT64_MAX / 4 ? 4 * payload.header().payload_bytes : 0);
  const Interrupt& interrupt = payload.options().interrupt;
  const std::uint64_t table = 4 + sizeof(std::uint32_t) * std::uint64_t{taken.encoding.p};
  const std::uint64_t held = sizeof(Lut) + table;
  if (taken.tables > most_bytes / held)
    throw OversizedError("tables: " + std::to_string(taken.tables) + " of them take more than " +
                         std::to_string(most_bytes) + " bytes of memory (max_expanded_bytes)");
  std::vector<Lut> luts;
  reserve(luts, taken.tables, "tables");
  ByteReader tables(taken.table_bytes);
  in_pieces(taken.tables, table, interrupt, [&](std::size_t first, std::size_t some) {
    for (std::size_t l = first; l < first + some; ++l)
      luts.push_back(read_table(tables, parameters, taken.encoding, "table " + std::to_string(l)));
  });
  auto recorder = recorded("inputs", [&] {
    return ProgramRecorder(parameters, taken.encoding, {taken.inputs.begin(), taken.inputs.end()},
                           most_bytes - taken.tables * held);
  });
  ByteReader operations(taken.operation_bytes);
  in_pieces(taken.operations, 1 << 16, interrupt, [&](std::size_t first, std::size_t some) {
    for (std::size_t k = first; k < first + some; ++k) {
      const std::string what = "operation " + std::to_string(k);
      recorded(what, [&] { record(recorder, luts, operations, what, most_bytes); });
    }
  });
  operations.finish("operations");
  ByteReader results(taken.result_bytes);
  const auto numbers = read_words<Number>(results, taken.results, "results");
  Program program = recorded("results", [&] { return recorder.program(numbers); });
  const std::vector<Lut>& used = ProgramAccess::of(program).luts;
  if (!std::ranges::equal(used, luts, same_tables))
    throw FormatError("tables: they must be different, and in the order of their first use");
  return program;
}

using IntegerArray = integers::Program::Array;

void write_arrays(ByteWriter& out, const std::vector<IntegerArray>& arrays) {
  for (const IntegerArray& array : arrays) {
    out.value(static_cast<std::uint16_t>(array.kind.bits));
    out.value(static_cast<std::uint8_t>(array.kind.is_signed));
    out.value(static_cast<std::uint8_t>(array.digits));
    write_list(out, array.shape);
  }
}

std::vector<IntegerArray> read_arrays(ByteReader& in, std::uint64_t count,
                                      const std::string& field) {
  std::vector<IntegerArray> arrays;
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::string what = field + " " + std::to_string(k);
    IntegerArray array;
    array.kind.bits = in.value<std::uint16_t>(what);
    const auto is_signed = in.value<std::uint8_t>(what);
    array.digits = static_cast<integers::Digits>(in.value<std::uint8_t>(what));
    const auto axes = in.value<std::uint64_t>(what);
    if (is_signed > 1 || axes > integers::most_axes)
      throw FormatError(what + ": signed is " + std::to_string(is_signed) + ", and there are " +
                        std::to_string(axes) + " axes; they must be at most 1 and " +
                        std::to_string(integers::most_axes));
    array.kind.is_signed = is_signed != 0;
    array.shape = read_words<std::uint64_t>(in, axes, what);
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace

template <>
struct Codec<Program> {
  static constexpr FrameKind kind{.type = FrameType::binfhe_program, .keyed = false};

  static void write(const Program& value, PayloadWriter& out) { write_program(value, out); }

  static Program read(PayloadReader& in, const Parameters& parameters) {
    const ProgramBytes taken = take_program(in, parameters);
    in.finish();
    return made_of(taken, parameters, in);
  }
};

template <>
struct Codec<integers::Program> {
  static constexpr FrameKind kind{.type = FrameType::integer_program, .keyed = false};

  static void write(const integers::Program& value, PayloadWriter& out) {
    ByteWriter& fields = out.fields();
    fields.value(value.input_noise());
    fields.value(value.failure_log2());
    for (const auto* arrays : {&value.inputs(), &value.results()})
      fields.value(static_cast<std::uint64_t>(arrays->size()));
    write_arrays(fields, value.inputs());
    write_arrays(fields, value.results());
    write_program(value.digits(), out);
  }

  static integers::Program read(PayloadReader& in, const Parameters& parameters) {
    const auto input_noise = in.fields().value<double>("input_noise");
    const auto failure_log2 = in.fields().value<double>("failure_log2");
    const auto inputs = in.fields().value<std::uint64_t>("inputs");
    const auto results = in.fields().value<std::uint64_t>("results");
    std::vector<IntegerArray> given = read_arrays(in.fields(), inputs, "input");
    std::vector<IntegerArray> made = read_arrays(in.fields(), results, "result");
    const ProgramBytes taken = take_program(in, parameters);
    in.finish();
    Program digits = made_of(taken, parameters, in);
    return recorded("integers", [&] {
      return integers::Program(std::move(digits), std::move(given), std::move(made), input_noise,
                               failure_log2);
    });
  }
};

WHORL_INSTANTIATE_FILES(Program);
WHORL_INSTANTIATE_FILES(integers::Program);

}  // namespace whorl::io
