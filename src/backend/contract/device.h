// Devices, their queues, and how they are named. The operations come in families, one file each
// (ring.h, rns.h, rotation.h, lwe.h), that hang on a queue. Everything slow in Whorl is an entry of
// one of these: each takes a whole batch and is documented by its formula. Integer entries give the
// same bits on every backend and for every batch size; FFT entries state an error bound
// (docs/fft-error.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "backend/contract/blind_rotation.h"
#include "backend/contract/slice.h"
#include "whorl/devices.h"
#include "whorl/error.h"

namespace whorl::backend {

template <class Word>
class RingOps;
template <class Word>
class RnsOps;
template <class Word>
class RotationOps;
class FftOps;
class LweOps;

struct DeviceOptions {
  /// Host threads; 0: all cores. For a GPU they prepare keys, and up to four of them copy.
  unsigned threads = 0;
  std::function<bool()> interrupt;  ///< polled from the calling thread; true: InterruptedError
  BlindRotation rotation = BlindRotation::automatic;
};

/// Hardware that does the operations, or a stand-in for it. Keys prepared through one of its queues
/// serve all of them.
class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  /// The hardware, e.g. "cpu (AVX3, 2 threads)".
  virtual std::string name() const = 0;
  /// The memory that holds the buffers of its queues, e.g. "cuda:0". Devices with the same answer
  /// share that memory.
  virtual std::string memory() const { return name(); }
  virtual unsigned threads() const = 0;
  /// How many queues to keep busy; 2 if copies run beside kernels.
  virtual unsigned queues() const = 0;
  /// Makes another queue, whose work runs beside that of the others.
  virtual std::unique_ptr<Queue> open() const = 0;
};

/// Tables or keys that a device has prepared for its own use. Only its queues accept them.
class Prepared {
 public:
  virtual ~Prepared() = default;
  const Device* owner() const { return owner_.get(); }

 private:
  friend class Family;
  std::shared_ptr<const Device> owner_;
};

/// A sequence of operations on one device, done in their order. One thread at a time may use it.
/// Operations are enqueued and return at once. A download waits; other methods that wait say so.
class Queue {
 public:
  explicit Queue(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const Device& device() const { return *device_; }
  const std::shared_ptr<const Device>& shared_device() const { return device_; }
  std::string name() const { return device_->name(); }
  /// How many ciphertexts should go through the stages of an operation together, if each needs
  /// `bytes` of the device's memory meanwhile, and `reserved` bytes of it will be taken by what is
  /// not there yet.
  virtual std::size_t batch_limit(std::size_t bytes, std::size_t reserved) const = 0;

  /// A family of operations; DeviceError if the device has none of it.
  template <class Word>
  const RingOps<Word>& ring() const {
    return family<RingOps<Word>>("ring operations", sizeof(Word));
  }
  template <class Word>
  const RnsOps<Word>& rns() const {
    return family<RnsOps<Word>>("RNS operations", sizeof(Word));
  }
  template <class Word>
  const RotationOps<Word>& rotation() const {
    return family<RotationOps<Word>>("blind rotation", sizeof(Word));
  }
  const FftOps& fft() const { return family<FftOps>("Fourier transforms", sizeof(double)); }
  const LweOps& lwe() const { return family<LweOps>("LWE operations", 0); }
  template <class Family>
  bool offers() const {
    return std::get<std::shared_ptr<const Family>>(families_) != nullptr;
  }

  template <class T>
  Buffer<T> allocate(std::size_t count) const {
    return {allocate_bytes(count * sizeof(T)), count, this};
  }
  template <class T>
  void upload(std::span<const T> from, Slice<T> to) const {
    check(to);
    check_size("upload", from.size(), to.size);
    copy_in(from.data(), to.data, from.size_bytes());
  }
  template <class T>
  void download(Slice<const T> from, std::span<T> to) const {
    check(from);
    check_size("download", from.size, to.size());
    copy_out(from.data, to.data(), to.size_bytes());
  }
  /// out = in; they must not overlap.
  template <class T>
  void copy(std::type_identity_t<Slice<const T>> in, Slice<T> out) const {
    check(in);
    check(out);
    check_size("copy", in.size, out.size);
    check_apart("copy: input", in, out);
    if (in.size) copy_within(in.data, out.data, in.size * sizeof(T));
  }
  /// Every word of `out` becomes `value`.
  template <class Word>
  void fill(std::type_identity_t<Word> value, Slice<Word> out) const {
    static_assert(sizeof(Word) == 4 || sizeof(Word) == 8);
    check(out);
    if (out.size) fill_words(value, sizeof(Word), out.size, out.data);
  }

  /// Waits until all work so far is done, and throws the error of any part of it that failed.
  virtual void wait() const = 0;
  /// Operations between these two calls belong together; the calls may be nested. A device may
  /// delay the operations until the outermost end, and throw their errors there. See together().
  virtual void begin_together() const {}
  virtual void end_together() const {}

  /// DeviceError unless the slice is of this queue, or empty.
  template <class T>
  void check(const Slice<T>& slice) const {
    if (slice.queue != this && slice.size != 0) refuse_slice();
  }

 protected:
  /// Makes a family available; it replaces one of the same type.
  template <class Family>
  void offer(std::shared_ptr<const Family> family) {
    std::get<std::shared_ptr<const Family>>(families_) = std::move(family);
  }

  virtual std::shared_ptr<void> allocate_bytes(std::size_t bytes) const = 0;
  virtual void copy_in(const void* host, void* device, std::size_t bytes) const = 0;
  virtual void copy_out(const void* device, void* host, std::size_t bytes) const = 0;
  virtual void copy_within(const void* from, void* to, std::size_t bytes) const = 0;
  /// `count` words of 4 or 8 bytes.
  virtual void fill_words(std::uint64_t value, unsigned word_bytes, std::size_t count,
                          void* out) const = 0;

 private:
  friend class Relay;  // calls those above of the queue behind it
  using Families = std::tuple<
      std::shared_ptr<const RingOps<std::uint32_t>>, std::shared_ptr<const RingOps<std::uint64_t>>,
      std::shared_ptr<const RnsOps<std::uint32_t>>, std::shared_ptr<const RnsOps<std::uint64_t>>,
      std::shared_ptr<const RotationOps<std::uint32_t>>,
      std::shared_ptr<const RotationOps<std::uint64_t>>, std::shared_ptr<const FftOps>,
      std::shared_ptr<const LweOps>>;

  template <class Family>
  const Family& family(const char* what, std::size_t word_bytes) const {
    const auto& found = std::get<std::shared_ptr<const Family>>(families_);
    if (!found) refuse_family(what, word_bytes);
    return *found;
  }
  static void check_size(const char* what, std::size_t got, std::size_t want) {
    if (got != want)
      throw ShapeError(std::string(what) + " has " + std::to_string(got) +
                       " elements; it must have " + std::to_string(want));
  }
  [[noreturn]] void refuse_slice() const;
  [[noreturn]] void refuse_family(const char* what, std::size_t word_bytes) const;

  std::shared_ptr<const Device> device_;
  Families families_;
};

/// Calls f(), whose operations on the queue (or on the queues of a run::Fleet) belong together: the
/// device may launch them as one, since nobody waits for a single one. Exceptions of f are thrown;
/// operations that it has enqueued before are done nevertheless.
template <class Queues, class F>
auto together(const Queues& queue, const F& f) {
  struct Scope {
    const Queues& queue;
    bool open = true;
    ~Scope() {
      if (!open) return;
      try {
        queue.end_together();
      } catch (...) {  // f's exception is under way
      }
    }
    void end() {
      open = false;
      queue.end_together();
    }
  };
  queue.begin_together();
  Scope scope{queue};
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
    scope.end();
  } else {
    auto out = f();
    scope.end();
    return out;
  }
}

// ---- names

/// A kind of devices, whose names begin with a prefix: "cuda" of "cuda:0,1".
struct DeviceKind {
  std::string prefix;
  std::string accepted;  ///< the forms of its names, for messages
  /// The devices that `name` asks for. DeviceError says what is wrong with the name, or what is
  /// missing on the machine.
  std::function<std::vector<std::shared_ptr<const Device>>(const std::string& name,
                                                           const DeviceOptions&)>
      make;
  /// The devices of this kind that the machine has, for list_devices.
  std::function<std::vector<DeviceInfo>()> list;
  /// The name that "" stands for, or "" if this kind has none. Kinds are asked in the reverse order
  /// of their registration; if none has a name, "" means the CPU.
  std::function<std::string()> best = {};
};
/// Registers a kind of devices; it replaces a kind that has the same prefix. Any thread may call
/// it.
void register_devices(DeviceKind kind);

/// "cpu", "cuda" (the first GPU), "cuda:1", several as "cuda:0,1" or "cuda:all", or "" for the best
/// there is. DeviceError names what was asked for and what there is; a device that was asked for is
/// never replaced by another.
std::vector<std::shared_ptr<const Device>> make_devices(const std::string& name,
                                                        const DeviceOptions& options = {});
/// The same for a name that must mean one device.
std::shared_ptr<const Device> make_device(const std::string& name,
                                          const DeviceOptions& options = {});
/// A queue of the device with that name.
std::unique_ptr<Queue> open_queue(const std::string& name, const DeviceOptions& options = {});

}  // namespace whorl::backend
