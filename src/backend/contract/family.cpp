#include "backend/contract/family.h"

#include <functional>

namespace whorl::backend {

bool apart(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto end = [](const void* begin, std::size_t bytes) {
    return static_cast<const void*>(static_cast<const char*>(begin) + bytes);
  };
  return a_bytes == 0 || b_bytes == 0 || std::less_equal<>()(end(a, a_bytes), b) ||
         std::less_equal<>()(end(b, b_bytes), a);
}

void refuse_overlap(const char* what, std::size_t in, std::size_t out, std::ptrdiff_t offset) {
  throw ShapeError(std::string(what) + " of " + std::to_string(in) +
                   " elements and the output of " + std::to_string(out) +
                   " overlap: the output begins at element " + std::to_string(offset) +
                   " of the input");
}

void Queue::refuse_slice() const {
  throw RefusedError("a buffer of another queue was given to " + name());
}

void Queue::refuse_family(const char* what, std::size_t word_bytes) const {
  throw RefusedError(name() + " has no " + what +
                     (word_bytes == 0
                          ? std::string()
                          : " in words of " + std::to_string(8 * word_bytes) + " bits"));
}

void Family::check_owner(const char* what, const Prepared& prepared) const {
  if (prepared.owner() == &queue_.device()) return;
  throw RefusedError(std::string(what) + " prepared by " +
                     (prepared.owner() ? prepared.owner()->name() : std::string("nobody")) +
                     " were given to " + queue_.name());
}

void Family::check_size(const char* what, std::size_t got, std::size_t want) {
  if (got != want)
    throw ShapeError(std::string(what) + " has " + std::to_string(got) +
                     " elements; it must have " + std::to_string(want));
}

std::size_t Family::rows_of(const char* what, std::size_t size, std::size_t row) {
  if (row == 0 || size % row != 0)
    throw ShapeError(std::string(what) + ": " + std::to_string(size) +
                     " elements are not a whole number of rows of " + std::to_string(row));
  return size / row;
}

void Family::refuse_word(const char* what, std::uint64_t largest, std::size_t bits) {
  throw ParameterError(std::string(what) + ": residues up to " + std::to_string(largest) +
                       " do not fit words of " + std::to_string(bits) + " bits");
}

}  // namespace whorl::backend
