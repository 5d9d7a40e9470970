// Random CKKS circuits against the same on complex numbers in clear, on every device that is
// present: errors within 10 of the deviations that the account gives, values within its bounds,
// the same bits everywhere.
//
// WHORL_TEST_CIRCUITS=<number>: how many circuits are run (default 300).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "support/ckks_sets.h"
#include "support/targets.h"
#include "whorl/ckks.h"
#include "whorl/error.h"

namespace whorl::ckks {
namespace {

using Complex = std::complex<double>;
using Values = test::Complexes;

struct Party {
  explicit Party(const Parameters& p) : client(p) {
    const EvaluationKeys keys = client.evaluation_keys({3, {1, 2, -3}, true});
    servers.emplace_back(keys, ServerOptions{.device = "cpu", .threads = 1});
    for (const std::string& gpu : test::usable_gpus())
      servers.emplace_back(keys, ServerOptions{.device = gpu});
  }
  Client client;
  std::vector<Server> servers;
};

/// One value, on every device and in clear.
struct Item {
  std::vector<Array> on;
  Values clear;
};

using On = std::function<Array(const Server&, std::size_t device)>;

class Circuit {
 public:
  Circuit(const Party& party, std::uint64_t seed) : party_(party), random_(seed) {
    length_ = std::size_t{1} << pick(10);
    count_ = 1 + pick(2);
    for (int i = 0; i < 3; ++i) {
      Values values = test::random_complexes(random_, count_ * length_);
      const Ciphertexts c = party_.client.encrypt(values, {.length = length_});
      Item item{{}, std::move(values)};
      for (const Server& server : party_.servers) item.on.push_back(server.upload(c));
      check(item, "encrypt");
      items_.push_back(std::move(item));
    }
  }

  void step() {
    const Item &a = items_[pick(items_.size())], &b = items_[pick(items_.size())];
    const auto both = [&](const char* what, auto clear, auto on) {
      Values out(a.clear.size());
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = clear(a.clear[i], b.clear[i]);
      add(what, std::move(out),
          [&](const Server& s, std::size_t d) { return on(s, a.on[d], b.on[d]); });
    };
    const Values plain = test::random_complexes(random_, length_);
    const Complex scalar = plain[0];
    const auto one = [&](const char* what, auto clear, auto on) {
      Values out(a.clear.size());
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = clear(a.clear[i], plain[i % length_]);
      add(what, std::move(out), [&](const Server& s, std::size_t d) { return on(s, a.on[d]); });
    };
    switch (pick(13)) {
      case 0:
        return both("add", std::plus<Complex>(),
                    [](const Server& s, const Array& x, const Array& y) { return s.add(x, y); });
      case 1:
        return both("sub", std::minus<Complex>(),
                    [](const Server& s, const Array& x, const Array& y) { return s.sub(x, y); });
      case 2:
      case 3:
        return both(
            "multiply", std::multiplies<Complex>(),
            [](const Server& s, const Array& x, const Array& y) { return s.multiply(x, y); });
      case 4:
        return one(
            "square", [](Complex x, Complex) { return x * x; },
            [](const Server& s, const Array& x) {
              return s.square(x, {true, true});
            });
      case 5:
        return one("add_plain", std::plus<Complex>(),
                   [&](const Server& s, const Array& x) { return s.add_plain(x, plain); });
      case 6:
        return one("multiply_plain", std::multiplies<Complex>(),
                   [&](const Server& s, const Array& x) { return s.multiply_plain(x, plain); });
      case 7:
        return one(
            "real", [&](Complex x, Complex) { return x * scalar.real(); },
            [&](const Server& s, const Array& x) { return s.multiply_scalar(x, scalar.real()); });
      case 8:
        return one(
            "complex", [&](Complex x, Complex) { return x * scalar; },
            [&](const Server& s, const Array& x) { return s.multiply_scalar(x, scalar); });
      case 9:
        return one(
            "i", [](Complex x, Complex) { return x * Complex(0, 1); },
            [](const Server& s, const Array& x) { return s.multiply_by_i(x); });
      case 10:
        return one(
            "conjugate", [](Complex x, Complex) { return std::conj(x); },
            [](const Server& s, const Array& x) { return s.conjugate(x); });
      case 11: {
        const std::int64_t by = std::vector<std::int64_t>{1, 2, -3}[pick(3)];
        Values out(a.clear.size());
        const auto n = static_cast<std::int64_t>(length_);
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = a.clear[i / length_ * length_ +
                           static_cast<std::size_t>(
                               ((static_cast<std::int64_t>(i % length_) + by) % n + n) % n)];
        return add("rotate", std::move(out),
                   [&](const Server& s, std::size_t d) { return s.rotate(a.on[d], by); });
      }
      default:
        return both(
            "unfinished", [](Complex x, Complex y) { return x * y + x; },
            [](const Server& s, const Array& x, const Array& y) {
              const Array late = s.multiply(x, y, {false, false});
              return s.rescale(s.relinearise(s.add(late, x)));
            });
    }
  }

  std::size_t done = 0, refused = 0;

 private:
  std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random_() % below); }

  void add(const char* what, Values clear, const On& on) {
    Item item{{}, std::move(clear)};
    try {
      for (std::size_t d = 0; d < party_.servers.size(); ++d)
        item.on.push_back(on(party_.servers[d], d));
    } catch (const NoiseError&) {  // no level is left, or values might not fit
      ++refused;
      return;
    }
    ++done;
    check(item, what);
    items_[pick(items_.size())] = std::move(item);
  }

  void check(const Item& item, const char* what) const {
    const Ciphertexts first = party_.servers[0].download(item.on[0]);
    for (std::size_t d = 1; d < party_.servers.size(); ++d) {
      const Ciphertexts other = party_.servers[d].download(item.on[d]);
      ASSERT_EQ(other.data.bytes(), first.data.bytes()) << what;
      EXPECT_EQ(std::memcmp(other.data.data(), first.data.data(), first.data.bytes()), 0)
          << what << " differs on " << party_.servers[d].device();
    }
    const Values got = party_.client.decrypt_raw(first, true);
    ASSERT_EQ(got.size(), item.clear.size()) << what;
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      worst = std::max(worst, std::abs(got[i] - item.clear[i]));
      largest = std::max(largest, std::abs(item.clear[i]));
    }
    EXPECT_LE(worst, 10 * std::exp2(first.info.error))
        << what << ": 2^" << std::log2(worst) << " where 2^" << first.info.error << " is stated";
    EXPECT_LE(largest, std::exp2(first.info.bound) * (1 + 1e-9)) << what;
  }

  const Party& party_;
  std::mt19937_64 random_;
  std::size_t length_ = 1, count_ = 1;
  std::vector<Item> items_;
};

TEST(CkksCircuits, SmallRings) {
  const char* given = std::getenv("WHORL_TEST_CIRCUITS");
  const std::size_t circuits = given ? std::strtoull(given, nullptr, 10) : 300;
  std::random_device device;
  const std::uint64_t seed = device();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::vector<Party> parties;
  for (const test::CkksShape& shape : test::ckks_shapes) {
    test::CkksShape deep = shape;
    deep.depth = 6;
    parties.emplace_back(test::ckks_insecure(deep));
  }
  std::size_t done = 0, refused = 0;
  for (std::size_t i = 0; i < circuits && !HasFailure(); ++i) {
    Circuit circuit(parties[i % parties.size()], seed + i);
    for (int step = 0; step < 16; ++step) circuit.step();
    done += circuit.done;
    refused += circuit.refused;
  }
  std::printf("CKKS-CIRCUITS seed=%llu circuits=%zu operations=%zu refused=%zu\n",
              static_cast<unsigned long long>(seed), circuits, done, refused);
  EXPECT_GT(done, 4 * refused);
}

}  // namespace
}  // namespace whorl::ckks
