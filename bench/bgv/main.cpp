// BGV at the four configurations of docs/bgv.md: what a client and a server take for each
// operation.
//
// usage: bench_bgv [--depth 1|5|12|24] [--device cpu|cuda:0|cuda:0,1] [--threads 1] [--batch N]
//                  [--quick] [--only OP,OP…] [--record FILE] [--commit ID] [--worker]
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
#include "bgv/bgv.h"
#include "common/bench.h"

namespace whorl::bench {
namespace {

constexpr Configuration configurations[] = {
    {1, 65537, 8192}, {5, 65537, 16384}, {12, 65537, 32768}, {24, 786433, 65536}};
constexpr Configuration examples_own = {2, 65537, 8192};

int run(CommandLine& line) {
  BgvOptions options;
  options.declare(line)
      .add("--depth", options.depth, "1, 5, 12 or 24; all if absent")
      .flag("--worker", options.worker, "answer lines \"OP RUNS\"")
      .parse();
  options.batch = std::max<std::uint64_t>(1, options.batch);
  const BgvRecords records(options);
  const bool operations = options.only != std::vector<std::string>{"example"} &&
                          options.only != std::vector<std::string>{"memory"};
  bool found = false;
  for (const Configuration& c : configurations) {
    if (options.depth ? c.depth != options.depth : options.worker) continue;
    found = true;
    if (options.worker) {
      BgvOperations(options, c).work();
      continue;
    }
    if (options.wants("memory")) measure_memory(options, c, records);
    if (operations) BgvOperations(options, c).run(records);
    if (options.wants("example")) measure_example(options, c, records);
  }
  if (!found) throw ParameterError("--depth is 1, 5, 12 or 24");
  if (!options.depth && options.wants("example")) measure_example(options, examples_own, records);
  return EXIT_SUCCESS;
}

}  // namespace

bgv::Parameters choose(const Configuration& c) {
  bgv::Requirements needs;
  needs.depth = c.depth;
  needs.plain_modulus = c.t;
  needs.N = c.N;
  return bgv::Parameters::choose(needs);
}
std::string in_words(const bgv::Parameters& p) {
  return "depth=" + std::to_string(p.literal().depth) + ", t=" + std::to_string(p.t()) +
         ", N=" + std::to_string(p.N()) + ", limbs " + std::to_string(p.limbs()) + "+" +
         std::to_string(p.special()) + ", dnum " + std::to_string(p.digits());
}

BgvRecords::BgvRecords(const BgvOptions& options)
    : records_("bgv", options, machine_of(options.device, options.threads),
               Records::To::file_and_stdout),
      clock_(options.clock_name()) {}

void BgvRecords::add(const bgv::Parameters& parameters, Record record, const Times& times,
                     bool waited) const {
  record.scheme = "bgv";
  record.params = in_words(parameters);
  record.security_bits = std::round(parameters.security_bits() * 10) / 10;
  record.set(times);
  record.more.emplace_back("waited", waited);
  record.more.emplace_back("clock", clock_);
  records_.add(record);
}

}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_bgv", whorl::bench::run);
}
