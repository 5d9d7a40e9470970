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
#include "math/memory.h"
#include "math/text.h"
#include "ring/ntt_plan.h"
#include "schemes/binfhe/account.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::bridges {

using ckks::LaneArray;
using ckks::LanesAccess;

namespace {

/// What is left of an error after a bootstrap of several ciphertexts a coefficient, or by the
/// cheaper polynomial of one: a cleaning then leaves less than 2^-8.
constexpr double largest_usual = 1.0 / 32;
/// What lanes take.
constexpr double largest_lane = 1.0 / 8;

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
  State(const ckks::Lanes& of, const LweInputKeys& keys, const Progress& progress)
      : lanes(of),
        lwe(keys.lwe_parameters),
        lwe_key_id(keys.lwe_key_id),
        packer(of.server(), keys, progress) {}

  ckks::Lanes lanes;
  binfhe::Parameters lwe;
  KeyId lwe_key_id;
  Packer packer;

  std::size_t slots() const { return LanesAccess::maps(lanes).slots(); }
  /// Throws what take_in() throws of encoding, messages and noise.
  Coefficients coefficients_of(const binfhe::Ciphertexts& c, std::optional<unsigned> stated) const;
  /// For 2·slots coefficients of each ring ciphertext, in their order there.
  LweColumns columns_of(const binfhe::Ciphertexts& c, const Coefficients& as) const;
};

Coefficients LweInput::State::coefficients_of(const binfhe::Ciphertexts& c,
                                              std::optional<unsigned> stated) const {
  const ckks::Server& server = lanes.server();
  const unsigned bits = stated.value_or(1);
  const unsigned most = server.parameters().literal().bootstrap->bits;
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
               packing = packing_error(server.parameters(), lwe, ckks::gaussian_deviations);
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
    as.error = ckks::error_of_bits(server, maps, as.all(), given, ckks::deviations);
    if (as.all() == 1 && as.error > largest_usual) {
      as.by_step = true;
      as.error = ckks::error_of_step(server, maps, given, ckks::deviations);
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

LweColumns LweInput::State::columns_of(const binfhe::Ciphertexts& c, const Coefficients& as) const {
  const std::size_t row = c.row(), lanes_of_each = slots(), vectors = c.count / lanes_of_each,
                    numbers = (vectors + as.together - 1) / as.together,
                    all = (numbers + 1) / 2 * 2 * lanes_of_each;
  const auto log2_slots = static_cast<unsigned>(std::countr_zero(lanes_of_each));
  // Moduli are powers of two, so that nothing is lost where sums wrap around.
  const std::uint64_t q = lwe.q(), to = packed_modulus(lwe), down = q / to;
  const auto shift = static_cast<unsigned>(std::countr_zero(down));
  const auto mask = static_cast<std::uint32_t>(to - 1);
  LweColumns out{all, std::vector<std::uint32_t>(all * row)};
  // A few coefficients at a time: rows are read and columns are written in one piece each.
  constexpr std::size_t piece = 16;
  const auto some = [&](std::size_t first) {
    const std::size_t count = std::min(piece, all - first);
    std::vector<std::uint64_t> sums(count * row);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = (first + i) / lanes_of_each,
                        lane = ring::bit_reverse(
                            static_cast<std::uint32_t>((first + i) % lanes_of_each), log2_slots);
      std::uint64_t* const sum = sums.data() + i * row;
      for (unsigned m = 0; m < as.together && number * as.together + m < vectors; ++m) {
        const auto message = c[(number * as.together + m) * lanes_of_each + lane];
        const std::uint64_t weight = as.lowest << (m * as.bits);
        for (std::size_t k = 0; k < row; ++k) sum[k] += message[k] * weight;
      }
      sum[row - 1] += as.half;
    }
    for (std::size_t k = 0; k < row; ++k)
      for (std::size_t i = 0; i < count; ++i)
        out.words[k * all + first + i] =
            static_cast<std::uint32_t>((sums[i * row + k] + down / 2) >> shift) & mask;
  };
  backend::parallel_for((all + piece - 1) / piece,
                        {backend::threads_or_cores(lanes.server().threads()), {}},
                        [&](std::size_t p) { some(p * piece); });
  return out;
}

LweInput::LweInput(const ckks::Lanes& lanes, const LweInputKeys& keys, const Progress& progress)
    : state_(math::with_memory_for("keys of LWE ciphertexts", [&] {
        return std::make_shared<const State>(lanes, keys, progress);
      })) {}

const binfhe::Parameters& LweInput::lwe_parameters() const { return state_->lwe; }
const KeyId& LweInput::lwe_key_id() const { return state_->lwe_key_id; }
std::size_t LweInput::bytes() const { return state_->packer.bytes(); }

std::vector<LaneArray> LweInput::take_in(const binfhe::Ciphertexts& c,
                                         std::optional<unsigned> stated) const {
  const State& s = *state_;
  check_owner(c.parameters, c.key_id, "server of lanes", s.lwe, s.lwe_key_id);
  binfhe::check_words(c);
  binfhe::check_noise(c);
  const std::size_t slots = s.slots(), vectors = c.count / slots;
  if (c.count == 0 || c.count % slots != 0)
    throw ShapeError(std::to_string(c.count) +
                     " LWE ciphertexts are no whole number of vectors of " + std::to_string(slots) +
                     " lanes");
  const Coefficients as = s.coefficients_of(c, stated);
  const unsigned bits = as.bits;
  const ckks::Server& server = s.lanes.server();
  LanesAccess::count(s.lanes, vectors * bits);
  return math::with_memory_for("LWE ciphertexts", [&] {
    // 1. The bits of the numbers that several messages are.
    const std::vector<ckks::Array> found =
        ckks::bits_of_coefficients(server, s.packer.packed(s.columns_of(c, as), 2 * slots),
                                   as.by_step ? ckks::BitPolynomials{ckks::step_polynomial(
                                                    server.parameters().literal().bootstrap->bits)}
                                              : ckks::bit_polynomials(as.all()),
                                   LanesAccess::maps(s.lanes), as.error / ckks::deviations);
    // 2. Vector v is message v mod together of number v / together.
    const std::size_t numbers = found[0].info().count;
    std::vector<std::uint32_t> indices;
    for (std::size_t v = 0; v < vectors; ++v)
      indices.push_back(static_cast<std::uint32_t>(v % as.together * numbers + v / as.together));
    std::vector<LaneArray> out;
    for (unsigned j = 0; j < bits; ++j) {
      std::vector<ckks::Array> of_messages;
      for (unsigned i = 0; i < as.together; ++i) of_messages.push_back(found[i * bits + j]);
      const ckks::Array all = as.together == 1 ? of_messages[0] : server.concatenate(of_messages);
      out.push_back(LanesAccess::wrap(s.lanes, server.take(all, indices)));
    }
    return out;
  });
}

}  // namespace whorl::bridges
