// Batches of ciphertexts in the host's memory: some of one, and several as one.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "common/files.h"

namespace whorl::python {

/// How a batch lies in memory: `outer` blocks of a row of `inner` words for each ciphertext.
struct Layout {
  std::size_t outer, inner;
};

/// Block by block, the rows at `index` of `count`; any may come several times.
template <class Word>
std::vector<Word> take_rows(std::span<const Word> words, Layout layout, std::size_t count,
                            std::span<const std::uint32_t> index) {
  std::vector<Word> out(layout.outer * index.size() * layout.inner);
  Word* to = out.data();
  for (std::size_t block = 0; block < layout.outer; ++block)
    for (const std::uint32_t i : index) {
      if (i >= count)
        throw ShapeError("index: " + std::to_string(i) + ", not below " + std::to_string(count));
      std::copy_n(words.data() + (block * count + i) * layout.inner, layout.inner, to);
      to += layout.inner;
    }
  return out;
}

/// Block by block, the rows of all batches in sequence.
template <class Word>
std::vector<Word> join_rows(const std::vector<std::span<const Word>>& batches, Layout layout) {
  std::size_t size = 0;
  for (const auto& words : batches) size += words.size();
  std::vector<Word> out;
  out.reserve(size);
  for (std::size_t block = 0; block < layout.outer; ++block)
    for (const auto& words : batches) {
      const auto part = words.subspan(block * (words.size() / layout.outer));
      out.insert(out.end(), part.begin(), part.begin() + words.size() / layout.outer);
    }
  return out;
}

/// The same of words of 4 or 8 bytes.
inline WordArray take_words(const WordArray& words, Layout layout, std::size_t count,
                            std::span<const std::uint32_t> index) {
  const auto take = [&]<class Word>(Word) {
    return WordArray(take_rows(words.as<Word>(), layout, count, index));
  };
  return words.word_bytes() == 4 ? take(std::uint32_t{}) : take(std::uint64_t{});
}
template <class Ciphertexts>
WordArray join_words(const std::vector<const Ciphertexts*>& batches, Layout layout) {
  const auto join = [&]<class Word>(Word) {
    std::vector<std::span<const Word>> words;
    for (const Ciphertexts* batch : batches) words.push_back(batch->data.template as<Word>());
    return WordArray(join_rows(words, layout));
  };
  return batches.front()->data.word_bytes() == 4 ? join(std::uint32_t{}) : join(std::uint64_t{});
}

/// The words where they lie; `owner` keeps them alive. Read-only, so that a seed stays true.
inline nb::object view(const WordArray& words, const std::vector<std::size_t>& shape,
                       nb::handle owner) {
  const auto view = [&]<class Word>(Word) {
    return nb::cast(nb::ndarray<nb::numpy, const Word>(words.as<Word>().data(), shape.size(),
                                                       shape.data(), owner));
  };
  return words.word_bytes() == 4 ? view(std::uint32_t{}) : view(std::uint64_t{});
}

/// Throws unless two batches are under the same parameters and key.
template <class Ciphertexts>
void check_origin(const Ciphertexts& a, const Ciphertexts& b) {
  if (a.parameters != b.parameters)
    throw ParameterMismatchError("parameters: those of " + a.parameters.literal().name +
                                 " beside those of " + b.parameters.literal().name);
  if (a.key_id != b.key_id) throw KeyMismatchError("key_id: of one key beside that of another");
}

/// What batches of every scheme have. `take` is given a batch and indices, `join` batches of one
/// origin, at least one; neither result has a seed.
template <class Ciphertexts, class Take, class Join>
void bind_batch(nb::class_<Ciphertexts>& type, Take take, Join join) {
  using namespace nb::literals;
  bind_origin(type);
  type.def_prop_ro("seed",
                   [](const Ciphertexts& c) -> std::optional<nb::bytes> {
                     if (!c.seed) return std::nullopt;
                     return as_bytes(*c.seed);
                   })
      .def_prop_ro("shape",
                   [](const Ciphertexts& c) -> nb::object {
                     if (!c.shape) return nb::none();
                     return nb::tuple(nb::cast(*c.shape));
                   })
      .def(
          "with_shape",
          [](const Ciphertexts& c, Shape shape) {
            Ciphertexts result = c;
            result.shape = std::move(shape);
            return result;
          },
          "shape"_a)
      .def(
          "take",
          [take](const Ciphertexts& c, const Input<std::uint32_t>& index) {
            return without_gil([&] { return take(c, as_span(index)); });
          },
          "index"_a)
      .def_static(
          "concatenate",
          [join](const std::vector<const Ciphertexts*>& batches) {
            if (batches.empty()) throw ShapeError("batches: none");
            check_each(batches);
            for (const Ciphertexts* batch : batches) check_origin(*batch, *batches.front());
            return without_gil([&] { return join(batches); });
          },
          "batches"_a);
  bind_files(type);
}

/// The same of batches that are `count` and `data` alone, which lies as `layout` of one says, and
/// these.
template <class Ciphertexts, class LayoutOf>
void bind_batch(nb::class_<Ciphertexts>& type, LayoutOf layout) {
  const auto with = [layout](const Ciphertexts& like, WordArray data) {
    Ciphertexts made{like.parameters, like.key_id};
    made.count = data.size() / (layout(like).outer * layout(like).inner);
    made.data = std::move(data);
    return made;
  };
  type.def_ro("count", &Ciphertexts::count).def_prop_ro("data", [layout](nb::handle self) {
    const auto& c = nb::cast<const Ciphertexts&>(self);
    return view(c.data, {layout(c).outer, c.count, layout(c).inner}, self);
  });
  bind_batch(
      type,
      [=](const Ciphertexts& c, std::span<const std::uint32_t> index) {
        return with(c, take_words(c.data, layout(c), c.count, index));
      },
      [=](const std::vector<const Ciphertexts*>& batches) {
        return with(*batches.front(), join_words(batches, layout(*batches.front())));
      });
}

}  // namespace whorl::python
