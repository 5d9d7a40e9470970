#include "whorl/bgv/parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>

#include "lattice/security.h"
#include "math/digest.h"
#include "math/primes.h"
#include "math/text.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/noise.h"
#include "schemes/bgv/plain_modulus.h"
#include "schemes/ring/remedy.h"
#include "whorl/error.h"

namespace whorl::bgv {

struct Parameters::State {
  ParameterLiteral literal;
  Digest digest;
  double security = 0;
  std::vector<double> log2_Q;  ///< of the first 0, 1, … primes
  double log2_P = 0;
};

namespace {

constexpr std::size_t most_special = 32;

[[noreturn]] void reject(const std::string& what) { throw ParameterError("BGV: " + what); }

void check_primes(const char* which, const std::vector<std::uint64_t>& primes, std::uint32_t N,
                  bool narrow) {
  for (const std::uint64_t q : primes) {
    const std::uint64_t low = narrow ? 1ULL << 25 : 1ULL << 45;
    if (q < low || q >= (1ULL << 60) || (ring_word_bytes(q) == 4) != narrow)
      reject(std::string(which) + " prime " + std::to_string(q) + " is outside [" +
             std::to_string(low) + ", 2^" + (narrow ? "31" : "60") +
             "), the range of the chain's first prime");
    if (q % (2ULL * N) != 1 || !math::is_prime(q))
      reject(std::string(which) + " modulus " + std::to_string(q) +
             " is not a prime = 1 mod 2N = " + std::to_string(2ULL * N));
  }
}

void check(const ParameterLiteral& p) {
  if (p.name.size() > 64)
    reject("name has " + std::to_string(p.name.size()) + " characters, above 64");
  if (p.N < 1024 || p.N > (1u << 17) || (p.N & (p.N - 1)) != 0)
    reject("N = " + std::to_string(p.N) + " is not a power of two in 2^10 … 2^17");
  if (p.t < 2 || p.t >= (1ULL << 31))
    reject("t = " + std::to_string(p.t) + " is outside 2 … 2^31 - 1");
  if (p.chain.empty() || p.chain.size() > 64)
    reject("chain has " + std::to_string(p.chain.size()) + " primes, outside 1 … 64");
  if (p.special.empty() || p.special.size() > most_special)
    reject(std::to_string(p.special.size()) + " special primes are outside 1 … 32");
  if (p.digit_limbs == 0 || p.digit_limbs > p.chain.size())
    reject("digit_limbs = " + std::to_string(p.digit_limbs) + " is outside 1 … " +
           std::to_string(p.chain.size()));
  const bool narrow = ring_word_bytes(p.chain[0]) == 4;
  check_primes("chain", p.chain, p.N, narrow);
  check_primes("special", p.special, p.N, narrow);
  std::set<std::uint64_t> seen(p.chain.begin(), p.chain.end());
  seen.insert(p.special.begin(), p.special.end());
  if (seen.size() != p.chain.size() + p.special.size())
    reject("chain and special have the same prime twice");
  for (const std::uint64_t q : seen)
    if (p.t % q == 0)
      reject("t = " + std::to_string(p.t) + " is a multiple of the prime " + std::to_string(q));
  if (!(p.sigma >= 0.5 && p.sigma <= 64))
    reject("sigma = " + math::text_of(p.sigma) + " is outside 0.5 … 64");
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

/// Such a chain with the digits that are asked for, or with the fewest from three on that are
/// secure; none if it is not secure.
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
    reject("dnum = " + std::to_string(r.dnum) + " is outside 1 … 16, and is not 0 either");
  if (!((r.prime_bits >= 26 && r.prime_bits <= 31) || (r.prime_bits >= 46 && r.prime_bits <= 60)))
    reject("prime_bits = " + std::to_string(r.prime_bits) + " is outside 26 … 31 and 46 … 60");
  if (r.plain_modulus < 2 || r.plain_modulus >= (1ULL << 31))
    reject("t = " + std::to_string(r.plain_modulus) + " is outside 2 … 2^31 - 1");
  if (!(r.sums >= 0 && r.sums <= 64))
    reject("sums = " + math::text_of(r.sums) + " is outside 0 … 64");
  if (r.plain_products > 64)
    reject("plain_products = " + std::to_string(r.plain_products) + " is outside 0 … 64");
  if (r.N != 0 && (r.N < 1024 || r.N > (1u << 17) || (r.N & (r.N - 1)) != 0))
    reject("N = " + std::to_string(r.N) + " is not a power of two in 2^10 … 2^17");
}

/// The circuit, for people.
std::string circuit_of(const Requirements& r) {
  std::string text = "depth " + std::to_string(r.depth);
  if (r.plain_products != 0) text += ", plain_products " + std::to_string(r.plain_products);
  return text + " and sums " + math::text_of(r.sums);
}

/// By the model first, as it is quick.
bool lasts(const Parameters& parameters, const Requirements& r) {
  return NoiseModel(parameters).rated_budget(r) >= 0 && Account(parameters).rated_budget(r) >= 0;
}

[[noreturn]] void reject_without_slots(const Requirements& r, const std::string& ring,
                                       const std::string& serve) {
  reject("t = " + std::to_string(r.plain_modulus) + " is not a prime = 1 mod 2N for N = " + ring +
         ", so that vectors cannot be packed in slots; " + serve);
}

/// Where there are none, `why` says what was missing. Rings whose slots t does not have are none.
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
  if (state->security < 128 && !allow_insecure)
    reject("N = " + std::to_string(literal.N) +
           " with log2 QP = " + math::text_of(state->log2_Q.back() + state->log2_P) +
           ": the estimated security is " + lattice::describe(security) +
           ", but 128 bits are needed: set allow_insecure to accept this");
  state->literal = std::move(literal);
  return Parameters(std::move(state));
}

Parameters Parameters::of_limbs(const Requirements& r, unsigned limbs) {
  check(r);
  if (limbs < 1 || limbs > 64) reject("limbs = " + std::to_string(limbs) + " is outside 1 … 64");
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
  reject("no parameters for " + circuit_of(r) + " with t = " + std::to_string(t) + ": " + why +
         remedy);
}

const ParameterLiteral& Parameters::literal() const { return state_->literal; }
bool Parameters::has_slots() const { return bgv::has_slots(t(), N()); }
double Parameters::log2_Q(unsigned limbs) const { return state_->log2_Q.at(limbs); }
double Parameters::log2_P() const { return state_->log2_P; }
double Parameters::security_bits() const { return state_->security; }
const Digest& Parameters::digest() const { return state_->digest; }

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
