// The loop over the steps of one ciphertext with bundles that are made ahead of it, or beside it
// (fft_bundles.cuh). For few ciphertexts: what counts is how long a step takes.
//
// 2·D workers, groups of threads, take a ciphertext: worker w carries component w mod 2 of the
// accumulator, and transforms every D-th of its digits, from digit w / 2 on. A thread keeps the
// frequencies that the transform leaves it with: it multiplies them by the bundle's, which it has
// fetched into registers meanwhile, and gives the sums to the threads of the other workers that own
// the same frequencies of the component. Each worker adds up what it got for its component, and
// transforms back. Workers that carry the same component do the same there, in the same order. So
// there is one exchange between workers a step. They lie in the K blocks of a cluster and send each
// other counted stores, or in one block (K = 1).
#pragma once

#include "backend/cuda/kernels/bundle_progress.cuh"
#include "backend/cuda/kernels/counted_stores.cuh"
#include "backend/cuda/kernels/fft_bundles.cuh"

namespace whorl::backend::cuda {

/// What the loop reads.
struct LinkedFftView {
  const double2* bundles;  ///< of the first ciphertext; `size` complex values each
  std::size_t size;
  const double2* tables;  ///< GroupFft's
  const GadgetRange* ranges;
  std::uint32_t range_count;
  std::uint64_t Q;
  unsigned group;      ///< coefficients a step
  std::uint32_t keep;  ///< as TorusAccumulator::add_product's
  bool large;
  BundleProgress progress;
};

/// A block's counters take these bytes beside LinkedFftMemory.
inline constexpr std::size_t linked_counter_bytes = 16;

/// Shared memory of a block: tables; of each of its workers the exchange of a transform, what it
/// receives from all others in two steps, the accumulator.
template <class Shape, int K, int D, FftWords words>
struct LinkedFftMemory {
  static constexpr int workers = 2 * D / K;  ///< of a block
  static constexpr int others = 2 * D - 1;
  using Accumulator = TorusAccumulator<2 * Shape::M, words>;
  static constexpr std::size_t received = std::size_t{others} * Shape::M;  ///< of a step
  static constexpr std::size_t exchange = Shape::plane;
  static constexpr std::size_t bytes =
      (Shape::table_size + workers * (exchange + 2 * received)) * sizeof(double2) +
      workers * Accumulator::bytes;
  /// Blocks whose registers fit a multiprocessor: two where their memory does, and a ciphertext has
  /// one block, of which the most run at once.
  static constexpr int blocks = K == 1 && 2 * bytes <= 200 * 1024 ? 2 : 1;
};

/// The nodes of frequencies that thread t of a group multiplies: E/F of them, value f of the i-th
/// in z[f·E/F + i]. The last pass leaves it with value t mod F of each of E nodes.
template <class Shape>
struct NodesOfLoop {
  static constexpr int E = Shape::E, F = Shape::F, count = E / F;
  /// Node i of thread t.
  __device__ static __forceinline__ int node(int t, int i) { return t / F * E + t % F * count + i; }
  /// Between both orders, among the F threads that share nodes; it is its own inverse.
  __device__ static __forceinline__ void swap(Complex (&z)[E], int t) {
#pragma unroll
    for (int bit = 1; bit < F; bit *= 2) {
      const bool up = (t & bit) != 0;
#pragma unroll
      for (int f = 0; f < F; ++f) {
        if ((f & bit) != 0) continue;
#pragma unroll
        for (int i = 0; i < count; ++i) {
          Complex& low = z[f * count + i];
          Complex& high = z[(f | bit) * count + i];
          const Complex out = up ? low : high;
          const Complex in{__shfl_xor_sync(~0u, out.re, bit), __shfl_xor_sync(~0u, out.im, bit)};
          if (up)
            low = in;
          else
            high = in;
        }
      }
    }
  }
};

template <class Shape, int K, int D, FftWords words>
__global__ void __launch_bounds__(2 * D / K * Shape::threads,
                                  LinkedFftMemory<Shape, K, D, words>::blocks)
    rotate_fft_linked(const LinkedFftView key, const RotationBatch<FftWord<words>> batch) {
  using Word = FftWord<words>;
  using Memory = LinkedFftMemory<Shape, K, D, words>;
  using Accumulator = typename Memory::Accumulator;
  using Nodes = NodesOfLoop<Shape>;
  constexpr int M = Shape::M, E = Shape::E, G = Shape::threads, F = Shape::F;
  constexpr int workers = Memory::workers, threads = workers * G;
  constexpr bool clustered = K > 1;
  static_assert(workers == (clustered ? 1 : 2 * D) && G % 32 == 0);

  extern __shared__ double2 shared_memory[];
  __shared__ std::uint64_t counters[2];
  double2* const tables = shared_memory;
  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  // exchange | received | accumulator, of all workers each
  double2* const exchanges = tables + Shape::table_size;
  double2* const received_all = exchanges + workers * Memory::exchange;
  double* const exchange = reinterpret_cast<double*>(exchanges + group * Memory::exchange);
  const auto received = [&](int worker, std::uint32_t parity) {
    return received_all + (2 * worker + parity) * Memory::received;
  };
  Accumulator acc{reinterpret_cast<std::uint32_t*>(received_all + 2 * workers * Memory::received) +
                  group * (Accumulator::bytes / 4)};

  const unsigned rank = clustered ? cluster_rank() : 0, own = clustered ? rank : group;
  const unsigned component = own % 2, first_digit = own / 2;
  const std::uint32_t ciphertext = blockIdx.x / K;
  acc.template start<G>(batch, ciphertext, static_cast<int>(component), t,
                        static_cast<Word>(key.Q));
  for (int j = threadIdx.x; j < Shape::table_size; j += threads) tables[j] = key.tables[j];
  const auto counter = [&](std::uint32_t parity) {
    return ByteCounter{shared_address(counters + parity)};
  };
  constexpr auto received_bytes = static_cast<std::uint32_t>(Memory::received * sizeof(double2));
  if (clustered && threadIdx.x < 2) counter(threadIdx.x).start();
  __syncthreads();
  if (clustered && threadIdx.x < 2) counter(threadIdx.x).expect(received_bytes);
  if constexpr (clustered) cluster_barrier();

  // Where worker `of` finds what worker `from` sent, value i of thread t.
  const auto place = [&](unsigned from, unsigned of) {
    return (from < of ? from : from - 1) * M + t;
  };
  const double2* bundle = key.bundles + ciphertext * key.size;
  GadgetRange gadget = key.ranges[0];
  std::uint32_t range = 0, step = 0;
  for (std::uint32_t i = 0; i < batch.n; i += key.group, ++step) {
    if (i >= gadget.end) gadget = key.ranges[++range];
    const std::uint32_t digits = digits_of<words>(gadget), parity = step % 2;
    if (key.progress.made != nullptr && step % BundleProgress::chunk == 0) key.progress.wait(step);
    Complex sum[2][E] = {};
#pragma unroll 1
    for (std::uint32_t digit = first_digit; digit < digits; digit += D) {
      double2 by[2][E];
#pragma unroll
      for (int s = 0; s < 2; ++s)
#pragma unroll
        for (int e = 0; e < E; ++e)
          by[s][e] =
              BundleProgress::value(bundle + ((2 * digit + component) * 2 + s) * M + e * G + t);
      Complex z[E];
      const DigitRule rule(gadget, digit);
      const auto digit_of = [&](int j) {
        if constexpr (words == FftWords::one_digit)
          return static_cast<double>(Accumulator::single_digit(acc.get(j), gadget));
        else
          return static_cast<double>(
              rule(Accumulator::with_offset(acc.get(j), static_cast<Word>(key.Q), gadget.offset)));
      };
#pragma unroll
      for (int k = 0; k < E; ++k) z[k] = {digit_of(t + G * k), digit_of(t + G * k + M)};
      forward_passes<Shape, Exchange::together>(z, t, tables, exchange, sync);
      Nodes::swap(z, t);
#pragma unroll
      for (int n = 0; n < Nodes::count; ++n) {
        Complex w[2];
        load_rest<Shape>(tables, Nodes::node(t, n), w);
        Complex x[F];
#pragma unroll
        for (int f = 0; f < F; ++f) x[f] = z[f * Nodes::count + n];
        forward_rest<Shape>(x, w);
#pragma unroll
        for (int f = 0; f < F; ++f)
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            const int e = f * Nodes::count + n;
            rotate_fft_detail::multiply_add(sum[s][e], x[f], {by[s][e].x, by[s][e].y});
          }
      }
    }
    bundle += 4 * digits * M;

    // The sums go to the workers that carry their component.
    const auto give = [&](unsigned to) {
      const auto store = [&](const auto& values) {
        if constexpr (clustered) {
          const std::uint32_t at =
              address_in(to, shared_address(received(0, parity) + place(own, to)));
          const std::uint32_t count = address_in(to, counter(parity).at);
#pragma unroll
          for (int e = 0; e < E; ++e)
            send(at + e * G * sizeof(double2), count, values[e].re, values[e].im);
        } else {
          double2* const at = received(static_cast<int>(to), parity) + place(own, to);
#pragma unroll
          for (int e = 0; e < E; ++e) at[e * G] = {values[e].re, values[e].im};
        }
      };
      if (to % 2 == 0)
        store(sum[0]);
      else
        store(sum[1]);
    };
#pragma unroll
    for (unsigned other = 1; other < 2 * D; ++other) give(own ^ other);
    if constexpr (clustered) {
      counter(parity).wait(step / 2 & 1);
      if (threadIdx.x == 0) counter(parity).expect(received_bytes);
    } else {
      __syncthreads();
    }
    Complex z[E];
    const double2* const from = received(clustered ? 0 : group, parity);
#pragma unroll
    for (unsigned worker = 0; worker < 2 * D; ++worker)
#pragma unroll
      for (int e = 0; e < E; ++e) {
        Complex x;
        if (worker == own) {
          x = component == 0 ? sum[0][e] : sum[1][e];
        } else {
          const double2 v = from[place(worker, own) + e * G];
          x = {v.x, v.y};
        }
        z[e] = worker == 0 ? x : Complex{z[e].re + x.re, z[e].im + x.im};
      }
#pragma unroll
    for (int n = 0; n < Nodes::count; ++n) {
      Complex x[F];
#pragma unroll
      for (int f = 0; f < F; ++f) x[f] = z[f * Nodes::count + n];
      inverse_rest<Shape>(x);
#pragma unroll
      for (int f = 0; f < F; ++f) z[f * Nodes::count + n] = x[f];
    }
    Nodes::swap(z, t);
    inverse_passes<Shape>(z, t, tables, exchange, sync);
    add_result<Shape, words, Roots::table>(z, tables, 1, key.large, t, acc, key.keep);
    sync();  // all have read the exchange
  }
  if constexpr (clustered) cluster_barrier();  // nobody sends to a block that has ended
  if (first_digit == 0)
    acc.template write<G>(batch, ciphertext, static_cast<int>(component), t,
                          static_cast<Word>(key.Q));
  if (key.progress.made != nullptr) wait_for_bundles();
}

}  // namespace whorl::backend::cuda
