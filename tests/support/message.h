// What a failure says.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <typeinfo>

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

/// Type and message of the Error that `action` throws, or "nothing".
template <class Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(typeid(error).name()) + ": " + error.what();
  }
  return "nothing";
}

/// Expects that `action` throws an E, and that its message has these parts.
template <class E = Error, class Action>
void expect_message(const Action& action, std::initializer_list<std::string> parts) {
  const std::string message = message_of<E>(action);
  EXPECT_NE(message, "") << "nothing was thrown";
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

}  // namespace whorl::test
