#include "cuda_rotations/candidates.cuh"

namespace whorl::bench {

template <class Shape, int m, class Word>
std::vector<Candidate> candidates(const Stream& stream, const RotationBench<Word>& bench) {
  std::vector<Candidate> all;
  add_ntt<Shape, m, 1>(all, stream, bench);
  add_ntt<Shape, m, 2>(all, stream, bench);
  return all;
}

template <class Word>
std::vector<Candidate> ntt_candidates(const Stream& stream, const RotationBench<Word>& bench,
                                      unsigned group) {
  using Shape = std::conditional_t<sizeof(Word) == 4, backend::cuda::GroupNtt<Word, 10, 4>,
                                   backend::cuda::GroupNtt<Word, 11, 3>>;
  return group == 2 ? candidates<Shape, 2>(stream, bench) : candidates<Shape, 3>(stream, bench);
}
template std::vector<Candidate> ntt_candidates(const Stream&, const RotationBench<std::uint32_t>&,
                                               unsigned);
template std::vector<Candidate> ntt_candidates(const Stream&, const RotationBench<std::uint64_t>&,
                                               unsigned);

}  // namespace whorl::bench
