#include "tuner.h"

#include <cstdio>

namespace whorl::tune {

using backend::cuda::check;

namespace {

constexpr int warm_ups = 2;
constexpr unsigned grid_blocks = 1024, block_threads = 256;

__device__ bool differ(std::uint64_t a, std::uint64_t b, double) { return a != b; }
/// Also where one is not a number.
__device__ bool differ(double a, double b, double tolerance) { return !(fabs(a - b) <= tolerance); }
template <class T>
__global__ void count_differences(const T* a, const T* b, std::size_t size, double tolerance,
                                  unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < size;
       i += std::size_t{gridDim.x} * blockDim.x)
    mine += differ(a[i], b[i], tolerance);
  if (mine != 0) atomicAdd(count, mine);
}

template <class T>
bool are_equal(const Tuner& tuner, const T* a, const T* b, std::size_t size, double tolerance) {
  return tuner.count([&](unsigned long long* count) {
    count_differences<T>
        <<<grid_blocks, block_threads, 0, tuner.stream().handle()>>>(a, b, size, tolerance, count);
    backend::cuda::check_launch("count_differences", grid_blocks, block_threads, 0);
  }) == 0;
}

}  // namespace

std::string facts_text(const std::vector<KernelFacts>& kernels) {
  std::string out;
  for (const KernelFacts& kernel : kernels) {
    if (!out.empty()) out += " + ";
    out += std::to_string(kernel.registers) + "/" + std::to_string(kernel.warps);
    if (kernel.spilled_bytes > 0)
      out += std::string(" spills ") + std::to_string(kernel.spilled_bytes);
  }
  return out;
}

std::string ms_text(float ms) {
  char text[32];
  std::snprintf(text, sizeof(text), "%7.3f ms", ms);
  return text;
}

std::string slower_text(float used_ms, float best_ms) {
  if (used_ms <= 0 || best_ms <= 0) return "not measured";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %% slower", 100 * (used_ms / best_ms - 1));
  return text;
}

Tuner::Tuner(int device) : stream_(backend::cuda::describe_gpu(device)), current_(device) {
  check(cudaEventCreate(&start_), "cudaEventCreate");
  check(cudaEventCreate(&stop_), "cudaEventCreate");
  std::printf("%s, %s\n", gpu().model.c_str(), backend::cuda::kernels_for(gpu()).c_str());
}

Tuner::~Tuner() {
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

float Tuner::median_ms(const std::function<void()>& work, int runs) const {
  std::vector<float> times;
  for (int run = 0; run < warm_ups + runs; ++run) {
    check(cudaEventRecord(start_, stream_.handle()), "cudaEventRecord");
    work();
    check(cudaEventRecord(stop_, stream_.handle()), "cudaEventRecord");
    check(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start_, stop_), "cudaEventElapsedTime");
    if (run >= warm_ups) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::uint64_t Tuner::count(const std::function<void(unsigned long long*)>& work) const {
  const auto counter = stream_.allocate<unsigned long long>(1);
  stream_.fill(counter.data(), 0, sizeof(unsigned long long));
  work(counter.data());
  unsigned long long out = 0;
  stream_.copy_out(counter.data(), &out, sizeof(out));
  return out;
}
bool Tuner::equal(const std::uint64_t* a, const std::uint64_t* b, std::size_t size) const {
  return are_equal(*this, a, b, size, 0);
}
bool Tuner::equal(const double* a, const double* b, std::size_t size, double tolerance) const {
  return are_equal(*this, a, b, size, tolerance);
}

void Tuner::begin_ranking(const std::string& title) const { std::printf("\n%s\n", title.c_str()); }
void Tuner::print(const Measured& measured) {
  std::printf("%c %-62s  %s%s\n", measured.used ? '*' : ' ', measured.line.c_str(),
              measured.text.c_str(), measured.right ? "" : "  WRONG");
  wrong_ += !measured.right;
}
void Tuner::end_ranking(int left_out) const {
  if (left_out > 0)
    std::printf("  %d left out for lack of clusters, shared memory or registers\n", left_out);
  std::fflush(stdout);
}

int Tuner::finish() const {
  for (const auto& [file, lines] : winners_)
    std::printf("\nFor src/backend/cuda/tuning/%s:\n%s", file.c_str(), lines.c_str());
  if (wrong_ > 0) std::printf("\n%d candidates gave a WRONG output\n", wrong_);
  return wrong_;
}

}  // namespace whorl::tune
