#include "backend/contract/relay.h"

namespace whorl::backend {

Relay::Relay(std::shared_ptr<const Device> device, std::unique_ptr<Queue> behind)
    : Queue(std::move(device)), behind_(std::move(behind)) {
  const auto both_words = [this]<class Word>(Word) {
    if (behind_->offers<RingOps<Word>>())
      offer<RingOps<Word>>(std::make_shared<RelayRing<Word>>(*this, *behind_));
    if (behind_->offers<RnsOps<Word>>())
      offer<RnsOps<Word>>(std::make_shared<RelayRns<Word>>(*this, *behind_));
    if (behind_->offers<RotationOps<Word>>())
      offer<RotationOps<Word>>(std::make_shared<RelayRotation<Word>>(*this, *behind_));
  };
  both_words(std::uint32_t{});
  both_words(std::uint64_t{});
  if (behind_->offers<FftOps>()) offer<FftOps>(std::make_shared<RelayFft>(*this, *behind_));
  if (behind_->offers<LweOps>()) offer<LweOps>(std::make_shared<RelayLwe>(*this, *behind_));
}

}  // namespace whorl::backend
