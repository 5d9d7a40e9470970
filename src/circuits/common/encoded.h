// What circuits keep of objects that are encoded once for many calls.
#pragma once

#include <memory>
#include <utility>

#include "whorl/error.h"

namespace whorl::circuits {

/// Makes an object of its Storage, which only its circuit knows, and finds that again. An object
/// that was not made so has none: ShapeError, as Storage::missing says.
template <class Encoded>
struct EncodedAccess {
  using Storage = typename Encoded::Storage;

  static Encoded wrap(Storage storage) {
    Encoded out;
    out.storage_ = std::make_shared<const Storage>(std::move(storage));
    return out;
  }
  static const Storage& storage(const Encoded& of) {
    if (!of.storage_) throw ShapeError(Storage::missing);
    return *of.storage_;
  }
};

}  // namespace whorl::circuits
