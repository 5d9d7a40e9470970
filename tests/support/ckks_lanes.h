// A client and lanes for tests, in rings that are small and not secure.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "schemes/ckks/named_sets.h"
#include "support/ckks_party.h"
#include "support/test.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/lanes.h"

namespace whorl::ckks {

using Bits = std::vector<std::uint8_t>;

/// The primes of what is chosen, in a smaller ring, which is not secure.
inline Parameters small_ring(unsigned depth, std::uint32_t N = 1024) {
  ParameterLiteral literal =
      Parameters::choose({.depth = depth, .scale_bits = 40, .bootstrap = true}).literal();
  literal.N = N;
  return Parameters::create(literal, true);
}

/// A set whose bootstraps are made for bits, in such a ring.
inline Parameters small_bits(const BitSet& set) {
  ParameterLiteral literal = for_bits(set);
  literal.N = 1024;
  return Parameters::create(literal, true);
}

/// A client and lanes on the tested device.
struct LaneParty {
  explicit LaneParty(const Parameters& parameters, std::uint64_t slots,
                     const LanesOptions& options = {}, std::vector<std::int64_t> rotations = {},
                     const char* device = test::tested_device)
      : client(lane_client(parameters)),
        server(client.evaluation_keys(request(parameters, slots, std::move(rotations))),
               {.device = device, .threads = 1}),
        lanes(server, encode_bootstrap(server, slots), options) {}

  static KeyRequest request(const Parameters& p, std::uint64_t slots,
                            std::vector<std::int64_t> rotations) {
    KeyRequest out;
    out.rotations = std::move(rotations);
    request_bootstrap(out, p, slots);
    return out;
  }
  LaneArray encrypt(const Bits& bits, std::size_t length) const {
    const std::vector<double> values(bits.begin(), bits.end());
    return lanes.take_in(
        server.upload(client.encrypt(values, {.length = length, .bound = Bounds(0, 1)})));
  }
  /// Bits that are off by `error`, to one side or the other, as is stated.
  LaneArray encrypt_off(const Bits& bits, double error, std::mt19937_64& random) const {
    std::vector<double> values;
    for (const std::uint8_t bit : bits)
      values.push_back(bit + (random() % 2 == 0 ? error : -error));
    const Array given = server.upload(client.encrypt(values, {.length = 64, .bound = Bounds(2)}));
    return lanes.take_in(
        server.with_more_error(server.with_bound(given, Bounds(0, 1)), error / 48));
  }
  Bits decrypt(const LaneArray& a) const {
    const Array low = lanes.finish(a);
    const Ciphertexts host = server.download(low);
    const Bits bits = client.decrypt_bits(host);
    // What the array says of its errors is true.
    const auto raw = client.decrypt_raw(host);
    for (std::size_t i = 0; i < bits.size(); ++i)
      EXPECT_LE(std::abs(raw[i].real() - bits[i]), 48 * std::exp2(low.info().error));
    EXPECT_LT(a.error(), 2 * lanes.limit());
    return bits;
  }

  /// Vectors of integers 0 … p - 1.
  LaneArray encrypt_integers(const Bits& messages, unsigned p, std::size_t length) const {
    const std::vector<double> values(messages.begin(), messages.end());
    return lanes.take_in(
        server.upload(client.encrypt(values, {.length = length, .bound = Bounds(0, p - 1.0)})));
  }
  /// What they are modulo p, of any p. `seen`, if there is one, gets the largest part of its error
  /// that was seen.
  Bits decrypt_integers(const LaneArray& a, double* seen = nullptr) const {
    const unsigned p = a.messages().p;
    if (p == 2) return decrypt(a);
    const Array low = lanes.finish(a);
    const Ciphertexts host = server.download(low);
    const Bits found = client.decrypt_integers(host, p);
    const auto raw = client.decrypt_raw(host);
    const LaneMessages messages = a.messages();
    double worst = 0;
    for (const auto& z : raw) {
      const double whole = std::floor(z.real() + 0.5);
      worst = std::max(worst, std::abs(z.real() - whole));
      EXPECT_GE(whole, static_cast<double>(messages.low));
      EXPECT_LE(whole, static_cast<double>(messages.high));
    }
    EXPECT_LE(worst, 48 * std::exp2(low.info().error));
    if (seen) *seen = std::max(*seen, worst / (48 * std::exp2(low.info().error)));
    return found;
  }

  Client client;
  Server server;
  Lanes lanes;
};

template <class F>
Bits each(const Bits& a, const Bits& b, const F& f) {
  Bits out;
  for (std::size_t i = 0; i < a.size(); ++i)
    out.push_back(static_cast<std::uint8_t>(f(a[i], b[i])));
  return out;
}

inline Bits random_bits(std::mt19937_64& random, std::size_t count) {
  Bits out(count);
  for (auto& bit : out) bit = random() & 1;
  return out;
}

}  // namespace whorl::ckks
