// LWE and element-wise kernels of the CUDA backend against the CPU backend, bit for bit; with
// --time, key switching, sample extraction and modulus switching at the shapes of named sets.
//
//   bench_cuda_lwe [--seed S] [--time] [--record FILE --commit ID]
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/dispatch/elementwise.h"
#include "backend/cuda/dispatch/lwe.h"
#include "backend/cuda/runtime/error.h"
#include "backend/ops.h"
#include "backend/parallel.h"
#include "schemes/binfhe/derived.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/word_array.h"

namespace {

using namespace whorl;
using backend::SwitchShape;
using backend::cuda::DeviceArray;
using backend::cuda::Elementwise;
using backend::cuda::Stream;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

class Random {
 public:
  explicit Random(u64 seed) : engine_(seed) {}
  u64 word() { return engine_(); }
  /// In [0, bound).
  u64 below(u64 bound) { return std::uniform_int_distribution<u64>(0, bound - 1)(engine_); }
  u64 between(u64 low, u64 high) { return low + below(high - low + 1); }
  bool coin() { return (engine_() & 1) != 0; }
  template <class Word>
  std::vector<Word> residues(std::size_t count, u64 modulus) {
    std::vector<Word> out(count);
    for (Word& x : out) x = static_cast<Word>(below(modulus));
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

u64 mix(u64 x) {  // SplitMix64: rows of keys that need no memory of what was drawn
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Bench {
 public:
  Bench(u64 seed, const Stream& on) : random(seed), stream(on), cpu(backend::make_device("cpu")) {}

  template <class Word>
  std::vector<Word> to_host(const Word* from, std::size_t count) {
    std::vector<Word> out(count);
    stream.copy_out(from, out.data(), count * sizeof(Word));
    return out;
  }
  template <class Word>
  void compare(const std::string& name, const std::vector<Word>& got,
               const std::vector<Word>& want) {
    ++compared;
    const auto [at, expected] = std::mismatch(got.begin(), got.end(), want.begin(), want.end());
    if (at == got.end() && expected == want.end()) {
      std::printf("OK   %s\n", name.c_str());
      return;
    }
    ++failed;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) wrong += got[i] != want[i];
    std::printf("FAIL %s: %zu of %zu differ, first %td: %llu, not %llu\n", name.c_str(), wrong,
                want.size(), at - got.begin(),
                static_cast<unsigned long long>(at == got.end() ? 0 : *at),
                static_cast<unsigned long long>(expected == want.end() ? 0 : *expected));
  }
  void attempt(const std::string& name, const std::function<void()>& body) {
    try {
      body();
    } catch (const std::exception& e) {
      ++failed;
      std::printf("FAIL %s: %s\n", name.c_str(), e.what());
    }
  }

  Random random;
  const Stream& stream;
  std::unique_ptr<backend::Device> cpu;
  int compared = 0, failed = 0;
};

template <class Word>
struct OnCpu {
  OnCpu(Bench& bench, const std::vector<Word>& values)
      : device(*bench.cpu), buffer(device.allocate<Word>(values.size())) {
    device.upload(std::span<const Word>(values), buffer.slice());
  }
  OnCpu(Bench& bench, std::size_t count)
      : device(*bench.cpu), buffer(device.allocate<Word>(count)) {}
  backend::Slice<const Word> in() { return std::as_const(buffer).slice(); }
  backend::Slice<Word> out() { return buffer.slice(); }
  std::vector<Word> values() {
    std::vector<Word> result(buffer.size());
    device.download(in(), std::span(result));
    return result;
  }
  const backend::Device& device;
  backend::Buffer<Word> buffer;
};

template <class Word>
std::string bits() {
  return std::to_string(8 * sizeof(Word)) + " bits";
}

// ---------------------------------------------------------------------------------------------
// Element-wise

template <class Word>
std::vector<math::Modulus<Word>> random_moduli(Random& random, std::size_t limbs) {
  constexpr unsigned most = sizeof(Word) == 4 ? 31 : 61;
  std::vector<math::Modulus<Word>> moduli;
  for (std::size_t l = 0; l < limbs; ++l) {
    const u64 top = u64{1} << random.between(2, most);
    const u64 choices[] = {top / 2, top - 1, random.between(std::max<u64>(2, top / 2), top - 1)};
    moduli.emplace_back(static_cast<Word>(std::max<u64>(2, choices[random.below(3)])));
  }
  return moduli;
}

template <class Word>
void check_elementwise(Bench& bench, std::size_t limbs, std::size_t per_limb, std::size_t offset,
                       bool in_place) {
  Random& random = bench.random;
  const auto moduli = random_moduli<Word>(random, limbs);
  const std::size_t size = limbs * per_limb;
  std::vector<Word> a, b, c, scalars;
  for (const auto& q : moduli) {
    for (auto* v : {&a, &b, &c}) {
      const auto part = random.residues<Word>(per_limb, q.value());
      v->insert(v->end(), part.begin(), part.end());
      v->back() = q.value() - 1;
    }
    scalars.push_back(static_cast<Word>(random.word()));
  }
  const std::string shape = bits<Word>() + ", " + std::to_string(limbs) + " limbs of " +
                            std::to_string(per_limb) + (offset ? ", unaligned" : "") +
                            (in_place ? ", in place" : "");
  auto on_gpu = [&](const std::vector<Word>& v) {
    auto array = bench.stream.allocate<Word>(size + offset);
    bench.stream.copy_in(v.data(), array.data() + offset, size * sizeof(Word));
    return array;
  };
  const char* names[] = {"add", "sub", "neg", "mul", "mul_add"};
  for (int op = 0; op < 5; ++op) {
    bench.attempt(names[op], [&] {
      OnCpu<Word> ca(bench, a), cb(bench, b), cc(bench, c);
      if (op == 0) bench.cpu->add(moduli, ca.in(), cb.in(), cc.out());
      if (op == 1) bench.cpu->sub(moduli, ca.in(), cb.in(), cc.out());
      if (op == 2) bench.cpu->neg(moduli, ca.in(), cc.out());
      if (op == 3) bench.cpu->mul(moduli, ca.in(), cb.in(), cc.out());
      if (op == 4) bench.cpu->mul_add(moduli, ca.in(), cb.in(), cc.out());
      if (in_place && op == 4) return;
      auto ga = on_gpu(a), gb = on_gpu(b), gc = on_gpu(c);
      Word* out = in_place ? ga.data() : gc.data();
      backend::cuda::elementwise<Word>(bench.stream, static_cast<Elementwise>(op), moduli, size,
                                       ga.data() + offset, gb.data() + offset, out + offset);
      bench.compare(std::string(names[op]) + ", " + shape, bench.to_host(out + offset, size),
                    cc.values());
    });
  }
  bench.attempt("mul_scalar", [&] {
    OnCpu<Word> ca(bench, a), cc(bench, c);
    bench.cpu->mul_scalar(moduli, ca.in(), scalars, cc.out());
    auto ga = on_gpu(a), gc = on_gpu(c);
    Word* out = in_place ? ga.data() : gc.data();
    backend::cuda::multiply_scalar<Word>(bench.stream, moduli, scalars, size, ga.data() + offset,
                                         out + offset);
    bench.compare("mul_scalar, " + shape, bench.to_host(out + offset, size), cc.values());
  });
}

template <class Word>
void check_automorphism(Bench& bench, u32 N, std::size_t limbs, std::size_t batch) {
  const auto moduli = random_moduli<Word>(bench.random, limbs);
  std::vector<Word> a;
  for (const auto& q : moduli) {
    const auto part = bench.random.residues<Word>(batch * N, q.value());
    a.insert(a.end(), part.begin(), part.end());
  }
  const u32 g = static_cast<u32>(2 * bench.random.below(N) + 1);
  for (const bool evaluation : {false, true}) {
    const std::string name = "automorphism, " + bits<Word>() + ", N = " + std::to_string(N) +
                             ", g = " + std::to_string(g) + ", " + std::to_string(limbs) +
                             " limbs of " + std::to_string(batch) +
                             (evaluation ? ", evaluation form" : "");
    bench.attempt(name, [&] {
      OnCpu<Word> ca(bench, a), cc(bench, a.size());
      bench.cpu->automorphism(moduli, N, g, evaluation, ca.in(), cc.out());
      const auto ga = bench.stream.upload(a.data(), a.size());
      const auto gc = bench.stream.allocate<Word>(a.size());
      backend::cuda::automorphism<Word>(bench.stream, moduli, N, g, evaluation, a.size(), ga.data(),
                                        gc.data());
      bench.compare(name, bench.to_host(gc.data(), a.size()), cc.values());
    });
  }
}

// ---------------------------------------------------------------------------------------------
// LWE

template <class Word>
void check_sample_extract(Bench& bench, u32 N, std::size_t count) {
  const u64 Q = random_moduli<Word>(bench.random, 1)[0].value();
  const auto rlwe = bench.random.residues<Word>(count * 2 * N, Q);
  const u64 constant = bench.random.word();
  const std::string name = "sample_extract, " + bits<Word>() + ", Q = " + std::to_string(Q) +
                           ", N = " + std::to_string(N) + ", batch " + std::to_string(count);
  bench.attempt(name, [&] {
    OnCpu<Word> in(bench, rlwe), out(bench, count * (N + 1));
    bench.cpu->sample_extract(Q, N, constant, in.in(), out.out());
    const auto from = bench.stream.upload(rlwe.data(), rlwe.size());
    const auto to = bench.stream.allocate<Word>(count * (N + 1));
    backend::cuda::sample_extract<Word>(bench.stream, Q, N, constant, count, from.data(),
                                        to.data());
    bench.compare(name, bench.to_host(to.data(), to.size()), out.values());
  });
}

u64 random_modulus(Random& random, unsigned most_bits) {
  const u64 top = u64{1} << random.between(1, most_bits);
  return random.coin() ? top : std::max<u64>(2, random.between(top / 2 + 1, top));
}

template <class In, class Out>
void check_modulus_switch(Bench& bench, u64 from, u64 to, std::size_t row, std::size_t count,
                          bool centre) {
  const auto values = bench.random.residues<In>(count * row, from);
  const std::string name = "modulus_switch, " + bits<In>() + " to " + bits<Out>() + ", " +
                           std::to_string(from) + " -> " + std::to_string(to) + ", " +
                           std::to_string(count) + " rows of " + std::to_string(row) +
                           (centre ? ", centred" : "");
  bench.attempt(name, [&] {
    OnCpu<In> in(bench, values);
    OnCpu<Out> out(bench, values.size());
    bench.cpu->modulus_switch(from, to, row, centre, in.in(), out.out());
    const auto from_gpu = bench.stream.upload(values.data(), values.size());
    const auto to_gpu = bench.stream.allocate<Out>(values.size());
    backend::cuda::modulus_switch<In, Out>(bench.stream, from, to, row, centre, count,
                                           from_gpu.data(), to_gpu.data());
    bench.compare(name, bench.to_host(to_gpu.data(), to_gpu.size()), out.values());
    if constexpr (std::is_same_v<In, Out>) {
      backend::cuda::modulus_switch<In, Out>(bench.stream, from, to, row, centre, count,
                                             from_gpu.data(), from_gpu.data());
      bench.compare(name + ", in place", bench.to_host(from_gpu.data(), from_gpu.size()),
                    out.values());
    }
  });
}

void check_linear(Bench& bench, u64 q, std::size_t row, std::size_t count, std::size_t inputs,
                  bool in_place) {
  Random& random = bench.random;
  const std::size_t size = row * count;
  std::vector<std::vector<u32>> in;
  std::vector<std::int64_t> weights;
  for (std::size_t k = 0; k < inputs; ++k) {
    in.push_back(random.residues<u32>(size, q));
    const std::int64_t choices[] = {1, -1, static_cast<std::int64_t>(random.word()), INT64_MIN,
                                    INT64_MAX};
    weights.push_back(choices[random.below(5)]);
  }
  const u64 constant = random.word();
  const std::string name = "lwe_linear, q = " + std::to_string(q) + ", " + std::to_string(inputs) +
                           " inputs, " + std::to_string(count) + " rows of " + std::to_string(row) +
                           (in_place ? ", in place" : "");
  bench.attempt(name, [&] {
    std::vector<OnCpu<u32>> cpu_in;
    std::vector<backend::Slice<const u32>> slices;
    std::vector<DeviceArray<u32>> gpu_in;
    std::vector<const u32*> pointers;
    for (const auto& values : in) {
      cpu_in.emplace_back(bench, values);
      slices.push_back(cpu_in.back().in());
      gpu_in.push_back(bench.stream.upload(values.data(), size));
      pointers.push_back(gpu_in.back().data());
    }
    OnCpu<u32> out(bench, size);
    bench.cpu->lwe_linear(q, row, weights, slices, constant, out.out());
    const auto separate = bench.stream.allocate<u32>(size);
    u32* to = in_place && inputs > 0 ? gpu_in.back().data() : separate.data();
    backend::cuda::lwe_linear(bench.stream, q, row, weights, pointers, constant, count, to);
    bench.compare(name, bench.to_host(to, size), out.values());
  });
}

// ---------------------------------------------------------------------------------------------
// Key switching

template <class Word>
backend::SwitchRows<Word> random_rows(const SwitchShape& shape, u64 seed) {
  return [shape, seed](std::size_t first, std::size_t count, Word* out, std::size_t stride) {
    const bool wraps = std::has_single_bit(shape.Q_ks);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c <= shape.n; ++c) {
        const u64 x = mix(seed ^ ((first + r) * (shape.n + 1) + c));
        out[r * stride + c] = static_cast<Word>(wraps ? x & (shape.Q_ks - 1) : x % shape.Q_ks);
      }
  };
}

std::string describe(const SwitchShape& shape) {
  std::ostringstream text;
  text << (shape.table ? "table" : "product") << ", N = " << shape.N << ", n = " << shape.n
       << ", Q_ks = ";
  if (std::has_single_bit(shape.Q_ks))
    text << "2^" << std::bit_width(shape.Q_ks) - 1;
  else
    text << shape.Q_ks;
  text << ", " << shape.gadget.digits() << " digits of " << shape.gadget.log_base() << " bits";
  return text.str();
}

backend::Workers host_workers() { return {backend::available_cores(), {}}; }

template <class Word>
void check_key_switch(Bench& bench, const SwitchShape& shape,
                      const std::vector<std::size_t>& batches) {
  const std::string name = "key switch, " + describe(shape) + ", rows of " + bits<Word>();
  bench.attempt(name, [&] {
    const u64 seed = bench.random.word();
    const auto cpu_key = bench.cpu->prepare_switch_key(shape, random_rows<Word>(shape, seed));
    const auto key = backend::cuda::prepare_switch_key<Word>(
        bench.stream, shape, random_rows<Word>(shape, seed), host_workers());
    for (const std::size_t count : batches) {
      auto values = bench.random.residues<u64>(count * (shape.N + 1), shape.Q_ks);
      const u64 edges[] = {0, shape.Q_ks - 1, shape.Q_ks / 2, (shape.Q_ks / 2 + 1) % shape.Q_ks};
      for (std::size_t i = 0; i < std::min<std::size_t>(4, shape.N); ++i) values[i] = edges[i];
      OnCpu<u64> in(bench, values), out(bench, count * (shape.n + 1));
      bench.cpu->lwe_key_switch(*cpu_key, in.in(), out.out());
      const auto from = bench.stream.upload(values.data(), values.size());
      const auto to = bench.stream.allocate<u64>(count * (shape.n + 1));
      bench.stream.fill(to.data(), 0x5a, to.size() * sizeof(u64));
      backend::cuda::lwe_key_switch(bench.stream, *key, count, from.data(), to.data());
      bench.compare(name + ", batch " + std::to_string(count), bench.to_host(to.data(), to.size()),
                    out.values());
    }
  });
}

void check_random_key_switch(Bench& bench, bool power_of_two) {
  Random& random = bench.random;
  for (;;) {
    const bool table = random.coin();
    const unsigned q_bits = static_cast<unsigned>(random.between(4, power_of_two ? 62 : 60));
    const u64 Q_ks = power_of_two
                         ? u64{1} << q_bits
                         : random.between((u64{1} << (q_bits - 1)) + 1, (u64{1} << q_bits) - 1);
    const unsigned log_base = static_cast<unsigned>(random.between(1, table ? 9 : 12));
    const unsigned most = (q_bits + log_base - 1) / log_base;
    const unsigned digits = static_cast<unsigned>(random.between(1, std::min(most, 8u)));
    const u32 N = static_cast<u32>(random.between(5, 300)),
              n = static_cast<u32>(random.between(1, 400));
    const SwitchShape shape{N, n, Q_ks, ring::Gadget(Q_ks, log_base, digits), table};
    u64 rows = 0;
    for (unsigned j = 0; j < digits; ++j) rows += table ? shape.gadget.bound(j) : 1;
    if (rows * N * (n + 1) > 6'000'000) continue;
    const std::size_t sizes[] = {1, 2, 16, 31, 32, 33, 64, 127, 128, 129, 255, 256, 257, 300};
    const std::vector<std::size_t> batches = {1, sizes[random.below(14)], sizes[random.below(14)]};
    const std::size_t least = word_bytes_for(Q_ks);
    const std::size_t bytes = std::min<std::size_t>(8, least << random.below(3));
    if (bytes == 2) return check_key_switch<std::uint16_t>(bench, shape, batches);
    if (bytes == 4) return check_key_switch<u32>(bench, shape, batches);
    return check_key_switch<u64>(bench, shape, batches);
  }
}

SwitchShape shape_of(const binfhe::Parameters& parameters) {
  const auto& p = parameters.literal();
  return {p.N, p.n, p.Q_ks, binfhe::switch_gadget(parameters),
          p.key_switch == binfhe::KeySwitch::table};
}

void check_everything(Bench& bench) {
  Random& random = bench.random;
  for (const std::size_t limbs : {1, 3, 70}) {
    for (const std::size_t offset : {0, 1}) {
      const std::size_t size = 4 * random.between(1, 3000 / limbs),
                        odd = size + 1 + random.below(3);
      check_elementwise<u32>(bench, limbs, size, offset, random.coin());
      check_elementwise<u64>(bench, limbs, size, offset, random.coin());
      check_elementwise<u32>(bench, limbs, odd, offset, random.coin());
      check_elementwise<u64>(bench, limbs, odd, offset, random.coin());
    }
    for (const u32 N : {256u, 2048u, 65536u}) {
      if (limbs * N > 300000) continue;
      check_automorphism<u32>(bench, N, limbs, random.between(1, 3));
      check_automorphism<u64>(bench, N, limbs, random.between(1, 3));
    }
  }
  for (const u32 N : {4u, 512u, 1024u, 2048u}) {
    check_sample_extract<u32>(bench, N, random.between(1, 300));
    check_sample_extract<u64>(bench, N, random.between(1, 300));
  }
  for (int round = 0; round < 12; ++round) {
    const std::size_t row = random.between(1, round % 3 == 0 ? 3 : 1400),
                      count = random.between(1, 70);
    const bool centre = random.coin();
    const u64 narrow_from = random_modulus(random, 32), narrow_to = random_modulus(random, 32),
              wide_from = random_modulus(random, 61), wide_to = random_modulus(random, 61);
    check_modulus_switch<u32, u32>(bench, narrow_from, narrow_to, row, count, centre);
    check_modulus_switch<u32, u64>(bench, narrow_from, wide_to, row, count, !centre);
    // Sums of rounding errors of a wide modulus must stay below 2^63 on both backends.
    const std::size_t short_row = std::min<std::size_t>(row, 4);
    const std::size_t wide_row = wide_from >> 50 ? short_row : row;
    check_modulus_switch<u64, u32>(bench, wide_from, narrow_to, wide_row, count, centre);
    check_modulus_switch<u64, u64>(bench, wide_from, wide_to, wide_row, count, !centre);
  }
  check_modulus_switch<u32, u32>(bench, u64{1} << 15, 2048, 645, 300, true);
  check_modulus_switch<u64, u32>(bench, u64{1} << 20, 4096, 844, 300, true);
  check_modulus_switch<u64, u64>(bench, 18014398509404161, u64{1} << 35, 2049, 300, false);
  check_modulus_switch<u64, u64>(bench, ~u64{0} - 58, 1 << 20, 3, 50, false);
  for (const std::size_t inputs : {0, 1, 2, 3, 5, 16, 17, 40})
    for (int round = 0; round < 3; ++round)
      check_linear(bench, round == 0 ? u64{1} << random.between(1, 32) : random_modulus(random, 32),
                   random.between(1, 900), random.between(1, 60), inputs, random.coin());

  for (int round = 0; round < 60; ++round) check_random_key_switch(bench, true);
  for (int round = 0; round < 12; ++round) check_random_key_switch(bench, false);
  for (const char* name :
       {"W128_P64", "W128_P128", "xiao/STD128", "velofhe/GD_I", "openfhe_1_5/TOY"}) {
    SwitchShape shape = shape_of(binfhe::Parameters::named(name, true));
    if (std::string_view(name) == "xiao/STD128") shape.N /= 4;
    check_key_switch<u32>(bench, shape, {1, 40, 130});
  }
  check_key_switch<u64>(
      bench, shape_of(binfhe::Parameters::named("openfhe_1_6/LARGE_PRECISION", true)), {1, 33});
}

// ---------------------------------------------------------------------------------------------
// Timing

struct Times {
  double median, least, most;
  int runs;
};

Times measure(const Stream& stream, const std::function<void()>& body) {
  using backend::cuda::check;
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  for (int warm = 0; warm < 3; ++warm) body();
  std::vector<double> seconds;
  for (int run = 0; run < 25; ++run) {
    check(cudaEventRecord(begin, stream.handle()), "cudaEventRecord");
    body();
    check(cudaEventRecord(end, stream.handle()), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    seconds.push_back(milliseconds * 1e-3);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back(),
          static_cast<int>(seconds.size())};
}

struct Output {
  std::ofstream records;
  std::string commit;
};

void print_times(const std::string& name, std::size_t batch, const Times& t, double floor,
                 const char* bound) {
  const double each = 1e6 / static_cast<double>(batch);
  std::printf("%-32s %6zu %11.2f %11.2f %11.2f %10.4f %10.4f  %5.1f %%  %s\n", name.c_str(), batch,
              t.median * 1e6, t.least * 1e6, t.most * 1e6, t.median * each, floor * each,
              100 * floor / t.median, bound);
}

// Rates of one H200, as measured for DESIGN.md.
constexpr double memory_rate = 4.3e12, shared_rate = 33e12, int8_rate = 1281e12;

std::string today() {
  const std::chrono::year_month_day date =
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()});
  return text.data();
}

void time_key_switch(Bench& bench, const char* name, Output& output) {
  const auto parameters = binfhe::Parameters::named(name, true);
  const SwitchShape shape = shape_of(parameters);
  const auto started = std::chrono::steady_clock::now();
  std::unique_ptr<backend::SwitchKey> key;
  const std::size_t word = word_bytes_for(shape.Q_ks);
  if (word == 2)
    key = backend::cuda::prepare_switch_key(bench.stream, shape,
                                            random_rows<std::uint16_t>(shape, 1), host_workers());
  else if (word == 4)
    key = backend::cuda::prepare_switch_key(bench.stream, shape, random_rows<u32>(shape, 1),
                                            host_workers());
  else
    key = backend::cuda::prepare_switch_key(bench.stream, shape, random_rows<u64>(shape, 1),
                                            host_workers());
  const std::chrono::duration<double> prepared = std::chrono::steady_clock::now() - started;
  std::printf("%s: %s; %.1f MB, prepared in %.2f s\n", name, describe(shape).c_str(),
              static_cast<double>(key->bytes()) * 1e-6, prepared.count());

  std::uint64_t values = 0;
  for (unsigned j = 0; j < shape.gadget.digits(); ++j)
    values += shape.table ? shape.gadget.bound(j) : 1;
  const double columns = shape.n + 1.0, N = shape.N;
  const std::vector<std::size_t> batches = shape.table
                                               ? std::vector<std::size_t>{1, 64, 512, 8192}
                                               : std::vector<std::size_t>{1, 64, 512, 2048, 8192};
  const std::size_t most = batches.back();
  std::vector<u64> in(most * (shape.N + 1));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = mix(i) & (shape.Q_ks - 1);
  const auto from = bench.stream.upload(in.data(), in.size());
  const auto to = bench.stream.allocate<u64>(most * (shape.n + 1));
  for (const std::size_t count : batches) {
    const Times t = measure(bench.stream, [&] {
      backend::cuda::lwe_key_switch(bench.stream, *key, count, from.data(), to.data());
    });
    const double B = static_cast<double>(count), planes = (std::bit_width(shape.Q_ks - 1) + 7) / 8;
    const double ciphertexts = B * 8 * (N + 1 + columns) / memory_rate;
    // Either way the rows that are needed come from memory once; then they are multiplied, or
    // picked from shared memory.
    const double picked = N * shape.gadget.digits() * columns * static_cast<double>(word);
    const double whole = N * static_cast<double>(values) * columns * static_cast<double>(word);
    const double rows = std::min(whole, B * picked) / memory_rate;
    const double products = B * 2 * N * static_cast<double>(values) * columns * planes / int8_rate;
    const double work = shape.table ? std::min(products, B * picked / shared_rate) : products;
    const double floor = std::max({ciphertexts, rows, work});
    print_times(name, count, t, floor, floor == work ? "arithmetic" : "memory");
    if (output.records.is_open()) {
      const bool latency = count == 1;
      auto value = [&](double seconds) { return latency ? seconds : B / seconds; };
      output.records.precision(8);
      output.records << "{\"bench\": \"cuda_lwe\", \"op\": \"keyswitch\", \"scheme\": \"binfhe\", "
                     << "\"params\": \"" << name
                     << "\", \"device\": \"h200\", \"device_count\": 1, "
                     << "\"batch\": " << count << ", \"transfers\": \"excluded\", \"unit\": \""
                     << (latency ? "s" : "1/s") << "\", \"median\": " << value(t.median)
                     << ", \"min\": " << value(latency ? t.least : t.most)
                     << ", \"max\": " << value(latency ? t.most : t.least)
                     << ", \"runs\": " << t.runs
                     << ", \"security_bits\": " << parameters.security().bits()
                     << ", \"pfail_log2\": " << parameters.failure_log2() << ", \"commit\": \""
                     << output.commit << "\", \"date\": \"" << today() << "\"}\n";
    }
  }
}

template <class Word>
void time_stages(Bench& bench, const char* name) {
  const auto parameters = binfhe::Parameters::named(name, true);
  const std::size_t B = 8192, N = parameters.N(), row = parameters.n() + 1;
  const auto rlwe = bench.stream.allocate<Word>(B * 2 * N),
             samples = bench.stream.allocate<Word>(B * (N + 1));
  const auto at_ks = bench.stream.allocate<u64>(B * (N + 1)),
             switched = bench.stream.allocate<u64>(B * row);
  const auto rounded = bench.stream.allocate<u32>(B * row);
  bench.stream.fill(rlwe.data(), 0, B * 2 * N * sizeof(Word));
  bench.stream.fill(switched.data(), 0, B * row * sizeof(u64));
  const std::string set = name;
  const double big = static_cast<double>(B * (N + 1)), small = static_cast<double>(B * row);
  Times t = measure(bench.stream, [&] {
    backend::cuda::sample_extract<Word>(bench.stream, parameters.Q(), parameters.N(), 1, B,
                                        rlwe.data(), samples.data());
  });
  print_times(set + " extract", B, t, 2 * big * sizeof(Word) / memory_rate, "memory");
  t = measure(bench.stream, [&] {
    backend::cuda::modulus_switch<Word, u64>(bench.stream, parameters.Q(), parameters.Q_ks(), N + 1,
                                             false, B, samples.data(), at_ks.data());
  });
  print_times(set + " Q to Q_ks", B, t, big * (sizeof(Word) + 8) / memory_rate, "memory");
  t = measure(bench.stream, [&] {
    backend::cuda::modulus_switch<u64, u32>(bench.stream, parameters.Q_ks(), 2 * N, row, true, B,
                                            switched.data(), rounded.data());
  });
  print_times(set + " Q_ks to 2N, centred", B, t, small * 12 / memory_rate, "memory");
}

void time_everything(Bench& bench, Output& output) {
  std::printf("\n%-32s %6s %11s %11s %11s %10s %10s  %7s\n", "times in us", "batch", "median",
              "min", "max", "each", "floor each", "reached");
  for (const char* name : {"W128_P64", "xiao/STD128", "openfhe_1_6/STD128", "W128_P128",
                           "openfhe_1_6/LARGE_PRECISION"})
    time_key_switch(bench, name, output);
  time_stages<u32>(bench, "W128_P64");
  time_stages<u64>(bench, "W128_P128");
}

int run(int argc, char** argv) {
  u64 seed = 20240817;
  bool timing = false;
  std::string record;
  Output output;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    auto next = [&]() -> const char* {
      if (i + 1 < argc) return argv[++i];
      throw ParameterError(std::string(option) + " needs a value");
    };
    if (option == "--seed")
      seed = std::strtoull(next(), nullptr, 10);
    else if (option == "--time")
      timing = true;
    else if (option == "--record")
      record = next();
    else if (option == "--commit")
      output.commit = next();
    else
      throw ParameterError("unknown option " + std::string(option) +
                           "; there are --seed S, --time, --record FILE, --commit ID");
  }
  if (!record.empty()) {
    if (output.commit.empty()) throw ParameterError("--record needs --commit");
    output.records.open(record, std::ios::app);
    if (!output.records) throw ParameterError("cannot append to " + record);
    timing = true;
  }
  const auto started = std::chrono::steady_clock::now();
  const auto gpu = backend::cuda::describe_gpu(0);
  const Stream stream(gpu);
  Bench bench(seed, stream);
  std::printf("%s against %s, seed %llu\n", gpu.model.c_str(), bench.cpu->name().c_str(),
              static_cast<unsigned long long>(seed));
  check_everything(bench);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  std::printf("%d comparisons, %d failed, %.1f s\n", bench.compared, bench.failed, took.count());
  if (timing) time_everything(bench, output);
  return bench.failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
