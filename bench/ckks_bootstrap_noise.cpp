// CKKS: what each step of a bootstrap adds to the error of its result, measured with the secret
// key.
//
// usage: bench_ckks_bootstrap_noise [--depth 13] [--scale-bits 40] [--dnum 4] [--N 0] [--real]
//                                   [--log2-ratio R] [--set NAME] [--constant] [--device
//                                   cpu|cuda:0] [--threads 1]
//                                   [--repeats 1] [--rows 1] [--record FILE] [--commit ID]
//
// OP: noise. Vectors fill all slots. What a ciphertext holds between two steps stands for a
// message: the one that would come out if all steps after were exact. A step's error is the
// difference of these messages before it and after it. The value is -log2 of its standard deviation
// in a real part; "worst": of the largest one. With --N the primes are taken in a smaller ring,
// which is not secure. Where SlotsToCoeffs comes last, its maps are one step with what is before
// them: a bootstrap divides there only once.
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/cosine_fit.h"
#include "common/server.h"
#include "lattice/rlwe/secret.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/encoder.h"
#include "whorl/ckks.h"

namespace whorl::bench {
namespace {

using namespace ckks;
namespace rlwe = lattice::rlwe;
using Real = long double;
using Complexes = std::vector<std::complex<double>>;
using Value = std::complex<Real>;
using Messages = std::vector<Value>;  ///< of each slot

struct Options : CkksOptions {
  Options() : CkksOptions(13) {}
  unsigned N = 0, repeats = 1, row = 1;
  bool real = false, constant = false;
  std::string log2_ratio;
};

/// Ciphertexts of any level, read with the secret key.
class Reader {
 public:
  Reader(const Client& client, const Server& server)
      : p_(client.parameters()),
        evaluator_(*Access::of(server).evaluator),
        encoder_(p_),
        secret_(any_plan_of(p_), client.secret_key().coefficients(), p_.literal().sigma) {}

  std::vector<double> coefficients(const rlwe::Array& a) const {
    // Few primes hold what there is, and room.
    ring::Basis few;
    double bits = 0;
    a.basis().for_each([&](unsigned i) {
      if (bits > 100) return;
      few.insert(i);
      bits += std::log2(static_cast<double>(p_.literal().chain[i]));
    });
    std::vector<double> out;
    secret_.phases(
        {few, a.parts(), a.count(), evaluator_.download(evaluator_.restrict(a, few))},
        [&](std::size_t, std::span<const double> phase) {
          out.insert(out.end(), phase.begin(), phase.end());
        },
        {}, 1);
    return out;
  }
  /// Slots of each polynomial, one after the other.
  Complexes slots(std::span<const double> coefficients, double scale) const {
    const std::size_t count = coefficients.size() / p_.N();
    Complexes out(count * p_.slots());
    for (std::size_t i = 0; i < count; ++i)
      encoder_.decode(coefficients.subspan(i * p_.N(), p_.N()), Packing::complex, scale,
                      std::span(out).subspan(i * p_.slots(), p_.slots()));
    return out;
  }
  Complexes slots(const rlwe::Array& a, double scale) const {
    return slots(coefficients(a), scale);
  }
  Complexes slots(const Array& a) const {
    return slots(Access::State::residues(a), a.info().scale);
  }

 private:
  Parameters p_;
  const rlwe::Evaluator& evaluator_;
  Encoder encoder_;
  rlwe::Secret secret_;
};

class Budget {
 public:
  /// If values are real, their real parts alone are looked at.
  void add(const std::string& step, const Messages& before, const Messages& after, bool real) {
    if (!sums_.contains(step)) order_.push_back(step);
    Sum& sum = sums_[step];
    for (std::size_t i = 0; i < before.size(); ++i) {
      Value error = after[i] - before[i];
      if (real) error = error.real();
      sum.squares += static_cast<double>(std::norm(error)) / (real ? 1 : 2);
      sum.worst = std::max(sum.worst, static_cast<double>(std::abs(error)));
    }
    sum.count += static_cast<double>(before.size());
  }
  void write(const std::function<void(const std::string&, double, double)>& record) const {
    for (const std::string& step : order_) {
      const Sum& sum = sums_.at(step);
      record(step, -0.5 * std::log2(sum.squares / sum.count), -std::log2(sum.worst));
    }
  }

 private:
  struct Sum {
    double squares = 0, count = 0, worst = 0;
  };
  std::vector<std::string> order_;
  std::map<std::string, Sum> sums_;
};

Parameters parameters_of(const Options& options) {
  const Parameters p = !options.set.empty() ? Parameters::named(options.set)
                                            : Parameters::choose({.depth = options.depth,
                                                                  .scale_bits = options.scale_bits,
                                                                  .dnum = options.dnum,
                                                                  .bootstrap = true});
  ParameterLiteral literal = p.literal();
  if (options.N != 0) literal.N = options.N;
  if (!options.log2_ratio.empty()) literal.bootstrap->log2_ratio = std::stod(options.log2_ratio);
  return Parameters::create(std::move(literal), true);
}

Value value_of(const Polynomial& f, Value u) {
  const std::vector<double>& c = f.coefficients;
  Value last = 0, y = 0;
  if (f.basis == Polynomial::Basis::monomial) {
    for (std::size_t k = c.size(); k-- > 0;) y = y * u + static_cast<Real>(c[k]);
    return y;
  }
  for (std::size_t k = c.size(); k-- > 1;) {
    const Value higher = 2.0L * u * y - last + static_cast<Real>(c[k]);
    last = y;
    y = higher;
  }
  return u * y - last + static_cast<Real>(c[0]);
}

/// One bootstrap of x, step by step; the values that come out.
Array measured(const Server& server, const EncodedBootstrap& maps, const Reader& reader,
               const Array& x, const Messages& wanted, Budget& budget) {
  const Parameters& p = server.parameters();
  const BootstrapLiteral& shape = *p.literal().bootstrap;
  const auto& encoded = EncodedBootstrapAccess::storage(maps);
  const BootstrapSteps steps(server, encoded);
  const bool real = x.info().packing == Packing::real, last = shape.coefficients_last != 0;
  const Real r = std::exp2(static_cast<Real>(shape.log2_ratio)), K = shape.range;
  Real q = 1;
  for (const unsigned i : p.primes(0)) q *= static_cast<Real>(p.literal().chain[i]);
  const std::size_t slots = p.slots();
  const Array lowest = steps.scale_down(x);

  // Coefficients are slots in bit-reversed order: real parts, then imaginary ones, which real
  // values do not use.
  std::vector<std::size_t> place(slots);
  for (std::size_t i = 0; i < slots; ++i)
    for (std::size_t bit = 1; bit < slots; bit *= 2)
      place[i] = 2 * place[i] + ((i & bit) != 0 ? 1 : 0);
  const auto at_slots = [&](const std::vector<double>& all) {
    Messages out(slots);
    for (std::size_t i = 0; i < slots; ++i)
      out[i] = {all[place[i]], real ? 0 : all[place[i] + slots]};
    return out;
  };
  // What SlotsToCoeffs makes of the values of the sine, if it comes last. Of real
  // values it is twice the real part, for which the first coefficient counts half.
  const auto mapped = [&](Messages values) {
    if (real) values[0] /= 2;
    std::vector<double> all(2 * slots);
    for (std::size_t i = 0; i < slots; ++i) {
      all[place[i]] = static_cast<double>(values[i].real() * (q / r));
      all[place[i] + slots] = static_cast<double>(values[i].imag() * (q / r));
    }
    const Complexes out = reader.slots(all, lowest.info().scale);
    for (std::size_t i = 0; i < slots; ++i) values[i] = real ? 2 * out[i].real() : out[i];
    return values;
  };

  Messages before = wanted, after(slots);
  const auto add = [&](const std::string& step, bool mapped_already = false) {
    if (last && !mapped_already) after = mapped(after);
    budget.add(step, before, after, real);
    before = after;
  };
  const auto read_slots = [&](const Array& a) {
    const Complexes all = reader.slots(a);
    after.assign(all.begin(), all.end());
  };

  if (!last) {
    read_slots(lowest);
    add("the ciphertext that is refreshed");
  }
  const rlwe::Array coefficients = steps.slots_to_coeffs(lowest);
  after = at_slots(reader.coefficients(coefficients));
  for (Value& m : after) m *= r / q;
  add(last ? "the ciphertext that is refreshed" : "SlotsToCoeffs");

  const rlwe::Array raised = steps.mod_raise(coefficients);
  after = at_slots(reader.coefficients(raised));
  Messages turns;
  for (Value& m : after) {
    turns.emplace_back(std::nearbyint(m.real() / q), std::nearbyint(m.imag() / q));
    m = (m - turns.back() * q) * (r / q);
  }
  add("ModRaise");

  const rlwe::Array in_slots = steps.coeffs_to_slots(raised, x.info());
  const Complexes halves = reader.slots(in_slots, p.scale(result_level(p) + shape.sine()));
  for (std::size_t i = 0; i < slots; ++i) {
    const Value half = real ? halves[i].real() : halves[i];
    after[i] = (half * 2.0L * K - turns[i]) * r;
  }
  add("CoeffsToSlots");

  // From here on real and imaginary parts are ciphertexts of their own; the error of one may have
  // an imaginary part, which is an error of the other part of the message.
  const Value i_unit = {0, real ? 0.0L : 1.0L};
  const auto joined = [&](const Complexes& z, const std::function<Value(Value)>& message) {
    Messages out(slots);
    for (std::size_t i = 0; i < slots; ++i) {
      out[i] = message(z[i]);
      if (!real) out[i] += i_unit * message(z[slots + i]);
    }
    return out;
  };
  const Array angles = steps.real_and_imaginary(in_slots, x.info());
  const Complexes angle = reader.slots(angles);
  after = joined(angle, [&](Value u) { return (u * K + Real{cosine_center}) * r; });
  for (std::size_t i = 0; i < slots; ++i)
    after[i] -= (turns[i].real() + i_unit * turns[i].imag()) * r;
  add("real and imaginary parts");

  const auto finished = [&](Value y, unsigned doublings) {
    for (unsigned d = 0; d < doublings; ++d) y = 2.0L * y * y - 1.0L;
    if (shape.arcsine != 0) y = value_of(encoded.arcsine, y);
    return y * static_cast<Real>(shape.sine_factor());
  };
  after = joined(angle,
                 [&](Value u) { return finished(value_of(encoded.cosine, u), shape.doublings); });
  add("the sine in place of a line");

  Array y = steps.cosine(angles);
  const auto read = [&](unsigned doublings) {
    after = joined(reader.slots(y), [&](Value each) { return finished(each, doublings); });
  };
  read(shape.doublings);
  add("the polynomial");
  for (unsigned d = 1; d < shape.doublings; ++d) {
    y = steps.double_angle(y);
    read(shape.doublings - d);
    add("doubling " + std::to_string(d));
  }
  const Array out = steps.eval_mod_end(y, lowest.info());
  std::string rest = "the last doubling";
  if (shape.arcsine != 0) {
    y = steps.double_angle(y);  // as in join()
    read(0);
    add(rest);
    rest = "the arcsine";
  }
  read_slots(out);
  add(last ? rest + " and SlotsToCoeffs" : rest, true);
  before = wanted;
  add("all", true);
  return out;
}

int run(CommandLine& line) {
  Options options;
  options.declare(line)
      .add("--N", options.N, "the ring, not a secure one; 0: what is chosen")
      .add("--log2-ratio", options.log2_ratio, "of the bootstrap's literal, in place of its own")
      .flag("--real", options.real, "real values")
      .flag("--constant", options.constant, "1 in all slots, in place of random values")
      .add("--rows", options.row, "bootstraps in a row")
      .add("--repeats", options.repeats, "how many rows")
      .parse();
  const Parameters p = parameters_of(options);
  const Client client(p);
  KeyRequest request;
  request_bootstrap(request, p, p.slots());
  const Server server(client.evaluation_keys(request, options.threads),
                      {.device = options.device, .threads = options.threads});
  const EncodedBootstrap maps = encode_bootstrap(server, p.slots());
  const Reader reader(client, server);

  std::mt19937_64 random(1);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
  std::vector<Budget> budgets(options.row);
  for (unsigned i = 0; i < options.repeats; ++i) {
    Complexes values(p.slots(), 1);
    if (!options.constant)
      for (auto& z : values)
        z = options.real ? uniform()
                         : std::complex<double>(uniform(), uniform()) / std::numbers::sqrt2;
    const Messages wanted(values.begin(), values.end());
    std::vector<double> reals;
    for (const auto& z : values) reals.push_back(z.real());
    Array x = server.upload(options.real ? client.encrypt(reals) : client.encrypt(values));
    for (unsigned k = 0; k < options.row; ++k)
      x = server.with_bound(measured(server, maps, reader, x, wanted, budgets[k]), 1);
  }
  const Records records("ckks_bootstrap_noise", options,
                        machine_of(options.device, options.threads), Records::To::file_and_stdout);
  for (unsigned k = 0; k < options.row; ++k)
    budgets[k].write([&](const std::string& step, double bits, double worst) {
      Record record{.op = "noise", .params = p.literal().name, .scheme = "ckks"};
      record.unit = "bits";
      record.runs = options.repeats;
      record.set(bits);
      record.more = {{"step", step},
                     {"log2_ratio", p.literal().bootstrap->log2_ratio},
                     {"worst", worst},
                     {"in_a_row", std::uint64_t{k + 1}},
                     {"values", std::string(options.constant ? "constant 1" : "random") +
                                    (options.real ? ", real" : ", complex")}};
      records.add(record);
    });
  return 0;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_ckks_bootstrap_noise",
                                   whorl::bench::run);
}
