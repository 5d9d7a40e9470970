#include "run/fleet.h"

#include <utility>

#include "run/threads.h"
#include "whorl/error.h"

namespace whorl::run {

Fleet::Fleet(std::vector<std::shared_ptr<const backend::Device>> devices, FleetOptions options)
    : options_(std::move(options)), shared_(std::make_shared<Shared>(devices.size())) {
  if (devices.empty()) throw DeviceError("a server needs at least one device");
  if (options_.interrupt) options_.interrupt = guarded(std::move(options_.interrupt));
  lanes_.reserve(devices.size());
  for (auto& device : devices) lanes_.push_back(std::make_shared<const Lane>(std::move(device)));
}

std::shared_ptr<const Fleet> Fleet::open(const std::string& name, backend::DeviceOptions device,
                                         FleetOptions options) {
  device.interrupt = options.interrupt ? guarded(options.interrupt) : nullptr;
  return std::make_shared<const Fleet>(backend::make_devices(name, device), std::move(options));
}

std::shared_ptr<const Fleet> Fleet::with_least_share(std::size_t least_share) const {
  auto out = std::make_shared<Fleet>(*this);
  out->options_.least_share = least_share;
  return out;
}

std::vector<std::string> Fleet::names() const {
  std::vector<std::string> out;
  out.reserve(size());
  for (const auto& lane : lanes_) out.push_back(lane->name());
  return out;
}

std::string Fleet::name() const {
  std::string out;
  for (const auto& lane : lanes_) out.append(out.empty() ? "" : ", ").append(lane->name());
  return out;
}

std::vector<FailedDevice> Fleet::failed() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->failures;
}

void Fleet::mark_failed(std::size_t lane, const std::string& message) const {
  if (size() == 1) return;
  const std::scoped_lock lock(shared_->mutex);
  if (shared_->out_of_use[lane].exchange(true)) return;  // a call in another thread was first
  shared_->failures.push_back({lanes_[lane]->name(), message});
}

std::size_t Fleet::failures() const {
  if (size() == 1) return 0;
  const std::scoped_lock lock(shared_->mutex);
  return shared_->failures.size();
}

void Fleet::wait() const {
  std::exception_ptr first;
  for (std::size_t l = 0; l < size(); ++l) {
    if (has_failed(l)) continue;
    const auto held = lanes_[l]->hold();
    try {
      lanes_[l]->queue().wait();
    } catch (const DeviceError& error) {
      note(l, error.what(), first);
    }
  }
  if (first) std::rethrow_exception(first);
}

void Fleet::refuse_all_failed() const {
  std::string all;
  for (const auto& [name, message] : failed())
    all.append(all.empty() ? "" : "; ").append(name).append(": ").append(message);
  throw DeviceError("all devices of this server have failed: " + all);
}

std::vector<Piece> Fleet::pieces(std::size_t count, std::size_t most) const {
  const std::size_t worth =
      std::max<std::size_t>(1, count / std::max<std::size_t>(1, options_.least_share));
  most = std::max<std::size_t>(1, most);
  if (size() == 1 && count > 0 && count <= most) return {{0, {0, count}}};
  std::vector<std::size_t> working;  // looked at once: another thread may find one failed
  for (std::size_t l = 0; l < size() && working.size() < worth; ++l)
    if (!has_failed(l)) working.push_back(l);
  if (working.empty()) refuse_all_failed();
  const std::size_t used = working.size();

  std::vector<Piece> out;
  for (std::size_t k = 0; k < used; ++k) {
    const std::size_t begin = count * k / used, share = count * (k + 1) / used - begin;
    const std::size_t parts = share / most + (share % most != 0);
    if (k == 0) out.reserve(used * parts);
    for (std::size_t p = 0; p < parts; ++p) {
      const std::size_t from = share * p / parts, to = share * (p + 1) / parts;
      out.push_back({working[k], {begin + from, to - from}});
    }
  }
  return out;
}

void Fleet::refuse_to_go_on(std::size_t done, std::size_t of, const char* what) {
  throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(of) +
                         " " + what);
}

bool Fleet::one_lane(std::span<const Piece> pieces) const {
  return size() == 1 || std::ranges::all_of(pieces, [&](const Piece& piece) {
           return piece.lane == pieces[0].lane;
         });
}

bool Fleet::holds_any(std::span<const Piece> pieces) const {
  return std::ranges::any_of(pieces,
                             [&](const Piece& piece) { return lanes_[piece.lane]->held(); });
}

void Fleet::note(std::size_t lane, const std::string& message, std::exception_ptr& first) const {
  mark_failed(lane, message);
  if (!first) first = std::current_exception();
}

void Fleet::side_by_side(std::span<const Piece> pieces,
                         const std::function<void(std::size_t)>& body) const {
  std::vector<std::size_t> used;
  for (const Piece& piece : pieces)
    if (std::ranges::find(used, piece.lane) == used.end()) used.push_back(piece.lane);
  std::vector<std::exception_ptr> lost(used.size()), other(used.size());
  std::atomic<bool> ended = false;  // an error that is no device's: the call will not succeed
  in_threads(
      used.size(),
      [&](std::size_t u) {
        try {
          const auto held = lanes_[used[u]]->hold();
          for (std::size_t i = 0; i < pieces.size() && !ended; ++i)
            if (pieces[i].lane == used[u]) {
              stop_if_asked(i, pieces.size(), pieces_of_a_batch);
              body(i);
            }
        } catch (const backend::RefusedError&) {
          other[u] = std::current_exception();
          ended = true;
        } catch (const DeviceError& error) {
          note(used[u], error.what(), lost[u]);
        } catch (...) {
          other[u] = std::current_exception();
          ended = true;
        }
      },
      options_.interrupt);
  for (const auto* errors : {&other, &lost})
    for (const std::exception_ptr& error : *errors)
      if (error) std::rethrow_exception(error);
}

void Fleet::begin_together() const {
  std::size_t begun = 0;
  try {
    for (const auto& lane : lanes_) {
      auto held = lane->hold();
      lane->queue().begin_together();
      held.release();
      ++begun;
    }
  } catch (...) {
    for (std::size_t l = 0; l < begun; ++l) {
      try {
        lanes_[l]->queue().end_together();
      } catch (...) {  // what has been thrown first is under way
      }
      lanes_[l]->unlock();
    }
    throw;
  }
}

void Fleet::end_together() const {
  std::exception_ptr first;
  for (std::size_t l = 0; l < size(); ++l) {
    const std::unique_lock<const Lane> held(*lanes_[l], std::adopt_lock);
    const bool known = has_failed(l);
    try {
      lanes_[l]->queue().end_together();
    } catch (const DeviceError& error) {
      if (!known) note(l, error.what(), first);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace whorl::run
