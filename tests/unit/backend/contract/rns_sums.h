// Sums over some primes of a random plan, for tests of the entries that add up products.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/rns.h"
#include "support/test.h"

namespace whorl::backend {

/// A sum over some primes of a plan.
template <class Word>
struct Case {
  std::shared_ptr<const ring::RnsPlan<Word>> plan;
  ring::Basis basis;
  std::size_t parts, batch;
  bool onto;

  Case(std::size_t terms, test::Random& random, bool large = false)
      : plan(test::random_rns_plan<Word>(large ? 8192u : 256u << random.below(2), 5, 2, 2, random,
                                         sizeof(Word) == 4 && random.below(2) ? 30 : 64)),
        basis(test::random_part(plan->all(), random)),
        parts(1 + random.below(3)),
        batch(1 + random.below(5)),
        onto(random.below(2) == 1),
        terms_(terms) {}
  std::string describe() const {
    return test::describe(*plan) + ", basis " + basis.describe() + ", batch " +
           std::to_string(batch) + ", " + std::to_string(parts) + " parts, " +
           std::to_string(terms_) + " terms" + (onto ? ", onto" : "");
  }
  std::size_t N() const { return plan->N(); }
  std::uint32_t random_g(test::Random& random) const {
    return random.below(2) ? 1 : static_cast<std::uint32_t>(2 * random.below(plan->N()) + 1);
  }
  /// At the largest residues, where sums come closest to overflow, or at any.
  std::vector<Word> residues(const ring::Basis& over, std::size_t its_parts, std::size_t its_batch,
                             test::Random& random) const {
    std::vector<Word> out = test::random_rows(*plan, over, its_parts, its_batch, random);
    if (random.below(2)) return out;
    const auto moduli = plan->moduli_of(over);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = moduli[i / (its_batch * N()) % moduli.size()].value() - 1;
    return out;
  }
  /// Where a key serves: at a level of the usual one, or over any primes with digits in sequence
  /// whose first or last is smaller, of one prime each, of all, and in no sequence.
  struct Level {
    ring::KeyLayout layout;
    ring::Basis basis, rows;
    std::size_t digits;
  };
  Level level(std::size_t kind, test::Random& random) const {
    const ring::KeyLayout layouts[] = {plan->key_layout(),
                                       {{0, 1, 2, 3, 4}, {{0}, {1, 2}, {3, 4}}, {5, 6}},
                                       {{0, 1, 2, 3}, {{0}, {1}, {2}, {3}}, {6}},
                                       {{1, 2, 4}, {{1, 2, 4}}, {5}},
                                       {{0, 2, 5}, {{0, 5}, {2}}, {1, 6}}};
    const ring::KeyLayout& layout = layouts[kind % 5];
    const ring::Basis over =
        kind % 5 == 0 ? plan->level(1 + static_cast<unsigned>(random.below(plan->limbs())))
                      : test::random_part(layout.chain, random);
    const auto used = [&](const ring::Basis& digit) { return !(digit & over).empty(); };
    const auto digits = static_cast<std::size_t>(std::ranges::count_if(layout.digits, used));
    return {layout, over, over | layout.special, digits};
  }
  std::unique_ptr<const RnsSwitchKey<Word>> key(const RnsOps<Word>& ops,
                                                const RnsTables<Word>& tables,
                                                const ring::KeyLayout& layout,
                                                test::Random& random) const {
    return ops.prepare_key(tables, layout, test::RnsKeyRows<Word>(*plan, layout, random).source());
  }
  std::vector<Word> weights(const ring::Basis& of, test::Random& random) const {
    std::vector<Word> out;
    for (const auto& q : plan->moduli_of(of))
      out.push_back(static_cast<Word>(random.below(q.value())));
    return out;
  }
  /// The sum at each place: term(k, part, row, item of the batch, place, modulus).
  template <class Term>
  std::vector<Word> due(const std::vector<Word>& before, const Term& term) const {
    std::vector<Word> out = before;
    const auto moduli = plan->moduli_of(basis);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / (batch * N()) % moduli.size();
      if (!onto) out[i] = 0;
      for (std::size_t k = 0; k < terms_; ++k)
        out[i] = moduli[row].add(out[i], term(k, i / (batch * N()) / moduli.size(), row,
                                              i / N() % batch, i % N(), moduli[row]));
    }
    return out;
  }

 private:
  std::size_t terms_;
};

/// A buffer that does not begin at 16 bytes, now and then.
template <class Word>
struct Placed {
  Buffer<Word> buffer;
  Slice<Word> slice;
  Placed(const Queue& queue, const std::vector<Word>& values, test::Random& random) {
    const std::size_t offset = random.below(4) == 0 ? 1 : 0;
    buffer = queue.allocate<Word>(values.size() + offset);
    slice = buffer.slice().part(offset, values.size());
    queue.upload(std::span<const Word>(values), slice);
  }
};

/// body(queue, its operations) on every device.
template <class Word, class Body>
void on_each_queue(const Body& body) {
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(2);
    body(*queue, queue->template rns<Word>());
  });
}

}  // namespace whorl::backend
