#include "lattice/lwe/stages.h"

#include <algorithm>
#include <string>
#include <variant>

#include "backend/contract/ring.h"
#include "lattice/lwe/rotation_method.h"
#include "whorl/error.h"

namespace whorl::lattice::lwe {

namespace {

template <class Word>
std::vector<backend::Slice<const Word>> slices_of(std::span<const Rows* const> in) {
  std::vector<backend::Slice<const Word>> out;
  out.reserve(in.size());
  for (const Rows* rows : in) out.push_back(rows->slice<Word>());
  return out;
}

/// Checks that operands of a sum belong together.
void check_alike(const char* what, std::span<const Rows* const> in) {
  if (in.empty()) throw ShapeError(std::string(what) + ": there is no input");
  for (std::size_t k = 1; k < in.size(); ++k)
    if (in[k]->form() != in[0]->form() || in[k]->count() != in[0]->count())
      throw ShapeError(std::string(what) + ": input " + std::to_string(k) + " has " +
                       std::to_string(in[k]->count()) + " ciphertexts " + in[k]->form().describe() +
                       ", but input 0 has " + std::to_string(in[0]->count()) + " " +
                       in[0]->form().describe());
}

}  // namespace

Stages Stages::with_rotation_key(std::size_t k) const {
  if (k == 0) return *this;
  if (k > keys_.further_rotations.size())
    throw backend::RefusedError("there is no blind-rotation key " + std::to_string(k) + " on " +
                                queue_.name());
  return Stages(queue_, {keys_.further_rotations[k - 1], keys_.key_switch});
}

// ---- bytes

Rows Stages::upload(const Form& form, std::size_t count, const void* words) const {
  Rows out(queue_, form, count);
  with_words(form, [&]<class Word>(Word) {
    queue_.upload(std::span(static_cast<const Word*>(words), count * form.row()),
                  out.slice<Word>());
  });
  return out;
}

Rows Stages::expand(const Form& form, const math::Seed& seed, std::uint64_t first,
                    std::span<const std::uint32_t> numbers, std::size_t count,
                    const void* bodies) const {
  const auto there = [&]<class Word>(std::span<const Word> words) {
    auto buffer = queue_.allocate<Word>(words.size());
    queue_.upload(words, buffer.slice());
    return buffer;
  };
  Rows out(queue_, form, count);
  with_words(form, [&]<class Word>(Word) {
    const auto of_numbers = there(numbers);
    const auto of_bodies = there(std::span(static_cast<const Word*>(bodies), count));
    queue_.lwe().expand<Word>({seed, form.modulus, form.row(), first}, of_numbers.slice(),
                              of_bodies.slice(), out.slice<Word>());
  });
  return out;
}

void Stages::download(const Rows& rows, void* words) const {
  with_words(rows.form(), [&]<class Word>(Word) {
    const auto slice = rows.slice<Word>();
    queue_.download(slice, std::span(static_cast<Word*>(words), slice.size));
  });
}

Rows Stages::join(std::span<const Rows* const> in, std::span<const run::Range> ranges) const {
  std::size_t count = 0;
  for (const run::Range& range : ranges) count += range.count;
  const Form& form = in[0]->form();
  Rows out(queue_, form, count);
  with_words(form, [&]<class Word>(Word) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < in.size(); ++k) {
      const auto some = in[k]->slice<Word>(ranges[k]);
      queue_.copy(some, out.slice<Word>().part(at, some.size));
      at += some.size;
    }
  });
  return out;
}

Rows Stages::copy(const Rows& in) const {
  const Rows* one[] = {&in};
  const run::Range all[] = {{0, in.count()}};
  return join(one, all);
}

Rows Stages::take(const Rows& in, std::span<const std::uint32_t> index) const {
  Rows out(queue_, in.form(), index.size());
  with_words(in.form(), [&]<class Word>(Word) {
    queue_.ring<Word>().take(1, static_cast<std::uint32_t>(in.form().row()), index,
                             in.slice<Word>(), 0, out.slice<Word>());
  });
  return out;
}

// ---- sums

Rows Stages::linear(std::span<const std::int64_t> weights, std::span<const Rows* const> in,
                    std::uint64_t constant) const {
  check_alike("linear", in);
  const Form& form = in[0]->form();
  Rows out(queue_, form, in[0]->count());
  with_words(form, [&]<class Word>(Word) {
    queue_.lwe().linear<Word>(form.modulus, form.row(), weights, slices_of<Word>(in), constant,
                              out.slice<Word>());
  });
  return out;
}

void Stages::add_constant(Rows& rows, std::uint64_t constant) const {
  const Form& form = rows.form();
  if (constant % form.modulus == 0) return;
  const std::int64_t one[] = {1};
  with_words(form, [&]<class Word>(Word) {
    const backend::Slice<const Word> in[] = {std::as_const(rows).slice<Word>()};
    queue_.lwe().linear<Word>(form.modulus, form.row(), one, in, constant, rows.slice<Word>());
  });
}

std::vector<Rows> Stages::matrix(std::span<const std::int64_t> entries,
                                 std::span<const std::uint64_t> constants,
                                 std::span<const Rows* const> in) const {
  check_alike("matrix", in);
  const std::size_t results = constants.size();
  if (results == 0 || entries.size() != results * in.size())
    throw ShapeError("matrix: there are " + std::to_string(entries.size()) + " entries; " +
                     std::to_string(results) + " results of " + std::to_string(in.size()) +
                     " inputs need one for each result and input");
  const std::size_t count = in[0]->count();
  const std::vector<run::Range> whole(in.size(), {0, count});
  const Rows together = join(in, whole);
  const Form& form = together.form();
  Rows out(queue_, form, results * count);
  with_words(form, [&]<class Word>(Word) {
    queue_.lwe().matrix<Word>(form.modulus, form.row(), entries, constants, together.slice<Word>(),
                              out.slice<Word>());
  });
  return std::move(out).split(results);
}

Rows Stages::products(std::span<const std::int64_t> entries,
                      std::span<const std::uint64_t> constants, const Rows& in,
                      run::Range range) const {
  const Form& form = in.form();
  const std::size_t R = constants.size(), K = entries.size() / R, end = range.begin + range.count;
  Rows out(queue_, form, range.count);
  with_words(form, [&]<class Word>(Word) {
    // Whole groups at once; of a group that is cut, some rows of the matrix.
    for (std::size_t begin = range.begin; begin < end;) {
      const std::size_t group = begin / R, row = begin % R;
      const bool whole = row == 0 && end - begin >= R;
      const std::size_t groups = whole ? (end - begin) / R : 1,
                        results = whole ? R : std::min(R - row, end - begin);
      queue_.lwe().matrix<Word>(
          form.modulus, form.row(), entries.subspan(row * K, results * K),
          constants.subspan(row, results),
          in.slice<Word>({(group - range.begin / R) * K, groups * K}),
          out.slice<Word>().part((begin - range.begin) * form.row(), groups * results * form.row()),
          groups);
      begin += groups * results;
    }
  });
  return out;
}

Rows Stages::sums(const backend::LweSums& sums, std::size_t first, std::size_t count,
                  std::span<const Rows* const> in) const {
  if (in.empty()) throw ShapeError("sums: there is no input");
  Rows out(queue_, in[0]->form(), count);
  with_words(out.form(), [&]<class Word>(Word) {
    queue_.lwe().sums<Word>(sums, first, count, slices_of<Word>(in), out.slice<Word>());
  });
  return out;
}

// ---- moduli and keys

Rows Stages::modulus_switch(const Rows& in, std::uint64_t to, unsigned centre) const {
  Form form = in.form();
  form.modulus = to;
  form.word_bytes = array_word_bytes(to);
  Rows out(queue_, form, in.count());
  with_words(in.form(), [&]<class In>(In) {
    with_words(form, [&]<class Out>(Out) {
      queue_.lwe().modulus_switch(in.form().modulus, to, form.row(), centre, in.slice<In>(),
                                  out.slice<Out>());
    });
  });
  return out;
}

Rows Stages::modulus_switch(Rows&& in, std::uint64_t to, unsigned centre) const {
  Rows rows = std::move(in);
  const Form form = rows.form();
  if (array_word_bytes(to) != form.word_bytes)
    return modulus_switch(std::as_const(rows), to, centre);
  with_words(form, [&]<class Word>(Word) {
    queue_.lwe().modulus_switch(form.modulus, to, form.row(), centre,
                                std::as_const(rows).slice<Word>(), rows.slice<Word>());
  });
  rows.read_modulo(to);
  return rows;
}

Rows Stages::key_switch(const Rows& in) const {
  if (!keys_.key_switch)
    throw backend::RefusedError("there is no key-switching key on " + queue_.name());
  const backend::SwitchShape& shape = keys_.key_switch->shape();
  const Form& form = in.form();
  if (form.modulus != shape.Q_ks || form.dimension != shape.N || form.under != Under::ring)
    throw ShapeError("key_switch takes ciphertexts modulo " + std::to_string(shape.Q_ks) +
                     ", n = " + std::to_string(shape.N) + ", under the ring key, not " +
                     form.describe());
  Rows out(queue_, {shape.Q_ks, shape.n, Under::lwe, form.word_bytes}, in.count());
  with_words(form, [&]<class Word>(Word) {
    queue_.lwe().key_switch<Word>(*keys_.key_switch, in.slice<Word>(), out.slice<Word>());
  });
  return out;
}

// ---- rotations

Form extracted_form(const backend::RotationShape& shape) {
  return {shape.Q, shape.N, Under::ring, ring_word_bytes(shape.Q)};
}

const backend::RotationKey& Stages::rotation_key() const {
  if (!keys_.rotation)
    throw backend::RefusedError("there is no blind-rotation key on " + queue_.name());
  return *keys_.rotation;
}

Rows Stages::ones(const Rows& like) const {
  const Form& form = like.form();
  return with_words(form, [&]<class Word>(Word) {
    std::vector<Word> row(form.row(), 1);
    row.back() = 0;
    return take(upload(form, 1, row.data()), std::vector<std::uint32_t>(like.count(), 0));
  });
}

Rows Stages::to_exponents(Rows rows, std::uint64_t to, std::uint64_t offset,
                          unsigned centre) const {
  const backend::RotationShape& shape = rotation_key().shape();
  const RotationMethod method(shape.kind, shape.group, shape.raised_by, shape.unit);
  const std::uint64_t unit = method.unit();
  if (method.odd()) {
    // a -> 2·round((a·to/q - 1)/2) + 1, so that rounding errors have mean 0.
    if (const auto one = static_cast<std::int64_t>(rows.form().modulus / to); one != 0) {
      const Rows shift = ones(rows);
      const Rows* both[] = {&rows, &shift};
      const std::int64_t weights[] = {1, -one};
      rows = linear(weights, both, 0);
    }
  }
  Rows out = modulus_switch(std::move(rows), to / unit, centre);
  if (unit == 1) {
    add_constant(out, offset);
    return out;
  }
  out.read_modulo(to);
  const Rows odd = ones(out);
  const Rows* both[] = {&out, &odd};
  const std::int64_t weights[] = {static_cast<std::int64_t>(unit), method.odd() ? 1 : 0};
  return linear(weights, both, offset);
}

void Stages::check_exponents(const Rows& exponents, std::size_t count) const {
  const backend::RotationShape& shape = rotation_key().shape();
  const Form& form = exponents.form();
  if (form.modulus != 2ULL * shape.N || form.dimension != shape.n || form.word_bytes != 4 ||
      exponents.count() != count)
    throw ShapeError("rotate takes " + std::to_string(count) + " ciphertexts modulo " +
                     std::to_string(2ULL * shape.N) + ", n = " + std::to_string(shape.n) +
                     ", not " + std::to_string(exponents.count()) + " " + form.describe());
}

template <class Word, class Body>
void Stages::rotated(const Rows& exponents, const Tables& tables, run::Range range,
                     const Body& body) const {
  check_exponents(exponents, range.count);
  const auto used = tables.used<Word>(range);
  const auto constant_vector = tables.constant();
  auto vectors =
      queue_.allocate<Word>(constant_vector ? rotation_key().shape().N : used.vectors.size());
  if (constant_vector)
    queue_.fill(static_cast<Word>(*constant_vector), vectors.slice());
  else
    queue_.upload(used.vectors, vectors.slice());
  body(backend::Rotations<Word>{exponents.slice<std::uint32_t>(), std::as_const(vectors).slice(),
                                used.index});
}

Rows Stages::rotate(const Rows& exponents, const Tables& tables, run::Range range,
                    std::span<const std::uint32_t> offsets, std::uint64_t constant) const {
  Rows out(queue_, extracted_form(rotation_key().shape()), range.count * offsets.size());
  with_words(out.form(), [&]<class Word>(Word) {
    rotated<Word>(exponents, tables, range, [&](const backend::Rotations<Word>& batch) {
      queue_.rotation<Word>().rotate_extract(rotation_key(), batch, offsets, constant,
                                             out.slice<Word>());
    });
  });
  return out;
}

Rows Stages::accumulate(const Rows& exponents, const Tables& tables, run::Range range) const {
  const backend::RotationShape& shape = rotation_key().shape();
  Form form = extracted_form(shape);
  form.dimension = 2 * shape.N - 1;
  Rows out(queue_, form, range.count);
  with_words(out.form(), [&]<class Word>(Word) {
    rotated<Word>(exponents, tables, range, [&](const backend::Rotations<Word>& batch) {
      queue_.rotation<Word>().rotate(rotation_key(), batch, out.slice<Word>());
    });
  });
  return out;
}

void Stages::rotate(const Rows& exponents, const DeviceTables& tables, std::size_t first,
                    std::uint64_t constant, Rows& out, std::size_t at) const {
  check_exponents(exponents, exponents.count());
  const std::size_t row = out.form().row();
  with_words(out.form(), [&]<class Word>(Word) {
    queue_.rotation<Word>().rotate_extract(
        rotation_key(), exponents.slice<std::uint32_t>(),
        std::get<backend::PlacedTables<Word>>(tables), first, constant,
        out.slice<Word>().part(at * row, exponents.count() * row));
  });
}

}  // namespace whorl::lattice::lwe
