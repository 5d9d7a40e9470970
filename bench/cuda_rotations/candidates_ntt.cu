#include "cuda_rotations/candidates.cuh"

namespace whorl::bench {

template <class Word>
std::vector<Candidate> ntt_candidates(const Stream& stream, const RotationBench<Word>& bench) {
  using Shape = std::conditional_t<sizeof(Word) == 4, backend::cuda::GroupNtt<Word, 10, 4>,
                                   backend::cuda::GroupNtt<Word, 11, 3>>;
  return for_form(bench.key().shape(), [&]<BundleForm form, int m>() {
    std::vector<Candidate> all;
    add_ntt<Shape, form, m, 1>(all, stream, bench);
    add_ntt<Shape, form, m, 2>(all, stream, bench);
    return all;
  });
}
template std::vector<Candidate> ntt_candidates(const Stream&, const RotationBench<std::uint32_t>&);
template std::vector<Candidate> ntt_candidates(const Stream&, const RotationBench<std::uint64_t>&);

}  // namespace whorl::bench
