// RNS entries of the contract, and key switching made of them, on data that is on the device. One
// JSON object a line.
//
// usage: bench_rns [--device cuda:0|cpu] [--record FILE] [--commit ID] [--only OP,OP…]
//
// A time is one call's among many that were queued, so it is the device's or the launches',
// whichever takes longer; "waited" ones are of one operation and the wait for it. "share" is the
// floor's part of the time: the larger of compulsory memory traffic (inputs, keys and outputs once)
// and arithmetic at an H200's rates.
#include "backend/contract/rns.h"
#include "backend/contract/ring.h"
#include "common/bench.h"
#include "common/rates.h"
#include "common/rns_plan.h"

namespace whorl::bench {
namespace {

using Word = std::uint32_t;

constexpr std::uint64_t t = 65537;
constexpr Effort effort = {.fewest = 5, .most = 30, .seconds = 0.08, .enough = 2};

void add(const Records& records, const std::string& op, const std::string& params,
         std::size_t batch, bool waited, const Floor& floor, const Times& times, bool on_gpu) {
  const double median = times.median();
  std::printf("%-15s %-36s %3zu %s %10.2f us %10.2f us/ciphertext %8.1f GB/s", op.c_str(),
              params.c_str(), batch, waited ? "waited" : "queued", 1e6 * median,
              1e6 * median / static_cast<double>(batch), 1e-9 * floor.bytes / median);
  if (on_gpu)
    std::printf("  floor %8.2f us, %5.1f %%", 1e6 * floor.seconds(),
                100 * floor.seconds() / median);
  std::printf("\n");
  std::fflush(stdout);
  Record record{.op = op, .params = params, .batch = batch};
  record.set(times);
  record.more = {{"waited", waited},
                 {"bytes_per_second", floor.bytes / median},
                 {"h200_floor", floor.seconds()}};
  records.add(record);
}

class Bench {
 public:
  Bench(const Common& options, const Records& records, const RnsShape& shape)
      : options_(options),
        records_(records),
        queue_(open_queue(options.device)),
        ops_(queue_->rns<Word>()) {
    const auto primes = primes_of<Word>(shape, 30);
    least_ = primes.back();
    plan_ = plan_of<Word>(shape, primes);
    tables_ = ops_.prepare(plan_);
    const auto words = random_words(primes.size() * shape.N, least_);
    key_ = ops_.prepare_key(*tables_, [&](unsigned, std::span<Word> a, std::span<Word> b) {
      std::copy(words.begin(), words.end(), a.begin());
      std::copy(words.begin(), words.end(), b.begin());
    });
    params_ = in_words(shape, 30, plan_->digits());
  }

  void run(std::size_t batch) const {
    const ring::RnsPlan<Word>& plan = *plan_;
    const auto& tables = *tables_;
    const std::size_t L = plan.limbs(), K = plan.special(), D = plan.digits(), rows = L + K;
    const std::size_t row = batch * plan.N(), part = L * row;
    const ring::Basis chain = plan.level(plan.limbs()), all = plan.all(),
                      fewer = plan.level(plan.limbs() - 1);
    const auto& digits = plan.key_layout().digits;
    const std::uint32_t g = 5;
    const auto x = filled(2 * part), y = filled(2 * part), wide = filled(2 * rows * row);
    auto product = queue_->allocate<Word>(3 * part),
         raised = queue_->allocate<Word>(D * rows * row),
         sums = queue_->allocate<Word>(2 * rows * row), out = queue_->allocate<Word>(2 * part);

    const auto tensor = [&] {
      ops_.tensor(tables, chain, 2, x.slice(), 2, y.slice(), product.slice());
    };
    const auto mod_up = [&](Slice<const Word> in) {
      ops_.extend(tables, chain, digits, all, ring::Lift::exact, in, raised.slice());
    };
    const auto inner_product = [&](std::uint32_t by) {
      ops_.inner_product(*key_, tables, chain, by, std::as_const(raised).slice(), sums.slice());
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
    const Floor of_tensor{4 * w * 7 * l, 4 * l * w, 0};
    const Floor of_up{4 * w * (l + d * (l + k)), w * wide_up,
                      w * (d * (l + k) * transform + l)};  // l + d·(l + k) - l transforms
    const Floor of_inner{4 * w * (d + 2) * (l + k) + key_bytes, 2 * d * (l + k) * w, 0};
    const Floor of_down{4 * w * 2 * (2 * l + k), 2 * w * l * (k + 1),
                        2 * w * ((l + k) * (transform + 1))};
    const Floor of_rescale{4 * w * 2 * (2 * l - 1), 4 * w * (l - 1), 2 * w * l * (transform + 1)};
    const auto together = [&](double bytes, std::initializer_list<Floor> parts) {
      Floor sum{bytes + key_bytes, 0, 0};
      for (const Floor& one : parts) sum.wide += one.wide, sum.shoup += one.shoup;
      return sum;
    };

    time("tensor", batch, of_tensor, product, tensor);
    time("tensor_plain", batch, {4 * (w * 4 + N) * l, 2 * l * w, 0}, out, [&] {
      ops_.tensor(tables, chain, 2, x.slice(), 1, y.slice().part(0, L * plan.N()), out.slice());
    });
    std::vector<std::uint32_t> backwards(batch);
    for (std::size_t i = 0; i < batch; ++i)
      backwards[i] = static_cast<std::uint32_t>(batch - 1 - i);
    time("take", batch, {4 * w * 4 * l, 0, 0}, out,
         [&] { queue_->ring<Word>().take(2 * L, plan.N(), backwards, x.slice(), 0, out.slice()); });
    time("mod_up", batch, of_up, raised, [&] { mod_up(x.slice().part(0, part)); });
    time("inner_product", batch, of_inner, sums, [&] { inner_product(1); });
    time("inner_product_g", batch, of_inner, sums, [&] { inner_product(g); });
    time("mod_down", batch, of_down, out,
         [&] { ops_.divide(tables, all, chain, t, 2, wide.slice(), out.slice()); });
    time("rescale", batch, of_rescale, out, [&] {
      ops_.divide(tables, chain, fewer, t, 2, x.slice(), out.slice().part(0, 2 * (L - 1) * row));
    });
    const auto mult_relin = [&] {
      backend::together(*queue_, [&] {
        tensor();
        mod_up(std::as_const(product).slice().part(2 * part, part));
        inner_product(1);
        ops_.divide(tables, all, chain, t, 2, std::as_const(sums).slice(),
                    std::as_const(product).slice().part(0, 2 * part), 1, out.slice());
      });
    };
    time("mult_relin", batch, together(4 * w * 6 * l, {of_tensor, of_up, of_inner, of_down}), out,
         mult_relin, true);
    const auto rotate = [&] {
      backend::together(*queue_, [&] {
        mod_up(x.slice().part(part, part));
        inner_product(g);
        ops_.divide(tables, all, chain, t, 2, std::as_const(sums).slice(), x.slice().part(0, part),
                    g, out.slice());
      });
    };
    time("rotate", batch, together(4 * w * 4 * l, {of_up, of_inner, of_down}), out, rotate, true);
  }

 private:
  void time(const char* op, std::size_t batch, const Floor& floor, const Buffer<Word>& result,
            const std::function<void()>& run, bool waited_too = false) const {
    if (!options_.wants(op)) return;
    Work work{run, [&] { wait_for(*queue_, result); }};
    time_once(work);  // tables and memory
    const std::size_t many = calls_within(0.01, time_once({work.run, work.finish, 2}));
    for (const bool waited : {false, true}) {
      if (waited && !waited_too) continue;
      work.calls = waited ? 1 : many;
      add(records_, op, params_, batch, waited, floor, measure(effort, work),
          options_.device != "cpu");
    }
  }
  /// Residues modulo every prime.
  Buffer<Word> filled(std::size_t count) const {
    return random_buffer<Word>(*queue_, count, least_);
  }

  const Common& options_;
  const Records& records_;
  std::unique_ptr<Queue> queue_;
  const backend::RnsOps<Word>& ops_;
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::unique_ptr<const backend::RnsTables<Word>> tables_;
  std::unique_ptr<const backend::RnsSwitchKey<Word>> key_;
  Word least_ = 0;
  std::string params_;
};

int run(CommandLine& line) {
  Common options;
  options.device = "cuda:0";
  line.device(options).record(options).only(options).parse();
  const Records records("rns", options, machine_of(options.device));
  for (const RnsShape& shape : rns_shapes) {
    const Bench bench(options, records, shape);
    bench.run(1);
    if (options.device != "cpu") bench.run(64);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_rns", whorl::bench::run);
}
