#include "common/records.h"

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "whorl/error.h"

namespace whorl::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &utc);
  return text;
}

/// Digits beyond the sixth are noise; a whole number stays one.
Json rounded(double value) {
  const double kept = std::strtod(number(value).c_str(), nullptr);
  if (kept == static_cast<double>(static_cast<std::int64_t>(kept)) && std::abs(kept) < 1e15)
    return static_cast<std::int64_t>(kept);
  return kept;
}
Json rounded(std::optional<double> value) { return value ? rounded(*value) : Json(); }
Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const Value& value) {
  if (const auto* one = std::get_if<double>(&value)) return rounded(*one);
  if (const auto* many = std::get_if<std::vector<double>>(&value)) {
    Json out = Json::array();
    for (const double each : *many) out.push_back(rounded(each));
    return out;
  }
  return std::visit([](const auto& other) { return Json(other); }, value);
}

}  // namespace

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}
unsigned log2_of(std::uint64_t power) { return static_cast<unsigned>(std::bit_width(power)) - 1; }

void Record::set(const Times& times, double count) {
  const bool rate = unit == "1/s";
  runs = times.runs();
  median = rate ? count / times.median() : times.median();
  least = rate ? count / times.most() : times.least();
  most = rate ? count / times.least() : times.most();
}
std::optional<double> Record::ratio() const {
  if (peer.name.empty() || !median || peer.median <= 0) return {};
  return unit == "1/s" ? *median / peer.median : peer.median / *median;
}

Records::Records(std::string bench, const Common& common, Machine machine, To to)
    : bench_(std::move(bench)),
      commit_(common.commit),
      date_(today()),
      machine_(std::move(machine)),
      to_stdout_(to == To::file_and_stdout) {
  if (common.record.empty()) return;
  file_ = std::fopen(common.record.c_str(), "a");
  if (!file_) throw IoError("cannot write " + common.record + ": " + std::strerror(errno));
}
Records::~Records() {
  if (file_) std::fclose(file_);
}

void Records::add(const Record& r) const {
  Json line = {{"bench", bench_},
               {"op", r.op},
               {"scheme", text_or_null(r.scheme)},
               {"params", r.params},
               {"device", r.host ? "cpu" : machine_.name},
               {"device_count", r.host ? 1 : machine_.devices},
               {"threads", machine_.threads},
               {"batch", r.batch},
               {"transfers", r.transfers ? "included" : "excluded"},
               {"unit", r.unit},
               {"median", rounded(r.median)},
               {"min", rounded(r.least)},
               {"max", rounded(r.most)},
               {"runs", r.runs}};
  const bool compared = !r.peer.name.empty();
  line["peer"] = text_or_null(r.peer.name);
  line["peer_version"] = text_or_null(r.peer.version);
  line["peer_median"] = compared ? rounded(r.peer.median) : Json();
  line["ratio"] = rounded(r.ratio());
  line["security_bits"] = rounded(r.security_bits);
  line["pfail_log2"] = rounded(r.pfail_log2);
  for (const auto& [name, value] : r.more) line[name] = json_of(value);
  line["commit"] = commit_;
  line["date"] = date_;
  const std::string text = line.dump() + "\n";
  for (std::FILE* const to : {to_stdout_ ? stdout : nullptr, file_}) {
    if (!to) continue;
    std::fputs(text.c_str(), to);
    std::fflush(to);
  }
}

}  // namespace whorl::bench
