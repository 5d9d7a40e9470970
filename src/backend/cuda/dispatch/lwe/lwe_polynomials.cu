// LWE ciphertexts on their way into polynomials: how they are cut into launches.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/lwe/lwe.h"
#include "backend/cuda/kernels/lwe_polynomials.cuh"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

unsigned blocks_of(const char* what, std::size_t items, std::size_t a_block) {
  const std::size_t blocks = (items + a_block - 1) / a_block;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw ShapeError(std::string(what) + ": " + std::to_string(items) +
                     " are more than one launch makes");
  return static_cast<unsigned>(blocks);
}

}  // namespace

template <class In, class Out>
void lwe_to_polynomials(const Stream& stream, const LwePolynomials& rule, std::size_t first,
                        std::size_t columns, std::size_t vectors, std::size_t batch, const In* in,
                        Out* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::uint64_t down = rule.q / rule.to;
  PolynomialArguments<In, Out> a = {};
  a.row = rule.row;
  a.vectors = vectors;
  a.all = 2 * batch * rule.length;
  a.log_length = static_cast<std::uint32_t>(std::countr_zero(rule.length));
  a.log_gap = static_cast<std::uint32_t>(std::countr_zero(rule.N)) - a.log_length - 1;
  a.shift = static_cast<std::uint32_t>(std::countr_zero(down));
  a.half_step = static_cast<In>(down / 2);
  a.mask = static_cast<In>(rule.to - 1);
  a.half = static_cast<In>(rule.to / 2);
  a.constant = static_cast<In>(rule.constant);
  a.weights = static_cast<std::uint32_t>(rule.weights.size());
  a.primes = static_cast<std::uint32_t>(rule.primes.size());
  for (unsigned m = 0; m < a.weights; ++m) a.weight[m] = static_cast<In>(rule.weights[m]);
  for (unsigned l = 0; l < a.primes; ++l)
    a.negative[l] = static_cast<Out>(rule.primes[l] - rule.to);
  constexpr std::size_t width = tuning::polynomial_columns, most = width * 65535;  // of a grid
  const unsigned tiles =
      blocks_of("lwe_to_polynomials: coefficients", a.all, tuning::polynomial_coefficients);
  for (std::size_t done = 0; done < columns; done += most) {
    const std::size_t some = std::min(most, columns - done), next = first + done;
    a.rows = in + next;
    a.out = out + done * rule.primes.size() * batch * rule.N;
    a.columns = static_cast<std::uint32_t>(some);
    a.last = next + some == rule.row ? a.columns - 1 : ~0u;
    launch_chained(
        stream, "write_polynomials", write_polynomials<In, Out>,
        {dim3(tiles, static_cast<unsigned>((some + width - 1) / width)), polynomial_threads}, a);
  }
}

template <class Word>
void lwe_expand(const Stream& stream, const LweExpansion& rule, std::size_t count,
                const std::uint32_t* numbers, const Word* bodies, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  constexpr unsigned bits = 8 * sizeof(Word), words = 64 / sizeof(Word);
  ExpansionArguments<Word> a = {};
  static_assert(std::endian::native == std::endian::little && sizeof(a.key) == sizeof(rule.seed));
  std::memcpy(a.key, rule.seed.data(), sizeof(a.key));
  a.top = static_cast<Word>(rule.q - 1);
  a.mask = static_cast<Word>(~Word{0} >> (bits - std::bit_width(a.top)));
  a.blocks =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (rule.row - 1 + words - 1) / words));
  a.first = rule.first;
  a.row = rule.row;
  a.count = count;
  a.numbers = numbers;
  a.bodies = bodies;
  a.out = out;
  constexpr unsigned threads = tuning::keystream_blocks;
  if constexpr (sizeof(Word) == 4)
    if (a.top == a.mask)
      return launch_chained(
          stream, "expand_rows", expand_rows,
          {blocks_of("lwe_expand: blocks of keystreams", count * a.blocks, threads), threads}, a);
  launch_chained(stream, "expand_residues", expand_residues<Word>,
                 {blocks_of("lwe_expand: rows", count, 1), threads}, a);
}
template void lwe_expand(const Stream&, const LweExpansion&, std::size_t, const std::uint32_t*,
                         const std::uint32_t*, std::uint32_t*);
template void lwe_expand(const Stream&, const LweExpansion&, std::size_t, const std::uint32_t*,
                         const std::uint64_t*, std::uint64_t*);

#define WHORL_INSTANTIATE(In, Out)                                                                 \
  template void lwe_to_polynomials(const Stream&, const LwePolynomials&, std::size_t, std::size_t, \
                                   std::size_t, std::size_t, const In*, Out*);
WHORL_INSTANTIATE(std::uint32_t, std::uint32_t)
WHORL_INSTANTIATE(std::uint32_t, std::uint64_t)
WHORL_INSTANTIATE(std::uint64_t, std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t, std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
