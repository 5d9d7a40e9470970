#include "transforms.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

namespace whorl::tune {

using backend::cuda::check;
namespace {

constexpr unsigned grid_blocks = 1024, block_threads = 256;

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

TransformTuner::TransformTuner(Tuner& tuner)
    : tuner_(tuner),
      input_(stream().allocate_bytes(batch_bytes)),
      output_(stream().allocate_bytes(batch_bytes)),
      between_(stream().allocate_bytes(batch_bytes)),
      forward_reference_(stream().allocate_bytes(batch_bytes)),
      inverse_reference_(stream().allocate_bytes(batch_bytes)) {
  fill_integers();
  copy_ms_ = tuner_.median_ms([&] { copy(output(), input()); });
  std::printf("\nA copy reads and writes %.2f TB/s\n",
              2e-9 * static_cast<double>(batch_bytes) / copy_ms_);
}

void TransformTuner::copy(void* to, const void* from) const {
  check(cudaMemcpyAsync(to, from, batch_bytes, cudaMemcpyDeviceToDevice, stream().handle()),
        "cudaMemcpyAsync of " + std::to_string(batch_bytes) + " bytes");
}

void TransformTuner::fill_integers() {
  fill_integers_kernel<<<grid_blocks, block_threads, 0, stream().handle()>>>(
      static_cast<std::uint32_t*>(input()), batch_bytes / sizeof(std::uint32_t));
  backend::cuda::check_launch("fill_integers_kernel", grid_blocks, block_threads, 0);
}
void TransformTuner::fill_reals() {
  fill_reals_kernel<<<grid_blocks, block_threads, 0, stream().handle()>>>(
      static_cast<double*>(input()), batch_bytes / sizeof(double));
  backend::cuda::check_launch("fill_reals_kernel", grid_blocks, block_threads, 0);
}

bool TransformTuner::check_output(const Run& run, void* reference, bool& known) const {
  copy(output(), input());
  run.transform();
  if (!known) {
    copy(reference, output());
    known = true;
    return true;
  }
  const std::size_t size = batch_bytes / 8;
  return run.tolerance == 0
             ? tuner_.equal(static_cast<const std::uint64_t*>(output()),
                            static_cast<const std::uint64_t*>(reference), size)
             : tuner_.equal(static_cast<const double*>(output()),
                            static_cast<const double*>(reference), size, run.tolerance);
}

void TransformTuner::begin_size(const std::string& family, int log_n,
                                std::vector<std::string> in_use) {
  family_ = family;
  log_n_ = log_n;
  in_use_ = std::move(in_use);
  forward_known_ = inverse_known_ = false;
  results_.clear();
  left_out_ = 0;
}

bool TransformTuner::can_run(const TransformShape& shape, std::size_t value_bytes) {
  bool can = true;
  for (int i = 0; i < shape.kernels; ++i) {
    const KernelShape& kernel = shape.kernel[i];
    can = can && (kernel.log_cluster == 0 || stream().gpu().major >= 9) &&
          kernel.shared_elements() * value_bytes <= stream().gpu().shared_per_block;
  }
  left_out_ += !can;
  return can;
}

std::string TransformTuner::measure(const Run& run, void* reference, bool& known,
                                    Result& result) const {
  const bool right = check_output(run, reference, known);
  const float ms = tuner_.median_ms(run.transform);
  result.ms += ms;
  result.right = result.right && right;
  char text[96];
  std::snprintf(text, sizeof(text), "%s %3.0f %% %-15s%s  ", ms_text(ms).c_str(),
                100 * copy_ms_ / ms, facts_text(run.kernels).c_str(), right ? "" : " WRONG");
  return text;
}

void TransformTuner::measure(const TransformShape& shape, const Run& forward, const Run& inverse) {
  Result result;
  result.line = shape_line(shape);
  result.used = std::find(in_use_.begin(), in_use_.end(), result.line) != in_use_.end();
  result.clusters = shape.kernel[0].log_cluster > 0;
  result.text = measure(forward, forward_reference_.get(), forward_known_, result);
  result.text += measure(inverse, inverse_reference_.get(), inverse_known_, result);
  results_.push_back(std::move(result));
}

void TransformTuner::end_size() {
  tuner_.rank(family_ + ", 2^" + std::to_string(log_n_) +
                  " points: forward and inverse, each: time, share of the bandwidth floor, "
                  "registers/warps",
              results_, left_out_);
  // Architectures without clusters need a line of their own.
  const Result* fastest = nullptr;
  const Result* fastest_without = nullptr;
  for (const Result& result : results_) {
    if (!result.right) continue;
    if (fastest == nullptr) fastest = &result;
    if (fastest_without == nullptr && !result.clusters) fastest_without = &result;
  }
  if (fastest != fastest_without) add_winner(*fastest);
  if (fastest_without != nullptr) add_winner(*fastest_without);
}

void TransformTuner::add_winner(const Result& result) {
  tuner_.add_winner("transforms.h", std::string("// ") + family_ +
                                        (result.clusters ? ", clusters" : "") + "\n      case " +
                                        std::to_string(log_n_) + ":\n        return " +
                                        result.line + "\n");
}

}  // namespace whorl::tune
