#include "math/sampling.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "math/text.h"
#include "whorl/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/sampling.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace whorl::math::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each uniform word becomes a sample: the low bit is the sign, the others are the draw. Four
// vectors at a time hide the latency of the comparison and share the load of the threshold. count
// must be a multiple of 4 * Lanes.
void gaussian_from_words(int64_t* HWY_RESTRICT words, size_t count,
                         const uint64_t* HWY_RESTRICT tails, size_t tail_count) {
  const hn::ScalableTag<int64_t> d;
  const hn::RebindToUnsigned<decltype(d)> d_unsigned;
  const size_t lanes = hn::Lanes(d);
  const auto draw = [&](size_t i) HWY_ATTR {
    const auto word = hn::LoadU(d_unsigned, reinterpret_cast<uint64_t*>(words) + i);
    return hn::BitCast(d, hn::ShiftRight<1>(word));
  };
  const auto finish = [&](auto minus_magnitude, size_t i) HWY_ATTR {
    // A set low bit keeps the value negative, a clear one turns it: (v ^ m) - m with m = 0 or -1.
    const auto one = hn::Set(d, 1);
    const auto m = hn::Sub(hn::And(hn::LoadU(d, words + i), one), one);
    hn::StoreU(hn::Sub(hn::Xor(minus_magnitude, m), m), d, words + i);
  };
  for (size_t i = 0; i < count; i += 4 * lanes) {
    const auto u0 = draw(i);
    const auto u1 = draw(i + lanes);
    const auto u2 = draw(i + 2 * lanes);
    const auto u3 = draw(i + 3 * lanes);
    auto v0 = hn::Zero(d);
    auto v1 = hn::Zero(d);
    auto v2 = hn::Zero(d);
    auto v3 = hn::Zero(d);
    for (size_t k = 0; k < tail_count; ++k) {
      const auto tail = hn::Set(d, static_cast<int64_t>(tails[k]));
      v0 = hn::Add(v0, hn::VecFromMask(d, hn::Lt(u0, tail)));
      v1 = hn::Add(v1, hn::VecFromMask(d, hn::Lt(u1, tail)));
      v2 = hn::Add(v2, hn::VecFromMask(d, hn::Lt(u2, tail)));
      v3 = hn::Add(v3, hn::VecFromMask(d, hn::Lt(u3, tail)));
    }
    finish(v0, i);
    finish(v1, i + lanes);
    finish(v2, i + 2 * lanes);
    finish(v3, i + 3 * lanes);
  }
}

}  // namespace whorl::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::math {

HWY_EXPORT(gaussian_from_words);

namespace {

// Words of the stream and what becomes of them, wiped when the block goes.
template <class Word>
struct Block {
  static constexpr size_t size = 1024;
  alignas(64) std::array<Word, size> words;

  void draw(PrivateStream& stream, size_t count) {
    stream.fill({reinterpret_cast<uint8_t*>(words.data()), count * sizeof(Word)});
  }
  ~Block() { sodium_memzero(words.data(), sizeof(words)); }
};

}  // namespace

void sample_binary(PrivateStream& stream, std::span<int32_t> out) {
  Block<uint8_t> block;
  for (size_t done = 0; done < out.size();) {
    const size_t count = std::min(8 * block.words.size(), out.size() - done);
    block.draw(stream, (count + 7) / 8);
    for (size_t i = 0; i < count; ++i) out[done + i] = (block.words[i / 8] >> (i % 8)) & 1;
    done += count;
  }
}

void sample_ternary(PrivateStream& stream, std::span<int32_t> out) {
  Block<uint64_t> block;
  for (size_t done = 0; done < out.size();) {
    const size_t count = std::min(block.words.size(), out.size() - done);
    block.draw(stream, count);
    for (size_t i = 0; i < count; ++i) {
      out[done + i] =
          static_cast<int32_t>((static_cast<unsigned __int128>(block.words[i]) * 3) >> 64) - 1;
    }
    done += count;
  }
}

void sample_block_binary(PrivateStream& stream, uint32_t length, std::span<int32_t> out) {
  if (length == 0 || out.size() % length != 0)
    throw ParameterError("blocks of " + std::to_string(length) + " do not divide " +
                         std::to_string(out.size()) + " coefficients");
  Block<uint64_t> block;
  for (size_t done = 0; done < out.size();) {
    const size_t count = std::min(block.words.size(), (out.size() - done) / length);
    block.draw(stream, count);
    for (size_t i = 0; i < count; ++i) {
      const auto place = static_cast<uint32_t>(
          (static_cast<unsigned __int128>(block.words[i]) * (uint64_t{length} + 1)) >> 64);
      for (uint32_t t = 0; t < length; ++t) {
        const uint64_t difference = place ^ t;  // below 2^32: less 1 it wraps around if it is 0
        out[done++] = static_cast<int32_t>((difference - 1) >> 63);
      }
    }
  }
}

void sample_sparse(PrivateStream& stream, uint32_t weight, std::span<int32_t> out) {
  if (weight > out.size() || out.size() >= size_t{1} << 32)
    throw ParameterError("a sparse secret of weight " + std::to_string(weight) + " in " +
                         std::to_string(out.size()) + " places cannot be sampled");
  Block<uint64_t> choices, signs;
  uint64_t left = weight;
  for (size_t done = 0; done < out.size();) {
    const size_t count = std::min(choices.words.size(), out.size() - done);
    choices.draw(stream, count);
    signs.draw(stream, count);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t places = out.size() - done - i;
      const auto at =
          static_cast<uint64_t>((static_cast<unsigned __int128>(choices.words[i]) * places) >> 64);
      // at < left, as the sign of the difference: both are below 2^32.
      const uint64_t chosen = (at - left) >> 63;
      left -= chosen;
      const auto sign = static_cast<int32_t>(signs.words[i] & 1) * 2 - 1;
      out[done + i] = static_cast<int32_t>(chosen) * sign;
    }
    done += count;
  }
}

namespace {

/// Returns the least k for which a sum over i < k of 2^i·x_i has the deviation `sigma` while that
/// of x_i is at most 12, and the deviation of x_i.
std::pair<int, double> parts_of(double sigma) {
  int k = 1;
  double sum_of_squares = 1;
  while (sigma > 12 * std::sqrt(sum_of_squares)) sum_of_squares += std::ldexp(1, 2 * k++);
  return {k, sigma / std::sqrt(sum_of_squares)};
}

}  // namespace

GaussianSampler::GaussianSampler(double sigma) : sigma_(sigma) {
  if (!(sigma >= 0.5 && sigma <= greatest_sigma)) {
    throw ParameterError("sigma = " + text_of(sigma) + " is outside [0.5, 2^24]");
  }
  if (sigma > 64) {
    const auto [parts, width] = parts_of(sigma);
    parts_ = parts;
    sigma = width;
  }
  // Summed from the far end, where terms are small, so that the tails keep their relative
  // precision.
  const int reach = static_cast<int>(14 * sigma) + 1;
  std::vector<long double> tail(static_cast<size_t>(reach) + 1, 0);
  for (int k = reach; k > 0; --k) {
    const long double x = k / static_cast<long double>(sigma);
    tail[static_cast<size_t>(k) - 1] = tail[static_cast<size_t>(k)] + 2 * std::exp(-x * x / 2);
  }
  const long double total = 1 + tail[0];
  for (const long double t : tail) {
    const auto scaled = static_cast<uint64_t>(std::round(std::ldexp(t / total, 63)));
    if (scaled == 0) break;
    tails_.push_back(scaled);
  }
}

double GaussianSampler::variance() const {
  // E[x^2] = sum over k of (2k + 1) P(|x| > k).
  long double sum = 0;
  for (size_t k = tails_.size(); k-- > 0;) {
    sum += static_cast<long double>(2 * k + 1) * static_cast<long double>(tails_[k]);
  }
  // 1 + 4 + … + 4^(parts - 1) parts' variances.
  return static_cast<double>(std::ldexp(sum, -63) * (std::ldexp(1.0L, 2 * parts_) - 1) / 3);
}

void GaussianSampler::sample(PrivateStream& stream, std::span<int32_t> out) const {
  if (parts_ == 1) return sample_part(stream, out);
  std::array<int32_t, 1024> drawn;
  std::ranges::fill(out, 0);
  for (size_t done = 0; done < out.size(); done += drawn.size()) {
    const size_t count = std::min(drawn.size(), out.size() - done);
    for (int i = 0; i < parts_; ++i) {
      sample_part(stream, std::span(drawn).first(count));
      for (size_t j = 0; j < count; ++j) out[done + j] += drawn[j] * (int32_t{1} << i);
    }
  }
  sodium_memzero(drawn.data(), sizeof drawn);
}

void GaussianSampler::sample_part(PrivateStream& stream, std::span<int32_t> out) const {
  Block<int64_t> block;
  const auto from_words = HWY_DYNAMIC_DISPATCH(gaussian_from_words);
  for (size_t done = 0; done < out.size();) {
    const size_t count = std::min(block.words.size(), out.size() - done);
    // Whole vectors: at most 4 of 16 lanes at once (1024-bit vectors).
    const size_t padded = (count + 63) / 64 * 64;
    block.draw(stream, padded);
    from_words(block.words.data(), padded, tails_.data(), tails_.size());
    for (size_t i = 0; i < count; ++i) out[done + i] = static_cast<int32_t>(block.words[i]);
    done += count;
  }
}

void add_gaussian(PrivateStream& stream, double sigma, std::span<double> values) {
  if (!(sigma <= 0x1p1000))
    throw ParameterError("sigma = " + text_of(sigma) + " is outside [0.5, 2^1000]");
  const auto [k, width] = parts_of(sigma);
  const GaussianSampler sampler(width);
  std::array<int32_t, 1024> drawn;
  for (size_t done = 0; done < values.size(); done += drawn.size()) {
    const size_t count = std::min(drawn.size(), values.size() - done);
    for (int i = 0; i < k; ++i) {
      sampler.sample(stream, std::span(drawn).first(count));
      const double weight = std::ldexp(1, i);
      for (size_t j = 0; j < count; ++j) values[done + j] += weight * drawn[j];
    }
  }
  sodium_memzero(drawn.data(), sizeof drawn);
}

}  // namespace whorl::math
#endif  // HWY_ONCE
