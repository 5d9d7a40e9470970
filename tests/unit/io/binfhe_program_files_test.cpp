// Files of programs of FHEW/TFHE: they come back and make the same words, and what does not fit
// together is refused before memory is taken for it.
#include "support/binfhe_sets.h"
#include "support/message.h"
#include "unit/io/altered.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

using binfhe::Array;
using binfhe::Program;
using binfhe::ProgramRecorder;
using samples::insecure;
using samples::patched;

class IoProgram : public samples::Files {
 protected:
  binfhe::ParameterLiteral literal = samples::literals()[0];
  binfhe::Parameters parameters = samples::parameters(literal);
  /// Where a frame has what follows the literal.
  std::size_t head = samples::payload_at + samples::literal_bytes(literal);

  static std::string loading(std::span<const std::uint8_t> bytes,
                             const LoadOptions& options = insecure()) {
    return samples::thrown([&] { load<Program>(bytes, options); });
  }
};

TEST_F(IoProgram, ComeBack) {
  for (const binfhe::ParameterLiteral& each : samples::literals()) {
    SCOPED_TRACE(each.name);
    const Program program = samples::program(samples::parameters(each), random);
    const Bytes frame = dump(program);
    save(folder / "program", program);
    for (const Program& back :
         {load<Program>(frame, insecure()), load<Program>(folder / "program", insecure())}) {
      EXPECT_EQ(back.parameters(), program.parameters());
      EXPECT_EQ(back.encoding(), binfhe::Encoding{4});
      EXPECT_EQ(back.inputs(), (std::vector<std::size_t>{2, 3}));
      EXPECT_EQ(back.results(), (std::vector<std::size_t>{4, 2}));
      EXPECT_EQ(back.rotations(), 6u);
      EXPECT_EQ(back.layers(), 2u);
      EXPECT_EQ(dump(back), frame);
    }
    EXPECT_EQ(loading(dump(program.parameters())), "TypeMismatch");
  }
  EXPECT_EQ(frame_type_name(FrameType::binfhe_program), "a FHEW/TFHE program");
}

TEST_F(IoProgram, MakeTheSameWords) {
  for (const std::size_t set : {0, 4}) {
    const binfhe::Parameters p = test::varied_sets()[set];
    const auto& pair = test::pair_of(p);
    const binfhe::Server server(pair.keys, {.device = "cpu", .threads = 2}, test::failing());
    const Program program = samples::program(p, random);
    const Program back = load<Program>(dump(program), insecure());
    const auto fresh = [&](std::size_t count) {
      std::vector<std::uint32_t> messages(count);
      for (auto& m : messages) m = static_cast<std::uint32_t>(random() % 4);
      return server.upload(pair.client.encrypt(messages, {4}, 1, binfhe::Under::ring));
    };
    const Array x = fresh(2), y = fresh(3);
    const Array* in[] = {&x, &y};
    const std::vector<Array> due = server.run(program, in), got = server.run(back, in);
    ASSERT_EQ(got.size(), due.size());
    for (std::size_t k = 0; k < due.size(); ++k) {
      const binfhe::Ciphertexts a = server.download(due[k]), b = server.download(got[k]);
      EXPECT_TRUE(a.data == b.data && a.wide == b.wide) << k;
      EXPECT_EQ(got[k].noise(), due[k].noise());
      EXPECT_EQ(got[k].largest(), due[k].largest());
    }
  }
}

TEST_F(IoProgram, NumbersThatDoNotFitAreRefused) {
  const Bytes frame = dump(samples::program(parameters, random));
  const auto with = [&](std::size_t at, auto number) {
    return loading(patched(frame, head + at, number));
  };
  // Encoding; numbers of inputs, tables, operations, results; bytes of operations.
  EXPECT_EQ(with(0, std::uint32_t{1}), "Encoding");
  EXPECT_EQ(with(4, std::uint8_t{2}), "Format");
  EXPECT_EQ(with(8, std::uint64_t{0}), "Oversized");
  EXPECT_EQ(with(8, std::uint64_t{32}), "Format");
  EXPECT_EQ(with(8, ~std::uint64_t{0}), "Format");
  for (const std::size_t at : {16u, 32u, 40u})
    for (const std::uint64_t huge : {std::uint64_t{1} << 40, ~std::uint64_t{0}})
      EXPECT_NE(with(at, huge), "nothing") << at;
  EXPECT_EQ(with(24, ~std::uint64_t{0}), "Truncated");
  EXPECT_EQ(with(24, std::uint64_t{5}), "Oversized");
  // Ciphertexts of the inputs, in 48 … 63: fewer than operations take; more than programs have; as
  // many as memory has no room for.
  EXPECT_EQ(with(48, std::uint64_t{1}), "Format");
  EXPECT_EQ(with(48, std::uint64_t{1} << 33), "Format");
  EXPECT_EQ(with(48, std::uint64_t{1} << 31), "Oversized");
  // Tables of 20 bytes: kind, approximate, zeros, values.
  const std::size_t tables = 64, operations = tables + 3 * 20;
  EXPECT_EQ(with(tables, std::uint8_t{2}), "Format");
  EXPECT_EQ(with(tables + 1, std::uint8_t{2}), "Format");
  EXPECT_EQ(with(tables + 2, std::uint8_t{1}), "Format");
  EXPECT_EQ(with(tables + 4, std::uint32_t{4}), "Format");
  // The first operation takes 2 of array 1: code, array, count, index.
  EXPECT_EQ(with(operations, std::uint32_t{5}), "Format");
  EXPECT_EQ(with(operations + 4, std::uint32_t{2}), "Format");
  EXPECT_EQ(with(operations + 8, ~std::uint64_t{0}), "Oversized");
  EXPECT_EQ(with(operations + 8, std::uint64_t{1} << 40), "Truncated");
  EXPECT_EQ(with(operations + 16, std::uint32_t{3}), "Format");
  const Bytes wrong = patched(frame, head + operations + 16, std::uint32_t{3});
  test::expect_message<FormatError>([&] { load<Program>(wrong, insecure()); },
                                    {"operation 0", "index 3"});
  // A message that is none, behind code and count: the second operation.
  EXPECT_EQ(with(operations + 24 + 12, std::uint32_t{4}), "Format");
  // Results.
  EXPECT_EQ(loading(patched(frame, frame.size() - samples::trailer_bytes - 4, std::uint32_t{8})),
            "Format");
}

TEST_F(IoProgram, TablesAreDifferentAndUsed) {
  ProgramRecorder recorder(parameters, {4}, {1});
  const std::uint32_t index[] = {0};
  const binfhe::Lut luts[] = {
      binfhe::Lut::create(parameters, std::vector<std::uint32_t>{0, 1, 0, 3}, {4}, {4}),
      binfhe::Lut::create(parameters, std::vector<std::uint32_t>{1, 1, 3, 3}, {4}, {4})};
  const Bytes frame = dump(recorder.program({recorder.apply(luts, index, 0)}));
  EXPECT_EQ(loading(frame), "nothing");
  // The second becomes the first.
  Bytes same = patched(frame, head + 56 + 20 + 4, std::uint32_t{0});
  same = patched(same, head + 56 + 20 + 12, std::uint32_t{0});
  EXPECT_EQ(loading(same), "Format");
  // The operation, behind code, array and count, names the second one only, or one that is not
  // there.
  const std::size_t numbers = head + 56 + 40 + 16;
  EXPECT_EQ(loading(patched(frame, numbers, std::uint32_t{1})), "Format");
  EXPECT_EQ(loading(patched(frame, numbers, std::uint32_t{2})), "Format");
}

// A few bytes may say that much is joined, or added up.
TEST_F(IoProgram, WhatWouldGrowLargeIsRefused) {
  LoadOptions little = insecure();
  little.max_expanded_bytes = 1 << 16;
  const auto expect_refused = [&](const Program& program) {
    const Bytes frame = dump(program);
    EXPECT_LT(frame.size(), 8000u);
    EXPECT_EQ(loading(frame), "nothing");
    EXPECT_EQ(loading(frame, little), "Oversized");
  };
  ProgramRecorder doubled(parameters, {4}, {1});
  std::uint32_t last = 0;
  for (int k = 0; k < 14; ++k) last = doubled.concatenate({last, last});
  expect_refused(doubled.program({last}));

  ProgramRecorder added(parameters, {4}, {64});
  const std::int32_t weights[] = {1, 1};
  std::uint32_t sum = added.take(0, {0});
  for (std::uint32_t k = 1; k < 64; ++k) {
    const std::uint32_t terms[] = {sum, added.take(0, {k})};
    sum = added.linear(weights, terms);
  }
  expect_refused(added.program(std::vector<std::uint32_t>(40, sum)));

  ProgramRecorder named(parameters, {4}, {1});
  std::vector<std::uint32_t> index;
  const binfhe::Lut lut = samples::half_turn(parameters, false, random);
  const std::vector<binfhe::Lut> often(1000, lut);
  const std::uint32_t first[] = {0};
  expect_refused(named.program({named.apply(often, first, 0)}));

  // Sums of many arrays without terms are work, and operations without ciphertexts take memory.
  ProgramRecorder nothing(parameters, {4}, {1});
  const std::vector<std::uint32_t> many(
      600, nothing.take(nothing.trivial(first), std::vector<std::uint32_t>(100)));
  expect_refused(nothing.program({nothing.linear(std::vector<std::int32_t>(600, 1), many)}));
  ProgramRecorder empty(parameters, {4}, {1});
  for (int k = 0; k < 400; ++k) last = empty.take(0, {});
  expect_refused(empty.program({last}));

  // Tables that no operation names are counted before they are read.
  ProgramRecorder once(parameters, {4}, {1});
  Bytes unnamed = dump(once.program({once.apply({&lut, 1}, first, 0)}));
  const Bytes table(unnamed.begin() + static_cast<std::ptrdiff_t>(head + 56),
                    unnamed.begin() + static_cast<std::ptrdiff_t>(head + 76));
  for (int k = 0; k < 1000; ++k)
    unnamed.insert(unnamed.begin() + static_cast<std::ptrdiff_t>(head + 56), table.begin(),
                   table.end());
  unnamed = patched(unnamed, samples::length_at,
                    std::uint64_t{unnamed.size() - samples::payload_at - samples::trailer_bytes});
  unnamed = patched(unnamed, head + 16, std::uint64_t{1001});
  EXPECT_EQ(loading(unnamed), "Format");
  EXPECT_EQ(loading(unnamed, little), "Oversized");

  // So it is when a program is recorded.
  ProgramRecorder bounded(parameters, {4}, {1}, 1 << 16);
  const auto grow = [&] {
    for (std::uint32_t k = 0;;) k = bounded.concatenate({k, k});
  };
  test::expect_message<OversizedError>(grow, {"65536 bytes"});
  test::expect_message<OversizedError>(
      [&] { ProgramRecorder(parameters, {4}, {1 << 20}, 1 << 16); }, {"65536 bytes"});
}

TEST_F(IoProgram, AlteredFilesAreRefusedOrComeBack) {
  samples::expect_refused_or_back<Program>(dump(samples::program(parameters, random)), head,
                                           random);
}

}  // namespace
}  // namespace whorl::io
