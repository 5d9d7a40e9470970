// The contract on the CPU: checks, splits batches over threads, calls the kernels.
#include "backend/cpu/cpu_device.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "backend/block_cache.h"
#include "backend/cpu/blind_rotate.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/rns.h"
#include "backend/cpu/rns_kernels.h"
#include "backend/lwe_shapes.h"
#include "backend/rns_shapes.h"
#include "hwy/aligned_allocator.h"
#include "ring/automorphism.h"

namespace whorl::backend::cpu {

namespace {

/// Values that one piece of an element-wise call has at most, some tens of microseconds of work,
/// and at least.
constexpr std::size_t most_values = 1 << 16, least_values = 1 << 12;

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(Workers workers)
      : CpuDevice(std::move(workers), std::make_shared<BlockCache>()) {}
  CpuDevice(Workers workers, std::shared_ptr<BlockCache> memory)
      : workers_(std::move(workers)), memory_(std::move(memory)) {}

  std::string name() const override {
    return "cpu (" + simd_name() + ", " + std::to_string(workers_.threads) +
           (workers_.threads == 1 ? " thread)" : " threads)");
  }
  unsigned threads() const override { return workers_.threads; }
  std::unique_ptr<Device> sibling() const override {
    return std::make_unique<CpuDevice>(workers_, memory_);
  }
  unsigned queues() const override { return 1; }
  /// Bounds the memory of a batch; larger pieces are no faster.
  std::size_t batch_limit(std::size_t) const override { return 512; }

  void wait() const override {}

  void ntt(NttPlans<std::uint32_t> p, Slice<std::uint32_t> d) const override {
    ntt_all(p, d, true);
  }
  void ntt(NttPlans<std::uint64_t> p, Slice<std::uint64_t> d) const override {
    ntt_all(p, d, true);
  }
  void intt(NttPlans<std::uint32_t> p, Slice<std::uint32_t> d) const override {
    ntt_all(p, d, false);
  }
  void intt(NttPlans<std::uint64_t> p, Slice<std::uint64_t> d) const override {
    ntt_all(p, d, false);
  }

  void fft(const ring::FftPlan& plan, Slice<const double> in,
           Slice<std::complex<double>> out) const override {
    check(in);
    check(out);
    const std::size_t batch = polynomials("fft", in.size, plan.N());
    check_size("fft: output", out.size, batch * plan.M());
    const FftTables tables(plan, simd_doubles());
    each(batch, plan.N(), [&](std::size_t b) {
      fft_polynomial(tables, in.data + b * plan.N(), out.data + b * plan.M());
    });
  }
  void ifft(const ring::FftPlan& plan, Slice<const std::complex<double>> in,
            Slice<double> out) const override {
    check(in);
    check(out);
    const std::size_t batch = polynomials("ifft", out.size, plan.N());
    check_size("ifft: input", in.size, batch * plan.M());
    const FftTables tables(plan, simd_doubles());
    each(batch, plan.N(), [&](std::size_t b) {
      ifft_polynomial(tables, in.data + b * plan.M(), out.data + b * plan.N());
    });
  }

#define WHORL_CPU_ELEMENTWISE(Word)                                                          \
  void add(Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)        \
      const override {                                                                       \
    two(Elementwise::add, q, a, b, out);                                                     \
  }                                                                                          \
  void sub(Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)        \
      const override {                                                                       \
    two(Elementwise::sub, q, a, b, out);                                                     \
  }                                                                                          \
  void neg(Moduli<Word> q, Slice<const Word> a, Slice<Word> out) const override {            \
    two(Elementwise::neg, q, a, a, out);                                                     \
  }                                                                                          \
  void mul(Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)        \
      const override {                                                                       \
    two(Elementwise::mul, q, a, b, out);                                                     \
  }                                                                                          \
  void mul_add(Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)    \
      const override {                                                                       \
    two(Elementwise::mul_add, q, a, b, out);                                                 \
  }                                                                                          \
  void mul_scalar(Moduli<Word> q, Slice<const Word> a, std::span<const Word> scalars,        \
                  Slice<Word> out) const override {                                          \
    scale(q, a, scalars, out);                                                               \
  }                                                                                          \
  void automorphism(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,  \
                    Slice<const Word> a, Slice<Word> out) const override {                   \
    permute(q, N, g, evaluation_form, a, out);                                               \
  }                                                                                          \
  bool all_below(Moduli<Word> q, Slice<const Word> a) const override { return below(q, a); } \
  void take(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,         \
            Slice<const Word> in, std::size_t first, Slice<Word> out) const override {       \
    take_polynomials(rows, N, index, in, first, out);                                        \
  }
  WHORL_CPU_ELEMENTWISE(std::uint32_t)
  WHORL_CPU_ELEMENTWISE(std::uint64_t)
#undef WHORL_CPU_ELEMENTWISE

#define WHORL_CPU_RNS(Word)                                                                        \
  std::unique_ptr<RnsTables<Word>> prepare_rns(std::shared_ptr<const ring::RnsPlan<Word>> plan,    \
                                               std::uint64_t plain_modulus) const override {       \
    return std::make_unique<CpuRnsTables<Word>>(std::move(plan), plain_modulus);                   \
  }                                                                                                \
  std::unique_ptr<RnsSwitchKey<Word>> prepare_rns_key(                                             \
      const RnsTables<Word>& tables, const RnsRowSource<Word>& rows) const override {              \
    check_special("prepare_rns_key", tables.plan());                                               \
    return std::make_unique<CpuRnsSwitchKey<Word>>(own(tables), rows, workers_);                   \
  }                                                                                                \
  void rns_ntt(const RnsTables<Word>& tables, unsigned limbs, bool with_special,                   \
               std::size_t parts, Slice<Word> data) const override {                               \
    transform(tables, limbs, with_special, true, parts, data);                                     \
  }                                                                                                \
  void rns_intt(const RnsTables<Word>& tables, unsigned limbs, bool with_special,                  \
                std::size_t parts, Slice<Word> data) const override {                              \
    transform(tables, limbs, with_special, false, parts, data);                                    \
  }                                                                                                \
  void base_convert(const ring::BaseConversion<Word>& conversion, std::uint32_t N,                 \
                    Slice<const Word> in, Slice<Word> out) const override {                        \
    check(in);                                                                                     \
    check(out);                                                                                    \
    const std::size_t batch = base_convert_batch(conversion, N, in.size, out.size);                \
    cpu::base_convert(conversion, N, batch, in.data, out.data, on());                              \
  }                                                                                                \
  void mod_up(const RnsTables<Word>& tables, unsigned limbs, Slice<const Word> in,                 \
              Slice<Word> out) const override {                                                    \
    check(in);                                                                                     \
    check(out);                                                                                    \
    const std::size_t batch = mod_up_batch(tables.plan(), limbs, in.size, out.size);               \
    cpu::mod_up(own(tables), limbs, batch, in.data, out.data, on());                               \
  }                                                                                                \
  void inner_product(const RnsSwitchKey<Word>& key, const RnsTables<Word>& tables, unsigned limbs, \
                     std::uint32_t g, Slice<const Word> digits, Slice<Word> out) const override {  \
    check(digits);                                                                                 \
    check(out);                                                                                    \
    const std::size_t batch =                                                                      \
        inner_product_batch(key.plan(), tables.plan(), limbs, g, digits.size, out.size);           \
    cpu::inner_product(own(tables), own_key<CpuRnsSwitchKey<Word>>(key), limbs, g, batch,          \
                       digits.data, out.data, on());                                               \
  }                                                                                                \
  void mod_down(const RnsTables<Word>& tables, unsigned limbs, std::size_t parts,                  \
                Slice<const Word> in, Slice<const Word> added, std::uint32_t g, Slice<Word> out)   \
      const override {                                                                             \
    check(in);                                                                                     \
    if (added.size) check(added);                                                                  \
    check(out);                                                                                    \
    const std::size_t batch =                                                                      \
        mod_down_batch<Word>(tables.plan(), limbs, parts, {in.data, in.size},                      \
                             {added.data, added.size}, g, {out.data, out.size});                   \
    if (g != 1 && added.size) {                                                                    \
      const Slice<Word> moved = out.part(0, added.size);                                           \
      automorphism(tables.plan().moduli_of(limbs, false), tables.plan().N(), g, true, added,       \
                   moved);                                                                         \
      added = moved;                                                                               \
    }                                                                                              \
    cpu::mod_down(own(tables), limbs, parts, batch, in.data, {added.data, added.size}, out.data,   \
                  on());                                                                           \
  }                                                                                                \
  void rescale(const RnsTables<Word>& tables, unsigned limbs, std::size_t parts,                   \
               Slice<const Word> in, Slice<Word> out) const override {                             \
    check(in);                                                                                     \
    check(out);                                                                                    \
    const std::size_t batch = rescale_batch(tables.plan(), limbs, parts, in.size, out.size);       \
    cpu::rescale(own(tables), limbs, parts, batch, in.data, out.data, on());                       \
  }                                                                                                \
  void tensor(const RnsTables<Word>& tables, unsigned limbs, std::size_t a_parts,                  \
              Slice<const Word> a, std::size_t b_parts, Slice<const Word> b, Slice<Word> out)      \
      const override {                                                                             \
    check(a);                                                                                      \
    check(b);                                                                                      \
    check(out);                                                                                    \
    const std::size_t batch =                                                                      \
        tensor_batch(tables.plan(), limbs, a_parts, a.size, b_parts, b.size, out.size);            \
    const bool one_b = b.size < b_parts * limbs * batch * tables.plan().N();                       \
    cpu::tensor(own(tables), limbs, a_parts, b_parts, batch, one_b, a.data, b.data, out.data,      \
                on());                                                                             \
  }
  WHORL_CPU_RNS(std::uint32_t)
  WHORL_CPU_RNS(std::uint64_t)
#undef WHORL_CPU_RNS

  std::unique_ptr<RotationKey> prepare_rotation_key(
      const RotationShape& shape, const RowSource<std::uint32_t>& rows) const override {
    return prepare(shape, rows);
  }
  std::unique_ptr<RotationKey> prepare_rotation_key(
      const RotationShape& shape, const RowSource<std::uint64_t>& rows) const override {
    return prepare(shape, rows);
  }
  void blind_rotate(const RotationKey& key, Slice<const std::uint32_t> lwe,
                    Slice<const std::uint32_t> luts, Slice<const std::uint32_t> index,
                    Slice<std::uint32_t> out) const override {
    rotate(key, lwe, luts, index, {}, out);
  }
  void blind_rotate(const RotationKey& key, Slice<const std::uint32_t> lwe,
                    Slice<const std::uint64_t> luts, Slice<const std::uint32_t> index,
                    Slice<std::uint64_t> out) const override {
    rotate(key, lwe, luts, index, {}, out);
  }
  void blind_rotate_extract(const RotationKey& key, Slice<const std::uint32_t> lwe,
                            Slice<const std::uint32_t> luts, Slice<const std::uint32_t> index,
                            std::uint64_t constant, Slice<std::uint32_t> out) const override {
    rotate(key, lwe, luts, index, constant, out);
  }
  void blind_rotate_extract(const RotationKey& key, Slice<const std::uint32_t> lwe,
                            Slice<const std::uint64_t> luts, Slice<const std::uint32_t> index,
                            std::uint64_t constant, Slice<std::uint64_t> out) const override {
    rotate(key, lwe, luts, index, constant, out);
  }

  void sample_extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant,
                      Slice<const std::uint32_t> rlwe, Slice<std::uint32_t> out) const override {
    extract(Q, N, constant, rlwe, out);
  }
  void sample_extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant,
                      Slice<const std::uint64_t> rlwe, Slice<std::uint64_t> out) const override {
    extract(Q, N, constant, rlwe, out);
  }

#define WHORL_CPU_MODULUS_SWITCH(In, Out)                                                 \
  void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, bool centre, \
                      Slice<const In> in, Slice<Out> out) const override {                \
    switch_rows(from, to, row, centre, in, out);                                          \
  }
  WHORL_CPU_MODULUS_SWITCH(std::uint32_t, std::uint32_t)
  WHORL_CPU_MODULUS_SWITCH(std::uint32_t, std::uint64_t)
  WHORL_CPU_MODULUS_SWITCH(std::uint64_t, std::uint64_t)
  WHORL_CPU_MODULUS_SWITCH(std::uint64_t, std::uint32_t)
#undef WHORL_CPU_MODULUS_SWITCH

  std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape& shape, const SwitchRows<std::uint16_t>& rows) const override {
    return cpu::prepare_switch_key(shape, rows, workers_);
  }
  std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape& shape, const SwitchRows<std::uint32_t>& rows) const override {
    return cpu::prepare_switch_key(shape, rows, workers_);
  }
  std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape& shape, const SwitchRows<std::uint64_t>& rows) const override {
    return cpu::prepare_switch_key(shape, rows, workers_);
  }
  void lwe_key_switch(const SwitchKey& key, Slice<const std::uint64_t> in,
                      Slice<std::uint64_t> out) const override {
    check(in);
    check(out);
    const std::size_t count = polynomials("lwe_key_switch", in.size, key.shape().N + 1);
    check_size("lwe_key_switch: output", out.size, count * (key.shape().n + 1));
    key_switch(key, in.data, out.data, count, workers_);
  }

  void lwe_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const Slice<const std::uint32_t>> in, std::uint64_t constant,
                  Slice<std::uint32_t> out) const override {
    check(out);
    check_size("lwe_linear: weights", weights.size(), in.size());
    if (q < 2) throw ParameterError("lwe_linear: modulus " + std::to_string(q) + " is below 2");
    check_word<std::uint32_t>("lwe_linear", q - 1);
    const std::size_t count = polynomials("lwe_linear", out.size, row);
    std::vector<std::uint64_t> factors;
    for (std::size_t k = 0; k < in.size(); ++k) {
      check(in[k]);
      check_size("lwe_linear: input", in[k].size, out.size);
      const auto modulus = static_cast<std::int64_t>(q);
      factors.push_back(static_cast<std::uint64_t>((weights[k] % modulus + modulus) % modulus));
    }
    each(count, row * (in.size() + 1), [&](std::size_t i) {
      for (std::size_t j = i * row; j < (i + 1) * row; ++j) {
        std::uint64_t sum = j + 1 == (i + 1) * row ? constant % q : 0;
        for (std::size_t k = 0; k < in.size(); ++k) sum = (sum + factors[k] * in[k].data[j]) % q;
        out.data[j] = static_cast<std::uint32_t>(sum);
      }
    });
  }

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    return memory_->take(bytes, "cpu");
  }
  void copy_in(const void* host, void* device, std::size_t bytes) const override {
    if (bytes) std::memcpy(device, host, bytes);
  }
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    if (bytes) std::memcpy(host, device, bytes);
  }

 private:
  static std::size_t polynomials(const char* what, std::size_t size, std::size_t row) {
    if (row == 0 || size % row != 0)
      throw ShapeError(std::string(what) + ": " + std::to_string(size) +
                       " elements are not a whole number of rows of " + std::to_string(row));
    return size / row;
  }
  template <class Word>
  static void check_word(const char* what, std::uint64_t largest) {
    if (largest > std::numeric_limits<Word>::max())
      throw ParameterError(std::string(what) + ": residues up to " + std::to_string(largest) +
                           " do not fit words of " + std::to_string(8 * sizeof(Word)) + " bits");
  }
  /// How many of `values` values a piece should have, so that threads have some pieces each.
  std::size_t piece(std::size_t values) const {
    return std::clamp(std::bit_ceil(values / (4 * std::max(1u, workers_.threads)) + 1),
                      least_values, most_values);
  }
  /// body(i) for i < count, grouped so that a piece has about as many values as it should.
  void each(std::size_t count, std::size_t values,
            const std::function<void(std::size_t)>& body) const {
    const std::size_t group =
        std::max<std::size_t>(1, piece(count * values) / std::max<std::size_t>(1, values));
    parallel_for((count + group - 1) / group, on().workers_for(count * values), [&](std::size_t g) {
      for (std::size_t i = g * group; i < std::min(count, (g + 1) * group); ++i) body(i);
    });
  }

  template <class Word>
  void ntt_all(NttPlans<Word> plans, Slice<Word> data, bool is_forward) const {
    check(data);
    if (plans.empty()) throw ShapeError("ntt: no limb");
    const std::uint32_t N = plans[0]->N();
    const std::size_t batch = polynomials("ntt", data.size, plans.size() * N);
    for (std::size_t l = 0; l < plans.size(); ++l) {
      if (plans[l]->N() != N)
        throw ShapeError("ntt: limb " + std::to_string(l) + " has N = " +
                         std::to_string(plans[l]->N()) + ", limb 0 has " + std::to_string(N));
      const NttTables<Word> tables(*plans[l], simd_words(sizeof(Word)));
      Word* limb = data.data + l * batch * N;
      each(batch, N, [&](std::size_t b) {
        Word* const values = limb + b * N;
        is_forward ? ntt_polynomial(tables, values, values)
                   : intt_polynomial(tables, values, values);
      });
    }
  }

  template <class Word>
  static const CpuRnsTables<Word>& own(const RnsTables<Word>& tables) {
    return own_key<CpuRnsTables<Word>>(tables);
  }
  template <class Word>
  void transform(const RnsTables<Word>& tables, unsigned limbs, bool with_special, bool is_forward,
                 std::size_t parts, Slice<Word> data) const {
    check(data);
    const std::size_t batch = transform_batch(tables.plan(), limbs, with_special, parts, data.size);
    rns_transform(own(tables), limbs, with_special, is_forward, parts, batch, data.data, on());
  }

  template <class Word>
  std::size_t limb_size(const char* what, Moduli<Word> q, std::size_t size) const {
    if (q.empty()) throw ShapeError(std::string(what) + ": no limb");
    return polynomials(what, size, q.size()) ? size / q.size() : 0;
  }
  /// Calls body(limb, offset, count) for pieces of every limb.
  template <class Body>
  void pieces(std::size_t limbs, std::size_t size, const Body& body) const {
    const std::size_t most = piece(limbs * size), per_limb = (size + most - 1) / most;
    // Done at once: a quarter of the work that transforms and the like are of so many values.
    parallel_for(limbs * per_limb, on().workers_for(limbs * size / 4), [&](std::size_t i) {
      const std::size_t begin = i % per_limb * most;
      body(i / per_limb, i / per_limb * size + begin, std::min(most, size - begin));
    });
  }
  template <class Word>
  void two(Elementwise op, Moduli<Word> q, Slice<const Word> a, Slice<const Word> b,
           Slice<Word> out) const {
    check(a);
    check(b);
    check(out);
    check_size("element-wise: b", b.size, a.size);
    check_size("element-wise: output", out.size, a.size);
    pieces(q.size(), limb_size("element-wise", q, a.size),
           [&](std::size_t l, std::size_t at, std::size_t count) {
             elementwise(op, q[l], a.data + at, b.data + at, out.data + at, count);
           });
  }
  template <class Word>
  void scale(Moduli<Word> q, Slice<const Word> a, std::span<const Word> scalars,
             Slice<Word> out) const {
    check(a);
    check(out);
    check_size("mul_scalar: scalars", scalars.size(), q.size());
    check_size("mul_scalar: output", out.size, a.size);
    pieces(q.size(), limb_size("mul_scalar", q, a.size),
           [&](std::size_t l, std::size_t at, std::size_t count) {
             multiply_scalar(q[l], a.data + at, q[l].reduce(scalars[l]), out.data + at, count);
           });
  }
  template <class Word>
  bool below(Moduli<Word> q, Slice<const Word> a) const {
    check(a);
    std::atomic<bool> all{true};
    pieces(q.size(), limb_size("all_below", q, a.size),
           [&](std::size_t l, std::size_t at, std::size_t count) {
             Word largest = 0;
             for (const Word x : std::span(a.data + at, count)) largest = std::max(largest, x);
             if (largest >= q[l].value()) all = false;
           });
    return all;
  }
  template <class Word>
  void permute(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,
               Slice<const Word> a, Slice<Word> out) const {
    ring::check_exponent(N, g);
    check(a);
    check(out);
    check_size("automorphism: output", out.size, a.size);
    if (a.data == out.data && a.size) throw ShapeError("automorphism: output is the input");
    const std::size_t batch = polynomials("automorphism", a.size, q.size() * N);
    if (evaluation_form) {
      const EvaluationPermutation<Word> permutation(N, g);
      const std::size_t size = std::min<std::size_t>(N, least_values), count = N / size;
      return each(q.size() * batch * count, size, [&](std::size_t i) {
        const std::size_t first = i / count * N;
        permute_values(permutation, a.data + first, out.data + first, i % count * size, size);
      });
    }
    const std::vector<std::uint32_t> to = ring::coefficient_permutation(N, g);
    each(q.size() * batch, N, [&](std::size_t i) {
      const math::Modulus<Word>& modulus = q[i / batch];
      const Word* x = a.data + i * N;
      Word* y = out.data + i * N;
      for (std::uint32_t j = 0; j < N; ++j) y[to[j] % N] = to[j] < N ? x[j] : modulus.neg(x[j]);
    });
  }

  template <class Word>
  void take_polynomials(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
                        Slice<const Word> in, std::size_t first, Slice<Word> out) const {
    check(in);
    check(out);
    const TakeBatches batches = take_batches(rows, N, index, in.size, first, out.size);
    if (in.data == out.data && in.size) throw ShapeError("take: output is the input");
    each(rows * index.size(), N, [&](std::size_t k) {
      const std::size_t row = k / index.size(), i = k % index.size();
      std::copy_n(in.data + (row * batches.in + index[i]) * N, N,
                  out.data + (row * batches.out + first + i) * N);
    });
  }

  template <class Word>
  static void check_ring_words(const RotationShape& shape) {
    const bool narrow = shape.Q < (1ULL << 31);
    if (narrow != (sizeof(Word) == 4))
      throw ParameterError("blind rotation: Q = " + std::to_string(shape.Q) + " needs words of " +
                           (narrow ? "32" : "64") + " bits");
  }
  template <class Word>
  std::unique_ptr<RotationKey> prepare(const RotationShape& shape,
                                       const RowSource<Word>& rows) const {
    ring::check_ring_dimension(shape.N);
    check_size("blind-rotation key: gadgets", shape.gadgets.size(), shape.n);
    if (shape.keys != 1 && shape.keys != 2)
      throw ParameterError("blind-rotation key: " + std::to_string(shape.keys) +
                           " keys a coefficient; 1 (binary) or 2 (ternary)");
    if (shape.N > 8192)
      throw ParameterError("blind-rotation key: N = " + std::to_string(shape.N) + " is above 8192");
    for (std::size_t i = 0; i < shape.gadgets.size(); ++i)
      if (shape.gadgets[i].modulus() != shape.Q)
        throw ParameterError("blind-rotation key: gadget " + std::to_string(i) + " is for " +
                             std::to_string(shape.gadgets[i].modulus()) + ", Q is " +
                             std::to_string(shape.Q));
    if (largest_digit_count(shape) > most_digits)
      throw ParameterError("blind-rotation key: " + std::to_string(largest_digit_count(shape)) +
                           " digits; at most " + std::to_string(most_digits));
    check_ring_words<Word>(shape);
    return shape.arithmetic == Arithmetic::fft ? prepare_fft_key(shape, rows, workers_)
                                               : prepare_ntt_key(shape, rows, workers_);
  }
  template <class Word>
  void rotate(const RotationKey& key, Slice<const std::uint32_t> lwe, Slice<const Word> luts,
              Slice<const std::uint32_t> index, std::optional<std::uint64_t> constant,
              Slice<Word> out) const {
    check(lwe);
    check(luts);
    check(index);
    check(out);
    const RotationShape& shape = key.shape();
    check_ring_words<Word>(shape);
    const std::size_t count = index.size;
    check_size("blind_rotate: ciphertexts", lwe.size, count * (shape.n + 1));
    check_size("blind_rotate: output", out.size, count * (constant ? shape.N + 1 : 2 * shape.N));
    const std::size_t tables = polynomials("blind_rotate: look-up tables", luts.size, shape.N);
    for (std::size_t i = 0; i < count; ++i)
      if (index.data[i] >= tables)
        throw ShapeError("blind_rotate: ciphertext " + std::to_string(i) + " asks for table " +
                         std::to_string(index.data[i]) + " of " + std::to_string(tables));
    RotationBatch<Word> batch{lwe.data, luts.data, index.data, {}, out.data, count};
    if (constant) batch.constant = static_cast<Word>(*constant % shape.Q);
    if (shape.arithmetic == Arithmetic::fft)
      blind_rotate_fft(key, batch, workers_);
    else
      blind_rotate_ntt(key, batch, workers_);
  }

  template <class Word>
  void extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant, Slice<const Word> rlwe,
               Slice<Word> out) const {
    check(rlwe);
    check(out);
    check_word<Word>("sample_extract", Q - 1);
    const std::size_t count = polynomials("sample_extract", rlwe.size, std::size_t{2} * N);
    check_size("sample_extract: output", out.size, count * (N + 1));
    const math::Modulus<Word> q(static_cast<Word>(Q));
    const Word add = static_cast<Word>(constant % Q);
    each(count, 3 * N, [&](std::size_t i) {
      const Word* a = rlwe.data + i * 2 * N;
      Word* to = out.data + i * (N + 1);
      to[0] = a[0];
      for (std::size_t j = 1; j < N; ++j) to[j] = q.neg(a[N - j]);
      to[N] = q.add(a[N], add);
    });
  }

  template <class In, class Out>
  void switch_rows(std::uint64_t from, std::uint64_t to, std::size_t row, bool centre,
                   Slice<const In> in, Slice<Out> out) const {
    check(in);
    check(out);
    check_size("modulus_switch: output", out.size, in.size);
    check_modulus_switch(from, to, row, centre);
    check_word<In>("modulus_switch", from - 1);
    check_word<Out>("modulus_switch", to - 1);
    const std::size_t count = polynomials("modulus_switch", in.size, row);
    each(count, 8 * row, [&](std::size_t i) {
      switch_modulus_row<In, Out>(from, to, centre, {in.data + i * row, row},
                                  {out.data + i * row, row});
    });
  }

  Resources on() const { return {workers_, *memory_}; }

  Workers workers_;
  std::shared_ptr<BlockCache> memory_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(DeviceOptions options) {
  const unsigned threads = options.threads ? options.threads : available_cores();
  return std::make_unique<CpuDevice>(
      Workers{threads, std::move(options.interrupt),
              threads > 1 ? std::make_shared<Crew>(threads - 1) : nullptr});
}

}  // namespace whorl::backend::cpu
