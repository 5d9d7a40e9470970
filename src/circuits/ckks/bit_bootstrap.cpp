// Bootstrapping of whole numbers: their bits, or functions of them, come out clean (docs/lanes.md,
// docs/lanes-integers.md).
#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/ckks/bit_fit.h"
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/harmonics.h"
#include "circuits/ckks/table_fit.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

Array BootstrapSteps::imaginary_angles(const rlwe::Array& slots, const CiphertextInfo& info) const {
  const auto parts = [&](std::size_t count, rlwe::Array t) {
    return State::array(account_.coeffs_to_slots(info, count), std::move(t));
  };
  const rlwe::Array conjugate = image(slots, conjugation_exponent(p_));
  const Array real = server_.multiply_by_i(parts(info.count, evaluator_.add(slots, conjugate)));
  if (info.packing == Packing::real) return real;
  // z - conj(z) is 2i times the imaginary part.
  const std::array<rlwe::Array, 2> both{State::residues(real), evaluator_.sub(slots, conjugate)};
  return parts(2 * info.count, evaluator_.interleave(both));
}

Array BootstrapSteps::exponential(const Array& angles) const {
  Array z = server_.with_bound(evaluate_imaginary(server_, angles, with_.exponential), 1);
  z = server_.lower(z, doubled_level(p_) + shape_.doublings);
  for (unsigned d = 0; d < shape_.doublings; ++d) z = server_.with_bound(server_.square(z), 1);
  return z;
}

Array BootstrapSteps::twice_real(const Array& w, const CiphertextInfo& numbers, double error,
                                 double largest) const {
  const rlwe::Array& x = State::residues(w);
  return State::array(account_.refreshed_message(numbers, x.count(), error, largest),
                      evaluator_.add(x, image(x, conjugation_exponent(p_))));
}

std::vector<Array> BootstrapSteps::tables(const Array& z, const CiphertextInfo& numbers,
                                          std::span<const TableTask> tasks) const {
  // Tables of the same vectors share the powers of z.
  std::map<std::vector<std::uint32_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < tasks.size(); ++i) groups[tasks[i].vectors].push_back(i);
  std::vector<Array> out(tasks.size());
  for (const auto& [vectors, members] : groups) {
    // Re A + Im B = w + conj(w) of w = A/2 - i·B/2.
    std::vector<std::vector<double>> halves;
    const auto add = [&](std::vector<double> of_task, double by) {
      for (double& c : of_task) c *= by;
      if (!of_task.empty()) halves.push_back(std::move(of_task));
    };
    for (const std::size_t i : members) {
      add(tasks[i].polynomial.cosines, 0.5);
      add(tasks[i].polynomial.sines, -0.5);
    }
    const Array own = vectors.empty() ? z : server_.take(z, vectors);
    const std::vector<Array> evaluated =
        halves.empty() ? std::vector<Array>{} : evaluate_harmonics(server_, own, halves);
    std::size_t used = 0;
    for (const std::size_t i : members) {
      const TablePolynomial& table = tasks[i].polynomial;
      std::optional<Array> w;
      if (!table.cosines.empty()) w = evaluated[used++];
      if (!table.sines.empty()) {
        const Array turned = server_.multiply_by_i(evaluated[used++]);
        w = w ? server_.add(*w, turned) : turned;
      }
      if (!w) w = server_.multiply_integer(own, 0);
      const Array values =
          twice_real(server_.lower(*w, p_.depth()), numbers, tasks[i].error, tasks[i].largest);
      out[i] = server_.add_scalar(values, table.constant);
    }
  }
  return out;
}

// Re A + Im B = w + conj(w) of the sum w of (a_n/2 - i·b_n/2)·z^n. What plaintexts of these round
// is less than an eighth of what bit_noise() counts for sums of products.
Array BootstrapSteps::tables(const Array& z, const CiphertextInfo& numbers,
                             const LaneTables& of) const {
  const std::size_t powers = (std::size_t{1} << of.bits) - 1, length = numbers.length;
  std::vector<std::vector<std::complex<double>>> rows(
      powers, std::vector<std::complex<double>>(of.which.size()));
  std::vector<std::complex<double>> constants(of.which.size());
  for (std::size_t i = 0; i < of.which.size(); ++i) {
    const TablePolynomial& table = of.polynomials[of.which[i]];
    constants[i] = table.constant;
    for (std::size_t n = 1; n <= powers; ++n)
      rows[n - 1][i] = {n < table.cosines.size() ? table.cosines[n] / 2 : 0,
                        n < table.sines.size() ? -table.sines[n] / 2 : 0};
  }
  const Array w = evaluate_rows(server_, z, rows, length);
  return server_.add_plain(twice_real(server_.lower(w, p_.depth()), numbers, of.error, of.largest),
                           constants, length);
}

std::vector<TableTask> bit_tasks(const BitPolynomials& polynomials, double error) {
  std::vector<TableTask> out;
  for (const std::vector<double>& p : polynomials) {
    TableTask task;
    task.error = error;
    task.largest = task.polynomial.constant = 0.5;
    for (const double c : p) task.polynomial.sines.push_back(-c);
    out.push_back(std::move(task));
  }
  return out;
}

namespace {

using Next = std::function<void()>;

Next asking(const Access::State& state) {
  return [&state, done = std::size_t{0}]() mutable {
    state.fleet->stop_if_asked(++done, 6, "steps of a bootstrap");
  };
}

/// exp(2πi·t) of real vectors t, that of vector i in ciphertext i.
Array exponentials(const Server& server, const Array& numbers,
                   const EncodedBootstrapAccess::Storage& of) {
  const CiphertextInfo& info = numbers.info();
  const BootstrapSteps steps(server, of, BootstrapSteps::Parts::apart);
  // Two vectors in each ciphertext; the last one alone if their number is odd.
  const std::size_t pairs = info.count / 2 * 2;
  std::vector<Array> out;
  for (const auto& [first, end] :
       {std::pair<std::size_t, std::size_t>{0, pairs}, {pairs, info.count}}) {
    if (first == end) continue;
    std::vector<std::uint32_t> indices(end - first);
    std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(first));
    const Array part = end - first == info.count ? numbers : server.take(numbers, indices);
    const Array x = first < pairs ? paired(server, part) : part;
    const Next next = asking(Access::of(server));
    const Array lowest = steps.scale_down(x);
    next();
    const rlwe::Array slots = steps.raise(lowest, x.info(), next);
    // 5. EvalMod of the real and the imaginary parts.
    out.push_back(steps.exponential(steps.imaginary_angles(slots, x.info())));
    next();
  }
  return out.size() == 1 ? out[0] : server.concatenate(out);
}

/// ParameterError for more bits than the parameters are made for.
void check_bits(const Server& server, unsigned bits) {
  const unsigned most = server.parameters().literal().bootstrap->bits;
  if (bits < 1 || bits > most)
    throw ParameterError("bootstrap of bits: " + std::to_string(bits) +
                         " in a coefficient, and the parameters are made for " +
                         (most == 0 ? "real numbers" : "1 … " + std::to_string(most)));
}

}  // namespace

std::vector<Array> bootstrap_bits(const Server& server, const Array& numbers, unsigned bits,
                                  const EncodedBootstrap& with, double deviations) {
  check_bits(server, bits);
  const double given = deviations * std::exp2(numbers.info().error + bits),
               error = error_of_bits(server, with, bits, given, deviations) / deviations;
  return bootstrap_tables(server, numbers, bit_tasks(bit_polynomials(bits), error), with);
}

namespace {

/// What bootstrap_tables() gives of any kind of tables.
template <class Tables>
auto tables_of(const Server& server, const Array& numbers, const Tables& tables,
               const EncodedBootstrap& with) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  check_refresh(server, numbers);
  const CiphertextInfo& info = numbers.info();
  if (info.packing != Packing::real || info.slots() != of.slots)
    throw ShapeError("bootstrap of bits: vectors of " + std::to_string(info.slots()) +
                     " slots are no real ones of " + std::to_string(of.slots));
  return Access::of(server).fleet->together([&] {
    return BootstrapSteps(server, of, BootstrapSteps::Parts::apart)
        .tables(exponentials(server, numbers, of), info, tables);
  });
}

}  // namespace

std::vector<Array> bootstrap_tables(const Server& server, const Array& numbers,
                                    std::span<const TableTask> tasks,
                                    const EncodedBootstrap& with) {
  return tables_of(server, numbers, tasks, with);
}
Array bootstrap_tables(const Server& server, const Array& numbers, const LaneTables& tables,
                       const EncodedBootstrap& with) {
  return tables_of(server, numbers, tables, with);
}

std::vector<Array> bits_of_coefficients(const Server& server, const rlwe::Array& coefficients,
                                        const BitPolynomials& polynomials,
                                        const EncodedBootstrap& with, double error,
                                        std::uint64_t length) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  const Account& account = Access::of(server).account;
  const std::size_t count = coefficients.count();
  const CiphertextInfo values = account.fresh(Packing::complex, count, of.slots, 1, false),
                       numbers = account.fresh(Packing::real, 2 * count, length, 1, false);
  const BootstrapSteps steps(server, of, BootstrapSteps::Parts::apart);
  return Access::of(server).fleet->together([&] {
    const Next next = asking(Access::of(server));
    const rlwe::Array raised = steps.mod_raise(coefficients);
    next();
    const rlwe::Array slots = steps.coeffs_to_slots(raised, values);
    next();
    const Array z = steps.exponential(steps.imaginary_angles(slots, values));
    next();
    return steps.tables(z, numbers, bit_tasks(polynomials, error));
  });
}

namespace {

/// A bound of what roundings add to values of polynomials with these slopes: of all together, and
/// of those that are evaluated each for itself.
struct TableRoundings {
  TableRoundings(const Server& server, const EncodedBootstrap& with, unsigned bits,
                 const BitSlopes& all, std::span<const BitSlopes> parts, double deviations) {
    const Account& account = Access::of(server).account;
    const Account::BitNoise noise = account.bit_noise(bits, 0, 0);
    const double points = std::exp2(bits),
                 root = EncodedBootstrapAccess::storage(with).exponential_error +
                        deviations * std::exp2(noise.root);
    turn = deviations * std::exp2(noise.turn);
    rest = all.root * root * std::pow(1 + root, points);
    for (const BitSlopes& part : parts)
      rest += deviations * std::exp2(account.bit_noise(bits, part.root, part.sum).bit);
  }

  double turn;  ///< of the coefficient, as a part of the modulus
  double rest;  ///< of the value, besides
};

}  // namespace

double error_of_bits(const Server& server, const EncodedBootstrap& with, unsigned bits,
                     double given, double deviations) {
  const BitSlopes& slopes = slopes_of_bits(bits);
  const TableRoundings roundings(server, with, bits, slopes, std::span(&slopes, 1), deviations);
  const double turn = given + std::exp2(bits) * roundings.turn;
  return slopes.curvature * turn * turn + roundings.rest;
}

double error_of_table(const Server& server, const EncodedBootstrap& with, unsigned bits,
                      const TablePolynomial& table, double given, double deviations) {
  const TableSlopes slopes = slopes_of(table, std::size_t{1} << bits);
  std::vector<BitSlopes> parts;
  for (const BitSlopes& each : {slopes.cosines, slopes.sines})
    if (each.sum != 0) parts.push_back(each);
  const TableRoundings roundings(server, with, bits, slopes.all, parts, deviations);
  const double turn = given + std::exp2(bits) * roundings.turn;
  return slopes.all.curvature * turn * turn + roundings.rest + table.lost;
}

double error_of_step(const Server& server, const EncodedBootstrap& with, double given,
                     double deviations) {
  const unsigned bits = server.parameters().literal().bootstrap->bits;
  const BitSlopes slopes = slopes_of_step(bits);
  const TableRoundings roundings(server, with, bits, slopes, std::span(&slopes, 1), deviations);
  return error_of_step(bits, given + 2 * roundings.turn) + roundings.rest;
}

}  // namespace whorl::ckks
