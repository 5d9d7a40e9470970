#include "lattice/lwe/evaluator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "whorl/error.h"

namespace whorl::lattice::lwe {

namespace {

/// Returns what a and b, both of one batch, have in common.
run::Range common(run::Range a, run::Range b) {
  const std::size_t begin = std::max(a.begin, b.begin),
                    end = std::min(a.begin + a.count, b.begin + b.count);
  return {begin, end > begin ? end - begin : 0};
}

std::vector<const Rows*> pointers(const std::vector<Rows>& rows) {
  std::vector<const Rows*> out;
  out.reserve(rows.size());
  for (const Rows& one : rows) out.push_back(&one);
  return out;
}

std::vector<Rows> one(Rows rows) {
  std::vector<Rows> out;
  out.push_back(std::move(rows));
  return out;
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const run::Fleet> fleet, std::shared_ptr<const Keys> keys,
                     std::size_t row_bytes)
    : fleet_(std::move(fleet)), keys_(std::move(keys)), most_(~std::size_t{0}) {
  for (std::size_t l = 0; l < fleet_->size(); ++l) {
    const auto held = fleet_->lane(l)->hold();
    const backend::Queue& queue = fleet_->lane(l)->queue();
    // DeviceError now, if there are none; those of the keys say it when they are prepared.
    queue.lwe();
    queue.ring<std::uint32_t>();
    if (keys_ && ring_word_bytes(keys_->rotation().Q) == 8) queue.ring<std::uint64_t>();
    most_ = std::min(most_, std::max<std::size_t>(1, queue.batch_limit(row_bytes, 0)));
  }
}

DeviceKeys Evaluator::keys_on(std::size_t lane, bool with_keys) const {
  return with_keys && keys_ ? keys_->on(*fleet_->lane(lane)) : DeviceKeys{};
}

void Evaluator::check(std::span<const Array* const> in) const {
  for (std::size_t k = 0; k < in.size(); ++k)
    if (!fleet_->same_devices(in[k]->fleet()))
      throw DeviceError("input " + std::to_string(k) +
                        " lies on the devices of another server: download it there, and upload "
                        "it here, or give both servers one session");
}

void Evaluator::check_not_lost(std::span<const Array* const> in) const {
  std::string all;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const std::string lost = in[k]->lost();
    if (!lost.empty())
      all.append(all.empty() ? "" : "; ")
          .append("input " + std::to_string(k) + " is lost: " + lost);
  }
  if (all.empty()) return;
  for (const auto& [name, message] : fleet_->failed()) all += " (" + name + ": " + message + ")";
  throw DeviceError(all);
}

// ---- operands

Evaluator::Operands Evaluator::gather(const run::Piece& piece, std::vector<Want> wants) const {
  Operands out{std::move(wants), {}};
  out.moved.resize(out.wants.size());
  for (std::size_t w = 0; w < out.wants.size(); ++w) {
    const Array* const array = out.wants[w].array;
    const run::Range range = out.wants[w].range;
    if (array->count() == 1) {
      array->parts()[0].replicate(*fleet_, piece);
      continue;
    }
    const bool there = std::ranges::all_of(array->parts(), [&](const Array::Part& part) {
      return part.piece().lane == piece.lane || common(part.piece().range, range).count == 0;
    });
    if (there) continue;
    const std::size_t row_bytes = array->form().row_bytes();
    Words& words = out.moved[w];
    words.resize((range.count * row_bytes + 7) / 8);
    for (const Array::Part& part : array->parts()) {
      const run::Range from = part.piece().range, both = common(from, range);
      if (both.count == 0) continue;
      const Array::Part found = part.found(*fleet_);
      fleet_->each({&found.piece(), 1}, false, [&](std::size_t) {
        found.download(
            {both.begin - from.begin, both.count}, array->form(),
            reinterpret_cast<char*>(words.data()) + (both.begin - range.begin) * row_bytes);
      });
    }
  }
  return out;
}

std::vector<Rows> Evaluator::place(const run::Lane& lane, const Stages& stages,
                                   const Operands& operands) const {
  std::vector<Rows> out;
  for (std::size_t w = 0; w < operands.wants.size(); ++w) {
    const auto& [array, range] = operands.wants[w];
    if (!operands.moved[w].empty()) {
      out.push_back(stages.upload(array->form(), range.count, operands.moved[w].data()));
      continue;
    }
    std::vector<Rows> views;
    std::vector<run::Range> ranges;
    for (const Array::Part& part : array->parts()) {
      const run::Range from = part.piece().range, both = common(from, range);
      if (both.count == 0) continue;
      views.push_back(part.rows(array->form(), lane));
      ranges.push_back({both.begin - from.begin, both.count});
    }
    out.push_back(views.size() == 1 ? std::move(views[0]).part(ranges[0])
                                    : stages.join(pointers(views), ranges));
  }
  return out;
}

// ---- work on arrays

std::vector<Array> Evaluator::attempt(std::span<const run::Piece> pieces,
                                      std::optional<std::size_t> count, std::span<const Form> out,
                                      bool with_keys, const Wants& wants, const Work& work) const {
  std::vector<Operands> operands;
  for (const run::Piece& piece : pieces) operands.push_back(gather(piece, wants(piece.range)));
  std::vector<std::vector<std::optional<Array::Part>>> parts(pieces.size());
  fleet_->each(pieces, with_keys, [&](std::size_t k) {
    const run::Lane& lane = *fleet_->lane(pieces[k].lane);
    const auto spill_done = [&] {
      bool any = false;
      for (std::size_t d = 0; d < pieces.size(); ++d)  // those of this lane's thread
        if (pieces[d].lane == pieces[k].lane)
          for (const auto& part : parts[d]) any = (part && part->spill()) || any;
      return any;
    };
    run::with_room(lane, spill_done, [&] {
      parts[k].clear();
      const Stages stages(lane.queue(), keys_on(pieces[k].lane, with_keys));
      const std::vector<Rows> in = place(lane, stages, operands[k]);
      for (Rows& rows : work(stages, pointers(in), pieces[k].range)) {
        const run::Range range = count ? pieces[k].range : run::Range{0, rows.count()};
        parts[k].emplace_back(std::in_place, run::Piece{pieces[k].lane, range}, lane,
                              rows.alone() ? std::move(rows) : stages.copy(rows));
      }
    });
  });
  std::vector<Array> results;
  for (std::size_t r = 0; r < out.size(); ++r) {
    std::vector<Array::Part> all;
    for (auto& piece : parts) all.push_back(std::move(*piece.at(r)));
    const std::size_t of = count.value_or(all[0].piece().range.count);
    results.emplace_back(fleet_, out[r], of, std::move(all));
  }
  return results;
}

std::vector<Array> Evaluator::run(std::size_t count, std::span<const Array* const> in,
                                  std::span<const Form> out, bool with_keys, const Wants& wants,
                                  const Work& work) const {
  return fleet_->in_pieces(count, most_, [&](const std::vector<run::Piece>& pieces) {
    check_not_lost(in);
    return attempt(pieces, count, out, with_keys, wants, work);
  });
}

std::vector<Array> Evaluator::map(std::span<const Array* const> in, std::span<const Form> out,
                                  bool with_keys, const Work& work) const {
  check(in);
  if (in.empty()) throw ShapeError("there is no input");
  std::size_t count = 1;
  for (const Array* array : in)
    if (array->count() != 1) count = array->count();
  for (std::size_t k = 0; k < in.size(); ++k)
    if (in[k]->count() != count && in[k]->count() != 1)
      throw ShapeError("input " + std::to_string(k) + " has " + std::to_string(in[k]->count()) +
                       " ciphertexts, but another has " + std::to_string(count));
  const auto wants = [&](run::Range range) {
    std::vector<Want> all;
    for (const Array* array : in)
      all.push_back({array, array->count() == count ? range : run::Range{0, 1}});
    return all;
  };
  return run(count, in, out, with_keys, wants,
             [&](const Stages& stages, std::span<const Rows* const> operands, run::Range range) {
               std::vector<Rows> repeated;
               repeated.reserve(operands.size());
               std::vector<const Rows*> all(operands.begin(), operands.end());
               for (const Rows*& rows : all) {
                 if (rows->count() == range.count) continue;
                 repeated.push_back(stages.take(*rows, std::vector<std::uint32_t>(range.count, 0)));
                 rows = &repeated.back();
               }
               return backend::together(stages.queue(), [&] { return work(stages, all, range); });
             });
}

std::vector<Array> Evaluator::whole(std::span<const Array* const> in, std::span<const Form> out,
                                    const WholeWork& work) const {
  check(in);
  const auto wants = [&](run::Range) {
    std::vector<Want> all;
    for (const Array* array : in) all.push_back({array, {0, array->count()}});
    return all;
  };
  return fleet_->in_pieces(1, 1, [&](const std::vector<run::Piece>& pieces) {
    check_not_lost(in);
    const run::Lane& lane = *fleet_->lane(pieces[0].lane);
    return attempt(pieces, {}, out, true, wants,
                   [&](const Stages& stages, std::span<const Rows* const> operands, run::Range) {
                     return work(lane, stages, operands);
                   });
  });
}

Array Evaluator::placed(const Form& form, std::size_t count, const void* words,
                        const std::shared_ptr<const void>& owner,
                        const std::function<Rows(const Stages&, run::Range)>& make) const {
  const Form out[] = {form};
  Array made = run(
      count, {}, out, false, [](run::Range) { return std::vector<Want>(); },
      [&](const Stages& stages, std::span<const Rows* const>, run::Range range) {
        return one(make(stages, range));
      })[0];
  if (owner && fleet_->size() > 1)
    for (const Array::Part& part : made.parts())
      part.remember(owner,
                    static_cast<const char*>(words) + part.piece().range.begin * form.row_bytes());
  return made;
}

Array Evaluator::upload(const Form& form, std::size_t count, const void* words,
                        const std::shared_ptr<const void>& owner) const {
  return placed(form, count, words, owner, [&](const Stages& stages, run::Range range) {
    return stages.upload(form, range.count,
                         static_cast<const char*>(words) + range.begin * form.row_bytes());
  });
}

Array Evaluator::expand(const Form& form, std::size_t count, const void* words,
                        const math::Seed& seed, std::span<const std::uint32_t> numbers,
                        const std::shared_ptr<const void>& owner) const {
  return placed(form, count, words, owner, [&](const Stages& stages, run::Range range) {
    return with_words(form, [&]<class Word>(Word) {
      std::vector<Word> bodies(range.count);
      for (std::size_t i = 0; i < range.count; ++i)
        bodies[i] = static_cast<const Word*>(words)[(range.begin + i + 1) * form.row() - 1];
      return stages.expand(form, seed, range.begin,
                           numbers.empty() ? numbers : numbers.subspan(range.begin, range.count),
                           range.count, bodies.data());
    });
  });
}

void Evaluator::download(const Array& array, void* words) const {
  const Array* in[] = {&array};
  check(in);
  fleet_->again([&] {
    check_not_lost(in);
    std::vector<Array::Part> parts;
    std::vector<run::Piece> pieces;
    for (const Array::Part& part : array.parts()) {
      parts.push_back(part.found(*fleet_));
      pieces.push_back(parts.back().piece());
    }
    fleet_->each(pieces, true, [&](std::size_t k) {
      const std::size_t count = pieces[k].range.count;
      parts[k].download(
          {0, count}, array.form(),
          static_cast<char*>(words) + pieces[k].range.begin * array.form().row_bytes());
    });
  });
}

Array Evaluator::take(const Array& in, std::span<const std::uint32_t> index) const {
  const Array* inputs[] = {&in};
  check(inputs);
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] >= in.count())
      throw ShapeError("take: index " + std::to_string(index[i]) + " at place " +
                       std::to_string(i) + " is out of range for " + std::to_string(in.count()) +
                       " ciphertexts");
  const auto span_of = [&](run::Range range) {
    const auto some = index.subspan(range.begin, range.count);
    const auto [least, most] = std::minmax_element(some.begin(), some.end());
    return run::Range{*least, std::size_t{*most} - *least + 1};
  };
  return run(
      index.size(), inputs, std::span(&in.form(), 1), false,
      [&](run::Range range) {
        return std::vector<Want>{{&in, span_of(range)}};
      },
      [&](const Stages& stages, std::span<const Rows* const> operands, run::Range range) {
        std::vector<std::uint32_t> local(
            index.begin() + static_cast<std::ptrdiff_t>(range.begin),
            index.begin() + static_cast<std::ptrdiff_t>(range.begin + range.count));
        const std::size_t first = span_of(range).begin;
        for (std::uint32_t& i : local) i -= static_cast<std::uint32_t>(first);
        return one(stages.take(*operands[0], local));
      })[0];
}

Array Evaluator::join(std::span<const Array> in) const {
  if (in.empty()) throw ShapeError("join: at least one array is needed");
  std::vector<const Array*> inputs;
  std::size_t count = 0;
  for (const Array& array : in) {
    if (array.form() != in[0].form())
      throw ShapeError("join: all ciphertexts must have one form, but some are " +
                       array.form().describe() + " and others " + in[0].form().describe());
    inputs.push_back(&array);
    count += array.count();
  }
  check(inputs);
  const auto wants = [&](run::Range range) {
    std::vector<Want> out;
    std::size_t before = 0;
    for (const Array& array : in) {
      const run::Range both = common(range, {before, array.count()});
      if (both.count > 0) out.push_back({&array, {both.begin - before, both.count}});
      before += array.count();
    }
    return out;
  };
  return run(count, inputs, std::span(&in[0].form(), 1), false, wants,
             [&](const Stages& stages, std::span<const Rows* const> operands, run::Range) {
               std::vector<run::Range> ranges;
               for (const Rows* rows : operands) ranges.push_back({0, rows->count()});
               return one(stages.join(operands, ranges));
             })[0];
}

Array Evaluator::products(std::span<const std::int64_t> entries,
                          std::span<const std::uint64_t> constants, const Array& in) const {
  const Array* inputs[] = {&in};
  check(inputs);
  const std::size_t R = constants.size(), K = R == 0 ? 0 : entries.size() / R;
  if (K == 0 || entries.size() % R != 0 || in.count() % K != 0)
    throw ShapeError("products: a matrix of " + std::to_string(entries.size()) + " entries and " +
                     std::to_string(R) + " rows does not fit " + std::to_string(in.count()) +
                     " ciphertexts");
  return run(
      in.count() / K * R, inputs, std::span(&in.form(), 1), false,
      [&](run::Range range) {
        const std::size_t first = range.begin / R, last = (range.begin + range.count - 1) / R;
        return std::vector<Want>{{&in, {first * K, (last - first + 1) * K}}};
      },
      [&](const Stages& stages, std::span<const Rows* const> operands, run::Range range) {
        return one(stages.products(entries, constants, *operands[0], range));
      })[0];
}

// ---- rows where other work needs them

std::vector<Rows> Evaluator::placed(
    std::span<const run::Piece> pieces,
    const std::function<Rows(const Stages& stages, std::size_t piece)>& make) const {
  std::vector<std::optional<Rows>> made(pieces.size());
  fleet_->each(pieces, true, [&](std::size_t k) {
    const run::Lane& lane = *fleet_->lane(pieces[k].lane);
    run::with_room(
        lane, [] { return false; }, [&] { made[k].emplace(make(Stages(lane.queue()), k)); });
  });
  std::vector<Rows> out;
  for (auto& rows : made) out.push_back(std::move(*rows));
  return out;
}

std::vector<Rows> Evaluator::placed(const Array& in, std::span<const run::Piece> pieces) const {
  const Array* inputs[] = {&in};
  check(inputs);
  check_not_lost(inputs);
  std::vector<Operands> operands;
  for (const run::Piece& piece : pieces) operands.push_back(gather(piece, {{&in, piece.range}}));
  return placed(pieces, [&](const Stages& stages, std::size_t k) {
    return std::move(place(*fleet_->lane(pieces[k].lane), stages, operands[k])[0]);
  });
}

// ---- batches of the host

void Evaluator::stream(std::size_t count, std::size_t memory, std::span<const HostRows> in,
                       bool with_keys, const Work& work, const std::function<void*()>& room) const {
  run::Job job;
  job.memory = memory;
  job.work = [&](const backend::Queue& queue, std::size_t lane,
                 run::Range range) -> run::Job::Fetch {
    const Stages stages(queue, keys_on(lane, with_keys));
    std::vector<Rows> operands;
    operands.reserve(in.size());
    auto results = std::make_shared<std::vector<Rows>>();
    try {
      for (const HostRows& rows : in)
        operands.push_back(stages.upload(
            rows.form, range.count,
            static_cast<const char*>(rows.words) + range.begin * rows.form.row_bytes()));
      *results = backend::together(queue, [&] { return work(stages, pointers(operands), range); });
    } catch (...) {
      run::wait_quietly(queue);  // `stages` holds keys, with which the queue may still work
      throw;
    }
    return [stages, results, range, &room] {
      const Rows& rows = results->front();
      stages.download(rows, static_cast<char*>(room()) + range.begin * rows.form().row_bytes());
      results->clear();
    };
  };
  fleet_->stream(job, count);
}

}  // namespace whorl::lattice::lwe
