#include "backend/cuda/runtime/launch_watch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/launch_queue.h"

namespace whorl::backend::cuda {

namespace {

struct Seen {
  std::string name;
  double occupancy;
  cudaEvent_t begin = nullptr, end = nullptr;
};

class Watch final : public LaunchWatch {
 public:
  ~Watch() override {
    for (const Seen& each : seen_) {
      cudaEventDestroy(each.begin);
      cudaEventDestroy(each.end);
    }
  }
  void before(const char* name, const void* kernel, const LaunchShape& shape,
              cudaStream_t stream) override {
    Seen seen{name, occupancy_of(kernel, shape)};
    check(cudaEventCreate(&seen.begin), "cudaEventCreate");
    check(cudaEventCreate(&seen.end), "cudaEventCreate");
    check(cudaEventRecord(seen.begin, stream), "cudaEventRecord");
    seen_.push_back(std::move(seen));
  }
  void after(cudaStream_t stream) override {
    check(cudaEventRecord(seen_.back().end, stream), "cudaEventRecord");
  }

  std::vector<WatchedKernel> sums() const {
    std::map<std::string, WatchedKernel> out;
    for (const Seen& each : seen_) {
      check(cudaEventSynchronize(each.end), "cudaEventSynchronize");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, each.begin, each.end), "cudaEventElapsedTime");
      const double seconds = 1e-3 * static_cast<double>(milliseconds);
      WatchedKernel& sum = out[each.name];
      sum.name = each.name;
      ++sum.launches;
      sum.seconds += seconds;
      sum.occupancy += seconds * each.occupancy;
    }
    std::vector<WatchedKernel> list;
    for (auto& [name, sum] : out) {
      if (sum.seconds > 0) sum.occupancy /= sum.seconds;
      list.push_back(std::move(sum));
    }
    return list;
  }

 private:
  static double occupancy_of(const void* kernel, const LaunchShape& shape) {
    int gpu = 0, threads = 0, multiprocessors = 0, blocks = 0;
    check(cudaGetDevice(&gpu), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, gpu),
          "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu),
          "cudaDeviceGetAttribute");
    const auto block = shape.block.x * shape.block.y * shape.block.z;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(block),
                                                        shape.shared_bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const double all =
        static_cast<double>(shape.grid.x) * shape.grid.y * shape.grid.z / multiprocessors;
    return std::min(all, static_cast<double>(blocks)) * block / threads;
  }

  std::vector<Seen> seen_;
};

}  // namespace

std::vector<WatchedKernel> watch_launches(const std::function<void()>& f) {
  Watch watch;
  struct Watching {
    explicit Watching(Watch& by) { set_launch_watch(&by); }
    ~Watching() { set_launch_watch(nullptr); }
  };
  {
    const Watching watching(watch);
    f();
  }
  return watch.sums();
}

}  // namespace whorl::backend::cuda
