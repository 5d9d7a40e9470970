// exponents: ciphertexts of random lengths in both ways of rounding, exponents as they are, and words out of range.
#include "Vexponents.h"
#include "bench.h"
#include "images.h"

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vexponents top;
  reference::Shape shape{};
  shape.log_n = LOG_N;
  u64 checks = 0;
  bench::reset(top);
  for (int t = 0; t < 2000; ++t) {
    std::vector<std::uint32_t> lwe(2 + random.below(700));
    const bool plain = random.chance(20), centred = random.chance(50), ends = random.chance(30);
    for (auto& x : lwe) {
      x = static_cast<std::uint32_t>(random());
      // Errors of one sign only, the largest: their sum is as far from 0 as it can be.
      if (ends) x = (x >> (31 - LOG_N) << (31 - LOG_N)) + (1u << (30 - LOG_N)) - (t % 2);
      if (plain && random.chance(90)) x %= 2u << LOG_N;
    }
    const unsigned offset = static_cast<unsigned>(random.below(2u << LOG_N));
    const auto wanted = reference::exponents(shape, lwe, centred, offset);
    for (std::size_t i = 0; i < lwe.size(); ++i) {
      while (random.chance(20)) {
        top.in_valid = 0;
        top.in_word = static_cast<std::uint32_t>(random());
        bench::tick(top);
        bench::check("valid", i, top.out_valid, 0);
      }
      const bool last = i + 1 == lwe.size();
      top.as_exponents = plain;
      top.centred = centred;
      top.offset = offset;
      top.in_valid = 1;
      top.in_first = i == 0;
      top.in_last = last;
      top.in_word = lwe[i];
      bench::tick(top);
      bench::check("valid", i, top.out_valid, 1);
      bench::check("last", i, top.out_last, last);
      if (plain) {
        const bool outside = lwe[i] >= 2u << LOG_N;
        bench::check("out of range", i, top.out_of_range, outside);
        if (!outside) bench::check("exponent", i, top.out_exponent, (lwe[i] + (last ? offset : 0)) % (2u << LOG_N));
      } else {
        bench::check("exponent", i, top.out_exponent, wanted[i]);
      }
      ++checks;
    }
  }
  bench::passed("exponents", checks);
}
