// Base conversions of RNS arrays on the CPU, in phases of pieces: extensions, and divisions by
// dropped primes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/contract/rns.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/resources.h"
#include "backend/cpu/rns_kernels.h"
#include "backend/cpu/rns_tables.h"
#include "backend/parallel.h"

namespace whorl::backend::cpu {

template <class Word>
std::shared_ptr<Word[]> scratch(const Resources& on, std::size_t count) {
  return on.memory.take_array<Word>(count, "cpu: an intermediate result");
}

/// y_l of a base conversion, `l` being its source modulus, from values in evaluation form, times
/// `factor`.
template <class Word>
void lift_digits(const ring::BaseConversion<Word>& conversion, std::size_t l, Word factor,
                 const NttTables<Word>& ntt, const Word* in, Word* y) {
  const math::Modulus<Word>& q = conversion.from()[l];
  const Word scale = q.mul(q.mul(ntt.inverse_N, conversion.inverse()[l]), factor);
  intt_scaled(ntt, scale, q.shoup(scale), in, y);
}

/// What follows on rows y, of which there may be a stretch at most.
template <class Word>
void convert_digits(const ring::BaseConversion<Word>& conversion, std::vector<const Word*> rows,
                    std::span<const ConversionTarget<Word>> targets, std::size_t count) {
  alignas(64) std::array<Word, rns_stretch> u;
  rns_kernels<Word>().conversion_quotients(conversion, rows.data(), count, u.data());
  rows.push_back(u.data());
  rns_kernels<Word>().conversion_sums(conversion, targets, rows.data(), count);
}

/// Returns into how many ranges the targets of a conversion are split, so that a thread converts
/// the rows that it is likely to work on afterwards: what one core has written reaches another
/// slowly.
inline std::size_t target_ranges(std::size_t targets, const Workers& workers) {
  return std::min<std::size_t>(std::max(1u, workers.threads),
                               std::max<std::size_t>(2, targets / 8));
}

/// How many of some transforms are better shared by the threads, since they would be left over when
/// all threads have had as many as one another. Of many it matters little.
inline std::size_t left_over(std::size_t transforms, std::size_t blocks, const Workers& workers) {
  const std::size_t threads = std::max(1u, workers.threads);
  return blocks > 1 && transforms < 8 * threads ? transforms % threads : 0;
}

// Twiddles of a modulus are as long as some rows are: what follows goes through the rows of a
// modulus one after another.

/// The phases of an extension into `out`, whose rows may be scratch memory.
template <class Word>
class Extender {
 public:
  Extender(const CpuRnsTables<Word>& tables, const Extension& extension, std::size_t batch,
           const Word* in, Word* out, const Resources& on, const Workers& workers)
      : tables_(tables),
        extension_(extension),
        batch_(batch),
        N_(tables.plan().N()),
        digits_(extension.digits.size()),
        in_(in),
        out_(out),
        from_(extension.from.indices()),
        to_(extension.to.indices()),
        stretches_((N_ + rns_stretch - 1) / rns_stretch),
        ranges_(target_ranges(to_.size(), workers)),
        rows_of_(digits_),
        digit_of_(from_.size()),
        place_of_(from_.size()),
        y_(scratch<Word>(on, from_.size() * batch * N_)) {
    for (std::size_t d = 0; d < digits_; ++d) {
      conversions_.push_back(&tables.conversion(extension.digits[d], 1, extension.lift));
      for (const unsigned limb : extension.digits[d].indices()) {
        const std::size_t row = extension.from.rank(limb);
        digit_of_[row] = d;
        place_of_[row] = rows_of_[d].size();
        rows_of_[d].push_back(row);
      }
    }
  }

  std::size_t rows() const { return to_.size(); }
  const NttTables<Word>& ntt(std::size_t row) const { return tables_.ntt[to_[row]]; }
  unsigned prime(std::size_t row) const { return to_[row]; }
  bool is_own(std::size_t row, std::size_t digit) const {
    return extension_.digits[digit].contains(to_[row]);
  }
  /// The residues of item `b` of the batch modulo a prime of the digit itself.
  const Word* own(std::size_t row, std::size_t b) const {
    return in_ + (extension_.from.rank(to_[row]) * batch_ + b) * N_;
  }
  Word* values(std::size_t row, std::size_t digit, std::size_t b) const {
    return out_ + ((digit * to_.size() + row) * batch_ + b) * N_;
  }
  /// Inverse transforms, then conversions: after them values() of rows that are not a digit's own
  /// are coefficients. A digit of a polynomial, group digit · batch + b, is worked on by itself.
  Phase lifts() const {
    return {from_.size() * batch_,
            [this](std::size_t i) {
              const std::size_t row = i / batch_;
              lift_digits(*conversions_[digit_of_[row]], place_of_[row], Word{1},
                          tables_.ntt[from_[row]], in_ + i * N_, y_.get() + i * N_);
            },
            [this](std::size_t i) { return digit_of_[i / batch_] * batch_ + i % batch_; }};
  }
  Phase conversions() const {
    const std::size_t groups = digits_ * batch_;
    return {ranges_ * groups * stretches_, [this](std::size_t i) { convert(i); },
            [this, groups](std::size_t i) { return i / stretches_ % groups; }};
  }

 private:
  void convert(std::size_t i) const {
    const std::size_t at = i % stretches_ * rns_stretch, b = i / stretches_ % batch_,
                      range = i / stretches_ / batch_ / digits_, rows = to_.size();
    const std::size_t digit = i / stretches_ / batch_ % digits_;
    std::vector<const Word*> sources;
    for (const std::size_t row : rows_of_[digit])
      sources.push_back(y_.get() + (row * batch_ + b) * N_ + at);
    std::vector<ConversionTarget<Word>> targets;
    for (std::size_t row = range * rows / ranges_; row < (range + 1) * rows / ranges_; ++row)
      if (!is_own(row, digit))
        targets.push_back({&tables_.montgomery[to_[row]],
                           conversions_[digit]->factors(to_[row]).data(),
                           values(row, digit, b) + at});
    convert_digits<Word>(*conversions_[digit], std::move(sources), targets,
                         std::min(rns_stretch, N_ - at));
  }

  const CpuRnsTables<Word>& tables_;
  const Extension& extension_;
  std::size_t batch_, N_, digits_;
  const Word* in_;
  Word* out_;
  std::vector<unsigned> from_, to_;
  std::size_t stretches_, ranges_;
  std::vector<const ring::BaseConversion<Word>*> conversions_;
  std::vector<std::vector<std::size_t>> rows_of_;  ///< of a digit's limbs in `in`
  std::vector<std::size_t> digit_of_, place_of_;
  std::shared_ptr<Word[]> y_;
};

template <class Word>
void extend(const CpuRnsTables<Word>& tables, const Extension& extension, std::size_t batch,
            const Word* in, Word* out, const Resources& on) {
  const std::size_t N = tables.plan().N(), digits = extension.digits.size();
  const Workers workers = on.workers_for(digits * extension.to.size() * batch * N);
  const Extender<Word> extender(tables, extension, batch, in, out, on, workers);
  const std::size_t groups = digits * batch, items = extender.rows() * groups;
  const std::size_t blocks = ntt_block_count(tables.ntt[0]),
                    split = left_over(items - extension.from.size() * batch, blocks, workers);
  const auto values_of = [&](std::size_t i) {
    return extender.values(i / groups, i / batch % digits, i % batch);
  };
  const auto finish = [&](std::size_t i) {
    const std::size_t row = i / groups;
    if (extender.is_own(row, i / batch % digits))
      std::copy_n(extender.own(row, i % batch), N, values_of(i));
    else if (i + split < items)
      ntt_polynomial(extender.ntt(row), values_of(i), values_of(i));
    else
      ntt_above_blocks(extender.ntt(row), values_of(i));
  };
  const auto finish_block = [&](std::size_t j) {
    const std::size_t i = items - split + j / blocks, row = i / groups;
    if (!extender.is_own(row, i / batch % digits))
      ntt_block_of(extender.ntt(row), j % blocks, values_of(i));
  };
  const Phase phases[] = {extender.lifts(),
                          extender.conversions(),
                          {items, finish, [&](std::size_t i) { return i % groups; }},
                          {split * blocks, finish_block}};
  parallel_phases(phases, workers, groups);
}

/// out = (E·in - delta)/D, see RnsOps::divide. The first parts are added to.
template <class Word>
void divide(const CpuRnsTables<Word>& tables, const DivisionTables<Word>& d, std::size_t rows,
            std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
            Word* out, const Resources& on) {
  const std::size_t N = tables.plan().N(), many = d.dropped.size(), kept = d.to.size();
  const Workers workers = on.workers_for(parts * (kept + many) * batch * N);
  const auto y = scratch<Word>(on, parts * many * batch * N);
  const auto lift = [&](std::size_t i) {
    const std::size_t b = i % batch, part = i / batch % parts, row = i / batch / parts;
    lift_digits(*d.conversion, row, d.lift_factors.empty() ? Word{1} : d.lift_factors[row],
                tables.ntt[d.dropped[row]],
                in + ((part * rows + d.dropped_rows[row]) * batch + b) * N,
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
      targets.push_back({&tables.montgomery[d.to[l]], d.conversion->factors(d.to[l]).data(),
                         delta(part) + (l * batch + b) * N + at});
    convert_digits<Word>(*d.conversion, std::move(from), targets, count);
  };
  const auto finish = [&](std::size_t i) {
    const std::size_t b = i % batch, part = i / batch % parts, l = i / batch / parts;
    const std::size_t in_part = (l * batch + b) * N, at = part * kept * batch * N + in_part;
    const math::Modulus<Word>& q = tables.plan().moduli()[d.to[l]];
    Word* const quotient = delta(part) + in_part;
    const NttTables<Word>& ntt = tables.ntt[d.to[l]];
    const bool scales = !d.factors.empty();
    const Word scale = scales ? d.factors[l] : Word{0};
    const DivisionEnd<Word> end{
        d.kept_rows[l] == d.none ? nullptr : in + ((part * rows + d.kept_rows[l]) * batch + b) * N,
        at < added.size() ? added.data() + at : nullptr,
        scales,
        scale,
        q.shoup(scale),
        d.inverse[l],
        q.shoup(d.inverse[l]),
        out + at};
    ntt_above_blocks(ntt, quotient);
    const std::size_t blocks = ntt_block_count(ntt), size = N / blocks;
    for (std::size_t block = 0; block < blocks; ++block) {
      ring::Ahead ahead{{}, 0, size * sizeof(Word)};
      for (const Word* const row : {end.x, end.added})
        if (row) ahead.from[ahead.count++] = row + block * size;
      rns_kernels<Word>().divide_block(ntt, block, quotient, end, ahead);
    }
  };
  // A part of a ciphertext is worked on by itself.
  const auto group = [&](std::size_t i) { return i % groups; };
  const Phase phases[] = {
      {many * groups, lift, group},
      {ranges * groups * stretches, convert, [&](std::size_t i) { return i / stretches % groups; }},
      {kept * groups, finish, group}};
  parallel_phases(phases, workers, groups);
}

}  // namespace whorl::backend::cpu
