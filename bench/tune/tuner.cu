#include "tuner.h"

#include <cstdio>

#include "common/differences.cuh"

namespace whorl::tune {

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

Tuner::Tuner(int device)
    : stream_(backend::cuda::describe_gpu(device)), current_(device), timer_(stream_) {
  std::printf("%s, %s\n", gpu().model.c_str(), backend::cuda::kernels_for(gpu()).c_str());
}

float Tuner::median_ms(const std::function<void()>& work, int runs) const {
  return static_cast<float>(1e3 * timer_.measure(2, runs, work).median());
}

std::uint64_t Tuner::count(const std::function<void(unsigned long long*)>& work) const {
  return bench::count_on_gpu(stream_, work);
}
bool Tuner::equal(const std::uint64_t* a, const std::uint64_t* b, std::size_t size) const {
  return bench::count_differences(stream_, a, b, size) == 0;
}
bool Tuner::equal(const double* a, const double* b, std::size_t size, double tolerance) const {
  return bench::count_differences(stream_, a, b, size, tolerance) == 0;
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
