// CKKS: parameters and their literals.
#include <nanobind/stl/pair.h>

#include <utility>

#include "common/ring.h"
#include "parts.h"
#include "whorl/ckks/ciphertexts.h"

namespace whorl::python {

using namespace nb::literals;
using ckks::ParameterLiteral;
using ckks::Parameters;

namespace {

/// The primes of each level: terminal ones and others.
using Levels = std::vector<std::pair<unsigned, unsigned>>;

Levels levels_of(const ParameterLiteral& literal) {
  Levels out;
  for (const ckks::LevelPrimes& level : literal.levels)
    out.emplace_back(level.terminals, level.mains);
  return out;
}
void set_levels(ParameterLiteral& literal, const Levels& levels) {
  literal.levels.clear();
  for (const auto& [terminals, mains] : levels) literal.levels.push_back({terminals, mains});
}

Parameters choose(unsigned depth, unsigned scale_bits, unsigned value_bits, std::uint32_t slots,
                  std::uint32_t N, unsigned dnum, unsigned word_bits) {
  const ckks::Requirements needs{depth, scale_bits, value_bits, slots, N, dnum, word_bits};
  return without_gil([&] { return Parameters::choose(needs); });
}

}  // namespace

void bind_ckks_parameters(nb::module_& module) {
  nb::class_<ParameterLiteral> literal(module, "ParameterLiteral");
  literal.def(nb::init<>());
  using L = ParameterLiteral;
  bind_fields(literal, "name", &L::name, "N", &L::N, "chain", &L::chain, "terminals", &L::terminals,
              "special", &L::special, "digit_limbs", &L::digit_limbs, "sigma", &L::sigma,
              "log2_scale", &L::log2_scale);
  literal.def_prop_rw("levels", &levels_of, &set_levels);

  auto type =
      bind_ring_parameters<Parameters, ParameterLiteral, ckks::KeyRequest>(module, "conjugate");
  type.def_static("choose", &choose, "depth"_a, "scale_bits"_a, "value_bits"_a, "slots"_a, "N"_a,
                  "dnum"_a, "word_bits"_a)
      .def_prop_ro("depth", &Parameters::depth)
      .def_prop_ro("slots", &Parameters::slots)
      .def(
          "primes", [](const Parameters& p, unsigned level) { return p.primes(level); }, "level"_a)
      .def("log2_Q", &Parameters::log2_Q, "level"_a)
      .def("scale", &Parameters::scale, "level"_a);
}

}  // namespace whorl::python
