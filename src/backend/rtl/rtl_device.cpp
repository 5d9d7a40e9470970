#include "backend/rtl/rtl_device.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "backend/contract/relay.h"
#include "backend/rtl/cores.h"
#include "backend/rtl/images.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {

namespace {

// ---- blind rotation

class CoreRotationKey final : public RotationKey {
 public:
  CoreRotationKey(const RotationShape& shape, std::shared_ptr<SharedDriver> core,
                  std::shared_ptr<const RotationImages> key)
      : RotationKey(shape), driver(std::move(core)), images(std::move(key)) {}
  std::size_t bytes() const override { return images->ports.size() * images->ports[0].size(); }

  std::shared_ptr<SharedDriver> driver;
  std::shared_ptr<const RotationImages> images;
  mutable std::mutex mutex;
  mutable std::unique_ptr<RotationKey> on_cpu;  ///< for whole accumulators, once they are asked for
};

class Rotation final : public RelayRotation<std::uint64_t> {
 public:
  Rotation(const Queue& queue, const Queue& behind, std::shared_ptr<const Cores> cores)
      : RelayRotation(queue, behind), cores_(std::move(cores)) {}

 protected:
  std::unique_ptr<RotationKey> make_key(const RotationShape& shape,
                                        const RowSource<std::uint64_t>& rows) const override {
    auto driver = cores_->find(shape);
    if (!driver) return RelayRotation::make_key(shape, rows);
    auto images = std::make_shared<RotationImages>(RotationImages{
        shape.n, rotation_key_images(driver->driver.shape(), shape, rows, cores_->threads())});
    return std::make_unique<CoreRotationKey>(shape, std::move(driver), std::move(images));
  }

  void run_rotations(const RotationKey& any_key, const Batch& batch) const override {
    const auto* const key = dynamic_cast<const CoreRotationKey*>(&any_key);
    if (!key) return RelayRotation::run_rotations(any_key, batch);
    if (!batch.constant) return RelayRotation::run_rotations(on_cpu(*key), batch);
    const RotationShape& shape = key->shape();
    const std::size_t row = std::size_t{shape.n} + 1, N = shape.N;
    const std::scoped_lock lock(key->driver->mutex);
    key->driver->driver.use(key->images);
    key->driver->driver.run({.mode = Mode::rotate,
                             .count = static_cast<std::uint32_t>(batch.count),
                             .rows = {batch.lwe, batch.count * row},
                             .exponents = true,
                             .constant = *batch.constant,
                             .index = {batch.index, batch.count},
                             .luts = {batch.luts, batch.tables * N}},
                            std::span(batch.out, batch.count * (N + 1)));
  }

 private:
  /// The core gives samples only.
  const RotationKey& on_cpu(const CoreRotationKey& key) const {
    const std::scoped_lock lock(key.mutex);
    if (!key.on_cpu)
      key.on_cpu = RelayRotation::make_key(
          key.shape(), [&](std::size_t r, std::span<std::uint64_t> a, std::span<std::uint64_t> b) {
            rotation_key_row(key.driver->driver.shape(), key.shape(), key.images->ports, r, a, b);
          });
    return *key.on_cpu;
  }

  std::shared_ptr<const Cores> cores_;
};

// ---- key switching

class CoreSwitchKey final : public SwitchKey {
 public:
  CoreSwitchKey(const SwitchShape& shape, std::shared_ptr<SharedDriver> core,
                std::shared_ptr<const SwitchImage> key)
      : SwitchKey(shape), driver(std::move(core)), image(std::move(key)) {}
  std::size_t bytes() const override { return image->port.size(); }

  std::shared_ptr<SharedDriver> driver;
  std::shared_ptr<const SwitchImage> image;
};

class Switching final : public RelayLwe {
 public:
  Switching(const Queue& queue, const Queue& behind, std::shared_ptr<const Cores> cores)
      : RelayLwe(queue, behind), cores_(std::move(cores)) {}

 protected:
  std::unique_ptr<SwitchKey> make_switch_key(const SwitchShape& shape,
                                             const SwitchRowSource& source) const override {
    auto driver = cores_->find(shape);
    // Words of 16 bits hold no residues modulo 2^32.
    if (!driver || source.word_bytes < 4) return RelayLwe::make_switch_key(shape, source);
    const std::size_t words = std::size_t{shape.n} + 1;
    auto image = with_word_bytes(source.word_bytes, [&]<class Word>(Word) {
      std::vector<Word> row(words);
      return switch_key_image(
          driver->driver.shape(), shape.n, [&](std::size_t r, std::uint32_t* out) {
            source.rows(r, 1, row.data(), words);
            std::ranges::transform(row, out, [](Word x) { return static_cast<std::uint32_t>(x); });
          });
    });
    return std::make_unique<CoreSwitchKey>(
        shape, std::move(driver),
        std::make_shared<SwitchImage>(SwitchImage{shape.n, std::move(image)}));
  }

  void run_key_switch(const SwitchKey& any_key, std::size_t count, ConstWords in,
                      Words out) const override {
    const auto* const key = dynamic_cast<const CoreSwitchKey*>(&any_key);
    if (!key) return RelayLwe::run_key_switch(any_key, count, in, out);
    const std::size_t row = std::size_t{key->shape().N} + 1, to = std::size_t{key->shape().n} + 1;
    std::vector<std::uint32_t> rows(count * row), results(count * to);
    with_word_bytes(in.bytes, [&]<class Word>(Word) {
      std::transform(static_cast<const Word*>(in.data),
                     static_cast<const Word*>(in.data) + rows.size(), rows.begin(),
                     [](Word x) { return static_cast<std::uint32_t>(x); });
    });
    {
      const std::scoped_lock lock(key->driver->mutex);
      key->driver->driver.use(key->image);
      key->driver->driver.run(
          {.mode = Mode::key_switch, .count = static_cast<std::uint32_t>(count), .rows = rows},
          std::span(results));
    }
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      std::ranges::copy(results, static_cast<Word*>(out.data));
    });
  }

 private:
  std::shared_ptr<const Cores> cores_;
};

// ---- devices

class CoreQueue final : public Relay {
 public:
  CoreQueue(std::shared_ptr<const Device> device, std::unique_ptr<Queue> behind,
            const std::shared_ptr<const Cores>& cores)
      : Relay(std::move(device), std::move(behind)) {
    offer<RotationOps<std::uint64_t>>(std::make_shared<Rotation>(*this, this->behind(), cores));
    offer<LweOps>(std::make_shared<Switching>(*this, this->behind(), cores));
  }
};
using CoreDevice = RelayDevice<CoreQueue, std::shared_ptr<const Cores>>;

/// "rtl-model:PES=4,K=2": parameters of the core that its keys leave open.
Shape shape_of(const std::string& name) {
  constexpr std::string_view open[] = {"PES",      "LOG_B",    "K",          "MEM_BITS", "BK_PORTS",
                                       "KSK_BITS", "KS_LANES", "BK_BUFFERS", "KSK_ROWS"};
  Shape shape;
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return shape;
  auto words = shape.words();
  std::string_view rest = std::string_view(name).substr(colon + 1);
  while (true) {
    const std::string_view one = rest.substr(0, rest.find(','));
    const std::size_t equal = one.find('=');
    const std::string_view field = one.substr(0, equal);
    const auto found =
        std::ranges::find(Shape::names(), field, [](const char* n) { return std::string_view(n); });
    std::uint32_t value = 0;
    const bool known = std::ranges::find(open, field) != std::end(open);
    const char *from = one.data() + std::min(equal, one.size() - 1) + 1,
               *end = one.data() + one.size();
    if (!known || equal == std::string_view::npos || std::from_chars(from, end, value).ptr != end ||
        from == end)
      throw DeviceError("device \"" + name + "\": \"" + std::string(one) +
                        "\" is not one of PES, LOG_B, K, MEM_BITS, BK_PORTS, KSK_BITS, KS_LANES, "
                        "BK_BUFFERS, KSK_ROWS with a number");
    words[static_cast<std::size_t>(found - Shape::names().begin())] = value;
    if (one.size() == rest.size()) break;
    rest.remove_prefix(one.size() + 1);
  }
  shape = Shape::of(words);
  try {
    shape.check();
  } catch (const ParameterError& error) {
    throw DeviceError("device \"" + name + "\": " + error.what());
  }
  return shape;
}

std::vector<std::shared_ptr<const Device>> make_model(const std::string& name,
                                                      const DeviceOptions& options) {
  const Workers workers{.threads = threads_or_cores(options.threads),
                        .interrupt = options.interrupt};
  return {std::make_shared<CoreDevice>(name, make_device("cpu", options),
                                       std::make_shared<ModelCores>(shape_of(name), workers))};
}

std::vector<std::shared_ptr<const Device>> make_simulation(const std::string& name,
                                                           const DeviceOptions& options) {
  if (name != "rtl") throw DeviceError("device \"" + name + "\" does not exist");
  const auto library = CoreLibrary::load(CoreLibrary::path());
  return {
      std::make_shared<CoreDevice>(name, make_device("cpu", options),
                                   std::make_shared<OneCore>(library->create(options.interrupt),
                                                             threads_or_cores(options.threads)))};
}

}  // namespace

DeviceKind model_kind() {
  return {"rtl-model", "\"rtl-model\", \"rtl-model:PES=4,K=2\" (the accelerator's model)",
          make_model, [] {
            return std::vector<DeviceInfo>{
                {"rtl-model", "model of the FPGA accelerator", true, "on the CPU", 0, 0}};
          }};
}

DeviceKind simulation_kind() {
  return {"rtl", "\"rtl\" (the accelerator, simulated)", make_simulation, [] {
            std::string note = CoreLibrary::path();
            bool usable = true;
            try {
              static_cast<void>(CoreLibrary::load(note));
            } catch (const Error& error) {
              note = error.what();
              usable = false;
            }
            return std::vector<DeviceInfo>{
                {"rtl", "the FPGA accelerator, simulated", usable, note, 0, 0}};
          }};
}

}  // namespace whorl::backend::rtl
