// RotationMethod::generate: the rows of a blind-rotation key, from the secret's side.
#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>

#include "backend/parallel.h"
#include "lattice/lwe/keys.h"
#include "lattice/lwe/rgsw.h"
#include "lattice/lwe/rotation_method.h"
#include "math/secret.h"

namespace whorl::lattice::lwe {

namespace {

using backend::RotationKind;
using backend::RotationShape;

/// What key k of a step encrypts: indicator·X^exponent, both secret.
struct Message {
  std::uint32_t indicator = 1;
  std::uint32_t exponent = 0;  ///< below 2N
};

/// 1 where a = b, else 0, without a branch.
std::uint32_t equal(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t difference = a ^ b;
  return 1 - ((difference | (0u - difference)) >> 31);
}

/// Returns what the k-th key of the step that coefficient i begins encrypts.
Message message_of(const RotationShape& shape, std::span<const std::int32_t> lwe, std::size_t i,
                   unsigned k) {
  const auto monomial = [&](std::uint32_t times) {
    return Message{1, (times * static_cast<std::uint32_t>(lwe[i])) & (2 * shape.N - 1)};
  };
  switch (shape.kind) {
    case RotationKind::ginx:
      return {equal(static_cast<std::uint32_t>(lwe[i]), k == 0 ? 1u : ~0u), 0};
    case RotationKind::unrolled:
    case RotationKind::unrolled_all: {
      const unsigned set = k + (shape.kind == RotationKind::unrolled ? 1 : 0);
      std::uint32_t all = 1;
      for (std::size_t t = 0; t < shape.group && i + t < lwe.size(); ++t)
        all &= equal(static_cast<std::uint32_t>(lwe[i + t]), set >> t & 1);
      return {all, 0};
    }
    case RotationKind::block:
      return {equal(static_cast<std::uint32_t>(lwe[i + k]), 1), 0};
    case RotationKind::ap: {
      std::uint32_t weight = shape.unit;
      for (; k >= shape.group - 1; k -= shape.group - 1) weight *= shape.group;
      return monomial((k + 1) * weight);
    }
    case RotationKind::automorphism:
      break;
  }
  return monomial(1);
}

template <class Word>
class Generator {
 public:
  Generator(const RotationShape& shape, std::span<const std::int32_t> lwe,
            std::span<const std::int32_t> ring, const math::GaussianSampler& error,
            const math::Seed& seed)
      : shape_(shape), lwe_(lwe), ring_(ring), error_(error), seed_(seed) {
    limbs_.reserve(2);
    limbs_.emplace_back(ring, static_cast<Word>(shape.Q), error);
    if (shape.raised_by != 1) limbs_.emplace_back(ring, static_cast<Word>(shape.raised_by), error);
  }

  /// The rows of the step that coefficient i begins, in `b`; the first is row `first`.
  void step(std::size_t i, std::size_t first, std::span<Word> b) const {
    const unsigned digits = shape_.gadgets[i].digits();
    const std::size_t row_words = shape_.row_words();
    const unsigned keys = shape_.step_keys[i];
    expand(first, b);
    // (a, (a - m·g_j)·s + e) is an encryption of -m·g_j·s, (a, a·s + e + m·g_j) one of m·g_j.
    const auto add_messages = [&](bool to_b, bool negative) {
      for (unsigned k = 0; k < keys; ++k) {
        const Message message = message_of(shape_, lwe_, i, k);
        for (unsigned j = 0; j < digits; ++j)
          add(message, shape_.gadgets[i], j, negative,
              b.subspan((k * 2 * digits + (to_b ? digits : 0) + j) * row_words, row_words));
      }
    };
    add_messages(false, true);
    encrypt(b);
    add_messages(true, false);
  }

  /// The rows of automorphism number k.
  void automorphism(unsigned k, std::size_t first, std::span<Word> b) const {
    const std::uint32_t N = shape_.N;
    std::uint32_t g = 5;
    for (unsigned t = 0; t < k && k < shape_.group; ++t) g = (g * 5) & (2 * N - 1);
    if (k == shape_.group) g = 2 * N - 5;
    expand(first, b);
    encrypt(b);
    const math::Modulus<Word>& q = limbs_[0].modulus();
    for (std::size_t row = 0; row * shape_.row_words() < b.size(); ++row) {
      const Word factor = factor_of(shape_.gadgets[0], static_cast<unsigned>(row));
      Word* const to = b.data() + row * shape_.row_words();  // P·m is 0 modulo P
      for (std::uint32_t t = 0; t < N; ++t) {
        const auto at = static_cast<std::uint32_t>((std::uint64_t{t} * g) & (2 * N - 1));
        const auto s = static_cast<Word>(residue(at < N ? -ring_[t] : ring_[t], q.value()));
        to[at & (N - 1)] = q.add(to[at & (N - 1)], q.mul(s, factor));
      }
    }
  }

 private:
  void expand(std::size_t first, std::span<Word> b) const {
    const std::size_t row_words = shape_.row_words();
    if (limbs_.size() == 1)
      return math::expand_uniform_rows<Word>(
          seed_, first, shape_.Q, {b.data(), b.size() / row_words, row_words, row_words});
    for (std::size_t r = 0; r < b.size() / row_words; ++r)
      RotationMethod::expand<Word>(shape_, seed_, first + r, b.subspan(r * row_words, row_words));
  }
  void encrypt(std::span<Word> b) const {
    math::PrivateStream stream("errors of a blind-rotation key");
    math::WipedVector<std::int32_t> errors(shape_.N);
    for (std::size_t at = 0; at < b.size(); at += shape_.row_words()) {
      error_.sample(stream, errors.span());
      for (std::size_t l = 0; l < limbs_.size(); ++l) {
        const auto row = b.subspan(at + l * shape_.N, shape_.N);
        limbs_[l].encrypt_zero(row, row, errors.span());
      }
    }
  }
  Word factor_of(const ring::Gadget& gadget, unsigned j) const {
    return static_cast<Word>(limbs_.size() == 1 ? gadget.factor(j) : shape_.raised_by % shape_.Q);
  }
  /// ± message·factor to the residues modulo Q.
  void add(const Message& message, const ring::Gadget& gadget, unsigned j, bool negative,
           std::span<Word> row) const {
    const math::Modulus<Word>& q = limbs_[0].modulus();
    Word value = static_cast<Word>(message.indicator * factor_of(gadget, j));
    if (negative) value = q.neg(value);
    if (shape_.kind != RotationKind::ap && shape_.kind != RotationKind::automorphism) {
      row[0] = q.add(row[0], value);
      return;
    }
    // X^N = -1. The place is secret, so the loop visits all places.
    const Word wrapped =
        Word{0} - static_cast<Word>(message.exponent >> std::countr_zero(shape_.N) & 1);
    value = static_cast<Word>((value & ~wrapped) | (q.neg(value) & wrapped));
    for (std::uint32_t t = 0; t < shape_.N; ++t) {
      const Word here = Word{0} - static_cast<Word>(equal(t, message.exponent & (shape_.N - 1)));
      row[t] = q.add(row[t], static_cast<Word>(value & here));
    }
  }

  const RotationShape& shape_;
  std::span<const std::int32_t> lwe_, ring_;
  const math::GaussianSampler& error_;
  const math::Seed& seed_;
  std::vector<RlweEncryptor<Word>> limbs_;
};

}  // namespace

template <class Word>
WordArray RotationMethod::generate(const RotationShape& shape, std::span<const std::int32_t> lwe,
                                   std::span<const std::int32_t> ring,
                                   const math::GaussianSampler& error, const math::Seed& seed,
                                   unsigned threads,
                                   const std::function<bool(std::size_t, std::size_t)>& progress) {
  const std::size_t n = shape.n, row_words = shape.row_words(), rows = shape.row_count;
  const std::vector<std::size_t>& first = shape.first_row;
  // Not zeroed: every word is written.
  const auto out = std::make_shared_for_overwrite<Word[]>(rows * row_words);
  const Generator<Word> generator(shape, lwe, ring, error, seed);
  const std::size_t others = shape.automorphisms;
  std::atomic<std::size_t> done{0};
  const backend::Workers workers{backend::threads_or_cores(threads), [&] {
                                   return progress && !progress(std::min(done.load(), n), n);
                                 }};
  const auto part = [&](std::size_t begin, std::size_t end) {
    return std::span<Word>(out.get() + begin * row_words, (end - begin) * row_words);
  };
  backend::parallel_for(n + others, workers, [&](std::size_t i) {
    if (i < n) {
      if (first[i + 1] > first[i]) generator.step(i, first[i], part(first[i], first[i + 1]));
    } else {
      const std::size_t digits = shape.gadgets[0].digits(), begin = first[n] + (i - n) * digits;
      generator.automorphism(static_cast<unsigned>(i - n), begin, part(begin, begin + digits));
    }
    ++done;
  });
  return WordArray(out, out.get(), rows * row_words, sizeof(Word));
}

#define WHORL_INSTANTIATE(Word)                                                           \
  template WordArray RotationMethod::generate<Word>(                                      \
      const RotationShape&, std::span<const std::int32_t>, std::span<const std::int32_t>, \
      const math::GaussianSampler&, const math::Seed&, unsigned,                          \
      const std::function<bool(std::size_t, std::size_t)>&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::lattice::lwe
