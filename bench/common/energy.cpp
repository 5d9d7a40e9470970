#include "common/energy.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "common/statistics.h"
#include "whorl/error.h"

namespace whorl::bench {
namespace {

template <class Function>
Function symbol(void* library, const char* name) {
  auto* const found = reinterpret_cast<Function>(dlsym(library, name));
  if (!found) throw DeviceError(std::string("libnvidia-ml.so.1 has no ") + name);
  return found;
}
void check_nvml(int code, const std::string& call) {
  if (code != 0)
    throw DeviceError(call + " fails with NVML's code " + std::to_string(code) +
                      "; energy cannot be measured here: leave --energy out");
}

/// The driver's number of GPU `ordinal` of CUDA.
unsigned number_of(unsigned ordinal) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return ordinal;
  std::string_view rest(visible);
  for (unsigned i = 0; i < ordinal; ++i) {
    const auto comma = rest.find(',');
    if (comma == rest.npos) return ordinal;
    rest.remove_prefix(comma + 1);
  }
  rest = rest.substr(0, rest.find(','));
  if (rest.empty() ||
      !std::all_of(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c); }))
    return ordinal;
  return static_cast<unsigned>(std::stoul(std::string(rest)));
}

}  // namespace

EnergyCounter::EnergyCounter(const std::string& device) {
  if (!device.starts_with("cuda") || device.find(',') != device.npos)
    throw DeviceError("energy is measured of one GPU, such as cuda:0, and not of " + device);
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library_) throw DeviceError(std::string("energy: ") + dlerror());
  try {
    energy_ = symbol<decltype(energy_)>(library_, "nvmlDeviceGetTotalEnergyConsumption");
    check_nvml(symbol<int (*)()>(library_, "nvmlInit_v2")(), "nvmlInit_v2");
    const auto colon = device.find(':');
    const unsigned ordinal =
        colon == device.npos ? 0 : static_cast<unsigned>(std::stoul(device.substr(colon + 1)));
    check_nvml(symbol<int (*)(unsigned, void**)>(library_, "nvmlDeviceGetHandleByIndex_v2")(
                   number_of(ordinal), &handle_),
               "nvmlDeviceGetHandleByIndex_v2 of " + std::to_string(number_of(ordinal)));
    joules();
  } catch (...) {
    dlclose(std::exchange(library_, nullptr));
    throw;
  }
}

EnergyCounter::~EnergyCounter() {
  if (library_) dlclose(library_);
}

double EnergyCounter::joules() const {
  unsigned long long millijoules = 0;
  check_nvml(energy_(handle_, &millijoules), "nvmlDeviceGetTotalEnergyConsumption");
  return 1e-3 * static_cast<double>(millijoules);
}

void add_energy(const Records& records, const Record& blank, const std::string& device,
                double seconds, const std::function<void()>& call,
                const std::function<void()>& wait) {
  const EnergyCounter counter(device);
  const auto repeat = [&](double least) {
    const std::size_t at_once = calls_within(0.02, time_once({call, wait}));
    const double begun = seconds_now();
    std::uint64_t calls = 1;  // the one that was timed
    while (seconds_now() - begun < least) {
      for (std::size_t i = 0; i < at_once; ++i) call();
      wait();
      calls += at_once;
    }
    return calls;
  };
  repeat(0.25);
  // The counter moves in steps of some 0.1 s: both readings come right after one.
  std::uint64_t calls = 0;
  const auto next_step = [&] {
    const double before = counter.joules(), begun = seconds_now();
    while (true) {
      call();
      wait();
      ++calls;
      const double now = counter.joules();
      if (now != before) return now;
      if (seconds_now() - begun > 5)
        throw DeviceError("the energy counter of " + device + " stands still: leave --energy out");
    }
  };
  const double first = next_step(), begun = seconds_now();
  calls = repeat(seconds);
  const double last = next_step(), took = seconds_now() - begun;
  Record record = blank;
  record.unit = std::string("J");
  record.set((last - first) / static_cast<double>(calls) / static_cast<double>(blank.batch));
  record.more = {{"watts", (last - first) / took},
                 {"calls", calls},
                 {"seconds", took},
                 {"method", std::string("nvmlDeviceGetTotalEnergyConsumption")}};
  records.add(record);
}

}  // namespace whorl::bench
