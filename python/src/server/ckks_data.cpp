// CKKS: parameters and their literals; batches of ciphertexts on the host and on a server's
// devices; evaluation keys and public keys.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "batches.h"
#include "common/ring.h"
#include "parts.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/ckks/server.h"

namespace whorl::python {

using ckks::Array;
using ckks::BootstrapLiteral;
using ckks::Ciphertexts;
using ckks::EvaluationKeys;
using ckks::ParameterLiteral;
using ckks::Parameters;

namespace {

Parameters choose(unsigned depth, unsigned scale_bits, unsigned value_bits, std::uint32_t slots,
                  std::uint32_t N, unsigned dnum, unsigned word_bits, bool bootstrap,
                  bool coefficients_last, unsigned arcsine) {
  const ckks::Requirements needs{depth,     scale_bits, value_bits,        slots,  N, dnum,
                                 word_bits, bootstrap,  coefficients_last, arcsine};
  return without_gil([&] { return Parameters::choose(needs); });
}

void bind_parameter_types(nb::module_& module) {
  nb::class_<BootstrapLiteral> shape(module, "BootstrapLiteral");
  shape.def(nb::init<>());
  using B = BootstrapLiteral;
  bind_fields(shape, "weight", &B::weight, "range", &B::range, "slots_to_coeffs",
              &B::slots_to_coeffs, "coeffs_to_slots", &B::coeffs_to_slots, "degree", &B::degree,
              "doublings", &B::doublings, "log2_ratio", &B::log2_ratio, "series", &B::series,
              "arcsine", &B::arcsine, "coefficients_last", &B::coefficients_last, "bits", &B::bits);

  nb::class_<ParameterLiteral> literal(module, "ParameterLiteral");
  literal.def(nb::init<>());
  using L = ParameterLiteral;
  bind_fields(literal, "name", &L::name, "N", &L::N, "chain", &L::chain, "terminals", &L::terminals,
              "special", &L::special, "digit_limbs", &L::digit_limbs, "sigma", &L::sigma,
              "log2_scale", &L::log2_scale);
  bind_tuples(literal, "levels", &L::levels, &ckks::LevelPrimes::terminals,
              &ckks::LevelPrimes::mains);
  literal.def_prop_rw(
      "bootstrap", [](const L& l) { return l.bootstrap; },
      [](L& l, const std::optional<B>& value) { l.bootstrap = value; },
      nb::for_setter(nb::arg("value").none()));

  using P = Parameters;
  auto type = bind_ring_parameters<Parameters, ParameterLiteral, ckks::KeyRequest>(
      module, "conjugate", &ckks::KeyRequest::conjugate);
  type.def_static("choose", &choose, "depth"_a, "scale_bits"_a, "value_bits"_a, "slots"_a, "N"_a,
                  "dnum"_a, "word_bits"_a, "bootstrap"_a, "coefficients_last"_a = false,
                  "arcsine"_a = 0)
      .def(
          "primes", [](const Parameters& p, unsigned level) { return p.primes(level); }, "level"_a)
      .def("log2_Q", &Parameters::log2_Q, "level"_a)
      .def("scale", &Parameters::scale, "level"_a)
      .def(
          "with_bootstrap",
          [](const Parameters& p, ckks::KeyRequest request, std::uint64_t slots) {
            ckks::request_bootstrap(request, p, slots);
            return request;
          },
          "request"_a, "slots"_a)
      .def(
          "with_low_rotations",
          [](const Parameters&, ckks::KeyRequest request, unsigned level,
             const std::vector<std::int64_t>& rotations) {
            std::vector<std::int64_t>& all = request.low_rotations[level];
            all.insert(all.end(), rotations.begin(), rotations.end());
            return request;
          },
          "request"_a, "level"_a, "rotations"_a);
  bind_properties(type, "depth", &P::depth, "top", &P::top, "slots", &P::slots,
                  "least_bootstrap_level", &P::least_bootstrap_level, "sparse_security_bits",
                  &P::sparse_security_bits, "log2_failure", &P::log2_failure);
}

/// The numbers of slots for which all keys of bootstrapping are there.
std::vector<std::uint64_t> refreshed_slots(const EvaluationKeys& keys) {
  const Parameters& p = keys.parameters;
  std::vector<std::uint64_t> out;
  if (!p.literal().bootstrap) return out;
  std::set<std::tuple<SwitchKind, std::uint32_t, unsigned>> held;
  for (const RingSwitchKey& key : keys.keys) held.emplace(key.kind, key.g, key.power);
  const auto rotates = [&](SwitchKind kind, const std::vector<std::int64_t>& rotations) {
    return std::ranges::all_of(rotations, [&](std::int64_t slots) {
      const std::uint32_t g = ckks::rotation_exponent(p.N(), slots);
      return g == 1 || held.contains({kind, g, 1});
    });
  };
  for (std::uint64_t slots = 1; slots <= p.slots(); slots *= 2) {
    ckks::KeyRequest request;
    ckks::request_bootstrap(request, p, slots);
    if (held.contains({{SwitchRole::to_sparse}, 1, 1}) &&
        held.contains({{SwitchRole::from_sparse}, 1, 1}) && held.contains({{}, 1, 2}) &&
        held.contains({{}, 2 * p.N() - 1, 1}) && rotates({}, request.rotations) &&
        std::ranges::all_of(request.low_rotations, [&](const auto& each) {
          return rotates({SwitchRole::low, each.first}, each.second);
        }))
      out.push_back(slots);
  }
  return out;
}

/// What ciphertexts on the host and on devices say of themselves.
template <class T>
void bind_facts(nb::class_<T>& type) {
  using Info = ckks::CiphertextInfo;
  bind_info(type, "packing", &Info::packing, "count", &Info::count, "parts", &Info::parts, "level",
            &Info::level, "scale", &Info::scale, "length", &Info::length, "bound", &Info::bound,
            "error", &Info::error, "vector", &Info::vector);
  type.def_prop_ro("bounds", [](const T& batch) {
    const ckks::Bounds bounds = info_of(batch).bounds();
    return std::pair(bounds.low, bounds.high);
  });
}

}  // namespace

void bind_ckks_data(nb::module_& module) {
  bind_parameter_types(module);
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  bind_facts(batch);
  bind_ring_batch(batch,
                  [](const Ciphertexts& c) { return c.parameters.primes(c.info.level).size(); });

  nb::class_<Array> array(module, "Array");
  bind_facts(array);
  array.def_prop_ro("nbytes", &Array::bytes).def_prop_ro("each", [](const Array& a) {
    return a.info().vector == 0 ? 1 : (a.info().vector - 1) / a.info().length + 1;
  });

  bind_ring_keys<ckks::PublicKey, EvaluationKeys>(module).def_prop_ro("bootstrap",
                                                                      &refreshed_slots);
}

}  // namespace whorl::python
