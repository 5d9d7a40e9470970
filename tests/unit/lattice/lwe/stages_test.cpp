// What is done with LWE ciphertexts on one queue.
#include "lattice/lwe/stages.h"
#include "support/lwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

struct LweStages : ::testing::Test {
  template <class Word>
  std::vector<Word> words(const Rows& rows) const {
    std::vector<Word> out(rows.count() * rows.form().row());
    stages.download(rows, out.data());
    return out;
  }
  test::Random random;
  std::unique_ptr<const backend::Queue> queue = backend::open_queue("cpu", {1, {}});
  Stages stages{*queue};
};

TEST_F(LweStages, RowsGoThereAndBack) {
  const Form form{1000003, 6, Under::lwe, 4};
  const auto in = random.residues<std::uint32_t>(5 * form.row(), form.modulus);
  const Rows rows = stages.upload(form, 5, in.data());
  EXPECT_EQ(words<std::uint32_t>(rows), in);
  EXPECT_EQ(words<std::uint32_t>(stages.copy(rows)), in);
  const std::uint32_t index[] = {4, 0, 4};
  const auto taken = words<std::uint32_t>(stages.take(rows, index));
  const Rows* both[] = {&rows, &rows};
  const run::Range ranges[] = {{3, 2}, {0, 1}};
  const auto joined = words<std::uint32_t>(stages.join(both, ranges));
  const auto rows_of = [&](std::initializer_list<std::size_t> which) {
    std::vector<std::uint32_t> out;
    for (const std::size_t i : which)
      for (const std::uint32_t x : test::part(in, i * form.row(), form.row())) out.push_back(x);
    return out;
  };
  EXPECT_EQ(taken, rows_of({4, 0, 4}));
  EXPECT_EQ(joined, rows_of({3, 4, 0}));
}

TEST_F(LweStages, ModulusSwitchingInPlaceIsTheSame) {
  for (const std::uint64_t to : {1ULL << 11, 1ULL << 40}) {  // words as wide, and others
    const Form form{1 << 20, 30, Under::lwe, 4};
    const auto in = random.residues<std::uint32_t>(3 * form.row(), form.modulus);
    Rows rows = stages.upload(form, 3, in.data());
    const Rows apart = stages.modulus_switch(rows, to, 2);
    const Rows there = stages.modulus_switch(std::move(rows), to, 2);
    EXPECT_EQ(apart.form(), there.form());
    if (apart.form().word_bytes == 4)
      EXPECT_EQ(words<std::uint32_t>(apart), words<std::uint32_t>(there));
    else
      EXPECT_EQ(words<std::uint64_t>(apart), words<std::uint64_t>(there));
  }
}

TEST_F(LweStages, ADeviceGetsTheTablesThatAPieceUses) {
  const std::uint32_t N = 8;
  const std::vector<std::uint32_t> index = {5, 2, 5, 0, 3, 1, 4};
  const Tables tables(N, 257, 6, index, [](std::size_t t, std::uint32_t j) { return 10 * t + j; });
  const auto some = tables.used<std::uint32_t>({0, 3});
  EXPECT_EQ(some.index, (std::vector<std::uint32_t>{0, 1, 0}));
  ASSERT_EQ(some.vectors.size(), 2 * N);
  EXPECT_EQ(some.vectors[0], 50u);
  EXPECT_EQ(some.vectors[N + 1], 21u);
  const auto all = tables.used<std::uint32_t>({0, 7});
  EXPECT_EQ(all.index, index);
  EXPECT_EQ(all.vectors.size(), 6 * N);
}

TEST_F(LweStages, WithoutKeysThereIsNeitherRotationNorKeySwitching) {
  const std::vector<std::uint32_t> in(11);
  const Rows rows = stages.upload({512, 10, Under::lwe, 4}, 1, in.data());
  EXPECT_THROW(stages.key_switch(rows), DeviceError);
  EXPECT_THROW(stages.rotate(rows, Tables(256, 257, 1), {0, 1}, 0), DeviceError);
}

}  // namespace
}  // namespace whorl::lattice::lwe
