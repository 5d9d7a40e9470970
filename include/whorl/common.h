// What all schemes share: labels, seeds, digests, reports of progress.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace whorl {

/// Random label that a secret key, its evaluation keys and its ciphertexts share.
using KeyId = std::array<std::uint8_t, 16>;

/// A public seed, from which the uniform halves of keys and of fresh ciphertexts are expanded.
using Seed = std::array<std::uint8_t, 32>;

/// BLAKE2b-128 of parameters, over all fields that change ciphertexts or keys.
using Digest = std::array<std::uint8_t, 16>;

/// Lengths of an array's axes, at most 32 of them. An array without axes is a single element.
using Shape = std::vector<std::uint64_t>;

/// Long calls call it with (done, total), from the calling thread; it returns false to stop them
/// (InterruptedError).
using Progress = std::function<bool(std::size_t done, std::size_t total)>;

/// Long calls ask it every few milliseconds, from the calling thread; it returns true to stop them
/// (InterruptedError).
using Interrupt = std::function<bool()>;

/// What the library sees of an object that a circuit encodes once for many calls.
namespace circuits {
template <class Encoded>
struct EncodedAccess;
}

}  // namespace whorl
