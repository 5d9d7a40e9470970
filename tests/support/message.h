// What a failure says.
#pragma once

#include <string>

#include "whorl/error.h"

namespace whorl::test {

/// The message of the E that `action` throws; empty if it throws none.
template <class E = Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace whorl::test
