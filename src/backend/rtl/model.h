// A model of the core: reads the same registers and memory images, gives the same bits, and counts
// the same cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/parallel.h"
#include "backend/rtl/core.h"
#include "backend/rtl/engine.h"
#include "backend/rtl/images.h"
#include "backend/rtl/registers.h"
#include "backend/rtl/shape.h"
#include "backend/rtl/timing.h"

namespace whorl::backend::rtl {

/// One thread at a time may use it; a run uses `workers`. The write that starts a run computes it:
/// it takes as long as the run does, and throws what that throws. Cycles are counted when a counter
/// is read, or by advance(); the core is busy until the last of them, though the results lie in
/// memory from the start. After a run that an error ended the counters are 0; a core keeps what it
/// had counted until then.
class Model final : public Core {
 public:
  /// ParameterError for a shape that no core has.
  explicit Model(const Shape& shape, Workers workers = {});

  std::uint32_t read(std::uint32_t address) override;
  void write(std::uint32_t address, std::uint32_t value) override;
  void resize(Port port, std::uint64_t bytes) override;
  void store(Port port, std::uint64_t address, std::span<const std::uint8_t> bytes) override;
  void load(Port port, std::uint64_t address, std::span<std::uint8_t> bytes) override;
  void set_timing(const MemoryTiming& timing) override { memory_timing_ = timing; }
  void advance(std::uint64_t cycles) override;
  void finish(std::uint64_t most) override;

 private:
  Bytes& memory(Port port, std::uint64_t address, std::uint64_t bytes);
  Descriptor descriptor() const;
  Memories memories();
  void start();
  void compute();
  void end(Code code);
  const Counters& counters();

  Shape shape_;
  Workers workers_;
  MemoryTiming memory_timing_;
  std::vector<Bytes> memory_;
  std::uint32_t words_[(reg::descriptor_end - reg::mode) / 4] = {};
  bool busy_ = false, done_ = false, irq_enable_ = false;
  Code error_ = Code::ok;
  Descriptor run_;                    ///< the descriptor of the run
  std::vector<std::uint32_t> index_;  ///< its test vectors
  Code result_ = Code::ok;            ///< of a run that has been computed
  std::optional<Timing> timing_;      ///< of the run, until its cycles are counted
  Counters counters_;
  std::unique_ptr<Engine> engine_;
  std::optional<Descriptor> key_read_;  ///< whose key the engine has
};

}  // namespace whorl::backend::rtl
