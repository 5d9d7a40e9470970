#include "run/residents.h"

#include <algorithm>

namespace whorl::run {

void Residents::enroll(const std::shared_ptr<Resident>& resident) {
  if (all_.size() >= tidy_at_) {
    std::erase_if(all_, [](const auto& each) { return each.expired(); });
    tidy_at_ = std::max<std::size_t>(64, 2 * all_.size());
  }
  all_.push_back(resident);
  touch(*resident);
}

bool Residents::spill(std::uint64_t since) {
  std::vector<std::shared_ptr<Resident>> there;
  for (const auto& each : all_)
    if (auto resident = each.lock(); resident && resident->used_ <= since && resident->is_there())
      there.push_back(std::move(resident));
  std::ranges::sort(there, {}, [](const auto& resident) { return resident->used_; });
  std::size_t left = 0;
  for (std::size_t i = 0; i < there.size() && (left == 0 || i < there.size() / 2); ++i)
    left += there[i]->spill();
  return left > 0;
}

void Residents::know(const std::shared_ptr<const RoomMaker>& maker) {
  std::erase_if(makers_, [](const auto& each) { return each.expired(); });
  if (std::ranges::none_of(makers_, [&](const auto& each) { return each.lock() == maker; }))
    makers_.push_back(maker);
}

bool Residents::ask_room_makers(const Lane& lane) {
  std::size_t freed = 0;
  for (const auto& each : makers_)
    if (const auto maker = each.lock()) freed += maker->make_room(lane, ~std::size_t{0});
  return freed > 0;
}

}  // namespace whorl::run
