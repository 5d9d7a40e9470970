// Tunes the CUDA kernels: times candidates on this machine's GPU and prints what the files of
// src/backend/cuda/tuning should have. `make tune-gpu` builds and runs it.
//
// usage: tune_gpu [--device ORDINAL] [PART]...
//
// Parts are ntt32, ntt64 and fft (transforms.h), rotation and key_switch; without any, all. The
// numbers in use are measured with the candidates and marked with *. Times are the GPU's clock, the
// median of several calls on data that stays on the GPU. Exits with 1 if an output was wrong or
// there is no GPU.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>
#include <string>

#include "tuner.h"

int main(int argc, char** argv) {
  using whorl::tune::Tuner;
  struct Part {
    const char* name;
    void (*tune)(Tuner&);
  };
  constexpr Part parts[] = {{"ntt32", whorl::tune::tune_ntt_32},
                            {"ntt64", whorl::tune::tune_ntt_64},
                            {"fft", whorl::tune::tune_fft},
                            {"rotation", whorl::tune::tune_rotation},
                            {"key_switch", whorl::tune::tune_key_switch}};
  int device = 0;
  std::set<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    bool known = false;
    for (const Part& part : parts) known = known || argument == part.name;
    if (known) {
      wanted.insert(argument);
    } else if (argument == "--device" && i + 1 < argc) {
      device = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "usage: %s [--device ORDINAL] [ntt32|ntt64|fft|rotation|key_switch]...\n",
                   argv[0]);
      return 2;
    }
  }
  try {
    Tuner tuner(device);
    for (const Part& part : parts)
      if (wanted.empty() || wanted.count(part.name) > 0) part.tune(tuner);
    return tuner.finish() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tune_gpu: %s\n", error.what());
    return 1;
  }
}
