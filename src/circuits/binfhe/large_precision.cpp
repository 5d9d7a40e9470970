// Floors, signs and digits: the work on a piece of a batch. schemes/binfhe/flooring.h has the order
// of rotations, and what they do to errors.
#include "whorl/circuits/binfhe/large_precision.h"

#include <utility>

#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/server_state.h"
#include "schemes/binfhe/steps.h"

namespace whorl::binfhe {

using run::Range;

namespace {

constexpr std::uint64_t beta = large_sector / 2;

/// x·to/from, rounded, for x below 2^60, and `to` and `from` below 2^60 too.
std::uint64_t scaled(std::uint64_t x, std::uint64_t to, std::uint64_t from) {
  using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{x} * to + from / 2) / from);
}

/// Two rotations and what belongs to them, for ciphertexts of `step.modulus`.
class Floor {
 public:
  Floor(const Parameters& parameters, const Flooring& step)
      : parameters_(parameters),
        step_(step),
        top_(parameters.N(), parameters.Q(),
             parameters.Q() - scaled(parameters.Q(), step.small, 4 * step.modulus)),
        rest_(rest_of(parameters, step)) {}
  /// Phases are rounded down to multiples of `small`, half a sector below which they count as it.
  Rows operator()(const Stages& stages, const Rows& in, Range range) const {
    const Stages by = stages.with_rotation_key(step_.key);
    const std::int64_t same[] = {1};
    const Rows* input[] = {&in};
    Rows rows = stages.linear(same, input, beta);
    // A quarter of `small` is added in the lower half of Z_small, and subtracted in the upper: the
    // phase modulo `small` lies in its middle half then.
    rows = difference(stages, rows, bootstrap(by, rows, top_, range));
    return difference(stages, rows, bootstrap(by, rows, rest_, range));
  }

 private:
  static Tables rest_of(const Parameters& parameters, const Flooring& step) {
    const std::uint32_t N = parameters.N();
    const std::uint64_t Q = parameters.Q(), small = step.small, part = 2ULL * N * step.modulus;
    // Coefficient j is looked up for phases x = j·small/2N: -small/2 - x in the first quarter of
    // the circle, x in the second. X^N = -1 makes the other half of it.
    return {N, Q, 1, {}, [&](std::size_t, std::uint64_t j) {
              return j < N / 2 ? Q - scaled(Q, small * (N + j), part) : scaled(Q, small * j, part);
            }};
  }
  static Rows difference(const Stages& stages, const Rows& a, const Rows& b) {
    const std::int64_t weights[] = {1, -1};
    const Rows* in[] = {&a, &b};
    return stages.linear(weights, in, 0);
  }
  Rows bootstrap(const Stages& stages, const Rows& rows, const Tables& tables, Range range) const {
    // Residues modulo `small` as multiples of modulus/small, and those as exponents: exact.
    const std::int64_t up[] = {static_cast<std::int64_t>(step_.modulus / step_.small)};
    const Rows* in[] = {&rows};
    Rows exponents =
        to_exponents(parameters_, stages, stages.linear(up, in, 0), 2ULL * parameters_.N(), 0);
    return to_lwe_key(parameters_, stages, stages.rotate(exponents, tables, range, 0),
                      step_.modulus);
  }

  Parameters parameters_;
  Flooring step_;
  Tables top_, rest_;
};

Rows switched(const Parameters& parameters, const Stages& stages, const Rows& in,
              std::uint64_t to) {
  return stages.modulus_switch(in, to, centre_of(parameters, in.form().modulus, to));
}

/// All floorings of an operation.
class Loop {
 public:
  Loop(const Parameters& parameters, Floorings floorings)
      : parameters_(parameters), floorings_(std::move(floorings)) {
    for (const Flooring& step : floorings_.steps) floors_.emplace_back(parameters, step);
  }
  const Floorings& floorings() const { return floorings_; }
  /// `each(rows, step)` is called before a step.
  template <class Each>
  Rows operator()(const Stages& stages, const Rows& in, Range range, const Each& each) const {
    Rows rows = switched(parameters_, stages, in, floorings_.start);
    for (std::size_t k = 0; k < floors_.size(); ++k) {
      each(rows, floorings_.steps[k]);
      rows = floors_[k](stages, rows, range);
      const std::uint64_t next =
          k + 1 < floors_.size() ? floorings_.steps[k + 1].modulus : floorings_.end;
      if (next != rows.form().modulus) rows = switched(parameters_, stages, rows, next);
    }
    return rows;
  }
  Rows operator()(const Stages& stages, const Rows& in, Range range) const {
    return (*this)(stages, in, range, [](const Rows&, const Flooring&) {});
  }

 private:
  Parameters parameters_;
  Floorings floorings_;
  std::vector<Floor> floors_;
};

}  // namespace

Array eval_floor(const Server& server, const Array& a, unsigned round_bits) {
  const Access::State& state = Access::of(server);
  const Outcome outcome = state.of_floor(a, round_bits);
  const Parameters& parameters = state.parameters;
  const Loop loop(parameters, floor_steps(parameters, a.encoding(), round_bits));
  return state.run(a, outcome, [&](const Stages& stages, Operands in, Range range) {
    return one(switched(parameters, stages, loop(stages, *in[0], range), parameters.q()));
  })[0];
}

Array eval_sign(const Server& server, const Array& a, Encoding output) {
  const Access::State& state = Access::of(server);
  const Outcome outcome = state.of_sign(a, output);
  const Parameters& parameters = state.parameters;
  const Loop loop(parameters, sign_steps(parameters, a.encoding()));
  const Decision decide(parameters, 0, true, output);
  return state.run(a, outcome, [&](const Stages& stages, Operands in, Range range) {
    const Rows high = loop(stages, *in[0], range);
    const std::int64_t same[] = {1};
    const Rows* rows[] = {&high};
    const Stages by = stages.with_rotation_key(loop.floorings().end_key);
    const Rows decided = decide(by, by.linear(same, rows, beta), range);
    return one(to_lwe_key(parameters, by, decided, parameters.q()));
  })[0];
}

std::vector<Array> eval_decomp(const Server& server, const Array& a) {
  const Access::State& state = Access::of(server);
  const Outcome outcome = state.of_decomposition(a);
  const Parameters& parameters = state.parameters;
  const Loop loop(parameters, sign_steps(parameters, a.encoding()));
  return state.run(a, outcome, [&](const Stages& stages, Operands in, Range range) {
    std::vector<Rows> out;
    const std::uint64_t q = parameters.q();
    Rows last = loop(stages, *in[0], range, [&](const Rows& rows, const Flooring& step) {
      const std::int64_t up[] = {static_cast<std::int64_t>(step.modulus / step.small)};
      const Rows* low[] = {&rows};
      out.push_back(stages.modulus_switch(stages.linear(up, low, 0), q, 0));
    });
    out.push_back(stages.modulus_switch(std::move(last), q, 0));
    return out;
  });
}

}  // namespace whorl::binfhe
