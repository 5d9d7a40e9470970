// What a frame is written to.
#pragma once

#include <cstdint>
#include <vector>

#include "io/bytes.h"

namespace whorl::io {

class Sink {
 public:
  virtual ~Sink() = default;
  /// Is called once, before the first byte, with the number of bytes that will come.
  virtual void expect(std::uint64_t /*total*/) {}
  virtual void write(ByteSpan bytes) = 0;
};

class MemorySink : public Sink {
 public:
  explicit MemorySink(std::vector<std::uint8_t>& out) : out_(out) {}
  void expect(std::uint64_t total) override { reserve(out_, total, "frame"); }
  void write(ByteSpan bytes) override { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

 private:
  std::vector<std::uint8_t>& out_;
};

}  // namespace whorl::io
