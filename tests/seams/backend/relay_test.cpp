// A device by relay is short: one that counts an entry, and an accelerator that takes blind
// rotation of two parameter sets and leaves the rest to the CPU.
#include "support/reference_rotation.h"
#include "support/rotation_shapes.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using Words = std::vector<std::uint32_t>;

struct Seen {
  std::atomic<int> sums = 0, rotations = 0;
};

// ---- a device that counts sums

class CountingRing final : public RelayRing<std::uint32_t> {
 public:
  CountingRing(const Queue& queue, const Queue& behind, std::shared_ptr<Seen> seen)
      : RelayRing(queue, behind), seen_(std::move(seen)) {}

 protected:
  void elementwise(Elementwise op, Moduli<std::uint32_t> q, std::size_t size,
                   const std::uint32_t* a, const std::uint32_t* b,
                   std::uint32_t* out) const override {
    seen_->sums += op == Elementwise::add;
    RelayRing::elementwise(op, q, size, a, b, out);
  }

 private:
  std::shared_ptr<Seen> seen_;
};

using CountingQueue = RelayWith<RingOps<std::uint32_t>, CountingRing, std::shared_ptr<Seen>>;

// ---- an accelerator: here, its model in exact integers

class RtlRotation final : public RelayRotation<std::uint32_t> {
 public:
  RtlRotation(const Queue& queue, const Queue& behind, std::shared_ptr<Seen> seen)
      : RelayRotation(queue, behind), seen_(std::move(seen)) {}

 protected:
  struct Key final : RotationKey {
    explicit Key(const RotationShape& shape) : RotationKey(shape), rows{shape, {}, {}} {}
    std::size_t bytes() const override { return 8 * rows.a.size() * rows.shape.N; }
    test::RotationRows<std::uint32_t> rows;
  };
  std::unique_ptr<RotationKey> make_key(const RotationShape& shape,
                                        const RowSource<std::uint32_t>& rows) const override {
    if (shape.N != 256 && shape.N != 512) return RelayRotation::make_key(shape, rows);
    auto key = std::make_unique<Key>(shape);
    key->rows.a = key->rows.b = {shape.row_count, Words(shape.N)};
    for (std::size_t r = 0; r < shape.row_count; ++r) rows(r, key->rows.a[r], key->rows.b[r]);
    return key;
  }
  void run_rotations(const RotationKey& key, const Batch& batch) const override {
    const auto* const mine = dynamic_cast<const Key*>(&key);
    if (!mine) return RelayRotation::run_rotations(key, batch);
    const std::uint32_t n = key.shape().n, N = key.shape().N, zero = 0;
    for (std::size_t i = 0; i < batch.count; ++i, ++seen_->rotations) {
      const Words lwe(batch.lwe + i * (n + 1), batch.lwe + (i + 1) * (n + 1));
      const std::uint32_t* const lut = batch.luts + std::size_t{batch.index[i]} * N;
      const Words acc = test::reference_rotation(mine->rows, lwe, Words(lut, lut + N));
      if (batch.constant)
        run_extraction(key.shape().Q, N, {&zero, 1}, *batch.constant, 1, acc.data(),
                       batch.out + i * (N + 1));
      else
        std::copy(acc.begin(), acc.end(), batch.out + i * 2 * N);
    }
  }

 private:
  std::shared_ptr<Seen> seen_;
};

using RtlQueue = RelayWith<RotationOps<std::uint32_t>, RtlRotation, std::shared_ptr<Seen>>;

// ---- what they then do

template <class Relaying>
void register_as(const std::string& name, const std::shared_ptr<Seen>& seen) {
  register_devices({name, '"' + name + '"',
                    [=](const std::string&, const DeviceOptions& options) {
                      return std::vector<std::shared_ptr<const Device>>{
                          std::make_shared<RelayDevice<Relaying, std::shared_ptr<Seen>>>(
                              name + ":0", make_device("cpu", options), seen)};
                    },
                    [] { return std::vector<DeviceInfo>(); }});
}

/// Lines of this file from the one that begins with `first` to the one that begins with `last`.
int lines(const std::string& first, const std::string& last) {
  std::ifstream in(WHORL_SOURCE_DIR "/tests/seams/backend/relay_test.cpp");
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    if (count > 0 || line.starts_with(first)) ++count;
    if (line.starts_with(last)) return count;
  }
  return 0;
}

TEST(Relay, DevicesByRelayAreShort) {
  for (const auto& [first, last] : {std::pair("class CountingRing", "using CountingQueue"),
                                    std::pair("class RtlRotation", "using RtlQueue")}) {
    EXPECT_GT(lines(first, last), 0) << first;
    EXPECT_LE(lines(first, last), 40) << first;
  }
}

TEST(Relay, OneEntryIsCounted) {
  test::Random random;
  const auto seen = std::make_shared<Seen>();
  register_as<CountingQueue>("counting", seen);
  const auto queue = open_queue("counting", {1, {}});
  EXPECT_EQ(queue->name(), "counting:0");
  const math::Modulus<std::uint32_t> q(math::ntt_primes(30, 256, 1)[0]);
  const Words x = random.residues<std::uint32_t>(256, q.value());
  const auto a = test::put(*queue, x);
  auto b = test::put(*queue, Words(256, 0));
  const auto& ring = queue->ring<std::uint32_t>();
  ring.add({&q, 1}, a.slice(), std::as_const(b).slice(), b.slice());
  ring.sub({&q, 1}, std::as_const(b).slice(), a.slice(), b.slice());
  ring.add({&q, 1}, std::as_const(b).slice(), a.slice(), b.slice());
  EXPECT_EQ(test::get(*queue, b), x);
  EXPECT_EQ(seen->sums, 2);
}

/// Accumulators and samples of three ciphertexts under a key of N's.
Words rotations(const Queue& queue, const test::RotationRows<std::uint32_t>& rows, const Words& lwe,
                const Words& lut) {
  const auto& ops = queue.rotation<std::uint32_t>();
  const auto key = ops.prepare(rows.shape, rows.source());
  const auto x = test::put(queue, lwe), table = test::put(queue, lut);
  const Words index(3, 0);
  const Rotations<std::uint32_t> batch{x.slice(), table.slice(), index};
  auto accumulators = queue.allocate<std::uint32_t>(6 * lut.size());
  auto samples = queue.allocate<std::uint32_t>(3 * (lut.size() + 1));
  ops.rotate(*key, batch, accumulators.slice());
  ops.rotate_extract(*key, batch, 77, samples.slice());
  Words out = test::get(queue, accumulators), more = test::get(queue, samples);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(Relay, AnAcceleratorTakesTwoParameterSets) {
  test::Random random;
  const auto seen = std::make_shared<Seen>();
  register_as<RtlQueue>("rtl", seen);
  const auto rtl = open_queue("rtl", {1, {}}), cpu = test::cpu();
  int taken = 0;
  for (const std::uint32_t N : {256u, 512u, 1024u}) {
    const std::uint64_t Q = math::ntt_primes(27, N, 1)[0];
    test::RotationRows<std::uint32_t> rows{
        test::ginx_shape(N, Q, 2, {2, ring::Gadget(Q, 7, 3)}, Arithmetic::ntt), {}, {}};
    for (std::size_t r = 0; r < rows.shape.row_count; ++r) {
      rows.a.push_back(random.residues<std::uint32_t>(N, Q));
      rows.b.push_back(random.residues<std::uint32_t>(N, Q));
    }
    const Words lwe = random.residues<std::uint32_t>(9, 2 * N),
                lut = random.residues<std::uint32_t>(N, Q);
    EXPECT_EQ(rotations(*rtl, rows, lwe, lut), rotations(*cpu, rows, lwe, lut)) << N;
    if (N <= 512) taken += 6;
    EXPECT_EQ(seen->rotations, taken) << N;
  }
}

}  // namespace
}  // namespace whorl::backend
