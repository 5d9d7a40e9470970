// What the core computes, from its memory images: the formulas of rtl/README.md, section 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/parallel.h"
#include "backend/rtl/kernels.h"
#include "backend/rtl/registers.h"
#include "backend/rtl/shape.h"

namespace whorl::backend::rtl {

/// The memories behind the ports, as far as the engine reads them.
struct Memories {
  std::span<const std::uint8_t> bk[8];
  std::span<const std::uint8_t> ksk;
  std::span<std::uint8_t> io;
};

class Engine {
 public:
  explicit Engine(const Shape& shape);

  /// Reads the bootstrapping key of the descriptor's image, once for many runs.
  void read_key(const Descriptor& descriptor, const Memories& memories, unsigned threads);
  /// A run; the descriptor has passed its checks. Writes the results behind `io`. `index` gets the
  /// numbers of the test vectors. An error of the inputs leaves results undefined, as in the core.
  Code run(const Descriptor& descriptor, const Memories& memories, const Workers& workers,
           std::vector<std::uint32_t>& index) const;

 private:
  /// What the loader makes of a record and its test vector.
  Code load(const Descriptor& d, const Memories& memories, std::size_t ciphertext,
            std::uint32_t* exponents, std::uint32_t& lut, std::int64_t* acc) const;
  void round(const Descriptor& d, std::span<const std::uint32_t> row, std::uint32_t* out) const;
  void extract(const Descriptor& d, const std::int64_t* acc, std::uint64_t* out) const;
  void key_switch(const Descriptor& d, const Memories& memories,
                  std::span<const std::uint32_t> samples, std::size_t first,
                  std::size_t count) const;
  void rotate(std::uint32_t n, std::size_t count, std::span<const std::uint32_t> exponents,
              std::int64_t* acc) const;

  Shape shape_;
  const Kernels& kernels_;
  KernelTables tables_;
  KernelShape kernel_;
  std::size_t step_words_;
  hwy::AlignedFreeUniquePtr<double[]> key_;
};

}  // namespace whorl::backend::rtl
