// Is there a branch or an index that depends on a secret? Under valgrind's memcheck, all that
// private streams draw, and with it secret keys and errors, and all messages count as undefined:
// a branch or an address that follows from them is an error there (Langley, ctgrind, 2010). Run by
// run.sh; what is declassified is declassified here, or named in declassified.supp.
//
// Through the linker's --wrap, calls of libsodium's randombytes_buf by Whorl come here, and so do
// calls of math::random_seed and math::random_bytes by files other than their own: the former feeds
// private streams, the latter two are for what is public.
#include <sodium.h>
#include <valgrind/memcheck.h>

#include <hwy/targets.h>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "lattice/lwe/rotation_method.h"
#include "math/random.h"
#include "math/sampling.h"
#include "schemes/ckks/named_sets.h"
#include "support/bgv_sets.h"
#include "support/binfhe_sets.h"
#include "support/ckks_sets.h"
#include "whorl/bgv/client.h"
#include "whorl/binfhe/client.h"
#include "whorl/bridges/client.h"
#include "whorl/ckks/client.h"

using whorl::Seed;
using Bytes = std::span<std::uint8_t>;

namespace {

template <class T>
void make_secret(std::span<T> values) {
  VALGRIND_MAKE_MEM_UNDEFINED(values.data(), values.size_bytes());
}
/// What is given away: ciphertexts, keys for servers, seeds; and at the end results, to be
/// compared.
template <class T>
void declassify(std::span<const T> values) {
  VALGRIND_MAKE_MEM_DEFINED(values.data(), values.size_bytes());
}
template <class T>
void declassify(const std::vector<T>& values) {
  declassify(std::span<const T>(values));
}
void declassify(const whorl::WordArray& words) {
  declassify(std::span(static_cast<const std::uint8_t*>(words.data()), words.bytes()));
}

}  // namespace

// The linker's names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void __real_randombytes_buf(void* out, size_t bytes);
void __wrap_randombytes_buf(void* out, size_t bytes);
}
Seed real_seed() asm("__real__ZN5whorl4math11random_seedEv");
Seed wrapped_seed() asm("__wrap__ZN5whorl4math11random_seedEv");
void real_bytes(Bytes out) asm(
    "__real__ZN5whorl4math12random_bytesESt4spanIhLm18446744073709551615EE");
void wrapped_bytes(Bytes out) asm(
    "__wrap__ZN5whorl4math12random_bytesESt4spanIhLm18446744073709551615EE");

void __wrap_randombytes_buf(void* out, size_t bytes) {
  __real_randombytes_buf(out, bytes);
  VALGRIND_MAKE_MEM_UNDEFINED(out, bytes);
}
// NOLINTEND(bugprone-reserved-identifier)
Seed wrapped_seed() {
  Seed seed = real_seed();
  declassify(std::span<const std::uint8_t>(seed));
  return seed;
}
void wrapped_bytes(Bytes out) {
  real_bytes(out);
  declassify(std::span<const std::uint8_t>(out));
}

namespace whorl {
namespace {

int wrong = 0;
void expect(bool good, const char* what) {
  if (good) return;
  std::printf("%s: a wrong result\n", what);
  ++wrong;
}

/// The last of them counts as undefined: what is looked for reaches as far as this.
template <class T>
void expect_secret(std::span<const T> values, const char* what) {
  T bits{};
  if (RUNNING_ON_VALGRIND == 0) return;
  const auto known = VALGRIND_GET_VBITS(&values.back(), &bits, sizeof(bits));
  expect(known == 1 && bits != T{}, what);
}
template <class T>
void expect_secret(const std::vector<T>& values, const char* what) {
  expect_secret(std::span<const T>(values), what);
}
/// The last word counts with its lowest byte: the others may be 0, whatever the secret is.
void expect_secret(const WordArray& words, const char* what) {
  const std::span all(static_cast<const std::uint8_t*>(words.data()), words.bytes());
  expect_secret(all.first(all.size() - words.word_bytes() + 1), what);
}

void samplers() {
  math::PrivateStream stream("a test");
  std::vector<std::int32_t> out(3000);
  math::sample_binary(stream, out);
  math::sample_ternary(stream, out);
  expect_secret(std::span<const std::int32_t>(out), "samples");
  for (const std::uint32_t length : {2u, 3u, 8u}) {
    const auto blocks = std::span(out).first(out.size() / length * length);
    math::sample_block_binary(stream, length, blocks);
    expect_secret(std::span<const std::int32_t>(blocks), "samples of blocks");
  }
  for (const double sigma : {0.5, 3.19, 64.0, 131072.0})
    math::GaussianSampler(sigma).sample(stream, out);
  expect_secret(std::span<const std::int32_t>(out), "samples");
}

void binfhe_set(const binfhe::Parameters& parameters) {
  const binfhe::Client client(parameters);
  const binfhe::PublicKey key = client.public_key();
  expect_secret(key.b, "a public key");
  declassify(key.b);
  for (const binfhe::Encoding encoding : {binfhe::Encoding{4, false}, binfhe::Encoding{3, true}}) {
    std::vector<std::uint32_t> messages(300);
    for (std::size_t i = 0; i < messages.size(); ++i) messages[i] = i % encoding.p;
    const std::vector<std::uint32_t> known = messages;
    make_secret(std::span(messages));
    for (const binfhe::Under under : {binfhe::Under::lwe, binfhe::Under::ring}) {
      const binfhe::Ciphertexts c =
          client.encrypt(messages, encoding, binfhe::allowed_failure, under);
      if (c.is_wide()) {
        expect_secret(c.wide, "ciphertexts");
        declassify(c.wide);
      } else {
        expect_secret(c.data, "ciphertexts");
        declassify(c.data);
      }
      const std::vector<std::uint32_t> out = client.decrypt(c);
      expect_secret(out, "messages");
      declassify(out);
      expect(out == known, parameters.name().c_str());
    }
    const binfhe::PackedCiphertexts packed = binfhe::encrypt(key, messages, encoding);
    expect_secret(packed.data, "packed ciphertexts");
    declassify(packed.data);
    const std::vector<std::uint32_t> out = client.decrypt(packed);
    expect_secret(out, "messages");
    declassify(out);
    expect(out == known, parameters.name().c_str());
  }
  expect_secret(bridges::compression_keys(client, 1).b, "compression keys");
  const binfhe::EvaluationKeys keys = client.evaluation_keys(1);
  expect_secret(keys.rotation_b, "a blind-rotation key");
  expect_secret(keys.switch_b, "a key-switching key");
}

void bgv_set(const test::BgvShape& shape) {
  const bgv::Parameters parameters = test::bgv_insecure(shape);
  const bgv::Client client(parameters);
  const bgv::PublicKey key = client.public_key();
  expect_secret(key.b, "a public key");
  declassify(key.b);
  for (const bgv::Packing packing : {bgv::Packing::coefficients, bgv::Packing::slots}) {
    if (packing == bgv::Packing::slots && !parameters.has_slots()) continue;
    std::vector<std::int64_t> values(parameters.N());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (i % 2 ? -1 : 1) * static_cast<std::int64_t>(i % parameters.t());
    std::vector<std::uint64_t> known;
    known.reserve(values.size());
    for (const std::int64_t v : values)
      known.push_back(
          static_cast<std::uint64_t>(v < 0 ? v + static_cast<std::int64_t>(shape.t) : v) % shape.t);
    make_secret(std::span(values));
    for (const bgv::Ciphertexts& c :
         {client.encrypt(values, packing), bgv::encrypt(key, values, packing)}) {
      expect_secret(WordArray({}, c.data.data(), c.data.size() / 2, c.data.word_bytes()), "c_0");
      declassify(c.data);
      const std::vector<std::uint64_t> out = client.decrypt(c);
      expect_secret(out, "values");
      declassify(out);
      expect(out == known, parameters.literal().name.c_str());
    }
  }
  for (const auto& made : client.evaluation_keys({4, {1, -1}, true}, 1).keys)
    expect_secret(made.b, "a switching key");
}

void ckks_set(const test::CkksShape& shape) {
  const ckks::Parameters parameters = test::ckks_insecure(shape);
  const ckks::Client client(parameters);
  const ckks::PublicKey key = client.public_key();
  expect_secret(key.b, "a public key");
  declassify(key.b);
  test::Random random(1);
  const auto words = [&] { return random.word(); };
  const test::Complexes known = test::random_complexes(words, 64);
  test::Complexes values = known;
  make_secret(std::span(values));
  for (const ckks::Ciphertexts& c : {client.encrypt(values), ckks::encrypt(key, values)}) {
    expect_secret(WordArray({}, c.data.data(), c.data.size() / 2, c.data.word_bytes()), "c_0");
    declassify(c.data);
    for (const bool released : {false, true}) {
      const test::Complexes out =
          released ? client.release(c, {.queries = 2}) : client.decrypt_raw(c);
      expect_secret(out, "values");
      declassify(out);
      double worst = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        worst = std::max(worst, std::abs(out[i] - known[i]));
      expect(worst < 0.01, parameters.literal().name.c_str());
    }
  }
  for (const auto& made : client.evaluation_keys({3, {1, -1}, true}, 1).keys)
    expect_secret(made.b, "a switching key");
}

void lanes_and_between_schemes(const binfhe::Parameters& parameters) {
  ckks::ParameterLiteral literal = ckks::for_bits({.bits = 1, .levels = 4});
  literal.N = 1024;
  const ckks::Client client(ckks::Parameters::create(literal, true));
  const binfhe::Client lwe(parameters);
  std::vector<std::uint8_t> bits(3 * 500);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 3 == 0;
  make_secret(std::span(bits));
  expect_secret(client.encrypt_bits(bits, 500).data, "compact bits");
  const bridges::LweInputKeys in = bridges::lwe_input_keys(client, lwe, 1);
  expect_secret(in.b, "a key for LWE input");
  expect_secret(in.switch_b, "a switching key");
  const bridges::LweOutputKeys out = bridges::lwe_output_keys(client, lwe, 1);
  expect_secret(out.b, "a key for LWE output");
  expect_secret(out.switch_b, "a switching key");
}

/// What the others must not do: run.sh expects that it is found.
void leak() {
  math::PrivateStream stream("a leak");
  std::vector<std::int32_t> bit(1);
  math::sample_binary(stream, bit);
  if (bit[0] != 0) std::puts("the bit was 1");
}

}  // namespace
}  // namespace whorl

int main(int count, char** arguments) {
  using whorl::wrong;
  if (sodium_init() < 0) return 2;
  // valgrind knows no AVX-512.
  hwy::DisableTargets(HWY_AVX2 - 1);
  if (count > 1 && std::string_view(arguments[1]) == "leak") {
    whorl::leak();
    return 0;
  }
  whorl::samplers();
  for (const whorl::binfhe::Parameters& parameters : whorl::test::varied_sets())
    whorl::binfhe_set(parameters);
  for (const whorl::test::BgvShape& shape :
       {whorl::test::BgvShape{}, whorl::test::BgvShape{1024, 12289, 50, 3, 1},
        whorl::test::BgvShape{1024, 1000, 30, 2, 1}})
    whorl::bgv_set(shape);
  for (const whorl::test::CkksShape& shape :
       {whorl::test::CkksShape{45}, whorl::test::CkksShape{50, 64, 2}})
    whorl::ckks_set(shape);
  whorl::lanes_and_between_schemes(whorl::test::varied_sets()[0]);
  if (RUNNING_ON_VALGRIND == 0) std::puts("not under valgrind: nothing was looked for");
  std::printf("%d wrong results\n", wrong);
  return wrong == 0 ? 0 : 3;
}
