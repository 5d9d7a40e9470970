// Launches of the kernels for unrolled keys with other numbers than those in use.
#pragma once

#include "backend/cuda/dispatch/rotation_fft.h"
#include "backend/cuda/dispatch/rotation_fft_linked.cuh"
#include "backend/cuda/dispatch/rotation_fft_tensor.cuh"
#include "backend/cuda/dispatch/rotation_fft_unrolled.cuh"
#include "backend/cuda/dispatch/rotation_ntt.h"
#include "backend/cuda/dispatch/rotation_ntt_unrolled.cuh"
#include "cuda_rotations/bench.h"

namespace whorl::bench {

using backend::cuda::BundleForm;

/// Those that body.operator()<form, m>() makes for a key with bundles formed in the loop.
template <class Body>
std::vector<Candidate> for_form(const backend::RotationShape& shape, const Body& body) {
  const auto of = [&]<BundleForm form>() -> std::vector<Candidate> {
    constexpr backend::cuda::BundleSizes sizes = backend::cuda::bundle_sizes(form);
    if (shape.group == sizes.least_in_loop)
      return body.template operator()<form, sizes.least_in_loop>();
    if (shape.group == sizes.most_in_loop)
      return body.template operator()<form, sizes.most_in_loop>();
    return {};
  };
  switch (*backend::cuda::bundle_form(shape.kind)) {
    case BundleForm::differences:
      return of.template operator()<BundleForm::differences>();
    case BundleForm::all:
      return of.template operator()<BundleForm::all>();
    case BundleForm::block:
      break;
  }
  return of.template operator()<BundleForm::block>();
}

template <class Word>
backend::cuda::RotationBatch<Word> batch_of(const RotationBench<Word>& bench) {
  return {bench.lwe(),   bench.luts(),          bench.index(), bench.out(),
          bench.count(), bench.key().shape().n, false,         0};
}

template <class Kernel>
std::string facts(const Stream& stream, Kernel kernel, unsigned threads, std::size_t bytes) {
  cudaFuncAttributes attributes;
  backend::cuda::check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  backend::cuda::allow_shared(stream, kernel, bytes);
  int blocks = 0;
  backend::cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                           &blocks, kernel, static_cast<int>(threads), bytes),
                       "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::to_string(attributes.numRegs) + " registers, " +
         std::to_string(attributes.localSizeBytes) + " bytes spilled, " +
         std::to_string(blocks * threads / 32) + " warps";
}

template <class Shape, BundleForm form, int m, int R, int L, bool wide, bool coarse, int blocks,
          class Word>
void add_fft(std::vector<Candidate>& all, const Stream& stream, const RotationBench<Word>& bench) {
  using Memory = backend::cuda::UnrolledFftMemory<Shape, R, L, wide, coarse>;
  const auto& key = static_cast<const backend::cuda::FftRotationKey&>(bench.key()).arrays;
  const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots);
  const auto kernel =
      backend::cuda::rotate_fft_unrolled<Shape, form, m, R, L, wide, coarse, blocks, false>;
  all.push_back({"R = " + std::to_string(R) + ", L = " + std::to_string(L) +
                     ", blocks = " + std::to_string(blocks) + ": " +
                     facts(stream, kernel, 2 * R * L * Shape::threads, bytes),
                 [&stream, &bench, &key] {
                   backend::cuda::launch_unrolled<Shape, form, m, R, L, wide, coarse, blocks>(
                       stream, key, batch_of(bench));
                 }});
}

template <class Shape, BundleForm form, int m>
void add_tensor(std::vector<Candidate>& all, const Stream& stream,
                const RotationBench<std::uint32_t>& bench) {
  using Memory = backend::cuda::TensorFftMemory<backend::cuda::TensorShape<Shape>>;
  const auto& key = static_cast<const backend::cuda::FftRotationKey&>(bench.key()).arrays;
  all.push_back({"tensor cores: " + facts(stream, backend::cuda::rotate_fft_tensor<Shape, form, m>,
                                          2 * Memory::C * Shape::threads, Memory::bytes),
                 [&stream, &bench, &key] {
                   backend::cuda::launch_tensor<Shape, form, m>(stream, key, batch_of(bench));
                 }});
}

/// The two kernels for few ciphertexts, each alone.
template <bool wide, class Word>
std::shared_ptr<backend::cuda::DeviceArray<double2>> add_bundles(std::vector<Candidate>& all,
                                                                 const Stream& stream,
                                                                 const RotationBench<Word>& bench) {
  const auto& key = static_cast<const backend::cuda::FftRotationKey&>(bench.key()).arrays;
  const auto bundles = std::make_shared<backend::cuda::DeviceArray<double2>>(
      stream.allocate<double2>(bench.count() * key.bundle_size));
  all.push_back({"bundles", [&stream, &bench, &key, bundles] {
                   backend::cuda::make_fft_bundles_of<wide>(stream, key, bench.lwe(),
                                                            bench.key().shape().n, bench.count(),
                                                            bundles->data());
                 }});
  return bundles;
}
template <class Shape, int K, int D, bool wide, bool coarse, class Word>
void add_linked(std::vector<Candidate>& all, const Stream& stream, const RotationBench<Word>& bench,
                const std::shared_ptr<backend::cuda::DeviceArray<double2>>& bundles) {
  const auto& key = static_cast<const backend::cuda::FftRotationKey&>(bench.key()).arrays;
  all.push_back({"loop, " + std::to_string(2 * D) + " workers in " + std::to_string(K) + " blocks",
                 [&stream, &bench, &key, bundles] {
                   backend::cuda::launch_linked<Shape, K, D, wide, coarse>(
                       stream, backend::cuda::linked_view_of(key, bundles->data()),
                       batch_of(bench));
                 }});
}

template <class Shape, BundleForm form, int m, int L, class Word>
void add_ntt(std::vector<Candidate>& all, const Stream& stream, const RotationBench<Word>& bench) {
  using Memory = backend::cuda::UnrolledNttMemory<Shape, L>;
  const auto& key = static_cast<const backend::cuda::NttRotationKey<Word>&>(bench.key()).arrays;
  const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes;
  const auto kernel = backend::cuda::rotate_ntt_unrolled<Shape, form, m, L, 1, false>;
  all.push_back(
      {"L = " + std::to_string(L) + ": " + facts(stream, kernel, 2 * L * Shape::threads, bytes),
       [&stream, &bench, &key, kernel, bytes] {
         backend::cuda::launch_rotation(stream, kernel, backend::cuda::unrolled_view_of(key),
                                        batch_of(bench), L, 2 * L * Shape::threads, bytes);
       }});
}

}  // namespace whorl::bench
