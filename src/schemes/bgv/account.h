// The public facts about BGV ciphertexts besides their residues: factor, noise, level. There is one
// function for each operation. It says what must be done to the operands first, and gives the facts
// about the result. Only the parameters, the encoder, the noise model and this account know the
// plaintext modulus t; client and server ask the account for what encryptions, divisions and phases
// need. docs/bgv-noise.md has the reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "math/modulus.h"
#include "schemes/bgv/noise.h"
#include "schemes/ring/account.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::bgv {

/// What the evaluator must do to an operand first, in this order: multiply it by `before`, drop its
/// last primes one by one until `limbs` are left, multiply it by `after`.
struct Preparation {
  unsigned limbs = 0;
  std::int64_t before = 1, after = 1;
};

class Account : public PreparedResults<CiphertextInfo, Preparation> {
 public:
  using Info = CiphertextInfo;

  explicit Account(const Parameters& parameters);

  /// Checks ciphertexts from outside: RangeError for parts, limbs, count, factor or noise that none
  /// can have, a factor without an inverse among them.
  static void check(const Parameters& parameters, const Info& a);

  /// What errors, and the remainders of divisions by primes, must be multiples of, so that messages
  /// stay; phases modulo this are messages times their factor. It is t.
  std::uint64_t divisor() const { return t_.value(); }
  /// What phases of a factor are multiplied by to be messages, modulo divisor().
  std::uint64_t inverse(std::uint64_t factor) const { return t_.inverse(factor); }
  double budget(const Info& a) const { return noise_.budget(a.noise, a.limbs); }
  /// Least budget on the way of a circuit that needs just what is required, from public encryptions
  /// on: NoiseModel::rated_budget's, with the products with plaintexts wherever they cost most.
  /// Negative where it does not last.
  double rated_budget(const Requirements& requirements) const;
  /// NoiseError if the bound leaves no budget: messages may be wrong.
  void check_decrypts(const Info& a) const;

  /// Fresh encryptions under the secret key, and under the public one.
  Info fresh_secret(Packing packing, std::size_t count, std::uint64_t length = 0) const;
  Info fresh_public(Packing packing, std::size_t count, std::uint64_t length = 0) const;

  /// Sum or difference, of equal packing.
  Two add(const Info& a, const Info& b) const;
  /// Product of a.parts + b.parts - 1 parts; ShapeError beyond the most.
  Two multiply(const Info& a, const Info& b) const;
  /// Takes arrays of equal packing and parts. The result is at the level of the lowest, with one
  /// factor, of those that cost the noisiest the least.
  Many concatenate(std::span<const Info> arrays) const;
  One mod_switch(const Info& a, unsigned limbs) const;
  /// Drops all limbs but the fewest that leave `spare_bits`.
  One shrink(const Info& a, double spare_bits) const;

  Info relinearise(const Info& a) const;
  Info automorphism(const Info& a) const;
  /// An automorphism that moves values from slot to slot: all N of them count from then on.
  Info rotate(const Info& a) const;
  /// The same and an integer, added to every value; a constant polynomial of it has that norm.
  Info add_constant(const Info& a, double norm) const;
  /// A sum of rotations times plaintexts, in giant steps of `babies` baby steps each (Halevi and
  /// Shoup, CRYPTO 2018, §4). `norms` has log2 of the canonical norm of each plaintext, none for
  /// zeros, and one plaintext at least. A step's error counts as that of an automorphism, which has
  /// a rounding of both parts; hoisted twice, a baby step has none, a giant step one of one part,
  /// and the sum one of both parts at the end. Results have values in all slots.
  Info linear_map(const Info& a, std::span<const std::optional<double>> norms,
                  std::size_t babies) const;
  /// The message times an integer, which stands for itself.
  Info scale(const Info& a, std::int64_t by) const { return scaled(a, by, a.factor); }
  /// Batches of the host's memory as one: they have one packing, factor and number of parts and
  /// limbs. ShapeError as join_vectors.
  static Info join_batches(std::span<const Info> batches, std::uint32_t N);
  /// Returns the norm of a plaintext of which nothing is known.
  double largest_norm() const { return noise_.plaintext(); }
  /// What is known of plaintexts: how many, log2 of their canonical norm, values of each vector.
  struct Plain {
    std::size_t count = 1;
    double norm = 0;
    std::uint64_t length = 0;
  };
  // ---- vectors: `length` values, and zeros behind them wherever these would count

  /// ShapeError where vectors over several ciphertexts meet vectors of another length.
  void check_lengths(const Info& a, const Info& b) const;
  void check_lengths(const Info& a, const Plain& m) const { check_lengths(a, of_plain(a, m)); }
  /// Whether zeros lie behind the values. An integer is added to the values alone then.
  bool has_zeros(const Info& a) const { return is_short(a) && a.rest == Rest::zeros; }
  /// Whether operations left something else there, so that a product with ones must come before
  /// values move between slots, or are summed.
  bool has_remains(const Info& a) const { return is_short(a) && a.rest == Rest::anything; }
  /// Whether it must come before `a` meets `b`, whose vectors are longer.
  bool needs_zeros(const Info& a, const Info& b) const;
  bool needs_zeros(const Info& a, const Plain& m) const { return needs_zeros(a, of_plain(a, m)); }
  /// The first `length` values of each vector, after a product with so many ones.
  Info masked(const Info& a, std::uint64_t length) const {
    return with_vectors(a, length, Rest::zeros);
  }
  /// Vectors of `length` values, each of which is a vector times a matrix; `leaves_zeros`: whether
  /// zeros are behind them.
  Info matrix_product(const Info& a, std::uint64_t length, bool leaves_zeros) const {
    return with_vectors(a, length, leaves_zeros ? Rest::zeros : Rest::anything);
  }
  /// The sum of each vector's values, which every slot holds.
  Info summed(const Info& a) const { return with_vectors(a, 1, Rest::same); }
  /// Ciphertext `number` of each vector, of those that a vector takes.
  Info part(const Info& a, std::size_t number) const;
  /// Sets length and rest of one batch of all. ShapeError as check_lengths; where one of them
  /// needs_zeros; and where one value in all slots is not there for each ciphertext of a vector.
  static void join_vectors(Info& out, std::span<const Info> all, std::uint32_t N);

  /// Sums and products with plaintexts: see with_factor().
  Info add_plain(const Info& a, const Plain& m) const;
  Info multiply_plain(const Info& a, const Plain& m) const;

  /// `value` modulo t, centred.
  std::int64_t residue(std::int64_t value) const { return t_.centred(t_.from_signed(value)); }
  /// Plaintext coefficients as they are added to ciphertexts of that factor. Encoding with it, and
  /// not multiplying by it, keeps them below t/2.
  std::vector<std::int64_t> with_factor(std::vector<std::int64_t> coefficients,
                                        std::uint64_t factor) const;

 private:
  /// Units alpha, beta with alpha·a = beta·b mod t, and the noise of alpha·x + beta·y.
  struct Factors {
    std::int64_t alpha, beta;
    double noise;
  };
  /// The same slots as vectors of `length` values (0 or N: all slots) with that behind them.
  Info with_vectors(Info a, std::uint64_t length, Rest rest) const;
  /// Whether slots are left behind the values.
  bool is_short(const Info& a) const {
    return a.packing == Packing::slots && a.rest != Rest::same && a.length % parameters_.N() != 0;
  }
  enum class Operation { sum, product };
  /// Sets the count of a sum or a product, and the vectors that its slots hold. ShapeError where
  /// zeros are needed first.
  void join(Info& out, const Info& a, const Info& b, Operation operation) const;
  Info of_plain(const Info& a, const Plain& m) const;
  /// Pairs alpha, beta that serve, whatever the noise is.
  std::vector<std::pair<std::int64_t, std::int64_t>> common_factors(std::uint64_t a,
                                                                    std::uint64_t b) const;
  Factors least_factors(std::uint64_t a, std::uint64_t b, double noise_a, double noise_b) const;
  Info scaled(Info a, std::int64_t by, std::uint64_t factor) const;
  /// Drops the last limb.
  Info dropped(Info a) const;
  Info dropped_to(Info a, unsigned limbs) const;
  /// An operand, how it is prepared, and what is known of it then.
  struct Operand {
    Preparation by;
    Info now;
  };
  Operand prepared(Info a, const Preparation& by) const;
  double noise_at(double noise, const Info& a, unsigned limbs) const;
  /// Returns the factor of a ciphertext that loses its limbs from `limbs` down to `left`.
  std::uint64_t factor_after(std::uint64_t factor, unsigned limbs, unsigned left) const;
  /// Limbs that `a` is better multiplied with: those of the schedule while it keeps to it.
  unsigned limbs_to_multiply(const Info& a) const;
  /// aligned() gives both the same limbs and factor, reduced() the limbs that the product is to
  /// have.
  std::pair<Operand, Operand> aligned(const Info& a, const Info& b) const;
  std::pair<Operand, Operand> reduced(const Info& a, const Info& b) const;

  Parameters parameters_;
  NoiseModel noise_;
  std::vector<NoiseModel::Level> schedule_;
  math::Modulus<std::uint64_t> t_;
  std::vector<std::uint64_t> inverse_primes_;  ///< of the chain, modulo t
};

/// What the sizes of a plaintext's coefficients add up to bounds its canonical norm: log2 of it.
double log2_norm(std::span<const std::int64_t> coefficients);

}  // namespace whorl::bgv
