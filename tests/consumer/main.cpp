// A project that knows Whorl only through find_package: encrypts bits, evaluates gates on them,
// decrypts, and catches an exception of the library's.
#include <whorl/binfhe.h>
#include <whorl/error.h>
#include <whorl/version.h>

#include <array>
#include <cstdint>
#include <iostream>

int main() {
  using namespace whorl::binfhe;
  const Parameters parameters = Parameters::named("W128_P64");
  const Client client(parameters);
  const Server server(client.evaluation_keys());

  const Ciphertexts a = client.encrypt({0, 0, 1, 1}), b = client.encrypt({0, 1, 0, 1});
  const auto c = client.decrypt(server.nand(a, b));
  const Array x = server.upload(a), y = server.upload(b);
  const auto d = client.decrypt(server.download(((x ^ y) & ~x) | false));

  const std::array<std::uint32_t, 4> nand = {1, 1, 1, 0}, only_b = {0, 1, 0, 0};
  for (std::size_t i = 0; i < nand.size(); ++i) {
    std::cout << "NAND " << c[i] << ", b without a " << d[i] << "\n";
    if (c[i] != nand[i] || d[i] != only_b[i]) return 1;
  }
  try {
    Parameters::named("no such set");
  } catch (const whorl::ParameterError& error) {
    std::cout << "whorl " << whorl::version() << ": " << error.what() << "\n";
    return 0;
  }
  return 1;
}
