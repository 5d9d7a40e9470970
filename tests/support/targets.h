// Runs a test on every device: once for each SIMD target that was compiled and that this machine
// has, or, in the program of the GPU tests, once for each GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/contract/lwe.h"
#include "backend/contract/relay.h"
#include "backend/contract/ring.h"
#include "backend/contract/rns.h"
#include "backend/contract/rotation.h"
#include "support/simd_targets.h"

namespace whorl::test {

inline std::unique_ptr<backend::Queue> cpu(unsigned threads = 1) {
  return backend::open_queue("cpu", {threads, {}});
}
inline std::unique_ptr<backend::Queue> cuda(
    unsigned ordinal = 0, backend::BlindRotation way = backend::BlindRotation::automatic) {
  return backend::open_queue("cuda:" + std::to_string(ordinal), {0, {}, way});
}

/// Names of the GPUs that can be used: "cuda:0", …
inline std::vector<std::string> usable_gpus() {
  std::vector<std::string> names;
  for (const auto& info : list_devices())
    if (info.usable && info.name.starts_with("cuda:")) names.push_back(info.name);
  return names;
}

/// Whether this program tests GPUs: false by targets.cpp, true in gpu/main.cpp.
extern const bool tests_on_gpus;
/// What this program tests, as open_queue takes it: "cpu" or "cuda:0".
extern const char* const tested_device;

inline const char* way_name(backend::BlindRotation way) {
  constexpr const char* names[] = {"automatic", "single", "cluster", "grid", "shared"};
  return names[static_cast<unsigned>(way)];
}

/// A name for one device, "NAME:0": a Queue(…, arguments) over another device.
template <class Queue = backend::Relay, class... Arguments>
void register_relay(const std::string& name, const Arguments&... arguments) {
  using namespace backend;
  register_devices({name, '"' + name + '"',
                    [=](const std::string&, const DeviceOptions& options) {
                      return std::vector<std::shared_ptr<const Device>>{
                          std::make_shared<RelayDevice<Queue, Arguments...>>(
                              name + ":0", make_device("cpu", options), arguments...)};
                    },
                    [] { return std::vector<DeviceInfo>(); }});
}

/// A device that forwards all to the CPU, so that tests find what is not forwarded.
inline const char* relayed_device() {
  static const bool once = (register_relay("relayed"), true);
  static_cast<void>(once);
  return "relayed";
}

// For typed tests of words of both sizes.
using BothWords = ::testing::Types<std::uint32_t, std::uint64_t>;

/// The names for tests of whatever takes a device's name: the tested one, and the CPU by relay.
inline std::vector<const char*> tested_devices() {
  if (tests_on_gpus) return {tested_device};
  return {tested_device, relayed_device()};
}

/// One device under test, which opens the queues to call.
class Executor {
 public:
  explicit Executor(std::string name) : name_(std::move(name)) {}
  /// Its name, as open_queue takes it.
  const std::string& name() const { return name_; }
  bool gpu() const { return name_.starts_with("cuda"); }
  std::unique_ptr<backend::Queue> queue(unsigned threads = 1) const {
    return backend::open_queue(name_, {threads, {}});
  }
  /// One for each way to do the same: numbers of threads, or ways to spread blind rotations.
  struct Variant {
    std::string name;
    backend::BlindRotation way;
    std::unique_ptr<backend::Queue> queue;
  };
  std::vector<Variant> variants() const {
    using backend::BlindRotation;
    std::vector<Variant> out;
    if (gpu()) {
      for (const auto way : {BlindRotation::automatic, BlindRotation::single,
                             BlindRotation::cluster, BlindRotation::grid, BlindRotation::shared})
        out.push_back({way_name(way), way, backend::open_queue(name_, {0, {}, way})});
    } else {
      for (const unsigned threads : {1u, 2u, 5u})
        out.push_back({std::to_string(threads) + " threads", BlindRotation::automatic,
                       backend::open_queue(name_, {threads, {}})});
    }
    return out;
  }

 private:
  std::string name_;
};

enum class Relayed : std::uint8_t { no, yes };

/// body(const Executor&) on every SIMD target, and by relay on the best, or on every GPU.
template <class Body>
void on_each_device(const Body& body, Relayed relayed = Relayed::yes) {
  if (!tests_on_gpus) {
    on_each_target([&] { body(Executor("cpu")); });
    if (relayed == Relayed::no || ::testing::Test::HasFatalFailure()) return;
    SCOPED_TRACE(relayed_device());
    body(Executor(relayed_device()));
    return;
  }
  for (const std::string& name : usable_gpus()) {
    SCOPED_TRACE(name);
    body(Executor(name));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class T>
backend::Buffer<T> put(const backend::Queue& queue, const std::vector<T>& values) {
  auto buffer = queue.allocate<T>(values.size());
  queue.upload<T>(std::span<const T>(values), buffer.slice());
  return buffer;
}
template <class T>
std::vector<T> get(const backend::Queue& queue, backend::Slice<const T> slice) {
  std::vector<T> out(slice.size);
  queue.download<T>(slice, std::span<T>(out));
  return out;
}
template <class T>
std::vector<T> get(const backend::Queue& queue, const backend::Buffer<T>& buffer) {
  return get<T>(queue, buffer.slice());
}

}  // namespace whorl::test
