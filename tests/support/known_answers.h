// Vectors of tests/kat/vectors.txt: lines of names and numbers, separated by blanks.
#pragma once

#include "math/random.h"
#include "support/test.h"
#include "support/test_data.h"

namespace whorl::test {

/// Lines that begin with `words`: all numbers that follow them.
inline std::vector<std::vector<std::uint64_t>> known_answers(const std::string& words) {
  const std::filesystem::path path = test_data("kat/vectors.txt");
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::vector<std::uint64_t>> out;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(words + " ", 0) != 0) continue;
    std::istringstream numbers(line.substr(words.size()));
    out.emplace_back();
    for (std::string word; numbers >> word;)  // negative ones wrap to two's complement
      out.back().push_back(word[0] == '-' ? static_cast<std::uint64_t>(std::stoll(word))
                                          : std::stoull(word));
  }
  EXPECT_FALSE(out.empty()) << "no " << words << " in " << path;
  return out;
}

/// The seed of 32 equal bytes.
inline math::Seed seed_of(unsigned byte) {
  math::Seed seed;
  seed.fill(static_cast<std::uint8_t>(byte));
  return seed;
}
template <class Word>
std::vector<Word> expanded(unsigned seed, std::uint64_t index, std::uint64_t modulus,
                           std::size_t count) {
  std::vector<Word> out(count);
  math::expand_uniform<Word>(seed_of(seed), index, modulus, out);
  return out;
}

}  // namespace whorl::test
