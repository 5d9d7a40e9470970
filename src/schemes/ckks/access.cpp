#include "schemes/ckks/access.h"

#include <utility>

#include "schemes/ckks/server_state.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

const run::Fleet& Access::fleet(const Server& s) { return *s.state_->fleet; }
const rlwe::Evaluator& Access::evaluator(const Server& s) { return *s.state_->evaluator; }
const rlwe::Keys& Access::keys(const Server& s, SwitchRole role) { return s.state_->keys_of(role); }
const Account& Access::account(const Server& s) { return s.state_->account; }
void Access::check_packed(const Server& s, const char* what, const Array& a) {
  s.state_->check_packed(what, a);
}
void Access::check_alone(const Server& s, const char* what, const Array& a) {
  s.state_->check_alone(what, a);
}
void Access::check_slots(const Server& s, const char* what, const Array& a) {
  s.state_->check_slots(what, a);
}
std::uint32_t Access::rotation(const Server& s, std::uint64_t period, std::int64_t slots,
                               SwitchRole role) {
  return s.state_->rotation(period, slots, role);
}
const rlwe::Array& Access::residues(const Array& a) { return *a.residues_; }
Array Access::put(CiphertextInfo info, rlwe::Array residues) {
  return Server::State::put(std::move(info), std::move(residues));
}
Array Access::narrowed(const Server& s, const Array& a, const Bounds& ends) {
  return Server::State::put(s.state_->account.narrowed(a.info_, ends), residues(a));
}
Array Access::lower(const Server& s, const Array& a, unsigned level, double times) {
  const Account::One to = s.state_->account.bring(a.info_, level, times);
  return s.state_->fleet->together(
      [&] { return Server::State::put(to.result, s.state_->prepared(a, to.a)); });
}
Array Access::restricted(const Server& s, const Array& a, unsigned level) {
  return s.state_->restricted(a, level);
}
Array Access::linear_combination(const Server& s, std::span<const Array> arrays,
                                 std::span<const double> coefficients, double constant,
                                 unsigned level, bool rescale) {
  return s.state_->linear_combination(arrays, coefficients, constant, level, rescale);
}
Array Access::linear_combination(const Server& s, std::span<const Array> arrays,
                                 std::span<const std::vector<std::complex<double>>> coefficients,
                                 std::size_t length, unsigned level, bool rescale) {
  return s.state_->linear_combination(arrays, coefficients, length, level, rescale);
}
Array Access::product_plus(const Server& s, const Array& a, const Array& b,
                           const std::optional<Array>& added) {
  return s.state_->product_plus(a, b, added ? &*added : nullptr);
}
Array Access::relinearised_and_rescaled(const Server& s, const Array& a) {
  return s.state_->fleet->together([&] { return s.state_->relinearised_and_rescaled(a); });
}
Array Access::twice_product_less_1(const Server& s, const Array& a, const Array& b, bool by_scale) {
  return s.state_->twice_product_less_1(a, b, by_scale);
}
Array Access::multiply_add(const Server& s, const Array& a, std::int64_t by, double value) {
  return s.state_->multiply_add(a, by, value);
}
rlwe::Array Access::encode_factor(const Server& s, std::span<const std::complex<double>> values,
                                  double scale, const ring::Basis& basis) {
  Server::State::check_plain(values, scale);
  return s.state_->factor(values, scale, basis);
}

}  // namespace whorl::ckks
