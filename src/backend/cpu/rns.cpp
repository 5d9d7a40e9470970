#include "backend/cpu/rns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/cpu/kernels.h"
#include "backend/cpu/rns_kernels.h"

namespace whorl::backend::cpu {

namespace {

template <class Word>
std::shared_ptr<Word[]> scratch(const Resources& on, std::size_t count) {
  return on.memory.take_array<Word>(count, "cpu: an intermediate result");
}

/// Calls body(begin, count) for the stretches of N coefficients.
template <class Body>
void each_stretch(std::size_t N, const Body& body) {
  for (std::size_t at = 0; at < N; at += rns_stretch) body(at, std::min(rns_stretch, N - at));
}

/// Calls body(row, begin, count) for all of `rows` rows of N coefficients, in stretches where rows
/// are too few to give all threads the same to do.
template <class Body>
void each_row(std::size_t rows, std::size_t N, const Workers& workers, const Body& body) {
  const bool whole = workers.threads == 1 || rows >= std::size_t{8} * workers.threads;
  const std::size_t size = whole ? N : std::min(rns_stretch, N), pieces = N / size;
  parallel_for(rows * pieces, workers,
               [&](std::size_t i) { body(i / pieces, i % pieces * size, size); });
}

/// The modulus of row `row` of `limbs` chain limbs followed by the special primes.
template <class Word>
unsigned limb_of(const ring::RnsPlan<Word>& plan, unsigned limbs, unsigned row) {
  return row < limbs ? row : plan.limbs() + row - limbs;
}

/// y_l of a base conversion, `l` being its source modulus, from values in evaluation form.
template <class Word>
void lift_digits(const ring::BaseConversion<Word>& conversion, std::size_t l,
                 const NttTables<Word>& ntt, const Word* in, Word* y) {
  const math::Modulus<Word>& q = conversion.from()[l];
  const Word scale = q.mul(ntt.inverse_N, conversion.inverse()[l]);
  intt_scaled(ntt, scale, q.shoup(scale), in, y);
}

/// What follows on rows y, of which there may be a stretch at most.
template <class Word>
void convert_digits(const ring::BaseConversion<Word>& conversion, std::vector<const Word*> rows,
                    std::span<const ConversionTarget<Word>> targets, std::size_t count) {
  alignas(64) std::array<Word, rns_stretch> u;
  conversion_quotients(conversion, rows.data(), count, u.data());
  rows.push_back(u.data());
  conversion_sums<Word>(conversion, targets, rows.data(), count);
}

/// Into how many ranges the targets of a conversion are split, so that a thread converts the rows
/// that it is likely to work on afterwards: what one core has written reaches another slowly.
std::size_t target_ranges(std::size_t targets, const Workers& workers) {
  return std::min<std::size_t>(std::max(1u, workers.threads),
                               std::max<std::size_t>(2, targets / 8));
}

/// How many of some transforms are better shared by the threads, since they would be left over when
/// all threads have had as many as one another. Of many it matters little.
std::size_t left_over(std::size_t transforms, std::size_t blocks, const Workers& workers) {
  const std::size_t threads = std::max(1u, workers.threads);
  return blocks > 1 && transforms < 8 * threads ? transforms % threads : 0;
}

}  // namespace

template <class Word>
CpuRnsTables<Word>::CpuRnsTables(std::shared_ptr<const ring::RnsPlan<Word>> shared_plan,
                                 std::uint64_t plain_modulus)
    : RnsTables<Word>(std::move(shared_plan), plain_modulus) {
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::span<const math::Modulus<Word>> all = plan.moduli();
  const unsigned L = plan.limbs(), K = plan.special(), alpha = plan.digit_limbs();
  const std::size_t twiddle_words = NttTables<Word>::words(plan.ntt(0));
  twiddles = {(L + K) * twiddle_words, "twiddles"};
  for (unsigned l = 0; l < L + K; ++l) {
    ntt.emplace_back(plan.ntt(l), simd_words(sizeof(Word)), twiddles.get() + l * twiddle_words);
    montgomery.emplace_back(all[l]);
  }
  if (K > 0) {
    for (unsigned first = 0; first < L; first += alpha)
      for (unsigned size = 1; size <= std::min(alpha, L - first); ++size)
        up_.emplace_back(all.subspan(first, size), all);
    down_.emplace(all.subspan(L), all.first(L), plain_modulus);
  }
  inverse_last_.resize(std::size_t{L} * L);
  for (unsigned last = 1; last < L; ++last) {
    last_.emplace_back(all.subspan(last, 1), all.first(last), plain_modulus);
    for (unsigned l = 0; l < last; ++l)
      inverse_last_[last * L + l] = all[l].inverse(all[l].reduce(all[last].value()));
  }
}

template <class Word>
CpuRnsSwitchKey<Word>::CpuRnsSwitchKey(const CpuRnsTables<Word>& tables,
                                       const RnsRowSource<Word>& rows, const Workers& workers)
    : RnsSwitchKey<Word>(tables.shared_plan()) {
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::size_t N = plan.N(), limbs = plan.limbs() + plan.special();
  words_ = plan.digits() * 2 * limbs * N;
  memory_ = {words_, "relinearisation or rotation key"};
  parallel_for(plan.digits(), workers, [&](std::size_t digit) {
    Word* const a = memory_.get() + digit * 2 * limbs * N;
    rows(static_cast<unsigned>(digit), {a, limbs * N}, {a + limbs * N, limbs * N});
    for (std::size_t l = 0; l < 2 * limbs; ++l) {
      const math::Montgomery<Word>& m = tables.montgomery[l % limbs];
      multiply_scalar(m.modulus(), a + l * N, m.r(), a + l * N, N);
    }
  });
}

template <class Word>
const Word* CpuRnsSwitchKey<Word>::row(unsigned digit, unsigned component, unsigned limb) const {
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::size_t limbs = plan.limbs() + plan.special();
  return memory_.get() + ((digit * 2 + component) * limbs + limb) * plan.N();
}

template <class Word>
std::shared_ptr<const EvaluationPermutation<Word>> CpuRnsSwitchKey<Word>::permutation(
    std::uint32_t g) const {
  {
    const std::scoped_lock lock(mutex_);
    if (permutation_ && g_ == g) return permutation_;
  }
  auto made = std::make_shared<const EvaluationPermutation<Word>>(this->plan().N(), g);
  const std::scoped_lock lock(mutex_);
  g_ = g;
  return permutation_ = std::move(made);
}

// Twiddles of a modulus are as long as some rows are: what follows goes through the rows of a
// modulus one after another.

template <class Word>
void rns_transform(const CpuRnsTables<Word>& tables, unsigned limbs, bool with_special,
                   bool is_forward, std::size_t parts, std::size_t batch, Word* data,
                   const Resources& on) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t rows = limbs + (with_special ? plan.special() : 0), N = plan.N();
  parallel_for(rows * parts * batch, on.workers_for(rows * parts * batch * N), [&](std::size_t i) {
    const std::size_t b = i % batch, part = i / batch % parts, row = i / batch / parts;
    const unsigned limb = limb_of(plan, limbs, static_cast<unsigned>(row));
    Word* const values = data + ((part * rows + row) * batch + b) * N;
    is_forward ? ntt_polynomial(tables.ntt[limb], values, values)
               : intt_polynomial(tables.ntt[limb], values, values);
  });
}

template <class Word>
void mod_up(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t batch, const Word* in,
            Word* out, const Resources& on) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t N = plan.N(), rows = limbs + plan.special();
  const unsigned alpha = plan.digit_limbs(), digits = plan.digits(limbs);
  const Workers workers = on.workers_for(digits * rows * batch * N);
  const auto size_of = [=](unsigned digit) { return std::min(alpha, limbs - digit * alpha); };
  const auto y = scratch<Word>(on, limbs * batch * N);
  const auto lift = [&](std::size_t i) {
    const auto limb = static_cast<unsigned>(i / batch), digit = limb / alpha;
    lift_digits(tables.up(digit, size_of(digit)), limb % alpha, tables.ntt[limb], in + i * N,
                y.get() + i * N);
  };
  const std::size_t stretches = (N + rns_stretch - 1) / rns_stretch,
                    ranges = target_ranges(rows, workers);
  const auto convert = [&](std::size_t i) {
    const std::size_t at = i % stretches * rns_stretch, b = i / stretches % batch,
                      range = i / stretches / batch / digits;
    const auto digit = static_cast<unsigned>(i / stretches / batch % digits);
    const unsigned first = digit * alpha, size = size_of(digit);
    const ring::BaseConversion<Word>& conversion = tables.up(digit, size);
    std::vector<const Word*> from(size);
    for (unsigned l = 0; l < size; ++l) from[l] = y.get() + ((first + l) * batch + b) * N + at;
    std::vector<ConversionTarget<Word>> targets;
    for (std::size_t row = range * rows / ranges; row < (range + 1) * rows / ranges; ++row) {
      if (row >= first && row < first + size) continue;
      const unsigned limb = limb_of(plan, limbs, static_cast<unsigned>(row));
      targets.push_back({&tables.montgomery[limb], conversion.factors(limb).data(),
                         out + ((digit * rows + row) * batch + b) * N + at});
    }
    convert_digits<Word>(conversion, std::move(from), targets, std::min(rns_stretch, N - at));
  };
  const std::size_t groups = digits * batch, items = rows * groups;
  const std::size_t blocks = ntt_block_count(tables.ntt[0]),
                    split = left_over(items - limbs * batch, blocks, workers);
  const auto tables_of = [&](std::size_t i) -> const NttTables<Word>& {
    return tables.ntt[limb_of(plan, limbs, static_cast<unsigned>(i / groups))];
  };
  const auto values_of = [&](std::size_t i) {
    const std::size_t b = i % batch, digit = i / batch % digits, row = i / groups;
    return out + ((digit * rows + row) * batch + b) * N;
  };
  const auto is_own = [&](std::size_t i) {
    return i / groups < limbs && i / groups / alpha == i / batch % digits;
  };
  const auto finish = [&](std::size_t i) {
    if (is_own(i))
      std::copy_n(in + (i / groups * batch + i % batch) * N, N, values_of(i));
    else if (i + split < items)
      ntt_polynomial(tables_of(i), values_of(i), values_of(i));
    else
      ntt_above_blocks(tables_of(i), values_of(i));
  };
  const auto finish_block = [&](std::size_t j) {
    const std::size_t i = items - split + j / blocks;
    if (!is_own(i)) ntt_block_of(tables_of(i), j % blocks, values_of(i));
  };
  // A digit of a polynomial is worked on by itself.
  const Phase phases[] = {
      {limbs * batch, lift, [&](std::size_t i) { return i / batch / alpha * batch + i % batch; }},
      {ranges * groups * stretches, convert, [&](std::size_t i) { return i / stretches % groups; }},
      {items, finish, [&](std::size_t i) { return i % groups; }},
      {split * blocks, finish_block}};
  parallel_phases(phases, workers, groups);
}

template <class Word>
void inner_product(const CpuRnsTables<Word>& tables, const CpuRnsSwitchKey<Word>& key,
                   unsigned limbs, std::uint32_t g, std::size_t batch, const Word* digits,
                   Word* out, const Resources& on) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t N = plan.N(), rows = limbs + plan.special();
  const unsigned count = plan.digits(limbs);
  const auto permutation = g == 1 ? nullptr : key.permutation(g);
  each_row(rows * batch, N, on.workers_for(2 * rows * batch * N),
           [&](std::size_t i, std::size_t at, std::size_t size) {
             const unsigned limb = limb_of(plan, limbs, static_cast<unsigned>(i / batch));
             std::vector<const Word*> x(count), b(count), a(count);
             for (unsigned d = 0; d < count; ++d) {
               x[d] = digits + (d * rows * batch + i) * N;
               b[d] = key.row(d, 1, limb);
               a[d] = key.row(d, 0, limb);
             }
             // Results are (b, a): part 0 is what the secret does not multiply.
             const KeyProducts<Word> sums{
                 x, {b.data(), a.data()}, {out + i * N, out + (rows * batch + i) * N}};
             key_products(tables.montgomery[limb], sums, permutation.get(), at, size);
           });
}

namespace {

/// out = (in - delta)/D for the product D of the dropped limbs, which are rows `first` … of `rows`,
/// limbs `dropped` … of the plan; `factor(l)` is D^-1 modulo q_l. The first parts are added to.
template <class Word, class Factor>
void divide(const CpuRnsTables<Word>& tables, const ring::BaseConversion<Word>& conversion,
            unsigned kept, std::size_t rows, unsigned dropped, std::size_t parts, std::size_t batch,
            const Factor& factor, const Word* in, std::span<const Word> added, Word* out,
            const Resources& on) {
  const std::size_t N = tables.plan().N(), many = rows - kept;
  const Workers workers = on.workers_for(parts * rows * batch * N);
  const auto y = scratch<Word>(on, parts * many * batch * N);
  const auto lift = [&](std::size_t i) {
    const std::size_t b = i % batch, part = i / batch % parts, row = i / batch / parts;
    lift_digits(conversion, row, tables.ntt[dropped + row],
                in + ((part * rows + kept + row) * batch + b) * N,
                y.get() + ((part * many + row) * batch + b) * N);
  };
  // delta's place is the result's where nothing is there to be kept.
  const bool keeps = added.data() == out;
  const auto aside = scratch<Word>(on, keeps ? added.size() : 0);
  const auto delta = [&](std::size_t part) {
    const std::size_t at = part * kept * batch * N;
    return (keeps && at < added.size() ? aside.get() : out) + at;
  };
  const std::size_t stretches = (N + rns_stretch - 1) / rns_stretch, groups = parts * batch,
                    ranges = target_ranges(kept, workers);
  const auto convert = [&](std::size_t i) {
    const std::size_t at = i % stretches * rns_stretch, count = std::min(rns_stretch, N - at);
    const std::size_t b = i / stretches % batch, part = i / stretches / batch % parts,
                      range = i / stretches / groups;
    std::vector<const Word*> from(many);
    for (std::size_t row = 0; row < many; ++row)
      from[row] = y.get() + ((part * many + row) * batch + b) * N + at;
    std::vector<ConversionTarget<Word>> targets;
    for (std::size_t l = range * kept / ranges; l < (range + 1) * kept / ranges; ++l)
      targets.push_back({&tables.montgomery[l], conversion.factors(l).data(),
                         delta(part) + (l * batch + b) * N + at});
    convert_digits<Word>(conversion, std::move(from), targets, count);
  };
  const auto finish = [&](std::size_t i) {
    const std::size_t b = i % batch, part = i / batch % parts, l = i / batch / parts;
    const std::size_t in_part = (l * batch + b) * N, at = part * kept * batch * N + in_part;
    Word* const d = delta(part) + in_part;
    ntt_polynomial(tables.ntt[l], d, d);
    subtract_scale(tables.plan().moduli()[l], in + ((part * rows + l) * batch + b) * N, d,
                   factor(static_cast<unsigned>(l)),
                   at < added.size() ? added.data() + at : nullptr, out + at, N);
  };
  // A part of a ciphertext is worked on by itself.
  const auto group = [&](std::size_t i) { return i % groups; };
  const Phase phases[] = {
      {many * groups, lift, group},
      {ranges * groups * stretches, convert, [&](std::size_t i) { return i / stretches % groups; }},
      {kept * groups, finish, group}};
  parallel_phases(phases, workers, groups);
}

}  // namespace

template <class Word>
void mod_down(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts,
              std::size_t batch, const Word* in, std::span<const Word> added, Word* out,
              const Resources& on) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  divide(
      tables, tables.down(), limbs, limbs + plan.special(), plan.limbs(), parts, batch,
      [&](unsigned l) { return plan.inverse_P(l); }, in, added, out, on);
}

template <class Word>
void rescale(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts, std::size_t batch,
             const Word* in, Word* out, const Resources& on) {
  divide(
      tables, tables.last(limbs - 1), limbs - 1, limbs, limbs - 1, parts, batch,
      [&](unsigned l) { return tables.inverse_last(limbs - 1, l); }, in, {}, out, on);
}

template <class Word>
void tensor(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t a_parts,
            std::size_t b_parts, std::size_t batch, bool one_b, const Word* a, const Word* b,
            Word* out, const Resources& on) {
  const std::size_t N = tables.plan().N(), part = limbs * batch * N,
                    b_part = one_b ? limbs * N : part;
  each_row(limbs * batch, N, on.workers_for(limbs * batch * N),
           [&](std::size_t i, std::size_t from, std::size_t count) {
             const math::Montgomery<Word>& q = tables.montgomery[i / batch];
             const std::size_t first = i * N + from;
             const Word* const of_b = b + (one_b ? i / batch : i) * N + from;
             if (a_parts == 2 && b_parts == 2) {
               const Word* const x[] = {a + first, a + part + first};
               const Word* const y[] = {of_b, of_b + b_part};
               Word* const to[] = {out + first, out + part + first, out + 2 * part + first};
               return two_by_two(q, x, y, to, count);
             }
             std::vector<const Word*> x, y;
             each_stretch(count, [&](std::size_t at, std::size_t size) {
               const std::size_t offset = first + at;
               for (std::size_t k = 0; k < a_parts + b_parts - 1; ++k) {
                 x.clear();
                 y.clear();
                 for (std::size_t j = k < b_parts ? 0 : k - b_parts + 1;
                      j <= std::min(k, a_parts - 1); ++j) {
                   x.push_back(a + j * part + offset);
                   y.push_back(of_b + (k - j) * b_part + at);
                 }
                 sum_of_products<Word>(q, x, y, out + k * part + offset, size);
               }
             });
           });
}

template <class Word>
void base_convert(const ring::BaseConversion<Word>& conversion, std::uint32_t N, std::size_t batch,
                  const Word* in, Word* out, const Resources& on) {
  const std::size_t L = conversion.from().size(), row = batch * N;
  const std::vector<math::Montgomery<Word>> moduli(conversion.to().begin(), conversion.to().end());
  parallel_for(batch, on.workers_for((L + conversion.to().size()) * row), [&](std::size_t b) {
    const auto y = scratch<Word>(on, L * rns_stretch);
    std::vector<const Word*> digits(L);
    std::vector<ConversionTarget<Word>> targets(moduli.size());
    each_stretch(N, [&](std::size_t at, std::size_t size) {
      for (std::size_t l = 0; l < L; ++l) {
        conversion_digits(conversion, l, in + l * row + b * N + at, size,
                          y.get() + l * rns_stretch);
        digits[l] = y.get() + l * rns_stretch;
      }
      for (std::size_t k = 0; k < moduli.size(); ++k)
        targets[k] = {&moduli[k], conversion.factors(k).data(), out + k * row + b * N + at};
      convert_digits<Word>(conversion, digits, targets, size);
    });
  });
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template class CpuRnsTables<Word>;                                                               \
  template class CpuRnsSwitchKey<Word>;                                                            \
  template void rns_transform(const CpuRnsTables<Word>&, unsigned, bool, bool, std::size_t,        \
                              std::size_t, Word*, const Resources&);                               \
  template void mod_up(const CpuRnsTables<Word>&, unsigned, std::size_t, const Word*, Word*,       \
                       const Resources&);                                                          \
  template void inner_product(const CpuRnsTables<Word>&, const CpuRnsSwitchKey<Word>&, unsigned,   \
                              std::uint32_t, std::size_t, const Word*, Word*, const Resources&);   \
  template void mod_down(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t,            \
                         const Word*, std::span<const Word>, Word*, const Resources&);             \
  template void rescale(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t,             \
                        const Word*, Word*, const Resources&);                                     \
  template void tensor(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t, std::size_t, \
                       bool, const Word*, const Word*, Word*, const Resources&);                   \
  template void base_convert(const ring::BaseConversion<Word>&, std::uint32_t, std::size_t,        \
                             const Word*, Word*, const Resources&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cpu
