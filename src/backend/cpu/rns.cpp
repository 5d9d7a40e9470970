#include "backend/cpu/rns.h"

#include <algorithm>
#include <array>
#include <bit>

#include "backend/cpu/kernels.h"
#include "backend/cpu/rns_kernels.h"

namespace whorl::backend::cpu {

namespace {

template <class Word>
hwy::AlignedFreeUniquePtr<Word[]> scratch(std::size_t count) {
  if (count == 0) return {};  // Highway's allocator aborts
  auto memory = hwy::AllocateAligned<Word>(count);
  if (!memory)
    throw OutOfMemoryError("cpu: " + std::to_string(count * sizeof(Word)) +
                           " bytes for an intermediate result");
  return memory;
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
CpuRnsTables<Word>::CpuRnsTables(std::shared_ptr<const ring::RnsPlan<Word>> shared,
                                 std::uint64_t plain_modulus)
    : RnsTables<Word>(std::move(shared), plain_modulus) {
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::span<const math::Modulus<Word>> all = plan.moduli();
  const unsigned L = plan.limbs(), K = plan.special(), alpha = plan.digit_limbs();
  for (unsigned l = 0; l < L + K; ++l) {
    ntt.emplace_back(plan.ntt(l), simd_words(sizeof(Word)));
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
void rns_transform(const CpuRnsTables<Word>& tables, unsigned limbs, bool with_special,
                   bool is_forward, std::size_t parts, std::size_t batch, Word* data,
                   const Workers& workers) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t rows = limbs + (with_special ? plan.special() : 0), N = plan.N();
  parallel_for(parts * rows * batch, workers, [&](std::size_t i) {
    const unsigned limb = limb_of(plan, limbs, static_cast<unsigned>(i / batch % rows));
    is_forward ? ntt_polynomial(tables.ntt[limb], data + i * N)
               : intt_polynomial(tables.ntt[limb], data + i * N);
  });
}

template <class Word>
void mod_up(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t batch, const Word* in,
            Word* out, const Workers& workers) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t N = plan.N(), rows = limbs + plan.special();
  const unsigned alpha = plan.digit_limbs(), digits = plan.digits(limbs);
  const auto coefficients = scratch<Word>(limbs * batch * N);
  parallel_for(limbs * batch, workers, [&](std::size_t i) {
    Word* const to = coefficients.get() + i * N;
    std::copy_n(in + i * N, N, to);
    intt_polynomial(tables.ntt[i / batch], to);
  });
  const std::size_t stretches = (N + rns_stretch - 1) / rns_stretch;
  parallel_for(digits * batch * stretches, workers, [&](std::size_t i) {
    const auto digit = static_cast<unsigned>(i / stretches / batch);
    const std::size_t b = i / stretches % batch, at = i % stretches * rns_stretch;
    const std::size_t count = std::min(rns_stretch, N - at);
    const unsigned first = digit * alpha, size = std::min(alpha, limbs - first);
    const ring::BaseConversion<Word>& conversion = tables.up(digit, size);
    const auto y = scratch<Word>((size + 1) * rns_stretch);
    std::vector<const Word*> from(size);
    for (unsigned l = 0; l < size; ++l)
      from[l] = coefficients.get() + ((first + l) * batch + b) * N + at;
    conversion_digits(conversion, from.data(), count, y.get(), rns_stretch);
    for (unsigned row = 0; row < rows; ++row)
      if (row < first || row >= first + size)
        conversion_sum(conversion, limb_of(plan, limbs, row), y.get(), rns_stretch, count,
                       out + ((digit * rows + row) * batch + b) * N + at);
  });
  parallel_for(digits * rows * batch, workers, [&](std::size_t i) {
    const auto row = static_cast<unsigned>(i / batch % rows);
    if (row < limbs && row / alpha == i / batch / rows)
      std::copy_n(in + (row * batch + i % batch) * N, N, out + i * N);
    else
      ntt_polynomial(tables.ntt[limb_of(plan, limbs, row)], out + i * N);
  });
}

template <class Word>
void inner_product(const CpuRnsTables<Word>& tables, const CpuRnsSwitchKey<Word>& key,
                   unsigned limbs, std::uint32_t g, std::size_t batch, const Word* digits,
                   Word* out, const Workers& workers) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t N = plan.N(), rows = limbs + plan.special();
  const unsigned count = plan.digits(limbs);
  std::vector<std::uint32_t> from;
  if (g != 1) from = ring::evaluation_permutation(static_cast<std::uint32_t>(N), g);
  parallel_for(rows * batch, workers, [&](std::size_t i) {
    const auto row = static_cast<unsigned>(i / batch);
    const unsigned limb = limb_of(plan, limbs, row);
    const auto permuted = scratch<Word>(g == 1 ? 0 : count * rns_stretch);
    std::vector<const Word*> a(count), b(count);
    each_stretch(N, [&](std::size_t at, std::size_t size) {
      for (unsigned d = 0; d < count; ++d) {
        const Word* const x = digits + (d * rows * batch + i) * N;
        a[d] = x + at;
        if (g == 1) continue;
        Word* const to = permuted.get() + d * rns_stretch;
        for (std::size_t j = 0; j < size; ++j) to[j] = x[from[at + j]];
        a[d] = to;
      }
      for (unsigned component = 0; component < 2; ++component) {
        for (unsigned d = 0; d < count; ++d) b[d] = key.row(d, component, limb) + at;
        // Results are (b, a): part 0 is what the secret does not multiply.
        sum_of_products<Word>(tables.montgomery[limb], a, b, true,
                              out + ((1 - component) * rows * batch + i) * N + at, size);
      }
    });
  });
}

namespace {

/// out = (in - delta)/D for the product D of the dropped limbs, which are rows `first` … of `rows`,
/// limbs `dropped` … of the plan; `factor(l)` is D^-1 modulo q_l.
template <class Word, class Factor>
void divide(const CpuRnsTables<Word>& tables, const ring::BaseConversion<Word>& conversion,
            unsigned kept, std::size_t rows, unsigned dropped, std::size_t parts, std::size_t batch,
            const Factor& factor, bool accumulate, const Word* in, Word* out,
            const Workers& workers) {
  const std::size_t N = tables.plan().N(), many = rows - kept;
  const auto coefficients = scratch<Word>(parts * many * batch * N);
  parallel_for(parts * many * batch, workers, [&](std::size_t i) {
    const std::size_t b = i % batch, row = i / batch % many, part = i / batch / many;
    Word* const to = coefficients.get() + i * N;
    std::copy_n(in + ((part * rows + kept + row) * batch + b) * N, N, to);
    intt_polynomial(tables.ntt[dropped + row], to);
  });
  const auto delta = scratch<Word>(parts * kept * batch * N);
  const std::size_t stretches = (N + rns_stretch - 1) / rns_stretch;
  parallel_for(parts * batch * stretches, workers, [&](std::size_t i) {
    const std::size_t part = i / stretches / batch, b = i / stretches % batch;
    const std::size_t at = i % stretches * rns_stretch, count = std::min(rns_stretch, N - at);
    const auto y = scratch<Word>((many + 1) * rns_stretch);
    std::vector<const Word*> from(many);
    for (std::size_t row = 0; row < many; ++row)
      from[row] = coefficients.get() + ((part * many + row) * batch + b) * N + at;
    conversion_digits(conversion, from.data(), count, y.get(), rns_stretch);
    for (unsigned l = 0; l < kept; ++l)
      conversion_sum(conversion, l, y.get(), rns_stretch, count,
                     delta.get() + ((part * kept + l) * batch + b) * N + at);
  });
  parallel_for(parts * kept * batch, workers, [&](std::size_t i) {
    const std::size_t b = i % batch, l = i / batch % kept, part = i / batch / kept;
    Word* const y = delta.get() + i * N;
    ntt_polynomial(tables.ntt[l], y);
    subtract_scale(tables.plan().moduli()[l], in + ((part * rows + l) * batch + b) * N, y,
                   factor(static_cast<unsigned>(l)), accumulate, out + i * N, N);
  });
}

}  // namespace

template <class Word>
void mod_down(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts,
              std::size_t batch, bool accumulate, const Word* in, Word* out,
              const Workers& workers) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  divide(
      tables, tables.down(), limbs, limbs + plan.special(), plan.limbs(), parts, batch,
      [&](unsigned l) { return plan.inverse_P(l); }, accumulate, in, out, workers);
}

template <class Word>
void rescale(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts, std::size_t batch,
             const Word* in, Word* out, const Workers& workers) {
  divide(
      tables, tables.last(limbs - 1), limbs - 1, limbs, limbs - 1, parts, batch,
      [&](unsigned l) { return tables.inverse_last(limbs - 1, l); }, false, in, out, workers);
}

template <class Word>
void tensor(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t a_parts,
            std::size_t b_parts, std::size_t batch, const Word* a, const Word* b, Word* out,
            const Workers& workers) {
  const std::size_t N = tables.plan().N(), part = limbs * batch * N;
  parallel_for(limbs * batch, workers, [&](std::size_t i) {
    std::vector<const Word*> x, y;
    each_stretch(N, [&](std::size_t at, std::size_t size) {
      const std::size_t offset = i * N + at;
      for (std::size_t k = 0; k < a_parts + b_parts - 1; ++k) {
        x.clear();
        y.clear();
        for (std::size_t j = k < b_parts ? 0 : k - b_parts + 1; j <= std::min(k, a_parts - 1);
             ++j) {
          x.push_back(a + j * part + offset);
          y.push_back(b + (k - j) * part + offset);
        }
        sum_of_products<Word>(tables.montgomery[i / batch], x, y, false, out + k * part + offset,
                              size);
      }
    });
  });
}

template <class Word>
void base_convert(const ring::BaseConversion<Word>& conversion, std::uint32_t N, std::size_t batch,
                  const Word* in, Word* out, const Workers& workers) {
  const std::size_t L = conversion.from().size(), row = batch * N;
  parallel_for(batch, workers, [&](std::size_t b) {
    const auto y = scratch<Word>((L + 1) * rns_stretch);
    std::vector<const Word*> from(L);
    each_stretch(N, [&](std::size_t at, std::size_t size) {
      for (std::size_t l = 0; l < L; ++l) from[l] = in + l * row + b * N + at;
      conversion_digits(conversion, from.data(), size, y.get(), rns_stretch);
      for (std::size_t k = 0; k < conversion.to().size(); ++k)
        conversion_sum(conversion, k, y.get(), rns_stretch, size, out + k * row + b * N + at);
    });
  });
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template class CpuRnsTables<Word>;                                                               \
  template class CpuRnsSwitchKey<Word>;                                                            \
  template void rns_transform(const CpuRnsTables<Word>&, unsigned, bool, bool, std::size_t,        \
                              std::size_t, Word*, const Workers&);                                 \
  template void mod_up(const CpuRnsTables<Word>&, unsigned, std::size_t, const Word*, Word*,       \
                       const Workers&);                                                            \
  template void inner_product(const CpuRnsTables<Word>&, const CpuRnsSwitchKey<Word>&, unsigned,   \
                              std::uint32_t, std::size_t, const Word*, Word*, const Workers&);     \
  template void mod_down(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t, bool,      \
                         const Word*, Word*, const Workers&);                                      \
  template void rescale(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t,             \
                        const Word*, Word*, const Workers&);                                       \
  template void tensor(const CpuRnsTables<Word>&, unsigned, std::size_t, std::size_t, std::size_t, \
                       const Word*, const Word*, Word*, const Workers&);                           \
  template void base_convert(const ring::BaseConversion<Word>&, std::uint32_t, std::size_t,        \
                             const Word*, Word*, const Workers&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cpu
