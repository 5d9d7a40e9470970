/* What a simulated core offers as a shared library, which Whorl loads at run time.
 * rtl/sim/library.cpp implements it with Verilator. Functions that return int return 0, or another
 * number where an argument is wrong. One thread at a time may use a core. */
#ifndef WHORL_BACKEND_RTL_CORE_ABI_H_
#define WHORL_BACKEND_RTL_CORE_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHORL_RTL_ABI 3u
#define WHORL_RTL_SHAPE_WORDS 16u

#define WHORL_RTL_NO_MEMORY 2 /* of whorl_rtl_resize */

typedef struct whorl_rtl_core whorl_rtl_core;

/* WHORL_RTL_ABI of the header that the library was built with. */
uint32_t whorl_rtl_abi(void);
/* The shape that it was built for: the shape registers from 0x020 on, and KSK_ROWS. */
void whorl_rtl_shape(uint32_t words[WHORL_RTL_SHAPE_WORDS]);
/* A core after its reset; null for another shape than its own, or without memory. */
whorl_rtl_core* whorl_rtl_create(const uint32_t words[WHORL_RTL_SHAPE_WORDS]);
void whorl_rtl_destroy(whorl_rtl_core* core);

/* What failed in the simulation itself, such as an assertion, in words; null while nothing did.
 * After that no function changes the core any more. The text lives as long as the core. */
const char* whorl_rtl_error(const whorl_rtl_core* core);

/* Registers; each takes some cycles. The simulation keeps IRQ_ENABLE at 1 for itself: writes to it
 * do nothing. */
uint32_t whorl_rtl_read(whorl_rtl_core* core, uint32_t address);
int whorl_rtl_write(whorl_rtl_core* core, uint32_t address, uint32_t value);

/* Memories behind the ports: 0 … 7 of the bootstrapping key, 8 of the key-switching key, 9 of
 * ciphertexts. */
int whorl_rtl_resize(whorl_rtl_core* core, uint32_t port, uint64_t bytes);
int whorl_rtl_store(whorl_rtl_core* core, uint32_t port, uint64_t address, const void* bytes,
                    uint64_t count);
int whorl_rtl_load(whorl_rtl_core* core, uint32_t port, uint64_t address, void* bytes,
                   uint64_t count);
/* Sets the timing from the next start on: MemoryTiming of core.h. */
int whorl_rtl_timing(whorl_rtl_core* core, uint32_t latency, uint32_t bytes_a_cycle, uint32_t stall,
                     uint32_t stall_cycles, uint64_t seed);

/* Lets up to so many cycles pass, fewer if a run ends before, and returns how many they were. A
 * core that has not run yet takes all of them. */
uint64_t whorl_rtl_step(whorl_rtl_core* core, uint64_t cycles);

#ifdef __cplusplus
}
#endif

#endif /* WHORL_BACKEND_RTL_CORE_ABI_H_ */
