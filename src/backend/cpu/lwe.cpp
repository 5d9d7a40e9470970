// LWE ciphertexts on the CPU.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/lwe_matrix.h"
#include "backend/cpu/lwe_sums.h"

namespace whorl::backend::cpu {

namespace {

class CpuLwe final : public LweOps {
 public:
  CpuLwe(const Queue& queue, const Host& host) : LweOps(queue), host_(host) {}

 protected:
  void run_modulus_switch(const Rounding& r, std::size_t count, ConstWords in,
                          Words out) const override {
    with_word_bytes(in.bytes, [&]<class In>(In) {
      with_word_bytes(out.bytes, [&]<class Out>(Out) {
        host_.each(count, 8 * r.row, [&](std::size_t i) {
          switch_modulus_row<In, Out>(r.from, r.to, r.centre,
                                      {static_cast<const In*>(in.data) + i * r.row, r.row},
                                      {static_cast<Out*>(out.data) + i * r.row, r.row});
        });
      });
    });
  }

  std::unique_ptr<SwitchKey> make_switch_key(const SwitchShape& shape,
                                             const SwitchRowSource& source) const override {
    return with_word_bytes<2>(source.word_bytes, [&]<class Word>(Word) {
      return cpu::prepare_switch_key<Word>(
          shape,
          [&source](std::size_t first, std::size_t count, Word* out, std::size_t stride) {
            source.rows(first, count, out, stride);
          },
          host_.workers);
    });
  }
  void run_key_switch(const SwitchKey& key, std::size_t count, ConstWords in,
                      Words out) const override {
    cpu::key_switch(key, in, out, count, host_.workers);
  }

  void run_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const ConstWords> in, std::uint64_t constant, std::size_t count,
                  Words out) const override {
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      std::vector<const Word*> rows;
      for (const ConstWords& each : in) rows.push_back(static_cast<const Word*>(each.data));
      const Sums<Word> sums(q, weights);
      host_.each(count, row * (in.size() + 1), [&](std::size_t i) {
        sums.row(rows, weights.size(), 0, i * row, row, constant,
                 static_cast<Word*>(out.data) + i * row);
      });
    });
  }
  void run_matrix(const Matrix& m, ConstWords in, Words out) const override {
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      const std::size_t K = m.inputs(), R = m.results(), size = m.size();
      const cpu::Matrix<Word> matrix(m.q, m.entries, R);
      const auto* const all_in = static_cast<const Word*>(in.data);
      auto* const all_out = static_cast<Word*>(out.data);
      if (matrix.serves()) {
        const std::size_t panels = matrix.panels(size);
        host_.each(m.groups * panels, size / panels * (K + R), [&](std::size_t i) {
          const std::size_t g = i / panels;
          matrix.multiply(all_in + g * K * size, size, i % panels, all_out + g * R * size);
        });
        return add_constants(m, all_out);
      }
      const Sums<Word> sums(m.q, m.entries);
      host_.each(m.groups * R * m.batch, m.row * (K + 1), [&](std::size_t i) {
        const std::size_t g = i / (R * m.batch), r = i / m.batch % R;
        std::vector<const Word*> rows;
        for (std::size_t k = 0; k < K; ++k) rows.push_back(all_in + (g * K + k) * size);
        sums.row(rows, K, r * K, i % m.batch * m.row, m.row, m.constants[r] % m.q,
                 all_out + i * m.row);
      });
    });
  }
  std::unique_ptr<LweSums> make_sums(LweSumsShape shape) const override {
    return std::make_unique<RowSums>(std::move(shape));
  }
  void run_sums(const LweSums& any, std::size_t first, std::size_t count,
                std::span<const ConstWords> in, Words out) const override {
    const auto& sums = static_cast<const RowSums&>(any);
    const LweSumsShape& shape = sums.shape();
    const std::size_t terms = shape.begin[first + count] - shape.begin[first];
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      host_.each(count, shape.row * (terms / count + 1), [&](std::size_t i) {
        sums.sum(first + i, in, static_cast<Word*>(out.data) + i * shape.row);
      });
    });
  }
  void run_to_polynomials(const LwePolynomials& rule, const Coefficients& of, ConstWords in,
                          Words out) const override {
    // A few coefficients at a time: rows are read and columns are written in one piece each.
    constexpr std::size_t piece = 16;
    const std::size_t all = 2 * of.batch * rule.length,
                      values = piece * of.columns * (rule.weights.size() + rule.primes.size());
    with_word_bytes(in.bytes, [&]<class In>(In) {
      with_word_bytes(out.bytes, [&]<class Out>(Out) {
        host_.each((all + piece - 1) / piece, values, [&](std::size_t p) {
          write_coefficients(rule, of.first, of.columns, of.vectors, of.batch, p * piece,
                             std::min(piece, all - p * piece), static_cast<const In*>(in.data),
                             static_cast<Out*>(out.data));
        });
      });
    });
  }
  void run_expansion(const LweExpansion& rule, std::size_t count, const std::uint32_t* numbers,
                     ConstWords bodies, Words out) const override {
    // Keystreams of consecutive numbers go through vectors together.
    constexpr std::size_t piece = 16;
    const std::size_t n = rule.row - 1;
    with_word_bytes(out.bytes, [&]<class Word>(Word) {
      host_.each((count + piece - 1) / piece, piece * rule.row, [&](std::size_t p) {
        const std::size_t begin = p * piece, some = std::min(piece, count - begin);
        Word* const rows = static_cast<Word*>(out.data) + begin * rule.row;
        if (numbers == nullptr)
          math::expand_uniform_rows<Word>(rule.seed, rule.first + begin, rule.q,
                                          {rows, some, n, rule.row});
        for (std::size_t i = 0; i < some; ++i) {
          Word* const row = rows + i * rule.row;
          if (numbers != nullptr)
            math::expand_uniform<Word>(rule.seed, numbers[begin + i], rule.q, {row, n});
          row[n] = static_cast<const Word*>(bodies.data)[begin + i];
        }
      });
    });
  }

 private:
  template <class Word>
  static void add_constants(const Matrix& m, Word* out) {
    for (std::size_t i = 0; i < m.groups * m.results() * m.batch; ++i) {
      Word& body = out[(i + 1) * m.row - 1];
      const std::uint64_t sum = body + m.constants[i / m.batch % m.results()] % m.q;
      body = static_cast<Word>(sum >= m.q ? sum - m.q : sum);
    }
  }
  /// Sums of rows times integers modulo q.
  template <class Word>
  class Sums {
   public:
    Sums(std::uint64_t q, std::span<const std::int64_t> weights) : q_(q) {
      using Wide = __int128;
      for (const std::int64_t w : weights)
        factors_.push_back(static_cast<std::uint64_t>(
            (static_cast<Wide>(w) % static_cast<Wide>(q) + static_cast<Wide>(q)) %
            static_cast<Wide>(q)));
    }
    /// out = sum_k factors[first + k]·in[k], from word `at` on, plus `constant` in the last.
    void row(const std::vector<const Word*>& in, std::size_t count, std::size_t first,
             std::size_t at, std::size_t words, std::uint64_t constant, Word* out) const {
      // Products of 32-bit words fit 64 bits, with a sum below q besides.
      using Wide = std::conditional_t<sizeof(Word) == 4, std::uint64_t, unsigned __int128>;
      for (std::size_t j = 0; j < words; ++j) {
        Wide sum = j + 1 == words ? constant : 0;
        for (std::size_t k = 0; k < count; ++k)
          sum = (sum + static_cast<Wide>(factors_[first + k]) * in[k][at + j]) % q_;
        out[j] = static_cast<Word>(sum);
      }
    }

   private:
    std::uint64_t q_;
    std::vector<std::uint64_t> factors_;
  };

  Host host_;
};

}  // namespace

std::shared_ptr<const LweOps> make_lwe(const Queue& queue, const Host& host) {
  return std::make_shared<CpuLwe>(queue, host);
}

}  // namespace whorl::backend::cpu
