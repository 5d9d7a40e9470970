// RNS entries on both devices, bit for bit.
#pragma once

#include "gpu/compare.h"
#include "ring/base_conversion.h"
#include "support/rns.h"

namespace whorl::test {

/// Every RNS entry for one plan: calls with `used` limbs, g and t.
template <class Word>
void compare_rns(const Two& two, const std::shared_ptr<const ring::RnsPlan<Word>>& plan,
                 unsigned used, std::size_t batch, std::size_t parts, std::uint32_t g,
                 std::uint64_t t, Random& random) {
  SCOPED_TRACE(describe(*plan) + ", " + std::to_string(used) + " limbs used, batch " +
               std::to_string(batch) + ", " + std::to_string(parts) +
               " parts, g = " + std::to_string(g) + ", t = " + std::to_string(t));
  const std::size_t row = batch * plan->N(), K = plan->special(), rows = used + K;
  const unsigned digits = plan->digits(used);
  const auto tables_of = [&](const backend::Device& device) { return device.prepare_rns(plan, t); };
  const auto low = random_rows(*plan, used, false, parts, batch, random),
             other = random_rows(*plan, used, false, parts, batch, random),
             high = random_rows(*plan, used, true, parts, batch, random);
  for (const bool forward : {true, false})
    expect_same(two, [&](const backend::Device& device) {
      auto x = put(device, forward ? low : high);
      forward ? device.rns_ntt(*tables_of(device), used, false, parts, x.slice())
              : device.rns_intt(*tables_of(device), used, true, parts, x.slice());
      return get(device, x);
    });
  if (used > 1)
    expect_same(two, [&](const backend::Device& device) {
      const auto x = put(device, low);
      auto out = device.allocate<Word>(parts * (used - 1) * row);
      device.rescale(*tables_of(device), used, parts, x.slice(), out.slice());
      return get(device, out);
    });
  for (const std::size_t more : {std::size_t{1}, parts})
    expect_same(two, [&](const backend::Device& device) {
      const auto x = put(device, low), y = put(device, other);
      auto out = device.allocate<Word>((parts + more - 1) * used * row);
      device.tensor(*tables_of(device), used, parts, x.slice(), more,
                    y.slice().part(0, more * used * row), out.slice());
      return get(device, out);
    });
  expect_same(two, [&](const backend::Device& device) {  // every a by one b
    const auto x = put(device, low), y = put(device, other);
    auto out = device.allocate<Word>((2 * parts - 1) * used * row);
    device.tensor(*tables_of(device), used, parts, x.slice(), parts,
                  y.slice().part(0, parts * used * plan->N()), out.slice());
    return get(device, out);
  });
  expect_same(two, [&](const backend::Device& device) {  // one row on: rows may begin anywhere
    const std::span<const math::Modulus<Word>> all = plan->moduli();
    const ring::BaseConversion<Word> conversion(all.first(used), all.subspan(used), t);
    const auto x = put(device, low);
    auto out = device.allocate<Word>((all.size() - used) * row + 1);
    device.upload(std::span<const Word>(std::vector<Word>(out.size(), 7)), out.slice());
    device.base_convert(conversion, plan->N(), x.slice().part(0, used * row),
                        out.slice().part(1, (all.size() - used) * row));
    return get(device, out);
  });
  if (K == 0 || ::testing::Test::HasFatalFailure()) return;

  for (std::size_t added = 0; added <= parts; ++added)
    for (const std::uint32_t by : {0u, 1u, g})  // 0: in place
      expect_same(two, [&](const backend::Device& device) {
        const auto x = put(device, high), y = put(device, other);
        auto out = put(device, by == 0 ? other : low);
        const std::size_t size = added * used * row;
        device.mod_down(
            *tables_of(device), used, parts, x.slice(),
            by == 0 ? std::as_const(out).slice().part(0, size) : y.slice().part(0, size),
            std::max(1u, by), out.slice());
        return get(device, out);
      });
  const RnsKeyRows<Word> key(*plan, random);
  for (const std::uint32_t by : {1u, g})
    expect_same(two, [&](const backend::Device& device) {
      const auto tables = tables_of(device);
      const auto prepared = device.prepare_rns_key(*tables, key.source());
      const auto x = put(device, low);
      auto raised = device.allocate<Word>(digits * rows * row);
      device.mod_up(*tables, used, x.slice().part(0, used * row), raised.slice());
      auto out = device.allocate<Word>(2 * rows * row);
      device.inner_product(*prepared, *tables, used, by, std::as_const(raised).slice(),
                           out.slice());
      auto both = get(device, raised);
      const auto sums = get(device, out);
      both.insert(both.end(), sums.begin(), sums.end());
      return both;
    });
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
