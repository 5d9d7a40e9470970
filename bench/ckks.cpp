// CKKS: what a server takes for each operation.
//
// usage: bench_ckks [--depth 30] [--scale-bits 40] [--dnum 4] [--ring 65536] [--word-bits 32]
//                   [--device cpu|cuda:0] [--threads 1] [--batch N] [--quick] [--only OP,OP…]
//                   [--set NAME] [--insecure] [--kernels] [--energy SECONDS]
//                   [--record FILE] [--commit ID]
//
// OP: mult_relin, mult_relin_rescale, square, rotate, conjugate, rescale, add, mult_plain,
// mult_integer. A
// latency ("waited": true) is of one operation and the wait for it; on a device that queues, the
// time of one among many that were queued follows ("waited": false). Medians are of calls; divide
// by the batch for a ciphertext. Data lies on the device. The defaults are close to Cheddar's
// shape: 44 primes of up to 30 bits in the chain, 11 special ones.
//
// --kernels adds a record for each kernel of an operation: its time when kernels are launched one
// by one, its share of all of them, and its occupancy. --energy adds the joules of an operation on
// one ciphertext, by the GPU's own counter, from a run of so many seconds.
//
// "clock": "wall", or "cpu" for one thread on the CPU.
#include "whorl/ckks.h"
#include "common/server.h"
#include "schemes/ckks/server_state.h"

namespace whorl::bench {
namespace {

using namespace ckks;

struct Options : CkksOptions {
  Options() : CkksOptions(30) {}
  unsigned ring = 65536, word_bits = 32;
  bool insecure = false;
};

std::string in_words(const Parameters& p) {
  return "depth=" + std::to_string(p.depth()) + ", scale=2^" +
         std::to_string(static_cast<int>(std::lround(std::log2(p.scale(0))))) +
         ", N=" + std::to_string(p.N()) + ", limbs " + std::to_string(p.primes(p.depth()).size()) +
         " of " + std::to_string(p.limbs()) + " + " + std::to_string(p.special()) + ", dnum " +
         std::to_string(p.digits());
}

int run(CommandLine& line) {
  Options options;
  options.declare(line)
      .add("--ring", options.ring, "N")
      .add("--word-bits", options.word_bits, "32 or 64")
      .flag("--insecure", options.insecure, "allow a set below 128 bits of security")
      .parse();
  const Parameters p = !options.set.empty() ? Parameters::named(options.set, options.insecure)
                                            : Parameters::choose({.depth = options.depth,
                                                                  .scale_bits = options.scale_bits,
                                                                  .N = options.ring,
                                                                  .dnum = options.dnum,
                                                                  .word_bits = options.word_bits});
  const Client client(p);
  const Server server(client.evaluation_keys({3, {1}, true}),
                      {.device = options.device, .threads = options.threads});
  std::mt19937_64 random(1);
  std::vector<std::complex<double>> x(options.batch * p.slots()), y(x.size());
  const auto part = [&] { return static_cast<double>(random() >> 11) * 0x1p-53 - 0.5; };
  for (auto* values : {&x, &y})
    for (auto& z : *values) z = {part(), part()};
  const auto upload = [&](const auto& values) {
    return server.upload(client.encrypt(values, {.length = p.slots()}));
  };
  const Array a = upload(x), b = upload(y), product = server.multiply(a, b, {true, false});

  // What is timed must be right.
  const Array turned = server.rotate(server.rescale(product), 1);
  const auto got = client.decrypt_raw(server.download(turned));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t next = i / p.slots() * p.slots() + (i + 1) % p.slots();
    worst = std::max(worst, std::abs(got[i] - x[next] * y[next]));
  }
  if (!(worst < 8 * std::exp2(turned.info().error)))
    throw Error("the product is off by " + std::to_string(worst));

  // The plaintext lies on the device too.
  const auto& state = Access::of(server);
  const auto plain = state.factor(std::span(x).first(p.slots()), p.scale(p.depth()),
                                  state.account.basis(p.depth()));
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"mult_relin",
       [&] {
         server.multiply(a, b, {true, false});
       }},
      {"mult_relin_rescale", [&] { server.multiply(a, b); }},
      {"square",
       [&] {
         server.square(a, {true, false});
       }},
      {"rotate", [&] { server.rotate(a, 1); }},
      {"conjugate", [&] { server.conjugate(a); }},
      {"rescale", [&] { server.rescale(product); }},
      {"add", [&] { server.add(a, b); }},
      {"mult_plain", [&] { state.evaluator->multiply_plain(state.residues(a), plain); }},
      {"mult_integer", [&] { server.multiply_integer(a, 3); }}};
  const Records records("ckks", options, machine_of(options.device, options.threads),
                        Records::To::file_and_stdout);
  const auto wait = [&] { server.synchronise(); };
  const auto time = [&](const std::function<void()>& call, std::size_t many) {
    const Effort effort{
        .fewest = 5, .most = 200, .seconds = options.quick ? 0.1 : 0.5, .enough = 10, .slow = 5};
    return measure(effort, {call, wait, many, options.clock()});
  };
  const auto blank = [&](const std::string& op) {
    Record record{.op = op, .params = in_words(p), .scheme = "ckks", .batch = options.batch};
    record.security_bits = std::round(p.security_bits() * 10) / 10;
    return record;
  };
  const auto add = [&](const std::string& op, const Times& times, bool waited) {
    Record record = blank(op);
    record.set(times);
    record.more = {{"waited", waited}, {"clock", options.clock_name()}};
    records.add(record);
  };
  for (const auto& [op, call] : calls) {
    if (!options.wants(op)) continue;
    const Times waited = time(call, 1);
    add(op, waited, true);
    if (options.device != "cpu") add(op, time(call, calls_within(0.02, waited.least())), false);
    options.add_watched(records, blank, op, call, wait);
  }
  return 0;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_ckks", whorl::bench::run);
}
