// The noise that a server states is an upper bound, whatever its arrays have in common: random
// sums, parts and joins of them, against the weights of every error in every ciphertext.
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

/// The weights that independent errors have in one ciphertext.
using Errors = std::map<int, double>;

struct Known {
  Array array;
  std::vector<Errors> errors;
  bool loaded = false;  ///< or made of what was
};

class BinfheSharedErrors : public ::testing::Test {
 protected:
  double variance(const Errors& errors) const {
    double sum = 0;
    for (const auto& [number, weight] : errors) sum += weight * weight * variances_[number];
    return sum;
  }
  int error_of(double variance) {
    variances_.push_back(variance);
    return static_cast<int>(variances_.size()) - 1;
  }
  /// Number i of two, or the only one.
  static const Errors& at(const Known& known, std::size_t i) {
    return known.errors[known.errors.size() == 1 ? 0 : i];
  }
  Known fresh() {
    const Array array = server_.upload(pair_.client.encrypt({0, 1}));
    return {array, {{{error_of(array.noise()), 1}}, {{error_of(array.noise()), 1}}}};
  }
  Known sum(const Known& x, std::int32_t v, const Known& y, std::int32_t w) {
    const Array* inputs[] = {&x.array, &y.array};
    const std::int32_t weights[] = {v, w};
    // Gates refuse sums that may be no bits, unless they are said to be bits.
    Known out{server_.linear(weights, inputs, 0, false, 1), {}, x.loaded || y.loaded};
    for (std::size_t i = 0; i < out.array.count(); ++i) {
      out.errors.push_back({});
      for (const auto& [number, weight] : at(x, i)) out.errors[i][number] += v * weight;
      for (const auto& [number, weight] : at(y, i)) out.errors[i][number] += w * weight;
    }
    return out;
  }
  /// The same gate of the same ciphertexts makes the same errors; of loaded ones, docs/noise.md
  /// says that nobody finds it out.
  Known gate(const Known& x, const Known& y) {
    Known out{server_.and_(x.array, y.array), {}, x.loaded || y.loaded};
    for (std::size_t i = 0; i < out.array.count(); ++i) {
      Errors both = at(x, i);
      for (const auto& [number, weight] : at(y, i)) both[number] += weight;
      const auto found = gates_.find(both);
      const int number = found == gates_.end() || out.loaded ? error_of(1) : found->second;
      if (!out.loaded) gates_[both] = number;
      out.errors.push_back({{number, 1}});
    }
    return out;
  }
  Known take(const Known& x, const std::vector<std::uint32_t>& index) {
    Known out{server_.take(x.array, index), {}, x.loaded};
    for (const std::uint32_t i : index) out.errors.push_back(x.errors[i]);
    return out;
  }
  Known join(const Known& x, const Known& y) {
    const Array both[] = {x.array, y.array};
    Known out{server_.concatenate(both), x.errors, x.loaded || y.loaded};
    out.errors.insert(out.errors.end(), y.errors.begin(), y.errors.end());
    return out;
  }
  /// Through the host's memory, or as through a file.
  Known moved(const Known& x, bool forgets) {
    Ciphertexts host = server_.download(x.array);
    if (forgets) host.origin = {};
    return {server_.upload(host), x.errors, x.loaded || forgets};
  }

  test::Random random_;
  const test::Pair& pair_ = test::pair_of(test::insecure(test::small_literal()));
  const Server server_{pair_.keys, {"cpu", 1}, test::failing()};
  std::vector<double> variances_;
  std::map<Errors, int> gates_;
};

TEST_F(BinfheSharedErrors, AreNeverUnderstated) {
  int exact = 0, more = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<Known> wires;
    for (int i = 0; i < 3; ++i) wires.push_back(fresh());
    for (int step = 0; step < 25; ++step) {
      const Known x = wires[random_.below(wires.size())], y = wires[random_.below(wires.size())];
      const auto some = [&](const Known& of, std::size_t count) {
        return take(of, random_.numbers(count, of.errors.size()));
      };
      const auto weight = [&] { return static_cast<std::int32_t>(random_.below(5)) - 2; };
      const auto kind = random_.below(8);
      Known out = kind < 3    ? sum(x, weight(), y, weight())
                  : kind == 3 ? gate(x, y)
                  : kind == 4 ? some(x, 2)
                  : kind == 5 ? some(join(x, y), 2)
                  : kind == 6 ? moved(x, random_.below(4) == 0)
                              : some(x, 1);
      double truth = 0;
      for (const Errors& errors : out.errors) truth = std::max(truth, variance(errors));
      const double stated = out.array.noise();
      ASSERT_GE(stated, truth * (1 - 1e-9)) << "run " << run << ", step " << step << ", " << kind;
      ++(stated <= truth * (1 + 1e-9) ? exact : more);
      wires.push_back(std::move(out));
    }
  }
  EXPECT_GT(exact, more);  // and not just large
}

}  // namespace
}  // namespace whorl::binfhe
