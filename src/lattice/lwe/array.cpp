#include "lattice/lwe/array.h"

#include "whorl/error.h"

namespace whorl::lattice::lwe {

std::string Form::describe() const {
  return "modulo " + std::to_string(modulus) + ", n = " + std::to_string(dimension) +
         (under == Under::lwe ? ", under the LWE key" : ", under the ring key") + ", words of " +
         std::to_string(8 * word_bytes) + " bits";
}

Rows::Rows(const backend::Queue& queue, const Form& form, std::size_t count)
    : form_(form), count_(count) {
  with_words(form,
             [&]<class Word>(Word) { buffer<Word>() = queue.allocate<Word>(count * form.row()); });
}

Rows Rows::part(run::Range range) && {
  first_ += range.begin * form_.row();
  count_ = range.count;
  return std::move(*this);
}

std::vector<Rows> Rows::split(std::size_t parts) && {
  std::vector<Rows> out;
  const std::size_t each = count_ / parts;
  for (std::size_t p = 0; p < parts; ++p) {
    Rows part;
    part.form_ = form_;
    part.first_ = first_;
    part.narrow_ = narrow_;
    part.wide_ = wide_;
    out.push_back(std::move(part).part({p * each, each}));
  }
  return out;
}

Array::Part::Part(const run::Piece& piece, const run::Lane& lane, Rows rows) : piece_(piece) {
  if (rows.form().word_bytes == 4)
    narrow_ = {lane, std::move(rows).release<std::uint32_t>()};
  else
    wide_ = {lane, std::move(rows).release<std::uint64_t>()};
}

template <class Word>
run::Stored<Word> Array::Part::at_hand(const run::Fleet& fleet,
                                       const run::Stored<Word>& stored) const {
  if (auto there = run::at_hand(fleet, piece_.lane, stored)) return there;
  throw DeviceError("ciphertexts are lost: they lay on " + lane().name() + ", which has failed");
}

Rows Array::Part::rows(const Form& form, const run::Lane& lane) const {
  return with_stored([&](const auto& stored) {
    const auto there = stored.at(lane);
    if (!there) throw Error(lane.name() + ": an operand is not there: another device has failed");
    return Rows::view(form, there.on(lane));
  });
}

void Array::Part::download(run::Range rows, const Form& form, void* words) const {
  with_stored([&]<class Word>(const run::Stored<Word>& stored) {
    stored.download({static_cast<Word*>(words), rows.count * form.row()}, rows.begin * form.row());
  });
}

Array::Part Array::Part::found(const run::Fleet& fleet) const {
  Part out = *this;
  if (narrow_)
    out.narrow_ = at_hand(fleet, narrow_);
  else
    out.wide_ = at_hand(fleet, wide_);
  out.piece_.lane = run::number_of(fleet, out.lane());
  return out;
}

bool Array::Part::lost(const run::Fleet& fleet) const {
  return with_stored([&](const auto& stored) { return !run::at_hand(fleet, piece_.lane, stored); });
}

void Array::Part::replicate(const run::Fleet& fleet, const run::Piece& piece) const {
  with_stored([&](const auto& stored) {
    run::replicate(fleet, stored, {&piece, 1}, [&] { return at_hand(fleet, stored); });
  });
}

void Array::Part::remember(const std::shared_ptr<const void>& owner, const void* words) const {
  with_stored([&]<class Word>(const run::Stored<Word>& stored) {
    stored.remember({owner, static_cast<const Word*>(words), stored.size(), stored.size()});
  });
}

Array::Array(std::shared_ptr<const run::Fleet> fleet, const Form& form, std::size_t count,
             std::vector<Part> parts)
    : data_(std::make_shared<const Data>(Data{std::move(fleet), form, count, std::move(parts)})) {}

std::string Array::lost() const {
  std::string out;
  for (const Part& part : parts()) {
    if (!part.lost(fleet())) continue;
    const auto [begin, many] = part.piece().range;
    if (!out.empty()) out += "; ";
    out += "ciphertexts " + std::to_string(begin) + " … " + std::to_string(begin + many - 1) +
           " of " + std::to_string(count()) + " lay on " + part.lane().name() +
           ", which has failed";
  }
  return out;
}

}  // namespace whorl::lattice::lwe
