// Which core runs which key.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/contract/counting.h"
#include "backend/contract/lwe.h"
#include "backend/contract/rotation.h"
#include "backend/parallel.h"
#include "backend/rtl/driver.h"
#include "backend/rtl/library_core.h"

namespace whorl::backend::rtl {

/// Whether some core runs such a key, and the shape that it then has; other parameters are those of
/// `base`.
bool fit(const RotationShape& rotation, Shape& base);
bool fit(const SwitchShape& switching, Shape& base);

/// A core that several queues use in turn.
struct SharedDriver {
  explicit SharedDriver(std::shared_ptr<Core> core) : driver(std::move(core)) {}
  std::mutex mutex;
  Driver driver;
};

/// Keys get their cores here. Null for a key of a kind that no core runs. DeviceError, with the
/// parameters that differ, for a key that only a core of another shape runs.
class Cores : public Counting {
 public:
  explicit Cores(unsigned threads) : threads_(threads) {}
  template <class KeyShape>
  std::shared_ptr<SharedDriver> find(const KeyShape& key) const;
  unsigned threads() const { return threads_; }
  /// What a key holds: its image on the host and in the core's memory, and what the core unpacks.
  virtual std::uint64_t held(std::uint64_t image_bytes, std::uint64_t unpacked_words) const = 0;

  /// Notes that a run came to its end. Who holds the core calls it.
  void note(const std::shared_ptr<SharedDriver>& core, Mode kind) const;
  /// Returns the counters of runs whose key is still there.
  std::vector<RunCounters> counters() const override;
  std::size_t keys() const override { return keys_; }

 protected:
  /// The shape that gives whatever a key leaves open.
  virtual const Shape& base() const = 0;
  /// The core of a shape. DeviceError if there is none.
  virtual std::shared_ptr<SharedDriver> core_of(const Shape& shape) const = 0;

 private:
  unsigned threads_;
  mutable std::atomic<std::size_t> keys_ = 0;  ///< that find() gave a core
  mutable std::mutex mutex_;                   ///< of `last_`
  mutable std::array<std::weak_ptr<SharedDriver>, std::size(modes)> last_;
};

/// A model for each key, of whatever shape it takes.
class ModelCores final : public Cores {
 public:
  ModelCores(const Shape& base, const Workers& workers)
      : Cores(workers.threads), base_(base), workers_(workers) {}
  std::uint64_t held(std::uint64_t image_bytes, std::uint64_t unpacked_words) const override {
    return 2 * image_bytes + 8 * unpacked_words;
  }

 private:
  const Shape& base() const override { return base_; }
  std::shared_ptr<SharedDriver> core_of(const Shape& shape) const override;
  Shape base_;
  Workers workers_;
};

/// One core, which runs the keys of its shape.
class OneCore final : public Cores {
 public:
  OneCore(std::shared_ptr<Core> core, unsigned threads)
      : Cores(threads), shared_(std::make_shared<SharedDriver>(std::move(core))) {}
  std::uint64_t held(std::uint64_t image_bytes, std::uint64_t) const override {
    return 2 * image_bytes;
  }

 private:
  const Shape& base() const override { return shared_->driver.shape(); }
  std::shared_ptr<SharedDriver> core_of(const Shape& shape) const override;
  std::shared_ptr<SharedDriver> shared_;
};

}  // namespace whorl::backend::rtl
