// Blind rotation of one ciphertext with keys of GINX by the eight blocks of a cluster, each of
// which has a quarter of the frequencies. For few ciphertexts: what counts is how long a step
// takes.
//
// X^M = i has its roots in four quarters, by the order of ring::FftPlan: those of quarter h are
// roots of X^(M/4) = w_h too, where w_h = zeta^(e_h·M/4), e_h = 4·brv(h) + 1 and zeta^N = -1. So
// the transform of a polynomial is four of a fourth of its length, of
//   y_j = zeta^((e_h-4)·j) · sum_q w_h^q·x_(j+q·M/4),
// which the first factor makes a GroupFft of that length (with X = zeta^(e_h-4)·Y, Y^(M/4) = i),
// and back, without that factor,
//   x_(j+q·M/4) = 1/4·sum_h w_h^-q·y_j.
//
// Block r carries component r mod 2 of the accumulator, and has quarter r / 2. Its first threads
// own a frequency each, and the eight coefficients that one j takes; a warp of the others
// transforms two digits, and some of them transform back. A step:
//   1. Owners form the digits of (X^a - 1)·ACC, and of each digit the value j of the quarter. A
//      warp transforms two digits as soon as they are there.
//   2. Owners multiply all digits of their frequency by the key, K_1 - X^-a·K_2 for ternary ones,
//      which they have in registers. The sum for the other component goes to the block that carries
//      it and has the same quarter: 4 KB at N = 2048.
//   3. Some threads transform the quarter back and give it to the three other blocks that carry the
//      same component, which get 12 KB each. Owners take the next step's key from shared memory to
//      registers meanwhile, and have bulk copies bring the key after that one in its place.
//   4. Owners add what the four quarters of their j are to their coefficients.
// All blocks that carry a component get the same values, so that their accumulators stay equal.
// Values travel as counted stores; nobody meets all blocks at a barrier.
#pragma once

#include "backend/cuda/kernels/counted_stores.cuh"
#include "backend/cuda/kernels/rotate_fft.cuh"

namespace whorl::backend::cuda {

inline constexpr int split_blocks = 8;

/// Most digits of a step: an owner keeps the key's values of all.
template <FftWords words>
inline constexpr unsigned split_most_digits = words == FftWords::one_digit ? 1
                                              : is_wide<words>             ? 5
                                                                           : 6;

/// A quarter's part of a step's key in shared memory: rows of what a digit is multiplied by. Where
/// frequencies of a node lie apart in the key, a row has as many stretches; gaps keep the values
/// that neighbours read at once in different banks.
template <class KeyShape, int keys, FftWords words>
struct SplitKeyMemory {
  using Value = FftKeyValue<words>;
  static constexpr int quarter = KeyShape::M / 4, stretches = is_wide<words> ? KeyShape::F : 1,
                       stretch = quarter / stretches,
                       pitch = stretch + (stretches > 1 ? 8 / stretches : 0),
                       row = stretches * pitch;
  __host__ __device__ static constexpr unsigned rows(unsigned digits) { return digits * keys * 2; }
  __host__ __device__ static constexpr std::size_t bytes(unsigned digits) {
    return rows(digits) * std::size_t{row} * sizeof(Value);
  }
};

/// The block of SplitShapes: its threads, and its shared memory without the key's.
template <class Shapes, FftWords words>
struct SplitFftBlock {
  using Forward = typename Shapes::Forward;
  using Back = typename Shapes::Back;
  using Accumulator = TorusAccumulator<8 * Forward::M, words>;
  static constexpr unsigned together = 32 / Forward::threads;  ///< digits that a warp takes at once
  static_assert(together * Forward::threads == 32 && Back::threads % 32 == 0 &&
                Forward::M == Back::M);

  /// Digits come one after the other, so that three warps in turn take them.
  __host__ __device__ static constexpr unsigned turns(unsigned digits) {
    return (digits + together - 1) / together;
  }
  static constexpr unsigned threads(unsigned digits) {
    const unsigned others = 32 * (turns(digits) < 3 ? turns(digits) : 3);
    return Forward::M + (others > Back::threads ? others : Back::threads);
  }
  /// One digit is nobody's where they do not fill their warp.
  __host__ __device__ static constexpr unsigned rounded(unsigned digits) {
    return turns(digits) * together;
  }
  static constexpr std::size_t tables = Forward::table_size + Back::table_size;
  /// Complex values behind the tables: of each digit its values or spectrum and the exchange of its
  /// transform; this block's sums, those that it receives in two steps, the exchange of the
  /// transform back; the quarters of two steps.
  __host__ __device__ static constexpr std::size_t values(unsigned digits) {
    return 2 * rounded(digits) * std::size_t{Forward::plane} + 4 * std::size_t{Back::plane} +
           8 * std::size_t{Back::M};
  }
  static constexpr std::size_t bytes(unsigned digits) {
    return (tables + values(digits)) * sizeof(double2) + Accumulator::bytes;
  }
};

namespace rotate_fft_split_detail {

/// The double of an integer, given plus 2^31: quicker than the conversion, of which a
/// multiprocessor makes 16 a clock.
__device__ __forceinline__ double double_of_raised(std::uint32_t x) {
  return __hiloint2double(0x43300000, static_cast<int>(x)) - rotate_fft_detail::biased;
}

/// exp(i·pi·q/8): what the quarters' sums are multiplied by, conjugated.
static __constant__ Complex eighths[4] = {{1, 0},
                                          {0.92387953251128675613, 0.38268343236508977173},
                                          {0.70710678118654752440, 0.70710678118654752440},
                                          {0.38268343236508977173, 0.92387953251128675613}};

/// Where value e of a spectrum lies. What eight threads take or leave at once is in different
/// banks: the same value of neighbouring nodes, neighbours, and what a pass leaves.
__device__ __forceinline__ int spectrum_place(int e) {
  const int four = e / 4;
  return (four ^ (four >> 3 & 1)) * 4 + (e % 4 ^ (four >> 1 & 3));
}

/// Barriers of a part of the block, which others only pass.
__device__ __forceinline__ void pass_barrier(unsigned id, unsigned threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void wait_barrier(unsigned id, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// TorusAccumulator::with_offset, for wide fractions by one product of unsigned words: half a turn
/// more is Q/2 more, which is what rounds to the nearest, and (Q - 1)/2.
template <class Accumulator, class Fraction, class Word>
__device__ __forceinline__ std::make_signed_t<Word> with_offset(Fraction fraction, Word Q,
                                                                std::int64_t offset) {
  if constexpr (Accumulator::is_long)
    return static_cast<std::int64_t>(__umul64hi(fraction ^ (Fraction{1} << 63), Q)) +
           (offset - static_cast<std::int64_t>(Q / 2));
  else
    return Accumulator::with_offset(fraction, Q, offset);
}

/// Value j of a quarter of each digit of (X^a - 1)·acc, to values[digit·plane + j]; passed(number)
/// where a warp has its digits. `factors` are w^q·zeta^((e-4)·j).
template <class Shape, FftWords words, class Passed>
__device__ __forceinline__ void split_digits(const TorusAccumulator<8 * Shape::M, words>& acc,
                                             const GadgetRange& gadget, std::uint32_t a,
                                             std::uint64_t Q, int j, const Complex (&factors)[4],
                                             double2* values, const Passed& passed) {
  using Accumulator = TorusAccumulator<8 * Shape::M, words>;
  using Word = typename Accumulator::Word;
  constexpr std::uint32_t raised = 1u << 31, together = 32 / Shape::threads;
  // Coefficient j + q·M/4 and M further on, for q < 4: their digits are a complex value.
  const auto store = [&](std::uint32_t digit, const auto& raised_digit) {
    Complex x[4], y[2];  // two sums, since each would wait for its own products
#pragma unroll
    for (int q = 0; q < 4; ++q)
      x[q] = {double_of_raised(raised_digit(q)), double_of_raised(raised_digit(q + 4))};
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      y[q] = rotate_fft_detail::product(factors[q], x[q]);
      rotate_fft_detail::multiply_add(y[q], factors[q + 2], x[q + 2]);
    }
    values[digit * Shape::plane + j] = {y[0].re + y[1].re, y[0].im + y[1].im};
  };
  if constexpr (words == FftWords::one_digit) {
    store(0, [&](int k) {
      return static_cast<std::uint32_t>(acc.rotated_digit(j + k * Shape::M, a, gadget)) + raised;
    });
    passed(0);
  } else {
    std::make_signed_t<Word> x[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
      x[k] = with_offset<Accumulator>(acc.rotated_difference(j + k * Shape::M, a),
                                      static_cast<Word>(Q), gadget.offset);
#pragma unroll 1
    for (std::uint32_t digit = 0; digit < gadget.digits; ++digit) {
      const DigitRule rule(gadget, digit);
      const std::uint32_t more = raised - rule.half;  // the rule, but for what is added
      store(digit, [&](int k) {
        return (static_cast<std::uint32_t>(x[k] >> rule.shift) & rule.mask) + more;
      });
      if (digit % together + 1 == together || digit + 1 == gadget.digits) passed(digit / together);
    }
  }
}

/// Adds what the quarters' values j, u[brv(h)] of quarter h, are to the accumulator.
template <class Shape, FftWords words>
__device__ __forceinline__ void add_quarters(const Complex (&u)[4], int j, bool large,
                                             TorusAccumulator<8 * Shape::M, words>& acc) {
  constexpr int M = 4 * Shape::M;
  const auto sum = [](const Complex& x, const Complex& y) {
    return Complex{x.re + y.re, x.im + y.im};
  };
  const auto difference = [](const Complex& x, const Complex& y) {
    return Complex{x.re - y.re, x.im - y.im};
  };
  const Complex even = sum(u[0], u[2]), odd = sum(u[1], u[3]), d = difference(u[0], u[2]),
                e = difference(u[1], u[3]);
  const Complex x[4] = {sum(even, odd),
                        {d.re + e.im, d.im - e.re},
                        difference(even, odd),
                        {d.re - e.im, d.im + e.re}};
  const auto add_all = [&]<Turns turns>() {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const Complex& w = eighths[q];
      acc.template add_product<turns>(j + q * Shape::M, x[q].re, w.re, x[q].im, w.im);
      acc.template add_product<turns>(j + q * Shape::M + M, x[q].im, w.re, -x[q].re, w.im);
    }
  };
  if (!is_wide<words> && large)
    add_all.template operator()<Turns::many>();
  else
    add_all.template operator()<Turns::few>();
}

/// What an owner multiplies the digits of a component by: the key of a step at its frequency, that
/// for -1 added to that for 1.
template <class KeyShape, int keys, FftWords words>
struct SplitKey {
  using Memory = SplitKeyMemory<KeyShape, keys, words>;
  using KeyValue = FftKeyValue<words>;
  static constexpr int M = KeyShape::M, N = 2 * M, D = split_most_digits<words>,
                       quarter = Memory::quarter, stretches = Memory::stretches;
  static_assert(D * keys * 2 * stretches <= quarter, "an owner has a copy at most");

  Complex by[D][2];  ///< of each digit, for both components of the sum

  __device__ __forceinline__ SplitKey(const FftKeyView<words>& key, unsigned component, unsigned of,
                                      int thread, KeyValue* memory, ByteCounter counter)
      : key_(key), counter_(counter), component_(component), first_(thread == 0) {
    const int frequency = static_cast<int>(of) * quarter + thread;
    exponent_ = 4 * (__brev(frequency) >> (32 - KeyShape::log_m)) + 1;
    mine_ = memory + thread % stretches * Memory::pitch + thread / stretches;
    // Copies go to lanes of all warps in turn, since a warp makes them one by one.
    copy_ = thread % 32 * (quarter / 32) + thread / 32;
    const int of_row = copy_ % stretches, row = copy_ / stretches;
    from_ =
        key.values + static_cast<int>(of) * Memory::stretch + of_row * (M / stretches) + row * M;
    to_ = shared_address(memory + row * Memory::row + of_row * Memory::pitch);
    end_ = key.ranges[0].end;
    digits_ = digits_of<words>(key.ranges[0]);
  }

  /// Begins to copy the key of a step, that after the last one, to shared memory: all owners have
  /// taken what was there.
  __device__ __forceinline__ void fetch(std::uint32_t step) {
    if (step == end_) {
      const GadgetRange range = key_.ranges[++range_];
      end_ = range.end;
      digits_ = digits_of<words>(range);
    }
    constexpr std::uint32_t bytes = Memory::stretch * sizeof(KeyValue);
    const std::uint32_t copies = Memory::rows(digits_) * stretches,
                        size = Memory::rows(digits_) * M;  // of a component
    if (first_) counter_.expect(copies * bytes);
    if (copy_ < static_cast<int>(copies))
      copy_in_bulk(to_, from_ + component_ * size, bytes, counter_);
    from_ += 2 * size;
  }

  /// -X^-a at the owner's frequency; zeta^N = -1.
  __device__ __forceinline__ Complex turn(std::uint32_t a) const {
    if constexpr (keys == 2)
      return load_root(key_.roots + ((N - a * exponent_) & (2 * N - 1)));
    else
      return {};
  }

  /// Takes the key that was fetched last, once it is there; `turn` is the step's.
  __device__ __forceinline__ void take(std::uint32_t step, const Complex& turn) {
    counter_.wait(step & 1);
#pragma unroll
    for (int digit = 0; digit < D; ++digit)
      if (digit < static_cast<int>(digits_))
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          const auto value = [&](int of) {
            const KeyValue v = mine_[(digit * 2 * keys + of) * Memory::row];
            return Complex{static_cast<double>(v.x), static_cast<double>(v.y)};
          };
          by[digit][s] = value(s);
          if constexpr (keys == 2)
            rotate_fft_detail::multiply_add(by[digit][s], turn, value(2 + s));
        }
  }

 private:
  const FftKeyView<words>& key_;
  const KeyValue *mine_, *from_;
  ByteCounter counter_;
  std::uint32_t to_, exponent_, end_;
  unsigned component_, range_ = 0, digits_;
  int copy_;
  bool first_;
};

}  // namespace rotate_fft_split_detail

/// The key is in the order of KeyShape. `most_digits` of any step are at most split_most_digits; a
/// block has SplitFftBlock's threads and memory for them.
template <class Shapes, class KeyShape, int keys, FftWords words>
__global__ void __launch_bounds__(SplitFftBlock<Shapes, words>::threads(split_most_digits<words>),
                                  1)
    rotate_fft_split(const FftKeyView<words> key, const double2* const back_tables,
                     const RotationBatch<FftWord<words>> batch, const unsigned most_digits) {
  using Block = SplitFftBlock<Shapes, words>;
  using Forward = typename Shapes::Forward;
  using Back = typename Shapes::Back;
  using Word = FftWord<words>;
  constexpr int quarter = Forward::M, M = KeyShape::M, N = 2 * M;
  constexpr int plane = Forward::plane, last_back = Back::passes - 1;
  static_assert(M == 4 * quarter && Forward::F >= 2 && Back::F <= 2);

  extern __shared__ double2 shared_memory[];
  __shared__ std::uint64_t counters[5];  // of sums and of quarters, by a step's parity; of the key
  // tables | values | exchanges | own sums | received sums | exchange | quarters | accumulator |
  // key
  double2* const forward_tables = shared_memory;
  double2* const inverse_tables = forward_tables + Forward::table_size;
  double2* const values = inverse_tables + Back::table_size;
  double2* const exchanges = values + Block::rounded(most_digits) * plane;
  double2* const own_sums = exchanges + Block::rounded(most_digits) * plane;
  double2* const received = own_sums + Back::plane;
  double* const exchange = reinterpret_cast<double*>(received + 2 * Back::plane);
  double2* const quarters = received + 3 * Back::plane;
  typename Block::Accumulator acc{
      reinterpret_cast<std::uint32_t*>(shared_memory + Block::tables + Block::values(most_digits))};

  const int thread = threadIdx.x;
  const bool owns = thread < quarter;
  const unsigned rank = cluster_rank(), component = rank % 2, own = rank / 2;
  const std::uint32_t ciphertext = blockIdx.x / split_blocks;
  if (owns)
    acc.template start<quarter>(batch, ciphertext, static_cast<int>(component), thread,
                                static_cast<Word>(key.Q));
  for (int j = thread; j < Forward::table_size; j += static_cast<int>(blockDim.x))
    forward_tables[j] = key.tables[j];
  for (int j = thread; j < Back::table_size; j += static_cast<int>(blockDim.x))
    inverse_tables[j] = back_tables[j];
  const auto counter = [&](unsigned which, std::uint32_t parity) {
    return ByteCounter{shared_address(counters + 2 * which + parity)};
  };
  constexpr auto sum_bytes = static_cast<std::uint32_t>(quarter * sizeof(double2)),
                 quarter_bytes = 3 * sum_bytes;
  const ByteCounter of_key{shared_address(counters + 4)};
  if (thread < 4) counter(thread / 2, thread % 2).start();
  if (thread == 4) of_key.start();
  __syncthreads();
  if (thread < 4) counter(thread / 2, thread % 2).expect(thread < 2 ? sum_bytes : quarter_bytes);
  cluster_barrier();

  const auto root = [&](std::uint32_t exponent) {
    return load_root(key.roots + (exponent & (2 * N - 1)));
  };
  const std::uint32_t of_quarter = 4 * (__brev(own) >> 30) + 1;
  // Barriers: 0 of all, one for each warp that waits for digits, of the transform back, of owners.
  // Owners and the others have a loop each, whose barriers correspond.
  constexpr unsigned of_digits = 1, of_back = 8, of_owners = 9;
  using rotate_fft_split_detail::pass_barrier;
  using rotate_fft_split_detail::spectrum_place;
  using rotate_fft_split_detail::wait_barrier;
  const auto wait_for_all = [&] { wait_barrier(0, blockDim.x); };
  GadgetRange gadget = key.ranges[0];
  std::uint32_t range = 0;

  if (owns) {
    const int at_frequency = spectrum_place(thread);
    Complex factors[4];  // w^q·zeta^((e-4)·j)
#pragma unroll
    for (int q = 0; q < 4; ++q)
      factors[q] = root(of_quarter * q * quarter + (of_quarter - 4) * thread);
    rotate_fft_split_detail::SplitKey<KeyShape, keys, words> step_key(
        key, component, own, thread,
        reinterpret_cast<FftKeyValue<words>*>(reinterpret_cast<char*>(acc.high) +
                                              Block::Accumulator::bytes),
        of_key);
    const std::uint32_t* const lwe = batch.lwe + std::uint64_t{ciphertext} * (batch.n + 1);
    std::uint32_t a = __ldg(lwe);
    const auto take_key = [&](std::uint32_t step, const Complex& turn) {
      step_key.take(step, turn);
      wait_barrier(of_owners, quarter);  // all have taken it
      if (step + 1 < batch.n) step_key.fetch(step + 1);
    };
    step_key.fetch(0);
    take_key(0, step_key.turn(a));
    for (std::uint32_t i = 0; i < batch.n; ++i) {
      if (i == gadget.end) gadget = key.ranges[++range];
      const std::uint32_t digits = digits_of<words>(gadget), parity = i % 2;
      const std::uint32_t next_a = i + 1 < batch.n ? __ldg(lwe + i + 1) : 0;
      wait_barrier(of_owners, quarter);  // the accumulator is complete
      rotate_fft_split_detail::split_digits<Forward, words>(
          acc, gadget, a, key.Q, thread, factors, values,
          [](std::uint32_t turn) { pass_barrier(of_digits + turn, quarter + 32); });
      const Complex turn = step_key.turn(next_a);
      wait_for_all();  // all spectra are there

      Complex sum[2] = {};
#pragma unroll
      for (int digit = 0; digit < step_key.D; ++digit)
        if (digit < static_cast<int>(digits)) {
          const Complex x = load_root(values + digit * plane + at_frequency);
#pragma unroll
          for (int s = 0; s < 2; ++s)
            rotate_fft_detail::multiply_add(sum[s], x, step_key.by[digit][s]);
        }
      const int at = Back::template place<last_back>(thread);
      const Complex kept = component == 0 ? sum[0] : sum[1],
                    given = component == 0 ? sum[1] : sum[0];
      send(address_in(rank ^ 1, shared_address(received + parity * Back::plane + at)),
           address_in(rank ^ 1, counter(0, parity).at), given.re, given.im);
      own_sums[at] = {kept.re, kept.im};
      wait_for_all();  // this block's sums are there

      if (i + 1 < batch.n) take_key(i + 1, turn);
      counter(1, parity).wait(i / 2 & 1);
      if (thread == 0) counter(1, parity).expect(quarter_bytes);
      wait_for_all();  // this block's quarter is there, too
      const double2* const from = quarters + parity * 4 * quarter + thread;
      const Complex u[4] = {load_root(from), load_root(from + 2 * quarter),
                            load_root(from + quarter), load_root(from + 3 * quarter)};
      rotate_fft_split_detail::add_quarters<Forward, words>(u, thread, key.large, acc);
      a = next_a;
    }
  } else {
    const int other = thread - quarter;
    const std::uint32_t warp = other / 32, warps = (blockDim.x - quarter) / 32;
    Complex back[Back::E];  // zeta^(-e·j)
#pragma unroll
    for (int k = 0; k < Back::E; ++k) {
      const Complex w = root(of_quarter * (other % Back::threads + Back::threads * k));
      back[k] = {w.re, -w.im};
    }
    for (std::uint32_t i = 0; i < batch.n; ++i) {
      if (i == gadget.end) gadget = key.ranges[++range];
      const std::uint32_t digits = digits_of<words>(gadget), parity = i % 2;
      const double scale = __ldg(key.inverse_scale + i);
      for (std::uint32_t turn = warp; turn < Block::turns(digits); turn += warps) {
        constexpr int E = Forward::E, G = Forward::threads, F = Forward::F;
        const int t = other % G, base = t / F * F * E + t % F;
        double2* const of_digit = values + (turn * Block::together + other % 32 / G) * plane;
        double* const exchanged = reinterpret_cast<double*>(
            exchanges + (turn * Block::together + other % 32 / G) * plane);
        wait_barrier(of_digits + turn, quarter + 32);
        Complex z[E];
#pragma unroll
        for (int k = 0; k < E; ++k) z[k] = load_root(of_digit + t + G * k);
        forward_passes<Forward, Exchange::together>(z, t, forward_tables, exchanged,
                                                    [] { __syncwarp(); });
#pragma unroll
        for (int k = 0; k < E; ++k) of_digit[spectrum_place(base + F * k)] = {z[k].re, z[k].im};
        __syncwarp();
#pragma unroll
        for (int node = t; node < quarter / F; node += G) {  // the last levels
          Complex w[2], x[F];
          load_rest<Forward>(forward_tables, node, w);
#pragma unroll
          for (int f = 0; f < F; ++f) x[f] = load_root(of_digit + spectrum_place(node * F + f));
          forward_rest<Forward>(x, w);
#pragma unroll
          for (int f = 0; f < F; ++f) of_digit[spectrum_place(node * F + f)] = {x[f].re, x[f].im};
        }
      }
      wait_for_all();
      wait_for_all();

      if (other < Back::threads) {
        constexpr int E = Back::E, G = Back::threads, F = Back::F;
        const int t = other, base = Back::template place<last_back>(t / F * F * E);
        Complex z[E];
        counter(0, parity).wait(i / 2 & 1);
        if (t == 0) counter(0, parity).expect(sum_bytes);
        const double2* const others = received + parity * Back::plane;
        const auto sum_at = [&](int at) {
          const double2 x = own_sums[at], y = others[at];
          return Complex{x.x + y.x, x.y + y.y};
        };
#pragma unroll
        for (int k = 0; k < E; ++k) {
          z[k] = sum_at(base + F * k);
          if constexpr (F == 2) {  // inverse_rest of a node's two values
            const Complex second = sum_at(base + F * k + 1);
            z[k] = t % 2 == 0 ? Complex{z[k].re + second.re, z[k].im + second.im}
                              : Complex{z[k].re - second.re, z[k].im - second.im};
          }
        }
        inverse_passes<Back>(z, t, inverse_tables, exchange, [] {
          if constexpr (G == 32)
            __syncwarp();
          else
            wait_barrier(of_back, G);
        });
#pragma unroll
        for (int k = 0; k < E; ++k) {
          const Complex y =
              rotate_fft_detail::product(z[k], {back[k].re * scale, back[k].im * scale});
          double2* const at = quarters + (parity * 4 + own) * quarter + t + G * k;
          *at = {y.re, y.im};
#pragma unroll
          for (unsigned carrier = 1; carrier < 4; ++carrier) {
            const unsigned to = rank ^ 2 * carrier;
            send(address_in(to, shared_address(at)), address_in(to, counter(1, parity).at), y.re,
                 y.im);
          }
        }
      }
      wait_for_all();
    }
  }
  __syncthreads();
  cluster_barrier();  // nobody sends to a block that has ended
  if (own == 0 && owns)
    acc.template write<quarter>(batch, ciphertext, static_cast<int>(component), thread,
                                static_cast<Word>(key.Q));
}

}  // namespace whorl::backend::cuda
