#include "backend/cuda/dispatch/rotation/rotation_fft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/rotation/rotation_key.h"
#include "backend/cuda/dispatch/transforms/group_fft_tables.h"
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/kernels/key_spectra.cuh"
#include "backend/cuda/kernels/unrolled_rows.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

namespace {

/// The sums of keys that the unrolled kernels use: rows of LWE coefficients begin … end - 1, in
/// place.
template <class Word>
void sum_keys_over_supersets(const Stream& stream, const RotationShape& shape, std::uint32_t begin,
                             std::uint32_t end, Word* rows) {
  std::vector<UnrolledStepRows> steps;
  std::size_t most = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    if (shape.step_keys[i] == 0) continue;
    const std::size_t words = std::size_t{4} * shape.gadgets[i].digits() * shape.N;
    steps.push_back(
        {(shape.first_row[i] - shape.first_row[begin]) * 2 * shape.N, words, shape.step_keys[i]});
    most = std::max(most, words);
  }
  if (steps.empty()) return;
  const auto on_device = stream.upload(steps.data(), steps.size());
  const dim3 grid(static_cast<unsigned>((most + 255) / 256), static_cast<unsigned>(steps.size()));
  sum_over_supersets<Word>
      <<<grid, 256, 0, stream.handle()>>>(rows, on_device.data(), static_cast<Word>(shape.Q));
  check_launch("sum_over_supersets", grid, dim3(256), 0);
}

/// Keys that a shorter last step lacks are zeros.
template <FftWords words>
void clear_last_step(const Stream& stream, const RotationShape& shape, FftKeyArrays& key) {
  const std::size_t values = shape.N, all = device_rows(shape) * values;  // of a row, and in all
  const std::uint32_t last = (shape.n - 1) / shape.group * shape.group;
  if (shape.step_keys[last] == shape.keys) return;
  using Value = FftKeyValue<words>;
  const std::size_t from = shape.first_row[last] * values;
  stream.fill(reinterpret_cast<Value*>(key.values.data()) + from, 0, (all - from) * sizeof(Value));
}

/// Returns the sum of the mean squares of the factors of a bundle's keys, as kernels form it. X^a -
/// 1 has the mean square 2, and products of those of the sets of a group have 3^group - 1 together.
double bundle_mean_square(BundleForm form, unsigned group) {
  switch (form) {
    case BundleForm::differences:
      return std::pow(3.0, group) - 1;
    case BundleForm::all:
      return std::ldexp(1.0, static_cast<int>(group));
    case BundleForm::block:
      return 2.0 * group;
  }
  return 0;
}

/// Whether there are kernels for batches that form the bundles of such groups as they go.
bool forms_in_loop(const FftKeyArrays& key) {
  const BundleSizes sizes = bundle_sizes(key.form);
  return key.group >= sizes.least_in_loop && key.group <= sizes.most_in_loop;
}

/// RefusedError for a key that neither such kernels nor those with bundles ahead of the loop take.
template <FftWords words>
void check_bundles(const Stream& stream, const FftKeyArrays& key) {
  if (forms_in_loop(key)) return;
  bool fits = linked_fits<words>(stream, key);
  if constexpr (is_wide<words>)
    if (key.most_digits == 1) fits = linked_fits<FftWords::one_digit>(stream, key);
  if (!fits)
    throw RefusedError("cuda: blind rotation with groups of " + std::to_string(key.group) +
                       " coefficients, N = " + std::to_string(key.N) + " and " +
                       std::to_string(key.most_digits) +
                       " digits does not fit the shared memory of " + stream.gpu().name() + " (" +
                       std::to_string(stream.gpu().shared_per_block) + " bytes a block)");
}

template <BundleForm form, FftWords words, class Word>
void rotate_unrolled_of(const Stream& stream, const FftKeyArrays& key, BlindRotation spread,
                        RotationBatch<Word> batch) {
  if (!forms_in_loop(key))  // a key that does not fit either was refused
    return launch_rotate_fft_linked<words>(stream, key, spread, batch);
  // The loop without bundles ahead takes less memory.
  const auto linked = [&](const RotationBatch<Word>& some) {
    try {
      if (!linked_fits<words>(stream, key)) return false;
      launch_rotate_fft_linked<words>(stream, key, spread, some);
      return true;
    } catch (const OutOfMemoryError&) {
      return false;
    }
  };
  // Linked workers while they take less time than a wave of the kernels for batches.
  const auto by_linked = [&](std::uint32_t count) {
    return count <= stream.gpu().multiprocessors ||
           (linked_fits<words>(stream, key) &&
            count <= LinkedTuning::most_waves * linked_at_once<words>(stream, key));
  };
  const bool few = by_linked(batch.count);
  if ((spread == BlindRotation::cluster || spread == BlindRotation::grid ||
       (spread == BlindRotation::automatic && few)) &&
      linked(batch))
    return;
  // A few that a last wave of blocks would be left with take less time so, too.
  if (spread == BlindRotation::automatic && !few) {
    const std::uint32_t last =
        batch.count %
        (key.tensor ? tensor_at_once(stream) : unrolled_at_once<form, words>(stream, key));
    if (last < batch.count && last != 0 && by_linked(2 * last)) {
      RotationBatch<Word> rest = batch;
      rest.skip(batch.count - last, key.N);
      if (linked(rest)) batch.count -= last;
    }
  }
  if constexpr (!is_wide<words>)
    if (key.tensor) return launch_rotate_fft_tensor(stream, key, batch);
  launch_rotate_fft_unrolled<form, words>(stream, key, batch);
}

template <FftWords words, class Word>
void blind_rotate_unrolled(const Stream& stream, const FftKeyArrays& key, BlindRotation spread,
                           const RotationBatch<Word>& batch) {
  switch (key.form) {
    case BundleForm::differences:
      return rotate_unrolled_of<BundleForm::differences, words>(stream, key, spread, batch);
    case BundleForm::all:
      return rotate_unrolled_of<BundleForm::all, words>(stream, key, spread, batch);
    case BundleForm::block:
      return rotate_unrolled_of<BundleForm::block, words>(stream, key, spread, batch);
  }
}

}  // namespace

template <class Word>
std::unique_ptr<RotationKey> prepare_fft_key(const Stream& stream, const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers) {
  const CurrentGpu current(stream.gpu().ordinal);
  constexpr FftWords words = fft_words<Word>;
  auto made = std::make_unique<FftRotationKey>(shape);
  auto& key = made->arrays;
  key.N = shape.N;
  key.Q = shape.Q;
  key.keys = shape.keys;
  const std::optional<BundleForm> form = bundle_form(shape.kind);
  const bool unrolled = form.has_value();
  if (unrolled) {
    key.group = shape.group;
    key.form = *form;
    key.most_digits = shape.most_digits();
    check_bundles<words>(stream, key);
    key.tensor = !is_wide<words> &&
                 std::ranges::all_of(
                     shape.gadgets,
                     [](const ring::Gadget& gadget) { return gadget.digits() == tensor_digits; }) &&
                 tensor_fits(stream, shape.N, *form, shape.group);
  }
  const std::size_t N = shape.N, M = N / 2;
  const std::vector<std::size_t>& first = shape.first_row;
  const ring::FftPlan plan(shape.N);
  const TransformTables transform_tables;

  const std::vector<GadgetRange> ranges = gadget_ranges(shape);
  key.ranges = stream.upload(ranges.data(), ranges.size());
  key.range_count = static_cast<std::uint32_t>(ranges.size());
  key.most_digits = shape.most_digits();
  key.slots = std::max(key.most_digits, is_wide<words> ? 1u : 2u);
  upload_fft_tables(stream, plan, key);
  if (!unrolled) made->split = split_tables(stream, shape.N);
  // A step for tensor cores has so many keys and complex values.
  const unsigned step_keys = key.tensor ? tensor_keys(*form, shape.group) : 0;
  const std::size_t step_values = std::size_t{4} * tensor_digits * M * step_keys;
  if (key.tensor) {
    const std::uint32_t steps = (shape.n + shape.group - 1) / shape.group;
    key.values = stream.allocate<std::uint8_t>(steps * step_values * 8);
    stream.fill(key.values.data(), 0, key.values.size());
  } else {
    key.values =
        stream.allocate<std::uint8_t>(device_rows(shape) * 2 * M * (is_wide<words> ? 16 : 8));
    if (unrolled) clear_last_step<words>(stream, shape, key);
  }
  key.inverse_scale = stream.allocate<double>(shape.n);
  if (unrolled) {
    std::vector<BundleStep> steps = bundle_steps(shape, M);
    if (key.tensor)
      for (BundleStep& step : steps) step.key = step.first / shape.group * step_values;
    key.steps = stream.upload(steps.data(), steps.size());
    key.bundle_size = steps.back().bundle + std::size_t{4} * steps.back().digits * M;
  }
  // The product over Q of one step: rows of digits up to B/2 with residues up to Q/2. 12 deviations
  // of the sum, taken as random signs, must stay below 2^22 where it is not reduced first.
  double digit_squares = 0;
  for (const ring::Gadget& gadget : shape.gadgets) {
    double sum = 0;
    for (unsigned j = 0; j < gadget.digits(); ++j)
      sum += std::pow(static_cast<double>(gadget.bound(j)), 2);
    digit_squares = std::max(digit_squares, sum);
  }
  const double keys = unrolled ? bundle_mean_square(*form, shape.group) : shape.keys;
  key.large = 12 * std::sqrt(2.0 * keys * static_cast<double>(N) * digit_squares / 12) > 4194304.0;

  std::vector<double> inverse_scales(shape.n);
  for_runs_of_rows<Word>(
      shape, first, rows, workers,
      [&](std::uint32_t begin, std::uint32_t end, const std::vector<Word>& host) {
        const std::size_t polynomials = host.size() / N;
        if (polynomials == 0) return;
        auto residues = stream.upload(host.data(), host.size());
        if (form == BundleForm::differences)
          sum_keys_over_supersets(stream, shape, begin, end, residues.data());
        auto reals = stream.allocate<double>(host.size());
        centred_doubles<<<static_cast<unsigned>((host.size() + 255) / 256), 256, 0,
                          stream.handle()>>>(residues.data(), shape.Q, host.size(), reals.data());
        check_launch("centred_doubles", dim3(static_cast<unsigned>((host.size() + 255) / 256)),
                     dim3(256), 0);
        auto spectra = stream.allocate<std::complex<double>>(polynomials * M);
        fft(stream, transform_tables, plan, polynomials, reals.data(), spectra.data());

        std::vector<double> scales(end - begin, 1.0);
        if (!is_wide<words>) {
          std::vector<std::size_t> stretches;
          for (std::uint32_t i = begin; i <= end; ++i)
            stretches.push_back((first[i] - first[begin]) * 2 * N);
          const auto bounds = stream.upload(stretches.data(), stretches.size());
          auto largest = stream.allocate<double>(end - begin);
          largest_magnitude<<<end - begin, 1024, 0, stream.handle()>>>(
              reinterpret_cast<const double*>(spectra.data()), bounds.data(), largest.data());
          check_launch("largest_magnitude", dim3(end - begin), dim3(1024), 0);
          stream.copy_out(largest.data(), scales.data(), scales.size() * sizeof(double));
          for (double& scale : scales) scale = 2147483647.0 / std::max(scale, 1.0);
        }
        for (std::uint32_t i = begin; i < end; ++i)
          inverse_scales[i] =
              1.0 / scales[i - begin] / static_cast<double>(M) / static_cast<double>(shape.Q);

        std::vector<double> polynomial_scales;
        for (std::uint32_t i = begin; i < end; ++i)
          polynomial_scales.insert(polynomial_scales.end(), 2 * (first[i + 1] - first[i]),
                                   scales[i - begin]);
        const auto device_scales =
            stream.upload(polynomial_scales.data(), polynomial_scales.size());
        with_fft_shape(shape.N, [&]<class Shape, class ClusterShape>() {
          const std::vector<std::size_t> places =
              unrolled ? places_of_unrolled_rows(
                             shape, begin, end,
                             [&](std::uint32_t i, unsigned digit, unsigned part, unsigned component,
                                 unsigned of) {
                               return key.tensor
                                          ? i / shape.group * step_values +
                                                tensor_fft_place<Shape>(digit, part, component, of,
                                                                        step_keys, 0, 0)
                                          : first[i] * 2 * M +
                                                unrolled_fft_place<Shape, words>(
                                                    digit, part, component, of, shape.keys, 0, 0);
                             })
                       : places_of_rows(shape, first, begin, end, M);
          const auto device_places = stream.upload(places.data(), places.size());
          const auto* const in = reinterpret_cast<const double2*>(spectra.data());
          auto* const out = reinterpret_cast<FftKeyValue<words>*>(key.values.data());
          const dim3 grid(static_cast<unsigned>(polynomials));
          const auto place = [&] {
            if constexpr (!is_wide<words>)
              if (key.tensor)
                return place_tensor_spectra<Shape><<<grid, 256, 0, stream.handle()>>>(
                    in, device_places.data(), device_scales.data(), step_keys, out);
            if (unrolled)
              return place_unrolled_spectra<Shape, words><<<grid, 256, 0, stream.handle()>>>(
                  in, device_places.data(), device_scales.data(), shape.keys, out);
            place_spectra<Shape, words><<<grid, 256, 0, stream.handle()>>>(
                in, device_places.data(), device_scales.data(), out);
          };
          place();
          check_launch("place_spectra", grid, dim3(256), 0);
        });
      });
  stream.copy_in(inverse_scales.data(), key.inverse_scale.data(), shape.n * sizeof(double));
  stream.wait();
  stream.trim();
  return made;
}

template <class Word>
void blind_rotate_fft(const Stream& stream, const RotationKey& any_key, BlindRotation spread,
                      const RotationBatch<Word>& batch) {
  const auto& fft_key = static_cast<const FftRotationKey&>(any_key);
  const FftKeyArrays& key = fft_key.arrays;
  const auto launch = [&]<FftWords words>() {
    if (key.group != 0) return blind_rotate_unrolled<words>(stream, key, spread, batch);
    const auto with_keys = [&]<int keys>() {
      if (!launch_rotate_fft_split<keys, words>(stream, key, fft_key.split, spread, batch))
        launch_rotate_fft<keys, words>(stream, key, spread, batch);
    };
    key.keys == 1 ? with_keys.template operator()<1>() : with_keys.template operator()<2>();
  };
  if constexpr (sizeof(Word) == 8)
    key.most_digits == 1 ? launch.template operator()<FftWords::one_digit>()
                         : launch.template operator()<FftWords::wide>();
  else
    launch.template operator()<FftWords::narrow>();
}

#define WHORL_INSTANTIATE(Word)                                                                  \
  template std::unique_ptr<RotationKey> prepare_fft_key(const Stream&, const RotationShape&,     \
                                                        const RowSource<Word>&, const Workers&); \
  template void blind_rotate_fft(const Stream&, const RotationKey&, BlindRotation,               \
                                 const RotationBatch<Word>&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
