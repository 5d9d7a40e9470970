// Lanes go out as LWE ciphertexts: the server's work.
#include "whorl/bridges/lwe_output.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridges/output.h"
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/lanes_access.h"
#include "lattice/lwe/evaluator.h"
#include "lattice/lwe/extraction.h"
#include "lattice/lwe/noise.h"
#include "lattice/lwe/stages.h"
#include "lattice/rlwe/keys.h"
#include "math/memory.h"
#include "math/text.h"
#include "ring/ntt_plan.h"
#include "run/keys.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/ckks/derived.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::bridges {

namespace rlwe = lattice::rlwe;
namespace lwe = lattice::lwe;
using ckks::LanesAccess;

namespace {

/// The part of a bootstrapped ciphertext's variance that errors of lanes may have.
constexpr double part_of_lanes = 1.0 / 16;
constexpr double most_log2_failure = -64;
/// Ciphertexts that are taken out of polynomials at once.
constexpr std::size_t at_once = 1024;

double square(double x) { return x * x; }

}  // namespace

struct LweOutput::State {
  State(const ckks::Lanes& of, const LweOutputKeys& keys);

  ckks::Lanes lanes;
  binfhe::Parameters to;
  KeyId lwe_key_id;
  Packing packing;
  backend::SwitchShape shape;
  std::shared_ptr<const rlwe::Key> into_subring;
  std::shared_ptr<const run::KeyOnDevices> switch_key;
  lwe::Evaluator evaluator;

  const ckks::Access::State& server() const { return ckks::Access::of(lanes.server()); }
  std::size_t slots() const { return LanesAccess::maps(lanes).slots(); }
  /// The bits, cleaned and refreshed until there are levels, and errors are at most that, or stay.
  /// Other threads do not change it any more.
  ckks::Array prepared(const ckks::LaneArray& a, double most, std::uint64_t sectors) const;
  /// Polynomials of two vectors each under the subring's secret, (2, ciphertexts, N) coefficients;
  /// a bit is that part of the modulus.
  WordArray polynomials(const ckks::Array& bits, std::uint64_t sectors) const;
  /// The work on rows under the subring's secret.
  lwe::Work work() const;
};

LweOutput::State::State(const ckks::Lanes& of, const LweOutputKeys& keys)
    : lanes(of),
      to(keys.lwe_parameters),
      lwe_key_id(keys.lwe_key_id),
      packing(of.server().parameters()),
      shape(output_switch(packing, to)),
      evaluator(server().fleet, nullptr, 16 * (packing.dimension + 1)) {
  const ckks::Server& on = lanes.server();
  check_owner(keys.parameters, keys.key_id, "server", on.parameters(), on.key_id());
  if (packing.lowest.size() != 1)
    throw ParameterError("lanes are given out from a level 0 of one prime; \"" +
                         on.parameters().literal().name + "\" has " +
                         std::to_string(packing.lowest.size()) + " there");
  const std::size_t rows = output_rows(shape);
  if (keys.b.size() != rows || keys.b.word_bytes() != word_bytes_for(shape.Q_ks))
    throw ShapeError("keys for LWE output have " + std::to_string(keys.b.size()) + " words of " +
                     std::to_string(keys.b.word_bytes()) + " bytes; they must have " +
                     std::to_string(rows) + " of " + std::to_string(word_bytes_for(shape.Q_ks)));
  const auto& budget = server().session->budget;
  into_subring = server().evaluator->prepare(
      {1, 1, keys.switch_seed, keys.switch_b, packing.switching}, budget);
  switch_key = std::make_shared<const run::KeyOnDevices>(
      budget, rows * (shape.n + 1) * keys.b.word_bytes(),
      [b = keys.b, seed = keys.seed, like = shape](const backend::Queue& queue) {
        return backend::with_word_bytes<2>(static_cast<unsigned>(b.word_bytes()), [&]<class Word>(
                                                                                      Word) {
          const auto bodies = b.as<Word>();
          const backend::SwitchRows<Word> make = [&](std::size_t first, std::size_t count,
                                                     Word* out, std::size_t stride) {
            math::expand_uniform_rows<Word>(seed, first, like.Q_ks, {out, count, like.n, stride});
            for (std::size_t r = 0; r < count; ++r) out[r * stride + like.n] = bodies[first + r];
          };
          return run::sized(queue.lwe().prepare_switch_key(like, make));
        });
      });
}

ckks::Array LweOutput::State::prepared(const ckks::LaneArray& a, double most,
                                       std::uint64_t sectors) const {
  // At the lowest level for a refresh no more sectors can be told apart.
  const unsigned least = lanes.server().parameters().least_bootstrap_level() +
                         (sectors > std::uint64_t{1} << ckks::input_bits ? 1 : 0);
  ckks::Array x = LanesAccess::values(lanes, a);
  for (unsigned round = 0; round < 4; ++round) {
    const unsigned level = x.info().level;
    if (level >= least && ckks::error_of(x.info()) <= most) break;
    if (level >= least + 2)
      lanes.clean(std::span(&a, 1));
    else
      lanes.refresh(std::span(&a, 1));
    x = LanesAccess::values(lanes, a);
  }
  if (x.info().level < least)
    throw NoiseError(
        "lanes that are given out lack levels after four refreshes, since another "
        "thread cleans them meanwhile: give out a copy");
  return x;
}

WordArray LweOutput::State::polynomials(const ckks::Array& bits, std::uint64_t sectors) const {
  const ckks::Server& on = lanes.server();
  const rlwe::Evaluator& ring = *server().evaluator;
  return server().fleet->together([&] {
    // 1. Bits as such parts of 1, in pairs; the last vector may be in two.
    ckks::Array x = bits;
    if (x.info().count % 2 != 0) {
      std::vector<std::uint32_t> indices(x.info().count + 1);
      std::iota(indices.begin(), indices.end(), 0u);
      indices.back() = indices[indices.size() - 2];
      x = on.take(x, indices);
    }
    const ckks::Array parts =
        on.with_bound(ckks::Access::State::with_scale(x, static_cast<double>(sectors)), {0, 1});
    // 2. As coefficients, at level 0.
    const ckks::BootstrapSteps steps(
        on, ckks::EncodedBootstrapAccess::storage(LanesAccess::maps(lanes)),
        ckks::BootstrapSteps::Parts::apart);
    const rlwe::Array low = steps.slots_to_coeffs(steps.scale_down(ckks::paired(on, parts)));
    // 3. Under the subring's secret.
    const rlwe::Array switched =
        ring.key_switch(low, *into_subring, ckks::Access::State::no_plain_modulus);
    return ring.download(ring.transform(switched, rlwe::Form::coefficient));
  });
}

lwe::Work LweOutput::State::work() const {
  return [this](const lwe::Stages& stages, std::span<const lwe::Rows* const> in, run::Range) {
    const run::Fleet& fleet = *server().fleet;
    std::size_t lane = 0;
    while (&fleet.lane(lane)->device() != &stages.queue().device()) ++lane;
    const lwe::Stages with(stages.queue(),
                           {nullptr, switch_key->on<backend::SwitchKey>(*fleet.lane(lane))});
    lwe::Rows rows = with.key_switch(with.modulus_switch(*in[0], shape.Q_ks, 0));
    std::vector<lwe::Rows> out;
    out.push_back(
        with.modulus_switch(std::move(rows), to.q(), binfhe::rounding_centre(to.literal())));
    return out;
  };
}

LweOutput::LweOutput(const ckks::Lanes& lanes, const LweOutputKeys& keys)
    : state_(math::with_memory_for("keys for LWE output",
                                   [&] { return std::make_shared<const State>(lanes, keys); })) {}

binfhe::Ciphertexts LweOutput::give_out(const ckks::LaneArray& a, binfhe::Encoding encoding) const {
  const State& s = *state_;
  const ckks::Parameters& p = s.lanes.server().parameters();
  binfhe::check_encoding(s.to, encoding);
  const std::uint64_t sectors = encoding.sectors();
  if (!std::has_single_bit(sectors))
    throw EncodingError("lanes are given out in a power of two of sectors, and not in " +
                        std::to_string(sectors));
  // 1. Errors, in units of q.
  const double q = static_cast<double>(s.to.q()), of_bit = q / static_cast<double>(sectors),
               unit = binfhe::unit_of_noise(s.to);
  const ckks::Array x =
      s.prepared(a, ckks::gaussian_deviations * std::sqrt(part_of_lanes * unit) / of_bit, sectors);
  const ckks::BitSlopes& slopes = ckks::slopes_of_bits(1);
  const double turn = s.server().account.bit_noise(1, slopes.root, slopes.sum).turn;
  const double variance =
      square(ckks::error_of(x.info()) / ckks::gaussian_deviations * of_bit) +
      square(ckks::deviations / ckks::gaussian_deviations * std::exp2(turn) * q) +
      output_variance(p, s.to);
  if (binfhe::decryption_failure_log2(s.to, variance, encoding) > most_log2_failure)
    throw NoiseError("lanes that are given out with errors of a deviation of " +
                     math::text_of(std::sqrt(variance)) + " at q = " + std::to_string(s.to.q()) +
                     " in " + std::to_string(sectors) +
                     " sectors may decrypt wrongly: take fewer sectors, or another set");
  return math::with_memory_for("LWE ciphertexts", [&] {
    // 2. Polynomials, and each coefficient that holds a lane.
    const std::size_t vectors = x.info().count, slots = s.slots(), count = vectors * slots;
    const WordArray words = s.polynomials(x, sectors);
    binfhe::Ciphertexts out{s.to, s.lwe_key_id, encoding, count, {}, {}, {}};
    out.noise = std::max(variance / unit, binfhe::least_noise(s.to));
    out.largest = 1;
    out.data.resize(count * out.row());
    const auto log2_slots = static_cast<unsigned>(std::countr_zero(slots));
    const lwe::Work work = s.work();
    backend::with_word_bytes(static_cast<unsigned>(words.word_bytes()), [&]<class Word>(Word) {
      const std::size_t N = p.N(), half = words.size() / 2, row = s.shape.N + 1;
      const auto modulus = static_cast<Word>(s.packing.primes[0]);
      const std::span<const Word> all = words.as<Word>();
      std::vector<Word> rows(std::min(at_once, count) * row);
      for (std::size_t first = 0; first < count; first += at_once) {
        s.server().fleet->stop_if_asked(first, count, "lanes that are given out");
        const std::size_t some = std::min(at_once, count - first);
        for (std::size_t i = 0; i < some; ++i) {
          const std::size_t vector = (first + i) / slots, lane = (first + i) % slots;
          const std::size_t place = ring::bit_reverse(static_cast<std::uint32_t>(lane), log2_slots);
          const std::size_t at = vector / 2 * N;
          lwe::extract<Word>(all.subspan(at, N), all.subspan(half + at, N), modulus,
                             (vector % 2 * slots + place) * (N / (2 * slots)),
                             std::span(rows).subspan(i * row, row));
        }
        const lwe::HostRows in{
            {modulus, s.shape.N, lwe::Under::ring, static_cast<unsigned>(sizeof(Word))},
            rows.data()};
        s.evaluator.stream(some, 24 * row, std::span(&in, 1), false, work,
                           [&] { return out.data.data() + first * out.row(); });
      }
    });
    return out;
  });
}

}  // namespace whorl::bridges
