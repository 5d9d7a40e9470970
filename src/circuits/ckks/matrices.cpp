// Products of encrypted matrices of CKKS: which rotations and plaintexts.
//
// With indices modulo d, (A·B)_ij = sum_k A_i,(i+j+k)·B_(i+j+k),j. The first factor is value (i, j)
// of X = sigma(A), X_ij = A_i,(i+j), with columns turned by k: slots turned by k where j < d - k,
// and by k - d elsewhere. The second one is in column j of B with rows turned by j + k. So the
// columns of B are taken apart into those before d - k and the others, and each part meets its own
// rotation of X. An A of fewer rows is repeated; then k goes over these rows only, and a sum over
// the repetitions adds what is missing.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "circuits/common/encoded.h"
#include "schemes/ckks/server_state.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/circuits/ckks/matrices.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

namespace {

void check(const MatrixProduct& shape) {
  const auto power = [](const char* what, std::uint64_t number, std::uint64_t most) {
    if (!std::has_single_bit(number) || number > most)
      throw ShapeError("matrix product: " + std::to_string(number) + " " + what +
                       " are not a power of two in 1 … " + std::to_string(most) +
                       "; fill matrices up with zeros, or cut them into blocks");
  };
  power("columns", shape.side, 1u << 16);
  power("rows", shape.rows, shape.side);
  power("matrices", shape.matrices, 1u << 16);
}

/// `count` rotations by 0, step, 2·step, …: each is a giant step and a baby step, so that there are
/// few keys. A giant step's baby steps are decomposed together.
struct Grid {
  std::int64_t step = 1;
  std::size_t babies = 1, giants = 1;

  Grid(std::uint64_t distance, std::uint64_t count)
      : step(static_cast<std::int64_t>(distance)),
        babies(std::size_t{1} << static_cast<unsigned>(std::bit_width(count) / 2)),
        giants(count / babies) {}

  std::vector<std::int64_t> baby_steps() const {
    std::vector<std::int64_t> out;
    for (std::size_t b = 0; b < babies; ++b) out.push_back(step * static_cast<std::int64_t>(b));
    return out;
  }
  std::vector<std::int64_t> giant_steps() const {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < giants; ++i)
      out.push_back(step * static_cast<std::int64_t>(i * babies));
    return out;
  }
};

Grid turns_of_a(const MatrixProduct& shape) { return {shape.matrices, shape.rows}; }
Grid turns_of_b(const MatrixProduct& shape) { return {shape.matrices * shape.side, shape.side}; }
std::int64_t row_back(const MatrixProduct& shape) {
  return -static_cast<std::int64_t>(shape.matrices * shape.side);
}

LinearMap sigma(const MatrixProduct& shape) {
  const std::uint64_t d = shape.side, g = shape.matrices;
  LinearMap map{shape.b_length(), shape.b_length(), 0, {}};
  for (std::uint64_t i = 0; i < d; ++i)
    for (std::uint64_t j = 0; j < d; ++j) {
      const auto turn = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(i + j < d ? 0 : d);
      auto& diagonal = map.diagonals[turn * static_cast<std::int64_t>(g)];
      diagonal.resize(map.period);
      std::fill_n(diagonal.begin() + static_cast<std::ptrdiff_t>((i * d + j) * g), g, 1.0);
    }
  return map;
}

}  // namespace

struct EncodedMatrixProduct::Storage {
  static constexpr const char* missing = "a matrix product that is not encoded was given";

  MatrixProduct shape;
  unsigned level = 0;
  EncodedMap sigma;
  std::vector<rlwe::Array> columns;  ///< ones in column j, zeros elsewhere
};

using EncodedMatrixProductAccess = circuits::EncodedAccess<EncodedMatrixProduct>;

const MatrixProduct& EncodedMatrixProduct::shape() const {
  return EncodedMatrixProductAccess::storage(*this).shape;
}
unsigned EncodedMatrixProduct::level() const {
  return EncodedMatrixProductAccess::storage(*this).level;
}
std::size_t EncodedMatrixProduct::bytes() const {
  const auto& of = EncodedMatrixProductAccess::storage(*this);
  std::size_t sum = of.sigma.bytes();
  for (const rlwe::Array& each : of.columns) sum += each.bytes();
  return sum;
}

std::vector<std::int64_t> rotations_of(const MatrixProduct& shape) {
  check(shape);
  const auto period = static_cast<std::int64_t>(shape.b_length());
  std::set<std::int64_t> out;
  const auto add = [&](const std::vector<std::int64_t>& distances) {
    for (const std::int64_t each : distances)
      if (const std::int64_t least = ((each % period) + period) % period; least != 0)
        out.insert(least);
  };
  add(rotations_of(sigma(shape)));
  for (const Grid& grid : {turns_of_a(shape), turns_of_b(shape)}) {
    add(grid.baby_steps());
    add(grid.giant_steps());
  }
  if (shape.rows > 1) add({row_back(shape)});
  for (std::uint64_t step = shape.a_length(); step < shape.b_length(); step *= 2)
    add({static_cast<std::int64_t>(step)});
  return {out.begin(), out.end()};
}

void request_matrix_product(KeyRequest& request, const MatrixProduct& shape) {
  const std::vector<std::int64_t> rotations = rotations_of(shape);
  request.rotations.insert(request.rotations.end(), rotations.begin(), rotations.end());
  request.relinearise = std::max(request.relinearise, 3u);
}

EncodedMatrixProduct encode(const Server& server, const MatrixProduct& shape, unsigned level) {
  check(shape);
  const Parameters& parameters = server.parameters();
  if (level < MatrixProduct::depth || level > parameters.depth())
    throw ParameterError("level = " + std::to_string(level) +
                         " of a matrix product is outside 2 … " +
                         std::to_string(parameters.depth()));
  if (shape.b_length() > parameters.slots())
    throw ShapeError("matrix product: " + std::to_string(shape.matrices) + " matrices of " +
                     std::to_string(shape.side) + " × " + std::to_string(shape.side) +
                     " values do not fit a ciphertext of " + std::to_string(parameters.slots()) +
                     " slots; cut them into blocks");
  EncodedMatrixProductAccess::Storage out{shape, level, encode(server, sigma(shape), level), {}};
  const Access::State& state = Access::of(server);
  const std::uint64_t d = shape.side, g = shape.matrices;
  for (std::uint64_t j = 0; j < d; ++j) {
    state.fleet->stop_if_asked(j, d, "plaintexts of a matrix product");
    std::vector<std::complex<double>> ones(d * g);
    std::fill_n(ones.begin() + static_cast<std::ptrdiff_t>(j * g), g, 1.0);
    out.columns.push_back(state.factor(ones, parameters.scale(level), state.account.basis(level)));
  }
  return EncodedMatrixProductAccess::wrap(std::move(out));
}

namespace {

using Storage = EncodedMatrixProductAccess::Storage;

void check_operand(const Server& server, const char* name, const Array& x, std::uint64_t length,
                   const Storage& of) {
  Access::of(server).check_alone("a matrix product", x);
  const std::string shape = std::to_string(of.shape.rows) + " × " + std::to_string(of.shape.side) +
                            " times " + std::to_string(of.shape.side) + " × " +
                            std::to_string(of.shape.side) + " values, " +
                            std::to_string(of.shape.matrices) + " in each ciphertext";
  if (x.info().length != length)
    throw ShapeError(std::string("matrix product: ") + name + " has vectors of " +
                     std::to_string(x.info().length) + " values; they must have " +
                     std::to_string(length) + " for " + shape);
  if (x.info().level < of.level)
    throw NoiseError("a matrix product for level " + std::to_string(of.level) + " meets " + name +
                     " at level " + std::to_string(x.info().level) +
                     more_levels_than(x.info().level));
}

/// B with its rows turned in all ways, of which columns are taken.
class TurnedColumns {
 public:
  TurnedColumns(const Server& server, const Array& b, const Storage& of)
      : server_(server),
        of_(of),
        d_(of.shape.side),
        known_(state_.account.linear_map(
            b.info(), {.scale = server.parameters().scale(of.level), .diagonals = d_},
            of.shape.b_length())) {
    const Grid grid = turns_of_b(of.shape);
    for (const Array& giant : server.rotate_many(b, grid.giant_steps()))
      for (const Array& each : server.rotate_many(giant, grid.baby_steps()))
        turned_.push_back(state_.residues(each));
  }
  /// Columns first … last - 1, column j with its rows turned by j + turn.
  Array columns(std::size_t first, std::size_t last, std::size_t turn) const {
    std::vector<rlwe::Array> arrays, plains;
    for (std::size_t j = first; j < last; ++j) {
      arrays.push_back(turned_[(j + turn) % d_]);
      plains.push_back(of_.columns[j]);
    }
    return server_.rescale(state_.array(
        known_,
        state_.evaluator->sum_of_products(arrays, plains, state_.account.basis(of_.level))));
  }

 private:
  const Server& server_;
  const Access::State& state_ = Access::of(server_);
  const Storage& of_;
  std::size_t d_;
  const CiphertextInfo known_;  ///< of a part
  std::vector<rlwe::Array> turned_;
};

}  // namespace

Array multiply_matrices(const Server& server, const Array& a, const Array& b,
                        const EncodedMatrixProduct& product) {
  const Storage& of = EncodedMatrixProductAccess::storage(product);
  const MatrixProduct& shape = of.shape;
  const Access::State& state = Access::of(server);
  for (const rlwe::Array& ones : of.columns) state.check_residues(&ones);
  check_operand(server, "the first operand", a, shape.a_length(), of);
  check_operand(server, "the second operand", b, shape.b_length(), of);
  if (a.info().count != b.info().count && a.info().count != 1 && b.info().count != 1)
    throw ShapeError("matrix product: a batch of " + std::to_string(a.info().count) +
                     " ciphertexts meets " + std::to_string(b.info().count) +
                     ": the numbers must be equal, or one of them must be 1");
  // Every value of the result is a sum of `side` products.
  const double bound = std::exp2(a.info().bound + b.info().bound);
  return state.fleet->together([&] {
    const TurnedColumns second(server, server.lower(server.relinearise(b), of.level), of);
    const Array first = apply(server, a, of.sigma);
    const Grid grid = turns_of_a(shape);
    const std::vector<std::int64_t> giants = grid.giant_steps(), babies = grid.baby_steps();
    const std::vector<Array> ahead = server.rotate_many(first, giants);
    std::vector<Array> behind;
    if (shape.rows > 1) behind = server.rotate_many(server.rotate(first, row_back(shape)), giants);

    std::optional<Array> sum;
    const auto add = [&](const Array& x, const Array& y) {
      const Array term = server.multiply(x, y, {.relinearised = false, .rescaled = false});
      sum = sum ? server.add(*sum, term) : term;
    };
    for (std::size_t i = 0; i < grid.giants; ++i) {
      const std::vector<Array> left = server.rotate_many(ahead[i], babies);
      std::vector<Array> right;
      if (!behind.empty()) right = server.rotate_many(behind[i], babies);
      for (std::size_t r = 0; r < grid.babies; ++r) {
        const std::size_t k = i * grid.babies + r, cut = shape.side - k;
        add(left[r], second.columns(0, cut, k));
        if (k > 0) add(right[r], second.columns(cut, shape.side, k));
      }
    }
    const Array part = server.with_bound(state.relinearised_and_rescaled(*sum),
                                         bound * static_cast<double>(shape.rows));
    return server.with_bound(server.sum(part, shape.a_length()),
                             bound * static_cast<double>(shape.side));
  });
}

}  // namespace whorl::ckks
