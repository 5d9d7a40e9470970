#include "circuits/ckks/least_squares.h"

#include <cmath>

namespace whorl::ckks {

std::vector<Real> least_squares(std::vector<std::vector<Real>> rows, std::size_t columns) {
  for (std::size_t k = 0; k < columns; ++k) {
    Real norm = 0;
    for (std::size_t i = k; i < rows.size(); ++i) norm += rows[i][k] * rows[i][k];
    norm = rows[k][k] > 0 ? -std::sqrt(norm) : std::sqrt(norm);
    std::vector<Real> v(rows.size());
    for (std::size_t i = k; i < rows.size(); ++i) v[i] = rows[i][k];
    v[k] -= norm;
    Real square = 0;
    for (const Real each : v) square += each * each;
    if (square == 0) continue;
    for (std::size_t j = k; j <= columns; ++j) {
      Real along = 0;
      for (std::size_t i = k; i < rows.size(); ++i) along += v[i] * rows[i][j];
      along *= 2 / square;
      for (std::size_t i = k; i < rows.size(); ++i) rows[i][j] -= along * v[i];
    }
  }
  std::vector<Real> x(columns);
  for (std::size_t k = columns; k-- > 0;) {
    Real sum = rows[k][columns];
    for (std::size_t j = k + 1; j < columns; ++j) sum -= rows[k][j] * x[j];
    x[k] = rows[k][k] == 0 ? 0 : sum / rows[k][k];
  }
  return x;
}

}  // namespace whorl::ckks
