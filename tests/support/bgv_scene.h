// A client, a server, and vectors in clear beside the ciphertexts.
#pragma once

#include "support/bgv_sets.h"
#include "support/test.h"
#include "whorl/bgv/client.h"
#include "whorl/bgv/server.h"

namespace whorl::bgv {

using test::bgv_insecure;
using test::bgv_pair;
using test::BgvShape;
using test::Clear;

struct Value {
  Clear clear;
  Array array;
};

/// A client, a server of the device under test, and vectors of both.
struct Scene {
  explicit Scene(const Parameters& parameters, const test::Executor& executor, unsigned threads = 1)
      : p(parameters),
        packing(p.has_slots() ? Packing::slots : Packing::coefficients),
        client(bgv_pair(p).client.secret_key()),
        server(bgv_pair(p).keys, {executor.name(), threads, {}}),
        count(1 + random.below(5)),
        trace(__FILE__, __LINE__, p.literal().name + ", batch " + std::to_string(count)) {}

  Parameters p;
  Packing packing;
  Client client;  ///< its tables are those of one SIMD target
  Server server;
  test::Random random;
  std::size_t count;
  ::testing::ScopedTrace trace;

  Clear clear(std::size_t rows) { return Clear::random(p, packing, rows, random); }
  Clear clear() { return clear(count); }
  Value fresh() {
    Clear m = clear();
    return {m, server.upload(client.encrypt(m.as_signed(), packing))};
  }
  /// Decrypts to what is due, with more budget than the bound says, which is positive.
  void expect(const Array& a, const Clear& due, const char* what) const {
    const Ciphertexts c = server.download(a);
    EXPECT_EQ(c.info.count, due.count()) << what;
    EXPECT_EQ(c.data.size(), std::size_t{c.info.parts} * c.info.limbs * c.info.count * p.N());
    EXPECT_GT(a.noise_budget(), 0) << what;
    for (const double budget : client.noise_budget(c)) EXPECT_GE(budget, a.noise_budget()) << what;
    ASSERT_EQ(client.decrypt(c) == due.values, true) << what;
  }
};

inline const BgvShape shapes[] = {{1024, 65537, 30, 6, 2},   {1024, 65537, 50, 4, 1},
                                  {2048, 786433, 31, 7, 3},  {1024, 12289, 60, 3, 3},
                                  {1024, 2, 30, 5, 5},       {1024, 4, 28, 5, 2},
                                  {1024, 256, 50, 3, 1},     {1024, 1000003, 30, 7, 3},
                                  {1024, 1000000, 30, 7, 2}, {1024, 1000000, 50, 5, 2}};

template <class Body>
void on_each_scene(const Body& body) {
  test::on_each_device(
      [&](const test::Executor& executor) {
        for (const BgvShape& shape : shapes) {
          Scene scene(bgv_insecure(shape), executor);
          body(scene);
          if (::testing::Test::HasFatalFailure()) return;
        }
      },
      test::Relayed::no);
}

/// Bits, noise, factor and the rest.
inline void expect_same(const Server& server, const Array& a, const Array& b, const char* what) {
  const Ciphertexts x = server.download(a), y = server.download(b);
  EXPECT_EQ(x.info.count, y.info.count) << what;
  EXPECT_EQ(x.info.parts, y.info.parts) << what;
  EXPECT_EQ(x.info.limbs, y.info.limbs) << what;
  EXPECT_EQ(x.info.factor, y.info.factor) << what;
  EXPECT_EQ(x.info.noise, y.info.noise) << what;
  ASSERT_EQ(x.data.bytes(), y.data.bytes()) << what;
  EXPECT_EQ(std::memcmp(x.data.data(), y.data.data(), x.data.bytes()), 0) << what << ": bits";
}

}  // namespace whorl::bgv
