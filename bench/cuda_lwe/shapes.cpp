// Shapes and rows of key-switching keys.
#include <bit>
#include <sstream>

#include "cuda_lwe/bench.h"
#include "schemes/binfhe/derived.h"

namespace whorl::bench {

u64 mix(u64 x) {  // SplitMix64: rows of keys that need no memory of what was drawn
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class Word>
backend::SwitchRows<Word> random_rows(const SwitchShape& shape, u64 seed) {
  return [shape, seed](std::size_t first, std::size_t count, Word* out, std::size_t stride) {
    const bool wraps = std::has_single_bit(shape.Q_ks);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c <= shape.n; ++c) {
        const u64 x = mix(seed ^ ((first + r) * (shape.n + 1) + c));
        out[r * stride + c] = static_cast<Word>(wraps ? x & (shape.Q_ks - 1) : x % shape.Q_ks);
      }
  };
}

template backend::SwitchRows<std::uint16_t> random_rows(const SwitchShape&, u64);
template backend::SwitchRows<u32> random_rows(const SwitchShape&, u64);
template backend::SwitchRows<u64> random_rows(const SwitchShape&, u64);

std::string describe(const SwitchShape& shape) {
  std::ostringstream text;
  text << (shape.table ? "table" : "product") << ", N = " << shape.N << ", n = " << shape.n
       << ", Q_ks = ";
  if (std::has_single_bit(shape.Q_ks))
    text << "2^" << std::bit_width(shape.Q_ks) - 1;
  else
    text << shape.Q_ks;
  text << ", " << shape.gadget.digits() << " digits of " << shape.gadget.log_base() << " bits";
  return text.str();
}

SwitchShape shape_of(const binfhe::Parameters& parameters) {
  const auto& p = parameters.literal();
  return {p.N, p.n, p.Q_ks, binfhe::switch_gadget(parameters),
          p.key_switch == binfhe::KeySwitch::table};
}

}  // namespace whorl::bench
