// EvalFloor, EvalSign and EvalDecomp beside the paper.
#include "whorl/circuits/binfhe/large_precision.h"
#include "gpu/gpu.h"

namespace whorl::bench {

using namespace binfhe;

namespace {

/// The paper's three, at the same modulus: a message takes 2^8 units of it.
struct Operation {
  const char* op;
  unsigned log_modulus;
  Peer peer;
  double (*failure_log2)(const Parameters& parameters, std::uint32_t p, Transform transform);
  std::vector<Array> (*run)(const Server& server, const Array& a);
};

constexpr unsigned kRoundBits = 2;

double of_floor(const Parameters& parameters, std::uint32_t p, Transform transform) {
  return parameters.floor_failure_log2(p, kRoundBits, transform);
}
double of_sign(const Parameters& parameters, std::uint32_t p, Transform transform) {
  return parameters.sign_failure_log2(p, transform);
}

constexpr const char* kPaper = "TCHES 2025, Table 5";
/// Binary keys are VeloFHE's alone, and only floors.
const Peer kVeloFhe{"VeloFHE, RTX 4090, batch 16384", "Table 5, EvalFloor, VeloFHE-B", 1000 / 0.70};

}  // namespace

void measure_large_precision(const GpuOptions& options, const Report& report) {
  const Operation all[] = {
      {"evalfloor",
       11,
       {"Xiao et al., RTX 4090, batch 16384", kPaper, 1000 / 1.68},
       of_floor,
       [](const Server& server, const Array& a) {
         return std::vector{eval_floor(server, a, kRoundBits)};
       }},
      {"evalsign",
       17,
       {"Xiao et al., RTX 4090, batch 16384", kPaper, 1000 / 4.99},
       of_sign,
       [](const Server& server, const Array& a) { return std::vector{eval_sign(server, a)}; }},
      {"evaldecomp",
       23,
       {"Xiao et al., RTX 4090, batch 16384", kPaper, 1000 / 6.03},
       of_sign,
       &eval_decomp},
  };
  for (const char* set :
       {"W128_P40_LOGQ_25", "openfhe_1_6/STD128_LOGQ_11", "openfhe_1_6/STD128_LOGQ_11 binary",
        "openfhe_1_6/STD128_LOGQ_25_TIME", "openfhe_1_6/STD128_LOGQ_25"}) {
    if (!options.takes(set)) continue;
    const auto parameters = parameters_of(set);
    const Keys keys(parameters);
    const Transform transform = parameters.literal().transform;
    const Server server = options.server(keys.evaluation, transform);
    for (const Operation& operation : all) {
      const Encoding encoding{1U << (operation.log_modulus - 8), false};
      if (encoding.p > parameters.q() / 256) continue;
      for (const std::size_t batch : options.batches_of({1, 16384})) {
        const Ciphertexts a = batch_of(keys.client, batch, encoding);
        Record record{.op = operation.op, .params = set, .batch = batch};
        record.unit = batch == 1 ? "s" : "1/s";
        if (batch > 1)
          record.peer = std::string(set).ends_with(" binary") ? kVeloFhe : operation.peer;
        describe(record, parameters, transform);
        record.pfail_log2 = operation.failure_log2(parameters, encoding.p, transform);
        record.more.emplace_back("log2_modulus", std::uint64_t{operation.log_modulus});
        const Array x = server.upload(a);
        report.add_both(
            record, options, server,
            [&] {
              for (const Array& each : operation.run(server, server.upload(a)))
                static_cast<void>(server.download(each));
            },
            [&] { static_cast<void>(operation.run(server, x)); });
      }
    }
  }
}

}  // namespace whorl::bench
