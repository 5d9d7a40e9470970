#include "lattice/lwe/array.h"

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

std::vector<Rows> Rows::split(std::size_t parts) && {
  std::vector<Rows> out;
  const std::size_t each = count_ / parts;
  for (std::size_t p = 0; p < parts; ++p) {
    Rows& part = out.emplace_back(Rows());
    part.form_ = form_;
    part.first_ = first_ + p * each * form_.row();
    part.count_ = each;
    part.narrow_ = narrow_;
    part.wide_ = wide_;
  }
  return out;
}

Array::Part::Part(const run::Piece& piece, const run::Lane& lane, Rows rows) : piece_(piece) {
  if (rows.form().word_bytes == 4)
    narrow_ = {lane, std::move(rows).release<std::uint32_t>()};
  else
    wide_ = {lane, std::move(rows).release<std::uint64_t>()};
}

Rows Array::Part::rows(const Form& form) const {
  return narrow_ ? Rows::view(form, narrow_.on(narrow_.lane()))
                 : Rows::view(form, wide_.on(wide_.lane()));
}

void Array::Part::download(void* words) const {
  if (narrow_)
    narrow_.download({static_cast<std::uint32_t*>(words), narrow_.size()});
  else
    wide_.download({static_cast<std::uint64_t*>(words), wide_.size()});
}

Array::Array(std::shared_ptr<const run::Fleet> fleet, const Form& form, std::size_t count,
             std::vector<Part> parts)
    : data_(std::make_shared<const Data>(Data{std::move(fleet), form, count, std::move(parts)})) {}

std::string Array::lost() const {
  std::string out;
  for (const Part& part : parts()) {
    if (!fleet().has_failed(part.piece().lane)) continue;
    const auto [begin, many] = part.piece().range;
    if (!out.empty()) out += "; ";
    out += "ciphertexts " + std::to_string(begin) + " … " + std::to_string(begin + many - 1) +
           " of " + std::to_string(count()) + " lay on " + part.lane().name() +
           ", which has failed";
  }
  return out;
}

}  // namespace whorl::lattice::lwe
