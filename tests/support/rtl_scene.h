// A core with random keys, and what the CPU's kernels compute with the same keys.
#pragma once

#include "backend/rtl/driver.h"
#include "backend/rtl/model.h"
#include "support/rotation_shapes.h"
#include "support/test.h"

namespace whorl::test {

namespace rtl = backend::rtl;

/// Groups of M coefficients, the last of which may have fewer.
inline backend::RotationShape unrolled_shape(const rtl::Shape& core, std::uint32_t n) {
  const ring::Gadget gadget(rtl::prime, core.log_Bg, core.L);
  backend::RotationShape shape = ginx_shape(core.N(), rtl::prime, core.sets(),
                                            std::vector(n, gadget), backend::Arithmetic::ntt);
  shape.kind = backend::RotationKind::unrolled;
  shape.group = core.M;
  shape.step_keys.assign(n, 0);
  for (std::uint32_t i = 0; i < n; i += core.M)
    shape.step_keys[i] = (1u << std::min(core.M, n - i)) - 1;
  for (std::uint32_t i = 0; i < n; ++i)
    shape.first_row[i + 1] = shape.first_row[i] + std::size_t{shape.step_keys[i]} * 2 * core.L;
  shape.row_count = shape.first_row[n];
  return shape;
}

/// Keys of random rows: the formulas hold for any.
struct RtlScene {
  using Words32 = std::vector<std::uint32_t>;
  using Words64 = std::vector<std::uint64_t>;

  Random random;
  rtl::Shape core;
  std::uint32_t n;
  backend::RotationShape rotation;
  backend::SwitchShape switching;
  std::vector<Words64> a, b;  ///< rows of the rotation key
  Words32 ksk;

  RtlScene(const rtl::Shape& shape, std::uint32_t dimension)
      : RtlScene(shape, dimension, Random::chosen_seed()) {}
  RtlScene(const rtl::Shape& shape, std::uint32_t dimension, std::uint64_t seed)
      : random(seed), core(shape), n(dimension), rotation(unrolled_shape(shape, n)) {
    for (std::size_t r = 0; r < rotation.row_count; ++r) {
      a.push_back(random.residues<std::uint64_t>(core.N(), rtl::prime));
      b.push_back(random.residues<std::uint64_t>(core.N(), rtl::prime));
    }
    switching = {core.N(), n, rtl::lwe_modulus,
                 ring::Gadget(rtl::lwe_modulus, core.log_Bks, core.L_ks), false};
    ksk = random.residues<std::uint32_t>(std::size_t{core.N()} * core.L_ks * (n + 1),
                                         rtl::lwe_modulus);
  }
  backend::RowSource<std::uint64_t> rows() const {
    return [this](std::size_t r, std::span<std::uint64_t> to_a, std::span<std::uint64_t> to_b) {
      std::ranges::copy(a[r], to_a.begin());
      std::ranges::copy(b[r], to_b.begin());
    };
  }
  std::shared_ptr<const rtl::RotationImages> rotation_images(unsigned threads = 1) const {
    return std::make_shared<rtl::RotationImages>(
        rtl::RotationImages{n, rtl::rotation_key_images(core, rotation, rows(), threads)});
  }
  std::shared_ptr<const rtl::SwitchImage> switch_image() const {
    return std::make_shared<rtl::SwitchImage>(rtl::SwitchImage{
        n, rtl::switch_key_image(core, n, [this](std::size_t r, std::uint32_t* out) {
          std::copy_n(ksk.begin() + static_cast<std::ptrdiff_t>(r * (n + 1)), n + 1, out);
        })});
  }
  /// A driver of a model with the keys in its memory.
  std::unique_ptr<rtl::Driver> driver(unsigned threads = 1) const {
    auto out = std::make_unique<rtl::Driver>(
        std::make_shared<rtl::Model>(core, backend::Workers{.threads = threads, .interrupt = {}}));
    out->use(rotation_images(threads));
    out->use(switch_image());
    return out;
  }
  Words32 exponents(std::size_t count) {
    Words32 out = random.residues<std::uint32_t>(count * (n + 1), 2ull * core.N());
    std::fill_n(out.begin(), std::min<std::size_t>(n, 7), 0u);  // some steps of zeros
    return out;
  }

  // ---- what the CPU computes

  Words64 rotated(const Words32& exponents, const Words64& luts, const Words32& index,
                  std::uint64_t constant) const {
    const auto queue = cpu();
    const auto key = queue->rotation<std::uint64_t>().prepare(rotation, rows());
    const auto x = put(*queue, exponents);
    const auto tables = put(*queue, luts);
    auto out = queue->allocate<std::uint64_t>(index.size() * (core.N() + 1));
    queue->rotation<std::uint64_t>().rotate_extract(*key, {x.slice(), tables.slice(), index},
                                                    constant, out.slice());
    return get(*queue, out);
  }
  Words32 switched(const Words32& samples) const {
    const auto queue = cpu();
    const auto key = queue->lwe().prepare_switch_key<std::uint32_t>(
        switching,
        [this](std::size_t first, std::size_t count, std::uint32_t* out, std::size_t stride) {
          for (std::size_t r = 0; r < count; ++r)
            std::copy_n(ksk.begin() + static_cast<std::ptrdiff_t>((first + r) * (n + 1)), n + 1,
                        out + r * stride);
        });
    const auto x = put(*queue, samples);
    auto out = queue->allocate<std::uint32_t>(samples.size() / (core.N() + 1) * (n + 1));
    queue->lwe().key_switch<std::uint32_t>(*key, x.slice(), out.slice());
    return get(*queue, out);
  }
  template <class In, class Out>
  std::vector<Out> rounded(const std::vector<In>& in, std::size_t row, std::uint64_t from,
                           std::uint64_t to, unsigned centre) const {
    const auto queue = cpu();
    const auto x = put(*queue, in);
    auto out = queue->allocate<Out>(in.size());
    queue->lwe().modulus_switch<In, Out>(from, to, row, centre, x.slice(), out.slice());
    return get(*queue, out);
  }
  /// A whole bootstrap.
  Words32 bootstrapped(const Words32& rows_in, const Words64& luts, const Words32& index,
                       bool centred, std::uint32_t offset, std::uint64_t constant) const {
    Words32 e = rounded<std::uint32_t, std::uint32_t>(rows_in, n + 1, rtl::lwe_modulus,
                                                      2ull * core.N(), centred ? 2 : 0);
    for (std::size_t k = n; k < e.size(); k += n + 1) e[k] = (e[k] + offset) % (2 * core.N());
    return switched(rounded<std::uint64_t, std::uint32_t>(
        rotated(e, luts, index, constant), core.N() + 1, rtl::prime, rtl::lwe_modulus, 0));
  }
};

}  // namespace whorl::test
