// BGV at the four configurations of docs/bgv.md: what a client and a server take for each
// operation.
//
// usage: bench_bgv [--depth 1|5|12|24] [--device cpu|cuda:0] [--threads 1] [--batch N] [--only OP]
//                  [--record FILE] [--commit ID] [--worker]
//
// OP: keygen, encrypt, mult_relin, square, rotate, add, mult_plain, rescale or end_to_end. Without
// --depth, all four. A latency ("waited": true) is of one operation and the wait for it; with more
// than one ciphertext, or on a device that queues, the time of one among many that were queued
// follows ("waited": false). Medians are of calls; divide by the batch for a ciphertext.
// end_to_end: two ciphertexts go from the host's memory to the device, the product comes back.
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
#include <random>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "whorl/bgv.h"
#include "whorl/error.h"

namespace whorl {
namespace {

using namespace bgv;
using Clock = std::chrono::steady_clock;

struct Options {
  unsigned depth = 0, threads = 1;
  std::size_t batch = 1;
  std::string device = "cpu", record, commit = "unknown", only;
  bool worker = false;
  bool wants(const std::string& op) const { return only.empty() || only == op; }
};

struct Configuration {
  unsigned depth;
  std::uint64_t t;
  std::uint32_t N;
};
constexpr Configuration configurations[] = {
    {1, 65537, 8192}, {5, 65537, 16384}, {12, 65537, 32768}, {24, 786433, 65536}};

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

/// Times of `calls` calls of run() and then finish(), a call, for some tenths of a second; sorted.
std::vector<double> measure(std::size_t calls, const std::function<void()>& run,
                            const std::function<void()>& finish) {
  const auto time = [&](std::size_t many) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < many; ++i) run();
    finish();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(many);
  };
  const double first = time(1);  // memory
  std::vector<double> times;
  double sum = 0;
  if (first > 5) return {first};
  while (times.size() < 5 || (sum < 0.5 && times.size() < 200)) {
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

  void add(const std::string& op, const std::string& params, double security, std::size_t batch,
           bool on_device, bool waited, const std::vector<double>& times) const {
    const std::string line =
        "{\"bench\": \"bgv\", \"op\": " + quoted(op) +
        ", \"scheme\": \"bgv\", \"params\": " + quoted(params) +
        ", \"device\": " + quoted(on_device ? device_ : "cpu") +
        ", \"device_count\": 1, \"threads\": " + std::to_string(options_.threads) +
        ", \"batch\": " + std::to_string(batch) +
        ", \"transfers\": " + (op == "end_to_end" || !on_device ? "\"included\"" : "\"excluded\"") +
        ", \"unit\": \"s\", \"median\": " + number(times[times.size() / 2]) +
        ", \"min\": " + number(times.front()) + ", \"max\": " + number(times.back()) +
        ", \"runs\": " + std::to_string(times.size()) +
        ", \"waited\": " + (waited ? "true" : "false") +
        ", \"security_bits\": " + number(std::round(security * 10) / 10) +
        ", \"commit\": " + quoted(options_.commit) + ", \"date\": " + quoted(date_) + "}\n";
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

  std::string params() const {
    return "depth=" + std::to_string(parameters_.literal().depth) +
           ", t=" + std::to_string(parameters_.t()) + ", N=" + std::to_string(parameters_.N()) +
           ", limbs " + std::to_string(parameters_.limbs()) + "+" +
           std::to_string(parameters_.special()) + ", dnum " + std::to_string(parameters_.digits());
  }
  double security_bits() const { return parameters_.security_bits(); }

  void run(const Report& report) const {
    const auto wait = [&] { server_.synchronise(); };
    const auto add = [&](const std::string& op, std::size_t batch, bool on_device, bool waited,
                         const std::vector<double>& times) {
      report.add(op, params(), security_bits(), batch, on_device, waited, times);
    };
    for (const auto& [op, call] : on_host_)
      if (options_.wants(op))
        add(op, op == "keygen" ? 1 : options_.batch, op == "end_to_end", true,
            measure(1, call, [] {}));
    for (const auto& [op, call] : on_device_) {
      if (!options_.wants(op)) continue;
      const auto waited = measure(1, call, wait);
      add(op, options_.batch, true, true, waited);
      if (options_.device == "cpu") continue;
      const auto calls = static_cast<std::size_t>(std::clamp(0.02 / waited[0], 1.0, 200.0));
      add(op, options_.batch, true, false, measure(calls, call, wait));
    }
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
  static Parameters choose(const Configuration& c) {
    Requirements needs;
    needs.depth = c.depth;
    needs.plain_modulus = c.t;
    needs.N = c.N;
    return Parameters::choose(needs);
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

void work(const Bench& bench) {
  std::printf("{\"params\": %s, \"security_bits\": %s}\n", quoted(bench.params()).c_str(),
              number(bench.security_bits()).c_str());
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
    if (name == "--worker") {
      options.worker = true;
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
    const Bench bench(options, c);
    options.worker ? work(bench) : bench.run(report);
  }
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
