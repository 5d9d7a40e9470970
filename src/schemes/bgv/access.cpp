#include "schemes/bgv/access.h"

#include <utility>

#include "schemes/bgv/server_state.h"
#include "whorl/error.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

const run::Fleet& Access::fleet(const Server& s) { return *s.state_->fleet; }
const rlwe::Evaluator& Access::evaluator(const Server& s) { return *s.state_->evaluator; }
const rlwe::Keys& Access::keys(const Server& s) { return s.state_->keys; }
const Account& Access::account(const Server& s) { return s.state_->account; }
void Access::check_slots(const Server& s, const Array& a) {
  s.state_->check(a);
  if (a.info_.packing != Packing::slots)
    throw EncodingError("the values are packed as coefficients, and must be packed in slots");
}
std::uint32_t Access::rotation(const Server& s, std::int64_t columns) {
  return s.state_->rotation(columns);
}
std::uint32_t Access::swap(const Server& s) { return s.state_->swap(); }
const rlwe::Array& Access::residues(const Array& a) { return *a.residues_; }
rlwe::Array Access::residues(const Server& s, const Plaintexts& m) {
  s.state_->check(m);
  return s.state_->residues(m);
}
Array Access::with_zeros(const Server& s, const Array& a) { return s.state_->with_zeros(a); }
double Access::norm(const Plaintexts& m) { return m.storage_->norm; }
Array Access::put(const Server& s, CiphertextInfo info, rlwe::Array residues) {
  return s.state_->put(std::move(info), std::move(residues));
}
Plaintexts Access::encode_factor(const Server& s, std::span<const std::int64_t> slots) {
  const rlwe::Evaluator& evaluator = *s.state_->evaluator;
  s.state_->encoder.check(Packing::slots);
  const Rows rows = s.state_->encoder.rows(slots.size(), s.parameters().N(), Packing::slots);
  const ring::Basis basis = evaluator.level(s.parameters().limbs()) | evaluator.special();
  return s.state_->factor(s.state_->encode(slots, rows, Packing::slots), Packing::slots, basis);
}

}  // namespace whorl::bgv
