#include "backend/rtl/cores.h"

#include <algorithm>
#include <bit>
#include <string>

#include "backend/rtl/model.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {

namespace {

bool ring_fits(std::uint32_t N, Shape& base) {
  if (!std::has_single_bit(N) || N < 64 || N > 8192) return false;
  base.log_N = static_cast<std::uint32_t>(std::bit_width(N) - 1);
  return true;
}
bool same_gadget(const ring::Gadget& a, const ring::Gadget& b) {
  return a.modulus() == b.modulus() && a.log_base() == b.log_base() && a.digits() == b.digits();
}
bool possible(const Shape& shape) {
  try {
    shape.check();
    return true;
  } catch (const ParameterError&) {
    return false;
  }
}

/// "LOG_N = 10, here 9; M = 2, here 3".
std::string differences(const Shape& wanted, const Shape& here) {
  std::string out;
  const auto a = wanted.words(), b = here.words();
  for (std::size_t f = 0; f < Shape::fields; ++f)
    if (a[f] != b[f])
      out += (out.empty() ? "" : "; ") + std::string(Shape::names()[f]) + " = " +
             std::to_string(a[f]) + ", here " + std::to_string(b[f]);
  return out;
}

/// What a core of `base` makes of a key: whether it runs keys of that kind at all.
template <class KeyShape>
bool fit_or_refuse(const KeyShape& key, const Shape& base, Shape& shape) {
  shape = base;
  if (fit(key, shape)) return true;
  Shape other;
  if (!fit(key, other)) return false;
  try {
    shape.check();
  } catch (const ParameterError& error) {
    throw DeviceError(std::string("no core with the device's parameters runs this key: ") +
                      error.what());
  }
  return false;
}

}  // namespace

bool fit(const RotationShape& rotation, Shape& base) {
  if (rotation.kind != RotationKind::unrolled || rotation.Q != prime || rotation.raised() ||
      rotation.arithmetic != Arithmetic::ntt || rotation.gadgets.empty() ||
      !ring_fits(rotation.N, base))
    return false;
  const ring::Gadget& gadget = rotation.gadgets.front();
  if (!std::ranges::all_of(rotation.gadgets,
                           [&](const ring::Gadget& g) { return same_gadget(g, gadget); }))
    return false;
  base.M = rotation.group;
  base.L = gadget.digits();
  base.log_Bg = gadget.log_base();
  base.max_n = std::max(base.max_n, rotation.n);
  return possible(base);
}

bool fit(const SwitchShape& switching, Shape& base) {
  if (switching.Q_ks != lwe_modulus || switching.table || !ring_fits(switching.N, base))
    return false;
  base.L_ks = switching.gadget.digits();
  base.log_Bks = switching.gadget.log_base();
  base.max_n = std::max(base.max_n, switching.n);
  return possible(base);
}

void Cores::note(const std::shared_ptr<SharedDriver>& core, Mode kind) const {
  const std::scoped_lock lock(mutex_);
  last_[static_cast<std::size_t>(kind)] = core;
}
std::vector<RunCounters> Cores::counters() const {
  std::vector<RunCounters> out;
  for (const Mode kind : modes) {
    std::shared_ptr<SharedDriver> core;
    {
      const std::scoped_lock lock(mutex_);
      core = last_[static_cast<std::size_t>(kind)].lock();
    }
    if (!core) continue;
    const std::scoped_lock lock(core->mutex);
    const auto counters = core->driver.counters(kind);
    if (!counters) continue;
    RunCounters& run = out.emplace_back(RunCounters{mode_name(kind), {}});
    for (std::size_t c = 0; c < Counters::size; ++c)
      run.values.emplace_back(counter_name(c), (*counters)[c]);
  }
  return out;
}

template <class KeyShape>
std::shared_ptr<SharedDriver> Cores::find(const KeyShape& key) const {
  Shape shape;
  if (!fit_or_refuse(key, base(), shape)) return nullptr;
  auto core = core_of(shape);
  ++keys_;
  return core;
}
template std::shared_ptr<SharedDriver> Cores::find(const RotationShape& key) const;
template std::shared_ptr<SharedDriver> Cores::find(const SwitchShape& key) const;

std::shared_ptr<SharedDriver> ModelCores::core_of(const Shape& shape) const {
  return std::make_shared<SharedDriver>(std::make_shared<Model>(shape, workers_));
}

std::shared_ptr<SharedDriver> OneCore::core_of(const Shape& shape) const {
  const Shape& here = base();
  if (shape != here)
    throw DeviceError("the simulated core is of another shape than this key: the key needs " +
                      differences(shape, here) +
                      "; build one with `make -C rtl/sim -f library.mk`, or take \"rtl-model\"");
  return shared_;
}

}  // namespace whorl::backend::rtl
