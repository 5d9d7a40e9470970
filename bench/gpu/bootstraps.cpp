// Gates and tables, with transfers and without, beside the papers.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "gpu/gpu.h"

namespace whorl::bench {

using namespace binfhe;

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

/// Peers of NAND; a latency has none in the papers.
const std::map<std::string, Peer> kGatePeers = {
    {"xiao/STD128",
     {"Xiao et al., RTX 4090, batch 16384", "TCHES 2025, Table 5, EvalBinGate", 1000 / 0.23}},
    {"velofhe/GD_I", {"VeloFHE, RTX 4090, batch 16384", "Table 4, TFHE GD-I", 11378}},
    {"velofhe/GD_II", {"VeloFHE, RTX 4090, batch 16384", "Table 4, TFHE GD-II", 3249}},
};

struct Table {
  const char *op, *set;
  Encoding encoding;
  Peer many, one;  ///< throughput, latency
};

}  // namespace

namespace {

void measure_gates_of(const std::vector<std::string>& sets, const GpuOptions& options,
                      const Report& report) {
  const auto batches = options.one_device() ? std::vector<std::size_t>{1, 8192, 16384}
                                            : std::vector<std::size_t>{16384, 65536};
  for (const std::string& set : sets) {
    const auto parameters = Parameters::named(set, true);
    const Keys keys(parameters);
    for (const Transform transform : {Transform::fft, Transform::ntt}) {
      const bool main = transform == parameters.literal().transform;
      if (!main && !options.one_device()) continue;
      const Server server(keys.evaluation, options.server(transform));
      for (const std::size_t batch : batches) {
        if (batch > options.most || (!main && batch == 16384)) continue;
        const auto a = batch_of(keys.client, batch, {}), b = batch_of(keys.client, batch, {});
        const Ciphertexts* inputs[] = {&a, &b};
        Record record{.op = "nand", .params = set, .batch = batch};
        record.unit = batch == 1 ? "s" : "1/s";
        describe(record, parameters, transform);
        if (const auto peer = kGatePeers.find(set); peer != kGatePeers.end() && batch > 1)
          record.peer = peer->second;
        const Times included = timed(options, [&] { server.gate(Gate::nand, inputs); });
        const Array x = server.upload(a), y = server.upload(b);
        const Array* arrays[] = {&x, &y};
        report.add_both(record, included,
                        resident(options, server, [&] { server.gate(Gate::nand, arrays); }));
      }
    }
  }
}

}  // namespace

void measure_gates(const GpuOptions& options, const Report& report) {
  measure_gates_of({"xiao/STD128", "velofhe/GD_I", "W128_P64", "velofhe/GD_II"}, options, report);
}

/// By other methods of blind rotation.
void measure_methods(const GpuOptions& options, const Report& report) {
  measure_gates_of(
      {"velofhe/GD_I_AP", "velofhe/GD_II_AP", "velofhe/MR_I", "velofhe/MR_I_AP", "velofhe/MR_II",
       "velofhe/MR_II_AP", "openfhe_1_6/STD128_AP", "openfhe_1_6/STD128_LMKCDEY"},
      options, report);
}

void measure_tables(const GpuOptions& options, const Report& report) {
  const Table all[] = {
      {"evalfunc",
       "xiao/EVALFUNC",
       {8, false},
       {"Xiao et al., RTX 4090, batch 16384", "TCHES 2025, Table 5, EvalFunc", 1000 / 1.59},
       {}},
      {"lut4",
       "W128_P128",
       {16, true},
       {"tfhe-rs, NVIDIA H200, message 2 carry 2", "classic PBS with key switch", 42000},
       {"tfhe-rs, NVIDIA H200, message 2 carry 2", "classic PBS with key switch", 4.1e-3}},
  };
  for (const Table& t : all) {
    const auto parameters = Parameters::named(t.set, true);
    const Keys keys(parameters);
    // Neither negacyclic nor, without padding, one rotation's: EvalFunc as the paper times it.
    const Lut lut = Lut::create(
        parameters, [&](std::uint32_t m) { return m * m * m % t.encoding.p; }, t.encoding,
        t.encoding);
    const Transform transform = parameters.literal().transform;
    const Server server(keys.evaluation, options.server(transform));
    for (const std::size_t batch : {std::size_t{1}, std::size_t{2048}, std::size_t{16384}}) {
      if (batch > options.most) continue;
      const auto a = batch_of(keys.client, batch, t.encoding);
      Record record{.op = t.op, .params = t.set, .batch = batch};
      record.unit = batch == 1 ? "s" : "1/s";
      record.peer = batch == 1 ? t.one : t.many;
      describe(record, parameters, transform);
      const Array x = server.upload(a);
      const auto included = timed(options, [&] { server.apply({&lut, 1}, {}, a); });
      report.add_both(record, included, resident(options, server, [&] {
                        server.apply({&lut, 1}, {}, x);
                      }));
    }
  }
}

/// Paper of Xiao et al., Figure 5: EvalFunc over batch sizes, at three bases of the gadget.
void measure_ways(const GpuOptions& options, const Report& report) {
  constexpr std::pair<RotationSchedule, const char*> kinds[] = {
      {RotationSchedule::single, "single"},
      {RotationSchedule::cluster, "cluster"},
      {RotationSchedule::shared, "shared"},
      {RotationSchedule::automatic, "automatic"}};
  const std::size_t most = std::min<std::size_t>(options.most, options.quick ? 1024 : 8192);
  const Encoding encoding{8, false};
  for (const char* set : {"xiao/EVALFUNC", "xiao/RELU", "xiao/DECISION_TREE"}) {
    const auto parameters = Parameters::named(set, true);
    const Keys keys(parameters);
    const Transform transform = parameters.literal().transform;
    const Lut lut = Lut::create(
        parameters, [](std::uint32_t m) { return m * m * m % 8; }, encoding, encoding);
    for (const auto& [kind, way] : kinds) {
      ServerOptions with = options.server(transform);
      with.rotation = kind;
      const Server server(keys.evaluation, with);
      for (std::size_t batch = 1; batch <= most; batch *= 2) {
        const auto a = batch_of(keys.client, batch, encoding);
        GpuOptions brief = options;
        brief.quick = true;  // many points, of which the curve matters
        const Times times = timed(brief, [&] { server.apply({&lut, 1}, {}, a); });
        Record record{.op = "evalfunc", .params = set, .batch = batch};
        describe(record, parameters, transform);
        record.more.emplace_back("way", way);
        record.more.emplace_back("log_B_g", std::uint64_t{parameters.literal().gadget[0].log_base});
        report.add_included(record, times);
        if (times.median() > 1) break;  // from here on proportional
      }
    }
  }
}

}  // namespace whorl::bench
