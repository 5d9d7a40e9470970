#include "whorl/bgv/forecast.h"

#include "schemes/bgv/account.h"
#include "whorl/error.h"

namespace whorl::bgv {

struct Forecast::State {
  Account account;
};

Forecast::Forecast(const Parameters& parameters)
    : state_(std::make_shared<const State>(State{Account(parameters)})) {}

CiphertextInfo Forecast::encrypted(Packing packing, std::size_t count, std::uint64_t length) const {
  return state_->account.fresh_public(packing, count, length);
}
double Forecast::noise_budget(const Info& a) const { return state_->account.budget(a); }
double Forecast::rated_budget(const Requirements& requirements) const {
  return state_->account.rated_budget(requirements);
}

CiphertextInfo Forecast::add(const Info& a, const Info& b) const {
  return state_->account.add(a, b).result;
}
CiphertextInfo Forecast::multiply(const Info& a, const Info& b) const {
  return state_->account.multiply(a, b).result;
}
CiphertextInfo Forecast::relinearise(const Info& a) const { return state_->account.relinearise(a); }
CiphertextInfo Forecast::automorphism(const Info& a) const { return state_->account.rotate(a); }
CiphertextInfo Forecast::concatenate(std::span<const Info> arrays) const {
  if (arrays.empty()) throw ShapeError("concatenate: no array is given");
  return state_->account.concatenate(arrays).result;
}
bool Forecast::has_zeros(const Info& a) const { return state_->account.has_zeros(a); }
bool Forecast::has_remains(const Info& a) const { return state_->account.has_remains(a); }
bool Forecast::needs_zeros(const Info& a, const Info& b) const {
  return state_->account.needs_zeros(a, b);
}
CiphertextInfo Forecast::take(const Info& a, std::size_t count) const {
  return state_->account.take(a, count);
}
CiphertextInfo Forecast::mod_switch(const Info& a, unsigned limbs) const {
  return state_->account.mod_switch(a, limbs).result;
}
CiphertextInfo Forecast::shrink(const Info& a, double spare_bits) const {
  return state_->account.shrink(a, spare_bits).result;
}
CiphertextInfo Forecast::multiply_scalar(const Info& a, std::int64_t value) const {
  return state_->account.scale(a, state_->account.residue(value));
}
CiphertextInfo Forecast::add_scalar(const Info& a, double norm) const {
  return state_->account.add_constant(a, norm);
}
CiphertextInfo Forecast::add_plain(const Info& a, std::size_t count, double norm,
                                   std::uint64_t length) const {
  return state_->account.add_plain(a, {count, norm, length});
}
CiphertextInfo Forecast::multiply_plain(const Info& a, std::size_t count, double norm,
                                        std::uint64_t length) const {
  return state_->account.multiply_plain(a, {count, norm, length});
}
double Forecast::largest_norm() const { return state_->account.largest_norm(); }

}  // namespace whorl::bgv
