// Transforms of data that is on the device.
#include "backend/contract/ring.h"
#include "common/bench.h"
#include "common/rates.h"
#include "gpu/gpu.h"
#include "math/primes.h"

namespace whorl::bench {
namespace {

template <class Word>
void ntt_point(const GpuOptions& options, const Report& report, const Queue& queue, std::uint32_t N,
               std::size_t batch,
               const std::pair<std::optional<Peer>, std::optional<Peer>>& peers) {
  if (batch > options.most) return;
  const unsigned bits = sizeof(Word) == 4 ? 28 : 60;
  const auto q = static_cast<Word>(math::ntt_primes(bits, N, 1)[0]);
  const ring::NttPlan<Word> plan(N, q);
  const ring::NttPlan<Word>* plans[] = {&plan};
  const auto& ring = queue.ring<Word>();
  auto data = upload(queue, random_words<Word>(batch * N, q));
  // Calls queue up, so that what is measured is the device's time or the launch's, if longer.
  const std::size_t calls = batch * N > (1u << 24) ? 20 : 200;
  const std::string word_bits = std::to_string(8 * sizeof(Word));
  for (const bool forward : {true, false}) {
    const auto transform = [&] {
      forward ? ring.ntt(plans, data.slice()) : ring.intt(plans, data.slice());
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
    record.set(measure(effort_of(options), {transform, [&] { wait_for(queue, data); }, calls}),
               static_cast<double>(batch));
    report.add(record);
  }
}

}  // namespace

void measure_ntts(const GpuOptions& options, const Report& report) {
  const auto queue = open_queue(options.device);
  // VeloFHE's Table 3, microseconds a transform on an A100, forward and inverse; and the batches of
  // its Figure 5, up to 256 MB.
  const std::map<std::pair<unsigned, std::size_t>, std::pair<double, double>> velofhe = {
      {{10, 1}, {12.0, 12.1}},      {{10, 1024}, {0.061, 0.059}}, {{10, 8192}, {0.049, 0.049}},
      {{11, 1}, {15.6, 16.0}},      {{11, 1024}, {0.090, 0.090}}, {{12, 1}, {17.9, 19.8}},
      {{12, 1024}, {0.117, 0.129}},
  };
  const auto peer_of = [](double microseconds) {
    return Peer{"VeloFHE, A100", "Table 3", 1e6 / microseconds};
  };
  for (unsigned log_N = 10; log_N <= 12; ++log_N)
    for (std::size_t batch = 1; batch <= (std::size_t{1} << (25 - log_N)); batch *= 2) {
      std::pair<std::optional<Peer>, std::optional<Peer>> peers;
      if (const auto known = velofhe.find({log_N, batch}); known != velofhe.end())
        peers = {peer_of(known->second.first), peer_of(known->second.second)};
      ntt_point<std::uint64_t>(options, report, *queue, 1u << log_N, batch, peers);
    }
  // Batches that fill 256 MB, 32-bit words.
  for (unsigned log_N = 8; log_N <= 17; ++log_N) {
    const std::size_t batch = (std::size_t{256} << 20) / 4 >> log_N;
    ntt_point<std::uint32_t>(options, report, *queue, 1u << log_N,
                             std::min<std::size_t>(batch, options.most),
                             {ntt_peer(1u << log_N), std::nullopt});
  }
}

}  // namespace whorl::bench
