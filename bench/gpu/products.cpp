// Products of integer matrices and ciphertexts under the ring key, of the shapes of layers of
// networks on MNIST (Xiao et al., TCHES 2025, §5.2).
#include "gpu/gpu.h"

namespace whorl::bench {

using namespace binfhe;

namespace {

struct Layer {
  std::size_t inputs, outputs;
};

}  // namespace

void measure_products(const GpuOptions& options, const Report& report) {
  constexpr const char* set = "W128_P128";
  if (!options.takes(set)) return;
  const auto parameters = parameters_of(set);
  const Keys keys(parameters);
  const Transform transform = parameters.literal().transform;
  const Server server = options.server(keys.evaluation, transform);
  for (const auto& [inputs, outputs] : {Layer{784, 30}, Layer{784, 1024}, Layer{1024, 1024}})
    for (const std::size_t batch : options.batches_of({1, 64})) {
      std::vector<std::uint32_t> messages(inputs);
      for (std::size_t i = 0; i < inputs; ++i) messages[i] = static_cast<std::uint32_t>(i % 2);
      const Array one =
          server.upload(keys.client.encrypt(messages, {16}, allowed_failure, Under::ring));
      const Array x = server.concatenate(std::vector<Array>(batch, one));
      std::vector<std::int32_t> entries(inputs * outputs);
      for (std::size_t i = 0; i < entries.size(); ++i)
        entries[i] = static_cast<std::int32_t>(i * 37 % 31) - 15;
      Record record{.op = "linear_lwe",
                    .params = std::string(set) + ", " + std::to_string(inputs) + " to " +
                              std::to_string(outputs),
                    .batch = batch};
      record.unit = batch == 1 ? "s" : "1/s";
      describe(record, parameters, transform);
      record.more.emplace_back("inputs", std::uint64_t{inputs});
      record.more.emplace_back("outputs", std::uint64_t{outputs});
      record.set(timed(options,
                       [&] {
                         const Weights weights{inputs, entries};
                         static_cast<void>(server.linear(weights, x, {}, true));
                         server.synchronise();
                       }),
                 static_cast<double>(batch));
      report.add(record);
    }
}

}  // namespace whorl::bench
