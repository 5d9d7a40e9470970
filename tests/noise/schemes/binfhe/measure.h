// Measuring noise: what the noise tests and bench/noise.cpp share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/contract/rotation.h"
#include "lattice/lwe/keys.h"
#include "lattice/lwe/noise.h"
#include "lattice/lwe/rotation_method.h"
#include "math/random.h"
#include "ring/host/transforms.h"
#include "schemes/binfhe/derived.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/client.h"
#include "whorl/binfhe/server.h"
#include "whorl/error.h"

namespace whorl::noise {

struct Moments {
  double count = 0, sum = 0, squares = 0;
  void add(double x) {
    ++count;
    sum += x;
    squares += x * x;
  }
  void add(const Moments& other) {
    count += other.count;
    sum += other.sum;
    squares += other.squares;
  }
  double mean() const { return sum / count; }
  double mean_square() const { return squares / count; }
  /// Around the mean.
  double variance() const { return (squares - sum * mean()) / (count - 1); }
};

/// x mod Q in (-Q/2, Q/2].
inline std::int64_t centred(std::uint64_t x, std::uint64_t Q) {
  return static_cast<std::int64_t>(x) - static_cast<std::int64_t>(x > Q / 2 ? Q : 0);
}

template <class Word>
std::vector<Word> uniform(std::size_t count, std::uint64_t modulus) {
  std::vector<Word> out(count);
  math::expand_uniform<Word>(math::random_seed(), 0, modulus, out);
  return out;
}

inline std::vector<std::uint32_t> random_messages(std::size_t count, std::uint32_t p) {
  return uniform<std::uint32_t>(count, p);
}

/// Errors at q of NAND of random bits, `gates` of them under each of `keys` keys.
inline Moments nand_errors(const binfhe::Parameters& parameters, const SessionOptions& where,
                           binfhe::Transform transform, unsigned keys, std::size_t gates) {
  Moments moments;
  for (unsigned k = 0; k < keys; ++k) {
    const binfhe::Client client(parameters);
    const binfhe::Server server(client.evaluation_keys(), where,
                                {.transform = transform, .allow_failure = 1});
    const auto x = random_messages(gates, 2), y = random_messages(gates, 2);
    std::vector<std::uint32_t> want(gates);
    for (std::size_t i = 0; i < gates; ++i) want[i] = 1 - x[i] * y[i];
    const auto a = client.encrypt(x), b = client.encrypt(y);
    const binfhe::Ciphertexts* inputs[] = {&a, &b};
    const auto out = server.gate(binfhe::Gate::nand, inputs);
    if (client.decrypt(out) != want) throw Error("a gate's result is wrong");
    for (const std::int64_t error : client.noise(out, want))
      moments.add(static_cast<double>(error));
  }
  return moments;
}

/// Blind rotation alone, through the contract of backends, with a key of its own shape.
template <class Word>
class Rotator {
 public:
  /// `bodies` as EvaluationKeys::rotation_b, for `shape.arithmetic`.
  Rotator(backend::RotationShape shape, std::span<const Word> bodies, const math::Seed& seed,
          unsigned threads, const std::string& device = "cpu")
      : N_(shape.N), n_(shape.n), Q_(shape.Q), queue_(backend::open_queue(device, {threads, {}})) {
    key_ = queue_->rotation<Word>().prepare(
        shape, backend::RowSource<Word>([&](std::size_t r, std::span<Word> a, std::span<Word> b) {
          lattice::lwe::RotationMethod::expand<Word>(shape, seed, r, a);
          const std::size_t words = shape.row_words();
          std::copy_n(bodies.begin() + static_cast<std::ptrdiff_t>(r * words), words, b.begin());
        }));
  }
  Rotator(const binfhe::Parameters& parameters, const binfhe::EvaluationKeys& keys,
          binfhe::Transform transform, unsigned threads)
      : Rotator(binfhe::rotation_shape(parameters, transform), keys.rotation_b.as<Word>(),
                keys.rotation_seed, threads) {}

  /// lwe (B, n+1) modulo 2N, one test vector for all; (B, 2, N).
  std::vector<Word> rotate(std::span<const std::uint32_t> lwe, std::span<const Word> lut) const {
    const std::size_t count = lwe.size() / (n_ + 1);
    auto in = queue_->allocate<std::uint32_t>(lwe.size());
    auto vector = queue_->allocate<Word>(N_);
    auto out = queue_->allocate<Word>(count * 2 * N_);
    queue_->upload(lwe, in.slice());
    queue_->upload(lut, vector.slice());
    const std::vector<std::uint32_t> first(count, 0);
    queue_->rotation<Word>().rotate(
        *key_, {std::as_const(in).slice(), std::as_const(vector).slice(), first}, out.slice());
    std::vector<Word> result(out.size());
    queue_->download(std::as_const(out).slice(), std::span<Word>(result));
    return result;
  }

 private:
  std::size_t N_, n_;
  std::uint64_t Q_;
  std::unique_ptr<backend::Queue> queue_;
  std::unique_ptr<const backend::RotationKey> key_;
};

/// Phases b - a·s of RLWE ciphertexts (B, 2, N): (B, N) residues.
template <class Word>
class RingPhase {
 public:
  RingPhase(std::span<const std::int32_t> secret, std::uint64_t Q)
      : ntt_(std::make_shared<const ring::NttPlan<Word>>(static_cast<std::uint32_t>(secret.size()),
                                                         static_cast<Word>(Q))) {
    for (const std::int32_t s : secret)
      secret_.push_back(static_cast<Word>(lattice::residue(s, Q)));
    ntt_.forward(secret_);
  }
  std::vector<Word> operator()(std::span<const Word> rlwe) const {
    const std::size_t N = secret_.size(), count = rlwe.size() / (2 * N);
    const auto& q = ntt_.plan().modulus();
    std::vector<Word> a(N), out(count * N);
    for (std::size_t c = 0; c < count; ++c) {
      ntt_.forward(rlwe.subspan(2 * c * N, N), a);
      for (std::size_t j = 0; j < N; ++j) a[j] = q.mul(a[j], secret_[j]);
      ntt_.inverse(a);
      for (std::size_t j = 0; j < N; ++j) out[c * N + j] = q.sub(rlwe[(2 * c + 1) * N + j], a[j]);
    }
    return out;
  }

 private:
  ring::HostNtt<Word> ntt_;
  std::vector<Word> secret_;
};

/// Errors (B, N) of blind rotations of `lut` by `lwe`, (B, n+1) modulo 2N, under the LWE key:
/// phases less lut·X^(-b + <a, s>), centred.
template <class Word>
std::vector<double> rotation_errors(std::span<const Word> phases, std::span<const Word> lut,
                                    std::span<const std::uint32_t> lwe,
                                    std::span<const std::int32_t> lwe_key, std::uint64_t Q) {
  const std::size_t N = lut.size(), row = lwe_key.size() + 1, count = phases.size() / N;
  std::vector<double> out(phases.size());
  for (std::size_t c = 0; c < count; ++c) {
    const auto ct = lwe.subspan(c * row, row);
    const std::uint64_t turn =
        (lattice::lwe_mask<std::uint32_t>(ct.first(row - 1), lwe_key, 2 * N) + 2 * N - ct.back()) %
        (2 * N);
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t from = (j + 2 * N - turn) % (2 * N);  // X^turn·lut
      const std::uint64_t value = lut[from % N];
      const std::uint64_t want = from < N ? value : (Q - value) % Q;
      const std::uint64_t got = phases[c * N + j];
      out[c * N + j] = static_cast<double>(centred(got >= want ? got - want : got + Q - want, Q));
    }
  }
  return out;
}

/// b - <a, s> of LWE rows (B, n+1) modulo Q: B residues.
template <class Word>
std::vector<std::uint64_t> lwe_phases(std::span<const Word> rows, std::span<const std::int32_t> key,
                                      std::uint64_t Q) {
  const std::size_t row = key.size() + 1;
  std::vector<std::uint64_t> out(rows.size() / row);
  for (std::size_t c = 0; c < out.size(); ++c) {
    const auto ct = rows.subspan(c * row, row);
    const std::uint64_t mask = lattice::lwe_mask<Word>(ct.first(row - 1), key, Q);
    out[c] = (ct.back() + Q - mask) % Q;
  }
  return out;
}

/// Mean square of (1 - sum of n secret coefficients): how often a rounding error's mean comes in.
inline double alignment(binfhe::SecretDistribution kind, double n, double mean_square) {
  const double mean = kind == binfhe::SecretDistribution::binary ? 0.5 : 0;
  return (1 - n * mean) * (1 - n * mean) + n * (mean_square - mean * mean);
}

/// Mean square over keys of the error's mean under one key (docs/noise.md, "Under one key"), at Q
/// after blind rotation: digits below the top one have mean -1/2, dropped bits too. The second key
/// of ternary secrets is multiplied by a random power of X and has none.
inline double rotation_mean_square(const binfhe::Parameters& parameters,
                                   binfhe::Transform transform) {
  const auto& p = parameters.literal();
  const auto ring_kind = static_cast<lattice::SecretKind>(p.ring_secret);
  const double ring = lattice::secret_mean_square(ring_kind, p.sigma_ring);
  double row = p.sigma_ring * p.sigma_ring;
  if (transform == binfhe::Transform::fft && binfhe::narrow(parameters))
    row += lattice::key_spectrum_variance(p.Q, p.N, 32) * (1 + p.N * ring);
  double independent = 0, aligned = 0;
  const double ones = p.lwe_secret == binfhe::SecretDistribution::binary ? 0.5 : 1.0 / 3;
  for (const auto& range : p.gadget) {
    const ring::Gadget gadget(p.Q, range.log_base, range.digits);
    independent += range.count * 2.0 * p.N * (gadget.digits() - 1) * row / 4;
    if (!gadget.exact()) aligned += range.count * ones / 2;
  }
  return independent + aligned * aligned * alignment(p.ring_secret, p.N, ring);
}

/// The same at q, for a bootstrapped ciphertext.
inline double refreshed_mean_square(const binfhe::Parameters& parameters,
                                    binfhe::Transform transform) {
  const auto& p = parameters.literal();
  const double ring =
      lattice::secret_mean_square(static_cast<lattice::SecretKind>(p.ring_secret), p.sigma_ring);
  const double lwe =
      lattice::secret_mean_square(static_cast<lattice::SecretKind>(p.lwe_secret), p.sigma_lwe);
  const double to_ks = static_cast<double>(p.Q_ks) / static_cast<double>(p.Q),
               to_q = static_cast<double>(p.q) / static_cast<double>(p.Q_ks);
  double at_ks = to_ks * to_ks * rotation_mean_square(parameters, transform);
  const ring::Gadget gadget = binfhe::switch_gadget(parameters);
  const double base = std::ldexp(1.0, static_cast<int>(gadget.log_base()));
  // Digit -B/2 has no digit B/2 to cancel its row.
  at_ks += p.N * p.sigma_lwe * p.sigma_lwe * (gadget.digits() - 1) *
           (p.key_switch == binfhe::KeySwitch::table ? 1 / (base * base) : 0.25);
  if (!gadget.exact()) at_ks += alignment(p.ring_secret, p.N, ring) / 4;
  return to_q * to_q * at_ks +
         (p.Q_ks == p.q ? 0 : to_q * to_q / 4 * alignment(p.lwe_secret, p.n, lwe));
}

}  // namespace whorl::noise
