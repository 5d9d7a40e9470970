// What must be refused, with a message that names the field and its value.
#pragma once

#include "support/test.h"

namespace whorl::test {

/// Changes to something good (a literal, requirements), each of which makes it bad.
template <class Literal>
class Refusals {
 public:
  using Change = std::function<void(Literal&)>;
  struct Row {
    std::string field, value;
    Change change;
  };

  Refusals(std::initializer_list<Row> rows) : rows_(rows) {}
  /// Integers for a field, one change each.
  template <class Value>
  Refusals& of(const std::string& field, Value Literal::*member,
               std::initializer_list<std::type_identity_t<Value>> values) {
    for (const Value value : values)
      rows_.push_back({field, std::to_string(value),
                       [member, value](Literal& literal) { literal.*member = value; }});
    return *this;
  }
  /// `create` throws a ParameterError for each.
  void expect(const Literal& good, const std::function<void(const Literal&)>& create) const {
    EXPECT_NO_THROW(create(good));
    for (const Row& row : rows_) {
      SCOPED_TRACE(row.field + " = " + row.value);
      Literal literal = good;
      row.change(literal);
      const std::string message = message_of<ParameterError>([&] { create(literal); });
      EXPECT_NE(message.find(row.field), std::string::npos) << message;
      EXPECT_NE(message.find(row.value), std::string::npos) << message;
    }
  }

 private:
  std::vector<Row> rows_;
};

}  // namespace whorl::test
