// Parameters of FHEW/TFHE: a literal of plain data, and the immutable object that is made from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "whorl/common.h"

namespace whorl::binfhe {

/// 2^-40. An operation, or a fresh ciphertext, that fails more often is refused with a NoiseError
/// unless a larger probability is allowed knowingly.
inline constexpr double allowed_failure = 0x1p-40;

/// Distribution of the coefficients of a secret key. `block_binary` keys are made of blocks, each
/// of which is uniform over the vectors that have at most a single 1 and 0 elsewhere (Lee, Min,
/// Song, CCS 2023, ePrint 2023/958). No estimate of attacks on blocks stands behind Whorl's
/// security bits, so that such an LWE key counts as 0 bits and needs `allow_insecure`.
enum class SecretDistribution : std::uint8_t {
  binary = 0,
  ternary = 1,
  gaussian = 2,
  block_binary = 3
};

/// How polynomials are multiplied in blind rotation: exactly (NTT) or in doubles (folded FFT).
enum class Transform : std::uint8_t { ntt = 0, fft = 1 };

/// How LWE key switching uses its key. `table` looks up an encryption of digit·B^j·s_i by the digit
/// and adds it (FHEW, OpenFHE; least noise). `product` multiplies an encryption of B^j·s_i by the
/// digit (least memory).
enum class KeySwitch : std::uint8_t { table = 0, product = 1 };

/// The methods of blind rotation. `ginx` has a key for each nonzero value that a coefficient of the
/// secret can have (Chillotti et al. 2020). `unrolled` has 2^group - 1 keys for each group of
/// coefficients (Zhou et al. 2018), `unrolled_all` 2^group, for less noise. `ap` has a key for each
/// digit of an exponent (Ducas and Micciancio 2015). `automorphism` uses automorphisms of the ring
/// (Lee et al. 2023). `block` has a key for each coefficient of a block-binary secret, and takes a
/// block in one step (Lee, Min, Song, CCS 2023).
enum class RotationKind : std::uint8_t {
  ginx = 0,
  unrolled = 1,
  ap = 2,
  automorphism = 3,
  unrolled_all = 4,
  block = 5
};

/// A method of blind rotation and its settings. CPU devices implement all methods. A device that
/// lacks a method refuses its keys with a DeviceError. src/lattice/lwe/rotation_method.h describes
/// the keys of each method.
struct Rotation {
  RotationKind kind = RotationKind::ginx;
  /// Coefficients in a group (1 … 8), the base of AP's digits (2 … 2^12), the window of
  /// automorphisms (1 … 256), or the length of blocks (2 … 8), which divides n; 1 for GINX.
  std::uint32_t group = 1;
  std::uint64_t raised_by = 1;  ///< P if products are modulo P·Q (Shen et al., VeloFHE), else 1
  bool operator==(const Rotation&) const = default;
};

/// The gadget of `count` successive LWE coefficients. It has signed digits of `log_base` bits and
/// keeps `digits` of them, counted from the top of the log2 Q bits. The bits below are rounded away
/// (approximate gadget, Lee et al., EUROCRYPT 2023); if log_base·digits >= log2 Q there are none.
struct GadgetRange {
  std::uint32_t count = 0;
  std::uint32_t log_base = 0;
  std::uint32_t digits = 0;
  bool operator==(const GadgetRange&) const = default;
};

/// A further blind-rotation key, with the same gadget for all LWE coefficients. eval_floor,
/// eval_sign and eval_decomp rotate with it while the modulus that they work with is at most
/// 2^log_modulus (OpenFHE's timeOptimization). A small modulus bears more noise, so that fewer and
/// larger digits serve.
struct SmallModulusGadget {
  std::uint32_t log_modulus = 0;
  std::uint32_t log_base = 0;
  std::uint32_t digits = 0;
  bool operator==(const SmallModulusGadget&) const = default;
};

/// How messages are placed in Z_q: m is encoded as m·q/p, or with a padding bit above it as
/// m·q/(2p). With a padding bit one blind rotation looks up any function of m. Bits for gates have
/// p = 4.
struct Encoding {
  std::uint32_t p = 4;
  bool padding = false;
  /// Z_q is divided into this number of equal sectors: p, or 2p with padding.
  std::uint64_t sectors() const { return padding ? 2ULL * p : p; }
  bool operator==(const Encoding&) const = default;
};

/// Plain data; nothing is checked until Parameters::create.
struct ParameterLiteral {
  std::string name;     ///< e.g. "W128_P64", "openfhe_1_5/STD128"; free text up to 64 characters
  std::string source;   ///< where the set comes from, as text for people
  std::uint32_t n = 0;  ///< LWE dimension, 16 … 4096
  std::uint64_t q = 0;  ///< LWE ciphertext modulus, a power of two up to 2^32
  std::uint32_t N = 0;  ///< ring dimension, power of two 2^8 … 2^13
  std::uint64_t Q = 0;  ///< ring modulus, prime = 1 mod 2N, below 2^31 or up to 2^60
  std::uint64_t Q_ks =
      0;  ///< key-switching modulus, a power of two, q <= Q_ks <= 2^40, or Q itself; may exceed Q
  KeySwitch key_switch = KeySwitch::table;
  std::uint32_t log_B_ks = 0;       ///< bits of a key-switching digit, 1 … 16
  std::uint32_t ks_digits = 0;      ///< digits kept from the top of Q_ks; 0 means all
  std::vector<GadgetRange> gadget;  ///< counts add up to n
  /// Binary or ternary for GINX, binary for `unrolled` and `unrolled_all`, block-binary for
  /// `block`; any of the first three for the other methods.
  SecretDistribution lwe_secret = SecretDistribution::ternary;
  SecretDistribution ring_secret = SecretDistribution::ternary;  ///< any but block-binary
  double sigma_lwe = 3.19;   ///< standard deviation of errors at Q_ks and of fresh encryptions at q
  double sigma_ring = 3.19;  ///< standard deviation of errors at Q
  Transform transform = Transform::fft;  ///< the default; a server may choose the other
  std::uint32_t max_p = 4;  ///< largest p of an arbitrary look-up table that the set is meant for
  bool padding = false;     ///< whether max_p counts messages under a padding bit
  Rotation rotation{};
  /// Gadgets for smaller and smaller moduli, at most 4; `gadget` serves all others.
  std::vector<SmallModulusGadget> small_modulus_gadgets{};
  bool operator==(const ParameterLiteral&) const = default;
};

/// Noise variances predicted for one bootstrap. src/lattice/lwe/noise.h has the formulas. "At Q"
/// means in squared units of the modulus Q.
struct NoiseEstimate {
  double blind_rotation = 0;     ///< of a coefficient extracted after blind rotation, at Q
  double switch_to_ks = 0;       ///< of the rounding from Q to Q_ks, at Q_ks
  double key_switch = 0;         ///< of the key switch, at Q_ks
  double switch_to_q = 0;        ///< of the rounding from Q_ks to q, at q
  double refreshed = 0;          ///< of a bootstrapped ciphertext, at q
  double constant = 0;           ///< the part of `refreshed` that is constant under one key
  double rotation_constant = 0;  ///< the same part of `blind_rotation`, at Q
  double fresh = 0;              ///< of a fresh encryption, at q
  double rotation_rounding = 0;  ///< of the rounding from q to 2N before a blind rotation, at 2N
  /// These are as blind_rotation, by the key of each of small_modulus_gadgets.
  std::vector<double> small_modulus_rotations{};
};

/// Estimated security of both keys in bits, from the table of lattice estimates
/// (docs/parameters.md).
struct SecurityEstimate {
  double lwe_bits = 0;   ///< the LWE key at Q_ks; 0 if it is block-binary: not estimated
  double ring_bits = 0;  ///< the ring key at Q
  double bits() const { return lwe_bits < ring_bits ? lwe_bits : ring_bits; }
};

/// Validated, immutable parameters; cheap to copy.
class Parameters {
 public:
  /// Checks every relation. ParameterError names the field, the value and the bound. It is also
  /// thrown for sets estimated under 128 bits unless `allow_insecure`.
  static Parameters create(ParameterLiteral literal, bool allow_insecure = false);
  /// A named set. If no set has that name, ParameterError lists similar names.
  static Parameters named(std::string_view name, bool allow_insecure = false);
  /// Names of all sets, Whorl's own first.
  static std::vector<std::string> names();

  const ParameterLiteral& literal() const;
  std::uint32_t n() const { return literal().n; }
  std::uint64_t q() const { return literal().q; }
  std::uint32_t N() const { return literal().N; }
  std::uint64_t Q() const { return literal().Q; }
  std::uint64_t Q_ks() const { return literal().Q_ks; }
  const std::string& name() const { return literal().name; }

  /// Number of keys in a step of blind rotation. GINX has 1 with binary LWE keys and 2 with ternary
  /// ones.
  std::uint32_t keys_per_coefficient() const;
  /// Number of RLWE rows of the blind-rotation key. For GINX it is the sum over gadget ranges of
  /// count·keys·2·digits. `key` 0 is that of `gadget`, `key` k that of small_modulus_gadgets[k -
  /// 1].
  std::size_t rotation_key_rows(std::size_t key = 0) const;
  /// Number of blind-rotation keys: 1, and those of small_modulus_gadgets.
  std::size_t rotation_keys() const { return 1 + literal().small_modulus_gadgets.size(); }
  /// Bytes that all blind-rotation keys take in the memory of a device, and those of the
  /// key-switching key: about, since devices pad rows.
  std::size_t rotation_key_bytes(Transform transform) const;
  std::size_t key_switch_key_bytes() const;
  /// Expected number of transforms of N coefficients in one blind rotation.
  double rotation_transforms() const;
  /// Words in the a half, and in the b half, of a row: N, or 2N if the modulus is raised.
  std::size_t rotation_row_words() const {
    return N() * (literal().rotation.raised_by == 1 ? 1 : 2);
  }
  /// Number of digits of key switching: ks_digits, or as many as cover Q_ks if ks_digits is 0.
  std::uint32_t key_switch_digits() const;
  /// Number of LWE rows of the key-switching key: N·digits for `product`. For `table` there is a
  /// row for each nonzero absolute value of a digit. These are N·sum_j bound_j rows in all. bound_j
  /// is 2^(log_B_ks-1), or less for a narrower top digit.
  std::size_t key_switch_rows() const;

  SecurityEstimate security() const;
  NoiseEstimate noise(Transform transform) const;
  NoiseEstimate noise() const { return noise(literal().transform); }
  /// log2 of the failure probability of the worst operation that the set is meant for. That is a
  /// two-input gate on bootstrapped bits. For max_p > 4 it is a look-up table of max_p on a
  /// bootstrapped input.
  double failure_log2() const;
  double failure_log2(Transform transform) const;
  /// log2 of the failure probability of a gate on bootstrapped bits. `sum_of_squares` is the sum of
  /// the squares of the inputs' weights (2 for NAND, 8 for XOR, 3 for MAJORITY). The gate decides
  /// with a margin of q/(2·margin_sectors).
  double gate_failure_log2(double sum_of_squares, double margin_sectors, Transform transform) const;
  /// log2 of the failure probability of a look-up table over `encoding` on a bootstrapped input.
  /// With `arbitrary` the table is one of any function without padding, which takes two rotations.
  /// `tables` share each rotation, as in Server::apply_many; RangeError unless in 1 … N.
  double lut_failure_log2(Encoding encoding, bool arbitrary, Transform transform,
                          std::uint32_t tables = 1) const;
  /// log2 of the failure probability of eval_sign on a fresh ciphertext of messages modulo
  /// p, a power of two. 0 if p is not one, or is above q/256. eval_decomp fails as often.
  double sign_failure_log2(std::uint32_t p, Transform transform) const;
  /// The same of eval_floor. 0 also unless 1 <= round_bits and p >> round_bits is at
  /// least 2.
  double floor_failure_log2(std::uint32_t p, unsigned round_bits, Transform transform) const;
  /// log2 of the probability that a fresh encryption decrypts to another message.
  double fresh_failure_log2(Encoding encoding) const;

  /// BLAKE2b-128 over all fields that change ciphertexts or keys.
  const Digest& digest() const;
  bool operator==(const Parameters& other) const { return digest() == other.digest(); }

 private:
  struct State;
  explicit Parameters(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::binfhe
