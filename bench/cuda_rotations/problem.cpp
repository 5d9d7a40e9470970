#include <algorithm>

#include "backend/parallel.h"
#include "cuda_rotations/bench.h"
#include "lattice/lwe/rotation_method.h"
#include "math/primes.h"

namespace whorl::bench {

namespace {

using backend::RotationKind;

constexpr std::uint32_t tables = 4;

std::uint64_t mix(std::uint64_t x) {  // SplitMix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
std::uint32_t secret(const backend::RotationShape& shape, std::uint32_t i) {
  const std::uint64_t of_block = mix(std::uint64_t{i / shape.group} << 40);
  if (shape.kind == RotationKind::block) return of_block % (shape.group + 1) == i % shape.group;
  return mix(std::uint64_t{i} << 40) & 1;
}

}  // namespace

backend::RotationShape rotation_shape(const RotationSet& set, RotationKind kind, unsigned group,
                                      backend::Arithmetic arithmetic) {
  const std::uint64_t Q = math::ntt_primes(set.bits, set.N, 1)[0];
  const bool block = kind == RotationKind::block;
  const std::uint32_t n = block ? set.n / group * group : set.n;
  return lattice::lwe::RotationMethod(kind, group)
      .shape(set.N, Q, block ? lattice::SecretKind::block_binary : lattice::SecretKind::binary,
             std::vector<ring::Gadget>(n, ring::Gadget(Q, set.log_base, set.digits)), arithmetic);
}

template <class Word>
backend::RowSource<Word> rotation_rows(const backend::RotationShape& shape) {
  return [shape](std::size_t row, std::span<Word> a, std::span<Word> b) {
    for (std::size_t j = 0; j < shape.N; ++j)
      a[j] = b[j] = static_cast<Word>(mix(row * shape.N + j) % shape.Q);
    const auto next = std::upper_bound(shape.first_row.begin(), shape.first_row.end(), row);
    const auto i = static_cast<std::uint32_t>(next - shape.first_row.begin() - 1);
    const unsigned digits = shape.gadgets[i].digits(), polynomials = 2 * digits;
    const std::size_t in_step = row - shape.first_row[i], key = in_step / polynomials;
    const std::size_t set = shape.kind == RotationKind::block          ? std::size_t{1} << key
                            : shape.kind == RotationKind::unrolled_all ? key
                                                                       : key + 1;
    bool is_set = true;
    for (unsigned t = 0; t < shape.group && i + t < shape.n; ++t)
      is_set = is_set && secret(shape, i + t) == (set >> t & 1);
    if (!is_set) return;
    Word& constant = in_step % polynomials < digits ? a[0] : b[0];
    const std::uint64_t factor = shape.gadgets[i].factor(static_cast<unsigned>(in_step % digits));
    constant = static_cast<Word>((constant + factor) % shape.Q);
  };
}

template <class Word>
RotationBench<Word>::RotationBench(const Stream& stream, const backend::RotationShape& shape,
                                   std::uint32_t most)
    : stream_(stream),
      shape_(shape),
      count_(most),
      key_(backend::cuda::prepare_rotation_key<Word>(stream, shape, rotation_rows<Word>(shape),
                                                     {backend::available_cores(), {}})),
      host_lwe_(std::size_t{most} * (shape.n + 1)),
      host_index_(most),
      host_luts_(std::size_t{tables} * shape.N) {
  for (std::size_t i = 0; i < host_lwe_.size(); ++i)
    host_lwe_[i] = static_cast<std::uint32_t>(mix(~i) % (2 * shape.N));
  for (std::size_t i = 0; i < most; ++i) host_index_[i] = static_cast<std::uint32_t>(i % tables);
  for (std::size_t i = 0; i < host_luts_.size(); ++i)
    host_luts_[i] = static_cast<Word>(mix(i << 20) % shape.Q);
  lwe_ = stream.upload(host_lwe_.data(), host_lwe_.size());
  index_ = stream.upload(host_index_.data(), host_index_.size());
  luts_ = stream.upload(host_luts_.data(), host_luts_.size());
  out_ = stream.allocate<Word>(std::size_t{most} * 2 * shape.N);
  stream.fill(out_.data(), 0xff, out_.size() * sizeof(Word));
}

template <class Word>
void RotationBench<Word>::rotate() const {
  backend::cuda::blind_rotate<Word>(stream_, *key_, backend::BlindRotation::automatic, count_,
                                    lwe(), luts(), index(), {}, out());
}

template <class Word>
bool RotationBench<Word>::right() const {
  const std::size_t N = shape_.N;
  const std::uint64_t Q = shape_.Q;
  std::vector<Word> out(2 * N);
  for (std::uint32_t c = 0; c < count_; c += std::max(1u, count_ / 17)) {
    stream_.copy_out(out_.data() + c * 2 * N, out.data(), 2 * N * sizeof(Word));
    const std::uint32_t* lwe = host_lwe_.data() + std::size_t{c} * (shape_.n + 1);
    std::uint32_t rotation = 0u - lwe[shape_.n];
    for (std::uint32_t i = 0; i < shape_.n; ++i) rotation += lwe[i] * secret(shape_, i);
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t from = (static_cast<std::uint32_t>(j) - rotation) & (2 * N - 1);
      std::uint64_t wanted = host_luts_[host_index_[c] * N + (from & (N - 1))];
      if ((from & N) != 0) wanted = (Q - wanted) % Q;
      const std::uint64_t got = (out[N + j] + Q - out[j] % Q) % Q, off = (got + Q - wanted) % Q;
      // The gadget's rounding is below 2^dropped/2 a coefficient and step.
      if (out[j] >= Q || out[N + j] >= Q || std::min(off, Q - off) > Q >> 8) return false;
    }
  }
  return true;
}

template class RotationBench<std::uint32_t>;
template class RotationBench<std::uint64_t>;

}  // namespace whorl::bench
