#include "run/keys.h"

#include <algorithm>
#include <utility>

#include "whorl/error.h"

namespace whorl::run {

/// Marks, under the budget's lock, that this thread waits: for a lane, or for room. What it holds
/// is not to be waited for then, or two might wait for one another.
class KeyBudget::Waiting {
 public:
  explicit Waiting(const KeyBudget& budget) : budget_(budget) {
    budget_.waiting_.push_back(std::this_thread::get_id());
    budget_.tell();
  }
  /// The lock is held again by then.
  ~Waiting() {
    auto& all = budget_.waiting_;
    all.erase(std::ranges::find(all, std::this_thread::get_id()));
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  const KeyBudget& budget_;
};

// ---- KeyBudget

std::size_t KeyBudget::used_locked(const std::string& hardware) const {
  std::size_t sum = 0;
  for (const Entry& entry : entries_)
    if (entry.lane->hardware() == hardware) sum += entry.bytes;
  return sum;
}

std::size_t KeyBudget::used(const Lane& lane) const {
  const std::scoped_lock lock(mutex_);
  return used_locked(lane.hardware());
}

KeyBudget::Entries KeyBudget::take_unused(const std::string& hardware, std::size_t bytes) const {
  Entries out;
  std::size_t sum = 0;
  for (auto at = entries_.begin(); at != entries_.end() && sum < bytes;) {
    const auto entry = at++;
    if (entry->lane->hardware() != hardware || !entry->holders.empty()) continue;
    sum += entry->bytes;
    entry->key->leave(entry);
    out.splice(out.end(), entries_, entry);
  }
  return out;
}

std::size_t KeyBudget::make_room(const Lane& lane, std::size_t bytes) const {
  Lock lock(mutex_);
  const Entries leaving = take_unused(lane.hardware(), bytes);
  lock.unlock();
  std::size_t sum = 0;
  for (const Entry& entry : leaving) sum += entry.bytes;
  return sum;
}

bool KeyBudget::will_free(const std::string& hardware) const {
  const Holder here = this_thread();
  const auto goes_on = [&](const Holder& holder) {
    return holder.process == here.process && holder != here &&
           std::ranges::find(waiting_, holder.thread) == waiting_.end();
  };
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.lane->hardware() == hardware && std::ranges::any_of(entry.holders, goes_on);
  });
}

void KeyBudget::reserve(Lock& lock, const Lane& lane, std::size_t bytes) const {
  const std::string& hardware = lane.hardware();
  while (true) {
    const std::size_t used = used_locked(hardware);
    if (used <= bytes_ && bytes <= bytes_ - used) return;
    if (bytes <= bytes_) {
      const std::size_t missing = used - (bytes_ - bytes);
      Entries leaving = take_unused(hardware, missing);
      if (!leaving.empty()) {
        lock.unlock();
        leaving.clear();
        lock.lock();
        continue;
      }
      if (will_free(hardware)) {
        const Waiting waiting(*this);
        const std::uint32_t seen = freed_.load();
        lock.unlock();
        freed_.wait(seen);
        lock.lock();
        continue;
      }
    }
    throw KeyRoomError("a key of " + std::to_string(bytes) + " bytes does not fit " + lane.name() +
                       ": keys may take " + std::to_string(bytes_) +
                       " bytes there, and those in use take " + std::to_string(used));
  }
}

std::shared_ptr<const void> KeyBudget::hold(Entries::iterator entry) const {
  const Holder holder = this_thread();
  entry->holders.push_back(holder);
  entries_.splice(entries_.end(), entries_, entry);
  return {entry->prepared.get(), [budget = shared_from_this(), entry, holder](const void*) {
            budget->let_go(entry, holder);
          }};
}

void KeyBudget::let_go(Entries::iterator entry, const Holder& holder) const {
  Entries leaving;
  if (mutex_.abandoned()) return;  // called by destructors
  const std::scoped_lock lock(mutex_);
  entry->holders.erase(std::ranges::find(entry->holders, holder));
  // Waiting threads are told also where others hold it still: who waits asks anew whether any of
  // them goes on.
  if (!waiting_.empty()) tell();
  if (entry->holders.empty() && !entry->key) leaving.splice(leaving.end(), entries_, entry);
}

// ---- KeyOnDevices

KeyOnDevices::KeyOnDevices(std::shared_ptr<KeyBudget> budget, std::size_t bytes, PrepareKey prepare)
    : budget_(std::move(budget)), prepare_(std::move(prepare)), bytes_(bytes) {}

KeyOnDevices::~KeyOnDevices() {
  KeyBudget::Entries leaving;
  if (budget_->mutex_.abandoned()) return;
  const std::scoped_lock lock(budget_->mutex_);
  while (!places_.empty()) {
    const Place place = places_.back();
    leave(place);
    if (place->holders.empty()) leaving.splice(leaving.end(), budget_->entries_, place);
  }
}

KeyOnDevices::Place KeyOnDevices::find(const Lane& lane) const {
  for (const Place place : places_)
    if (place->lane.get() == &lane) return place;
  return budget_->entries_.end();
}

void KeyOnDevices::leave(Place place) const {
  std::erase(places_, place);
  place->key = nullptr;
}

bool KeyOnDevices::is_on(const Lane& lane) const {
  const std::scoped_lock lock(budget_->mutex_);
  return find(lane) != budget_->entries_.end();
}

std::size_t KeyOnDevices::bytes_on(const Lane& lane) const {
  const std::scoped_lock lock(budget_->mutex_);
  const Place place = find(lane);
  return place == budget_->entries_.end() ? 0 : place->bytes;
}

void KeyOnDevices::release(const Lane& lane) const {
  KeyBudget::Entries leaving;
  const std::scoped_lock lock(budget_->mutex_);
  const Place place = find(lane);
  if (place == budget_->entries_.end()) return;
  leave(place);
  if (place->holders.empty()) leaving.splice(leaving.end(), budget_->entries_, place);
}

std::shared_ptr<const void> KeyOnDevices::get(const Lane& lane) const {
  KeyBudget::Lock lock(budget_->mutex_);
  const auto none = budget_->entries_.end();
  if (const Place place = find(lane); place != none) return budget_->hold(place);
  if (lane.held()) return prepare(lane, lock);

  std::unique_lock<const Lane> held;
  {
    const KeyBudget::Waiting waiting(*budget_);
    lock.unlock();
    held = lane.hold();
    lock.lock();
  }
  // A call in another thread may have prepared it meanwhile.
  if (const Place place = find(lane); place != none) return budget_->hold(place);
  return prepare(lane, lock);
}

std::shared_ptr<const void> KeyOnDevices::prepare(const Lane& lane, KeyBudget::Lock& lock) const {
  KeyBudget& budget = *budget_;
  lane.residents().know(budget_);
  const std::size_t about = bytes_;
  budget.reserve(lock, lane, about);
  const Place place = budget.entries_.insert(
      budget.entries_.end(),
      {this, lane.shared_from_this(), about, nullptr, {KeyBudget::this_thread()}});
  lock.unlock();
  SizedKey prepared;
  try {
    prepared = prepare_with_room(lane, about);
    lock.lock();
    bytes_ = prepared.bytes;
    if (prepared.bytes > about) {  // room for all of it, as if it were not there yet
      place->bytes = 0;
      budget.reserve(lock, lane, prepared.bytes);
    }
  } catch (...) {
    if (lock.owns_lock()) lock.unlock();
    prepared = {};
    lock.lock();
    budget.entries_.erase(place);
    budget.tell();
    throw;
  }
  place->bytes = prepared.bytes;
  if (prepared.bytes < about) budget.tell();
  place->prepared = std::move(prepared.key);
  places_.push_back(place);
  place->holders.clear();  // hold() enters it
  return budget.hold(place);
}

SizedKey KeyOnDevices::prepare_with_room(const Lane& lane, std::size_t about) const {
  while (true) {
    try {
      return prepare_(lane.queue());
    } catch (const OutOfMemoryError&) {
      if (budget_->make_room(lane, about) == 0 && !lane.residents().spill()) throw;
    }
  }
}

}  // namespace whorl::run
