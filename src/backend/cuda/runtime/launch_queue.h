// Kernels that a stream launches together.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace whorl::backend::cuda {

/// How a kernel is launched. `overlaps`: it begins with join_chain (kernels/chain.cuh), and is
/// brought in while the work before it ends. `cluster`: blocks of a cluster. `urgent`: its blocks
/// go before those of other streams' kernels that still wait.
struct LaunchShape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  unsigned cluster = 1;
  bool overlaps = false;
  bool urgent = false;
};

/// Launches of kernels and of graphs by all queues of this process so far, and rotations over
/// several blocks that do not wait in a queue, which count_launch() counts.
std::uint64_t launches_so_far();
void count_launch();

/// Keeps launches in their order until submit(). One launch takes the host as long as a kernel of a
/// small ring takes the GPU, and a graph of six kernels takes little longer than one launch
/// (docs/performance/launches.md). So a sequence of kernels that comes a second time becomes a
/// graph. When it comes again, only the sizes and arguments that differ from the last time are set.
/// One thread at a time may use a queue; the stream's GPU must be current when submit() is called.
class LaunchQueue {
 public:
  static constexpr std::size_t most = 32;  ///< launches; add() needs room for one
  static constexpr std::size_t most_graphs = 64;

  explicit LaunchQueue(cudaStream_t stream) : stream_(stream) {}
  ~LaunchQueue();
  LaunchQueue(const LaunchQueue&) = delete;
  LaunchQueue& operator=(const LaunchQueue&) = delete;

  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == most; }

  /// Copies the arguments. `name` must live on.
  template <class... Parameters>
  void add(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
           const Parameters&... arguments) {
    if (!launches_) launches_ = std::make_unique<std::array<Launch, most>>();
    Launch& launch = (*launches_)[count_];
    launch.name = name;
    launch.kernel = reinterpret_cast<const void*>(kernel);
    launch.shape = shape;
    std::size_t used = 0, number = 0;
    static_assert(sizeof...(Parameters) <= most_arguments);
    static_assert((std::size_t{0} + ... + room(sizeof(Parameters))) <= most_bytes);
    (
        [&] {
          launch.arguments[number++] =
              std::memcpy(launch.memory + used, &arguments, sizeof(Parameters));
          std::fill(launch.memory + used + sizeof(Parameters),
                    launch.memory + used + room(sizeof(Parameters)), std::uint8_t{0});
          used += room(sizeof(Parameters));
        }(),
        ...);
    launch.bytes = used;
    ++count_;
  }

  /// Launches all. On an error the rest is dropped.
  void submit();

 private:
  static constexpr std::size_t most_arguments = 8, most_bytes = 4096;  ///< CUDA's limit
  static constexpr std::size_t room(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
  struct Launch {
    const char* name;
    const void* kernel;
    LaunchShape shape;
    std::size_t bytes;  ///< of the memory that arguments take
    void* arguments[most_arguments];
    alignas(16) unsigned char memory[most_bytes];
  };
  /// A node of a graph is kept as it is set.
  struct Node {
    cudaGraphNode_t handle = nullptr;
    LaunchShape shape;
    std::vector<unsigned char> arguments;
    bool is(const Launch& launch) const;
    void set(const Launch& launch);
  };
  /// A sequence that has been seen, and its graph once it has been seen twice.
  struct Sequence {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    std::vector<Node> nodes;
    bool impossible = false;
    std::uint64_t used = 0;  ///< a clock
    Sequence() = default;
    ~Sequence();
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;
  };
  using Key = std::vector<std::uint64_t>;

  void launch(const Launch& launch) const;
  bool set_nodes(Sequence& sequence) const;
  void launch_each() const;
  bool launch_graph(Sequence& sequence) const;
  bool make_graph(Sequence& sequence) const;
  void drop_oldest();

  cudaStream_t stream_;
  std::unique_ptr<std::array<Launch, most>> launches_;
  std::size_t count_ = 0;
  std::map<Key, Sequence> sequences_;
  std::uint64_t clock_ = 0;
};

}  // namespace whorl::backend::cuda
