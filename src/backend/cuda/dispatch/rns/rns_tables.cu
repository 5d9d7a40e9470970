// What RNS operations read: made on the host, kept on the GPU.
#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/rns/elementwise.h"
#include "backend/cuda/dispatch/rns/rns.h"
#include "backend/cuda/kernels/convert_int8.cuh"
#include "backend/cuda/kernels/ntt_ends.cuh"
#include "backend/cuda/tuning/rns.h"

namespace whorl::backend::cuda {

namespace {

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
  /// What is converted is multiplied by `scales`, of the source residues, and what comes out by
  /// `target_scales`; one each, or none.
  void set(std::size_t number, const ring::BaseConversion<Word>& conversion,
           std::span<const Word> scales = {}, std::span<const Word> target_scales = {}) {
    const std::size_t limbs = conversion.from().size();
    largest_ = std::max(largest_, conversion.largest());
    for (std::size_t l = 0; l < limbs; ++l) {
      const math::Modulus<Word>& q = conversion.from()[l];
      const Word inverse = conversion.inverse()[l],
                 scaled = scales.empty() ? inverse : q.mul(inverse, scales[l]);
      sources_[number * size_ + l] = {q.value(), scaled, q.shoup(scaled), conversion.ratio()[l]};
    }
    for (std::size_t k = 0; k < conversion.to().size(); ++k) {
      Word* const row = factors_.data() + (number * targets_ + k) * stride_;
      const math::Modulus<Word>& p = conversion.to()[k];
      const std::span<const Word> from = conversion.factors(k);
      const auto factor = [&](std::size_t i) {
        return target_scales.empty() ? from[i] : p.mul(from[i], target_scales[k]);
      };
      for (std::size_t l = 0; l < limbs; ++l) row[l] = factor(l);
      row[size_] = factor(limbs);
      row[size_ + 1] = p.value();
      row[size_ + 2] = math::Montgomery<Word>(p).inverse();
      set_bytes(number * targets_ + k, p, {row, size_ + 1});
    }
  }
  /// One conversion alone.
  static Conversions<Word> upload(const Stream& stream, const ring::BaseConversion<Word>& rule,
                                  std::span<const Word> scales = {},
                                  std::span<const Word> target_scales = {}) {
    ConversionPacker packer(1, static_cast<unsigned>(rule.from().size()), rule.to().size());
    packer.set(0, rule, scales, target_scales);
    return packer.upload(stream);
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

template <class Word>
DeviceArray<RnsModulus<Word>> moduli_of(const Stream& stream,
                                        std::span<const math::Modulus<Word>> moduli) {
  std::vector<RnsModulus<Word>> constants;
  for (const math::Modulus<Word>& q : moduli) {
    const math::Montgomery<Word> m(q);
    constants.push_back({q.value(), m.inverse(), m.r_squared(), 0});
  }
  return stream.upload(constants.data(), constants.size());
}

/// The product of some primes of a plan modulo q.
template <class Word>
Word product_of(const ring::RnsPlan<Word>& plan, const ring::Basis& basis,
                const math::Modulus<Word>& q) {
  Word product = 1;
  for (const unsigned i : basis.indices())
    product = q.mul(product, q.reduce(plan.moduli()[i].value()));
  return product;
}

}  // namespace

template <class Word>
CudaRnsTables<Word>::CudaRnsTables(const Stream& stream, const TransformTables& transforms,
                                   std::shared_ptr<const ring::RnsPlan<Word>> shared)
    : RnsTables<Word>(std::move(shared)) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::span<const math::Modulus<Word>> all = plan.moduli();
  const unsigned L = plan.limbs(), K = plan.special(), alpha = plan.digit_limbs();
  ntt = ntt_limbs<Word>(stream, transforms, plan.ntts_of(plan.all()));
  moduli = moduli_of(stream, all);

  std::vector<Twiddle<Word>> factors;
  if (K > 0) {
    ConversionPacker<Word> packer(std::size_t{plan.digits()} * alpha, alpha, all.size());
    for (unsigned first = 0; first < L; first += alpha)
      for (unsigned size = 1; size <= std::min(alpha, L - first); ++size)
        packer.set(first + size - 1, ring::BaseConversion<Word>(all.subspan(first, size), all));
    up = packer.upload(stream);
    for (unsigned l = 0; l < L; ++l) factors.push_back(factor_of(all[l], plan.inverse_P(l)));
    inverse_P = stream.upload(factors.data(), factors.size());
  }
  factors.assign(std::size_t{L} * L, {});
  for (unsigned k = 1; k < L; ++k)
    for (unsigned l = 0; l < k; ++l)
      factors[k * L + l] = factor_of(all[l], all[l].inverse(all[l].reduce(all[k].value())));
  inverse_last = stream.upload(factors.data(), factors.size());
  stream.wait();  // other streams may use them
}

template <class Word>
template <class Key, class Value, class Make>
const Value& CudaRnsTables<Word>::kept(const Stream& stream, std::map<Key, Value>& values,
                                       const Key& key, const Make& make) const {
  const std::lock_guard lock(mutex_);
  const auto found = values.find(key);
  if (found != values.end()) return found->second;
  const CurrentGpu current(stream.gpu().ordinal);
  Value made = make();
  stream.wait();
  return values.emplace(key, std::move(made)).first->second;
}

template <class Word>
const ChainDivision<Word>& CudaRnsTables<Word>::chain_division(const Stream& stream,
                                                               std::uint64_t t) const {
  return kept(stream, chain_divisions_, t, [&] {
    const ring::RnsPlan<Word>& plan = this->plan();
    const std::span<const math::Modulus<Word>> all = plan.moduli();
    const unsigned L = plan.limbs();
    ChainDivision<Word> out;
    // A prime that divides t is never divided by.
    const auto usable = [&](const math::Modulus<Word>& q) { return t % q.value() != 0; };
    const auto special = all.subspan(L);
    if (!special.empty() && std::all_of(special.begin(), special.end(), usable))
      out.down = ConversionPacker<Word>::upload(
          stream, ring::BaseConversion<Word>(special, all.first(L), t));
    ConversionPacker<Word> packer(L, 1, L);
    for (unsigned k = 1; k < L; ++k)
      if (usable(all[k]))
        packer.set(k, ring::BaseConversion<Word>(all.subspan(k, 1), all.first(k), t));
    out.last = packer.upload(stream);
    return out;
  });
}

template <class Word>
const BasisTables<Word>& CudaRnsTables<Word>::of(const Stream& stream,
                                                 const ring::Basis& basis) const {
  return kept(stream, bases_, basis, [&] {
    BasisTables<Word> out;
    out.ntt.N = ntt.N;
    for (const unsigned i : basis.indices()) {
      out.ntt.forward.push_back(ntt.forward[i]);
      out.ntt.inverse.push_back(ntt.inverse[i]);
    }
    out.moduli = moduli_of<Word>(stream, this->plan().moduli_of(basis));
    return out;
  });
}

template <class Word>
const Conversions<Word>& CudaRnsTables<Word>::conversion(const Stream& stream,
                                                         const ring::Basis& from,
                                                         const ring::Basis& to,
                                                         ring::Lift lift) const {
  return kept(stream, conversions_, Bases{from, to, lift, 1}, [&] {
    const ring::RnsPlan<Word>& plan = this->plan();
    return ConversionPacker<Word>::upload(
        stream, ring::BaseConversion<Word>(plan.moduli_of(from), plan.moduli_of(to), 1, lift));
  });
}

template <class Word>
const Conversions<Word>& CudaRnsTables<Word>::conversions(const Stream& stream,
                                                          const Extension& extension) const {
  const std::tuple key{extension.from, extension.to, extension.digits, extension.lift};
  return kept(stream, extensions_, key, [&] {
    const ring::RnsPlan<Word>& plan = this->plan();
    unsigned size = 0;
    for (const ring::Basis& digit : extension.digits) size = std::max(size, digit.size());
    ConversionPacker<Word> packer(extension.digits.size(), size, extension.to.size());
    for (std::size_t d = 0; d < extension.digits.size(); ++d)
      packer.set(d, ring::BaseConversion<Word>(plan.moduli_of(extension.digits[d]),
                                               plan.moduli_of(extension.to), 1, extension.lift));
    return packer.upload(stream);
  });
}

template <class Word>
const SetDivision<Word>& CudaRnsTables<Word>::division(const Stream& stream,
                                                       const Division& division) const {
  const Bases key{division.from, division.to, ring::Lift::exact, division.t};
  return kept(stream, divisions_, key, [&] {
    const ring::RnsPlan<Word>& plan = this->plan();
    const ring::Basis dropped = division.dropped(), taken = division.taken();
    const std::vector<math::Modulus<Word>> going = plan.moduli_of(dropped);
    // With D the product of the primes that go and E that of those that come, a row x that stays
    // becomes x·E/D - δ/D = (x - δ/E)·E/D, and one that comes (0 - δ)/D.
    std::vector<Word> scales, target_scales;
    for (const math::Modulus<Word>& q : going) scales.push_back(product_of(plan, taken, q));
    std::vector<Twiddle<Word>> factors;
    std::vector<std::uint32_t> from;
    for (const unsigned i : division.to.indices()) {
      const math::Modulus<Word>& q = plan.moduli()[i];
      const bool stays = division.from.contains(i);
      const Word E = stays ? product_of(plan, taken, q) : Word{1};
      target_scales.push_back(q.inverse(E));
      factors.push_back(factor_of(q, q.mul(E, q.inverse(product_of(plan, dropped, q)))));
      from.push_back(stays ? division.from.rank(i) : NttDivision<Word>::none);
    }
    SetDivision<Word> out;
    out.conversion = ConversionPacker<Word>::upload(
        stream, ring::BaseConversion<Word>(going, plan.moduli_of(division.to), division.t), scales,
        target_scales);
    out.factors = stream.upload(factors.data(), factors.size());
    out.from = stream.upload(from.data(), from.size());
    return out;
  });
}

template <class Word>
CudaConversion<Word>::CudaConversion(const Stream& stream, const ring::BaseConversion<Word>& rule)
    : Conversion<Word>(rule) {
  const CurrentGpu current(stream.gpu().ordinal);
  if (!rule.to().empty()) tables = ConversionPacker<Word>::upload(stream, rule);
  stream.wait();  // other streams may use them
}

template <class Word>
CudaRnsSwitchKey<Word>::CudaRnsSwitchKey(const Stream& stream, const CudaRnsTables<Word>& tables,
                                         const ring::KeyLayout& layout,
                                         const RnsRowSource<Word>& rows, const Workers& workers)
    : RnsSwitchKey<Word>(tables.shared_plan(), layout),
      usual(layout == tables.plan().key_layout()) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = this->plan();
  const std::vector<math::Modulus<Word>> q = plan.moduli_of(layout.rows());
  const std::size_t half = q.size() * plan.N(), digits = layout.digits.size();
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

template class CudaRnsTables<std::uint32_t>;
template class CudaRnsTables<std::uint64_t>;
template class CudaConversion<std::uint32_t>;
template class CudaConversion<std::uint64_t>;
template class CudaRnsSwitchKey<std::uint32_t>;
template class CudaRnsSwitchKey<std::uint64_t>;

}  // namespace whorl::backend::cuda
