// Blind rotation of one ciphertext by K blocks, with the NTT: exact. The division of work is
// rotate_fft_cluster.cuh's: block r carries component r mod 2 of the accumulator, transforms every
// (K/2)-th of its digits and multiplies the r-th part of all values.
//
// The key's part for the next step is fetched once this step's products are made.
#pragma once

#include <cuda_pipeline.h>

#include "backend/cuda/kernels/meeting.cuh"
#include "backend/cuda/kernels/rotate_ntt.cuh"

namespace whorl::backend::cuda {

/// Memory of a block. Shown to the others: its component's result, spectra of its digits. Its own:
/// the accumulator, a buffer for transforms where what it shows is device memory, its part of the
/// key for a step and the twiddles, if there is room for them.
template <class Shape>
struct NttClusterMemory {
  using Word = typename Shape::Word;
  static constexpr std::size_t polynomial_bytes = Shape::N * sizeof(Word);
  static constexpr std::size_t twiddle_bytes = 2 * Shape::N * sizeof(Twiddle<Word>);

  unsigned slots;  ///< digits a block transforms
  unsigned rows;   ///< most rows of the key a step
  unsigned keys;
  bool holds_key, holds_twiddles;

  __host__ __device__ std::size_t shown_bytes() const { return (1 + slots) * polynomial_bytes; }
  __host__ __device__ std::size_t key_bytes(unsigned blocks) const {
    return holds_key ? std::size_t{rows} * keys * 2 * (polynomial_bytes / blocks) : 0;
  }
  __host__ __device__ std::size_t own_bytes(unsigned blocks, bool clustered) const {
    return (clustered ? 1 : 2) * polynomial_bytes + key_bytes(blocks) +
           (holds_twiddles ? twiddle_bytes : 0);
  }
};

namespace rotate_ntt_detail {

/// The F values of a node of the last pass's result, in as few accesses as there can be.
template <class Shape>
struct alignas(Shape::F * sizeof(typename Shape::Word) < 16
                   ? Shape::F * sizeof(typename Shape::Word)
                   : 16) NodeValues {
  typename Shape::Word v[Shape::F];

  __device__ __forceinline__ static NodeValues& in(typename Shape::Word* slot, int node) {
    return *reinterpret_cast<NodeValues*>(
        slot + Shape::template place<Shape::passes - 1>(node * Shape::F));
  }
};

}  // namespace rotate_ntt_detail

/// The key is in the order of KeyShape.
template <class Shape, class KeyShape, int keys, int blocks, class Meeting>
__global__ void __launch_bounds__(Shape::threads, 1)
    rotate_ntt_cluster(const NttKeyView<typename Shape::Word> key,
                       const RotationBatch<typename Shape::Word> batch,
                       const NttClusterMemory<Shape> memory, char* const meeting_memory,
                       unsigned* const arrivals) {
  using Word = typename Shape::Word;
  using Int = std::make_signed_t<Word>;
  using Node = rotate_ntt_detail::NodeValues<Shape>;
  constexpr int N = Shape::N, G = Shape::threads, F = Shape::F;
  constexpr int nodes = N / F, own_nodes = nodes / blocks, own_values = N / blocks;
  constexpr unsigned carriers = blocks / 2;  // blocks that carry one component
  // Where there are threads enough, each takes one component of a node's product.
  constexpr int splits = 2 * own_nodes <= G ? 2 : 1, components = 2 / splits;
  static_assert(own_nodes % 32 == 0 && G % 32 == 0);

  extern __shared__ double2 shared_memory[];
  char* const shared = reinterpret_cast<char*>(shared_memory);
  const std::uint32_t ciphertext = blockIdx.x / blocks;
  constexpr bool clustered = std::is_same_v<Meeting, ClusterMeeting>;
  Meeting meet = meeting_of<Meeting>(shared, meeting_memory, memory.shown_bytes(), arrivals,
                                     ciphertext, blocks);
  const unsigned rank = meet.rank(), component = rank % 2, first_digit = rank / 2;
  // Shown: result | slots. A block finds its own without asking where they are in the cluster:
  // accesses to shared memory are then known as such.
  const auto result_of = [&](unsigned r) { return reinterpret_cast<Word*>(meet.of(r)); };
  const auto slot_of = [&](unsigned r, unsigned slot) { return result_of(r) + (1 + slot) * N; };
  Word* const own_result = reinterpret_cast<Word*>(clustered ? shared : meet.of(rank));
  // Own: accumulator | transforms' buffer | key | twiddles.
  Word* const own_words = reinterpret_cast<Word*>(shared + (clustered ? memory.shown_bytes() : 0));
  Int* const acc = reinterpret_cast<Int*>(own_words);
  [[maybe_unused]] Word* const grid_buffer = own_words + N;
  Word* const held_key = own_words + (clustered ? 1 : 2) * N;
  auto* const held_twiddles =
      reinterpret_cast<Twiddle<Word>*>(held_key + memory.key_bytes(blocks) / sizeof(Word));

  const int t = threadIdx.x;
  const auto sync = [] { __syncthreads(); };
  const Word q = key.plan.q;
  const Int Q = static_cast<Int>(q);
  NttView<Word, TwiddlesAnywhere<Word>> plan{{key.plan.roots}, {key.plan.inverse_roots}, q};
  if (memory.holds_twiddles) {
    for (int j = t; j < N; j += G) {
      held_twiddles[j] = key.plan.roots[j];
      held_twiddles[N + j] = key.plan.inverse_roots[j];
    }
    plan.roots = {held_twiddles};
    plan.inverse_roots = {held_twiddles + N};
  }
  const std::uint32_t* const lwe = batch.lwe + std::uint64_t{ciphertext} * (batch.n + 1);
  start_accumulator<N, G, Word>(batch, ciphertext, component, t, Q, acc);

  // This block's values of all polynomials of a step: as many stretches a polynomial as KeyShape
  // has values a node. To shared memory 16 bytes a copy; without room there, to the second-level
  // cache.
  constexpr int stretches = KeyShape::F, stretch_values = own_values / stretches;
  constexpr int copy_values = 16 / sizeof(Word), copies = stretch_values / copy_values;
  static_assert(stretch_values % copy_values == 0);
  const auto fetch = [&](const Word* from, std::uint32_t rows) {
    const std::uint32_t all = rows * keys * 2 * stretches * copies;
    for (std::uint32_t c = t; c < all; c += G) {
      const std::uint32_t stretch = c / copies, at = c % copies * copy_values;
      const Word* const values = from + stretch * (N / stretches) + at;
      if (memory.holds_key)
        __pipeline_memcpy_async(held_key + stretch * stretch_values + at, values, 16);
      else if (at % (128 / sizeof(Word)) == 0)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(values));
    }
    __pipeline_commit();
  };
  const std::uint32_t polynomial_stride = memory.holds_key ? own_values : N;
  const std::uint32_t stretch_stride = polynomial_stride / stretches;

  GadgetRange gadget = key.ranges[0];
  const Word* step_key = key.values + rank * stretch_values;
  fetch(step_key, 2 * gadget.digits);
  std::uint32_t next_a = __ldg(lwe), range = 0;
  __syncthreads();
  for (std::uint32_t i = 0; i < batch.n; ++i) {
    const std::uint32_t a = next_a, rows = 2 * gadget.digits;
    if (i + 1 < batch.n) next_a = __ldg(lwe + i + 1);

    // Slots were last read before the blocks met a second time, in the step before.
    if (first_digit < gadget.digits) {
      Word* const saved = own_result + (1 + (gadget.digits - 1 - first_digit) / carriers) * N;
#pragma unroll 1
      for (unsigned digit = first_digit, slot = 0; digit < gadget.digits;
           digit += carriers, ++slot) {
        Word* const to = own_result + (1 + slot) * N;
        transform_digit<Shape>(acc, gadget, digit, slot == 0, a, plan, t, saved,
                               clustered ? to : grid_buffer, to, sync);
      }
    }
    __pipeline_wait_prior(0);
    meet();

    const Word* const part = memory.holds_key ? held_key : step_key;
    for (int work = t; work < own_nodes * splits; work += G) {
      const int local = work % own_nodes, node = rank * own_nodes + local;
      const int first_component = work / own_nodes * components;
      [[maybe_unused]] Word monomial[F];
      if constexpr (keys == 2) {
        // X^-a; value v is at psi^(2·brv(v) + 1).
#pragma unroll
        for (int f = 0; f < F; ++f) {
          const std::uint32_t exponent = 2 * (__brev(node * F + f) >> (32 - Shape::log_n)) + 1;
          monomial[f] = __ldg(key.monomials + (((0u - a) * exponent) & (2 * N - 1)));
        }
      }
      ProductSum<Word> sum[keys][components][F];
#pragma unroll 2
      for (std::uint32_t row = 0; row < rows; ++row) {
        const std::uint32_t of_component = row >= gadget.digits;
        const std::uint32_t digit = row - of_component * gadget.digits;
        Node x = Node::in(slot_of(digit % carriers * 2 + of_component, digit / carriers), node);
        forward_rest<Shape>(x.v, plan, node);
#pragma unroll
        for (int s = 0; s < keys * components; ++s) {
          const int k = s / components, c = s % components;
          const Word* const polynomial =
              part + ((row * keys + k) * 2 + first_component + c) * polynomial_stride;
#pragma unroll
          for (int f = 0; f < F; ++f) {
            const int v = local * F + f;
            sum[k][c][f].add(x.v[f], polynomial[v % stretches * stretch_stride + v / stretches], q);
          }
        }
      }
#pragma unroll
      for (int c = 0; c < components; ++c) {
        Node result;
#pragma unroll
        for (int f = 0; f < F; ++f) {
          result.v[f] = sum[0][c][f].reduce(q, key.montgomery);
          if constexpr (keys == 2) {
            // minus X^-a times the second key's product
            const Word second = sum[1][c][f].reduce(q, key.montgomery);
            result.v[f] = sub_mod<Word>(
                result.v[f], mul_montgomery<Word>(second, monomial[f], q, key.montgomery), q);
          }
        }
        inverse_rest<Shape>(result.v, plan, node);
#pragma unroll
        for (unsigned carrier = 0; carrier < carriers; ++carrier)
          Node::in(result_of(2 * carrier + first_component + c), node) = result;
      }
    }
    meet();

    // The key's part was last read before; its successor comes while this block transforms.
    if (i + 1 < batch.n) {
      step_key += rows * keys * 2 * N;
      if (i + 1 == gadget.end) gadget = key.ranges[++range];
      fetch(step_key, 2 * gadget.digits);
    }
    if (component == 1 && batch.constant_only(i))
      add_constant_back<Shape>(own_result, t, acc, q, sync);
    else
      transform_back<Shape>(own_result, clustered ? own_result : grid_buffer, plan, t, acc, sync);
    __syncthreads();
  }
  if (first_digit == 0) write_accumulator<N, G, Word>(batch, ciphertext, component, t, Q, acc);
}

}  // namespace whorl::backend::cuda
