#include "backend/rtl/rtl_device.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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
                  std::shared_ptr<const RotationImages> key, std::uint64_t held)
      : RotationKey(shape), driver(std::move(core)), images(std::move(key)), held_(held) {}
  /// The CPU's key for whole accumulators comes on top, once there is one.
  std::size_t bytes() const override {
    const std::scoped_lock lock(mutex);
    return held_ + (on_cpu ? on_cpu->bytes() : 0);
  }

  std::shared_ptr<SharedDriver> driver;
  std::shared_ptr<const RotationImages> images;
  mutable std::mutex mutex;
  mutable std::unique_ptr<RotationKey> on_cpu;  ///< for whole accumulators, once they are asked for

 private:
  std::uint64_t held_;
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
    const Shape& core = driver->driver.shape();
    auto images = std::make_shared<RotationImages>(
        RotationImages{shape.n, rotation_key_images(core, shape, rows, cores_->threads())});
    const std::uint64_t held =
        cores_->held(images->ports.size() * images->ports[0].size(),
                     core.steps(shape.n) * (core.row_words() / core.lanes()) * core.N());
    return std::make_unique<CoreRotationKey>(shape, std::move(driver), std::move(images), held);
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
    cores_->note(key->driver, Mode::rotate);
  }

 private:
  /// The core gives samples only.
  const RotationKey& on_cpu(const CoreRotationKey& key) const {
    const std::scoped_lock lock(key.mutex);
    if (!key.on_cpu)
      key.on_cpu = RelayRotation::make_key(
          key.shape(), RotationKeyRows(key.driver->driver.shape(), key.shape(), key.images->ports));
    return *key.on_cpu;
  }

  std::shared_ptr<const Cores> cores_;
};

// ---- key switching

class CoreSwitchKey final : public SwitchKey {
 public:
  CoreSwitchKey(const SwitchShape& shape, std::shared_ptr<SharedDriver> core,
                std::shared_ptr<const SwitchImage> key, std::uint64_t held)
      : SwitchKey(shape), driver(std::move(core)), image(std::move(key)), held_(held) {}
  std::size_t bytes() const override { return held_; }

  std::shared_ptr<SharedDriver> driver;
  std::shared_ptr<const SwitchImage> image;

 private:
  std::uint64_t held_;
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
    const std::uint64_t held = cores_->held(image.size(), 0);
    return std::make_unique<CoreSwitchKey>(
        shape, std::move(driver),
        std::make_shared<SwitchImage>(SwitchImage{shape.n, std::move(image)}), held);
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
      cores_->note(key->driver, Mode::key_switch);
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
class CoreDevice final : public RelayDevice<CoreQueue, std::shared_ptr<const Cores>>,
                         public Counting {
 public:
  CoreDevice(std::string name, std::shared_ptr<const Device> behind,
             std::shared_ptr<const Cores> cores)
      : RelayDevice(std::move(name), std::move(behind), cores), cores_(std::move(cores)) {}
  std::vector<RunCounters> counters() const override { return cores_->counters(); }
  std::size_t keys() const override { return cores_->keys(); }

 private:
  std::shared_ptr<const Cores> cores_;
};

/// The number that a text is; none for anything else, and for one of more than 32 bits.
std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// "rtl-model:PES=4,K=2": parameters of the core that its keys leave open, each at most once.
Shape shape_of(const std::string& name) {
  constexpr std::string_view open[] = {"PES",      "LOG_B",    "K",          "MEM_BITS", "BK_PORTS",
                                       "KSK_BITS", "KS_LANES", "BK_BUFFERS", "KSK_ROWS"};
  Shape shape;
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return shape;
  auto words = shape.words();
  std::vector<std::string_view> given;
  for (std::size_t from = colon + 1; from <= name.size();) {
    const std::size_t end = std::min(name.find(',', from), name.size());
    const std::string_view one = std::string_view(name).substr(from, end - from);
    from = end + 1;
    const std::size_t equal = std::min(one.find('='), one.size());
    const std::string_view field = one.substr(0, equal);
    const auto value = number_of(equal < one.size() ? one.substr(equal + 1) : "");
    if (!value || std::ranges::find(open, field) == std::end(open))
      throw DeviceError("device \"" + name + "\": \"" + std::string(one) +
                        "\" is not one of PES, LOG_B, K, MEM_BITS, BK_PORTS, KSK_BITS, KS_LANES, "
                        "BK_BUFFERS, KSK_ROWS with a number below 2^32");
    if (std::ranges::find(given, field) != given.end())
      throw DeviceError("device \"" + name + "\": " + std::string(field) + " is given twice");
    given.push_back(field);
    const auto& names = Shape::names();
    words[static_cast<std::size_t>(std::ranges::find(names, field) - names.begin())] = *value;
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
            // A list of devices loads no code: it says whether there is a file.
            const std::string path = CoreLibrary::path();
            std::error_code error;
            const bool there = std::filesystem::is_regular_file(path, error);
            return std::vector<DeviceInfo>{{"rtl", "the FPGA accelerator, simulated", there,
                                            there ? path : CoreLibrary::missing(path), 0, 0}};
          }};
}

}  // namespace whorl::backend::rtl
