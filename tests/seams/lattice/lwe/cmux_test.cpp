// CMUX trees over arrays of ring ciphertexts modulo one Q, as accumulators of blind rotations are:
// an RGSW ciphertext is a blind-rotation key of one coefficient, made from a bit of data, and its
// product with any array on a device is made of the entries that there are.
#include "lattice/lwe/evaluator.h"
#include "lattice/lwe/keys.h"
#include "lattice/lwe/rgsw.h"
#include "lattice/lwe/rotation_method.h"
#include "support/strained_device.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

constexpr std::uint32_t N = 256;

/// An RGSW encryption of a bit, prepared on the devices that have used it.
template <class Word>
struct Selector {
  using Buffer = backend::Buffer<Word>;
  using In = backend::Slice<const Word>;

  Selector(std::uint64_t Q, const ring::Gadget& gadget, std::span<const std::int32_t> ring,
           bool bit, std::uint8_t label)
      : shape(RotationMethod().shape(N, Q, SecretKind::binary, {gadget}, backend::Arithmetic::ntt)),
        seed{label},
        bodies(RotationMethod::generate<Word>(shape, std::vector<std::int32_t>{bit}, ring,
                                              math::GaussianSampler(3.19), seed, 1, {})),
        of_b(budget, RotationMethod::bytes(shape), prepare(0)),
        of_a(budget, RotationMethod::bytes(shape), prepare(gadget.digits())) {}

  /// Rows r + turn take the place of rows r. Turned by half, those that encrypt -s·m·g_j, which
  /// digits of a multiply, stand where digits of b look for them.
  run::PrepareKey prepare(unsigned turn) {
    return [this, turn](const backend::Queue& queue) {
      return run::sized(queue.rotation<Word>().prepare(
          shape, [this, turn](std::size_t r, std::span<Word> a, std::span<Word> b) {
            const std::size_t from = (r + turn) % shape.row_count;
            RotationMethod::expand<Word>(shape, seed, from, a);
            std::copy_n(bodies.as<Word>().data() + from * N, N, b.data());
          }));
    };
  }

  /// x ⊡ K for (count, 2, N), a first. A rotation of (0, t) by X^N is (0, t) + (-2·t) ⊡ K, as
  /// RotationOps::rotate has it: t = -x/2 gives the product of one half of x, each with its key.
  /// Half of the digits are of zeros, which an entry of its own would do without.
  Buffer product(const backend::Queue& queue, const run::Lane& lane, In x) const {
    const math::Modulus<Word> q(static_cast<Word>(shape.Q));
    const auto& ring = queue.ring<Word>();
    const std::size_t count = x.size / (2 * N);
    const std::vector<Word> zeros(x.size), minus_half{static_cast<Word>(shape.Q / 2)};
    Buffer t = queue.allocate<Word>(x.size), sum = queue.allocate<Word>(x.size),
           other = queue.allocate<Word>(x.size), alone = queue.allocate<Word>(x.size);
    ring.mul_scalar({&q, 1}, x, minus_half, t.slice());
    queue.upload<Word>(zeros, alone.slice());
    std::vector<std::uint32_t> exponents;
    for (std::size_t i = 0; i < count; ++i) exponents.insert(exponents.end(), {N, 0});
    auto rows = queue.allocate<std::uint32_t>(exponents.size());
    queue.upload<std::uint32_t>(exponents, rows.slice());
    for (const std::uint32_t half : {0u, 1u}) {
      std::vector<std::uint32_t> index;
      for (std::uint32_t i = 0; i < count; ++i) index.push_back(2 * i + half);
      const auto key = (half == 0 ? of_a : of_b).template on<backend::RotationKey>(lane);
      const backend::Rotations<Word> batch{std::as_const(rows).slice(), std::as_const(t).slice(),
                                           index};
      queue.rotation<Word>().rotate(*key, batch, (half == 0 ? sum : other).slice());
      // (0, t) of that half goes.
      ring.take(count, N, {&half, 1}, std::as_const(t).slice(), 1, alone.slice());
      auto& from = half == 0 ? sum : other;
      ring.sub({&q, 1}, std::as_const(from).slice(), std::as_const(alone).slice(), from.slice());
    }
    ring.add({&q, 1}, std::as_const(sum).slice(), std::as_const(other).slice(), sum.slice());
    return sum;
  }

  /// d_0 + c·(d_1 - d_0) (CMux of Chillotti, Gama, Georgieva, Izabachène, J. Cryptology 2020).
  Array choose(const Evaluator& e, const Array& d0, const Array& d1) const {
    const Array* in[] = {&d0, &d1};
    const Form form = d0.form();
    return e
        .map(in, {&form, 1}, false,
             [&](const Stages& stages, auto operands, run::Range) {
               const backend::Queue& queue = stages.queue();
               std::size_t lane = 0;
               while (&e.fleet().lane(lane)->device() != &queue.device()) ++lane;
               const math::Modulus<Word> q(static_cast<Word>(shape.Q));
               const In x = operands[0]->template slice<Word>(),
                        y = operands[1]->template slice<Word>();
               Buffer difference = queue.allocate<Word>(x.size);
               queue.ring<Word>().sub({&q, 1}, y, x, difference.slice());
               Buffer out =
                   product(queue, *e.fleet().lane(lane), std::as_const(difference).slice());
               queue.ring<Word>().add({&q, 1}, std::as_const(out).slice(), x, out.slice());
               std::vector<Rows> rows;
               rows.push_back(Rows::view(form, std::move(out)));
               return rows;
             })
        .at(0);
  }

  backend::RotationShape shape;
  math::Seed seed;
  WordArray bodies;
  std::shared_ptr<run::KeyBudget> budget = std::make_shared<run::KeyBudget>();
  run::KeyOnDevices of_b, of_a;
};

template <class Word>
void check_tree(unsigned bits, unsigned log_base, unsigned digits, std::size_t devices) {
  SCOPED_TRACE(std::to_string(bits) + " bits on " + std::to_string(devices));
  test::Random random;
  const std::uint64_t Q = math::ntt_primes(bits, N, 1)[0], unit = Q / 64;
  const math::GaussianSampler error(3.19);
  auto secret = random.integers(N, -1, 1);
  const RlweEncryptor<Word> encryptor(secret, static_cast<Word>(Q), error);
  const Evaluator e(test::StrainedFleet(devices).fleet, nullptr, 8 * N * sizeof(Word));
  const Form pairs{Q, 2 * N - 1, Under::ring, sizeof(Word)};

  const std::size_t count = 5;
  math::PrivateStream stream("errors of a test");
  std::vector<std::vector<std::uint64_t>> messages(4);  // below 32
  std::vector<Array> leaves;
  for (auto& message : messages) {
    std::vector<Word> words = random.residues<Word>(count * 2 * N, Q);
    message = random.residues<std::uint64_t>(count * N, 32);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<Word> a(&words[i * 2 * N], N), b(&words[i * 2 * N + N], N);
      encryptor.encrypt_zero(a, b, stream);
      for (std::size_t j = 0; j < N; ++j)
        b[j] = encryptor.modulus().add(b[j], static_cast<Word>(message[i * N + j] * unit));
    }
    leaves.push_back(e.upload(pairs, count, words.data()));
  }
  for (unsigned wanted = 0; wanted < 4; ++wanted) {
    const ring::Gadget gadget(Q, log_base, digits);
    const Selector<Word> low(Q, gadget, secret, wanted & 1, 1),
        high(Q, gadget, secret, wanted & 2, 2);
    const Array chosen =
        high.choose(e, low.choose(e, leaves[0], leaves[1]), low.choose(e, leaves[2], leaves[3]));
    EXPECT_EQ(chosen.parts().size(), devices);
    // What it encrypts is read as LWE ciphertexts.
    const std::uint32_t offsets[] = {0, 77, N - 1};
    const Form form{Q, N, Under::ring, sizeof(Word)};
    const Array* in[] = {&chosen};
    for (const std::uint32_t k : offsets) {
      const Array extracted =
          e.map(in, {&form, 1}, false, [&](const Stages& stages, auto from, run::Range) {
             std::vector<Rows> out;
             out.emplace_back(stages.queue(), form, from[0]->count());
             stages.queue().rotation<Word>().extract(
                 Q, N, {&k, 1}, 0, from[0]->template slice<Word>(), out[0].template slice<Word>());
             return out;
           }).at(0);
      std::vector<Word> words(count * (N + 1));
      e.download(extracted, words.data());
      for (std::size_t i = 0; i < count; ++i) {
        const std::span<const Word> row(&words[i * (N + 1)], N + 1);
        const std::uint64_t phase = (row[N] + Q - lwe_mask<Word>(row.first(N), secret, Q)) % Q;
        const std::uint64_t off = (phase + Q - messages[wanted][i * N + k] * unit) % Q;
        EXPECT_LT(std::min(off, Q - off), unit / 8) << "leaf " << wanted << ", ciphertext " << i;
      }
    }
  }
}

TEST(Cmux, ATreeChoosesAmongArrays) {
  for (const std::size_t devices : {1u, 2u}) {
    check_tree<std::uint32_t>(27, 7, 4, devices);
    check_tree<std::uint64_t>(50, 13, 4, devices);
  }
}

}  // namespace
}  // namespace whorl::lattice::lwe
