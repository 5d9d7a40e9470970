// What a client releases: the noise, and the count of results.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <complex>
#include <limits>
#include <thread>
#include <vector>

#include "support/ckks_sets.h"
#include "whorl/ckks/client.h"
#include "whorl/error.h"

namespace whorl::ckks {
namespace {

/// `count` encryptions of zeros that fill all slots.
Ciphertexts zeros(const Client& client, std::size_t count) {
  const std::size_t slots = client.parameters().slots();
  return client.encrypt(test::Complexes(count * slots), {.length = slots});
}

/// The standard deviation of numbers of mean zero.
double deviation(const test::Complexes& numbers) {
  double sum = 0;
  for (const auto& z : numbers) sum += std::norm(z);
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

TEST(CkksRelease, NoiseFollowsTheStatedErrorDownToAFloor) {
  const Client client(test::ckks_insecure());
  const double N = client.parameters().N();
  Ciphertexts c = zeros(client, 8);
  const double floor = 0.5 * std::log2(N / 12) - 1 - std::log2(c.info.scale);
  // 4,096 numbers, whose deviation is within 15% but with a chance of 2^-90.
  for (const double stated : {c.info.error, c.info.error + 3, floor + 0.5, floor - 0.5, -200.0}) {
    c.info.error = stated;
    const double hidden = std::exp2(std::max(stated, floor));
    for (const double bits : {30.0, 34.0}) {
      const double wanted = std::sqrt(12.0 * 1000) * std::exp2(bits / 2) * hidden;
      const double got = deviation(client.release(c, {.queries = 1000, .bits = bits}));
      EXPECT_NEAR(got / wanted, 1, 0.15) << stated << " " << bits;
    }
  }
}

TEST(CkksRelease, ResultsAreCountedUpToWhatWasPromised) {
  const Client client(test::ckks_insecure());
  const Ciphertexts five = zeros(client, 5), one = zeros(client, 1);
  const Client copy = client;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(client.released().results, 0u);
  static_cast<void>(client.release(five, {.queries = 11}));
  static_cast<void>(copy.release(five, {.queries = 11}));
  EXPECT_EQ(client.released().results, 10u);
  EXPECT_NEAR(client.released().spent, 10.0 / 11, 1e-12);
  EXPECT_THROW(static_cast<void>(client.release(five, {.queries = 11})), ParameterError);
  EXPECT_EQ(copy.released().results, 10u);
  static_cast<void>(client.release(one, {.queries = 11}));
  for (const double queries : {1.0, 11.0, 1e5})
    EXPECT_THROW(static_cast<void>(copy.release(one, {.queries = queries})), ParameterError);
  EXPECT_EQ(client.released().results, 11u);
  // Another object of the key does not know, unless it is told.
  const Client other(client.secret_key());
  EXPECT_EQ(other.released().results, 0u);
  other.add_released(client.released());
  EXPECT_THROW(static_cast<void>(other.release(one, {.queries = 11})), ParameterError);
  for (const double wrong : {-0.5, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(other.add_released({0, wrong}), ParameterError);
  EXPECT_EQ(other.released().results, 11u);
}

TEST(CkksRelease, ManyResultsReachTheirNumber) {
  const Client client(test::ckks_insecure());
  const Ciphertexts one = client.encrypt(std::vector<double>{0.5});
  for (const int queries : {3, 7, 49, 100}) {
    const Client fresh(client.secret_key());
    for (int i = 0; i < queries; ++i)
      EXPECT_NO_THROW(static_cast<void>(fresh.release(one, {.queries = double(queries)})));
    EXPECT_THROW(static_cast<void>(fresh.release(one, {.queries = double(queries)})),
                 ParameterError);
  }
}

TEST(CkksRelease, WhatNobodyHasSeenIsNotCounted) {
  const Client client(test::ckks_insecure());
  const Ciphertexts many = zeros(client, 64);
  EXPECT_THROW(
      static_cast<void>(client.release(
          many, {.queries = 64, .progress = [](std::size_t, std::size_t) { return false; }})),
      InterruptedError);
  EXPECT_EQ(client.released().results, 0u);
  EXPECT_EQ(client.released().spent, 0);
  EXPECT_THROW(static_cast<void>(client.release(many, {.queries = 64, .bits = 120})), NoiseError);
  EXPECT_EQ(client.released().results, 0u);
  static_cast<void>(client.release(many, {.queries = 64}));
  EXPECT_EQ(client.released().results, 64u);
}

TEST(CkksRelease, ThreadsCountTogether) {
  const Client client(test::ckks_insecure());
  const Ciphertexts three = zeros(client, 3);
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      try {
        for (int i = 0; i < 40; ++i, ++done)
          static_cast<void>(client.release(three, {.queries = 100}));
      } catch (const ParameterError&) {
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(done, 33);
  EXPECT_EQ(client.released().results, 99u);
}

}  // namespace
}  // namespace whorl::ckks
