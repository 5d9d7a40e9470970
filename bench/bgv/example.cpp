// OpenFHE's simple-integers-bgvrns, step by step.
#include "bgv/bgv.h"
#include "common/bench.h"

namespace whorl::bench {
namespace {

using namespace bgv;

/// The example, from nothing to its results, several times; a record for each of its steps.
class Example {
 public:
  Example(const BgvOptions& options, const Configuration& configuration)
      : options_(options), configuration_(configuration), parameters_(choose(configuration)) {
    constexpr std::int64_t vectors[3][12] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                             {3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                             {1, 2, 5, 2, 5, 6, 7, 8, 9, 10, 11, 12}};
    for (const auto& vector : vectors) {
      values_.emplace_back(std::begin(vector), std::end(vector));
      values_.back().resize(parameters_.N());
    }
  }

  void run(const BgvRecords& records) {
    once();  // the device wakes up, memory is taken
    steps_.clear();
    const unsigned fewest = options_.quick ? 3 : 5;
    const double start = seconds_now();
    for (unsigned runs = 0; runs < 50; ++runs) {
      if (runs >= fewest && seconds_now() - start > (options_.quick ? 0.3 : 3)) break;
      once();
    }
    for (const Step& step : steps_) {
      Record record{.op = step.op, .transfers = step.copies};
      record.more = {{"part", "example"}, {"calls", std::uint64_t{step.calls}}};
      records.add(parameters_, record, Times(step.times));
    }
  }

 private:
  struct Step {
    std::string op;
    unsigned calls;
    bool copies;
    std::vector<double> times;
  };
  using Row = std::vector<std::int64_t>;

  void step(const std::string& op, unsigned calls, const std::function<void(unsigned)>& call,
            bool copies = false) {
    const double start = seconds_now(options_.clock());
    for (unsigned i = 0; i < calls; ++i) {
      call(i);
      if (server_) server_->synchronise();
    }
    const double seconds = seconds_now(options_.clock()) - start;
    if (!timed_) return;
    const auto found = std::find_if(steps_.begin(), steps_.end(),
                                    [&](const Step& known) { return known.op == op; });
    if (found == steps_.end())
      steps_.push_back({op, calls, copies, {seconds}});
    else
      found->times.push_back(seconds);
  }

  void once() {
    const bool chained = configuration_.depth > 1;
    std::optional<Client> client;
    std::optional<PublicKey> public_key;
    std::optional<EvaluationKeys> keys, rotation_keys;
    std::vector<Ciphertexts> in, out;
    std::vector<Array> x;
    Array sum, product, second;
    std::vector<Array> turned;
    std::vector<std::vector<std::uint64_t>> results;

    step("parameters", 1, [&](unsigned) { choose(configuration_); });
    step("keygen_pair", 1, [&](unsigned) {
      client.emplace(parameters_);
      public_key = client->public_key();
    });
    step("keygen_relin", 1, [&](unsigned) {
      keys = client->evaluation_keys({3, {}, false}, options_.threads);
    });
    step("keygen_rotate", 1, [&](unsigned) {
      rotation_keys = client->evaluation_keys({2, rotations, false}, options_.threads);
    });
    keys->keys.insert(keys->keys.end(), rotation_keys->keys.begin(), rotation_keys->keys.end());
    step("encrypt", 3, [&](unsigned i) { in.push_back(bgv::encrypt(*public_key, values_[i])); });
    step(
        "load_keys", 1, [&](unsigned) { server_.emplace(*keys, options_.server()); }, true);
    step(
        "upload", 3, [&](unsigned i) { x.push_back(server_->upload(in[i])); }, true);
    for (const bool timed : {false, true}) {  // a server does more than one thing in its life
      sum = product = second = Array();
      turned.clear();
      timed_ = timed;
      step("add", 2, [&](unsigned i) { sum = server_->add(i ? sum : x[0], x[i + 1]); });
      step("mult_relin", 2, [&](unsigned i) {
        if (i == 0)
          product = server_->multiply(x[0], x[1]);
        else
          second = server_->multiply(chained ? product : x[0], x[2]);
      });
      step("rotate", static_cast<unsigned>(rotations.size()),
           [&](unsigned i) { turned.push_back(server_->rotate(x[0], rotations[i])); });
    }
    std::vector<Array> all{sum, second};
    all.insert(all.end(), turned.begin(), turned.end());
    const auto many = static_cast<unsigned>(all.size());
    step(
        "download", many, [&](unsigned i) { out.push_back(server_->download(all[i])); }, true);
    step("decrypt", many, [&](unsigned i) { results.push_back(client->decrypt(out[i])); });
    server_.reset();
    check(results, chained);
  }

  /// What is timed must be right.
  void check(const std::vector<std::vector<std::uint64_t>>& results, bool chained) const {
    const Row &a = values_[0], &b = values_[1], &c = values_[2];
    const auto half = static_cast<std::int64_t>(parameters_.N() / 2);
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::vector<std::int64_t> expected{a[i] + b[i] + c[i], a[i] * c[i] * (chained ? b[i] : 1)};
      const auto at = static_cast<std::int64_t>(i);
      for (const std::int64_t by : rotations)
        expected.push_back(
            a[static_cast<std::size_t>(at / half * half + (at % half + by + half) % half)]);
      for (std::size_t r = 0; r < expected.size(); ++r)
        if (results[r][i] != static_cast<std::uint64_t>(expected[r]) % parameters_.t())
          throw Error("slot " + std::to_string(i) + " of the example's result " +
                      std::to_string(r) + " came out wrong");
    }
  }

  inline static const Row rotations{1, 2, 3, -1, -2};
  const BgvOptions& options_;
  Configuration configuration_;
  Parameters parameters_;
  std::vector<Row> values_;
  std::optional<Server> server_;
  bool timed_ = true;
  std::vector<Step> steps_;
};

}  // namespace

void measure_example(const BgvOptions& options, const Configuration& configuration,
                     const BgvRecords& records) {
  Example(options, configuration).run(records);
}

}  // namespace whorl::bench
