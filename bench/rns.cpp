// RNS entries of the contract, and key switching made of them, on data that is on the device. One
// JSON object a line.
//
// usage: bench_rns [--device cuda:0|cpu] [--record FILE] [--commit ID] [--only OP]
//
// A time is one call's among many that were queued, so it is the device's or the launches',
// whichever takes longer; "waited" ones are of one operation and the wait for it. "share" is the
// floor's part of the time: the larger of compulsory memory traffic (inputs, keys and outputs once)
// and arithmetic at an H200's rates.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/ops.h"
#include "math/primes.h"
#include "math/random.h"
#include "ring/rns_plan.h"

namespace whorl {
namespace {

using Word = std::uint32_t;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string device = "cuda:0", record, commit = "unknown", only;
};

/// Rates of one H200, a second: bytes, wide multiply-adds, products by Shoup's method.
constexpr double memory_rate = 4.3e12, wide_rate = 6.4e12, shoup_rate = 4.08e12;

/// What an operation cannot do without.
struct Work {
  double bytes = 0, wide = 0, shoup = 0;
  double floor() const {
    return std::max(bytes / memory_rate, wide / wide_rate + shoup / shoup_rate);
  }
};

struct Times {
  std::vector<double> all;
  double median() const { return all[all.size() / 2]; }
};

/// Times of one of `calls` calls of run(), then finish(), for some tenths of a second.
template <class Run, class Finish>
Times measure(bool waited, const Run& run, const Finish& finish) {
  const auto time = [&](std::size_t calls) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < calls; ++i) run();
    finish();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(calls);
  };
  time(1);  // tables and memory
  const double once = time(2);
  const std::size_t calls =
      waited ? 1 : std::clamp<std::size_t>(static_cast<std::size_t>(0.01 / once), 1, 200);
  Times times;
  double sum = 0;
  while (times.all.size() < 5 || (sum < 0.08 && times.all.size() < 30)) {
    times.all.push_back(time(calls));
    sum += times.all.back() * static_cast<double>(calls);
    if (sum > 2) break;
  }
  std::sort(times.all.begin(), times.all.end());
  return times;
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

  void add(const std::string& op, const std::string& params, unsigned threads, std::size_t batch,
           bool waited, const Work& work, const Times& times) const {
    const double median = times.median();
    std::printf("%-15s %-36s %3zu %s %10.2f us %10.2f us/ciphertext %8.1f GB/s", op.c_str(),
                params.c_str(), batch, waited ? "waited" : "queued", 1e6 * median,
                1e6 * median / static_cast<double>(batch), 1e-9 * work.bytes / median);
    if (options_.device != "cpu")
      std::printf("  floor %8.2f us, %5.1f %%", 1e6 * work.floor(), 100 * work.floor() / median);
    std::printf("\n");
    std::fflush(stdout);
    if (!file_) return;
    std::fprintf(
        file_,
        "{\"bench\": \"rns\", \"op\": \"%s\", \"scheme\": null, \"params\": \"%s\", \"device\": "
        "\"%s\", \"device_count\": 1, \"threads\": %u, \"batch\": %zu, \"transfers\": "
        "\"excluded\", \"unit\": \"s\", \"median\": %s, \"min\": %s, \"max\": %s, \"runs\": %zu, "
        "\"waited\": %s, \"bytes_per_second\": %s, \"h200_floor\": %s, \"commit\": \"%s\", "
        "\"date\": \"%s\"}\n",
        op.c_str(), params.c_str(), device_.c_str(), threads, batch, number(median).c_str(),
        number(times.all.front()).c_str(), number(times.all.back()).c_str(), times.all.size(),
        waited ? "true" : "false", number(work.bytes / median).c_str(),
        number(work.floor()).c_str(), options_.commit.c_str(), date_.c_str());
    std::fflush(file_);
  }

 private:
  const Options& options_;
  std::string device_, date_;
  std::FILE* file_ = nullptr;
};

struct Shape {
  std::uint32_t N;
  unsigned limbs, special, digit_limbs;
};

std::vector<Word> random_words(std::size_t count, Word bound) {
  std::vector<Word> out(count);
  math::expand_uniform<Word>(math::random_seed(), 0, bound, out);
  return out;
}

class Bench {
 public:
  Bench(const Options& options, const Report& report, const Shape& shape)
      : options_(options), report_(report), device_(backend::make_device(options.device)) {
    std::vector<Word> primes;
    for (const auto q : math::ntt_primes(30, shape.N, shape.limbs + shape.special))
      primes.push_back(static_cast<Word>(q));
    least_ = primes.back();
    const std::span<const Word> all = primes;
    plan_ = std::make_shared<ring::RnsPlan<Word>>(shape.N, all.first(shape.limbs),
                                                  all.subspan(shape.limbs), shape.digit_limbs);
    tables_ = device_->prepare_rns(plan_, 65537);
    const auto words = random_words(primes.size() * shape.N, least_);
    key_ = device_->prepare_rns_key(*tables_, [&](unsigned, std::span<Word> a, std::span<Word> b) {
      std::copy(words.begin(), words.end(), a.begin());
      std::copy(words.begin(), words.end(), b.begin());
    });
    params_ = "N=2^" + std::to_string(std::bit_width(shape.N) - 1) + ", " +
              std::to_string(shape.limbs) + "+" + std::to_string(shape.special) +
              " limbs of 30 bits, dnum " + std::to_string(plan_->digits());
  }

  void run(std::size_t batch) const {
    const ring::RnsPlan<Word>& plan = *plan_;
    const backend::Device& device = *device_;
    const auto& tables = *tables_;
    const std::size_t L = plan.limbs(), K = plan.special(), D = plan.digits(), rows = L + K;
    const std::size_t row = batch * plan.N(), part = L * row;
    const auto limbs = static_cast<unsigned>(L);
    const std::uint32_t g = 5;
    const auto x = filled(2 * part), y = filled(2 * part), wide = filled(2 * rows * row);
    auto product = device.allocate<Word>(3 * part), raised = device.allocate<Word>(D * rows * row),
         sums = device.allocate<Word>(2 * rows * row), out = device.allocate<Word>(2 * part);

    const auto tensor = [&] {
      device.tensor(tables, limbs, 2, x.slice(), 2, y.slice(), product.slice());
    };
    const auto mod_up = [&](backend::Slice<const Word> in) {
      device.mod_up(tables, limbs, in, raised.slice());
    };
    const auto inner_product = [&](std::uint32_t by) {
      device.inner_product(*key_, tables, limbs, by, std::as_const(raised).slice(), sums.slice());
    };

    const double w = static_cast<double>(row), N = static_cast<double>(plan.N());
    const double l = static_cast<double>(L), k = static_cast<double>(K), d = static_cast<double>(D);
    const double transform = 0.5 * (std::bit_width(plan.N()) - 1);  // products a value
    const double key_bytes = 4 * N * 2 * d * (l + k);
    double wide_up = 0;
    for (std::size_t first = 0; first < L; first += plan.digit_limbs()) {
      const std::size_t own = std::min<std::size_t>(plan.digit_limbs(), L - first);
      wide_up += static_cast<double>((rows - own) * (own + 1));
    }
    const Work of_tensor{4 * w * 7 * l, 4 * l * w, 0};
    const Work of_up{4 * w * (l + d * (l + k)), w * wide_up,
                     w * (d * (l + k) * transform + l)};  // l + d·(l + k) - l transforms
    const Work of_inner{4 * w * (d + 2) * (l + k) + key_bytes, 2 * d * (l + k) * w, 0};
    const Work of_down{4 * w * 2 * (2 * l + k), 2 * w * l * (k + 1),
                       2 * w * ((l + k) * (transform + 1))};
    const Work of_rescale{4 * w * 2 * (2 * l - 1), 4 * w * (l - 1), 2 * w * l * (transform + 1)};
    const auto together = [&](double bytes, std::initializer_list<Work> parts) {
      Work sum{bytes + key_bytes, 0, 0};
      for (const Work& one : parts) sum.wide += one.wide, sum.shoup += one.shoup;
      return sum;
    };

    time("tensor", batch, of_tensor, product, tensor);
    time("tensor_plain", batch, {4 * (w * 4 + N) * l, 2 * l * w, 0}, out, [&] {
      device.tensor(tables, limbs, 2, x.slice(), 1, y.slice().part(0, L * plan.N()), out.slice());
    });
    std::vector<std::uint32_t> backwards(batch);
    for (std::size_t i = 0; i < batch; ++i)
      backwards[i] = static_cast<std::uint32_t>(batch - 1 - i);
    time("take", batch, {4 * w * 4 * l, 0, 0}, out,
         [&] { device.take(2 * L, plan.N(), backwards, x.slice(), 0, out.slice()); });
    time("mod_up", batch, of_up, raised, [&] { mod_up(x.slice().part(0, part)); });
    time("inner_product", batch, of_inner, sums, [&] { inner_product(1); });
    time("inner_product_g", batch, of_inner, sums, [&] { inner_product(g); });
    time("mod_down", batch, of_down, out,
         [&] { device.mod_down(tables, limbs, 2, wide.slice(), {}, 1, out.slice()); });
    time("rescale", batch, of_rescale, out, [&] {
      device.rescale(tables, limbs, 2, x.slice(), out.slice().part(0, 2 * (L - 1) * row));
    });
    const auto mult_relin = [&] {
      backend::together(device, [&] {
        tensor();
        mod_up(std::as_const(product).slice().part(2 * part, part));
        inner_product(1);
        device.mod_down(tables, limbs, 2, std::as_const(sums).slice(),
                        std::as_const(product).slice().part(0, 2 * part), 1, out.slice());
      });
    };
    time("mult_relin", batch, together(4 * w * 6 * l, {of_tensor, of_up, of_inner, of_down}), out,
         mult_relin, true);
    const auto rotate = [&] {
      backend::together(device, [&] {
        mod_up(x.slice().part(part, part));
        inner_product(g);
        device.mod_down(tables, limbs, 2, std::as_const(sums).slice(), x.slice().part(0, part), g,
                        out.slice());
      });
    };
    time("rotate", batch, together(4 * w * 4 * l, {of_up, of_inner, of_down}), out, rotate, true);
  }

 private:
  template <class Run>
  void time(const char* op, std::size_t batch, const Work& work,
            const backend::Buffer<Word>& result, const Run& run, bool waited_too = false) const {
    if (!options_.only.empty() && options_.only != op) return;
    const auto finish = [&] {
      Word word = 0;
      device_->download(result.slice().part(0, 1), std::span(&word, 1));
    };
    for (const bool waited : {false, true}) {
      if (waited && !waited_too) continue;
      report_.add(op, params_, device_->threads(), batch, waited, work,
                  measure(waited, run, finish));
    }
  }
  /// Residues modulo every prime, the same few again and again.
  backend::Buffer<Word> filled(std::size_t count) const {
    const auto words = random_words(std::min<std::size_t>(count, 1 << 24), least_);
    auto out = device_->allocate<Word>(count);
    for (std::size_t at = 0; at < count; at += words.size()) {
      const std::size_t many = std::min(words.size(), count - at);
      device_->upload(std::span(words).first(many), out.slice().part(at, many));
    }
    return out;
  }

  const Options& options_;
  const Report& report_;
  std::unique_ptr<backend::Device> device_;
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::unique_ptr<backend::RnsTables<Word>> tables_;
  std::unique_ptr<backend::RnsSwitchKey<Word>> key_;
  Word least_ = 0;
  std::string params_;
};

int run(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string option = arguments[i];
    if (i + 1 == count) throw ParameterError(option + " takes a value");
    const std::string value = arguments[i + 1];
    if (option == "--device") {
      options.device = value;
    } else if (option == "--record") {
      options.record = value;
    } else if (option == "--commit") {
      options.commit = value;
    } else if (option == "--only") {
      options.only = value;
    } else {
      throw ParameterError("unknown option " + option);
    }
  }
  const Report report(options);
  for (const Shape& shape : {Shape{1 << 13, 3, 1, 1}, Shape{1 << 14, 9, 3, 3},
                             Shape{1 << 15, 18, 6, 6}, Shape{1 << 16, 38, 13, 13}}) {
    const Bench bench(options, report, shape);
    bench.run(1);
    if (options.device != "cpu") bench.run(64);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl

int main(int count, char** arguments) {
  try {
    return whorl::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_rns: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
