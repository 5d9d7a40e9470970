#include "backend/rtl/engine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "backend/rtl/images.h"
#include "ring/gadget.h"

namespace whorl::backend::rtl {

namespace {

constexpr std::int64_t p_signed = static_cast<std::int64_t>(prime);

/// floor((x·2^32 + (p-1)/2)/p) modulo 2^32.
std::uint32_t to_lwe_modulus(std::uint64_t x) {
  return static_cast<std::uint32_t>(((static_cast<unsigned __int128>(x) << 32) + (prime - 1) / 2) /
                                    prime);
}

/// Ciphertexts that meet a step of the key together.
constexpr std::size_t tile = 8;

}  // namespace

Engine::Engine(const Shape& shape)
    : shape_(shape),
      kernels_(kernels()),
      tables_(shape.log_N, kernels_.lanes),
      kernel_(shape),
      step_words_(shape.row_words() / shape.lanes() * shape.N()) {}

void Engine::read_key(const Descriptor& d, const Memories& memories, unsigned threads) {
  const std::size_t steps = shape_.steps(d.n), N = shape_.N();
  const std::size_t chunk = shape_.chunk_beats() * shape_.mem_bytes();
  const std::size_t lanes = kernels_.lanes, sets = shape_.sets(), rows = 2 * shape_.L;
  key_ = room<double>(steps * step_words_, "the bootstrapping key");
  parallel_for(steps, Workers{.threads = threads, .interrupt = {}}, [&](std::size_t step) {
    std::vector<std::uint64_t> words(step_words_);
    std::vector<std::span<const std::uint8_t>> ports;
    for (std::uint32_t s = 0; s < shape_.bk_ports; ++s)
      ports.push_back(memories.bk[s].subspan(d.bk_addr[s] + step * chunk, chunk));
    for (std::size_t polynomial = 0; polynomial < step_words_ / N; ++polynomial)
      unpack_polynomial(shape_, ports, polynomial, std::span(words).subspan(polynomial * N, N));
    double* to = key_.get() + step * step_words_;
    for (std::size_t v = 0; v < N / lanes; ++v)
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t set = 0; set < sets; ++set)
          for (std::size_t column = 0; column < 2; ++column)
            for (std::size_t lane = 0; lane < lanes; ++lane) {
              const std::size_t polynomial = (set * rows + row) * 2 + column;
              const auto x = static_cast<std::int64_t>(
                  words[polynomial * N + tables_.location(v * lanes + lane)]);
              *to++ = static_cast<double>(x > p_signed / 2 ? x - p_signed : x);
            }
  });
}

void Engine::round(const Descriptor& d, std::span<const std::uint32_t> row,
                   std::uint32_t* out) const {
  const std::uint32_t mask = 2 * shape_.N() - 1, n = d.n;
  if (d.mode & reg::exponents) {
    std::copy_n(row.begin(), n, out);
    out[n] = (row[n] + d.offset) & mask;
    return;
  }
  const unsigned log_U = 31 - shape_.log_N;
  const std::uint32_t half = 1u << (log_U - 1);
  std::int64_t sum = 0;
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t shifted = row[k] + half;
    sum += std::int64_t{half} - (shifted & (2 * half - 1));
    out[k] = shifted >> log_U;
  }
  if (!(d.mode & reg::centred)) sum = 0;
  const std::int64_t total = 2 * std::int64_t{row[n]} + (std::int64_t{1} << log_U) + sum;
  out[n] = (static_cast<std::uint32_t>(total >> (log_U + 1)) + d.offset) & mask;
}

Code Engine::load(const Descriptor& d, const Memories& memories, std::size_t ciphertext,
                  std::uint32_t* exponents, std::uint32_t& lut, std::int64_t* acc) const {
  const std::uint32_t N = shape_.N(), mask = 2 * N - 1, n = d.n;
  std::vector<std::uint32_t> row(n + 2);
  const std::uint64_t record = shape_.io_beats(n + 2) * shape_.mem_bytes();
  get_record<std::uint32_t>(memories.io.data() + d.in_addr + ciphertext * record, row);
  if (d.mode & reg::exponents)
    for (std::uint32_t k = 0; k <= n; ++k)
      if (row[k] > mask) return Code::exponent_wrong;
  lut = row[n + 1];
  if (lut >= d.luts) return Code::lut_number;
  round(d, row, exponents);
  std::vector<std::uint64_t> vector(N);
  get_record<std::uint64_t>(memories.io.data() + d.lut_addr + std::uint64_t{lut} * N * 8, vector);
  if (std::ranges::any_of(vector, [](std::uint64_t x) { return x >= prime; }))
    return Code::lut_value;
  // Coefficient j of t·X^-e is that of t at j + e, negated past N.
  std::fill_n(acc, N, 0);
  for (std::uint32_t j = 0; j < N; ++j) {
    const std::uint32_t at = (j + exponents[n]) & mask;
    const auto x = static_cast<std::int64_t>(vector[at & (N - 1)]);
    const std::int64_t centred = x > p_signed / 2 ? x - p_signed : x;
    acc[N + j] = at < N ? centred : -centred;
  }
  return Code::ok;
}

void Engine::rotate(std::uint32_t n, std::size_t count, std::span<const std::uint32_t> exponents,
                    std::int64_t* acc) const {
  const std::size_t N = shape_.N();
  const auto digits = room<double>(2 * shape_.L * N, "digits");
  std::array<Travelling, tile> all;
  for (std::size_t step = 0; step < shape_.steps(n); ++step) {
    const std::size_t first = step * shape_.M, of = std::min<std::size_t>(shape_.M, n - first);
    std::size_t moving = 0;
    for (std::size_t c = 0; c < count; ++c) {
      const std::uint32_t* const own = exponents.data() + c * (n + 1);
      // All exponents 0: the step adds 0.
      if (std::all_of(own + first, own + first + of, [](std::uint32_t e) { return e == 0; }))
        continue;
      all[moving++] = {own, acc + 2 * c * N, digits.get()};
    }
    kernels_.step(tables_, kernel_, key_.get() + step * step_words_, first, of,
                  std::span(all.data(), moving));
  }
}

void Engine::extract(const Descriptor& d, const std::int64_t* acc, std::uint64_t* out) const {
  const std::size_t N = shape_.N();
  const auto residue = [](std::int64_t x) {
    return static_cast<std::uint64_t>(x < 0 ? x + p_signed : x);
  };
  out[0] = residue(acc[0]);
  for (std::size_t k = 1; k < N; ++k) out[k] = residue(-acc[N - k]);
  out[N] = (residue(acc[N]) + d.constant) % prime;
}

void Engine::key_switch(const Descriptor& d, const Memories& memories,
                        std::span<const std::uint32_t> samples, std::size_t first,
                        std::size_t count) const {
  const std::size_t N = shape_.N(), words = std::size_t{d.n} + 1;
  const ring::Gadget gadget(lwe_modulus, shape_.log_Bks, shape_.L_ks);
  const std::size_t row_bytes = shape_.ksk_row_beats(d.n) * shape_.ksk_bytes();
  const std::uint8_t* const key = memories.ksk.data() + d.ksk_addr;
  std::vector<std::uint32_t> sums(count * words, 0), row(words);
  for (std::size_t i = 0; i < N; ++i)
    for (unsigned j = 0; j < shape_.L_ks; ++j) {
      get_record<std::uint32_t>(key + (i * shape_.L_ks + j) * row_bytes, row);
      for (std::size_t c = 0; c < count; ++c) {
        auto a = static_cast<std::int64_t>(samples[c * (N + 1) + i]);
        if (a > std::int64_t{1} << 31) a -= std::int64_t{1} << 32;
        const auto digit = static_cast<std::uint32_t>(gadget.digit(a, j));
        if (digit != 0) kernels_.subtract_row(row.data(), digit, words, &sums[c * words]);
      }
    }
  const std::uint64_t record = shape_.io_beats(words) * shape_.mem_bytes();
  for (std::size_t c = 0; c < count; ++c) {
    sums[c * words + d.n] += samples[c * (N + 1) + N];
    std::uint8_t* const to = memories.io.data() + d.out_addr + (first + c) * record;
    std::fill_n(to, record, std::uint8_t{0});
    put_record<std::uint32_t>(std::span(sums).subspan(c * words, words), to);
  }
}

Code Engine::run(const Descriptor& d, const Memories& memories, const Workers& workers,
                 std::vector<std::uint32_t>& index) const {
  const std::size_t N = shape_.N(), n = d.n, count = d.count;
  index.assign(d.rotates() ? count : 0, 0);
  // The first error in the order of inputs is the core's.
  std::atomic<std::uint64_t> error{~0ull};
  const auto fail = [&](std::size_t ciphertext, Code code) {
    const std::uint64_t mine = ciphertext << 8 | static_cast<std::uint64_t>(code);
    std::uint64_t seen = error;
    while (mine < seen && !error.compare_exchange_weak(seen, mine)) {
    }
  };
  parallel_for((count + tile - 1) / tile, workers, [&](std::size_t t) {
    const std::size_t first = t * tile, here = std::min(tile, count - first);
    std::vector<std::uint32_t> samples(here * (N + 1));
    if (!d.rotates()) {
      const std::uint64_t record = shape_.io_beats(N + 1) * shape_.mem_bytes();
      for (std::size_t c = 0; c < here; ++c)
        get_record<std::uint32_t>(memories.io.data() + d.in_addr + (first + c) * record,
                                  std::span(samples).subspan(c * (N + 1), N + 1));
      return key_switch(d, memories, samples, first, here);
    }
    std::vector<std::uint32_t> exponents(here * (n + 1));
    const auto acc = room<std::int64_t>(2 * here * N, "accumulators");
    for (std::size_t c = 0; c < here; ++c) {
      const Code code = load(d, memories, first + c, &exponents[c * (n + 1)], index[first + c],
                             acc.get() + 2 * c * N);
      if (code != Code::ok) return fail(first + c, code);
    }
    rotate(d.n, here, exponents, acc.get());
    std::vector<std::uint64_t> sample(N + 1);
    const std::uint64_t record = shape_.io_beats(2 * (N + 1)) * shape_.mem_bytes();
    for (std::size_t c = 0; c < here; ++c) {
      extract(d, acc.get() + 2 * c * N, sample.data());
      if (d.switches()) {
        std::ranges::transform(sample, &samples[c * (N + 1)], to_lwe_modulus);
        continue;
      }
      std::uint8_t* const to = memories.io.data() + d.out_addr + (first + c) * record;
      std::fill_n(to, record, std::uint8_t{0});
      put_record<std::uint64_t>(sample, to);
    }
    if (d.switches()) key_switch(d, memories, samples, first, here);
  });
  const std::uint64_t worst = error;
  return worst == ~0ull ? Code::ok : static_cast<Code>(worst & 255);
}

}  // namespace whorl::backend::rtl
