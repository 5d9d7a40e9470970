// What TensorFHE (Fan et al., HPCA 2023) measures of its kernels, measured of Whorl's at the
// paper's Default set (tensorfhe/default).
//
// usage: bench_tensorfhe [--device cuda:0] [--only PART,PART…] [--record FILE] [--commit ID]
//
// PART: kernels (of Table II, through the contract, at the batches of Figure 14 and the lengths of
// Figure 15), layouts (the same work on arrays in the orders (L, B, N) and (B, L, N)). Records go
// to stdout too.
#include "backend/contract/ring.h"
#include "backend/contract/rns.h"
#include "common/bench.h"
#include "whorl/ckks.h"

namespace whorl::bench {
namespace {

using Word = std::uint32_t;
using Call = std::function<void()>;
constexpr Effort effort = {.fewest = 3, .most = 20, .seconds = 0.04, .enough = 0.5};

class KernelBench {
 public:
  KernelBench(const std::string& device, const Records& records,
              const std::vector<std::uint64_t>& chain, std::uint64_t special, std::uint32_t N,
              std::size_t batch)
      : records_(records), queue_(open_queue(device)), N_(N), batch_(batch), L_(chain.size()) {
    for (const auto q : chain) {
      chain_.push_back(static_cast<Word>(q));
      moduli_.emplace_back(chain_.back());
    }
    const std::vector<Word> last{static_cast<Word>(special)};
    plan_ = std::make_shared<ring::RnsPlan<Word>>(N, chain_, last, 1);
    tables_ = rns().prepare(plan_);
    least_ = *std::min_element(chain_.begin(), chain_.end());
  }

  void kernels() {
    const auto a = filled(), b = copied(a);
    auto out = copied(a);
    const ring::Basis basis = plan_->level(static_cast<unsigned>(L_));
    const math::Modulus<Word> one[] = {moduli_[0]};
    const std::vector<math::Modulus<Word>> rest(moduli_.begin() + 1, moduli_.end());
    const auto conversion = rns().prepare_conversion(ring::BaseConversion<Word>(one, rest));
    const auto in = [](const Buffer<Word>& of) { return of.slice(); };
    time("NTT", [&] { rns().ntt(*tables_, basis, 1, out.slice()); });
    time("INTT", [&] { rns().intt(*tables_, basis, 1, out.slice()); });
    time("Hada-Mult", [&] { ring().mul(moduli_, in(a), in(b), out.slice()); });
    time("Ele-Add", [&] { ring().add(moduli_, in(a), in(b), out.slice()); });
    time("Ele-Sub", [&] { ring().sub(moduli_, in(a), in(b), out.slice()); });
    time("Conv", [&] {
      rns().convert(*conversion, N_, a.slice().part(0, row()),
                    out.slice().part(0, (L_ - 1) * row()));
    });
    time("ForbeniusMap", [&] { ring().automorphism(moduli_, N_, 5, true, in(a), out.slice()); });
    time("Conjugate",
         [&] { ring().automorphism(moduli_, N_, 2 * N_ - 1, false, in(a), out.slice()); });
  }

  void layouts() {
    const auto a = filled(), b = copied(a);
    auto out = copied(a);
    const auto in = [](const Buffer<Word>& of) { return of.slice(); };
    const ring::Basis basis = plan_->level(static_cast<unsigned>(L_)),
                      fewer = plan_->level(static_cast<unsigned>(L_ - 1));
    const std::size_t shorter = (L_ - 1) * row();
    const math::Modulus<Word> one[] = {moduli_[0]};
    const std::vector<math::Modulus<Word>> rest(moduli_.begin() + 1, moduli_.end());
    const auto conversion = rns().prepare_conversion(ring::BaseConversion<Word>(one, rest));
    std::vector<math::Modulus<Word>> repeated;
    for (std::size_t i = 0; i < batch_; ++i)
      repeated.insert(repeated.end(), moduli_.begin(), moduli_.end());
    // (B, L, N) is (parts, L, 1, N) with a part for each member of the batch.
    for (const bool limbs_first : {true, false}) {
      const std::size_t parts = limbs_first ? 1 : batch_;
      const backend::Moduli<Word> moduli = limbs_first ? moduli_ : repeated;
      const auto timed = [&](const char* op, const Call& call) {
        time(op, call, limbs_first ? "(L, B, N)" : "(B, L, N)");
      };
      timed("NTT", [&] { rns().ntt(*tables_, basis, parts, out.slice()); });
      timed("INTT", [&] { rns().intt(*tables_, basis, parts, out.slice()); });
      timed("Hada-Mult", [&] {
        backend::together(*queue_, [&] { ring().mul(moduli, in(a), in(b), out.slice()); });
      });
      timed("Ele-Add", [&] {
        backend::together(*queue_, [&] { ring().add(moduli, in(a), in(b), out.slice()); });
      });
      timed("RESCALE", [&] {
        rns().divide(*tables_, basis, fewer, 1, parts, in(a), out.slice().part(0, shorter));
      });
      timed("Conv", [&] {
        if (limbs_first)
          return rns().convert(*conversion, N_, a.slice().part(0, row()),
                               out.slice().part(0, shorter));
        backend::together(*queue_, [&] {
          for (std::size_t i = 0; i < batch_; ++i)
            rns().convert(*conversion, N_, a.slice().part(i * L_ * N_, N_),
                          out.slice().part(i * (L_ - 1) * N_, (L_ - 1) * N_));
        });
      });
    }
    // What packing costs: from (B, L, N) to (L, B, N).
    std::vector<std::uint32_t> index(L_ * batch_);
    for (std::size_t i = 0; i < index.size(); ++i)
      index[i] = static_cast<std::uint32_t>(i % batch_ * L_ + i / batch_);
    time(
        "pack", [&] { ring().take(1, N_, index, in(a), 0, out.slice()); },
        "(B, L, N) to (L, B, N)");
  }

 private:
  const backend::RingOps<Word>& ring() const { return queue_->ring<Word>(); }
  const backend::RnsOps<Word>& rns() const { return queue_->rns<Word>(); }
  std::size_t row() const { return batch_ * N_; }
  /// Residues modulo every prime.
  Buffer<Word> filled() const { return random_buffer<Word>(*queue_, L_ * row(), least_); }
  Buffer<Word> copied(const Buffer<Word>& of) const {
    auto out = queue_->allocate<Word>(of.size());
    queue_->copy<Word>(of.slice(), out.slice());
    return out;
  }
  void time(const char* op, const Call& call, const char* layout = nullptr) const {
    Work work{call, [&] { queue_->wait(); }};
    time_once(work);  // tables and memory
    work.calls = calls_within(0.005, time_once(work));
    Record record{.op = op,
                  .params = "N=" + std::to_string(N_) + ", limbs " + std::to_string(L_),
                  .batch = batch_};
    record.set(measure(effort, work));
    record.more = {{"waited", false}};
    if (layout) record.more.emplace_back("layout", std::string(layout));
    records_.add(record);
  }

  const Records& records_;
  std::unique_ptr<Queue> queue_;
  std::uint32_t N_;
  std::size_t batch_, L_;
  std::vector<Word> chain_;
  std::vector<math::Modulus<Word>> moduli_;
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::unique_ptr<const backend::RnsTables<Word>> tables_;
  Word least_ = 0;
};

int run(CommandLine& line) {
  Common options;
  options.device = "cuda:0";
  line.device(options).record(options).only(options).parse();
  const auto set = ckks::Parameters::named("tensorfhe/default").literal();
  const Records records("tensorfhe", options, machine_of(options.device),
                        Records::To::file_and_stdout);
  const auto bench = [&](std::uint32_t N, std::size_t batch) {
    return KernelBench(options.device, records, set.chain, set.special.at(0), N, batch);
  };
  if (options.wants("kernels")) {
    for (std::uint32_t N = 1 << 11; N <= 1 << 16; N *= 2) bench(N, 128).kernels();
    for (const std::size_t batch : {32, 64, 256, 512, 1024}) bench(1 << 16, batch).kernels();
  }
  if (options.wants("layouts"))
    for (const std::size_t batch : {8, 128}) bench(1 << 16, batch).layouts();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_tensorfhe", whorl::bench::run);
}
