// Files of programs of integers, which Python's integers.compile makes.
#include "support/binfhe_sets.h"
#include "support/message.h"
#include "support/test_data.h"
#include "unit/io/altered.h"
#include "unit/io/expectations.h"
#include "whorl/circuits/binfhe/integers.h"

namespace whorl::io {
namespace {

using integers::Program;
using samples::insecure;
using samples::patched;

class IoIntegers : public samples::Files {
 protected:
  binfhe::ParameterLiteral literal = samples::literals()[0];
  Program program = samples::integer_program(samples::parameters(literal));
  Bytes frame = dump(program);
  std::size_t head = samples::payload_at + samples::literal_bytes(literal);

  std::string with(std::size_t at, auto number) const {
    return samples::loading<Program>(patched(frame, head + at, number));
  }
};

TEST_F(IoIntegers, ComeBack) {
  save(folder / "program", program);
  for (const Program& back :
       {load<Program>(frame, insecure()), load<Program>(folder / "program", insecure())}) {
    EXPECT_EQ(back.parameters(), program.parameters());
    EXPECT_EQ(back.inputs(), program.inputs());
    EXPECT_EQ(back.results(), program.results());
    EXPECT_EQ(back.input_noise(), 1e-6);
    EXPECT_EQ(back.failure_log2(), -70);
    EXPECT_EQ(back.rotations(), 2u);
    EXPECT_EQ(back.layers(), 1u);
    EXPECT_EQ(dump(back), frame);
  }
  EXPECT_EQ(samples::loading<binfhe::Program>(frame), "TypeMismatch");
  EXPECT_EQ(samples::loading<Program>(dump(program.digits())), "TypeMismatch");
  EXPECT_EQ(frame_type_name(FrameType::integer_program), "a FHEW/TFHE program of integers");
}

TEST_F(IoIntegers, WhatDoesNotFitIsRefused) {
  const auto refused = [&](std::size_t at, auto number, std::initializer_list<std::string> parts) {
    test::expect_message<FormatError>(
        [&] { load<Program>(patched(frame, head + at, number), insecure()); }, parts);
  };
  // Noise, failure; numbers of inputs and results.
  EXPECT_EQ(with(0, -1.0), "Format");
  EXPECT_EQ(with(0, std::numeric_limits<double>::quiet_NaN()), "Format");
  EXPECT_EQ(with(8, 0.5), "Format");
  EXPECT_EQ(with(8, std::numeric_limits<double>::quiet_NaN()), "Format");
  EXPECT_EQ(with(8, -std::numeric_limits<double>::infinity()), "nothing");
  for (const std::size_t at : {16u, 24u}) {
    EXPECT_NE(with(at, std::uint64_t{0}), "nothing");
    EXPECT_NE(with(at, std::uint64_t{5}), "nothing");
    EXPECT_NE(with(at, ~std::uint64_t{0}), "nothing");
  }
  // The input: bits, signed, digits, axes, lengths.
  EXPECT_EQ(with(32, std::uint16_t{0}), "Format");
  EXPECT_EQ(with(32, std::uint16_t{257}), "Format");
  EXPECT_EQ(with(32, std::uint16_t{4}), "nothing");
  EXPECT_EQ(with(32, std::uint16_t{5}), "Format");
  EXPECT_EQ(with(34, std::uint8_t{2}), "Format");
  EXPECT_EQ(with(35, std::uint8_t{1}), "Format");
  EXPECT_EQ(with(36, ~std::uint64_t{0}), "Format");
  refused(36, std::uint64_t{32}, {"input 0", "at most 1 and 31"});
  EXPECT_EQ(with(44, std::uint64_t{3}), "Format");
  EXPECT_EQ(with(44, ~std::uint64_t{0}), "Format");
  // The first result.
  EXPECT_EQ(with(52 + 3, std::uint8_t{2}), "Format");
  EXPECT_EQ(with(52 + 3, std::uint8_t{3}), "Format");
  refused(32, std::uint16_t{0}, {"integers: input 0", "bits is 0"});
  refused(35, std::uint8_t{1}, {"integers: input 0", "no digits 1"});
  refused(44, ~std::uint64_t{0}, {"integers: input 0", "2^32 digits"});
  refused(52 + 3, std::uint8_t{3}, {"integers: result 0", "no digits 3"});
  refused(0, -1.0, {"integers: input_noise is -1"});
  // The encoding of the program, behind a result of one axis and one of two.
  EXPECT_NE(with(52 + 20 + 28, std::uint32_t{16}), "nothing");
}

TEST_F(IoIntegers, AlteredFilesAreRefusedOrComeBack) {
  samples::expect_refused_or_back<Program>(frame, head, random);
}

// What docs/integers.md says, with a file that Python made there: its lines stand here.
TEST(IoIntegersPage, RunsWhatPythonCompiled) {
  const std::filesystem::path path = test::test_data("data/integers/pay.whorl");
  const auto pay = io::load<integers::Program>(path, {.allow_insecure = true});
  const binfhe::Client owner(pay.parameters());
  const binfhe::Server server(owner.evaluation_keys());

  const integers::Kind u64{64, false};
  const auto source = integers::encrypt(owner, {100, 7}, u64);
  const auto target = integers::encrypt(owner, {1, 2}, u64);
  const auto amount = integers::encrypt(owner, {30, 30}, u64);
  const auto made = pay.run(server, {&source, &target, &amount});

  const auto left = integers::decrypt(owner, made[0]);     // 70 7
  const auto reached = integers::decrypt(owner, made[1]);  // 31 2
  EXPECT_EQ(left, (std::vector<integers::Integer>{70, 7}));
  EXPECT_EQ(reached, (std::vector<integers::Integer>{31, 2}));
  EXPECT_LT(pay.failure_log2(), -64);
}

}  // namespace
}  // namespace whorl::io
