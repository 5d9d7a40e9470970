#include "schemes/binfhe/named_sets.h"

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace whorl::binfhe {

namespace {

// The largest primes = 1 mod 2N below a power of two, which is how OpenFHE and the papers built on
// it choose Q; 134215681, 33550337, 268369921, 67104769 and 18014398509404161 are what OpenFHE
// 1.6.1 reports. Where no N is named the prime is the same for 512, 1024 and 2048.
constexpr std::uint64_t kPrime16Of1024 = 61441;
constexpr std::uint64_t kPrime20Of1024 = 1038337;
constexpr std::uint64_t kPrime22Of2048 = 4169729;
constexpr std::uint64_t kPrime25 = 33550337;
constexpr std::uint64_t kPrime26 = 67104769;
constexpr std::uint64_t kPrime27 = 134215681;        // N = 512, 1024
constexpr std::uint64_t kPrime27Of2048 = 134176769;  // N = 2048
constexpr std::uint64_t kPrime28 = 268369921;
constexpr std::uint64_t kPrime29Of2048 = 536813569;
constexpr std::uint64_t kPrime34Of2048 = 17179791361;
constexpr std::uint64_t kPrime35Of2048 = 34359709697;
constexpr std::uint64_t kPrime37Of2048 = 137438822401;
constexpr std::uint64_t kPrime48Of2048 = 281474976694273;
constexpr std::uint64_t kPrime50Of2048 = 1125899906826241;
constexpr std::uint64_t kPrime53Of2048 = 9007199254614017;
constexpr std::uint64_t kPrime54Of2048 = 18014398509404161;

constexpr std::uint64_t pow2(unsigned exponent) { return std::uint64_t{1} << exponent; }

/// OpenFHE's gadget: as many digits as cover Q, of which the lowest is dropped (Lee et al.,
/// EUROCRYPT 2023); paper of Xiao et al., §3.2, does the same ("we modify d_g to d_g - 1").
GadgetRange drop_lowest_digit(std::uint32_t count, std::uint64_t Q, std::uint32_t log_base) {
  const auto log_Q = static_cast<std::uint32_t>(std::bit_width(Q));
  return {count, log_base, (log_Q + log_base - 1) / log_base - 1};
}

/// The part of OpenFHE's and the papers' sets that varies. All have ternary keys and sigma = 3.19.
struct Foreign {
  std::string name;
  std::uint32_t n;
  std::uint64_t q;
  std::uint32_t N;
  std::uint64_t Q, Q_ks;
  std::uint32_t log_B_ks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> count_and_log_base;
  std::string note = {};
};

/// What the names of sets begin with, and where they come from.
struct Family {
  std::string name, source;
};

ParameterLiteral literal_of(const Foreign& set, const Family& family) {
  ParameterLiteral literal;
  literal.name = family.name + "/" + set.name;
  literal.source = family.source;
  if (!set.note.empty()) literal.source += "; " + set.note;
  literal.n = set.n;
  literal.q = set.q;
  literal.N = set.N;
  literal.Q = set.Q;
  literal.Q_ks = set.Q_ks;
  literal.log_B_ks = set.log_B_ks;
  for (const auto& [count, log_base] : set.count_and_log_base)
    literal.gadget.push_back(drop_lowest_digit(count, set.Q, log_base));
  literal.source += "; lowest gadget digit dropped";
  // Keys as 32-bit spectra carry an error that grows with Q and N. From 28 bits at N = 2048 on its
  // variance, 7.3 there, shows beside the keys' own of 3.19²; at N = 1024 and 27 bits it is 0.9.
  if (set.N >= 2048 && set.Q > pow2(27) && set.Q < pow2(31)) literal.transform = Transform::ntt;
  return literal;
}

/// Sets of n = 1305. Their key-switching table would be N·7·16 rows of 1,306 words, 2.4 GB; at
/// Q_ks = 2^35 the noise of `product` is just as negligible.
ParameterLiteral by_product(const std::string& name, const std::string& note, const Family& family,
                            std::uint64_t q, std::uint32_t N, std::uint64_t Q,
                            std::uint32_t log_base) {
  ParameterLiteral literal =
      literal_of({name, 1305, q, N, Q, pow2(35), 5, {{1305, log_base}}, note}, family);
  literal.key_switch = KeySwitch::product;
  literal.source += "; key switching by product instead of a table of gigabytes";
  return literal;
}

/// The functional sets, of messages below 8.
ParameterLiteral functional(const std::string& name, const std::string& note, const Family& family,
                            std::uint64_t q, std::uint32_t log_base) {
  ParameterLiteral literal = by_product(name, note, family, q, 2048, kPrime54Of2048, log_base);
  literal.max_p = 8;
  return literal;
}

/// A set for signs and digits of ciphertexts modulo 2^log_q.
struct LargePrecision {
  const char *name, *note;
  unsigned log_q;
  std::uint32_t log_base;
  std::vector<SmallModulusGadget> small_moduli = {};
};

/// A flooring bears errors of 128 units of q. In doubles those of these gadgets would reach that,
/// hence the NTT; from 2^26 on those of a key switch by digits of 5 bits would, hence 2 bits there.
ParameterLiteral large_precision(const LargePrecision& set, const Family& family) {
  ParameterLiteral literal = functional(set.name, set.note, family, pow2(set.log_q), set.log_base);
  literal.transform = Transform::ntt;
  if (set.log_q > 25) literal.log_B_ks = 2;
  literal.small_modulus_gadgets = set.small_moduli;
  return literal;
}

/// OpenFHE's sets for log2 Q' of 11, up to 16, 25 and 29, where Q' is q here; in the last two with
/// its timeOptimization, too, whose bases are 2^27 up to 2^17 and 2^18 up to 2^26.
void add_openfhe_large_precision(std::vector<ParameterLiteral>& sets, const Family& family) {
  sets.push_back(by_product("STD128_LOGQ_11", "logQ = 11", family, pow2(11), 1024, kPrime27, 5));
  const SmallModulusGadget up_to_17{17, 27, 1}, up_to_26{26, 18, 2};
  const char* const timed_29 = "logQ = 26 to 29 with timeOptimization";
  const LargePrecision table[] = {
      {"STD128_LOGQ_16", "logQ = 12 to 16", 16, 27},
      {"STD128_LOGQ_25", "logQ = 17 to 25", 25, 18},
      {"STD128_LOGQ_25_TIME", "logQ = 17 to 25 with timeOptimization", 25, 18, {up_to_17}},
      {"STD128_LOGQ_29", "logQ = 26 to 29", 29, 14},
      {"STD128_LOGQ_29_TIME", timed_29, 29, 14, {up_to_26, up_to_17}},
  };
  for (const LargePrecision& set : table) sets.push_back(large_precision(set, family));
}

void add(std::vector<ParameterLiteral>& sets, std::span<const Foreign> table,
         const Family& family) {
  for (const Foreign& set : table) sets.push_back(literal_of(set, family));
}

void add_xiao(std::vector<ParameterLiteral>& sets) {
  const std::string of_192 = "B_ks = 28 there; 32 here has as many digits";
  const Foreign table3[] = {
      {"STD128", 512, 1024, 1024, kPrime27, pow2(14), 7, {{512, 7}}},
      {"STD192", 1024, 1024, 2048, kPrime37Of2048, pow2(19), 5, {{1024, 13}}, of_192},
      {"STD256", 1024, 2048, 2048, kPrime29Of2048, pow2(14), 7, {{1024, 8}}},
      {"STD128Q", 1024, 1024, 2048, kPrime50Of2048, pow2(25), 5, {{1024, 25}}},
      {"STD192Q", 1024, 1024, 2048, kPrime35Of2048, pow2(17), 6, {{1024, 12}}},
      {"STD256Q", 2048, 2048, 2048, kPrime27Of2048, pow2(16), 4, {{2048, 7}}},
  };
  add(sets, table3, {"xiao", "Xiao et al., GPU FHEW/TFHE, Table 3 (sets of Micciancio, Polyakov)"});

  const Family functions{"xiao", "Xiao et al., GPU FHEW/TFHE, Table 4 (sets of Liu et al.)"};
  for (const auto& [name, note, log_base] :
       {std::tuple{"EVALFUNC", "EvalFunc", 27u},
        {"DECISION_TREE", "EvalFunc of §5.3, inputs of 11 bits", 9u},
        {"RELU", "EvalFunc of §5.2, inputs of 16 bits", 18u}})
    sets.push_back(functional(name, note, functions, 2048, log_base));
  const LargePrecision large[] = {
      {"HOMSIGN_16", "HomSign, DigitDecomp for Q' up to 2^16", 16, 27},
      {"HOMSIGN_25", "HomSign, DigitDecomp for Q' up to 2^25", 25, 18},
      {"HOMSIGN_29", "HomSign, DigitDecomp for Q' up to 2^29", 29, 14},
  };
  for (const LargePrecision& set : large) sets.push_back(large_precision(set, functions));
}

void add_velofhe(std::vector<ParameterLiteral>& sets) {
  const Family family{"velofhe", "VeloFHE, Table 2"};
  const Foreign table2[] = {
      {"GD_I", 503, 1024, 1024, kPrime27, pow2(14), 5, {{503, 8}}},
      {"GD_II", 600, 2048, 2048, kPrime50Of2048, pow2(15), 5, {{600, 25}}},
  };
  add(sets, table2, family);
  // FHEW of the same sets. No base of exponents is given; these are OpenFHE's.
  const std::string note = "FHEW; base of exponents as OpenFHE's";
  for (const auto& [of, base] : {std::pair{0, 32u}, {1, 64u}}) {
    Foreign set = table2[of];
    set.name += "_AP";
    set.note = note;
    sets.push_back(literal_of(set, family));
    sets.back().rotation = {RotationKind::ap, base};
  }
  // Modulus raising: P has 20 and 28 bits, and one digit is a whole coefficient.
  const Foreign raised[] = {
      {"MR_I", 512, 512, 1024, kPrime16Of1024, pow2(14), 9, {{512, 16}}},
      {"MR_II", 1024, 1024, 2048, kPrime22Of2048, pow2(21), 5, {{1024, 22}}},
  };
  for (const auto& [of, P] : {std::pair{0, kPrime20Of1024}, {1, kPrime28}})
    for (const bool ap : {false, true}) {
      Foreign set = raised[of];
      if (ap) set.name += "_AP";
      ParameterLiteral literal = literal_of(set, family);
      literal.gadget[0].digits = 1;
      literal.source =
          family.source + (ap ? "; FHEW, base of exponents 32" : "") + "; modulus raised";
      literal.rotation = {ap ? RotationKind::ap : RotationKind::ginx, ap ? 32u : 1u, P};
      sets.push_back(literal);
    }
}

void add_openfhe_1_5(std::vector<ParameterLiteral>& sets) {
  const Family family{"openfhe_1_5", "OpenFHE 1.5.1, binfhecontext.cpp"};
  const std::string of_toy = "B_ks = 25 there; 32 here has as many digits";
  const Foreign gates[] = {
      {"STD128", 556, 2048, 1024, kPrime27, pow2(15), 5, {{556, 7}}},
      {"STD128_3", 595, 2048, 1024, kPrime27, pow2(16), 6, {{595, 7}}},
      {"STD128_4", 635, 2048, 1024, kPrime27, pow2(17), 6, {{635, 5}}},
      {"STD128Q", 601, 2048, 1024, kPrime25, pow2(15), 5, {{601, 4}}},
      {"STD192", 821, 2048, 2048, kPrime37Of2048, pow2(15), 5, {{821, 13}}},
      {"STD192Q", 890, 2048, 2048, kPrime34Of2048, pow2(15), 5, {{890, 12}}},
      {"STD256", 1299, 2048, 2048, kPrime29Of2048, pow2(18), 6, {{1299, 10}}},
      {"STD256Q", 1242, 2048, 2048, kPrime26, pow2(16), 6, {{1242, 6}}},
      {"MEDIUM", 422, 1024, 1024, kPrime28, pow2(14), 7, {{422, 10}}},
      {"TOY", 64, 512, 512, kPrime27, kPrime27, 5, {{64, 9}}, of_toy},
  };
  add(sets, gates, family);
  sets.push_back(functional("LARGE_PRECISION", "ciphertexts of 12 to 16 bits", family, 2048, 27));
}

void add_openfhe_1_6(std::vector<ParameterLiteral>& sets) {
  // n, q, Q, Q_ks, B_ks and the counts per base are those of the serialised contexts.
  const Family family{"openfhe_1_6", "OpenFHE 1.6.1, serialised context"};
  const Foreign gates[] = {
      {"STD128", 554, 2048, 1024, kPrime27, pow2(15), 8, {{303, 7}, {251, 9}}},
      {"STD128_3", 592, 2048, 1024, kPrime27, pow2(16), 8, {{575, 7}, {17, 9}}},
      {"STD128_4", 630, 2048, 1024, kPrime27, pow2(17), 9, {{134, 4}, {496, 5}}},
      {"STD128Q", 598, 2048, 1024, kPrime25, pow2(15), 8, {{377, 5}, {221, 7}}},
      {"STD192", 820, 4096, 2048, kPrime28, pow2(15), 8, {{658, 7}, {162, 10}}},
      {"STD192Q", 889, 4096, 2048, kPrime28, pow2(15), 8, {{732, 7}, {157, 10}}},
      {"STD256", 1077, 4096, 2048, kPrime28, pow2(15), 8, {{931, 7}, {146, 10}}},
      {"STD256Q", 1169, 4096, 2048, kPrime26, pow2(15), 8, {{173, 5}, {996, 6}}},
  };
  add(sets, gates, family);
  // `bR`, and the number of keys of automorphisms (`numAutoKeys`), are the context's, too.
  sets.push_back(literal_of(
      {"STD128_AP", 554, 2048, 1024, kPrime27, pow2(15), 8, {{10, 7}, {544, 9}}}, family));
  sets.back().rotation = {RotationKind::ap, 128};
  const Foreign walks[] = {
      {"STD128_LMKCDEY", 554, 2048, 1024, kPrime27, pow2(15), 8, {{552, 9}, {2, 14}}},
      {"STD128_3_LMKCDEY", 592, 2048, 1024, kPrime27, pow2(16), 8, {{440, 7}, {152, 9}}},
      {"STD128_4_LMKCDEY", 668, 2048, 1024, kPrime27, pow2(18), 9, {{586, 6}, {82, 7}}},
      {"STD128Q_LMKCDEY", 598, 2048, 1024, kPrime25, pow2(15), 8, {{565, 7}, {33, 9}}},
      {"STD128Q_3_LMKCDEY", 639, 2048, 1024, kPrime25, pow2(16), 8, {{532, 5}, {107, 7}}},
      {"STD128Q_4_LMKCDEY", 680, 4096, 2048, kPrime28, pow2(17), 6, {{642, 7}, {38, 10}}},
  };
  for (const Foreign& set : walks) {
    sets.push_back(literal_of(set, family));
    sets.back().rotation = {RotationKind::automorphism, 40};
  }
  sets.push_back(functional("LARGE_PRECISION", "ciphertexts of 12 to 16 bits", family, 2048, 27));
  add_openfhe_large_precision(sets, {"openfhe_1_6", "OpenFHE 1.6.1, binfhecontext.cpp"});
}

/// LWE keys are binary, and ciphertexts are switched to another key modulo q.
ParameterLiteral own(const char* name, const char* source, std::uint64_t q, std::uint32_t N,
                     std::uint64_t Q, const GadgetRange& gadget) {
  ParameterLiteral literal;
  literal.name = name;
  literal.source = source;
  literal.n = gadget.count;
  literal.q = literal.Q_ks = q;
  literal.N = N;
  literal.Q = Q;
  literal.gadget = {gadget};
  literal.lwe_secret = SecretDistribution::binary;
  return literal;
}

/// p = 2^33 - 2^20 + 1, the ring's modulus of the accelerator in rtl/.
constexpr std::uint64_t kPrimeOfCore = pow2(33) - pow2(20) + 1;

/// What the accelerator runs: q = Q_ks = 2^32, Q = p, binary LWE keys, unrolled rotations, key
/// switching by products. Only the ratio of error and modulus counts for security.
ParameterLiteral core_set(const std::string& name, const std::string& source, std::uint32_t n,
                          std::uint32_t N, std::uint32_t log_base, std::uint32_t digits,
                          std::uint32_t group) {
  ParameterLiteral literal =
      own(name.c_str(), source.c_str(), pow2(32), N, kPrimeOfCore, {n, log_base, digits});
  literal.key_switch = KeySwitch::product;
  literal.log_B_ks = 2;
  literal.ks_digits = 8;
  literal.transform = Transform::ntt;
  literal.rotation = {RotationKind::unrolled, group};
  return literal;
}

/// Found by tools/params/search.py: the cheapest sets of 132 bits for the LWE key and 131 for the
/// ring key (N = 1024 at 26 bits is measured at 131.3). docs/parameters.md says what made them win.
void add_own(std::vector<ParameterLiteral>& sets) {
  ParameterLiteral gates =
      own("W128_P64", "Whorl: gates, failure at most 2^-64", pow2(15), 1024, kPrime26, {644, 8, 2});
  gates.key_switch = KeySwitch::table;
  gates.log_B_ks = 4;
  gates.ks_digits = 3;
  sets.push_back(gates);

  ParameterLiteral tables = own(
      "W128_P128", "Whorl: look-up tables of 4 bits under a padding bit, failure at most 2^-128",
      pow2(20), 2048, kPrime48Of2048, {843, 23, 1});
  tables.key_switch = KeySwitch::product;
  tables.log_B_ks = 2;
  tables.ks_digits = 8;
  tables.max_p = 16;
  tables.padding = true;
  sets.push_back(tables);

  // The same by unrolled rotations, which are faster where bundles cost less than the steps that
  // they save: on GPUs. Groups as throughput asks, and as the latency of one ciphertext does. Keys
  // of all sets count their errors once, which two digits of 7 bits need; a key switch of two
  // digits has less noise than one of three; n is a multiple of the group.
  for (const auto& [name, of, group, n] : {std::tuple{"W128_P64_M3", "batches", 3u, 645u},
                                           {"W128_P64_M4", "the latency of one", 4u, 644u}}) {
    ParameterLiteral set = own(name, "", pow2(15), 1024, kPrime26, {n, 7, 2});
    set.source = std::string("Whorl: gates, failure at most 2^-64, unrolled for ") + of;
    set.key_switch = KeySwitch::table;
    set.log_B_ks = 6;
    set.ks_digits = 2;
    set.rotation = {RotationKind::unrolled_all, group};
    sets.push_back(set);
  }
  for (const auto& [name, of, group, n] : {std::tuple{"W128_P128_M2", "batches", 2u, 844u},
                                           {"W128_P128_M5", "the latency of one", 5u, 845u}}) {
    ParameterLiteral set = tables;
    set.name = name;
    set.source += std::string(", unrolled for ") + of;
    set.n = n;
    set.gadget = {{n, 22, 1}};
    set.rotation = {RotationKind::unrolled, group};
    sets.push_back(set);
  }

  // Encrypted integers look up sums of more than twenty rotations' noise. So the key switch has
  // digits of one bit, of which twice as many have two thirds of the noise.
  for (const auto& [name, of, group, n] : {std::tuple{"W128_P128_M3", "batches", 3u, 843u},
                                           {"W128_P128_M4", "the latency of one", 4u, 844u}}) {
    ParameterLiteral set = tables;
    set.name = name;
    set.source = std::string("Whorl: integers, failure at most 2^-128, unrolled for ") + of;
    set.n = n;
    set.gadget = {{n, 22, 1}};
    set.rotation = {RotationKind::unrolled, group};
    set.log_B_ks = 1;
    set.ks_digits = 17;
    sets.push_back(set);
  }

  // Signs of fresh messages of q/256 values. Digits are as large as rotations in doubles allow at
  // each modulus: 15 bits up to 2^25, one of 23 up to 2^17. Keys are ternary, since nothing is
  // rounded before a rotation, and n = 1376 is the least multiple of 32 that is measured above 130
  // bits at Q_ks = 2^35.
  ParameterLiteral large =
      own("W128_P40_LOGQ_25", "Whorl: signs and digits of 17 bits, failure at most 2^-40", pow2(25),
          2048, kPrime53Of2048, {1376, 15, 2});
  large.Q_ks = pow2(35);
  large.key_switch = KeySwitch::product;
  large.log_B_ks = 5;
  large.lwe_secret = SecretDistribution::ternary;
  large.small_modulus_gadgets = {{17, 23, 1}};
  sets.push_back(large);
  large.name = "W128_P40_LOGQ_29";
  large.source = "Whorl: signs and digits of 21 bits, failure at most 2^-40";
  large.q = pow2(29);
  large.log_B_ks = 2;
  large.gadget = {{1376, 10, 4}};
  large.small_modulus_gadgets = {{25, 15, 2}, {17, 23, 1}};
  sets.push_back(large);
}

/// The same with block-binary LWE keys (Lee, Min, Song, CCS 2023), of which no security is
/// estimated: n is that of a binary key of 132 bits times 687/630, that paper's ratio for blocks
/// of three, in whole blocks of four. docs/parameters.md says more.
void add_blocks(std::vector<ParameterLiteral>& sets) {
  const auto blocks = [](ParameterLiteral literal) {
    literal.lwe_secret = SecretDistribution::block_binary;
    literal.rotation = {RotationKind::block, 4};
    return literal;
  };
  ParameterLiteral gates = blocks(
      own("BLOCK4_P64",
          "Whorl: gates, failure at most 2^-64; block-binary LWE key, security not estimated",
          pow2(16), 1024, kPrime26, {752, 8, 2}));
  gates.key_switch = KeySwitch::table;
  gates.log_B_ks = 4;
  gates.ks_digits = 3;
  sets.push_back(gates);

  ParameterLiteral tables = blocks(own("BLOCK4_P128",
                                       "Whorl: look-up tables of 4 bits under a padding bit, "
                                       "failure at most 2^-128; block-binary LWE "
                                       "key, security not estimated",
                                       pow2(20), 2048, kPrime48Of2048, {920, 22, 1}));
  tables.key_switch = KeySwitch::product;
  tables.log_B_ks = 3;
  tables.ks_digits = 5;
  tables.max_p = 16;
  tables.padding = true;
  sets.push_back(tables);
}

/// Whorl's own for the accelerator. Errors are as wide as leaves gates at most 2^-64; at N = 1024
/// three digits are needed for that, and at N = 2048 one digit would not do.
void add_own_of_core(std::vector<ParameterLiteral>& sets) {
  for (const std::uint32_t m : {2u, 3u}) {
    ParameterLiteral set = core_set(
        "W128_P64_RTL_M" + std::to_string(m),
        "Whorl: gates, failure at most 2^-64, for the accelerator, groups of " + std::to_string(m),
        684, 1024, 6, 3, m);
    set.ks_digits = 7;
    set.sigma_lwe = static_cast<double>(pow2(18));
    set.sigma_ring = 3.19 * 128;
    sets.push_back(set);
  }
}

/// Sets (I) and (II) of Ye, Kannan, Prasanna, "FPGA Acceleration of Fully Homomorphic Encryption
/// over the Torus", HPEC 2022. They give no errors and no key switching; these are 2^-15 of the
/// torus for LWE keys, and for the ring of N = 1024 2^-27, as in the TFHE library's set of n = 500.
void add_fpga(std::vector<ParameterLiteral>& sets) {
  const std::string origin =
      "Ye, Kannan, Prasanna, HPEC 2022; errors of 2^-15, key switching by 8 digits of 2 bits; ";
  for (std::uint32_t m = 1; m <= 4; ++m) {
    const std::string suffix = "_M" + std::to_string(m);
    const std::string note = ", groups of " + std::to_string(m);
    sets.push_back(core_set("fpga/I" + suffix, origin + "set (I)" + note, 500, 1024, 10, 2, m));
    sets.back().sigma_lwe = static_cast<double>(pow2(17));
    sets.back().sigma_ring = 64;
    sets.push_back(core_set("fpga/II" + suffix, origin + "set (II)" + note, 592, 2048, 7, 3, m));
    sets.back().sigma_lwe = static_cast<double>(pow2(17));
  }
}

std::vector<ParameterLiteral> all_sets() {
  std::vector<ParameterLiteral> sets;
  add_own(sets);
  add_own_of_core(sets);
  add_blocks(sets);
  add_xiao(sets);
  add_velofhe(sets);
  add_fpga(sets);
  add_openfhe_1_5(sets);
  add_openfhe_1_6(sets);
  return sets;
}

}  // namespace

const std::vector<ParameterLiteral>& named_sets() {
  static const std::vector<ParameterLiteral> kSets = all_sets();
  return kSets;
}

}  // namespace whorl::binfhe
