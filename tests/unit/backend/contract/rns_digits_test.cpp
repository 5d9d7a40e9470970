// Digits of polynomials modulo one prime against ring::Gadget, on every device and by relay.
#include "ring/gadget.h"
#include "unit/backend/contract/rns_sums.h"

namespace whorl::backend {
namespace {

using test::get;
using test::put;

template <class Word>
class BackendRnsDigits : public ::testing::Test {};
TYPED_TEST_SUITE(BackendRnsDigits, test::BothWords);

/// One of all gadgets of a modulus, exact or not.
ring::Gadget random_gadget(std::uint64_t q, test::Random& random) {
  const auto bits = static_cast<unsigned>(std::bit_width(q - 1));
  const auto log_base = 1 + static_cast<unsigned>(random.below(31));
  return {q, log_base, 1 + static_cast<unsigned>(random.below((bits + log_base - 1) / log_base))};
}

TYPED_TEST(BackendRnsDigits, OfTheGadget) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (unsigned run = 0; run < 24; ++run) {
      const std::uint32_t N = 256u << random.below(4);
      const auto plan = test::random_rns_plan<Word>(N, 3, 1, 1, random);
      const auto prime = static_cast<unsigned>(random.below(4));
      const ring::Basis basis{prime};
      const Word q = plan->moduli()[prime].value();
      const std::size_t parts = 1 + random.below(3), batch = 1 + random.below(9);
      // The most digits there may be, among others.
      const ring::Gadget gadget =
          run == 0 ? ring::Gadget(q, 1, static_cast<unsigned>(std::bit_width(q - 1)))
                   : random_gadget(q, random);
      SCOPED_TRACE(test::describe(*plan) + ", prime " + std::to_string(prime) + ", " +
                   std::to_string(parts) + " parts, batch " + std::to_string(batch) +
                   ", log_base " + std::to_string(gadget.log_base()) + ", " +
                   std::to_string(gadget.digits()) + " digits");
      std::vector<Word> in = test::random_rows(*plan, basis, parts, batch, random);
      const Word edges[] = {0, 1, q / 2, q / 2 + 1, q - 1};
      std::copy(std::begin(edges), std::end(edges), in.begin());
      const auto tables = ops.prepare(plan);
      const Placed<Word> x(queue, in, random);
      const std::size_t digits = gadget.digits(), row = batch * N;
      const Placed<Word> out(queue, std::vector<Word>(digits * in.size(), 5), random);
      ops.ntt(*tables, basis, parts, x.slice);
      ops.decompose(*tables, basis, gadget, parts, x.slice, out.slice);
      ops.intt(*tables, basis, parts * digits, out.slice);
      std::vector<Word> due(digits * in.size());
      for (std::size_t i = 0; i < in.size(); ++i)
        for (unsigned j = 0; j < digits; ++j)
          due[(i / row * digits + j) * row + i % row] =
              plan->moduli()[prime].from_signed(gadget.digit(test::centred(in[i], q), j));
      ASSERT_TRUE(get<Word>(queue, out.slice) == due);
    }
  });
}

TYPED_TEST(BackendRnsDigits, Errors) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(), other = on.queue();
    const auto& ops = queue->template rns<Word>();
    constexpr std::size_t N = 256;
    const auto plan = test::random_rns_plan<Word>(N, 3, 1, 2, random);
    const auto tables = ops.prepare(plan);
    const ring::Basis basis{1};
    const ring::Gadget gadget(plan->moduli()[1].value(), 7, 3);
    auto all = put(*queue, std::vector<Word>(32 * N, 0));
    const auto foreign = put(*other, std::vector<Word>(4 * N, 0));
    const auto in = [&](std::size_t first, std::size_t count) {
      return std::as_const(all).slice().part(first * N, count * N);
    };
    const auto to = [&](std::size_t first, std::size_t count) {
      return all.slice().part(first * N, count * N);
    };
    // Two parts, batch 2.
    const auto decompose = [&](const ring::Basis& over, const ring::Gadget& by, std::size_t parts,
                               Slice<const Word> from, Slice<Word> out) {
      ops.decompose(*tables, over, by, parts, from, out);
    };
    EXPECT_NO_THROW(decompose(basis, gadget, 2, in(0, 4), to(4, 12)));
    EXPECT_NO_THROW(decompose(basis, gadget, 2, in(0, 0), to(4, 0)));
    EXPECT_THROW(decompose({0}, gadget, 2, in(0, 4), to(4, 12)), ParameterError);
    EXPECT_THROW(decompose({0, 1}, gadget, 2, in(0, 4), to(4, 12)), ParameterError);
    EXPECT_THROW(decompose({9}, gadget, 2, in(0, 4), to(4, 12)), ParameterError);
    EXPECT_THROW(decompose(basis, {plan->moduli()[0].value(), 7, 3}, 2, in(0, 4), to(4, 12)),
                 ParameterError);
    EXPECT_THROW(decompose(basis, gadget, 0, in(0, 4), to(4, 12)), ShapeError);
    EXPECT_THROW(decompose(basis, gadget, 3, in(0, 4), to(4, 12)), ShapeError);
    EXPECT_THROW(decompose(basis, gadget, 2, in(0, 4), to(4, 11)), ShapeError);
    EXPECT_THROW(decompose(basis, gadget, 2, in(0, 4), to(3, 12)), ShapeError) << "overlap";
    EXPECT_THROW(decompose(basis, gadget, 2, foreign.slice(), to(4, 12)), DeviceError);
  });
}

}  // namespace
}  // namespace whorl::backend
