// Ring-LWE ciphertexts over RNS primes, and plaintexts, that stay on a fleet's devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ring/basis.h"
#include "run/fleet.h"

namespace whorl::lattice::rlwe {

class Evaluator;

/// Values at the roots, in the order of ring::NttPlan, or coefficients.
enum class Form : std::uint8_t { evaluation, coefficient };

/// The shape of an array of residues: (parts, basis, count, N), or with log_repeats (parts, basis,
/// count, N >> log_repeats).
struct Shape {
  unsigned parts = 0;  ///< c_0 + c_1·s + c_2·s^2 + …; a plaintext has one
  ring::Basis basis;
  std::size_t count = 0;
  Form form = Form::evaluation;
  /// It is 0 but for a plaintext that is stored by its period: there 2^log_repeats neighbouring
  /// values are one word, as in the factors of backend::RnsOps.
  unsigned log_repeats = 0;

  std::size_t rows() const { return std::size_t{parts} * basis.size(); }
  /// An array of polynomials of N values has so many words.
  std::size_t words(std::size_t N) const { return rows() * count * (N >> log_repeats); }
};

/// Copies share the memory, which never changes. An array keeps its evaluator alive. Any thread may
/// destroy it, also while another thread is inside a call. It holds residues only, and knows no
/// plaintext modulus, scale or noise.
class Array {
 public:
  Array() = default;

  explicit operator bool() const { return storage_ != nullptr; }
  const Shape& shape() const { return storage_->shape; }
  unsigned parts() const { return shape().parts; }
  const ring::Basis& basis() const { return shape().basis; }
  std::size_t count() const { return shape().count; }
  Form form() const { return shape().form; }
  /// Bytes of the residues, without replicas.
  std::size_t bytes() const { return storage_ ? storage_->bytes : 0; }
  /// They say where the batch lies: see run::Fleet::pieces.
  const std::vector<run::Piece>& pieces() const { return storage_->pieces; }
  /// The one that made it.
  const Evaluator& evaluator() const { return *storage_->evaluator; }

 private:
  friend class Evaluator;
  /// Whatever the word is.
  struct Storage {
    Storage(std::shared_ptr<const Evaluator> of, Shape its_shape, std::vector<run::Piece> where)
        : evaluator(std::move(of)), shape(std::move(its_shape)), pieces(std::move(where)) {}
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    virtual ~Storage() = default;

    std::shared_ptr<const Evaluator> evaluator;
    Shape shape;
    std::vector<run::Piece> pieces;
    std::size_t bytes = 0;
  };
  explicit Array(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {}

  std::shared_ptr<const Storage> storage_;
};

}  // namespace whorl::lattice::rlwe
