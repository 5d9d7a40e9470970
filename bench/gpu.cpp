// What one GPU does, in one process: gates, look-up tables, ways to spread blind rotations, NTTs,
// memory. One JSON object a line; docs/gpu.md is made of them by bench/plots.py.
//
// usage: bench_gpu [--device cuda:0] [--record FILE] [--commit ID] [--quick] [--only PART,…]
//                  [--most BATCH]
//
// PART: gates, tables, ways, ntt or memory. Several devices ("cuda:0,1") run gates only. `--most`
// leaves larger batches out; with it, "--device cpu" ends in reasonable time.
//
// "Transfers included" is a call of the server, from ciphertexts in the host's memory to results
// there. "Excluded" is the same work on ciphertexts that are on the device, results staying there:
// calls of the contract, and the host's wait for the last.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/binfhe.h"
#include "common/command_line.h"
#include "common/devices.h"
#include "common/rates.h"
#include "common/records.h"
#include "math/primes.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/pipeline.h"
#include "schemes/binfhe/test_vectors.h"
#include "whorl/binfhe.h"

namespace whorl::bench {
namespace {

using namespace binfhe;

struct Options : Common {
  std::uint64_t most = SIZE_MAX;
};

Effort effort_of(const Common& options) {
  return {.fewest = options.quick ? 2u : 5u,
          .most = options.quick ? 5u : 50u,
          .seconds = options.quick ? 0.1 : 0.6};
}
Times timed(const Common& options, const std::function<void()>& run) {
  return measure(effort_of(options), {.run = run});
}

/// Prints a record, too.
class Report {
 public:
  explicit Report(const Common& options) : records_("gpu", options, machine_of(options.device)) {}
  void add(const Record& record) const {
    std::printf("%-9s %-20s %6zu  %-8s %12s %s\n", record.op.c_str(), record.params.c_str(),
                record.batch, record.transfers ? "included" : "excluded",
                number(record.median.value_or(0)).c_str(), record.unit.c_str());
    std::fflush(stdout);
    records_.add(record);
  }
  /// Once with transfers, beside the peer; once without.
  void add_both(Record& record, const Times& included, const Times& excluded) const {
    add_included(record, included);
    record.transfers = false;
    record.peer = {};
    set(record, excluded);
    add(record);
  }
  void add_included(Record& record, const Times& times) const {
    record.transfers = true;
    set(record, times);
    add(record);
  }

 private:
  static void set(Record& record, const Times& times) {
    record.set(times, static_cast<double>(record.batch));
  }
  Records records_;
};

/// Keys are made once a set.
struct Keys {
  explicit Keys(const Parameters& parameters)
      : client(parameters), evaluation(client.evaluation_keys()) {}
  Client client;
  EvaluationKeys evaluation;
};

/// Batches of encrypted messages: a few thousand, repeated, since encryption is not measured.
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

/// The same stages as a server's, between ciphertexts that stay on the device.
class Resident {
 public:
  Resident(const Options& options, const EvaluationKeys& keys, Transform transform)
      : parameters_(keys.parameters),
        device_(open_device(options.device)),
        keys_(*device_, keys, transform),
        pipeline_(*device_, parameters_, keys_) {}

  Times nand(const Options& options, const Ciphertexts& a, const Ciphertexts& b) const {
    const auto x = upload(a), y = upload(b);
    return narrow(parameters_) ? nand<std::uint32_t>(options, x, y)
                               : nand<std::uint64_t>(options, x, y);
  }
  Times apply(const Options& options, const Lut& lut, const Ciphertexts& a) const {
    const auto x = upload(a);
    return narrow(parameters_) ? apply<std::uint32_t>(options, lut, x)
                               : apply<std::uint64_t>(options, lut, x);
  }

 private:
  using Batch = Pipeline::Batch;
  Batch upload(const Ciphertexts& c) const {
    return bench::upload(*device_, std::span<const std::uint32_t>(c.data));
  }
  Batch combine(std::span<const Batch* const> in) const {
    std::vector<Slice<const std::uint32_t>> slices;
    for (const Batch* batch : in) slices.push_back(batch->slice());
    const std::vector<std::int64_t> ones(in.size(), 1);
    Batch sum = device_->allocate<std::uint32_t>(in[0]->size());
    device_->lwe_linear(parameters_.q(), parameters_.n() + 1, ones, slices, 0, sum.slice());
    return sum;
  }
  template <class Word>
  Times nand(const Options& options, const Batch& x, const Batch& y) const {
    const std::uint64_t offset = threshold_offset(parameters_, 2, {});
    return timed(options, [&] {
      const Batch* both[] = {&x, &y};
      const auto decided = pipeline_.decide<Word>(combine(both), offset, true, {});
      wait_for(*device_, pipeline_.switch_key_and_modulus<Word>(decided, parameters_.q()));
    });
  }
  template <class Word>
  Times apply(const Options& options, const Lut& lut, const Batch& x) const {
    const auto vectors = test_vectors<Word>(parameters_, {&lut, 1});
    const std::vector<std::uint32_t> index(x.size() / (parameters_.n() + 1), 0);
    const std::uint64_t N = parameters_.N(), sectors = lut.input().sectors();
    return timed(options, [&] {
      const Batch* one[] = {&x};
      Batch lwe = combine(one);
      if (lut.kind() == LutKind::arbitrary) {
        pipeline_.round_for_rotation(lwe, N, (N + sectors) / (2 * sectors));
        pipeline_.remove_top_bit<Word>(lwe);
      } else {
        pipeline_.round_for_rotation(lwe, 2 * N, (2 * N + sectors) / (2 * sectors));
      }
      const auto found = pipeline_.rotate<Word>(lwe, std::span<const Word>(vectors), index, 0);
      wait_for(*device_, pipeline_.switch_key_and_modulus<Word>(found, parameters_.q()));
    });
  }
  Parameters parameters_;
  std::unique_ptr<Device> device_;
  DeviceKeys keys_;
  Pipeline pipeline_;
};

bool one_device(const Options& options) {
  return options.device.find(',') == std::string::npos &&
         options.device.find("all") == std::string::npos;
}

ServerOptions server_options(const Options& options, Transform transform) {
  ServerOptions out;
  out.device = options.device;
  out.transform = transform;
  return out;
}

/// Peers of NAND; a latency has none in the papers.
const std::map<std::string, Peer> kGatePeers = {
    {"xiao/STD128",
     {"Xiao et al., RTX 4090, batch 16384", "TCHES 2025, Table 5, EvalBinGate", 1000 / 0.23}},
    {"velofhe/GD_I", {"VeloFHE, RTX 4090, batch 16384", "Table 4, TFHE GD-I", 11378}},
    {"velofhe/GD_II", {"VeloFHE, RTX 4090, batch 16384", "Table 4, TFHE GD-II", 3249}},
};

void gates(const Options& options, const Report& report) {
  std::vector<std::string> sets = {"xiao/STD128", "velofhe/GD_I", "W128_P64", "velofhe/GD_II"};
  const auto batches = one_device(options) ? std::vector<std::size_t>{1, 8192, 16384}
                                           : std::vector<std::size_t>{16384, 65536};
  for (const std::string& set : sets) {
    const auto parameters = Parameters::named(set, true);
    const Keys keys(parameters);
    for (const Transform transform : {Transform::fft, Transform::ntt}) {
      const bool main = transform == parameters.literal().transform;
      if (!main && !one_device(options)) continue;
      const Server server(keys.evaluation, server_options(options, transform));
      std::unique_ptr<Resident> resident;
      if (one_device(options))
        resident = std::make_unique<Resident>(options, keys.evaluation, transform);
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
        if (resident)
          report.add_both(record, included, resident->nand(options, a, b));
        else
          report.add_included(record, included);
      }
    }
  }
}

struct Table {
  const char *op, *set;
  Encoding encoding;
  Peer many, one;  ///< throughput, latency
};

void tables(const Options& options, const Report& report) {
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
    const Server server(keys.evaluation, server_options(options, transform));
    const Resident resident(options, keys.evaluation, transform);
    for (const std::size_t batch : {std::size_t{1}, std::size_t{2048}, std::size_t{16384}}) {
      if (batch > options.most) continue;
      const auto a = batch_of(keys.client, batch, t.encoding);
      Record record{.op = t.op, .params = t.set, .batch = batch};
      record.unit = batch == 1 ? "s" : "1/s";
      record.peer = batch == 1 ? t.one : t.many;
      describe(record, parameters, transform);
      report.add_both(record,
                      timed(options,
                            [&] {
                              server.apply({&lut, 1}, {}, a);
                            }),
                      resident.apply(options, lut, a));
    }
  }
}

/// Paper of Xiao et al., Figure 5: EvalFunc over batch sizes, at three bases of the gadget.
void ways(const Options& options, const Report& report) {
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
      ServerOptions with = server_options(options, transform);
      with.rotation = kind;
      const Server server(keys.evaluation, with);
      for (std::size_t batch = 1; batch <= most; batch *= 2) {
        const auto a = batch_of(keys.client, batch, encoding);
        Options brief = options;
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

template <class Word>
void ntt_point(const Options& options, const Report& report, const Device& device, std::uint32_t N,
               std::size_t batch,
               const std::pair<std::optional<Peer>, std::optional<Peer>>& peers) {
  if (batch > options.most) return;
  const unsigned bits = sizeof(Word) == 4 ? 28 : 60;
  const auto q = static_cast<Word>(math::ntt_primes(bits, N, 1)[0]);
  const ring::NttPlan<Word> plan(N, q);
  const ring::NttPlan<Word>* plans[] = {&plan};
  auto data = upload(device, random_words<Word>(batch * N, q));
  // Calls queue up, so that what is measured is the device's time or the launch's, if longer.
  const std::size_t calls = batch * N > (1u << 24) ? 20 : 200;
  const std::string word_bits = std::to_string(8 * sizeof(Word));
  for (const bool forward : {true, false}) {
    const auto transform = [&] {
      forward ? device.ntt(plans, data.slice()) : device.intt(plans, data.slice());
    };
    const auto& peer = forward ? peers.first : peers.second;
    Record record{.op = forward ? "ntt" : "intt",
                  .params = "N=2^" + std::to_string(log2_of(N)) + ", " + word_bits + " bits",
                  .batch = batch,
                  .unit = "1/s"};
    if (peer) record.peer = *peer;
    record.more = {{"N", std::uint64_t{N}},
                   {"word_bits", std::uint64_t{8 * sizeof(Word)}},
                   {"calls", std::uint64_t{calls}}};
    record.set(measure(effort_of(options), {transform, [&] { wait_for(device, data); }, calls}),
               static_cast<double>(batch));
    report.add(record);
  }
}

void ntts(const Options& options, const Report& report) {
  const auto device = open_device(options.device);
  // VeloFHE's Table 3, microseconds a transform on an A100.
  struct Point {
    std::uint32_t log_N;
    std::size_t batch;
    double forward, inverse;
  };
  const auto velofhe = [](double microseconds) {
    return Peer{"VeloFHE, A100", "Table 3", 1e6 / microseconds};
  };
  for (const Point& p :
       {Point{10, 1, 12.0, 12.1}, Point{10, 1024, 0.061, 0.059}, Point{10, 8192, 0.049, 0.049},
        Point{11, 1, 15.6, 16.0}, Point{11, 1024, 0.090, 0.090}, Point{12, 1, 17.9, 19.8},
        Point{12, 1024, 0.117, 0.129}})
    ntt_point<std::uint64_t>(options, report, *device, 1u << p.log_N, p.batch,
                             {velofhe(p.forward), velofhe(p.inverse)});
  // Batches that fill 256 MB, 32-bit words.
  for (unsigned log_N = 8; log_N <= 17; ++log_N) {
    const std::size_t batch = (std::size_t{256} << 20) / 4 >> log_N;
    ntt_point<std::uint32_t>(options, report, *device, 1u << log_N,
                             std::min<std::size_t>(batch, options.most),
                             {ntt_peer(1u << log_N), std::nullopt});
  }
}

/// Of one server: its keys, and what else is in use while it does a batch of 8,192.
void memory(const Options& options, const Report& report) {
  const auto parameters = Parameters::named("xiao/STD128", true);
  const Keys keys(parameters);
  const Transform transform = parameters.literal().transform;
  const std::size_t before = free_memory(options.device);
  const Server server(keys.evaluation, server_options(options, transform));
  const std::size_t taken = before - std::min(before, free_memory(options.device));
  Record record{.op = "memory", .params = "xiao/STD128", .transfers = true, .unit = "bytes"};
  record.set(static_cast<double>(taken));
  describe(record, parameters, transform);
  record.more.emplace_back("key_bytes", std::uint64_t{server.key_bytes()});
  report.add(record);
}

int run(CommandLine& line) {
  Options options;
  options.device = "cuda:0";
  line.device(options).record(options).only(options).quick(options);
  line.add("--most", options.most, "the largest batch").parse();
  const Report report(options);
  const auto part = [&](const char* name, auto body) {
    if (!options.wants(name) || (!one_device(options) && std::string(name) != "gates")) return;
    const double start = seconds_now();
    body(options, report);
    std::printf("# %s: %.1f s\n", name, seconds_now() - start);
  };
  part("memory", memory);
  part("gates", gates);
  part("tables", tables);
  part("ntt", ntts);
  part("ways", ways);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_gpu", whorl::bench::run);
}
