// Queues of devices as benches use them: opening, copying, waiting, and what records call them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/contract/device.h"
#include "math/random.h"

namespace whorl::bench {

using Queue = backend::Queue;
template <class T>
using Buffer = backend::Buffer<T>;
template <class T>
using Slice = backend::Slice<T>;

/// `threads`: of the host; 0 for all cores.
std::unique_ptr<Queue> open_queue(const std::string& name, unsigned threads = 0);

/// What records say of the hardware.
struct Machine {
  std::string name = "cpu";  ///< "h200" for an NVIDIA H200
  std::size_t devices = 1;
  unsigned threads = 1;  ///< of the host
};
/// The machine with one device or several ("cuda:0,1"). DeviceError if they are not there.
Machine machine_of(const std::string& device, unsigned threads = 0);
/// "h200" of "NVIDIA H200".
std::string record_name(const std::string& model);

/// Bytes; 0 if unknown.
std::size_t free_memory(const std::string& device);

template <class T>
Buffer<T> upload(const Queue& queue, std::span<const T> values) {
  auto out = queue.allocate<T>(values.size());
  queue.upload(values, out.slice());
  return out;
}
template <class T>
Buffer<T> upload(const Queue& queue, const std::vector<T>& values) {
  return upload(queue, std::span<const T>(values));
}
template <class T>
std::vector<T> download(const Queue& queue, const Buffer<T>& buffer) {
  std::vector<T> out(buffer.size());
  queue.download(buffer.slice(), std::span<T>(out));
  return out;
}
/// Waits until what makes `buffer` is done.
template <class T>
void wait_for(const Queue& queue, const Buffer<T>& buffer) {
  T first = {};
  queue.download(buffer.slice().part(0, 1), std::span(&first, 1));
}

template <class Word>
std::vector<Word> random_words(std::size_t count, Word bound) {
  std::vector<Word> out(count);
  math::expand_uniform<Word>(math::random_seed(), 0, bound, out);
  return out;
}
/// `count` words below `bound` on the device, the same 2^24 again and again.
template <class Word>
Buffer<Word> random_buffer(const Queue& queue, std::size_t count, Word bound) {
  const auto words = random_words<Word>(std::min<std::size_t>(count, 1 << 24), bound);
  auto out = queue.allocate<Word>(count);
  for (std::size_t at = 0; at < count; at += words.size()) {
    const std::size_t many = std::min(words.size(), count - at);
    queue.upload(std::span(words).first(many), out.slice().part(at, many));
  }
  return out;
}

}  // namespace whorl::bench
