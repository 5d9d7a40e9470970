// Times of LWE kernels beside what an H200 allows.
#include <algorithm>
#include <bit>

#include "common/binfhe.h"
#include "common/cuda_timer.h"
#include "common/rates.h"
#include "cuda_lwe/bench.h"
#include "whorl/word_array.h"

namespace whorl::bench {
namespace {

Times time_on_gpu(const LweBench& bench, const std::function<void()>& work) {
  return CudaTimer(bench.stream).measure(3, 25, work);
}

void print_times(const std::string& name, std::size_t batch, const Times& t, double floor,
                 const char* bound) {
  const double each = 1e6 / static_cast<double>(batch);
  std::printf("%-32s %6zu %11.2f %11.2f %11.2f %10.4f %10.4f  %5.1f %%  %s\n", name.c_str(), batch,
              t.median() * 1e6, t.least() * 1e6, t.most() * 1e6, t.median() * each, floor * each,
              100 * floor / t.median(), bound);
}

void time_key_switch(LweBench& bench, const char* name, const Records& records) {
  const auto parameters = binfhe::Parameters::named(name, true);
  const SwitchShape shape = shape_of(parameters);
  const double started = seconds_now();
  const std::size_t word = word_bytes_for(shape.Q_ks);
  const auto key = backend::with_word_bytes<2>(static_cast<unsigned>(word), [&]<class Word>(Word) {
    return prepare_on_gpu<Word>(bench, shape, 1);
  });
  std::printf("%s: %s; %.1f MB, prepared in %.2f s\n", name, describe(shape).c_str(),
              static_cast<double>(key->bytes()) * 1e-6, seconds_now() - started);

  std::uint64_t values = 0;
  for (unsigned j = 0; j < shape.gadget.digits(); ++j)
    values += shape.table ? shape.gadget.bound(j) : 1;
  const double columns = shape.n + 1.0, N = shape.N;
  const std::vector<std::size_t> batches = shape.table
                                               ? std::vector<std::size_t>{1, 64, 512, 8192}
                                               : std::vector<std::size_t>{1, 64, 512, 2048, 8192};
  const std::size_t most = batches.back();
  // Ciphertexts in words that fit Q_ks, as servers have them.
  const unsigned bytes = word <= 4 ? 4 : 8;
  const auto switch_keys = backend::with_word_bytes(bytes, [&]<class Word>(Word) {
    std::vector<Word> in(most * (shape.N + 1));
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<Word>(mix(i) & (shape.Q_ks - 1));
    const auto from = bench.stream.upload(in.data(), in.size());
    const auto to = bench.stream.allocate<Word>(most * (shape.n + 1));
    return std::function<void(std::size_t)>([&bench, &key, from, to](std::size_t count) {
      backend::cuda::lwe_key_switch<Word>(bench.stream, *key, count, from.data(), to.data());
    });
  });
  for (const std::size_t count : batches) {
    const Times t = time_on_gpu(bench, [&] { switch_keys(count); });
    const double B = static_cast<double>(count), planes = (std::bit_width(shape.Q_ks - 1) + 7) / 8;
    const double ciphertexts = B * bytes * (N + 1 + columns) / memory_rate;
    // Either way the rows that are needed come from memory once; then they are multiplied, or
    // picked from shared memory.
    const double picked = N * shape.gadget.digits() * columns * static_cast<double>(word);
    const double whole = N * static_cast<double>(values) * columns * static_cast<double>(word);
    const double rows = std::min(whole, B * picked) / memory_rate;
    const double products = B * 2 * N * static_cast<double>(values) * columns * planes / int8_rate;
    const double work = shape.table ? std::min(products, B * picked / shared_rate) : products;
    const double floor = std::max({ciphertexts, rows, work});
    print_times(name, count, t, floor, floor == work ? "arithmetic" : "memory");
    Record record{.op = "keyswitch", .params = name, .batch = count};
    record.unit = count == 1 ? "s" : "1/s";
    describe(record, parameters);
    record.set(t, B);
    records.add(record);
  }
}

template <class Word>
void time_stages(LweBench& bench, const char* name) {
  const auto parameters = binfhe::Parameters::named(name, true);
  const std::size_t B = 8192, N = parameters.N(), row = parameters.n() + 1;
  const auto rlwe = bench.stream.allocate<Word>(B * 2 * N),
             samples = bench.stream.allocate<Word>(B * (N + 1));
  const auto at_ks = bench.stream.allocate<u64>(B * (N + 1)),
             switched = bench.stream.allocate<u64>(B * row);
  const auto rounded = bench.stream.allocate<u32>(B * row);
  bench.stream.fill(rlwe.data(), 0, B * 2 * N * sizeof(Word));
  bench.stream.fill(switched.data(), 0, B * row * sizeof(u64));
  const std::string set = name;
  const double big = static_cast<double>(B * (N + 1)), small = static_cast<double>(B * row);
  const auto stage = [&](const char* what, double bytes, const std::function<void()>& run) {
    print_times(set + what, B, time_on_gpu(bench, run), bytes / memory_rate, "memory");
  };
  stage(" extract", 2 * big * sizeof(Word), [&] {
    backend::cuda::sample_extract<Word>(bench.stream, parameters.Q(), parameters.N(), coefficient_0,
                                        1, B, rlwe.data(), samples.data());
  });
  stage(" Q to Q_ks", big * (sizeof(Word) + 8), [&] {
    backend::cuda::modulus_switch<Word, u64>(bench.stream, parameters.Q(), parameters.Q_ks(), N + 1,
                                             false, B, samples.data(), at_ks.data());
  });
  stage(" Q_ks to 2N, centred", small * 12, [&] {
    backend::cuda::modulus_switch<u64, u32>(bench.stream, parameters.Q_ks(), 2 * N, row, 2, B,
                                            switched.data(), rounded.data());
  });
}

}  // namespace

void time_everything(LweBench& bench, const Records& records) {
  std::printf("\n%-32s %6s %11s %11s %11s %10s %10s  %7s\n", "times in us", "batch", "median",
              "min", "max", "each", "floor each", "reached");
  for (const char* name : {"W128_P64", "xiao/STD128", "openfhe_1_6/STD128", "W128_P128",
                           "openfhe_1_6/LARGE_PRECISION"})
    time_key_switch(bench, name, records);
  time_stages<u32>(bench, "W128_P64");
  time_stages<u64>(bench, "W128_P128");
}

}  // namespace whorl::bench
