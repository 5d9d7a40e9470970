#include "backend/cuda/runtime/launch_queue.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/launch_watch.h"

namespace whorl::backend::cuda {

namespace {

std::atomic<LaunchWatch*> watch_of_all{nullptr};
std::atomic<std::uint64_t> launches_of_all{0};

}  // namespace

void set_launch_watch(LaunchWatch* watch) { watch_of_all = watch; }

void count_launch() { launches_of_all.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t launches_so_far() { return launches_of_all.load(std::memory_order_relaxed); }

LaunchQueue::~LaunchQueue() = default;

LaunchQueue::Sequence::~Sequence() {
  // One that is under way is freed when it has ended.
  if (executable) cudaGraphExecDestroy(executable);
  if (graph) cudaGraphDestroy(graph);
}

void LaunchQueue::submit() {
  if (count_ == 0) return;
  struct Emptied {
    std::size_t& count;
    ~Emptied() { count = 0; }
  } const emptied{count_};
  if (count_ == 1 || watch_of_all.load(std::memory_order_relaxed)) return launch_each();
  Key key;
  key.reserve(2 * count_);
  for (std::size_t i = 0; i < count_; ++i) {
    const Launch& l = (*launches_)[i];
    key.push_back(reinterpret_cast<std::uintptr_t>(l.kernel));
    key.push_back(l.shape.cluster * 4 + (l.shape.overlaps ? 2 : 0) + (l.shape.urgent ? 1 : 0));
  }
  const auto [found, is_new] = sequences_.try_emplace(std::move(key));
  Sequence& sequence = found->second;
  sequence.used = ++clock_;
  if (is_new) {
    if (sequences_.size() > most_graphs) drop_oldest();
    return launch_each();
  }
  if (!launch_graph(sequence)) launch_each();
}

void LaunchQueue::drop_oldest() {
  sequences_.erase(
      std::min_element(sequences_.begin(), sequences_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

void LaunchQueue::launch(const Launch& l) const {
  cudaLaunchAttribute attributes[3] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = l.shape.grid;
  config.blockDim = l.shape.block;
  config.dynamicSmemBytes = l.shape.shared_bytes;
  config.stream = stream_;
  config.attrs = attributes;
  LaunchWatch* const watch = watch_of_all.load(std::memory_order_relaxed);
  if (l.shape.overlaps && !watch) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (l.shape.urgent) {
    attributes[config.numAttrs].id = cudaLaunchAttributePriority;
    attributes[config.numAttrs++].val.priority = -1;  // streams have 0
  }
  if (l.shape.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {l.shape.cluster, 1, 1};
  }
  if (watch) watch->before(l.name, l.kernel, l.shape, stream_);
  // The error, if any, is reported by check_launch, which names the sizes.
  (void)cudaLaunchKernelExC(&config, l.kernel, const_cast<void**>(l.arguments));
  check_launch(l.name, l.shape.grid, l.shape.block, l.shape.shared_bytes);
  if (watch) watch->after(stream_);
}

void LaunchQueue::launch_each() const {
  for (std::size_t i = 0; i < count_; ++i) {
    launch((*launches_)[i]);
    count_launch();
  }
}

/// False, and nothing is launched, if there can be no graph; what is wrong then shows when the
/// kernels are launched one by one.
bool LaunchQueue::launch_graph(Sequence& sequence) const {
  if (sequence.impossible) return false;
  const bool ready = sequence.executable ? set_nodes(sequence) : make_graph(sequence);
  if (ready && cudaGraphLaunch(sequence.executable, stream_) == cudaSuccess) {
    count_launch();
    return true;
  }
  cudaGetLastError();  // not to be reported by another call
  sequence.impossible = true;
  sequence.nodes.clear();
  return false;
}

bool LaunchQueue::Node::is(const Launch& launch) const {
  const auto same = [](dim3 a, dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; };
  return same(shape.grid, launch.shape.grid) && same(shape.block, launch.shape.block) &&
         shape.shared_bytes == launch.shape.shared_bytes &&
         std::equal(arguments.begin(), arguments.end(), launch.memory,
                    launch.memory + launch.bytes);
}
void LaunchQueue::Node::set(const Launch& launch) {
  shape = launch.shape;
  arguments.assign(launch.memory, launch.memory + launch.bytes);
}

/// Those that differ from what is to be launched.
bool LaunchQueue::set_nodes(Sequence& sequence) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const Launch& l = (*launches_)[i];
    Node& node = sequence.nodes[i];
    if (node.is(l)) continue;
    cudaKernelNodeParams parameters = {};
    parameters.func = const_cast<void*>(l.kernel);
    parameters.gridDim = l.shape.grid;
    parameters.blockDim = l.shape.block;
    parameters.sharedMemBytes = static_cast<unsigned>(l.shape.shared_bytes);
    parameters.kernelParams = const_cast<void**>(l.arguments);
    node.set(l);
    if (cudaGraphExecKernelNodeSetParams(sequence.executable, node.handle, &parameters) !=
        cudaSuccess)
      return false;
  }
  return true;
}

/// Makes the graph with the present sizes and arguments, by capture, which turns overlaps into
/// edges of the graph.
bool LaunchQueue::make_graph(Sequence& sequence) const {
  if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
    return false;
  bool complete = true;
  try {
    for (std::size_t i = 0; i < count_ && complete; ++i) {
      launch((*launches_)[i]);
      // What the next launch would wait for is this one.
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      const cudaGraphNode_t* last = nullptr;
      const cudaGraphEdgeData* edges = nullptr;
      std::size_t count = 0;
#if CUDART_VERSION >= 13000
      const auto code =
          cudaStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &last, &edges, &count);
#else
      const auto code =
          cudaStreamGetCaptureInfo_v3(stream_, &status, nullptr, nullptr, &last, &edges, &count);
#endif
      complete = code == cudaSuccess && count == 1;
      if (!complete) continue;
      sequence.nodes.emplace_back().handle = last[0];
      sequence.nodes.back().set((*launches_)[i]);
    }
  } catch (const std::exception&) {
    complete = false;
  }
  const auto ended = cudaStreamEndCapture(stream_, &sequence.graph);
  return complete && ended == cudaSuccess &&
         cudaGraphInstantiate(&sequence.executable, sequence.graph, 0) == cudaSuccess;
}

}  // namespace whorl::backend::cuda
