// Sums of few rows of LWE ciphertexts each: their terms on the device, and the launch.
#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/lwe/lwe.h"
#include "backend/cuda/kernels/lwe_sums.cuh"
#include "math/modulus.h"

namespace whorl::backend::cuda {

namespace {

template <class Word>
class RowSums final : public LweSums {
 public:
  RowSums(const Stream& stream, LweSumsShape of) : LweSums(std::move(of)) {
    const auto q = static_cast<std::int64_t>(shape().q);
    std::vector<SumTerm<Word>> terms;
    for (const LweTerm& term : shape().terms) {
      const auto factor = static_cast<std::uint64_t>((term.weight % q + q) % q);
      terms.push_back({term.input, term.row, static_cast<Word>(factor),
                       static_cast<Word>((math::Wide<std::uint64_t>{factor} << (8 * sizeof(Word))) /
                                         shape().q)});
    }
    const std::vector<Word> constants(shape().constants.begin(), shape().constants.end());
    const CurrentGpu current(stream.gpu().ordinal);
    terms_ = stream.upload(terms.data(), terms.size());
    begin_ = stream.upload(shape().begin.data(), shape().begin.size());
    constants_ = stream.upload(constants.data(), constants.size());
    stream.wait();  // other streams may use them
  }
  std::size_t bytes() const override {
    return terms_.size() * sizeof(SumTerm<Word>) + begin_.size() * sizeof(std::uint32_t) +
           constants_.size() * sizeof(Word);
  }
  void launch(const Stream& stream, std::size_t first, std::size_t count,
              std::span<const Word* const> in, Word* out) const {
    SumArguments<Word> p{};
    std::copy(in.begin(), in.end(), p.in);
    p.terms = terms_.data();
    p.begin = begin_.data() + first;
    p.constants = constants_.data() + first;
    p.q = shape().q;
    p.barrett = ~std::uint64_t{0} / shape().q;
    p.row = shape().row;
    p.count = count;
    const dim3 blocks(static_cast<unsigned>((p.row + lwe_threads - 1) / lwe_threads),
                      static_cast<unsigned>(std::min<std::size_t>(count, 65535)));
    stream.launch("sum_rows", sum_rows<Word>, urgent(blocks, dim3(lwe_threads)), p, out);
  }

 private:
  DeviceArray<SumTerm<Word>> terms_;
  DeviceArray<std::uint32_t> begin_;
  DeviceArray<Word> constants_;
};

}  // namespace

std::unique_ptr<LweSums> prepare_sums(const Stream& stream, LweSumsShape shape) {
  if (shape.word_bytes == 4)
    return std::make_unique<RowSums<std::uint32_t>>(stream, std::move(shape));
  return std::make_unique<RowSums<std::uint64_t>>(stream, std::move(shape));
}

template <class Word>
void lwe_sums(const Stream& stream, const LweSums& sums, std::size_t first, std::size_t count,
              std::type_identity_t<std::span<const Word* const>> in, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  static_cast<const RowSums<Word>&>(sums).launch(stream, first, count, in, out);
}

template void lwe_sums(const Stream&, const LweSums&, std::size_t, std::size_t,
                       std::span<const std::uint32_t* const>, std::uint32_t*);
template void lwe_sums(const Stream&, const LweSums&, std::size_t, std::size_t,
                       std::span<const std::uint64_t* const>, std::uint64_t*);

}  // namespace whorl::backend::cuda
