// What the fuzz targets of the schemes over RNS rings share. Scheme is a struct of
// unit/io/NAME_samples.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fuzz/support/frames.h"
#include "unit/io/rlwe_samples.h"

namespace whorl::io::fuzz {

/// Good frames of all types under one set.
template <class Scheme>
std::vector<Bytes> rlwe_seeds(const typename Scheme::Parameters& parameters,
                              samples::Random& random) {
  std::vector<Bytes> seeds = {
      dump(parameters),
      dump(samples::ring_public_key(parameters, Scheme::fresh_limbs(parameters), random)),
      dump(Scheme::evaluation_keys(parameters, random)),
      dump(Scheme::at_any_level(parameters, 1, 2, random)),
      dump(Scheme::fresh(parameters, 1, random))};
  auto shaped = Scheme::fresh(parameters, 1, random);
  shaped.shape = Shape{1, 1};
  seeds.push_back(dump(shaped));
  const auto batch = Scheme::fresh(parameters, 3, random);
  seeds.push_back(dump(take(batch, std::vector<std::uint32_t>{2, 0})));
  seeds.push_back(dump_secret(samples::ternary_key<typename Scheme::SecretKey>(parameters, random),
                              samples::passphrase, samples::cheap_cost));
  return seeds;
}

/// All loaders of a scheme: the type in the input's header says which one the repaired input is
/// for. (The five types follow one another.)
template <class Scheme>
void try_rlwe(std::span<const std::uint8_t> input) {
  const auto number = [](FrameType type) { return static_cast<unsigned>(type) % 5; };
  const unsigned wanted = input.size() > samples::type_at ? input[samples::type_at] % 5
                                                          : number(Scheme::parameters_type);
  if (wanted == number(Scheme::parameters_type))
    return try_both<typename Scheme::Parameters>(input,
                                                 {.type = Scheme::parameters_type, .keyed = false});
  if (wanted == number(Scheme::evaluation_keys_type))
    return try_both<typename Scheme::EvaluationKeys>(input, {.type = Scheme::evaluation_keys_type});
  if (wanted == number(Scheme::ciphertexts_type))
    return try_both<typename Scheme::Ciphertexts>(
        input, {.type = Scheme::ciphertexts_type, .seeded = true});
  if (wanted == number(Scheme::public_key_type))
    return try_both<typename Scheme::PublicKey>(input, {.type = Scheme::public_key_type});
  try {
    load<typename Scheme::SecretKey>(
        repaired<typename Scheme::Parameters>(input, {.type = Scheme::secret_key_type}),
        samples::passphrase, options(), samples::cheap_cost);
  } catch (const Error&) {
    return;
  }
}

}  // namespace whorl::io::fuzz
