// Devices by their names, and which of them is the best.
#include "backend/parallel.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

TEST(BackendDevice, NamesAndThreads) {
  test::expect_message<DeviceError>([] { open_queue("abacus"); }, {"abacus", "cpu"});
  EXPECT_EQ(open_queue("cpu", {3, {}})->device().threads(), 3u);
  EXPECT_EQ(open_queue("cpu")->device().threads(), available_cores());
  EXPECT_NE(open_queue("")->name().find(test::usable_gpus().empty() ? "cpu" : "cuda"),
            std::string::npos);
}

TEST(BackendDevice, TheCpuIsNamedWhereNoOtherDeviceCanBeUsed) {
  std::vector<DeviceInfo> there{{"gone", "", false, "no driver", 0, 0}};
  const auto kind = [&](bool usable) {
    there[0].usable = usable;
    return DeviceKind{
        "gone", "\"gone\"",
        [](const std::string&, const DeviceOptions&) -> std::vector<std::shared_ptr<const Device>> {
          throw DeviceError("no driver is found: install one");
        },
        [there] { return there; }, [] { return std::string(); }};
  };
  register_devices(kind(false));
  test::expect_message<DeviceError>(
      [] { make_device("gone:1"); },
      {"device \"gone:1\": no driver is found: install one; device \"cpu\" is always there, "
       "and whorl::list_devices says what others lack; names are",
       "\"gone\""});
  register_devices(kind(true));
  test::expect_message<DeviceError>(
      [] { make_device("gone:1"); },
      {"device \"gone:1\": no driver is found: install one; names are", "\"gone\""});
}

/// A kind whose devices are the CPU's, named `name`; it is the best there is, or none of it is.
DeviceKind kind_of_tests(const std::string& prefix, const std::string& name, bool best) {
  return {prefix, '"' + prefix + '"',
          [name](const std::string&, const DeviceOptions& options) {
            return std::vector<std::shared_ptr<const Device>>{
                std::make_shared<RelayDevice<>>(name, make_device("cpu", options))};
          },
          [name] {
            return std::vector<DeviceInfo>{{name, name, true, "", 0, 0}};
          },
          [prefix, best] { return best ? prefix : std::string(); }};
}

TEST(BackendDevice, AKindTakesThePlaceOfTheOneThatItReplaces) {
  register_devices(kind_of_tests("earlier", "earlier 1", true));
  register_devices(kind_of_tests("later", "later 1", true));
  EXPECT_EQ(make_device("")->name(), "later 1");
  register_devices(kind_of_tests("earlier", "earlier 2", true));
  EXPECT_EQ(make_device("earlier")->name(), "earlier 2");
  EXPECT_EQ(make_device("")->name(), "later 1") << "replacing one does not make it the best";
  const auto place_of = [](const std::string& name) {
    const std::vector<DeviceInfo> all = list_devices();
    return std::ranges::find(all, name, &DeviceInfo::name) - all.begin();
  };
  EXPECT_LT(place_of("earlier 2"), place_of("later 1"));
  register_devices(kind_of_tests("later", "later 2", false));
  EXPECT_EQ(make_device("")->name(), "earlier 2");
  register_devices(kind_of_tests("earlier", "earlier 3", false));
  EXPECT_NE(make_device("")->name(), "earlier 3");
}

}  // namespace
}  // namespace whorl::backend
