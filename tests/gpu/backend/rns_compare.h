// RNS entries on both devices, bit for bit.
#pragma once

#include <bit>

#include "gpu/backend/compare.h"
#include "ring/base_conversion.h"
#include "ring/gadget.h"
#include "support/rns.h"

namespace whorl::test {

/// A queue's tables of a plan, keys and conversions, prepared for one comparison.
template <class Word>
struct RnsOn {
  const backend::Queue& queue;
  const backend::RnsOps<Word>& ops;
  std::unique_ptr<const backend::RnsTables<Word>> tables;

  RnsOn(const backend::Queue& on, const std::shared_ptr<const ring::RnsPlan<Word>>& plan)
      : queue(on), ops(on.rns<Word>()), tables(ops.prepare(plan)) {}
};

/// run(const RnsOn<Word>&) on both must give the same.
template <class Word>
class RnsPair {
 public:
  RnsPair(const Two& two, const std::shared_ptr<const ring::RnsPlan<Word>>& plan)
      : two_(two), cpu_(*two.cpu, plan), gpu_(*two.gpu, plan) {}
  template <class Run>
  void same(const Run& run) const {
    expect_same(two_, [&](const backend::Queue& queue) {
      return run(&queue == &cpu_.queue ? cpu_ : gpu_);
    });
  }

 private:
  const Two& two_;
  RnsOn<Word> cpu_, gpu_;
};

/// Transforms both ways, and products: of `parts` by 1 and by `parts`, and of every a by one b; as
/// they are, doubled, with a constant, and with both.
template <class Word>
void compare_products(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan,
                      const ring::Basis& basis, std::size_t batch, std::size_t parts,
                      Random& random) {
  const auto x = random_rows(plan, basis, parts, batch, random),
             y = random_rows(plan, basis, parts, batch, random);
  const std::size_t row = basis.size() * plan.N();
  for (const bool forward : {true, false})
    both.same([&](const RnsOn<Word>& on) {
      auto data = put(on.queue, x);
      forward ? on.ops.ntt(*on.tables, basis, parts, data.slice())
              : on.ops.intt(*on.tables, basis, parts, data.slice());
      return get(on.queue, data);
    });
  std::vector<Word> constant;
  for (std::size_t l = 0; l < basis.size(); ++l)
    constant.push_back(static_cast<Word>(random.word()));
  const auto z = random_rows(plan, basis, 2 * parts - 1, batch, random);
  const std::pair<std::size_t, std::size_t> factors[] = {{1, batch}, {parts, batch}, {parts, 1}};
  for (const auto& [more, b_batch] : factors)
    both.same([&, more = more, b_batch = b_batch](const RnsOn<Word>& on) {
      const auto a = put(on.queue, x), b = put(on.queue, y);
      auto out = on.queue.template allocate<Word>((parts + more - 1) * batch * row);
      const auto c = put(on.queue, z);
      const std::size_t some = (parts + more) / 2, every = parts + more - 1;
      const auto added = [&](std::size_t its_parts) {
        return c.slice().part(0, its_parts * batch * row);
      };
      const backend::TensorEnd<Word> ends[] = {{},
                                               {true, {}},
                                               {false, constant},
                                               {true, constant},
                                               {false, {}, added(every), every},
                                               {true, constant, added(some), some}};
      std::vector<Word> all;
      for (const backend::TensorEnd<Word>& end : ends) {
        on.ops.tensor(*on.tables, basis, parts, a.slice(), more,
                      b.slice().part(0, more * b_batch * row), end, out.slice());
        const auto product = get(on.queue, out);
        all.insert(all.end(), product.begin(), product.end());
      }
      return all;
    });
}

/// log2 of how often a factor's values repeat: 0 half of the time.
inline unsigned random_log_repeats(std::uint32_t N, Random& random) {
  const auto log_N = static_cast<unsigned>(std::bit_width(N) - 1);
  return random.below(2) ? 0 : 2 + static_cast<unsigned>(random.below(log_N - 1));
}

/// Sums of products and sums with weights: of one term and of several, with automorphisms and
/// without, of other bases, of one x for all of the batch, with a constant, onto what is there.
template <class Word>
void compare_sums(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan,
                  const ring::Basis& basis, std::size_t batch, std::size_t parts, std::uint32_t g,
                  Random& random) {
  const ring::Basis wide = basis | random_part(plan.all(), random),
                    other = random_part(plan.all(), random);
  SCOPED_TRACE("sums over " + basis.describe() + " of " + wide.describe() + " and " +
               other.describe());
  const auto x = random_rows(plan, basis, parts, batch, random),
             y = random_rows(plan, wide, parts, batch, random),
             z = random_rows(plan, other, parts, batch, random),
             m = random_rows(plan, wide, 1, batch, random);
  std::vector<Word> weights;
  for (const auto& q : plan.moduli_of(basis))
    weights.push_back(static_cast<Word>(random.below(q.value())));
  const unsigned log_repeats = random_log_repeats(plan.N(), random);
  const std::size_t sums = 1 + random.below(5), batched = random.below(sums + 1);
  auto old = random_rows(plan, basis, (sums - batched) * parts, batch, random);
  const auto behind = random_rows(plan, basis, parts, batched * batch, random);
  old.insert(old.end(), behind.begin(), behind.end());
  for (const std::size_t count : {1, 3, 5})
    for (const std::uint32_t by : {1u, g})
      for (const bool onto : {false, true}) {
        both.same([&](const RnsOn<Word>& on) {
          const auto first = put(on.queue, x), factors = put(on.queue, m);
          const auto all = factors.slice(), one = all.part(0, wide.size() * plan.N()),
                     single = first.slice().part(0, parts * basis.size() * plan.N());
          const auto last = static_cast<std::uint32_t>(sums - 1);
          const backend::ProductTerm<Word> terms[] = {
              {first.slice(), all.part(0, all.size >> log_repeats), wide, by, 0, log_repeats},
              {first.slice(), one, wide, 1, last},
              {first.slice(), all, wide, by, last},
              {single, all, wide, by, last},
              {single, one, wide, 1, 0}};
          auto out = put(on.queue, old);
          on.ops.sums_of_products(*on.tables, basis, {sums, parts, batched},
                                  std::span(terms).first(count), onto, out.slice());
          return get(on.queue, out);
        });
        both.same([&](const RnsOn<Word>& on) {
          const auto first = put(on.queue, y), second = put(on.queue, z);
          const auto single = first.slice().part(0, parts * wide.size() * plan.N());
          const backend::ScaledTerm<Word> terms[] = {{first.slice(), wide, weights, by},
                                                     {single, wide, {}, by},
                                                     {second.slice(), other, weights, by}};
          const std::size_t some = std::min<std::size_t>(count, 3);
          const std::span<const Word> constant =
              by == 1 ? std::span<const Word>(weights) : std::span<const Word>();
          auto out = put(on.queue, x);
          on.ops.combine(*on.tables, basis, parts, std::span(terms).first(some), constant, onto,
                         out.slice());
          return get(on.queue, out);
        });
      }
}

/// Matrices times `inputs` batches: of few outputs and of many, which have tiles of their own; of
/// inputs that fill no tile; all results, and those from within a row on; with constants.
template <class Word>
void compare_matrices(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan,
                      const ring::Basis& basis, std::size_t batch, std::size_t parts,
                      Random& random) {
  for (const std::size_t outputs : {1, 16, 17, 64, 150})
    for (const std::size_t inputs : {1, 16, 41}) {
      SCOPED_TRACE(std::to_string(outputs) + " by " + std::to_string(inputs));
      const std::size_t stride = outputs * inputs + random.below(3), first = random.below(batch),
                        results = outputs * batch - first;
      const auto x = random_rows(plan, basis, parts, inputs * batch, random);
      std::vector<Word> weights, constants;
      for (const auto& q : plan.moduli_of(basis)) {
        for (std::size_t i = 0; i < stride; ++i)
          weights.push_back(random.below(4) == 0 ? q.value() - 1
                                                 : static_cast<Word>(random.below(q.value())));
        for (std::size_t j = 0; j < outputs; ++j)
          constants.push_back(static_cast<Word>(random.below(q.value())));
      }
      for (const bool adds : {false, true})
        both.same([&](const RnsOn<Word>& on) {
          const auto in = put(on.queue, x), by = put(on.queue, weights),
                     more = put(on.queue, constants);
          auto out = on.queue.template allocate<Word>(parts * basis.size() * results * plan.N());
          on.ops.weighted_sums(*on.tables, basis, parts,
                               {in.slice(), by.slice(),
                                more.slice().part(0, adds ? constants.size() : 0), inputs, first},
                               out.slice());
          return get(on.queue, out);
        });
    }
}

/// Products with sums that masks choose: of one low array to sixteen, of few outputs and of more
/// than a launch makes; masks are 0, full, or any.
template <class Word>
void compare_masked(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan,
                    const ring::Basis& basis, std::size_t batch, Random& random) {
  for (const std::size_t lows : {1, 4, 6, 8, 11, 16})
    for (const std::size_t highs : {1, 2, 7, 16})
      for (const std::size_t outputs : {1, 8, 33}) {
        SCOPED_TRACE(std::to_string(highs) + " by " + std::to_string(lows) + " to " +
                     std::to_string(outputs));
        std::vector<std::vector<Word>> values;
        for (std::size_t i = 0; i < highs + lows; ++i) {
          values.push_back(random_rows(plan, basis, 2, batch, random));
          // At the largest residues sums come closest to overflow.
          if (outputs == 8)
            for (std::size_t at = 0; at < values[i].size(); ++at)
              values[i][at] =
                  plan.moduli_of(basis)[at / (batch * plan.N()) % basis.size()].value() - 1;
        }
        const std::size_t full = (std::size_t{1} << lows) - 1;
        std::vector<std::uint16_t> masks;
        for (std::size_t i = 0; i < outputs * highs; ++i) {
          const std::size_t kind = outputs == 8 ? i / highs % 4 : random.below(4);
          masks.push_back(static_cast<std::uint16_t>(kind == 0   ? full
                                                     : kind == 1 ? 0
                                                                 : random.below(full + 1)));
        }
        both.same([&](const RnsOn<Word>& on) {
          std::vector<backend::Buffer<Word>> held, outs;
          std::vector<backend::Slice<const Word>> in;
          std::vector<backend::Slice<Word>> to;
          for (const auto& each : values)
            in.push_back(std::as_const(held.emplace_back(put(on.queue, each))).slice());
          for (std::size_t j = 0; j < outputs; ++j)
            to.push_back(outs.emplace_back(on.queue.template allocate<Word>(3 * basis.size() *
                                                                            batch * plan.N()))
                             .slice());
          const std::span all(in);
          on.ops.masked_tensors(*on.tables, basis, {all.first(highs), all.subspan(highs), masks},
                                to);
          std::vector<Word> out;
          for (const auto& each : outs) {
            const auto words = get(on.queue, each);
            out.insert(out.end(), words.begin(), words.end());
          }
          return out;
        });
      }
}

/// With nothing added, and with 1 … parts parts: in place, and at X^g.
template <class Word>
void compare_division(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan,
                      const ring::Basis& from, const ring::Basis& to, std::uint64_t t,
                      std::size_t batch, std::size_t parts, std::uint32_t g, Random& random) {
  SCOPED_TRACE(from.describe() + " to " + to.describe() + ", t = " + std::to_string(t));
  const auto x = random_rows(plan, from, parts, batch, random),
             y = random_rows(plan, to, parts, batch, random);
  for (std::size_t added = 0; added <= parts; ++added)
    for (const std::uint32_t by : {0u, 1u, g})  // 0: in place
      both.same([&](const RnsOn<Word>& on) {
        const auto in = put(on.queue, x), more = put(on.queue, y);
        auto out = put(on.queue, y);
        const std::size_t size = added * to.size() * batch * plan.N();
        on.ops.divide(
            *on.tables, from, to, t, parts, in.slice(),
            by == 0 ? std::as_const(out).slice().part(0, size) : more.slice().part(0, size),
            std::max(1u, by), out.slice());
        return get(on.queue, out);
      });
}

/// Digits of `basis` extended, and their products with a key of the layout.
template <class Word>
void compare_switching(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan,
                       const ring::KeyLayout& layout, const ring::Basis& basis, std::size_t batch,
                       std::uint32_t g, Random& random) {
  SCOPED_TRACE("basis " + basis.describe() + " of a key over " + layout.chain.describe() + " and " +
               layout.special.describe());
  const RnsKeyRows<Word> rows(plan, layout, random);
  const auto x = random_rows(plan, basis, 1, batch, random);
  const ring::Basis to = basis | layout.special;
  std::vector<Word> weights;
  for (const auto& q : plan.moduli_of(to))
    weights.push_back(static_cast<Word>(random.below(q.value())));
  std::size_t digits = 0;
  for (const ring::Basis& digit : layout.digits) digits += !(digit & basis).empty();
  for (const std::uint32_t by : {1u, g})
    both.same([&](const RnsOn<Word>& on) {
      const auto key = on.ops.prepare_key(*on.tables, layout, rows.source());
      const auto in = put(on.queue, x);
      const std::size_t part = to.size() * batch * plan.N();
      auto raised = on.queue.template allocate<Word>(digits * part);
      on.ops.extend(*on.tables, basis, layout.digits, to, ring::Lift::exact, in.slice(),
                    raised.slice());
      auto out = on.queue.template allocate<Word>(2 * part);
      on.ops.inner_product(*key, *on.tables, basis, by, std::as_const(raised).slice(), out.slice());
      auto all = get(on.queue, raised);
      const auto keep = [&] {
        const auto sums = get(on.queue, out);
        all.insert(all.end(), sums.begin(), sums.end());
      };
      keep();
      on.ops.inner_product(*key, *on.tables, basis, std::as_const(raised).slice(),
                           {in.slice(), basis, weights, by}, true, out.slice());
      keep();
      return all;
    });
  // These are operands of a product of ciphertexts, which may have one factor for all.
  const auto factors = random_rows(plan, basis, 2, batch, random),
             others_or_one = random_rows(plan, basis, 2, random.below(2) ? batch : 1, random);
  std::vector<Word> constant;
  if (random.below(2))
    for (const auto& q : plan.moduli_of(basis))
      constant.push_back(static_cast<Word>(random.below(q.value())));
  const bool doubled = random.below(2) == 1;
  both.same([&](const RnsOn<Word>& on) {
    const auto key = on.ops.prepare_key(*on.tables, layout, rows.source());
    const auto a = put(on.queue, factors), b = put(on.queue, others_or_one);
    auto out = on.queue.template allocate<Word>(2 * to.size() * batch * plan.N());
    on.ops.switched_product(*key, *on.tables, basis,
                            {a.slice(), b.slice(), doubled, constant, weights}, out.slice());
    return get(on.queue, out);
  });
  // With several keys at once, and now and then with more than a launch takes.
  const RnsKeyRows<Word> others(plan, layout, random);
  std::vector<std::uint32_t> gs;
  for (std::size_t left = random.below(4) == 0 ? 18 : 1 + random.below(4); left > 0; --left)
    gs.push_back(random.below(3) ? static_cast<std::uint32_t>(2 * random.below(plan.N()) + 1) : g);
  const auto raised = random_rows(plan, to, digits, batch, random);
  for (const bool adds : {false, true})
    both.same([&](const RnsOn<Word>& on) {
      const auto first = on.ops.prepare_key(*on.tables, layout, rows.source()),
                 second = on.ops.prepare_key(*on.tables, layout, others.source());
      std::vector<backend::TurnedKey<Word>> terms;
      for (const std::uint32_t by : gs)
        terms.push_back({(terms.size() % 2 ? second : first).get(), by});
      const auto in = put(on.queue, x), from = put(on.queue, raised);
      backend::ScaledTerm<Word> added{in.slice(), basis, weights};
      if (!adds) added.x = {};
      auto out = on.queue.template allocate<Word>(terms.size() * 2 * to.size() * batch * plan.N());
      on.ops.inner_products(terms, *on.tables, basis, from.slice(), added, out.slice());
      return get(on.queue, out);
    });
  // The same images and the array itself, times plaintexts, in some sums.
  const ring::Basis wide = to | random_part(plan.all(), random);
  const auto halves = random_rows(plan, basis, 2, batch, random),
             m = random_rows(plan, wide, 1, batch, random);
  const backend::SumLayout lie{1 + random.below(5), 2, 0};
  const backend::SumLayout batched{lie.sums, 2, random.below(lie.sums + 1)};
  auto old = random_rows(plan, to, batched.alone() * 2, batch, random);
  const auto behind = random_rows(plan, to, 2, batched.batched * batch, random);
  old.insert(old.end(), behind.begin(), behind.end());
  std::vector<std::uint32_t> has;  // a bit for each sum, another for a plaintext of its own each
  for (std::size_t i = 0; i <= gs.size(); ++i)
    has.push_back(static_cast<std::uint32_t>(random.below(1u << (2 * lie.sums))));
  // Those of every other term are stored by their period.
  const unsigned log_repeats = random_log_repeats(plan.N(), random);
  for (const bool onto : {false, true})
    both.same([&](const RnsOn<Word>& on) {
      const auto first = on.ops.prepare_key(*on.tables, layout, rows.source()),
                 second = on.ops.prepare_key(*on.tables, layout, others.source());
      const auto in = put(on.queue, halves), from = put(on.queue, raised),
                 plains = put(on.queue, m);
      const auto all = plains.slice(), one = all.part(0, wide.size() * plan.N());
      std::vector<backend::TurnedProduct<Word>> terms;
      for (const std::uint32_t bits : has) {
        backend::TurnedProduct<Word> term;
        if (const std::size_t i = terms.size(); i > 0) {
          term.key = (i % 2 ? second : first).get();
          term.g = gs[i - 1];
        }
        const unsigned its = terms.size() % 2 ? log_repeats : 0;
        for (std::uint32_t sum = 0; sum < lie.sums; ++sum)
          if (bits >> sum & 1) {
            const auto values = bits >> (lie.sums + sum) & 1 ? all : one;
            term.factors.push_back({values.part(0, values.size >> its), wide, sum, its});
          }
        terms.push_back(std::move(term));
      }
      auto out = put(on.queue, old);
      on.ops.sums_of_turned_products(layout, *on.tables, basis, batched, terms, from.slice(),
                                     {in.slice(), basis, weights}, onto, out.slice());
      return get(on.queue, out);
    });
  // Arrays with a key each, to one sum.
  const std::size_t first = random.below(2), of = first + gs.size() + random.below(2);
  const auto many = random_rows(plan, to, digits, of * batch, random),
             more = random_rows(plan, to, 1, of * batch, random),
             before = random_rows(plan, to, 2, batch, random);
  for (const bool onto : {false, true})
    both.same([&](const RnsOn<Word>& on) {
      const auto key = on.ops.prepare_key(*on.tables, layout, rows.source()),
                 other = on.ops.prepare_key(*on.tables, layout, others.source());
      std::vector<backend::TurnedKey<Word>> terms;
      for (const std::uint32_t by : gs)
        terms.push_back({(terms.size() % 2 ? other : key).get(), by});
      const auto from = put(on.queue, many), added = put(on.queue, more);
      auto out = put(on.queue, before);
      on.ops.sum_of_inner_products(terms, *on.tables, basis, from.slice(),
                                   onto ? added.slice() : backend::Slice<const Word>(), first, onto,
                                   out.slice());
      return get(on.queue, out);
    });
}

/// Digits modulo one of the primes, to a place that does not begin at 16 bytes too: of a few
/// gadgets, exact and not, and of the one with the most digits.
template <class Word>
void compare_digits(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan, std::size_t batch,
                    std::size_t parts, Random& random) {
  const auto prime = static_cast<unsigned>(random.below(plan.moduli().size()));
  const ring::Basis basis{prime};
  const std::uint64_t q = plan.moduli()[prime].value();
  const auto bits = static_cast<unsigned>(std::bit_width(q - 1));
  auto x = random_rows(plan, basis, parts, batch, random);
  const std::uint64_t edges[] = {0, 1, q / 2, q / 2 + 1, q - 1};
  for (std::size_t i = 0; i < 5; ++i) x[i] = static_cast<Word>(edges[i]);
  for (unsigned run = 0; run < 4; ++run) {
    const unsigned log_base = run == 0 ? 1 : 1 + static_cast<unsigned>(random.below(31)),
                   most = (bits + log_base - 1) / log_base,
                   count = run == 0 ? most : 1 + static_cast<unsigned>(random.below(most));
    const ring::Gadget gadget(q, log_base, count);
    SCOPED_TRACE(std::to_string(count) + " digits of " + std::to_string(log_base) + " bits");
    both.same([&](const RnsOn<Word>& on) {
      auto in = put(on.queue, x);
      on.ops.ntt(*on.tables, basis, parts, in.slice());
      auto out = put(on.queue, std::vector<Word>(count * x.size() + 1, 7));
      on.ops.decompose(*on.tables, basis, gadget, parts, in.slice(),
                       out.slice().part(run % 2, count * x.size()));
      return get(on.queue, out);
    });
  }
}

/// All of `from` to `to`, exact and approximate.
template <class Word>
void compare_raise(const RnsPair<Word>& both, const ring::RnsPlan<Word>& plan,
                   const ring::Basis& from, const ring::Basis& to, std::size_t batch,
                   Random& random) {
  SCOPED_TRACE(from.describe() + " raised to " + to.describe());
  const auto x = random_rows(plan, from, 1, batch, random);
  for (const ring::Lift lift : {ring::Lift::exact, ring::Lift::approximate})
    both.same([&](const RnsOn<Word>& on) {
      const auto in = put(on.queue, x);
      auto out = on.queue.template allocate<Word>(to.size() * batch * plan.N());
      on.ops.extend(*on.tables, from, std::span(&from, 1), to, lift, in.slice(), out.slice());
      return get(on.queue, out);
    });
}

/// A conversion alone, to a place that does not begin at 16 bytes.
template <class Word>
void compare_conversion(const Two& two, const ring::RnsPlan<Word>& plan, const ring::Basis& from,
                        const ring::Basis& to, std::uint64_t t, std::size_t batch, Random& random) {
  const ring::BaseConversion<Word> rule(plan.moduli_of(from), plan.moduli_of(to), t);
  const auto x = random_rows(plan, from, 1, batch, random);
  expect_same(two, [&](const backend::Queue& queue) {
    const auto conversion = queue.rns<Word>().prepare_conversion(rule);
    const auto in = put(queue, x);
    const std::size_t size = to.size() * batch * plan.N();
    auto out = put(queue, std::vector<Word>(size + 1, 7));
    queue.rns<Word>().convert(*conversion, plan.N(), in.slice(), out.slice().part(1, size));
    return get(queue, out);
  });
}

/// Every RNS entry for one plan and the usual chains: calls with `used` limbs, g and t.
template <class Word>
void compare_rns(const Two& two, const std::shared_ptr<const ring::RnsPlan<Word>>& plan,
                 unsigned used, std::size_t batch, std::size_t parts, std::uint32_t g,
                 std::uint64_t t, Random& random) {
  SCOPED_TRACE(describe(*plan) + ", " + std::to_string(used) + " limbs used, batch " +
               std::to_string(batch) + ", " + std::to_string(parts) +
               " parts, g = " + std::to_string(g) + ", t = " + std::to_string(t));
  const RnsPair<Word> both(two, plan);
  const ring::Basis level = plan->level(used), high = level | plan->special_basis();
  compare_products(both, *plan, level, batch, parts, random);
  compare_sums(both, *plan, level, batch, parts, g, random);
  compare_digits(both, *plan, batch, parts, random);
  if (high != level) compare_products(both, *plan, high, batch, parts, random);
  if (used > 1)
    compare_division(both, *plan, level, plan->level(used - 1), t, batch, parts, g, random);
  if (used > 2)  // by two limbs and more
    compare_division(both, *plan, level,
                     plan->level(1 + static_cast<unsigned>(random.below(used - 2))), t, batch,
                     parts, g, random);
  compare_conversion(two, *plan, level, plan->all() - level, t, batch, random);
  if (plan->special() == 0 || ::testing::Test::HasFatalFailure()) return;
  compare_division(both, *plan, high, level, t, batch, parts, g, random);
  if (used > 1)  // and a rescaling with it
    compare_division(both, *plan, high,
                     plan->level(1 + static_cast<unsigned>(random.below(used - 1))), t, batch,
                     parts, g, random);
  compare_switching(both, *plan, plan->key_layout(), level, batch, g, random);
}

/// Every RNS entry over bases of any primes of one plan, and keys of any layout.
template <class Word>
void compare_bases(const Two& two, const std::shared_ptr<const ring::RnsPlan<Word>>& plan,
                   std::size_t batch, Random& random) {
  SCOPED_TRACE(describe(*plan) + ", batch " + std::to_string(batch));
  const RnsPair<Word> both(two, plan);
  const std::size_t parts = 1 + random.below(3);
  const auto g = static_cast<std::uint32_t>(2 * random.below(plan->N()) + 1);
  const std::uint64_t t = random.below(2) ? 65537 : 1;
  const ring::Basis all = plan->all(), some = random_part(all, random);
  compare_products(both, *plan, some, batch, parts, random);
  compare_sums(both, *plan, some, batch, parts, g, random);
  if (all.size() < 2) return;
  // Primes go, and perhaps others come.
  ring::Basis to = random_part(all, random);
  while ((some - to).empty()) to = random_part(all, random);
  compare_division(both, *plan, some, to, t, batch, parts, g, random);
  const ring::Basis last{some.indices().back()};
  if (some != last) compare_division(both, *plan, some, some - last, t, batch, parts, g, random);
  // One goes and one comes.
  const std::vector<unsigned> others = (all - last).indices();
  const ring::Basis other{others[random.below(others.size())]};
  compare_division(both, *plan, some - other, (some - last) | other, t, batch, parts, g, random);
  compare_raise(both, *plan, some, all, batch, random);
  compare_conversion(two, *plan, some, all, t, batch, random);
  if (::testing::Test::HasFatalFailure()) return;
  // A key over some primes, whose digits are any partition of them.
  ring::KeyLayout layout;
  while (layout.chain.empty()) {
    layout.special = random_part(all, random);
    if (layout.special != all) layout.chain = random_part(all - layout.special, random);
  }
  for (ring::Basis left = layout.chain; !left.empty(); left = left - layout.digits.back())
    layout.digits.push_back(random_part(left, random));
  compare_switching(both, *plan, layout, layout.chain, batch, g, random);
  compare_switching(both, *plan, layout, random_part(layout.chain, random), batch, g, random);
}

/// A random plan and call.
template <class Word>
void compare_random_rns(const Two& two, std::uint32_t N, unsigned most_limbs, std::size_t batch,
                        Random& random) {
  const auto limbs = 1 + static_cast<unsigned>(random.below(most_limbs));
  const auto special = 1 + static_cast<unsigned>(random.below(3));
  const auto digit_limbs = 1 + static_cast<unsigned>(random.below(std::min(4u, limbs)));
  // With 31-bit primes sums are corrected twice as often.
  const unsigned most_bits = sizeof(Word) == 4 && random.below(2) ? 30 : 64;
  const auto plan = random_rns_plan<Word>(N, limbs, special, digit_limbs, random, most_bits);
  compare_rns<Word>(two, plan, 1 + static_cast<unsigned>(random.below(limbs)), batch,
                    1 + random.below(3), static_cast<std::uint32_t>(2 * random.below(N) + 1),
                    random.below(2) ? 65537 : 1, random);
}

}  // namespace whorl::test
