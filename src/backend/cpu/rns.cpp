#include "backend/cpu/rns.h"

#include <algorithm>
#include <optional>

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

/// The modulus of row `row` of `limbs` chain limbs followed by the special primes.
template <class Word>
unsigned limb_of(const ring::RnsPlan<Word>& plan, unsigned limbs, unsigned row) {
  return row < limbs ? row : plan.limbs() + row - limbs;
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
  const auto coefficients = scratch<Word>(on, limbs * batch * N);
  const auto lift = [&](std::size_t i) {
    intt_polynomial(tables.ntt[i / batch], in + i * N, coefficients.get() + i * N);
  };
  const std::size_t stretches = (N + rns_stretch - 1) / rns_stretch;
  const auto convert = [&](std::size_t i) {
    const auto digit = static_cast<unsigned>(i / stretches / batch);
    const std::size_t b = i / stretches % batch, at = i % stretches * rns_stretch;
    const std::size_t count = std::min(rns_stretch, N - at);
    const unsigned first = digit * alpha, size = std::min(alpha, limbs - first);
    const ring::BaseConversion<Word>& conversion = tables.up(digit, size);
    const auto y = scratch<Word>(on, (size + 1) * rns_stretch);
    std::vector<const Word*> from(size);
    for (unsigned l = 0; l < size; ++l)
      from[l] = coefficients.get() + ((first + l) * batch + b) * N + at;
    conversion_digits(conversion, from.data(), count, y.get(), rns_stretch);
    std::vector<ConversionTarget<Word>> targets;
    for (unsigned row = 0; row < rows; ++row) {
      if (row >= first && row < first + size) continue;
      const unsigned limb = limb_of(plan, limbs, row);
      targets.push_back({&tables.montgomery[limb], conversion.factors(limb).data(),
                         out + ((digit * rows + row) * batch + b) * N + at});
    }
    conversion_sums<Word>(conversion, targets, y.get(), rns_stretch, count);
  };
  const auto finish = [&](std::size_t i) {
    const std::size_t b = i % batch, digit = i / batch % digits;
    const auto row = static_cast<unsigned>(i / batch / digits);
    Word* const values = out + ((digit * rows + row) * batch + b) * N;
    if (row < limbs && row / alpha == digit)
      std::copy_n(in + (row * batch + b) * N, N, values);
    else
      ntt_polynomial(tables.ntt[limb_of(plan, limbs, row)], values, values);
  };
  const Phase phases[] = {{limbs * batch, lift},
                          {digits * batch * stretches, convert},
                          {rows * digits * batch, finish}};
  parallel_phases(phases, on.workers_for(digits * rows * batch * N));
}

template <class Word>
void inner_product(const CpuRnsTables<Word>& tables, const CpuRnsSwitchKey<Word>& key,
                   unsigned limbs, std::uint32_t g, std::size_t batch, const Word* digits,
                   Word* out, const Resources& on) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t N = plan.N(), rows = limbs + plan.special();
  const unsigned count = plan.digits(limbs);
  std::optional<EvaluationPermutation<Word>> permutation;
  if (g != 1) permutation.emplace(static_cast<std::uint32_t>(N), g);
  parallel_for(rows * batch, on.workers_for(2 * rows * batch * N), [&](std::size_t i) {
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
    key_products(tables.montgomery[limb], sums, permutation ? &*permutation : nullptr, 0, N);
  });
}

namespace {

/// out = (in - delta)/D for the product D of the dropped limbs, which are rows `first` … of `rows`,
/// limbs `dropped` … of the plan; `factor(l)` is D^-1 modulo q_l.
template <class Word, class Factor>
void divide(const CpuRnsTables<Word>& tables, const ring::BaseConversion<Word>& conversion,
            unsigned kept, std::size_t rows, unsigned dropped, std::size_t parts, std::size_t batch,
            const Factor& factor, std::size_t added, const Word* in, Word* out,
            const Resources& on) {
  const std::size_t N = tables.plan().N(), many = rows - kept;
  const auto coefficients = scratch<Word>(on, parts * many * batch * N);
  const auto lift = [&](std::size_t i) {
    const std::size_t b = i % batch, part = i / batch % parts, row = i / batch / parts;
    intt_polynomial(tables.ntt[dropped + row], in + ((part * rows + kept + row) * batch + b) * N,
                    coefficients.get() + ((part * many + row) * batch + b) * N);
  };
  // delta's place is the result's where nothing is there to be kept.
  const auto aside = scratch<Word>(on, added * kept * batch * N);
  const auto delta = [&](std::size_t part) {
    return (part < added ? aside.get() : out) + part * kept * batch * N;
  };
  const std::size_t stretches = (N + rns_stretch - 1) / rns_stretch;
  const auto convert = [&](std::size_t i) {
    const std::size_t part = i / stretches / batch, b = i / stretches % batch;
    const std::size_t at = i % stretches * rns_stretch, count = std::min(rns_stretch, N - at);
    const auto y = scratch<Word>(on, (many + 1) * rns_stretch);
    std::vector<const Word*> from(many);
    for (std::size_t row = 0; row < many; ++row)
      from[row] = coefficients.get() + ((part * many + row) * batch + b) * N + at;
    conversion_digits(conversion, from.data(), count, y.get(), rns_stretch);
    std::vector<ConversionTarget<Word>> targets;
    for (unsigned l = 0; l < kept; ++l)
      targets.push_back({&tables.montgomery[l], conversion.factors(l).data(),
                         delta(part) + (l * batch + b) * N + at});
    conversion_sums<Word>(conversion, targets, y.get(), rns_stretch, count);
  };
  const auto finish = [&](std::size_t i) {
    const std::size_t b = i % batch, part = i / batch % parts, l = i / batch / parts;
    const std::size_t at = (l * batch + b) * N;
    Word* const d = delta(part) + at;
    ntt_polynomial(tables.ntt[l], d, d);
    subtract_scale(tables.plan().moduli()[l], in + ((part * rows + l) * batch + b) * N, d,
                   factor(static_cast<unsigned>(l)), part < added,
                   out + part * kept * batch * N + at, N);
  };
  const Phase phases[] = {{many * parts * batch, lift},
                          {parts * batch * stretches, convert},
                          {kept * parts * batch, finish}};
  parallel_phases(phases, on.workers_for(parts * rows * batch * N));
}

}  // namespace

template <class Word>
void mod_down(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts,
              std::size_t batch, std::size_t added, const Word* in, Word* out,
              const Resources& on) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  divide(
      tables, tables.down(), limbs, limbs + plan.special(), plan.limbs(), parts, batch,
      [&](unsigned l) { return plan.inverse_P(l); }, added, in, out, on);
}

template <class Word>
void rescale(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts, std::size_t batch,
             const Word* in, Word* out, const Resources& on) {
  divide(
      tables, tables.last(limbs - 1), limbs - 1, limbs, limbs - 1, parts, batch,
      [&](unsigned l) { return tables.inverse_last(limbs - 1, l); }, 0, in, out, on);
}

template <class Word>
void tensor(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t a_parts,
            std::size_t b_parts, std::size_t batch, bool one_b, const Word* a, const Word* b,
            Word* out, const Resources& on) {
  const std::size_t N = tables.plan().N(), part = limbs * batch * N,
                    b_part = one_b ? limbs * N : part;
  parallel_for(limbs * batch, on.workers_for(limbs * batch * N), [&](std::size_t i) {
    const math::Montgomery<Word>& q = tables.montgomery[i / batch];
    const Word* const of_b = b + (one_b ? i / batch : i) * N;
    if (a_parts == 2 && b_parts == 2) {
      const Word* const x[] = {a + i * N, a + part + i * N};
      const Word* const y[] = {of_b, of_b + b_part};
      Word* const to[] = {out + i * N, out + part + i * N, out + 2 * part + i * N};
      return two_by_two(q, x, y, to, N);
    }
    std::vector<const Word*> x, y;
    each_stretch(N, [&](std::size_t at, std::size_t size) {
      const std::size_t offset = i * N + at;
      for (std::size_t k = 0; k < a_parts + b_parts - 1; ++k) {
        x.clear();
        y.clear();
        for (std::size_t j = k < b_parts ? 0 : k - b_parts + 1; j <= std::min(k, a_parts - 1);
             ++j) {
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
    const auto y = scratch<Word>(on, (L + 1) * rns_stretch);
    std::vector<const Word*> from(L);
    std::vector<ConversionTarget<Word>> targets(moduli.size());
    each_stretch(N, [&](std::size_t at, std::size_t size) {
      for (std::size_t l = 0; l < L; ++l) from[l] = in + l * row + b * N + at;
      conversion_digits(conversion, from.data(), size, y.get(), rns_stretch);
      for (std::size_t k = 0; k < moduli.size(); ++k)
        targets[k] = {&moduli[k], conversion.factors(k).data(), out + k * row + b * N + at};
      conversion_sums<Word>(conversion, targets, y.get(), rns_stretch, size);
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
                         std::size_t, const Word*, Word*, const Resources&);                       \
  template void rescale(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t,             \
                        const Word*, Word*, const Resources&);                                     \
  template void tensor(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t, std::size_t, \
                       bool, const Word*, const Word*, Word*, const Resources&);                   \
  template void base_convert(const ring::BaseConversion<Word>&, std::uint32_t, std::size_t,        \
                             const Word*, Word*, const Resources&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cpu
