#include "backend/cuda/cuda_device.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/rns/elementwise.h"
#include "backend/cuda/queue.h"

namespace whorl::backend::cuda {

CudaDevice::CudaDevice(int ordinal, DeviceOptions options)
    : gpu_(describe_gpu(ordinal)), options_(std::move(options)) {
  options_.threads = threads_or_cores(options_.threads);
}

std::unique_ptr<Queue> CudaDevice::open() const {
  return std::make_unique<CudaQueue>(
      std::static_pointer_cast<const CudaDevice>(shared_from_this()));
}

CudaQueue::CudaQueue(std::shared_ptr<const CudaDevice> device)
    : Queue(device), stream_(device->gpu(), device->threads()) {
  offer_ring();
  offer_rns();
  offer_rotation();
  offer_lwe();
}

std::size_t CudaQueue::batch_limit(std::size_t bytes, std::size_t reserved) const {
  // A quarter for each queue; what is left is for scratch and others' allocations.
  const std::size_t free = stream_.free_memory(), share = (free - std::min(free, reserved)) / 4;
  return std::clamp<std::size_t>(share / std::max<std::size_t>(bytes, 1), 1, std::size_t{1} << 16);
}

namespace {

/// body(offset, size) for parts of a copy that a bus moves in some milliseconds.
template <class Body>
void in_parts(const CudaDevice& gpu, std::size_t bytes, const Body& body) {
  constexpr std::size_t part = std::size_t{256} << 20;
  for (std::size_t at = 0; at < bytes; at += part) {
    if (at > 0 && gpu.asked_to_stop())
      throw InterruptedError("stopped after " + std::to_string(at) + " of " +
                             std::to_string(bytes) + " bytes of a copy");
    body(at, std::min(part, bytes - at));
  }
}

}  // namespace

void CudaQueue::copy_in(const void* host, void* to, std::size_t bytes) const {
  in_parts(gpu(), bytes, [&](std::size_t at, std::size_t size) {
    stream_.copy_in(static_cast<const std::byte*>(host) + at, static_cast<std::byte*>(to) + at,
                    size);
  });
}

void CudaQueue::copy_out(const void* from, void* host, std::size_t bytes) const {
  in_parts(gpu(), bytes, [&](std::size_t at, std::size_t size) {
    stream_.copy_out(static_cast<const std::byte*>(from) + at, static_cast<std::byte*>(host) + at,
                     size);
  });
}

void CudaQueue::copy_within(const void* from, void* to, std::size_t bytes) const {
  together_ > 0 ? cuda::copy(stream_, bytes, from, to) : stream_.copy_within(from, to, bytes);
}

void CudaQueue::fill_words(std::uint64_t value, unsigned word_bytes, std::size_t count,
                           void* out) const {
  with_word_bytes(word_bytes, [&]<class Word>(Word) {
    cuda::fill(stream_, count, static_cast<Word>(value), static_cast<Word*>(out));
  });
}

// ---- names

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw DeviceError("device \"" + name + "\": " + why);
}

std::vector<int> parse_ordinals(const std::string& name, std::string_view list) {
  std::vector<int> out;
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    int ordinal = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), ordinal);
    if (error != std::errc() || end != item.data() + item.size() || ordinal < 0)
      refuse(name, '"' + std::string(item) + "\" is not the number of a GPU");
    if (std::find(out.begin(), out.end(), ordinal) != out.end())
      refuse(name, "GPU " + std::to_string(ordinal) + " is named twice");
    out.push_back(ordinal);
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

/// The GPUs that this build's kernels run on. If there is none, DeviceError says why.
std::vector<int> usable_gpus() {
  std::vector<int> out;
  const int count = gpu_count();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    try {
      describe_gpu(ordinal);
      out.push_back(ordinal);
    } catch (const DeviceError&) {  // list_gpus says why
    }
  }
  return out;
}

std::vector<int> ordinals_of(const std::string& name) {
  constexpr std::string_view prefix = "cuda:";
  if (name == "cuda") return {0};
  if (name == "cuda:all") {
    std::vector<int> all = usable_gpus();
    if (all.empty()) throw DeviceError("device \"" + name + "\": no GPU can be used");
    return all;
  }
  if (!name.starts_with(prefix)) refuse(name, "it does not exist");
  return parse_ordinals(name, std::string_view(name).substr(prefix.size()));
}

std::vector<std::shared_ptr<const Device>> make(const std::string& name,
                                                const DeviceOptions& options) {
  std::vector<std::shared_ptr<const Device>> out;
  for (const int ordinal : ordinals_of(name))
    out.push_back(std::make_shared<CudaDevice>(ordinal, options));
  return out;
}

std::vector<DeviceInfo> list_gpus() {
  std::vector<DeviceInfo> out;
  try {
    const int count = gpu_count();
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      DeviceInfo info;
      info.name = "cuda:" + std::to_string(ordinal);
      try {
        const Gpu gpu = describe_gpu(ordinal);
        info.description = gpu.model;
        info.memory = gpu.memory_bytes;
        info.free_memory = free_memory(gpu);
        info.why = kernels_for(gpu);
        info.usable = true;
      } catch (const Error& error) {
        info.why = error.what();
      }
      out.push_back(std::move(info));
    }
  } catch (const Error& error) {
    out.push_back({"cuda", "NVIDIA GPU", false, error.what(), 0, 0});
  }
  return out;
}

/// "" where there is no driver or no GPU.
std::string best() {
  try {
    const std::vector<int> gpus = usable_gpus();
    return gpus.empty() ? std::string() : "cuda:" + std::to_string(gpus.front());
  } catch (const DeviceError&) {
    return {};
  }
}

}  // namespace

DeviceKind kind() {
  return {"cuda",
          "\"cuda\" (the first GPU), \"cuda:K\" (GPU K), \"cuda:0,1\" (several), \"cuda:all\"",
          make, list_gpus, best};
}

}  // namespace whorl::backend::cuda
