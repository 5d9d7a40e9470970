#include <hwy/targets.h>
#include <sodium.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include "math/keystream.h"
#include "math/random.h"
#include "support/test.h"
#include "unit/math/test_statistics.h"

namespace whorl::math {
namespace {

Seed counting_seed() {
  Seed seed;
  for (size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<uint8_t>(i);
  return seed;
}
constexpr uint64_t known_index = 0x0123456789abcdef;

TEST(MathStream, known_answers) {
  // Bernstein's test vector: zero key, zero nonce (also RFC 8439, A.1, vector 1).
  std::vector<uint8_t> bytes(16);
  Stream(Seed{}, 0).fill(bytes);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d,
                                         0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28}));
  // Python's cryptography 38, ChaCha20 with counter 0 and nonce = index, little endian.
  bytes.resize(2000);
  Stream(counting_seed(), known_index).fill(bytes);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.begin() + 8),
            (std::vector<uint8_t>{0x2e, 0xf4, 0x41, 0xc1, 0xf0, 0x22, 0x09, 0x93}));
  EXPECT_EQ(std::vector<uint8_t>(bytes.end() - 8, bytes.end()),
            (std::vector<uint8_t>{0x9f, 0x46, 0x77, 0x0d, 0x9a, 0xf7, 0x0b, 0x79}));
}

TEST(MathStream, any_split_gives_the_same_bytes) {
  const uint64_t test_seed = std::random_device{}();
  SCOPED_TRACE(test_seed);
  std::mt19937_64 random(test_seed);
  const Seed seed = random_seed();
  std::vector<uint8_t> whole(200000);
  Stream(seed, 5).fill(whole);
  for (int round = 0; round < 20; ++round) {
    std::vector<uint8_t> parts(whole.size());
    Stream stream(seed, 5);
    for (size_t done = 0; done < parts.size();) {
      const size_t largest = size_t{1} << (random() % 15);
      const size_t count = std::min(random() % (largest + 1), parts.size() - done);
      stream.fill(std::span(parts).subspan(done, count));
      done += count;
    }
    ASSERT_EQ(parts, whole);
  }
}

TEST(MathStream, indices_and_seeds_are_independent) {
  std::set<std::array<uint8_t, 32>> seen;
  const Seed seed = random_seed();
  for (const uint64_t index : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, ~uint64_t{0}}) {
    std::array<uint8_t, 32> bytes;
    Stream(seed, index).fill(bytes);
    EXPECT_TRUE(seen.insert(bytes).second) << index;
    Stream(random_seed(), index).fill(bytes);
    EXPECT_TRUE(seen.insert(bytes).second) << index;
  }
}

TEST(MathPrivateStream, streams_differ_and_reproducible_ones_do_not) {
  std::vector<uint8_t> a(64), b(64);
  PrivateStream("a").fill(a);
  PrivateStream("a").fill(b);
  EXPECT_NE(a, b);
  const Seed seed = random_seed();
  PrivateStream::reproducible_for_tests(seed).fill(a);
  PrivateStream::reproducible_for_tests(seed).fill(b);
  EXPECT_EQ(a, b);
}

// 64 bytes that a forked child draws.
std::vector<uint8_t> bytes_of_child(const std::function<pid_t()>& fork_child,
                                    PrivateStream& stream) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return {};
  const pid_t child = fork_child();
  std::vector<uint8_t> bytes(64);
  if (child == 0) {
    stream.fill(bytes);
    const bool written = write(ends[1], bytes.data(), bytes.size()) == 64;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  const ssize_t got = read(ends[0], bytes.data(), bytes.size());
  close(ends[0]);
  int status = -1;
  if (waitpid(child, &status, 0) != child || status != 0 || got != 64) return {};
  return bytes;
}

TEST(MathPrivateStream, forked_children_share_nothing) {
  PrivateStream stream("fork test");
  std::vector<uint8_t> bytes(100);  // leaves a buffer for the children to inherit
  stream.fill(bytes);
  std::set<std::string> drawn;
  const auto is_new = [&](const std::vector<uint8_t>& each) {
    return drawn.insert(std::string(each.begin(), each.end())).second;
  };
  // A raw system call goes past fork handlers: then it is the process id that tells.
  const auto raw_fork = [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); };
  for (const std::function<pid_t()>& fork_child : std::vector<std::function<pid_t()>>{
           [] { return fork(); }, [] { return fork(); }, raw_fork, raw_fork}) {
    const std::vector<uint8_t> of_child = bytes_of_child(fork_child, stream);
    ASSERT_EQ(of_child.size(), 64U);
    EXPECT_TRUE(is_new(of_child)) << "two children drew the same bytes";
  }
  // The parent's own next bytes are what a child would have drawn without a new key.
  bytes.resize(64);
  stream.fill(bytes);
  EXPECT_TRUE(is_new(bytes)) << "a child drew its parent's bytes";
}

template <class Word>
uint64_t polynomial_hash(const std::vector<Word>& words) {
  uint64_t hash = 0;
  for (const Word word : words) hash = hash * 0x100000001b3 + word;
  return hash;
}

template <class Word>
void expect_known(uint64_t modulus, Word first, Word last, uint64_t hash) {
  SCOPED_TRACE(modulus);
  std::vector<Word> out(1000);
  expand_uniform<Word>(counting_seed(), known_index, modulus, out);
  EXPECT_EQ(out.front(), first);
  EXPECT_EQ(out.back(), last);
  EXPECT_EQ(polynomial_hash(out), hash);
}

// The format of seeded files. Computed from the definition with Python integers and the ChaCha20 of
// Python's cryptography 38. If this fails, old files have become unreadable.
TEST(MathExpandUniform, known_answers) {
  expect_known<uint16_t>(1 << 14, 13358, 14603, 0x75ff61139d12559d);
  expect_known<uint16_t>(1 << 16, 62510, 30987, 0x4e0bcb2956d5d59d);
  expect_known<uint16_t>(12289, 321, 3649, 0x9068f2a9bc603c88);
  expect_known<uint32_t>(134215681, 21099566, 112978520, 0x38067f1e625dce4a);
  expect_known<uint32_t>(uint64_t{1} << 32, 3242325038, 3065768536, 0x4f08460da25dce4a);
  expect_known<uint32_t>(3, 2, 0, 0x8f3f3cf2055c8caa);
  expect_known<uint64_t>(18014398509404161, 2571692220216366, 13359822792950445,
                         0xee96ad6b536dc0de);
  expect_known<uint64_t>(~uint64_t{0}, 10595038015795622958U, 11830805245013131949U,
                         0xb316ad6b536dc0de);
  expect_known<uint64_t>((uint64_t{1} << 63) + 29, 6021529991845916713, 1002186468527273147,
                         0x148e376732b6ad54);
}

// The definition, word by word.
template <class Word>
std::vector<Word> expand_plainly(const Seed& seed, uint64_t index, uint64_t modulus, size_t count) {
  Stream stream(seed, index);
  std::vector<Word> out;
  while (out.size() < count) {
    std::array<uint8_t, sizeof(Word)> bytes;
    stream.fill(bytes);
    uint64_t word = 0;
    for (size_t i = 0; i < bytes.size(); ++i) word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    word &= ~uint64_t{0} >> (64 - std::bit_width(modulus - 1));
    if (word < modulus) out.push_back(static_cast<Word>(word));
  }
  return out;
}

template <class Word>
void check_against_definition() {
  const uint64_t test_seed = std::random_device{}();
  std::mt19937_64 random(test_seed);
  for (int round = 0; round < 200; ++round) {
    const unsigned bits = 1 + static_cast<unsigned>(random() % (8 * sizeof(Word)));
    const uint64_t modulus = std::max<uint64_t>(2, random() >> (64 - bits));
    const size_t count = random() % 5000;
    SCOPED_TRACE(testing::Message()
                 << "seed " << test_seed << ", modulus " << modulus << ", count " << count);
    const Seed seed = random_seed();
    const uint64_t index = random();
    std::vector<Word> out(count);
    expand_uniform<Word>(seed, index, modulus, out);
    ASSERT_EQ(out, expand_plainly<Word>(seed, index, modulus, count));
  }
}

TEST(MathExpandUniform, matches_its_definition) {
  check_against_definition<uint16_t>();
  check_against_definition<uint32_t>();
  check_against_definition<uint64_t>();
}

// Rows between which nothing may be written; some of them drop words, some do not.
template <class Word>
void check_rows_against_definition() {
  const uint64_t test_seed = std::random_device{}();
  std::mt19937_64 random(test_seed);
  const unsigned word_bits = 8 * sizeof(Word);
  for (int round = 0; round < 60; ++round) {
    // Moduli that are powers of two, just below one, and any.
    const unsigned bits = 1 + static_cast<unsigned>(random() % std::min(word_bits, 63U));
    uint64_t modulus = uint64_t{1} << bits;
    if (round % 3 == 1) modulus -= std::min(modulus - 2, modulus / 1024 + random() % 2);
    if (round % 3 == 2) modulus = std::max<uint64_t>(2, random() >> (64 - bits));
    const size_t rows = random() % 40;
    const size_t words = random() % 700;
    const size_t stride = words + random() % 3;
    // Indices that carry into the high half, and beyond it.
    const uint64_t index = (round % 2 == 0 ? uint64_t{1} << 32 : uint64_t{0}) - random() % 40;
    SCOPED_TRACE(testing::Message() << "seed " << test_seed << ", round " << round << ", modulus "
                                    << modulus << ", rows " << rows << " of " << words);
    const Seed seed = random_seed();
    std::vector<Word> out(rows * stride + 1);
    for (Word& word : out) word = static_cast<Word>(random());
    std::vector<Word> expected = out;
    for (size_t r = 0; r < rows; ++r) {
      const std::vector<Word> row = expand_plainly<Word>(seed, index + r, modulus, words);
      std::copy(row.begin(), row.end(), expected.begin() + static_cast<ptrdiff_t>(r * stride));
    }
    expand_uniform_rows<Word>(seed, index, modulus, {out.data(), rows, words, stride});
    ASSERT_EQ(out, expected);
  }
}

TEST(MathExpandUniform, rows_match_the_definition) {
  check_rows_against_definition<uint16_t>();
  check_rows_against_definition<uint32_t>();
  check_rows_against_definition<uint64_t>();
}

// Whorl's own keystream against libsodium's, for every vector width that this machine has.
TEST(MathKeystream, is_that_of_libsodium) {
  const uint64_t test_seed = std::random_device{}();
  std::mt19937_64 random(test_seed);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (int round = 0; round < 100; ++round) {
      const auto near = [&](uint64_t power) { return power - random() % 40; };
      const std::array<uint64_t, 3> starts{0, near(uint64_t{1} << 32), near(0)};
      const KeystreamRows rows{.first_nonce = round % 4 == 3 ? random() : starts[random() % 3],
                               .count = random() % 40,
                               .first_block = starts[random() % 2] + random() % 20,
                               .bytes = random() % 2500,
                               .mask = round % 2 == 0 ? ~uint64_t{0} : random()};
      const size_t stride = rows.bytes + random() % 20;
      SCOPED_TRACE(testing::Message()
                   << "seed " << test_seed << ", target " << hwy::TargetName(target) << ", nonce "
                   << rows.first_nonce << ", block " << rows.first_block << ", " << rows.count
                   << " rows of " << rows.bytes << " bytes");
      const Seed seed = random_seed();
      std::vector<uint8_t> out(rows.count * stride + 1, 0x5a);
      std::vector<uint8_t> expected = out;
      for (size_t r = 0; r < rows.count; ++r) {
        std::array<uint8_t, 8> nonce;
        for (size_t i = 0; i < 8; ++i) {
          nonce[i] = static_cast<uint8_t>((rows.first_nonce + r) >> (8 * i));
        }
        uint8_t* row = expected.data() + r * stride;
        std::fill_n(row, rows.bytes, uint8_t{0});
        crypto_stream_chacha20_xor_ic(row, row, rows.bytes, nonce.data(), rows.first_block,
                                      seed.data());
        for (size_t i = 0; i < rows.bytes; ++i) {
          row[i] &= static_cast<uint8_t>(rows.mask >> (8 * (i % 8)));
        }
      }
      keystream_rows(seed, rows, stride, out.data());
      EXPECT_EQ(out, expected);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

// 10^6 residues in 64 equal ranges, three moduli. False alarm: below 10^-9 in all.
TEST(MathExpandUniform, is_uniform) {
  constexpr size_t samples = 1000000;
  for (const uint64_t modulus : {uint64_t{1} << 14, uint64_t{134215681}, uint64_t{1000000007}}) {
    std::vector<uint32_t> out(samples);
    const Seed seed = random_seed();
    expand_uniform<uint32_t>(seed, 0, modulus, out);
    constexpr uint64_t cells = 64;
    std::vector<size_t> counts(cells);
    std::vector<double> probabilities(cells);
    for (const uint32_t x : out) {
      ASSERT_LT(x, modulus);
      ++counts[x * cells / modulus];
    }
    for (uint64_t c = 0; c < cells; ++c) {
      const auto start = [&](uint64_t i) { return (i * modulus + cells - 1) / cells; };
      probabilities[c] =
          static_cast<double>(start(c + 1) - start(c)) / static_cast<double>(modulus);
    }
    const ChiSquare statistic = chi_square(counts, probabilities, samples);
    EXPECT_EQ(statistic.degrees, cells - 1);
    EXPECT_LT(statistic.value, chi_square_bound(statistic.degrees)) << modulus;
  }
}

TEST(MathExpandUniform, range_is_enforced) {
  std::vector<uint16_t> out16(4);
  std::vector<uint32_t> out32(4);
  std::vector<uint64_t> out64(4);
  EXPECT_THROW(expand_uniform<uint16_t>(Seed{}, 0, 65537, out16), ParameterError);
  EXPECT_THROW(expand_uniform<uint32_t>(Seed{}, 0, (uint64_t{1} << 32) + 1, out32), ParameterError);
  for (const uint64_t bad : {0, 1}) {
    EXPECT_THROW(expand_uniform<uint16_t>(Seed{}, 0, bad, out16), ParameterError);
    EXPECT_THROW(expand_uniform<uint32_t>(Seed{}, 0, bad, out32), ParameterError);
    EXPECT_THROW(expand_uniform<uint64_t>(Seed{}, 0, bad, out64), ParameterError);
  }
}

}  // namespace
}  // namespace whorl::math
