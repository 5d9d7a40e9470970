// Batches of ciphertexts in the host's memory: some of one, and several as one.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "common/files.h"
#include "whorl/rows.h"

namespace whorl::python {

using whorl::Layout;  // what a binding says of its batches

/// The words where they lie; `owner` keeps them alive. Read-only, so that a seed stays true.
inline nb::ndarray<nb::numpy, nb::ro> view(const WordArray& words,
                                           const std::vector<std::size_t>& shape,
                                           nb::handle owner) {
  const auto kind =
      words.word_bytes() == 4 ? nb::dtype<std::uint32_t>() : nb::dtype<std::uint64_t>();
  return {words.data(), shape.size(), shape.data(), owner, nullptr, kind};
}

/// Ciphertexts that are to be saved in another shape; they are not copied.
template <class Ciphertexts>
struct Reshaped {
  const Ciphertexts* batch;
  Shape shape;
};

/// What batches of every scheme have. `take` is given a batch and indices, `join` batches, which it
/// checks.
template <class Ciphertexts, class Take, class Join>
void bind_batch(nb::class_<Ciphertexts>& type, Take take, Join join) {
  nb::class_<Reshaped<Ciphertexts>> reshaped(type, "Reshaped");
  bind_saving(reshaped, [](const Reshaped<Ciphertexts>& self, const auto& write) {
    return write(*self.batch, {&interrupted, self.shape});
  });
  bind_origin(type);
  type.def_prop_ro("seed",
                   [](const Ciphertexts& c) -> std::optional<nb::bytes> {
                     if (!c.seed) return std::nullopt;
                     return as_bytes(*c.seed);
                   })
      .def_prop_ro("shape",
                   [](const Ciphertexts& c) {
                     using Sizes = nb::typed<nb::tuple, std::size_t, nb::ellipsis>;
                     std::optional<Sizes> shape;
                     if (c.shape) shape = Sizes(nb::tuple(nb::cast(*c.shape)));
                     return shape;
                   })
      .def(
          "with_shape",
          [](const Ciphertexts& c, Shape shape) {
            return Reshaped<Ciphertexts>{&c, std::move(shape)};
          },
          "shape"_a, nb::keep_alive<0, 1>())
      .def(
          "take",
          [take](const Ciphertexts& c, const Input<std::uint32_t>& index) {
            return without_gil([&] { return take(c, as_span(index)); });
          },
          "index"_a)
      .def_static(
          "concatenate",
          [join](const std::vector<const Ciphertexts*>& batches) {
            check_each(batches);
            return without_gil([&] { return join(batches); });
          },
          "batches"_a);
  bind_files(type);
}

/// The same where the scheme has functions `take` and `concatenate`.
template <class Ciphertexts>
void bind_batch(nb::class_<Ciphertexts>& type) {
  bind_batch(
      type,
      [](const Ciphertexts& c, std::span<const std::uint32_t> index) { return take(c, index); },
      [](const std::vector<const Ciphertexts*>& batches) { return concatenate(batches); });
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
        if (batches.empty()) throw ShapeError("batches: there is no batch");
        for (const Ciphertexts* batch : batches) check_origin(*batch, *batches.front());
        return with(*batches.front(), join_words<Ciphertexts>(batches, layout(*batches.front())));
      });
}

/// Batches of schemes over RNS rings, of as many primes as `primes` says.
template <class Ciphertexts, class Primes>
void bind_ring_batch(nb::class_<Ciphertexts>& type, Primes primes) {
  type.def_prop_ro("each", [](const Ciphertexts& c) { return c.info.each(c.parameters.N()); })
      .def_prop_ro("data", [primes](nb::handle self) {
        const auto& c = nb::cast<const Ciphertexts&>(self);
        return view(c.data, {c.info.parts, primes(c), c.info.count, c.parameters.N()}, self);
      });
  bind_batch(type);
}

}  // namespace whorl::python
