// What a circuit on ciphertexts over RNS rings costs, as dry runs count it.
#pragma once

#include <cstddef>

namespace whorl {

/// Counts of a dry run since it was made. A batch of k ciphertexts counts k times.
struct RingCosts {
  std::size_t products = 0;          ///< of two ciphertexts
  std::size_t relinearisations = 0;  ///< of ciphertexts, to two parts
  std::size_t plain_products = 0;    ///< of a ciphertext and a plaintext, also those in linear maps
  std::size_t rotations = 0;         ///< automorphisms, among them conjugations and swaps of rows
  std::size_t key_switches = 0;      ///< of one part of a ciphertext each
  std::size_t bootstraps = 0;        ///< raised moduli; a bootstrap of k iterations raises k
  std::size_t keys = 0;              ///< switching keys that were asked for, each once
  std::size_t key_bytes = 0;         ///< of these keys as they are sent

  // The longest sequences, over all arrays.
  unsigned depth = 0;        ///< products of ciphertexts
  unsigned plain_depth = 0;  ///< products with plaintexts
  /// log2 of the most ciphertexts added up between two products of ciphertexts. A product with an
  /// integer c counts as c of them.
  double sums = 0;
};

}  // namespace whorl
