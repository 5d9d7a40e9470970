// What the tuning program does with any candidate: time it, compare it, rank it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"
#include "common/cuda_timer.h"

namespace whorl::tune {

/// What the compiler made of a kernel, and how much of it a multiprocessor holds.
struct KernelFacts {
  int registers = 0;
  std::size_t spilled_bytes = 0;  ///< a thread
  int warps = 0;                  ///< a multiprocessor
};
/// "128/16 spills 24": registers, warps.
std::string facts_text(const std::vector<KernelFacts>& kernels);

/// Lets a kernel have its shared memory.
template <class Kernel>
KernelFacts prepare_kernel(Kernel* kernel, int threads, std::size_t shared_bytes) {
  using backend::cuda::check;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "cudaFuncSetAttribute: " + std::to_string(shared_bytes) + " bytes of shared memory");
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return {attributes.numRegs, attributes.localSizeBytes, blocks * threads / 32};
}

/// splitmix64 (Steele et al., OOPSLA 2014) of a counter: any seed serves, and none is secret.
__host__ __device__ inline std::uint64_t random_word(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// A candidate, measured.
struct Measured {
  std::string line;  ///< its numbers as a file of tuning/ writes them
  float ms = 0;      ///< what it is ranked by
  bool used = false, right = true;
  std::string text;  ///< its times, and what else is to be printed
};
/// "12.345 ms".
std::string ms_text(float ms);
/// "3.1 % slower", of the numbers in use against the fastest; "not measured" where one was not.
std::string slower_text(float used_ms, float best_ms);

class Tuner {
 public:
  /// DeviceError if there is no such GPU.
  explicit Tuner(int device);
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  const backend::cuda::Stream& stream() const { return stream_; }
  const backend::cuda::Gpu& gpu() const { return stream_.gpu(); }

  /// How long what `work` enqueues takes by the GPU's clock: the median of `runs`, after two more.
  float median_ms(const std::function<void()>& work, int runs = 10) const;
  /// Whether arrays are equal; doubles within a tolerance. Waits.
  bool equal(const std::uint64_t* a, const std::uint64_t* b, std::size_t size) const;
  bool equal(const double* a, const double* b, std::size_t size, double tolerance) const;
  /// A counter of differences for kernels, and what it came to. Waits.
  std::uint64_t count(const std::function<void(unsigned long long*)>& work) const;

  /// Sorts candidates, those with wrong outputs last, and prints them. `left_out`: the GPU lacks
  /// what they need.
  template <class M>
  void rank(const std::string& title, std::vector<M>& all, int left_out = 0) {
    std::stable_sort(all.begin(), all.end(), [](const M& a, const M& b) {
      return a.right != b.right ? a.right : a.ms < b.ms;
    });
    begin_ranking(title);
    for (const M& measured : all) print(measured);
    end_ranking(left_out);
  }
  /// For the end: `lines` belong into a file of src/backend/cuda/tuning.
  void add_winner(const std::string& file, const std::string& lines) { winners_[file] += lines; }

  /// Prints the lines of the winners. The number of candidates with a wrong output.
  int finish() const;

 private:
  void begin_ranking(const std::string& title) const;
  void print(const Measured& measured);
  void end_ranking(int left_out) const;

  backend::cuda::Stream stream_;
  backend::cuda::CurrentGpu current_;
  bench::CudaTimer timer_;
  int wrong_ = 0;
  std::map<std::string, std::string> winners_;
};

// The program's parts.
using Tuning = void(Tuner& tuner);
Tuning tune_ntt_32, tune_ntt_64, tune_ntt_few, tune_fft, tune_rotation, tune_key_switch;

}  // namespace whorl::tune
