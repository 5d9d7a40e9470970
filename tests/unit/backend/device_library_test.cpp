// Devices of a library that is loaded at run time: support/fake_device_library.cpp.
#include "backend/device_library.h"

#include "support/test.h"
#include "whorl/device_library.h"

namespace whorl::backend {
namespace {

using test::expect_message;

TEST(DeviceLibrary, ItsDevicesWork) {
  const DeviceKind kind = load_device_library(WHORL_TESTS_FAKE_DEVICE_LIBRARY);
  EXPECT_EQ(kind.prefix, "cuda");
  EXPECT_EQ(kind.best(), "cuda");
  EXPECT_EQ(kind.list().size(), 1u);
  const auto devices = kind.make("cuda", {});
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_NE(devices.front()->open(), nullptr);
}

TEST(DeviceLibrary, ItsErrorsAreOurs) {
  const DeviceKind kind = load_device_library(WHORL_TESTS_FAKE_DEVICE_LIBRARY);
  expect_message<DeviceError>([&] { kind.make("cuda:7", {}); }, {"cuda:7"});
}

TEST(DeviceLibrary, AnotherVersionIsRefused) {
  setenv("WHORL_TESTS_DEVICE_LIBRARY_VERSION", "0.0.9", 1);
  expect_message<DeviceError>([] { load_device_library(WHORL_TESTS_FAKE_DEVICE_LIBRARY); },
                              {"is of Whorl 0.0.9", "install both from the same version"});
  unsetenv("WHORL_TESTS_DEVICE_LIBRARY_VERSION");
}

TEST(DeviceLibrary, OtherFilesAreRefused) {
  expect_message<DeviceError>([] { load_device_library("/nowhere/library.so"); },
                              {"there is no library of devices", "/nowhere/library.so"});
  expect_message<DeviceError>([] { load_device_library("/etc/passwd"); }, {"cannot be loaded"});
  expect_message<DeviceError>([] { load_device_library("/" + std::string(5000, 'x')); },
                              {"cannot be loaded"});
  expect_message<DeviceError>([] { load_device_library(WHORL_TESTS_FAKE_CORE); },
                              {"has no function whorl_device_library_version"});
}

TEST(DeviceLibrary, ItsPathIsAbsolute) {
  expect_message<ParameterError>([] { set_cuda_library("library.so"); }, {"absolute"});
}

}  // namespace
}  // namespace whorl::backend
