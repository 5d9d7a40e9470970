#include "backend/cuda/dispatch/rns.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/elementwise.h"
#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/kernels/convert_int8.cuh"
#include "backend/cuda/kernels/ntt_ends.cuh"
#include "backend/cuda/kernels/rns.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/tuning/rns.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

/// Limbs of a digit, or special primes, whose conversion keeps them in registers.
template <class Word>
inline constexpr unsigned most_in_registers = sizeof(Word) == 4 ? 16 : 8;

/// The tables of conversions on the host, absent ones and absent limbs being zeros.
template <class Word>
class ConversionPacker {
 public:
  ConversionPacker(std::size_t count, unsigned size, std::size_t targets)
      : size_(size),
        targets_(targets),
        stride_(factor_stride<Word>(size)),
        sources_(count * size),
        factors_(count * targets * stride_) {
    if (sizeof(Word) == 4 && size >= tuning::least_small_byte_limbs && size <= int8_limbs)
      byte_factors_.resize(count * targets * int8_stride(int8_slots(size)));
  }
  void set(std::size_t number, const ring::BaseConversion<Word>& conversion) {
    const std::size_t limbs = conversion.from().size();
    largest_ = std::max(largest_, conversion.largest());
    for (std::size_t l = 0; l < limbs; ++l)
      sources_[number * size_ + l] = {conversion.from()[l].value(), conversion.inverse()[l],
                                      conversion.inverse_shoup()[l], conversion.ratio()[l]};
    for (std::size_t k = 0; k < conversion.to().size(); ++k) {
      Word* const row = factors_.data() + (number * targets_ + k) * stride_;
      const std::span<const Word> from = conversion.factors(k);
      std::copy_n(from.data(), limbs, row);
      row[size_] = from[limbs];
      row[size_ + 1] = conversion.to()[k].value();
      row[size_ + 2] = math::Montgomery<Word>(conversion.to()[k]).inverse();
      set_bytes(number * targets_ + k, conversion.to()[k], {row, size_ + 1});
    }
  }
  Conversions<Word> upload(const Stream& stream) const {
    return {size_,
            static_cast<unsigned>(targets_),
            largest_,
            stream.upload(sources_.data(), sources_.size()),
            stream.upload(factors_.data(), factors_.size()),
            stream.upload(byte_factors_.data(), byte_factors_.size())};
  }

 private:
  void set_bytes([[maybe_unused]] std::size_t row, const math::Modulus<Word>& p,
                 [[maybe_unused]] std::span<const Word> factors) {
    if (p.value() < int8_least_modulus) byte_factors_.clear();
    if constexpr (sizeof(Word) == 4)
      if (!byte_factors_.empty())
        set_int8_row(factors, p, byte_factors_.data() + row * int8_stride(int8_slots(size_)));
  }

  unsigned size_;
  std::size_t targets_, stride_;
  Word largest_ = 0;
  std::vector<RnsSource<Word>> sources_;
  std::vector<Word> factors_, byte_factors_;  ///< no bytes where a modulus is too small
};

template <class Word>
Twiddle<Word> factor_of(const math::Modulus<Word>& q, Word w) {
  return {w, q.shoup(w)};
}

unsigned pieces(std::size_t row, std::size_t width) {
  return static_cast<unsigned>((row + rns_threads * width - 1) / (rns_threads * width));
}

/// Calls f.template operator()<size>() for size = `wanted` in 1 … most.
template <unsigned most, unsigned size = 1, class F>
void for_limbs(unsigned wanted, const F& f) {
  if constexpr (size < most)
    if (wanted != size) return for_limbs<most, size + 1>(wanted, f);
  f.template operator()<size>();
}

/// By INT8 tensor cores; no group has more than `most_targets` to convert to.
template <unsigned slots, unsigned columns>
void convert_bytes(const Stream& stream, std::size_t groups, std::size_t most_targets,
                   ConvertArguments<std::uint32_t> a) {
  constexpr std::size_t resident = int8_resident(columns), stride = int8_stride(slots);
  constexpr std::size_t in_block = int8_threads / 32 * 16 * columns;
  const std::size_t pieces = (a.row + in_block - 1) / in_block;
  const std::size_t capacity = resident * stream.gpu().multiprocessors;
  // Targets are divided, by eights, where there are too few blocks otherwise.
  const std::size_t eights = (most_targets + 7) / 8;
  const std::size_t divided = std::clamp<std::size_t>(capacity / (groups * pieces), 1, eights);
  const std::size_t target_bytes = stride * sizeof(std::uint32_t) + sizeof(uint2);
  const std::size_t at_once = std::min((eights + divided - 1) / divided * 8,
                                       (std::size_t{47} << 10) / target_bytes / 8 * 8);
  a.targets_a_block = static_cast<std::uint32_t>(at_once);
  a.target_blocks = static_cast<std::uint32_t>((most_targets + at_once - 1) / at_once);
  // As many blocks as run at once, each with as many pieces as the others.
  const std::size_t rows = groups * a.target_blocks;
  const std::size_t rounds = (pieces * rows + capacity - 1) / capacity;
  const dim3 grid(static_cast<unsigned>((pieces + rounds - 1) / rounds),
                  static_cast<unsigned>(rows));
  const std::size_t shared = at_once * target_bytes + 4 * slots * sizeof(RnsSource<std::uint32_t>);
  launch_chained(stream, "convert_rows_int8", convert_rows_int8<slots, columns>,
                 {grid, int8_threads, shared}, a);
}
template <unsigned columns>
void convert_bytes(const Stream& stream, std::size_t groups, std::size_t most_targets,
                   const ConvertArguments<std::uint32_t>& a) {
  switch (int8_slots(a.size)) {
    case 2:
      return convert_bytes<2, columns>(stream, groups, most_targets, a);
    case 3:
      return convert_bytes<3, columns>(stream, groups, most_targets, a);
    case 4:
      return convert_bytes<4, columns>(stream, groups, most_targets, a);
    default:
      return convert_bytes<5, columns>(stream, groups, most_targets, a);
  }
}

template <class Word>
Products products_for(const Conversions<Word>& conversions, std::size_t row, bool digits,
                      Products wanted) {
  if (conversions.byte_factors.size() == 0) return Products::words;
  if (wanted != Products::automatic) return wanted;
  const unsigned least =
      row <= tuning::small_row ? tuning::least_small_byte_limbs : tuning::least_byte_limbs;
  if (conversions.size < least) return Products::words;
  return row >= (digits ? tuning::least_wide_digit_row : tuning::least_wide_part_row)
             ? Products::bytes_by_more
             : Products::bytes;
}

/// `groups` conversions of rows of a.row words, by tables of the conversions from number `table`
/// on; a's tables, and members for blocks, are set here.
template <class Word>
void convert(const Stream& stream, const Conversions<Word>& conversions, std::size_t table,
             std::size_t groups, ConvertArguments<Word> a, Products wanted = Products::automatic) {
  a.size = conversions.size;
  a.tables = conversions.targets;
  a.sources = conversions.sources.data() + table * conversions.size;
  const Products products = products_for(conversions, a.row, a.digit_limbs != 0, wanted);
  if constexpr (sizeof(Word) == 4)
    if (products != Products::words) {
      a.factors = conversions.byte_factors.data() +
                  table * conversions.targets * int8_stride(int8_slots(a.size));
      // The last digit has the fewest limbs of its own.
      const std::size_t least_own =
          a.digit_limbs == 0 ? 0 : a.rows.chain - (groups - 1) * a.digit_limbs;
      return products == Products::bytes
                 ? convert_bytes<2>(stream, groups, a.targets - least_own, a)
                 : convert_bytes<4>(stream, groups, a.targets - least_own, a);
    }
  a.factors = conversions.factors.data() +
              table * conversions.targets * factor_stride<Word>(conversions.size);
  const bool in_registers = a.size <= most_in_registers<Word>;
  const unsigned in_row = pieces(a.row, in_registers ? rns_width<Word> : 1);
  const std::size_t target_bytes = factor_stride<Word>(a.size) * sizeof(Word);
  // Each block of targets makes its digits anew: as few as give each multiprocessor some blocks.
  const std::size_t blocks = groups * in_row;
  const std::size_t enough = 8 * stream.gpu().multiprocessors;
  a.target_blocks = static_cast<std::uint32_t>(
      std::clamp<std::size_t>((enough + blocks - 1) / blocks, 1, a.targets));
  a.targets_a_block = (a.targets + a.target_blocks - 1) / a.target_blocks;
  if (in_registers)
    a.targets_a_block =
        std::min(a.targets_a_block, static_cast<std::uint32_t>((47u << 10) / target_bytes));
  a.target_blocks = (a.targets + a.targets_a_block - 1) / a.targets_a_block;
  const dim3 grid(in_row, static_cast<unsigned>(groups * a.target_blocks)), block(rns_threads);
  if (!in_registers) {
    const std::size_t shared = a.size * rns_threads * sizeof(Word);
    if (shared > stream.gpu().shared_per_block)
      throw ParameterError(
          "base conversion from " + std::to_string(a.size) +
          " primes; this GPU's shared memory holds " +
          std::to_string(stream.gpu().shared_per_block / (rns_threads * sizeof(Word))));
    return launch_chained(stream, "convert_many_rows", convert_many_rows<Word>,
                          {grid, block, shared}, a);
  }
  const std::size_t shared = a.size * sizeof(RnsSource<Word>) + a.targets_a_block * target_bytes;
  for_limbs<most_in_registers<Word>>(a.size, [&]<unsigned size>() {
    if constexpr (sizeof(Word) == 4)
      if (conversions.largest <= (1u << 30))
        return launch_chained(stream, "convert_rows", convert_rows<Word, size, 4>,
                              {grid, block, shared}, a);
    launch_chained(stream, "convert_rows", convert_rows<Word, size, ProductSum<Word>::safe_terms>,
                   {grid, block, shared}, a);
  });
}

/// `table` of the conversions, of all its limbs to the first `kept` targets, for each part.
template <class Word>
void convert_parts(const Stream& stream, const Conversions<Word>& conversions, std::size_t table,
                   unsigned kept, std::size_t parts, std::size_t row, const Word* in, Word* out,
                   Products products = Products::automatic) {
  ConvertArguments<Word> a = {};
  a.in = in;
  a.out = out;
  a.row = row;
  a.in_stride = conversions.size;
  a.targets = kept;
  a.rows = {kept, 0};
  convert(stream, conversions, table, parts, a, products);
}

/// Whether the transforms that follow a conversion make it themselves. From more limbs than one it
/// is slower there (docs/perf-log.md, section 21): few threads do it.
template <class Word>
bool in_transforms(const Stream& stream, const Conversions<Word>& conversions, std::uint32_t N,
                   std::size_t transforms) {
  return conversions.size == 1 && may_convert<Word>(stream, N, transforms);
}
/// For them, of conversions from number `table` on.
template <class Word>
NttConversion<Word> conversion_of(const Conversions<Word>& conversions, std::size_t table,
                                  RnsRows rows, const Word* own) {
  return {conversions.sources.data() + table,
          conversions.factors.data() + table * conversions.targets * factor_stride<Word>(1), own,
          conversions.targets, rows};
}

/// What mod_down and rescale share: rows `kept` … of each part, limbs `dropped` …, are what `table`
/// of the conversions converts from; `factors`: of the kept limbs.
template <class Word>
void divide(const Stream& stream, const CudaRnsTables<Word>& tables,
            const Conversions<Word>& conversions, std::size_t table, unsigned kept,
            unsigned dropped, std::size_t parts, std::size_t batch, const Twiddle<Word>* factors,
            const Word* in, std::span<const Word> added, std::uint32_t g, Word* out) {
  const std::size_t many = conversions.size, rows = kept + many, row = batch * tables.plan().N();
  const auto coefficients = stream.allocate<Word>(parts * many * row);
  ntt_rows<Word>(stream, tables.ntt, false, {.parts = parts, .rows = many, .first_limb = dropped},
                 batch, {in, rows, kept}, {coefficients.data(), many, 0});
  const NttDivision<Word> division = {in,
                                      added.data(),
                                      static_cast<std::uint32_t>(rows),
                                      static_cast<std::uint32_t>(kept),
                                      static_cast<std::uint32_t>(added.size() / (kept * row)),
                                      g,
                                      factors};
  const NttSelection selection = {.parts = parts, .rows = kept};
  if (in_transforms(stream, conversions, tables.plan().N(), parts * kept * batch)) {
    const NttConversion<Word> conversion =
        conversion_of<Word>(conversions, table, {kept, 0}, nullptr);
    return ntt_rows_with<Word>(stream, tables.ntt, selection, batch, {coefficients.data(), many, 0},
                               {out, kept, 0}, &conversion, &division);
  }
  const auto delta = stream.allocate<Word>(parts * kept * row);
  convert_parts(stream, conversions, table, kept, parts, row, coefficients.data(), delta.data());
  ntt_rows_with<Word>(stream, tables.ntt, selection, batch, {delta.data(), kept, 0}, {out, kept, 0},
                      nullptr, &division);
}

}  // namespace

template <class Word>
CudaRnsTables<Word>::CudaRnsTables(const Stream& stream, const TransformTables& transforms,
                                   std::shared_ptr<const ring::RnsPlan<Word>> shared,
                                   std::uint64_t plain_modulus)
    : RnsTables<Word>(std::move(shared), plain_modulus), ordinal(stream.gpu().ordinal) {
  const CurrentGpu current(ordinal);
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::span<const math::Modulus<Word>> all = plan.moduli();
  const unsigned L = plan.limbs(), K = plan.special(), alpha = plan.digit_limbs();
  ntt = ntt_limbs<Word>(stream, transforms, plan.ntts_of(L, true));
  std::vector<RnsModulus<Word>> constants;
  for (const math::Modulus<Word>& q : all) {
    const math::Montgomery<Word> m(q);
    constants.push_back({q.value(), m.inverse(), m.r_squared(), 0});
  }
  moduli = stream.upload(constants.data(), constants.size());

  std::vector<Twiddle<Word>> factors;
  if (K > 0) {
    ConversionPacker<Word> packer(std::size_t{plan.digits()} * alpha, alpha, all.size());
    for (unsigned first = 0; first < L; first += alpha)
      for (unsigned size = 1; size <= std::min(alpha, L - first); ++size)
        packer.set(first + size - 1, ring::BaseConversion<Word>(all.subspan(first, size), all));
    up = packer.upload(stream);
    ConversionPacker<Word> one(1, K, L);
    one.set(0, ring::BaseConversion<Word>(all.subspan(L), all.first(L), plain_modulus));
    down = one.upload(stream);
    for (unsigned l = 0; l < L; ++l) factors.push_back(factor_of(all[l], plan.inverse_P(l)));
    inverse_P = stream.upload(factors.data(), factors.size());
  }
  ConversionPacker<Word> packer(L, 1, L);
  factors.assign(std::size_t{L} * L, {});
  for (unsigned k = 1; k < L; ++k) {
    packer.set(k, ring::BaseConversion<Word>(all.subspan(k, 1), all.first(k), plain_modulus));
    for (unsigned l = 0; l < k; ++l)
      factors[k * L + l] = factor_of(all[l], all[l].inverse(all[l].reduce(all[k].value())));
  }
  last = packer.upload(stream);
  inverse_last = stream.upload(factors.data(), factors.size());
  stream.wait();  // other streams may use them
}

template <class Word>
CudaRnsSwitchKey<Word>::CudaRnsSwitchKey(const Stream& stream, const CudaRnsTables<Word>& tables,
                                         const RnsRowSource<Word>& rows, const Workers& workers)
    : RnsSwitchKey<Word>(tables.shared_plan()), ordinal(stream.gpu().ordinal) {
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::vector<math::Modulus<Word>>& q = plan.moduli();
  const std::size_t half = q.size() * plan.N(), digits = plan.digits();
  values = stream.allocate<Word>(digits * 2 * half);
  std::vector<Word> to_montgomery;
  for (const auto& modulus : q) to_montgomery.push_back(math::Montgomery<Word>(modulus).r());
  // Some digits at a time, which bounds the host's memory.
  constexpr std::size_t bytes_at_once = std::size_t{256} << 20;
  const std::size_t at_once =
      std::clamp<std::size_t>(bytes_at_once / (2 * half * sizeof(Word)), 1, digits);
  std::vector<Word> host(at_once * 2 * half);
  for (std::size_t first = 0; first < digits; first += at_once) {
    const std::size_t count = std::min(at_once, digits - first);
    parallel_for(count, workers, [&](std::size_t i) {
      Word* const a = host.data() + i * 2 * half;
      rows(static_cast<unsigned>(first + i), {a, half}, {a + half, half});
    });
    Word* const to = values.data() + first * 2 * half;
    stream.copy_in(host.data(), to, count * 2 * half * sizeof(Word));
    for (std::size_t i = 0; i < 2 * count; ++i)
      multiply_scalar<Word>(stream, q, to_montgomery, half, to + i * half, to + i * half);
  }
  stream.wait();  // other streams may use it
}

template <class Word>
void rns_transform(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                   bool with_special, bool forward, std::size_t parts, std::size_t batch,
                   Word* data) {
  const std::size_t rows = limbs + (with_special ? tables.plan().special() : 0);
  ntt_rows<Word>(
      stream, tables.ntt, forward,
      {.parts = parts, .rows = rows, .chain = limbs, .special_limb = tables.plan().limbs()}, batch,
      {data, rows, 0}, {data, rows, 0});
}

template <class Word>
void base_convert(const Stream& stream, const ring::BaseConversion<Word>& conversion,
                  std::uint32_t N, std::size_t batch, const Word* in, Word* out) {
  const auto targets = static_cast<unsigned>(conversion.to().size());
  if (batch == 0 || targets == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  ConversionPacker<Word> packer(1, static_cast<unsigned>(conversion.from().size()), targets);
  packer.set(0, conversion);
  const Conversions<Word> tables = packer.upload(stream);
  ConvertArguments<Word> a = {};
  a.in = in;
  a.out = out;
  a.row = batch * N;
  a.targets = targets;
  a.rows = {targets, 0};
  convert(stream, tables, 0, 1, a);
}

template <class Word>
void convert_up(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                std::size_t batch, const Word* in, const Word* own, Word* out, Products products) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  ConvertArguments<Word> a = {};
  a.in = in;
  a.out = out;
  a.own = own;
  a.row = batch * plan.N();
  a.in_stride = plan.digit_limbs();
  a.targets = limbs + plan.special();
  a.digit_limbs = plan.digit_limbs();
  a.rows = {limbs, plan.limbs()};
  convert(stream, tables.up, 0, plan.digits(limbs), a, products);
}

template <class Word>
void convert_down(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                  std::size_t parts, std::size_t batch, const Word* in, Word* out,
                  Products products) {
  const CurrentGpu current(stream.gpu().ordinal);
  convert_parts(stream, tables.down, 0, limbs, parts, batch * tables.plan().N(), in, out, products);
}

template <class Word>
void mod_up(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
            std::size_t batch, const Word* in, Word* out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t row = batch * plan.N(), rows = limbs + plan.special();
  const unsigned digits = plan.digits(limbs), alpha = plan.digit_limbs();
  const auto coefficients = stream.allocate<Word>(limbs * row);
  ntt_rows<Word>(stream, tables.ntt, false, {.rows = limbs}, batch, {in, limbs, 0},
                 {coefficients.data(), limbs, 0});
  const NttSelection selection = {.parts = digits,
                                  .rows = rows,
                                  .chain = limbs,
                                  .special_limb = plan.limbs(),
                                  .digit_limbs = alpha};
  if (in_transforms(stream, tables.up, plan.N(), digits * rows * batch)) {
    const NttConversion<Word> conversion =
        conversion_of<Word>(tables.up, 0, {limbs, plan.limbs()}, in);
    return ntt_rows_with<Word>(stream, tables.ntt, selection, batch,
                               {coefficients.data(), alpha, 0}, {out, rows, 0}, &conversion,
                               nullptr);
  }
  convert_up(stream, tables, limbs, batch, coefficients.data(), in, out);
  ntt_rows<Word>(stream, tables.ntt, true, selection, batch, {out, rows, 0}, {out, rows, 0});
}

namespace {

template <class Word, bool permuted>
void launch_inner_product(const Stream& stream, InnerArguments<Word> a) {
  // A key's values are read for four ciphertexts, or as many as there are.
  const unsigned group = a.batch >= 3 ? 4 : a.batch;
  a.batch_groups = (a.batch + group - 1) / group;
  const dim3 grid(pieces(std::size_t{1} << a.log_N, rns_width<Word>) * a.batch_groups, a.row_count);
  const auto kernel = group == 4   ? sum_digit_products<Word, 4, permuted>
                      : group == 2 ? sum_digit_products<Word, 2, permuted>
                                   : sum_digit_products<Word, 1, permuted>;
  launch_chained(stream, "sum_digit_products", kernel, {grid, rns_threads}, a);
}

}  // namespace

template <class Word>
void inner_product(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const CudaRnsSwitchKey<Word>& key, unsigned limbs, std::uint32_t g,
                   std::size_t batch, const Word* digits, Word* out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  InnerArguments<Word> a = {};
  a.digits = digits;
  a.key = key.values.data();
  a.out = out;
  a.moduli = tables.moduli.data();
  a.count = plan.digits(limbs);
  a.row_count = limbs + plan.special();
  a.key_limbs = plan.limbs() + plan.special();
  a.log_N = static_cast<std::uint32_t>(std::bit_width(plan.N()) - 1);
  a.batch = static_cast<std::uint32_t>(batch);
  a.g = g;
  a.rows = {limbs, plan.limbs()};
  g == 1 ? launch_inner_product<Word, false>(stream, a)
         : launch_inner_product<Word, true>(stream, a);
}

template <class Word>
void mod_down(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
              std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
              std::uint32_t g, Word* out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  divide(stream, tables, tables.down, 0, limbs, tables.plan().limbs(), parts, batch,
         tables.inverse_P.data(), in, added, g, out);
}

template <class Word>
void rescale(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
             std::size_t parts, std::size_t batch, const Word* in, Word* out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const unsigned dropped = limbs - 1;
  divide(stream, tables, tables.last, dropped, dropped, dropped, parts, batch,
         tables.inverse_last.data() + std::size_t{dropped} * tables.plan().limbs(), in, {}, 1, out);
}

template <class Word>
void tensor(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
            std::size_t a_parts, std::size_t b_parts, std::size_t batch, bool one_b, const Word* a,
            const Word* b, Word* out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const std::size_t N = tables.plan().N(), row = batch * N, b_row = one_b ? N : row;
  const TensorArguments<Word> t = {a,
                                   b,
                                   out,
                                   row,
                                   limbs * row,
                                   b_row,
                                   limbs * b_row,
                                   one_b ? N - 1 : ~std::size_t{0},
                                   static_cast<std::uint32_t>(a_parts),
                                   static_cast<std::uint32_t>(b_parts),
                                   tables.moduli.data()};
  const dim3 grid(pieces(row, rns_width<Word>), limbs);
  const auto kernel = a_parts == 2 && b_parts == 2 ? multiply_pairs<Word> : multiply_parts<Word>;
  launch_chained(stream, "multiply_parts", kernel, {grid, rns_threads}, t);
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template class CudaRnsTables<Word>;                                                              \
  template class CudaRnsSwitchKey<Word>;                                                           \
  template void rns_transform(const Stream&, const CudaRnsTables<Word>&, unsigned, bool, bool,     \
                              std::size_t, std::size_t, Word*);                                    \
  template void base_convert(const Stream&, const ring::BaseConversion<Word>&, std::uint32_t,      \
                             std::size_t, const Word*, Word*);                                     \
  template void convert_up(const Stream&, const CudaRnsTables<Word>&, unsigned, std::size_t,       \
                           const Word*, const Word*, Word*, Products);                             \
  template void convert_down(const Stream&, const CudaRnsTables<Word>&, unsigned, std::size_t,     \
                             std::size_t, const Word*, Word*, Products);                           \
  template void mod_up(const Stream&, const CudaRnsTables<Word>&, unsigned, std::size_t,           \
                       const Word*, Word*);                                                        \
  template void inner_product(const Stream&, const CudaRnsTables<Word>&,                           \
                              const CudaRnsSwitchKey<Word>&, unsigned, std::uint32_t, std::size_t, \
                              const Word*, Word*);                                                 \
  template void mod_down(const Stream&, const CudaRnsTables<Word>&, unsigned, std::size_t,         \
                         std::size_t, const Word*, std::span<const Word>, std::uint32_t, Word*);   \
  template void rescale(const Stream&, const CudaRnsTables<Word>&, unsigned, std::size_t,          \
                        std::size_t, const Word*, Word*);                                          \
  template void tensor(const Stream&, const CudaRnsTables<Word>&, unsigned, std::size_t,           \
                       std::size_t, std::size_t, bool, const Word*, const Word*, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
