#include "whorl/bridges/lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "backend/parallel.h"
#include "bridges/packer.h"
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/lanes_access.h"
#include "lattice/lwe/evaluator.h"
#include "lattice/lwe/stages.h"
#include "math/memory.h"
#include "math/text.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/plan.h"
#include "schemes/binfhe/server_state.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::bridges {

using ckks::LaneArray;
using ckks::LanesAccess;
namespace lwe = lattice::lwe;

namespace {

/// What is left of an error after a bootstrap of several ciphertexts a coefficient, or by the
/// cheaper polynomial of one: a cleaning then leaves less than 2^-8.
constexpr double largest_usual = 1.0 / 32;
/// What lanes take.
constexpr double largest_lane = 1.0 / 8;
/// Ring ciphertexts that a device packs and refreshes at once: with more of them each takes as
/// long (docs/performance/lanes.md).
constexpr std::size_t most_on_a_device = 4;

/// How messages lie in coefficients: sum_i 2^(bits·i)·m_i and 1/2, each as parts of q.
struct Coefficients {
  unsigned bits = 1;         ///< of a message
  unsigned together = 1;     ///< messages in a coefficient
  std::uint64_t lowest = 1;  ///< what the first ciphertext is multiplied by
  std::uint64_t half = 0;
  bool by_step = false;  ///< one bit with large errors
  double error = 1;      ///< of bits that come out

  unsigned all() const { return bits * together; }
};

}  // namespace

struct LweInput::State {
  State(const ckks::Lanes& of, const LweInputKeys& keys, const Progress& progress);

  ckks::Lanes lanes;
  binfhe::Parameters lwe;
  KeyId lwe_key_id;
  Packer packer;
  lwe::Evaluator evaluator;
  std::size_t most_rings = 1;  ///< ring ciphertexts that are made and refreshed at once

  const ckks::Access::State& server() const { return ckks::Access::of(lanes.server()); }
  std::size_t slots() const { return LanesAccess::maps(lanes).slots(); }
  /// Throws what take_in() throws of encoding, messages and noise.
  Coefficients coefficients_of(const binfhe::Ciphertexts& c, std::optional<unsigned> stated) const;
  LweNumbers numbers(std::size_t vectors, const Coefficients& as) const;
  /// Rows of ciphertexts of the host, on the lanes of the pieces.
  std::vector<lwe::Rows> rows_of(const binfhe::Ciphertexts& c, Masks masks,
                                 std::span<const run::Piece> pieces) const;
  /// `rows` gives the words; those of `c` are not looked at.
  std::vector<LaneArray> take_in(const binfhe::Ciphertexts& c, std::optional<unsigned> stated,
                                 const LweRows& rows) const;
};

LweInput::State::State(const ckks::Lanes& of, const LweInputKeys& keys, const Progress& progress)
    : lanes(of),
      lwe(keys.lwe_parameters),
      lwe_key_id(keys.lwe_key_id),
      packer(of.server(), keys, progress),
      evaluator(server().fleet, nullptr, binfhe::form_of(lwe).row_bytes()) {
  // Of the most ciphertexts that share a coefficient.
  const std::size_t bytes = 2 * of.server().parameters().literal().bootstrap->bits * slots() *
                            binfhe::form_of(lwe).row_bytes();
  const run::Fleet& fleet = *server().fleet;
  std::size_t most = most_on_a_device;
  for (std::size_t l = 0; l < fleet.size(); ++l) {
    const auto held = fleet.lane(l)->hold();
    most = std::min(most, fleet.lane(l)->queue().batch_limit(bytes, 0));
  }
  most_rings = most * fleet.size();
}

Coefficients LweInput::State::coefficients_of(const binfhe::Ciphertexts& c,
                                              std::optional<unsigned> stated) const {
  const ckks::Server& on = lanes.server();
  const unsigned bits = stated.value_or(1);
  const unsigned most = on.parameters().literal().bootstrap->bits;
  const std::uint64_t sectors = c.encoding.sectors();
  if (bits < 1 || bits > most)
    throw ParameterError("LWE ciphertexts: messages of " + std::to_string(bits) +
                         " bits; bootstraps of these parameters take 1 … " + std::to_string(most));
  if (!std::has_single_bit(sectors) || sectors < std::uint64_t{1} << bits)
    throw EncodingError("LWE ciphertexts: " + std::to_string(sectors) +
                        " sectors; lanes take a power of two, and at least " +
                        std::to_string(std::uint64_t{1} << bits) + " for messages of " +
                        std::to_string(bits) + " bits");
  // Of messages of which nothing is known, what the caller says holds.
  const std::optional<std::uint32_t> largest = c.as_bits ? c.as_bits : c.largest;
  if (largest && *largest >= std::uint64_t{1} << bits)
    throw EncodingError("LWE ciphertexts: messages of up to " + std::to_string(*largest) +
                        " do not have " + std::to_string(bits) +
                        " bits; say how many bits they have");
  const double q = static_cast<double>(lwe.q()), number = static_cast<double>(sectors),
               sigma = lwe.literal().sigma_lwe,
               variance = c.seed ? sigma * sigma : c.noise * binfhe::unit_of_noise(lwe),
               own = ckks::gaussian_deviations * std::sqrt(variance) / q * number,
               packing = packing_error(on.parameters(), lwe, ckks::gaussian_deviations);
  const auto log2_sectors = static_cast<unsigned>(std::countr_zero(sectors));
  const ckks::EncodedBootstrap& maps = LanesAccess::maps(lanes);
  Coefficients best{.bits = bits};
  double weights = 0;
  // A message that is larger than is said would change others beside it.
  const bool holds = stated || (c.largest && *c.largest < std::uint64_t{1} << bits);
  const unsigned most_together = holds ? std::min(log2_sectors, most) / bits : 1;
  for (unsigned together = 1; together <= most_together; ++together) {
    Coefficients as{.bits = bits, .together = together};
    weights += std::exp2((together - 1) * bits);
    as.lowest = sectors >> as.all();
    as.half = lwe.q() >> (as.all() + 1);
    const double given = weights * own + std::exp2(as.all()) * packing;
    as.error = ckks::error_of_bits(on, maps, as.all(), given, ckks::deviations);
    if (as.all() == 1 && as.error > largest_usual) {
      as.by_step = true;
      as.error = ckks::error_of_step(on, maps, given, ckks::deviations);
    }
    if (together > 1 && as.error > largest_usual) break;
    best = as;
  }
  if (!(best.error < largest_lane))
    throw NoiseError(
        "LWE ciphertexts with errors of a deviation of " + math::text_of(std::sqrt(variance)) +
        ", q = " + std::to_string(lwe.q()) + " and " + std::to_string(sectors) +
        " sectors: bits may come out 2^" + math::text_of(std::log2(best.error)) +
        " off, and lanes take 1/8: send fresh encryptions, or take a set with less noise");
  return best;
}

LweNumbers LweInput::State::numbers(std::size_t vectors, const Coefficients& as) const {
  LweNumbers out{0, vectors, static_cast<std::uint32_t>(slots()), {}, as.half};
  for (unsigned m = 0; m < as.together; ++m) out.weights.push_back(as.lowest << (m * as.bits));
  return out;
}

std::vector<lwe::Rows> LweInput::State::rows_of(const binfhe::Ciphertexts& c, Masks masks,
                                                std::span<const run::Piece> pieces) const {
  const lwe::Form form = binfhe::form_of(lwe);
  const backend::Workers workers{backend::threads_or_cores(lanes.server().threads()), {}};
  return evaluator.placed(pieces, [&](const lwe::Stages& stages, std::size_t k) {
    const auto [begin, count] = pieces[k].range;
    if (!c.seed) return stages.upload(form, count, c.data.data() + begin * c.row());
    // A seed and the bodies are a few bytes a ciphertext, where the masks are some thousand.
    binfhe::check_mask(c, begin);
    std::vector<std::uint32_t> bodies(count);
    constexpr std::size_t piece = 4096;
    backend::parallel_for((count + piece - 1) / piece, workers, [&](std::size_t p) {
      for (std::size_t i = p * piece; i < std::min(count, (p + 1) * piece); ++i) {
        bodies[i] = c.data[(begin + i + 1) * c.row() - 1];
        if (masks == Masks::unknown) binfhe::check_mask(c, begin + i);
      }
    });
    std::span<const std::uint32_t> numbers = c.numbers;
    if (!numbers.empty()) numbers = numbers.subspan(begin, count);
    return stages.expand(form, *c.seed, begin, numbers, count, bodies.data());
  });
}

std::vector<LaneArray> LweInput::State::take_in(const binfhe::Ciphertexts& c,
                                                std::optional<unsigned> stated,
                                                const LweRows& rows) const {
  check_owner(c.parameters, c.key_id, "server of lanes", lwe, lwe_key_id);
  binfhe::check_under_lwe_key("a server of lanes", c.under);
  const std::size_t vectors = c.count / slots();
  if (c.count == 0 || c.count % slots() != 0)
    throw ShapeError(std::to_string(c.count) +
                     " LWE ciphertexts are no whole number of vectors of " +
                     std::to_string(slots()) + " lanes");
  const Coefficients as = coefficients_of(c, stated);
  const unsigned bits = as.bits;
  const ckks::Server& on = lanes.server();
  LanesAccess::count(lanes, vectors * bits);
  return math::with_memory_for("LWE ciphertexts", [&] {
    // 1. The bits of the numbers that several messages are.
    const ckks::BitPolynomials polynomials =
        as.by_step
            ? ckks::BitPolynomials{ckks::step_polynomial(on.parameters().literal().bootstrap->bits)}
            : ckks::bit_polynomials(as.all());
    std::vector<std::vector<ckks::Array>> parts(as.all());
    const LweNumbers all = numbers(vectors, as);
    const std::size_t at_once = 2 * most_rings * as.together;
    for (std::size_t first = 0; first < vectors; first += at_once) {
      LweNumbers some = all;
      some.first = first;
      some.vectors = std::min(at_once, vectors - first);
      const std::vector<ckks::Array> of_some = ckks::bits_of_coefficients(
          on, packer.packed(some, rows), polynomials, LanesAccess::maps(lanes),
          as.error / ckks::deviations, slots());
      for (unsigned j = 0; j < as.all(); ++j) parts[j].push_back(of_some[j]);
    }
    std::vector<ckks::Array> found;
    for (const auto& part : parts)
      found.push_back(part.size() == 1 ? part[0] : on.concatenate(part));
    // 2. Vector v is message v mod together of number v / together.
    const std::size_t count = found[0].info().count;
    std::vector<std::uint32_t> indices;
    for (std::size_t v = 0; v < vectors; ++v)
      indices.push_back(static_cast<std::uint32_t>(v % as.together * count + v / as.together));
    std::vector<LaneArray> out;
    for (unsigned j = 0; j < bits; ++j) {
      std::vector<ckks::Array> of_messages;
      for (unsigned i = 0; i < as.together; ++i) of_messages.push_back(found[i * bits + j]);
      const ckks::Array all_messages =
          as.together == 1 ? of_messages[0] : on.concatenate(of_messages);
      out.push_back(LanesAccess::wrap(lanes, on.take(all_messages, indices)));
    }
    return out;
  });
}

LweInput::LweInput(const ckks::Lanes& lanes, const LweInputKeys& keys, const Progress& progress)
    : state_(math::with_memory_for("keys of LWE ciphertexts", [&] {
        return std::make_shared<const State>(lanes, keys, progress);
      })) {}

const binfhe::Parameters& LweInput::lwe_parameters() const { return state_->lwe; }
const KeyId& LweInput::lwe_key_id() const { return state_->lwe_key_id; }
std::size_t LweInput::bytes() const { return state_->packer.bytes(); }

std::vector<LaneArray> LweInput::take_in(const binfhe::Ciphertexts& c, std::optional<unsigned> bits,
                                         Masks masks) const {
  binfhe::check_words(c);
  binfhe::check_numbers(c);
  binfhe::check_noise(c);
  return state_->take_in(c, bits, [&](std::span<const run::Piece> pieces) {
    return state_->rows_of(c, masks, pieces);
  });
}

std::vector<LaneArray> LweInput::take_in(const binfhe::Array& a,
                                         std::optional<unsigned> bits) const {
  const auto& array = binfhe::Access::of(a);
  if (!state_->evaluator.fleet().same_devices(array.rows.fleet()))
    return take_in(array.open_server()->download(a), bits, Masks::of_the_seed);
  return state_->take_in(array.without_words(), bits, [&](std::span<const run::Piece> pieces) {
    return state_->evaluator.placed(array.rows, pieces);
  });
}

}  // namespace whorl::bridges
