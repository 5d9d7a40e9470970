#include "whorl/bgv/parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "math/digest.h"
#include "math/primes.h"
#include "math/text.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/noise.h"
#include "schemes/bgv/plain_modulus.h"
#include "schemes/ring/parameters.h"
#include "schemes/ring/remedy.h"
#include "whorl/error.h"

namespace whorl::bgv {

struct Parameters::State : Common {
  std::vector<double> log2_Q;  ///< of the first 0, 1, … primes
};

const Parameters::State& Parameters::state() const { return static_cast<const State&>(*state_); }

namespace {

constexpr unsigned most_primes = 64, most_special = 32;
constexpr RingRules rules{"BGV: ", most_primes, most_special, 25};

void check_plain_modulus(std::uint64_t t) {
  if (t < 2 || t >= (1ULL << 31))
    rules.reject("t = " + std::to_string(t) + " is outside 2 … 2^31 - 1");
}

void check(const ParameterLiteral& p) {
  rules.check(p);
  check_plain_modulus(p.t);
  for (const auto* primes : {&p.chain, &p.special})
    for (const std::uint64_t q : *primes)
      if (p.t % q == 0)
        rules.reject("t = " + std::to_string(p.t) + " is a multiple of the prime " +
                     std::to_string(q));
}

Digest digest_of(const ParameterLiteral& p) {
  return math::digest_of(std::string_view("whorl bgv parameters 1"), p.N, p.t, p.chain.size(),
                         p.chain, p.special.size(), p.special, p.digit_limbs,
                         std::bit_cast<std::uint64_t>(p.sigma));
}

double log2_of(std::uint64_t q) { return std::log2(static_cast<double>(q)); }

lattice::SecurityBound security_of(const ParameterLiteral& p) {
  double log2_QP = 0;
  for (const auto* primes : {&p.chain, &p.special})
    for (const std::uint64_t q : *primes) log2_QP += log2_of(q);
  return lattice::estimate_security(p.N, log2_QP, p.sigma, lattice::SecretKind::ternary);
}

constexpr std::uint32_t largest_ring = 1u << 17;
constexpr unsigned usual_digits = 3, most_digits = 16;
constexpr double needed_security = 128;

/// A chain of `limbs` primes and its special ones, the largest: P is above each digit's product.
ParameterLiteral literal_of(const Requirements& r, std::uint32_t N, unsigned limbs, unsigned dnum) {
  ParameterLiteral p;
  p.name = "bgv depth " + std::to_string(r.depth) + ", t " + std::to_string(r.plain_modulus) +
           ", N " + std::to_string(N);
  p.N = N;
  p.t = r.plain_modulus;
  p.depth = r.depth;
  p.plain_products = r.plain_products;
  p.digit_limbs = (limbs + dnum - 1) / dnum;
  // t itself, if it is such a prime, cannot divide the chain.
  std::vector<std::uint64_t> primes = math::ntt_primes(r.prime_bits, N, limbs + p.digit_limbs);
  const std::uint64_t last = primes.back();
  if (std::erase_if(primes, [&](std::uint64_t q) { return r.plain_modulus % q == 0; }) != 0)
    primes.push_back(math::ntt_prime_below(last, N));
  p.special.assign(primes.begin(), primes.begin() + p.digit_limbs);
  p.chain.assign(primes.begin() + p.digit_limbs, primes.end());
  return p;
}

/// Returns such a chain with the digits that are asked for, or with the fewest from three on that
/// are secure; nothing if it is not secure.
std::optional<ParameterLiteral> secure_literal(const Requirements& r, std::uint32_t N,
                                               unsigned limbs) {
  const unsigned most = r.dnum ? r.dnum : std::max(usual_digits, std::min(limbs, most_digits));
  for (unsigned dnum = r.dnum ? r.dnum : usual_digits; dnum <= most; ++dnum) {
    ParameterLiteral literal = literal_of(r, N, limbs, dnum);
    if (security_of(literal).bits >= needed_security) return literal;
  }
  return std::nullopt;
}

void check(const Requirements& r) {
  if (r.dnum > most_digits)
    rules.reject("dnum = " + std::to_string(r.dnum) + " is outside 1 … 16, and is not 0 either");
  if (!((r.prime_bits >= 26 && r.prime_bits <= 31) || (r.prime_bits >= 46 && r.prime_bits <= 60)))
    rules.reject("prime_bits = " + std::to_string(r.prime_bits) +
                 " is outside 26 … 31 and 46 … 60");
  check_plain_modulus(r.plain_modulus);
  rules.check_real("sums", r.sums, 0, 64);
  rules.check_range("plain_products", r.plain_products, 0, 64);
  if (r.N != 0) rules.check_ring(r.N);
}

/// Names the circuit in messages.
std::string circuit_of(const Requirements& r) {
  std::string text = "depth " + std::to_string(r.depth);
  if (r.plain_products != 0) text += ", plain_products " + std::to_string(r.plain_products);
  return text + " and sums " + math::text_of(r.sums);
}

/// Asks the model first, as it is quick.
bool lasts(const Parameters& parameters, const Requirements& r) {
  return NoiseModel(parameters).rated_budget(r) >= 0 && Account(parameters).rated_budget(r) >= 0;
}

[[noreturn]] void reject_without_slots(const Requirements& r, const std::string& ring,
                                       const std::string& serve) {
  rules.reject("t = " + std::to_string(r.plain_modulus) + " is not a prime = 1 mod 2N for N = " +
               ring + ", so that vectors cannot be packed in slots; " + serve);
}

/// If no parameters serve, `why` says what was missing. A ring for which t has no slots does not.
std::optional<Parameters> find(const Requirements& r, std::string& why) {
  for (std::uint32_t N = r.N ? r.N : 1024; N <= (r.N ? r.N : largest_ring); N *= 2) {
    if (r.slots && !bgv::has_slots(r.plain_modulus, N)) {
      why += (why.empty() ? "t = " : ", and t = ") + std::to_string(r.plain_modulus) +
             " has no slots for N = " + std::to_string(N);
      return std::nullopt;
    }
    why = "chains of up to 64 primes of " + std::to_string(r.prime_bits) + " bits do not carry it";
    for (unsigned limbs = 1; limbs <= 64; ++limbs) try {
        std::optional<ParameterLiteral> literal = secure_literal(r, N, limbs);
        if (!literal) {
          why = "N = " + std::to_string(N) + " is secure up to " + std::to_string(limbs - 1) +
                " primes of " + std::to_string(r.prime_bits) + " bits, which do not carry " +
                circuit_of(r);
          break;
        }
        Parameters parameters = Parameters::create(std::move(*literal));
        if (lasts(parameters, r)) return parameters;
        // Fewer digits have less noise.
        for (unsigned dnum = usual_digits - 1; r.dnum == 0 && dnum > 0; --dnum) {
          ParameterLiteral fewer = literal_of(r, N, limbs, dnum);
          if (fewer.digit_limbs == parameters.literal().digit_limbs) continue;
          if (fewer.special.size() > most_special || security_of(fewer).bits < needed_security)
            break;
          parameters = Parameters::create(std::move(fewer));
          if (lasts(parameters, r)) return parameters;
        }
      } catch (const ParameterError& error) {  // too few primes of that size
        why = error.what();
        break;
      }
  }
  return std::nullopt;
}

}  // namespace

Parameters Parameters::create(ParameterLiteral literal, bool allow_insecure) {
  check(literal);
  auto state = std::make_shared<State>();
  state->digest = digest_of(literal);
  const lattice::SecurityBound security = security_of(literal);
  state->security = security.bits;
  state->log2_Q.push_back(0);
  for (const std::uint64_t q : literal.chain)
    state->log2_Q.push_back(state->log2_Q.back() + log2_of(q));
  for (const std::uint64_t p : literal.special) state->log2_P += log2_of(p);
  if (!allow_insecure)
    rules.check_security("N = " + std::to_string(literal.N) + " with log2 QP = " +
                             math::text_of(state->log2_Q.back() + state->log2_P) +
                             ": the estimated security",
                         security);
  state->literal = std::move(literal);
  return Parameters(std::move(state));
}

Parameters Parameters::of_limbs(const Requirements& r, unsigned limbs) {
  check(r);
  rules.check_range("limbs", limbs, 1, most_primes);
  if (r.slots && !bgv::has_slots(r.plain_modulus, r.N))
    reject_without_slots(r, std::to_string(r.N), nearest_with_slots(r.plain_modulus, r.N));
  const std::optional<ParameterLiteral> literal = secure_literal(r, r.N, limbs);
  return create(literal ? *literal : literal_of(r, r.N, limbs, r.dnum ? r.dnum : most_digits));
}

Parameters Parameters::choose(const Requirements& r) {
  check(r);
  const std::uint64_t t = r.plain_modulus;
  if (r.N != 0 && r.slots && !bgv::has_slots(t, r.N))
    reject_without_slots(r, std::to_string(r.N), nearest_with_slots(t, r.N));
  std::string why, other;
  const auto find_other = [&](const Requirements& changed) { return find(changed, other); };
  if (std::optional<Parameters> found = find(r, why)) return *found;
  Requirements any = r;
  any.slots = false;
  // If there is a ring, t has no slots for it.
  if (const std::optional<Parameters> ring = r.slots ? find_other(any) : std::nullopt) {
    any.slots = true;
    const std::string serve = nearest_with_slots(t, ring->N(), [&](std::uint64_t near) {
      any.plain_modulus = near;
      return find_other(any).has_value();
    });
    const std::string takes = ", which a circuit of " + circuit_of(r) + " takes";
    reject_without_slots(r, std::to_string(ring->N()) + takes,
                         serve == none_near ? serve + remedy_of(r, find_other) : serve);
  }
  std::string remedy = remedy_of(r, find_other);
  if (remedy.empty()) remedy = r.sums > 0 ? "; take fewer sums" : "; take a smaller t";
  rules.reject("no parameters for " + circuit_of(r) + " with t = " + std::to_string(t) + ": " +
               why + remedy);
}

bool Parameters::has_slots() const { return bgv::has_slots(t(), N()); }
double Parameters::log2_Q(unsigned limbs) const { return state().log2_Q.at(limbs); }

std::string Parameters::describe() const {
  char text[512];
  std::snprintf(text, sizeof text,
                "N = %u, t = %llu%s\n"
                "Q: %u primes, %.0f bits; P: %u primes, %.0f bits; %u digits of %u primes\n"
                "words of %u bits; at least %s bits of security\n",
                N(), static_cast<unsigned long long>(t()),
                has_slots() ? " (slots)" : " (coefficients only)", limbs(), log2_Q(), special(),
                log2_P(), digits(), literal().digit_limbs, 8 * word_bytes(),
                math::bits_below(security_bits()).c_str());
  return text;
}

}  // namespace whorl::bgv
