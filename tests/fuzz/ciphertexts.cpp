#include "fuzz/support/frames.h"
#include "io/native/binfhe_literal.h"

using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::literals())
    for (const bool seeded : {false, true})
      for (const std::size_t count : {0, 3}) {
        auto value = samples::ciphertexts(samples::parameters(literal), count, seeded, random);
        seeds.push_back(dump(value));
        for (const std::uint64_t more : {std::uint64_t{1}, std::uint64_t{1} << 40}) {
          if (more > 1 && count > 0) break;
          value.shape = whorl::Shape{1, count, more};
          seeds.push_back(dump(value));
        }
        if (count == 0) continue;
        if (!seeded) {
          auto sum = value;
          sum.noise = 2;
          sum.sum = true;
          seeds.push_back(dump(sum));
        }
        seeds.push_back(dump(whorl::binfhe::take(value, std::vector<std::uint32_t>{2, 0, 1, 2})));
      }
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both<whorl::binfhe::Ciphertexts>(
      {data, size}, {.type = FrameType::binfhe_ciphertexts, .seeded = true});
  return 0;
}
