#include "backend/rtl/images.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "backend/parallel.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {

static_assert(std::endian::native == std::endian::little);

namespace {

std::uint32_t load32(const std::uint8_t* from) {
  std::uint32_t word;
  std::memcpy(&word, from, 4);
  return word;
}
void store32(std::uint32_t word, std::uint8_t* to) { std::memcpy(to, &word, 4); }

/// Calls f(location, port, word of the port's part of the chunk) for each word of a polynomial.
template <class F>
void each_word(const Shape& shape, std::uint64_t polynomial, const F& f) {
  const std::uint64_t lanes = shape.lanes(), here = shape.port_words();
  for (std::uint64_t r = 0; r < shape.rows(); ++r)
    for (std::uint64_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t u = polynomial * lanes + lane;
      f(r * lanes + lane, u / here, r * shape.padded_words() + u % here);
    }
}

/// Where word w of a port's part of a chunk has its low 32 bits, and its bit 32.
struct Place {
  std::uint64_t low, top;
  unsigned top_bit;
  Place(const Shape& shape, std::uint64_t w) {
    const std::uint64_t bits = shape.mem_bits, group = w / bits * 33 * (bits / 8), k = w % bits;
    top = group + k / 8;
    top_bit = k % 8;
    low = group + bits / 8 + 4 * k;
  }
};

void check_rotation(const Shape& shape, const RotationShape& rotation) {
  const auto require = [](const char* what, std::uint64_t got, std::uint64_t want) {
    if (got != want)
      throw ParameterError(std::string("image of a rotation key: ") + what + " = " +
                           std::to_string(got) + "; the core has " + std::to_string(want));
  };
  require("N", rotation.N, shape.N());
  require("Q", rotation.Q, prime);
  require("group", rotation.group, shape.M);
  if (rotation.n > shape.max_n) require("n", rotation.n, shape.max_n);
  for (const ring::Gadget& gadget : rotation.gadgets) {
    require("digits", gadget.digits(), shape.L);
    require("log2 of the base", gadget.log_base(), shape.log_Bg);
  }
}

/// Keys of the step that begins at coefficient i: fewer in a last group of fewer coefficients.
std::uint32_t keys_of(const RotationShape& rotation, const Shape& shape, std::size_t step) {
  return rotation.step_keys[step * shape.M];
}

std::vector<std::span<const std::uint8_t>> chunk_of(const Shape& shape,
                                                    std::span<const Bytes> images,
                                                    std::size_t step) {
  const std::size_t bytes = shape.chunk_beats() * shape.mem_bytes();
  std::vector<std::span<const std::uint8_t>> out;
  for (const Bytes& image : images) out.push_back(std::span(image).subspan(step * bytes, bytes));
  return out;
}

}  // namespace

void pack_chunk(const Shape& shape, std::span<const std::uint64_t> words,
                std::span<const std::span<std::uint8_t>> ports) {
  for (const auto& port : ports) std::fill(port.begin(), port.end(), std::uint8_t{0});
  const std::size_t N = shape.N();
  for (std::size_t polynomial = 0; polynomial < words.size() / N; ++polynomial)
    each_word(shape, polynomial, [&](std::size_t location, std::size_t s, std::size_t w) {
      const std::uint64_t word = words[polynomial * N + location];
      const Place place(shape, w);
      store32(static_cast<std::uint32_t>(word), ports[s].data() + place.low);
      ports[s][place.top] |= static_cast<std::uint8_t>((word >> 32 & 1) << place.top_bit);
    });
}

void unpack_polynomial(const Shape& shape, std::span<const std::span<const std::uint8_t>> ports,
                       std::size_t polynomial, std::span<std::uint64_t> words) {
  each_word(shape, polynomial, [&](std::size_t location, std::size_t s, std::size_t w) {
    const Place place(shape, w);
    const std::uint64_t top = ports[s][place.top] >> place.top_bit & 1;
    words[location] = load32(ports[s].data() + place.low) | top << 32;
  });
}

std::vector<Bytes> rotation_key_images(const Shape& shape, const RotationShape& rotation,
                                       const RowSource<std::uint64_t>& rows, unsigned threads) {
  check_rotation(shape, rotation);
  const std::size_t N = shape.N(), chunk = shape.chunk_beats() * shape.mem_bytes();
  const std::size_t steps = shape.steps(rotation.n), digits = 2 * shape.L;
  std::vector<Bytes> images(shape.bk_ports, Bytes(steps * chunk));
  const Transform transform(shape.log_N);
  const auto& q = transform.modulus();
  parallel_for(steps, Workers{.threads = threads, .interrupt = {}}, [&](std::size_t step) {
    std::vector<std::uint64_t> words(shape.sets() * digits * 2 * N, 0);
    const std::uint32_t keys = keys_of(rotation, shape, step);
    for (std::size_t r = 0; r < keys * digits; ++r) {
      const std::span a(words.data() + 2 * r * N, N), b(words.data() + (2 * r + 1) * N, N);
      rows(rotation.first_row[step * shape.M] + r, a, b);
      for (const auto& half : {a, b}) {
        transform.forward(half);
        for (std::uint64_t& x : half) x = q.mul(x, transform.inverse_N());
      }
    }
    std::vector<std::span<std::uint8_t>> ports;
    ports.reserve(images.size());
    for (Bytes& image : images) ports.push_back(std::span(image).subspan(step * chunk, chunk));
    pack_chunk(shape, words, ports);
  });
  return images;
}

RotationKeyRows::RotationKeyRows(const Shape& shape, const RotationShape& rotation,
                                 std::span<const Bytes> images)
    : shape_(shape),
      rotation_(rotation),
      images_(images),
      transform_(std::make_shared<Transform>(shape.log_N)) {
  check_rotation(shape, rotation);
}

void RotationKeyRows::operator()(std::size_t row, std::span<std::uint64_t> a,
                                 std::span<std::uint64_t> b) const {
  // Steps begin at rows that rise; that of `row` is the last one that does not begin after it.
  std::size_t step = 0, end = shape_.steps(rotation_.n);
  while (end - step > 1) {
    const std::size_t middle = (step + end) / 2;
    (rotation_.first_row[middle * shape_.M] <= row ? step : end) = middle;
  }
  const std::size_t within = row - rotation_.first_row[step * shape_.M];
  const auto ports = chunk_of(shape_, images_, step);
  unpack_polynomial(shape_, ports, 2 * within, a);
  unpack_polynomial(shape_, ports, 2 * within + 1, b);
  transform_->inverse(a);
  transform_->inverse(b);
}

Bytes switch_key_image(const Shape& shape, std::uint32_t n,
                       const std::function<void(std::size_t row, std::uint32_t* out)>& rows) {
  const std::size_t row_bytes = shape.ksk_row_beats(n) * shape.ksk_bytes();
  const std::size_t count = std::size_t{shape.N()} * shape.L_ks;
  Bytes image(count * row_bytes);
  std::vector<std::uint32_t> row(n + 1);
  for (std::size_t r = 0; r < count; ++r) {
    rows(r, row.data());
    put_record<std::uint32_t>(row, image.data() + r * row_bytes);
  }
  return image;
}

void switch_key_row(const Shape& shape, std::uint32_t n, std::span<const std::uint8_t> image,
                    std::size_t row, std::span<std::uint32_t> out) {
  get_record(image.data() + row * shape.ksk_row_beats(n) * shape.ksk_bytes(), out);
}

template <class Word>
void put_record(std::span<const Word> words, std::uint8_t* out) {
  std::memcpy(out, words.data(), words.size_bytes());
}
template <class Word>
void get_record(const std::uint8_t* in, std::span<Word> words) {
  std::memcpy(words.data(), in, words.size_bytes());
}
template void put_record(std::span<const std::uint32_t>, std::uint8_t*);
template void put_record(std::span<const std::uint64_t>, std::uint8_t*);
template void get_record(const std::uint8_t*, std::span<std::uint32_t>);
template void get_record(const std::uint8_t*, std::span<std::uint64_t>);

}  // namespace whorl::backend::rtl
