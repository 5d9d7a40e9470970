// Runs a test once for each SIMD target that was compiled and that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "backend/ops.h"
#include "hwy/highway.h"
#include "hwy/targets.h"

namespace whorl::test {

/// While it lives, dynamic dispatch takes this target only.
class TargetGuard {
 public:
  explicit TargetGuard(std::int64_t target)
      : trace_(__FILE__, __LINE__, std::string("SIMD target ") + hwy::TargetName(target)) {
    choose(target);
  }
  ~TargetGuard() { choose(0); }
  TargetGuard(const TargetGuard&) = delete;
  TargetGuard& operator=(const TargetGuard&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ::testing::ScopedTrace trace_;
};

/// body() on every target; devices are made inside, so that they see it.
template <class Body>
void on_each_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const TargetGuard guard(target);
    body();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

inline std::unique_ptr<backend::Device> cpu(unsigned threads = 1) {
  return backend::make_device("cpu", {threads, {}});
}

template <class T>
backend::Buffer<T> put(const backend::Device& device, const std::vector<T>& values) {
  auto buffer = device.allocate<T>(values.size());
  device.upload<T>(std::span<const T>(values), buffer.slice());
  return buffer;
}
template <class T>
std::vector<T> get(const backend::Device& device, backend::Slice<const T> slice) {
  std::vector<T> out(slice.size);
  device.download<T>(slice, std::span<T>(out));
  return out;
}
template <class T>
std::vector<T> get(const backend::Device& device, const backend::Buffer<T>& buffer) {
  return get<T>(device, buffer.slice());
}

}  // namespace whorl::test
