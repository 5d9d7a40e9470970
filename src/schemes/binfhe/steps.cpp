#include "schemes/binfhe/steps.h"

#include <algorithm>
#include <utility>

#include "schemes/binfhe/derived.h"

namespace whorl::binfhe {

std::vector<Rows> one(Rows rows) {
  std::vector<Rows> out;
  out.push_back(std::move(rows));
  return out;
}

std::uint64_t threshold_offset(const Parameters& parameters, unsigned threshold,
                               Encoding encoding) {
  const std::uint64_t sectors = encoding.sectors(), two_n = 2ULL * parameters.N();
  return two_n - ((2 * threshold - 1) * two_n + sectors) / (2 * sectors);
}

unsigned centre_of(const Parameters& parameters, std::uint64_t from, std::uint64_t to) {
  return to % from != 0 ? rounding_centre(parameters.literal()) : 0;
}

Rows to_exponents(const Parameters& parameters, const Stages& stages, Rows rows, std::uint64_t to,
                  std::uint64_t offset) {
  const unsigned centre = centre_of(parameters, rows.form().modulus, to);
  return stages.to_exponents(std::move(rows), to, offset, centre);
}

Rows to_multiples(const Parameters& parameters, const Stages& stages, Rows rows, std::uint64_t to,
                  std::uint32_t step) {
  const std::uint32_t times = std::max(1U, step / rotation_method(parameters.literal()).unit());
  Rows out = to_exponents(parameters, stages, std::move(rows), to / times, 0);
  if (times == 1) return out;
  out.read_modulo(to);
  const std::int64_t weights[] = {times};
  const Rows* in[] = {&out};
  return stages.linear(weights, in, 0);
}

Rows to_lwe_key(const Parameters& parameters, const Stages& stages, const Rows& extracted,
                std::uint64_t modulus) {
  const std::uint64_t Q_ks = parameters.Q_ks();
  Rows switched = stages.key_switch(stages.modulus_switch(extracted, Q_ks, 0));
  return stages.modulus_switch(std::move(switched), modulus, centre_of(parameters, Q_ks, modulus));
}

Rows to_rotate(const Parameters& parameters, const Stages& stages, Rows rows) {
  if (rows.form().under == lattice::lwe::Under::lwe) return rows;
  return to_lwe_key(parameters, stages, rows, parameters.q());
}

Rows result_of(const Parameters& parameters, const Stages& stages, Rows extracted, Under under) {
  if (under == Under::ring) return extracted;
  return to_lwe_key(parameters, stages, extracted, parameters.q());
}

Decision::Decision(const Parameters& parameters, std::uint64_t offset, bool negated,
                   Encoding output)
    : parameters_(parameters), offset_(offset) {
  check_encoding(parameters, output);
  half_ = (encode(1, output, parameters.Q()) + 1) / 2;
  tables_ = std::make_shared<const Tables>(parameters.N(), parameters.Q(),
                                           negated ? parameters.Q() - half_ : half_);
}

Rows Decision::operator()(const Stages& stages, Rows lwe, run::Range range) const {
  return stages.rotate(
      to_exponents(parameters_, stages, std::move(lwe), 2ULL * parameters_.N(), offset_), *tables_,
      range, half_);
}

std::size_t memory_of(const Parameters& parameters, const Footprint& footprint) {
  const std::size_t word = ring_word_bytes(parameters.Q());
  const std::size_t N = parameters.N(), row = std::size_t{parameters.n()} + 1;
  const std::size_t lwe = row * sizeof(std::uint32_t), extract = (N + 1) * word;
  const std::size_t in = footprint.under == Under::ring ? extract : lwe;
  const std::size_t inputs = footprint.inputs * in + footprint.kept * lwe;
  if (!footprint.rotates) return inputs + in;
  const std::size_t rotating = lwe + sizeof(std::uint32_t) + extract +
                               (footprint.own_table ? N * word : 0) +
                               (footprint.keeps_extract ? extract : 0);
  // `lwe` twice: an arbitrary table keeps its input while the top bit is switched. The extract may
  // be widened to the words of Q_ks.
  const std::size_t ks_word = array_word_bytes(parameters.Q_ks());
  const std::size_t switching =
      2 * lwe + extract + (N + 1 + row) * ks_word + (footprint.under == Under::ring ? in : 0);
  return inputs + std::max(rotating, switching);
}

}  // namespace whorl::binfhe
