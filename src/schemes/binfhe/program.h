// What a program is made of: operations, by which a server follows what is known of ciphertexts,
// and layers, which are its work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "lattice/lwe/stages.h"
#include "math/process.h"
#include "run/lane.h"
#include "schemes/binfhe/server_state.h"
#include "schemes/binfhe/table_steps.h"
#include "whorl/binfhe/program.h"

namespace whorl::binfhe {

/// Operations as they were recorded. Operation k makes the array whose number is k, counted behind
/// the inputs.
struct Operation {
  using Number = ProgramRecorder::Number;
  struct Take {
    Number of;
    std::vector<std::uint32_t> index;
  };
  struct Join {
    std::vector<Number> of;
  };
  struct Sum {
    std::vector<std::int32_t> weights;
    std::vector<Number> of;
    std::int32_t constant;
  };
  struct Apply {
    Number of;
    std::vector<Lut> luts;
    std::vector<std::uint32_t> index;
    std::vector<std::uint32_t> tables;  ///< the number of each among those of the program
  };
  struct Known {
    std::vector<std::uint32_t> messages;
    std::shared_ptr<const Origin> origin;
  };
  using Any = std::variant<Take, Join, Sum, Apply, Known>;
};

/// Look-ups that do not need one another, of one operation or several, on a device: `count` sums
/// from `first` on are rotated, to as many rows of the pool, by the tables of rows `row` ….
struct Layer {
  std::size_t operation;  ///< the last one's number among all
  std::size_t first, row, count;
};

/// What is known of arrays while operations are done. The server, the program and the arrays
/// outlive it.
class Following {
 public:
  Following(const Access::State& server, std::span<const Operation::Any> operations,
            Encoding encoding, std::span<const Array* const> inputs);
  /// Follows operations up to this one. It throws what the server's operations throw.
  void up_to(std::size_t operation);
  const std::shared_ptr<const Origin>& origin(std::size_t number) const {
    return origins_.at(number);
  }
  /// Adds how often the rotations that were followed fail.
  void count(Failures& failures) const;

 private:
  std::shared_ptr<const Origin> made(const Operation::Take& take) const;
  std::shared_ptr<const Origin> made(const Operation::Join& join) const;
  std::shared_ptr<const Origin> made(const Operation::Sum& sum) const;
  std::shared_ptr<const Origin> made(const Operation::Apply& apply);
  std::shared_ptr<const Origin> made(const Operation::Known& known) const { return known.origin; }

  const Access::State& server_;
  std::span<const Operation::Any> operations_;
  Encoding encoding_;
  std::size_t next_ = 0;
  std::vector<std::shared_ptr<const Origin>> origins_;
  std::vector<std::pair<double, std::size_t>> failures_;  ///< log2 of one, how many
};

/// Whether both look up the same, of tables with the same parameters and input.
bool same_tables(const Lut& a, const Lut& b);

struct Program::State {
  State(const Parameters& of, Encoding messages)
      : parameters(of), encoding(messages), exponents(of, messages, false) {}

  Parameters parameters;
  Encoding encoding;
  std::vector<std::size_t> inputs;  ///< ciphertexts
  std::vector<Operation::Any> operations;
  std::vector<Layer> layers;
  /// Rows come from the inputs and, if there are layers, from the pool of their results. Sums of
  /// the layers stand before those of the results.
  backend::LweSumsShape sums;
  std::vector<Lut> luts;             ///< different ones
  std::vector<std::uint32_t> index;  ///< of each row of the pool: which of these it is from
  std::vector<ProgramRecorder::Number> results;
  std::vector<std::size_t> counts;  ///< ciphertexts of each result
  ExponentsOf exponents;

  /// What a run needs on a lane. The lane, which has its memory, goes last.
  struct Placed {
    std::shared_ptr<const run::Lane> lane;
    std::shared_ptr<const backend::LweSums> sums;
    std::unique_ptr<const lattice::lwe::DeviceTables> tables;  ///< null where there are no layers
  };
  /// Under the lane's hold.
  std::shared_ptr<const Placed> on(const run::Lane& lane) const;
  /// Enqueues all work; `following` goes ahead of each layer.
  std::vector<Rows> work(const Placed& placed, const Stages& stages, Operands operands,
                         Following& following) const;

  mutable math::ProcessMutex mutex;  ///< of what follows
  mutable std::vector<std::shared_ptr<const Placed>> placed;
};

/// What files have of programs.
struct ProgramAccess {
  using State = Program::State;
  static const State& of(const Program& program) { return *program.state_; }
};

}  // namespace whorl::binfhe
