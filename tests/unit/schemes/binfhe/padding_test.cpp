// Messages under padding are at most half of the circle: sums that may pass it are refused.
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;

struct BinfhePadding : ::testing::Test {
  const Parameters parameters = test::insecure(test::small_literal());
  const test::Pair& pair = test::pair_of(parameters);
  const Client& client = pair.client;
  const Server server{pair.keys, {"cpu", 1}, test::failing()};
  const Encoding padded{4, true};
};

TEST_F(BinfhePadding, SumsThatItDoesNotHoldAreRefused) {
  const Ciphertexts x = client.encrypt({1, 3}, padded, 1), y = client.encrypt({1, 2}, padded, 1);
  const Ciphertexts* two[] = {&x, &y};
  const std::int32_t add[] = {1, 1}, subtract[] = {1, -1};
  EXPECT_EQ(
      test::message_of<EncodingError>([&] { server.linear(add, two); }),
      "linear: the sum may be 0 … 6, and p = 4 with padding holds 0 … 3: take a larger p; or give "
      "the sum largest=…, which you know it not to pass, or modular=True, if it is meant modulo p; "
      "or state by with_range which integers the terms stand for");
  test::expect_message<EncodingError>([&] { server.linear(subtract, two, 2); }, {"may be -1 … 5,"});
  EXPECT_EQ(client.decrypt(server.linear(add, two, 0, true)), (Messages{2, 1}));
  const Array a = server.upload(x), b = server.upload(y);
  const Array* arrays[] = {&a, &b};
  EXPECT_THROW(server.linear(add, arrays), EncodingError);
  EXPECT_NO_THROW(server.linear(add, arrays, 0, true));
  // Without padding sums are modulo p.
  const Ciphertexts u = client.encrypt({1, 3}, {8}, 1);
  const Ciphertexts* plain[] = {&u, &u};
  EXPECT_NO_THROW(server.linear(add, plain));
  // What is known to be smaller: results of tables and gates, constants.
  const Lut bit = Lut::create(parameters, {0, 0, 1, 1}, padded, padded);
  const Array s = server.apply({&bit, 1}, {}, a), t = server.apply({&bit, 1}, {}, b);
  const Array* bits[] = {&s, &t};
  const Array both = server.linear(add, bits);
  EXPECT_EQ(client.decrypt(server.download(both)), (Messages{0, 2}));
  EXPECT_NO_THROW(server.linear(subtract, bits, 1));
  EXPECT_THROW(server.linear(subtract, bits), EncodingError);
  const Array* with_one[] = {&both, &s};
  EXPECT_NO_THROW(server.linear(add, with_one));  // 3 at most
  EXPECT_THROW(server.linear(add, with_one, 1), EncodingError);
  const Array one = server.trivial_array({1}, padded);
  const Array* constant[] = {&both, &one};
  EXPECT_NO_THROW(server.linear(add, constant));
  const Lut rough = Lut::create(parameters, {0, 0, 1, 1}, padded, padded, false);
  const Array r = server.apply({&rough, 1}, {}, a);
  const Array* uncertain[] = {&s, &r};
  EXPECT_THROW(server.linear(add, uncertain), EncodingError);
}

// A table under padding negates what it finds where the padding bit is set.
TEST_F(BinfhePadding, TablesOfSumsThatMayHaveSetItsBitAreRefused) {
  const Lut same = Lut::create(parameters, {0, 1, 2, 3}, padded, padded);
  const auto looked_up = [&](const auto& a) { return server.apply({&same, 1}, {}, a); };
  const auto check = [&](const auto& x, const auto& y) {
    using Batch = std::remove_cvref_t<decltype(x)>;
    const Batch* two[] = {&x, &y};
    const std::int32_t add[] = {1, 1}, subtract[] = {1, -1}, twice[] = {2}, minus[] = {-1};
    const Batch sums[] = {server.linear(add, two, 0, true), server.linear(subtract, two, 0, true),
                          server.linear(twice, std::span<const Batch* const>(two, 1), 0, true),
                          server.linear(minus, std::span<const Batch* const>(two, 1), 0, true),
                          server.linear(std::span<const std::int32_t>(add, 1),
                                        std::span<const Batch* const>(two, 1), 1, true)};
    for (const Batch& sum : sums) {
      EXPECT_EQ(test::message_of<EncodingError>([&] { looked_up(sum); }),
                "apply takes messages 0 … 3 of p = 4 with padding, but these may be as large as 7: "
                "take a larger p, so that the sum that made them fits; or give that sum "
                "largest=…, which you know its messages not to pass");
      EXPECT_THROW(server.error_bound(same, sum), EncodingError);
      // Nor is it forgotten in further sums, with whatever weights.
      const Batch* one[] = {&sum};
      EXPECT_THROW(server.linear(std::span<const std::int32_t>(add, 1), one), EncodingError);
      EXPECT_THROW(looked_up(server.linear(minus, one, 3, true)), EncodingError);
      EXPECT_NO_THROW(
          looked_up(server.linear(std::span<const std::int32_t>(add, 1), one, 0, false, 3)));
      EXPECT_THROW(server.linear(std::span<const std::int32_t>(add, 1), one, 0, false, 4),
                   EncodingError);
    }
    EXPECT_NO_THROW(looked_up(x));
    EXPECT_NO_THROW(looked_up(server.not_(x)));
    EXPECT_NO_THROW(looked_up(looked_up(x)));
  };
  const Ciphertexts x = client.encrypt({1, 3}, padded, 1), y = client.encrypt({1, 2}, padded, 1);
  check(x, y);
  check(server.upload(x), server.upload(y));

  // Arrays that are taken from, joined or moved keep it; and batches do.
  const Array a = server.upload(x), b = server.upload(y);
  const Array* arrays[] = {&a, &b};
  const std::int32_t add[] = {1, 1};
  const Array sum = server.linear(add, arrays, 0, true);
  EXPECT_EQ(sum.largest(), 7u);
  const std::uint32_t first[] = {0};
  const Array mixed[] = {a, sum};
  EXPECT_THROW(looked_up(server.take(sum, first)), EncodingError);
  EXPECT_THROW(looked_up(server.concatenate(mixed)), EncodingError);
  Ciphertexts host = server.download(sum);
  EXPECT_EQ(largest_message(host), 7u);
  const Ciphertexts* batches[] = {&x, &host};
  EXPECT_THROW(looked_up(host), EncodingError);
  EXPECT_THROW(looked_up(take(host, first)), EncodingError);
  EXPECT_THROW(looked_up(concatenate(batches)), EncodingError);
  host.origin = {};  // as in files
  EXPECT_THROW(looked_up(host), EncodingError);
  EXPECT_THROW(looked_up(concatenate(batches)), EncodingError);
  host.largest = {};  // as in older files
  EXPECT_THROW(looked_up(host), EncodingError);
  host.largest = 3;
  EXPECT_NO_THROW(looked_up(host));
  host.largest = 8;
  EXPECT_THROW(looked_up(host), RangeError);
  // Of fresh ones it is known, with their seed or without it.
  Ciphertexts fresh = x;
  fresh.seed.reset();
  EXPECT_NO_THROW(looked_up(fresh));

  // A table that is not exact may be read beyond an end, where it gives what is negative.
  const Lut rough = Lut::create(parameters, {0, 1, 2, 3}, padded, padded, false);
  EXPECT_THROW(looked_up(server.apply({&rough, 1}, {}, x)), EncodingError);
}

}  // namespace
}  // namespace whorl::binfhe
