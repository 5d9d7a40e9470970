// Gates and tables, with transfers and without, beside the papers.
#include "common/bench.h"
#include "gpu/gpu.h"

namespace whorl::bench {

using namespace binfhe;

Parameters parameters_of(const std::string& set) {
  const std::string suffix = " binary";
  if (!set.ends_with(suffix)) return Parameters::named(set, true);
  ParameterLiteral literal =
      Parameters::named(set.substr(0, set.size() - suffix.size()), true).literal();
  literal.name = set;
  literal.lwe_secret = SecretDistribution::binary;
  return Parameters::create(std::move(literal), true);
}

Ciphertexts batch_of(const Client& client, std::size_t count, Encoding encoding) {
  const std::size_t fresh = std::min<std::size_t>(count, 2048);
  Ciphertexts out = client.encrypt(
      random_words<std::uint32_t>(fresh, encoding.p == 4 ? 2 : encoding.p), encoding);
  const std::size_t words = out.data.size();
  out.data.resize(count * out.row());
  for (std::size_t at = words; at < out.data.size(); ++at) out.data[at] = out.data[at - words];
  out.count = count;
  out.seed.reset();
  return out;
}

namespace {

constexpr const char* kVeloFhe = "VeloFHE, RTX 4090, batch 16384";

/// Peers of NAND; a latency has none in the papers.
const std::map<std::string, Peer> kGatePeers = {
    {"xiao/STD128",
     {"Xiao et al., RTX 4090, batch 16384", "TCHES 2025, Table 5, EvalBinGate", 1000 / 0.23}},
    {"velofhe/GD_I", {kVeloFhe, "Table 4, TFHE GD-I", 11378}},
    {"velofhe/GD_II", {kVeloFhe, "Table 4, TFHE GD-II", 3249}},
    {"velofhe/MR_I", {kVeloFhe, "Table 4, TFHE MR-I", 9871}},
    {"velofhe/MR_II", {kVeloFhe, "Table 4, TFHE MR-II", 1729}},
    {"velofhe/GD_I_AP", {kVeloFhe, "Table 4, FHEW GD-I", 7007}},
    {"velofhe/GD_II_AP", {kVeloFhe, "Table 4, FHEW GD-II", 2414}},
    {"velofhe/MR_I_AP", {kVeloFhe, "Table 4, FHEW MR-I", 6439}},
    {"velofhe/MR_II_AP", {kVeloFhe, "Table 4, FHEW MR-II", 1279}},
    {"xiao/STD128 binary", {kVeloFhe, "Table 5, EvalBinGate, VeloFHE-B", 1000 / 0.08}},
};

struct Table {
  const char *op, *set;
  Encoding encoding;
  Peer many, one;  ///< throughput, latency
};

}  // namespace

void measure_gates(const GpuOptions& options, const Report& report) {
  // Those of the first line are measured by both transforms, others by their own.
  const std::vector<std::string> both = {"xiao/STD128", "velofhe/GD_I", "W128_P64", "velofhe/GD_II",
                                         "velofhe/MR_II"};
  std::vector<std::string> sets = both;
  for (const char* set : {"velofhe/GD_I_AP", "velofhe/GD_II_AP", "velofhe/MR_I", "velofhe/MR_I_AP",
                          "velofhe/MR_II_AP", "openfhe_1_6/STD128_AP", "openfhe_1_6/STD128_LMKCDEY",
                          "xiao/STD128 binary", "W128_P64_M3", "W128_P64_M4", "BLOCK4_P64"})
    sets.emplace_back(set);
  for (std::size_t at = 0; at < sets.size(); ++at) {
    const std::string& set = sets[at];
    if (!options.takes(set)) continue;
    const auto parameters = parameters_of(set);
    const Keys keys(parameters);
    for (const Transform transform : {Transform::fft, Transform::ntt}) {
      const bool main = transform == parameters.literal().transform;
      if (!main && (!options.one_device() || options.quick || at >= both.size())) continue;
      const Server server = options.server(keys.evaluation, transform);
      std::vector<std::size_t> own = {16384, 65536};
      if (options.one_device())
        own = main ? std::vector<std::size_t>{1, 8192, 16384} : std::vector<std::size_t>{1, 8192};
      for (const std::size_t batch : options.batches_of(own)) {
        const auto a = batch_of(keys.client, batch, {}), b = batch_of(keys.client, batch, {});
        const Ciphertexts* inputs[] = {&a, &b};
        Record record{.op = "nand", .params = set, .batch = batch};
        record.unit = batch == 1 ? "s" : "1/s";
        describe(record, parameters, transform);
        if (const auto peer = kGatePeers.find(set); peer != kGatePeers.end() && batch > 1)
          record.peer = peer->second;
        const Array x = server.upload(a), y = server.upload(b);
        const Array* arrays[] = {&x, &y};
        report.add_both(
            record, options, server, [&] { server.gate(Gate::nand, inputs); },
            [&] { server.gate(Gate::nand, arrays); });
      }
    }
  }
}

void measure_tables(const GpuOptions& options, const Report& report) {
  const Peer classic{"tfhe-rs, NVIDIA H200, message 2 carry 2", "classic PBS with key switch",
                     42000},
      classic_one{classic.name, classic.version, 4.1e-3},
      multi_bit{classic.name, "multi-bit PBS, groups of 4", 20600},
      multi_bit_one{classic.name, "multi-bit PBS, groups of 4, without key switch", 9.7e-4};
  const Table all[] = {
      {"evalfunc",
       "xiao/EVALFUNC",
       {8, false},
       {"Xiao et al., RTX 4090, batch 16384", "TCHES 2025, Table 5, EvalFunc", 1000 / 1.59},
       {}},
      {"evalfunc",
       "xiao/EVALFUNC binary",
       {8, false},
       {kVeloFhe, "Table 5, EvalFunc, VeloFHE-B", 1000 / 0.69},
       {}},
      {"lut4", "W128_P128", {16, true}, classic, classic_one},
      {"lut4", "W128_P128_M2", {16, true}, classic, classic_one},
      {"lut4", "W128_P128_M5", {16, true}, multi_bit, multi_bit_one},
      {"lut4", "BLOCK4_P128", {16, true}, classic, classic_one},
  };
  for (const Table& t : all) {
    if (!options.takes(t.set)) continue;
    const auto parameters = parameters_of(t.set);
    const Keys keys(parameters);
    // Neither negacyclic nor, without padding, one rotation's: EvalFunc as the paper times it.
    const Lut lut = Lut::create(
        parameters, [&](std::uint32_t m) { return m * m * m % t.encoding.p; }, t.encoding,
        t.encoding);
    const Transform transform = parameters.literal().transform;
    const Server server = options.server(keys.evaluation, transform);
    for (const std::size_t batch : options.batches_of({1, 2048, 16384})) {
      const auto a = batch_of(keys.client, batch, t.encoding);
      Record record{.op = t.op, .params = t.set, .batch = batch};
      record.unit = batch == 1 ? "s" : "1/s";
      record.peer = batch == 1 ? t.one : t.many;
      describe(record, parameters, transform);
      const Array x = server.upload(a);
      report.add_both(
          record, options, server,
          [&] {
            server.apply({&lut, 1}, {}, a);
          },
          [&] {
            server.apply({&lut, 1}, {}, x);
          });
    }
  }
}

/// Paper of Xiao et al., Figure 5: EvalFunc over batch sizes, at three bases of the gadget.
void measure_schedules(const GpuOptions& options, const Report& report) {
  constexpr std::pair<RotationSchedule, const char*> schedules[] = {
      {RotationSchedule::single, "single"},
      {RotationSchedule::cluster, "cluster"},
      {RotationSchedule::grid, "grid"},
      {RotationSchedule::shared, "shared"},
      {RotationSchedule::automatic, "automatic"}};
  const std::size_t most = std::min<std::size_t>(options.most, options.quick ? 1024 : 8192);
  const Encoding encoding{8, false};
  for (const char* set : {"xiao/EVALFUNC", "xiao/RELU", "xiao/DECISION_TREE"}) {
    if (!options.takes(set)) continue;
    const auto parameters = Parameters::named(set, true);
    const Keys keys(parameters);
    const Transform transform = parameters.literal().transform;
    const Lut lut = Lut::create(
        parameters, [](std::uint32_t m) { return m * m * m % 8; }, encoding, encoding);
    for (const auto& [schedule, name] : schedules) {
      const Server server = options.server(keys.evaluation, transform, schedule);
      for (std::size_t batch = 1; batch <= most; batch *= 2) {
        const auto a = batch_of(keys.client, batch, encoding);
        GpuOptions brief = options;
        brief.quick = true;  // many points, of which the curve matters
        const Times times = timed(brief, [&] { server.apply({&lut, 1}, {}, a); });
        Record record{.op = "evalfunc", .params = set, .batch = batch};
        describe(record, parameters, transform);
        record.more.emplace_back("schedule", name);
        record.more.emplace_back("log_B_g", std::uint64_t{parameters.literal().gadget[0].log_base});
        report.add_included(record, times);
        if (times.median() > 1) break;  // from here on proportional
      }
    }
  }
}

}  // namespace whorl::bench
