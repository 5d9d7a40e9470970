// What tests of files share: what they begin with, frames with their loaders, the class of what is
// thrown, equal words.
#pragma once

#include <cxxabi.h>

#include "support/test.h"
#include "unit/io/samples.h"
#include "unit/io/temporary_folder.h"

namespace whorl::io::samples {

/// Tests of random content, with a folder for files.
class Files : public testing::Test {
 protected:
  std::uint64_t seed = std::random_device{}();
  Random random{seed};
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  TemporaryFolder folder;
};
class BinfheFiles : public Files {
 protected:
  binfhe::Parameters parameters = tiny_parameters();
};

/// The class of what is thrown, without "Error", or "nothing".
template <class Action>
std::string thrown(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, nullptr), &std::free);
    const std::string_view all = name.get();
    return std::string(all.substr(7, all.size() - 12));  // whorl::…Error
  }
  return "nothing";
}
/// What loading a T throws.
template <class T>
std::string loading(std::span<const std::uint8_t> bytes) {
  return thrown([&] { load<T>(bytes, insecure()); });
}

struct Sample {
  FrameType type;
  Bytes frame;
  std::function<void(std::span<const std::uint8_t>, const LoadOptions&)> load;
};

template <class T>
Sample sample_of(FrameType type, const T& value) {
  return {type, dump(value),
          [](auto bytes, const LoadOptions& options) { load<T>(bytes, options); }};
}
template <class Key>
Sample secret_sample(FrameType type, const Key& key) {
  return {type, dump_secret(key, passphrase, cheap_cost),
          [](auto bytes, const LoadOptions& options) { load<Key>(bytes, passphrase, options); }};
}

/// One small frame for each type of FHEW/TFHE, ciphertexts with and without seed.
inline std::vector<Sample> binfhe_frames(Random& random) {
  const auto p = tiny_parameters();
  return {sample_of(FrameType::binfhe_parameters, p),
          secret_sample(FrameType::binfhe_secret_key, secret_key(p, random)),
          sample_of(FrameType::binfhe_evaluation_keys, evaluation_keys(p, random)),
          sample_of(FrameType::binfhe_ciphertexts, ciphertexts(p, 2, false, random)),
          sample_of(FrameType::binfhe_ciphertexts, ciphertexts(p, 5, true, random)),
          sample_of(FrameType::binfhe_lut, lut(p, {4, true}, {8, false}, random)),
          sample_of(FrameType::binfhe_program, program(p, random)),
          sample_of(FrameType::integer_program, integer_program(p))};
}

inline std::string loading(const Sample& sample, std::span<const std::uint8_t> bytes,
                           const LoadOptions& options = insecure()) {
  return thrown([&] { sample.load(bytes, options); });
}

inline void expect_same_words(const WordArray& a, const WordArray& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.word_bytes(), b.word_bytes());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
}

}  // namespace whorl::io::samples
