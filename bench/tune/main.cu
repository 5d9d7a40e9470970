// Tunes the CUDA kernels: times candidates on this machine's GPU and prints what the files of
// src/backend/cuda/tuning should have. `make tune-gpu` builds and runs it.
//
// usage: tune_gpu [--device ORDINAL] [PART]...
//
// Parts are ntt32, ntt64, nttfew and fft (transforms.h), rotation and key_switch; without any, all.
// The numbers in use are measured with the candidates and marked with *. Times are the GPU's clock,
// the median of several calls on data that stays on the GPU. Exits with 1 if an output was wrong or
// there is no GPU.
#include <algorithm>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "tuner.h"

namespace whorl::tune {
namespace {

struct Part {
  const char* name;
  Tuning* tune;
};
constexpr Part parts[] = {{"ntt32", tune_ntt_32},      {"ntt64", tune_ntt_64},
                          {"nttfew", tune_ntt_few},    {"fft", tune_fft},
                          {"rotation", tune_rotation}, {"key_switch", tune_key_switch}};

int run(bench::CommandLine& line) {
  int device = 0;
  std::vector<std::string> wanted, names;
  for (const Part& part : parts) names.emplace_back(part.name);
  line.gpu(device).words("PART", wanted, names).parse();
  Tuner tuner(device);
  for (const Part& part : parts)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), part.name) != wanted.end())
      part.tune(tuner);
  return tuner.finish() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace whorl::tune

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "tune_gpu", whorl::tune::run);
}
