// Parts of fresh batches, and vectors: what files keep of them, and what they refuse.
#include "io/native/payload.h"
#include "support/test.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

using samples::insecure;
using samples::loading;
using samples::thrown;
using Numbers = std::vector<std::uint32_t>;

using IoParts = samples::BinfheFiles;

TEST_F(IoParts, Runs) {
  const auto runs = [](const Numbers& numbers) { return runs_of(numbers); };
  EXPECT_TRUE(runs({}).empty());
  EXPECT_TRUE(runs({0, 1, 2}).empty());
  EXPECT_EQ(runs({1, 2, 3}), (std::vector<NumberRun>{{1, 3, 1}}));
  EXPECT_EQ(runs({6, 4, 2, 0}), (std::vector<NumberRun>{{6, 4, -2}}));
  EXPECT_EQ(runs({5, 5, 5, 7}), (std::vector<NumberRun>{{5, 3, 0}, {7, 1, 0}}));
  EXPECT_EQ(runs({0, 0xffffffff}), (std::vector<NumberRun>{{0, 1, 0}, {0xffffffff, 1, 0}}));
}

TEST_F(IoParts, OfFheBatches) {
  const auto all = samples::ciphertexts(parameters, 1000, true, random);
  Numbers even, odd_ones;
  for (std::uint32_t i = 0; i < 1000; i += 2) even.push_back(i);
  for (std::uint32_t i = 0; i < 400; ++i)
    odd_ones.push_back(static_cast<std::uint32_t>(random() % 1000));
  const std::size_t whole = dump(all).size();
  for (const Numbers& numbers : {even, odd_ones, Numbers{7}, Numbers{999, 0}}) {
    const auto part = binfhe::take(all, numbers);
    const Bytes bytes = dump(part);
    const auto loaded = load<binfhe::Ciphertexts>(bytes, insecure());
    EXPECT_EQ(loaded.data, part.data);
    EXPECT_EQ(loaded.seed, all.seed);
    EXPECT_EQ(dump(loaded), bytes);
    EXPECT_EQ(dump(binfhe::take(loaded, Numbers{0})), dump(binfhe::take(all, Numbers{numbers[0]})));
  }
  // Half of 1,000 bits is half of their file and one run.
  EXPECT_LE(dump(binfhe::take(all, even)).size(), whole - 1000 + 18);
  // An altered part is found out.
  auto part = binfhe::take(all, even);
  part.numbers[3] = 5;
  EXPECT_THROW(dump(part), MismatchError);
  part.numbers.pop_back();
  EXPECT_THROW(dump(part), ShapeError);
}

TEST_F(IoParts, BadNumbers) {
  const auto all = samples::ciphertexts(parameters, 10, true, random);
  const auto dumped = [&](const Numbers& numbers) { return dump(binfhe::take(all, numbers)); };
  const std::size_t runs_at =
      samples::payload_at + samples::literal_bytes(parameters.literal()) + 16 + 32 + 4 + 6;
  const auto patched = [&](const Bytes& frame, std::size_t run, std::size_t field, auto value) {
    return loading<binfhe::Ciphertexts>(
        samples::patched(frame, runs_at + 12 * run + 4 * field, std::uint32_t(value)));
  };
  const Bytes one = dumped({1, 2, 3}), two = dumped({1, 2, 9});
  EXPECT_EQ(patched(one, 0, 0, 4), "nothing");  // other numbers, as good
  EXPECT_EQ(patched(one, 0, 0, 0), "Format");   // written without
  for (const std::uint32_t count : {0u, 2u, 4u, 0xffffffffu})
    EXPECT_EQ(patched(one, 0, 1, count), "Format") << count;
  for (const std::uint32_t step : {0xffffffffu, 0x80000000u})
    EXPECT_EQ(patched(one, 0, 2, step), "Format") << step;
  EXPECT_EQ(patched(two, 1, 0, 3), "Format");  // one run would do
  EXPECT_EQ(patched(two, 1, 2, 1), "Format");
}

TEST_F(IoParts, Vectors) {
  const auto several = samples::bgv_parameters(samples::bgv_literals()[1]);
  const bgv::Client client(samples::bgv_secret_key(several, random));
  const std::size_t N = several.N();
  for (const std::size_t length : {std::size_t{3}, N, 2 * N + 5}) {
    auto value =
        client.encrypt(std::vector<std::int64_t>(2 * length, 4), bgv::Packing::slots, length);
    if (length > N) {
      value.shape = Shape{2, 3};
      auto wrong = value;
      wrong.shape = Shape{3, 2};
      EXPECT_THROW(dump(wrong), ShapeError);
    }
    const auto loaded = load<bgv::Ciphertexts>(dump(value), insecure());
    EXPECT_EQ(loaded.info.length, length == N ? 0 : length);
    EXPECT_EQ(loaded.shape, value.shape);
    EXPECT_EQ(client.decrypt(loaded), client.decrypt(value));
    for (const auto& change : std::vector<std::function<void(bgv::CiphertextInfo&)>>{
             [&](auto& i) { i.length = N; }, [&](auto& i) { i.length = ~std::uint64_t{0}; },
             [&](auto& i) { i.length = 7 * N; }, [&](auto& i) { i.rest = bgv::Rest{3}; },
             [&](auto& i) { i.length = 2, i.rest = bgv::Rest::same; }}) {
      auto wrong = value;
      change(wrong.info);
      EXPECT_THROW(dump(wrong), RangeError);
    }
  }
}

}  // namespace
}  // namespace whorl::io
