#include "backend/cuda/dispatch/rotation/rotation_ntt.h"

#include <vector>

#include "backend/cuda/dispatch/rotation/ntt_key_tables.h"
#include "backend/cuda/dispatch/rotation/rotation_key.h"
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/kernels/rotate_ntt.cuh"
#include "backend/cuda/kernels/rotate_ntt_unrolled.cuh"
#include "backend/cuda/runtime/error.h"

namespace whorl::backend::cuda {

namespace {

enum class ValueOrder { plan, key_places };

/// One block a polynomial of the key: values in the plan's order, times `factor`, to their places
/// in `order`.
template <class Shape, ValueOrder order, class Word = typename Shape::Word>
__global__ void place_values(const Word* in, const std::size_t* to, Twiddle<Word> factor, Word q,
                             Word* out) {
  const Word* from = in + std::size_t{blockIdx.x} * Shape::N;
  Word* target = out + to[blockIdx.x];
  for (int v = threadIdx.x; v < Shape::N; v += blockDim.x)
    target[order == ValueOrder::plan ? v : ntt_key_place<Shape>(v / Shape::F, v % Shape::F)] =
        mul_shoup<Word>(from[v], factor.w, factor.shoup, q);
}

}  // namespace

template <class Word>
std::unique_ptr<RotationKey> prepare_ntt_key(const Stream& stream, const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers) {
  const CurrentGpu current(stream.gpu().ordinal);
  auto made = std::make_unique<NttRotationKey<Word>>(shape);
  auto& key = made->arrays;
  key.N = shape.N;
  key.Q = static_cast<Word>(shape.Q);
  key.keys = shape.keys;
  const std::optional<BundleForm> form = bundle_form(shape.kind);
  const bool unrolled = form.has_value();
  if (unrolled) {
    key.group = shape.group;
    key.form = *form;
  }
  const std::size_t N = shape.N;
  const std::vector<std::size_t>& first = shape.first_row;
  const ring::NttPlan<Word> plan(shape.N, static_cast<Word>(shape.Q));
  const math::Modulus<Word>& modulus = plan.modulus();
  const math::Montgomery<Word> montgomery(modulus);
  const TransformTables transform_tables;

  const std::vector<GadgetRange> ranges = gadget_ranges(shape);
  key.ranges = stream.upload(ranges.data(), ranges.size());
  key.range_count = static_cast<std::uint32_t>(ranges.size());
  key.slots = shape.most_digits();
  key.montgomery = montgomery.inverse();
  key.roots = upload_roots(stream, plan.roots(), plan.roots_shoup());
  key.inverse_roots = upload_roots(stream, plan.inverse_roots(), plan.inverse_roots_shoup());
  key.monomials = upload_monomials(stream, plan);
  key.values = stream.allocate<Word>(device_rows(shape) * 2 * N);
  if (device_rows(shape) != first.back())
    stream.fill(key.values.data(), 0, key.values.size() * sizeof(Word));
  const Word factor = montgomery.to_montgomery(plan.inverse_N());
  const Twiddle<Word> scale{factor, modulus.shoup(factor)};

  const ring::NttPlan<Word>* const plans[] = {&plan};
  for_runs_of_rows<Word>(
      shape, first, rows, workers,
      [&](std::uint32_t begin, std::uint32_t end, const std::vector<Word>& host) {
        const std::size_t polynomials = host.size() / N;
        if (polynomials == 0) return;
        const auto values = stream.upload(host.data(), host.size());
        ntt<Word>(stream, transform_tables, plans, polynomials, values.data(), true);
        with_ntt_shape<Word>(shape.N, [&]<class Shape, class>() {
          const std::vector<std::size_t> places =
              unrolled
                  ? places_of_unrolled_rows(shape, begin, end,
                                            [&](std::uint32_t i, unsigned digit, unsigned part,
                                                unsigned component, unsigned of) {
                                              return first[i] * 2 * N +
                                                     unrolled_ntt_place<Shape>(
                                                         part * shape.gadgets[i].digits() + digit,
                                                         component, of, shape.keys, 0);
                                            })
                  : places_of_rows(shape, first, begin, end, N);
          const auto device_places = stream.upload(places.data(), places.size());
          const auto place = unrolled ? place_values<Shape, ValueOrder::plan>
                                      : place_values<Shape, ValueOrder::key_places>;
          const dim3 grid(static_cast<unsigned>(polynomials));
          place<<<grid, 256, 0, stream.handle()>>>(values.data(), device_places.data(), scale,
                                                   modulus.value(), key.values.data());
          check_launch("place_values", grid, dim3(256), 0);
        });
      });
  stream.wait();
  stream.trim();
  return made;
}

template <class Word>
void blind_rotate_ntt(const Stream& stream, const RotationKey& any_key, BlindRotation spread,
                      const RotationBatch<Word>& batch) {
  const auto& key = static_cast<const NttRotationKey<Word>&>(any_key).arrays;
  if (key.group != 0) switch (key.form) {
      case BundleForm::differences:
        return launch_rotate_ntt_unrolled<BundleForm::differences>(stream, key, batch);
      case BundleForm::all:
        return launch_rotate_ntt_unrolled<BundleForm::all>(stream, key, batch);
      case BundleForm::block:
        return launch_rotate_ntt_unrolled<BundleForm::block>(stream, key, batch);
    }
  key.keys == 1 ? launch_rotate_ntt<1>(stream, key, spread, batch)
                : launch_rotate_ntt<2>(stream, key, spread, batch);
}

#define WHORL_INSTANTIATE(Word)                                                                  \
  template std::unique_ptr<RotationKey> prepare_ntt_key(const Stream&, const RotationShape&,     \
                                                        const RowSource<Word>&, const Workers&); \
  template void blind_rotate_ntt(const Stream&, const RotationKey&, BlindRotation,               \
                                 const RotationBatch<Word>&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
