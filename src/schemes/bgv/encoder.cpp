#include "schemes/bgv/encoder.h"

#include <bit>
#include <memory>

#include "math/modulus.h"
#include "math/secret.h"
#include "schemes/bgv/plain_modulus.h"
#include "schemes/ring/derived.h"
#include "whorl/error.h"

namespace whorl::bgv {

std::uint32_t rotation_exponent(std::uint32_t N, std::int64_t columns) {
  return exponent_of(N, 3, columns);
}

Encoder::Encoder(const Parameters& parameters) : parameters_(parameters) {
  if (!parameters_.has_slots()) return;
  const std::uint32_t N = parameters_.N();
  ntt_.emplace(std::make_shared<const ring::NttPlan<std::uint32_t>>(
      N, static_cast<std::uint32_t>(parameters_.t())));
  const unsigned bits = static_cast<unsigned>(std::bit_width(N) - 1);
  place_.resize(N);
  std::uint64_t e = 1;
  for (std::uint32_t column = 0; column < N / 2; ++column, e = 3 * e % (2ULL * N)) {
    // Value i is at psi^(2·brv(i) + 1).
    place_[column] = ring::bit_reverse(static_cast<std::uint32_t>((e - 1) / 2), bits);
    place_[N / 2 + column] =
        ring::bit_reverse(static_cast<std::uint32_t>((2ULL * N - e - 1) / 2), bits);
  }
}

void Encoder::check(const Parameters& parameters, Packing packing) {
  if (packing == Packing::slots && !parameters.has_slots())
    throw EncodingError("packing: t = " + std::to_string(parameters.t()) +
                        " is not a prime = 1 mod 2N = " + std::to_string(2ULL * parameters.N()) +
                        ": there are no slots, only coefficients; " +
                        nearest_with_slots(parameters.t(), parameters.N()));
}

void Encoder::check(Packing packing) const {
  if (!ntt_) check(parameters_, packing);
}

Rows Encoder::rows(std::size_t values, std::size_t length, Packing packing) const {
  const std::size_t N = parameters_.N();
  length = vector_length(values, length, values % N == 0 ? N : values,
                         packing == Packing::coefficients, N);
  return {values / length, length, (length - 1) / N + 1, parameters_.N()};
}

void Encoder::encode(std::span<const std::int64_t> values, Packing packing,
                     std::span<std::int64_t> coefficients) const {
  check(packing);
  const std::size_t N = parameters_.N();
  const math::Modulus<std::uint64_t> t(parameters_.t());
  if (packing == Packing::coefficients) {
    std::ranges::fill(coefficients, 0);
    for (std::size_t j = 0; j < values.size(); ++j)
      coefficients[j] = t.centred(t.from_signed(values[j]));
    return;
  }
  math::WipedVector<std::uint32_t> residues(N);
  for (std::size_t j = 0; j < values.size(); ++j)
    residues.span()[place_[j]] = static_cast<std::uint32_t>(t.from_signed(values[j]));
  ntt_->inverse(residues.span());
  for (std::size_t j = 0; j < N; ++j) coefficients[j] = t.centred(residues[j]);
}

void Encoder::decode(Packing packing, std::span<std::uint64_t> coefficients) const {
  check(packing);
  if (packing == Packing::coefficients) return;
  const std::size_t N = parameters_.N();
  math::WipedVector<std::uint32_t> residues(N);
  for (std::size_t j = 0; j < N; ++j)
    residues.span()[j] = static_cast<std::uint32_t>(coefficients[j]);
  ntt_->forward(residues.span());
  for (std::size_t j = 0; j < N; ++j) coefficients[j] = residues[place_[j]];
}

}  // namespace whorl::bgv
