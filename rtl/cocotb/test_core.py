"""The core behind its AXI ports, against reference.py: every mode, every error, resets and aborts.

run.py builds core_tb and runs these tests; those whose names begin with `quick` are in `make test`.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles
from formulas import P
from harness import (
    ABORT,
    ABORTED,
    BUSY,
    CONTROL,
    DONE,
    ERROR,
    FAILED,
    IRQ_ENABLE,
    MEMORY,
    START,
    STATUS,
    Core,
)

MODES = (0, 1, 2)
N_LWE, GROUP, COUNT, LUTS, OFFSET = 0x88, 0x84, 0x8C, 0x90, 0x94
CONSTANT, IN, LUT, OUT, KSK, BK0, BK1 = 0x98, 0xA0, 0xA8, 0xB0, 0xB8, 0xC0, 0xC8
IO_BYTES, KSK_BYTES, BK_BYTES = 0x100, 0x108, 0x110
WIDE = (CONSTANT, IN, LUT, OUT, KSK, BK0, BK1, IO_BYTES, KSK_BYTES, BK_BYTES)
FAR = 2**64 - 4096


@cocotb.test()
async def quick_registers(dut: Any) -> None:
    """What can be read, what cannot be written, and words written by bytes."""
    core = await Core.make(dut, percent=20)
    assert await core.read(0) == 0x57484F52
    assert await core.read(4) == 0x00010000
    for address in (0, 4, STATUS, ERROR, *range(0x20, 0x68, 4), *range(0x180, 0x1E0, 4)):
        before = await core.read(address)
        await core.write(address, ~before & 0xFFFFFFFF)
        assert await core.read(address) == before, f"{address:#x} could be written"
    for address in (0x18, 0x1C, 0x68, 0x7C, 0x118, 0x17C, 0x1E0, 0xFFC):
        await core.write(address, 0xFFFFFFFF)
        assert await core.read(address) == 0, f"{address:#x} is not empty"
    for address in range(0x80, 0x118, 4):
        for value in (0xFFFFFFFF, 0, random.getrandbits(32)):
            await core.write(address, value)
            assert await core.read(address) == value
        await core.registers.write(address + 1, b"\x5a")
        assert await core.read(address) == value & 0xFFFF00FF | 0x5A00


@cocotb.test()
@cocotb.parametrize(mode=MODES, percent=(0, 10, 70), n=(None, 4))
async def bits(dut: Any, mode: int, percent: int, n: int | None) -> None:
    """A ciphertext, a batch, and a batch and a part of one; the largest n, and a small one."""
    core = await Core.make(dut, percent, n)
    for count in (1, core.shape.capacity, core.shape.capacity + 1):
        await core.run(core.job(mode, count))


@cocotb.test()
@cocotb.parametrize(mode=MODES)
async def quick_bits(dut: Any, mode: int) -> None:
    """More than a batch, with stalls."""
    core = await Core.make(dut, percent=30)
    await core.run(core.job(mode, core.shape.capacity + 1))


BAD = (
    (1, 0, N_LWE, 0),
    (2, 0, N_LWE, "max_n_lwe + 1"),
    (2, 2, N_LWE, 2**32 - 1),
    (3, 0, GROUP, 0),
    (3, 1, GROUP, "m + 1"),
    (4, 0, COUNT, 0),
    (5, 0, 0x80, 3),
    (5, 0, 0x80, 4),
    (5, 0, 0x80, 2**31),
    (6, 0, LUTS, 0),
    (7, 1, OFFSET, "2 * N"),
    (7, 0, OFFSET, 2**31),
    (7, 0, CONSTANT, P),
    (7, 1, CONSTANT, 2**63),
    (8, 0, IN, 2048),
    (8, 0, LUT, 1),
    (8, 2, OUT, 16),
    (8, 2, KSK, 64),
    (8, 1, BK1, 4),
    (9, 0, IN, FAR),
    (9, 2, COUNT, 2**32 - 1),
    (9, 1, IO_BYTES, 0),
    (10, 0, LUT, FAR),
    (10, 1, LUTS, 2**32 - 1),
    (11, 0, OUT, FAR),
    (11, 1, IO_BYTES, "end - 1"),
    (12, 0, KSK, FAR),
    (12, 2, KSK_BYTES, 4096),
    (13, 0, BK0, FAR),
    (13, 1, BK1, FAR),
    (13, 0, BK_BYTES, 4096),
)


@cocotb.test()
async def quick_bad_descriptors(dut: Any) -> None:
    """Each ends in its code, and the next descriptor, if it is good, runs."""
    core = await Core.make(dut)
    for code, mode, address, value in BAD:
        job = core.job(mode, 1)
        await core.describe(job)
        if isinstance(value, str):
            end = core.base["io"] + core.out_at + len(core.wanted)
            numbers = {
                "max_n_lwe + 1": core.shape.max_n_lwe + 1,
                "m + 1": core.shape.m + 1,
                "2 * N": 2 * core.shape.size,
                "end - 1": end - 1,
            }
            value = numbers[value]
        await (core.write64 if address in WIDE else core.write)(address, value)
        await core.fails(code)
    await core.run(core.job(0, 1))


@cocotb.test()
async def unused_fields(dut: Any) -> None:
    """What a mode does not look at may be wrong."""
    core = await Core.make(dut)
    for mode, addresses in ((1, (KSK, KSK_BYTES)), (2, (LUTS, OFFSET, CONSTANT, LUT, BK0, BK1))):
        for address in addresses:
            job = core.job(mode, 1)
            await core.describe(job)
            value = 0 if address in (LUTS, KSK_BYTES) else 2**32 - 1
            await core.write(address, value)
            await core.write(CONTROL, START)
            assert await core.finish() == DONE, f"mode {mode} looks at {address:#x}"
            assert core.io.read(core.out_at, len(core.wanted)) == core.wanted


@cocotb.test()
@cocotb.parametrize(percent=(0, 30))
async def bad_words(dut: Any, percent: int) -> None:
    """An exponent, a number of a test vector, and a word of one that are too large."""
    core = await Core.make(dut, percent)
    count = core.shape.capacity + 1
    for code in (14, 16, 17):
        job = core.job(0, count, as_exponents=code == 14)
        words, table = job.records[-1]
        if code == 14:
            words[random.randrange(core.keys.n + 1)] = 2 * core.shape.size
        if code == 16:
            job.records[-1] = (words, 0)
        await core.describe(job)
        record = core.in_at + (count - 1) * (len(core._beats(bytes(4 * (core.keys.n + 2)))))
        if code == 16:
            core.put("io", record + 4 * (core.keys.n + 1), (3).to_bytes(4, "little"))
        if code == 17:
            at = (table * core.shape.size + random.randrange(core.shape.size)) * 8
            core.put("io", at, P.to_bytes(8, "little"))
        await core.fails(code)
        await core.run(core.job(0, 1))


@cocotb.test()
@cocotb.parametrize(percent=(0, 30))
async def errors_of_memory(dut: Any, percent: int) -> None:
    """A beat of any port that is answered with an error ends the run, and the next is good."""
    core = await Core.make(dut, percent)
    for name, mode in (("io", 0), ("ksk", 2), ("bk0", 1), ("bk1", 0)):
        for beat in (1, random.randrange(2, 40)):
            await core.describe(core.job(mode, core.shape.capacity + 1))
            core.reads[name].until_error = beat
            await core.fails(18)
            core.reads[name].until_error = -1
            await core.run(core.job(mode, 1))
    for mode in MODES:
        await core.describe(core.job(mode, 2))
        core.writes.until_error = 1
        await core.fails(19)
        core.writes.until_error = -1
        await core.run(core.job(mode, 1))


@cocotb.test()
@cocotb.parametrize(percent=(0, 30))
async def reset_in_the_middle(dut: Any, percent: int) -> None:
    """After a reset in any cycle the core is as new."""
    core = await Core.make(dut, percent)
    for mode in MODES * 3:
        await core.describe(core.job(mode, core.shape.capacity + 1))
        await core.write(CONTROL, START)
        await ClockCycles(dut.aclk, random.randrange(4000))
        await core.reset(random.randrange(2, 20))
        assert await core.read(STATUS) == 0
        assert await core.read(N_LWE) == 0
        await core.run(core.job(mode, 1))


@cocotb.test()
@cocotb.parametrize(percent=(0, 30))
async def abort_in_the_middle(dut: Any, percent: int) -> None:
    """An abort ends a run soon, from the first cycles of its checks on."""
    core = await Core.make(dut, percent)
    for mode in MODES * 3:
        await core.describe(core.job(mode, 3 * core.shape.capacity))
        await core.write(CONTROL, START)
        await ClockCycles(dut.aclk, random.choice((0, 10, random.randrange(2500))))
        assert await core.read(STATUS) == BUSY
        await core.write(CONTROL, ABORT)
        assert await core.finish() == FAILED
        assert await core.read(ERROR) == ABORTED
        await core.run(core.job(mode, 1))


@cocotb.test()
async def quick_abort_and_reset(dut: Any) -> None:
    """One of each, and a good run after it."""
    core = await Core.make(dut, percent=20)
    for ends in ("abort", "reset"):
        await core.describe(core.job(0, core.shape.capacity + 1))
        await core.write(CONTROL, START)
        await ClockCycles(dut.aclk, random.randrange(200, 2000))
        if ends == "abort":
            await core.write(CONTROL, ABORT)
            assert (await core.finish(), await core.read(ERROR)) == (FAILED, ABORTED)
        else:
            await core.reset()
            assert await core.read(STATUS) == 0
        await core.run(core.job(0, 1))


@cocotb.test()
async def interrupt(dut: Any) -> None:
    """`irq` is high while a run is over, well or not, if it is enabled."""
    core = await Core.make(dut)
    assert not int(dut.irq.value)
    for enable in (1, 0):
        await core.write(IRQ_ENABLE, enable)
        assert await core.read(IRQ_ENABLE) == enable
        await core.describe(core.job(2, 1))
        await core.write(CONTROL, START)
        assert not int(dut.irq.value)
        assert await core.finish() == DONE
        assert int(dut.irq.value) == enable
        await core.write(N_LWE, 0)
        await core.fails(1)
        assert int(dut.irq.value) == enable
    await core.write(IRQ_ENABLE, 1)
    assert int(dut.irq.value)
    await core.reset()
    assert not int(dut.irq.value)


@cocotb.test()
async def writes_while_busy(dut: Any) -> None:
    """The descriptor and a second start are ignored while the core is busy."""
    core = await Core.make(dut)
    job = core.job(0, core.shape.capacity)
    await core.describe(job)
    await core.write(CONTROL, START)
    for address in range(0x80, 0x118, 4):
        before = await core.read(address)
        await core.write(address, ~before & 0xFFFFFFFF)
        assert await core.read(address) == before
    await core.write(CONTROL, START)
    assert await core.read(STATUS) == BUSY
    assert await core.finish() == DONE
    assert core.io.read(core.out_at, len(core.wanted)) == core.wanted
    await core.write(CONTROL, ABORT)
    assert await core.read(STATUS) == DONE
    assert core.base["io"] + MEMORY < 2**64
