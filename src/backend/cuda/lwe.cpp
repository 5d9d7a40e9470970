// LWE ciphertexts on a GPU.
#include "backend/cuda/dispatch/lwe/lwe.h"

#include <utility>
#include <vector>

#include "backend/cuda/queue.h"

namespace whorl::backend::cuda {

namespace {

class CudaLwe final : public LweOps {
 public:
  explicit CudaLwe(const CudaQueue& queue)
      : LweOps(queue), stream_(queue.stream()), gpu_(queue.gpu()) {}

 protected:
  void run_modulus_switch(const Rounding& rounding, std::size_t count, ConstWords in,
                          Words out) const override {
    with_word_bytes(in.bytes, [&]<class In>(In) {
      with_word_bytes(out.bytes, [&]<class Out>(Out) {
        cuda::modulus_switch(stream_, rounding.from, rounding.to, rounding.row, rounding.centre,
                             count, static_cast<const In*>(in.data), static_cast<Out*>(out.data));
      });
    });
  }
  std::unique_ptr<SwitchKey> make_switch_key(const SwitchShape& shape,
                                             const SwitchRowSource& source) const override {
    return cuda::prepare_switch_key(stream_, shape, source.word_bytes, source.rows, gpu_.workers());
  }
  void run_key_switch(const SwitchKey& key, std::size_t count, ConstWords in,
                      Words out) const override {
    with_word_bytes(in.bytes, [&]<class Word>(Word) {
      cuda::lwe_key_switch(stream_, key, count, static_cast<const Word*>(in.data),
                           static_cast<Word*>(out.data));
    });
  }
  void run_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const ConstWords> in, std::uint64_t constant, std::size_t count,
                  Words out) const override {
    const auto combine = [&]<class Word>(Word) {
      std::vector<const Word*> from;
      for (const ConstWords& each : in) from.push_back(static_cast<const Word*>(each.data));
      cuda::lwe_linear<Word>(stream_, q, row, weights, from, constant, count,
                             static_cast<Word*>(out.data));
    };
    with_word_bytes(out.bytes, combine);
  }
  void run_matrix(const Matrix& m, ConstWords in, Words out) const override {
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      cuda::lwe_matrix<Word>(stream_, {m.q, m.row, m.batch, m.groups, m.entries, m.constants},
                             static_cast<const Word*>(in.data), static_cast<Word*>(out.data));
    });
  }
  std::unique_ptr<LweSums> make_sums(LweSumsShape shape) const override {
    return cuda::prepare_sums(stream_, std::move(shape));
  }
  void run_sums(const LweSums& sums, std::size_t first, std::size_t count,
                std::span<const ConstWords> in, Words out) const override {
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      std::vector<const Word*> from;
      for (const ConstWords& each : in) from.push_back(static_cast<const Word*>(each.data));
      cuda::lwe_sums<Word>(stream_, sums, first, count, from, static_cast<Word*>(out.data));
    });
  }
  void run_to_polynomials(const LwePolynomials& rule, const Coefficients& of, ConstWords in,
                          Words out) const override {
    with_word_bytes(in.bytes, [&]<class In>(In) {
      with_word_bytes(out.bytes, [&]<class Out>(Out) {
        cuda::lwe_to_polynomials(stream_, rule, of.first, of.columns, of.vectors, of.batch,
                                 static_cast<const In*>(in.data), static_cast<Out*>(out.data));
      });
    });
  }
  void run_expansion(const LweExpansion& rule, std::size_t count, const std::uint32_t* numbers,
                     ConstWords bodies, Words out) const override {
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      cuda::lwe_expand(stream_, rule, count, numbers, static_cast<const Word*>(bodies.data),
                       static_cast<Word*>(out.data));
    });
  }

 private:
  const Stream& stream_;
  const CudaDevice& gpu_;
};

}  // namespace

void CudaQueue::offer_lwe() { offer<LweOps>(std::make_shared<CudaLwe>(*this)); }

}  // namespace whorl::backend::cuda
