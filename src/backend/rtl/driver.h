// Drives a core as a host does: checks what it is, writes images and the descriptor, starts, waits,
// and reads results.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/rtl/core.h"
#include "backend/rtl/images.h"
#include "backend/rtl/registers.h"
#include "backend/rtl/shape.h"

namespace whorl::backend::rtl {

/// A key's images, one for each port that it goes to.
struct RotationImages {
  std::uint32_t n;
  std::vector<Bytes> ports;
};
struct SwitchImage {
  std::uint32_t n;
  Bytes port;
};

/// A batch of one kind of run. Rows are (a_1 … a_n, b), or of N + 1 words where only keys are
/// switched.
struct Job {
  Mode mode = Mode::bootstrap;
  std::uint32_t count = 0;
  std::span<const std::uint32_t> rows = {};
  bool exponents = false, centred = false;
  std::uint32_t offset = 0;
  std::uint64_t constant = 0;
  std::span<const std::uint32_t> index = {};  ///< of each ciphertext's test vector
  std::span<const std::uint64_t> luts = {};   ///< N residues modulo p each
};

/// One thread at a time may use it. A run that an exception left unfinished is aborted before the
/// next call writes anything.
class Driver {
 public:
  /// DeviceError if it is no core, or of another version.
  explicit Driver(std::shared_ptr<Core> core);

  const Shape& shape() const { return shape_; }
  Core& core() { return *core_; }

  /// Images that are in the memories already are not written again. The driver keeps them.
  void use(std::shared_ptr<const RotationImages> key);
  void use(std::shared_ptr<const SwitchImage> key);

  /// Results of modes 0 and 2: (count, n + 1) residues modulo 2^32. ShapeError for sizes that do
  /// not agree; DeviceError for an error of the core, with its code, or if it does not end.
  void run(const Job& job, std::span<std::uint32_t> out);
  /// Results of mode 1: (count, N + 1) residues modulo p.
  void run(const Job& job, std::span<std::uint64_t> out);
  /// Returns what the last run counted. A model counts its cycles when it is asked.
  Counters counters();
  /// Returns what the last run of this kind that came to its end counted; null if there is none.
  std::optional<Counters> counters(Mode kind);
  /// ParameterError: MemoryTiming::check().
  void set_timing(const MemoryTiming& timing);

 private:
  template <class Word>
  void run_words(const Job& job, std::span<Word> out);
  void write64(std::uint32_t address, std::uint64_t value);
  std::uint64_t read64(std::uint32_t address);
  Descriptor describe(const Job& job) const;
  /// Aborts what still runs, and waits until the core is idle. DeviceError if it stays busy.
  void settle();
  void put_inputs(const Job& job, const Descriptor& d);
  void start(const Descriptor& d);

  std::shared_ptr<Core> core_;
  Shape shape_;
  MemoryTiming timing_;
  std::uint64_t io_bytes_ = 0;
  std::shared_ptr<const RotationImages> rotation_;
  std::shared_ptr<const SwitchImage> switch_;
  std::optional<Mode> last_;                     ///< the run whose counters the registers have
  std::array<std::optional<Counters>, 3> kept_;  ///< those of other kinds
};

}  // namespace whorl::backend::rtl
