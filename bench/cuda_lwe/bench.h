// What the checks and the timing of bench_cuda_lwe share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/contract/lwe.h"
#include "backend/contract/ring.h"
#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/lwe.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"
#include "common/binfhe.h"
#include "common/devices.h"
#include "common/records.h"

namespace whorl::bench {

using backend::SwitchShape;
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

class LweBench {
 public:
  LweBench(u64 seed, const Stream& on) : random(seed), stream(on), cpu(open_queue("cpu")) {}

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
  std::unique_ptr<Queue> cpu;
  int compared = 0, failed = 0;
};

template <class Word>
struct OnCpu {
  OnCpu(LweBench& bench, const std::vector<Word>& values)
      : queue(*bench.cpu), buffer(upload(queue, values)) {}
  OnCpu(LweBench& bench, std::size_t count)
      : queue(*bench.cpu), buffer(queue.allocate<Word>(count)) {}
  Slice<const Word> in() { return std::as_const(buffer).slice(); }
  Slice<Word> out() { return buffer.slice(); }
  std::vector<Word> values() const { return download(queue, buffer); }
  const Queue& queue;
  Buffer<Word> buffer;
};

template <class Word>
std::string bits() {
  return std::to_string(8 * sizeof(Word)) + " bits";
}

/// Rows of a key that need no memory of what was drawn.
template <class Word>
backend::SwitchRows<Word> random_rows(const SwitchShape& shape, u64 seed);
u64 mix(u64 x);
std::string describe(const SwitchShape& shape);
SwitchShape shape_of(const binfhe::Parameters& parameters);

inline constexpr u32 coefficient_0[] = {0};

template <class Word>
std::unique_ptr<backend::SwitchKey> prepare_on_gpu(const LweBench& bench, const SwitchShape& shape,
                                                   u64 seed) {
  const auto rows = random_rows<Word>(shape, seed);
  return backend::cuda::prepare_switch_key(
      bench.stream, shape, sizeof(Word),
      [&](std::size_t first, std::size_t count, void* out, std::size_t stride) {
        rows(first, count, static_cast<Word*>(out), stride);
      },
      {backend::available_cores(), {}});
}

/// Every kernel against the CPU, bit for bit.
void check_everything(LweBench& bench);
/// Key switching, sample extraction and modulus switching at the shapes of named sets.
void time_everything(LweBench& bench, const Records& records);

}  // namespace whorl::bench
