// Element-wise and LWE kernels of the CUDA backend against the CPU.
#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>

#include "backend/cuda/dispatch/elementwise.h"
#include "cuda_lwe/bench.h"
#include "schemes/binfhe/derived.h"
#include "whorl/word_array.h"

namespace whorl::bench {
namespace {

using backend::Elementwise;
using backend::cuda::DeviceArray;

template <class Word>
std::string bits() {
  return std::to_string(8 * sizeof(Word)) + " bits";
}

// ---------------------------------------------------------------------------------------------
// Element-wise

template <class Word>
std::vector<math::Modulus<Word>> random_moduli(Random& random, std::size_t limbs) {
  constexpr unsigned most = sizeof(Word) == 4 ? 31 : 61;
  std::vector<math::Modulus<Word>> moduli;
  for (std::size_t l = 0; l < limbs; ++l) {
    const u64 top = u64{1} << random.between(2, most);
    const u64 choices[] = {top / 2, top - 1, random.between(std::max<u64>(2, top / 2), top - 1)};
    moduli.emplace_back(static_cast<Word>(std::max<u64>(2, choices[random.below(3)])));
  }
  return moduli;
}

template <class Word>
void check_elementwise(LweBench& bench, std::size_t limbs, std::size_t per_limb, std::size_t offset,
                       bool in_place) {
  Random& random = bench.random;
  const auto moduli = random_moduli<Word>(random, limbs);
  const std::size_t size = limbs * per_limb;
  std::vector<Word> a, b, c, scalars;
  for (const auto& q : moduli) {
    for (auto* v : {&a, &b, &c}) {
      const auto part = random.residues<Word>(per_limb, q.value());
      v->insert(v->end(), part.begin(), part.end());
      v->back() = q.value() - 1;
    }
    scalars.push_back(static_cast<Word>(random.word()));
  }
  const std::string shape = bits<Word>() + ", " + std::to_string(limbs) + " limbs of " +
                            std::to_string(per_limb) + (offset ? ", unaligned" : "") +
                            (in_place ? ", in place" : "");
  auto on_gpu = [&](const std::vector<Word>& v) {
    auto array = bench.stream.allocate<Word>(size + offset);
    bench.stream.copy_in(v.data(), array.data() + offset, size * sizeof(Word));
    return array;
  };
  const char* names[] = {"add", "sub", "neg", "mul", "mul_add"};
  for (int op = 0; op < 5; ++op) {
    bench.attempt(names[op], [&] {
      OnCpu<Word> ca(bench, a), cb(bench, b), cc(bench, c);
      if (op == 0) bench.cpu->ring<Word>().add(moduli, ca.in(), cb.in(), cc.out());
      if (op == 1) bench.cpu->ring<Word>().sub(moduli, ca.in(), cb.in(), cc.out());
      if (op == 2) bench.cpu->ring<Word>().neg(moduli, ca.in(), cc.out());
      if (op == 3) bench.cpu->ring<Word>().mul(moduli, ca.in(), cb.in(), cc.out());
      if (op == 4) bench.cpu->ring<Word>().mul_add(moduli, ca.in(), cb.in(), cc.out());
      if (in_place && op == 4) return;
      auto ga = on_gpu(a), gb = on_gpu(b), gc = on_gpu(c);
      Word* out = in_place ? ga.data() : gc.data();
      backend::cuda::elementwise<Word>(bench.stream, static_cast<Elementwise>(op), moduli, size,
                                       ga.data() + offset, gb.data() + offset, out + offset);
      bench.compare(std::string(names[op]) + ", " + shape, bench.to_host(out + offset, size),
                    cc.values());
    });
  }
  bench.attempt("mul_scalar", [&] {
    OnCpu<Word> ca(bench, a), cc(bench, c);
    bench.cpu->ring<Word>().mul_scalar(moduli, ca.in(), scalars, cc.out());
    auto ga = on_gpu(a), gc = on_gpu(c);
    Word* out = in_place ? ga.data() : gc.data();
    backend::cuda::multiply_scalar<Word>(bench.stream, moduli, scalars, size, ga.data() + offset,
                                         out + offset);
    bench.compare("mul_scalar, " + shape, bench.to_host(out + offset, size), cc.values());
  });
}

template <class Word>
void check_automorphism(LweBench& bench, u32 N, std::size_t limbs, std::size_t batch) {
  const auto moduli = random_moduli<Word>(bench.random, limbs);
  std::vector<Word> a;
  for (const auto& q : moduli) {
    const auto part = bench.random.residues<Word>(batch * N, q.value());
    a.insert(a.end(), part.begin(), part.end());
  }
  const u32 g = static_cast<u32>(2 * bench.random.below(N) + 1);
  for (const bool evaluation : {false, true}) {
    const std::string name = "automorphism, " + bits<Word>() + ", N = " + std::to_string(N) +
                             ", g = " + std::to_string(g) + ", " + std::to_string(limbs) +
                             " limbs of " + std::to_string(batch) +
                             (evaluation ? ", evaluation form" : "");
    bench.attempt(name, [&] {
      OnCpu<Word> ca(bench, a), cc(bench, a.size());
      bench.cpu->ring<Word>().automorphism(moduli, N, g, evaluation, ca.in(), cc.out());
      const auto ga = bench.stream.upload(a.data(), a.size());
      const auto gc = bench.stream.allocate<Word>(a.size());
      backend::cuda::automorphism<Word>(bench.stream, moduli, N, g, evaluation, a.size(), ga.data(),
                                        gc.data());
      bench.compare(name, bench.to_host(gc.data(), a.size()), cc.values());
    });
  }
}

// ---------------------------------------------------------------------------------------------
// LWE

template <class Word>
void check_sample_extract(LweBench& bench, u32 N, std::size_t count) {
  const u64 Q = random_moduli<Word>(bench.random, 1)[0].value();
  const auto rlwe = bench.random.residues<Word>(count * 2 * N, Q);
  const u64 constant = bench.random.word();
  const std::string name = "sample_extract, " + bits<Word>() + ", Q = " + std::to_string(Q) +
                           ", N = " + std::to_string(N) + ", batch " + std::to_string(count);
  bench.attempt(name, [&] {
    OnCpu<Word> in(bench, rlwe), out(bench, count * (N + 1));
    bench.cpu->rotation<Word>().extract(Q, N, constant, in.in(), out.out());
    const auto from = bench.stream.upload(rlwe.data(), rlwe.size());
    const auto to = bench.stream.allocate<Word>(count * (N + 1));
    backend::cuda::sample_extract<Word>(bench.stream, Q, N, coefficient_0, constant, count,
                                        from.data(), to.data());
    bench.compare(name, bench.to_host(to.data(), to.size()), out.values());
  });
}

u64 random_modulus(Random& random, unsigned most_bits) {
  const u64 top = u64{1} << random.between(1, most_bits);
  return random.coin() ? top : std::max<u64>(2, random.between(top / 2 + 1, top));
}

template <class In, class Out>
void check_modulus_switch(LweBench& bench, u64 from, u64 to, std::size_t row, std::size_t count,
                          unsigned centre) {
  const auto values = bench.random.residues<In>(count * row, from);
  const std::string name = "modulus_switch, " + bits<In>() + " to " + bits<Out>() + ", " +
                           std::to_string(from) + " -> " + std::to_string(to) + ", " +
                           std::to_string(count) + " rows of " + std::to_string(row) +
                           (centre ? ", centred at 1/" + std::to_string(centre) : "");
  bench.attempt(name, [&] {
    OnCpu<In> in(bench, values);
    OnCpu<Out> out(bench, values.size());
    bench.cpu->lwe().modulus_switch<In, Out>(from, to, row, centre, in.in(), out.out());
    const auto from_gpu = bench.stream.upload(values.data(), values.size());
    const auto to_gpu = bench.stream.allocate<Out>(values.size());
    backend::cuda::modulus_switch<In, Out>(bench.stream, from, to, row, centre, count,
                                           from_gpu.data(), to_gpu.data());
    bench.compare(name, bench.to_host(to_gpu.data(), to_gpu.size()), out.values());
    if constexpr (std::is_same_v<In, Out>) {
      backend::cuda::modulus_switch<In, Out>(bench.stream, from, to, row, centre, count,
                                             from_gpu.data(), from_gpu.data());
      bench.compare(name + ", in place", bench.to_host(from_gpu.data(), from_gpu.size()),
                    out.values());
    }
  });
}

void check_linear(LweBench& bench, u64 q, std::size_t row, std::size_t count, std::size_t inputs,
                  bool in_place) {
  Random& random = bench.random;
  const std::size_t size = row * count;
  std::vector<std::vector<u32>> in;
  std::vector<std::int64_t> weights;
  for (std::size_t k = 0; k < inputs; ++k) {
    in.push_back(random.residues<u32>(size, q));
    const std::int64_t choices[] = {1, -1, static_cast<std::int64_t>(random.word()), INT64_MIN,
                                    INT64_MAX};
    weights.push_back(choices[random.below(5)]);
  }
  const u64 constant = random.word();
  const std::string name = "lwe_linear, q = " + std::to_string(q) + ", " + std::to_string(inputs) +
                           " inputs, " + std::to_string(count) + " rows of " + std::to_string(row) +
                           (in_place ? ", in place" : "");
  bench.attempt(name, [&] {
    std::vector<OnCpu<u32>> cpu_in;
    std::vector<Slice<const u32>> slices;
    std::vector<DeviceArray<u32>> gpu_in;
    std::vector<const u32*> pointers;
    for (const auto& values : in) {
      cpu_in.emplace_back(bench, values);
      slices.push_back(cpu_in.back().in());
      gpu_in.push_back(bench.stream.upload(values.data(), size));
      pointers.push_back(gpu_in.back().data());
    }
    OnCpu<u32> out(bench, size);
    bench.cpu->lwe().linear<u32>(q, row, weights, slices, constant, out.out());
    const auto separate = bench.stream.allocate<u32>(size);
    u32* to = in_place && inputs > 0 ? gpu_in.back().data() : separate.data();
    backend::cuda::lwe_linear<u32>(bench.stream, q, row, weights, pointers, constant, count, to);
    bench.compare(name, bench.to_host(to, size), out.values());
  });
}

template <class Word>
void check_key_switch(LweBench& bench, const SwitchShape& shape,
                      const std::vector<std::size_t>& batches) {
  const std::string name = "key switch, " + describe(shape) + ", rows of " + bits<Word>();
  bench.attempt(name, [&] {
    const u64 seed = bench.random.word();
    const auto cpu_key =
        bench.cpu->lwe().prepare_switch_key<Word>(shape, random_rows<Word>(shape, seed));
    const auto key = prepare_on_gpu<Word>(bench, shape, seed);
    for (const std::size_t count : batches) {
      auto values = bench.random.residues<u64>(count * (shape.N + 1), shape.Q_ks);
      const u64 edges[] = {0, shape.Q_ks - 1, shape.Q_ks / 2, (shape.Q_ks / 2 + 1) % shape.Q_ks};
      for (std::size_t i = 0; i < std::min<std::size_t>(4, shape.N); ++i) values[i] = edges[i];
      OnCpu<u64> in(bench, values), out(bench, count * (shape.n + 1));
      bench.cpu->lwe().key_switch<u64>(*cpu_key, in.in(), out.out());
      const auto from = bench.stream.upload(values.data(), values.size());
      const auto to = bench.stream.allocate<u64>(count * (shape.n + 1));
      bench.stream.fill(to.data(), 0x5a, to.size() * sizeof(u64));
      backend::cuda::lwe_key_switch<u64>(bench.stream, *key, count, from.data(), to.data());
      bench.compare(name + ", batch " + std::to_string(count), bench.to_host(to.data(), to.size()),
                    out.values());
    }
  });
}

void check_random_key_switch(LweBench& bench, bool power_of_two) {
  Random& random = bench.random;
  for (;;) {
    const bool table = random.coin();
    const unsigned q_bits = static_cast<unsigned>(random.between(4, power_of_two ? 62 : 60));
    const u64 Q_ks = power_of_two
                         ? u64{1} << q_bits
                         : random.between((u64{1} << (q_bits - 1)) + 1, (u64{1} << q_bits) - 1);
    const unsigned log_base = static_cast<unsigned>(random.between(1, table ? 9 : 12));
    const unsigned most = (q_bits + log_base - 1) / log_base;
    const unsigned digits = static_cast<unsigned>(random.between(1, std::min(most, 8u)));
    const u32 N = static_cast<u32>(random.between(5, 300)),
              n = static_cast<u32>(random.between(1, 400));
    const SwitchShape shape{N, n, Q_ks, ring::Gadget(Q_ks, log_base, digits), table};
    u64 rows = 0;
    for (unsigned j = 0; j < digits; ++j) rows += table ? shape.gadget.bound(j) : 1;
    if (rows * N * (n + 1) > 6'000'000) continue;
    const std::size_t sizes[] = {1, 2, 16, 31, 32, 33, 64, 127, 128, 129, 255, 256, 257, 300};
    const std::vector<std::size_t> batches = {1, sizes[random.below(14)], sizes[random.below(14)]};
    const std::size_t least = word_bytes_for(Q_ks);
    const std::size_t bytes = std::min<std::size_t>(8, least << random.below(3));
    if (bytes == 2) return check_key_switch<std::uint16_t>(bench, shape, batches);
    if (bytes == 4) return check_key_switch<u32>(bench, shape, batches);
    return check_key_switch<u64>(bench, shape, batches);
  }
}

}  // namespace

void check_everything(LweBench& bench) {
  Random& random = bench.random;
  for (const std::size_t limbs : {1, 3, 70}) {
    for (const std::size_t offset : {0, 1}) {
      const std::size_t size = 4 * random.between(1, 3000 / limbs),
                        odd = size + 1 + random.below(3);
      check_elementwise<u32>(bench, limbs, size, offset, random.coin());
      check_elementwise<u64>(bench, limbs, size, offset, random.coin());
      check_elementwise<u32>(bench, limbs, odd, offset, random.coin());
      check_elementwise<u64>(bench, limbs, odd, offset, random.coin());
    }
    for (const u32 N : {256u, 2048u, 65536u}) {
      if (limbs * N > 300000) continue;
      check_automorphism<u32>(bench, N, limbs, random.between(1, 3));
      check_automorphism<u64>(bench, N, limbs, random.between(1, 3));
    }
  }
  for (const u32 N : {4u, 512u, 1024u, 2048u}) {
    check_sample_extract<u32>(bench, N, random.between(1, 300));
    check_sample_extract<u64>(bench, N, random.between(1, 300));
  }
  for (int round = 0; round < 12; ++round) {
    const std::size_t row = random.between(1, round % 3 == 0 ? 3 : 1400),
                      count = random.between(1, 70);
    const unsigned centre = random.coin() ? 2 + static_cast<unsigned>(random.below(8)) : 0,
                   other = centre ? 0 : 4;
    const u64 narrow_from = random_modulus(random, 32), narrow_to = random_modulus(random, 32),
              wide_from = random_modulus(random, 61), wide_to = random_modulus(random, 61);
    check_modulus_switch<u32, u32>(bench, narrow_from, narrow_to, row, count, centre);
    check_modulus_switch<u32, u64>(bench, narrow_from, wide_to, row, count, other);
    // Sums of rounding errors of a wide modulus must stay below 2^63 on both backends.
    const std::size_t short_row = std::min<std::size_t>(row, 4);
    const std::size_t wide_row = wide_from >> 50 ? short_row : row;
    check_modulus_switch<u64, u32>(bench, wide_from, narrow_to, wide_row, count, centre);
    check_modulus_switch<u64, u64>(bench, wide_from, wide_to, wide_row, count, other);
  }
  check_modulus_switch<u32, u32>(bench, u64{1} << 15, 2048, 645, 300, 2);
  check_modulus_switch<u64, u32>(bench, u64{1} << 20, 4096, 844, 300, 2);
  check_modulus_switch<u64, u64>(bench, 18014398509404161, u64{1} << 35, 2049, 300, 0);
  check_modulus_switch<u64, u64>(bench, ~u64{0} - 58, 1 << 20, 3, 50, 0);
  for (const std::size_t inputs : {0, 1, 2, 3, 5, 16, 17, 40})
    for (int round = 0; round < 3; ++round)
      check_linear(bench, round == 0 ? u64{1} << random.between(1, 32) : random_modulus(random, 32),
                   random.between(1, 900), random.between(1, 60), inputs, random.coin());

  for (int round = 0; round < 60; ++round) check_random_key_switch(bench, true);
  for (int round = 0; round < 12; ++round) check_random_key_switch(bench, false);
  for (const char* name :
       {"W128_P64", "W128_P128", "xiao/STD128", "velofhe/GD_I", "openfhe_1_5/TOY"}) {
    SwitchShape shape = shape_of(binfhe::Parameters::named(name, true));
    if (std::string_view(name) == "xiao/STD128") shape.N /= 4;
    check_key_switch<u32>(bench, shape, {1, 40, 130});
  }
  check_key_switch<u64>(
      bench, shape_of(binfhe::Parameters::named("openfhe_1_6/LARGE_PRECISION", true)), {1, 33});
}

}  // namespace whorl::bench
