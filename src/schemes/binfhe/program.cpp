#include "schemes/binfhe/program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/linear_part.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

/// A ciphertext while a program is recorded: a sum of rows of the inputs and of the pool.
struct Cell {
  std::vector<backend::LweTerm> terms;
  std::uint64_t constant = 0;
};
using Cells = std::vector<std::shared_ptr<const Cell>>;

/// The number of the pool among the inputs of sums, before these are counted.
constexpr std::uint32_t pool = UINT32_MAX;

/// Memory that a program may still take.
class Room {
 public:
  explicit Room(std::size_t bytes) : all_(bytes), left_(bytes) {}
  void check(std::size_t count, std::size_t each) const {
    if (count > left_ / each)
      throw OversizedError("a program: it takes more than " + std::to_string(all_) +
                           " bytes of memory, which are the most that are allowed");
  }
  void take(std::size_t count, std::size_t each) {
    check(count, each);
    left_ -= count * each;
  }

 private:
  std::size_t all_, left_;
};

/// Bytes of a cell beside its terms, and of what refers to it.
constexpr std::size_t reference_bytes = sizeof(Cells::value_type);
constexpr std::size_t cell_bytes = sizeof(Cell) + 2 * reference_bytes;
constexpr std::size_t term_bytes = sizeof(backend::LweTerm);

/// An operation, its array, and what refers to them; programs have a copy.
constexpr std::size_t operation_bytes = 2 * sizeof(Operation::Any) + sizeof(Cells);
/// A table among the different ones, and where it is found again.
constexpr std::size_t table_bytes = sizeof(Lut) + 64;

/// An order of tables with the same parameters and input, by all of what they look up.
struct ByTables {
  using is_transparent = void;
  const std::vector<Lut>* luts;
  const Lut& of(std::uint32_t number) const { return (*luts)[number]; }
  static const Lut& of(const Lut& lut) { return lut; }
  bool operator()(const auto& a, const auto& b) const {
    const auto key = [](const Lut& lut) {
      return std::tuple(lut.output().p, lut.output().padding, lut.exact(), lut.kind());
    };
    const Lut &x = of(a), &y = of(b);
    return key(x) != key(y) ? key(x) < key(y)
                            : std::ranges::lexicographical_compare(x.values(), y.values());
  }
};

/// The residue next to 0.
std::int64_t next_to_0(__int128 x, std::uint64_t Q) {
  const auto modulus = static_cast<__int128>(Q);
  const __int128 residue = (x % modulus + modulus) % modulus;
  return static_cast<std::int64_t>(residue > modulus / 2 ? residue - modulus : residue);
}

}  // namespace

// ---- what is known

Following::Following(const Access::State& server, std::span<const Operation::Any> operations,
                     Encoding encoding, std::span<const Array* const> inputs)
    : server_(server), operations_(operations), encoding_(encoding) {
  origins_.reserve(inputs.size() + operations.size());
  for (const Array* input : inputs) origins_.push_back(Access::State::origin(*input));
}

void Following::up_to(std::size_t operation) {
  for (; next_ <= operation && next_ < operations_.size(); ++next_)
    origins_.push_back(std::visit([&](const auto& of) { return made(of); }, operations_[next_]));
}

std::shared_ptr<const Origin> Following::made(const Operation::Take& take) const {
  return std::make_shared<const Origin>(binfhe::take(*origin(take.of), take.index));
}

std::shared_ptr<const Origin> Following::made(const Operation::Join& join) const {
  std::vector<const Origin*> origins;
  for (const Operation::Number of : join.of) origins.push_back(origin(of).get());
  return std::make_shared<const Origin>(binfhe::join(origins, encoding_));
}

std::shared_ptr<const Origin> Following::made(const Operation::Sum& sum) const {
  Access::State::Operands all{{}, {}, 0, Under::ring};
  for (std::size_t k = 0; k < sum.of.size(); ++k) {
    all.held.push_back(origin(sum.of[k]));
    all.terms.push_back({static_cast<double>(sum.weights[k]), all.held.back().get()});
    all.most = std::max(all.most, all.held.back()->noise);
  }
  return server_.check_linear(all, encoding_, sum.constant, false, {})();
}

std::shared_ptr<const Origin> Following::made(const Operation::Apply& apply) {
  const auto& input = origin(apply.of);
  const Access::State::Operands of{{input}, {{1, input.get()}}, input->noise, Under::ring};
  const Access::State::LookUp found =
      server_.check_apply(apply.luts, apply.index, of, encoding_, {}, Under::ring);
  failures_.emplace_back(found.failure_log2, apply.index.size());
  return found.origin();
}

void Following::count(Failures& failures) const {
  for (const auto& [failure_log2, count] : failures_) failures.add(failure_log2, count);
}

// ---- recording

struct ProgramRecorder::Recording {
  Recording(const Parameters& of, Encoding messages, std::vector<std::size_t> counts,
            std::size_t most_bytes)
      : parameters(of), encoding(messages), inputs(std::move(counts)), room(most_bytes) {}

  const Cells& at(std::string_view what, Number number) const {
    if (number >= arrays.size())
      throw ShapeError(std::string(what) + ": there is no array " + std::to_string(number) +
                       " yet; there are " + std::to_string(arrays.size()));
    return arrays[number];
  }
  /// Room for an operation that has so many words.
  void begin(std::size_t words) {
    room.take(1, operation_bytes);
    room.take(words, 2 * sizeof(std::uint32_t));
  }
  Number add(Operation::Any operation, Cells cells) {
    operations.push_back(std::move(operation));
    arrays.push_back(std::move(cells));
    return static_cast<Number>(arrays.size() - 1);
  }
  /// Whether these are made of results of the last layer, so that a rotation of them is a layer
  /// more; or there is no layer yet.
  bool waits_for_last_layer(const Cells& cells) const {
    return layers.empty() || std::ranges::any_of(cells, [&](const auto& cell) {
             return std::ranges::any_of(cell->terms, [&](const backend::LweTerm& term) {
               return term.input == pool && term.row >= layers.back().row;
             });
           });
  }
  void add_sum(backend::LweSumsShape& to, const Cell& cell) const {
    for (backend::LweTerm term : cell.terms) {
      if (term.input == pool) term.input = static_cast<std::uint32_t>(inputs.size());
      to.terms.push_back(term);
    }
    to.begin.push_back(static_cast<std::uint32_t>(to.terms.size()));
    to.constants.push_back(cell.constant);
  }
  std::uint32_t number_of(const Lut& lut) {
    if (const auto same = numbers.find(lut); same != numbers.end()) return *same;
    luts.push_back(lut);
    return *numbers.insert(static_cast<std::uint32_t>(luts.size() - 1)).first;
  }

  Parameters parameters;
  Encoding encoding;
  std::vector<std::size_t> inputs;
  std::vector<Cells> arrays;
  std::vector<Operation::Any> operations;
  std::vector<Layer> layers;
  backend::LweSumsShape sums;  ///< of layers
  std::vector<Lut> luts;
  std::set<std::uint32_t, ByTables> numbers{ByTables{&luts}};  ///< of luts
  std::vector<std::uint32_t> index;
  Room room;
};

ProgramRecorder::ProgramRecorder(const Parameters& parameters, Encoding encoding,
                                 std::vector<std::size_t> inputs, std::size_t most_bytes)
    : recording_(std::make_unique<Recording>(parameters, encoding, std::move(inputs), most_bytes)) {
  check_coarse(parameters, encoding);
  const std::vector<std::size_t>& counts = recording_->inputs;
  if (counts.empty() || counts.size() > most_inputs)
    throw ShapeError("a program has 1 … " + std::to_string(most_inputs) + " inputs, not " +
                     std::to_string(counts.size()));
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > UINT32_MAX)
      throw ShapeError("a program: input " + std::to_string(k) + " has " +
                       std::to_string(counts[k]) + " ciphertexts; it may have 2^32 - 1");
    recording_->room.take(counts[k], cell_bytes + term_bytes);
    Cells cells;
    for (std::size_t i = 0; i < counts[k]; ++i)
      cells.push_back(std::make_shared<const Cell>(
          Cell{{{static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(i), 1}}}));
    recording_->arrays.push_back(std::move(cells));
  }
}
ProgramRecorder::~ProgramRecorder() = default;
ProgramRecorder::ProgramRecorder(ProgramRecorder&&) noexcept = default;
ProgramRecorder& ProgramRecorder::operator=(ProgramRecorder&&) noexcept = default;

ProgramRecorder::Number ProgramRecorder::take(Number of, std::span<const std::uint32_t> index) {
  const Cells& from = recording_->at("take", of);
  recording_->begin(index.size());
  recording_->room.take(index.size(), reference_bytes);
  Cells cells;
  for (const std::uint32_t i : index) {
    if (i >= from.size())
      throw ShapeError("take: index " + std::to_string(i) + " is out of range for " +
                       std::to_string(from.size()) + " ciphertexts");
    cells.push_back(from[i]);
  }
  return recording_->add(Operation::Take{of, {index.begin(), index.end()}}, std::move(cells));
}

ProgramRecorder::Number ProgramRecorder::concatenate(std::span<const Number> of) {
  if (of.empty()) throw ShapeError("concatenate: at least one array is needed");
  recording_->begin(of.size());
  Cells cells;
  for (const Number each : of) {
    const Cells& from = recording_->at("concatenate", each);
    recording_->room.take(from.size(), reference_bytes);
    cells.insert(cells.end(), from.begin(), from.end());
  }
  return recording_->add(Operation::Join{{of.begin(), of.end()}}, std::move(cells));
}

ProgramRecorder::Number ProgramRecorder::linear(std::span<const std::int32_t> weights,
                                                std::span<const Number> of, std::int32_t constant) {
  if (of.empty() || weights.size() != of.size())
    throw ShapeError("linear: " + std::to_string(weights.size()) + " weights for " +
                     std::to_string(of.size()) + " arrays; there must be one for each, and one");
  std::size_t count = 1;
  for (const Number each : of)
    if (const std::size_t own = recording_->at("linear", each).size(); own != 1) count = own;
  for (const Number each : of)
    if (const std::size_t own = recording_->arrays[each].size(); own != 1 && own != count)
      throw ShapeError("linear: an array has " + std::to_string(own) +
                       " ciphertexts, but another has " + std::to_string(count));
  recording_->begin(2 * of.size());
  const std::uint64_t Q = recording_->parameters.Q();
  const std::uint64_t shift =
      shift_of(constant, recording_->encoding, recording_->parameters, Under::ring);
  Cells cells;
  for (std::size_t i = 0; i < count; ++i) {
    recording_->room.take(1, cell_bytes);
    __int128 moved = static_cast<__int128>(shift);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> terms;
    for (std::size_t k = 0; k < of.size(); ++k) {
      const Cells& from = recording_->arrays[of[k]];
      const Cell& cell = *from[from.size() == 1 ? 0 : i];
      recording_->room.take(cell.terms.size() + 1, term_bytes);  // work, where there are none
      const auto weight = static_cast<__int128>(weights[k]);
      moved += next_to_0(weight * static_cast<__int128>(cell.constant), Q);
      for (const backend::LweTerm& term : cell.terms) {
        std::int64_t& sum = terms[{term.input, term.row}];
        sum = next_to_0(sum + weight * term.weight, Q);
      }
    }
    const std::int64_t rest = next_to_0(moved, Q);
    Cell made{{}, static_cast<std::uint64_t>(rest) + (rest < 0 ? Q : 0)};
    for (const auto& [place, weight] : terms)
      if (weight != 0) made.terms.push_back({place.first, place.second, weight});
    cells.push_back(std::make_shared<const Cell>(std::move(made)));
  }
  return recording_->add(
      Operation::Sum{{weights.begin(), weights.end()}, {of.begin(), of.end()}, constant},
      std::move(cells));
}

ProgramRecorder::Number ProgramRecorder::apply(std::span<const Lut> luts,
                                               std::span<const std::uint32_t> index, Number of) {
  Recording& all = *recording_;
  const Cells& from = all.at("apply", of);
  if (index.size() != from.size())
    throw ShapeError("apply: " + std::to_string(index.size()) + " table numbers for " +
                     std::to_string(from.size()) + " ciphertexts");
  check_tables(all.parameters, luts, index, all.encoding, from.size());
  if (luts[0].kind() == LutKind::arbitrary || luts[0].output() != all.encoding)
    throw EncodingError(
        "a program has tables of one rotation, whose outputs have the encoding of their inputs, " +
        describe(all.encoding));
  check_sides(luts[0], Under::ring);
  const std::size_t row = all.index.size();
  if (from.size() > UINT32_MAX - row) throw ShapeError("a program has less than 2^32 rotations");
  all.begin(luts.size() + index.size());
  all.room.take(luts.size(), table_bytes + luts[0].values().size_bytes());
  if (all.waits_for_last_layer(from)) all.layers.push_back({0, all.sums.count(), row, 0});
  all.layers.back().operation = all.operations.size();
  all.layers.back().count += from.size();
  std::vector<std::uint32_t> numbers;
  for (const Lut& lut : luts) numbers.push_back(all.number_of(lut));
  // What is added to rotations, which differs in a layer, is added by sums of their results.
  const std::uint64_t added = added_constant(luts[0], all.parameters.Q());
  Cells cells;
  for (std::size_t i = 0; i < from.size(); ++i) {
    all.room.take(from[i]->terms.size() + 1, term_bytes);
    all.room.take(1, cell_bytes);
    all.add_sum(all.sums, *from[i]);
    all.index.push_back(numbers[index[i]]);
    cells.push_back(std::make_shared<const Cell>(
        Cell{{{pool, static_cast<std::uint32_t>(row + i), 1}}, added}));
  }
  return all.add(
      Operation::Apply{
          of, {luts.begin(), luts.end()}, {index.begin(), index.end()}, std::move(numbers)},
      std::move(cells));
}

ProgramRecorder::Number ProgramRecorder::trivial(std::span<const std::uint32_t> messages) {
  Recording& all = *recording_;
  all.begin(messages.size());
  all.room.check(messages.size(), sizeof(std::uint64_t) * (all.parameters.N() + std::size_t{1}));
  all.room.take(messages.size(), cell_bytes);
  const Ciphertexts known =
      trivial_ciphertexts(all.parameters, {}, messages, all.encoding, Under::ring);
  Cells cells;
  for (const std::uint32_t message : messages)
    cells.push_back(
        std::make_shared<const Cell>(Cell{{}, encode(message, all.encoding, all.parameters.Q())}));
  return recording_->add(Operation::Known{{messages.begin(), messages.end()}, known.origin},
                         std::move(cells));
}

Program ProgramRecorder::program(std::span<const Number> results) const {
  const Recording& all = *recording_;
  const auto made = std::make_shared<Program::State>(all.parameters, all.encoding);
  made->inputs = all.inputs;
  made->operations = all.operations;
  made->layers = all.layers;
  made->luts = all.luts;
  made->index = all.index;
  made->results.assign(results.begin(), results.end());
  backend::LweSumsShape& sums = made->sums;
  sums = all.sums;
  sums.q = all.parameters.Q();
  sums.row = form_of(all.parameters, Under::ring).row();
  sums.word_bytes = form_of(all.parameters, Under::ring).word_bytes;
  sums.inputs = all.inputs;
  if (!all.layers.empty()) sums.inputs.push_back(all.index.size());
  Room room = all.room;
  for (const Number result : results) {
    const Cells& cells = all.at("a program's results", result);
    made->counts.push_back(cells.size());
    for (const auto& cell : cells) {
      room.take(cell->terms.size() + 1, term_bytes);
      all.add_sum(sums, *cell);
    }
  }
  return Program(made);
}

// ---- programs

bool same_tables(const Lut& a, const Lut& b) {
  return a.output() == b.output() && a.exact() == b.exact() && a.kind() == b.kind() &&
         std::ranges::equal(a.values(), b.values());
}

Program::Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const Parameters& Program::parameters() const { return state_->parameters; }
Encoding Program::encoding() const { return state_->encoding; }
const std::vector<std::size_t>& Program::inputs() const { return state_->inputs; }
const std::vector<std::size_t>& Program::results() const { return state_->counts; }
std::size_t Program::rotations() const { return state_->index.size(); }
std::size_t Program::layers() const { return state_->layers.size(); }

std::shared_ptr<const Program::State::Placed> Program::State::on(const run::Lane& lane) const {
  {
    const std::scoped_lock lock(mutex);
    for (const auto& each : placed)
      if (each->lane.get() == &lane) return each;
  }
  const auto made = std::make_shared<Placed>();
  made->lane = lane.shared_from_this();
  made->sums = lane.queue().lwe().prepare_sums(sums);
  if (!layers.empty())
    made->tables = std::make_unique<const lattice::lwe::DeviceTables>(
        Tables(parameters.N(), parameters.Q(), luts.size(), index,
               [&](std::size_t l, std::uint64_t j) { return test_coefficient(luts[l], j); })
            .placed(lane.queue()));
  const std::scoped_lock lock(mutex);
  placed.push_back(made);
  return made;
}

std::vector<Rows> Program::State::work(const Placed& placed, const Stages& stages,
                                       Operands operands, Following& following) const {
  std::vector<const Rows*> in(operands.begin(), operands.end());
  std::optional<Rows> pool;
  if (!layers.empty()) {
    pool.emplace(stages.queue(), form_of(parameters, Under::ring), index.size());
    in.push_back(&*pool);
  }
  for (const Layer& layer : layers) {
    // What a layer's rotations are allowed for is known before they are enqueued.
    following.up_to(layer.operation);
    if (layer.count == 0) continue;
    backend::together(stages.queue(), [&] {
      const Rows lwe = exponents(stages, stages.sums(*placed.sums, layer.first, layer.count, in),
                                 {0, layer.count});
      stages.rotate(lwe, *placed.tables, layer.row, 0, *pool, layer.row);
    });
  }
  following.up_to(operations.size());
  std::vector<Rows> made;
  std::size_t first = index.size();
  backend::together(stages.queue(), [&] {
    for (const std::size_t count : counts) {
      made.push_back(stages.sums(*placed.sums, first, count, in));
      first += count;
    }
  });
  return made;
}

std::vector<Array> Server::State::run(const Program::State& program,
                                      std::span<const Array* const> inputs) const {
  if (program.parameters != parameters)
    throw ParameterMismatchError("the program was made for \"" + program.parameters.name() + "\"");
  const Encoding encoding = check_together("run", inputs, program.inputs.size());
  if (encoding != program.encoding)
    throw EncodingError("the program is for " + describe(program.encoding) +
                        ", the ciphertexts have " + describe(encoding));
  std::vector<const lattice::lwe::Array*> rows;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    rows.push_back(&inputs[k]->state_->rows);
    if (under_of(*inputs[k]) != Under::ring)
      throw KeyMismatchError("run: input " + std::to_string(k) +
                             " is under the LWE key, and programs take ciphertexts under the ring "
                             "key");
    if (rows[k]->count() != program.inputs[k])
      throw ShapeError("run: input " + std::to_string(k) + " has " +
                       std::to_string(rows[k]->count()) + " ciphertexts; the program takes " +
                       std::to_string(program.inputs[k]));
  }
  Following following(*this, program.operations, encoding, inputs);
  const std::vector<lattice::lwe::Form> forms(program.results.size(),
                                              form_of(parameters, Under::ring));
  std::vector<lattice::lwe::Array> made = evaluator.whole(
      rows, forms, [&](const run::Lane& lane, const Stages& stages, binfhe::Operands operands) {
        return program.work(*program.on(lane), stages, operands, following);
      });
  if (failures) following.count(*failures);
  std::vector<Array> out;
  for (std::size_t k = 0; k < made.size(); ++k)
    out.push_back(array(encoding, following.origin(program.results[k]), std::move(made[k])));
  return out;
}

}  // namespace whorl::binfhe
