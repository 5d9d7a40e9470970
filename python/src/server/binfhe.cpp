// FHEW/TFHE: arrays on a server's devices, and the server.
#include "whorl/circuits/binfhe/large_precision.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "base_server.h"
#include "binfhe_choices.h"
#include "common/encodings.h"
#include "common/files.h"
#include "parts.h"

namespace whorl::python {

using binfhe::Array;
using binfhe::DryRun;
using binfhe::EvaluationKeys;
using binfhe::Lut;
using binfhe::Parameters;
using binfhe::Program;
using binfhe::ProgramRecorder;
using binfhe::Server;
using binfhe::ServerOptions;

namespace {

using Bits = std::span<const std::uint32_t>;
/// The counters of each run, by their names.
using Counters = nb::typed<nb::dict, nb::str, nb::typed<nb::dict, nb::str, nb::int_>>;

ServerOptions options_of(const std::optional<std::string>& transform, double allow_failure) {
  ServerOptions options;
  if (transform) options.transform = from_name<Transform>(*transform);
  options.allow_failure = allow_failure;
  return options;
}

Server make_gate_server(const EvaluationKeys& keys, const Where& where,
                        const std::optional<std::string>& transform, const std::string& rotation,
                        double allow_failure) {
  ServerOptions options = options_of(transform, allow_failure);
  options.rotation = from_name<RotationSchedule>(rotation);
  return without_gil([&] {
    if (const Session* const session = std::get_if<Session>(&where))
      return Server(keys, *session, options);
    return Server(keys, python::options_of(std::get<1>(where)), options);
  });
}

void bind_dry_run(nb::module_& module) {
  nb::class_<DryRun>(module, "DryRun")
      .def_static(
          "create",
          [](const Parameters& parameters, const std::optional<std::string>& transform,
             double allow_failure) {
            return DryRun(parameters, options_of(transform, allow_failure));
          },
          "parameters"_a, "transform"_a.none(), "allow_failure"_a)
      .def_prop_ro("server", &DryRun::server)
      .def("fresh", calling(&DryRun::fresh), "encoding"_a, "count"_a, "under"_a)
      .def("costs",
           [](const DryRun& run) {
             using C = binfhe::Costs;
             return add_members({}, run.costs(), "bootstraps", &C::bootstraps, "key_switches",
                                &C::key_switches, "sums", &C::sums, "key_bytes", &C::key_bytes);
           })
      .def("failure_log2", calling(&DryRun::failure_log2), "results"_a);
}

using Number = ProgramRecorder::Number;

/// A method of a recorder that takes arrays of numbers.
template <class... Arguments>
auto recording(Number (ProgramRecorder::*method)(Arguments...)) {
  return [method](ProgramRecorder& self, typename Handed<Arguments>::Type... arguments) {
    return (self.*method)(Handed<Arguments>::open(arguments)...);
  };
}

void bind_programs(nb::module_& module) {
  using Numbers = std::span<const Number>;
  nb::class_<Program> program(module, "Program");
  bind_properties(program, "rotations", &Program::rotations, "layers", &Program::layers);
  bind_files(program);
  nb::class_<ProgramRecorder>(module, "ProgramRecorder")
      .def_static(
          "create",
          [](const Parameters& parameters, EncodingPair encoding, std::vector<std::size_t> inputs) {
            return ProgramRecorder(parameters, {encoding.first, encoding.second},
                                   std::move(inputs));
          },
          "parameters"_a, "encoding"_a, "inputs"_a)
      .def("take", recording<Number, Numbers>(&ProgramRecorder::take), "of"_a, "index"_a)
      .def("concatenate", recording<Numbers>(&ProgramRecorder::concatenate), "of"_a)
      .def("linear", recording(&ProgramRecorder::linear), "weights"_a, "of"_a, "constant"_a)
      .def("apply", recording(&ProgramRecorder::apply), "luts"_a, "index"_a, "of"_a)
      .def("trivial", recording(&ProgramRecorder::trivial), "messages"_a)
      .def("program", calling<ProgramRecorder, Program, Numbers>(&ProgramRecorder::program),
           "results"_a);
  module.attr("most_program_inputs") = ProgramRecorder::most_inputs;
}

}  // namespace

void bind_binfhe_server(nb::module_& module) {
  nb::class_<Array> array(module, "Array");
  bind_properties(array, "encoding", &Array::encoding, "count", &Array::count, "noise",
                  &Array::noise, "largest", &Array::largest, "range", &Array::range, "error_bound",
                  &Array::error_bound, "failure_log2", &Array::failure_log2, "nbytes",
                  &Array::bytes, "under", &Array::under);

  auto server =
      bind_base_server<Server, Array, const std::shared_ptr<const binfhe::Ciphertexts>&>(module);
  bind_properties(server, "allow_failure", &Server::allow_failure, "rotation", &Server::rotation,
                  "transform", &Server::transform, "device_keys", &Server::device_keys);
  server
      .def_static("create", &make_gate_server, "keys"_a, "session"_a, "transform"_a.none(),
                  "rotation"_a, "allow_failure"_a)
      .def("device_counters",
           [](const Server& s) -> Counters {
             nb::dict result;
             for (const auto& [run, values] : without_gil([&] { return s.device_counters(); })) {
               nb::dict counters;
               for (const auto& [name, value] : values) counters[name.c_str()] = value;
               result[run.c_str()] = counters;
             }
             return result;
           })
      .def("gate", calling<Server, Array, Gate, std::span<const Array* const>>(&Server::gate),
           "name"_a, "inputs"_a, "output"_a.none(), "under"_a)
      .def("gate_of_known", calling<Server, Array, Gate, const Array&, Bits>(&Server::gate),
           "name"_a, "a"_a, "ones"_a, "output"_a.none())
      .def("not_", calling<Server, Array>(&Server::not_), "a"_a)
      .def("mux", calling<Server, Array, const Array&, const Array&>(&Server::mux), "select"_a,
           "a"_a, "b"_a, "under"_a)
      .def("mux_of_known", calling<Server, Array, const Array&, Bits>(&Server::mux), "select"_a,
           "a"_a, "b"_a)
      .def("mux_by_known", calling<Server, Array, Bits>(&Server::mux), "select"_a, "a"_a, "b"_a)
      .def("bootstrap", calling<Server, Array>(&Server::bootstrap), "a"_a, "output"_a.none(),
           "under"_a)
      .def("apply", calling<Server, Array>(&Server::apply), "luts"_a, "index"_a, "a"_a,
           "within"_a.none(), "under"_a)
      .def("to_lwe_key", calling<Server, Array>(&Server::to_lwe_key), "a"_a)
      .def("apply_many", calling(&Server::apply_many), "luts"_a, "a"_a, "within"_a.none(),
           "under"_a)
      .def("divided", calling(&Server::divided), "a"_a, "by"_a)
      .def("reach", calling(&Server::reach), "lut"_a, "a"_a)
      .def("error_bound",
           calling<Server, std::uint32_t, const Lut&, const Array&>(&Server::error_bound), "lut"_a,
           "a"_a)
      .def("eval_floor", calling_with(&binfhe::eval_floor), "a"_a, "round_bits"_a)
      .def("eval_sign", calling_with(&binfhe::eval_sign), "a"_a, "output"_a)
      .def("eval_decomp", calling_with(&binfhe::eval_decomp), "a"_a)
      .def("linear",
           calling<Server, Array, std::span<const std::int32_t>, std::span<const Array* const>>(
               &Server::linear),
           "weights"_a, "inputs"_a, "constant"_a, "modular"_a = false, "largest"_a = nb::none(),
           "exact"_a = true)
      .def(
          "linear_matrix",
          [](const Server& server, std::size_t columns, const Input<std::int32_t>& weights,
             const Array& a, const Input<std::int32_t>& constants, bool modular,
             std::optional<std::uint32_t> largest, bool exact) {
            return without_gil([&] {
              return server.linear(binfhe::Weights{columns, as_span(weights)}, a,
                                   as_span(constants), modular, largest, exact);
            });
          },
          "columns"_a, "weights"_a, "a"_a, "constants"_a, "modular"_a, "largest"_a.none(),
          "exact"_a)
      .def("with_range", calling<Server, Array>(&Server::with_range), "a"_a, "range"_a)
      .def("trivial", calling<Server, Array, Bits>(&Server::trivial_array), "messages"_a,
           "encoding"_a, "under"_a);

  bind_programs(module);
  server.def("run", calling(&Server::run), "program"_a, "inputs"_a);
  bind_dry_run(module);

  module.attr("allowed_failure") = binfhe::allowed_failure;
  module.def("gates", [] {
    std::vector<std::pair<std::string, unsigned>> result;
    for (const auto& [name, gate] : choice<Gate>.names)
      result.emplace_back(name, binfhe::gate_inputs(gate));
    return result;
  });
}

}  // namespace whorl::python
