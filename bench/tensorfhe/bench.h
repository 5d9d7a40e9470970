// What the parts of bench_tensorfhe share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/records.h"

namespace whorl::bench {

/// The kinds of transforms: compared with the library's from 2^11 to 2^16, and timed for Table VIII
/// and Figures 14 and 15. False if any word differs; then nothing is timed.
bool bench_transforms(int gpu, const Records& records, const std::vector<std::uint64_t>& chain);
/// Each kind of forward transform once, of 2^16 points modulo all primes of the chain, batch 8.
void profile_transforms(int gpu, const std::vector<std::uint64_t>& chain);
/// The seven kernels of Table II at the batches of Figure 14 and the lengths of Figure 15.
void bench_kernels(const std::string& device, const Records& records,
                   const std::vector<std::uint64_t>& chain, std::uint64_t special);
/// Arrays in the order (L, B, N) and (B, L, N).
void bench_layouts(const std::string& device, const Records& records,
                   const std::vector<std::uint64_t>& chain, std::uint64_t special);

}  // namespace whorl::bench
