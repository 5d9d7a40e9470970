// Tables: multiplied, looked up with rows staged, or looked up directly.
#include <algorithm>
#include <utility>

#include "key_switch.cuh"

namespace whorl::tune {
namespace {

using backend::SwitchShape;
using backend::cuda::large_m_tiles;
using backend::cuda::SwitchLayout;
using Launch = SwitchProblem::Launch;
namespace tuning = backend::cuda::tuning;

/// Tables modulo 2^log_Q for n + 1 = 645 columns.
SwitchShape table_shape(unsigned log_Q, unsigned log_base, unsigned digits) {
  const std::uint64_t Q_ks = std::uint64_t{1} << log_Q;
  return {1024, 644, Q_ks, ring::Gadget(Q_ks, log_base, digits), true};
}
/// 64 values a digit in two bytes, as xiao/STD128 has them, and 16 in four, as xiao/STD128Q.
SwitchShape two_byte_table() { return table_shape(14, 7, 2); }
SwitchShape four_byte_table() { return table_shape(25, 5, 5); }
/// Keys that are looked up.
const SwitchLayout looked_up{tuning::warp_columns, tuning::product_stages, 0};

/// A look-up with what goes before it and after.
template <class Word, class LookUp>
Launch looking_up(Tuner& tuner, const backend::cuda::CudaSwitchKey& key, const LookUp& look_up) {
  return [&tuner, &key, look_up](std::size_t count, const void* from, void* to) {
    using Of = backend::cuda::LookupWord<Word>;
    const auto* const in = static_cast<const Of*>(from);
    auto* const out = static_cast<Of*>(to);
    backend::cuda::clear(tuner.stream(), key, count, out);
    look_up(count, in, out);
    backend::cuda::finish(tuner.stream(), key, count, in, out);
  };
}

template <class Word, unsigned warps>
Launch staged(Tuner& tuner, const backend::cuda::CudaSwitchKey& key) {
  return looking_up<Word>(tuner, key, [&tuner, &key](std::size_t count, auto* in, auto* out) {
    backend::cuda::look_up_staged<Word, warps>(tuner.stream(), key, count, in, out);
  });
}
template <class Word, unsigned threads>
Launch direct(Tuner& tuner, const backend::cuda::CudaSwitchKey& key,
              unsigned least_coefficients = tuning::direct_least_coefficients) {
  return looking_up<Word>(
      tuner, key, [&tuner, &key, least_coefficients](std::size_t count, auto* in, auto* out) {
        backend::cuda::look_up_directly<Word, backend::cuda::RowSums::wrapping, threads>(
            tuner.stream(), key, least_coefficients, count, in, out);
      });
}

Measured measure(SwitchProblem& problem, std::size_t count, const Launch& launch, unsigned number,
                 unsigned used) {
  Measured out;
  out.line = std::to_string(number);
  out.used = number == used;
  out.right = problem.right(count, launch);
  out.ms = problem.ms(count, launch);
  out.text = ms_text(out.ms);
  return out;
}

/// Two digits, two bytes, 2 to 64 values a digit.
void tune_multiplied_tables(Tuner& tuner) {
  constexpr std::size_t batch = 4096;
  std::vector<Crossing> all;
  for (unsigned log_base = 2; log_base <= 7; ++log_base) {
    const unsigned largest = 1u << (log_base - 1);
    SwitchProblem problem(tuner, table_shape(15, log_base, 2), batch);
    const auto table = problem.key(looked_up);
    const auto planes = problem.key({tuning::warp_columns, tuning::product_stages, largest});
    if (!planes->product) return;  // the GPU lacks shared memory
    const Launch multiplied = [&](std::size_t count, const void* in, void* out) {
      backend::cuda::multiply<2, tuning::warp_columns[2], tuning::product_stages, large_m_tiles>(
          tuner.stream(), *planes, count, static_cast<const std::uint32_t*>(in),
          static_cast<std::uint32_t*>(out));
    };
    const Launch look_up = staged<std::uint16_t, tuning::staged_warps>(tuner, *table);
    all.push_back(measure_crossing(problem, largest, batch, multiplied, look_up));
  }
  const std::size_t faster = print_crossings(
      tuner,
      "key switch, largest_multiplied_table: values a digit, batch of " + std::to_string(batch),
      tuning::largest_multiplied_table, "multiplied", "looked up", all);
  add_switch_winner(tuner,
                    "unsigned largest_multiplied_table = " +
                        std::to_string(faster == 0 ? 0 : all[faster - 1].value),
                    std::to_string(tuning::largest_multiplied_table));
}

void tune_staged_batch(Tuner& tuner) {
  SwitchProblem problem(tuner, two_byte_table(), 1024);
  const auto key = problem.key(looked_up);
  const Launch directly = direct<std::uint16_t, tuning::direct_threads>(tuner, *key);
  const Launch by_stages = staged<std::uint16_t, tuning::staged_warps>(tuner, *key);
  const auto all =
      measure_crossings(problem, {16, 32, 64, 96, 128, 192, 256, 512, 1024}, directly, by_stages);
  const std::size_t faster =
      print_crossings(tuner, "key switch, least_staged_batch: batches looked up",
                      tuning::least_staged_batch, "directly", "staged", all);
  add_switch_winner(tuner,
                    "std::size_t least_staged_batch = " +
                        std::to_string(all[std::min(faster, all.size() - 1)].value),
                    std::to_string(tuning::least_staged_batch));
}

/// Runs measure_word<Word>(problem, key) for tables of two bytes and of four; the sums of what it
/// returns, ranked.
template <class Measure>
std::vector<Measured> both_words(Tuner& tuner, const std::string& title, std::size_t batch,
                                 const Measure& measure_word) {
  std::vector<Measured> sums;
  const auto with = [&]<class Word>(const SwitchShape& shape) {
    SwitchProblem problem(tuner, shape, batch);
    const auto key = problem.key(looked_up);
    add_measured(sums, measure_word.template operator()<Word>(problem, *key));
  };
  with.template operator()<std::uint16_t>(two_byte_table());
  with.template operator()<std::uint32_t>(four_byte_table());
  tuner.rank("key switch, " + title + ": tables of two-byte words and of four-byte ones", sums);
  return sums;
}

void tune_staged_warps(Tuner& tuner) {
  constexpr std::size_t batch = 8192;
  const auto measure_warps = [&]<class Word, unsigned... warps>(
                                 SwitchProblem& problem, const auto& key,
                                 std::integer_sequence<unsigned, warps...>) {
    return std::vector<Measured>{
        measure(problem, batch, staged<Word, warps>(tuner, key), warps, tuning::staged_warps)...};
  };
  add_switch_winner(tuner, "staged_warps",
                    both_words(tuner, "staged_warps, batch of " + std::to_string(batch), batch,
                               [&]<class Word>(SwitchProblem& problem, const auto& key) {
                                 return measure_warps.template operator()<Word>(
                                     problem, key, std::integer_sequence<unsigned, 4, 8, 16>());
                               }));
}

/// A batch of one and one of 32.
void tune_direct_threads(Tuner& tuner) {
  const auto measure_threads = [&]<class Word, unsigned... threads>(
                                   SwitchProblem& problem, const auto& key,
                                   std::integer_sequence<unsigned, threads...>) {
    std::vector<Measured> sums;
    for (const std::size_t count : {32, 1})
      add_measured(sums, {measure(problem, count, direct<Word, threads>(tuner, key), threads,
                                  tuning::direct_threads)...});
    return sums;
  };
  add_switch_winner(tuner, "direct_threads",
                    both_words(tuner, "direct_threads, batches of 32 and 1", 32,
                               [&]<class Word>(SwitchProblem& problem, const auto& key) {
                                 return measure_threads.template operator()<Word>(
                                     problem, key,
                                     std::integer_sequence<unsigned, 32, 64, 128, 256>());
                               }));
}

/// A batch of one: others have enough blocks.
void tune_direct_coefficients(Tuner& tuner) {
  add_switch_winner(
      tuner, "direct_least_coefficients",
      both_words(tuner, "direct_least_coefficients, batch of 1", 1,
                 [&]<class Word>(SwitchProblem& problem, const auto& key) {
                   std::vector<Measured> all;
                   for (const unsigned least : {1, 2, 4, 8, 16, 32})
                     all.push_back(measure(problem, 1,
                                           direct<Word, tuning::direct_threads>(tuner, key, least),
                                           least, tuning::direct_least_coefficients));
                   return all;
                 }));
}

}  // namespace

void tune_switch_tables(Tuner& tuner) {
  tune_multiplied_tables(tuner);
  tune_staged_batch(tuner);
  tune_staged_warps(tuner);
  tune_direct_threads(tuner);
  tune_direct_coefficients(tuner);
}

}  // namespace whorl::tune
