// Functions of encrypted integers, over programs of FHEW/TFHE.
#include "whorl/circuits/binfhe/integers.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "common/files.h"
#include "parts.h"

namespace whorl::python {

using integers::Ciphertexts;
using integers::Digits;
using integers::Program;

template <>
inline constexpr Choice<Digits, 3> choice<Digits>{
    "digits",
    {{{"canonical", Digits::canonical}, {"carries", Digits::carries}, {"flags", Digits::flags}}}};

namespace {

/// Bits, whether they are signed, the shape, and in what digits they come.
using ArrayTuple = std::tuple<std::uint32_t, bool, Shape, std::string>;
using BatchPointer = std::shared_ptr<const binfhe::Ciphertexts>;

std::vector<Program::Array> arrays_of(const std::vector<ArrayTuple>& tuples) {
  std::vector<Program::Array> out;
  out.reserve(tuples.size());
  for (const auto& [bits, is_signed, shape, digits] : tuples)
    out.push_back({{bits, is_signed}, shape, from_name<Digits>(digits)});
  return out;
}

std::vector<ArrayTuple> tuples_of(const std::vector<Program::Array>& arrays) {
  std::vector<ArrayTuple> out;
  out.reserve(arrays.size());
  for (const Program::Array& each : arrays)
    out.emplace_back(each.kind.bits, each.kind.is_signed, each.shape, to_name(each.digits));
  return out;
}

}  // namespace

void bind_integers(nb::module_& module) {
  nb::class_<Program> type(module, "IntegerProgram");
  type.def_static(
          "create",
          [](const binfhe::Program& digits, const std::vector<ArrayTuple>& inputs,
             const std::vector<ArrayTuple>& results, double input_noise, double failure_log2) {
            return Program(digits, arrays_of(inputs), arrays_of(results), input_noise,
                           failure_log2);
          },
          "digits"_a, "inputs"_a, "results"_a, "input_noise"_a, "failure_log2"_a)
      .def_prop_ro("parameters", [](const Program& p) { return p.parameters(); })
      .def_prop_ro("inputs", [](const Program& p) { return tuples_of(p.inputs()); })
      .def_prop_ro("results", [](const Program& p) { return tuples_of(p.results()); })
      .def(
          "run",
          [](const Program& program, const binfhe::Server& server,
             const std::vector<std::tuple<BatchPointer, std::uint32_t, bool, Shape>>& inputs) {
            std::vector<binfhe::Ciphertexts> out;
            without_gil([&] {
              std::vector<Ciphertexts> given;
              std::vector<const Ciphertexts*> operands;
              given.reserve(inputs.size());
              operands.reserve(inputs.size());
              for (const auto& [digits, bits, is_signed, shape] : inputs)
                given.emplace_back(digits, integers::Kind{bits, is_signed}, shape);
              for (const Ciphertexts& each : given) operands.push_back(&each);
              for (const Ciphertexts& each : program.run(server, operands))
                out.push_back(*each.digits());
            });
            return out;
          },
          "server"_a, "inputs"_a);
  bind_properties(type, "input_noise", &Program::input_noise, "failure_log2",
                  &Program::failure_log2, "rotations", &Program::rotations, "layers",
                  &Program::layers);
  bind_files(type);
}

}  // namespace whorl::python
