// What a client releases: the noise, and the count of results.
#include "support/ckks_sets.h"
#include "support/forked.h"
#include "support/test.h"
#include "whorl/ckks/client.h"
#include "whorl/ckks/server.h"

namespace whorl::ckks {
namespace {

/// With a scale that leaves bits beside the noise.
Parameters fine() { return test::ckks_insecure({.scale_bits = 50, .word_bits = 64}); }

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
  const Client client(fine());
  const double N = client.parameters().N();
  Ciphertexts c = zeros(client, 8);
  const double floor = 0.5 * std::log2(N / 12) - 1 - std::log2(c.info.scale);
  // 4,096 numbers, whose deviation is within 15% but with a chance of 2^-90.
  for (const double stated : {c.info.error, c.info.error + 3, floor + 0.5, floor - 0.5, -200.0}) {
    c.info.error = stated;
    const double hidden = std::exp2(std::max(stated, floor));
    for (const double bits : {30.0, 34.0}) {
      // Over the L2 norm of the error's N coefficients, and sqrt(N) times that in a slot.
      const double wanted = std::sqrt(12.0 * 1000 * N) * std::exp2(bits / 2) * hidden;
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
  for (const double queries : {1.0, 11.0, 1e3})
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

// A child that begins with its parent's count would spend it twice.
TEST(CkksRelease, ForkedChildrenReleaseNothing) {
  const Client client(test::ckks_insecure());
  const Ciphertexts one = zeros(client, 1);
  static_cast<void>(client.release(one, {.queries = 2}));
  const auto refused = [](const auto& work) {
    return test::message_of<ParameterError>(work).find("forked") != std::string::npos;
  };
  EXPECT_TRUE(test::child_succeeds([&] {
    const Client copy = client;
    bool good = refused([&] { static_cast<void>(copy.release(one, {.queries = 2})); }) &&
                refused([&] { static_cast<void>(copy.released()); }) && refused([&] {
                  copy.add_released({1, 0.5});
                });
    // A client of its own takes a part of the whole.
    const Client own(client.secret_key());
    own.add_released({1, 0.5});
    static_cast<void>(own.release(one, {.queries = 2}));
    return good && own.released().results == 2;
  }));
  // A child that is forked amid a call has no numbers of it either.
  EXPECT_TRUE(test::child_succeeds([&] {
    const Client own(client.secret_key());
    bool forked = false;
    const auto fork_once = [&](std::size_t, std::size_t) {
      if (std::exchange(forked, true)) return true;
      const pid_t child = fork();
      int status = 0;
      if (child == 0) return true;
      waitpid(child, &status, 0);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    };
    return refused([&] {
      static_cast<void>(own.release(zeros(own, 64), {.queries = 100, .progress = fork_once}));
    });
  }));
  EXPECT_EQ(client.released().results, 1u);
  static_cast<void>(client.release(one, {.queries = 2}));
  EXPECT_EQ(client.released().results, 2u);
}

TEST(CkksRelease, VectorsOverSeveralCiphertextsAreAsLongAsExpected) {
  const Client client(fine());
  const std::size_t slots = client.parameters().slots();
  Ciphertexts c = zeros(client, 2);
  c.info.vector = slots + 6;
  CiphertextInfo planned = c.info, by_length = c.info;
  by_length.length = slots + 6;
  by_length.vector = 0;
  for (const CiphertextInfo& expected : {planned, by_length}) {
    const ReleaseOptions options{.queries = 1000, .expect = expected};
    c.info.vector = slots + 6;
    EXPECT_NO_THROW(static_cast<void>(client.release(c, options)));
    for (const std::size_t other : {slots + 7, std::size_t{0}}) {
      c.info.vector = other;
      const std::string message =
          test::message_of<ParameterError>([&] { static_cast<void>(client.release(c, options)); });
      EXPECT_EQ(message.find("expect: length is " + std::to_string(slots + 6)), 0u) << message;
    }
  }
}

TEST(CkksRelease, ResultsStateWhatIsExpected) {
  const Parameters p = fine();
  const Client client(p);
  const Server server(client.evaluation_keys({}), {.device = "cpu", .threads = 1});
  const auto function = [](const Server& s, const Array& a) { return s.multiply(a, a); };
  const DryRun dry(p);
  const CiphertextInfo expected = function(dry.server(), dry.fresh(Packing::real, 1, 4, 1)).info();
  const std::vector<double> values(12, 0.5);
  const auto result = [&](const Ciphertexts& c) {
    return server.download(function(server, server.upload(c)));
  };
  const EncryptOptions four{.length = 4};
  const Ciphertexts by_secret = result(client.encrypt(values, four)),
                    by_public = result(encrypt(client.public_key(), values, four));
  const ReleaseOptions planned{.queries = 1000, .expect = expected};
  // Under either key, of any number of ciphertexts. Errors are those that were planned.
  EXPECT_LT(by_secret.info.error, expected.error);
  EXPECT_EQ(by_public.info.error, expected.error);
  for (const Ciphertexts* good : {&by_secret, &by_public}) {
    EXPECT_EQ(good->info.count, 3u);
    EXPECT_NO_THROW(static_cast<void>(client.release(*good, planned)));
  }
  const auto refuses = [&](const char* field, const std::function<void(CiphertextInfo&)>& change) {
    Ciphertexts wrong = by_secret;
    change(wrong.info);
    const Released before = client.released();
    const std::string message = test::message_of<ParameterError>(
        [&] { static_cast<void>(client.release(wrong, planned)); });
    EXPECT_EQ(message.find(std::string("expect: ") + field + " is "), 0u) << message;
    EXPECT_EQ(client.released().results, before.results);
  };
  refuses("packing", [](CiphertextInfo& i) { i.packing = Packing::complex; });
  refuses("scale", [](CiphertextInfo& i) { i.scale *= 1 + 0x1p-30; });
  refuses("scale", [](CiphertextInfo& i) { i.scale /= 0x1p20; });
  refuses("length", [](CiphertextInfo& i) { i.length = 8; });
  refuses("bound", [](CiphertextInfo& i) { i.bound += 0.001; });
  refuses("error", [&](CiphertextInfo& i) { i.error = expected.error + 0.001; });
  ReleaseOptions other = planned;
  const auto refused = [&](const std::function<void(CiphertextInfo&)>& change) {
    other.expect = expected;
    change(*other.expect);
    EXPECT_THROW(static_cast<void>(client.release(by_secret, other)), Error);
  };
  refused([](CiphertextInfo& i) { i.parts = 3; });
  refused([](CiphertextInfo& i) { ++i.level; });
  refused([](CiphertextInfo& i) { i.packing = static_cast<Packing>(9); });
  for (const double wrong : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    refused([&](CiphertextInfo& i) { i.scale = wrong; });
  for (const double wrong : {std::nan(""), -std::numeric_limits<double>::infinity()}) {
    refused([&](CiphertextInfo& i) { i.error = wrong; });
    refused([&](CiphertextInfo& i) { i.bound = wrong; });
  }
  refused([](CiphertextInfo& i) { i.error = std::numeric_limits<double>::infinity(); });
  EXPECT_EQ(client.released().results, 6u);
}

// Rounding is what hides, so that a smaller error is no harm: the noise is scaled by the planned
// one.
TEST(CkksRelease, NoiseFollowsTheExpectedError) {
  const Client client(fine());
  const double N = client.parameters().N();
  Ciphertexts c = zeros(client, 8);
  ReleaseOptions options{.queries = 1000, .expect = c.info};
  options.expect->error = c.info.error + 5;
  for (const double stated : {c.info.error, -200.0}) {
    c.info.error = stated;
    const double wanted = std::sqrt(12.0 * 1000 * N) * std::exp2(15 + options.expect->error);
    EXPECT_NEAR(deviation(client.release(c, options)) / wanted, 1, 0.15) << stated;
  }
}

// The noise hides the L2 norm of an error's coefficients, whose square is the mean square of the
// slots' errors (Parseval). The divergence of a result is the expected value of that over 2·sigma².
// So it is the mean over slots and keys that must not be above the stated square.
TEST(CkksRelease, ErrorsAreNoLargerThanStated) {
  const Parameters p = test::ckks_insecure();
  const std::size_t slots = p.slots();
  test::Random random;
  const auto words = [&] { return random.word(); };
  using Number = std::complex<double>;
  struct Kind {
    const char* name;
    std::function<Array(const Server&, const Array&, const Array&)> of;
    std::function<Number(Number, Number)> exact;
    double least;  ///< of the mean: how much larger the square may be stated
    std::size_t turned = 0;
    double mean = 0;
  };
  const Finish wide{.relinearised = false, .rescaled = false};
  std::vector<Kind> kinds{
      {"fresh", [](auto&, auto& a, auto&) { return a; }, [](auto x, auto) { return x; }, 0.9},
      {"sum", [](auto& s, auto& a, auto& b) { return s.add(a, b); },
       [](auto x, auto y) { return x + y; }, 0.4},
      {"rescaled", [](auto& s, auto& a, auto&) { return s.lower(a, 1); },
       [](auto x, auto) { return x; }, 0.4},
      {"rotated", [](auto& s, auto& a, auto&) { return s.rotate(a, 1); },
       [](auto x, auto) { return x; }, 0.3, 1},
      {"product", [](auto& s, auto& a, auto& b) { return s.multiply(a, b); },
       [](auto x, auto y) { return x * y; }, 0.05},
      {"product that is not rescaled",
       [=](auto& s, auto& a, auto& b) { return s.multiply(a, b, wide); },
       [](auto x, auto y) { return x * y; }, 0.002},
      {"three parts, rescaled",
       [=](auto& s, auto& a, auto& b) { return s.rescale(s.multiply(a, b, wide)); },
       [](auto x, auto y) { return x * y; }, 0.002},
      {"three products",
       [](auto& s, auto& a, auto& b) { return s.multiply(s.multiply(s.multiply(a, b), b), a); },
       [](auto x, auto y) { return x * y * y * x; }, 0.002},
  };
  const int keys = 64;
  for (int key = 0; key < keys; ++key) {
    const Client client(p);
    const Server server(client.evaluation_keys({3, {1}}), {.device = "cpu", .threads = 1});
    const test::Complexes x = test::random_complexes(words, slots),
                          y = test::random_complexes(words, slots);
    const PublicKey open = client.public_key();
    const auto upload = [&](const test::Complexes& v) {
      const EncryptOptions options{.length = slots};
      return server.upload(key % 2 ? encrypt(open, v, options) : client.encrypt(v, options));
    };
    const Array a = upload(x), b = upload(y);
    for (Kind& kind : kinds) {
      const Ciphertexts c = server.download(kind.of(server, a, b));
      const test::Complexes got = client.decrypt_raw(c);
      double sum = 0;
      for (std::size_t i = 0; i < slots; ++i) {
        const std::size_t from = (i + kind.turned) % slots;
        sum += std::norm(got[i] - kind.exact(x[from], y[from]));
      }
      kind.mean += sum / static_cast<double>(slots) / std::exp2(2 * c.info.error) / keys;
    }
  }
  // Of one key, the mean square of 1,024 coefficients varies by 4.4 %, and with the norm of the
  // secret by 2.2 %; of 64 keys, by 0.6 %. So 1.1 is more than 15 deviations away, a chance below
  // 2^-150. With three parts the sum of |s(ζ)|^4 over the slots varies by 10 %, of 64 keys by 1.3
  // %: 7 deviations, 2^-39, if all of the stated error were there.
  for (const Kind& kind : kinds) {
    EXPECT_LT(kind.mean, 1.1) << kind.name;
    EXPECT_GT(kind.mean, kind.least) << kind.name;
  }
}

}  // namespace
}  // namespace whorl::ckks
