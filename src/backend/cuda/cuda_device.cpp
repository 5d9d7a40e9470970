// The contract on a GPU: checks shapes and owners, calls the kernels' dispatch.
#include "backend/cuda/cuda_device.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/elementwise.h"
#include "backend/cuda/dispatch/lwe.h"
#include "backend/cuda/dispatch/rns.h"
#include "backend/cuda/dispatch/rotation.h"
#include "backend/cuda/dispatch/transforms.h"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/lwe_shapes.h"
#include "backend/parallel.h"
#include "backend/rns_shapes.h"

namespace whorl::backend::cuda {

namespace {

/// What the queues of one GPU share.
struct Shared {
  Gpu gpu;
  DeviceOptions options;
  TransformTables tables;
};

/// A slice as kernels that move 16 bytes at once need it: itself, or a copy where it begins between
/// such pieces.
template <class T>
class Aligned {
 public:
  using Value = std::remove_const_t<T>;
  Aligned(const Stream& stream, Slice<T> slice) : stream_(stream), slice_(slice) {
    if (reinterpret_cast<std::uintptr_t>(slice.data) % 16 == 0) return;
    copy_ = stream.allocate<Value>(slice.size);
    move(slice.data, copy_.data());
  }
  T* data() const { return copy_.size() ? copy_.data() : slice_.data; }
  void write_back() const {
    if constexpr (!std::is_const_v<T>)
      if (copy_.size()) move(copy_.data(), slice_.data);
  }

 private:
  void move(const Value* from, Value* to) const {
    const CurrentGpu current(stream_.gpu().ordinal);
    check(cudaMemcpyAsync(to, from, slice_.size * sizeof(T), cudaMemcpyDeviceToDevice,
                          stream_.handle()),
          "cudaMemcpyAsync of " + std::to_string(slice_.size * sizeof(T)) + " bytes");
  }
  const Stream& stream_;
  Slice<T> slice_;
  DeviceArray<Value> copy_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<const Shared> shared)
      : shared_(std::move(shared)), stream_(shared_->gpu, shared_->options.threads) {
    bad_index_ = stream_.allocate<std::uint32_t>(1);
    stream_.fill(bad_index_.data(), 0, sizeof(std::uint32_t));
  }

  std::string name() const override {
    return shared_->gpu.name() + " (" + shared_->gpu.model + ")";
  }
  unsigned threads() const override { return shared_->options.threads; }
  std::unique_ptr<Device> sibling() const override { return std::make_unique<CudaDevice>(shared_); }
  unsigned queues() const override { return 2; }
  std::size_t batch_limit(std::size_t bytes) const override {
    // A quarter for each queue; what is left is for scratch and others' allocations.
    const std::size_t share = stream_.free_memory() / 4;
    return std::clamp<std::size_t>(share / std::max<std::size_t>(bytes, 1), 1,
                                   std::size_t{1} << 16);
  }

  void wait() const override { stream_.wait(); }
  void begin_together() const override { stream_.begin_together(); }
  void end_together() const override { stream_.end_together(); }

  void ntt(NttPlans<std::uint32_t> p, Slice<std::uint32_t> d) const override {
    transform(p, d, true);
  }
  void ntt(NttPlans<std::uint64_t> p, Slice<std::uint64_t> d) const override {
    transform(p, d, true);
  }
  void intt(NttPlans<std::uint32_t> p, Slice<std::uint32_t> d) const override {
    transform(p, d, false);
  }
  void intt(NttPlans<std::uint64_t> p, Slice<std::uint64_t> d) const override {
    transform(p, d, false);
  }
  void fft(const ring::FftPlan& plan, Slice<const double> in,
           Slice<std::complex<double>> out) const override {
    check(in);
    check(out);
    const std::size_t batch = rows("fft", in.size, plan.N());
    check_size("fft: output", out.size, batch * plan.M());
    if (batch == 0) return;
    const Aligned<const double> from(stream_, in);
    const Aligned<std::complex<double>> to(stream_, out);
    cuda::fft(stream_, shared_->tables, plan, batch, from.data(), to.data());
    to.write_back();
  }
  void ifft(const ring::FftPlan& plan, Slice<const std::complex<double>> in,
            Slice<double> out) const override {
    check(in);
    check(out);
    const std::size_t batch = rows("ifft", out.size, plan.N());
    check_size("ifft: input", in.size, batch * plan.M());
    if (batch == 0) return;
    const Aligned<const std::complex<double>> from(stream_, in);
    const Aligned<double> to(stream_, out);
    cuda::ifft(stream_, shared_->tables, plan, batch, from.data(), to.data());
    to.write_back();
  }

#define WHORL_CUDA_ELEMENTWISE(Word)                                                         \
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
  WHORL_CUDA_ELEMENTWISE(std::uint32_t)
  WHORL_CUDA_ELEMENTWISE(std::uint64_t)
#undef WHORL_CUDA_ELEMENTWISE

#define WHORL_CUDA_RNS(Word)                                                                       \
  std::unique_ptr<RnsTables<Word>> prepare_rns(std::shared_ptr<const ring::RnsPlan<Word>> plan,    \
                                               std::uint64_t plain_modulus) const override {       \
    return std::make_unique<CudaRnsTables<Word>>(stream_, shared_->tables, std::move(plan),        \
                                                 plain_modulus);                                   \
  }                                                                                                \
  std::unique_ptr<RnsSwitchKey<Word>> prepare_rns_key(                                             \
      const RnsTables<Word>& tables, const RnsRowSource<Word>& rows) const override {              \
    check_special("prepare_rns_key", tables.plan());                                               \
    return std::make_unique<CudaRnsSwitchKey<Word>>(stream_, own(tables), rows, workers());        \
  }                                                                                                \
  void rns_ntt(const RnsTables<Word>& tables, unsigned limbs, bool with_special,                   \
               std::size_t parts, Slice<Word> data) const override {                               \
    rns_transform(tables, limbs, with_special, true, parts, data);                                 \
  }                                                                                                \
  void rns_intt(const RnsTables<Word>& tables, unsigned limbs, bool with_special,                  \
                std::size_t parts, Slice<Word> data) const override {                              \
    rns_transform(tables, limbs, with_special, false, parts, data);                                \
  }                                                                                                \
  void base_convert(const ring::BaseConversion<Word>& conversion, std::uint32_t N,                 \
                    Slice<const Word> in, Slice<Word> out) const override {                        \
    check(in);                                                                                     \
    check(out);                                                                                    \
    const std::size_t batch = base_convert_batch(conversion, N, in.size, out.size);                \
    const Aligned<const Word> from(stream_, in);                                                   \
    const Aligned<Word> to(stream_, out);                                                          \
    cuda::base_convert(stream_, conversion, N, batch, from.data(), to.data());                     \
    to.write_back();                                                                               \
  }                                                                                                \
  void mod_up(const RnsTables<Word>& tables, unsigned limbs, Slice<const Word> in,                 \
              Slice<Word> out) const override {                                                    \
    check(in);                                                                                     \
    check(out);                                                                                    \
    const std::size_t batch = mod_up_batch(tables.plan(), limbs, in.size, out.size);               \
    const Aligned<const Word> from(stream_, in);                                                   \
    const Aligned<Word> to(stream_, out);                                                          \
    cuda::mod_up(stream_, own(tables), limbs, batch, from.data(), to.data());                      \
    to.write_back();                                                                               \
  }                                                                                                \
  void inner_product(const RnsSwitchKey<Word>& key, const RnsTables<Word>& tables, unsigned limbs, \
                     std::uint32_t g, Slice<const Word> digits, Slice<Word> out) const override {  \
    check(digits);                                                                                 \
    check(out);                                                                                    \
    const std::size_t batch =                                                                      \
        inner_product_batch(key.plan(), tables.plan(), limbs, g, digits.size, out.size);           \
    const auto& ours = own_key<CudaRnsSwitchKey<Word>>(key);                                       \
    check_ordinal("an RNS switching key", ours.ordinal);                                           \
    const Aligned<const Word> from(stream_, digits);                                               \
    const Aligned<Word> to(stream_, out);                                                          \
    cuda::inner_product(stream_, own(tables), ours, limbs, g, batch, from.data(), to.data());      \
    to.write_back();                                                                               \
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
    const Aligned<const Word> from(stream_, in), more(stream_, added);                             \
    const Aligned<Word> to(stream_, out);                                                          \
    cuda::mod_down(stream_, own(tables), limbs, parts, batch, from.data(),                         \
                   {more.data(), added.size}, g, to.data());                                       \
    to.write_back();                                                                               \
  }                                                                                                \
  void rescale(const RnsTables<Word>& tables, unsigned limbs, std::size_t parts,                   \
               Slice<const Word> in, Slice<Word> out) const override {                             \
    check(in);                                                                                     \
    check(out);                                                                                    \
    const std::size_t batch = rescale_batch(tables.plan(), limbs, parts, in.size, out.size);       \
    const Aligned<const Word> from(stream_, in);                                                   \
    const Aligned<Word> to(stream_, out);                                                          \
    cuda::rescale(stream_, own(tables), limbs, parts, batch, from.data(), to.data());              \
    to.write_back();                                                                               \
  }                                                                                                \
  void tensor(const RnsTables<Word>& tables, unsigned limbs, std::size_t a_parts,                  \
              Slice<const Word> a, std::size_t b_parts, Slice<const Word> b, Slice<Word> out)      \
      const override {                                                                             \
    check(a);                                                                                      \
    check(b);                                                                                      \
    check(out);                                                                                    \
    const std::size_t batch =                                                                      \
        tensor_batch(tables.plan(), limbs, a_parts, a.size, b_parts, b.size, out.size);            \
    const Aligned<const Word> x(stream_, a), y(stream_, b);                                        \
    const Aligned<Word> to(stream_, out);                                                          \
    const bool one_b = b.size < b_parts * limbs * batch * tables.plan().N();                       \
    cuda::tensor(stream_, own(tables), limbs, a_parts, b_parts, batch, one_b, x.data(), y.data(),  \
                 to.data());                                                                       \
    to.write_back();                                                                               \
  }
  WHORL_CUDA_RNS(std::uint32_t)
  WHORL_CUDA_RNS(std::uint64_t)
#undef WHORL_CUDA_RNS

  std::unique_ptr<RotationKey> prepare_rotation_key(
      const RotationShape& shape, const RowSource<std::uint32_t>& source) const override {
    return prepare(shape, source);
  }
  std::unique_ptr<RotationKey> prepare_rotation_key(
      const RotationShape& shape, const RowSource<std::uint64_t>& source) const override {
    return prepare(shape, source);
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

#define WHORL_CUDA_MODULUS_SWITCH(In, Out)                                                \
  void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, bool centre, \
                      Slice<const In> in, Slice<Out> out) const override {                \
    switch_rows(from, to, row, centre, in, out);                                          \
  }
  WHORL_CUDA_MODULUS_SWITCH(std::uint32_t, std::uint32_t)
  WHORL_CUDA_MODULUS_SWITCH(std::uint32_t, std::uint64_t)
  WHORL_CUDA_MODULUS_SWITCH(std::uint64_t, std::uint64_t)
  WHORL_CUDA_MODULUS_SWITCH(std::uint64_t, std::uint32_t)
#undef WHORL_CUDA_MODULUS_SWITCH

  std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape& shape, const SwitchRows<std::uint16_t>& source) const override {
    return cuda::prepare_switch_key(stream_, shape, source, workers());
  }
  std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape& shape, const SwitchRows<std::uint32_t>& source) const override {
    return cuda::prepare_switch_key(stream_, shape, source, workers());
  }
  std::unique_ptr<SwitchKey> prepare_switch_key(
      const SwitchShape& shape, const SwitchRows<std::uint64_t>& source) const override {
    return cuda::prepare_switch_key(stream_, shape, source, workers());
  }
  void lwe_key_switch(const SwitchKey& key, Slice<const std::uint64_t> in,
                      Slice<std::uint64_t> out) const override {
    check(in);
    check(out);
    const std::size_t count = rows("lwe_key_switch", in.size, key.shape().N + 1);
    check_size("lwe_key_switch: output", out.size, count * (key.shape().n + 1));
    if (count) cuda::lwe_key_switch(stream_, key, count, in.data, out.data);
  }

  void lwe_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const Slice<const std::uint32_t>> in, std::uint64_t constant,
                  Slice<std::uint32_t> out) const override {
    check(out);
    check_size("lwe_linear: weights", weights.size(), in.size());
    if (q < 2) throw ParameterError("lwe_linear: modulus " + std::to_string(q) + " is below 2");
    check_word<std::uint32_t>("lwe_linear", q - 1);
    const std::size_t count = rows("lwe_linear", out.size, row);
    std::vector<const std::uint32_t*> inputs;
    for (const auto& slice : in) {
      check(slice);
      check_size("lwe_linear: input", slice.size, out.size);
      inputs.push_back(slice.data);
    }
    if (count) cuda::lwe_linear(stream_, q, row, weights, inputs, constant, count, out.data);
  }

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    return stream_.allocate_bytes(bytes);
  }
  void copy_in(const void* host, void* device, std::size_t bytes) const override {
    stream_.copy_in(host, device, bytes);
  }
  /// Also reports what kernels found wrong with their input since the last download.
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    stream_.copy_out(device, host, bytes);
    if (!rotated_) return;
    rotated_ = false;
    std::uint32_t bad = 0;
    stream_.copy_out(bad_index_.data(), &bad, sizeof bad);
    if (bad == 0) return;
    stream_.fill(bad_index_.data(), 0, sizeof bad);
    throw ShapeError("blind_rotate: a ciphertext asked for a table that is not among the tables");
  }

 private:
  /// For the host's part in preparing keys.
  Workers workers() const { return {shared_->options.threads, shared_->options.interrupt}; }
  static std::size_t rows(const char* what, std::size_t size, std::size_t row) {
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

  template <class Word>
  void transform(NttPlans<Word> plans, Slice<Word> data, bool forward) const {
    check(data);
    if (plans.empty()) throw ShapeError("ntt: no limb");
    const std::uint32_t N = plans[0]->N();
    const std::size_t batch = rows("ntt", data.size, plans.size() * N);
    for (std::size_t l = 0; l < plans.size(); ++l)
      if (plans[l]->N() != N)
        throw ShapeError("ntt: limb " + std::to_string(l) + " has N = " +
                         std::to_string(plans[l]->N()) + ", limb 0 has " + std::to_string(N));
    if (batch == 0) return;
    const Aligned<Word> values(stream_, data);
    cuda::ntt(stream_, shared_->tables, plans, batch, values.data(), forward);
    values.write_back();
  }

  /// Kernels of one GPU cannot read another's memory.
  void check_ordinal(const char* what, int ordinal) const {
    if (ordinal != shared_->gpu.ordinal)
      throw DeviceError(std::string(what) + " of cuda:" + std::to_string(ordinal) +
                        " was given to " + shared_->gpu.name());
  }
  template <class Word>
  const CudaRnsTables<Word>& own(const RnsTables<Word>& tables) const {
    const auto& ours = own_key<CudaRnsTables<Word>>(tables);
    check_ordinal("RNS tables", ours.ordinal);
    return ours;
  }
  template <class Word>
  void rns_transform(const RnsTables<Word>& tables, unsigned limbs, bool with_special, bool forward,
                     std::size_t parts, Slice<Word> data) const {
    check(data);
    const std::size_t batch = transform_batch(tables.plan(), limbs, with_special, parts, data.size);
    const Aligned<Word> values(stream_, data);
    cuda::rns_transform(stream_, own(tables), limbs, with_special, forward, parts, batch,
                        values.data());
    values.write_back();
  }

  template <class Word>
  static void check_limbs(const char* what, Moduli<Word> q, std::size_t size) {
    if (q.empty()) throw ShapeError(std::string(what) + ": no limb");
    rows(what, size, q.size());
  }
  template <class Word>
  void two(Elementwise op, Moduli<Word> q, Slice<const Word> a, Slice<const Word> b,
           Slice<Word> out) const {
    check(a);
    check(b);
    check(out);
    check_size("element-wise: b", b.size, a.size);
    check_size("element-wise: output", out.size, a.size);
    check_limbs("element-wise", q, a.size);
    if (a.size) elementwise(stream_, op, q, a.size, a.data, b.data, out.data);
  }
  template <class Word>
  void scale(Moduli<Word> q, Slice<const Word> a, std::span<const Word> scalars,
             Slice<Word> out) const {
    check(a);
    check(out);
    check_size("mul_scalar: scalars", scalars.size(), q.size());
    check_size("mul_scalar: output", out.size, a.size);
    check_limbs("mul_scalar", q, a.size);
    if (a.size) multiply_scalar(stream_, q, scalars, a.size, a.data, out.data);
  }
  template <class Word>
  bool below(Moduli<Word> q, Slice<const Word> a) const {
    check(a);
    check_limbs("all_below", q, a.size);
    return a.size == 0 || cuda::all_below(stream_, q, a.size, a.data);
  }
  template <class Word>
  void permute(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,
               Slice<const Word> a, Slice<Word> out) const {
    check(a);
    check(out);
    check_size("automorphism: output", out.size, a.size);
    ring::check_ring_dimension(N);
    if (g % 2 == 0 || g >= 2 * N)
      throw ParameterError("automorphism: g = " + std::to_string(g) +
                           " is not odd and below 2N = " + std::to_string(2 * N));
    if (a.data == out.data && a.size) throw ShapeError("automorphism: output is the input");
    check_limbs("automorphism", q, a.size);
    rows("automorphism", a.size, q.size() * N);
    if (a.size) automorphism_of(q, N, g, evaluation_form, a, out);
  }
  template <class Word>
  void automorphism_of(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,
                       Slice<const Word> a, Slice<Word> out) const {
    cuda::automorphism(stream_, q, N, g, evaluation_form, a.size, a.data, out.data);
  }

  template <class Word>
  void take_polynomials(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
                        Slice<const Word> in, std::size_t first, Slice<Word> out) const {
    check(in);
    check(out);
    const TakeBatches batches = take_batches(rows, N, index, in.size, first, out.size);
    if (in.data == out.data && in.size) throw ShapeError("take: output is the input");
    cuda::take(stream_, rows, N, index, batches.in, in.data, batches.out, out.data + first * N);
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
                                       const RowSource<Word>& source) const {
    ring::check_ring_dimension(shape.N);
    check_size("blind-rotation key: gadgets", shape.gadgets.size(), shape.n);
    if (shape.n == 0) throw ParameterError("blind-rotation key: n = 0");
    if (shape.keys != 1 && shape.keys != 2)
      throw ParameterError("blind-rotation key: " + std::to_string(shape.keys) +
                           " keys a coefficient; 1 (binary) or 2 (ternary)");
    for (std::size_t i = 0; i < shape.gadgets.size(); ++i)
      if (shape.gadgets[i].modulus() != shape.Q)
        throw ParameterError("blind-rotation key: gadget " + std::to_string(i) + " is for " +
                             std::to_string(shape.gadgets[i].modulus()) + ", Q is " +
                             std::to_string(shape.Q));
    check_ring_words<Word>(shape);
    return prepare_rotation_key_on(shape, source);
  }
  template <class Word>
  std::unique_ptr<RotationKey> prepare_rotation_key_on(const RotationShape& shape,
                                                       const RowSource<Word>& source) const {
    return cuda::prepare_rotation_key(stream_, shape, source, workers());
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
    const std::size_t tables = rows("blind_rotate: look-up tables", luts.size, shape.N);
    if (tables == 0) throw ShapeError("blind_rotate: no look-up table");
    std::optional<Word> residue;
    if (constant) residue = static_cast<Word>(*constant % shape.Q);
    rotated_ = true;
    cuda::blind_rotate(stream_, key, shared_->options.rotation, count, lwe.data, luts.data, tables,
                       index.data, residue, out.data, bad_index_.data());
  }

  template <class Word>
  void extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant, Slice<const Word> rlwe,
               Slice<Word> out) const {
    check(rlwe);
    check(out);
    check_word<Word>("sample_extract", Q - 1);
    const std::size_t count = rows("sample_extract", rlwe.size, std::size_t{2} * N);
    check_size("sample_extract: output", out.size, count * (N + 1));
    if (count) cuda::sample_extract(stream_, Q, N, constant, count, rlwe.data, out.data);
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
    const std::size_t count = rows("modulus_switch", in.size, row);
    if (count) cuda::modulus_switch(stream_, from, to, row, centre, count, in.data, out.data);
  }

  std::shared_ptr<const Shared> shared_;
  Stream stream_;
  DeviceArray<std::uint32_t> bad_index_;
  mutable bool rotated_ = false;  ///< bad_index_ may have been set since it was last read
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int ordinal, DeviceOptions options) {
  auto shared = std::make_shared<Shared>();
  shared->gpu = describe_gpu(ordinal);
  if (options.threads == 0) options.threads = available_cores();
  shared->options = std::move(options);
  return std::make_unique<CudaDevice>(std::move(shared));
}

std::vector<int> usable_gpus() {
  std::vector<int> out;
  const int count = gpu_count();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    try {
      describe_gpu(ordinal);
      out.push_back(ordinal);
    } catch (const DeviceError&) {  // list_gpus says why
    }
  }
  return out;
}

std::vector<DeviceInfo> list_gpus() {
  std::vector<DeviceInfo> out;
  try {
    const int count = gpu_count();
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      DeviceInfo info;
      info.name = "cuda:" + std::to_string(ordinal);
      try {
        const Gpu gpu = describe_gpu(ordinal);
        info.description = gpu.model;
        info.memory = gpu.memory_bytes;
        info.free_memory = free_memory(gpu);
        info.why = kernels_for(gpu);
        info.usable = true;
      } catch (const Error& error) {
        info.why = error.what();
      }
      out.push_back(std::move(info));
    }
  } catch (const Error& error) {
    out.push_back({"cuda", "NVIDIA GPU", false, error.what(), 0, 0});
  }
  return out;
}

}  // namespace whorl::backend::cuda
