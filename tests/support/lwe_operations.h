// Single stages as operations on arrays.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lattice/lwe/evaluator.h"

namespace whorl::lattice::lwe {

using Operands = std::span<const Rows* const>;

inline std::vector<Rows> only(Rows rows) {
  std::vector<Rows> out;
  out.push_back(std::move(rows));
  return out;
}

inline Array linear(const Evaluator& evaluator, std::span<const std::int64_t> weights,
                    std::span<const Array* const> in, std::uint64_t constant) {
  const Form out[] = {in[0]->form()};
  return evaluator.map(in, out, false, [&](const Stages& stages, Operands operands, run::Range) {
    return only(stages.linear(weights, operands, constant));
  })[0];
}

inline std::vector<Array> matrix(const Evaluator& evaluator, std::span<const std::int64_t> entries,
                                 std::span<const std::uint64_t> constants,
                                 std::span<const Array* const> in) {
  const std::vector<Form> out(constants.size(), in[0]->form());
  return evaluator.map(in, out, false, [&](const Stages& stages, Operands operands, run::Range) {
    return stages.matrix(entries, constants, operands);
  });
}

/// `in` with another modulus, by one stage.
template <class Stage>
Array to_modulus(const Evaluator& evaluator, const Array& in, std::uint64_t to, bool with_keys,
                 const Stage& stage) {
  Form form = in.form();
  form.modulus = to;
  form.word_bytes = array_word_bytes(to);
  const Array* inputs[] = {&in};
  return evaluator.map(inputs, std::span(&form, 1), with_keys,
                       [&](const Stages& stages, Operands operands, run::Range) {
                         return only(stage(stages, *operands[0]));
                       })[0];
}

inline Array modulus_switch(const Evaluator& evaluator, const Array& in, std::uint64_t to,
                            unsigned centre) {
  return to_modulus(evaluator, in, to, false, [&](const Stages& stages, const Rows& rows) {
    return stages.modulus_switch(rows, to, centre);
  });
}

inline Array to_exponents(const Evaluator& evaluator, const Array& in, std::uint64_t to,
                          std::uint64_t offset, unsigned centre) {
  return to_modulus(evaluator, in, to, true, [&](const Stages& stages, const Rows& rows) {
    return stages.to_exponents(stages.copy(rows), to, offset, centre);
  });
}

inline Array key_switch(const Evaluator& evaluator, const Array& in) {
  Form form = in.form();
  form.under = Under::lwe;
  if (const Keys* const keys = evaluator.keys()) form.dimension = keys->key_switch().n;
  const Array* inputs[] = {&in};
  return evaluator.map(inputs, std::span(&form, 1), true,
                       [](const Stages& stages, Operands operands, run::Range) {
                         return only(stages.key_switch(*operands[0]));
                       })[0];
}

/// An array for each of `offsets`.
inline std::vector<Array> rotate(const Evaluator& evaluator, const Array& exponents,
                                 const Tables& tables, std::span<const std::uint32_t> offsets,
                                 std::uint64_t constant) {
  const Keys* const keys = evaluator.keys();
  const std::vector<Form> out(offsets.size(),
                              keys ? extracted_form(keys->rotation()) : exponents.form());
  const Array* inputs[] = {&exponents};
  return evaluator.map(
      inputs, out, true, [&](const Stages& stages, Operands operands, run::Range range) {
        const Rows all = stages.rotate(*operands[0], tables, range, offsets, constant);
        std::vector<Rows> each;
        std::vector<std::uint32_t> index(range.count);
        for (std::size_t k = 0; k < offsets.size(); ++k) {
          for (std::size_t i = 0; i < index.size(); ++i)
            index[i] = static_cast<std::uint32_t>(i * offsets.size() + k);
          each.push_back(stages.take(all, index));
        }
        return each;
      });
}

}  // namespace whorl::lattice::lwe
