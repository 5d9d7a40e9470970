// Values from one lane to another, by way of the host.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "run/lane.h"

namespace whorl::run {

/// Copies a lane's words to the host, and waits for them. Takes the lane's hold.
template <class T>
std::vector<T> fetch(const Lane& lane, backend::Slice<const T> from) {
  std::vector<T> out(from.size);
  const auto held = lane.hold();
  lane.queue().download<T>(from, out);
  return out;
}

/// New memory on a lane. Takes the lane's hold.
template <class T>
backend::Buffer<T> place(const Lane& lane, std::span<const T> words) {
  const auto held = lane.hold();
  auto out = lane.queue().template allocate<T>(words.size());
  lane.queue().template upload<T>(words, out.slice());
  return out;
}

/// A copy on lane `to` of what lies on lane `from`. Takes one hold after the other: a thread that
/// holds one of them already holds both (Fleet::together), lest two wait for one another.
template <class T>
backend::Buffer<T> copied(const Lane& from, const Lane& to, backend::Slice<const T> values) {
  if (&from != &to) return place<T>(to, fetch<T>(from, values));
  const auto held = from.hold();
  auto out = from.queue().template allocate<T>(values.size);
  from.queue().template copy<T>(values, out.slice());
  return out;
}

}  // namespace whorl::run
