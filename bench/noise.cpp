// Noise of bootstrapping against its formula: 2^14 NAND gates over 16 keys a set, measured on the
// bootstrapped ciphertexts at q and on the blind rotation alone at Q. One JSON object a line.
//
// usage: bench_noise [--set NAME] [--gates LOG2] [--keys K] [--threads T] [--commit ID]
//                    [--record FILE]
#include <array>

#include "../tests/noise/schemes/binfhe/measure.h"
#include "common/bench.h"
#include "common/binfhe.h"
#include "whorl/binfhe/server.h"

namespace whorl::bench {
namespace {

using binfhe::Transform;

struct Case {
  const char* set;
  Transform transform;
  unsigned gates_log2;  ///< over all keys
  unsigned keys;
  double peer_beta;     ///< beta_exp of Xiao et al. (TCHES 2025), Table 3 or 4; 0 if not there
  std::uint64_t q = 0;  ///< in place of the set's, if not 0
  std::string name() const {
    return q ? std::string(set) + " q=" + std::to_string(q) : std::string(set);
  }
  binfhe::Parameters parameters() const {
    auto named = binfhe::Parameters::named(set, true);
    if (q == 0) return named;
    binfhe::ParameterLiteral literal = named.literal();
    literal.name = name();
    literal.q = q;
    return binfhe::Parameters::create(std::move(literal), true);
  }
};

const std::array kCases = {
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
    // Table 4 has its errors modulo 4096; of several moduli Q' of one gadget the largest.
    Case{"xiao/HOMSIGN_16", Transform::fft, 10, 8, 9.59, 4096},
    Case{"xiao/HOMSIGN_25", Transform::fft, 10, 8, 8.51, 4096},
    Case{"xiao/HOMSIGN_29", Transform::fft, 10, 8, 8.63, 4096},
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

/// What was measured of one thing under one set.
struct Line {
  const char *op, *unit;
  std::size_t runs, wrong;
  double seconds;
};

void add(const Records& records, const Case& c, const binfhe::Parameters& parameters,
         const Line& line, const Outcome& outcome) {
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
  Record record{.op = line.op, .params = c.name(), .unit = line.unit, .runs = line.runs};
  describe(record, parameters, c.transform);
  const Members members = {{"keys", std::uint64_t{keys}},
                           {"deviation", std::sqrt(all.mean_square())},
                           {"mean_square", all.mean_square()},
                           {"predicted_mean_square", outcome.predicted},
                           {"ratio_to_formula", all.mean_square() / outcome.predicted},
                           {"mean", mean},
                           {"mean_99", std::vector<double>{mean - half, mean + half}},
                           {"wrong", std::uint64_t{line.wrong}},
                           {"seconds", line.seconds}};
  record.more.insert(record.more.end(), members.begin(), members.end());
  if (outcome.predicted_mean > 0) {
    record.more.emplace_back("predicted_mean_deviation", std::sqrt(outcome.predicted_mean));
    record.more.emplace_back("key_means_chi_square", fit);
  }
  if (c.peer_beta > 0 && record.op == "nand") {
    record.peer.name = "Xiao et al., TCHES 2025, FFT on a GPU";
    record.more.emplace_back("peer_deviation", c.peer_beta);
  }
  records.add(record);
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
             const Records& records) {
  const auto parameters = c.parameters();
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
      // Failures are what is measured.
      const binfhe::Server server(evaluation, {.threads = threads},
                                  {.transform = c.transform, .allow_failure = 1});
      const double start = seconds_now();
      wrong += gates(client, server, per_key, refreshed.keys.emplace_back());
      gate_seconds += seconds_now() - start;
    }
    const double start = seconds_now();
    auto& all = every.keys.emplace_back();
    auto& first = extracted.keys.emplace_back();
    if (binfhe::narrow(parameters))
      rotations<std::uint32_t>(client, {parameters, evaluation, c.transform, threads},
                               rotations_per_key, all, first);
    else
      rotations<std::uint64_t>(client, {parameters, evaluation, c.transform, threads},
                               rotations_per_key, all, first);
    rotation_seconds += seconds_now() - start;
    std::fprintf(stderr, "%s %s: key %u of %u\n", c.name().c_str(), name_of(c.transform), k + 1,
                 keys);
  }
  add(records, c, parameters, {"nand", "q", per_key * keys, wrong, gate_seconds}, refreshed);
  const std::size_t rotated = rotations_per_key * keys;
  add(records, c, parameters, {"blind_rotate, coefficient 0", "Q", rotated, 0, rotation_seconds},
      extracted);
  add(records, c, parameters, {"blind_rotate, all coefficients", "Q", rotated, 0, rotation_seconds},
      every);
}

int run(CommandLine& line) {
  std::string set;
  unsigned gates_log2 = 0, keys = 0, threads = 0;
  Common options;
  line.record(options)
      .add("--set", set, "of parameters; all if absent")
      .add("--gates", gates_log2, "log2 of the gates of a set")
      .add("--keys", keys, "of a set")
      .add("--threads", threads, "0: all cores")
      .parse();
  const Records records("noise", options, machine_of("cpu", threads), Records::To::file_and_stdout);
  for (const Case& c : kCases)
    if (set.empty() || set == c.set)
      measure(c, std::clamp(keys ? keys : c.keys, 2u, 16u), gates_log2 ? gates_log2 : c.gates_log2,
              threads, records);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_noise", whorl::bench::run);
}
