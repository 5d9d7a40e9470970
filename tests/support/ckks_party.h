// A client and a server of CKKS on the tested device.
#pragma once

#include <cmath>
#include <limits>

#include "support/ckks_sets.h"
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
  ckks::Array upload(const Complexes& x, std::size_t length = 0) const {
    return server.upload(client.encrypt(x, {.length = length}));
  }
  Complexes values(const ckks::Array& a) const { return client.decrypt_raw(server.download(a)); }
  /// Real parts.
  std::vector<double> decrypt(const ckks::Array& a) const {
    std::vector<double> out;
    for (const auto& z : values(a)) out.push_back(z.real());
    return out;
  }

  ckks::Client client;
  ckks::Server server;
};

/// The largest error; infinite if values are missing, or one is no number.
template <class Number>
double worst(const std::vector<Number>& got, const std::vector<Number>& want) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (got.size() < want.size()) return infinite;
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(got[i] - want[i]);
    most = std::isfinite(error) ? std::max(most, error) : infinite;
  }
  return most;
}

/// What an error is above with a chance below 2.4·10^-10: 12 deviations of what the account states.
/// An error of a rounding is a complex Gaussian times |s(ζ)|, so that its size is above t
/// deviations with the chance 2t·K_1(2t).
inline double largest_error(const ckks::Array& a) { return 12 * std::exp2(a.info().error); }

/// Values are within what the account states of `a`: its bound, and its error, which is at most so
/// many bits larger than it need be.
template <class Number>
void expect_as_stated(const ckks::Array& a, const std::vector<Number>& got,
                      const std::vector<Number>& want, double loose = 16) {
  ASSERT_EQ(got.size(), want.size());
  const double error = worst(got, want);
  EXPECT_LT(error, largest_error(a));
  EXPECT_GE(error, std::exp2(a.info().error - loose));
  for (const Number& z : want) EXPECT_LE(std::abs(z), std::exp2(a.info().bound));
}

}  // namespace whorl::test
