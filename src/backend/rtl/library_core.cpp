#include "backend/rtl/library_core.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "whorl/error.h"

namespace whorl::backend::rtl {

class LibraryCore final : public Core {
 public:
  LibraryCore(std::shared_ptr<const CoreLibrary> library, std::function<bool()> interrupt)
      : library_(std::move(library)), f_(library_->functions_), interrupt_(std::move(interrupt)) {
    const auto words = library_->shape().words();
    core_ = f_.create(words.data());
    if (!core_) throw DeviceError("\"" + library_->path_ + "\" makes no core");
  }
  ~LibraryCore() override { f_.destroy(core_); }

  std::uint32_t read(std::uint32_t address) override {
    const std::uint32_t value = f_.read(core_, address);
    require_sound();
    return value;
  }
  void write(std::uint32_t address, std::uint32_t value) override {
    check("write of a register", f_.write(core_, address, value));
    require_sound();
  }
  void resize(Port port, std::uint64_t bytes) override {
    const int status = f_.resize(core_, port, bytes);
    if (status == WHORL_RTL_NO_MEMORY)
      throw OutOfMemoryError("the simulated core: the system gave no memory for " +
                             std::to_string(bytes) + " bytes behind port " + std::to_string(port));
    check("resize", status);
  }
  void store(Port port, std::uint64_t address, std::span<const std::uint8_t> bytes) override {
    check("store", f_.store(core_, port, address, bytes.data(), bytes.size()));
  }
  void load(Port port, std::uint64_t address, std::span<std::uint8_t> bytes) override {
    check("load", f_.load(core_, port, address, bytes.data(), bytes.size()));
  }
  void set_timing(const MemoryTiming& t) override {
    check("timing", f_.timing(core_, t.latency, t.bytes_a_cycle, t.stall, t.stall_cycles, t.seed));
  }
  void advance(std::uint64_t cycles) override {
    constexpr std::uint64_t piece = 20000;  // some tens of milliseconds
    while (cycles > 0) {
      const std::uint64_t wanted = std::min(cycles, piece);
      const std::uint64_t took = f_.step(core_, wanted);
      require_sound();
      if (took < wanted) return;
      cycles -= wanted;
      if (interrupt_ && interrupt_())
        throw InterruptedError("a run of the simulated core was interrupted");
    }
  }

 private:
  void require_sound() const {
    if (const char* const error = f_.error(core_))
      throw DeviceError("\"" + library_->path_ + "\": the simulation failed: " + error);
  }
  void check(const char* what, int status) const {
    if (status != 0)
      throw DeviceError("\"" + library_->path_ + "\": " + what + " failed with " +
                        std::to_string(status));
  }
  std::shared_ptr<const CoreLibrary> library_;
  const CoreLibrary::Functions& f_;
  std::function<bool()> interrupt_;
  whorl_rtl_core* core_;
};

namespace {

template <class Function>
void find(void* handle, const std::string& path, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(handle, name));
  if (!to) throw DeviceError("\"" + path + "\" is no core: it has no function " + name);
}

constexpr const char* how_to_build =
    "; build it with `make -C rtl/sim -f library.mk`, and set WHORL_RTL_CORE to its path";

}  // namespace

CoreLibrary::CoreLibrary(std::string path, void* handle)
    : path_(std::move(path)), handle_(handle) {}
CoreLibrary::~CoreLibrary() { dlclose(handle_); }

std::string CoreLibrary::missing(const std::string& path) {
  return path.empty() ? std::string("no simulated core is named") + how_to_build
                      : "there is no simulated core \"" + path + "\"" + how_to_build;
}

std::shared_ptr<const CoreLibrary> CoreLibrary::load(const std::string& path) {
  if (path.empty()) throw DeviceError(missing(path));
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is
    throw DeviceError("the simulated core \"" + path + "\" cannot be loaded (" +
                      (why ? why : "no reason is known") + ")" + how_to_build);
  }
  const std::shared_ptr<CoreLibrary> out(new CoreLibrary(path, handle));
  decltype(&whorl_rtl_abi) abi = nullptr;
  decltype(&whorl_rtl_shape) shape = nullptr;
  find(handle, path, "whorl_rtl_abi", abi);
  if (const std::uint32_t version = abi(); version != WHORL_RTL_ABI)
    throw DeviceError("the simulated core \"" + path + "\" has version " + std::to_string(version) +
                      " of the interface; this is for " + std::to_string(WHORL_RTL_ABI) +
                      how_to_build);
  find(handle, path, "whorl_rtl_shape", shape);
  Functions& f = out->functions_;
  find(handle, path, "whorl_rtl_create", f.create);
  find(handle, path, "whorl_rtl_destroy", f.destroy);
  find(handle, path, "whorl_rtl_error", f.error);
  find(handle, path, "whorl_rtl_read", f.read);
  find(handle, path, "whorl_rtl_write", f.write);
  find(handle, path, "whorl_rtl_resize", f.resize);
  find(handle, path, "whorl_rtl_store", f.store);
  find(handle, path, "whorl_rtl_load", f.load);
  find(handle, path, "whorl_rtl_timing", f.timing);
  find(handle, path, "whorl_rtl_step", f.step);
  std::array<std::uint32_t, Shape::fields> words{};
  shape(words.data());
  out->shape_ = Shape::of(words);
  try {
    out->shape_.check();
  } catch (const ParameterError& error) {
    throw DeviceError("the simulated core \"" + path +
                      "\" has a shape that no core has: " + error.what());
  }
  return out;
}

std::string CoreLibrary::path() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in Whorl writes the environment
  if (const char* given = std::getenv("WHORL_RTL_CORE"); given && *given) return given;
  Dl_info here{};
  if (!dladdr(reinterpret_cast<const void*>(&CoreLibrary::path), &here) || !here.dli_fname)
    return {};
  // Not the current folder: a file there is nobody's choice.
  const std::filesystem::path file = here.dli_fname;
  return file.is_absolute() ? (file.parent_path() / "whorl_rtl_core.so").string() : std::string();
}

std::unique_ptr<Core> CoreLibrary::create(std::function<bool()> interrupt) const {
  return std::make_unique<LibraryCore>(shared_from_this(), std::move(interrupt));
}

}  // namespace whorl::backend::rtl
