// BGV ciphertexts whose shape is wrong in itself, or for the words that they have.
#pragma once

#include "support/test.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::test {

/// refused(change, error) for changes to a batch of two, of two parts and four limbs; `error` is a
/// null pointer to the type that is due.
template <class Refused>
void each_wrong_shape(const Refused& refused) {
  using bgv::Ciphertexts;
  ShapeError* const shape = nullptr;
  RangeError* const range = nullptr;
  for (const unsigned parts : {0u, 1u, 17u, 0xffffffffu})
    refused([=](Ciphertexts& c) { c.info.parts = parts; }, range);
  refused([](Ciphertexts& c) { c.info.parts = 3; }, shape);
  for (const unsigned limbs : {0u, 5u})
    refused([=](Ciphertexts& c) { c.info.limbs = limbs; }, range);
  refused([](Ciphertexts& c) { c.info.limbs = 3; }, shape);
  refused([](Ciphertexts& c) { c.info.count = 0; }, range);
  // The last of these has the right number of words modulo 2^64.
  for (const std::uint64_t count :
       {std::uint64_t{1}, std::uint64_t{3}, (std::uint64_t{1} << 51) + 2, std::uint64_t{1} << 54})
    refused([=](Ciphertexts& c) { c.info.count = count; }, shape);
}

}  // namespace whorl::test
