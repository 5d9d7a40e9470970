#include "math/keystream.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/keystream.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace whorl::math::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Du32 = hn::ScalableTag<uint32_t>;
using Vu32 = hn::Vec<Du32>;
constexpr size_t kLanes = HWY_LANES(uint32_t);
constexpr size_t kBlockWords = 16;
constexpr size_t kBlockBytes = 64;

HWY_INLINE void quarter_round(Vu32& a, Vu32& b, Vu32& c, Vu32& d) {
  a = hn::Add(a, b);
  d = hn::RotateRight<16>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = hn::RotateRight<20>(hn::Xor(b, c));
  a = hn::Add(a, b);
  d = hn::RotateRight<24>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = hn::RotateRight<25>(hn::Xor(b, c));
}

// Element j of vector i becomes element i of vector j.
HWY_INLINE void transpose([[maybe_unused]] Vu32* x) {
#if HWY_TARGET != HWY_SCALAR
  // Each round turns the bits of the index (vector, lane) by one place.
  const Du32 d;
  for (size_t round = 1; round < kLanes; round *= 2) {
    Vu32 y[kLanes];
    HWY_UNROLL(8)
    for (size_t i = 0; i < kLanes / 2; ++i) {
      y[i] = hn::ConcatEven(d, x[2 * i + 1], x[2 * i]);
      y[i + kLanes / 2] = hn::ConcatOdd(d, x[2 * i + 1], x[2 * i]);
    }
    HWY_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) x[i] = y[i];
  }
#endif
}

// The address may be any one: rows of 16-bit words end anywhere.
HWY_INLINE void store(Vu32 x, uint8_t* to) {
#if HWY_TARGET == HWY_SCALAR
  std::memcpy(to, &x.raw, sizeof(x.raw));
#else
  const hn::Repartition<uint8_t, Du32> bytes;
  hn::StoreU(hn::BitCast(bytes, x), bytes, to);
#endif
}

// What the lanes work at: one block each.
struct Lanes {
  HWY_ALIGN uint32_t counter[2][kLanes];  // low and high words
  HWY_ALIGN uint32_t nonce[2][kLanes];
};

void count_up(uint64_t first, uint32_t (&words)[2][kLanes]) {
  for (size_t i = 0; i < kLanes; ++i) {
    words[0][i] = static_cast<uint32_t>(first + i);
    words[1][i] = static_cast<uint32_t>((first + i) >> 32);
  }
}
void repeat(uint64_t value, uint32_t (&words)[2][kLanes]) {
  std::fill_n(words[0], kLanes, static_cast<uint32_t>(value));
  std::fill_n(words[1], kLanes, static_cast<uint32_t>(value >> 32));
}

// One masked block a lane, lane i's to out + i * stride.
HWY_INLINE void make_blocks(const uint32_t* HWY_RESTRICT key, const Lanes& lanes, uint64_t mask,
                            uint8_t* HWY_RESTRICT out, size_t stride) {
  const Du32 d;
  const auto initial = [&](size_t word) HWY_ATTR {
    constexpr uint32_t constants[] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    return word < 4    ? hn::Set(d, constants[word])
           : word < 12 ? hn::Set(d, key[word - 4])
           : word < 14 ? hn::Load(d, lanes.counter[word - 12])
                       : hn::Load(d, lanes.nonce[word - 14]);
  };
  Vu32 x[kBlockWords];
  HWY_UNROLL(16)
  for (size_t word = 0; word < kBlockWords; ++word) x[word] = initial(word);
  for (int double_round = 0; double_round < 10; ++double_round) {
    quarter_round(x[0], x[4], x[8], x[12]);
    quarter_round(x[1], x[5], x[9], x[13]);
    quarter_round(x[2], x[6], x[10], x[14]);
    quarter_round(x[3], x[7], x[11], x[15]);
    quarter_round(x[0], x[5], x[10], x[15]);
    quarter_round(x[1], x[6], x[11], x[12]);
    quarter_round(x[2], x[7], x[8], x[13]);
    quarter_round(x[3], x[4], x[9], x[14]);
  }
  const Vu32 masks[] = {hn::Set(d, static_cast<uint32_t>(mask)),
                        hn::Set(d, static_cast<uint32_t>(mask >> 32))};
  HWY_UNROLL(16)
  for (size_t word = 0; word < kBlockWords; ++word) {
    x[word] = hn::And(hn::Add(x[word], initial(word)), masks[word % 2]);
  }
  HWY_UNROLL(16)
  for (size_t word = 0; word < kBlockWords; word += kLanes) {
    transpose(x + word);
    HWY_UNROLL(16)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      store(x[word + lane], out + lane * stride + sizeof(uint32_t) * word);
    }
  }
}

void rows_of_keystream(const uint32_t* key, const KeystreamRows& rows, size_t stride,
                       uint8_t* out) {
  const size_t whole_blocks = rows.bytes / kBlockBytes;
  const size_t rest = rows.bytes % kBlockBytes;
  HWY_ALIGN uint8_t spare[kLanes * kBlockBytes];  // for what ends within a block
  Lanes lanes;
  size_t row = 0;
  // Lanes are rows, where lanes that are blocks of one row would leave some idle at its end.
  if (rows.bytes % (kLanes * kBlockBytes) != 0) {
    for (; row + kLanes <= rows.count; row += kLanes) {
      uint8_t* to = out + row * stride;
      count_up(rows.first_nonce + row, lanes.nonce);
      for (size_t block = 0; block < whole_blocks; ++block, to += kBlockBytes) {
        repeat(rows.first_block + block, lanes.counter);
        make_blocks(key, lanes, rows.mask, to, stride);
      }
      if (rest != 0) {
        repeat(rows.first_block + whole_blocks, lanes.counter);
        make_blocks(key, lanes, rows.mask, spare, kBlockBytes);
        for (size_t lane = 0; lane < kLanes; ++lane) {
          std::memcpy(to + lane * stride, spare + lane * kBlockBytes, rest);
        }
      }
    }
  }
  for (; row < rows.count; ++row) {
    repeat(rows.first_nonce + row, lanes.nonce);
    for (size_t done = 0; done < rows.bytes; done += kLanes * kBlockBytes) {
      uint8_t* to = out + row * stride + done;
      count_up(rows.first_block + done / kBlockBytes, lanes.counter);
      const size_t left = rows.bytes - done;
      if (left >= kLanes * kBlockBytes) {
        make_blocks(key, lanes, rows.mask, to, kBlockBytes);
      } else {
        make_blocks(key, lanes, rows.mask, spare, kBlockBytes);
        std::memcpy(to, spare, left);
      }
    }
  }
}

}  // namespace whorl::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::math {

HWY_EXPORT(rows_of_keystream);

void keystream_rows(const std::array<uint8_t, 32>& key, const KeystreamRows& rows, size_t stride,
                    uint8_t* out) {
  std::array<uint32_t, 8> words;
  std::memcpy(words.data(), key.data(), key.size());
  HWY_DYNAMIC_DISPATCH(rows_of_keystream)(words.data(), rows, stride, out);
}

}  // namespace whorl::math
#endif  // HWY_ONCE
