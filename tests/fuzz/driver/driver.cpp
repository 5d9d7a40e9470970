// Runs a fuzz target without libFuzzer: replays the corpus, then mutates it until the time is up.
// It is blind to coverage; it is there so that every build runs every target for a while.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

Bytes random_bytes(std::mt19937_64& rng) {
  Bytes bytes(rng() % 512);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng());
  return bytes;
}

void mutate(Bytes& bytes, std::mt19937_64& rng) {
  if (bytes.empty()) {
    bytes = random_bytes(rng);
    return;
  }
  const std::size_t at = rng() % bytes.size();
  switch (rng() % 5) {
    case 0:
      bytes[at] ^= static_cast<std::uint8_t>(1U << (rng() % 8));
      break;
    case 1:
      bytes[at] = static_cast<std::uint8_t>(rng());
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3: {
      const Bytes more = random_bytes(rng);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
      break;
    }
    default: {
      // Lengths and counts are what loaders stumble over: write an extreme one.
      static constexpr std::uint64_t extremes[] = {
          0, 1, 0x7f, 0x80, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX};
      const std::uint64_t value = extremes[rng() % std::size(extremes)];
      const std::size_t width = std::min<std::size_t>(std::size_t{1} << (rng() % 4),  //
                                                      bytes.size() - at);
      std::memcpy(bytes.data() + at, &value, width);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  double seconds = 5;
  std::uint64_t seed = std::random_device{}();
  std::vector<Bytes> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::stod(argv[++i]);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::stoull(argv[++i]);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        if (entry.is_regular_file()) corpus.push_back(read_file(entry.path()));
      }
    } else if (std::filesystem::is_regular_file(argument)) {
      corpus.push_back(read_file(argument));
    } else {
      std::cerr << "usage: " << argv[0] << " [--seconds S] [--seed N] [FILE|FOLDER]...\n";
      return EXIT_FAILURE;
    }
  }
  std::cout << "seed " << seed << ", corpus of " << corpus.size() << ", " << seconds << " s"
            << std::endl;
  for (const Bytes& bytes : corpus) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());

  std::mt19937_64 rng(seed);
  std::uint64_t runs = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    Bytes bytes = corpus.empty() ? random_bytes(rng) : corpus[rng() % corpus.size()];
    for (std::uint64_t steps = 1 + rng() % 8; steps > 0; --steps) mutate(bytes, rng);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++runs;
  }
  std::cout << runs << " inputs, no failure" << std::endl;
  return EXIT_SUCCESS;
}
