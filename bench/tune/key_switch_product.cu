// The matrix product: columns of a warp, stages, batches for small tiles.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "key_switch.cuh"

namespace whorl::tune {
namespace {

using backend::SwitchShape;
using backend::cuda::large_m_tiles;
using backend::cuda::small_m_tiles;
namespace tuning = backend::cuda::tuning;

constexpr unsigned most_planes = std::size(tuning::warp_columns) - 1;

/// Product keys of `planes` bytes, three digits. n + 1 is a multiple of every candidate's columns:
/// none of them works on padding.
SwitchShape planes_shape(unsigned planes) {
  const std::uint64_t Q_ks = std::uint64_t{1} << (8 * planes - 2);
  return {2048, 3839, Q_ks, ring::Gadget(Q_ks, 2, 3), false};
}
constexpr std::size_t planes_batch = 2048;

/// The numbers, measured; nothing if the GPU lacks shared memory.
template <unsigned planes, unsigned columns, unsigned stages>
std::optional<Measured> measure(Tuner& tuner, SwitchProblem& problem) {
  unsigned all_columns[most_planes + 1] = {};
  all_columns[planes] = columns;
  const std::size_t shared =
      backend::cuda::product_shared_bytes(planes, columns, stages, large_m_tiles);
  if (shared > tuner.gpu().shared_per_block) return {};
  const auto key = problem.key({all_columns, stages, tuning::largest_multiplied_table});
  using Word = backend::cuda::ProductWord<planes>;
  const SwitchProblem::Launch launch = [&](std::size_t count, const void* in, void* out) {
    backend::cuda::multiply<planes, columns, stages, large_m_tiles>(
        tuner.stream(), *key, count, static_cast<const Word*>(in), static_cast<Word*>(out));
  };
  Measured out;
  out.right = problem.right(planes_batch, launch);
  out.ms = problem.ms(planes_batch, launch);
  out.text = ms_text(out.ms) + "  " +
             facts_text({prepare_kernel(
                 backend::cuda::switch_product<planes, columns, stages, large_m_tiles>,
                 backend::cuda::product_threads, shared)});
  return out;
}

/// Accumulators, 2·planes·columns registers, from 64 to 160, beyond which kernels spill; columns in
/// steps of 8, from 48 on of 16.
constexpr bool columns_candidate(unsigned planes, unsigned columns) {
  const unsigned registers = 2 * planes * columns;
  return registers >= 64 && registers <= 160 && (columns < 48 || columns % 16 == 0);
}

template <unsigned planes>
unsigned best_columns(Tuner& tuner, std::string& remarks) {
  SwitchProblem problem(tuner, planes_shape(planes), planes_batch);
  std::vector<Measured> all;
  int left_out = 0;
  [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) {
    (
        [&] {
          constexpr unsigned columns = 8 * (i + 1);
          if constexpr (columns_candidate(planes, columns)) {
            auto measured = measure<planes, columns, tuning::product_stages>(tuner, problem);
            left_out += !measured;
            if (!measured) return;
            measured->line = std::to_string(columns);
            measured->used = columns == tuning::warp_columns[planes];
            all.push_back(*measured);
          }
        }(),
        ...);
  }
  (std::make_integer_sequence<unsigned, 10>());
  tuner.rank("key switch, warp_columns[" + std::to_string(planes) + "]: batch of " +
                 std::to_string(planes_batch) + ", registers/warps",
             all, left_out);
  const bool known = !all.empty() && all.front().right;
  remarks += (planes == 1 ? "" : ", ") + (known ? slower_text(all) : "not measured");
  return known ? static_cast<unsigned>(std::stoul(all.front().line)) : tuning::warp_columns[planes];
}

void tune_columns(Tuner& tuner) {
  std::string numbers = "0", remarks;
  [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) {
    ((numbers += ", " + std::to_string(best_columns<i + 1>(tuner, remarks))), ...);
  }
  (std::make_integer_sequence<unsigned, most_planes>());
  add_switch_winner(tuner, "unsigned warp_columns[] = {" + numbers + "}", remarks);
}

template <unsigned... stages>
std::vector<Measured> measure_stages(Tuner& tuner) {
  std::vector<Measured> sums;
  const auto with = [&]<unsigned planes>() {
    SwitchProblem problem(tuner, planes_shape(planes), planes_batch);
    std::vector<Measured> all;
    (
        [&] {
          auto measured = measure<planes, tuning::warp_columns[planes], stages>(tuner, problem);
          all.push_back(measured.value_or(Measured{}));
          if (measured) all.back().line = std::to_string(stages);
          all.back().used = stages == tuning::product_stages;
        }(),
        ...);
    add_measured(sums, all);
  };
  with.template operator()<2>();
  with.template operator()<4>();
  return sums;
}

void tune_stages(Tuner& tuner) {
  std::vector<Measured> all = measure_stages<3, 4, 6, 8>(tuner);
  const auto left_out = std::erase_if(all, [](const Measured& m) { return m.line.empty(); });
  tuner.rank("key switch, product_stages: two byte planes and four, registers/warps", all,
             static_cast<int>(left_out));
  add_switch_winner(tuner, "product_stages", all);
}

/// At the key of W128_P64.
void tune_small_batches(Tuner& tuner) {
  constexpr unsigned columns = tuning::warp_columns[2], stages = tuning::product_stages;
  const SwitchShape shape{1024, 644, 1u << 15, ring::Gadget(1u << 15, 4, 3), true};
  SwitchProblem problem(tuner, shape, 256);
  const auto key = problem.key({tuning::warp_columns, stages, 8});
  if (!key->product) return;  // the GPU lacks shared memory
  const auto launch = [&]<unsigned m_tiles>() -> SwitchProblem::Launch {
    return [&](std::size_t count, const void* in, void* out) {
      backend::cuda::multiply<2, columns, stages, m_tiles>(tuner.stream(), *key, count,
                                                           static_cast<const std::uint32_t*>(in),
                                                           static_cast<std::uint32_t*>(out));
    };
  };
  const auto small = launch.template operator()<small_m_tiles>();
  const auto large = launch.template operator()<large_m_tiles>();
  const auto all = measure_crossings(problem, {8, 16, 32, 64, 96, 128, 192, 256}, small, large);
  const std::size_t faster =
      print_crossings(tuner, "key switch, small_product_batch: batches by tiles of",
                      tuning::small_product_batch, "32 ciphertexts", "of 128", all);
  add_switch_winner(tuner,
                    "std::size_t small_product_batch = " +
                        std::to_string(faster == 0 ? 0 : all[faster - 1].value),
                    std::to_string(tuning::small_product_batch));
}

}  // namespace

void tune_switch_products(Tuner& tuner) {
  tune_columns(tuner);
  tune_stages(tuner);
  tune_small_batches(tuner);
}

}  // namespace whorl::tune
