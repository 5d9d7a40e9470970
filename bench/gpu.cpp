// What one GPU does, in one process: gates, look-up tables, ways to spread blind rotations, NTTs,
// memory. One JSON object a line; docs/gpu.md is made of them by bench/plots.py.
//
// usage: bench_gpu [--device cuda:0] [--record FILE] [--commit ID] [--quick] [--only PART]
//                  [--most BATCH]
//
// PART: gates, tables, ways, ntt or memory. Several devices ("cuda:0,1") run gates only. `--most`
// leaves larger batches out; with it, "--device cpu" ends in reasonable time.
//
// "Transfers included" is a call of the server, from ciphertexts in the host's memory to results
// there. "Excluded" is the same work on ciphertexts that are on the device, results staying there:
// calls of the contract, and the host's wait for the last.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "math/primes.h"
#include "math/random.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/pipeline.h"
#include "schemes/binfhe/test_vectors.h"
#include "whorl/binfhe.h"

namespace whorl {
namespace {

using namespace binfhe;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string device = "cuda:0", record, commit = "unknown", only;
  bool quick = false;
  std::size_t most = SIZE_MAX;
  bool wants(const char* part) const { return only.empty() || only == part; }
};

/// What others report, on which device, from where; median in the record's unit.
struct Peer {
  std::string name, version;
  double median = 0;
};

/// Times of one thing, in seconds.
struct Times {
  std::vector<double> all;
  double median() const {
    std::vector<double> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  double least() const { return *std::min_element(all.begin(), all.end()); }
  double most() const { return *std::max_element(all.begin(), all.end()); }
};

/// One call to warm up, then as many as fit into `seconds`, within bounds.
template <class Run>
Times measure(const Options& options, const Run& run) {
  const std::size_t fewest = options.quick ? 2 : 5, most = options.quick ? 5 : 50;
  const double seconds = options.quick ? 0.1 : 0.6;
  run();
  Times times;
  double sum = 0;
  while (times.all.size() < fewest || (sum < seconds && times.all.size() < most)) {
    const auto start = Clock::now();
    run();
    times.all.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    sum += times.all.back();
    if (sum > 4) break;  // slow ones are known well enough
  }
  return times;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

class Report {
 public:
  explicit Report(const Options& options) : commit_(options.commit) {
    if (!options.record.empty()) {
      file_ = std::fopen(options.record.c_str(), "a");
      if (!file_) throw IoError("cannot write " + options.record + ": " + std::strerror(errno));
    }
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
    date_ = text;
    const auto devices = backend::make_devices(options.device);
    count_ = devices.size();
    threads_ = devices[0]->threads();
    name_ = options.device == "cpu" ? "cpu" : slug(options.device);
  }
  ~Report() {
    if (file_) std::fclose(file_);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  struct Line {
    std::string op, params;
    std::size_t batch = 1;
    bool transfers = true;
    std::string unit = {};  ///< "1/s", "s" or "bytes"
    double median = 0, least = 0, most = 0;
    std::size_t runs = 1;
    Peer peer = {};
    const Parameters* parameters = nullptr;
    std::string transform = {};
    std::string more = {};  ///< further members, each with a comma before
  };
  void add(const Line& line) const {
    std::string out = "{\"bench\": \"gpu\", \"op\": " + quoted(line.op) +
                      ", \"scheme\": " + (line.parameters ? "\"binfhe\"" : "null") +
                      ", \"params\": " + quoted(line.params) + ", \"device\": " + quoted(name_) +
                      ", \"device_count\": " + std::to_string(count_) +
                      ", \"threads\": " + std::to_string(threads_) +
                      ", \"batch\": " + std::to_string(line.batch) +
                      ", \"transfers\": " + (line.transfers ? "\"included\"" : "\"excluded\"") +
                      ", \"unit\": " + quoted(line.unit) + ", \"median\": " + number(line.median) +
                      ", \"min\": " + number(line.least) + ", \"max\": " + number(line.most) +
                      ", \"runs\": " + std::to_string(line.runs);
    if (!line.peer.name.empty()) {
      const double ratio =
          line.unit == "1/s" ? line.median / line.peer.median : line.peer.median / line.median;
      out += ", \"peer\": " + quoted(line.peer.name) +
             ", \"peer_version\": " + quoted(line.peer.version) +
             ", \"peer_median\": " + number(line.peer.median) + ", \"ratio\": " + number(ratio);
    }
    if (!line.transform.empty()) out += ", \"transform\": " + quoted(line.transform);
    if (line.parameters) {
      out += ", \"security_bits\": " + number(line.parameters->security().bits()) +
             ", \"pfail_log2\": " +
             number(line.transform == "fft" ? line.parameters->failure_log2(Transform::fft)
                                            : line.parameters->failure_log2(Transform::ntt));
    }
    out += line.more + ", \"commit\": " + quoted(commit_) + ", \"date\": " + quoted(date_) + "}";
    std::printf("%-9s %-20s %6zu  %-8s %12s %s\n", line.op.c_str(), line.params.c_str(), line.batch,
                line.transfers ? "included" : "excluded", number(line.median).c_str(),
                line.unit.c_str());
    std::fflush(stdout);
    if (!file_) return;
    std::fprintf(file_, "%s\n", out.c_str());
    std::fflush(file_);
  }
  /// `times` of `batch` operations each as a rate, or as a latency where it is one.
  static void rate(Line& line, const Times& times) {
    line.runs = times.all.size();
    const auto batch = static_cast<double>(line.batch);
    if (line.unit == "s") {
      line.median = times.median(), line.least = times.least(), line.most = times.most();
    } else {
      line.median = batch / times.median();
      line.least = batch / times.most();
      line.most = batch / times.least();
    }
  }

 private:
  /// "NVIDIA H200" is h200 in file names and records.
  static std::string slug(const std::string& device) {
    const std::string first = device.substr(0, device.find(','));
    for (const auto& info : backend::list_devices()) {
      if (info.name != first && !(first == "cuda" || first == "cuda:all")) continue;
      if (info.name == "cpu") continue;
      std::string out;
      for (const char c : info.description)
        out += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      for (const char* brand : {"nvidia_", "geforce_"})
        if (out.starts_with(brand)) out.erase(0, std::strlen(brand));
      return out;
    }
    return device;
  }
  std::FILE* file_ = nullptr;
  std::string commit_, date_, name_;
  std::size_t count_ = 1;
  unsigned threads_ = 0;
};

const char* name_of(Transform transform) { return transform == Transform::fft ? "fft" : "ntt"; }

std::vector<std::uint32_t> random_messages(std::size_t count, std::uint32_t p) {
  std::vector<std::uint32_t> out(count);
  math::expand_uniform<std::uint32_t>(math::random_seed(), 0, p, out);
  return out;
}

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
  Ciphertexts out =
      client.encrypt(random_messages(fresh, encoding.p == 4 ? 2 : encoding.p), encoding);
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
        device_(backend::make_device(options.device)),
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
    Batch out = device_->allocate<std::uint32_t>(c.data.size());
    device_->upload(std::span<const std::uint32_t>(c.data), out.slice());
    return out;
  }
  Batch combine(std::span<const Batch* const> in) const {
    std::vector<backend::Slice<const std::uint32_t>> slices;
    for (const Batch* batch : in) slices.push_back(batch->slice());
    const std::vector<std::int64_t> ones(in.size(), 1);
    Batch sum = device_->allocate<std::uint32_t>(in[0]->size());
    device_->lwe_linear(parameters_.q(), parameters_.n() + 1, ones, slices, 0, sum.slice());
    return sum;
  }
  void wait_for(const Batch& batch) const {
    std::uint32_t word = 0;
    device_->download(batch.slice().part(0, 1), std::span(&word, 1));
  }
  template <class Word>
  Times nand(const Options& options, const Batch& x, const Batch& y) const {
    const std::uint64_t offset = threshold_offset(parameters_, 2, {});
    return measure(options, [&] {
      const Batch* both[] = {&x, &y};
      const auto decided = pipeline_.decide<Word>(combine(both), offset, true, {});
      wait_for(pipeline_.switch_key_and_modulus<Word>(decided, parameters_.q()));
    });
  }
  template <class Word>
  Times apply(const Options& options, const Lut& lut, const Batch& x) const {
    const auto vectors = test_vectors<Word>(parameters_, {&lut, 1});
    const std::vector<std::uint32_t> index(x.size() / (parameters_.n() + 1), 0);
    const std::uint64_t N = parameters_.N(), sectors = lut.input().sectors();
    return measure(options, [&] {
      const Batch* one[] = {&x};
      Batch lwe = combine(one);
      if (lut.kind() == LutKind::arbitrary) {
        pipeline_.round_for_rotation(lwe, N, (N + sectors) / (2 * sectors));
        pipeline_.remove_top_bit<Word>(lwe);
      } else {
        pipeline_.round_for_rotation(lwe, 2 * N, (2 * N + sectors) / (2 * sectors));
      }
      const auto found = pipeline_.rotate<Word>(lwe, std::span<const Word>(vectors), index, 0);
      wait_for(pipeline_.switch_key_and_modulus<Word>(found, parameters_.q()));
    });
  }
  Parameters parameters_;
  std::unique_ptr<backend::Device> device_;
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
        Report::Line line{.op = "nand",
                          .params = set,
                          .batch = batch,
                          .unit = batch == 1 ? "s" : "1/s",
                          .parameters = &parameters,
                          .transform = name_of(transform)};
        if (const auto peer = kGatePeers.find(set); peer != kGatePeers.end() && batch > 1)
          line.peer = peer->second;
        Report::rate(line, measure(options, [&] { server.gate(Gate::nand, inputs); }));
        report.add(line);
        if (!resident) continue;
        line.transfers = false;
        line.peer = {};
        Report::rate(line, resident->nand(options, a, b));
        report.add(line);
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
      Report::Line line{.op = t.op,
                        .params = t.set,
                        .batch = batch,
                        .unit = batch == 1 ? "s" : "1/s",
                        .peer = batch == 1 ? t.one : t.many,
                        .parameters = &parameters,
                        .transform = name_of(transform)};
      Report::rate(line, measure(options, [&] { server.apply({&lut, 1}, {}, a); }));
      report.add(line);
      line.transfers = false;
      line.peer = {};
      Report::rate(line, resident.apply(options, lut, a));
      report.add(line);
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
        const Times times = measure(brief, [&] { server.apply({&lut, 1}, {}, a); });
        Report::Line line{.op = "evalfunc",
                          .params = set,
                          .batch = batch,
                          .unit = "s",
                          .parameters = &parameters,
                          .transform = name_of(transform),
                          .more = std::string(", \"way\": \"") + way + "\", \"log_B_g\": " +
                                  std::to_string(parameters.literal().gadget[0].log_base)};
        Report::rate(line, times);
        report.add(line);
        if (times.median() > 1) break;  // from here on proportional
      }
    }
  }
}

template <class Word>
void ntt_point(const Options& options, const Report& report, const backend::Device& device,
               std::uint32_t N, std::size_t batch, const Peer& forward, const Peer& inverse) {
  if (batch > options.most) return;
  const unsigned bits = sizeof(Word) == 4 ? 28 : 60;
  const auto q = static_cast<Word>(math::ntt_primes(bits, N, 1)[0]);
  const ring::NttPlan<Word> plan(N, q);
  const ring::NttPlan<Word>* plans[] = {&plan};
  std::vector<Word> values(batch * N);
  math::expand_uniform<Word>(math::random_seed(), 0, q, values);
  auto data = device.allocate<Word>(values.size());
  device.upload(std::span<const Word>(values), data.slice());
  // Calls queue up, so that what is measured is the device's time or the launch's, if longer.
  const std::size_t calls = batch * N > (1u << 24) ? 20 : 200;
  for (const bool is_forward : {true, false}) {
    Times times = measure(options, [&] {
      for (std::size_t i = 0; i < calls; ++i)
        is_forward ? device.ntt(plans, data.slice()) : device.intt(plans, data.slice());
      Word word = 0;
      device.download(std::as_const(data).slice().part(0, 1), std::span(&word, 1));
    });
    for (double& time : times.all) time /= static_cast<double>(calls);
    Report::Line line{.op = is_forward ? "ntt" : "intt",
                      .params = "N=2^" + std::to_string(std::bit_width(N) - 1) + ", " +
                                std::to_string(8 * sizeof(Word)) + " bits",
                      .batch = batch,
                      .transfers = false,
                      .unit = "1/s",
                      .peer = is_forward ? forward : inverse,
                      .more = ", \"N\": " + std::to_string(N) +
                              ", \"word_bits\": " + std::to_string(8 * sizeof(Word)) +
                              ", \"calls\": " + std::to_string(calls)};
    Report::rate(line, times);
    report.add(line);
  }
}

void ntts(const Options& options, const Report& report) {
  const auto device = backend::make_device(options.device);
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
    ntt_point<std::uint64_t>(options, report, *device, 1u << p.log_N, p.batch, velofhe(p.forward),
                             velofhe(p.inverse));
  // Batches that fill 256 MB, 32-bit words; peers measured on an H200.
  const std::map<unsigned, Peer> peers = {{10, {"GPU-NTT, NVIDIA H200", "32 bits", 103.7e6}},
                                          {11, {"GPU-NTT, NVIDIA H200", "32 bits", 39.5e6}},
                                          {12, {"GPU-NTT, NVIDIA H200", "32 bits", 18.6e6}},
                                          {16, {"Cheddar, NVIDIA H200", "32 bits", 2.05e6}}};
  for (unsigned log_N = 8; log_N <= 17; ++log_N) {
    const std::size_t batch = (std::size_t{256} << 20) / 4 >> log_N;
    const auto peer = peers.find(log_N);
    ntt_point<std::uint32_t>(options, report, *device, 1u << log_N, std::min(batch, options.most),
                             peer == peers.end() ? Peer{} : peer->second, {});
  }
}

std::size_t free_memory(const std::string& device) {
  for (const auto& info : backend::list_devices())
    if (info.name == device || (device == "cuda" && info.name == "cuda:0")) return info.free_memory;
  return 0;
}

/// Of one server: its keys, and what else is in use while it does a batch of 8,192.
void memory(const Options& options, const Report& report) {
  const auto parameters = Parameters::named("xiao/STD128", true);
  const Keys keys(parameters);
  const Transform transform = parameters.literal().transform;
  const std::size_t before = free_memory(options.device);
  const Server server(keys.evaluation, server_options(options, transform));
  const std::size_t taken = before - std::min(before, free_memory(options.device));
  Report::Line line{.op = "memory",
                    .params = "xiao/STD128",
                    .unit = "bytes",
                    .median = static_cast<double>(taken),
                    .least = static_cast<double>(taken),
                    .most = static_cast<double>(taken),
                    .parameters = &parameters,
                    .transform = name_of(transform),
                    .more = ", \"key_bytes\": " + std::to_string(server.key_bytes())};
  report.add(line);
}

int run(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string option = arguments[i];
    if (option == "--quick") {
      options.quick = true;
      continue;
    }
    if (i + 1 == count) throw ParameterError(option + " takes a value");
    const std::string value = arguments[++i];
    if (option == "--device") {
      options.device = value;
    } else if (option == "--record") {
      options.record = value;
    } else if (option == "--commit") {
      options.commit = value;
    } else if (option == "--only") {
      options.only = value;
    } else if (option == "--most") {
      options.most = std::stoul(value);
    } else {
      throw ParameterError("unknown option " + option);
    }
  }
  const Report report(options);
  const auto part = [&](const char* name, auto body) {
    if (!options.wants(name) || (!one_device(options) && std::string(name) != "gates")) return;
    const auto start = Clock::now();
    body(options, report);
    std::printf("# %s: %.1f s\n", name,
                std::chrono::duration<double>(Clock::now() - start).count());
  };
  part("memory", memory);
  part("gates", gates);
  part("tables", tables);
  part("ntt", ntts);
  part("ways", ways);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl

int main(int count, char** arguments) {
  try {
    return whorl::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
