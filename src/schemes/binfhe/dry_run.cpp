// Dry runs: a server without keys and ciphertexts, which says what a circuit costs.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "lattice/lwe/dry_device.h"
#include "math/memory.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/server_state.h"

namespace whorl::binfhe {

struct DryRun::Counted : lattice::lwe::LweCounts {
  Failures failures;
  std::size_t key_bytes = 0;
  std::atomic<std::uint64_t> fresh = 0;  ///< ciphertexts that were asked for
};

namespace {

/// Keys of these parameters, whose words are not there.
EvaluationKeys absent_keys(const Parameters& p) {
  const auto absent = [](std::size_t words, std::size_t word_bytes) {
    return WordArray(nullptr, nullptr, words, word_bytes);
  };
  const auto rotation = [&](std::size_t key) {
    return absent(p.rotation_key_rows(key) * p.rotation_row_words(), narrow(p) ? 4 : 8);
  };
  EvaluationKeys out{p,           {}, {},
                     rotation(0), {}, absent(p.key_switch_rows(), word_bytes_for(p.Q_ks()))};
  for (std::size_t k = 1; k < p.rotation_keys(); ++k)
    out.small_modulus_rotations.push_back({{}, rotation(k)});
  return out;
}

}  // namespace

DryRun::DryRun(const Parameters& parameters, const ServerOptions& options)
    : counted_(std::make_shared<Counted>()), server_([&] {
        const EvaluationKeys keys = absent_keys(parameters);
        counted_->key_bytes = keys.bytes();
        run::SessionState session({.device = "cpu", .threads = 1});
        session.fleet = std::make_shared<const run::Fleet>(
            std::vector{lattice::lwe::dry_device(counted_)}, run::FleetOptions{});
        session.names = session.fleet->names();
        session.name = session.fleet->name();
        return Server(std::make_shared<const Server::State>(
            keys, std::make_shared<const run::SessionState>(std::move(session)), options,
            std::shared_ptr<Failures>(counted_, &counted_->failures)));
      }()) {}

Array DryRun::fresh(Encoding encoding, std::size_t count, Under under) const {
  Ciphertexts c{server_.parameters(), server_.key_id(), encoding, count, {}, Seed{}};
  c.under = under;
  // Different ones, as encryptions are: what is known of errors goes by the words. None has the
  // negative words of another, since the first word is below q/2; nor is it 0, as of trivial ones.
  const std::uint64_t q = c.modulus(), firsts = q / 2 - 1;
  with_words(c, [&]<class Word>(std::vector<Word>& words) {
    math::with_memory_for("ciphertexts", [&] { words.resize(count * c.row()); });
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t number = counted_->fresh++;
      words[i * c.row()] = static_cast<Word>(1 + number % firsts);
      number /= firsts;
      for (std::size_t j = 1; number != 0 && j < c.row(); ++j, number /= q)
        words[i * c.row() + j] = static_cast<Word>(number % q);
    }
  });
  return server_.upload(c);
}

double DryRun::failure_log2(std::span<const Array> results) const {
  const Server::State& state = *server_.state_;
  double sum = counted_->failures.log2();
  for (const Array& result : results) {
    state.check(result);
    const Encoding encoding = result.encoding();
    const Origin& origin = *Access::of(result).origin;
    double each = state.account.decryption_failure_log2(encoding, origin.noise, result.under());
    if (origin.promise.off || state.account.is_coarse(encoding, origin, result.under()))
      each = Access::of(result).decrypted().by_errors_log2;
    sum = lattice::sum_log2(sum, each + std::log2(static_cast<double>(result.count())));
  }
  return std::min(0.0, sum);
}

Costs DryRun::costs() const {
  return {counted_->rotations, counted_->key_switches, counted_->sums, counted_->key_bytes};
}

}  // namespace whorl::binfhe
