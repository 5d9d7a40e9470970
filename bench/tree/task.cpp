#include "tree/task.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "whorl/error.h"

namespace whorl::bench {
namespace {

using nlohmann::json;

/// The literal that apps/tree/security.py wrote; what it does not name keeps its default.
binfhe::ParameterLiteral literal_of(const json& fields) {
  binfhe::ParameterLiteral out;
  fields.at("name").get_to(out.name);
  fields.at("source").get_to(out.source);
  fields.at("n").get_to(out.n);
  fields.at("q").get_to(out.q);
  fields.at("N").get_to(out.N);
  fields.at("Q").get_to(out.Q);
  fields.at("Q_ks").get_to(out.Q_ks);
  fields.at("log_B_ks").get_to(out.log_B_ks);
  fields.at("ks_digits").get_to(out.ks_digits);
  fields.at("max_p").get_to(out.max_p);
  fields.at("padding").get_to(out.padding);
  for (const json& range : fields.at("gadget"))
    out.gadget.push_back({range.at(0), range.at(1), range.at(2)});
  out.key_switch =
      fields.at("key_switch") == "product" ? binfhe::KeySwitch::product : binfhe::KeySwitch::table;
  out.lwe_secret = fields.at("lwe_secret") == "binary" ? binfhe::SecretDistribution::binary
                                                       : binfhe::SecretDistribution::ternary;
  out.transform = fields.at("transform") == "ntt" ? binfhe::Transform::ntt : binfhe::Transform::fft;
  return out;
}

}  // namespace

TreeTask read_task(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError(path + ": cannot be read (apps/tree/task.py writes it)");
  const json all = json::parse(file);
  TreeTask task;
  task.parameters = literal_of(all.at("parameters"));
  all.at("p_in").get_to(task.p_in);
  all.at("p_sum").get_to(task.p_sum);
  all.at("p_out").get_to(task.p_out);
  all.at("features").get_to(task.features);
  all.at("tests").get_to(task.tests);
  all.at("ways").get_to(task.ways);
  all.at("ends").get_to(task.ends);
  all.at("weights").get_to(task.weights);
  all.at("base").get_to(task.base);
  all.at("flowers").get_to(task.flowers);
  all.at("classes").get_to(task.classes);
  return task;
}

}  // namespace whorl::bench
