#include "tensorfhe/matrix_tables.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "backend/contract/ring.h"
#include "common/devices.h"
#include "math/primes.h"

namespace whorl::bench::matrix {

namespace {

/// (size, size) words, result and inner index; as planes.
std::vector<std::uint8_t> planes_of(const std::vector<Word>& words) {
  std::vector<std::uint8_t> out;
  for (unsigned p = 0; p < 4; ++p)
    for (const Word w : words) out.push_back(static_cast<std::uint8_t>(w >> (8 * p)));
  return out;
}

}  // namespace

Tables::Tables(const ring::NttPlan<Word>& plan, bool forward) : q(plan.modulus().value()) {
  const auto& modulus = plan.modulus();
  const std::uint32_t N = plan.N(), R = shape_of(N).rows, C = shape_of(N).columns;
  const unsigned bits_R = static_cast<unsigned>(std::countr_zero(R)),
                 bits_C = static_cast<unsigned>(std::countr_zero(C));
  barrett = ~std::uint64_t{0} / q;
  multiple = (std::uint64_t{1} << 63) / q * q;
  const std::uint64_t square = std::uint64_t{q - 1} * (q - 1);
  room = 1;
  for (const unsigned r : {4u, 16u, 32u})
    if (r * static_cast<unsigned __int128>(square) <= (std::uint64_t{1} << 63) - q) room = r;

  std::vector<Word> power{1};
  const Word psi = forward ? plan.psi() : modulus.inverse(plan.psi());
  for (std::uint32_t i = 1; i < 2 * N; ++i) power.push_back(modulus.mul(power.back(), psi));
  const auto psi_to = [&](std::uint64_t exponent) { return power[exponent % (2 * N)]; };
  // `k`: of a row or column of results in evaluation form; i or j: of coefficients.
  std::vector<Word> right_turned(std::size_t{C} * C);
  left.resize(std::size_t{R} * R);
  right.resize(std::size_t{C} * C);
  for (std::uint32_t r = 0; r < R; ++r)
    for (std::uint32_t i = 0; i < R; ++i) {
      const Word w = psi_to(std::uint64_t{C} * i * (2 * ring::bit_reverse(r, bits_R) + 1));
      left[forward ? r * R + i : i * R + r] = w;
    }
  for (std::uint32_t c = 0; c < C; ++c)
    for (std::uint32_t j = 0; j < C; ++j) {
      const Word w = psi_to(std::uint64_t{2} * R * j * ring::bit_reverse(c, bits_C));
      right[forward ? j * C + c : c * C + j] = w;
      right_turned[forward ? c * C + j : j * C + c] = w;
    }
  for (std::uint32_t r = 0; r < R; ++r)
    for (std::uint32_t j = 0; j < C; ++j) {
      Word w = psi_to(std::uint64_t{j} * (2 * ring::bit_reverse(r, bits_R) + 1));
      if (!forward) w = modulus.mul(w, plan.inverse_N());
      middle.push_back({w, modulus.shoup(w)});
    }
  left_planes = planes_of(left);
  right_planes = planes_of(right_turned);
}

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::butterflies:
      return "butterflies";
    case Kind::words:
      return "products of words";
    case Kind::five_stages:
      return "products of bytes, five stages";
    default:
      return "products of bytes, two stages";
  }
}

namespace {

// ---- one transform on the host, thread by thread

using Values = std::vector<Word>;

Values on_words(Shape shape, const Limb& limb, bool on_left, bool with_middle, const Values& in) {
  Values out(in.size(), 0xeeeeeeee);
  const Word* const a = on_left ? limb.left : in.data();
  const Word* const b = on_left ? in.data() : limb.right;
  const auto memory = std::make_unique<WordMemory>();
  struct Sum {
    std::uint64_t of[4][4] = {};
  };
  for (std::uint32_t number = 0; number < tiles(shape); ++number) {
    const Tile tile = tile_of(shape, on_left, number);
    std::vector<Sum> sums(word_threads);
    for (std::uint32_t first = 0; first < tile.inner; first += word_chunk) {
      for (unsigned t = 0; t < word_threads; ++t) load_words(tile, a, b, first, t, *memory);
      for (unsigned t = 0; t < word_threads; ++t) multiply_words(*memory, t, limb, sums[t].of);
    }
    for (unsigned t = 0; t < word_threads; ++t)
      store_words(tile, limb, with_middle, t, sums[t].of, out.data());
  }
  return out;
}

/// d += a·b of a warp, whose lanes have the fragments that the PTX ISA shows for mma.m16n8k32.
struct Lanes {
  Word a[32][4], b[32][2];
};
void mma(const Lanes& in, Word (&d)[32][4]) {
  const auto byte = [](Word word, unsigned at) { return word >> (8 * at) & 255; };
  Word a[16][32], b[32][8];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned at = 0; at < 4; ++at) {
      const unsigned g = lane / 4, t = lane % 4;
      for (unsigned r = 0; r < 4; ++r)
        a[g + r % 2 * 8][4 * t + at + r / 2 * 16] = byte(in.a[lane][r], at);
      for (unsigned r = 0; r < 2; ++r) b[4 * t + at + 16 * r][g] = byte(in.b[lane][r], at);
    }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
      for (unsigned k = 0; k < 32; ++k) d[lane][e] += a[row][k] * b[k][column];
    }
}

template <bool apart, unsigned steps>
void on_bytes(Shape shape, const Limb& limb, bool on_left, bool with_middle, const Values& words,
              const std::vector<std::uint8_t>& planes, Values& out) {
  const std::size_t N = std::size_t{shape.rows} * shape.columns;
  out.assign(apart ? 16 * N : N, 0xeeeeeeee);
  const auto memory = std::make_unique<ByteMemory<steps>>();
  for (std::uint32_t number = 0; number < tiles(shape); ++number) {
    const Tile tile = tile_of(shape, on_left, number);
    const std::size_t square = std::size_t{tile.inner} * tile.inner;
    std::vector<ByteSums<apart>> sums(byte_threads);
    for (std::uint32_t first = 0; first < tile.inner; first += 32 * steps) {
      for (unsigned t = 0; t < byte_threads; ++t) {
        if (on_left) {
          load_planes<steps, tile_rows>(limb.left_planes, square, tile.row, tile.inner, first, t,
                                        memory->a);
          if (apart)
            load_planes<steps, tile_columns>(planes.data(), N, tile.column, tile.inner, first, t,
                                             memory->b);
          else
            load_columns<steps, tile_columns>(words.data(), tile.columns, tile.column, first, t,
                                              memory->b);
        } else {
          load_planes<steps, tile_columns>(limb.right_planes, square, tile.column, tile.inner,
                                           first, t, memory->b);
          if (apart)
            load_planes<steps, tile_rows>(planes.data(), N, tile.row, tile.inner, first, t,
                                          memory->a);
          else
            load_rows<steps, tile_rows>(words.data(), tile.row, tile.inner, first, t, memory->a);
        }
      }
      for (unsigned step = 0; step < steps; ++step)
        for (unsigned warp = 0; warp < byte_threads; warp += 32) {
          std::vector<Fragments> f(32);
          for (unsigned lane = 0; lane < 32; ++lane)
            load_fragments<steps>(*memory, warp + lane, step, f[lane]);
          for (unsigned product = 0; product < 32; ++product) {
            const unsigned i = product / 8, j = product / 2 % 4, n = product % 2,
                           s = apart ? 4 * i + j : i + j;
            Lanes lanes;
            Word d[32][4];
            for (unsigned lane = 0; lane < 32; ++lane) {
              std::copy_n(f[lane].a[i], 4, lanes.a[lane]);
              std::copy_n(f[lane].b[j][n], 2, lanes.b[lane]);
              std::copy_n(sums[warp + lane].sum[s][n], 4, d[lane]);
            }
            mma(lanes, d);
            for (unsigned lane = 0; lane < 32; ++lane)
              std::copy_n(d[lane], 4, sums[warp + lane].sum[s][n]);
          }
        }
    }
    for (unsigned t = 0; t < byte_threads; ++t)
      if constexpr (apart)
        store_sums(tile, t, sums[t], N, out.data());
      else
        store_joined(tile, limb, with_middle, t, sums[t], out.data());
  }
}
template <bool apart>
void on_bytes(Shape shape, const Limb& limb, bool on_left, bool with_middle, const Values& words,
              const std::vector<std::uint8_t>& planes, Values& out) {
  if ((on_left ? shape.rows : shape.columns) == 32)
    on_bytes<apart, 1>(shape, limb, on_left, with_middle, words, planes, out);
  else
    on_bytes<apart, 2>(shape, limb, on_left, with_middle, words, planes, out);
}

Values in_five_stages(Shape shape, const Limb& limb, bool forward, const Values& in) {
  const std::size_t N = in.size();
  const auto threads = static_cast<std::uint32_t>(N / 4);
  std::vector<std::uint8_t> planes(4 * N);
  Values products, out(N, 0xeeeeeeee);
  for (std::uint32_t t = 0; t < threads; ++t)
    if (forward)
      convert_four<From::words, To::turned_planes>(shape, limb, false, t, in.data(), N, nullptr,
                                                   planes.data(), N);
    else
      convert_four<From::words, To::planes>(shape, limb, false, t, in.data(), N, nullptr,
                                            planes.data(), N);
  on_bytes<true>(shape, limb, forward, false, {}, planes, products);
  for (std::uint32_t t = 0; t < threads; ++t)
    if (forward)
      convert_four<From::products, To::planes>(shape, limb, true, t, products.data(), N, nullptr,
                                               planes.data(), N);
    else
      convert_four<From::products, To::turned_planes>(shape, limb, true, t, products.data(), N,
                                                      nullptr, planes.data(), N);
  on_bytes<true>(shape, limb, !forward, false, {}, planes, products);
  for (std::uint32_t t = 0; t < threads; ++t)
    convert_four<From::products, To::words>(shape, limb, false, t, products.data(), N, out.data(),
                                            nullptr, N);
  return out;
}

Values transform(Kind kind, Shape shape, const Limb& limb, bool forward, const Values& in) {
  if (kind == Kind::five_stages) return in_five_stages(shape, limb, forward, in);
  if (kind == Kind::words)
    return on_words(shape, limb, !forward, false, on_words(shape, limb, forward, true, in));
  Values half, out;
  on_bytes<false>(shape, limb, forward, true, in, {}, half);
  on_bytes<false>(shape, limb, !forward, false, half, {}, out);
  return out;
}

}  // namespace

bool check_on_host(unsigned largest) {
  const auto cpu = open_queue("cpu");
  std::mt19937_64 random(1);
  bool right = true;
  for (unsigned log_n = 11; log_n <= largest; ++log_n)
    for (const unsigned bits : {27u, 28u, 29u, 30u, 31u}) {
      const std::uint32_t N = 1u << log_n;
      const ring::NttPlan<Word> plan(N, static_cast<Word>(math::ntt_primes(bits, N, 1)[0]));
      const Word q = plan.modulus().value();
      Values in(N);
      for (Word& x : in) x = random() % 8 == 0 ? q - 1 : static_cast<Word>(random() % q);
      // All of them the largest: the largest sums.
      for (const bool extreme : {false, true}) {
        if (extreme) in.assign(N, q - 1);
        for (const bool forward : {true, false}) {
          const ring::NttPlan<Word>* const plans[] = {&plan};
          Buffer<Word> data = upload(*cpu, in);
          if (forward)
            cpu->ring<Word>().ntt(plans, data.slice());
          else
            cpu->ring<Word>().intt(plans, data.slice());
          const Values want = download(*cpu, data);
          const Tables tables(plan, forward), back(plan, !forward);
          for (const Kind kind : {Kind::words, Kind::five_stages, Kind::two_stages}) {
            const Values got = transform(kind, shape_of(N), tables.limb(), forward, in);
            const bool same =
                got == want && transform(kind, shape_of(N), back.limb(), !forward, got) == in;
            std::printf("%-5s %s, N=2^%u, %u bits%s, %s\n", same ? "same" : "WRONG",
                        forward ? "ntt" : "intt", log_n, bits, extreme ? ", all q - 1" : "",
                        name_of(kind).c_str());
            right &= same;
          }
        }
      }
    }
  return right;
}

}  // namespace whorl::bench::matrix
