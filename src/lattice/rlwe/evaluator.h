// Operations on arrays of ring-LWE ciphertexts on a server's devices. They know residues only; a
// scheme keeps plaintext modulus, scale and noise in its account.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "backend/contract/slice.h"
#include "lattice/rlwe/array.h"
#include "lattice/rlwe/plan.h"
#include "lattice/rlwe/switch_key.h"
#include "ring/base_conversion.h"
#include "ring/basis.h"
#include "ring/gadget.h"
#include "run/fleet.h"
#include "run/keys.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::lattice::rlwe {

class Key;
class Keys;

/// Whose arrays an evaluator has: of a key, under the parameters of a digest.
struct Owner {
  Digest parameters;
  KeyId key;
  bool operator==(const Owner&) const = default;
};

/// Operands must be arrays that it takes() (DeviceError), in evaluation form unless a method says
/// otherwise. Plaintexts that are stored by their period are factors only (ShapeError). They have
/// equal counts; a single ciphertext is combined with each member of the other operand. Several
/// threads may call an evaluator at once; calls that belong together are made inside
/// run::Fleet::together.
///
/// Batches lie on the fleet's devices as run::Fleet::pieces splits them. After a device has failed,
/// pieces that lie elsewhere are moved. If a device fails, the operation is repeated on the other
/// devices, if no operand is lost: the host must have the pieces that lay there, or another device
/// a copy of a single ciphertext. Otherwise the DeviceError names the lost pieces. Later calls do
/// not use the failed device.
class Evaluator : public std::enable_shared_from_this<Evaluator> {
 public:
  /// `key_bytes` will be taken on each device by keys: pieces of batches leave them this room, but
  /// the arrays of a whole batch may not. Without an owner it shares no arrays. DeviceError for
  /// devices without RNS operations.
  static std::shared_ptr<const Evaluator> make(std::shared_ptr<const run::Fleet> fleet,
                                               const AnyPlan& plan, std::size_t key_bytes = 0,
                                               const std::optional<Owner>& owner = {});
  virtual ~Evaluator() = default;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  const run::Fleet& fleet() const { return *fleet_; }
  const std::optional<Owner>& owner() const { return owner_; }
  /// Whether it takes arrays of the other: on one fleet, those of one owner are alike.
  bool shares(const Evaluator& other) const {
    return this == &other || (fleet_ == other.fleet_ && owner_ && owner_ == other.owner_);
  }
  /// The same of an array. One of a single part is a plaintext, which has no key: those of other
  /// keys are taken too.
  bool takes(const Array& a) const {
    const Evaluator& other = a.evaluator();
    return shares(other) || (a.parts() == 1 && fleet_ == other.fleet_ && owner_ && other.owner_ &&
                             owner_->parameters == other.owner_->parameters);
  }
  std::uint32_t N() const { return N_; }
  /// The most arrays of each kind that masked_tensors takes, one for each bit of a mask.
  static constexpr std::size_t most_masked = 16;
  /// The first `limbs` primes of the chain; ParameterError for none, or more than there are.
  ring::Basis level(unsigned limbs) const;
  ring::Basis special() const { return ring::Basis::range(limbs_, special_); }
  /// The most ciphertexts that a device multiplies at once; larger batches are cut.
  std::size_t most() const { return most_; }
  /// The same of an operation that takes so many rows of N words for a ciphertext.
  std::size_t most(std::size_t rows) const {
    return std::clamp<std::size_t>(most_ * product_rows_ / rows, 1, most_);
  }
  /// Rows that a linear map takes for a ciphertext, over `basis` and the special primes of
  /// `layout`: digits, images of baby steps that are kept, the first sum, and for each of `giants`
  /// giant steps that are made at once its sum, what is taken apart, and digits. Two more are for a
  /// piece of the operand; where pieces do not fit together, the whole batch is copied once.
  static std::size_t rows_of_map(const ring::KeyLayout& layout, const ring::Basis& basis,
                                 std::size_t babies, std::size_t giants) {
    const std::size_t digits = layout.digits.size(), rows = (basis | layout.special).size();
    return (digits + 2 * babies + 4 + giants * (digits + 3)) * rows;
  }

  // ---- to and from the host

  /// Residues (parts, basis, count, N), or with log_repeats of plaintexts that are factors only,
  /// (basis, count, N >> log_repeats): the values of polynomials in X^(2^log_repeats), which are
  /// those of the smaller ring (ring::RnsPlan::in_ring). ShapeError for another number or width of
  /// words, RangeError names residue, row and prime of one that is not below its prime.
  virtual Array upload(const WordArray& words, const Shape& shape) const = 0;
  /// Polynomials (count, N) of small integers, as plaintexts over `basis`.
  Array lift(std::span<const std::int64_t> polynomials, const ring::Basis& basis) const {
    return lifted(polynomials, basis, 0);
  }
  /// One polynomial as a plaintext that is multiplied with and never added: for products, sums of
  /// them and linear maps. If it is one in X^(2^k), k >= 2, it is stored by its period: N/2^k words
  /// for each prime.
  Array lift_by_period(std::span<const std::int64_t> polynomial, const ring::Basis& basis) const;
  /// Polynomials (count, N) of real numbers, times `scale`, rounded on the devices to integers
  /// (backend::RnsOps::round): as plaintexts over `basis`. scale·|x| must be below 2^63.
  Array lift(std::span<const double> polynomials, double scale, const ring::Basis& basis) const {
    return rounded(polynomials, scale, basis);
  }
  /// The same of the real polynomials whose values at zeta^(5^j), zeta = exp(i·pi/N), are those of
  /// `values` (count, period), repeated with that period: a power of two up to N/2. They are made
  /// on the devices (backend::FftOps::interpolate, which says whose bits are the same).
  /// |scale·value| must be below 2^62.
  Array interpolate(std::span<const std::complex<double>> values, std::size_t period, double scale,
                    const ring::Basis& basis) const;
  /// Interpolates polynomials of values (count, period) as lift_by_period does, each to an array of
  /// its own, in one pass: the period is a power of two up to N/2, and the least one that all have
  /// counts. Those of one call share memory, which is free when all are gone.
  std::vector<Array> interpolate_by_period(std::span<const std::complex<double>> values,
                                           std::size_t period, double scale,
                                           const ring::Basis& basis) const;
  virtual WordArray download(const Array& a) const = 0;
  /// Whether a part of the array lay only on devices that have failed.
  virtual bool is_lost(const Array& a) const = 0;

  // ---- value by value, in either form

  /// Operands have equal basis and form. If one has more parts, these are copied (sub: negated, if
  /// they are the second operand's).
  Array add(const Array& a, const Array& b) const { return add_or_sub(a, b, false); }
  Array sub(const Array& a, const Array& b) const { return add_or_sub(a, b, true); }
  virtual Array negate(const Array& a) const = 0;
  virtual Array scale(const Array& a, std::int64_t by) const = 0;
  /// `by` has a residue modulo each prime of the basis.
  virtual Array scale(const Array& a, std::span<const std::uint64_t> by) const = 0;
  /// sum_i weights_i·arrays_i over `basis`. Every array has these primes and perhaps more, whose
  /// residues are not read: it is restricted. Parts and forms are equal. Weights are residues
  /// modulo each prime of `basis`. So is `constant`, if there is one: it is added to part 0, which
  /// must be in evaluation form.
  virtual Array combination(std::span<const Array> arrays,
                            std::span<const std::vector<std::uint64_t>> weights,
                            std::span<const std::uint64_t> constant,
                            const ring::Basis& basis) const = 0;
  Array combination(std::span<const Array> arrays,
                    std::span<const std::vector<std::uint64_t>> weights,
                    const ring::Basis& basis) const {
    return combination(arrays, weights, {}, basis);
  }
  /// A matrix W (M, K) times ciphertexts (K, B), in this order: (M, B) of them, sum_k W_jk·a_k. The
  /// numbers of W, row by row, are multiplied by `scale` and rounded (backend::RnsOps::round);
  /// scale·|w| must be below 2^63. `constants` (M, primes) are residues modulo each prime that are
  /// added to part 0 of row j, which must be in evaluation form; or there are none.
  virtual Array weighted_sums(const Array& a, std::span<const double> weights, double scale,
                              std::size_t inputs,
                              std::span<const std::uint64_t> constants) const = 0;
  /// Operations with plaintexts, which are arrays of one part over the primes of `a` and perhaps
  /// more.
  Array add_plain(const Array& a, const Array& m) const { return add_or_sub_plain(a, m, false); }
  Array sub_plain(const Array& a, const Array& m) const { return add_or_sub_plain(a, m, true); }

  // ---- between forms, counts and primes

  virtual Array transform(const Array& a, Form form) const = 0;
  /// Those at `indices`, in this order; ShapeError names an index that is not below the count.
  virtual Array take(const Array& a, std::span<const std::uint32_t> indices) const = 0;
  /// One batch of all in sequence, of equal parts, basis and form.
  virtual Array join(std::span<const Array> arrays) const = 0;
  /// One batch of the first of each array, the second of each, …, of equal counts too. On several
  /// devices those that stand together mostly lie on one.
  virtual Array interleave(std::span<const Array> arrays) const = 0;
  /// Parts first … first + count - 1. The result is no copy: it holds the memory of all parts.
  virtual Array parts(const Array& a, unsigned first, unsigned count) const = 0;
  /// The same residues modulo fewer primes.
  virtual Array restrict(const Array& a, const ring::Basis& basis) const = 0;
  /// backend::RnsOps::divide: exact division by the primes that go, to a multiple of t, extension
  /// to those that come.
  virtual Array divide(const Array& a, const ring::Basis& to, std::uint64_t t) const = 0;
  /// ModRaise: the centred representative, modulo more primes.
  virtual Array extend(const Array& a, const ring::Basis& to, ring::Lift lift) const = 0;
  /// Every part at X^g, g odd and below 2N (ParameterError), without a key: of a ciphertext, one
  /// under s(X^g).
  virtual Array substitute(const Array& a, std::uint32_t g) const = 0;
  /// The signed digits of every part, of an array over one prime (ShapeError), which is the
  /// gadget's modulus (ParameterError): backend::RnsOps::decompose. Part p·digits + j of the result
  /// is digit j of part p, over the same prime. For a ciphertext it takes (digits + 2)·parts rows.
  virtual Array gadget_digits(const Array& a, const ring::Gadget& gadget) const = 0;

  // ---- products

  virtual Array multiply_plain(const Array& a, const Array& m) const = 0;
  /// sum_i plains_i·arrays_i over `basis`, in one pass. Arrays and plaintexts have these primes and
  /// perhaps more, whose residues are not read. The arrays have equal parts. Singles are not
  /// copied, neither of arrays nor of plaintexts.
  virtual Array sum_of_products(std::span<const Array> arrays, std::span<const Array> plains,
                                const ring::Basis& basis) const = 0;
  /// Writes polynomials `which` of piece number `piece` of a batch of B: (which, basis, B, N) in
  /// coefficient form. Its work is enqueued, on the queue of the piece's lane.
  using Words = std::variant<backend::Slice<std::uint32_t>, backend::Slice<std::uint64_t>>;
  using Writer = std::function<void(std::size_t piece, const backend::Queue& queue,
                                    run::Range which, const Words& out)>;
  /// sum_k plains[p][k]·x_k for each p, in an array of as many parts over `basis`. The x_k, `count`
  /// polynomials each, are made where they are multiplied, some at a time: `writer` says how for
  /// the pieces of the batch, and is called again where these become others. Plaintexts are single.
  virtual Array sums_of_made_products(
      std::size_t count, const ring::Basis& basis,
      const std::function<Writer(std::span<const run::Piece> pieces)>& writer,
      std::span<const std::vector<Array>> plains) const = 0;
  /// What is done to a product in the same pass: it is doubled, a constant is added (a residue for
  /// each prime, in order, or none), and an array, over its basis, of its count and no more parts.
  struct ProductEnd {
    bool doubled = false;
    std::span<const std::uint64_t> constant = {};
    const Array* added = nullptr;
  };
  /// The product of ciphertexts as polynomials in the secret; both have one basis.
  Array tensor(const Array& a, const Array& b) const { return tensor(a, b, {}); }
  virtual Array tensor(const Array& a, const Array& b, const ProductEnd& end) const = 0;

  /// The products of `high` with sums of `low`, added up: result j is sum_h tensor(high_h, the sum
  /// of those low_l whose bit l is set in mask (j, h)). There are masks (results, H), and 1 …
  /// most_masked arrays of each, of two parts and one count.
  virtual std::vector<Array> masked_tensors(std::span<const Array> high, std::span<const Array> low,
                                            std::span<const std::uint16_t> masks) const = 0;

  // ---- key switching; divisions leave a multiple of t

  virtual std::shared_ptr<const Key> prepare(const SwitchKeyData& data,
                                             std::shared_ptr<run::KeyBudget> budget) const = 0;
  /// Decomposes part `part` of `a` for keys of that layout. The result has one part for each digit
  /// of a's basis, over this basis and the special primes of the layout.
  virtual Array digits(const Array& a, unsigned part, const ring::KeyLayout& layout) const = 0;
  /// sum_d digits_d(X^g)·key_d: two parts over the digits' basis.
  virtual Array inner_product(const Array& digits, const Key& key, std::uint32_t g) const = 0;
  /// c_0 + c_1·s' to two parts under s, of a key from s' = s(X^g)^power: the parts at X^(key.g()).
  virtual Array key_switch(const Array& a, const Key& key, std::uint64_t t) const = 0;
  /// Brings `a` to two parts, by the keys of s^2 … s^(parts - 1).
  virtual Array relinearise(const Array& a, const Keys& keys, std::uint64_t t) const = 0;
  /// The same over the primes of `to`, which may drop some of a's: then relinearisation and
  /// rescaling are one division, also of more than three parts. All keys have one layout.
  virtual Array relinearise(const Array& a, const Keys& keys, const ring::Basis& to,
                            std::uint64_t t) const = 0;
  /// relinearise(tensor(a, b, end), keys, to, t): of two ciphertexts of two parts, and nothing to
  /// add, without the product in between.
  virtual Array relinearised_product(const Array& a, const Array& b, const ProductEnd& end,
                                     const Keys& keys, const ring::Basis& to,
                                     std::uint64_t t) const = 0;
  /// a(X^g) for each g, of two parts, decomposed once (hoisted); g = 1 is `a` itself.
  virtual std::vector<Array> automorphisms(const Array& a, std::span<const std::uint32_t> gs,
                                           const Keys& keys, std::uint64_t t) const = 0;
  /// A linear map in baby and giant steps, automorphisms X -> X^g both (Halevi, Shoup, CRYPTO 2018,
  /// §4).
  struct LinearMap {
    /// The g of the steps; 0 means that no plaintext uses this step.
    std::vector<std::uint32_t> babies;
    std::vector<std::uint32_t> giants = {1};
    /// An empty array stands for zeros. At least one array is not empty.
    std::function<Array(std::size_t giant_step, std::size_t baby)> plain;
  };
  /// sum_i giant_i( sum_b plain(i, b)·baby_b(a) ), divided to the primes of `to`, which may drop
  /// some of a's: then the map and a rescaling are one division. Every giant step but g = 1 has a
  /// key of its own: none waits for another, and several are made at once. Plaintexts are over the
  /// special primes too: sums are accumulated over all primes, and a giant step divides only the
  /// part that it decomposes (double hoisting: Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux,
  /// EUROCRYPT 2021, algorithm 6). All keys have one layout.
  Array linear_map(const Array& a, const LinearMap& map, const Keys& keys, const ring::Basis& to,
                   std::uint64_t t) const {
    return linear_maps(a, std::span(&map, 1), keys, to, t)[0];
  }
  /// Several of them with the same baby steps, which are made once.
  virtual std::vector<Array> linear_maps(const Array& a, std::span<const LinearMap> maps,
                                         const Keys& keys, const ring::Basis& to,
                                         std::uint64_t t) const = 0;

 protected:
  template <class Word>
  Evaluator(std::shared_ptr<const run::Fleet> fleet, const ring::RnsPlan<Word>& plan,
            const std::optional<Owner>& owner)
      : Evaluator(std::move(fleet), plan.N(), plan.limbs(), plan.special()) {
    owner_ = owner;
  }
  Evaluator(std::shared_ptr<const run::Fleet> fleet, std::uint32_t N, unsigned limbs,
            unsigned special)
      : fleet_(std::move(fleet)), N_(N), limbs_(limbs), special_(special) {}

  /// Polynomials in X^(2^log_repeats).
  virtual Array lifted(std::span<const std::int64_t> polynomials, const ring::Basis& basis,
                       unsigned log_repeats) const = 0;
  virtual Array rounded(std::span<const double> polynomials, double scale,
                        const ring::Basis& basis) const = 0;
  /// (count, period) values; polynomials in X^(N/(2·period)).
  virtual Array interpolated(std::span<const std::complex<double>> values, std::size_t period,
                             double scale, const ring::Basis& basis) const = 0;
  virtual std::vector<Array> interpolated_each(std::span<const std::complex<double>> values,
                                               std::size_t period, double scale,
                                               const ring::Basis& basis,
                                               unsigned log_repeats) const = 0;
  virtual Array add_or_sub(const Array& a, const Array& b, bool subtract) const = 0;
  virtual Array add_or_sub_plain(const Array& a, const Array& m, bool subtract) const = 0;

  // What an implementation sees of arrays.
  using Storage = Array::Storage;
  static Array wrap(std::shared_ptr<const Storage> storage) { return Array(std::move(storage)); }
  static const std::shared_ptr<const Storage>& storage_of(const Array& a) { return a.storage_; }

  // Checks of operands, in words of the caller's.
  /// ShapeError for an empty array, DeviceError for one that it does not take.
  void check_own(const char* what, const Array& a) const;
  /// ShapeError too for one that is stored by its period.
  void check(const char* what, const Array& a) const;
  void check_evaluation(const char* what, const Array& a) const;
  /// ShapeError unless there are arrays, and one of the others for each, which the names say.
  static void check_each(const char* what, std::size_t arrays, std::size_t others,
                         const char* name_of_others, const char* name_of_one);
  /// Checks operands of weighted_sums; returns B and M.
  std::pair<std::size_t, std::size_t> check_sums(const Array& a, std::size_t weights,
                                                 std::size_t inputs, std::size_t constants) const;
  /// Checks operands of masked_tensors; returns the number of results.
  std::size_t check_masked(std::span<const Array> high, std::span<const Array> low,
                           std::span<const std::uint16_t> masks) const;
  static void check_basis(const char* what, const ring::Basis& got, const ring::Basis& want);
  /// The larger of equal counts, or of which one is 1.
  static std::size_t common_count(const char* what, const Array& a, const Array& b);

  std::size_t most_ = 1;
  std::size_t product_rows_ = 1;  ///< that a product takes for a ciphertext

 private:
  std::shared_ptr<const run::Fleet> fleet_;
  std::uint32_t N_;
  unsigned limbs_, special_;
  std::optional<Owner> owner_;
};

}  // namespace whorl::lattice::rlwe
