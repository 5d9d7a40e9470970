// Where the pieces of arrays lie: from and to the host, between devices, gathered anew.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>

#include "lattice/rlwe/word_evaluator.h"

namespace whorl::lattice::rlwe {

namespace {

/// The least N of ring::FftPlan.
constexpr std::uint32_t least_transform = 256;

/// Rows of N words of device memory that a product of two ciphertexts takes at the top of the
/// chain, with its operands, its digits and its result.
template <class Word>
std::size_t rows_of_product(const ring::RnsPlan<Word>& plan) {
  return std::size_t{9} * plan.limbs() + (plan.digits() + 2) * plan.moduli().size();
}

}  // namespace

template <class Word>
WordEvaluator<Word>::WordEvaluator(std::shared_ptr<const run::Fleet> fleet,
                                   std::shared_ptr<const ring::RnsPlan<Word>> plan,
                                   std::size_t key_bytes, const std::optional<Owner>& owner)
    : Evaluator(std::move(fleet), *plan, owner), plan_(std::move(plan)) {
  const run::Fleet& all = this->fleet();
  this->product_rows_ = rows_of_product(*plan_);
  const std::size_t bytes = this->product_rows_ * plan_->N() * sizeof(Word);
  for (std::size_t l = 0; l < all.size(); ++l) {
    const run::Lane& lane = *all.lane(l);
    const auto held = lane.hold();
    lane.queue().ring<Word>();  // DeviceError now, if there are none
    tables_.push_back(lane.queue().rns<Word>().prepare(plan_));
    const std::size_t limit = lane.queue().batch_limit(bytes, key_bytes);
    most_ = l == 0 ? limit : std::min(most_, limit);
    const std::size_t turned = lane.queue().rns<Word>().fusions().turned_sums;
    turned_sums_ = l == 0 ? turned : std::min(turned_sums_, turned);
  }
}

template <class Word>
auto WordEvaluator<Word>::draft(const Shape& shape, Pieces pieces) const
    -> std::shared_ptr<Residues> {
  auto out = std::make_shared<Residues>(this->shared_from_this(), shape, std::move(pieces));
  out->buffers.resize(out->pieces.size());
  out->bytes = shape.words(plan_->N()) * sizeof(Word);
  return out;
}

// ---- from and to the host

template <class Word>
Array WordEvaluator<Word>::upload(const WordArray& words, const Shape& shape) const {
  plan_->check_basis("upload", shape.basis);
  if (shape.parts == 0 || shape.count == 0)
    throw ShapeError("upload: parts = " + std::to_string(shape.parts) +
                     " and count = " + std::to_string(shape.count) + " must both be at least 1");
  if (shape.log_repeats != 0 && (shape.parts != 1 || shape.form != Form::evaluation ||
                                 shape.log_repeats >= std::bit_width(plan_->N() / least_transform)))
    throw ShapeError("upload: log_repeats = " + std::to_string(shape.log_repeats) +
                     ": only plaintexts in evaluation form, of at least " +
                     std::to_string(least_transform) + " values, are stored by their period");
  const std::uint32_t N = plan_->N() >> shape.log_repeats;
  const std::size_t each = shape.rows() * N;
  if (words.word_bytes() != sizeof(Word) || words.size() / each != shape.count ||
      words.size() % each != 0)
    throw ShapeError("upload: there are " + std::to_string(words.size()) + " words of " +
                     std::to_string(words.word_bytes()) + " bytes; there must be " +
                     std::to_string(shape.count) + " times " + std::to_string(each) + " of " +
                     std::to_string(sizeof(Word)));
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
  return placed(shape, &words, [&](const Site& whole, std::size_t begin) {
    const Site here = in_ring(whole, N);
    Buffer to = here.polynomials(shape.rows());
    upload_rows(here, from, begin, to.slice());
    if (!here.ring().all_below(primes, std::as_const(to).slice())) refuse();
    return to;
  });
}

template <class Word>
template <class Body>
Array WordEvaluator<Word>::placed(const Shape& shape, const WordArray* words,
                                  const Body& body) const {
  return in_pieces(shape.count, [&](Pieces pieces) {
    const auto out = draft(shape, std::move(pieces));
    out->buffers = run::each_result<Word>(fleet(), out->pieces, true, [&](std::size_t i) {
      return body(site(i, out->pieces[i]), out->pieces[i].range.begin);
    });
    if (words) remember(*words, *out);
    return wrap(out);
  });
}

template <class Word>
void WordEvaluator<Word>::remember(const WordArray& words, Residues& made) const {
  if (fleet().size() == 1) return;
  made.source = words.owner();
  const std::size_t N = plan_->N() >> made.shape.log_repeats;
  for (std::size_t i = 0; i < made.pieces.size(); ++i) {
    const auto [begin, count] = made.pieces[i].range;
    made.buffers[i].remember(
        {words.owner(), words.as<Word>().data() + begin * N, count * N, made.shape.count * N});
  }
}

/// Uploads the polynomials from `begin` on of (rows, all, N) to a piece (rows, count, N).
template <class Word>
void WordEvaluator<Word>::upload_rows(const Site& site, std::span<const Word> from,
                                      std::size_t begin, Slice to) const {
  if (to.size == from.size()) return site.queue.template upload<Word>(from, to);
  const std::size_t row = site.count * site.N, rows = to.size / row, stride = from.size() / rows;
  for (std::size_t r = 0; r < rows; ++r)
    site.queue.template upload<Word>(from.subspan(r * stride + begin * site.N, row),
                                     to.part(r * row, row));
}

template <class Word>
Array WordEvaluator<Word>::lifted(std::span<const std::int64_t> polynomials,
                                  const ring::Basis& basis, unsigned log_repeats) const {
  plan_->check_basis("lift", basis);
  const std::size_t N = plan_->N(), size = polynomials.size();
  if (size == 0 || size % N != 0)
    throw ShapeError("lift: " + std::to_string(size) +
                     " integers are not a whole number of polynomials of N = " + std::to_string(N));
  // Where values repeat, polynomials are in a power of X: transforms are of few coefficients.
  const std::uint32_t n = dimension(log_repeats);
  const std::size_t step = N / n;
  std::vector<Word> residues;
  residues.reserve(basis.size() * size / step);
  for (const auto& q : moduli(basis, 1))
    for (std::size_t i = 0; i < size; i += step) residues.push_back(q.from_signed(polynomials[i]));
  const Shape shape{1, basis, size / N, Form::evaluation, log_repeats};
  return placed(shape, nullptr, [&](const Site& whole, std::size_t begin) {
    const Site here = in_ring(whole, n);
    Buffer to = here.polynomials(basis.size());
    upload_rows(here, std::span<const Word>(residues), begin, to.slice());
    here.rns().ntt(here.tables, basis, 1, to.slice());
    return by_period(here, std::move(to), n / (N >> log_repeats));
  });
}

template <class Word>
std::uint32_t WordEvaluator<Word>::dimension(unsigned log_repeats) const {
  return std::max(plan_->N() >> log_repeats, least_transform);
}

template <class Word>
auto WordEvaluator<Word>::in_ring(const Site& site, std::uint32_t n) const -> Site {
  if (n == site.N) return site;
  const std::scoped_lock lock(small_mutex_);
  auto& tables = small_tables_[{n, &site.lane}];
  if (!tables) {
    std::shared_ptr<const Plan>& plan = small_plans_[n];
    if (!plan) plan = std::make_shared<const Plan>(plan_->in_ring(n));
    tables = site.rns().prepare(plan);
  }
  return {site.piece, site.lane, site.queue, *tables, site.count, n};
}

template <class Word>
auto WordEvaluator<Word>::by_period(const Site& site, Buffer values, std::size_t repeats) const
    -> Buffer {
  if (repeats == 1) return values;
  Buffer some = site.queue.template allocate<Word>(values.size() / repeats);
  site.ring().take(some.size(), 1, std::array{0u}, std::as_const(values).slice(), 0, some.slice());
  return some;
}

template <class Word>
Array WordEvaluator<Word>::rounded(std::span<const double> polynomials, double scale,
                                   const ring::Basis& basis) const {
  plan_->check_basis("lift", basis);
  const std::size_t N = plan_->N(), size = polynomials.size();
  if (size == 0 || size % N != 0)
    throw ShapeError("lift: " + std::to_string(size) +
                     " numbers are not a whole number of polynomials of N = " + std::to_string(N));
  const Shape shape{1, basis, size / N, Form::evaluation};
  return placed(shape, nullptr, [&](const Site& here, std::size_t begin) {
    auto from = here.queue.template allocate<double>(here.count * N);
    here.queue.upload(polynomials.subspan(begin * N, here.count * N), from.slice());
    return rounded_on(here, basis, scale, N, 1, std::as_const(from).slice());
  });
}

template <class Word>
Array WordEvaluator<Word>::interpolated(std::span<const std::complex<double>> values,
                                        std::size_t period, double scale,
                                        const ring::Basis& basis) const {
  plan_->check_basis("interpolate", basis);
  const Shape shape{1, basis, values.size() / period, Form::evaluation};
  return placed(shape, nullptr, [&](const Site& here, std::size_t begin) {
    return interpolated_on(here, basis, scale, period,
                           values.subspan(begin * period, here.count * period));
  });
}

template <class Word>
std::vector<Array> WordEvaluator<Word>::interpolated_each(
    std::span<const std::complex<double>> values, std::size_t period, double scale,
    const ring::Basis& basis, unsigned log_repeats) const {
  plan_->check_basis("interpolate_by_period", basis);
  const std::size_t count = values.size() / period, rows = basis.size(),
                    n = plan_->N() >> log_repeats;
  // Rows of one polynomial after the other, and not all polynomials of a prime.
  std::vector<std::uint32_t> order;
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t r = 0; r < rows; ++r)
      order.push_back(static_cast<std::uint32_t>(r * count + k));
  return in_pieces(1, [&](Pieces pieces) {
    std::vector<std::shared_ptr<Residues>> outs;
    for (std::size_t k = 0; k < count; ++k)
      outs.push_back(draft({1, basis, 1, Form::evaluation, log_repeats}, pieces));
    work(outs, outs[0]->pieces, std::array<Held, 0>{}, [&](const Site& whole) {
      const Site here = in_ring(whole, dimension(log_repeats));
      const Buffer all =
          by_period(here, interpolated_on(here, basis, scale, period, values), here.N / n);
      const auto kept = std::make_shared<Buffer>(here.queue.template allocate<Word>(all.size()));
      here.ring().take(1, static_cast<std::uint32_t>(n), order, all.slice(), 0, kept->slice());
      for (std::size_t k = 0; k < count; ++k) {
        const Slice own = kept->slice().part(k * rows * n, rows * n);
        outs[k]->buffers[here.piece] =
            Stored(here.lane, Buffer(std::shared_ptr<void>(kept, own.data), own.size, own.queue));
      }
    });
    std::vector<Array> results;
    for (const auto& out : outs) results.push_back(this->wrap(out));
    return results;
  });
}

template <class Word>
auto WordEvaluator<Word>::interpolated_on(const Site& site, const ring::Basis& basis, double scale,
                                          std::size_t period,
                                          std::span<const std::complex<double>> values) const
    -> Buffer {
  using Complex = std::complex<double>;
  // Values with period M are those of a polynomial in X^(N/2M): a smaller transform makes it.
  const std::size_t M = std::max<std::size_t>(period, least_transform / 2),
                    step = site.N / (2 * period), count = values.size() / period;
  const ring::FftPlan& plan = fft_plan(static_cast<std::uint32_t>(2 * M));
  std::vector<Complex> repeated;
  if (M != period) {
    repeated.resize(count * M);
    for (std::size_t i = 0; i < repeated.size(); ++i)
      repeated[i] = values[i / M * period + i % period];
    values = repeated;
  }
  auto from = site.queue.template allocate<Complex>(count * M);
  site.queue.upload(values, from.slice());
  auto polynomials = site.queue.template allocate<double>(count * 2 * M);
  site.queue.fft().interpolate(plan, std::as_const(from).slice(), polynomials.slice());
  return rounded_on(site, basis, scale, 2 * M, step, std::as_const(polynomials).slice());
}

template <class Word>
auto WordEvaluator<Word>::rounded_on(const Site& site, const ring::Basis& basis, double scale,
                                     std::size_t n, std::size_t step,
                                     backend::Slice<const double> polynomials) const -> Buffer {
  Buffer to = site.queue.template allocate<Word>(basis.size() * (polynomials.size / n) * site.N);
  site.rns().round(site.tables, basis, scale, static_cast<std::uint32_t>(n),
                   static_cast<std::uint32_t>(step), polynomials, to.slice());
  site.rns().ntt(site.tables, basis, 1, to.slice());
  return to;
}

template <class Word>
const ring::FftPlan& WordEvaluator<Word>::fft_plan(std::uint32_t N) const {
  const std::scoped_lock lock(fft_mutex_);
  return fft_plans_.try_emplace(N, N).first->second;
}

template <class Word>
WordArray WordEvaluator<Word>::download(const Array& a) const {
  this->check("download", a);
  const Held from = held(a);
  const std::size_t N = plan_->N(), rows = a.shape().rows(), size = rows * a.count() * N;
  const auto words = host_memory_->take_array<Word>(size, "ciphertexts");
  const auto one = [&](std::size_t i, const Stored& piece) {
    if (piece.size() == size) return piece.download({words.get(), size});
    const run::Range range = from->pieces[i].range;
    const std::size_t row = range.count * N;
    std::vector<Word> here;
    std::optional<const Buffer> there;
    if (piece.kept())
      here = piece.words();
    else
      there.emplace(piece.on(piece.lane()));
    for (std::size_t r = 0; r < rows; ++r) {
      Word* const to = words.get() + (r * a.count() + range.begin) * N;
      if (there)
        piece.lane().queue().template download<Word>(there->slice().part(r * row, row), {to, row});
      else
        std::copy_n(here.data() + r * row, row, to);
    }
  };
  fleet().again([&] {
    std::vector<Stored> places;
    Pieces there = from->pieces;  // on the lanes of replicas, where there are any
    for (std::size_t i = 0; i < there.size(); ++i) {
      places.push_back(place(*from, i));
      there[i].lane = run::number_of(fleet(), places[i].lane());
    }
    fleet().each(there, true, [&](std::size_t i) { one(i, places[i]); });
  });
  return WordArray(words, words.get(), size, sizeof(Word));
}

// ---- operands where they are needed

template <class Word>
std::string WordEvaluator<Word>::lost(const Residues& source) const {
  std::string out;
  for (std::size_t i = 0; i < source.pieces.size(); ++i) {
    const auto& [lane, range] = source.pieces[i];
    if (run::at_hand(fleet(), lane, source.buffers[i])) continue;
    const std::size_t last = range.begin + range.count - 1;
    out += (out.empty() ? "" : ", ") + std::to_string(range.begin);
    if (last > range.begin) out += " … " + std::to_string(last);
    out += " on " + fleet().lane(lane)->name();
  }
  return out.empty() ? out
                     : "items " + out + " of an array of " + std::to_string(source.shape.count) +
                           ", (parts, primes) = (" + std::to_string(source.shape.parts) + ", " +
                           std::to_string(source.shape.basis.size()) + ")";
}

template <class Word>
bool WordEvaluator<Word>::is_lost(const Array& a) const {
  return !lost(*held(a)).empty();
}

template <class Word>
auto WordEvaluator<Word>::place(const Residues& source, std::size_t piece) const -> Stored {
  if (Stored there = run::at_hand(fleet(), source.pieces[piece].lane, source.buffers[piece]))
    return there;
  throw DeviceError("ciphertexts are lost with a device that failed: " + lost(source));
}

template <class Word>
void WordEvaluator<Word>::replicate(const Residues& single, const Pieces& pieces) const {
  run::replicate<Word>(fleet(), single.buffers[0], pieces, [&] { return place(single, 0); });
}

template <class Word>
auto WordEvaluator<Word>::aligned(const Array& a, const Pieces& pieces, std::size_t count) const
    -> Held {
  Held operand = held(a);
  if (a.count() == 1) {
    if (fleet().size() > 1) replicate(*operand, pieces);
    return operand;
  }
  if (operand->pieces == pieces) return operand;
  if (a.count() != count)
    throw ShapeError("a batch has " + std::to_string(a.count()) + " ciphertexts; it must have " +
                     std::to_string(count));
  std::vector<Item> same(count);
  for (std::uint32_t i = 0; i < count; ++i) same[i] = {0, i};
  return gather(a.shape(), std::span(&operand, 1), same, pieces);
}

template <class Word>
auto WordEvaluator<Word>::view(const Residues& operand, const Site& site) const -> View {
  const bool single = operand.shape.count == 1;
  const Stored values = operand.buffers[single ? 0 : site.piece].at(site.lane);
  if (!values)
    throw Error(site.lane.name() + ": an operand is not there: another device has failed");
  Buffer buffer = values.on(site.lane);
  const ConstSlice all = std::as_const(buffer).slice();
  return {operand.shape, single ? 1 : site.count, site.N >> operand.shape.log_repeats, all,
          std::move(buffer)};
}

// ---- gathered anew

/// Ciphertexts of one piece of a source that a piece of the result needs, in the order in which
/// they are first needed.
template <class Word>
struct WordEvaluator<Word>::Fetch {
  Stored from;
  std::vector<std::uint32_t> indices;
  std::size_t first = 0;         ///< where they go
  std::vector<Word> moved = {};  ///< (rows, indices, N), on their way between devices
};
/// What a piece of the result is made of.
template <class Word>
struct WordEvaluator<Word>::Share {
  std::vector<Fetch> fetches;
  std::vector<std::uint32_t> order;  ///< of what was fetched; empty: as it came
};

template <class Word>
auto WordEvaluator<Word>::share_of(const run::Piece& piece, std::span<const Held> sources,
                                   std::span<const Item> origins) const -> Share {
  Share share;
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> known;  // piece of a source
  std::vector<std::pair<std::uint32_t, std::uint32_t>> where;            // fetch, place in it
  for (const Item& origin : origins.subspan(piece.range.begin, piece.range.count)) {
    const Residues& source = *sources[origin.source];
    std::size_t at = 0;
    while (origin.item >= source.pieces[at].range.begin + source.pieces[at].range.count) ++at;
    const auto [found, is_new] =
        known.try_emplace({origin.source, at}, static_cast<std::uint32_t>(share.fetches.size()));
    if (is_new) {
      const Stored there = source.buffers[at].at(*fleet().lane(piece.lane));
      share.fetches.push_back({there ? there : place(source, at), {}});
    }
    auto& indices = share.fetches[found->second].indices;
    where.emplace_back(found->second, static_cast<std::uint32_t>(indices.size()));
    indices.push_back(static_cast<std::uint32_t>(origin.item - source.pieces[at].range.begin));
  }
  std::size_t first = 0;
  for (Fetch& each : share.fetches) each.first = std::exchange(first, first + each.indices.size());
  bool in_order = true;
  for (const auto& [number, at] : where) {
    const std::size_t place = share.fetches[number].first + at;
    in_order = in_order && place == share.order.size();
    share.order.push_back(static_cast<std::uint32_t>(place));
  }
  if (in_order) share.order.clear();
  return share;
}

/// What is wanted elsewhere, to the host.
template <class Word>
void WordEvaluator<Word>::send(std::size_t rows, Fetch& fetch) const {
  const std::size_t N = plan_->N(), wanted = fetch.indices.size();
  fetch.moved.resize(rows * wanted * N);
  if (fetch.from.kept()) {
    const std::vector<Word> words = fetch.from.words();
    const std::size_t row = words.size() / rows;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < wanted; ++i)
        std::copy_n(words.data() + r * row + fetch.indices[i] * N, N,
                    fetch.moved.data() + (r * wanted + i) * N);
    return;
  }
  const backend::Queue& queue = fetch.from.lane().queue();
  const Buffer all = fetch.from.on(fetch.from.lane());
  Buffer some = queue.template allocate<Word>(fetch.moved.size());
  queue.template ring<Word>().take(rows, plan_->N(), fetch.indices, all.slice(), 0, some.slice());
  queue.template download<Word>(std::as_const(some).slice(), fetch.moved);
}

template <class Word>
void WordEvaluator<Word>::fetch(const Site& site, std::size_t rows, const Fetch& fetch,
                                Slice out) const {
  if (fetch.moved.empty()) {
    const Buffer all = fetch.from.on(site.lane);
    site.ring().take(rows, plan_->N(), fetch.indices, all.slice(), fetch.first, out);
    return;
  }
  if (fetch.moved.size() == out.size)
    return site.queue.template upload<Word>(std::span<const Word>(fetch.moved), out);
  const Buffer all = run::place<Word>(site.lane, fetch.moved);
  std::vector<std::uint32_t> each(fetch.indices.size());
  std::iota(each.begin(), each.end(), 0u);
  site.ring().take(rows, plan_->N(), each, all.slice(), fetch.first, out);
}

template <class Word>
auto WordEvaluator<Word>::gather(const Shape& shape, std::span<const Held> sources,
                                 std::span<const Item> origins, Pieces pieces) const -> Held {
  const std::size_t rows = shape.rows();
  const auto out = draft(shape, std::move(pieces));
  for (const Held& source : sources)
    if (source->shape.count == 1) replicate(*source, out->pieces);
  std::vector<Share> shares;
  Pieces senders;
  std::vector<Fetch*> sent;
  for (const run::Piece& piece : out->pieces) shares.push_back(share_of(piece, sources, origins));
  for (std::size_t i = 0; i < shares.size(); ++i)
    for (Fetch& each : shares[i].fetches)
      for (std::size_t lane = 0; lane < fleet().size(); ++lane)
        if (lane != out->pieces[i].lane && fleet().lane(lane).get() == &each.from.lane()) {
          senders.push_back({lane, {}});
          sent.push_back(&each);
        }
  const auto no_result = [] { return false; };
  const auto one = [&](std::size_t i) {
    const Site here = site(i, out->pieces[i]);
    const Share& share = shares[i];
    Buffer to = here.polynomials(rows);
    Buffer staged;
    if (!share.order.empty()) staged = here.polynomials(rows);
    for (const Fetch& each : share.fetches)
      fetch(here, rows, each, share.order.empty() ? to.slice() : staged.slice());
    if (!share.order.empty())
      here.ring().take(rows, plan_->N(), share.order, staged.slice(), 0, to.slice());
    return to;
  };
  fleet().each(senders, false, [&](std::size_t s) {
    run::with_room(*fleet().lane(senders[s].lane), no_result, [&] { send(rows, *sent[s]); });
  });
  out->buffers = run::each_result<Word>(fleet(), out->pieces, false, one);
  return out;
}

template <class Word>
Array WordEvaluator<Word>::gathered(const Shape& shape, std::span<const Held> sources,
                                    std::span<const Item> origins) const {
  return in_pieces(shape.count, [&](Pieces pieces) {
    return wrap(gather(shape, sources, origins, std::move(pieces)));
  });
}

template <class Word>
Array WordEvaluator<Word>::take(const Array& a, std::span<const std::uint32_t> indices) const {
  this->check("take", a);
  if (indices.empty())
    throw ShapeError("take: at least one index is needed, since arrays are not empty");
  std::vector<Item> origins(indices.size());
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
  return gathered(shape, std::span(&source, 1), origins);
}

template <class Word>
auto WordEvaluator<Word>::alike(const char* operation, std::span<const Array> arrays) const
    -> std::pair<Shape, std::vector<Held>> {
  if (arrays.empty()) throw ShapeError(std::string(operation) + ": at least one array is needed");
  std::vector<Held> sources;
  Shape shape = arrays[0].shape();
  shape.count = 0;
  for (const Array& a : arrays) {
    this->check(operation, a);
    this->check_basis(operation, a.basis(), arrays[0].basis());
    if (a.parts() != arrays[0].parts() || a.form() != arrays[0].form())
      throw ShapeError(std::string(operation) +
                       ": all arrays must have the same parts and form, but they have " +
                       std::to_string(arrays[0].parts()) + " and " + std::to_string(a.parts()) +
                       " parts, or both forms");
    shape.count += a.count();
    sources.push_back(held(a));
  }
  return {shape, sources};
}

template <class Word>
Array WordEvaluator<Word>::join(std::span<const Array> arrays) const {
  const auto [shape, sources] = alike("join", arrays);
  std::vector<Item> origins;
  for (std::uint32_t source = 0; source < arrays.size(); ++source)
    for (std::uint32_t i = 0; i < arrays[source].count(); ++i) origins.push_back({source, i});
  return gathered(shape, sources, origins);
}

template <class Word>
Array WordEvaluator<Word>::interleave(std::span<const Array> arrays) const {
  const auto [shape, sources] = alike("interleave", arrays);
  for (const Array& a : arrays)
    if (a.count() != arrays[0].count())
      throw ShapeError("interleave: batches of " + std::to_string(arrays[0].count()) + " and " +
                       std::to_string(a.count()) + " have no common order");
  std::vector<Item> origins;
  for (std::uint32_t i = 0; i < arrays[0].count(); ++i)
    for (std::uint32_t source = 0; source < arrays.size(); ++source) origins.push_back({source, i});
  return gathered(shape, sources, origins);
}

}  // namespace whorl::lattice::rlwe
