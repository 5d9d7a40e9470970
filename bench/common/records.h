// Benchmark records: one JSON object a line, with the members that CONTRIBUTING.md names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/command_line.h"
#include "common/devices.h"
#include "common/statistics.h"

namespace whorl::bench {

/// What others report: on which device, where; the median in the record's unit.
struct Peer {
  std::string name, version;
  double median = 0;
};

/// A member that only some records have.
using Value = std::variant<bool, std::uint64_t, double, std::string, std::vector<double>>;
using Members = std::vector<std::pair<std::string, Value>>;

/// What was measured once. Members without a value are null.
struct Record {
  std::string op = {}, params = {};
  std::string scheme = {};  ///< none if empty
  std::size_t batch = 1;
  bool transfers = false;  ///< included
  bool host = false;       ///< the CPU's work, whatever the device is
  std::string unit = "s";  ///< "s", "1/s", "bytes", …
  std::optional<double> median = {}, least = {}, most = {};
  std::size_t runs = 1;
  Peer peer = {};  ///< none without a name
  std::optional<double> security_bits = {}, pfail_log2 = {};
  Members more = {};

  /// Times as they are, or as a rate of `count` operations each where the unit is "1/s".
  void set(const Times& times, double count = 1);
  /// One value.
  void set(double value) { median = least = most = value; }
  /// > 1: faster than the peer.
  std::optional<double> ratio() const;
};

/// Six significant digits.
std::string number(double value);

/// "2^12"-like exponent of a power of two.
unsigned log2_of(std::uint64_t power);

/// Where records go: to the file that --record names, to stdout if asked for, or both.
class Records {
 public:
  enum class To : unsigned char { file, file_and_stdout };
  /// IoError if the file cannot be written.
  Records(std::string bench, const Common& common, Machine machine, To to = To::file);
  ~Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  void add(const Record& record) const;

 private:
  std::string bench_, commit_, date_;
  Machine machine_;
  bool to_stdout_;
  std::FILE* file_ = nullptr;
};

}  // namespace whorl::bench
