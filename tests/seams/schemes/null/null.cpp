// A scheme that does nothing, and all that a scheme has to write for itself: its ciphertexts are
// polynomials in the clear modulo primes, and there are no keys.
#include "io/native/files.h"
#include "lattice/rlwe/evaluator.h"
#include "math/digest.h"
#include "run/session.h"
#include "server/base_server.h"
#include "server/batches.h"

namespace whorl::null {
using Word = std::uint64_t;
using lattice::rlwe::Array, lattice::rlwe::Evaluator;

struct Parameters {  ///< and their literal: there is nothing to derive
  std::string name;
  std::uint32_t N = 0;
  std::vector<Word> chain;
  static Parameters create(const Parameters& literal, bool allow_insecure) {
    if (!allow_insecure) throw ParameterError("security: 0 bits, at least 128");
    literal.plan();  // checks it
    return literal;
  }
  std::shared_ptr<const ring::RnsPlan<Word>> plan() const {
    return std::make_shared<const ring::RnsPlan<Word>>(N, chain, std::span<const Word>(), 1);
  }
  const Parameters& literal() const { return *this; }
  Digest digest() const { return math::digest_of(N, chain); }
  io::WordRule rule(std::uint64_t count) const {
    return {chain.size(), io::checked_product(count, N, "data"), sizeof(Word), chain, "data"};
  }
  bool operator==(const Parameters&) const = default;
};
struct Ciphertexts {
  Parameters parameters;
  KeyId key_id{};
  std::uint64_t count = 0;
  WordArray data{};  ///< (limbs, count, N)
  std::optional<Shape> shape{};
  std::optional<Seed> seed{};
};
struct Server {
  Parameters held;
  std::shared_ptr<const Evaluator> all;
  Server(const Parameters& p, const Session& session)
      : held(p), all(Evaluator::make(run::state_of(session)->fleet, p.plan())) {}
  const Parameters& parameters() const { return held; }
  KeyId key_id() const { return {}; }
  std::string device() const { return all->fleet().name(); }
  std::vector<std::string> devices() const { return all->fleet().names(); }
  std::vector<FailedDevice> failed_devices() const { return all->fleet().failed(); }
  unsigned threads() const { return all->fleet().lane(0)->device().threads(); }
  std::size_t key_bytes() const { return 0; }
  void synchronise() const { all->fleet().wait(); }
  Array upload(const Ciphertexts& c) const {
    if (c.parameters != held) throw ParameterMismatchError("parameters: others");
    return all->upload(c.data, {1, all->level(unsigned(held.chain.size())), c.count});
  }
  Ciphertexts download(const Array& a) const { return {held, {}, a.count(), all->download(a)}; }
  void check(const Array& a) const { concatenate(std::span(&a, 1)); }
  Array take(const Array& a, std::span<const std::uint32_t> i) const { return all->take(a, i); }
  Array concatenate(std::span<const Array> arrays) const { return all->join(arrays); }
};

}  // namespace whorl::null

namespace whorl::io {
template <class T>
requires is_one_of<T, null::Parameters, null::Ciphertexts>
inline constexpr bool is_saved<T> = true;

template <>
struct LiteralCodec<null::Parameters> {
  using Literal = null::Parameters;
  static constexpr std::tuple fields{Field{1, "name", &Literal::name, max_name_bytes},
                                     Field{2, "N", &Literal::N},
                                     Field{3, "chain", &Literal::chain, ring::Basis::most}};
};
template <>
struct Codec<null::Parameters> : ParametersCodec<null::Parameters, FrameType{0x8000}> {};
template <>
struct Codec<null::Ciphertexts> {
  static constexpr FrameKind kind{.type = FrameType{0x8001}, .keyed = false};
  static void write(const null::Ciphertexts& c, PayloadWriter& out) {
    out.fields().value(c.count);
    out.shape(c.shape, c.count);
    out.align();
    out.words(c.data, c.parameters.rule(c.count));
  }
  static null::Ciphertexts read(PayloadReader& in, const null::Parameters& parameters) {
    const auto count = in.fields().value<std::uint64_t>("count");
    const auto shape = in.shape(count);
    in.align();
    const TakenWords data = in.take(parameters.rule(count));
    in.finish();
    return {parameters, {}, count, in.words(data), shape};
  }
};

}  // namespace whorl::io

NB_MODULE(_null, module) {
  using namespace whorl::null;
  using namespace whorl::python;
  nb::module_::import_("whorl._server");  // for its exceptions
  bind_parameters<Parameters, Parameters>(module)
      .def(nb::init<>())
      .def_rw("name", &Parameters::name)
      .def_rw("N", &Parameters::N)
      .def_rw("chain", &Parameters::chain);
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  batch.def_static("create", [](const Parameters& p, const Input<Word>& words) {
    const std::vector<Word> all(words.data(), words.data() + words.size());
    return Ciphertexts{p, {}, all.size() / p.chain.size() / p.N, whorl::WordArray(all)};
  });
  bind_batch(batch, [](const Ciphertexts& c) {
    return Layout{c.parameters.chain.size(), c.parameters.N};
  });
  nb::class_<Array>(module, "Array").def_prop_ro("nbytes", &Array::bytes);
  bind_base_server<Server, Array>(module).def_static("create", &make_server<Server, Parameters>);
}
