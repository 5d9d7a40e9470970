#include "backend/cuda/dispatch/rotation/rotation_ntt_walk.h"

#include <vector>

#include "backend/cuda/dispatch/rotation/ntt_key_tables.h"
#include "backend/cuda/dispatch/rotation/walk_key.h"
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/runtime/error.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::cuda {

namespace {

/// One block a polynomial: residues modulo limb `limb` of `limbs`, times `factor`, to where kernels
/// read them.
template <class Word>
__global__ void place_limb(const Word* in, Twiddle<Word> factor, Word q, std::uint32_t N,
                           std::uint32_t limbs, std::uint32_t limb, Word* out) {
  const Word* const from = in + std::size_t{blockIdx.x} * N;
  Word* const to = out + (std::size_t{blockIdx.x} * limbs + limb) * N;
  for (std::uint32_t v = threadIdx.x; v < N; v += blockDim.x)
    to[v] = mul_shoup<Word>(from[v], factor.w, factor.shoup, q);
}

/// A plan, and what its transformed key is multiplied by: N^-1, times `by`, in Montgomery form.
template <class Word>
struct KeyLimb {
  ring::NttPlan<Word> plan;
  Twiddle<Word> factor;

  KeyLimb(std::uint32_t N, Word q, std::uint64_t inverse_of) : plan(N, q) {
    const math::Modulus<Word>& modulus = plan.modulus();
    const Word by = modulus.inverse(modulus.reduce(static_cast<Word>(inverse_of)));
    const Word w = math::Montgomery<Word>(modulus).to_montgomery(modulus.mul(plan.inverse_N(), by));
    factor = {w, modulus.shoup(w)};
  }
};

template <class Word>
NttLimbArrays<Word> limb_arrays(const Stream& stream, const ring::NttPlan<Word>& plan, bool ginx) {
  NttLimbArrays<Word> out;
  out.q = plan.modulus().value();
  out.one_shoup = plan.modulus().shoup(1);
  out.montgomery = math::Montgomery<Word>(plan.modulus()).inverse();
  out.roots = upload_roots(stream, plan.roots(), plan.roots_shoup());
  out.inverse_roots = upload_roots(stream, plan.inverse_roots(), plan.inverse_roots_shoup());
  if (ginx) out.monomials = upload_monomials(stream, plan);
  return out;
}

}  // namespace

template <class Word>
std::unique_ptr<RotationKey> prepare_ntt_walk_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows,
                                                  const Workers& workers) {
  const CurrentGpu current(stream.gpu().ordinal);
  auto made = std::make_unique<NttWalkKey<Word>>(shape);
  auto& key = made->arrays;
  const bool ginx = !has_walks(shape);
  if (!ginx) key.walks = walk_tables(stream, shape);
  key.N = shape.N;
  key.keys = shape.keys;
  key.slots = shape.most_digits();
  key.raised = shape.raised();
  const std::vector<GadgetRange> ranges = walk_ranges(shape);
  key.ranges = stream.upload(ranges.data(), ranges.size());
  const std::size_t N = shape.N;
  const auto Q = static_cast<Word>(shape.Q), P = static_cast<Word>(shape.raised_by);
  std::vector<KeyLimb<Word>> limbs;
  limbs.emplace_back(shape.N, Q, shape.raised_by);
  if (shape.raised()) {
    limbs.emplace_back(shape.N, P, 1);
    const math::Modulus<Word>& modulus = limbs[0].plan.modulus();
    key.covered = (Q / 2 + P - 1) / P * P;
    key.inverse_P = modulus.inverse(modulus.reduce(P));
    key.inverse_P_shoup = modulus.shoup(key.inverse_P);
  }
  for (std::size_t l = 0; l < limbs.size(); ++l)
    key.limbs[l] = limb_arrays(stream, limbs[l].plan, ginx);
  key.values = stream.allocate<Word>(shape.row_count * 2 * limbs.size() * N);

  const TransformTables transform_tables;
  const std::vector<KeyRows> keys = key_rows(shape);
  for_runs_of_keys<Word>(
      shape, keys, rows, workers,
      [&](std::size_t begin, std::size_t, const std::vector<Word>& modulo_Q,
          const std::vector<Word>& modulo_P) {
        const std::size_t polynomials = modulo_Q.size() / N;
        for (std::size_t l = 0; l < limbs.size(); ++l) {
          const std::vector<Word>& host = l == 0 ? modulo_Q : modulo_P;
          const auto values = stream.upload(host.data(), host.size());
          const ring::NttPlan<Word>* const plans[] = {&limbs[l].plan};
          ntt<Word>(stream, transform_tables, plans, polynomials, values.data(), true);
          const dim3 grid(static_cast<unsigned>(polynomials)), block(256);
          place_limb<Word><<<grid, block, 0, stream.handle()>>>(
              values.data(), limbs[l].factor, limbs[l].plan.modulus().value(), shape.N,
              static_cast<std::uint32_t>(limbs.size()), static_cast<std::uint32_t>(l),
              key.values.data() + keys[begin].first * 2 * limbs.size() * N);
          check_launch("place_limb", grid, block, 0);
        }
      });
  stream.wait();
  stream.trim();
  return made;
}

template <class Word>
void blind_rotate_ntt_walk(const Stream& stream, const RotationKey& any_key,
                           const RotationBatch<Word>& batch) {
  const auto& key = static_cast<const NttWalkKey<Word>&>(any_key).arrays;
  if (!has_walks(any_key.shape())) return launch_rotate_ntt_raised(stream, key, batch);
  const bool moves = key.walks.automorphisms();
  if (key.raised)
    moves ? launch_rotate_ntt_walk<2, WalkSteps::automorphisms>(stream, key, batch)
          : launch_rotate_ntt_walk<2, WalkSteps::digits>(stream, key, batch);
  else
    moves ? launch_rotate_ntt_walk<1, WalkSteps::automorphisms>(stream, key, batch)
          : launch_rotate_ntt_walk<1, WalkSteps::digits>(stream, key, batch);
}

#define WHORL_INSTANTIATE(Word)                                                     \
  template std::unique_ptr<RotationKey> prepare_ntt_walk_key(                       \
      const Stream&, const RotationShape&, const RowSource<Word>&, const Workers&); \
  template void blind_rotate_ntt_walk(const Stream&, const RotationKey&,            \
                                      const RotationBatch<Word>&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
