// Arrays of LWE ciphertexts that lie on devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/contract/lwe.h"
#include "run/stored.h"
#include "whorl/word_array.h"

namespace whorl::lattice::lwe {

/// The secret that ciphertexts are under.
enum class Under : std::uint8_t { lwe, ring };

/// The form of rows (a_1 … a_n, b).
struct Form {
  std::uint64_t modulus = 0;
  std::uint32_t dimension = 0;  ///< n
  Under under = Under::lwe;
  unsigned word_bytes = 4;  ///< 4 or 8; residues modulo `modulus` fit

  std::size_t row() const { return std::size_t{dimension} + 1; }
  std::size_t row_bytes() const { return row() * word_bytes; }
  /// "modulo 1024, n = 630, under the LWE key, words of 32 bits", for messages.
  std::string describe() const;
  bool operator==(const Form&) const = default;
};

/// Ciphertexts in memory of one queue. They can be moved, but not copied. Their owner may write
/// into them, unless they are a view of an array's memory.
class Rows {
 public:
  Rows(const backend::Queue& queue, const Form& form, std::size_t count);
  /// A view of all rows that are held. It must not be written into.
  template <class Word>
  static Rows view(const Form& form, backend::Buffer<Word> held) {
    Rows out;
    out.form_ = form;
    out.count_ = held.size() / form.row();
    out.buffer<Word>() = std::move(held);
    return out;
  }
  /// The memory, if these rows are all that is in it.
  template <class Word>
  backend::Buffer<Word> release() && {
    return std::move(buffer<Word>());
  }
  bool alone() const {
    return first_ == 0 && count_ * form_.row() == narrow_.size() + wide_.size();
  }
  Rows(Rows&&) noexcept = default;
  Rows& operator=(Rows&&) noexcept = default;

  const Form& form() const { return form_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * form_.row_bytes(); }

  /// The same residues, read modulo another number of words as wide.
  void read_modulo(std::uint64_t modulus) { form_.modulus = modulus; }

  /// All words; `Word` has to be that of the form.
  template <class Word>
  backend::Slice<Word> slice() {
    return buffer<Word>().slice().part(first_, count_ * form_.row());
  }
  template <class Word>
  backend::Slice<const Word> slice() const {
    return buffer<Word>().slice().part(first_, count_ * form_.row());
  }
  /// The words of some rows.
  template <class Word>
  backend::Slice<const Word> slice(run::Range range) const {
    return slice<Word>().part(range.begin * form_.row(), range.count * form_.row());
  }
  /// Some of the rows, which share the memory.
  Rows part(run::Range range) &&;
  /// Cuts the rows into `parts` of equal count, which share the memory.
  std::vector<Rows> split(std::size_t parts) &&;

 private:
  Rows() = default;
  template <class Word>
  auto& buffer() {
    if constexpr (sizeof(Word) == 4)
      return narrow_;
    else
      return wide_;
  }
  template <class Word>
  const auto& buffer() const {
    if constexpr (sizeof(Word) == 4)
      return narrow_;
    else
      return wide_;
  }

  Form form_;
  std::size_t first_ = 0, count_ = 0;      ///< words before, rows
  backend::Buffer<std::uint32_t> narrow_;  ///< one of the two
  backend::Buffer<std::uint64_t> wide_;
};

/// body(Word{}) for the words of a form.
template <class Body>
decltype(auto) with_words(const Form& form, const Body& body) {
  return backend::with_word_bytes(form.word_bytes, body);
}

/// `count` ciphertexts of one form, in pieces on the devices of a fleet. Immutable and cheap to
/// copy; any thread may drop one. A device that is short of memory may put pieces on the host for a
/// while.
class Array {
 public:
  class Part {
   public:
    /// Takes all of the memory of `rows`, which are alone in it.
    Part(const run::Piece& piece, const run::Lane& lane, Rows rows);
    const run::Piece& piece() const { return piece_; }
    const run::Lane& lane() const { return narrow_ ? narrow_.lane() : wide_.lane(); }
    /// The rows on a lane where it lies or has a replica, under whose hold this is called.
    Rows rows(const Form& form, const run::Lane& lane) const;
    /// Rows `rows` of the part.
    void download(run::Range rows, const Form& form, void* words) const;
    bool lost(const run::Fleet& fleet) const;
    /// The same where it can be had: see run::at_hand. DeviceError if it is lost.
    Part found(const run::Fleet& fleet) const;
    /// Puts a replica on the lane of `piece`.
    void replicate(const run::Fleet& fleet, const run::Piece& piece) const;
    /// `words` are the host's words from which the array was made.
    void remember(const std::shared_ptr<const void>& owner, const void* words) const;
    bool spill() const { return narrow_ ? narrow_.spill() : wide_.spill(); }

   private:
    /// body(what is stored).
    template <class Body>
    decltype(auto) with_stored(const Body& body) const {
      return narrow_ ? body(narrow_) : body(wide_);
    }
    template <class Word>
    run::Stored<Word> at_hand(const run::Fleet& fleet, const run::Stored<Word>& stored) const;

    run::Piece piece_;
    run::Stored<std::uint32_t> narrow_;  ///< one of the two
    run::Stored<std::uint64_t> wide_;
  };

  /// Parts in the order of their ranges, which cover 0 … count - 1.
  Array(std::shared_ptr<const run::Fleet> fleet, const Form& form, std::size_t count,
        std::vector<Part> parts);

  const Form& form() const { return data_->form; }
  std::size_t count() const { return data_->count; }
  std::size_t bytes() const { return count() * form().row_bytes(); }
  const std::vector<Part>& parts() const { return data_->parts; }
  const run::Fleet& fleet() const { return *data_->fleet; }
  /// "" if nothing of the array is lost. Otherwise a text such as "ciphertexts 0 … 99 of 200 lay on
  /// cuda:1, which has failed"; then neither the host nor another device has these ciphertexts.
  std::string lost() const;

 private:
  struct Data {
    std::shared_ptr<const run::Fleet> fleet;
    Form form;
    std::size_t count;
    std::vector<Part> parts;
  };
  std::shared_ptr<const Data> data_;
};

}  // namespace whorl::lattice::lwe
