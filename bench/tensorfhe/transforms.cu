// The kinds of transforms on a GPU: compared with the library's, and timed.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "backend/cuda/dispatch/transforms/ntt_rows.h"
#include "backend/cuda/runtime/error.h"
#include "common/cuda_timer.h"
#include "common/differences.cuh"
#include "common/residues.cuh"
#include "math/primes.h"
#include "tensorfhe/bench.h"
#include "tensorfhe/matrix_ntt.cuh"
#include "tensorfhe/matrix_tables.h"

namespace whorl::bench {
namespace {

using namespace backend::cuda;
using matrix::Kind;
using matrix::Word;

/// Tables of one direction in the GPU's memory.
class DeviceTables {
 public:
  DeviceTables(const Stream& stream, const std::vector<ring::NttPlan<Word>>& plans, bool forward) {
    std::vector<matrix::Limb> all;
    for (const auto& plan : plans) {
      const matrix::Tables host(plan, forward);
      matrix::Limb limb = host.limb();
      const auto keep = [&](auto& kept, const auto& values) {
        return kept.emplace_back(stream.upload(values.data(), values.size())).data();
      };
      limb.left = keep(words_, host.left);
      limb.right = keep(words_, host.right);
      limb.middle = keep(factors_, host.middle);
      limb.left_planes = keep(bytes_, host.left_planes);
      limb.right_planes = keep(bytes_, host.right_planes);
      all.push_back(limb);
    }
    limbs_ = stream.upload(all.data(), all.size());
  }
  const matrix::Limb* limbs() const { return limbs_.data(); }

 private:
  std::vector<DeviceArray<Word>> words_;
  std::vector<DeviceArray<matrix::Factor>> factors_;
  std::vector<DeviceArray<std::uint8_t>> bytes_;
  DeviceArray<matrix::Limb> limbs_;
};

/// Transforms of (limbs, batch, N), from `in` to `out`, by every kind.
class Transforms {
 public:
  Transforms(const Stream& stream, const TransformTables& tables, std::uint32_t N,
             const std::vector<Word>& primes, std::size_t batch)
      : stream_(stream),
        N_(N),
        shape_(matrix::shape_of(N)),
        limbs_(primes.size()),
        batch_(batch),
        q_(stream.upload(primes.data(), primes.size())) {
    std::vector<const ring::NttPlan<Word>*> pointers;
    for (const Word q : primes) plans_.emplace_back(N, q);
    for (const auto& plan : plans_) pointers.push_back(&plan);
    library_ = ntt_limbs<Word>(stream, tables, pointers);
    for (const bool forward : {false, true}) tables_.emplace_back(stream, plans_, forward);
    in = stream.allocate<Word>(words());
    out = stream.allocate<Word>(words());
    half_ = stream.allocate<Word>(words());
    fill_with_residues(stream, q_.data(), limbs_, batch * N, words(), N + batch, in.data());
  }
  std::size_t words() const { return limbs_ * batch_ * N_; }

  void run(Kind kind, bool forward, const Word* from, Word* to) {
    if (kind == Kind::butterflies) {
      ntt_rows<Word>(stream_, library_, forward, {.rows = limbs_}, batch_, {from, limbs_, 0},
                     {to, limbs_, 0});
      return;
    }
    // Stages with products in memory take 68 bytes a value, so they do some limbs at a time.
    const std::size_t row = batch_ * N_;
    const std::size_t at_once = kind == Kind::five_stages
                                    ? std::clamp<std::size_t>(most_products / row, 1, limbs_)
                                    : limbs_;
    if (kind == Kind::five_stages && products_.size() < 16 * at_once * row) {
      products_ = stream_.allocate<Word>(16 * at_once * row);
      planes_ = stream_.allocate<std::uint8_t>(4 * at_once * row);
    }
    for (std::size_t first = 0; first < limbs_; first += at_once) {
      const std::size_t count = std::min(at_once, limbs_ - first);
      matrix::Arguments a = {};
      a.limbs = tables_[forward].limbs() + first;
      a.shape = shape_;
      a.in = from + first * row;
      a.out = half_.data() + first * row;
      a.on_left = forward;
      a.with_middle = true;
      a.plane = count * row;
      matrix::Arguments b = a;
      b.in = a.out;
      b.out = to + first * row;
      b.on_left = !forward;
      b.with_middle = false;
      if (kind == Kind::words) {
        for (const auto& each : {a, b})
          launch("product_of_words", matrix::product_of_words, count, tiles(), matrix::word_threads,
                 each);
      } else if (kind == Kind::two_stages) {
        for (const auto& each : {a, b}) bytes<false>(each, count);
      } else {
        five_stages(a, b, forward, count);
      }
    }
  }

  DeviceArray<Word> in, out;

 private:
  static constexpr std::size_t most_products = std::size_t{1} << 26;

  unsigned tiles() const { return matrix::tiles(shape_); }
  void launch(const char* name, void (*kernel)(matrix::Arguments), std::size_t limbs,
              unsigned pieces, unsigned threads, const matrix::Arguments& a) const {
    const dim3 grid(pieces, static_cast<unsigned>(batch_), static_cast<unsigned>(limbs));
    kernel<<<grid, threads, 0, stream_.handle()>>>(a);
    check_launch(name, grid, threads, 0);
  }
  template <bool apart>
  void bytes(const matrix::Arguments& a, std::size_t limbs) const {
    const bool narrow = (a.on_left ? shape_.rows : shape_.columns) == 32;
    launch("product_of_bytes",
           narrow ? matrix::product_of_bytes<apart, 1> : matrix::product_of_bytes<apart, 2>, limbs,
           tiles(), matrix::byte_threads, a);
  }
  void five_stages(matrix::Arguments a, matrix::Arguments b, bool forward,
                   std::size_t limbs) const {
    using matrix::From;
    using matrix::To;
    const unsigned pieces = (N_ / 4 + matrix::byte_threads - 1) / matrix::byte_threads;
    const auto stage = [&](void (*kernel)(matrix::Arguments), const matrix::Arguments& of) {
      launch("convert", kernel, limbs, pieces, matrix::byte_threads, of);
    };
    const Word* const from = a.in;
    Word* const to = b.out;
    for (matrix::Arguments* each : {&a, &b}) {
      each->in_planes = each->out_planes = planes_.data();
      each->in = each->out = products_.data();
    }
    matrix::Arguments first = a, last = b;
    first.in = from;
    last.out = to;
    stage(forward ? matrix::convert<From::words, To::turned_planes>
                  : matrix::convert<From::words, To::planes>,
          first);
    bytes<true>(a, limbs);
    stage(forward ? matrix::convert<From::products, To::planes>
                  : matrix::convert<From::products, To::turned_planes>,
          a);
    bytes<true>(b, limbs);
    stage(matrix::convert<From::products, To::words>, last);
  }

  const Stream& stream_;
  std::uint32_t N_;
  matrix::Shape shape_;
  std::size_t limbs_, batch_;
  DeviceArray<Word> q_;
  std::vector<ring::NttPlan<Word>> plans_;
  NttLimbs<Word> library_;
  std::vector<DeviceTables> tables_;
  DeviceArray<Word> half_, products_;
  DeviceArray<std::uint8_t> planes_;
};

class TransformBench {
 public:
  TransformBench(int gpu, const Records& records)
      : stream_(describe_gpu(gpu)), current_(gpu), timer_(stream_), records_(records) {}

  /// False if any word differs.
  bool check(std::uint32_t N, const std::vector<Word>& primes, std::size_t batch) {
    Transforms t(stream_, tables_, N, primes, batch);
    const auto want = stream_.allocate<Word>(t.words()), back = stream_.allocate<Word>(t.words());
    bool all = true;
    for (const bool forward : {true, false}) {
      t.run(Kind::butterflies, forward, t.in.data(), want.data());
      for (const Kind kind : matrix::kinds) {
        stream_.fill(t.out.data(), 0xee, t.words() * sizeof(Word));
        stream_.fill(back.data(), 0xee, t.words() * sizeof(Word));
        t.run(kind, forward, t.in.data(), t.out.data());
        t.run(kind, !forward, t.out.data(), back.data());
        const auto wrong = count_differences<Word>(stream_, t.out.data(), want.data(), t.words()) +
                           count_differences<Word>(stream_, back.data(), t.in.data(), t.words());
        all &= wrong == 0;
        std::fprintf(stderr, "%-5s %s N=%u, %zu limbs, batch %zu, %s, and back\n",
                     wrong == 0 ? "same" : "WRONG", forward ? "ntt" : "intt", N, primes.size(),
                     batch, matrix::name_of(kind).c_str());
      }
    }
    return all;
  }

  void time(std::uint32_t N, const std::vector<Word>& primes, std::size_t batch, bool both) {
    Transforms t(stream_, tables_, N, primes, batch);
    for (const bool forward : {true, false}) {
      if (!forward && !both) continue;
      for (const Kind kind : matrix::kinds) {
        const auto call = [&] { t.run(kind, forward, t.in.data(), t.out.data()); };
        const double first = timer_.seconds(call), once = std::min(first, timer_.seconds(call));
        const int runs = std::clamp(static_cast<int>(0.08 / once), 3, 20);
        Record record{
            .op = forward ? "ntt" : "intt",
            .params = "N=" + std::to_string(N) + ", limbs " + std::to_string(primes.size()),
            .batch = batch,
            .unit = "1/s"};
        record.set(timer_.measure(0, runs, call), static_cast<double>(primes.size() * batch));
        record.more = {{"variant", matrix::name_of(kind)}, {"waited", false}};
        records_.add(record);
      }
    }
  }

 private:
  Stream stream_;
  CurrentGpu current_;
  CudaTimer timer_;
  TransformTables tables_;
  const Records& records_;
};

}  // namespace

bool bench_transforms(int gpu, const Records& records, const std::vector<std::uint64_t>& chain) {
  TransformBench bench(gpu, records);
  bool right = true;
  for (std::uint32_t N = 1 << 11; N <= 1 << 16; N *= 2) {
    std::vector<Word> primes;
    for (const unsigned bits : {27u, 28u, 29u, 30u, 31u})
      primes.push_back(static_cast<Word>(math::ntt_primes(bits, N, 1)[0]));
    right &= bench.check(N, primes, 3);
  }
  if (!right) return false;
  // Table VIII: one limb of 27 bits, 256 MB of data.
  for (const std::uint32_t N : {1u << 12, 1u << 13, 1u << 14})
    bench.time(N, {static_cast<Word>(math::ntt_primes(27, N, 1)[0])}, (1u << 26) / N, true);
  // Figures 14 and 15.
  const std::vector<Word> primes(chain.begin(), chain.end());
  for (std::uint32_t N = 1 << 11; N <= 1 << 16; N *= 2) bench.time(N, primes, 128, N == 1 << 16);
  for (const std::size_t batch : {32, 64, 256, 512, 1024})
    bench.time(1 << 16, primes, batch, false);
  return true;
}

void profile_transforms(int gpu, const std::vector<std::uint64_t>& chain) {
  const Stream stream(describe_gpu(gpu));
  const CurrentGpu current(gpu);
  const TransformTables tables;
  Transforms t(stream, tables, 1 << 16, {chain.begin(), chain.end()}, 8);
  for (const Kind kind : matrix::kinds) t.run(kind, true, t.in.data(), t.out.data());
  stream.wait();
}

}  // namespace whorl::bench
