// Where the pieces of arrays lie: from and to the host, between devices, gathered anew.
#include <algorithm>
#include <map>
#include <numeric>

#include "lattice/rlwe/typed.h"

namespace whorl::lattice::rlwe {

namespace {

template <class Word>
std::shared_ptr<const ring::RnsPlan<Word>> plan_of(const Primes& primes) {
  const std::vector<Word> chain(primes.chain.begin(), primes.chain.end()),
      special(primes.special.begin(), primes.special.end());
  return std::make_shared<const ring::RnsPlan<Word>>(primes.N, chain, special, primes.digit_limbs);
}

/// Words of device memory that a product of two ciphertexts takes at the top of the chain, with its
/// operands, its digits and its result.
std::size_t words_of_product(const Primes& primes) {
  const std::size_t L = primes.chain.size(), rows = L + primes.special.size(),
                    digits = (L + primes.digit_limbs - 1) / primes.digit_limbs;
  return (9 * L + (digits + 2) * rows) * primes.N;
}

}  // namespace

template <class Word>
Typed<Word>::Typed(std::shared_ptr<const run::Fleet> of, const Primes& primes)
    : Evaluator(std::move(of), primes), plan_(plan_of<Word>(primes)) {
  for (std::size_t l = 0; l < fleet().size(); ++l) {
    const run::Lane& lane = *fleet().lane(l);
    const auto held = lane.hold();
    lane.queue().ring<Word>();  // DeviceError now, if there are none
    tables_.push_back(lane.queue().rns<Word>().prepare(plan_));
    const std::size_t limit = lane.queue().batch_limit(words_of_product(primes) * sizeof(Word));
    most_ = l == 0 ? limit : std::min(most_, limit);
  }
}

template <class Word>
auto Typed<Word>::draft(const Shape& shape, Pieces pieces) const -> std::shared_ptr<Residues> {
  auto out = std::make_shared<Residues>(this->shared_from_this(), shape, std::move(pieces));
  out->buffers.resize(out->pieces.size());
  out->bytes = shape.rows() * shape.count * plan_->N() * sizeof(Word);
  return out;
}

// ---- from and to the host

template <class Word>
Array Typed<Word>::upload(const WordArray& words, const Shape& shape) const {
  plan_->check_basis("upload", shape.basis);
  const std::size_t N = plan_->N(), each = shape.rows() * N;
  if (shape.parts == 0 || shape.count == 0)
    throw ShapeError("upload: " + std::to_string(shape.parts) + " parts, a batch of " +
                     std::to_string(shape.count) + "; at least one of both");
  if (words.word_bytes() != sizeof(Word) || words.size() / each != shape.count ||
      words.size() % each != 0)
    throw ShapeError(std::to_string(words.size()) + " words of " +
                     std::to_string(words.word_bytes()) + " bytes where " +
                     std::to_string(shape.count) + " times " + std::to_string(each) + " of " +
                     std::to_string(sizeof(Word)) + " are due");
  const std::span<const Word> from = words.as<Word>();
  const auto primes = moduli(shape.basis, shape.parts);
  const auto refuse = [&] {
    const std::size_t row = shape.count * N;
    for (std::size_t at = 0; at < from.size(); ++at)
      if (const Word q = primes[at / row].value(); from[at] >= q)
        throw RangeError("residue " + std::to_string(from[at]) + " of row " +
                         std::to_string(at / row) + " is not below its prime " + std::to_string(q));
    throw RangeError("a residue that was not below its prime was changed during the upload");
  };
  const auto out = draft(shape);
  fleet().each(out->pieces, true, [&](std::size_t i) {
    const Site here = site(i, out->pieces[i]);
    const Slice to = allocate(*out, here);
    put(here, from, out->pieces[i].range.begin, to);
    if (!here.ring().all_below(primes, to)) refuse();
  });
  return wrap(out);
}

/// To a piece (rows, count, N), those from `begin` on of (rows, all, N).
template <class Word>
void Typed<Word>::put(const Site& site, std::span<const Word> from, std::size_t begin,
                      Slice to) const {
  if (to.size == from.size()) return site.queue.template upload<Word>(from, to);
  const std::size_t row = site.count * site.N, rows = to.size / row, stride = from.size() / rows;
  for (std::size_t r = 0; r < rows; ++r)
    site.queue.template upload<Word>(from.subspan(r * stride + begin * site.N, row),
                                     to.part(r * row, row));
}

template <class Word>
Array Typed<Word>::lift(std::span<const std::int64_t> polynomials,
                        const ring::Basis& basis) const {
  plan_->check_basis("lift", basis);
  const std::size_t N = plan_->N(), size = polynomials.size();
  if (size == 0 || size % N != 0)
    throw ShapeError("lift: " + std::to_string(size) + " integers are not polynomials of " +
                     std::to_string(N));
  std::vector<Word> residues(basis.size() * size);
  auto row = residues.begin();
  for (const auto& q : moduli(basis, 1))
    row = std::transform(polynomials.begin(), polynomials.end(), row,
                         [&](std::int64_t x) { return q.from_signed(x); });
  const auto out = draft({1, basis, size / N, Form::evaluation});
  fleet().each(out->pieces, true, [&](std::size_t i) {
    const Site here = site(i, out->pieces[i]);
    const Slice to = allocate(*out, here);
    put(here, std::span<const Word>(residues), out->pieces[i].range.begin, to);
    here.rns().ntt(here.tables, basis, 1, to);
  });
  return wrap(out);
}

template <class Word>
WordArray Typed<Word>::download(const Array& a) const {
  this->check("download", a);
  const Held from = held(a);
  const std::size_t N = plan_->N(), rows = a.shape().rows(), size = rows * a.count() * N;
  const auto words = host_memory_->take_array<Word>(size, "ciphertexts");
  Pieces pieces;
  std::vector<ConstSlice> slices;
  for (std::size_t i = 0; i < from->pieces.size(); ++i) {
    const Place at = place(*from, i);
    pieces.push_back({at.lane, from->pieces[i].range});
    slices.push_back(at.residues);
  }
  try {
    fleet().each(pieces, true, [&](std::size_t i) {
      const backend::Queue& queue = fleet().lane(pieces[i].lane)->queue();
      const run::Range range = pieces[i].range;
      if (slices[i].size == size)
        return queue.template download<Word>(slices[i], {words.get(), size});
      const std::size_t row = range.count * N;
      for (std::size_t r = 0; r < rows; ++r)
        queue.template download<Word>(
            slices[i].part(r * row, row),
            {words.get() + (r * a.count() + range.begin) * N, row});
    });
  } catch (const DeviceError& error) {
    const Residues* const operand = from.get();
    rethrow(error, std::span(&operand, 1));
  }
  return WordArray(words, words.get(), size, sizeof(Word));
}

// ---- operands where they are needed

template <class Word>
void Typed<Word>::rethrow(const DeviceError& error, std::span<const Residues* const> held) const {
  std::string all;
  for (const Residues* operand : held)
    if (const std::string one = this->lost(*operand); !one.empty())
      all += (all.empty() ? "; lost with it: " : "; ") + one;
  throw DeviceError(error.what() + all);
}

template <class Word>
auto Typed<Word>::place(const Residues& source, std::size_t piece) const -> Place {
  const std::size_t own = source.pieces[piece].lane;
  if (!fleet().has_failed(own)) return {own, source.buffers[piece].slice()};
  if (source.shape.count == 1) {
    const std::scoped_lock lock(source.mutex);
    for (const auto& [lane, buffer] : source.replicas)
      if (!fleet().has_failed(lane)) return {lane, buffer.slice()};
  }
  throw DeviceError("lost with a device that failed: " + this->lost(source));
}

template <class Word>
bool Typed<Word>::has_replica(const Residues& single, std::size_t lane) const {
  const std::scoped_lock lock(single.mutex);
  return std::ranges::any_of(single.replicas,
                             [&](const auto& replica) { return replica.lane == lane; });
}

template <class Word>
void Typed<Word>::replicate(const Residues& single, const Pieces& pieces) const {
  Pieces wanting;
  for (const run::Piece& piece : pieces)
    if (piece.lane != single.pieces[0].lane && !has_replica(single, piece.lane) &&
        std::ranges::none_of(wanting, [&](const auto& w) { return w.lane == piece.lane; }))
      wanting.push_back({piece.lane, {0, 1}});
  if (wanting.empty()) return;
  const Place from = place(single, 0);
  const auto words = host_memory_->take_array<Word>(from.residues.size, "replicas");
  const std::span<Word> all(words.get(), from.residues.size);
  const run::Piece source{from.lane, {0, 1}};
  fleet().each(std::span(&source, 1), false, [&](std::size_t) {
    fleet().lane(from.lane)->queue().template download<Word>(from.residues, all);
  });
  fleet().each(wanting, false, [&](std::size_t i) {
    const Site here = site(i, wanting[i]);
    Buffer buffer = here.polynomials(single.shape.rows());
    here.queue.template upload<Word>(all, buffer.slice());
    const std::scoped_lock lock(single.mutex);
    single.replicas.push_back({wanting[i].lane, std::move(buffer)});
  });
}

template <class Word>
auto Typed<Word>::aligned(const Array& a, const Pieces& pieces, std::size_t count) const -> Held {
  Held operand = held(a);
  if (a.count() == 1) {
    replicate(*operand, pieces);
    return operand;
  }
  if (operand->pieces == pieces) return operand;
  if (a.count() != count)
    throw ShapeError("a batch of " + std::to_string(a.count()) + " where " + std::to_string(count) +
                     " are due");
  std::vector<Origin> same(count);
  for (std::uint32_t i = 0; i < count; ++i) same[i] = {0, i};
  return gather(a.shape(), std::span(&operand, 1), same);
}

template <class Word>
auto Typed<Word>::view(const Residues& operand, const Site& site, std::size_t lane) const -> View {
  if (operand.shape.count > 1)
    return {operand.shape, site.count, site.N, operand.buffers[site.piece].slice()};
  if (operand.pieces[0].lane == lane)
    return {operand.shape, 1, site.N, operand.buffers[0].slice()};
  const std::scoped_lock lock(operand.mutex);
  for (const auto& replica : operand.replicas)
    if (replica.lane == lane) return {operand.shape, 1, site.N, replica.buffer.slice()};
  throw DeviceError("lost with a device that failed: " + this->lost(operand));
}

// ---- gathered anew

/// Ciphertexts of one piece of a source that a piece of the result needs, in the order in which they
/// are first needed.
template <class Word>
struct Typed<Word>::Fetch {
  std::size_t lane;
  ConstSlice residues;
  std::vector<std::uint32_t> indices;
  std::size_t first = 0;                 ///< where they go
  std::shared_ptr<Word[]> moved = {};  ///< (rows, indices, N), on their way between devices
};

template <class Word>
void Typed<Word>::fetch(const Site& site, std::size_t rows, const Fetch& fetch, Slice out) const {
  const auto N = plan_->N();
  if (!fetch.moved)
    return site.ring().take(rows, N, fetch.indices, fetch.residues, fetch.first, out);
  const std::size_t size = rows * fetch.indices.size() * N;
  const std::span<const Word> words(fetch.moved.get(), size);
  if (size == out.size) return site.queue.template upload<Word>(words, out);
  Buffer all = site.queue.template allocate<Word>(size);
  site.queue.template upload<Word>(words, all.slice());
  std::vector<std::uint32_t> each(fetch.indices.size());
  std::iota(each.begin(), each.end(), 0u);
  site.ring().take(rows, N, each, all.slice(), fetch.first, out);
}

template <class Word>
auto Typed<Word>::gather(const Shape& shape, std::span<const Held> sources,
                         std::span<const Origin> origins) const -> Held {
  const auto N = plan_->N();
  const std::size_t rows = shape.rows();
  const auto out = draft(shape);
  for (const Held& source : sources)
    if (source->shape.count == 1) replicate(*source, out->pieces);

  struct Share {
    std::vector<Fetch> fetches;
    std::vector<std::uint32_t> order;  ///< of what was fetched; empty: as it came
  };
  std::vector<Share> shares(out->pieces.size());
  Pieces senders;
  std::vector<Fetch*> sent;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto& [lane, range] = out->pieces[i];
    std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> known;  // piece of a source
    std::vector<std::pair<std::uint32_t, std::uint32_t>> where;            // fetch, place in it
    Share& share = shares[i];
    for (const Origin& origin : origins.subspan(range.begin, range.count)) {
      const Residues& source = *sources[origin.source];
      std::size_t piece = 0;
      while (origin.item >= source.pieces[piece].range.begin + source.pieces[piece].range.count)
        ++piece;
      const auto [found, is_new] = known.try_emplace(
          {origin.source, piece}, static_cast<std::uint32_t>(share.fetches.size()));
      if (is_new) {
        if (source.shape.count == 1)
          share.fetches.push_back({lane, view(source, site(i, out->pieces[i]), lane).all, {}});
        else if (const Place at = place(source, piece); true)
          share.fetches.push_back({at.lane, at.residues, {}});
      }
      auto& indices = share.fetches[found->second].indices;
      where.emplace_back(found->second, static_cast<std::uint32_t>(indices.size()));
      indices.push_back(static_cast<std::uint32_t>(origin.item - source.pieces[piece].range.begin));
    }
    std::size_t first = 0;
    for (Fetch& each : share.fetches) {
      each.first = std::exchange(first, first + each.indices.size());
      if (each.lane == lane) continue;
      senders.push_back({each.lane, {}});
      sent.push_back(&each);
    }
    bool in_order = true;
    for (std::size_t k = 0; k < where.size(); ++k) {
      const std::size_t at = share.fetches[where[k].first].first + where[k].second;
      in_order = in_order && at == k;
      share.order.push_back(static_cast<std::uint32_t>(at));
    }
    if (in_order) share.order.clear();
  }

  try {
    fleet().each(senders, false, [&](std::size_t s) {
      const backend::Queue& queue = fleet().lane(senders[s].lane)->queue();
      Fetch& each = *sent[s];
      const std::size_t size = rows * each.indices.size() * N;
      Buffer some = queue.template allocate<Word>(size);
      queue.template ring<Word>().take(rows, N, each.indices, each.residues, 0, some.slice());
      each.moved = host_memory_->take_array<Word>(size, "ciphertexts between devices");
      queue.template download<Word>(std::as_const(some).slice(), {each.moved.get(), size});
    });
    fleet().each(out->pieces, false, [&](std::size_t i) {
      const Site here = site(i, out->pieces[i]);
      const Slice to = allocate(*out, here);
      const Share& share = shares[i];
      if (share.order.empty()) {
        for (const Fetch& each : share.fetches) fetch(here, rows, each, to);
        return;
      }
      Buffer staged = here.polynomials(rows);
      for (const Fetch& each : share.fetches) fetch(here, rows, each, staged.slice());
      here.ring().take(rows, N, share.order, staged.slice(), 0, to);
    });
  } catch (const DeviceError& error) {
    std::vector<const Residues*> all;
    for (const Held& source : sources) all.push_back(source.get());
    rethrow(error, all);
  }
  return out;
}

template <class Word>
Array Typed<Word>::take(const Array& a, std::span<const std::uint32_t> indices) const {
  this->check("take", a);
  if (indices.empty()) throw ShapeError("take: no index; arrays are not empty");
  std::vector<Origin> origins(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= a.count())
      throw ShapeError("take: index " + std::to_string(indices[i]) + " at place " +
                       std::to_string(i) + " is out of range for a batch of " +
                       std::to_string(a.count()));
    origins[i] = {0, indices[i]};
  }
  Shape shape = a.shape();
  shape.count = indices.size();
  const Held source = held(a);
  return wrap(gather(shape, std::span(&source, 1), origins));
}

template <class Word>
Array Typed<Word>::join(std::span<const Array> arrays) const {
  if (arrays.empty()) throw ShapeError("join: no array");
  std::vector<Held> sources;
  std::vector<Origin> origins;
  for (const Array& a : arrays) {
    this->check("join", a);
    this->check_basis("join", a.basis(), arrays[0].basis());
    if (a.parts() != arrays[0].parts() || a.form() != arrays[0].form())
      throw ShapeError("join: arrays of " + std::to_string(arrays[0].parts()) + " and of " +
                       std::to_string(a.parts()) + " parts, or of both forms");
    for (std::uint32_t i = 0; i < a.count(); ++i)
      origins.push_back({static_cast<std::uint32_t>(sources.size()), i});
    sources.push_back(held(a));
  }
  Shape shape = arrays[0].shape();
  shape.count = origins.size();
  return wrap(gather(shape, sources, origins));
}

#define WHORL_INSTANTIATE(Word)                                                                  \
  template Typed<Word>::Typed(std::shared_ptr<const run::Fleet>, const Primes&);                 \
  template auto Typed<Word>::draft(const Shape&, Pieces) const->std::shared_ptr<Residues>;       \
  template auto Typed<Word>::aligned(const Array&, const Pieces&, std::size_t) const->Held;      \
  template auto Typed<Word>::view(const Residues&, const Site&, std::size_t) const->View;        \
  template void Typed<Word>::rethrow(const DeviceError&, std::span<const Residues* const>) const; \
  template Array Typed<Word>::upload(const WordArray&, const Shape&) const;                      \
  template Array Typed<Word>::lift(std::span<const std::int64_t>, const ring::Basis&) const;     \
  template WordArray Typed<Word>::download(const Array&) const;                                  \
  template Array Typed<Word>::take(const Array&, std::span<const std::uint32_t>) const;          \
  template Array Typed<Word>::join(std::span<const Array>) const;
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::lattice::rlwe
