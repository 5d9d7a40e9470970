#include "schemes/binfhe/origin.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <tuple>
#include <utility>

#include "lattice/lwe/noise.h"
#include "math/text.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/gates.h"

namespace whorl::binfhe {

namespace {

using Numbers = std::vector<std::uint64_t>;

/// Sums of more parts are counted as one part that may share errors with any other.
constexpr std::size_t most_parts = 64;
/// Words of a ciphertext that tell it from others; at q = 2^8 these are 64 bits.
constexpr std::size_t marked_words = 8;
constexpr std::uint64_t mark_base = 0xd1342543de82ef95U;  // odd: no word is lost

Marks shared(Numbers marks) { return std::make_shared<const Numbers>(std::move(marks)); }

/// The one that all have, or number i.
std::uint64_t at(const Numbers& marks, std::size_t i) { return marks[marks.size() == 1 ? 0 : i]; }

std::size_t count_of(const Origin& origin) { return origin.values->size(); }

/// Whether errors are the same, up to their sign.
bool same_errors(std::uint64_t a, std::uint64_t b) { return a != 0 && (a ^ b) <= 1; }

/// Marks the mask; the marks of a ciphertext and of its negation differ in bit 0 alone. A trivial
/// one has no mask: its message takes the place.
template <class Word>
std::uint64_t mark_of(std::span<const Word> row, std::uint64_t q) {
  const auto mask = row.first(std::min(marked_words, row.size() - 1));
  // 0 and q/2 are their own negations, and do not tell which of the two this is.
  const auto first = std::find_if(mask.begin(), mask.end(), [&](auto word) {
    return word != 0 && 2 * std::uint64_t{word} != q;
  });
  if (first == mask.end()) return mix(row.back()) | 3;
  const bool negate = *first > q / 2;
  std::uint64_t mark = 0;
  for (const std::uint64_t word : mask)
    mark = mark * mark_base + (negate && word != 0 ? q - word : word);
  return ((mix(mark) | 3) ^ 1) | (negate ? 1 : 0);
}

/// Whether marks do not tell if errors are the same.
bool unmarked(const ErrorPart& a, const ErrorPart& b) {
  const auto saved = [](const ErrorPart& x, const ErrorPart& y) {
    return (x.from & ErrorPart::loaded) != 0 && (y.from & ErrorPart::made) != 0;
  };
  return !a.marks || !b.marks || saved(a, b) || saved(b, a);
}

bool may_share(const ErrorPart& a, const ErrorPart& b) {
  if (unmarked(a, b)) return true;
  const Numbers &x = *a.marks, &y = *b.marks;
  const std::size_t count = x.size() == 1   ? y.size()
                            : y.size() == 1 ? x.size()
                                            : std::min(x.size(), y.size());
  for (std::size_t i = 0; i < count; ++i)
    if (same_errors(at(x, i), at(y, i))) return true;
  return false;
}

std::uint64_t next_batch() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Whether they are the same rows of what was made or joined.
bool same_rows(const ErrorPart& a, const ErrorPart& b) {
  if (a.batch == 0 || a.batch != b.batch) return false;
  return a.rows == b.rows || (a.rows && b.rows && *a.rows == *b.rows);
}

/// 1 or -1 where all errors of one are those of the other times this, as far as is known; else 0.
int ratio_of(const ErrorPart& a, const ErrorPart& b) {
  if (!a.marks || !b.marks || a.variance != b.variance) return 0;
  if (a.marks == b.marks || same_rows(a, b)) return 1;
  // Bootstraps that differ in the sign of their output have one mark, and about the same errors.
  if (((a.from | b.from) & (ErrorPart::made | ErrorPart::joined)) != 0) return 0;
  const Numbers &x = *a.marks, &y = *b.marks;
  if (x.size() != y.size() || x.empty()) return 0;
  const std::uint64_t sign = x[0] ^ y[0];
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same_errors(x[i], y[i]) || (x[i] ^ y[i]) != sign) return 0;
  return sign == 0 ? 1 : -1;
}

/// All parts of all terms; those of the same ciphertexts are one, whose weights add up.
std::vector<ErrorPart> gather(std::span<const Term> terms) {
  std::vector<ErrorPart> parts;
  for (const Term& term : terms)
    for (const ErrorPart& part : term.origin->parts) {
      int ratio = 0;
      const auto same = std::find_if(parts.begin(), parts.end(), [&](const ErrorPart& other) {
        return (ratio = ratio_of(part, other)) != 0;
      });
      if (same != parts.end()) {
        same->weight += ratio * term.weight * part.weight;
      } else {
        parts.push_back(part);
        parts.back().weight *= term.weight;
      }
    }
  std::erase_if(parts, [](const ErrorPart& part) { return part.weight == 0; });
  return parts;
}

double size_of(const ErrorPart& part) { return part.weight * part.weight * part.variance; }

constexpr MessageRange ends{-MessageRange::most, MessageRange::most};
bool ends_fit(MessageRange range) {
  return std::min(range.low, range.high) >= ends.low &&
         std::max(range.low, range.high) <= ends.high;
}
std::string text_of(MessageRange range) {
  return std::to_string(range.low) + " … " + std::to_string(range.high);
}

void set_largest(Ciphertexts& batch, Largest largest) {
  batch.largest = largest.any;
  batch.as_bits.reset();
  batch.range = largest.range;
  if (largest.as_bits != largest.any) batch.as_bits = largest.as_bits;
}

void set_promise(Ciphertexts& batch, const Promise& promise) {
  batch.off = promise.off;
  batch.failure_log2 = promise.failure_log2;
}

/// What holds of all of them.
Promise joined(const Promise& a, const Promise& b) {
  return {std::max(a.failure_log2, b.failure_log2), std::max(a.off, b.off)};
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  // The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t z = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

bool Origin::is_sum() const {
  const bool mux =
      parts.size() == 2 && (parts[0].from & parts[1].from & ErrorPart::half_of_mux) != 0;
  return (parts.size() > 1 && !mux) ||
         std::any_of(parts.begin(), parts.end(), [](const ErrorPart& part) {
           // What has less noise than a bootstrap, and was not encrypted, would pass for fresh.
           const bool small = part.from == ErrorPart::made && part.variance < 1;
           return !part.marks || std::abs(part.weight) != 1 || small;
         });
}

Largest largest_of(const Ciphertexts& batch) {
  const std::uint32_t top = batch.encoding.p - 1;
  const auto all = static_cast<std::uint32_t>(batch.encoding.sectors() - 1);
  if (batch.seed) return {top, 1};
  if (!batch.largest) return {all, 1};
  const Largest largest{*batch.largest, batch.as_bits.value_or(*batch.largest)};
  if (largest.any > all || largest.as_bits > largest.any)
    throw RangeError("largest, as_bits: " + std::to_string(largest.any) + ", " +
                     std::to_string(largest.as_bits) + " must not be above " + std::to_string(all) +
                     ", largest");
  if (!batch.range) return largest;
  const auto [low, high] = *batch.range;
  if (low > high || !ends_fit(*batch.range) || high - low > top ||
      largest_within("range", batch.encoding, *batch.range).any != largest.any)
    throw RangeError("range: " + text_of(*batch.range) + " has no or more than " +
                     std::to_string(batch.encoding.p) + " integers, or an end outside " +
                     text_of(ends) + ", or contradicts largest = " + std::to_string(largest.any));
  return {largest.any, largest.as_bits, batch.range};
}

void check_ends(const std::string& what, MessageRange range) {
  if (!ends_fit(range))
    throw EncodingError(what + ": " + text_of(range) + " has an end outside " + text_of(ends));
}

Largest largest_within(const std::string& what, Encoding encoding, MessageRange range) {
  check_ends(what, range);
  const auto [low, high] = range;
  const std::int64_t p = encoding.p;
  if (high - low >= p)
    throw EncodingError(what + ": " + text_of(range) + " are " + std::to_string(high - low + 1) +
                        " integers, and " + describe(encoding) + " holds " + std::to_string(p) +
                        ": take a larger p, or state smaller ranges by with_range");
  const auto any = static_cast<std::uint32_t>(
      low >= 0 && high < p ? high : std::int64_t(encoding.sectors()) - 1);
  return {any, any, range};
}

Largest largest_of_joined(std::span<const Largest> all, Encoding encoding) {
  Largest out{0, 0};
  MessageRange both{ends.high, ends.low};
  std::size_t ranged = 0;
  for (const Largest& each : all) {
    out.any = std::max(out.any, each.any);
    out.as_bits = std::max(out.as_bits, each.as_bits);
    const auto [low, high] = each.range.value_or(MessageRange{0, each.any});
    both = {std::min(both.low, low), std::max(both.high, high)};
    ranged += each.range ? 1U : 0U;
  }
  if (ranged == all.size()) largest_within("concatenate", encoding, both);
  if (ranged != 0 && both.high - both.low < encoding.p) out.range = both;
  return out;
}

void set_fresh(Ciphertexts& batch, double noise) {
  batch.noise = noise;
  set_largest(batch, largest_of(batch));
}

void set_trivial(Ciphertexts& batch, std::uint32_t largest) {
  batch.noise = 0;
  set_largest(batch, {largest, largest});
}

void set_origin(Ciphertexts& batch, std::shared_ptr<const Origin> origin) {
  batch.noise = origin->noise;
  batch.sum = origin->is_sum();
  set_largest(batch, origin->largest);
  set_promise(batch, origin->promise);
  batch.origin = std::move(origin);
}

void set_taken(Ciphertexts& taken, const Ciphertexts& of, std::span<const std::uint32_t> index) {
  if (of.origin && count_of(*of.origin) == of.count)
    taken.origin = std::make_shared<const Origin>(take(*of.origin, index));
}

void set_joined(Ciphertexts& joined, std::span<const Ciphertexts* const> batches, double fresh,
                double offset) {
  std::vector<Largest> known;
  bool has_origin = false;
  for (const Ciphertexts* batch : batches) {
    joined.noise = std::max(joined.noise, batch->noise);
    joined.sum = joined.sum || batch->sum;
    set_promise(joined, binfhe::joined({joined.failure_log2, joined.off},
                                       {batch->failure_log2, batch->off}));
    known.push_back(largest_of(*batch));
    has_origin = has_origin || batch->origin;
  }
  set_largest(joined, largest_of_joined(known, joined.encoding));
  if (!has_origin) return;
  std::vector<std::shared_ptr<const Origin>> held;
  std::vector<const Origin*> origins;
  for (const Ciphertexts* batch : batches) {
    held.push_back(origin_of(*batch, fresh, offset));
    origins.push_back(held.back().get());
  }
  joined.origin = std::make_shared<const Origin>(join(origins, joined.encoding));
  joined.noise = joined.origin->noise;
}

std::shared_ptr<const Origin> origin_of(const Ciphertexts& batch, double fresh, double offset) {
  // Whoever changed the batch may have kept what it came with.
  if (batch.origin && !batch.seed && batch.origin->noise == batch.noise &&
      count_of(*batch.origin) == batch.count)
    return batch.origin;
  Origin origin;
  origin.noise = batch.seed ? fresh : batch.noise;
  if (!(origin.noise >= 0 && std::isfinite(origin.noise)))
    throw RangeError("the noise " + math::text_of(origin.noise) +
                     " is not a finite number of at least 0");
  origin.largest = largest_of(batch);
  if (!batch.seed) origin.promise = {batch.failure_log2, batch.off};
  Numbers marks(batch.count);
  constexpr std::size_t ahead = 16;  // rows lie far apart
  with_words(batch, [&]<class Word>(const std::vector<Word>& words) {
    const std::size_t row = batch.row();
    for (std::size_t i = 0; i < batch.count; ++i) {
      if (i + ahead < batch.count) __builtin_prefetch(words.data() + (i + ahead) * row);
      marks[i] = mark_of<Word>({words.data() + i * row, row}, batch.modulus());
    }
  });
  origin.values = shared(std::move(marks));
  const bool encrypted = batch.seed || origin.noise < 1;  // what is bootstrapped has 1 at least
  // What is known of a sum's noise has it.
  if (!batch.sum || batch.seed) origin.offset = offset;
  if (origin.noise > 0)
    origin.parts.push_back({1, origin.noise, batch.sum && !batch.seed ? Marks{} : origin.values,
                            encrypted ? ErrorPart::fresh : ErrorPart::loaded});
  return std::make_shared<const Origin>(std::move(origin));
}

double variance_of(std::span<const Term> terms, double constant) {
  const std::vector<ErrorPart> parts = gather(terms);
  double by_parts = 0, at_worst = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    by_parts += size_of(parts[i]);
    for (std::size_t j = 0; j < i; ++j) {
      const bool fresh = parts[i].from == ErrorPart::fresh || parts[j].from == ErrorPart::fresh;
      const double shared = may_share(parts[i], parts[j]) ? 1 : fresh ? 0 : constant;
      if (shared != 0) by_parts += 2 * shared * std::sqrt(size_of(parts[i]) * size_of(parts[j]));
    }
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const double noise = terms[i].weight * terms[i].weight * terms[i].origin->noise;
    at_worst += noise;
    for (std::size_t j = 0; j < i; ++j)
      at_worst += 2 * std::sqrt(noise * terms[j].weight * terms[j].weight * terms[j].origin->noise);
  }
  return std::min(by_parts, at_worst);
}

std::optional<SharedError> shared_error(std::span<const Origin* const> inputs) {
  struct Part {
    std::size_t input;
    const ErrorPart* part;
  };
  std::vector<Part> parts;
  std::vector<std::array<std::uint64_t, 3>> marks;  // the mark, input, row
  for (std::size_t k = 0; k < inputs.size(); ++k)
    for (const ErrorPart& part : inputs[k]->parts) {
      const std::size_t count = count_of(*inputs[k]);
      if (count == 0) continue;
      if (!part.marks && count > 1) return SharedError{{{{k, 0}, {k, 1}}}};
      for (const Part& other : parts)
        if (other.input != k && unmarked(*other.part, part))
          return SharedError{{{{other.input, 0}, {k, 0}}}};
      parts.push_back({k, &part});
      for (std::size_t i = 0; part.marks && i < count; ++i)
        if (const std::uint64_t mark = at(*part.marks, i); mark != 0)
          marks.push_back({mark | 1, k, i});
    }
  std::ranges::sort(marks);
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const auto &a = marks[i - 1], &b = marks[i];
    if (a[0] == b[0] && a != b) return SharedError{{{{a[1], a[2]}, {b[1], b[2]}}}};
  }
  return {};
}

Marks mark_sum(std::span<const Term> terms, std::int32_t constant) {
  std::size_t count = 1;
  for (const Term& term : terms)
    if (count_of(*term.origin) != 1) count = count_of(*term.origin);
  Numbers sums(count, mix(0) * static_cast<std::uint64_t>(constant));
  for (const Term& term : terms) {
    const auto weight = static_cast<std::uint64_t>(static_cast<std::int64_t>(term.weight));
    for (std::size_t i = 0; i < count; ++i) sums[i] += weight * at(*term.origin->values, i);
  }
  return shared(std::move(sums));
}

double offset_of(std::span<const Term> terms, double own) {
  for (const Term& term : terms) own += std::abs(term.weight) * term.origin->offset;
  return own;
}

Promise promise_of(std::span<const Term> inputs, double failure_log2, double off) {
  Promise out{failure_log2};
  for (const Term& input : inputs) {
    out.failure_log2 = lattice::sum_log2(out.failure_log2, input.origin->promise.failure_log2);
    if (input.origin->promise.most_off() > 0) out.off = off;
  }
  out.failure_log2 = std::min(out.failure_log2, 0.0);
  return out;
}

Promise promise_of_sum(std::span<const Term> terms) {
  Promise out;
  for (const Term& term : terms) {
    const Promise& of = term.origin->promise;
    if (term.weight == 0) continue;
    out.failure_log2 = lattice::sum_log2(out.failure_log2, of.failure_log2);
    if (of.off) out.off = out.most_off() + std::abs(term.weight) * *of.off;
  }
  out.failure_log2 = std::min(out.failure_log2, 0.0);
  return out;
}

double with_offset(double variance, double offset) {
  const double deviation = std::sqrt(variance) + offset;
  return offset == 0 ? variance : deviation * deviation;
}

Origin origin_of_sum(std::span<const Term> terms, std::int32_t constant, double noise,
                     double offset, Largest largest) {
  Origin sum{noise,         largest, mark_sum(terms, constant),
             gather(terms), offset,  promise_of_sum(terms)};
  if (sum.parts.size() > most_parts) sum.parts = {{1, noise, {}, ErrorPart::made}};
  return sum;
}

Origin with_promise(Origin origin, Promise promise) {
  origin.promise = promise;
  return origin;
}

Origin origin_of_switched(const Origin& origin, double part, double noise) {
  Numbers marks(origin.values->size());
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = mix((*origin.values)[i], 1) | 1;
  Origin out = origin;
  out.noise = noise;
  out.offset *= std::sqrt(part);
  out.values = shared(std::move(marks));
  for (ErrorPart& each : out.parts) each.variance *= part;
  out.parts.push_back({1, 1 - part, out.values, ErrorPart::made, next_batch()});
  return out;
}

Origin origin_of_bootstrapped(Marks inputs, std::span<const std::uint64_t> tags,
                              std::span<const std::uint32_t> index, double noise, Largest largest,
                              Promise promise, double offset) {
  Numbers marks(inputs->size());
  for (std::size_t i = 0; i < marks.size(); ++i)
    marks[i] = mix((*inputs)[i], tags[index.empty() ? 0 : index[i]]) | 1;
  const Marks made = shared(std::move(marks));
  return {noise, largest, made, {{1, noise, made, ErrorPart::made, next_batch()}}, offset, promise};
}

Origin origin_of_digit(Marks inputs, std::uint64_t tag, double noise, Largest largest,
                       Promise promise) {
  Origin digit = origin_of_bootstrapped(std::move(inputs), {&tag, 1}, {}, noise, largest, promise);
  digit.parts[0].marks = {};
  return digit;
}

Origin origin_of_mux(Marks values, const Origin& first, const Origin& second, Promise promise) {
  Origin mux{
      first.noise + second.noise,   {1, 1}, std::move(values), {first.parts[0], second.parts[0]},
      first.offset + second.offset, promise};
  for (ErrorPart& part : mux.parts) part.from |= ErrorPart::half_of_mux;
  return mux;
}

Origin with_range(const Origin& origin, Encoding encoding, MessageRange range) {
  if (range.low > range.high)
    throw ParameterError("with_range: low = " + std::to_string(range.low) +
                         " is above high = " + std::to_string(range.high));
  check_ends("with_range", range);
  const Largest& known = origin.largest;
  const std::int64_t p = encoding.p;
  // The messages are what the stated range and the known one have in common, if both read each
  // message as the same integer. They do not if an integer of one is congruent to another one of
  // the other:
  // - Without padding congruent modulo p. Ranges that meet hold two such integers if both together
  //   have more than p. A stated range of more than p integers reads no message, but bounds them.
  // - With padding congruent modulo 2p. Ranges of at most p integers that meet hold no such two.
  // Where no range is known, messages with padding are 0 … known.any, unless the padding bit may be
  // set. Without padding their residues are: a range within 0 … p-1 leaves these as they are, and
  // any other one says which integers they stand for.
  if (known.range || (encoding.padding ? known.any < p : range.low >= 0 && range.high < p)) {
    const MessageRange is = known.range.value_or(MessageRange{0, known.any});
    const MessageRange both{std::max(range.low, is.low), std::min(range.high, is.high)};
    const bool alike = encoding.padding
                           ? known.range || range.low >= 0
                           : range.high - range.low >= p ||
                                 std::max(range.high, is.high) - std::min(range.low, is.low) < p;
    if (both.low > both.high || !alike)
      throw EncodingError("with_range: " + text_of(range) +
                          " contradicts what is known of the messages: they are " + text_of(is) +
                          " of " + describe(encoding) +
                          ": state a range within that one; or drop it by a sum with modular=True");
    range = both;
  }
  Origin with = origin;
  with.largest = largest_within("with_range", encoding, range);
  return with;
}

Origin divided(const Origin& origin, Encoding encoding, std::uint32_t by) {
  Origin out = origin;
  out.largest = {origin.largest.any / by, origin.largest.as_bits / by};
  if (out.promise.off) *out.promise.off /= by;
  if (const auto& range = origin.largest.range) {
    const std::int64_t of = by;  // multiples of it lie from ceil(low/by) to floor(high/by)
    const auto down = [of](std::int64_t x) { return (x - ((x % of + of) % of)) / of; };
    out.largest = largest_within("divided", encoding, {-down(-range->low), down(range->high)});
  }
  return out;
}

Origin take(const Origin& origin, std::span<const std::uint32_t> index) {
  const auto chosen = [&](const Marks& marks) {
    if (!marks || (marks->size() == 1 && count_of(origin) != 1)) return marks;
    Numbers out;
    out.reserve(index.size());
    for (const std::uint32_t i : index) out.push_back(at(*marks, i));
    return shared(std::move(out));
  };
  Origin taken = origin;
  taken.values = chosen(origin.values);
  for (ErrorPart& part : taken.parts) {
    // The only one of a single ciphertext is all of a batch's.
    const bool of_all = part.marks && part.marks->size() == 1 && count_of(origin) != 1;
    if (part.batch != 0 && !of_all)
      part.rows = part.rows ? chosen(part.rows) : shared(Numbers(index.begin(), index.end()));
    part.marks = part.marks == origin.values ? taken.values : chosen(part.marks);
  }
  return taken;
}

Origin join(std::span<const Origin* const> origins, Encoding encoding) {
  if (origins.size() == 1) return *origins[0];
  Origin joined;
  std::vector<Largest> largest;
  Numbers values;
  std::size_t parts = 0;
  for (const Origin* origin : origins) {
    joined.noise = std::max(joined.noise, origin->noise);
    joined.offset = std::max(joined.offset, origin->offset);
    joined.promise = binfhe::joined(joined.promise, origin->promise);
    largest.push_back(origin->largest);
    values.insert(values.end(), origin->values->begin(), origin->values->end());
    parts = std::max(parts, origin->parts.size());
  }
  joined.largest = largest_of_joined(largest, encoding);
  // Part k of each, and nothing where there are fewer.
  for (std::size_t k = 0; k < parts; ++k) {
    ErrorPart part{0, 0, {}, ErrorPart::joined};
    Numbers marks;
    marks.reserve(values.size());
    bool known = true;
    for (const Origin* origin : origins) {
      const std::size_t until = marks.size() + count_of(*origin);
      if (k < origin->parts.size()) {
        const ErrorPart& of_this = origin->parts[k];
        if (size_of(of_this) > size_of(part))
          std::tie(part.weight, part.variance) = std::pair(of_this.weight, of_this.variance);
        part.from |= of_this.from;
        known = known && of_this.marks;
        for (std::size_t i = 0; of_this.marks && i < count_of(*origin); ++i)
          marks.push_back(at(*of_this.marks, i));
      }
      marks.resize(until, 0);
    }
    if (known) {
      part.marks = shared(std::move(marks));
      part.batch = next_batch();
    }
    joined.parts.push_back(std::move(part));
  }
  joined.values = shared(std::move(values));
  return joined;
}

}  // namespace whorl::binfhe
