// Programs: what they make is what their operations make one by one, and is known as well.
#include "support/binfhe_sets.h"
#include "support/counting_lwe.h"
#include "support/message.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;
using Number = ProgramRecorder::Number;
constexpr Encoding octal{8, false};

/// A table of one rotation: f(m) + f(m + 4) is 0 for all m, or 1.
Lut half_turn(const Parameters& parameters, std::uint32_t sum, test::Random& random) {
  Messages values(8);
  for (std::uint32_t m = 0; m < 4; ++m) {
    // What is added to a rotation is half of f(0) + f(4), which is not reduced.
    values[m] = static_cast<std::uint32_t>(random.below(m == 0 ? sum + 1 : 8));
    values[m + 4] = (8 + sum - values[m]) % 8;
  }
  return Lut::create(parameters, values, octal, octal, true, true);
}

/// Operations that are recorded, and done at once.
class Both {
 public:
  Both(const Server& server, std::vector<Array> inputs, test::Random& random)
      : server_(server),
        arrays_(std::move(inputs)),
        recorder_(server.parameters(), octal, counts()),
        random_(random) {}

  void any() {
    const auto of = static_cast<Number>(random_.below(arrays_.size()));
    const std::size_t count = arrays_[of].count();
    switch (random_.below(6)) {
      case 0: {
        Messages index(1 + random_.below(9));
        for (auto& i : index) i = static_cast<std::uint32_t>(random_.below(count));
        return add(recorder_.take(of, index), server_.take(arrays_[of], index));
      }
      case 1: {
        const auto other = static_cast<Number>(random_.below(arrays_.size()));
        const Array both[] = {arrays_[of], arrays_[other]};
        return add(recorder_.concatenate({of, other}), server_.concatenate(both));
      }
      case 2: {
        Messages messages(1 + random_.below(4));
        for (auto& m : messages) m = static_cast<std::uint32_t>(random_.below(8));
        return add(recorder_.trivial(messages),
                   server_.trivial_array(messages, octal, Under::ring));
      }
      case 3:
      case 4: {
        std::vector<Number> numbers;
        std::vector<const Array*> terms;
        for (Number k = 0; k < arrays_.size(); ++k)
          if (k == of ||
              ((arrays_[k].count() == count || arrays_[k].count() == 1) && random_.below(2) == 0)) {
            numbers.push_back(k);
            terms.push_back(&arrays_[k]);
          }
        const auto weights = random_.integers(numbers.size(), -3, 3);
        const auto constant = static_cast<std::int32_t>(random_.between(-9, 9));
        return add(recorder_.linear(weights, numbers, constant),
                   server_.linear(weights, terms, constant));
      }
      default: {
        std::vector<Lut> luts;
        const auto sum = static_cast<std::uint32_t>(random_.below(2));
        while (luts.size() < 3) luts.push_back(half_turn(server_.parameters(), sum, random_));
        Messages index(count);
        for (auto& i : index) i = static_cast<std::uint32_t>(random_.below(luts.size()));
        return add(recorder_.apply(luts, index, of),
                   server_.apply(luts, index, arrays_[of], {}, Under::ring));
      }
    }
  }
  /// The program of some results; what it makes of the inputs is what was made at once.
  void check(std::size_t inputs) const {
    std::vector<Number> results;
    for (Number k = 0; k < arrays_.size(); ++k)
      if (random_.below(2) == 0 || k + 1 == arrays_.size()) results.push_back(k);
    const Program program = recorder_.program(results);
    std::vector<const Array*> given;
    for (std::size_t k = 0; k < inputs; ++k) given.push_back(&arrays_[k]);
    for (int run = 0; run < 2; ++run) {
      const std::vector<Array> made = server_.run(program, given);
      ASSERT_EQ(made.size(), results.size());
      for (std::size_t r = 0; r < results.size(); ++r) {
        SCOPED_TRACE("array " + std::to_string(results[r]));
        const Array& wanted = arrays_[results[r]];
        const Ciphertexts got = server_.download(made[r]), due = server_.download(wanted);
        EXPECT_EQ(program.results()[r], due.count);
        ASSERT_TRUE(got.data == due.data && got.wide == due.wide);
        EXPECT_EQ(got.encoding, due.encoding);
        EXPECT_EQ(got.under, Under::ring);
        EXPECT_EQ(made[r].noise(), wanted.noise());
        EXPECT_EQ(made[r].largest(), wanted.largest());
        EXPECT_EQ(made[r].failure_log2(), wanted.failure_log2());
        // Errors that they have in common with the inputs and with what was made at once.
        for (const Array* other : {given[0], &wanted}) {
          if (other->count() != wanted.count() || wanted.noise() > 100) continue;
          const std::int32_t weights[] = {1, 1};
          const Array* ours[] = {&made[r], other};
          const Array* theirs[] = {&wanted, other};
          if (other == &wanted && wanted.failure_log2() > -HUGE_VAL) continue;
          EXPECT_EQ(server_.linear(weights, ours).noise(), server_.linear(weights, theirs).noise());
        }
      }
    }
  }

 private:
  std::vector<std::size_t> counts() const {
    std::vector<std::size_t> out;
    for (const Array& each : arrays_) out.push_back(each.count());
    return out;
  }
  void add(Number number, Array array) {
    ASSERT_EQ(number, arrays_.size());
    arrays_.push_back(std::move(array));
  }

  const Server& server_;
  std::vector<Array> arrays_;
  ProgramRecorder recorder_;
  test::Random& random_;
};

class BinfhePrograms : public testing::TestWithParam<std::size_t> {
 protected:
  Array fresh(const Server& server, std::size_t count) {
    return server.upload(pair_.client.encrypt(random_.numbers(count, 8), octal, 1, Under::ring));
  }
  test::Random random_;
  const Parameters parameters_ = test::varied_sets()[GetParam()];
  const test::Pair& pair_ = test::pair_of(parameters_);
};

TEST_P(BinfhePrograms, MakeWhatTheirOperationsMake) {
  const Server server(pair_.keys, {.device = test::tested_device, .threads = 2}, test::failing());
  for (int round = 0; round < 4; ++round) {
    std::vector<Array> inputs;
    for (std::size_t k = 1 + random_.below(3); k > 0; --k)
      inputs.push_back(fresh(server, 1 + random_.below(5)));
    const std::size_t count = inputs.size();
    Both both(server, std::move(inputs), random_);
    for (std::size_t k = 1 + random_.below(12); k > 0; --k) both.any();
    if (HasFatalFailure()) return;
    both.check(count);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, BinfhePrograms,
                         testing::Range(std::size_t{0}, test::varied_sets().size()));

struct BinfheProgram : testing::Test {
  test::Random random;
  const Parameters parameters = test::varied_sets()[0];
  const test::Pair& pair = test::pair_of(parameters);
  const Server server{pair.keys, {.device = "cpu", .threads = 1}, test::failing()};
  Array fresh(std::size_t count, Under under = Under::ring, Encoding encoding = octal) {
    return server.upload(pair.client.encrypt(random.numbers(count, 4), encoding, 1, under));
  }
};

TEST_F(BinfheProgram, RefusesWhatIsNotThere) {
  EXPECT_THROW(ProgramRecorder(parameters, octal, {}), ShapeError);
  EXPECT_THROW(ProgramRecorder(parameters, octal, std::vector<std::size_t>(32, 1)), ShapeError);
  EXPECT_THROW(ProgramRecorder(parameters, {1, false}, {1}), EncodingError);
  ProgramRecorder recorder(parameters, octal, {2, 3});
  const Lut lut = half_turn(parameters, 0, random);
  const std::uint32_t numbers[] = {0, 1}, index[] = {0, 0}, second[] = {0, 1};
  const std::int32_t weights[] = {1, 1};
  test::expect_message<ShapeError>([&] { recorder.take(2, {0}); }, {"no array 2"});
  test::expect_message<ShapeError>([&] { recorder.take(0, {2}); }, {"index 2"});
  EXPECT_THROW(recorder.concatenate({}), ShapeError);
  test::expect_message<ShapeError>([&] { recorder.linear(weights, numbers); }, {"2 ciphertexts"});
  test::expect_message<ShapeError>([&] { recorder.apply({&lut, 1}, index, 1); }, {"3 ciphertexts"});
  test::expect_message<ShapeError>([&] { recorder.apply({&lut, 1}, second, 0); }, {"table 1 of 1"});
  const Lut two = Lut::create(parameters, Messages{0, 1, 2, 3, 4, 5, 6, 6}, octal, octal);
  ASSERT_EQ(two.kind(), LutKind::arbitrary);
  test::expect_message<EncodingError>(
      [&] {
        recorder.apply({&two, 1}, index, 0);
      },
      {"one rotation"});
  EXPECT_THROW(recorder.program({5}), ShapeError);
}

TEST_F(BinfheProgram, TakesTheArraysThatItWasRecordedFor) {
  ProgramRecorder recorder(parameters, octal, {2});
  const Lut lut = half_turn(parameters, 0, random);
  const Number nothing = recorder.apply({&lut, 1}, {}, recorder.take(0, {}));
  const Program program = recorder.program({recorder.take(0, {1, 0, 1}), nothing});
  EXPECT_EQ(program.inputs(), std::vector<std::size_t>{2});
  EXPECT_EQ(program.results(), (std::vector<std::size_t>{3, 0}));
  const auto run = [&](const Array& a) {
    const Array* in[] = {&a};
    return server.run(program, in);
  };
  EXPECT_EQ(run(fresh(2))[0].count(), 3u);
  EXPECT_EQ(server.download(run(fresh(2))[1]).count, 0u);
  test::expect_message<ShapeError>([&] { run(fresh(3)); }, {"input 0 has 3", "takes 2"});
  test::expect_message<KeyMismatchError>([&] { run(fresh(2, Under::lwe)); }, {"ring key"});
  test::expect_message<EncodingError>([&] { run(fresh(2, Under::ring, {16})); }, {"p = 8"});
  EXPECT_THROW(server.run(program, {}), ShapeError);
  const test::Pair& other = test::pair_of(test::varied_sets()[1]);
  const Server stranger(other.keys, {.device = "cpu"}, test::failing());
  const Array theirs = stranger.upload(other.client.encrypt(Messages{0, 1}, octal, 1, Under::ring));
  const Array* in[] = {&theirs};
  EXPECT_THROW(stranger.run(program, in), ParameterMismatchError);
}

// The noise is that of the arrays that come, not of those that the program was recorded with.
TEST_F(BinfheProgram, CountsTheNoiseOfItsInputs) {
  const Session session({.device = "cpu", .threads = 1});
  const Server any(pair.keys, session, test::failing()),
      strict(pair.keys, session, {.allow_failure = 1e-3});
  ProgramRecorder recorder(parameters, octal, {1});
  const Lut lut = half_turn(parameters, 0, random);
  const std::uint32_t index[] = {0};
  const Program program = recorder.program({recorder.apply({&lut, 1}, index, 0)});
  const Array quiet = any.upload(pair.client.encrypt(Messages{1}, octal, 1, Under::ring));
  const Array* in[] = {&quiet};
  const std::int32_t large[] = {1'000'000};
  const Array loud = any.linear(large, in);
  const Array* noisy[] = {&loud};
  ASSERT_NO_THROW(strict.apply({&lut, 1}, index, quiet, {}, Under::ring));
  EXPECT_NO_THROW(strict.run(program, in));
  const auto alone = [&] { strict.apply({&lut, 1}, index, loud, {}, Under::ring); };
  EXPECT_THROW(alone(), NoiseError);
  EXPECT_EQ(test::refusal_of([&] { strict.run(program, noisy); }), test::refusal_of(alone));
}

TEST_F(BinfheProgram, CountsRotationsAndFailuresAsItsOperations) {
  const Lut lut = half_turn(parameters, 0, random);
  const Messages index(3, 0);
  const auto of = [&](bool whole) {
    DryRun run(parameters, test::failing());
    const Array x = run.fresh(octal, 3, Under::ring);
    const Array* in[] = {&x};
    ProgramRecorder recorder(parameters, octal, {3});
    const Program program =
        recorder.program({recorder.apply({&lut, 1}, index, recorder.apply({&lut, 1}, index, 0))});
    EXPECT_EQ(program.rotations(), 6u);
    EXPECT_EQ(program.layers(), 2u);
    const Array made =
        whole ? run.server().run(program, in)[0]
              : run.server().apply({&lut, 1}, index,
                                   run.server().apply({&lut, 1}, index, x, {}, Under::ring), {},
                                   Under::ring);
    const Costs costs = run.costs();
    return std::tuple(costs.bootstraps, costs.key_switches, run.failure_log2({&made, 1}));
  };
  EXPECT_EQ(of(true), of(false));
  EXPECT_EQ(std::get<0>(of(true)), 6u);
}

// Tables that do not need one another are rotated together, whatever is added to each.
TEST_F(BinfheProgram, RotatesIndependentTablesTogether) {
  ProgramRecorder recorder(parameters, octal, {2});
  const Lut negacyclic = half_turn(parameters, 0, random), ones = half_turn(parameters, 1, random);
  const std::uint32_t index[] = {0, 0};
  const Number a = recorder.apply({&negacyclic, 1}, index, 0);
  const Number b = recorder.apply({&ones, 1}, index, recorder.take(0, {1, 0}));
  EXPECT_EQ(recorder.program({a, b}).layers(), 1u);
  const Number c = recorder.apply({&ones, 1}, index, recorder.take(b, {1, 1}));
  const Number both[] = {a, b};
  const std::int32_t weights[] = {2, -1};
  const Number d = recorder.apply({&negacyclic, 1}, index, recorder.linear(weights, both));
  const Program program = recorder.program({c, d});
  EXPECT_EQ(program.layers(), 2u);
  EXPECT_EQ(program.rotations(), 8u);
  const Array x = fresh(2);
  const Array* in[] = {&x};
  const auto look_up = [&](const Lut& lut, const Array& of) {
    return server.apply({&lut, 1}, index, of, {}, Under::ring);
  };
  const Array first = look_up(negacyclic, x),
              second = look_up(ones, server.take(x, Messages{1, 0}));
  const Array* terms[] = {&first, &second};
  const Array due[] = {look_up(ones, server.take(second, Messages{1, 1})),
                       look_up(negacyclic, server.linear(weights, terms))};
  const std::vector<Array> made = server.run(program, in);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_TRUE(server.download(made[k]).data == server.download(due[k]).data) << k;
}

// Inputs may lie on several devices: one of them does all of the work.
TEST_F(BinfheProgram, RunsOnOneOfSeveralDevices) {
  test::name_devices({backend::make_device("cpu", {1, {}}), backend::make_device("cpu", {2, {}})});
  const Server two(pair.keys, {.device = test::named_devices},
                   {.least_share = 1, .allow_failure = 1});
  const Lut lut = half_turn(parameters, 1, random);
  const Messages index(6, 0);
  const Ciphertexts words = pair.client.encrypt(random.numbers(6, 8), octal, 1, Under::ring);
  ProgramRecorder recorder(parameters, octal, {6});
  const Program program = recorder.program({recorder.apply({&lut, 1}, index, 0)});
  const Array x = two.upload(words), alone = server.upload(words);
  const Array* in[] = {&x};
  const Ciphertexts got = two.download(two.run(program, in)[0]);
  EXPECT_TRUE(got.data ==
              server.download(server.apply({&lut, 1}, index, alone, {}, Under::ring)).data);
}

}  // namespace
}  // namespace whorl::binfhe
