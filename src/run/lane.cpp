#include "run/lane.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "whorl/error.h"

namespace whorl::run {

void wait_quietly(const backend::Queue& queue) {
  try {
    queue.wait();
  } catch (const std::exception&) {
  }
}

Lane::Lane(std::shared_ptr<const backend::Device> device)
    : device_(std::move(device)),
      name_(device_->name()),
      queue_(device_->open()),
      hardware_(device_->memory()) {}

Lane::Queues Lane::lease(std::size_t wanted, std::size_t least) const {
  const std::scoped_lock lock(spare_mutex_);
  const std::size_t usual = std::max(1u, device_->queues());
  // Room first: giving back must not fail.
  spare_.reserve(made_ + wanted);
  Queues out;
  while (out.size() < wanted && !spare_.empty()) {
    out.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  try {
    while (out.size() < least || (out.size() < wanted && made_ < usual)) {
      out.push_back(device_->open());
      ++made_;
    }
  } catch (const Error&) {
    // Fewer queues do as well; below the least, those found stay for other calls.
    if (out.size() < least) {
      for (auto& queue : out) spare_.push_back(std::move(queue));
      throw;
    }
  }
  return out;
}

void Lane::give_back(Queues queues) const {
  if (spare_mutex_.abandoned()) return;  // called by destructors
  const std::scoped_lock lock(spare_mutex_);
  for (auto& queue : queues) spare_.push_back(std::move(queue));
}

}  // namespace whorl::run
