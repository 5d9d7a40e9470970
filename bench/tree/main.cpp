// The decision tree of apps/tree on encrypted irises, one flower at a time and in batches: from
// ciphertexts in the host's memory to classes there. The circuit is the application's
// (apps/tree/circuit.py); here it runs without Python. Every answer is decrypted and compared with
// the tree in the clear.
//
// usage: bench_tree [--task FILE] [--device cuda:0] [--rotation ginx,unrolled:4,…]
//                   [--batch 1,50,…] [--quick] [--record FILE] [--commit ID]
//
// A batch is of flowers. Each rotation is a key of its own; "unrolled:m" has m coefficients a step.
#include <numeric>
#include <stdexcept>

#include "common/bench.h"
#include "common/binfhe.h"
#include "tree/task.h"
#include "whorl/binfhe.h"

namespace whorl::bench {
namespace {

using namespace binfhe;

struct TreeOptions : Common {
  std::string task = "bench/tree/iris.json";
  std::vector<std::string> rotations = {"ginx"};
  std::vector<std::uint64_t> batches = {1, 50};
};

Rotation rotation_of(const std::string& name) {
  if (name == "ginx") return {};
  const std::string prefix = "unrolled:";
  if (!name.starts_with(prefix))
    throw std::invalid_argument(name + " is neither ginx nor unrolled:M");
  return {RotationKind::unrolled,
          static_cast<std::uint32_t>(std::stoul(name.substr(prefix.size())))};
}

std::vector<Lut> luts_of(const Parameters& parameters, const std::vector<Words>& tables,
                         Encoding input, Encoding output) {
  std::vector<Lut> out;
  for (const Words& table : tables) out.push_back(Lut::create(parameters, table, input, output));
  return out;
}

/// 0 … size - 1, as often as there are flowers.
Words repeated(std::size_t size, std::size_t flowers) {
  Words out(size * flowers);
  for (std::size_t at = 0; at < out.size(); ++at) out[at] = static_cast<std::uint32_t>(at % size);
  return out;
}

/// `width` arrays' columns for each flower: out[flower·columns + k] = columns[k] of the flower,
/// where `place` says where a column of a flower lies.
template <class Place>
Words gathered(std::size_t flowers, const Words& columns, const Place& place) {
  Words out;
  out.reserve(flowers * columns.size());
  for (std::size_t flower = 0; flower < flowers; ++flower)
    for (const std::uint32_t column : columns)
      out.push_back(static_cast<std::uint32_t>(place(flower, column)));
  return out;
}

/// The circuit for a number of flowers: tables, indices and weights are made once.
class Classifier {
 public:
  Classifier(const Server& server, const TreeTask& task, std::size_t flowers)
      : server_(server),
        tests_(luts_of(server.parameters(), task.tests, {task.p_in, true}, {task.p_sum, true})),
        ends_(luts_of(server.parameters(), task.ends, {task.p_sum, true}, {task.p_out, false})),
        zero_(server.trivial_array({0}, {task.p_sum, true})),
        which_test_(repeated(task.tests.size(), flowers)),
        which_end_(repeated(task.ends.size(), flowers)),
        ones_(task.ways.front().size(), 1),
        weights_(task.weights),
        base_(task.base) {
    const std::size_t features = task.flowers.front().size(), nodes = task.tests.size();
    features_ = gathered(flowers, task.features, [&](std::size_t flower, std::size_t feature) {
      return flower * features + feature;
    });
    // Literals: bits of all flowers, then their negations, then one zero.
    for (std::size_t at = 0; at < ones_.size(); ++at) {
      Words column;
      for (const Words& way : task.ways) column.push_back(way.at(at));
      ways_.push_back(gathered(flowers, column, [&](std::size_t flower, std::size_t literal) {
        if (literal == 2 * nodes) return 2 * nodes * flowers;
        const std::size_t negated = literal / nodes;
        return (negated * flowers + flower) * nodes + literal % nodes;
      }));
    }
    const std::size_t leaves = task.ends.size();
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
      leaves_.push_back(gathered(flowers, {leaf}, [&](std::size_t flower, std::size_t column) {
        return flower * leaves + column;
      }));
  }

  Ciphertexts operator()(const Ciphertexts& query) const {
    const Array features = server_.upload(query);
    const Array bits = server_.apply(tests_, which_test_, server_.take(features, features_));
    const Array literals = server_.concatenate(
        std::vector<Array>{bits, sum(std::vector<std::int32_t>{-1}, {bits}, 1), zero_});
    const Array agreements = sum(ones_, taken(literals, ways_), 0);
    const Array indicators = server_.apply(ends_, which_end_, agreements);
    return server_.download(sum(weights_, taken(indicators, leaves_), base_));
  }

 private:
  std::vector<Array> taken(const Array& all, const std::vector<Words>& indices) const {
    std::vector<Array> out;
    for (const Words& index : indices) out.push_back(server_.take(all, index));
    return out;
  }
  Array sum(const std::vector<std::int32_t>& weights, const std::vector<Array>& arrays,
            std::int32_t constant) const {
    std::vector<const Array*> inputs;
    for (const Array& array : arrays) inputs.push_back(&array);
    return server_.linear(weights, inputs, constant);
  }

  const Server& server_;
  std::vector<Lut> tests_, ends_;
  Array zero_;
  Words which_test_, which_end_, features_;
  std::vector<Words> ways_, leaves_;
  std::vector<std::int32_t> ones_, weights_;
  std::int32_t base_;
};

void check(const Client& client, const TreeTask& task, const Ciphertexts& answer) {
  const auto classes = client.decrypt(answer);
  for (std::size_t flower = 0; flower < classes.size(); ++flower) {
    const std::uint32_t right = task.classes[flower % task.classes.size()];
    if (classes[flower] != right)
      throw std::runtime_error("flower " + std::to_string(flower) + " came out as class " +
                               std::to_string(classes[flower]) + ", not " + std::to_string(right));
  }
}

int run(CommandLine& line) {
  TreeOptions options;
  options.device = "cuda:0";
  line.device(options).record(options).quick(options);
  line.add("--task", options.task, "what apps/tree/task.py wrote")
      .list("--rotation", options.rotations, "ginx or unrolled:M, with commas between")
      .list("--batch", options.batches, "flowers, with commas between")
      .parse();
  const TreeTask task = read_task(options.task);
  const Records records("tree", options, machine_of(options.device));
  const Effort effort{.fewest = options.quick ? 3u : 10u,
                      .most = options.quick ? 10u : 100u,
                      .seconds = options.quick ? 0.2 : 1.0};
  for (const std::string& name : options.rotations) {
    ParameterLiteral literal = task.parameters;
    literal.rotation = rotation_of(name);
    const auto parameters = Parameters::create(literal);
    const Client client(parameters);
    // This is for tables on fresh levels: apps/tree/security.py bounds the failure.
    const Server server(client.evaluation_keys(), {options.device}, {.allow_failure = 1});
    for (const std::size_t flowers : options.batches) {
      Words levels;
      for (std::size_t flower = 0; flower < flowers; ++flower)
        for (const std::uint32_t level : task.flowers[flower % task.flowers.size()])
          levels.push_back(level);
      const Ciphertexts query = client.encrypt(levels, {task.p_in, true});
      const Classifier classify(server, task, flowers);
      check(client, task, classify(query));
      Record record{.op = "tree", .params = parameters.name(), .batch = flowers, .transfers = true};
      if (name != "ginx") record.params += " " + name;
      record.unit = flowers == 1 ? "s" : "1/s";
      describe(record, parameters, parameters.literal().transform);
      record.more.emplace_back("rotations", std::uint64_t{task.tests.size() + task.ends.size()});
      record.more.emplace_back("rotations_in_sequence", std::uint64_t{2});
      record.more.emplace_back("key_bytes", std::uint64_t{server.key_bytes()});
      record.set(measure(effort, {.run = [&] { classify(query); }}), static_cast<double>(flowers));
      std::printf("%-24s %6zu flowers: %12s %s\n", record.params.c_str(), flowers,
                  number(record.median.value_or(0)).c_str(), record.unit.c_str());
      std::fflush(stdout);
      records.add(record);
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_tree", whorl::bench::run);
}
