// All loaders of BGV: the type in the input's header says which one the repaired input is for.
#include "fuzz/support/frames.h"
#include "io/bgv_literal.h"
#include "unit/io/bgv_samples.h"

using namespace whorl;
using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::bgv_literals()) {
    const auto parameters = samples::bgv_parameters(literal);
    seeds.push_back(dump(parameters));
    seeds.push_back(dump(samples::bgv_public_key(parameters, random)));
    seeds.push_back(dump(samples::bgv_evaluation_keys(parameters, random)));
    seeds.push_back(dump(samples::bgv_ciphertexts(parameters, 1, 2, 1, random)));
    seeds.push_back(dump(samples::bgv_fresh(parameters, 1, random)));
    auto shaped = samples::bgv_fresh(parameters, 1, random);
    shaped.shape = Shape{1, 1};
    seeds.push_back(dump(shaped));
    const auto batch = samples::bgv_fresh(parameters, 3, random);
    seeds.push_back(dump(bgv::take(batch, std::vector<std::uint32_t>{2, 0})));
    if (parameters.has_slots()) {
      auto vectors = samples::bgv_ciphertexts(parameters, 2, 2, 1, random);
      vectors.info.length = parameters.N() + 3;
      vectors.info.rest = bgv::Rest::anything;
      seeds.push_back(dump(vectors));
      vectors.info.length = 1;
      vectors.info.rest = bgv::Rest::same;
      seeds.push_back(dump(vectors));
    }
    seeds.push_back(dump_secret(samples::bgv_secret_key(parameters, random), samples::passphrase,
                                samples::cheap_cost));
  }
  for (const char* name : {"bgv-parameters", "bgv-fresh", "bgv-wide-square", "bgv-secret-key"})
    seeds.push_back(fuzz::format1(name));
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> input{data, size};
  switch (size > samples::type_at ? data[samples::type_at] % 5 : 0) {
    case 16 % 5:
      fuzz::try_both<bgv::Parameters>(input, {.type = FrameType::bgv_parameters, .keyed = false});
      break;
    case 18 % 5:
      fuzz::try_both<bgv::EvaluationKeys>(input, {.type = FrameType::bgv_evaluation_keys});
      break;
    case 19 % 5:
      fuzz::try_both<bgv::Ciphertexts>(input, {.type = FrameType::bgv_ciphertexts, .seeded = true});
      break;
    case 20 % 5:
      fuzz::try_both<bgv::PublicKey>(input, {.type = FrameType::bgv_public_key});
      break;
    default:
      try {
        load<bgv::SecretKey>(
            fuzz::repaired<bgv::Parameters>(input, {.type = FrameType::bgv_secret_key}),
            samples::passphrase, fuzz::options(), samples::cheap_cost);
      } catch (const Error&) {
        break;
      }
  }
  return 0;
}
