// What tests of files share: frames with their loaders, the class of what is thrown, equal words.
#pragma once

#include "support/test.h"
#include "unit/io/samples.h"
#include "whorl/io.h"

namespace whorl::io::samples {

/// The class of what is thrown, or "nothing".
template <class Action>
std::string thrown(Action&& action) {
  try {
    action();
  } catch (const TruncatedError&) {
    return "Truncated";
  } catch (const OversizedError&) {
    return "Oversized";
  } catch (const TypeMismatchError&) {
    return "TypeMismatch";
  } catch (const VersionError&) {
    return "Version";
  } catch (const CorruptionError&) {
    return "Corruption";
  } catch (const RangeError&) {
    return "Range";
  } catch (const FormatError&) {
    return "Format";
  } catch (const ParameterMismatchError&) {
    return "ParameterMismatch";
  } catch (const KeyMismatchError&) {
    return "KeyMismatch";
  } catch (const PassphraseError&) {
    return "Passphrase";
  } catch (const EncodingError&) {
    return "Encoding";
  } catch (const ParameterError&) {
    return "Parameter";
  } catch (const ShapeError&) {
    return "Shape";
  } catch (const Error& error) {
    return std::string("Error: ") + error.what();
  }
  return "nothing";
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
Sample secret_sample(FrameType type, const Key& key, std::string_view phrase) {
  return {type, dump_secret(key, phrase, cheap_cost),
          [kept = std::string(phrase)](auto bytes, const LoadOptions& options) {
            load<Key>(bytes, kept, options);
          }};
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
