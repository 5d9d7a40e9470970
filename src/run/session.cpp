#include "run/session.h"

#include "math/memory.h"

namespace whorl {

namespace run {

SessionState::SessionState(const SessionOptions& options, backend::BlindRotation rotation)
    : fleet(Fleet::open(options.device, {options.threads, {}, rotation}, {options.interrupt})),
      budget(std::make_shared<KeyBudget>(options.key_bytes == 0 ? KeyBudget::unlimited
                                                                : options.key_bytes)),
      names(fleet->names()),
      name(fleet->name()) {}

const std::shared_ptr<const SessionState>& state_of(const Session& session) {
  return session.state_;
}

}  // namespace run

Session::Session(const SessionOptions& options)
    : state_(math::with_memory_for(
          "a session", [&] { return std::make_shared<const run::SessionState>(options); })) {}

const std::string& Session::device() const { return state_->name; }
const std::vector<std::string>& Session::devices() const { return state_->names; }
std::vector<FailedDevice> Session::failed_devices() const { return state_->fleet->failed(); }
unsigned Session::threads() const { return state_->fleet->lane(0)->device().threads(); }
std::size_t Session::key_bytes() const {
  const std::size_t bytes = state_->budget->bytes();
  return bytes == run::KeyBudget::unlimited ? 0 : bytes;
}
void Session::synchronise() const { state_->fleet->wait(); }

}  // namespace whorl
