#include "backend/contract/rotation.h"

#include <algorithm>
#include <bit>

#include "ring/ntt_plan.h"
#include "whorl/word_array.h"

namespace whorl::backend {

unsigned RotationShape::most_digits() const {
  unsigned most = 1;
  for (const ring::Gadget& gadget : gadgets) most = std::max(most, gadget.digits());
  return most;
}

namespace {

[[noreturn]] void refuse_ring_word(const char* what, std::uint64_t Q) {
  throw ParameterError(std::string(what) + ": Q = " + std::to_string(Q) + " needs words of " +
                       std::to_string(8 * ring_word_bytes(Q)) + " bits");
}
template <class Word>
void check_ring_word(std::uint64_t Q) {
  if (ring_word_bytes(Q) != sizeof(Word)) refuse_ring_word("blind rotation", Q);
}

/// Whether each step's rows follow those before it and are those of its keys, which are RGSW
/// ciphertexts of two rows a digit, and those of automorphisms follow them all.
void check_rows(const RotationShape& shape) {
  const auto refuse = [](const std::string& what) {
    throw ShapeError("blind-rotation key: " + what);
  };
  if (shape.step_keys.size() != shape.n)
    refuse("step_keys has " + std::to_string(shape.step_keys.size()) +
           " entries; it must have n = " + std::to_string(shape.n));
  if (shape.first_row.size() != std::size_t{shape.n} + 1 || shape.first_row[0] != 0)
    refuse("first_row must have n + 1 = " + std::to_string(std::size_t{shape.n} + 1) +
           " numbers, of which the first is 0");
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const std::size_t begin = shape.first_row[i], end = shape.first_row[i + 1];
    const unsigned keys = shape.step_keys[i], digits = shape.gadgets[i].digits();
    if (keys > shape.keys || (shape.kind == RotationKind::ginx && keys != shape.keys))
      refuse("coefficient " + std::to_string(i) + " has " + std::to_string(keys) + " keys; it " +
             (shape.kind == RotationKind::ginx ? "must have " : "may have at most ") +
             std::to_string(shape.keys));
    if (end - begin != std::size_t{2} * keys * digits)
      refuse("coefficient " + std::to_string(i) + " has rows " + std::to_string(begin) + " … " +
             std::to_string(end) + "; it must have the rows of " + std::to_string(keys) +
             " keys of " + std::to_string(2 * digits) + " rows each");
  }
  const std::size_t steps = shape.first_row.back();
  if (shape.row_count < steps ||
      (shape.automorphisms == 0 ? shape.row_count != steps
                                : (shape.row_count - steps) % shape.automorphisms != 0))
    refuse("row_count = " + std::to_string(shape.row_count) + " does not fit " +
           std::to_string(steps) + " rows of steps and " + std::to_string(shape.automorphisms) +
           " automorphisms");
}

/// Whether the keys of steps, and of automorphisms, are those that kernels of the kind read.
void check_keys(const RotationShape& shape) {
  const auto refuse = [](const std::string& what) {
    throw ShapeError("blind-rotation key: " + what);
  };
  const auto need_group = [&](unsigned least, unsigned most) {
    if (shape.group < least || shape.group > most)
      refuse("group = " + std::to_string(shape.group) + " is not in " + std::to_string(least) +
             " … " + std::to_string(most));
  };
  const RotationKind kind = shape.kind;
  if (kind == RotationKind::ginx) return;
  unsigned of_step = 1;
  if (kind == RotationKind::ap) {
    need_group(2, 1u << 12);
    std::uint64_t left = 2ULL * shape.N / shape.unit;
    for (of_step = 0; left > shape.group; left = (left + shape.group - 1) / shape.group)
      of_step += shape.group - 1;
    of_step += static_cast<unsigned>(left) - 1;
  } else {
    need_group(kind == RotationKind::block ? 2 : 1,
               kind == RotationKind::automorphism ? 256 : RotationShape::most_unrolled);
  }
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    unsigned due = of_step;
    if (kind == RotationKind::unrolled || kind == RotationKind::unrolled_all)
      due = i % shape.group != 0 ? 0
                                 : (1u << std::min(shape.group, shape.n - i)) -
                                       (kind == RotationKind::unrolled ? 1 : 0);
    if (kind == RotationKind::block) due = i % shape.group != 0 ? 0 : shape.group;
    if (shape.step_keys[i] != due)
      refuse("coefficient " + std::to_string(i) + " has " + std::to_string(shape.step_keys[i]) +
             " keys; it must have " + std::to_string(due));
  }
  const bool walks = kind == RotationKind::automorphism;
  if (shape.automorphisms != (walks ? shape.group + 1 : 0))
    refuse("there are keys of " + std::to_string(shape.automorphisms) +
           " automorphisms; there must be " + std::to_string(walks ? shape.group + 1 : 0));
  const std::size_t rows =
      shape.first_row.back() + std::size_t{shape.automorphisms} * shape.gadgets[0].digits();
  if (shape.row_count != rows)
    refuse("there are " + std::to_string(shape.row_count) + " rows; there must be " +
           std::to_string(rows));
}

void check_offsets(const char* what, std::span<const std::uint32_t> offsets, std::size_t N) {
  if (offsets.empty()) throw ShapeError(std::string(what) + ": no coefficient is asked for");
  for (const std::uint32_t k : offsets)
    if (k >= N)
      throw ShapeError(std::string(what) + ": coefficient " + std::to_string(k) +
                       " is not below N = " + std::to_string(N));
}

}  // namespace

template <class Word>
std::unique_ptr<const RotationKey> RotationOps<Word>::prepare(const RotationShape& shape,
                                                              const RowSource<Word>& rows) const {
  const auto refuse = [](const std::string& what) {
    throw ParameterError("blind-rotation key: " + what);
  };
  ring::check_ring_dimension(shape.N);
  if (shape.N > most_N)
    refuse("N = " + std::to_string(shape.N) + " is above " + std::to_string(most_N));
  if (shape.n == 0) refuse("n is 0; it must be at least 1");
  this->check_size("blind-rotation key: gadgets", shape.gadgets.size(), shape.n);
  if (shape.keys == 0) refuse("there is no key for a step");
  if (shape.kind == RotationKind::ginx && shape.keys > 2)
    refuse("a coefficient has " + std::to_string(shape.keys) +
           " keys; it must have 1 (binary) or 2 (ternary)");
  if (shape.kind == RotationKind::block && shape.group != 0 && shape.n % shape.group != 0)
    refuse("n = " + std::to_string(shape.n) + " is not a multiple of " +
           std::to_string(shape.group) + ", the length of blocks");
  for (std::size_t i = 0; i < shape.gadgets.size(); ++i)
    if (shape.gadgets[i].modulus() != shape.Q)
      refuse("gadget " + std::to_string(i) + " is for " +
             std::to_string(shape.gadgets[i].modulus()) + ", but Q is " + std::to_string(shape.Q));
  if (shape.most_digits() > most_digits)
    refuse("a gadget has " + std::to_string(shape.most_digits()) + " digits; it may have at most " +
           std::to_string(most_digits));
  check_ring_word<Word>(shape.Q);
  if (shape.raised() && ring_word_bytes(shape.raised_by) != sizeof(Word))
    refuse("P = " + std::to_string(shape.raised_by) + " and Q = " + std::to_string(shape.Q) +
           " are not words of one size");
  if (shape.raised() && shape.most_digits() != 1)
    refuse("a gadget has " + std::to_string(shape.most_digits()) +
           " digits; it must have 1 where the modulus is raised");
  if (!std::has_single_bit(shape.unit) || shape.unit > shape.N)
    refuse("the unit of exponents is " + std::to_string(shape.unit) +
           "; it must be a power of two up to N = " + std::to_string(shape.N));
  check_rows(shape);
  check_keys(shape);
  return this->own(make_key(shape, rows));
}

template <class Word>
void RotationOps<Word>::require_ginx(const RotationShape& shape) const {
  constexpr const char* names[] = {"GINX", "unrolled", "AP", "automorphism", "unrolled (all keys)",
                                   "block"};
  if (shape.kind == RotationKind::ginx && !shape.raised()) return;
  throw RefusedError(
      this->queue().name() + " has no kernel for " + names[static_cast<unsigned>(shape.kind)] +
      " rotations" +
      (!shape.raised() ? std::string() : " modulo Q·" + std::to_string(shape.raised_by)));
}

namespace {

void check_tables(std::span<const std::uint32_t> index, std::size_t tables) {
  if (tables == 0) throw ShapeError("blind_rotate: there is no look-up table");
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] >= tables)
      throw ShapeError("blind_rotate: ciphertext " + std::to_string(i) + " asks for table " +
                       std::to_string(index[i]) + "; it must be below " + std::to_string(tables) +
                       ", the number of tables");
}

}  // namespace

template <class Word>
typename RotationOps<Word>::Batch RotationOps<Word>::check_batch(const RotationKey& key,
                                                                 Slice<const std::uint32_t> lwe,
                                                                 Slice<const Word> luts,
                                                                 std::size_t count, std::size_t row,
                                                                 Slice<Word> out) const {
  this->check(lwe);
  this->check(luts, out);
  this->check_owner("blind-rotation keys", key);
  const RotationShape& shape = key.shape();
  check_ring_word<Word>(shape.Q);
  this->check_size("blind_rotate: ciphertexts", lwe.size, count * (shape.n + 1));
  const std::size_t tables = this->rows_of("blind_rotate: look-up tables", luts.size, shape.N);
  this->check_size("blind_rotate: output", out.size, count * row);
  check_apart("blind_rotate: ciphertexts", lwe, out);
  check_apart("blind_rotate: look-up tables", luts, out);
  return {count, tables, lwe.data, luts.data, nullptr, {}, out.data};
}

template <class Word>
typename RotationOps<Word>::Batch RotationOps<Word>::check_batch(const RotationKey& key,
                                                                 const Rotations<Word>& batch,
                                                                 std::size_t row,
                                                                 Slice<Word> out) const {
  const Batch checked = check_batch(key, batch.lwe, batch.luts, batch.index.size(), row, out);
  check_tables(batch.index, checked.tables);
  return checked;
}

template <class Word>
PlacedTables<Word> RotationOps<Word>::place(std::uint32_t N, std::span<const Word> vectors,
                                            std::span<const std::uint32_t> index) const {
  check_tables(index, this->rows_of("blind_rotate: look-up tables", vectors.size(), N));
  PlacedTables<Word> out;
  out.vectors_ = this->queue().template allocate<Word>(vectors.size());
  out.index_ = this->queue().template allocate<std::uint32_t>(index.size());
  this->queue().upload(vectors, out.vectors_.slice());
  this->queue().upload(index, out.index_.slice());
  return out;
}

template <class Word>
void RotationOps<Word>::rotate_extract(const RotationKey& key, Slice<const std::uint32_t> lwe,
                                       const PlacedTables<Word>& tables, std::size_t first,
                                       std::uint64_t constant, Slice<Word> out) const {
  const RotationShape& shape = key.shape();
  const std::size_t count = this->rows_of("blind_rotate: ciphertexts", lwe.size, shape.n + 1);
  Batch batch = check_batch(key, lwe, tables.vectors_.slice(), count, shape.N + 1, out);
  const auto index = tables.index_.slice().part(first, count);
  this->check(index);
  batch.index = index.data;
  batch.constant = static_cast<Word>(constant % shape.Q);
  if (count) run_rotations(key, batch);
}

template <class Word>
void RotationOps<Word>::run_checked(const RotationKey& key, std::span<const std::uint32_t> index,
                                    Batch batch) const {
  if (batch.count == 0) return;
  auto tables = this->queue().template allocate<std::uint32_t>(batch.count);
  if (std::ranges::all_of(index, [](std::uint32_t i) { return i == 0; }))
    this->queue().fill(0, tables.slice());
  else
    this->queue().upload(index, tables.slice());
  batch.index = tables.slice().data;
  run_rotations(key, batch);
}

template <class Word>
void RotationOps<Word>::rotate(const RotationKey& key, const Rotations<Word>& batch,
                               Slice<Word> out) const {
  run_checked(key, batch.index, check_batch(key, batch, std::size_t{2} * key.shape().N, out));
}

template <class Word>
void RotationOps<Word>::rotate_extract(const RotationKey& key, const Rotations<Word>& batch,
                                       std::span<const std::uint32_t> offsets,
                                       std::uint64_t constant, Slice<Word> out) const {
  const std::size_t N = key.shape().N;
  check_offsets("blind_rotate", offsets, N);
  Batch checked = check_batch(key, batch, offsets.size() * (N + 1), out);
  if (offsets.size() != 1 || offsets[0] != 0) {
    auto accumulators = this->queue().template allocate<Word>(checked.count * 2 * N);
    checked.out = accumulators.slice().data;
    run_checked(key, batch.index, checked);
    return extract(key.shape().Q, key.shape().N, offsets, constant,
                   std::as_const(accumulators).slice(), out);
  }
  checked.constant = static_cast<Word>(constant % key.shape().Q);
  run_checked(key, batch.index, checked);
}

template <class Word>
void RotationOps<Word>::extract(std::uint64_t Q, std::uint32_t N,
                                std::span<const std::uint32_t> offsets, std::uint64_t constant,
                                Slice<const Word> rlwe, Slice<Word> out) const {
  this->check(rlwe);
  this->check(out);
  if (Q < 2) throw ParameterError("sample_extract: modulus " + std::to_string(Q) + " is below 2");
  if (ring_word_bytes(Q) > sizeof(Word)) refuse_ring_word("sample_extract", Q);
  ring::check_ring_dimension(N);
  check_offsets("sample_extract", offsets, N);
  const std::size_t count = this->rows_of("sample_extract", rlwe.size, std::size_t{2} * N);
  this->check_size("sample_extract: output", out.size,
                   count * offsets.size() * (std::size_t{N} + 1));
  check_apart("sample_extract: input", rlwe, out);
  if (count)
    run_extraction(Q, N, offsets, static_cast<Word>(constant % Q), count, rlwe.data, out.data);
}

template class RotationOps<std::uint32_t>;
template class RotationOps<std::uint64_t>;

}  // namespace whorl::backend
