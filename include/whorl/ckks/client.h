// The client's half: it alone makes, holds and uses secret keys.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "whorl/ckks/ciphertexts.h"
#include "whorl/ckks/compact_bits.h"
#include "whorl/ckks/parameters.h"
#include "whorl/common.h"
#include "whorl/secret_key.h"

namespace whorl::ckks {

/// (OpenFHE: PrivateKey with UNIFORM_TERNARY; Lattigo: rlwe.SecretKey with ring.Ternary{P: 2/3}.)
using SecretKey = RingSecretKey<Parameters>;

/// How numbers are encrypted. (OpenFHE: the arguments of MakeCKKSPackedPlaintext; Lattigo:
/// Plaintext.LogDimensions.)
struct EncryptOptions {
  /// Numbers of each vector; 0: all numbers are one vector. In slots a vector of more than N/2
  /// takes several ciphertexts (CiphertextInfo::vector); a polynomial has at most N coefficients.
  std::size_t length = 0;
  /// No number has a larger absolute value, or is outside two bounds, which real numbers in slots
  /// may have (EncodingError). It is public, as the server sees it: it is what errors and overflows
  /// are reckoned from, and what tells whether numbers lie in a polynomial's interval.
  Bounds bound = 1;
  Progress progress = {};
};

/// What a result may reveal, for Client::release. (OpenFHE: SetNumAdversarialQueries,
/// SetStatisticalSecurity.)
struct ReleaseOptions {
  /// How many results of one key will be released in all, at least 1. A result is one ciphertext,
  /// so that a vector over several ciphertexts counts as so many.
  double queries = 1;
  /// Statistical security in bits, 30 … 128. All results together have a Kullback-Leibler
  /// divergence of at most 2^-bits/24 from numbers without the key's errors, and so a total
  /// variation distance of at most sqrt(2^-bits/48) from them, 2^-17.8 for 30 bits
  /// (docs/ckks-noise.md).
  double bits = 30;
  /// What the ciphertexts must state, as a DryRun of the same function gives it (Array::info): the
  /// same packing, parts, level, scale and length, and no larger bound or error. The count is not
  /// compared. The noise is then scaled by this error, not by the stated one.
  std::optional<CiphertextInfo> expect = {};
  Progress progress = {};
};

/// What was released under a key.
struct Released {
  std::uint64_t results = 0;  ///< ciphertexts
  /// The sum of 1/queries over them. At 1 nothing more may be released: what others see has then
  /// used up the divergence that ReleaseOptions::bits allows, for the least `bits` of all results.
  double spent = 0;
};

class Client : public RingClient<Parameters, struct ClientState> {
 public:
  using RingClient::RingClient;

  /// Encrypts vectors of numbers; the last one must be whole. ShapeError if there are none, if they
  /// are not a whole number of vectors, or if a polynomial has more than N coefficients.
  /// EncodingError for a number that is not finite or is above the bound, and for a bound that does
  /// not fit the parameters. (OpenFHE: MakeCKKSPackedPlaintext, then Encrypt; Lattigo:
  /// Encoder.Encode, Encryptor.Encrypt.)
  Ciphertexts encrypt(std::span<const std::complex<double>> values,
                      const EncryptOptions& options = {}) const;
  /// The same of real numbers, in slots or as coefficients (EncodingError for Packing::complex).
  Ciphertexts encrypt(std::span<const double> values, const EncryptOptions& options = {},
                      Packing packing = Packing::real) const;

  /// Encrypts vectors of so many bits compactly, for lanes (whorl/circuits/ckks/lanes.h): up to
  /// BootstrapLiteral::bits vectors in the coefficients of half a ciphertext of level 0, which is
  /// sent as its seed and 2 bytes a coefficient. ShapeError unless bits are a whole number of
  /// vectors, RangeError for lengths above N/2, EncodingError for numbers other than 0 and 1,
  /// ParameterError for parameters whose bootstraps are not made for bits.
  CompactBits encrypt_bits(std::span<const std::uint8_t> bits, std::size_t length,
                           const Progress& progress = {}) const;

  /// Decrypts the numbers of each vector. The numbers carry the errors of the ciphertext,
  /// from which whoever also knows the ciphertexts can compute the secret key (Li and Micciancio,
  /// EUROCRYPT 2021). They are for the client alone: numbers that others get come from release().
  /// KeyMismatchError or ParameterMismatchError if the ciphertexts have another key or other
  /// parameters; RangeError or ShapeError if their info or data is not that of any ciphertext;
  /// NoiseError if the error is as large as the numbers, unless `allow_spent`. (OpenFHE: Decrypt;
  /// Lattigo: Decryptor.Decrypt, Encoder.Decode.)
  std::vector<std::complex<double>> decrypt_raw(const Ciphertexts& ciphertexts,
                                                bool allow_spent = false,
                                                const Progress& progress = {}) const;
  /// Decrypts numbers that others may see: a Gaussian of standard deviation
  /// sqrt(12·queries)·2^(bits/2)·|e| is added to each coefficient, where |e| is the L2 norm of the
  /// error: sqrt(N) times the deviation of a coefficient (after Li, Micciancio, Schultz, Sorrell,
  /// CRYPTO 2022; OpenFHE's noise flooding has the same formula without sqrt(N)).
  /// The error is `options.expect`'s, or else the one that the ciphertexts state, but at least half
  /// of what rounding alone leaves. A server that states a smaller error than is true gets numbers
  /// without enough noise, and so does one that makes up residues, whatever is expected: release
  /// only results of servers that keep to the protocol.
  /// ParameterError for options out of range, for ciphertexts that do not state what is expected,
  /// for results beyond the number of them that was promised (released()), and in a process that
  /// was forked since this client was made, of which the parent does the counting. NoiseError if
  /// the numbers drown in what is added. (OpenFHE: Decrypt after SetDecryptionNoiseMode; Lattigo:
  /// Encoder.DecodePublic, which rounds instead.)
  std::vector<std::complex<double>> release(const Ciphertexts& ciphertexts,
                                            const ReleaseOptions& options = {}) const;
  /// What this object and its copies have released. The count is not part of the key or its file.
  /// ParameterError in a forked child, as in release() and add_released().
  Released released() const;
  /// Counts what was released under the key elsewhere: before this object was made, or by another
  /// one. ParameterError unless `spent` is finite and not negative.
  void add_released(const Released& elsewhere) const;

  /// Whether this key serves lanes (whorl/circuits/ckks/lanes.h): no slot of its secret is larger
  /// than four times the root of their mean square, so that no slot's error is. Of 250 keys one
  /// does not. Others may know the answer.
  bool serves_lanes() const;
  /// Decrypts the bits of lanes, which others may see: they do not depend on errors. Every value is
  /// rounded, and all are refused if one is farther from 0 and 1 than 1/8, which no server that
  /// keeps to the protocol brings about. A refusal depends on errors, so that it must not be told
  /// to anybody who chooses ciphertexts; this object and its copies decrypt no bits afterwards.
  /// EncodingError for what Lanes::finish does not give: another packing, level or scale, or more
  /// than two parts. NoiseError for a refusal. Other errors as of decrypt_raw.
  std::vector<std::uint8_t> decrypt_bits(const Ciphertexts& ciphertexts,
                                         const Progress& progress = {}) const;
  /// The same of integers modulo p, which come out as 0 … p - 1: a value is refused if it is
  /// farther from a whole number than 1/8. ParameterError for a p that lanes under these parameters
  /// do not have.
  std::vector<std::uint8_t> decrypt_integers(const Ciphertexts& ciphertexts, unsigned p,
                                             const Progress& progress = {}) const;

  /// Returns a key for those who may only encrypt. (OpenFHE: KeyPair's publicKey; Lattigo:
  /// KeyGenerator.GenPublicKeyNew.)
  PublicKey public_key() const;
  /// Generates the keys that a server needs, on `threads` threads (0: all cores; at most 1024, else
  /// ParameterError). (OpenFHE: EvalMultKeyGen, EvalRotateKeyGen, EvalBootstrapKeyGen; Lattigo:
  /// KeyGenerator.GenRelinearizationKeyNew, GenGaloisKeysNew.)
  EvaluationKeys evaluation_keys(const KeyRequest& request, unsigned threads = 0,
                                 const Progress& progress = {}) const;
};

/// A client whose key serves lanes.
Client lane_client(const Parameters& parameters);

/// Encrypts under a public key, with the arguments and errors of Client::encrypt. (OpenFHE:
/// Encrypt; Lattigo: rlwe.NewEncryptor of a public key.)
Ciphertexts encrypt(const PublicKey& key, std::span<const std::complex<double>> values,
                    const EncryptOptions& options = {});
Ciphertexts encrypt(const PublicKey& key, std::span<const double> values,
                    const EncryptOptions& options = {}, Packing packing = Packing::real);

}  // namespace whorl::ckks
