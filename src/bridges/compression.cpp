#include "whorl/bridges/compression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridges/packer.h"
#include "bridges/packing.h"
#include "lattice/lwe/noise.h"
#include "lattice/rlwe/evaluator.h"
#include "math/memory.h"
#include "math/sampling.h"
#include "math/text.h"
#include "ring/ntt_plan.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/packed.h"
#include "schemes/binfhe/server_state.h"
#include "whorl/error.h"

namespace whorl::bridges {

namespace rlwe = lattice::rlwe;
using binfhe::PackedCiphertexts;

namespace {

/// Errors as parts of the modulus: the deviation of the Gaussian ones, and a bound of the others.
struct PartErrors {
  double deviation, offset;
};

/// Those of LWE ciphertexts of variance `variance` at q that are packed and switched to 2^k
/// (docs/noise.md, "What compression adds").
PartErrors errors_of(const binfhe::Parameters& p, double variance, std::uint64_t sectors,
                     unsigned k) {
  const double n = p.n(), N = p.N(), q = static_cast<double>(p.q()), Q = static_cast<double>(p.Q()),
               to = static_cast<double>(packed_modulus(p)), sigma = p.literal().sigma_ring,
               last = std::exp2(k);
  // 1. The ciphertexts' own, and where they are rounded to q'.
  const double own = variance / (q * q),
               rounded =
                   binfhe::rounding_variance(p.literal(), p.q(), packed_modulus(p)) / (to * to);
  // 2. The keys': coefficients of the A_j are uniform in ±q'/2.
  const double keys = n * N * to * to / 12 * sigma * sigma / (Q * Q);
  // 3. Rounding to 2^k, which meets the ring key.
  const double down =
      lattice::modulus_switch_variance(p.N(), binfhe::ring_mean_square(p)) / (last * last);
  // 4. The factor Q/q' is off by 1/2, of a phase that is not reduced; messages are by 1/2 of 2^k.
  const bool gaussian = p.literal().lwe_secret == binfhe::SecretDistribution::gaussian;
  const double largest = gaussian ? math::GaussianSampler(p.literal().sigma_lwe).bound() : 1,
               factor = to / 4 * (1 + n * largest) / Q,
               messages = (std::uint64_t{1} << k) % sectors == 0 ? 0 : 0.5 / last;
  return {std::sqrt(own + rounded + keys + down), factor + messages};
}

/// Words modulo Q as words modulo 2^k: round(x·2^k/Q).
template <class Word>
void switch_modulus(std::span<const Word> words, std::uint64_t Q, unsigned k,
                    std::vector<std::uint64_t>& out) {
  const std::uint64_t mask = (std::uint64_t{1} << k) - 1;
  for (const Word word : words)
    out.push_back(
        static_cast<std::uint64_t>(((static_cast<unsigned __int128>(word) << k) + Q / 2) / Q) &
        mask);
}

}  // namespace

struct Compressor::State {
  State(const binfhe::Server& of, const CompressionKeys& keys, const Progress& progress);

  std::shared_ptr<const binfhe::Access::State> server;
  std::vector<std::uint64_t> primes;
  ring::Basis basis;
  std::shared_ptr<const rlwe::Evaluator> evaluator;
  PackingFactors factors;

  const binfhe::Parameters& parameters() const { return server->parameters; }
  /// The least modulus; NoiseError if there is none.
  unsigned modulus_of(double noise, binfhe::Encoding encoding, double failure_log2) const;
};

Compressor::State::State(const binfhe::Server& of, const CompressionKeys& keys,
                         const Progress& progress)
    : server(binfhe::Access::of(of).shared_from_this()),
      primes{parameters().Q()},
      basis(ring::Basis::range(0, 1)) {
  server->check_owner(keys.parameters, keys.key_id);
  evaluator = rlwe::Evaluator::make(server->fleet, binfhe::ring_plan(parameters()));
  factors = packing_factors(*evaluator, {parameters().N(), primes, basis, keys.seed, keys.b},
                            parameters(), progress);
}

unsigned Compressor::State::modulus_of(double noise, binfhe::Encoding encoding,
                                       double failure_log2) const {
  const binfhe::Parameters& p = parameters();
  const double variance = noise * binfhe::unit_of_noise(p), q = static_cast<double>(p.q());
  const auto log2_Q = static_cast<unsigned>(std::bit_width(p.Q() - 1));
  double least = 0;
  for (auto k = static_cast<unsigned>(std::bit_width(2 * encoding.sectors() - 1)); k < log2_Q;
       ++k) {
    const PartErrors errors = errors_of(p, variance, encoding.sectors(), k);
    const double deviation = (errors.deviation + errors.offset) * q;
    least = binfhe::decryption_failure_log2(p, deviation * deviation, encoding);
    if (least <= failure_log2) return k;
  }
  throw NoiseError("compress: messages of " + binfhe::describe(encoding) + " under " +
                   binfhe::named(p) + " decrypt wrongly with a probability of " +
                   math::power_of_two_above(least) + " after compression, above the " +
                   math::power_of_two_above(failure_log2) +
                   " that is allowed: bootstrap them first, or allow it by failure_log2");
}

Compressor::Compressor(const binfhe::Server& server, const CompressionKeys& keys,
                       const Progress& progress)
    : state_(math::with_memory_for("compression keys", [&] {
        return std::make_shared<const State>(server, keys, progress);
      })) {}

std::size_t Compressor::bytes() const { return bytes_of(state_->factors); }

PackedCiphertexts Compressor::compress(const binfhe::Array& given, double most_log2) const {
  const State& s = *state_;
  const binfhe::Access::State& on = *s.server;
  const binfhe::Array a = on.to_lwe_key(given);
  const auto& array = binfhe::Access::of(a);
  const binfhe::Parameters& p = s.parameters();
  PackedCiphertexts out{p, array.key_id, array.encoding, array.rows.count()};
  out.log2_modulus = s.modulus_of(array.origin->noise, array.encoding, most_log2);
  out.range = array.origin->largest.range;
  out.largest = array.origin->largest.any;
  if (out.count == 0) return out;
  return math::with_memory_for("compressed results", [&] {
    // Coefficient h·L + j of a ring ciphertext is row bitrev(j) of its vector h, of L rows each.
    // Coefficients behind the last message are copies of message 0, and are not sent.
    const std::uint32_t N = p.N(), L = N / 2;
    const auto log2_L = static_cast<unsigned>(std::countr_zero(L));
    std::vector<std::uint32_t> order(out.rings() * N);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto j = static_cast<std::uint32_t>(i % L);
      const std::size_t message = i - j + ring::bit_reverse(j, log2_L);
      order[i] = static_cast<std::uint32_t>(message < out.count ? message : 0);
    }
    const binfhe::Array ordered = on.take(a, order);
    const LweNumbers numbers{0, 2 * out.rings(), L};
    const WordArray words = on.fleet->together([&] {
      const rlwe::Array packed =
          packed_over(*s.evaluator, s.factors, p, s.primes, s.basis, numbers,
                      [&](std::span<const run::Piece> pieces) {
                        return on.evaluator.placed(binfhe::Access::of(ordered).rows, pieces);
                      });
      return s.evaluator->download(s.evaluator->transform(packed, rlwe::Form::coefficient));
    });
    backend::with_word_bytes(static_cast<unsigned>(words.word_bytes()), [&]<class Word>(Word) {
      const std::span<const Word> all = words.as<Word>();
      for (std::size_t r = 0; r < out.rings(); ++r) {
        const std::size_t some = std::min<std::size_t>(N, out.count - r * N);
        switch_modulus(all.subspan((out.rings() + r) * N, N), p.Q(), out.log2_modulus, out.data);
        switch_modulus(all.subspan(r * N, some), p.Q(), out.log2_modulus, out.data);
      }
    });
    return out;
  });
}

}  // namespace whorl::bridges
