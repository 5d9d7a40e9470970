// Noise of bootstrapping against its formula: 2^14 NAND gates over 16 keys a set, measured on the
// bootstrapped ciphertexts at q and on the blind rotation alone at Q. One JSON object a line.
//
// usage: bench_noise [--set NAME] [--gates LOG2] [--keys K] [--threads T] [--commit ID] > FILE
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <string>
#include <vector>

#include "../tests/noise/measure.h"
#include "whorl/binfhe/server.h"

namespace whorl {
namespace {

using binfhe::Transform;

struct Case {
  const char* set;
  Transform transform;
  unsigned gates_log2;  ///< over all keys
  unsigned keys;
  double peer_beta;  ///< beta_exp of Xiao et al. (TCHES 2025), Table 3 or 4; 0 if not there
};

constexpr std::array kCases = {
    Case{"W128_P64", Transform::ntt, 14, 16, 0},
    Case{"W128_P64", Transform::fft, 14, 16, 0},
    Case{"openfhe_1_6/STD128", Transform::ntt, 14, 16, 0},
    Case{"openfhe_1_6/STD128", Transform::fft, 14, 16, 0},
    Case{"xiao/STD128", Transform::fft, 14, 16, 10.72},
    Case{"xiao/STD192", Transform::fft, 12, 8, 7.55},
    Case{"xiao/STD256", Transform::ntt, 12, 8, 27.96},
    Case{"xiao/STD128Q", Transform::fft, 12, 8, 7.56},
    Case{"xiao/STD192Q", Transform::fft, 12, 8, 7.93},
    Case{"xiao/STD256Q", Transform::fft, 12, 8, 20.81},
    Case{"W128_P128", Transform::ntt, 12, 16, 0},
    Case{"W128_P128", Transform::fft, 12, 16, 0},
    Case{"xiao/EVALFUNC", Transform::ntt, 10, 8, 0},
    Case{"xiao/EVALFUNC", Transform::fft, 11, 8, 9.5},
};

/// Quantile 0.995 of Student's t for 1 … 15 degrees of freedom.
constexpr std::array kStudent = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355,
                                 3.250,  3.169, 3.106, 3.055, 3.012, 2.977, 2.947};

struct Outcome {
  std::vector<noise::Moments> keys;  ///< one a key
  double predicted = 0;              ///< mean square by the formula
  /// Mean square over keys of the mean under one key; 0 where coefficients of several kinds are
  /// mixed.
  double predicted_mean = 0;

  noise::Moments all() const {
    noise::Moments sum;
    for (const auto& key : keys) sum.add(key);
    return sum;
  }
};

class Report {
 public:
  Report(std::string commit, unsigned threads) : commit_(std::move(commit)), threads_(threads) {
    char text[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
    date_ = text;
  }
  void line(const Case& c, const binfhe::Parameters& parameters, const char* op, const char* unit,
            const Outcome& outcome, std::size_t runs, std::size_t wrong, double seconds) const {
    const noise::Moments all = outcome.all();
    const std::size_t keys = outcome.keys.size();
    // The 99 % interval of the mean takes keys, not bootstraps, as its sample: under one key the
    // mean is a constant of that key.
    double mean = 0, spread = 0, fit = 0;
    for (const auto& key : outcome.keys) mean += key.mean() / static_cast<double>(keys);
    for (const auto& key : outcome.keys) {
      spread += (key.mean() - mean) * (key.mean() - mean) / static_cast<double>(keys - 1);
      fit += key.mean() * key.mean() / (outcome.predicted_mean + outcome.predicted / key.count);
    }
    const double half = kStudent.at(keys - 2) * std::sqrt(spread / static_cast<double>(keys));
    std::printf(
        "{\"bench\": \"noise\", \"op\": \"%s\", \"scheme\": \"binfhe\", \"params\": \"%s\", "
        "\"device\": \"cpu\", \"device_count\": 1, \"threads\": %u, \"transform\": \"%s\", "
        "\"unit\": \"%s\", \"runs\": %zu, \"keys\": %zu, \"deviation\": %.6g, "
        "\"mean_square\": %.6g, \"predicted_mean_square\": %.6g, \"ratio_to_formula\": %.4f, "
        "\"mean\": %.4g, \"mean_99\": [%.4g, %.4g], \"wrong\": %zu, \"seconds\": %.1f, ",
        op, c.set, threads_, c.transform == Transform::fft ? "fft" : "ntt", unit, runs, keys,
        std::sqrt(all.mean_square()), all.mean_square(), outcome.predicted,
        all.mean_square() / outcome.predicted, mean, mean - half, mean + half, wrong, seconds);
    if (outcome.predicted_mean > 0)
      std::printf("\"predicted_mean_deviation\": %.4g, \"key_means_chi_square\": %.3f, ",
                  std::sqrt(outcome.predicted_mean), fit);
    if (c.peer_beta > 0 && std::string(op) == "nand")
      std::printf("\"peer\": \"Xiao et al., TCHES 2025, FFT on a GPU\", \"peer_deviation\": %.2f, ",
                  c.peer_beta);
    std::printf(
        "\"security_bits\": %.1f, \"pfail_log2\": %.1f, \"commit\": \"%s\", \"date\": \"%s\"}\n",
        parameters.security().bits(), parameters.failure_log2(c.transform), commit_.c_str(),
        date_.c_str());
    std::fflush(stdout);
  }

 private:
  std::string commit_, date_;
  unsigned threads_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// NAND of random bits: errors at q of what comes out.
std::size_t gates(const binfhe::Client& client, const binfhe::Server& server, std::size_t count,
                  noise::Moments& moments) {
  const auto x = noise::random_messages(count, 2), y = noise::random_messages(count, 2);
  std::vector<std::uint32_t> want(count);
  for (std::size_t i = 0; i < count; ++i) want[i] = 1 - x[i] * y[i];
  const auto a = client.encrypt(x), b = client.encrypt(y);
  const binfhe::Ciphertexts* inputs[] = {&a, &b};
  const auto out = server.gate(binfhe::Gate::nand, inputs);
  for (const std::int64_t error : client.noise(out, want)) moments.add(static_cast<double>(error));
  const auto got = client.decrypt(out);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += got[i] != want[i];
  return wrong;
}

/// Blind rotations of a gate's test vector by random ciphertexts: errors at Q of all coefficients,
/// each of which sample extraction could take.
template <class Word>
void rotations(const binfhe::Client& client, const noise::Rotator<Word>& rotator, std::size_t count,
               noise::Moments& every, noise::Moments& extracted) {
  const auto& parameters = client.parameters();
  const std::size_t N = parameters.N();
  const std::vector<Word> lut(N, static_cast<Word>(parameters.Q() / 8));
  const noise::RingPhase<Word> phase(client.secret_key().ring(), parameters.Q());
  for (std::size_t done = 0; done < count; done += 64) {
    const std::size_t now = std::min<std::size_t>(64, count - done);
    const auto lwe = noise::uniform<std::uint32_t>(now * (parameters.n() + 1), 2 * N);
    const auto errors = noise::rotation_errors<Word>(phase(rotator.rotate(lwe, lut)), lut, lwe,
                                                     client.secret_key().lwe(), parameters.Q());
    for (double error : errors) every.add(error);
    for (std::size_t c = 0; c < now; ++c) extracted.add(errors[c * N]);
  }
}

void measure(const Case& c, unsigned keys, unsigned gates_log2, unsigned threads,
             const Report& report) {
  const auto parameters = binfhe::Parameters::named(c.set, true);
  const auto estimate = parameters.noise(c.transform);
  const std::size_t per_key = (std::size_t{1} << gates_log2) / keys;
  const std::size_t rotations_per_key = std::max<std::size_t>(1, per_key / 4);
  Outcome refreshed{{}, estimate.refreshed, noise::refreshed_mean_square(parameters, c.transform)};
  Outcome extracted{
      {}, estimate.blind_rotation, noise::rotation_mean_square(parameters, c.transform)};
  Outcome every{{}, estimate.blind_rotation};
  std::size_t wrong = 0;
  double gate_seconds = 0, rotation_seconds = 0;
  for (unsigned k = 0; k < keys; ++k) {
    const binfhe::Client client(parameters);
    const auto evaluation = client.evaluation_keys(threads);
    {
      binfhe::ServerOptions options;
      options.threads = threads;
      options.transform = c.transform;
      const binfhe::Server server(evaluation, std::move(options));
      const auto start = std::chrono::steady_clock::now();
      wrong += gates(client, server, per_key, refreshed.keys.emplace_back());
      gate_seconds += seconds_since(start);
    }
    const auto start = std::chrono::steady_clock::now();
    auto& all = every.keys.emplace_back();
    auto& first = extracted.keys.emplace_back();
    if (binfhe::narrow(parameters))
      rotations<std::uint32_t>(client, {parameters, evaluation, c.transform, threads},
                               rotations_per_key, all, first);
    else
      rotations<std::uint64_t>(client, {parameters, evaluation, c.transform, threads},
                               rotations_per_key, all, first);
    rotation_seconds += seconds_since(start);
    std::fprintf(stderr, "%s %s: key %u of %u\n", c.set,
                 c.transform == Transform::fft ? "fft" : "ntt", k + 1, keys);
  }
  report.line(c, parameters, "nand", "q", refreshed, per_key * keys, wrong, gate_seconds);
  report.line(c, parameters, "blind_rotate, coefficient 0", "Q", extracted,
              rotations_per_key * keys, 0, rotation_seconds);
  report.line(c, parameters, "blind_rotate, all coefficients", "Q", every, rotations_per_key * keys,
              0, rotation_seconds);
}

int run(int count, char** arguments) {
  std::string set, commit = "unknown";
  unsigned gates_log2 = 0, keys = 0, threads = 0;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string option = arguments[i], value = arguments[i + 1];
    if (option == "--set") set = value;
    if (option == "--commit") commit = value;
    if (option == "--gates") gates_log2 = static_cast<unsigned>(std::stoul(value));
    if (option == "--keys") keys = static_cast<unsigned>(std::stoul(value));
    if (option == "--threads") threads = static_cast<unsigned>(std::stoul(value));
  }
  const Report report(commit, threads);
  for (const Case& c : kCases)
    if (set.empty() || set == c.set)
      measure(c, std::clamp(keys ? keys : c.keys, 2u, 16u), gates_log2 ? gates_log2 : c.gates_log2,
              threads, report);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl

int main(int count, char** arguments) {
  try {
    return whorl::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_noise: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
