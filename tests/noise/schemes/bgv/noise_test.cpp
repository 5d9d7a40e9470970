// BGV's noise after each kind of step against its bound (docs/bgv-noise.md, whose table this
// prints): the canonical norm, which is what is bounded, and the coefficients, which decryption
// rests on. What a step adds is taken by itself, as the exact difference of phases.
//
// A bound fails for a sample with probability below 2^-43 for each of N/2 pairs of roots
// (docs/bgv-noise.md): with N up to 2^14 and a few hundred samples below 2^-22.
#include "schemes/bgv/noise.h"
#include "lattice/rlwe/secret.h"
#include "ring/automorphism.h"
#include "schemes/bgv/derived.h"
#include "support/bgv_sets.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

/// x(exp(2·pi·i·k/n)), by decimation in time.
void fourier(std::vector<std::complex<double>>& x) {
  const std::size_t n = x.size();
  if (n == 1) return;
  std::vector<std::complex<double>> even(n / 2), odd(n / 2);
  for (std::size_t k = 0; k < n / 2; ++k) {
    even[k] = x[2 * k];
    odd[k] = x[2 * k + 1];
  }
  fourier(even);
  fourier(odd);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const auto turn =
        std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
    x[k] = even[k] + turn * odd[k];
    x[k + n / 2] = even[k] - turn * odd[k];
  }
}

/// log2 of the largest absolute value at the odd powers of exp(i·pi/N).
double log2_canonical(const std::vector<double>& coefficients) {
  const auto N = static_cast<double>(coefficients.size());
  std::vector<std::complex<double>> x;
  for (const double c : coefficients)
    x.push_back(c * std::polar(1.0, std::numbers::pi * static_cast<double>(x.size()) / N));
  fourier(x);
  double most = 0;
  for (const auto& value : x) most = std::max(most, std::abs(value));
  return std::log2(most);
}
double log2_largest(const std::vector<double>& coefficients) {
  double most = 0;
  for (const double c : coefficients) most = std::max(most, std::abs(c));
  return std::log2(most);
}

/// Phases of ciphertexts: residues (limbs, N) of integers.
template <class Word>
class Phases {
 public:
  explicit Phases(const Client& client)
      : p_(client.parameters()),
        plan_(std::get<std::shared_ptr<const ring::RnsPlan<Word>>>(any_plan_of(p_))),
        secret_(plan_, client.secret_key().coefficients(), p_.literal().sigma) {}

  const math::Modulus<Word>& prime(unsigned l) const { return plan_->moduli()[l]; }
  /// The phase of a batch of one.
  std::vector<Word> of(const Ciphertexts& c) const {
    std::vector<Word> out(c.info.limbs * p_.N());
    secret_.phase(plan_->level(c.info.limbs), c.info.parts, c.data.as<Word>(), out);
    return out;
  }
  /// The centred integers of the first `limbs` rows, by mixed radix (Garner 1959).
  std::vector<double> integers(const std::vector<Word>& residues, unsigned limbs) const {
    const std::size_t N = p_.N();
    std::vector<double> out(N);
    std::vector<Word> digits(limbs);
    for (std::size_t j = 0; j < N; ++j) {
      for (unsigned l = 0; l < limbs; ++l) {
        const auto& q = prime(l);
        Word known = 0, product = 1;
        for (unsigned m = 0; m < l; ++m) {
          known = q.add(known, q.mul(q.reduce(digits[m]), product));
          product = q.mul(product, q.reduce(prime(m).value()));
        }
        digits[l] = q.mul(q.sub(residues[l * N + j], known), q.inverse(product));
      }
      // -1 - v has the complements as digits.
      const bool negative = digits[limbs - 1] > prime(limbs - 1).value() / 2;
      long double value = 0;
      for (unsigned l = limbs; l-- > 0;)
        value = value * static_cast<long double>(prime(l).value()) +
                static_cast<long double>(negative ? prime(l).value() - 1 - digits[l] : digits[l]);
      out[j] = static_cast<double>(negative ? -1 - value : value);
    }
    return out;
  }
  std::vector<double> integers(const Ciphertexts& c) const { return integers(of(c), c.info.limbs); }

 private:
  Parameters p_;
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  lattice::rlwe::RnsSecret<Word> secret_;
};

/// What was seen of one kind of step.
struct Step {
  std::string name;
  double bound = 0, canonical = -1e9, coefficient = -1e9;
  unsigned samples = 0;
};

class Table {
 public:
  void add(const std::string& name, double bound, const std::vector<double>& integers,
           double scale = 0) {
    auto found =
        std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return s.name == name; });
    if (found == steps_.end()) found = steps_.insert(steps_.end(), Step{name});
    found->bound = std::max(found->bound, bound);
    const double canonical = log2_canonical(integers) - scale,
                 coefficient = log2_largest(integers) - scale;
    EXPECT_LE(canonical, bound) << name << " passes its bound";
    EXPECT_LE(coefficient, canonical + 1e-6) << name;
    // A bound that far off would be another formula's.
    EXPECT_GE(canonical, bound - 10) << name << " is far below its bound";
    found->canonical = std::max(found->canonical, canonical);
    found->coefficient = std::max(found->coefficient, coefficient);
    ++found->samples;
  }
  void print(const std::string& title) const {
    std::printf("%s\n| step | samples | bound | norm | slack | coefficient | slack |\n",
                title.c_str());
    for (const Step& s : steps_)
      std::printf("| %s | %u | %.1f | %.1f | %.1f | %.1f | %.1f |\n", s.name.c_str(), s.samples,
                  s.bound, s.canonical, s.bound - s.canonical, s.coefficient,
                  s.bound - s.coefficient);
  }

 private:
  std::vector<Step> steps_;
};

template <class Word>
void measure(const Parameters& p, unsigned samples) {
  SCOPED_TRACE(p.literal().name);
  test::Random random;
  const NoiseModel model(p);
  const Client client(p);
  KeyRequest request;
  request.relinearise = 4;
  request.rotations = {1};
  const Server server(client.evaluation_keys(request), {test::tested_device, 1, {}});
  const PublicKey key = client.public_key();
  const Phases<Word> phases(client);
  const Packing packing = p.has_slots() ? Packing::slots : Packing::coefficients;
  const unsigned L = p.limbs();
  const std::size_t N = p.N();
  Table table;
  const auto difference = [&](const std::vector<Word>& x, const std::vector<Word>& y,
                              unsigned limbs) {
    std::vector<Word> out(limbs * N);
    for (unsigned l = 0; l < limbs; ++l)
      for (std::size_t j = 0; j < N; ++j)
        out[l * N + j] = phases.prime(l).sub(x[l * N + j], y[l * N + j]);
    return phases.integers(out, limbs);
  };
  const auto dropped = [&](const char* name, const Array& before) {
    // v' = v/q + what rounding adds: q·v' - v, modulo the primes that are left.
    const unsigned limbs = before.info().limbs;
    const Array after = server.mod_switch(before, limbs - 1);
    const auto v = phases.of(server.download(before));
    auto scaled = phases.of(server.download(after));
    for (unsigned l = 0; l < limbs - 1; ++l) {
      const auto& q = phases.prime(l);
      const Word last = q.reduce(phases.prime(limbs - 1).value());
      for (std::size_t j = 0; j < N; ++j) scaled[l * N + j] = q.mul(scaled[l * N + j], last);
    }
    table.add(name, model.rounding(before.info().parts), difference(scaled, v, limbs - 1),
              p.log2_Q(limbs) - p.log2_Q(limbs - 1));
  };
  const auto turned = [&](const Array& a, const char* name) {
    // Not of the message: v(X^g) is taken away.
    const unsigned limbs = a.info().limbs;
    const auto v = phases.of(server.download(a));
    const auto to = ring::coefficient_permutation(p.N(), rotation_exponent(p.N(), 1));
    std::vector<Word> moved(v.size());
    for (unsigned l = 0; l < limbs; ++l)
      for (std::size_t j = 0; j < N; ++j)
        moved[l * N + to[j] % N] = to[j] < N ? v[l * N + j] : phases.prime(l).neg(v[l * N + j]);
    const auto after = phases.of(server.download(server.rotate(a, 1)));
    table.add(name, model.key_switch(limbs), difference(after, moved, limbs));
  };
  for (unsigned sample = 0; sample < samples; ++sample) {
    const auto m = test::Clear::random(p, packing, 1, random).as_signed();
    const auto n = test::Clear::random(p, packing, 1, random).as_signed();
    const Ciphertexts secret = client.encrypt(m, packing), open = encrypt(key, n, packing);
    const Array a = server.upload(secret), b = server.upload(open);
    table.add("fresh, secret key", model.fresh_secret(), phases.integers(secret));
    table.add("fresh, public key", model.fresh_public(), phases.integers(open));
    const Array times = server.multiply_plain(b, n), plus = server.add_plain(a, n);
    table.add("plus a plaintext", plus.info().noise, phases.integers(server.download(plus)));
    table.add("times a plaintext", times.info().noise, phases.integers(server.download(times)));
    dropped("division by a prime, 2 parts", a);
    const Array product = server.multiply(a, b, false);
    table.add("product", product.info().noise, phases.integers(server.download(product)));
    if (product.info().limbs > 2) dropped("division by a prime, 3 parts", product);
    const Array four = server.multiply(product, a, false);
    if (four.info().limbs > 2) dropped("division by a prime, 4 parts", four);
    const Array two = server.relinearise(product);
    table.add("key switching, s^2", model.key_switch(two.info().limbs),
              difference(phases.of(server.download(two)), phases.of(server.download(product)),
                         two.info().limbs));
    if (packing == Packing::slots) {
      turned(a, "key switching, rotation");
      turned(server.mod_switch(a, L - 1), "key switching, rotation, a limb less");
    }
  }
  table.print(p.literal().name + ", " + std::to_string(p.digits()) + " digits of " +
              std::to_string(p.literal().digit_limbs));

  // Powers m^(2^k), to the end of the chain: how the slack grows.
  Array power =
      server.upload(encrypt(key, test::Clear::random(p, packing, 1, random).as_signed(), packing));
  std::printf("squares in sequence, slack of the bound over the coefficients: %.1f",
              client.noise_budget(server.download(power))[0] - power.noise_budget());
  for (;;) {
    const Array next = server.square(power);
    if (next.noise_budget() <= 0) break;
    power = next;
    const double slack = client.noise_budget(server.download(power))[0] - power.noise_budget();
    EXPECT_GE(slack, 0);
    std::printf(" %.1f", slack);
  }
  std::printf("\n");
}

void measure(const Parameters& p, unsigned samples) {
  backend::with_word_bytes(p.word_bytes(), [&]<class Word>(Word) { measure<Word>(p, samples); });
}

TEST(BgvNoise, StepsAreWithinTheirBounds) {
  for (const test::BgvShape& shape : {test::BgvShape{1024, 65537, 30, 6, 2},
                                      {1024, 65537, 30, 6, 6},
                                      {1024, 65537, 50, 4, 1},
                                      {2048, 786433, 31, 7, 3},
                                      {1024, 2, 30, 5, 2},
                                      {1024, 256, 28, 5, 1},
                                      {1024, 1000003, 30, 6, 3}})
    measure(test::bgv_insecure(shape), 20);
}
TEST(BgvNoise, StepsOfChosenParameters) {
  Requirements r;
  r.depth = 5;
  measure(Parameters::choose(r), 5);
}

}  // namespace
}  // namespace whorl::bgv
