#include "schemes/binfhe/packed.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "backend/parallel.h"
#include "math/memory.h"
#include "schemes/binfhe/account_packed.h"
#include "schemes/binfhe/derived.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

constexpr std::size_t at_once = 64;  ///< messages that a thread takes apart, some milliseconds

}  // namespace

unsigned PackedCiphertexts::word_bits() const {
  return static_cast<unsigned>(std::bit_width(modulus() - 1));
}

lattice::rlwe::AnyPlan ring_plan(const Parameters& parameters) {
  const std::uint64_t primes[] = {parameters.Q()};
  return lattice::rlwe::make_plan(parameters.N(), primes, {}, 1);
}

void check_packed_modulus(const PackedCiphertexts& packed) {
  check_coarse(packed.parameters, packed.encoding);
  const auto most = static_cast<unsigned>(std::bit_width(packed.parameters.Q() - 1));
  if (packed.log2_modulus >= most ||
      (packed.log2_modulus != 0 && packed.modulus() < 2 * packed.encoding.sectors()))
    throw EncodingError("packed ciphertexts: a modulus of 2^" +
                        std::to_string(packed.log2_modulus) + "; it must be at least 2·" +
                        std::to_string(packed.encoding.sectors()) + " and below 2^" +
                        std::to_string(most));
}

void check_packed(const PackedCiphertexts& packed) {
  check_packed_modulus(packed);
  check_messages(packed);
  if (packed.data.size() != packed.words())
    throw ShapeError("packed ciphertexts of " + std::to_string(packed.count) + " messages have " +
                     std::to_string(packed.data.size()) + " words; they must have " +
                     std::to_string(packed.words()));
  const std::uint64_t modulus = packed.modulus();
  const auto bad = std::find_if(packed.data.begin(), packed.data.end(),
                                [modulus](std::uint64_t word) { return word >= modulus; });
  if (bad != packed.data.end())
    throw RangeError("packed ciphertexts: word " + std::to_string(bad - packed.data.begin()) +
                     " is " + std::to_string(*bad) + ", not below the modulus " +
                     std::to_string(modulus));
}

Ciphertexts unpack(const PackedCiphertexts& packed, unsigned threads) {
  check_packed(packed);
  const Parameters& p = packed.parameters;
  if (packed.log2_modulus != 0)
    throw EncodingError("results that were compressed to a modulus of 2^" +
                        std::to_string(packed.log2_modulus) +
                        " are for clients: send those that servers take without compression");
  return math::with_memory_for("ciphertexts", [&] {
    Ciphertexts out{p, packed.key_id, packed.encoding, packed.count, {}, {}, packed.shape};
    out.under = Under::ring;
    with_words(out, [&]<class Word>(std::vector<Word>& words) {
      make_words(words, out);
      const std::size_t row = out.row();
      const backend::Workers workers{backend::threads_or_cores(threads), {}};
      backend::parallel_for((out.count + at_once - 1) / at_once, workers, [&](std::size_t k) {
        std::vector<std::uint64_t> wide(row);
        for (std::size_t i = k * at_once; i < std::min(out.count, (k + 1) * at_once); ++i) {
          extract(packed, i, wide);
          std::copy(wide.begin(), wide.end(), words.begin() + static_cast<std::ptrdiff_t>(i * row));
        }
      });
    });
    set_unpacked(out, packed);
    return out;
  });
}

}  // namespace whorl::binfhe
