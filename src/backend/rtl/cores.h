// Which core runs which key.
#pragma once

#include <array>
#include <atomic>
#include <functional>
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
  virtual std::shared_ptr<SharedDriver> find(const RotationShape& rotation) const = 0;
  virtual std::shared_ptr<SharedDriver> find(const SwitchShape& switching) const = 0;
  virtual unsigned threads() const = 0;
  /// What a key holds: its image on the host and in the core's memory, and what the core unpacks.
  virtual std::uint64_t held(std::uint64_t image_bytes, std::uint64_t unpacked_words) const = 0;

  /// Notes that a run came to its end. Who holds the core calls it.
  void note(const std::shared_ptr<SharedDriver>& core, Mode kind) const;
  /// Returns the counters of runs whose key is still there.
  std::vector<RunCounters> counters() const override;
  std::size_t keys() const override { return keys_; }

 protected:
  mutable std::atomic<std::size_t> keys_ = 0;  ///< that find() gave a core

 private:
  mutable std::mutex mutex_;  ///< of `last_`
  mutable std::array<std::weak_ptr<SharedDriver>, std::size(modes)> last_;
};

/// A model for each key, of whatever shape it takes.
class ModelCores final : public Cores {
 public:
  ModelCores(const Shape& base, Workers workers) : base_(base), workers_(std::move(workers)) {}
  std::shared_ptr<SharedDriver> find(const RotationShape& rotation) const override;
  std::shared_ptr<SharedDriver> find(const SwitchShape& switching) const override;
  unsigned threads() const override { return workers_.threads; }
  std::uint64_t held(std::uint64_t image_bytes, std::uint64_t unpacked_words) const override {
    return 2 * image_bytes + 8 * unpacked_words;
  }

 private:
  std::shared_ptr<SharedDriver> make(const Shape& shape) const;
  template <class KeyShape>
  std::shared_ptr<SharedDriver> find_for(const KeyShape& key) const;
  Shape base_;
  Workers workers_;
};

/// One core, which runs the keys of its shape.
class OneCore final : public Cores {
 public:
  OneCore(std::shared_ptr<Core> core, unsigned threads)
      : shared_(std::make_shared<SharedDriver>(std::move(core))), threads_(threads) {}
  std::shared_ptr<SharedDriver> find(const RotationShape& rotation) const override;
  std::shared_ptr<SharedDriver> find(const SwitchShape& switching) const override;
  unsigned threads() const override { return threads_; }
  std::uint64_t held(std::uint64_t image_bytes, std::uint64_t) const override {
    return 2 * image_bytes;
  }

 private:
  template <class KeyShape>
  std::shared_ptr<SharedDriver> find_for(const KeyShape& key) const;
  std::shared_ptr<SharedDriver> shared_;
  unsigned threads_;
};

}  // namespace whorl::backend::rtl
