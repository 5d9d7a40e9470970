// A process that forks while its other threads are inside calls of a server's.
#include "support/bgv_sets.h"
#include "support/forked.h"
#include "support/sanitizers.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

using test::bgv_insecure;

// The child has no thread that would end the call: it works, or is told, and may drop all it has.
TEST(BgvFork, ChildrenWorkOrAreTold) {
  if (test::under_thread_sanitizer || test::under_address_sanitizer)
    GTEST_SKIP() << "sanitizers do not let a forked child of many threads go on";
  const Client client(bgv_insecure());
  const EvaluationKeys keys = client.evaluation_keys({3, {1}, false});
  const std::vector<std::int64_t> values(client.parameters().N(), 3);
  const Ciphertexts c = client.encrypt(values);
  auto server = std::make_unique<Server>(keys, SessionOptions{"cpu", 2, {}});
  auto a = std::make_unique<Array>(server->upload(c));
  const auto expected = client.decrypt(server->download(server->multiply(*a, *a)));

  std::atomic<bool> enough{false};
  std::jthread other([&, server = server.get(), a = *a] {
    while (!enough) server->rotate(server->multiply(a, a), 1);
  });
  for (int round = 0; round < 20; ++round)
    EXPECT_TRUE(test::child_succeeds([&] {
      bool good = true;
      try {
        good = client.decrypt(server->download(server->multiply(*a, *a))) == expected;
      } catch (const DeviceError& error) {
        good = std::string(error.what()).find("forked") != std::string::npos;
      }
      a.reset();
      server.reset();
      // What is made in the child is the child's.
      const Server anew(keys, {"cpu", 2, {}});
      const Array b = anew.upload(client.encrypt(values));
      return good && client.decrypt(anew.download(anew.multiply(b, b))) == expected;
    })) << "round "
        << round;
  enough = true;
}

}  // namespace
}  // namespace whorl::bgv
