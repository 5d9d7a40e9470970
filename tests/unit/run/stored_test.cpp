// Arrays that are larger than a device's memory.
#include "run/stored.h"
#include "support/limited_device.h"
#include "support/test.h"

namespace whorl::run {
namespace {

using Word = std::uint32_t;
using Pieces = std::vector<Stored<Word>>;

class StoredPieces : public ::testing::Test {
 protected:
  explicit StoredPieces(std::size_t devices = 1) {
    std::vector<std::shared_ptr<const backend::Device>> all;
    for (std::size_t d = 0; d < devices; ++d) {
      limits_.push_back(std::make_shared<test::MemoryLimit>());
      limits_.back()->bytes = 1 << 20;
      all.push_back(test::limited_device(limits_.back()));
    }
    fleet_ = std::make_unique<const Fleet>(std::move(all), FleetOptions{});
  }
  /// An array from the host.
  Pieces upload(std::span<const Piece> pieces, const std::vector<Word>& words, bool waits) const {
    return each_result<Word>(*fleet_, pieces, waits, [&](std::size_t i) {
      const auto [begin, count] = pieces[i].range;
      return place<Word>(*fleet_->lane(pieces[i].lane), std::span(words).subspan(begin, count));
    });
  }
  /// a + b mod q, which needs three pieces' memory on the way.
  Pieces sum(std::span<const Piece> pieces, const Pieces& a, const Pieces& b) const {
    const math::Modulus<Word> q(q_);
    return each_result<Word>(*fleet_, pieces, false, [&](std::size_t i) {
      const Lane& lane = *fleet_->lane(pieces[i].lane);
      const auto x = a[i].on(lane), y = b[i].on(lane);
      auto out = lane.queue().allocate<Word>(x.size());
      lane.queue().ring<Word>().add({&q, 1}, std::as_const(x).slice(), std::as_const(y).slice(),
                                    out.slice());
      return out;
    });
  }
  static std::vector<Word> words(const Pieces& pieces) {
    std::vector<Word> out;
    for (const auto& piece : pieces) {
      const auto more = piece.words();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
  static std::size_t on_host(const Pieces& pieces) {
    return static_cast<std::size_t>(
        std::ranges::count_if(pieces, [](const auto& piece) { return piece.on_host(); }));
  }

  static constexpr Word q_ = 65537;
  test::Random random_;
  std::vector<std::shared_ptr<test::MemoryLimit>> limits_;
  std::unique_ptr<const Fleet> fleet_;
};

TEST_F(StoredPieces, AValueLeavesAndComesBack) {
  const Lane& lane = *fleet_->lane(0);
  const auto words = random_.residues<Word>(100, q_);
  const Stored<Word> value(lane, place<Word>(lane, words));
  EXPECT_EQ(value.size(), 100u);
  EXPECT_FALSE(value.on_host());
  {
    const auto there = value.on(lane);
    EXPECT_FALSE(value.spill()) << "in use";
  }
  EXPECT_TRUE(value.spill());
  EXPECT_FALSE(value.spill());
  EXPECT_TRUE(value.on_host());
  EXPECT_EQ(limits_[0]->used, 0u);
  EXPECT_EQ(value.words(), words);
  std::vector<Word> beyond(2);
  EXPECT_THROW(value.download(beyond, 99), ShapeError);
  const Stored<Word> same = value;
  EXPECT_EQ(fetch<Word>(lane, same.on(lane).slice()), words);
  EXPECT_FALSE(value.on_host());
  EXPECT_EQ(limits_[0]->used, 400u);
}

TEST_F(StoredPieces, OnAnotherLaneItIsACopy) {
  const auto other = std::make_shared<const Lane>(test::limited_device(limits_[0]));
  const Lane& lane = *fleet_->lane(0);
  const auto words = random_.residues<Word>(10, q_);
  const Stored<Word> value(lane, place<Word>(lane, words));
  EXPECT_EQ(fetch<Word>(*other, value.on(*other).slice()), words);
  EXPECT_FALSE(value.on_host());
  EXPECT_TRUE(value.spill());
  EXPECT_EQ(fetch<Word>(*other, value.on(*other).slice()), words);
  EXPECT_TRUE(value.on_host());
}

TEST_F(StoredPieces, TheWordsItWasMadeOf) {
  const Lane& lane = *fleet_->lane(0);
  // The middle four of each of three rows of ten.
  auto all = std::make_shared<const std::vector<Word>>(random_.residues<Word>(30, q_));
  std::vector<Word> some;
  for (std::size_t r = 0; r < 3; ++r)
    some.insert(some.end(), &(*all)[10 * r + 3], &(*all)[10 * r + 3] + 4);
  const auto on_device = random_.residues<Word>(12, q_);  // to be told from them
  const Stored<Word> value(lane, place<Word>(lane, on_device));
  EXPECT_FALSE(value.kept());
  value.remember({all, all->data() + 3, 4, 10});
  EXPECT_TRUE(value.kept());
  EXPECT_EQ(value.words(), some);
  std::vector<Word> middle(5);  // of two rows
  value.download(middle, 3);
  EXPECT_TRUE(std::ranges::equal(middle, std::span(some).subspan(3, 5)));
  all.reset();
  EXPECT_FALSE(value.kept());
  EXPECT_EQ(value.words(), on_device);
  value.download(middle, 3);
  EXPECT_TRUE(std::ranges::equal(middle, std::span(on_device).subspan(3, 5)));
  EXPECT_TRUE(value.spill());
  EXPECT_TRUE(value.kept());
  value.download(middle, 3);
  EXPECT_TRUE(std::ranges::equal(middle, std::span(on_device).subspan(3, 5)));
}

TEST_F(StoredPieces, AValueThatComesBackIsKnownOnce) {
  const Lane& lane = *fleet_->lane(0);
  const Stored<Word> value(lane, place<Word>(lane, random_.residues<Word>(10, q_)));
  const std::size_t known = lane.residents().known();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(value.spill());
    value.on(lane);
  }
  EXPECT_EQ(lane.residents().known(), known);
}

TEST_F(StoredPieces, AnEmptyOneIsNone) {
  EXPECT_FALSE(Stored<Word>());
  EXPECT_EQ(Stored<Word>().size(), 0u);
}

TEST_F(StoredPieces, ArraysBeyondTheMemory) {
  const std::size_t count = 4000;
  const auto a = random_.residues<Word>(count, q_), b = random_.residues<Word>(count, q_);
  std::vector<Word> want(count);
  for (std::size_t i = 0; i < count; ++i) want[i] = (a[i] + b[i]) % q_;
  const auto pieces = fleet_->pieces(count, 100);
  ASSERT_EQ(pieces.size(), 40u);
  for (const std::size_t room : {3u, 4u, 10u, 50u, 90u}) {  // pieces that the device holds
    SCOPED_TRACE(room);
    limits_[0]->bytes = room * 400;
    const Pieces x = upload(pieces, a, true), y = upload(pieces, b, true);
    EXPECT_EQ(on_host(x) + on_host(y) > 0, room < 80);
    const Pieces z = sum(pieces, x, y);
    EXPECT_TRUE(words(z) == want);
    EXPECT_TRUE(words(x) == a && words(y) == b);
    EXPECT_LE(limits_[0]->used, limits_[0]->bytes);
    EXPECT_TRUE(words(sum(pieces, z, x)) == words(sum(pieces, x, z)));
  }
  EXPECT_EQ(limits_[0]->used, 0u);
}

TEST_F(StoredPieces, APieceThatNeverFitsIsRefused) {
  const auto pieces = fleet_->pieces(1000, 100);
  const Pieces x = upload(pieces, random_.residues<Word>(1000, q_), false);
  limits_[0]->bytes = 2 * 400 - 1;
  EXPECT_THROW(sum(pieces, x, x), OutOfMemoryError) << "an operand and the result are 800 bytes";
}

TEST_F(StoredPieces, ResultsOfTheCallLeaveFirst) {
  limits_[0]->bytes = 10 * 400;
  const auto five = fleet_->pieces(500, 100);
  const Pieces x = upload(five, random_.residues<Word>(500, q_), false);
  const auto ten = fleet_->pieces(1000, 100);
  const Pieces y = upload(ten, random_.residues<Word>(1000, q_), false);
  EXPECT_EQ(on_host(x), 0u);
  EXPECT_EQ(on_host(y), 5u);
}

TEST_F(StoredPieces, OthersLeaveNextTheLongestUnusedFirst) {
  const Lane& lane = *fleet_->lane(0);
  limits_[0]->bytes = 8 * 400;
  const auto eight = fleet_->pieces(800, 100), one = fleet_->pieces(100, 100);
  const auto words = random_.residues<Word>(800, q_);
  const Pieces x = upload(eight, words, false);
  x[0].on(lane);  // it is the latest used now
  const Pieces y = upload(one, words, false);
  EXPECT_FALSE(x[0].on_host());
  EXPECT_EQ(on_host(x), 4u) << "half of them at once";
  for (std::size_t i = 1; i < 5; ++i) EXPECT_TRUE(x[i].on_host());
}

TEST_F(StoredPieces, LeaveForABatchThatPassesThrough) {
  limits_[0]->bytes = 10 * 400;
  const auto pieces = fleet_->pieces(1000, 100);
  const auto words = random_.residues<Word>(1000, q_);
  const Pieces x = upload(pieces, words, false);
  std::vector<Word> out(50);
  const Job job{
      .memory = 4,
      .work = [&](const backend::Queue& queue, std::size_t, Range range) -> Job::Fetch {
        auto there = queue.allocate<Word>(range.count);
        queue.upload<Word>(std::span(words).subspan(range.begin, range.count), there.slice());
        return [&queue, &out, there, range] {
          queue.download<Word>(there.slice(), std::span(out).subspan(range.begin, range.count));
        };
      }};
  fleet_->stream(job, out.size());
  EXPECT_EQ(out, std::vector<Word>(words.begin(), words.begin() + 50));
  EXPECT_EQ(on_host(x), 5u);
}

class StoredOnTwo : public StoredPieces {
 protected:
  StoredOnTwo() : StoredPieces(2) {}
};

TEST_F(StoredOnTwo, Replicas) {
  const Lane &first = *fleet_->lane(0), &second = *fleet_->lane(1);
  const auto words = random_.residues<Word>(100, q_);
  const Stored<Word> value(first, place<Word>(first, words));
  EXPECT_TRUE(value.at(first));
  EXPECT_FALSE(value.at(second));
  const Piece pieces[] = {{0, {0, 50}}, {1, {50, 25}}, {1, {75, 25}}};
  int found = 0;
  for (int repeat = 0; repeat < 2; ++repeat)
    replicate(*fleet_, value, pieces, [&] {
      ++found;
      return at_hand(*fleet_, 0, value);
    });
  EXPECT_EQ(found, 1) << "it stays there";
  EXPECT_EQ(limits_[1]->used, 400u);
  EXPECT_EQ(&value.at(second).lane(), &second);
  fleet_->mark_failed(0, "unplugged");
  const Stored<Word> there = at_hand(*fleet_, 0, value);
  ASSERT_TRUE(there);
  EXPECT_EQ(&there.lane(), &second);
  EXPECT_EQ(there.words(), words);
  fleet_->mark_failed(1, "unplugged");
  EXPECT_FALSE(at_hand(*fleet_, 0, value));
  EXPECT_TRUE(value.spill());
  EXPECT_EQ(at_hand(*fleet_, 0, value).words(), words) << "the host has them";
}

TEST_F(StoredOnTwo, EachDeviceMakesItsOwnRoom) {
  const std::size_t count = 4000;
  const auto a = random_.residues<Word>(count, q_);
  limits_[0]->bytes = 5 * 400;
  const auto pieces = fleet_->pieces(count, 100);
  const Pieces x = upload(pieces, a, true);
  EXPECT_EQ(on_host(x), 15u);
  EXPECT_TRUE(words(x) == a);
  const auto twice = words(sum(pieces, x, x));
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(twice[i], 2 * a[i] % q_) << i;
}

}  // namespace
}  // namespace whorl::run
