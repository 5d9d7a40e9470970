"""The core, memories of cocotbext-axi behind its ports, and a host that writes its registers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiRamRead,
    AxiRamWrite,
    AxiReadBus,
    AxiWriteBus,
)
from formulas import Keys, P, Shape, Words, to_32_bits

PAGE = 4096
MEMORY = 1 << 18  # bytes behind a port; it repeats over the whole address space
CONTROL, STATUS, ERROR, IRQ_ENABLE, SHAPE, MODE, COUNTERS = 8, 0xC, 0x10, 0x14, 0x20, 0x80, 0x180
BUSY, DONE, FAILED = 1, 2, 4
START, ABORT = 1, 2
RESULTS = 11  # the counter
ABORTED = 15
MOST_CYCLES = 100_000  # of any run here, with the slowest memory


def stalls(percent: int) -> Iterator[bool]:
    while True:
        yield random.randrange(100) < percent


class Reads(AxiRamRead):
    """A memory that answers one beat with an error: when `until_error` comes to 0."""

    until_error = -1

    async def _read(self, address: int, length: int) -> bytes:
        self.until_error -= 1
        if self.until_error == 0:
            raise ValueError("an error on purpose")
        return bytes(await super()._read(address, length))


class Writes(AxiRamWrite):
    """The same for beats that are written."""

    until_error = -1

    async def _write(self, address: int, data: bytes) -> None:
        self.until_error -= 1
        if self.until_error == 0:
            raise ValueError("an error on purpose")
        await super()._write(address, data)


@dataclass
class Job:
    """A run: its descriptor without addresses, and its inputs."""

    mode: int
    count: int
    as_exponents: bool = False
    centred: bool = False
    offset: int = 0
    constant: int = 0
    records: list[tuple[Words, int]] = field(default_factory=list)  # words, number of the table


class Core:
    """One core, keys that lie behind its ports, and test vectors."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        common = (dut.aclk, dut.aresetn)
        active = {"reset_active_level": False}
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), *common, **active)
        self.reads = {
            name: Reads(
                AxiReadBus.from_prefix(dut, f"m_axi_{name}"), *common, size=MEMORY, **active
            )
            for name in ("io", "ksk", "bk0", "bk1")
        }
        self.io = self.reads["io"]
        self.writes = Writes(
            AxiWriteBus.from_prefix(dut, "m_axi_io"),
            *common,
            size=MEMORY,
            mem=self.io.mem,
            **active,
        )
        # Images lie high: no bit of an address is always 0.
        self.base = {
            name: random.getrandbits(45) * MEMORY % 2**63 for name in ("io", "ksk", "bk0", "bk1")
        }

    @classmethod
    async def make(cls, dut: Any, percent: int = 0, n: int | None = None) -> Core:
        # Registers begin with random values: memories listen from a reset's second clock on.
        Clock(dut.aclk, 2, unit="ns").start()
        dut.aresetn.value = 0
        await ClockCycles(dut.aclk, 2)
        core = cls(dut)
        core.stall(percent)
        await core.reset()
        fields = len(Shape.__dataclass_fields__)
        core.shape = Shape(*[await core.read(SHAPE + 4 * i) for i in range(fields)])
        core.keys = Keys(
            core.shape, n or core.shape.max_n_lwe, np.random.default_rng(random.getrandbits(64))
        )
        core.tables = [core.residues(core.shape.size) for _ in range(3)]
        core.put("ksk", 0, core.keys.key_switching_image())
        for name, image in zip(("bk0", "bk1"), core.keys.bootstrapping_images(), strict=True):
            core.put(name, 0, image)
        return core

    shape: Shape
    keys: Keys
    tables: list[Words]

    def residues(self, count: int) -> Words:
        return self.numbers(P, count)

    @staticmethod
    def numbers(bound: int, count: int) -> Words:
        """Random numbers below `bound`, some of them at its ends."""
        ends = (0, 1, bound // 2, bound - 1)
        one_in = 8
        return np.array(
            [
                random.randrange(bound) if random.randrange(one_in) else random.choice(ends)
                for _ in range(count)
            ],
            dtype=np.int64,
        )

    def put(self, name: str, at: int, image: bytes) -> None:
        assert at + len(image) <= MEMORY, f"{len(image)} bytes at {at} do not fit {MEMORY}"
        self.reads[name].write(at, image)

    def stall(self, percent: int) -> None:
        """How often, in a hundred cycles, each channel of each port stands still."""
        channels: list[Any] = [
            c for port in self.reads.values() for c in (port.ar_channel, port.r_channel)
        ]
        channels += [self.writes.aw_channel, self.writes.w_channel, self.writes.b_channel]
        write, read = self.registers.write_if, self.registers.read_if
        channels += [write.aw_channel, write.w_channel, write.b_channel]
        channels += [read.ar_channel, read.r_channel]
        for channel in channels:
            channel.set_pause_generator(stalls(percent) if percent else None)
            channel.pause = False

    async def reset(self, cycles: int = 5) -> None:
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, cycles)
        self.dut.aresetn.value = 1
        await RisingEdge(self.dut.aclk)

    async def read(self, address: int) -> int:
        return int(await self.registers.read_dword(address))

    async def write(self, address: int, value: int) -> None:
        await self.registers.write_dword(address, value)

    async def write64(self, address: int, value: int) -> None:
        await self.registers.write_qword(address, value)

    async def counter(self, index: int) -> int:
        return int(await self.registers.read_qword(COUNTERS + 8 * index))

    def job(self, mode: int, count: int, **fields: Any) -> Job:
        """Random inputs, and what else is not given."""
        size = self.shape.size
        job = Job(
            mode,
            count,
            as_exponents=fields.get("as_exponents", mode != 2 and random.random() < 0.3),
            centred=fields.get("centred", random.random() < 0.5),
            offset=random.randrange(2 * size),
            constant=random.randrange(P),
        )
        words = size + 1 if mode == 2 else self.keys.n + 1
        bound = 2 * size if job.as_exponents else 2**32
        job.records = [
            (self.numbers(bound, words), random.randrange(len(self.tables))) for _ in range(count)
        ]
        return job

    # ---- the images of a job, and its results

    def _beats(self, data: bytes) -> bytes:
        return data + bytes(-len(data) % (self.shape.mem_bits // 8))

    def _result(self, job: Job, record: tuple[Words, int]) -> bytes:
        words, table = record
        if job.mode == 2:
            return self._beats(self.keys.switched(words).astype("<u4").tobytes())
        if job.as_exponents:
            last = (int(words[-1]) + job.offset) % (2 * self.shape.size)
            exponents = [*(int(x) for x in words[:-1]), last]
        else:
            exponents = self.keys.exponents(words, job.centred, job.offset)
        sample = self.keys.rotated(exponents, self.tables[table], job.constant)
        if job.mode == 1:
            return self._beats(sample.astype("<u8").tobytes())
        return self._beats(self.keys.switched(to_32_bits(sample)).astype("<u4").tobytes())

    async def describe(self, job: Job) -> None:
        """Puts the inputs into memory and writes the descriptor."""
        tables = b"".join(t.astype("<u8").tobytes() for t in self.tables)
        records = b"".join(
            self._beats(
                np.array([*words, *([] if job.mode == 2 else [table])]).astype("<u4").tobytes()
            )
            for words, table in job.records
        )
        self.in_at = -(-len(tables) // PAGE) * PAGE
        self.out_at = self.in_at + -(-len(records) // PAGE) * PAGE
        self.wanted = b"".join(self._result(job, r) for r in job.records)
        end = self.out_at + len(self.wanted)
        self.put("io", 0, tables)
        self.put("io", self.in_at, records)
        self.put("io", self.out_at, bytes([0xEE]) * len(self.wanted))
        mode = job.mode | job.as_exponents << 8 | job.centred << 9
        values = (mode, self.shape.m, self.keys.n, job.count, len(self.tables), job.offset)
        for i, value in enumerate(values):
            await self.write(MODE + 4 * i, value)
        await self.write64(0x98, job.constant)
        io, ksk = self.base["io"], self.base["ksk"]
        for i, value in enumerate((io + self.in_at, io, io + self.out_at, ksk)):
            await self.write64(0xA0 + 8 * i, value)
        for i in range(2):
            await self.write64(0xC0 + 8 * i, self.base[f"bk{i}"])
        key = max(self.base["bk0"], self.base["bk1"]) + MEMORY
        for i, value in enumerate((io + end, ksk + MEMORY, key)):
            await self.write64(0x100 + 8 * i, value)

    async def finish(self) -> int:
        """STATUS when the core is not busy any more."""
        for _ in range(0, MOST_CYCLES, 50):
            status = await self.read(STATUS)
            if not status & BUSY:
                return status
            await ClockCycles(self.dut.aclk, 50)
        raise AssertionError(f"the core is busy after {MOST_CYCLES} cycles")

    async def run(self, job: Job) -> None:
        """A run that must give the reference's results, and count them."""
        await self.describe(job)
        await self.write(CONTROL, START)
        status, error = await self.finish(), await self.read(ERROR)
        assert (status, error) == (DONE, 0), f"STATUS {status}, ERROR {error}"
        results = self.io.read(self.out_at, len(self.wanted))
        assert results == self.wanted, f"mode {job.mode}, {job.count} ciphertexts: other results"
        assert await self.counter(RESULTS) == job.count

    async def fails(self, code: int) -> None:
        """The run that was described ends in an error, with this code."""
        await self.write(CONTROL, START)
        status, error = await self.finish(), await self.read(ERROR)
        assert (status, error) == (FAILED, code), f"STATUS {status}, ERROR {error}, not {code}"
