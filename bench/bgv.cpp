// BGV at the four configurations of docs/bgv.md: what a client and a server take for each
// operation.
//
// usage: bench_bgv [--depth 1|5|12|24] [--device cpu|cuda:0] [--threads 1] [--batch N] [--quick]
//                  [--only OP,OP…] [--record FILE] [--commit ID] [--worker]
//
// OP: keygen, encrypt, mult_relin, square, rotate, add, mult_plain, rescale, copy, end_to_end,
// memory or example. Without --depth, all four. A latency ("waited": true) is of one operation and
// the wait for it; with more than one ciphertext, or on a device that queues, the time of one among
// many that were queued follows ("waited": false). Medians are of calls; divide by the batch for a
// ciphertext. end_to_end: two ciphertexts go from the host's memory to the device, the product
// comes back. copy: those bytes alone, to memory and from memory that is there already.
//
// example ("part": "example") is OpenFHE's simple-integers-bgvrns: three vectors of twelve
// integers, two additions, two multiplications, five rotations, all seven results decrypted. A
// record is of all calls of one step in a run ("calls" of them, each waited for). It has a depth of
// its own, 2, which is a fifth configuration here; at depth 1 the second product is of fresh
// ciphertexts too. The operations are done twice, the second time is measured. On a GPU the first
// three steps, encrypt and decrypt are the host's all the same.
//
// memory: bytes that a server with keys for relinearisation and 16 rotations holds ("key_bytes"),
// and operands and results with it ("working_set": two ciphertexts, their product, one of them
// rotated 16 times); on a GPU also by how much its free memory shrank ("free_before", "free_after":
// the pool keeps what operations needed on the way, too); "file_bytes": the same keys in a file,
// seeded. The record's value is what left the GPU's free memory, or the sum of the first two.
//
// "clock": "wall", or "cpu" for one thread on the CPU: its CPU time, which is what the clock on the
// wall shows where nothing else runs, and the same where something does.
//
// --worker answers lines "OP RUNS" with the CPU time of one call, for bench/openfhe_bgv.py; so it
// wants --depth.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "whorl/bgv.h"
#include "whorl/error.h"
#include "whorl/io.h"

namespace whorl {
namespace {

using namespace bgv;
using Clock = std::chrono::steady_clock;

struct Options {
  unsigned depth = 0, threads = 1;
  std::size_t batch = 1;
  std::string device = "cpu", record, commit = "unknown", only;
  bool worker = false, quick = false;
  bool cpu_clock() const { return device == "cpu" && threads == 1; }
  bool wants(const std::string& op) const {
    return only.empty() || ("," + only + ",").find("," + op + ",") != std::string::npos;
  }
};

struct Configuration {
  unsigned depth;
  std::uint64_t t;
  std::uint32_t N;
};
constexpr Configuration configurations[] = {
    {1, 65537, 8192}, {5, 65537, 16384}, {12, 65537, 32768}, {24, 786433, 65536}};
constexpr Configuration examples_own = {2, 65537, 8192};

Parameters choose(const Configuration& c) {
  Requirements needs;
  needs.depth = c.depth;
  needs.plain_modulus = c.t;
  needs.N = c.N;
  return Parameters::choose(needs);
}
std::string in_words(const Parameters& p) {
  return "depth=" + std::to_string(p.literal().depth) + ", t=" + std::to_string(p.t()) +
         ", N=" + std::to_string(p.N()) + ", limbs " + std::to_string(p.limbs()) + "+" +
         std::to_string(p.special()) + ", dnum " + std::to_string(p.digits());
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

/// "NVIDIA H200" is h200 in records.
std::string slug(const std::string& device) {
  std::string out;
  for (const auto& info : backend::list_devices())
    if (info.name != "cpu" && info.name == device)
      for (const char c : info.description)
        out += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (out.starts_with("nvidia_")) out.erase(0, std::strlen("nvidia_"));
  return out.empty() ? device : out;
}

double cpu_seconds() {
  std::timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double now(const Options& options) {
  if (options.cpu_clock()) return cpu_seconds();
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// Times of `calls` calls of run() and then finish(), a call, for some tenths of a second; sorted.
std::vector<double> measure(const Options& options, std::size_t calls,
                            const std::function<void()>& run, const std::function<void()>& finish) {
  const double seconds = options.quick ? 0.1 : 0.5;
  const auto time = [&](std::size_t many) {
    const double start = now(options);
    for (std::size_t i = 0; i < many; ++i) run();
    finish();
    return (now(options) - start) / static_cast<double>(many);
  };
  const double first = time(1);  // memory
  std::vector<double> times;
  double sum = 0;
  if (first > 5) return {first};
  while (times.size() < 5 || (sum < seconds && times.size() < 200)) {
    times.push_back(time(calls));
    sum += times.back() * static_cast<double>(calls);
    if (sum > 10) break;
  }
  std::sort(times.begin(), times.end());
  return times;
}

class Report {
 public:
  explicit Report(const Options& options) : options_(options), device_(slug(options.device)) {
    if (!options.record.empty()) {
      file_ = std::fopen(options.record.c_str(), "a");
      if (!file_) throw IoError("cannot write " + options.record + ": " + std::strerror(errno));
    }
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
    date_ = text;
  }
  ~Report() {
    if (file_) std::fclose(file_);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  struct Line {
    std::string op;
    std::vector<double> times;  ///< sorted
    bool on_device = true, waited = true, copies = false;
    std::size_t batch = 1;
    std::string more = {};  ///< members of this record only, each with a comma behind it
    std::string unit = "s";
  };
  void add(const Parameters& parameters, const Line& l) const {
    const double security = std::round(parameters.security_bits() * 10) / 10;
    const std::string line =
        "{\"bench\": \"bgv\", \"op\": " + quoted(l.op) +
        ", \"scheme\": \"bgv\", \"params\": " + quoted(in_words(parameters)) +
        ", \"device\": " + quoted(l.on_device ? device_ : "cpu") +
        ", \"device_count\": 1, \"threads\": " + std::to_string(options_.threads) +
        ", \"batch\": " + std::to_string(l.batch) +
        ", \"transfers\": " + (l.copies ? "\"included\"" : "\"excluded\"") +
        ", \"unit\": " + quoted(l.unit) + ", \"median\": " + number(l.times[l.times.size() / 2]) +
        ", \"min\": " + number(l.times.front()) + ", \"max\": " + number(l.times.back()) +
        ", \"runs\": " + std::to_string(l.times.size()) +
        ", \"waited\": " + (l.waited ? "true" : "false") + ", " + l.more +
        "\"clock\": " + quoted(options_.cpu_clock() ? "cpu" : "wall") +
        ", \"security_bits\": " + number(security) + ", \"commit\": " + quoted(options_.commit) +
        ", \"date\": " + quoted(date_) + "}\n";
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
    if (!file_) return;
    std::fputs(line.c_str(), file_);
    std::fflush(file_);
  }

 private:
  const Options& options_;
  std::string device_, date_;
  std::FILE* file_ = nullptr;
};

/// A client, a server and two batches, one in the host's memory and one on the device.
class Bench {
 public:
  Bench(const Options& options, const Configuration& configuration)
      : options_(options),
        parameters_(choose(configuration)),
        client_(parameters_),
        server_(client_.evaluation_keys(request, options.threads),
                {options.device, options.threads, {}}) {
    std::mt19937_64 random(configuration.depth);
    std::vector<std::int64_t> x, y;
    for (std::size_t i = 0; i < options.batch * parameters_.N(); ++i) {
      x.push_back(static_cast<std::int64_t>(random() % parameters_.t()));
      y.push_back(static_cast<std::int64_t>(random() % parameters_.t()));
    }
    row_.assign(y.begin(), y.begin() + parameters_.N());
    values_ = x;
    host_.push_back(client_.encrypt(x));
    host_.push_back(client_.encrypt(y));
    for (const Ciphertexts& c : host_) arrays_.push_back(server_.upload(c));
    check(x, y);

    const Array &a = arrays_[0], &b = arrays_[1];
    on_device_ = {{"mult_relin", [&] { server_.multiply(a, b); }},
                  {"square", [&] { server_.square(a); }},
                  {"rotate", [&] { server_.rotate(a, 1); }},
                  {"add", [&] { server_.add(a, b); }},
                  {"mult_plain", [&] { server_.multiply_plain(a, row_); }},
                  {"rescale", [&] { server_.mod_switch(a, a.info().limbs - 1); }}};
    on_host_ = {
        {"keygen", [&] { client_.evaluation_keys(request, options_.threads); }},
        {"encrypt", [&] { client_.encrypt(values_); }},
        {"end_to_end", [&] {
           server_.download(server_.multiply(server_.upload(host_[0]), server_.upload(host_[1])));
         }}};
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const Parameters& parameters() const { return parameters_; }

  void run(const Report& report) const {
    const auto wait = [&] { server_.synchronise(); };
    for (const auto& [op, call] : on_host_)
      if (options_.wants(op)) {
        const bool end_to_end = op == "end_to_end";
        report.add(parameters_, {.op = op,
                                 .times = measure(options_, 1, call, [] {}),
                                 .on_device = end_to_end,
                                 .copies = end_to_end,
                                 .batch = op == "keygen" ? 1 : options_.batch});
      }
    for (const auto& [op, call] : on_device_) {
      if (!options_.wants(op)) continue;
      const auto waited = measure(options_, 1, call, wait);
      report.add(parameters_, {.op = op, .times = waited, .batch = options_.batch});
      if (options_.device == "cpu") continue;
      const auto calls = static_cast<std::size_t>(std::clamp(0.02 / waited[0], 1.0, 200.0));
      report.add(parameters_, {.op = op,
                               .times = measure(options_, calls, call, wait),
                               .waited = false,
                               .batch = options_.batch});
    }
    if (options_.wants("copy")) copy(report);
  }

  /// CPU time of a call, `runs` of them being averaged.
  double seconds(const std::string& op, unsigned runs) const {
    const auto& calls = on_device_.contains(op) ? on_device_ : on_host_;
    const auto& call = calls.at(op);
    const double start = cpu_seconds();
    for (unsigned i = 0; i < runs; ++i) call();
    server_.synchronise();
    return (cpu_seconds() - start) / runs;
  }

 private:
  /// The bytes that end_to_end moves, between memory that is there, is warm and needs no check.
  void copy(const Report& report) const {
    const auto device = backend::make_device(options_.device, {options_.threads, {}, {}});
    const WordArray &x = host_[0].data, &y = host_[1].data;
    std::vector<std::uint32_t> product(
        server_.download(server_.multiply(arrays_[0], arrays_[1])).data.bytes() / 4);
    auto a = device->allocate<std::uint32_t>(x.bytes() / 4),
         b = device->allocate<std::uint32_t>(y.bytes() / 4);
    const auto words = [](const WordArray& of) {
      return std::span{static_cast<const std::uint32_t*>(of.data()), of.bytes() / 4};
    };
    const auto call = [&] {
      device->upload<std::uint32_t>(words(x), a.slice());
      device->upload<std::uint32_t>(words(y), b.slice());
      device->download<std::uint32_t>(a.slice().part(0, product.size()), product);
    };
    const std::size_t bytes = x.bytes() + y.bytes() + 4 * product.size();
    report.add(parameters_, {.op = "copy",
                             .times = measure(options_, 1, call, [] {}),
                             .copies = true,
                             .batch = options_.batch,
                             .more = "\"bytes\": " + std::to_string(bytes) + ", "});
  }
  /// What is timed must be right.
  void check(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) const {
    const std::size_t N = parameters_.N(), half = N / 2;
    const std::uint64_t t = parameters_.t();
    const auto product =
        client_.decrypt(server_.download(server_.multiply(arrays_[0], arrays_[1])));
    const auto turned = client_.decrypt(server_.download(server_.rotate(arrays_[0], 1)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t next = i / half * half + (i + 1) % half;
      if (product[i] != static_cast<std::uint64_t>(x[i]) * static_cast<std::uint64_t>(y[i]) % t ||
          turned[i] != static_cast<std::uint64_t>(x[next]))
        throw Error("slot " + std::to_string(i) + " came out wrong");
    }
  }

  inline static const KeyRequest request{3, {1}, false};
  const Options& options_;
  Parameters parameters_;
  Client client_;
  Server server_;
  std::vector<std::int64_t> row_, values_;
  std::vector<Ciphertexts> host_;
  std::vector<Array> arrays_;
  std::map<std::string, std::function<void()>> on_device_, on_host_;
};

/// What a server of many rotations takes of the device's memory.
void memory(const Options& options, const Configuration& configuration, const Report& report) {
  const Parameters parameters = choose(configuration);
  const Client client(parameters);
  KeyRequest request;
  for (std::int64_t columns = 1; columns <= 16; ++columns) request.rotations.push_back(columns);
  const EvaluationKeys keys = client.evaluation_keys(request, options.threads);
  const std::vector<std::int64_t> row(parameters.N(), 1);
  const Ciphertexts x = client.encrypt(row);

  const auto warm = backend::make_device(options.device, {options.threads, {}, {}});
  const auto free_memory = [&] {
    std::size_t bytes = 0;
    for (const auto& info : backend::list_devices())
      if (info.name == options.device) bytes = info.free_memory;
    return bytes;
  };
  const std::size_t before = free_memory();
  const Server server(keys, {options.device, options.threads, {}});
  std::vector<Array> held{server.upload(x), server.upload(x)};
  held.push_back(server.multiply(held[0], held[1]));
  for (Array& turned : server.rotate_many(held[0], request.rotations))
    held.push_back(std::move(turned));
  server.synchronise();
  const std::size_t after = free_memory();

  std::size_t working_set = 0;
  for (const Array& array : held) working_set += array.bytes();
  const bool measured = options.device != "cpu" && before > after;
  const std::size_t taken = measured ? before - after : server.key_bytes() + working_set;
  const auto field = [](const char* name, std::size_t bytes) {
    return quoted(name) + ": " + std::to_string(bytes) + ", ";
  };
  std::string more = field("keys", keys.keys.size()) + field("key_bytes", server.key_bytes()) +
                     field("working_set", working_set) + field("file_bytes", io::dump(keys).size());
  if (measured) more += field("free_before", before) + field("free_after", after);
  report.add(
      parameters,
      {.op = "memory", .times = {static_cast<double>(taken)}, .more = more, .unit = "bytes"});
}

/// The example, from nothing to its results, several times; a record for each of its steps.
class Example {
 public:
  Example(const Options& options, const Configuration& configuration)
      : options_(options), configuration_(configuration), parameters_(choose(configuration)) {
    constexpr std::int64_t vectors[3][12] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                             {3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                             {1, 2, 5, 2, 5, 6, 7, 8, 9, 10, 11, 12}};
    for (const auto& vector : vectors) {
      values_.emplace_back(std::begin(vector), std::end(vector));
      values_.back().resize(parameters_.N());
    }
  }

  void run(const Report& report) {
    once();  // the device wakes up, memory is taken
    steps_.clear();
    const unsigned fewest = options_.quick ? 3 : 5;
    const auto start = Clock::now();
    for (unsigned runs = 0; runs < 50; ++runs) {
      const double spent = std::chrono::duration<double>(Clock::now() - start).count();
      if (runs >= fewest && spent > (options_.quick ? 0.3 : 3)) break;
      once();
    }
    for (Step& step : steps_) {
      std::sort(step.times.begin(), step.times.end());
      report.add(
          parameters_,
          {.op = step.op,
           .times = step.times,
           .copies = step.copies,
           .more = "\"part\": \"example\", \"calls\": " + std::to_string(step.calls) + ", "});
    }
  }

 private:
  struct Step {
    std::string op;
    unsigned calls;
    bool copies;
    std::vector<double> times;
  };
  using Row = std::vector<std::int64_t>;

  void step(const std::string& op, unsigned calls, const std::function<void(unsigned)>& call,
            bool copies = false) {
    const double start = now(options_);
    for (unsigned i = 0; i < calls; ++i) {
      call(i);
      if (server_) server_->synchronise();
    }
    const double seconds = now(options_) - start;
    if (!timed_) return;
    const auto found = std::find_if(steps_.begin(), steps_.end(),
                                    [&](const Step& known) { return known.op == op; });
    if (found == steps_.end())
      steps_.push_back({op, calls, copies, {seconds}});
    else
      found->times.push_back(seconds);
  }

  void once() {
    const bool chained = configuration_.depth > 1;
    std::optional<Client> client;
    std::optional<PublicKey> public_key;
    std::optional<EvaluationKeys> keys, rotation_keys;
    std::vector<Ciphertexts> in, out;
    std::vector<Array> x;
    Array sum, product, second;
    std::vector<Array> turned;
    std::vector<std::vector<std::uint64_t>> results;

    step("parameters", 1, [&](unsigned) { choose(configuration_); });
    step("keygen_pair", 1, [&](unsigned) {
      client.emplace(parameters_);
      public_key = client->public_key();
    });
    step("keygen_relin", 1, [&](unsigned) {
      keys = client->evaluation_keys({3, {}, false}, options_.threads);
    });
    step("keygen_rotate", 1, [&](unsigned) {
      rotation_keys = client->evaluation_keys({2, rotations, false}, options_.threads);
    });
    keys->keys.insert(keys->keys.end(), rotation_keys->keys.begin(), rotation_keys->keys.end());
    step("encrypt", 3, [&](unsigned i) { in.push_back(bgv::encrypt(*public_key, values_[i])); });
    step(
        "load_keys", 1,
        [&](unsigned) {
          server_.emplace(*keys, ServerOptions{options_.device, options_.threads, {}});
        },
        true);
    step(
        "upload", 3, [&](unsigned i) { x.push_back(server_->upload(in[i])); }, true);
    for (const bool timed : {false, true}) {  // a server does more than one thing in its life
      sum = product = second = Array();
      turned.clear();
      timed_ = timed;
      step("add", 2, [&](unsigned i) { sum = server_->add(i ? sum : x[0], x[i + 1]); });
      step("mult_relin", 2, [&](unsigned i) {
        if (i == 0)
          product = server_->multiply(x[0], x[1]);
        else
          second = server_->multiply(chained ? product : x[0], x[2]);
      });
      step("rotate", static_cast<unsigned>(rotations.size()),
           [&](unsigned i) { turned.push_back(server_->rotate(x[0], rotations[i])); });
    }
    std::vector<Array> all{sum, second};
    all.insert(all.end(), turned.begin(), turned.end());
    const auto many = static_cast<unsigned>(all.size());
    step(
        "download", many, [&](unsigned i) { out.push_back(server_->download(all[i])); }, true);
    step("decrypt", many, [&](unsigned i) { results.push_back(client->decrypt(out[i])); });
    server_.reset();
    check(results, chained);
  }

  /// What is timed must be right.
  void check(const std::vector<std::vector<std::uint64_t>>& results, bool chained) const {
    const Row &a = values_[0], &b = values_[1], &c = values_[2];
    const auto half = static_cast<std::int64_t>(parameters_.N() / 2);
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::vector<std::int64_t> expected{a[i] + b[i] + c[i], a[i] * c[i] * (chained ? b[i] : 1)};
      const auto at = static_cast<std::int64_t>(i);
      for (const std::int64_t by : rotations)
        expected.push_back(
            a[static_cast<std::size_t>(at / half * half + (at % half + by + half) % half)]);
      for (std::size_t r = 0; r < expected.size(); ++r)
        if (results[r][i] != static_cast<std::uint64_t>(expected[r]) % parameters_.t())
          throw Error("slot " + std::to_string(i) + " of the example's result " +
                      std::to_string(r) + " came out wrong");
    }
  }

  inline static const Row rotations{1, 2, 3, -1, -2};
  const Options& options_;
  Configuration configuration_;
  Parameters parameters_;
  std::vector<Row> values_;
  std::optional<Server> server_;
  bool timed_ = true;
  std::vector<Step> steps_;
};

void work(const Bench& bench) {
  std::printf("{\"params\": %s, \"security_bits\": %s}\n",
              quoted(in_words(bench.parameters())).c_str(),
              number(bench.parameters().security_bits()).c_str());
  std::fflush(stdout);
  std::string op;
  unsigned runs = 0;
  while (std::cin >> op >> runs) {
    std::printf("{\"seconds\": %s}\n", number(bench.seconds(op, std::max(1u, runs))).c_str());
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--worker" || name == "--quick") {
      (name == "--quick" ? options.quick : options.worker) = true;
      continue;
    }
    const char* const value = i + 1 < argc ? argv[++i] : nullptr;
    if (!value) throw Error(name + " wants a value");
    if (name == "--depth")
      options.depth = static_cast<unsigned>(std::atoi(value));
    else if (name == "--threads")
      options.threads = static_cast<unsigned>(std::atoi(value));
    else if (name == "--batch")
      options.batch = std::max<std::size_t>(1, std::strtoull(value, nullptr, 10));
    else if (name == "--device")
      options.device = value;
    else if (name == "--record")
      options.record = value;
    else if (name == "--commit")
      options.commit = value;
    else if (name == "--only")
      options.only = value;
    else
      throw Error("what is " + name + "?");
  }
  const Report report(options);
  bool found = false;
  for (const Configuration& c : configurations) {
    if (options.depth ? c.depth != options.depth : options.worker) continue;
    found = true;
    if (!options.worker && options.wants("memory")) memory(options, c, report);
    if (options.only != "example" && options.only != "memory") {
      const Bench bench(options, c);
      options.worker ? work(bench) : bench.run(report);
    }
    if (!options.worker && options.wants("example")) Example(options, c).run(report);
  }
  if (!options.depth && options.wants("example")) Example(options, examples_own).run(report);
  if (!found) throw Error("--depth is 1, 5, 12 or 24");
  return 0;
}

}  // namespace
}  // namespace whorl

int main(int argc, char** argv) {
  try {
    return whorl::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_bgv: %s\n", e.what());
    return 1;
  }
}
