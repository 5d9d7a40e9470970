// whorl._server: what a server has of the library, a submodule a scheme, and one for networks.
// Thin: shapes, broadcasting, defaults and documentation are Python's.
#include <nanobind/stl/string.h>

#include <string>

#include "common/calls.h"
#include "parts.h"
#include "whorl/version.h"

NB_MODULE(_server, module) {
  using namespace whorl::python;
  // A thread that is alive at exit may hold arrays: that is no leak to be told of.
  nb::set_leak_warnings(false);
  module.doc() = "The server's half of Whorl's C++ library. Use the package `whorl`.";
  find_main_thread();
  bind_errors();
  bind_devices(module);
  auto rtl = module.def_submodule("rtl");
  bind_rtl(rtl);
  auto binfhe = module.def_submodule("binfhe");
  bind_binfhe_data(binfhe);
  bind_binfhe_server(binfhe);
  bind_integers(binfhe);
  auto bgv = module.def_submodule("bgv");
  bind_bgv(bgv);
  auto ckks = module.def_submodule("ckks");
  bind_ckks_data(ckks);
  bind_ckks_server(ckks);
  bind_ckks_lanes(ckks);
  bind_ckks_circuits(ckks);
  auto bridges = module.def_submodule("bridges");
  bind_bridges(bridges);
  auto networks = module.def_submodule("networks");
  bind_networks(networks);
  module.def("version", [] { return std::string(whorl::version()); });
  module.def("cpu_target", [] { return whorl::cpu_target(); });
}
