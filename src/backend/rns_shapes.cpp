#include "backend/rns_shapes.h"

#include <functional>
#include <string>

#include "whorl/error.h"

namespace whorl::backend {

namespace {

/// B for an array of (rows, B, N).
std::size_t batch_of(const char* what, std::size_t size, std::size_t rows, std::uint32_t N) {
  if (rows == 0) throw ShapeError(std::string(what) + ": no part");
  if (size % (rows * N) != 0)
    throw ShapeError(std::string(what) + ": " + std::to_string(size) + " residues are not " +
                     std::to_string(rows) + " rows of a batch of polynomials of " +
                     std::to_string(N));
  return size / (rows * N);
}

void check_rows(const char* what, std::size_t size, std::size_t rows, std::size_t batch,
                std::uint32_t N) {
  if (size != rows * batch * N)
    throw ShapeError(std::string(what) + ": " + std::to_string(size) + " residues where " +
                     std::to_string(rows) + " rows of " + std::to_string(batch) +
                     " polynomials of " + std::to_string(N) + " are due");
}

template <class Word>
void check_exponent(const char* what, const ring::RnsPlan<Word>& plan, std::uint32_t g) {
  if (g % 2 == 0 || g >= 2 * plan.N())
    throw ParameterError(std::string(what) + ": g = " + std::to_string(g) +
                         " is not odd and below 2N = " + std::to_string(2 * plan.N()));
}

}  // namespace

template <class Word>
void check_special(const char* what, const ring::RnsPlan<Word>& plan) {
  if (plan.special() == 0)
    throw ParameterError(std::string(what) + ": the plan has no special primes");
}

template <class Word>
std::size_t transform_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, bool with_special,
                            std::size_t parts, std::size_t size) {
  plan.check_limbs("rns_ntt", limbs);
  return batch_of("rns_ntt", size, parts * (limbs + (with_special ? plan.special() : 0)), plan.N());
}

template <class Word>
std::size_t base_convert_batch(const ring::BaseConversion<Word>& conversion, std::uint32_t N,
                               std::size_t in, std::size_t out) {
  ring::check_ring_dimension(N);
  const std::size_t batch = batch_of("base_convert", in, conversion.from().size(), N);
  check_rows("base_convert: output", out, conversion.to().size(), batch, N);
  return batch;
}

template <class Word>
std::size_t mod_up_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t in,
                         std::size_t out) {
  plan.check_limbs("mod_up", limbs);
  check_special("mod_up", plan);
  const std::size_t batch = batch_of("mod_up", in, limbs, plan.N());
  check_rows("mod_up: output", out, plan.digits(limbs) * (limbs + plan.special()), batch, plan.N());
  return batch;
}

template <class Word>
std::size_t inner_product_batch(const ring::RnsPlan<Word>& key_plan,
                                const ring::RnsPlan<Word>& plan, unsigned limbs, std::uint32_t g,
                                std::size_t digits, std::size_t out) {
  plan.check_limbs("inner_product", limbs);
  check_special("inner_product", plan);
  if (&key_plan != &plan)
    throw ParameterError("inner_product: the key was prepared with another plan's tables");
  check_exponent("inner_product", plan, g);
  const std::size_t rows = limbs + plan.special();
  const std::size_t batch = batch_of("inner_product", digits, plan.digits(limbs) * rows, plan.N());
  check_rows("inner_product: output", out, 2 * rows, batch, plan.N());
  return batch;
}

template <class Word>
std::size_t mod_down_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t parts,
                           std::span<const Word> in, std::span<const Word> added, std::uint32_t g,
                           std::span<const Word> out) {
  plan.check_limbs("mod_down", limbs);
  check_special("mod_down", plan);
  check_exponent("mod_down", plan, g);
  const std::size_t batch =
      batch_of("mod_down", in.size(), parts * (limbs + plan.special()), plan.N());
  check_rows("mod_down: output", out.size(), parts * limbs, batch, plan.N());
  const std::size_t part = limbs * batch * plan.N();
  if (added.size() > out.size() || (part > 0 && added.size() % part != 0))
    throw ShapeError("mod_down: " + std::to_string(added.size()) +
                     " residues to be added are not some of " + std::to_string(parts) +
                     " parts of " + std::to_string(part));
  const bool apart = added.empty() ||
                     std::less_equal<>()(added.data() + added.size(), out.data()) ||
                     std::less_equal<>()(out.data() + out.size(), added.data());
  if (!apart && (g != 1 || added.data() != out.data()))
    throw ShapeError("mod_down: what is to be added lies in the output, " +
                     (g == 1 ? std::string("elsewhere than where it is added")
                             : "and g = " + std::to_string(g) + " is not 1"));
  return batch;
}

template <class Word>
std::size_t rescale_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t parts,
                          std::size_t in, std::size_t out) {
  plan.check_limbs("rescale", limbs);
  if (limbs == 1) throw ParameterError("rescale: one limb is left, which cannot be dropped");
  const std::size_t batch = batch_of("rescale", in, parts * limbs, plan.N());
  check_rows("rescale: output", out, parts * (limbs - 1), batch, plan.N());
  return batch;
}

template <class Word>
std::size_t tensor_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t a_parts,
                         std::size_t a, std::size_t b_parts, std::size_t b, std::size_t out) {
  plan.check_limbs("tensor", limbs);
  const std::size_t batch = batch_of("tensor: a", a, a_parts * limbs, plan.N());
  if (b_parts == 0) throw ShapeError("tensor: no part");
  if (b != b_parts * limbs * plan.N()) check_rows("tensor: b", b, b_parts * limbs, batch, plan.N());
  check_rows("tensor: output", out, (a_parts + b_parts - 1) * limbs, batch, plan.N());
  return batch;
}

TakeBatches take_batches(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
                         std::size_t in, std::size_t first, std::size_t out) {
  ring::check_ring_dimension(N);
  const TakeBatches batches{batch_of("take", in, rows, N), batch_of("take: output", out, rows, N)};
  if (first > batches.out || index.size() > batches.out - first)
    throw ShapeError("take: " + std::to_string(index.size()) + " indices from place " +
                     std::to_string(first) + " on do not fit an output of " +
                     std::to_string(batches.out));
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] >= batches.in)
      throw ShapeError("take: index " + std::to_string(index[i]) + " at place " +
                       std::to_string(i) + " is out of range for a batch of " +
                       std::to_string(batches.in));
  return batches;
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template void check_special(const char*, const ring::RnsPlan<Word>&);                            \
  template std::size_t transform_batch(const ring::RnsPlan<Word>&, unsigned, bool, std::size_t,    \
                                       std::size_t);                                               \
  template std::size_t base_convert_batch(const ring::BaseConversion<Word>&, std::uint32_t,        \
                                          std::size_t, std::size_t);                               \
  template std::size_t mod_up_batch(const ring::RnsPlan<Word>&, unsigned, std::size_t,             \
                                    std::size_t);                                                  \
  template std::size_t inner_product_batch(const ring::RnsPlan<Word>&, const ring::RnsPlan<Word>&, \
                                           unsigned, std::uint32_t, std::size_t, std::size_t);     \
  template std::size_t mod_down_batch(const ring::RnsPlan<Word>&, unsigned, std::size_t,           \
                                      std::span<const Word>, std::span<const Word>, std::uint32_t, \
                                      std::span<const Word>);                                      \
  template std::size_t rescale_batch(const ring::RnsPlan<Word>&, unsigned, std::size_t,            \
                                     std::size_t, std::size_t);                                    \
  template std::size_t tensor_batch(const ring::RnsPlan<Word>&, unsigned, std::size_t,             \
                                    std::size_t, std::size_t, std::size_t, std::size_t);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend
