// Arrays of LWE ciphertexts: what becomes of them when a device fails.
#include "lattice/lwe/array.h"
#include "support/lwe_rig.h"
#include "support/strained_device.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

using test::StrainedFleet;

struct LweArray : ::testing::Test {
  using Words = std::vector<std::uint32_t>;

  Array upload(const StrainedFleet& devices, std::size_t count, bool owned = false) {
    words = std::make_shared<const Words>(
        random.residues<std::uint32_t>(count * form.row(), form.modulus));
    return Evaluator(devices.fleet, nullptr, 1 << 10)
        .upload(form, count, words->data(),
                owned ? std::shared_ptr<const void>(words) : std::shared_ptr<const void>());
  }
  static void fail(const StrainedFleet& devices, std::size_t lane) {
    devices.strains[lane]->calls_left = 0;
    devices.fleet->mark_failed(lane, "unplugged");
  }

  test::Random random;
  Form form{1024, 10, Under::lwe, 4};
  std::shared_ptr<const Words> words;
};

TEST_F(LweArray, FormsAreDescribed) {
  EXPECT_EQ(form.describe(), "modulo 1024, n = 10, under the LWE key, words of 32 bits");
  EXPECT_EQ((Form{1ULL << 40, 7, Under::ring, 8}.describe()),
            "modulo 1099511627776, n = 7, under the ring key, words of 64 bits");
}

TEST_F(LweArray, PiecesOfAFailedDeviceAreLost) {
  const StrainedFleet devices(2);
  const Array array = upload(devices, 5);
  EXPECT_EQ(array.lost(), "");
  fail(devices, 1);
  EXPECT_EQ(array.lost(), "ciphertexts 2 … 4 of 5 lay on strained:1, which has failed");
}

TEST_F(LweArray, PiecesThatLeftForTheHostAreNot) {
  const StrainedFleet devices(3, 2);  // pieces of two ciphertexts
  const Array array = upload(devices, 12);
  ASSERT_EQ(array.parts().size(), 6u);
  EXPECT_TRUE(array.parts()[2].spill());
  fail(devices, 1);
  EXPECT_EQ(array.lost(), "ciphertexts 6 … 7 of 12 lay on strained:1, which has failed");
  Words out(2 * form.row());
  array.parts()[2].found(*devices.fleet).download({0, 2}, form, out.data());
  EXPECT_TRUE(std::equal(out.begin(), out.end(), words->begin() + 4 * 11));
  out.resize(form.row());
  array.parts()[2].found(*devices.fleet).download({1, 1}, form, out.data());
  EXPECT_TRUE(std::equal(out.begin(), out.end(), words->begin() + 5 * 11));
  EXPECT_THROW(array.parts()[3].found(*devices.fleet), DeviceError);
}

TEST_F(LweArray, UploadedOnesAreNotWhileTheirWordsAreThere) {
  const StrainedFleet devices(2);
  const Array array = upload(devices, 4, true);
  fail(devices, 1);
  EXPECT_EQ(array.lost(), "");
  Words out(4 * form.row());
  Evaluator(devices.fleet, nullptr, 1 << 10).download(array, out.data());
  EXPECT_EQ(out, *words);
  words.reset();
  EXPECT_EQ(array.lost(), "ciphertexts 2 … 3 of 4 lay on strained:1, which has failed");
}

TEST_F(LweArray, ReplicasOfSinglesStay) {
  const StrainedFleet devices(2);
  const Array single = upload(devices, 1);
  const run::Lane& other = *devices.fleet->lane(1);
  single.parts()[0].replicate(*devices.fleet, {1, {0, 1}});
  const long before = devices.strains[1]->calls_left;
  single.parts()[0].replicate(*devices.fleet, {1, {0, 1}});
  EXPECT_EQ(devices.strains[1]->calls_left, before) << "it is there already";
  {
    const auto held = other.hold();
    EXPECT_EQ(run::fetch<std::uint32_t>(other,
                                        single.parts()[0].rows(form, other).slice<std::uint32_t>()),
              *words);
  }
  fail(devices, 0);
  EXPECT_EQ(single.lost(), "");
  Words out(form.row());
  const Array::Part there = single.parts()[0].found(*devices.fleet);
  EXPECT_EQ(there.piece().lane, 1u);
  there.download({0, 1}, form, out.data());
  EXPECT_EQ(out, *words);
  fail(devices, 1);
  EXPECT_EQ(single.lost(), "ciphertexts 0 … 0 of 1 lay on strained:0, which has failed");
}

}  // namespace
}  // namespace whorl::lattice::lwe
