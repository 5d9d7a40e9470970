#include "schemes/binfhe/pipeline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "math/random.h"
#include "schemes/binfhe/derived.h"

namespace whorl::binfhe {

namespace {

template <class Word>
std::unique_ptr<backend::RotationKey> prepare_rotation(const backend::Device& device,
                                                       const backend::RotationShape& shape,
                                                       const EvaluationKeys& keys) {
  const auto bodies = keys.rotation_b.as<Word>();
  return device.prepare_rotation_key(
      shape, backend::RowSource<Word>([&](std::size_t r, std::span<Word> a, std::span<Word> b) {
        math::expand_uniform<Word>(keys.rotation_seed, r, shape.Q, a);
        std::copy_n(bodies.begin() + static_cast<std::ptrdiff_t>(r * shape.N), shape.N, b.begin());
      }));
}

template <class Word>
std::unique_ptr<backend::SwitchKey> prepare_switch(const backend::Device& device,
                                                   const backend::SwitchShape& shape,
                                                   const EvaluationKeys& keys) {
  const auto bodies = keys.switch_b.as<Word>();
  return device.prepare_switch_key(
      shape, backend::SwitchRows<Word>(
                 [&](std::size_t first, std::size_t count, Word* out, std::size_t stride) {
                   math::expand_uniform_rows<Word>(keys.switch_seed, first, shape.Q_ks,
                                                   {out, count, shape.n, stride});
                   for (std::size_t r = 0; r < count; ++r)
                     out[r * stride + shape.n] = bodies[first + r];
                 }));
}

}  // namespace

DeviceKeys::DeviceKeys(const backend::Device& device, const EvaluationKeys& keys,
                       Transform transform) {
  const Parameters& parameters = keys.parameters;
  const ParameterLiteral& p = parameters.literal();
  const backend::RotationShape shape{
      p.n,
      p.N,
      p.Q,
      parameters.keys_per_coefficient(),
      rotation_gadgets(parameters),
      transform == Transform::fft ? backend::Arithmetic::fft : backend::Arithmetic::ntt};
  rotation = narrow(parameters) ? prepare_rotation<std::uint32_t>(device, shape, keys)
                                : prepare_rotation<std::uint64_t>(device, shape, keys);
  const backend::SwitchShape switch_shape{p.N, p.n, p.Q_ks, switch_gadget(parameters),
                                          p.key_switch == KeySwitch::table};
  switch (word_bytes_for(p.Q_ks)) {
    case 2:
      key_switch = prepare_switch<std::uint16_t>(device, switch_shape, keys);
      break;
    case 4:
      key_switch = prepare_switch<std::uint32_t>(device, switch_shape, keys);
      break;
    default:
      key_switch = prepare_switch<std::uint64_t>(device, switch_shape, keys);
  }
}

Pipeline::Batch Pipeline::combine(Weights weights, Inputs inputs, std::uint64_t constant,
                                  Range range) const {
  std::vector<Batch> uploaded;
  std::vector<backend::Slice<const std::uint32_t>> slices;
  const std::size_t words = range.count * row();
  uploaded.reserve(inputs.size());
  slices.reserve(inputs.size());
  for (const Ciphertexts* input : inputs) {
    uploaded.push_back(device_.allocate<std::uint32_t>(words));
    device_.upload(std::span(input->data).subspan(range.begin * row(), words),
                   uploaded.back().slice());
  }
  for (const Batch& batch : uploaded) slices.push_back(batch.slice());
  Batch sum = device_.allocate<std::uint32_t>(words);
  device_.lwe_linear(parameters_.q(), row(), weights, slices, constant, sum.slice());
  return sum;
}

bool Pipeline::centred(std::uint64_t from, std::uint64_t to) const {
  return parameters_.literal().lwe_secret == SecretDistribution::binary && to % from != 0;
}

void Pipeline::round_for_rotation(Batch& lwe, std::uint64_t modulus, std::uint64_t offset) const {
  device_.modulus_switch(parameters_.q(), modulus, row(), centred(parameters_.q(), modulus),
                         std::as_const(lwe).slice(), lwe.slice());
  if (offset == 0) return;
  const std::int64_t one[] = {1};
  const backend::Slice<const std::uint32_t> in[] = {std::as_const(lwe).slice()};
  device_.lwe_linear(modulus, row(), one, in, offset, lwe.slice());
}

template <class Word>
backend::Buffer<Word> Pipeline::rotate(const Batch& lwe, std::span<const Word> test_vectors,
                                       std::span<const std::uint32_t> index,
                                       std::uint64_t constant) const {
  const std::size_t count = index.size(), N = parameters_.N();
  auto luts = device_.allocate<Word>(test_vectors.size());
  device_.upload(test_vectors, luts.slice());
  auto which = device_.allocate<std::uint32_t>(count);
  device_.upload(index, which.slice());
  auto extracted = device_.allocate<Word>(count * (N + 1));
  device_.blind_rotate_extract(*keys_.rotation, lwe.slice(), std::as_const(luts).slice(),
                               std::as_const(which).slice(), constant, extracted.slice());
  return extracted;
}

template <class Word>
backend::Buffer<Word> Pipeline::decide(Batch lwe, std::uint64_t offset, bool negated,
                                       Encoding output) const {
  round_for_rotation(lwe, two_n(), offset);
  const std::uint64_t Q = parameters_.Q();
  const std::uint64_t half = (encode(1, output, Q) + 1) / 2;
  const std::vector<Word> test_vector(parameters_.N(),
                                      static_cast<Word>(negated ? Q - half : half));
  const std::vector<std::uint32_t> index(lwe.size() / row(), 0);
  return rotate<Word>(lwe, test_vector, index, half);
}

template <class Word>
void Pipeline::add(backend::Buffer<Word>& sum, const backend::Buffer<Word>& other) const {
  const math::Modulus<Word> q(static_cast<Word>(parameters_.Q()));
  device_.add({&q, 1}, std::as_const(sum).slice(), other.slice(), sum.slice());
}

template <class Word>
Pipeline::Batch Pipeline::switch_key_and_modulus(const backend::Buffer<Word>& extracted,
                                                 std::uint64_t modulus) const {
  const std::size_t big = std::size_t{parameters_.N()} + 1, count = extracted.size() / big;
  auto at_ks = device_.allocate<std::uint64_t>(count * big);
  device_.modulus_switch(parameters_.Q(), parameters_.Q_ks(), big, false, extracted.slice(),
                         at_ks.slice());
  auto switched = device_.allocate<std::uint64_t>(count * row());
  device_.lwe_key_switch(*keys_.key_switch, std::as_const(at_ks).slice(), switched.slice());
  Batch out = device_.allocate<std::uint32_t>(count * row());
  device_.modulus_switch(parameters_.Q_ks(), modulus, row(), centred(parameters_.Q_ks(), modulus),
                         std::as_const(switched).slice(), out.slice());
  return out;
}

template <class Word>
void Pipeline::remove_top_bit(Batch& lwe) const {
  const std::uint64_t Q = parameters_.Q(), quarter = Q / 4;
  const std::vector<Word> test_vector(parameters_.N(), static_cast<Word>(Q - quarter));
  const std::vector<std::uint32_t> index(lwe.size() / row(), 0);
  const auto sign = rotate<Word>(lwe, test_vector, index, quarter);
  const Batch bit = switch_key_and_modulus<Word>(sign, two_n());
  const std::int64_t weights[] = {1, -1};
  const backend::Slice<const std::uint32_t> in[] = {std::as_const(lwe).slice(), bit.slice()};
  device_.lwe_linear(two_n(), row(), weights, in, 0, lwe.slice());
}

void Pipeline::download(const Batch& batch, std::span<std::uint32_t> to) const {
  device_.download(batch.slice(), to);
}

#define WHORL_INSTANTIATE(Word)                                                                  \
  template backend::Buffer<Word> Pipeline::rotate(                                               \
      const Batch&, std::span<const Word>, std::span<const std::uint32_t>, std::uint64_t) const; \
  template backend::Buffer<Word> Pipeline::decide(Batch, std::uint64_t, bool, Encoding) const;   \
  template void Pipeline::add(backend::Buffer<Word>&, const backend::Buffer<Word>&) const;       \
  template Pipeline::Batch Pipeline::switch_key_and_modulus(const backend::Buffer<Word>&,        \
                                                            std::uint64_t) const;                \
  template void Pipeline::remove_top_bit<Word>(Batch&) const;
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

std::size_t memory_of(const Parameters& parameters, const Footprint& footprint) {
  const std::size_t word = narrow(parameters) ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
  const std::size_t N = parameters.N(), row = std::size_t{parameters.n()} + 1;
  const std::size_t lwe = row * sizeof(std::uint32_t), extract = (N + 1) * word;
  const std::size_t combining = (footprint.inputs + 1) * lwe;
  if (!footprint.rotates) return combining;
  const std::size_t rotating = lwe + sizeof(std::uint32_t) + extract +
                               (footprint.own_table ? N * word : 0) +
                               (footprint.keeps_extract ? extract : 0);
  // `lwe` twice: an arbitrary table keeps its input while the top bit is switched.
  const std::size_t switching = 2 * lwe + extract + (N + 1 + row) * sizeof(std::uint64_t);
  return std::max({combining, rotating, switching});
}

}  // namespace whorl::binfhe
