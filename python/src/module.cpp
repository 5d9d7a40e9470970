// whorl._core: the C++ library as the package whorl uses it. Thin: shapes, broadcasting, defaults
// and documentation are Python's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bindings.h"
#include "whorl/version.h"

NB_MODULE(_core, module) {
  using namespace whorl::python;
  module.doc() = "Whorl's C++ library. Use the package `whorl`.";
  bind_errors(module);
  bind_parameters(module);
  bind_data(module);
  bind_client(module);
  bind_server(module);
  bind_bgv(module);
  module.def("version", [] { return std::string(whorl::version()); });
  module.def("cpu_target", [] { return whorl::cpu_target(); });
}
