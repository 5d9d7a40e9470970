// Minimax polynomials of the sign: the exchange algorithm of Remez (Cheney, Introduction to
// Approximation Theory, ch. 3) for odd polynomials, and their composition.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "math/text.h"
#include "whorl/circuits/ckks/functions.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

using Reals = std::vector<long double>;

/// An odd polynomial c_0·T_1 + c_1·T_3 + … on -1 … 1 that is within `error` of 1 on low … 1.
struct Minimax {
  Reals odd;
  long double error = 1;
};

/// T_1(x), T_3(x), … to each(i, T_(2i+1)(x)).
template <class Each>
void odd_chebyshev(long double x, std::size_t terms, const Each& each) {
  const long double twice = 2 * (2 * x * x - 1);  // 2·T_2(x)
  long double before = x, value = x;              // T_(-1) = T_1
  for (std::size_t i = 0; i < terms; ++i) {
    each(i, value);
    const long double next = twice * value - before;
    before = value;
    value = next;
  }
}

/// sum_i odd[i]·T_(2i+1)(x) - 1.
long double error_of(const Reals& odd, long double x) {
  long double sum = -1;
  odd_chebyshev(x, odd.size(), [&](std::size_t i, long double value) { sum += odd[i] * value; });
  return sum;
}

/// Gauss's elimination with pivots. False for a singular matrix.
bool solve(std::vector<Reals>& a, Reals& b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    if (a[pivot][k] == 0) return false;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double by = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= by * a[k][j];
      b[i] -= by * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return true;
}

/// Where the error is looked at: dense at both ends of low … 1.
Reals grid_of(long double low, std::size_t each) {
  Reals out;
  for (std::size_t i = 0; i < each; ++i) {
    const long double t = static_cast<long double>(i) / static_cast<long double>(each - 1);
    out.push_back((low + 1) / 2 - (1 - low) / 2 * std::cos(std::numbers::pi_v<long double> * t));
    out.push_back(std::pow(low, 1 - t));
  }
  std::ranges::sort(out);
  return out;
}

/// The place of the largest |error| between low and high, in which there is one: golden sections.
long double peak(const Reals& odd, long double low, long double high) {
  const long double ratio = (std::sqrt(5.0L) - 1) / 2;
  for (int i = 0; i < 60; ++i) {
    const long double a = high - ratio * (high - low), b = low + ratio * (high - low);
    if (std::abs(error_of(odd, a)) < std::abs(error_of(odd, b)))
      low = a;
    else
      high = b;
  }
  return (low + high) / 2;
}

/// Where the error is largest in each run of one sign; as many as wanted, at the cost of the
/// smaller ones at the ends.
Reals extrema(const Reals& grid, const Reals& odd, std::size_t wanted) {
  Reals errors;
  for (const long double at : grid) errors.push_back(error_of(odd, at));
  std::vector<std::size_t> peaks{0};
  for (std::size_t i = 1; i < grid.size(); ++i) {
    if ((errors[i] > 0) != (errors[peaks.back()] > 0))
      peaks.push_back(i);
    else if (std::abs(errors[i]) > std::abs(errors[peaks.back()]))
      peaks.back() = i;
  }
  while (peaks.size() > wanted)
    peaks.erase(std::abs(errors[peaks.front()]) < std::abs(errors[peaks.back()]) ? peaks.begin()
                                                                                 : peaks.end() - 1);
  Reals out;
  for (const std::size_t i : peaks)
    out.push_back(i == 0 || i + 1 == grid.size() ? grid[i] : peak(odd, grid[i - 1], grid[i + 1]));
  return out;
}

/// Returns a polynomial of `terms` coefficients. Nothing where rounding keeps the exchange from
/// ending.
std::optional<Minimax> minimax(long double low, std::size_t terms) {
  const std::size_t points = terms + 1;
  const Reals grid = grid_of(low, 100 * terms);
  Reals x;
  for (std::size_t k = 0; k < points; ++k)
    x.push_back((low + 1) / 2 -
                (1 - low) / 2 *
                    std::cos(std::numbers::pi_v<long double> * static_cast<long double>(k) /
                             static_cast<long double>(terms)));
  for (int round = 0; round < 60; ++round) {
    std::vector<Reals> a(points, Reals(points));
    Reals b(points, 1);
    for (std::size_t k = 0; k < points; ++k) {
      odd_chebyshev(x[k], terms, [&](std::size_t i, long double value) { a[k][i] = value; });
      a[k][terms] = k % 2 == 0 ? 1 : -1;
    }
    if (!solve(a, b)) return {};
    Minimax out{{b.begin(), b.end() - 1}};
    x = extrema(grid, out.odd, points);
    if (x.size() < points) return {};
    out.error = 0;
    for (const long double at : x) out.error = std::max(out.error, std::abs(error_of(out.odd, at)));
    // What is left of the exchange is counted: the next stage must not see less than there is.
    if (out.error < std::abs(b[terms]) * (1 + 1e-9L)) {
      out.error *= 1 + 1e-9L;
      return out;
    }
  }
  return {};
}

/// What stages leave of epsilon … 1: they map it to 1 - error … 1 + error.
struct Composite {
  std::vector<Minimax> stages;
  long double low = 0, error = 1;
};

}  // namespace

unsigned SignStages::depth() const {
  unsigned sum = 0;
  for (const Polynomial& p : stages) sum += p.depth();
  return sum;
}

double SignStages::operator()(double x) const {
  for (const Polynomial& p : stages) x = p(x);
  return x;
}

SignStages minimax_sign(double epsilon, double error) {
  if (!(epsilon >= 0x1p-24 && epsilon < 1) || !(error >= 0x1p-40 && error < 1))
    throw ParameterError("epsilon = " + math::text_of(epsilon) +
                         " or error = " + math::text_of(error) +
                         " is out of range: 2^-24 <= epsilon < 1 and 2^-40 <= error < 1");
  // best[depth]: the stages that leave the least error. The narrower the interval, the better the
  // stages behind it, so that these are built on one another.
  std::vector<std::optional<Composite>> best(1, Composite{{}, epsilon, 1});
  constexpr unsigned most_depth = 64;
  for (unsigned depth = 1; depth <= most_depth; ++depth) {
    std::optional<Composite> found;
    for (unsigned last = 2; last <= std::min(5u, depth); ++last) {
      const std::optional<Composite>& before = best[depth - last];
      if (!before) continue;
      const auto stage = minimax(before->low, std::size_t{1} << (last - 1));
      if (!stage || stage->error >= 1 || (found && stage->error >= found->error)) continue;
      Composite next = *before;
      next.stages.push_back(*stage);
      next.error = stage->error;
      next.low = (1 - stage->error) / (1 + stage->error);
      found = std::move(next);
    }
    if (found && found->error <= error) {
      SignStages out;
      out.epsilon = epsilon;
      out.error = static_cast<double>(found->error);
      for (std::size_t s = 0; s < found->stages.size(); ++s) {
        // All but the last are brought to -1 … 1, where the next one begins.
        const Minimax& stage = found->stages[s];
        const long double by = s + 1 < found->stages.size() ? 1 + stage.error : 1;
        Polynomial p{std::vector<double>(2 * stage.odd.size())};
        for (std::size_t i = 0; i < stage.odd.size(); ++i)
          p.coefficients[2 * i + 1] = static_cast<double>(stage.odd[i] / by);
        out.stages.push_back(std::move(p));
      }
      return out;
    }
    best.push_back(std::move(found));
  }
  throw ParameterError("no polynomials of depth " + std::to_string(most_depth) +
                       " tell the sign for epsilon = " + math::text_of(epsilon) + " to within " +
                       math::text_of(error));
}

}  // namespace whorl::ckks
