// CKKS: what a bootstrap takes, as a whole and by its steps, and how precise it is.
//
// usage: bench_ckks_bootstrap [--depth 13] [--scale-bits 40] [--dnum 4] [--slots 32768] [--real]
//                             [--set NAME] [--device cpu|cuda:0] [--threads 1] [--batch N]
//                             [--repeats 1] [--in-a-row 1] [--iterations 1] [--kernels]
//                             [--energy SECONDS] [--quick] [--only OP,OP…] [--name NAME]
//                             [--record FILE] [--commit ID]
//
// OP: bootstrap, the steps slots_to_coeffs, mod_raise, coeffs_to_slots, real_and_imaginary,
// eval_mod (but for the last doubling) and eval_mod_end (from there on), bootstrap_bits, and
// bootstrap_row_bits. A set for bits has as many bits in each coefficient as it is made for; its
// steps end with exponential and bits, and no precision is measured. With --iterations 2 the
// operations of whole bootstraps are called bootstrap_x2, bootstrap_bits_x2 and
// bootstrap_row_bits_x2, and steps are not timed.
// --name is what records of the time of a whole bootstrap, its kernels and its energy say in place
// of "bootstrap": packed_bootstrap (--set tensorfhe/packed-bootstrap --batch 32) or bootstrap_256
// (--slots 256).
// Data lies on the device; times are of a batch, each with the wait for it. The bits are those of
// the worst slot of `repeats` batches of random values and of constants, -log2 of the absolute
// error, of fresh ciphertexts. bootstrap_row_bits, with --in-a-row, are those after each bootstrap
// of a row, of random values and of constants.
//
// "clock": "wall", or "cpu" for one thread on the CPU.
#include "circuits/ckks/bootstrap.h"
#include "common/server.h"
#include "whorl/ckks.h"

namespace whorl::bench {
namespace {

using namespace ckks;
using Values = std::vector<std::complex<double>>;

struct Options : CkksOptions {
  Options() : CkksOptions(13) {}
  unsigned repeats = 1, in_a_row = 1, iterations = 1;
  std::uint64_t slots = 32768;
  bool real = false;
  std::string name = "bootstrap";
};

std::string in_words(const Parameters& p, const Options& options) {
  return "depth=" + std::to_string(p.depth() - p.least_bootstrap_level()) + ", scale=2^" +
         std::to_string(static_cast<int>(std::lround(std::log2(p.scale(0))))) +
         ", N=" + std::to_string(p.N()) + ", limbs " + std::to_string(p.primes(p.top()).size()) +
         " + " + std::to_string(p.special()) + ", dnum " + std::to_string(p.digits()) + ", slots " +
         std::to_string(options.slots) + (options.real ? ", real" : ", complex");
}

int run(CommandLine& line) {
  Options options;
  options.declare(line)
      .add("--slots", options.slots, "values of a ciphertext")
      .flag("--real", options.real, "real values")
      .add("--repeats", options.repeats, "batches whose precision is measured")
      .add("--in-a-row", options.in_a_row, "bootstraps one after the other")
      .add("--iterations", options.iterations, "of a bootstrap, which add bits")
      .add("--name", options.name, "what records call a whole bootstrap")
      .parse();
  const Parameters p = !options.set.empty() ? Parameters::named(options.set)
                                            : Parameters::choose({.depth = options.depth,
                                                                  .scale_bits = options.scale_bits,
                                                                  .dnum = options.dnum,
                                                                  .bootstrap = true});
  const Client client(p);
  KeyRequest request;
  request_bootstrap(request, p, options.slots);
  const Server server(client.evaluation_keys(request),
                      {.device = options.device, .threads = options.threads});
  const EncodedBootstrap maps = encode_bootstrap(server, options.slots);
  const Records records("ckks_bootstrap", options, machine_of(options.device, options.threads),
                        Records::To::file_and_stdout);
  const auto record_of = [&](const std::string& op) {
    Record record{
        .op = op, .params = in_words(p, options), .scheme = "ckks", .batch = options.batch};
    record.security_bits = std::round(p.security_bits() * 10) / 10;
    record.pfail_log2 = std::round(p.log2_failure() * 10) / 10;
    return record;
  };

  const unsigned low_level = p.least_bootstrap_level();
  const auto upload = [&](const Values& values) {
    const EncryptOptions how{.length = static_cast<std::size_t>(options.slots)};
    Ciphertexts made = [&] {
      if (!options.real) return client.encrypt(values, how);
      std::vector<double> reals;
      for (const auto& z : values) reals.push_back(z.real());
      return client.encrypt(reals, how);
    }();
    return server.upload(made);
  };
  std::mt19937_64 random(1);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
  const auto random_values = [&] {
    Values x(options.batch * options.slots);
    for (auto& z : x) {
      const double real = uniform() / (options.real ? 1 : std::numbers::sqrt2);
      z = options.real ? real : std::complex<double>(real, uniform() / std::numbers::sqrt2);
    }
    return x;
  };

  // What is timed must be right.
  const std::string suffix =
      options.iterations > 1 ? "_x" + std::to_string(options.iterations) : "";
  const unsigned bits = p.literal().bootstrap->bits;
  const auto refreshed = [&](const Array& x) {
    return bits == 0 ? bootstrap(server, x, maps, options.iterations)
                     : bootstrap_bits(server, x, bits, maps, 48)[0];
  };
  /// Two vectors of numbers of so many bits for each ciphertext, as parts of 2^bits.
  const auto random_numbers = [&] {
    std::vector<double> numbers(2 * options.batch * options.slots);
    for (double& each : numbers)
      each =
          std::ldexp(static_cast<double>(random() >> (64 - bits)) + 0.5, -static_cast<int>(bits));
    return server.upload(client.encrypt(
        numbers, {.length = static_cast<std::size_t>(options.slots), .bound = Bounds(0, 1)}));
  };
  const auto error_of = [&](const Array& y, const Values& x) {
    const auto got = client.decrypt_raw(server.download(y));
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(got[i] - x[i]));
    return worst;
  };
  const auto worst_of = [&](const Values& x) { return error_of(refreshed(upload(x)), x); };
  const auto bits_of = [&](const std::string& op, const std::string& what, std::size_t runs,
                           double worst) {
    Record record = record_of(op);
    record.unit = "bits";
    record.runs = runs;
    record.set(-std::log2(worst));
    record.more = {{"values", what}};
    return record;
  };
  const auto add_bits = [&](const std::string& what, std::size_t runs, double worst) {
    records.add(bits_of("bootstrap_bits" + suffix, what, runs, worst));
  };
  if (bits == 0 && options.wants("bootstrap_bits")) {
    double worst = 0;
    for (unsigned i = 0; i < options.repeats; ++i)
      worst = std::max(worst, worst_of(random_values()));
    add_bits("random", options.repeats * options.batch, worst);
    std::vector<std::pair<std::string, std::complex<double>>> constants{{"1", 1}, {"-1", -1}};
    if (!options.real) constants.emplace_back("i", std::complex<double>(0, 1));
    for (const auto& [name, z] : constants)
      add_bits("constant " + name, options.batch,
               worst_of(Values(options.batch * options.slots, z)));
    Values single(options.batch * options.slots);
    for (std::size_t i = 0; i < options.batch; ++i) single[i * options.slots] = 1;
    add_bits("1 in the first slot", options.batch, worst_of(single));
  }

  if (bits == 0 && options.in_a_row > 1 && options.wants("bootstrap_row_bits")) {
    const auto add_row = [&](const std::string& what, const Values& values) {
      Array y = upload(values);
      for (unsigned k = 1; k <= options.in_a_row; ++k) {
        y = server.with_bound(refreshed(y), 1);
        Record record =
            bits_of("bootstrap_row_bits" + suffix, what, options.batch, error_of(y, values));
        record.more.emplace_back("in_a_row", std::uint64_t{k});
        records.add(record);
      }
    };
    add_row("random", random_values());
    for (const double z : {1.0, -1.0})
      add_row("constant " + number(z), Values(options.batch * options.slots, z));
  }

  const BootstrapSteps steps(
      server, EncodedBootstrapAccess::storage(maps),
      bits == 0 ? BootstrapSteps::Parts::joined : BootstrapSteps::Parts::apart);
  const Array given =
                  server.lower(bits == 0 ? upload(random_values()) : random_numbers(), low_level),
              x = bits == 0 ? given : paired(server, given);
  const Array lowest = steps.scale_down(x);
  const auto coefficients = steps.slots_to_coeffs(lowest), raised = steps.mod_raise(coefficients),
             slots = steps.coeffs_to_slots(raised, x.info());
  std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"bootstrap" + suffix, [&] { refreshed(given); }},
      {"slots_to_coeffs", [&] { steps.slots_to_coeffs(steps.scale_down(x)); }},
      {"mod_raise", [&] { steps.mod_raise(coefficients); }},
      {"coeffs_to_slots", [&] { steps.coeffs_to_slots(raised, x.info()); }}};
  Array angles, turned;
  if (bits == 0) {
    angles = steps.real_and_imaginary(slots, x.info());
    turned = steps.eval_mod(angles);
    calls.emplace_back("real_and_imaginary", [&] { steps.real_and_imaginary(slots, x.info()); });
    calls.emplace_back("eval_mod", [&] { steps.eval_mod(angles); });
    calls.emplace_back("eval_mod_end", [&] { steps.eval_mod_end(turned, lowest.info()); });
  } else {
    angles = steps.imaginary_angles(slots, x.info());
    turned = steps.exponential(angles);
    calls.emplace_back("real_and_imaginary", [&] { steps.imaginary_angles(slots, x.info()); });
    calls.emplace_back("exponential", [&] { steps.exponential(angles); });
    calls.emplace_back(
        "bits", [&] { steps.tables(turned, x.info(), bit_tasks(bit_polynomials(bits), 1)); });
  }
  if (options.iterations > 1) calls.resize(1);
  for (const auto& [op, call] : calls) {
    if (!options.wants(op)) continue;
    const std::string name = op == calls.front().first ? options.name + suffix : op;
    const Effort effort{
        .fewest = 3, .most = 100, .seconds = options.quick ? 0.2 : 1, .enough = 5, .slow = 5};
    Record record = record_of(name);
    const auto wait = [&] { server.synchronise(); };
    record.set(measure(effort, {call, wait, 1, options.clock()}));
    record.more = {{"clock", options.clock_name()},
                   {"key_bytes", static_cast<std::uint64_t>(server.key_bytes())},
                   {"plaintext_bytes", static_cast<std::uint64_t>(maps.bytes())}};
    records.add(record);
    options.add_watched(records, record_of, name, call, wait);
  }
  return 0;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_ckks_bootstrap", whorl::bench::run);
}
