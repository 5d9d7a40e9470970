#include "backend/cpu/rns_tables.h"

#include <mutex>

#include "backend/cpu/kernels.h"

namespace whorl::backend::cpu {

template <class Word>
CpuRnsTables<Word>::CpuRnsTables(std::shared_ptr<const ring::RnsPlan<Word>> shared_plan)
    : RnsTables<Word>(std::move(shared_plan)) {
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::size_t primes = plan.moduli().size(),
                    twiddle_words = NttTables<Word>::words(plan.ntt(0));
  twiddles = {primes * twiddle_words, "twiddles"};
  for (unsigned l = 0; l < primes; ++l) {
    ntt.emplace_back(plan.ntt(l), simd_words(sizeof(Word)), twiddles.get() + l * twiddle_words);
    montgomery.emplace_back(plan.moduli()[l]);
  }
}

template <class Word>
const ring::BaseConversion<Word>& CpuRnsTables<Word>::conversion(const ring::Basis& from,
                                                                 std::uint64_t t,
                                                                 ring::Lift lift) const {
  const std::scoped_lock lock(mutex_);
  const ConversionKey key{from, t, lift};
  const auto found = conversions_.find(key);
  if (found != conversions_.end()) return found->second;
  const std::vector<math::Modulus<Word>> source = this->plan().moduli_of(from);
  return conversions_.try_emplace(key, source, this->plan().moduli(), t, lift).first->second;
}

template <class Word>
const DivisionTables<Word>& CpuRnsTables<Word>::division(const Division& division) const {
  const DivisionKey key{division.from, division.to, division.t};
  {
    const std::scoped_lock lock(mutex_);
    const auto found = divisions_.find(key);
    if (found != divisions_.end()) return found->second;
  }
  const std::vector<math::Modulus<Word>>& moduli = this->plan().moduli();
  const ring::Basis dropped = division.dropped(), taken = division.taken();
  const auto product = [&](const ring::Basis& primes, unsigned modulo) {
    const math::Modulus<Word>& q = moduli[modulo];
    Word out = 1;
    for (const unsigned i : primes.indices()) out = q.mul(out, q.reduce(moduli[i].value()));
    return out;
  };
  DivisionTables<Word> out;
  out.conversion = &conversion(dropped, division.t, ring::Lift::exact);
  out.dropped = dropped.indices();
  out.to = division.to.indices();
  for (const unsigned i : out.dropped) {
    out.dropped_rows.push_back(division.from.rank(i));
    if (!taken.empty()) out.lift_factors.push_back(product(taken, i));
  }
  for (const unsigned i : out.to) {
    out.kept_rows.push_back(division.from.contains(i) ? division.from.rank(i) : out.none);
    if (!taken.empty()) out.factors.push_back(product(taken, i));
    out.inverse.push_back(moduli[i].inverse(product(dropped, i)));
  }
  const std::scoped_lock lock(mutex_);
  return divisions_.try_emplace(key, std::move(out)).first->second;
}

template <class Word>
CpuRnsSwitchKey<Word>::CpuRnsSwitchKey(const CpuRnsTables<Word>& tables,
                                       const ring::KeyLayout& layout,
                                       const RnsRowSource<Word>& rows, const Workers& workers)
    : RnsSwitchKey<Word>(tables.shared_plan(), layout) {
  const std::vector<unsigned> primes = layout.rows().indices();
  const std::size_t N = this->plan().N(), limbs = primes.size(), digits = layout.digits.size();
  words_ = digits * 2 * limbs * N;
  memory_ = {words_, "relinearisation or rotation key"};
  parallel_for(digits, workers, [&](std::size_t digit) {
    Word* const a = memory_.get() + digit * 2 * limbs * N;
    rows(static_cast<unsigned>(digit), {a, limbs * N}, {a + limbs * N, limbs * N});
    for (std::size_t l = 0; l < 2 * limbs; ++l) {
      const math::Montgomery<Word>& m = tables.montgomery[primes[l % limbs]];
      multiply_scalar(m.modulus(), a + l * N, m.r(), a + l * N, N);
    }
  });
}

template <class Word>
const Word* CpuRnsSwitchKey<Word>::row(unsigned digit, unsigned component, std::size_t row) const {
  const std::size_t limbs = this->layout().rows().size();
  return memory_.get() + ((digit * 2 + component) * limbs + row) * this->plan().N();
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

template class CpuRnsTables<std::uint32_t>;
template class CpuRnsTables<std::uint64_t>;
template class CpuRnsSwitchKey<std::uint32_t>;
template class CpuRnsSwitchKey<std::uint64_t>;

}  // namespace whorl::backend::cpu
