// A project that knows Whorl only through find_package.
#include <whorl/error.h>
#include <whorl/version.h>

#include <iostream>

int main() {
  try {
    throw whorl::ParameterError("caught");
  } catch (const whorl::Error& error) {
    std::cout << "whorl " << WHORL_VERSION << ": " << error.what() << "\n";
    return 0;
  }
}
