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
#include "schemes/binfhe/account.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::bridges {

using ckks::LaneArray;
using ckks::LanesAccess;

namespace {

/// A Gaussian is beyond them with a probability of 2^-104, as an error of a lane is beyond its
/// bound.
constexpr double tail = 11.8;
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
  Coefficients coefficients_of(const binfhe::Ciphertexts& c, unsigned bits) const;
  /// Rows for 2·slots coefficients of a ring ciphertext, in their order there.
  LweRows rows_of(const binfhe::Ciphertexts& c, const Coefficients& as) const;
};

Coefficients LweInput::State::coefficients_of(const binfhe::Ciphertexts& c, unsigned bits) const {
  const ckks::Server& server = lanes.server();
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
               own = tail * std::sqrt(variance) / q * number,
               packing = packing_error(server.parameters(), lwe, tail);
  const auto log2_sectors = static_cast<unsigned>(std::countr_zero(sectors));
  const ckks::EncodedBootstrap& maps = LanesAccess::maps(lanes);
  Coefficients best{.bits = bits};
  double weights = 0;
  for (unsigned together = 1; together * bits <= std::min(log2_sectors, most); ++together) {
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

LweRows LweInput::State::rows_of(const binfhe::Ciphertexts& c, const Coefficients& as) const {
  const std::size_t row = c.row(), lanes_of_each = slots(), vectors = c.count / lanes_of_each,
                    numbers = (vectors + as.together - 1) / as.together,
                    all = (numbers + 1) / 2 * 2 * lanes_of_each;
  const auto log2_slots = static_cast<unsigned>(std::countr_zero(lanes_of_each));
  const std::uint64_t q = lwe.q(), to = packed_modulus(lwe), down = q / to;
  LweRows out{std::vector<std::uint32_t>(all * row)};
  const auto one = [&](std::size_t number, std::size_t lane) {
    std::size_t place = 0;  // the bits of the lane, reversed
    for (unsigned k = 0; k < log2_slots; ++k) place |= (lane >> k & 1) << (log2_slots - 1 - k);
    std::uint32_t* const at = out.words.data() + (number * lanes_of_each + place) * row;
    for (std::size_t k = 0; k < row; ++k) {
      std::uint64_t sum = k + 1 == row ? as.half : 0;
      for (unsigned i = 0; i < as.together && number * as.together + i < vectors; ++i)
        sum +=
            c[(number * as.together + i) * lanes_of_each + lane][k] * (as.lowest << (i * as.bits));
      // Moduli are powers of two, so that nothing is lost where this wraps around.
      at[k] = static_cast<std::uint32_t>((sum % q + down / 2) / down % to);
    }
  };
  constexpr std::size_t piece = 64;
  backend::parallel_for((all + piece - 1) / piece,
                        {backend::threads_or_cores(lanes.server().threads()), {}},
                        [&](std::size_t p) {
                          for (std::size_t i = p * piece; i < std::min((p + 1) * piece, all); ++i)
                            one(i / lanes_of_each, i % lanes_of_each);
                        });
  return out;
}

LweInput::LweInput(const ckks::Lanes& lanes, const LweInputKeys& keys, const Progress& progress)
    : state_(math::with_memory_for("keys of LWE ciphertexts", [&] {
        return std::make_shared<const State>(lanes, keys, progress);
      })) {}

const binfhe::Parameters& LweInput::lwe_parameters() const { return state_->lwe; }
const KeyId& LweInput::lwe_key_id() const { return state_->lwe_key_id; }
std::size_t LweInput::bytes() const { return state_->packer.bytes(); }

std::vector<LaneArray> LweInput::take_in(const binfhe::Ciphertexts& c, unsigned bits) const {
  const State& s = *state_;
  check_owner(c.parameters, c.key_id, "server of lanes", s.lwe, s.lwe_key_id);
  binfhe::check_words(c);
  binfhe::check_noise(c);
  const std::size_t slots = s.slots(), vectors = c.count / slots;
  if (c.count == 0 || c.count % slots != 0)
    throw ShapeError(std::to_string(c.count) +
                     " LWE ciphertexts are no whole number of vectors of " + std::to_string(slots) +
                     " lanes");
  const Coefficients as = s.coefficients_of(c, bits);
  const ckks::Server& server = s.lanes.server();
  LanesAccess::count(s.lanes, vectors * bits);
  return math::with_memory_for("LWE ciphertexts", [&] {
    // 1. The bits of the numbers that several messages are.
    const std::vector<ckks::Array> found =
        ckks::bits_of_coefficients(server, s.packer.packed(s.rows_of(c, as), 2 * slots),
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
