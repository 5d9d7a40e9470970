// The contract between schemes and backends. Everything slow in Whorl is one of these entries: each
// takes a whole batch and is documented by its formula. Integer entries give the same bits on every
// backend and for every batch size; FFT entries state an error bound (docs/fft-error.md).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/rns.h"
#include "ring/base_conversion.h"
#include "ring/fft_plan.h"
#include "ring/gadget.h"
#include "ring/ntt_plan.h"
#include "whorl/error.h"

namespace whorl::backend {

class Device;

/// A view of device memory. Operations on views of another device throw DeviceError.
template <class T>
struct Slice {
  T* data = nullptr;
  std::size_t size = 0;
  const Device* device = nullptr;
  operator Slice<const T>() const { return {data, size, device}; }
  Slice part(std::size_t offset, std::size_t count) const {
    if (offset > size || count > size - offset)
      throw ShapeError("slice [" + std::to_string(offset) + ", " + std::to_string(offset + count) +
                       ") of a buffer of " + std::to_string(size));
    return {data + offset, count, device};
  }
};

/// Memory that belongs to one device; moved explicitly by Device::upload and download.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<void> storage, std::size_t size, const Device* device)
      : storage_(std::move(storage)), size_(size), device_(device) {}
  Slice<T> slice() { return {static_cast<T*>(storage_.get()), size_, device_}; }
  Slice<const T> slice() const { return {static_cast<const T*>(storage_.get()), size_, device_}; }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<void> storage_;
  std::size_t size_ = 0;
  const Device* device_ = nullptr;
};

enum class Arithmetic : std::uint8_t { ntt, fft };

/// Ways to spread blind rotations over a GPU's multiprocessors, for comparison; `automatic` takes
/// the one that is fastest for the batch. A CPU has one way and ignores it.
enum class BlindRotation : std::uint8_t {
  automatic,
  single,   ///< one ciphertext in a thread block
  cluster,  ///< one ciphertext over several thread blocks, a cluster where the GPU has them
  grid,     ///< the same, meeting in device memory as GPUs without clusters do
  shared    ///< several ciphertexts in a thread block, which read each step of the key together
};

/// Shape of a GINX blind-rotation key (Chillotti et al. 2020; ternary keys: Micciancio and
/// Polyakov, WAHC 2021). `gadgets[i]` belongs to LWE coefficient i.
struct RotationShape {
  std::uint32_t n = 0;
  std::uint32_t N = 0;
  std::uint64_t Q = 0;
  unsigned keys = 1;  ///< 1: binary, 2: ternary
  std::vector<ring::Gadget> gadgets;
  Arithmetic arithmetic = Arithmetic::fft;
};

/// Writes row `r` of a key: `a` and `b` have the row's length. Rows come in the order documented at
/// whorl::binfhe::EvaluationKeys. Called from several threads at once.
template <class Word>
using RowSource = std::function<void(std::size_t row, std::span<Word> a, std::span<Word> b)>;

/// Writes rows first … first + count - 1 of a key-switching key, each n words of `a` and then `b`:
/// row first + r begins at out + r·stride. Called from several threads at once.
template <class Word>
using SwitchRows =
    std::function<void(std::size_t first, std::size_t count, Word* out, std::size_t stride)>;

/// A blind-rotation key in transform form, laid out in a backend's order of use.
class RotationKey {
 public:
  virtual ~RotationKey() = default;
  virtual std::size_t bytes() const = 0;
  const RotationShape& shape() const { return shape_; }

 protected:
  explicit RotationKey(RotationShape shape) : shape_(std::move(shape)) {}
  RotationShape shape_;
};

/// Shape of an LWE key-switching key from dimension N to n at modulus Q_ks (a power of two, or any
/// for 64-bit words). Digits are unsigned-carry-free signed digits of ring::Gadget over Q_ks.
struct SwitchShape {
  std::uint32_t N = 0;
  std::uint32_t n = 0;
  std::uint64_t Q_ks = 0;
  ring::Gadget gadget{2, 1, 1};
  bool table =
      false;  ///< rows for v·g_j, v = 1 … gadget.bound(j), looked up; else rows for g_j, multiplied
};

/// A key as the class of the device that prepared it; DeviceError if another did.
template <class Own, class Key>
const Own& own_key(const Key& key) {
  if (const auto* own = dynamic_cast<const Own*>(&key)) return *own;
  throw DeviceError("a key prepared by another device, or for other words, was given to this one");
}

class SwitchKey {
 public:
  virtual ~SwitchKey() = default;
  virtual std::size_t bytes() const = 0;
  const SwitchShape& shape() const { return shape_; }

 protected:
  explicit SwitchKey(SwitchShape shape) : shape_(std::move(shape)) {}
  SwitchShape shape_;
};

/// Element-wise entries act on residues below their modulus, limb-major (L, B, N): limb l is
/// reduced modulo moduli[l], B·N = size / L values each.
template <class Word>
using Moduli = std::span<const math::Modulus<Word>>;
template <class Word>
using NttPlans = std::span<const ring::NttPlan<Word>* const>;

class Device {
 public:
  virtual ~Device() = default;
  /// E.g. "cpu (AVX3, 2 threads)".
  virtual std::string name() const = 0;
  virtual unsigned threads() const = 0;
  /// Another queue of calls to the same hardware, whose work runs beside this one's. Buffers belong
  /// to one queue; keys prepared through one serve all.
  virtual std::unique_ptr<Device> sibling() const = 0;
  /// Queues that it pays to keep busy: 2 where copies run beside kernels.
  virtual unsigned queues() const = 0;
  /// Ciphertexts that should go through the stages of an operation together, if each takes `bytes`
  /// of the device's memory on the way.
  virtual std::size_t batch_limit(std::size_t bytes) const = 0;

  template <class T>
  Buffer<T> allocate(std::size_t count) const {
    return {allocate_bytes(count * sizeof(T)), count, this};
  }
  template <class T>
  void upload(std::span<const T> from, Slice<T> to) const {
    check(to);
    check_size("upload", from.size(), to.size);
    copy_in(from.data(), to.data, from.size_bytes());
  }
  template <class T>
  void download(Slice<const T> from, std::span<T> to) const {
    check(from);
    check_size("download", from.size, to.size());
    copy_out(from.data, to.data(), to.size_bytes());
  }

  /// Waits for all work so far; throws what went wrong in it.
  virtual void wait() const = 0;
  /// Operations between these calls, which nest, belong together: a device may keep them until the
  /// last end, and throw there what it would have thrown before. See together().
  virtual void begin_together() const {}
  virtual void end_together() const {}

  /// x^(l)_b <- values at odd powers of psi_l, in the order of ring::NttPlan. data: (L, B, N).
  virtual void ntt(NttPlans<std::uint32_t>, Slice<std::uint32_t> data) const = 0;
  virtual void ntt(NttPlans<std::uint64_t>, Slice<std::uint64_t> data) const = 0;
  /// Inverse of ntt.
  virtual void intt(NttPlans<std::uint32_t>, Slice<std::uint32_t> data) const = 0;
  virtual void intt(NttPlans<std::uint64_t>, Slice<std::uint64_t> data) const = 0;
  /// in: (B, N) reals; out: (B, N/2) values in the order of ring::FftPlan.
  virtual void fft(const ring::FftPlan&, Slice<const double> in,
                   Slice<std::complex<double>> out) const = 0;
  /// Inverse of fft.
  virtual void ifft(const ring::FftPlan&, Slice<const std::complex<double>> in,
                    Slice<double> out) const = 0;

  // Element-wise; `out` may be `a`. Declared for both word sizes.
#define WHORL_ELEMENTWISE(Word)                                                                    \
  /** out = a + b mod q_l */                                                                       \
  virtual void add(Moduli<Word>, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)        \
      const = 0;                                                                                   \
  /** out = a - b mod q_l */                                                                       \
  virtual void sub(Moduli<Word>, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)        \
      const = 0;                                                                                   \
  /** out = -a mod q_l */                                                                          \
  virtual void neg(Moduli<Word>, Slice<const Word> a, Slice<Word> out) const = 0;                  \
  /** out = a·b mod q_l */                                                                        \
  virtual void mul(Moduli<Word>, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)        \
      const = 0;                                                                                   \
  /** out = out + a·b mod q_l */                                                                  \
  virtual void mul_add(Moduli<Word>, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)    \
      const = 0;                                                                                   \
  /** out = a·scalars[l] mod q_l */                                                               \
  virtual void mul_scalar(Moduli<Word>, Slice<const Word> a, std::span<const Word> scalars,        \
                          Slice<Word> out) const = 0;                                              \
  /** out = a(X^g), g odd, below 2N; coefficient form, or evaluation form in the order of NttPlan. \
   * `out` must not be `a`. */                                                                     \
  virtual void automorphism(Moduli<Word>, std::uint32_t N, std::uint32_t g, bool evaluation_form,  \
                            Slice<const Word> a, Slice<Word> out) const = 0;                       \
  /** Whether a < q_l throughout: of residues from outside. Waits for the answer. */               \
  virtual bool all_below(Moduli<Word>, Slice<const Word> a) const = 0;                             \
  /** in (rows, B, N), out (rows, B', N): out[r][first + i] = in[r][index[i]]; what `out` has      \
   * before and after these stays. ShapeError names an index that is not below B. `out` must not   \
   * be `in`. */                                                                                   \
  virtual void take(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,       \
                    Slice<const Word> in, std::size_t first, Slice<Word> out) const = 0;
  WHORL_ELEMENTWISE(std::uint32_t)
  WHORL_ELEMENTWISE(std::uint64_t)
#undef WHORL_ELEMENTWISE

  // RNS. Rows are residues modulo the first `limbs` primes of the tables' chain; with K, modulo the
  // special primes after them. All in evaluation form but for base_convert. Outputs are not inputs.
#define WHORL_RNS(Word)                                                                            \
  /** With `plain_modulus` t: mod_down and rescale subtract multiples of t. */                     \
  virtual std::unique_ptr<RnsTables<Word>> prepare_rns(std::shared_ptr<const ring::RnsPlan<Word>>, \
                                                       std::uint64_t plain_modulus) const = 0;     \
  virtual std::unique_ptr<RnsSwitchKey<Word>> prepare_rns_key(                                     \
      const RnsTables<Word>&, const RnsRowSource<Word>&) const = 0;                                \
  /** Transforms of data (parts, limbs [+ K], B, N), as ntt and intt. */                           \
  virtual void rns_ntt(const RnsTables<Word>&, unsigned limbs, bool with_special,                  \
                       std::size_t parts, Slice<Word> data) const = 0;                             \
  virtual void rns_intt(const RnsTables<Word>&, unsigned limbs, bool with_special,                 \
                        std::size_t parts, Slice<Word> data) const = 0;                            \
  /** in (L, B, N), coefficient form modulo from(); out (K, B, N) modulo to(): what                \
   * ring::BaseConversion says, the same bits on every backend. */                                 \
  virtual void base_convert(const ring::BaseConversion<Word>&, std::uint32_t N,                    \
                            Slice<const Word> in, Slice<Word> out) const = 0;                      \
  /** in (limbs, B, N); out (D, limbs + K, B, N): each of the D digits of `limbs`, a base          \
   * conversion of its own limbs to all others. */                                                 \
  virtual void mod_up(const RnsTables<Word>&, unsigned limbs, Slice<const Word> in,                \
                      Slice<Word> out) const = 0;                                                  \
  /** digits (D, limbs + K, B, N), out (2, limbs + K, B, N): sum_d digits_d(X^g)·key_d; part 0 by \
   * the key's b, part 1 by its a. */                                                              \
  virtual void inner_product(const RnsSwitchKey<Word>&, const RnsTables<Word>&, unsigned limbs,    \
                             std::uint32_t g, Slice<const Word> digits, Slice<Word> out)           \
      const = 0;                                                                                   \
  /** in (parts, limbs + K, B, N), out (parts, limbs, B, N): (x - delta)/P for delta = x mod P,    \
   * delta = 0 mod t, |delta| <= t·P/2 or a hair more. To the first parts `added` is added, at    \
   * X^g: (some of the parts or none, limbs, B, N); it may be the same place of `out` if g = 1. */ \
  virtual void mod_down(const RnsTables<Word>&, unsigned limbs, std::size_t parts,                 \
                        Slice<const Word> in, Slice<const Word> added, std::uint32_t g,            \
                        Slice<Word> out) const = 0;                                                \
  /** The same with the last limb for P: in (parts, limbs, B, N), out (parts, limbs - 1, B, N). */ \
  virtual void rescale(const RnsTables<Word>&, unsigned limbs, std::size_t parts,                  \
                       Slice<const Word> in, Slice<Word> out) const = 0;                           \
  /** Ciphertexts as polynomials in the secret: a (m, limbs, B, N), b (n, limbs, B or 1, N),       \
   * out (m + n - 1, limbs, B, N): out_k = sum_i a_i·b_(k-i); one b is multiplied with every a.   \
   * `a` may be `b`. */                                                                            \
  virtual void tensor(const RnsTables<Word>&, unsigned limbs, std::size_t a_parts,                 \
                      Slice<const Word> a, std::size_t b_parts, Slice<const Word> b,               \
                      Slice<Word> out) const = 0;
  WHORL_RNS(std::uint32_t)
  WHORL_RNS(std::uint64_t)
#undef WHORL_RNS

  /// Transforms a key; rows are RLWE rows (a, b) of N coefficients modulo Q.
  virtual std::unique_ptr<RotationKey> prepare_rotation_key(
      const RotationShape&, const RowSource<std::uint32_t>& rows) const = 0;
  virtual std::unique_ptr<RotationKey> prepare_rotation_key(
      const RotationShape&, const RowSource<std::uint64_t>& rows) const = 0;

  /// For each of the B rows (a_1 … a_n, b) of `lwe`, residues modulo 2N, and test vector
  /// t = luts[index] (L, N) modulo Q:
  ///   ACC <- (0, t·X^-b);  for i = 1 … n:  D <- decompose((X^a_i - 1)·ACC),
  ///   ACC <- ACC + D ⊡ K_i,1 - X^-a_i·(D ⊡ K_i,2)   (second term for ternary keys only)
  /// and writes ACC (B, 2, N) modulo Q, a first. ACC encrypts t·X^(-b + <a, s>). The ternary form
  /// follows from X^-a - 1 = -X^-a·(X^a - 1); it decomposes once and has half the noise of
  /// multiplying by X^a - 1 afterwards (Xiao et al., TCHES 2025, Algorithm 1).
  virtual void blind_rotate(const RotationKey&, Slice<const std::uint32_t> lwe,
                            Slice<const std::uint32_t> luts, Slice<const std::uint32_t> index,
                            Slice<std::uint32_t> out) const = 0;
  virtual void blind_rotate(const RotationKey&, Slice<const std::uint32_t> lwe,
                            Slice<const std::uint64_t> luts, Slice<const std::uint32_t> index,
                            Slice<std::uint64_t> out) const = 0;
  /// sample_extract of blind_rotate's ACC: (B, N+1). A backend may compute no more of the last
  /// step's b than coefficient 0 (Shi et al., VeloFHE, §4.3).
  virtual void blind_rotate_extract(const RotationKey&, Slice<const std::uint32_t> lwe,
                                    Slice<const std::uint32_t> luts,
                                    Slice<const std::uint32_t> index, std::uint64_t constant,
                                    Slice<std::uint32_t> out) const = 0;
  virtual void blind_rotate_extract(const RotationKey&, Slice<const std::uint32_t> lwe,
                                    Slice<const std::uint64_t> luts,
                                    Slice<const std::uint32_t> index, std::uint64_t constant,
                                    Slice<std::uint64_t> out) const = 0;

  /// LWE encryption (B, N+1) of coefficient 0 of each RLWE (B, 2, N), modulo Q:
  /// (a_0, -a_(N-1), …, -a_1, b_0 + constant). For accumulators of which more is wanted than that
  /// coefficient; otherwise blind_rotate_extract.
  virtual void sample_extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant,
                              Slice<const std::uint32_t> rlwe, Slice<std::uint32_t> out) const = 0;
  virtual void sample_extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant,
                              Slice<const std::uint64_t> rlwe, Slice<std::uint64_t> out) const = 0;

  /// Rows of `row` residues: out = round(in·to/from) mod to; `out` may be `in`. With `centre`, the
  /// last element of each row is corrected by half the sum of the others' rounding errors, which is
  /// the error's expected value under a binary key: its variance falls from n/24 to n/48 (Bernard,
  /// Joye, Smart, Walter, 2024/1718, "drifting"); ParameterError if their sum could reach 2^63.
  virtual void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, bool centre,
                              Slice<const std::uint32_t> in, Slice<std::uint32_t> out) const = 0;
  virtual void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, bool centre,
                              Slice<const std::uint32_t> in, Slice<std::uint64_t> out) const = 0;
  virtual void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, bool centre,
                              Slice<const std::uint64_t> in, Slice<std::uint64_t> out) const = 0;
  virtual void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, bool centre,
                              Slice<const std::uint64_t> in, Slice<std::uint32_t> out) const = 0;

  /// Key rows are LWE encryptions modulo Q_ks, in any words that hold it; those of
  /// word_bytes_for(Q_ks) need no conversion.
  virtual std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape&, const SwitchRows<std::uint16_t>& rows) const = 0;
  virtual std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape&, const SwitchRows<std::uint32_t>& rows) const = 0;
  virtual std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape&, const SwitchRows<std::uint64_t>& rows) const = 0;
  /// The same from rows made one by one (a: n words, b: one word).
  std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape& shape,
                                                const RowSource<std::uint64_t>& rows) const {
    return prepare_switch_key(
        shape, SwitchRows<std::uint64_t>([&](std::size_t first, std::size_t count,
                                             std::uint64_t* out, std::size_t stride) {
          for (std::size_t r = 0; r < count; ++r, out += stride)
            rows(first + r, {out, shape.n}, {out + shape.n, 1});
        }));
  }
  /// in (B, N+1), out (B, n+1), residues modulo Q_ks: (0, b) - sum_ij digit_j(a_i)·K_ij.
  virtual void lwe_key_switch(const SwitchKey&, Slice<const std::uint64_t> in,
                              Slice<std::uint64_t> out) const = 0;

  /// out = sum_k weights[k]·in[k] + (0, …, 0, constant) modulo q, rows of `row` residues.
  virtual void lwe_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                          std::span<const Slice<const std::uint32_t>> in, std::uint64_t constant,
                          Slice<std::uint32_t> out) const = 0;

 protected:
  virtual std::shared_ptr<void> allocate_bytes(std::size_t bytes) const = 0;
  virtual void copy_in(const void* host, void* device, std::size_t bytes) const = 0;
  virtual void copy_out(const void* device, void* host, std::size_t bytes) const = 0;

  template <class T>
  void check(const Slice<T>& slice) const {
    if (slice.device != this && slice.size != 0)
      throw DeviceError("a buffer of another device was given to " + name());
  }
  static void check_size(const char* what, std::size_t got, std::size_t want) {
    if (got != want)
      throw ShapeError(std::string(what) + ": " + std::to_string(got) + " elements where " +
                       std::to_string(want) + " are due");
  }
};

/// f(), whose operations on the device belong together: steps of one whole, none of which is waited
/// for alone. What f throws is thrown; what it began is done all the same.
template <class F>
auto together(const Device& device, const F& f) {
  struct Scope {
    const Device& device;
    bool open = true;
    ~Scope() {
      if (!open) return;
      try {
        device.end_together();
      } catch (...) {  // f's exception is under way
      }
    }
    void end() {
      open = false;
      device.end_together();
    }
  };
  device.begin_together();
  Scope scope{device};
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
    scope.end();
  } else {
    auto out = f();
    scope.end();
    return out;
  }
}

struct DeviceOptions {
  /// Of the host; 0: all cores. On a GPU they prepare keys, and up to four copy.
  unsigned threads = 0;
  std::function<bool()> interrupt;  ///< polled from the calling thread; true: InterruptedError
  BlindRotation rotation = BlindRotation::automatic;
};

/// "cpu", "cuda" (the first GPU), "cuda:1", or "" for the best there is. DeviceError names what was
/// asked for and what there is; a device that was asked for is never replaced by another.
std::unique_ptr<Device> make_device(const std::string& name, DeviceOptions options = {});

/// The same for several: "cuda:0,1" or "cuda:all"; one name gives one device.
std::vector<std::unique_ptr<Device>> make_devices(const std::string& name,
                                                  const DeviceOptions& options = {});

/// A device that this machine has or might have.
struct DeviceInfo {
  std::string name;         ///< as make_device takes it: "cpu", "cuda:0"; "cuda" if none is usable
  std::string description;  ///< the hardware's own name
  bool usable = false;
  std::string why;                          ///< why not usable, or which kernels would run
  std::size_t memory = 0, free_memory = 0;  ///< bytes; 0: unknown
};
/// The CPU first. A CUDA entry is always there, and says why if no GPU can be used.
std::vector<DeviceInfo> list_devices();

}  // namespace whorl::backend
