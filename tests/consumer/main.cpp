// A project that knows Whorl only through find_package: encrypts two bits, evaluates NAND on them,
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

  const std::array<std::uint32_t, 4> a = {0, 0, 1, 1};
  const std::array<std::uint32_t, 4> b = {0, 1, 0, 1};
  const Ciphertexts encrypted_a = client.encrypt(a);
  const Ciphertexts encrypted_b = client.encrypt(b);
  const std::array<const Ciphertexts*, 2> inputs = {&encrypted_a, &encrypted_b};
  const auto c = client.decrypt(server.gate(Gate::nand, inputs));

  for (std::size_t i = 0; i < a.size(); ++i) {
    std::cout << a[i] << " NAND " << b[i] << " = " << c[i] << "\n";
    if (c[i] != 1 - a[i] * b[i]) return 1;
  }
  try {
    Parameters::named("no such set");
  } catch (const whorl::ParameterError& error) {
    std::cout << "whorl " << whorl::version() << ": " << error.what() << "\n";
    return 0;
  }
  return 1;
}
