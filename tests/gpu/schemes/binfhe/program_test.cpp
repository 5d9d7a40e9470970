// Programs on a GPU: by NTT the words of the CPU's, and those of the operations one by one.
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

constexpr Encoding octal{8, false};

/// Two layers of tables, whose inputs are sums of rows of several arrays.
Program two_layers(const Parameters& parameters, std::size_t count) {
  const std::vector<std::uint32_t> odd{0, 1, 2, 3, 0, 7, 6, 5}, other{3, 2, 1, 0, 5, 6, 7, 0};
  const std::vector<Lut> luts{Lut::create(parameters, odd, octal, octal),
                              Lut::create(parameters, other, octal, octal)};
  ProgramRecorder recorder(parameters, octal, {count, count});
  std::vector<std::uint32_t> index, back;
  for (std::size_t i = 0; i < count; ++i) {
    index.push_back(static_cast<std::uint32_t>(i % 2));
    back.push_back(static_cast<std::uint32_t>(count - 1 - i));
  }
  const std::int32_t weights[] = {1, 1}, both[] = {2, -1};
  const std::uint32_t inputs[] = {0, 1};
  const auto first = recorder.apply(luts, index, recorder.linear(weights, inputs, 1));
  const std::uint32_t turned[] = {recorder.take(first, back), first};
  const auto second = recorder.apply(luts, index, recorder.linear(both, turned));
  const std::uint32_t last[] = {second, turned[0]};
  return recorder.program({second, recorder.linear(weights, last, 3), first});
}

TEST(GpuBinfhe, ProgramsOnSetsOfEveryKind) {
  test::Random random;
  for (const Parameters& parameters : test::varied_sets()) {
    const test::Pair& pair = test::pair_of(parameters);
    const ServerOptions options{.transform = Transform::ntt, .allow_failure = 1};
    const Server cpu(pair.keys, {"cpu"}, options), gpu(pair.keys, {"cuda:0"}, options);
    for (const std::size_t count : {1, 7, 300}) {
      SCOPED_TRACE(parameters.name() + ", " + std::to_string(count));
      const Program program = two_layers(parameters, count);
      const auto encrypted = [&] {
        return pair.client.encrypt(random.numbers(count, 8), octal, 1, Under::ring);
      };
      for (int run = 0; run < 3; ++run) {  // graphs are made when kernels come again
        const Ciphertexts a = encrypted(), b = encrypted();
        std::vector<Ciphertexts> got[2];
        for (const Server* server : {&cpu, &gpu}) {
          const Array x = server->upload(a), y = server->upload(b);
          const Array* in[] = {&x, &y};
          for (const Array& made : server->run(program, in))
            got[server == &gpu].push_back(server->download(made));
        }
        ASSERT_EQ(got[1].size(), 3u);
        for (std::size_t r = 0; r < 3; ++r)
          ASSERT_TRUE(got[0][r].data == got[1][r].data && got[0][r].wide == got[1][r].wide)
              << "result " << r << " has other bits than the CPU's";
      }
    }
  }
}

}  // namespace
}  // namespace whorl::binfhe
