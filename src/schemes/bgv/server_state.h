// What a server's operations share, whatever the word; levels.cpp brings levels and factors
// together, server.cpp has the operations.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/block_cache.h"
#include "backend/ops.h"
#include "math/modulus.h"
#include "schemes/bgv/encoder.h"
#include "schemes/bgv/noise.h"
#include "whorl/bgv/server.h"
#include "whorl/error.h"

namespace whorl::bgv {

/// Of whichever word the parameters have.
struct Residues {
  std::shared_ptr<const void> server;  ///< keeps the device alive
  backend::Buffer<std::uint32_t> narrow;
  backend::Buffer<std::uint64_t> wide;
  std::size_t bytes() const { return narrow.size() * 4 + wide.size() * 8; }
};

/// Residues (parts, limbs, count, N), perhaps with more behind them.
struct Array::Storage : Residues {};
/// Residues (limbs, count, N) in evaluation form.
struct Plaintexts::Storage : Residues {
  Packing packing = Packing::slots;
  std::size_t count = 0;
  std::vector<std::int64_t> coefficients;  ///< (count, N), centred
  double norm = 0;                         ///< log2, of the largest
};

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(const EvaluationKeys& keys, const ServerOptions& options)
      : parameters(keys.parameters),
        key_id(keys.key_id),
        device(backend::make_device(options.device, {options.threads, options.interrupt,
                                                     backend::BlindRotation::automatic})),
        name(device->name()),
        model(parameters),
        schedule(model.schedule()),
        encoder(parameters),
        t(parameters.t()) {}
  virtual ~State() = default;

  Parameters parameters;
  KeyId key_id;
  std::unique_ptr<const backend::Device> device;
  std::string name;
  NoiseModel model;
  std::vector<NoiseModel::Level> schedule;
  Encoder encoder;
  math::Modulus<std::uint64_t> t;
  std::size_t key_bytes = 0;
  /// What downloads are written to: fresh pages cost more than the copy.
  std::shared_ptr<backend::BlockCache> host_memory = std::make_shared<backend::BlockCache>();

  using Coefficients = std::vector<std::int64_t>;

  // What depends on the word.
  virtual Array upload(const Ciphertexts&) const = 0;
  virtual Ciphertexts download(const Array&) const = 0;
  virtual Array combine(const Array& a, const Array& b, bool subtract) const = 0;
  virtual Array scale(const Array& a, std::int64_t by, std::uint64_t factor) const = 0;
  virtual Plaintexts prepare(Coefficients m, Packing packing, unsigned limbs) const = 0;
  virtual Array add_polynomials(const Array& a, const Plaintexts& m, bool subtract) const = 0;
  virtual Array multiply_polynomials(const Array& a, const Plaintexts& m) const = 0;
  virtual Array take(const Array& a, std::span<const std::uint32_t> indices) const = 0;
  virtual Plaintexts take(const Plaintexts& a, std::span<const std::uint32_t> indices) const = 0;
  virtual Array join(std::span<const Array> arrays) const = 0;
  virtual Array tensor(const Array& a, const Array& b) const = 0;
  virtual Array relinearise(Array a) const = 0;
  virtual std::vector<Array> automorphisms(const Array& a,
                                           std::span<const std::uint32_t> gs) const = 0;
  virtual Array drop_limb(const Array& a) const = 0;

  void set_budget(Array& a) const { a.budget_ = model.budget(a.info_.noise, a.info_.limbs); }
  static const CiphertextInfo& info(const Array& a) { return a.info_; }

  /// Of an Array or Plaintexts.
  template <class Values>
  void check(const Values& a) const {
    if (!a.storage_) throw ShapeError("an empty array was given to a server");
    if (a.storage_->server.get() != this)
      throw DeviceError("an array of another server was given to " + name);
  }
  static void check_packing(Packing a, Packing b) {
    if (a != b) throw EncodingError("one batch is packed in slots, the other in coefficients");
  }
  static void check_counts(std::size_t a, std::size_t b, const char* of_b) {
    if (a != b && a != 1 && b != 1)
      throw ShapeError("batches of " + std::to_string(a) + " ciphertexts and " + std::to_string(b) +
                       " " + of_b + ": as many, or one of either");
  }
  void check_pair(const Array& a, const Array& b) const {
    check(a);
    check(b);
    check_counts(a.info_.count, b.info_.count, "ciphertexts");
    check_packing(a.info_.packing, b.info_.packing);
  }
  void check_pair(const Array& a, const Plaintexts& b) const {
    check(a);
    check(b);
    check_counts(a.info_.count, b.count(), "plaintexts");
    check_packing(a.info_.packing, b.packing());
  }
  /// Copies all but the residues.
  Array like(const Array& a) const {
    Array out;
    out.info_ = a.info_;
    return out;
  }

  Array to_limbs(Array a, unsigned limbs) const;
  /// a and b with the same limbs and factor, for addition.
  std::pair<Array, Array> aligned(const Array& a, const Array& b) const;
  /// All with the limbs of the lowest and one factor, of those that cost the noisiest the least.
  std::vector<Array> alike(std::span<const Array> arrays) const;
  /// a and b with the limbs that their product is to have.
  std::pair<Array, Array> reduced(const Array& a, const Array& b) const;
  /// Limbs that `a` is better multiplied with: those of the schedule while it keeps to it.
  unsigned limbs_to_multiply(const Array& a) const;
  /// Of a ciphertext that loses its limbs from `limbs` down to `left`.
  std::uint64_t factor_after(std::uint64_t factor, unsigned limbs, unsigned left) const;

  Coefficients encode(std::span<const std::int64_t> values, Packing packing) const {
    const std::size_t N = parameters.N(), rows = encoder.rows(values.size());
    Coefficients out(rows * N);
    for (std::size_t r = 0; r < rows; ++r)
      encoder.encode(values.subspan(r * N, N), packing, {out.data() + r * N, N});
    return out;
  }
  /// For `a` alone: no more limbs than it has, and with its factor if they are to be added.
  Plaintexts encode_for(const Array& a, std::span<const std::int64_t> values,
                        std::uint64_t factor) const {
    check(a);
    check_counts(a.info_.count, encoder.rows(values.size()), "plaintexts");
    return with_factor(encode(values, a.info_.packing), factor, a);
  }
  Plaintexts with_factor(Coefficients m, std::uint64_t factor, const Array& a) const {
    if (factor != 1)
      for (std::int64_t& x : m) x = t.centred(t.mul(t.from_signed(x), factor));
    return prepare(std::move(m), a.info_.packing, a.info_.limbs);
  }
  /// a ± m. Encoding with the factor, and not multiplying by it, keeps coefficients below t/2.
  Array add(const Array& a, const Plaintexts& m, bool subtract) const {
    check_pair(a, m);
    if (a.info_.factor == 1) return add_polynomials(a, m, subtract);
    return add_polynomials(a, with_factor(m.storage_->coefficients, a.info_.factor, a), subtract);
  }

  /// A single ciphertext as a batch of `count`.
  Array spread(const Array& a, std::size_t count) const {
    return a.info_.count == count ? a : take(a, std::vector<std::uint32_t>(count, 0));
  }
  Array add(const Array& a, const Array& b, bool subtract) const {
    check_pair(a, b);
    const auto [x, y] = aligned(a, b);
    const std::size_t count = std::max(a.info_.count, b.info_.count);
    return combine(spread(x, count), spread(y, count), subtract);
  }
};

}  // namespace whorl::bgv
