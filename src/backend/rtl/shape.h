// What a core was built for: the parameters of rtl/README.md, section 2, and what follows from
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace whorl::backend::rtl {

/// The ring's modulus, and that of ciphertexts and of key switching.
inline constexpr std::uint64_t prime = (std::uint64_t{1} << 33) - (std::uint64_t{1} << 20) + 1;
inline constexpr std::uint64_t lwe_modulus = std::uint64_t{1} << 32;

/// A core's shape; members are in the order of the shape registers.
struct Shape {
  std::uint32_t log_N = 10, L = 2, log_Bg = 10, M = 2, pes = 1, log_b = 0, K = 3;
  std::uint32_t mem_bits = 512, bk_ports = 1, ksk_bits = 512, max_n = 500;
  std::uint32_t L_ks = 8, log_Bks = 2, ks_lanes = 512, bk_buffers = 4, ksk_rows = 2;

  static constexpr std::size_t fields = 16;
  std::array<std::uint32_t, fields> words() const;
  static Shape of(const std::array<std::uint32_t, fields>& words);
  /// The names of README, in the same order.
  static const std::array<const char*, fields>& names();

  /// ParameterError names the parameter, its value and its bound.
  void check() const;
  bool operator==(const Shape&) const = default;

  std::uint32_t N() const { return 1u << log_N; }
  /// Coefficients that a pipeline takes in a cycle.
  std::uint32_t lanes() const { return 2u << log_b; }
  /// Rows of a polynomial: the cycles of a slot.
  std::uint32_t rows() const { return N() / lanes(); }
  /// Keys of a step.
  std::uint32_t sets() const { return (1u << M) - 1; }
  /// Words of a row of a chunk; those at one port; the same, padded.
  std::uint64_t row_words() const { return std::uint64_t{sets()} * 4 * L * lanes(); }
  std::uint64_t port_words() const { return (row_words() + bk_ports - 1) / bk_ports; }
  std::uint64_t padded_words() const {
    const std::uint64_t beat = mem_bits / 32;
    return (port_words() + beat - 1) / beat * beat;
  }
  /// Beats of a chunk at one port.
  std::uint64_t chunk_beats() const { return rows() * padded_words() / mem_bits * 33; }
  std::uint64_t steps(std::uint32_t n) const { return (std::uint64_t{n} + M - 1) / M; }
  /// Ciphertexts of a batch.
  std::uint32_t capacity() const { return pes * K; }
  /// Rows of the key-switching key that its lanes take at once; lanes of a row.
  std::uint32_t ks_rows_at_once() const;
  std::uint32_t ks_row_lanes() const { return ks_lanes / ks_rows_at_once(); }
  /// Rows of the key-switching key; those on the chip, which are read once a run if they are all.
  std::uint64_t ksk_row_count() const { return std::uint64_t{N()} * L_ks; }
  std::uint64_t ksk_rows_held() const;
  std::uint32_t mem_bytes() const { return mem_bits / 8; }
  std::uint32_t ksk_bytes() const { return ksk_bits / 8; }

  /// Beats of the records of README, section 3.
  std::uint64_t io_beats(std::uint64_t words32) const {
    const std::uint64_t beat = mem_bits / 32;
    return (words32 + beat - 1) / beat;
  }
  std::uint64_t ksk_row_beats(std::uint32_t n) const {
    const std::uint64_t beat = ksk_bits / 32;
    return (std::uint64_t{n} + beat) / beat;
  }

  /// Cycles from the first accumulator row of a slot to its exponents, and to the write of its sum.
  std::uint32_t lat_bku() const;
  std::uint32_t lat_wb() const;
  /// Modular multipliers of all PEs, and the products that a slot needs of one PE.
  std::uint64_t multipliers() const;
};

}  // namespace whorl::backend::rtl
