// A core as its host sees it: registers, memories behind its ports, and time.
#pragma once

#include <cstdint>
#include <span>

namespace whorl::backend::rtl {

/// A port of the core: 0 … 7 are those of the bootstrapping key.
using Port = std::uint32_t;
inline constexpr Port bk_port = 0, ksk_port = 8, io_port = 9, port_count = 10;

/// How the memory behind the ports answers: see memory_timing.h.
struct MemoryTiming {
  std::uint32_t latency = 40;  ///< cycles from a burst's address to its first beat, or its answer
  std::uint32_t bytes_a_cycle = 0;  ///< of all ports together; 0: as many as the ports take
  std::uint32_t stall = 0;          ///< of 256 beats, how many come late: 0 … 256
  std::uint32_t stall_cycles = 1;   ///< how much later
  std::uint64_t seed = 1;           ///< of which beats these are
  bool operator==(const MemoryTiming&) const = default;
  /// ParameterError for a `stall` above 256.
  void check() const;
};

class Core {
 public:
  virtual ~Core() = default;
  virtual std::uint32_t read(std::uint32_t address) = 0;
  virtual void write(std::uint32_t address, std::uint32_t value) = 0;

  /// The memory behind a port gets so many bytes; what was there stays as far as it fits.
  virtual void resize(Port port, std::uint64_t bytes) = 0;
  /// Both copy between the host and that memory. ShapeError past its end.
  virtual void store(Port port, std::uint64_t address, std::span<const std::uint8_t> bytes) = 0;
  virtual void load(Port port, std::uint64_t address, std::span<std::uint8_t> bytes) = 0;
  /// Sets the memory's timing from the next start on.
  virtual void set_timing(const MemoryTiming& timing) = 0;

  /// Lets up to so many cycles pass, fewer if the core is idle before.
  virtual void advance(std::uint64_t cycles) = 0;
  /// Lets a run come to its end, for at most so many cycles. A model need not count cycles for it
  /// before a counter is read.
  virtual void finish(std::uint64_t most) { advance(most); }
};

}  // namespace whorl::backend::rtl
