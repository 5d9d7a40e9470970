// What a client and a server take for each operation.
#include <iostream>

#include "bgv/bgv.h"
#include "common/bench.h"

namespace whorl::bench {

using namespace bgv;

struct BgvOperations::State {
  State(const BgvOptions& options, const Configuration& configuration)
      : options_(options),
        parameters_(choose(configuration)),
        client_(parameters_),
        server_(client_.evaluation_keys(request, options.threads), options.server()) {
    std::mt19937_64 random(configuration.depth);
    std::vector<std::int64_t> x, y;
    for (std::size_t i = 0; i < options.batch * parameters_.N(); ++i) {
      x.push_back(static_cast<std::int64_t>(random() % parameters_.t()));
      y.push_back(static_cast<std::int64_t>(random() % parameters_.t()));
    }
    row_.assign(y.begin(), y.begin() + parameters_.N());
    values_ = x;
    host_.push_back(client_.encrypt(x));
    host_.push_back(client_.encrypt(y));
    for (const Ciphertexts& c : host_) arrays_.push_back(server_.upload(c));
    check(x, y);

    const Array &a = arrays_[0], &b = arrays_[1];
    on_device_ = {{"mult_relin", [&] { server_.multiply(a, b); }},
                  {"square", [&] { server_.square(a); }},
                  {"rotate", [&] { server_.rotate(a, 1); }},
                  {"add", [&] { server_.add(a, b); }},
                  {"mult_plain", [&] { server_.multiply_plain(a, row_); }},
                  {"rescale", [&] { server_.mod_switch(a, a.info().limbs - 1); }}};
    on_host_ = {
        {"keygen", [&] { client_.evaluation_keys(request, options_.threads); }},
        {"encrypt", [&] { client_.encrypt(values_); }},
        {"end_to_end", [&] {
           server_.download(server_.multiply(server_.upload(host_[0]), server_.upload(host_[1])));
         }}};
  }

  /// Times calls and then finish(), for some tenths of a second.
  Times time(const std::function<void()>& call, std::size_t calls,
             const std::function<void()>& finish) const {
    const Effort effort{
        .fewest = 5, .most = 200, .seconds = options_.quick ? 0.1 : 0.5, .enough = 10, .slow = 5};
    return measure(effort, {call, finish, calls, options_.clock()});
  }

  void run(const BgvRecords& records) const {
    for (const auto& [op, call] : on_host_) {
      if (!options_.wants(op)) continue;
      const bool end_to_end = op == "end_to_end";
      records.add(parameters_,
                  {.op = op,
                   .batch = op == "keygen" ? 1 : options_.batch,
                   .transfers = end_to_end,
                   .host = !end_to_end},
                  time(call, 1, [] {}));
    }
    const auto wait = [&] { server_.synchronise(); };
    for (const auto& [op, call] : on_device_) {
      if (!options_.wants(op)) continue;
      const Record record{.op = op, .batch = options_.batch};
      const Times waited = time(call, 1, wait);
      records.add(parameters_, record, waited);
      if (options_.device != "cpu")
        records.add(parameters_, record, time(call, calls_within(0.02, waited.least()), wait),
                    false);
    }
    if (options_.wants("copy")) copy(records);
  }

  /// CPU time of a call, `runs` of them being averaged.
  double seconds(const std::string& op, unsigned runs) const {
    const auto& calls = on_device_.contains(op) ? on_device_ : on_host_;
    const auto wait = [&] { server_.synchronise(); };
    return time_once({calls.at(op), wait, std::max(1u, runs), Clock::cpu});
  }

  /// The bytes that end_to_end moves, between memory that is there, is warm and needs no check.
  void copy(const BgvRecords& records) const {
    const auto queue = open_queue(options_.device, options_.threads);
    const WordArray &x = host_[0].data, &y = host_[1].data;
    std::vector<std::uint32_t> product(
        server_.download(server_.multiply(arrays_[0], arrays_[1])).data.bytes() / 4);
    auto a = queue->allocate<std::uint32_t>(x.bytes() / 4),
         b = queue->allocate<std::uint32_t>(y.bytes() / 4);
    const auto words = [](const WordArray& of) {
      return std::span{static_cast<const std::uint32_t*>(of.data()), of.bytes() / 4};
    };
    const auto call = [&] {
      queue->upload<std::uint32_t>(words(x), a.slice());
      queue->upload<std::uint32_t>(words(y), b.slice());
      queue->download<std::uint32_t>(a.slice().part(0, product.size()), product);
    };
    const std::size_t bytes = x.bytes() + y.bytes() + 4 * product.size();
    Record record{.op = "copy", .batch = options_.batch, .transfers = true};
    record.more = {{"bytes", std::uint64_t{bytes}}};
    records.add(parameters_, record, time(call, 1, [] {}));
  }
  /// What is timed must be right.
  void check(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) const {
    const std::size_t N = parameters_.N(), half = N / 2;
    const std::uint64_t t = parameters_.t();
    const auto product =
        client_.decrypt(server_.download(server_.multiply(arrays_[0], arrays_[1])));
    const auto turned = client_.decrypt(server_.download(server_.rotate(arrays_[0], 1)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t next = i / half * half + (i + 1) % half;
      if (product[i] != static_cast<std::uint64_t>(x[i]) * static_cast<std::uint64_t>(y[i]) % t ||
          turned[i] != static_cast<std::uint64_t>(x[next]))
        throw Error("slot " + std::to_string(i) + " came out wrong");
    }
  }

  inline static const KeyRequest request{3, {1}, false};
  const BgvOptions& options_;
  Parameters parameters_;
  Client client_;
  Server server_;
  std::vector<std::int64_t> row_, values_;
  std::vector<Ciphertexts> host_;
  std::vector<Array> arrays_;
  std::map<std::string, std::function<void()>> on_device_, on_host_;
};

BgvOperations::BgvOperations(const BgvOptions& options, const Configuration& configuration)
    : state_(std::make_unique<State>(options, configuration)) {}
BgvOperations::~BgvOperations() = default;

void BgvOperations::run(const BgvRecords& records) const { state_->run(records); }

void BgvOperations::work() const {
  std::printf("{\"params\": \"%s\", \"security_bits\": %s}\n",
              in_words(state_->parameters_).c_str(),
              number(state_->parameters_.security_bits()).c_str());
  std::fflush(stdout);
  std::string op;
  unsigned runs = 0;
  while (std::cin >> op >> runs) {
    std::printf("{\"seconds\": %s}\n", number(state_->seconds(op, runs)).c_str());
    std::fflush(stdout);
  }
}

}  // namespace whorl::bench
