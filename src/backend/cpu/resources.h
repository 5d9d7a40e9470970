// Where a call gets its threads and its memory for intermediate results.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

#include "backend/block_cache.h"
#include "backend/parallel.h"

namespace whorl::backend::cpu {

struct Resources {
  const Workers& workers;
  BlockCache& memory;
  /// How many threads work on so many values. Starting a thread takes as long as a transform of
  /// 2^15 values; calling a thread of the crew takes a microsecond.
  Workers workers_for(std::size_t values) const {
    const auto threads = [&](unsigned log_values) {
      return static_cast<unsigned>(
          std::clamp<std::size_t>(values >> log_values, 1, std::max(1u, workers.threads)));
    };
    return {threads(workers.crew ? 13 : 16), workers.interrupt, workers.crew, threads(16)};
  }
};

/// The resources that all queues of a CPU device share.
struct Host {
  Workers workers;
  std::shared_ptr<BlockCache> memory;

  Resources on() const { return {workers, *memory}; }
  /// How many of `values` values a piece of an element-wise call should have: some tens of
  /// microseconds of work, and some pieces for each thread.
  std::size_t piece(std::size_t values) const {
    constexpr std::size_t most = 1 << 16;
    return std::clamp(std::bit_ceil(values / (4 * std::max(1u, workers.threads)) + 1), least_piece,
                      most);
  }
  static constexpr std::size_t least_piece = 1 << 12;
  /// Calls body(i) for i < count. Each call handles `values` values; calls are grouped into pieces
  /// of a good size.
  template <class Body>
  void each(std::size_t count, std::size_t values, const Body& body) const {
    const std::size_t group =
        std::max<std::size_t>(1, piece(count * values) / std::max<std::size_t>(1, values));
    parallel_for((count + group - 1) / group, on().workers_for(count * values), [&](std::size_t g) {
      for (std::size_t i = g * group; i < std::min(count, (g + 1) * group); ++i) body(i);
    });
  }
};

}  // namespace whorl::backend::cpu
