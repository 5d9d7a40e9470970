// Kernels of batches of transforms. Each coefficient is read once and written once, or twice where
// a transform takes two kernels.
#pragma once

#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/fft.cuh"
#include "backend/cuda/kernels/ntt.cuh"
#include "backend/cuda/kernels/ntt_ends.cuh"
#include "backend/cuda/kernels/unit.cuh"

namespace whorl::backend::cuda {

/// Limbs of one launch: grid.y.
inline constexpr unsigned ntt_limbs_a_launch = 64;

/// Where row `row` of part `part` is, which are grid.y and grid.z: the (in_first + part·in_stride +
/// row)-th of `in`, and likewise of `out`; a row is (batch, N). Parts are digits where
/// `digit_limbs` is not 0: then rows of `chain` that belong to the part's own digit are left alone,
/// `first` being the first row's number, plus how many limbs the first digit has less than the
/// others.
struct NttPlaces {
  std::uint32_t in_first = 0, in_stride = 0, out_first = 0, out_stride = 0;
  std::uint32_t digit_limbs = 0, chain = 0, first = 0;
};
/// The transform that a block works on.
struct NttPlace {
  std::uint32_t part, limb;  ///< the row of the part in this launch; limbs[limb] is its modulus
  std::uint32_t in, out;     ///< rows
  bool own;                  ///< of the part's own digit

  __device__ __forceinline__ explicit NttPlace(const NttPlaces& places) {
    part = blockIdx.z;
    limb = blockIdx.y;
    in = places.in_first + part * places.in_stride + limb;
    out = places.out_first + part * places.out_stride + limb;
    const std::uint32_t row = places.first + limb;
    own = row < places.chain && row - part * places.digit_limbs < places.digit_limbs;
  }
};

template <class Word>
struct NttArguments {
  const Word* in;
  Word* out;  ///< may be `in` where places are the same
  std::uint32_t batch;
  NttPlaces places;
  NttConversion<Word> conversion;  ///< of kernels that convert; in_first is then every row's
  NttDivision<Word> division;      ///< of kernels that divide
  NttProduct<Word> product;        ///< of kernels that multiply; `in` is not used then
  NttLimb<Word> limbs[ntt_limbs_a_launch];
};

/// Whether this compilation's architecture can run the shape; kernels of others are left empty.
template <KernelShape shape>
__host__ __device__ constexpr bool architecture_has() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return shape.log_cluster == 0;
#else
  return true;
#endif
}

extern __shared__ unsigned char transform_memory[] __attribute__((aligned(16)));

template <int headroom, KernelShape shape, int p, class Word>
__device__ __forceinline__ void forward_from(Word (&x)[1 << shape.split.log_e],
                                             const Unit<shape, Word>& unit,
                                             const NttLimb<Word>& limb, const auto& early) {
  forward_pass<headroom, shape.split, p>(x, limb, unit.thread, early);
  if constexpr (p + 1 < shape.last) {
    EarlyTwiddles<Word, shape.split, p + 1, Direction::forward> next;
    unit.template exchange<p, p + 1>(x, [&] { next.load(limb, unit.thread); });
    forward_from<headroom, shape, p + 1>(x, unit, limb, next);
  }
}
/// Passes p … stop; `before_last` is called when the values of pass `stop` are in registers.
template <int headroom, KernelShape shape, int p, int stop, class Word>
__device__ __forceinline__ void inverse_from(Word (&x)[1 << shape.split.log_e],
                                             const Unit<shape, Word>& unit,
                                             const NttLimb<Word>& limb, const auto& early,
                                             const auto& before_last) {
  if constexpr (p == stop) before_last();
  inverse_pass<headroom, shape.split, p>(x, limb, unit.thread, early);
  if constexpr (p > stop) {
    EarlyTwiddles<Word, shape.split, p - 1, Direction::inverse> next;
    unit.template exchange<p, p - 1>(x, [&] { next.load(limb, unit.thread); });
    inverse_from<headroom, shape, p - 1, stop>(x, unit, limb, next, before_last);
  }
}

/// Tuned::shape is the kernel's KernelShape.
template <class Word, int headroom, class Tuned, NttEnds ends = NttEnds::none>
__global__ void __launch_bounds__(Tuned::shape.threads(), Tuned::shape.resident)
    ntt_kernel(const __grid_constant__ NttArguments<Word> arguments) {
  constexpr KernelShape shape = Tuned::shape;
  constexpr bool converts = ends == NttEnds::converts || ends == NttEnds::converts_and_divides,
                 divides = ends == NttEnds::divides || ends == NttEnds::converts_and_divides;
  static_assert(!converts || shape.first == 0);
  static_assert(!divides || shape.last == shape.split.passes);
  if constexpr (architecture_has<shape>()) {
    join_chain();
    const NttPlaces& places = arguments.places;
    const NttPlace at(places);
    const std::uint32_t row = places.first + at.limb;
    if (at.own && !converts) return;
    const Unit<shape, Word> unit(transform_memory);
    const NttLimb<Word> limb = arguments.limbs[at.limb];
    const bool active = unit.transform < arguments.batch;
    const auto place = [&](std::uint32_t of) {
      return (static_cast<std::size_t>(of) * arguments.batch + unit.transform) << shape.split.log_n;
    };
    Word* const out = arguments.out + place(at.out);
    if constexpr (converts)
      if (at.own) {
        const Word* const own = arguments.conversion.own;
        if (own != nullptr) copy_own<shape>(unit, own + place(row), out);
        return;
      }
    const auto load = [&](auto& x) {
      if constexpr (converts)
        load_converted<shape.split>(x, arguments.conversion, places.digit_limbs ? at.part : 0, row,
                                    limb, arguments.in + place(at.in - at.limb), unit.thread);
      else
        load_whole<shape.split, shape.first>(x, arguments.in + place(at.in), unit.thread);
    };
    const auto division = [&]() -> DivisionPlace<Word> {
      const NttDivision<Word>& by = arguments.division;
      const std::uint32_t from = by.from != nullptr ? __ldg(by.from + row) : row;
      return {
          load_twiddle(by.factors + row),
          from != by.none ? by.x + place(at.part * by.x_stride + from) : nullptr,
          at.part < by.added_parts ? by.added + place(at.part * by.added_stride + row) : nullptr,
          by.g, out};
    };
    Word x[1 << shape.split.log_e] = {};
    if constexpr (shape.log_cluster > 0) {
      __shared__ std::uint64_t arrivals;
      const ClusterExchange<shape, Word> between(unit.shared, &arrivals);
      cluster_arrive_unused();
      load(x);
      forward_pass<headroom, shape.split, 0>(x, limb, unit.thread);
      cluster_wait();  // all blocks run: their memory may be written
      between.template send<0, NodeHome<shape>>(x, unit.thread);
      EarlyTwiddles<Word, shape.split, 1, Direction::forward> next;
      next.load(limb, unit.thread);
      between.receive();
      load_pass<shape, 1, shape.padding>(x, unit.shared, unit.thread);
      forward_from<headroom, shape, 1>(x, unit, limb, next);
    } else {
      if (active) load(x);
      forward_from<headroom, shape, shape.first>(x, unit, limb, NoEarlyTwiddles{});
    }
    if constexpr (divides) {
      store_divided<shape, Word>(x, unit, active, limb.q, division());
    } else if constexpr (shape.last == shape.split.passes) {
      unit.store_linear(x, out, active);
    } else {
      store_whole<shape.split, shape.last - 1>(x, out, unit.thread);
    }
  }
}

/// Tuned::shape is the kernel's KernelShape.
template <class Word, int headroom, class Tuned, InttInput input = InttInput::values>
__global__ void __launch_bounds__(Tuned::shape.threads(), Tuned::shape.resident)
    intt_kernel(const __grid_constant__ NttArguments<Word> arguments) {
  constexpr bool multiplies = input == InttInput::products;
  constexpr KernelShape shape = Tuned::shape;
  static_assert(!multiplies || shape.last == shape.split.passes);
  if constexpr (architecture_has<shape>()) {
    join_chain();
    const NttPlace at(arguments.places);
    if (at.own) return;
    const Unit<shape, Word> unit(transform_memory);
    const NttLimb<Word> limb = arguments.limbs[at.limb];
    const bool active = unit.transform < arguments.batch;
    const auto place = [&](std::uint32_t row) {
      return (static_cast<std::size_t>(row) * arguments.batch + unit.transform)
             << shape.split.log_n;
    };
    const Word* const in = arguments.in + place(at.in);
    Word* const out = arguments.out + place(at.out);
    Word x[1 << shape.split.log_e] = {};
    EarlyTwiddles<Word, shape.split, shape.last - 1, Direction::inverse> early;
    early.load(limb, unit.thread);
    if constexpr (multiplies) {
      const NttProduct<Word>& by = arguments.product;
      const std::uint32_t row = arguments.places.first + at.limb;
      const std::uint32_t digit = (row + by.missing) / by.digit_limbs;
      const std::size_t in_b =
          by.one_b != 0 ? static_cast<std::size_t>(row) << shape.split.log_n : place(row);
      load_products<shape, Word>(
          x, unit, active, for_products<Word>(by.moduli[row], by.doubled != 0), by.a + place(row),
          by.b + in_b, by.own + place(digit * by.own_rows + row));
    } else if constexpr (shape.last == shape.split.passes) {
      unit.load_linear(x, in, active);
    } else {
      load_whole<shape.split, shape.last - 1>(x, in, unit.thread);
    }
    if constexpr (shape.log_cluster > 0) {
      __shared__ std::uint64_t arrivals;
      const ClusterExchange<shape, Word> between(unit.shared, &arrivals);
      // A block's memory may be written once its values of pass 1 are in registers.
      inverse_from<headroom, shape, shape.last - 1, 1>(x, unit, limb, early,
                                                       [] { cluster_arrive(); });
      cluster_wait();
      between.template send<1, ColumnHome<shape>>(x, unit.thread);
      between.receive();
      load_columns<shape>(x, unit.shared, unit.thread);
      inverse_pass<headroom, shape.split, 0>(x, limb, unit.thread);
      store_whole<shape.split, 0>(x, out, unit.thread);
    } else {
      inverse_from<headroom, shape, shape.last - 1, shape.first>(x, unit, limb, early, [] {});
      if (active) store_whole<shape.split, shape.first>(x, out, unit.thread);
    }
  }
}

struct FftArguments {
  const double* reals_in;  ///< fft, pass 0
  double* reals_out;       ///< ifft, pass 0
  const FftValue* from;    ///< values, where they are read
  FftValue* to;            ///< and where they are written
  const FftValue* table;
  std::uint32_t batch;
};

template <KernelShape shape, int p>
__device__ __forceinline__ void fft_from(FftValue (&x)[1 << shape.split.log_e],
                                         const Unit<shape, FftValue>& unit, const FftValue* table) {
  fft_pass<shape.split, p>(x, table, unit.thread);
  if constexpr (p + 1 < shape.last) {
    unit.template exchange<p, p + 1>(x, [] {});
    fft_from<shape, p + 1>(x, unit, table);
  }
}
template <KernelShape shape, int p, int stop>
__device__ __forceinline__ void ifft_from(FftValue (&x)[1 << shape.split.log_e],
                                          const Unit<shape, FftValue>& unit, const FftValue* table,
                                          const auto& before_last) {
  if constexpr (p == stop) before_last();
  ifft_pass<shape.split, p>(x, table, unit.thread);
  if constexpr (p > stop) {
    unit.template exchange<p, p - 1>(x, [] {});
    ifft_from<shape, p - 1, stop>(x, unit, table, before_last);
  }
}

template <class Tuned>
__global__ void __launch_bounds__(Tuned::shape.threads(), Tuned::shape.resident)
    fft_kernel(const __grid_constant__ FftArguments a) {
  constexpr KernelShape shape = Tuned::shape;
  if constexpr (architecture_has<shape>()) {
    join_chain();
    const Unit<shape, FftValue> unit(transform_memory);
    const bool active = unit.transform < a.batch;
    const std::size_t at = static_cast<std::size_t>(unit.transform) << shape.split.log_n;
    FftValue x[1 << shape.split.log_e] = {};
    if constexpr (shape.log_cluster > 0) {
      __shared__ std::uint64_t arrivals;
      const ClusterExchange<shape, FftValue> between(unit.shared, &arrivals);
      cluster_arrive_unused();
      load_folded<shape.split>(x, a.reals_in + 2 * at, unit.thread);
      fft_pass<shape.split, 0>(x, a.table, unit.thread);
      cluster_wait();  // all blocks run: their memory may be written
      between.template send<0, NodeHome<shape>>(x, unit.thread);
      between.receive();
      load_pass<shape, 1, shape.padding>(x, unit.shared, unit.thread);
      fft_from<shape, 1>(x, unit, a.table);
    } else {
      if constexpr (shape.first == 0) {
        if (active) load_folded<shape.split>(x, a.reals_in + 2 * at, unit.thread);
      } else {
        load_whole<shape.split, shape.first>(x, a.from + at, unit.thread);
      }
      fft_from<shape, shape.first>(x, unit, a.table);
    }
    if constexpr (shape.last == shape.split.passes)
      unit.store_linear(x, a.to + at, active);
    else
      store_whole<shape.split, shape.last - 1>(x, a.to + at, unit.thread);
  }
}

template <class Tuned>
__global__ void __launch_bounds__(Tuned::shape.threads(), Tuned::shape.resident)
    ifft_kernel(const __grid_constant__ FftArguments a) {
  constexpr KernelShape shape = Tuned::shape;
  if constexpr (architecture_has<shape>()) {
    join_chain();
    constexpr double scale = 1.0 / (1u << shape.split.log_n);
    const Unit<shape, FftValue> unit(transform_memory);
    const bool active = unit.transform < a.batch;
    const std::size_t at = static_cast<std::size_t>(unit.transform) << shape.split.log_n;
    FftValue x[1 << shape.split.log_e] = {};
    if constexpr (shape.last == shape.split.passes)
      unit.load_linear(x, a.from + at, active);
    else
      load_whole<shape.split, shape.last - 1>(x, a.from + at, unit.thread);
    if constexpr (shape.log_cluster > 0) {
      __shared__ std::uint64_t arrivals;
      const ClusterExchange<shape, FftValue> between(unit.shared, &arrivals);
      // A block's memory may be written once its values of pass 1 are in registers.
      ifft_from<shape, shape.last - 1, 1>(x, unit, a.table, [] { cluster_arrive(); });
      cluster_wait();
      between.template send<1, ColumnHome<shape>>(x, unit.thread);
      between.receive();
      load_columns<shape>(x, unit.shared, unit.thread);
      ifft_pass<shape.split, 0>(x, a.table, unit.thread);
      store_folded<shape.split>(x, a.reals_out + 2 * at, scale, unit.thread);
    } else {
      ifft_from<shape, shape.last - 1, shape.first>(x, unit, a.table, [] {});
      if constexpr (shape.first == 0) {
        if (active) store_folded<shape.split>(x, a.reals_out + 2 * at, scale, unit.thread);
      } else {
        store_whole<shape.split, shape.first>(x, a.to + at, unit.thread);
      }
    }
  }
}

}  // namespace whorl::backend::cuda
