// The steps of a CKKS bootstrap, each for a whole batch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "circuits/ckks/bit_fit.h"
#include "circuits/ckks/polynomials.h"
#include "circuits/ckks/table_fit.h"
#include "circuits/common/encoded.h"
#include "lattice/rlwe/evaluator.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/server_state.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/linear_maps.h"

namespace whorl::ckks {

struct EncodedBootstrap::Storage {
  static constexpr const char* missing = "a bootstrap that is not encoded was given";

  std::uint64_t slots = 1;
  std::vector<EncodedMap> slots_to_coeffs, coeffs_to_slots;
  /// With coefficients_last this is the first map of SlotsToCoeffs for real values, of which half
  /// of the coefficients serves.
  std::vector<EncodedMap> real_slots_to_coeffs;
  /// The constant 1, over all primes of keys; empty if no images are added up.
  lattice::rlwe::Array one;
  Polynomial cosine, arcsine;
  Account::SineError error;
  /// Parameters for bits have this in place of the three above (exponential_polynomial()).
  Polynomial exponential;
  double exponential_error = 0;

  using Encoded = Access::State::Encoded;
  /// Where complex values repeat, one ciphertext of twice the slots holds their real parts and,
  /// behind them, their imaginary parts: one sine serves both. The latter must come out times i. So
  /// the cosine is multiplied by a root f of 1 and i, 2·(f·c)² is f²·(2c² + …), and after the last
  /// doubling f^(2^doublings) is there. With an arcsine the factor enters there.
  struct SideBySide {
    EncodedMap last;                  ///< map of CoeffsToSlots
    std::map<double, Encoded> turns;  ///< c·f of the numbers c that the polynomial takes
    std::vector<Encoded> less;        ///< -f², -f⁴, …, for each doubling what stands for -1
  };
  std::optional<SideBySide> side_by_side;
};

using EncodedBootstrapAccess = circuits::EncodedAccess<EncodedBootstrap>;

/// Rotations whose images are added up, in steps, for the sum of all images that agree with a
/// polynomial of N coefficients where its slots repeat. A step adds up to four images, which are
/// hoisted: two doublings in one take 3 keys in place of 2, and half the transforms.
std::vector<std::vector<std::int64_t>> trace_steps(std::uint64_t slots, std::uint64_t all);
/// The literal's bootstrap; ShapeError for a number of slots that cannot be, ParameterError without
/// bootstrapping.
const BootstrapLiteral& checked_shape(const Parameters& parameters, std::uint64_t slots);

/// A function of whole numbers, of some of the vectors; its values lie within constant ± largest,
/// and `error` is their deviation as it is stated.
struct TableTask {
  TablePolynomial polynomial;
  std::vector<std::uint32_t> vectors = {};  ///< empty: all
  double error = 0, largest = 1;
};
/// Tables that differ from lane to lane: which one of the polynomials, of 2^bits entries, each lane
/// has, in a row for all vectors or one for each. Error and `largest` are those of the worst one.
struct LaneTables {
  std::span<const TablePolynomial> polynomials;
  unsigned bits = 1;
  std::span<const std::uint32_t> which;
  double error = 0, largest = 1;
};
/// Bits as such functions, of all vectors: 1/2 - Im p of the polynomials p.
std::vector<TableTask> bit_tasks(const BitPolynomials& polynomials, double error);

/// From ModRaise to CoeffsToSlots the account knows nothing: coefficients are values plus multiples
/// of the small modulus.
class BootstrapSteps {
 public:
  /// What becomes of real and imaginary parts at the end.
  enum class Parts { joined, apart };

  BootstrapSteps(const Server& server, const EncodedBootstrapAccess::Storage& with,
                 Parts parts = Parts::joined)
      : server_(server), with_(with), parts_(parts) {}

  /// Brings what is to be refreshed to the lowest level for it and 2^6 times the scale there, so
  /// that the roundings of SlotsToCoeffs are small; with coefficients_last to level 0 and
  /// raised_by() times its scale.
  Array scale_down(const Array& x) const;
  /// The slots of such a ciphertext become coefficients; with coefficients_last it stays as it is.
  lattice::rlwe::Array slots_to_coeffs(const Array& lowest) const;
  /// Raises coefficients to all primes, under the sparse secret, for which few multiples of the
  /// modulus are added; then brings them to the ring of the vector's slots.
  lattice::rlwe::Array mod_raise(const lattice::rlwe::Array& coefficients) const;
  /// The coefficients t, divided by twice the polynomial's range, in slots; side by side with what
  /// has their imaginary parts as its real parts, where this serves. `info` is that of the values.
  lattice::rlwe::Array coeffs_to_slots(const lattice::rlwe::Array& raised,
                                       const CiphertextInfo& info) const;
  /// The angles of EvalMod: real parts of t, less cosine_center, divided by the range; of complex
  /// values the imaginary parts too: side by side, or in ciphertexts of their own, each after its
  /// real part, so that both lie on one device. `info` is that of the values.
  Array real_and_imaginary(const lattice::rlwe::Array& slots, const CiphertextInfo& info) const;
  /// All steps from slots_to_coeffs() to coeffs_to_slots(), of what scale_down() gave. `info` is
  /// that of the values. `next` is called after each.
  lattice::rlwe::Array raise(const Array& lowest, const CiphertextInfo& info,
                             const std::function<void()>& next) const;
  /// i times t divided by the range, of each vector's numbers alike, for an exponential.
  Array imaginary_angles(const lattice::rlwe::Array& slots, const CiphertextInfo& info) const;
  /// exp(2πi·t) of these.
  Array exponential(const Array& angles) const;
  /// Tables of an exponential, at Parameters::depth(); `numbers` says what vectors they are of.
  std::vector<Array> tables(const Array& exponential, const CiphertextInfo& numbers,
                            std::span<const TableTask> tasks) const;
  Array tables(const Array& exponential, const CiphertextInfo& numbers, const LaneTables& of) const;
  /// EvalMod's polynomial: a cosine of a part of the angle.
  Array cosine(const Array& angles) const;
  /// The cosine of twice the angle.
  Array double_angle(const Array& cosine) const;
  /// EvalMod but for its end: the polynomial, and all doublings but the last.
  Array eval_mod(const Array& angles) const;
  /// EvalMod's end, the last doubling, which gives sin(2πt), and the arcsine: the values at their
  /// scale. Those of real and imaginary parts are joined; without an arcsine before the last
  /// division. With coefficients_last they are the message's coefficients, and SlotsToCoeffs
  /// follows. `lowest`: what was refreshed.
  Array eval_mod_end(const Array& cosines, const CiphertextInfo& lowest) const;

 private:
  using State = Access::State;
  using Storage = EncodedBootstrapAccess::Storage;

  bool last() const { return shape_.coefficients_last != 0; }
  /// Whether real and imaginary parts of such values lie side by side.
  bool side_by_side(const CiphertextInfo& values) const {
    return with_.side_by_side && values.packing == Packing::complex && parts_ == Parts::joined;
  }
  /// Whether they do so in these angles or what was made of them.
  bool are_side_by_side(const Array& angles) const { return angles.info().length > with_.slots; }
  lattice::rlwe::Array through(lattice::rlwe::Array x, std::span<const EncodedMap> maps) const;
  lattice::rlwe::Array image(const lattice::rlwe::Array& x, std::uint32_t g) const;
  /// Switches x to another secret. MissingKeyError if the client made no key for it.
  lattice::rlwe::Array switched(const lattice::rlwe::Array& x, SwitchRole role) const;
  /// Whether these cosines, or their angles, are or will be multiplied by roots of 1 and i.
  bool turns_cosine(const Array& x) const { return are_side_by_side(x) && shape_.arcsine == 0; }
  Turned turned(const Array& x) const;
  /// The second half of the slots added to the first one.
  Array with_sum_of_halves(const Array& y) const;
  /// 2·Re w, of a size up to `largest` and with that error.
  Array twice_real(const Array& w, const CiphertextInfo& numbers, double error,
                   double largest) const;
  /// The values at their scale, at result_level().
  Array sines(const Array& cosines, const CiphertextInfo& lowest) const;

  const Server& server_;
  const EncodedBootstrapAccess::Storage& with_;
  const Parts parts_;
  const State& state_ = Access::of(server_);
  const lattice::rlwe::Evaluator& evaluator_ = *state_.evaluator;
  const Account& account_ = state_.account;
  const Parameters& p_ = state_.parameters;
  const BootstrapLiteral& shape_ = *p_.literal().bootstrap;
};

/// What check_bootstrap() throws of bits too.
void check_refresh(const Server& server, const Array& x);
/// Every second vector beside the one before it, as its imaginary part.
Array paired(const Server& server, const Array& x);
/// bootstrap() of an even number of real vectors: two of them in one complex bootstrap, which takes
/// two thirds of the time. ShapeError for an odd number, and for vectors of other slots than those
/// of the maps; ParameterError with coefficients_last.
Array bootstrap_pairs(const Server& server, const Array& x, const EncodedBootstrap& with);

/// The bits of numbers: vectors of (Σ_j 2^j·x_j + 1/2)/2^bits for bits x_j, stated to lie within
/// 0 … 1. Result j has the x_j of all vectors at Parameters::depth(). Its error is error_of_bits()
/// divided by `deviations`. Errors as of bootstrap(); ParameterError for more bits than the
/// parameters are made for.
std::vector<Array> bootstrap_bits(const Server& server, const Array& numbers, unsigned bits,
                                  const EncodedBootstrap& with, double deviations);
/// Tables of vectors of (m + 1/2)/2^bits by one bootstrap, whose polynomials are for as many
/// entries. Result j is that of task j, at Parameters::depth(). A multiple of 1 in a number is no
/// matter. Errors as of bootstrap().
std::vector<Array> bootstrap_tables(const Server& server, const Array& numbers,
                                    std::span<const TableTask> tasks, const EncodedBootstrap& with);
Array bootstrap_tables(const Server& server, const Array& numbers, const LaneTables& tables,
                       const EncodedBootstrap& with);
/// The bits of numbers that are coefficients at level 0 already, (Σ_j 2^j·x_j + 1/2)/2^bits of the
/// modulus: with n slots 2n of them, in the powers of X^(N/2n). Coefficient i < n comes to slot
/// bitrev(i) of vector 2c of ciphertext c, and coefficient n + i to that of vector 2c + 1. The
/// polynomials are bit_polynomials() or step_polynomial(), of no more bits than the parameters are
/// made for, and their results have that error. `length` of the slots are a vector's values.
std::vector<Array> bits_of_coefficients(const Server& server,
                                        const lattice::rlwe::Array& coefficients,
                                        const BitPolynomials& polynomials,
                                        const EncodedBootstrap& with, double error,
                                        std::uint64_t length);
/// The largest error of such a bit, where Σ_j 2^j·x_j is off by up to `given`, and errors stay
/// below so many deviations.
double error_of_bits(const Server& server, const EncodedBootstrap& with, unsigned bits,
                     double given, double deviations);
/// The same of a table of 2^bits entries, of numbers that are off by up to `given`.
double error_of_table(const Server& server, const EncodedBootstrap& with, unsigned bits,
                      const TablePolynomial& table, double given, double deviations);
/// The same of one bit by the step_polynomial() of all bits that the parameters are made for.
double error_of_step(const Server& server, const EncodedBootstrap& with, double given,
                     double deviations);

}  // namespace whorl::ckks
