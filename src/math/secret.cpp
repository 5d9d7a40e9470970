#include "math/secret.h"

#include <sodium.h>

#include <string>

#include "whorl/error.h"

namespace whorl::math::detail {

void* allocate_secret(size_t count, size_t value_bytes) {
  if (sodium_init() < 0) throw RandomnessError("libsodium could not start");
  // sodium_allocarray goes on quietly when locking is not permitted, which is the fallback wanted.
  void* memory = sodium_allocarray(count, value_bytes);
  if (memory == nullptr) {
    throw OutOfMemoryError("the system gave no guarded memory for a secret of " +
                           std::to_string(count) + " values of " + std::to_string(value_bytes) +
                           " bytes: its address space or number of mappings is exhausted");
  }
  return memory;
}

void wipe(void* memory, size_t bytes) noexcept {
  if (bytes != 0) sodium_memzero(memory, bytes);
}

void free_secret(void* memory) noexcept { sodium_free(memory); }

bool secret_is_locked(void* memory, size_t bytes) noexcept {
  // Locking what is locked succeeds; what could not be locked before is refused again.
  return memory == nullptr || sodium_mlock(memory, bytes) == 0;
}

}  // namespace whorl::math::detail
