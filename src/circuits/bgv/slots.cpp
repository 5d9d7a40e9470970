// The circuits on slots for BGV: which automorphisms and plaintexts, and what is known of results.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "circuits/common/encoded.h"
#include "circuits/common/matrix_layout.h"
#include "math/text.h"
#include "schemes/bgv/server_state.h"
#include "whorl/circuits/bgv/slots.h"
#include "whorl/error.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;
using circuits::MatrixLayout;
using circuits::Steps;

struct SlotMap::Storage {
  static constexpr const char* missing = "an empty matrix was given to a server";

  /// Only matrices have a layout.
  std::optional<MatrixLayout> layout;
  std::size_t rows = 0, columns = 0;

  std::int64_t step = 1;  ///< from a diagonal to its neighbour
  Steps steps;
  /// Diagonals of each map; those of zeros are empty.
  std::vector<std::vector<Plaintexts>> maps;

  const Plaintexts& diagonal(std::size_t map, std::size_t giant, std::size_t baby) const {
    static const Plaintexts zeros;
    const std::size_t k = giant * steps.babies + baby;
    return k < maps[map].size() ? maps[map][k] : zeros;
  }
};

std::size_t SlotMap::rows() const { return storage_->rows; }
std::size_t SlotMap::columns() const { return storage_->columns; }
std::size_t SlotMap::maps() const { return storage_->layout ? 1 : storage_->maps.size(); }
std::size_t SlotMap::bytes() const {
  std::size_t sum = 0;
  for (const auto& map : storage_->maps)
    for (const Plaintexts& diagonal : map) sum += diagonal.bytes();
  return sum;
}

using SlotMapAccess = circuits::EncodedAccess<SlotMap>;

namespace {

using Storage = SlotMapAccess::Storage;

/// Both rows of slots to the right by `columns`.
std::vector<std::int64_t> to_the_right(std::span<const std::int64_t> slots, std::int64_t columns) {
  const auto half = static_cast<std::int64_t>(slots.size() / 2);
  const std::int64_t by = ((columns % half) + half) % half;
  std::vector<std::int64_t> out(slots.begin(), slots.end());
  for (int line = 0; line < 2; ++line) {
    const auto first = out.begin() + line * half;
    std::rotate(first, first + (half - by), first + half);
  }
  return out;
}

/// Encodes diagonal(k), turned for its giant step: those of zeros are left out, but for one where
/// there is no other.
template <class Diagonal>
std::vector<Plaintexts> encode_map(const Server& server, const Storage& to, std::size_t count,
                                   const Diagonal& diagonal) {
  // In a dry run values may be any: one plaintext stands for all, and none is of zeros.
  const Access::State& state = Access::of(server);
  if (state.keys.is_open()) return std::vector(count, state.factor(diagonal(0)));
  std::vector<Plaintexts> out(count);
  bool any = false;
  for (std::size_t k = 0; k < count; ++k) {
    const auto slots = diagonal(k);
    const bool zeros = std::ranges::all_of(slots, [](std::int64_t x) { return x == 0; });
    if (zeros && (any || k + 1 < count)) continue;
    any = true;
    const auto giant = static_cast<std::int64_t>(k / to.steps.babies * to.steps.babies);
    out[k] = state.factor(to_the_right(slots, giant * to.step));
  }
  return out;
}

/// Throws unless this server takes the diagonals.
void check_own(const Access::State& state, const Storage& of) {
  for (const std::vector<Plaintexts>& map : of.maps)
    for (const Plaintexts& diagonal : map)
      if (diagonal.count() != 0) state.check(diagonal);
}

void check_slots(const Access::State& state, const Array& x) {
  state.check(x);
  if (x.info().packing != Packing::slots)
    throw EncodingError("the values are packed as coefficients, and must be packed in slots");
}

/// log2 of the norm of each diagonal of a map, in giant steps.
std::vector<std::optional<double>> norms_of(const Storage& of, std::size_t map) {
  std::vector<std::optional<double>> out;
  for (std::size_t i = 0; i < of.steps.giants; ++i)
    for (std::size_t b = 0; b < of.steps.babies; ++b) {
      const Plaintexts& diagonal = of.diagonal(map, i, b);
      out.emplace_back();
      if (diagonal.count() != 0) out.back() = Access::State::storage(diagonal).norm;
    }
  return out;
}

/// All maps of x, which has two parts.
std::vector<Array> apply(const Server& server, const Array& x, const Storage& of) {
  const Access::State& state = Access::of(server);
  std::vector<std::uint32_t> babies(of.steps.babies, 0), giants(of.steps.giants, 0);
  const auto rotation = [&](std::size_t steps) {
    return state.rotation(of.step * static_cast<std::int64_t>(steps));
  };
  for (std::size_t i = 0; i < of.steps.giants; ++i)
    for (std::size_t b = 0; b < of.steps.babies; ++b)
      for (std::size_t map = 0; map < of.maps.size(); ++map) {
        if (of.diagonal(map, i, b).count() == 0) continue;
        babies[b] = rotation(b);
        giants[i] = rotation(i * of.steps.babies);
        break;
      }

  return state.fleet->together([&] {
    std::vector<rlwe::Evaluator::LinearMap> maps;
    for (std::size_t map = 0; map < of.maps.size(); ++map)
      maps.push_back({babies, giants, [&of, &state, map](auto i, auto b) {
                        const Plaintexts& diagonal = of.diagonal(map, i, b);
                        if (diagonal.count() == 0) return rlwe::Array();
                        return state.residues(diagonal);
                      }});
    const rlwe::Array in = state.residues(x);
    const auto results =
        state.evaluator->linear_maps(in, maps, state.keys, in.basis(), state.account.divisor());
    std::vector<Array> out;
    for (std::size_t map = 0; map < of.maps.size(); ++map)
      out.push_back(state.array(
          state.account.linear_map(x.info(), norms_of(of, map), of.steps.babies), results[map]));
    return out;
  });
}

std::uint64_t length_of(const Server& server, std::uint64_t length) {
  return length == 0 ? server.parameters().N() : length;
}

/// The first `length` values of each vector, zeros behind them: a product with ones.
Array masked(const Server& server, const Array& x, std::uint64_t length) {
  const Access::State& state = Access::of(server);
  const std::size_t each = x.info().each(server.parameters().N());
  const std::size_t vectors = each == 1 ? 1 : x.info().count / each;
  const std::vector<std::int64_t> ones(vectors * static_cast<std::size_t>(length), 1);
  const Array product = server.multiply_plain(x, ones, static_cast<std::size_t>(length));
  return state.array(state.account.masked(product.info(), length), state.residues(product));
}

Array added(const Server& server, Array x, std::span<const std::int64_t> rotations) {
  for (const std::int64_t columns : rotations) x = server.add(x, server.rotate(x, columns));
  return x;
}
Array added_rows(const Server& server, const Array& x) {
  return server.add(x, server.swap_rows(x));
}

void check_dot(const Server& server, const CiphertextInfo& x, std::uint64_t length, bool same) {
  if (x.rest == Rest::same || same || length_of(server, x.length) == length_of(server, length))
    return;
  throw ShapeError("dot: vectors of " + std::to_string(length_of(server, x.length)) +
                   " values meet vectors of " + std::to_string(length_of(server, length)) +
                   " values: the lengths must be equal");
}

}  // namespace

SlotMap encode_matrix(const Server& server, std::span<const std::int64_t> values, std::size_t rows,
                      std::size_t columns) {
  Storage storage;
  storage.layout.emplace(server.parameters().N() / 2, rows, columns);
  if (values.size() != rows * columns)
    throw ShapeError("matrix: " + std::to_string(values.size()) + " values are not " +
                     std::to_string(rows) + " times " + std::to_string(columns));
  storage.rows = rows;
  storage.columns = columns;
  const MatrixLayout& layout = *storage.layout;
  storage.step = layout.direction();
  storage.steps = Steps::of(layout.diagonals());
  for (std::size_t map = 0; map < layout.maps(); ++map)
    storage.maps.push_back(encode_map(server, storage, layout.diagonals(), [&](std::size_t k) {
      return layout.diagonal(values, map, k);
    }));
  return SlotMapAccess::wrap(std::move(storage));
}

SlotMap encode_diagonals(const Server& server, std::span<const std::int64_t> values,
                         std::size_t count, std::int64_t step) {
  const std::size_t N = server.parameters().N();
  if (count == 0 || values.empty() || values.size() / N / count == 0 ||
      values.size() % (N * count) != 0)
    throw ShapeError("diagonals: " + std::to_string(values.size()) +
                     " values are not a multiple of count·N = " + std::to_string(count) + "·" +
                     std::to_string(N));
  Storage storage;
  storage.step = step;
  storage.steps = Steps::of(count);
  for (std::size_t first = 0; first < values.size(); first += N * count)
    storage.maps.push_back(encode_map(
        server, storage, count, [&](std::size_t k) { return values.subspan(first + k * N, N); }));
  return SlotMapAccess::wrap(std::move(storage));
}

Array multiply(const Server& server, const Array& x, const SlotMap& matrix) {
  const Storage& of = SlotMapAccess::storage(matrix);
  if (!of.layout) throw ShapeError("multiply: diagonals were given instead of a matrix");
  const Access::State& state = Access::of(server);
  check_slots(state, x);
  check_own(state, of);
  const MatrixLayout& layout = *of.layout;
  const CiphertextInfo& info = x.info();
  const std::uint64_t N = server.parameters().N(), length = length_of(server, info.length);
  // What was rotated may have its values anywhere: its first slots are taken.
  const bool any_slots = length == N && info.rest == Rest::anything;
  if (info.rest == Rest::same || (length != of.rows && !any_slots))
    throw ShapeError("multiply: vectors of " + std::to_string(length) +
                     " values meet a matrix of " + math::counted(of.rows, "row") + " and " +
                     math::counted(of.columns, "column") +
                     ": the number of values must be that of the rows");
  return state.fleet->together([&] {
    Array v = server.relinearise(x);
    if (layout.needs_zeros() && (info.rest != Rest::zeros || length != of.rows))
      v = masked(server, v, of.rows);
    if (layout.copies_rows()) v = added_rows(server, v);
    v = added(server, v, layout.copies());
    std::vector<Array> maps = apply(server, v, of);
    Array y = maps.size() == 1 ? maps[0] : server.add(maps[0], server.swap_rows(maps[1]));
    y = added(server, y, layout.folds());
    if (layout.folds_rows()) y = added_rows(server, y);
    return state.array(state.account.matrix_product(y.info(), of.columns, layout.leaves_zeros()),
                       state.residues(y));
  });
}

std::vector<Array> multiply_maps(const Server& server, const Array& x, const SlotMap& diagonals) {
  const Storage& of = SlotMapAccess::storage(diagonals);
  if (of.layout) throw ShapeError("multiply_maps: a matrix was given instead of diagonals");
  const Access::State& state = Access::of(server);
  check_slots(state, x);
  check_own(state, of);
  state.account.rotate(x.info());  // refuses vectors over several ciphertexts
  return state.fleet->together(
      [&] { return apply(server, server.relinearise(state.with_zeros(x)), of); });
}

std::vector<Array> parts(const Server& server, const Array& x) {
  const Access::State& state = Access::of(server);
  check_slots(state, x);
  const std::size_t each = x.info().each(server.parameters().N());
  if (each == 1) return {x};
  std::vector<Array> out;
  for (std::size_t part = 0; part < each; ++part) {
    const CiphertextInfo info = state.account.part(x.info(), part);
    std::vector<std::uint32_t> indices(info.count);
    for (std::size_t v = 0; v < indices.size(); ++v)
      indices[v] = static_cast<std::uint32_t>(v * each + part);
    out.push_back(state.array(info, state.evaluator->take(state.residues(x), indices)));
  }
  return out;
}

Array sum(const Server& server, const Array& x) {
  const Access::State& state = Access::of(server);
  check_slots(state, x);
  const CiphertextInfo& info = x.info();
  if (info.rest == Rest::same) return x;
  return state.fleet->together([&] {
    Array v = state.with_zeros(server.relinearise(x));
    const std::vector<Array> all = parts(server, v);
    v = all[0];
    for (std::size_t part = 1; part < all.size(); ++part) v = server.add(v, all[part]);
    v = added_rows(server, server.inner_sum(v, server.parameters().N() / 2));
    return state.array(state.account.summed(v.info()), state.residues(v));
  });
}

Array dot(const Server& server, const Array& x, const Array& y) {
  check_dot(server, x.info(), y.info().length, y.info().rest == Rest::same);
  return sum(server, server.multiply(x, y));
}
Array dot(const Server& server, const Array& x, const Plaintexts& y) {
  check_dot(server, x.info(), y.length(), false);
  return sum(server, server.multiply_plain(x, y));
}

void request_matrix(KeyRequest& request, const Parameters& parameters, std::size_t rows,
                    std::size_t columns) {
  const MatrixLayout layout(parameters.N() / 2, rows, columns);
  const std::vector<std::int64_t> rotations = layout.rotations();
  request.rotations.insert(request.rotations.end(), rotations.begin(), rotations.end());
  request.swap_rows = request.swap_rows || layout.swaps();
}

void request_diagonals(KeyRequest& request, std::size_t count, std::int64_t step) {
  const std::vector<std::int64_t> rotations = circuits::rotations_of(count, step);
  request.rotations.insert(request.rotations.end(), rotations.begin(), rotations.end());
}

void request_sum(KeyRequest& request, const Parameters& parameters) {
  for (std::int64_t step = 1; step < parameters.N() / 2; step *= 2)
    request.rotations.push_back(step);
  request.swap_rows = true;
}

}  // namespace whorl::bgv
