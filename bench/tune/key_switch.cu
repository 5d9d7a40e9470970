#include "key_switch.cuh"

namespace whorl::tune {

using backend::cuda::CudaSwitchKey;

SwitchProblem::SwitchProblem(Tuner& tuner, const backend::SwitchShape& shape, std::size_t most)
    : tuner_(tuner), shape_(shape), narrow_(shape.Q_ks <= std::uint64_t{1} << 32) {
  const auto random = [&]<class Word>(Word) {
    std::vector<Word> in(most * (shape.N + 1));
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<Word>(random_word(i) & (shape.Q_ks - 1));
    in_ = tuner.stream().allocate<std::uint64_t>(in.size());
    tuner.stream().copy_in(in.data(), in_.data(), bytes(in.size()));
  };
  narrow_ ? random(std::uint32_t{}) : random(std::uint64_t{});
  out_ = tuner.stream().allocate<std::uint64_t>(most * (shape.n + 1));
  reference_ = tuner.stream().allocate<std::uint64_t>(most * (shape.n + 1));
  for (const auto* each : {&out_, &reference_})
    tuner.stream().fill(each->data(), 0, each->size() * sizeof(std::uint64_t));
}

std::unique_ptr<CudaSwitchKey> SwitchProblem::key(
    const backend::cuda::SwitchLayout& numbers) const {
  const backend::cuda::SwitchRowWriter rows = [n = shape_.n, mask = shape_.Q_ks - 1](
                                                  std::size_t first, std::size_t count, void* to,
                                                  std::size_t stride) {
    auto* const out = static_cast<std::uint64_t*>(to);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c <= n; ++c)
        out[r * stride + c] = random_word(~((first + r) * (n + 1) + c)) & mask;
  };
  return backend::cuda::make_switch_key<std::uint64_t>(tuner_.stream(), shape_, rows,
                                                       {backend::available_cores(), {}}, numbers);
}

bool SwitchProblem::right(std::size_t count, const Launch& launch) {
  const std::size_t size = count * (shape_.n + 1);
  if (count > known_) {
    launch(count, in_.data(), reference_.data());
    known_ = count;
    return true;
  }
  tuner_.stream().fill(out_.data(), 0xff, bytes(size));
  launch(count, in_.data(), out_.data());
  return tuner_.equal(out_.data(), reference_.data(), (bytes(size) + 7) / 8);
}

float SwitchProblem::ms(std::size_t count, const Launch& launch) const {
  return tuner_.median_ms([&] { launch(count, in_.data(), out_.data()); });
}

Crossing measure_crossing(SwitchProblem& problem, std::size_t value, std::size_t count,
                          const SwitchProblem::Launch& below, const SwitchProblem::Launch& above) {
  Crossing out;
  out.value = value;
  out.right = problem.right(count, below);
  out.right = problem.right(count, above) && out.right;
  out.below_ms = problem.ms(count, below);
  out.above_ms = problem.ms(count, above);
  return out;
}

std::vector<Crossing> measure_crossings(SwitchProblem& problem,
                                        std::initializer_list<std::size_t> counts,
                                        const SwitchProblem::Launch& below,
                                        const SwitchProblem::Launch& above) {
  std::vector<Crossing> out;
  for (const std::size_t count : counts)
    out.push_back(measure_crossing(problem, count, count, below, above));
  return out;
}

std::size_t print_crossings(Tuner& tuner, const std::string& title, std::size_t used,
                            const std::string& below, const std::string& above,
                            const std::vector<Crossing>& all) {
  std::vector<Measured> lines;
  std::size_t faster = 0;
  bool crossed = false;
  for (const Crossing& one : all) {
    Measured line;
    line.line = std::to_string(one.value);
    line.right = one.right;
    line.used = one.value == used;
    line.ms = static_cast<float>(one.value);  // printed in this order
    line.text = below + " " + ms_text(one.below_ms) + ", " + above + " " + ms_text(one.above_ms);
    lines.push_back(std::move(line));
    crossed = crossed || one.above_ms < one.below_ms;
    faster += !crossed;
  }
  tuner.rank(title, lines);
  return faster;
}

void add_measured(std::vector<Measured>& sums, const std::vector<Measured>& all) {
  if (sums.empty()) {
    sums = all;
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    sums[i].ms += all[i].ms;
    sums[i].right = sums[i].right && all[i].right;
    if (all[i].line.empty()) sums[i].line.clear();
    sums[i].text += "  " + all[i].text;
  }
}

std::string slower_text(const std::vector<Measured>& ranked) {
  for (const Measured& one : ranked)
    if (one.used) return slower_text(one.ms, ranked.front().ms);
  return slower_text(0, 0);
}

void add_switch_winner(Tuner& tuner, const std::string& declaration, const std::string& remark) {
  tuner.add_winner("key_switch.h",
                   "// in use: " + remark + "\ninline constexpr " + declaration + ";\n");
}
void add_switch_winner(Tuner& tuner, const std::string& name, const std::vector<Measured>& ranked) {
  if (!ranked.empty() && ranked.front().right)
    add_switch_winner(tuner, "unsigned " + name + " = " + ranked.front().line, slower_text(ranked));
}

void tune_key_switch(Tuner& tuner) {
  tune_switch_products(tuner);
  tune_switch_tables(tuner);
}

}  // namespace whorl::tune
