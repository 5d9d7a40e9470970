#include "backend/cuda/dispatch/rotation/rotation_fft_walk.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/rotation/walk_key.h"
#include "backend/cuda/dispatch/transforms/group_fft_tables.h"
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/kernels/key_spectra.cuh"
#include "backend/cuda/kernels/raised_rows.cuh"
#include "backend/cuda/runtime/error.h"
#include "math/modulus.h"

namespace whorl::backend::cuda {

namespace {

/// Centred doubles of residues; those modulo P are empty unless the modulus is raised.
template <class Word>
DeviceArray<double> centred(const Stream& stream, const RotationShape& shape,
                            const std::vector<Word>& modulo_Q, const std::vector<Word>& modulo_P) {
  const std::size_t count = modulo_Q.size();
  const dim3 grid(static_cast<unsigned>((count + 255) / 256)), block(256);
  const auto words = stream.upload(modulo_Q.data(), count);
  auto reals = stream.allocate<double>(count);
  if (!shape.raised()) {
    centred_doubles<<<grid, block, 0, stream.handle()>>>(words.data(), shape.Q, count,
                                                         reals.data());
    check_launch("centred_doubles", grid, block, 0);
    return reals;
  }
  const math::Modulus<Word> Q(static_cast<Word>(shape.Q));
  const auto P = static_cast<Word>(shape.raised_by);
  const RaisedModulus<Word> both{DeviceModulus<Word>(Q.value()), P, Q.inverse(Q.reduce(P))};
  const auto others = stream.upload(modulo_P.data(), count);
  centred_raised<<<grid, block, 0, stream.handle()>>>(words.data(), others.data(), both, count,
                                                      reals.data());
  check_launch("centred_raised", grid, block, 0);
  return reals;
}

/// Returns for each of a run of keys the number by which its narrow spectra are multiplied, so that
/// its largest value takes 31 bits.
std::vector<double> scales_of(const Stream& stream, const std::vector<KeyRows>& keys,
                              std::size_t begin, std::size_t end, std::size_t N,
                              const std::complex<double>* spectra) {
  std::vector<std::size_t> stretches;
  for (std::size_t k = begin; k < end; ++k)
    stretches.push_back((keys[k].first - keys[begin].first) * 2 * N);
  stretches.push_back(stretches.back() + std::size_t{keys[end - 1].count} * 2 * N);
  const auto bounds = stream.upload(stretches.data(), stretches.size());
  const dim3 grid(static_cast<unsigned>(end - begin)), block(1024);
  auto largest = stream.allocate<double>(end - begin);
  largest_magnitude<<<grid, block, 0, stream.handle()>>>(reinterpret_cast<const double*>(spectra),
                                                         bounds.data(), largest.data());
  check_launch("largest_magnitude", grid, block, 0);
  std::vector<double> scales(end - begin);
  stream.copy_out(largest.data(), scales.data(), scales.size() * sizeof(double));
  for (double& scale : scales) scale = 2147483647.0 / std::max(scale, 1.0);
  return scales;
}

/// The quotient by Q of one product, rows of digits up to B/2 with residues up to Q/2: whether 12
/// deviations of the sum, taken as random signs, may pass 2^22.
bool may_be_large(const RotationShape& shape) {
  double most = 0;
  for (const ring::Gadget& gadget : shape.gadgets) {
    double sum = 0;
    for (unsigned j = 0; j < gadget.digits(); ++j)
      sum += std::pow(static_cast<double>(gadget.bound(j)), 2);
    most = std::max(most, sum);
  }
  return 12 * std::sqrt(2.0 * static_cast<double>(shape.N) * most / 12) > 4194304.0;
}

template <FftWords words, class Word>
std::unique_ptr<RotationKey> prepare(const Stream& stream, const RotationShape& shape,
                                     const RowSource<Word>& rows, const Workers& workers) {
  auto made = std::make_unique<FftWalkKey>(shape);
  auto& key = made->arrays;
  const bool ginx = !has_walks(shape);
  if (!ginx) made->walks = walk_tables(stream, shape);
  key.N = shape.N;
  key.Q = shape.Q;
  key.keys = shape.keys;
  const std::size_t N = shape.N, M = N / 2;
  const ring::FftPlan plan(shape.N);
  const TransformTables transform_tables;
  upload_fft_tables(stream, plan, key);
  const std::vector<GadgetRange> ranges = walk_ranges(shape);
  key.ranges = stream.upload(ranges.data(), ranges.size());
  key.range_count = static_cast<std::uint32_t>(ranges.size());
  key.most_digits = shape.most_digits();
  key.slots = std::max(key.most_digits, is_wide<words> ? 1u : 2u);
  key.large = may_be_large(shape);
  key.values = stream.allocate<std::uint8_t>(shape.row_count * 2 * M * (is_wide<words> ? 16 : 8));
  // GINX' kernels want one for each LWE coefficient, the others one for each row.
  std::vector<double> inverse_scales(ginx ? shape.n : shape.row_count);

  const std::vector<KeyRows> keys = key_rows(shape);
  for_runs_of_keys<Word>(
      shape, keys, rows, workers,
      [&](std::size_t begin, std::size_t end, const std::vector<Word>& modulo_Q,
          const std::vector<Word>& modulo_P) {
        const std::size_t polynomials = modulo_Q.size() / N;
        auto spectra = stream.allocate<std::complex<double>>(polynomials * M);
        fft(stream, transform_tables, plan, polynomials,
            centred(stream, shape, modulo_Q, modulo_P).data(), spectra.data());
        std::vector<double> scales(end - begin, 1.0);
        if (!is_wide<words>) scales = scales_of(stream, keys, begin, end, N, spectra.data());

        std::vector<double> polynomial_scales;
        std::vector<std::size_t> places;
        for (std::size_t k = begin; k < end; ++k) {
          const double inverse = 1.0 / scales[k - begin] / static_cast<double>(M) /
                                 static_cast<double>(shape.Q) /
                                 static_cast<double>(shape.raised_by);
          const std::size_t first = keys[k].first;
          polynomial_scales.insert(polynomial_scales.end(), std::size_t{2} * keys[k].count,
                                   scales[k - begin]);
          if (ginx) {
            inverse_scales[k] = inverse;
            const auto i = static_cast<std::uint32_t>(k);
            const auto of_step = places_of_rows(shape, shape.first_row, i, i + 1, M);
            places.insert(places.end(), of_step.begin(), of_step.end());
            continue;
          }
          std::fill_n(inverse_scales.begin() + static_cast<std::ptrdiff_t>(first), keys[k].count,
                      inverse);
          for (std::size_t p = 0; p < std::size_t{2} * keys[k].count; ++p)
            places.push_back((2 * first + p) * M);
        }
        const auto device_scales =
            stream.upload(polynomial_scales.data(), polynomial_scales.size());
        const auto device_places = stream.upload(places.data(), places.size());
        with_fft_shape(shape.N, [&]<class Shape, class ClusterShape>() {
          const dim3 grid(static_cast<unsigned>(polynomials)), block(256);
          place_spectra<Shape, words><<<grid, block, 0, stream.handle()>>>(
              reinterpret_cast<const double2*>(spectra.data()), device_places.data(),
              device_scales.data(), reinterpret_cast<FftKeyValue<words>*>(key.values.data()));
          check_launch("place_spectra", grid, block, 0);
        });
      });
  key.inverse_scale = stream.upload(inverse_scales.data(), inverse_scales.size());
  stream.wait();
  stream.trim();
  return made;
}

/// Returns the batch for kernels of keys of 64-bit words.
template <class Word>
RotationBatch<std::uint64_t> of_wide_words(const RotationBatch<Word>& batch) {
  return {batch.lwe,        reinterpret_cast<const std::uint64_t*>(batch.luts),
          batch.index,      reinterpret_cast<std::uint64_t*>(batch.out),
          batch.count,      batch.n,
          batch.extract,    batch.constant,
          sizeof(Word) == 4};
}

}  // namespace

template <class Word>
std::unique_ptr<RotationKey> prepare_fft_walk_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows,
                                                  const Workers& workers) {
  const CurrentGpu current(stream.gpu().ordinal);
  if (shape.raised() && shape.Q >> 31 != 0)
    throw RefusedError(
        "cuda: rotations with a raised modulus by FFT have kernels for Q below "
        "2^31, not for Q = " +
        std::to_string(shape.Q));
  if (sizeof(Word) == 8 || shape.raised())
    return prepare<FftWords::wide>(stream, shape, rows, workers);
  return prepare<FftWords::narrow>(stream, shape, rows, workers);
}

template <class Word>
void blind_rotate_fft_walk(const Stream& stream, const RotationKey& any_key, BlindRotation spread,
                           const RotationBatch<Word>& batch) {
  const auto& made = static_cast<const FftWalkKey&>(any_key);
  const FftKeyArrays& key = made.arrays;
  const WalkTables& walks = made.walks;
  const RotationShape& shape = any_key.shape();
  if (shape.kind == RotationKind::ginx)
    return key.keys == 1 ? launch_rotate_fft<1, FftWords::one_digit>(stream, key, spread,
                                                                     of_wide_words(batch))
                         : launch_rotate_fft<2, FftWords::one_digit>(stream, key, spread,
                                                                     of_wide_words(batch));
  const auto launch = [&]<FftWords words>(const auto& any_batch) {
    walks.automorphisms()
        ? launch_rotate_fft_walk<words, WalkSteps::automorphisms>(stream, key, walks, any_batch)
        : launch_rotate_fft_walk<words, WalkSteps::digits>(stream, key, walks, any_batch);
  };
  if (shape.raised() || (sizeof(Word) == 8 && key.most_digits == 1))
    return launch.template operator()<FftWords::one_digit>(of_wide_words(batch));
  if constexpr (sizeof(Word) == 8)
    launch.template operator()<FftWords::wide>(batch);
  else
    launch.template operator()<FftWords::narrow>(batch);
}

#define WHORL_INSTANTIATE(Word)                                                         \
  template std::unique_ptr<RotationKey> prepare_fft_walk_key(                           \
      const Stream&, const RotationShape&, const RowSource<Word>&, const Workers&);     \
  template void blind_rotate_fft_walk(const Stream&, const RotationKey&, BlindRotation, \
                                      const RotationBatch<Word>&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
