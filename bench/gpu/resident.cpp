#include "gpu/resident.h"

#include <span>
#include <vector>

#include "backend/contract/lwe.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/pipeline.h"
#include "schemes/binfhe/test_vectors.h"

namespace whorl::bench {

using namespace binfhe;

struct Resident::State {
  State(const GpuOptions& options, const EvaluationKeys& keys, Transform transform)
      : parameters_(keys.parameters),
        queue_(open_queue(options.device)),
        keys_(*queue_, keys, transform),
        pipeline_(*queue_, parameters_, keys_) {}

  Times nand(const GpuOptions& options, const Ciphertexts& a, const Ciphertexts& b) const {
    const auto x = upload(a), y = upload(b);
    return narrow(parameters_) ? nand<std::uint32_t>(options, x, y)
                               : nand<std::uint64_t>(options, x, y);
  }
  Times apply(const GpuOptions& options, const Lut& lut, const Ciphertexts& a) const {
    const auto x = upload(a);
    return narrow(parameters_) ? apply<std::uint32_t>(options, lut, x)
                               : apply<std::uint64_t>(options, lut, x);
  }

  using Batch = Pipeline::Batch;
  Batch upload(const Ciphertexts& c) const {
    return bench::upload(*queue_, std::span<const std::uint32_t>(c.data));
  }
  Batch combine(std::span<const Batch* const> in) const {
    std::vector<Slice<const std::uint32_t>> slices;
    for (const Batch* batch : in) slices.push_back(batch->slice());
    const std::vector<std::int64_t> ones(in.size(), 1);
    Batch sum = queue_->allocate<std::uint32_t>(in[0]->size());
    queue_->lwe().linear<std::uint32_t>(parameters_.q(), parameters_.n() + 1, ones, slices, 0,
                                        sum.slice());
    return sum;
  }
  template <class Word>
  Times nand(const GpuOptions& options, const Batch& x, const Batch& y) const {
    const std::uint64_t offset = threshold_offset(parameters_, 2, {});
    return timed(options, [&] {
      const Batch* both[] = {&x, &y};
      const auto decided = pipeline_.decide<Word>(combine(both), offset, true, {});
      wait_for(*queue_, pipeline_.switch_key_and_modulus<Word>(decided, parameters_.q()));
    });
  }
  template <class Word>
  Times apply(const GpuOptions& options, const Lut& lut, const Batch& x) const {
    const auto vectors = test_vectors<Word>(parameters_, {&lut, 1});
    const std::vector<std::uint32_t> index(x.size() / (parameters_.n() + 1), 0);
    const std::uint64_t N = parameters_.N(), sectors = lut.input().sectors();
    return timed(options, [&] {
      const Batch* one[] = {&x};
      Batch lwe = combine(one);
      if (lut.kind() == LutKind::arbitrary) {
        pipeline_.round_for_rotation(lwe, N, (N + sectors) / (2 * sectors));
        pipeline_.remove_top_bit<Word>(lwe);
      } else {
        pipeline_.round_for_rotation(lwe, 2 * N, (2 * N + sectors) / (2 * sectors));
      }
      const auto found = pipeline_.rotate<Word>(lwe, std::span<const Word>(vectors), index, 0);
      wait_for(*queue_, pipeline_.switch_key_and_modulus<Word>(found, parameters_.q()));
    });
  }
  Parameters parameters_;
  std::unique_ptr<Queue> queue_;
  DeviceKeys keys_;
  Pipeline pipeline_;
};

Resident::Resident(const GpuOptions& options, const EvaluationKeys& keys, Transform transform)
    : state_(std::make_unique<State>(options, keys, transform)) {}
Resident::~Resident() = default;

Times Resident::nand(const GpuOptions& options, const Ciphertexts& a, const Ciphertexts& b) const {
  return state_->nand(options, a, b);
}
Times Resident::apply(const GpuOptions& options, const Lut& lut, const Ciphertexts& a) const {
  return state_->apply(options, lut, a);
}

}  // namespace whorl::bench
