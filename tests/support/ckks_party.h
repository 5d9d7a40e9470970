// A client and a server of CKKS on the tested device.
#pragma once

#include "support/test.h"
#include "whorl/ckks/client.h"
#include "whorl/ckks/server.h"

namespace whorl::test {

struct CkksParty {
  explicit CkksParty(const ckks::Parameters& parameters, const ckks::KeyRequest& request = {})
      : client(parameters),
        server(client.evaluation_keys(request), {.device = tested_device, .threads = 1}) {}

  ckks::Array encrypt(const std::vector<double>& x, const ckks::Bounds& bound) const {
    return server.upload(client.encrypt(x, {.bound = bound}));
  }
  /// Real parts.
  std::vector<double> decrypt(const ckks::Array& a) const {
    std::vector<double> out;
    for (const auto& z : client.decrypt_raw(server.download(a))) out.push_back(z.real());
    return out;
  }

  ckks::Client client;
  ckks::Server server;
};

}  // namespace whorl::test
