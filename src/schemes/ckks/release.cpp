#include "schemes/ckks/release.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "math/process.h"
#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

std::string name(Packing packing) {
  switch (packing) {
    case Packing::complex:
      return "complex";
    case Packing::real:
      return "real";
    case Packing::coefficients:
      return "coefficients";
  }
  return std::to_string(static_cast<unsigned>(packing));
}

std::string power(double log2) { return "2^" + math::text_of(log2); }

}  // namespace

Ledger::Ledger() : process_(math::process_mark()) {}

// This comes before the mutex, which a thread that the child does not have may hold for ever.
void Ledger::check_process() const {
  if (math::process_mark() != process_)
    throw ParameterError(
        "released: this client was made before the process was forked, and what may be released of "
        "its key is counted in the parent alone. Load the key in the child; give that client by "
        "add_released what this process may not spend, or keep all results for the parent");
}

Released Ledger::released() const {
  check_process();
  const std::scoped_lock lock(mutex_);
  return released_;
}

void Ledger::add(const Released& more) {
  check_process();
  const std::scoped_lock lock(mutex_);
  released_.results += more.results;
  released_.spent += more.spent;
}

void Ledger::spend(std::uint64_t results, double queries) {
  check_process();
  const std::scoped_lock lock(mutex_);
  const double more = static_cast<double>(results) / queries;
  // Doubles round 1/queries; what they lose is far below what this lets pass.
  if (released_.spent + more > 1 + 0x1p-20)
    throw ParameterError("queries = " + math::text_of(queries) + ": " +
                         math::counted(results, "result") + " would spend " + math::text_of(more) +
                         " of what may be released of this key, of which " +
                         math::text_of(std::max(0.0, 1 - released_.spent)) + " is left after " +
                         math::counted(released_.results, "result") +
                         ": state as queries how many ciphertexts will be released in all (a "
                         "vector of more than N/2 values takes several), from the first one on, "
                         "or take a new key");
  released_.results += results;
  released_.spent += more;
}

void Ledger::give_back(std::uint64_t results, double queries) {
  const std::scoped_lock lock(mutex_);
  released_.results -= results;
  released_.spent = std::max(0.0, released_.spent - static_cast<double>(results) / queries);
}

void check_expected(const CiphertextInfo& expected, const CiphertextInfo& stated) {
  const auto require = [](bool good, const char* field, const std::string& has,
                          const std::string& wants) {
    if (!good)
      throw ParameterError(std::string("expect: ") + field + " is " + wants +
                           ", but the ciphertexts state " + has +
                           ": release only results of the function that was planned; if its inputs "
                           "have another packing, length or bound, plan it with theirs");
  };
  const auto same = [&](const char* field, std::uint64_t has, std::uint64_t wants) {
    require(has == wants, field, std::to_string(has), std::to_string(wants));
  };
  // Both are logarithms, which another system's library may round otherwise.
  const auto at_most = [&](const char* field, double has, double wants) {
    require(has <= wants + 0x1p-20, field, power(has), power(wants) + " at most");
  };
  require(stated.packing == expected.packing, "packing", name(stated.packing),
          name(expected.packing));
  same("parts", stated.parts, expected.parts);
  same("level", stated.level, expected.level);
  require(std::abs(stated.scale / expected.scale - 1) <= 0x1p-40, "scale",
          math::exact_text_of(stated.scale), math::exact_text_of(expected.scale));
  same("length", length_of(stated), length_of(expected));
  at_most("bound", stated.bound, expected.bound);
  at_most("error", stated.error, expected.error);
}

}  // namespace whorl::ckks
