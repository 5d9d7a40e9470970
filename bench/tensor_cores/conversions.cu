// Base conversion: its products by words, and by bytes on tensor cores.
#include <algorithm>
#include <memory>
#include <vector>

#include "backend/cuda/dispatch/rns.h"
#include "backend/cuda/kernels/convert_int8.cuh"
#include "backend/cuda/tuning/rns.h"
#include "common/rates.h"
#include "common/rns_plan.h"
#include "tensor_cores/bench.h"

namespace whorl::bench {
namespace {

using namespace backend::cuda;
using Word = TensorBench::Word;

class ConversionBench {
 public:
  ConversionBench(TensorBench& bench, const TransformTables& transforms, const RnsShape& shape,
                  unsigned bits)
      : bench_(bench), primes_(primes_of<Word>(shape, bits)), plan_(plan_of<Word>(shape, primes_)) {
    tables_ = std::make_unique<CudaRnsTables<Word>>(bench.stream(), transforms, plan_);
    params_ = in_words(shape, bits, plan_->digits());
  }

  /// Of `limbs` limbs; timed if that is asked for.
  void run(unsigned limbs, std::size_t batch, bool timed) {
    raise(limbs, batch, timed);
    lower(limbs, 2, batch, timed);
  }

 private:
  void raise(unsigned limbs, std::size_t batch, bool timed) {
    const Stream& stream = bench_.stream();
    const std::size_t row = batch * plan_->N(), rows = limbs + plan_->special();
    const unsigned digits = plan_->digits(limbs), alpha = plan_->digit_limbs();
    const std::vector<Word> chain(primes_.begin(), primes_.begin() + limbs);
    const auto in = bench_.residues(chain, limbs, row), own = bench_.residues(chain, limbs, row);
    double products = 0, targets = 0;
    for (unsigned first = 0; first < limbs; first += alpha) {
      const unsigned own_limbs = std::min(alpha, limbs - first);
      products += static_cast<double>((rows - own_limbs) * (own_limbs + 1));
      targets += static_cast<double>((rows - own_limbs + 7) / 8 * 8);
    }
    const double words = static_cast<double>(row);
    measure("base_convert_up", limbs, alpha, batch, timed, digits * rows * row,
            4 * words * static_cast<double>(2 * limbs + digits * rows), words * products,
            words * targets, [=, this, &stream, &in, &own](Word* out, Products by) {
              convert_up<Word>(stream, *tables_, limbs, batch, in.data(), own.data(), out, by);
            });
  }
  void lower(unsigned limbs, std::size_t parts, std::size_t batch, bool timed) {
    const Stream& stream = bench_.stream();
    const std::size_t row = batch * plan_->N();
    const unsigned special = plan_->special();
    const std::vector<Word> from(primes_.begin() + plan_->limbs(), primes_.end());
    const auto in = bench_.residues(from, parts * special, row);
    const double words = static_cast<double>(row * parts);
    measure("base_convert_down", limbs, special, batch, timed, parts * limbs * row,
            4 * words * static_cast<double>(special + limbs),
            words * static_cast<double>(limbs * (special + 1)),
            words * static_cast<double>((limbs + 7) / 8 * 8),
            [=, this, &stream, &in](Word* out, Products by) {
              convert_down<Word>(stream, *tables_, 65537, limbs, parts, batch, in.data(), out, by);
            });
  }

  /// From `size` limbs. `products`: wide ones; `results`: of tensor cores, those of absent targets
  /// too.
  void measure(const char* op, unsigned limbs, unsigned size, std::size_t batch, bool timed,
               std::size_t results_words, double bytes, double products, double results,
               const std::function<void(Word*, Products)>& convert) {
    const Stream& stream = bench_.stream();
    const std::string params =
        params_ + (limbs < plan_->limbs() ? ", " + std::to_string(limbs) + " limbs left" : "");
    const auto out = stream.allocate<Word>(results_words),
               want = stream.allocate<Word>(results_words);
    // 16 byte products for each word of a step's eight, present or not.
    const double byte_products = results * 16 * 8 * ((int8_slots(size) + 1) / 2);
    const double memory = bytes / memory_rate,
                 int8_floor = std::max(memory, byte_products / byte_rate);
    std::vector<Variant> variants;
    const auto variant = [&](const char* name, Products by, double floor) {
      variants.push_back({name, [&convert, &out, by] { convert(out.data(), by); }, floor});
    };
    variant("wide", Products::words, std::max(memory, products / wide_rate));
    // There are no bytes to multiply for fewer limbs: the dispatcher takes words.
    if (size >= tuning::least_small_byte_limbs) {
      variant("int8", Products::bytes, int8_floor);
      variant("int8, 64 columns a warp", Products::bytes_by_more, int8_floor);
    }
    variant("automatic", Products::automatic, int8_floor);
    stream.fill(want.data(), 0xff, want.size() * sizeof(Word));
    convert(want.data(), Products::words);
    const std::string what = std::string(op) + ", " + params + ", batch " + std::to_string(batch);
    for (const Variant& v : variants) bench_.compare(what + ", " + v.name, v.run, out, want);
    if (timed) bench_.time(op, params, batch, bytes, variants);
  }

  TensorBench& bench_;
  std::vector<Word> primes_;
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::unique_ptr<CudaRnsTables<Word>> tables_;
  std::string params_;
};

}  // namespace

void bench_conversions(TensorBench& bench, const TransformTables& transforms) {
  // Every number of limbs, and last digits that are shorter.
  for (unsigned size = 1; size <= int8_limbs; ++size)
    for (const unsigned bits : {30u, 31u}) {
      ConversionBench conversion(bench, transforms, {1 << 10, 2 * size + 1, size, size}, bits);
      conversion.run(2 * size + 1, 1, false);
      conversion.run(2 * size, 3, false);
    }
  for (const RnsShape& shape : rns_shapes) {
    ConversionBench conversion(bench, transforms, shape, 30);
    for (const std::size_t batch : {1, 64}) conversion.run(shape.limbs, batch, true);
  }
}

}  // namespace whorl::bench
