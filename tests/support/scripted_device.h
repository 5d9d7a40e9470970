// A device that does what a script says: fails, is short of memory, is slow. It stands for a GPU.
#pragma once

#include "support/test.h"

namespace whorl::test {

/// How a scripted device behaves, and what was seen of it. What its work is, the queue says.
struct Script {
  std::string name = "scripted:0";
  unsigned queues = 1;
  std::size_t batch_limit = 512;
  /// Work on more items than this is OutOfMemoryError.
  std::atomic<std::size_t> memory = SIZE_MAX;
  /// The k-th work from now on (1: the next) and all after it throw DeviceError; 0: none.
  std::atomic<int> fails_in = 0;
  std::atomic<bool> lost = false;
  /// The k-th download from now on is OutOfMemoryError; 0: none.
  std::atomic<int> download_fails_in = 0;
  std::atomic<bool> end_fails = false;   ///< end_together() throws DeviceError
  std::atomic<bool> wait_fails = false;  ///< wait() throws DeviceError
  std::chrono::microseconds pause{0};    ///< for each item
  std::function<bool()> interrupt = {};  ///< polled before each work

  std::mutex mutex;
  std::vector<std::size_t> pieces;  ///< items of each work done
  std::atomic<std::size_t> done = 0;
  std::atomic<int> opened = 0, waits = 0;
  std::atomic<int> together = 0;                       ///< begun and not ended
  std::atomic<int> in_flight = 0, most_in_flight = 0;  ///< results not yet downloaded

  /// Is called before work on `count` items, and throws if it is time to.
  void begin(const std::string& device, std::size_t count) {
    if (interrupt && interrupt()) throw InterruptedError("by the device");
    if (fails_in > 0 && --fails_in == 0) lost = true;
    if (lost) throw DeviceError(device + ": code 999");
    if (count > memory)
      throw OutOfMemoryError(device + ": no memory for " + std::to_string(count) + " items");
    std::this_thread::sleep_for(pause * count);
  }
  void end(std::size_t count) {
    const std::scoped_lock lock(mutex);
    pieces.push_back(count);
    done += count;
  }
};

/// Two devices for calls from several threads: the second fails in their midst.
inline void fail_amid_calls(Script& first, Script& second) {
  for (Script* const script : {&first, &second}) {
    script->queues = 2;
    script->batch_limit = 6;
  }
  second.fails_in = 9;
}
/// How many of 16 calls from four threads fail.
inline int failed_calls(const std::function<bool()>& call) {
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 4; ++t)
      callers.emplace_back([&] {
        for (int i = 0; i < 4; ++i) failed += !call();
      });
  }
  return failed;
}

/// Its work is Queue::copy of words of 32 bits, an item a word.
class ScriptedQueue final : public backend::Relay {
 public:
  ScriptedQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> behind,
                std::shared_ptr<Script> script)
      : Relay(std::move(device), std::move(behind)), script_(std::move(script)) {
    ++script_->opened;
  }
  std::size_t batch_limit(std::size_t, std::size_t) const override { return script_->batch_limit; }
  void wait() const override {
    if (script_->wait_fails) throw DeviceError(name() + ": code 997");
    ++script_->waits;
    Relay::wait();
  }
  void begin_together() const override { ++script_->together; }
  void end_together() const override {
    --script_->together;
    if (script_->end_fails) throw DeviceError(name() + ": code 998");
  }

 protected:
  void copy_within(const void* from, void* to, std::size_t bytes) const override {
    const std::size_t count = bytes / 4;
    script_->begin(name(), count);
    Relay::copy_within(from, to, bytes);
    script_->end(count);
    const std::scoped_lock lock(script_->mutex);
    script_->most_in_flight = std::max<int>(script_->most_in_flight, ++script_->in_flight);
  }
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    if (script_->download_fails_in > 0 && --script_->download_fails_in == 0)
      throw OutOfMemoryError(name() + ": no pinned memory for " + std::to_string(bytes) + " bytes");
    Relay::copy_out(device, host, bytes);
    --script_->in_flight;
  }

 private:
  std::shared_ptr<Script> script_;
};

/// The CPU behind queues that do what a script says.
template <class Queue>
class DeviceByScript final : public backend::RelayDevice<Queue, std::shared_ptr<Script>> {
  using Base = backend::RelayDevice<Queue, std::shared_ptr<Script>>;

 public:
  explicit DeviceByScript(std::shared_ptr<Script> script)
      : Base(script->name, backend::make_device("cpu", {1, {}}), script),
        script_(std::move(script)) {}
  unsigned queues() const override { return script_->queues; }

 private:
  std::shared_ptr<Script> script_;
};
using ScriptedDevice = DeviceByScript<ScriptedQueue>;

}  // namespace whorl::test
