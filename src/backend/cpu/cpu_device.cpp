#include "backend/cpu/cpu_device.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "ring/host/kernels.h"

namespace whorl::backend::cpu {

namespace {

class CpuQueue final : public Queue {
 public:
  CpuQueue(std::shared_ptr<const Device> device, const Host& host)
      : Queue(std::move(device)), memory_(host.memory) {
    const auto both_words = [&]<class Word>(Word) {
      offer<RingOps<Word>>(make_ring<Word>(*this, host));
      offer<RnsOps<Word>>(make_rns<Word>(*this, host));
      offer<RotationOps<Word>>(make_rotation<Word>(*this, host));
    };
    both_words(std::uint32_t{});
    both_words(std::uint64_t{});
    offer<FftOps>(make_fft(*this, host));
    offer<LweOps>(make_lwe(*this, host));
  }

  /// Bounds the memory of a batch; larger pieces are no faster.
  std::size_t batch_limit(std::size_t, std::size_t) const override { return 512; }
  void wait() const override {}

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    return memory_->take(bytes, "cpu");
  }
  void copy_in(const void* host, void* device, std::size_t bytes) const override {
    if (bytes) std::memcpy(device, host, bytes);
  }
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    if (bytes) std::memcpy(host, device, bytes);
  }
  void copy_within(const void* from, void* to, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  void fill_words(std::uint64_t value, unsigned word_bytes, std::size_t count,
                  void* out) const override {
    with_word_bytes(word_bytes, [&]<class Word>(Word) {
      std::fill_n(static_cast<Word*>(out), count, static_cast<Word>(value));
    });
  }

 private:
  std::shared_ptr<BlockCache> memory_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(Workers workers) : host_{std::move(workers), std::make_shared<BlockCache>()} {}

  std::string name() const override {
    const unsigned threads = host_.workers.threads;
    return "cpu (" + ring::simd_name() + ", " + std::to_string(threads) +
           (threads == 1 ? " thread)" : " threads)");
  }
  std::string memory() const override { return "cpu"; }
  unsigned threads() const override { return host_.workers.threads; }
  unsigned queues() const override { return 1; }
  std::unique_ptr<Queue> open() const override {
    return std::make_unique<CpuQueue>(shared_from_this(), host_);
  }

 private:
  Host host_;
};

/// What Linux says of `field` in a file of lines "field: value"; empty where it says nothing.
std::string system_fact(const char* file, std::string_view field) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(field) || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

DeviceInfo describe() {
  const auto kibibytes = [](std::string_view field) {
    std::size_t value = 0;
    const std::string text = system_fact("/proc/meminfo", field);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value << 10;
  };
  const std::string model = system_fact("/proc/cpuinfo", "model name");
  return {"cpu",
          model.empty() ? "processor of unknown name" : model,
          true,
          ring::simd_name() + " kernels",
          kibibytes("MemTotal"),
          kibibytes("MemAvailable")};
}

std::vector<std::shared_ptr<const Device>> make(const std::string& name,
                                                const DeviceOptions& options) {
  if (name != "cpu") throw DeviceError("device \"" + name + "\" does not exist");
  const unsigned threads = threads_or_cores(options.threads);
  return {std::make_shared<CpuDevice>(Workers{
      threads, options.interrupt, threads > 1 ? std::make_shared<Crew>(threads - 1) : nullptr})};
}

}  // namespace

DeviceKind kind() {
  return {"cpu", "\"cpu\"", make, [] { return std::vector<DeviceInfo>{describe()}; },
          [] { return std::string("cpu"); }};
}

}  // namespace whorl::backend::cpu
