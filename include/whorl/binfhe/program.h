// Sequences of operations on arrays that come again, which a server runs by one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::binfhe {

/// A sequence of operations, which Server::run does: a ProgramRecorder makes it, and whorl/io.h
/// saves and loads it. Copies share it, and nothing changes it. It keeps its tables on the devices
/// that ran it, and these open.
class Program {
 public:
  const Parameters& parameters() const;
  /// Encoding of all arrays.
  Encoding encoding() const;
  /// Ciphertexts of each input.
  const std::vector<std::size_t>& inputs() const;
  /// Ciphertexts of each result.
  const std::vector<std::size_t>& results() const;
  /// Blind rotations of a run.
  std::size_t rotations() const;
  /// How many calls of tables need one another's results; others are rotated together.
  std::size_t layers() const;

 private:
  friend class Server;
  friend class ProgramRecorder;
  friend struct ProgramAccess;
  struct State;
  explicit Program(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// Writes operations down. They are Server's operations on arrays under the ring key, all of one
/// encoding, and mean the same. An array has a number: inputs are numbered from 0 on, and each
/// operation returns that of what it makes. ShapeError names a number, or an index, that is not
/// there.
class ProgramRecorder {
 public:
  using Number = std::uint32_t;
  static constexpr std::size_t most_inputs = 31;

  /// `inputs`: the ciphertexts of each, at most most_inputs. OversizedError, here and in all
  /// methods, before a program would take more than about `most_bytes` of memory.
  ProgramRecorder(const Parameters& parameters, Encoding encoding, std::vector<std::size_t> inputs,
                  std::size_t most_bytes = SIZE_MAX);
  ~ProgramRecorder();
  ProgramRecorder(ProgramRecorder&&) noexcept;
  ProgramRecorder& operator=(ProgramRecorder&&) noexcept;

  Number take(Number of, std::span<const std::uint32_t> index);
  Number concatenate(std::span<const Number> of);
  /// Counts are equal, or 1.
  Number linear(std::span<const std::int32_t> weights, std::span<const Number> of,
                std::int32_t constant = 0);
  /// Tables of one rotation each: EncodingError for those of two.
  Number apply(std::span<const Lut> luts, std::span<const std::uint32_t> index, Number of);
  Number trivial(std::span<const std::uint32_t> messages);
  Number take(Number of, std::initializer_list<std::uint32_t> index) {
    return take(of, std::span(index.begin(), index.size()));
  }
  Number concatenate(std::initializer_list<Number> of) {
    return concatenate(std::span(of.begin(), of.size()));
  }

  /// What makes these arrays. It may be called again, after further operations too.
  Program program(std::span<const Number> results) const;
  Program program(std::initializer_list<Number> results) const {
    return program(std::span(results.begin(), results.size()));
  }

 private:
  struct Recording;
  std::unique_ptr<Recording> recording_;
};

}  // namespace whorl::binfhe
