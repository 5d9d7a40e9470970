#include <algorithm>
#include <bit>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/elementwise.h"
#include "backend/cuda/kernels/copy.cuh"
#include "backend/cuda/kernels/elementwise.cuh"
#include "backend/cuda/runtime/error.h"

namespace whorl::backend::cuda {

namespace {

/// Words that a thread moves at once: 16 bytes where limbs and pointers allow it.
template <class Word>
unsigned vector_width(std::size_t per_limb, std::initializer_list<const void*> pointers) {
  constexpr unsigned width = 16 / sizeof(Word);
  const bool aligned = std::all_of(pointers.begin(), pointers.end(), [](const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
  });
  return aligned && per_limb % width == 0 ? width : 1;
}

dim3 grid_for(const Stream& stream, std::size_t vectors, std::size_t limbs) {
  // Enough blocks to fill the GPU several times over; threads go on in strides.
  const std::size_t most = std::max<std::size_t>(1, 64 * stream.gpu().multiprocessors / limbs);
  const std::size_t blocks = (vectors + elementwise_threads - 1) / elementwise_threads;
  return {static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, most)),
          static_cast<unsigned>(limbs)};
}

/// Returns the shape of a launch of copy.cuh's kernels, whose threads go on in strides.
LaunchShape copy_shape(const Stream& stream, std::size_t count) {
  const std::size_t most = 64 * stream.gpu().multiprocessors;
  return {static_cast<unsigned>(
              std::clamp<std::size_t>((count + copy_threads - 1) / copy_threads, 1, most)),
          copy_threads};
}

/// body(first limb, limbs, values per limb) for as many launches as the limbs need: one, usually.
template <class Word, class Body>
void launches(Moduli<Word> moduli, std::size_t size, const Body& body) {
  if (size == 0) return;
  for (std::size_t l = 0; l < moduli.size(); l += limbs_a_launch)
    body(l, std::min<std::size_t>(limbs_a_launch, moduli.size() - l), size / moduli.size());
}

template <Elementwise op, class Word>
void apply(const Stream& stream, const LimbModuli<Word>& moduli, std::size_t limbs,
           std::size_t per_limb, const Word* a, const Word* b, Word* out) {
  constexpr unsigned wide = 16 / sizeof(Word);
  const bool vectors = vector_width<Word>(per_limb, {a, b, out}) == wide;
  const std::size_t count = vectors ? per_limb / wide : per_limb;
  const dim3 grid = grid_for(stream, count, limbs);
  const auto kernel = vectors ? apply_elementwise<op, Word, wide> : apply_elementwise<op, Word, 1>;
  launch_chained(stream, "apply_elementwise", kernel, {grid, elementwise_threads}, moduli, count, a,
                 b, out);
}

}  // namespace

template <class Word>
void elementwise(const Stream& stream, Elementwise op, Moduli<Word> moduli, std::size_t size,
                 const Word* a, const Word* b, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  if (op == Elementwise::neg) b = a;
  launches<Word>(moduli, size, [&](std::size_t first, std::size_t limbs, std::size_t per_limb) {
    LimbModuli<Word> constants{};
    for (std::size_t l = 0; l < limbs; ++l)
      constants.q[l] = DeviceModulus<Word>(moduli[first + l].value());
    const std::size_t at = first * per_limb;
    auto go = [&]<Elementwise which>() {
      apply<which, Word>(stream, constants, limbs, per_limb, a + at, b + at, out + at);
    };
    switch (op) {
      case Elementwise::add:
        return go.template operator()<Elementwise::add>();
      case Elementwise::sub:
        return go.template operator()<Elementwise::sub>();
      case Elementwise::neg:
        return go.template operator()<Elementwise::neg>();
      case Elementwise::mul:
        return go.template operator()<Elementwise::mul>();
      case Elementwise::mul_add:
        return go.template operator()<Elementwise::mul_add>();
    }
  });
}

template <class Word>
void multiply_scalar(const Stream& stream, Moduli<Word> moduli, std::span<const Word> scalars,
                     std::size_t size, const Word* a, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  launches<Word>(moduli, size, [&](std::size_t first, std::size_t limbs, std::size_t per_limb) {
    LimbFactors<Word> factors{};
    for (std::size_t l = 0; l < limbs; ++l) {
      const math::Modulus<Word>& q = moduli[first + l];
      factors.q[l] = q.value();
      factors.w[l] = q.reduce(scalars[first + l]);
      factors.w_shoup[l] = q.shoup(factors.w[l]);
    }
    const std::size_t at = first * per_limb;
    constexpr unsigned wide = 16 / sizeof(Word);
    const bool vectors = vector_width<Word>(per_limb, {a + at, out + at}) == wide;
    const std::size_t count = vectors ? per_limb / wide : per_limb;
    const dim3 grid = grid_for(stream, count, limbs);
    const auto kernel = vectors ? scale_elementwise<Word, wide> : scale_elementwise<Word, 1>;
    launch_chained(stream, "scale_elementwise", kernel, {grid, elementwise_threads}, factors, count,
                   a + at, out + at);
  });
}

template <class Word>
void automorphism(const Stream& stream, Moduli<Word> moduli, std::uint32_t N, std::uint32_t g,
                  bool evaluation_form, std::size_t size, const Word* a, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  std::uint32_t inverse = g;  // modulo 2^32: Newton, from three right bits
  for (int step = 0; step < 4; ++step) inverse *= 2 - g * inverse;
  const auto log_N = static_cast<std::uint32_t>(std::bit_width(N) - 1);
  launches<Word>(moduli, size, [&](std::size_t first, std::size_t limbs, std::size_t per_limb) {
    LimbFactors<Word> constants{};
    for (std::size_t l = 0; l < limbs; ++l) constants.q[l] = moduli[first + l].value();
    const std::size_t at = first * per_limb;
    const dim3 grid = grid_for(stream, per_limb, limbs);
    const auto kernel = evaluation_form ? permute_elementwise<Word, PolynomialForm::evaluation>
                                        : permute_elementwise<Word, PolynomialForm::coefficients>;
    launch_chained(stream, "permute_elementwise", kernel, {grid, elementwise_threads}, constants,
                   per_limb, log_N, evaluation_form ? g : inverse, a + at, out + at);
  });
}

template <class Word>
bool all_below(const Stream& stream, Moduli<Word> moduli, std::size_t size, const Word* a) {
  const CurrentGpu current(stream.gpu().ordinal);
  const auto found = stream.allocate<std::uint32_t>(1);
  stream.fill(found.data(), 0, sizeof(std::uint32_t));
  launches<Word>(moduli, size, [&](std::size_t first, std::size_t limbs, std::size_t per_limb) {
    LimbBounds<Word> bounds{};
    for (std::size_t l = 0; l < limbs; ++l) bounds.q[l] = moduli[first + l].value();
    const Word* const from = a + first * per_limb;
    constexpr unsigned wide = 16 / sizeof(Word);
    const bool vectors = vector_width<Word>(per_limb, {from}) == wide;
    const std::size_t count = vectors ? per_limb / wide : per_limb;
    const dim3 grid = grid_for(stream, count, limbs);
    const auto kernel = vectors ? find_too_large<Word, wide> : find_too_large<Word, 1>;
    launch_chained(stream, "find_too_large", kernel, {grid, elementwise_threads}, bounds, count,
                   from, found.data());
  });
  std::uint32_t any = 0;
  stream.copy_out(found.data(), &any, sizeof any);
  return any == 0;
}

template <class Word>
void fill(const Stream& stream, std::size_t count, Word value, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  launch_chained(stream, "fill_words", fill_words<Word>, copy_shape(stream, count), count, value,
                 out);
}

void copy(const Stream& stream, std::size_t bytes, const void* in, void* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const auto with = [&]<class Vector>(Vector) {
    const std::size_t count = bytes / sizeof(Vector);
    launch_chained(stream, "copy_vectors", copy_vectors<Vector>, copy_shape(stream, count), count,
                   static_cast<const Vector*>(in), static_cast<Vector*>(out));
  };
  const std::uintptr_t places =
      bytes | reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out);
  if (places % 16 == 0)
    with(uint4{});
  else if (places % 4 == 0)
    with(std::uint32_t{});
  else
    with(std::uint8_t{});
}

template <class Word>
void take(const Stream& stream, std::size_t rows, std::uint32_t N,
          std::span<const std::uint32_t> index, std::size_t in_batch, const Word* in,
          std::size_t out_batch, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  constexpr std::size_t most_rows = 65535;  // of a grid's third dimension
  const unsigned width = vector_width<Word>(N, {in, out});
  const std::uint32_t vectors = N / width;
  for (std::size_t first = 0; first < index.size(); first += polynomials_a_launch) {
    const auto some =
        index.subspan(first, std::min<std::size_t>(polynomials_a_launch, index.size() - first));
    TakenPolynomials taken{};
    std::copy(some.begin(), some.end(), taken.index);
    const dim3 grid((vectors + elementwise_threads - 1) / elementwise_threads,
                    static_cast<unsigned>(some.size()),
                    static_cast<unsigned>(std::min(rows, most_rows)));
    const auto kernel =
        width == 1 ? take_polynomials<Word, 1> : take_polynomials<Word, 16 / sizeof(Word)>;
    launch_chained(stream, "take_polynomials", kernel, {grid, elementwise_threads}, taken, rows,
                   vectors, in_batch * vectors, in, out_batch * vectors, out + first * N);
  }
}

#define WHORL_INSTANTIATE(Word)                                                                  \
  template void elementwise(const Stream&, Elementwise, Moduli<Word>, std::size_t, const Word*,  \
                            const Word*, Word*);                                                 \
  template void multiply_scalar(const Stream&, Moduli<Word>, std::span<const Word>, std::size_t, \
                                const Word*, Word*);                                             \
  template void automorphism(const Stream&, Moduli<Word>, std::uint32_t, std::uint32_t, bool,    \
                             std::size_t, const Word*, Word*);                                   \
  template bool all_below(const Stream&, Moduli<Word>, std::size_t, const Word*);                \
  template void fill(const Stream&, std::size_t, Word, Word*);                                   \
  template void take(const Stream&, std::size_t, std::uint32_t, std::span<const std::uint32_t>,  \
                     std::size_t, const Word*, std::size_t, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
