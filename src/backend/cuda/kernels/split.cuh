// How a transform is spread over passes and threads: index arithmetic that the NTT, the FFT, the
// tables and the tests share.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

enum class Direction { forward, inverse };

/// A transform of 2^log_n points as passes over the bits of the index, top bits first: the
/// four-step method (Bailey 1990) applied repeatedly. A thread holds 2^log_e values; in pass p it
/// does levels[p] <= log_e levels of butterflies on them without speaking to any other.
///
/// In pass p an index has, from the top, start(p) bits of the node (which sub-transform), levels[p]
/// bits along which the butterflies go, and below(p) bits. Where a thread holds more values than
/// the pass needs, it takes neighbours: inner(p) of the lowest index bits, so that accesses become
/// wide, and outer(p) of the node's lowest bits where there are none left. Register i is (outer,
/// level, inner bits).
struct Split {
  int log_n = 0, log_e = 0, passes = 0;
  int levels[5] = {};
  /// Bit p: pass p multiplies its values by powers of its node's root and is then a cyclic
  /// transform, the same for all nodes (the hybrid of Shen et al., "VeloFHE", 2025, section 3): as
  /// many products, and half the table, since the powers are in Montgomery form and need no
  /// companion. Otherwise the twist is merged in the butterflies. NTT only, and not for pass 0.
  int cyclic = 0;

  WHORL_HOST_DEVICE constexpr int start(int p) const {
    int sum = 0;
    for (int i = 0; i < p; ++i) sum += levels[i];
    return sum;
  }
  WHORL_HOST_DEVICE constexpr int below(int p) const { return log_n - start(p) - levels[p]; }
  WHORL_HOST_DEVICE constexpr int inner(int p) const {
    const int extra = log_e - levels[p];
    return below(p) < extra ? below(p) : extra;
  }
  WHORL_HOST_DEVICE constexpr int outer(int p) const { return log_e - levels[p] - inner(p); }
  /// log2 of the registers that lie beside each other in memory.
  WHORL_HOST_DEVICE constexpr int run(int p) const {
    return below(p) > inner(p) ? inner(p) : inner(p) + levels[p];
  }
  WHORL_HOST_DEVICE constexpr bool is_cyclic(int p) const { return (cyclic >> p) & 1; }
  /// Where pass p's twiddles begin in a table, in twiddles; table_start(passes) is where they end.
  WHORL_HOST_DEVICE constexpr std::uint32_t table_start(int p) const {
    std::uint32_t sum = 0;
    for (int i = 0; i < p; ++i) sum += std::uint32_t{1} << (start(i) + levels[i] - is_cyclic(i));
    return sum;
  }
  WHORL_HOST_DEVICE constexpr bool valid() const {
    if (start(passes) != log_n || log_e > log_n) return false;
    for (int p = 0; p < passes; ++p)
      if (levels[p] < 1 || levels[p] > log_e) return false;
    // A cyclic pass takes its constants from those of pass 0.
    for (int p = 0; p < passes; ++p)
      if (is_cyclic(p) && (p == 0 || levels[p] < 2 || levels[p] - 1 > levels[0])) return false;
    return true;
  }
};

/// Pass p of a split, for code.
template <Split split, int p>
struct Pass {
  static constexpr int start = split.start(p), levels = split.levels[p], below = split.below(p);
  static constexpr int inner = split.inner(p), outer = split.outer(p), run = split.run(p);
  static constexpr int values = 1 << split.log_e;

  /// First node of thread t of the transform.
  static WHORL_HOST_DEVICE std::uint32_t node(std::uint32_t t) {
    return (t >> (below - inner)) << outer;
  }
  /// Index of register i is base(t) + offset(i); they have no bit in common.
  static WHORL_HOST_DEVICE std::uint32_t base(std::uint32_t t) {
    const std::uint32_t rest = t & ((1u << (below - inner)) - 1);
    return (node(t) << (split.log_n - start)) | (rest << inner);
  }
  static WHORL_HOST_DEVICE constexpr std::uint32_t offset(int i) {
    const int n = i >> (levels + inner), k = (i >> inner) & ((1 << levels) - 1),
              v = i & ((1 << inner) - 1);
    return (static_cast<std::uint32_t>(n) << (split.log_n - start)) |
           (static_cast<std::uint32_t>(k) << below) | static_cast<std::uint32_t>(v);
  }
};

/// Twiddle c of a node, c = 2^t + g for group g of level t of a pass with `nodes` nodes, counted
/// from the pass's start. Neighbouring nodes lie beside each other, so that a warp's loads are
/// contiguous; twiddles 2k and 2k+1 of a node lie together, so that one load gets both.
WHORL_HOST_DEVICE constexpr std::uint32_t twiddle_slot(std::uint32_t nodes, std::uint32_t node,
                                                       std::uint32_t c) {
  return ((c >> 1) * nodes + node) * 2 + (c & 1);
}

/// Power k of a node of a cyclic pass, in words from the pass's start: 16 bytes of a node together.
template <class Word>
WHORL_HOST_DEVICE constexpr std::uint32_t power_slot(std::uint32_t nodes, std::uint32_t node,
                                                     std::uint32_t k) {
  constexpr std::uint32_t together = 16 / sizeof(Word);
  return (k / together * nodes + node) * together + k % together;
}

/// Shared memory with holes, so that no access of a warp meets a bank twice: after each 2^log_row
/// elements `gap` unused ones, and `gap2` more after each 2^log_row2. The address is additive over
/// indices without a common bit, so that offsets stay immediates of the instructions.
struct Padding {
  int log_row = 31, gap = 0, log_row2 = 31, gap2 = 0;
  WHORL_HOST_DEVICE constexpr std::uint32_t at(std::uint32_t j) const {
    return j + (j >> log_row) * gap + (j >> log_row2) * gap2;
  }
};

/// One kernel of a transform: passes first … last-1 of the split. Units of 2^log_threads threads
/// each hold 2^(log_threads + log_e) values in shared memory; where a unit is only part of a
/// transform, it is a part that later passes keep together (first > 0), one of the blocks of a
/// cluster (log_cluster > 0), or any part, if there is no exchange (last - first = 1).
struct KernelShape {
  Split split;
  int first = 0, last = 0;
  int log_threads = 0;
  int units = 1;  ///< a block
  int log_cluster = 0;
  Padding padding;
  int unit_gap = 0;  ///< elements between units' shared memory
  int resident = 1;  ///< blocks a multiprocessor that the compiler must leave registers for

  WHORL_HOST_DEVICE constexpr int log_local() const { return log_threads + split.log_e; }
  /// log2 of units in a transform.
  WHORL_HOST_DEVICE constexpr int log_parts() const { return split.log_n - log_local(); }
  WHORL_HOST_DEVICE constexpr int threads() const { return units << log_threads; }
  WHORL_HOST_DEVICE constexpr bool exchanges() const {
    return last - first > 1 || last == split.passes;
  }
  WHORL_HOST_DEVICE constexpr std::uint32_t unit_elements() const {
    return exchanges() ? padding.at(1u << log_local()) + unit_gap : 0;
  }
  WHORL_HOST_DEVICE constexpr std::uint32_t shared_elements() const {
    return units * unit_elements();
  }
};

/// `count` neighbouring elements, moved by one access.
template <class T, int count>
struct alignas(sizeof(T) * count) Run {
  T value[count];
};
/// log2 of the elements in an access of 16 bytes.
template <class T>
inline constexpr int widest_run = sizeof(T) == 4   ? 2
                                  : sizeof(T) == 8 ? 1
                                                   : 0;

template <int count, class T>
WHORL_HOST_DEVICE void store_run(const T* x, T* to) {
  Run<T, count> run;
  WHORL_UNROLL
  for (int c = 0; c < count; ++c) run.value[c] = x[c];
  *reinterpret_cast<Run<T, count>*>(to) = run;
}
template <int count, class T>
WHORL_HOST_DEVICE void load_run(T* x, const T* from) {
  const auto run = *reinterpret_cast<const Run<T, count>*>(from);
  WHORL_UNROLL
  for (int c = 0; c < count; ++c) x[c] = run.value[c];
}

/// Index j's place in an array without holes.
inline constexpr Padding dense{};

/// A thread's registers as pass p holds them, to or from the `2^log_local` elements of one unit.
/// Thread numbers count from the start of the transform.
template <KernelShape shape, int p, Padding padding, class T>
WHORL_HOST_DEVICE void store_pass(const T (&x)[1 << shape.split.log_e], T* unit,
                                  std::uint32_t thread) {
  using P = Pass<shape.split, p>;
  constexpr int count = 1 << (P::run < widest_run<T> ? P::run : widest_run<T>);
  T* base = unit + padding.at(P::base(thread) & ((1u << shape.log_local()) - 1));
  WHORL_UNROLL
  for (int i = 0; i < P::values; i += count)
    store_run<count>(x + i, base + padding.at(P::offset(i)));
}
template <KernelShape shape, int p, Padding padding, class T>
WHORL_HOST_DEVICE void load_pass(T (&x)[1 << shape.split.log_e], const T* unit,
                                 std::uint32_t thread) {
  using P = Pass<shape.split, p>;
  constexpr int count = 1 << (P::run < widest_run<T> ? P::run : widest_run<T>);
  const T* base = unit + padding.at(P::base(thread) & ((1u << shape.log_local()) - 1));
  WHORL_UNROLL
  for (int i = 0; i < P::values; i += count)
    load_run<count>(x + i, base + padding.at(P::offset(i)));
}
/// The same for memory that holds the whole transform without holes.
template <Split split, int p, class T>
WHORL_HOST_DEVICE void store_whole(const T (&x)[1 << split.log_e], T* data, std::uint32_t thread) {
  using P = Pass<split, p>;
  constexpr int count = 1 << (P::run < widest_run<T> ? P::run : widest_run<T>);
  WHORL_UNROLL
  for (int i = 0; i < P::values; i += count)
    store_run<count>(x + i, data + P::base(thread) + P::offset(i));
}
template <Split split, int p, class T>
WHORL_HOST_DEVICE void load_whole(T (&x)[1 << split.log_e], const T* data, std::uint32_t thread) {
  using P = Pass<split, p>;
  constexpr int count = 1 << (P::run < widest_run<T> ? P::run : widest_run<T>);
  WHORL_UNROLL
  for (int i = 0; i < P::values; i += count)
    load_run<count>(x + i, data + P::base(thread) + P::offset(i));
}
/// A transform over a cluster's blocks. Pass 0 has columns: the block's share of the indices modulo
/// its nodes' distance. Passes from 1 on have nodes: the indices whose top log_cluster bits are the
/// block's number. These are the blocks and the places in their memory where others find an index;
/// both are additive over indices without a common bit.
template <KernelShape shape>
struct NodeHome {
  static WHORL_HOST_DEVICE constexpr std::uint32_t block(std::uint32_t index) {
    return index >> shape.log_local();
  }
  static WHORL_HOST_DEVICE constexpr std::uint32_t place(std::uint32_t index) {
    return shape.padding.at(index & ((1u << shape.log_local()) - 1));
  }
};
template <KernelShape shape>
struct ColumnHome {
  static constexpr int below = Pass<shape.split, 0>::below, log_columns = below - shape.log_cluster;
  static WHORL_HOST_DEVICE constexpr std::uint32_t block(std::uint32_t index) {
    return (index >> log_columns) & ((1u << shape.log_cluster) - 1);
  }
  static WHORL_HOST_DEVICE constexpr std::uint32_t place(std::uint32_t index) {
    return shape.padding.at(((index >> below) << log_columns) |
                            (index & ((1u << log_columns) - 1)));
  }
};
/// What pass 0 has in its columns.
template <KernelShape shape, class T>
WHORL_HOST_DEVICE void load_columns(T (&x)[1 << shape.split.log_e], const T* block,
                                    std::uint32_t thread) {
  using P = Pass<shape.split, 0>;
  using Home = ColumnHome<shape>;
  constexpr int count = 1 << (P::run < widest_run<T> ? P::run : widest_run<T>);
  const T* base = block + Home::place(P::base(thread));
  WHORL_UNROLL
  for (int i = 0; i < P::values; i += count)
    load_run<count>(x + i, base + Home::place(P::offset(i)));
}

/// A unit's elements between memory and shared memory in the order of their indices, each access of
/// a warp contiguous; t: thread of the unit.
template <KernelShape shape, class T, class From, class To>
WHORL_HOST_DEVICE void copy_unit(std::uint32_t t, const From& from, const To& to) {
  constexpr int count = 1 << widest_run<T>, rounds = (1 << shape.split.log_e) / count;
  T x[1 << shape.split.log_e];
  WHORL_UNROLL
  for (int i = 0; i < rounds; ++i)
    load_run<count>(x + i * count, from(t * count, (i * count) << shape.log_threads));
  WHORL_UNROLL
  for (int i = 0; i < rounds; ++i)
    store_run<count>(x + i * count, to(t * count, (i * count) << shape.log_threads));
}
/// Addresses for it: of the sum of two indices without a common bit, the second known when
/// compiled.
template <Padding padding, class T>
struct Place {
  T* data;
  WHORL_HOST_DEVICE T* operator()(std::uint32_t base, std::uint32_t offset) const {
    return data + padding.at(base) + padding.at(offset);
  }
};

}  // namespace whorl::backend::cuda
