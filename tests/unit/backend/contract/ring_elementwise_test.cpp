#include "support/test.h"

namespace whorl::backend {
namespace {

using test::Executor;
using test::get;

template <class Word>
void check(const Executor& on, std::size_t count, std::vector<Word> qs, bool in_place,
           test::Random& random) {
  std::vector<math::Modulus<Word>> limbs;
  std::vector<Word> a, b, c, scalars;
  for (const Word q : qs) {
    limbs.emplace_back(q);
    for (auto* to : {&a, &b, &c}) {
      const auto limb = random.residues<Word>(count, q);
      to->insert(to->end(), limb.begin(), limb.end());
    }
    scalars.push_back(static_cast<Word>(random.below(4) == 0 ? ~Word{0} : random.word()));
  }
  const auto device = on.queue(2);
  const std::size_t offset = random.below(3);
  SCOPED_TRACE("count = " + std::to_string(count) + ", first q = " + std::to_string(qs[0]) +
               ", limbs = " + std::to_string(qs.size()) + ", offset = " + std::to_string(offset));
  auto view = [&](Buffer<Word>& buffer, const std::vector<Word>& values) {
    buffer = device->template allocate<Word>(values.size() + offset);
    const auto part = buffer.slice().part(offset, values.size());
    device->template upload<Word>(std::span<const Word>(values), part);
    return part;
  };
  using I = test::Int128;
  auto run = [&](const char* name, const auto& call, const auto& expected) {
    Buffer<Word> ba, bb, bc;
    const auto va = view(ba, a), vb = view(bb, b);
    const bool accumulates = std::string(name) == "mul_add";
    const auto vc = in_place && !accumulates ? va : view(bc, c);
    call(va, vb, vc);
    const auto got = get<Word>(*device, vc);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Word q = qs[i / count];
      ASSERT_EQ(got[i], test::reduce(expected(i), q)) << name << " at " << i << ", q = " << q;
    }
  };
  run(
      "add", [&](auto x, auto y, auto z) { device->ring<Word>().add(limbs, x, y, z); },
      [&](std::size_t i) { return I{a[i]} + b[i]; });
  run(
      "sub", [&](auto x, auto y, auto z) { device->ring<Word>().sub(limbs, x, y, z); },
      [&](std::size_t i) { return I{a[i]} - I{b[i]}; });
  run(
      "neg", [&](auto x, auto, auto z) { device->ring<Word>().neg(limbs, x, z); },
      [&](std::size_t i) { return -I{a[i]}; });
  run(
      "mul", [&](auto x, auto y, auto z) { device->ring<Word>().mul(limbs, x, y, z); },
      [&](std::size_t i) { return I{a[i]} * b[i]; });
  run(
      "mul_add", [&](auto x, auto y, auto z) { device->ring<Word>().mul_add(limbs, x, y, z); },
      [&](std::size_t i) { return I{c[i]} + I{a[i]} * b[i]; });
  run(
      "mul_scalar",
      [&](auto x, auto, auto z) {
        device->ring<Word>().mul_scalar(limbs, x, std::span<const Word>(scalars), z);
      },
      [&](std::size_t i) { return I{a[i]} * static_cast<I>(scalars[i / count] % qs[i / count]); });

  Buffer<Word> given;
  EXPECT_TRUE(device->ring<Word>().all_below(limbs, view(given, a)));
  if (count == 0) return;
  const std::size_t place = random.below(a.size());
  for (const Word too_large : {qs[place / count], static_cast<Word>(~Word{0})}) {
    auto changed = a;
    changed[place] = too_large;
    EXPECT_FALSE(device->ring<Word>().all_below(limbs, view(given, changed)))
        << too_large << " at " << place;
    changed[place] = qs[place / count] - 1;
    EXPECT_TRUE(device->ring<Word>().all_below(limbs, view(given, changed)));
  }
}

template <class Word>
void check_all(const Executor& on, test::Random& random) {
  constexpr unsigned top = sizeof(Word) == 4 ? 31 : 61;
  for (int i = 0; i < 40; ++i) {
    std::vector<Word> qs;
    for (std::size_t l = 1 + random.below(3); l > 0; --l) {
      const auto bits = static_cast<unsigned>(2 + random.below(top - 1));
      const Word low = Word{1} << (bits - 1);
      qs.push_back(static_cast<Word>(low + random.below(low)));
    }
    check<Word>(on, random.below(200), qs, i % 2 == 0, random);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const Word q :
       {Word{2}, Word{3}, static_cast<Word>(Word{1} << (top - 1)),
        static_cast<Word>((Word{1} << top) - 1), static_cast<Word>((Word{1} << top) - 2)})
    check<Word>(on, 67, {q}, false, random);
  // More than one piece of work per limb.
  check<Word>(on, (1 << 16) + 5, {static_cast<Word>((Word{1} << top) - 1), Word{1000}}, false,
              random);
}

TEST(BackendElementwise, AgainstBigIntegers) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    check_all<std::uint32_t>(on, random);
    check_all<std::uint64_t>(on, random);
  });
}

template <class Word>
void check_fill(const Executor& on, Word value, test::Random& random) {
  const auto device = on.queue(1);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{255},
                                  std::size_t{1} << 16, random.below(100000)}) {
    const auto before = random.residues<Word>(count + 6, 1000);
    auto buffer = device->allocate<Word>(before.size());
    device->upload(std::span<const Word>(before), buffer.slice());
    const std::size_t begin = random.below(6);
    device->fill(value, buffer.slice().part(begin, count));
    const auto got = get<Word>(*device, buffer.slice());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], i >= begin && i < begin + count ? value : before[i]) << i;
  }
}

TEST(BackendElementwise, FillsWordsAndNoneBesides) {
  test::on_each_device([](const Executor& on) {
    test::Random random;
    check_fill<std::uint32_t>(on, 0, random);
    check_fill<std::uint32_t>(on, 0xfedcba98U, random);
    check_fill<std::uint64_t>(on, 0xfedcba9876543210U, random);
  });
}

}  // namespace
}  // namespace whorl::backend
