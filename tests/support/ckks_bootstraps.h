// Bootstraps of all kinds of messages, on any device and in any ring.
#pragma once

#include "support/ckks_sets.h"
#include "support/test.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/ckks/client.h"

namespace whorl::test {

/// A client, and a server that refreshes vectors of these numbers of slots.
class Refresher {
 public:
  Refresher(const ckks::Parameters& parameters, const std::vector<std::uint64_t>& slots,
            unsigned threads = 1)
      : client(parameters),
        server(keys(client, slots, threads), {.device = tested_device, .threads = threads}) {
    for (const std::uint64_t each : slots) maps.emplace(each, ckks::encode_bootstrap(server, each));
  }

  /// Vectors of `slots` values, whose imaginary parts are left out if they are `real`.
  ckks::Array encrypted(const Complexes& values, std::uint64_t slots, bool real) const {
    const ckks::EncryptOptions how{.length = static_cast<std::size_t>(slots)};
    std::vector<double> reals;
    for (const auto& z : values) reals.push_back(z.real());
    return server.upload(real ? client.encrypt(reals, how) : client.encrypt(values, how));
  }

  /// The largest error after a bootstrap of encrypted() values from that level.
  double error_of(const ckks::Array& x, const Complexes& values, unsigned level,
                  unsigned iterations = 1) const {
    const bool real = x.info().packing == ckks::Packing::real;
    const ckks::Array y =
        ckks::bootstrap(server, server.lower(x, level), maps.at(x.info().slots()), iterations);
    EXPECT_EQ(y.info().level, server.parameters().depth() + 1 - iterations);
    EXPECT_EQ(y.info().packing, x.info().packing);
    const Complexes got = client.decrypt_raw(server.download(y));
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      worst = std::max(worst, std::abs(got[i] - (real ? values[i].real() : values[i])));
    return worst;
  }
  double error(const Complexes& values, std::uint64_t slots, bool real, unsigned level,
               unsigned iterations = 1) const {
    return error_of(encrypted(values, slots, real), values, level, iterations);
  }

  ckks::Client client;
  ckks::Server server;
  std::map<std::uint64_t, ckks::EncodedBootstrap> maps;

 private:
  static ckks::EvaluationKeys keys(const ckks::Client& client,
                                   const std::vector<std::uint64_t>& slots, unsigned threads) {
    ckks::KeyRequest request;
    for (const std::uint64_t each : slots)
      ckks::request_bootstrap(request, client.parameters(), each);
    return client.evaluation_keys(request, threads);
  }
};

/// 1, 2, 4, … up to the most slots.
inline std::vector<std::uint64_t> all_numbers_of_slots(const ckks::Parameters& p) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t slots = 1; slots <= p.slots(); slots *= 2) out.push_back(slots);
  return out;
}

/// Messages by name, `count` vectors of `slots` values each. Constants and single values are the
/// hardest: for random values the errors of a sine average out.
template <class Random>
std::vector<std::pair<std::string, Complexes>> messages(Random& random, std::uint64_t slots,
                                                        std::size_t count, bool real) {
  const std::size_t all = slots * count;
  std::vector<std::pair<std::string, Complexes>> out{{"constant 1", Complexes(all, 1)},
                                                     {"constant -1", Complexes(all, -1)},
                                                     {"random", random_complexes(random, all)}};
  Complexes single(all);
  for (std::size_t i = 0; i < count; ++i) single[i * slots + (7 * i + 3) % slots] = -1;
  out.emplace_back("-1 in one slot", std::move(single));
  if (real) {
    for (auto& z : out[2].second) z = z.real() / 0.7;
  } else {
    out.emplace_back("constant i", Complexes(all, {0, 1}));
  }
  return out;
}

}  // namespace whorl::test
