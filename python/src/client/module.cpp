// whorl._client: what a client has of the library beside whorl._server, a submodule a scheme: key
// generation, encryption, decryption, files of secret keys.
#include "common/calls.h"
#include "parts.h"

NB_MODULE(_client, module) {
  using namespace whorl::python;
  module.doc() = "The client's half of Whorl's C++ library. Use the package `whorl`.";
  // Its classes and exceptions are the other module's.
  nb::module_::import_("whorl._server");
  find_main_thread();
  auto binfhe = module.def_submodule("binfhe");
  bind_binfhe_client(binfhe);
  auto bgv = module.def_submodule("bgv");
  bind_bgv_client(bgv);
  auto ckks = module.def_submodule("ckks");
  bind_ckks_client(ckks);
  auto bridges = module.def_submodule("bridges");
  bind_bridges_client(bridges);
}
