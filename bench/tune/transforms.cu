// Tunes the batches of transforms: times candidate shapes on this machine's GPU and prints what
// tuning/transforms.h should have. `make tune-gpu` builds and runs it.
//
// usage: tune_transforms [--device ORDINAL] [--only ntt32|ntt64|fft]
//
// Candidates stand in ntt_32.cu, ntt_64.cu and fft.cu beside this file; the shapes in use, marked
// with *, are measured with them. A size's outputs, forward and inverse, are compared with those of
// its first candidate. Times are the GPU's clock for a batch of 256 MB that stays on the GPU, the
// median of 10 calls; the floor is a copy of as many bytes. The fastest in the sum of both
// directions wins; where it takes clusters (sm_90 on), so does the fastest without. Exits with 1 if
// an output was wrong or there is no GPU.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <string>
#include <vector>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/gpu.h"
#include "tuner.h"

namespace whorl::tune {

using backend::cuda::check;
using backend::cuda::KernelShape;
using backend::cuda::Padding;
using backend::cuda::Split;
using backend::cuda::TransformShape;

namespace {

constexpr int warm_ups = 2, timed_runs = 10;
constexpr unsigned grid_blocks = 1024, block_threads = 256;

/// splitmix64 (Steele et al., OOPSLA 2014) of a counter: any seed serves, and none is secret.
__device__ std::uint64_t random_word(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
__global__ void fill_integers_kernel(std::uint32_t* data, std::size_t size) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < size;
       i += std::size_t{gridDim.x} * blockDim.x)
    data[i] = static_cast<std::uint32_t>(random_word(i) >> 39);
}
__global__ void fill_reals_kernel(double* data, std::size_t size) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < size;
       i += std::size_t{gridDim.x} * blockDim.x)
    data[i] = static_cast<double>(static_cast<std::int64_t>(random_word(i))) * 0x1p-63;
}

__device__ bool differ(std::uint64_t a, std::uint64_t b, double) { return a != b; }
/// Also where one is not a number.
__device__ bool differ(double a, double b, double tolerance) { return !(fabs(a - b) <= tolerance); }
template <class T>
__global__ void count_differences_kernel(const T* a, const T* b, std::size_t size, double tolerance,
                                         unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < size;
       i += std::size_t{gridDim.x} * blockDim.x)
    mine += differ(a[i], b[i], tolerance);
  if (mine != 0) atomicAdd(count, mine);
}

template <class T>
bool equal(const backend::cuda::Stream& stream, const void* a, const void* b, double tolerance) {
  const auto count = stream.allocate<unsigned long long>(1);
  stream.fill(count.data(), 0, sizeof(unsigned long long));
  count_differences_kernel<T><<<grid_blocks, block_threads, 0, stream.handle()>>>(
      static_cast<const T*>(a), static_cast<const T*>(b), batch_bytes / sizeof(T), tolerance,
      count.data());
  backend::cuda::check_launch("count_differences_kernel", grid_blocks, block_threads, 0);
  unsigned long long differences = 0;
  stream.copy_out(count.data(), &differences, sizeof(differences));
  return differences == 0;
}

std::string join(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) {
    if (!out.empty()) out += ", ";
    out += std::to_string(value);
  }
  return out;
}

std::string padding_text(const Padding& padding) {
  const bool plain = padding.log_row2 == 31 && padding.gap2 == 0;
  const std::string second = plain ? std::string() : join({padding.log_row2, padding.gap2});
  if (padding.log_row == 5 && padding.gap == 4) return std::string("rows32(") + second + ")";
  if (padding.log_row == 4 && padding.gap == 2) return std::string("rows64(") + second + ")";
  if (padding.log_row == 3 && padding.gap == 1 && plain) return "octets";
  if (padding.log_row == 4 && padding.gap == 1 && plain) return "sixteens";
  const auto all = join({padding.log_row, padding.gap, padding.log_row2, padding.gap2});
  return std::string("Padding{") + all + "}";
}

std::string split_text(const Split& split) {
  std::string out("{");
  out += join({split.log_n, split.log_e, split.passes}) + ", {";
  for (int p = 0; p < split.passes; ++p) {
    if (p > 0) out += ", ";
    out += std::to_string(split.levels[p]);
  }
  out += "}";
  if (split.cyclic != 0) out += std::string(", ") + std::to_string(split.cyclic);
  return out + "}";
}

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

}  // namespace

std::string shape_line(const TransformShape& shape) {
  const KernelShape& first = shape.kernel[0];
  const KernelShape& rest = shape.kernel[1];
  std::string out(shape.kernels == 2 ? "two_kernels(" : "one_kernel(");
  out += split_text(first.split) + ", ";
  if (shape.kernels == 2)
    out += join({first.log_threads, first.resident, rest.resident});
  else
    out += join({first.units, first.log_cluster, first.resident});
  out += ", ";
  out += padding_text(shape.kernel[shape.kernels - 1].padding);
  if (first.unit_gap != 0) out += std::string(", ") + std::to_string(first.unit_gap);
  return out + ");";
}

Tuner::Tuner(int device)
    : stream_(backend::cuda::describe_gpu(device)),
      current_(device),
      input_(stream_.allocate_bytes(batch_bytes)),
      output_(stream_.allocate_bytes(batch_bytes)),
      between_(stream_.allocate_bytes(batch_bytes)),
      forward_reference_(stream_.allocate_bytes(batch_bytes)),
      inverse_reference_(stream_.allocate_bytes(batch_bytes)) {
  check(cudaEventCreate(&start_), "cudaEventCreate");
  check(cudaEventCreate(&stop_), "cudaEventCreate");
  fill_integers();
  copy_ms_ = median_ms([&] {
    check(
        cudaMemcpyAsync(output(), input(), batch_bytes, cudaMemcpyDeviceToDevice, stream_.handle()),
        "cudaMemcpyAsync of " + std::to_string(batch_bytes) + " bytes");
  });
  std::printf("%s, %s: a copy reads and writes %.2f TB/s\n", stream_.gpu().model.c_str(),
              backend::cuda::kernels_for(stream_.gpu()).c_str(),
              2e-9 * static_cast<double>(batch_bytes) / copy_ms_);
}

Tuner::~Tuner() {
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

void Tuner::fill_integers() {
  fill_integers_kernel<<<grid_blocks, block_threads, 0, stream_.handle()>>>(
      static_cast<std::uint32_t*>(input()), batch_bytes / sizeof(std::uint32_t));
  backend::cuda::check_launch("fill_integers_kernel", grid_blocks, block_threads, 0);
}
void Tuner::fill_reals() {
  fill_reals_kernel<<<grid_blocks, block_threads, 0, stream_.handle()>>>(
      static_cast<double*>(input()), batch_bytes / sizeof(double));
  backend::cuda::check_launch("fill_reals_kernel", grid_blocks, block_threads, 0);
}

float Tuner::median_ms(const std::function<void()>& work) const {
  std::vector<float> times;
  for (int run = 0; run < warm_ups + timed_runs; ++run) {
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

bool Tuner::check_output(const Run& run, void* reference, bool& known) const {
  const auto copy = [&](void* to, const void* from) {
    check(cudaMemcpyAsync(to, from, batch_bytes, cudaMemcpyDeviceToDevice, stream_.handle()),
          "cudaMemcpyAsync of " + std::to_string(batch_bytes) + " bytes");
  };
  copy(output(), input());
  run.transform();
  if (!known) {
    copy(reference, output());
    known = true;
    return true;
  }
  return run.tolerance == 0 ? equal<std::uint64_t>(stream_, output(), reference, 0)
                            : equal<double>(stream_, output(), reference, run.tolerance);
}

void Tuner::begin_size(const std::string& family, int log_n, std::vector<std::string> in_use) {
  family_ = family;
  log_n_ = log_n;
  in_use_ = std::move(in_use);
  forward_known_ = inverse_known_ = false;
  results_.clear();
  left_out_ = 0;
}

bool Tuner::can_run(const TransformShape& shape, std::size_t value_bytes) {
  bool can = true;
  for (int i = 0; i < shape.kernels; ++i) {
    const KernelShape& kernel = shape.kernel[i];
    can = can && (kernel.log_cluster == 0 || stream_.gpu().major >= 9) &&
          kernel.shared_elements() * value_bytes <= stream_.gpu().shared_per_block;
  }
  left_out_ += !can;
  return can;
}

void Tuner::measure(const TransformShape& shape, const Run& forward, const Run& inverse) {
  Result result;
  result.line = shape_line(shape);
  result.clusters = shape.kernel[0].log_cluster > 0;
  result.forward_kernels = forward.kernels;
  result.inverse_kernels = inverse.kernels;
  result.forward_right = check_output(forward, forward_reference_.get(), forward_known_);
  result.forward_ms = median_ms(forward.transform);
  result.inverse_right = check_output(inverse, inverse_reference_.get(), inverse_known_);
  result.inverse_ms = median_ms(inverse.transform);
  wrong_ += !result.right();
  results_.push_back(std::move(result));
}

void Tuner::print(const Result& result) const {
  const bool used = std::find(in_use_.begin(), in_use_.end(), result.line) != in_use_.end();
  std::printf("%c %-62s", used ? '*' : ' ', result.line.c_str());
  const auto direction = [&](float ms, const std::vector<KernelFacts>& kernels, bool right) {
    std::printf("  %6.3f ms %3.0f %% %-15s%s", ms, 100 * copy_ms_ / ms, facts_text(kernels).c_str(),
                right ? "" : " WRONG");
  };
  direction(result.forward_ms, result.forward_kernels, result.forward_right);
  direction(result.inverse_ms, result.inverse_kernels, result.inverse_right);
  std::printf("\n");
}

void Tuner::end_size() {
  std::sort(results_.begin(), results_.end(),
            [](const Result& a, const Result& b) { return a.ms() < b.ms(); });
  std::printf(
      "\n%s, 2^%d points: forward and inverse, each: time, share of the bandwidth floor, "
      "registers/warps\n",
      family_.c_str(), log_n_);
  for (const Result& result : results_) print(result);
  if (left_out_ > 0)
    std::printf("  %d left out: the GPU lacks clusters or shared memory\n", left_out_);
  std::fflush(stdout);
  // Architectures without clusters need a line of their own.
  const Result* fastest = nullptr;
  const Result* fastest_without = nullptr;
  for (const Result& result : results_) {
    if (!result.right()) continue;
    if (fastest == nullptr) fastest = &result;
    if (fastest_without == nullptr && !result.clusters) fastest_without = &result;
  }
  if (fastest != fastest_without) add_winner(*fastest);
  if (fastest_without != nullptr) add_winner(*fastest_without);
}

void Tuner::add_winner(const Result& result) {
  winners_ += std::string("// ") + family_ + (result.clusters ? ", clusters" : "") +
              "\n      case " + std::to_string(log_n_) + ":\n        return " + result.line + "\n";
}

int Tuner::finish() const {
  std::printf("\nFor src/backend/cuda/tuning/transforms.h:\n%s", winners_.c_str());
  if (wrong_ > 0) std::printf("\n%d candidates gave a WRONG output\n", wrong_);
  return wrong_;
}

}  // namespace whorl::tune

int main(int argc, char** argv) {
  int device = 0;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--device" && i + 1 < argc)
      device = std::atoi(argv[++i]);
    else if (flag == "--only" && (value == "ntt32" || value == "ntt64" || value == "fft"))
      only = argv[++i];
    else {
      std::fprintf(stderr, "usage: %s [--device ORDINAL] [--only ntt32|ntt64|fft]\n", argv[0]);
      return 2;
    }
  }
  try {
    whorl::tune::Tuner tuner(device);
    if (only.empty() || only == "ntt32") whorl::tune::tune_ntt_32(tuner);
    if (only.empty() || only == "ntt64") whorl::tune::tune_ntt_64(tuner);
    if (only.empty() || only == "fft") whorl::tune::tune_fft(tuner);
    return tuner.finish() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tune_transforms: %s\n", error.what());
    return 1;
  }
}
