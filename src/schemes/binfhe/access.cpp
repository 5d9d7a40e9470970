#include "schemes/binfhe/access.h"

#include <utility>

#include "schemes/binfhe/server_state.h"

namespace whorl::binfhe {

const run::Fleet& Access::fleet(const Server& s) { return *s.state_->fleet; }
const lattice::lwe::Evaluator& Access::evaluator(const Server& s) { return s.state_->evaluator; }
const Account& Access::account(const Server& s) { return s.state_->account; }
void Access::check(const Server& s, const Array& a) { s.state_->check(a); }
const lattice::lwe::Array& Access::rows(const Array& a) { return a.state_->rows; }
const Origin& Access::origin(const Array& a) { return *a.state_->origin; }
Array Access::put(const Server& s, Encoding encoding, Origin origin, lattice::lwe::Array rows) {
  return s.state_->put(encoding, std::make_shared<const Origin>(std::move(origin)),
                       std::move(rows));
}

}  // namespace whorl::binfhe
