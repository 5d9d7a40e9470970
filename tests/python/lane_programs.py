"""Random programs on lanes: results are compared with NumPy, and each lane's distance from its bit
with the error that is stated.

    .venv/bin/python tests/python/lane_programs.py [--programs 300] [--seconds 0] [--seed 1]
        [--first 0] [--processes 1] [--set NAME] [--device cpu] [--vectors 3]

Without `--set`, programs run in small rings, which are not secure: with bootstraps for bits and for
real numbers, in all slots and in a part of them. One program in 25 is long, and refreshes. With
`--set W128_BITS5_L10 --device cuda --seconds 600 --vectors 20` they run on a GPU for ten minutes.

A program follows from its number and the seed, and a failure prints both, so that `--seed` and
`--first` with `--programs 1` repeat it; keys and encryptions are fresh all the same.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
from whorl import ckks, lanes

Clear = np.ndarray[Any, np.dtype[np.bool_]]
Pair = tuple[lanes.LaneArray, Clear]

SMALL = (("W128_BITS5_L10", 128, 128), ("W128_BITS1_L4", 128, 96), ("", 64, 64))
"""A set's primes, or those that are chosen for real numbers; slots, and how many of them have
lanes."""
DEVIATIONS = 48
"""The bound of a lane's error is so many of what ciphertexts state."""


@dataclass
class Found:
    """What programs did."""

    programs: int = 0
    gates: int = 0
    """Lanes of all results."""
    bootstraps: int = 0
    wrong: int = 0
    """Lanes."""
    beyond: int = 0
    """Lanes that are farther from their bit than is stated."""
    closest: float = 0.0
    """The largest distance, as a part of what is stated."""
    log2_failure: float = -np.inf
    failed: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.programs += other.programs
        self.gates += other.gates
        self.bootstraps += other.bootstraps
        self.wrong += other.wrong
        self.beyond += other.beyond
        self.closest = max(self.closest, other.closest)
        self.log2_failure = float(np.logaddexp2(self.log2_failure, other.log2_failure))
        self.failed += other.failed

    def __str__(self) -> str:
        return (
            f"programs={self.programs} gates={self.gates} bootstraps={self.bootstraps} "
            f"wrong={self.wrong} beyond_error={self.beyond} largest_part_of_error="
            f"{self.closest:.3f} log2_failure={self.log2_failure:.1f}"
        )


class Machine:
    """A client and a server of one set of parameters."""

    def __init__(
        self, name: str, slots: int, length: int, device: str = "cpu", small: bool = True
    ) -> None:
        if small:
            chosen = ckks.parameters(name) if name else ckks.parameters(9, bootstrap=True)
            literal = {**chosen.literal(), "N": 1024, "name": f"small {name or 'real'}"}
            parameters = ckks.parameters(literal=literal, allow_insecure=True)
        else:
            parameters = ckks.parameters(name)
        self.client = lanes.Client(parameters)
        self.server = lanes.Server(
            self.client.evaluation_keys(slots, rotations=[1, 5]),
            device=device,
            threads=1,
            most_log2_failure=-40.0,
        )
        self.length = length
        shape = parameters.bootstrap
        self.bits = int(shape["bits"]) if shape else 0
        self.least = parameters.least_bootstrap_level

    def differences(self, array: lanes.LaneArray, clear: Clear) -> tuple[int, int, float]:
        """Lanes that are wrong, lanes that are beyond what is stated, and the largest distance as a
        part of that."""
        host = self.server.store(array)  # at its own level, where the error is its own
        raw = ckks.Client.decrypt(self.client, host, raw=True)
        parts = np.abs(raw - clear) / (DEVIATIONS * host.error)
        return int(np.sum((raw >= 0.5) != clear)), int(np.sum(parts > 1)), float(parts.max())


class Program:
    """Operations that follow from random numbers, on arrays of one vector and of several."""

    def __init__(self, on: Machine, random: np.random.Generator, vectors: int, long: bool) -> None:
        self.on, self.random, self.vectors, self.long = on, random, vectors, long
        self.made: list[Pair] = []
        self.gates = 0
        for _ in range(3):
            self.fresh()

    def run(self) -> None:
        names = [
            *("and_", "or_", "xor", "not_", "where", "full_add", "lookup", "rotate", "clean"),
            *("known", "constant", "index", "concatenate", "fresh"),
        ]
        # What takes bootstraps is for few programs, and all programs are short but for these.
        if self.long:
            names += ["refresh", "worn"] * 2 + ["count_ones", "numbers", "compact"] * (
                self.on.bits > 0
            )
        for _ in range(
            int(self.random.integers(15, 30) if self.long else self.random.integers(3, 7))
        ):
            getattr(self, str(self.random.choice(names)))()

    def add(self, array: lanes.LaneArray, clear: Clear) -> None:
        assert array.shape == clear.shape[:-1], (array.shape, clear.shape)
        self.made.append((array, clear))
        self.gates += clear.size

    def pick(self, *counts: int) -> Pair:
        """One of the arrays, of one of these numbers of vectors; the last ones are likelier."""
        some = [p for p in self.made if not counts or len(p[1]) in counts]
        return some[-1 - min(int(self.random.exponential(3)), len(some) - 1)]

    def operands(self, count: int) -> list[Pair]:
        """Arrays of equal shapes, or of single vectors among them."""
        first = self.pick()
        return [first, *(self.pick(1, len(first[1])) for _ in range(count - 1))]

    def random_bits(self, count: int) -> Clear:
        return self.random.integers(0, 2, (count, self.on.length)).astype(np.bool_)

    # ---- where arrays come from

    def fresh(self) -> None:
        bits = self.random_bits(int(self.random.choice([1, self.vectors])))
        self.add(self.on.server.upload(self.on.client.encrypt(bits)), bits)

    def compact(self) -> None:
        bits = self.random_bits(int(self.random.integers(1, self.vectors + 1)))
        self.add(self.on.server.upload(self.on.client.encrypt(bits, compact=True)), bits)

    def known(self) -> None:
        bits = self.random_bits(self.vectors)
        self.add(self.on.server.known(self.pick()[0], bits), bits)

    def constant(self) -> None:
        (x, a), bit = self.pick(), bool(self.random.integers(2))
        self.add(self.on.server.constant(x, bit), np.full_like(a, bit))

    def worn(self) -> None:
        """One that has few levels left."""
        x, a = self.pick()
        level = int(self.random.integers(self.on.least, x.level + 1))
        self.add(self.on.server.upload(x.stored(level)), a)

    # ---- gates

    def and_(self) -> None:
        (x, a), (y, b) = self.operands(2)
        self.add(x & y, a & b)

    def or_(self) -> None:
        (x, a), (y, b) = self.operands(2)
        self.add(x | y, a | b)

    def xor(self) -> None:
        (x, a), (y, b) = self.operands(2)
        self.add(x ^ y, a ^ b)

    def not_(self) -> None:
        x, a = self.pick()
        self.add(~x, ~a)

    def where(self) -> None:
        (x, a), (y, b), (z, c) = self.operands(3)
        self.add(self.on.server.where(x, y, z), np.where(a, b, c))

    def full_add(self) -> None:
        (x, a), (y, b), (z, c) = self.operands(3)
        total, carry = self.on.server.full_add(x, y, z)
        self.add(total, a ^ b ^ c)
        self.add(carry, a & b | a & c | b & c)

    def lookup(self) -> None:
        count, bits = len(self.pick()[1]), int(self.random.integers(1, 5))
        pairs = [self.pick(count) for _ in range(bits)]
        table = self.random.integers(0, 1 << int(self.random.integers(1, 4)), 1 << bits)
        found = self.on.server.lookup(lanes.stack([x for x, _ in pairs]), table)
        wanted = table[sum(a.astype(np.int64) << i for i, (_, a) in enumerate(pairs))]
        for i in range(found.shape[0]):
            self.add(found[i], (wanted >> i & 1).astype(np.bool_))

    def count_ones(self) -> None:
        count, most = len(self.pick()[1]), 2 << self.on.bits
        pairs = [self.pick(count) for _ in range(int(self.random.integers(1, most + 1)))]
        found = self.on.server.count_ones(lanes.stack([x for x, _ in pairs]))
        wanted = np.sum([a for _, a in pairs], axis=0)
        for i in range(found.shape[0]):
            self.add(found[i], (wanted >> i & 1).astype(np.bool_))

    def numbers(self) -> None:
        """A sum or a product of numbers of several bits."""
        count = len(self.pick()[1])
        each, values = [], []
        for _ in range(2):
            pairs = [self.pick(count) for _ in range(int(self.random.integers(1, 8)))]
            each.append(lanes.stack([x for x, _ in pairs]))
            bits = np.stack([a.astype(np.int64) << i for i, (_, a) in enumerate(pairs)])
            values.append(bits.sum(axis=0))
        adds = self.random.integers(2) == 0
        found = lanes.total(each) if adds else lanes.multiply(*each)
        wanted = values[0] + values[1] if adds else values[0] * values[1]
        for i in range(found.shape[0]):
            self.add(found[i], (wanted >> i & 1).astype(np.bool_))

    def rotate(self) -> None:
        (x, a), by = self.pick(), int(self.random.choice([1, 5]))
        if self.on.length == self.on.server.lanes:
            self.add(x.rotate(by), np.roll(a, -by, axis=-1))

    # ---- shapes, and what changes no bits

    def index(self) -> None:
        x, a = self.pick()
        at = self.random.integers(0, len(a), self.random.integers(1, self.vectors + 1))
        self.add(x[at], a[at])

    def concatenate(self) -> None:
        (x, a), (y, b) = self.pick(), self.pick()
        at = self.random.permutation(len(a) + len(b))[: self.vectors]
        self.add(lanes.concatenate([x, y])[at], np.concatenate([a, b])[at])

    def clean(self) -> None:
        self.on.server.clean(self.pick()[0])

    def refresh(self) -> None:
        self.on.server.refresh(self.pick()[0], self.pick()[0])


def run_one(on: Machine, seed: int, number: int, vectors: int) -> Found:
    """Runs a program, and compares all that it made."""
    random = np.random.default_rng([seed, number])
    program = Program(on, random, vectors, long=number % 25 == 0)
    found = Found(programs=1)
    before = on.server.bootstraps
    program.run()
    for array, clear in program.made:
        wrong, beyond, closest = on.differences(array, clear)
        found.wrong += wrong
        found.beyond += beyond
        found.closest = max(found.closest, closest)
    found.gates, found.bootstraps = program.gates, on.server.bootstraps - before
    return found


def run_all(
    machines: list[Machine], seed: int, numbers: Any, vectors: int, until: float = np.inf
) -> Found:
    """Runs the programs of these numbers, or as many of them as there is time for."""
    all_found = Found()
    for number in numbers:
        if time.monotonic() >= until:
            break
        # Neighbours run in different rings, and long programs in all of them.
        on = machines[(number + number // 25) % len(machines)]
        try:
            found = run_one(on, seed, number, vectors)
        except Exception as error:
            found = Found(programs=1, failed=[f"seed {seed}, program {number}: {error!r}"])
        if found.wrong or found.beyond:
            found.failed.append(f"seed {seed}, program {number}: {found}")
        for line in found.failed:
            print(f"{on.server.parameters.name}, {vectors} vectors: {line}", flush=True)
        all_found.add(found)
    all_found.log2_failure = float(np.logaddexp2.reduce([m.server.log2_failure for m in machines]))
    return all_found


def small_machines() -> list[Machine]:
    return [Machine(*each) for each in SMALL]


def run_small(seed: int, first: int, end: int, vectors: int, until: float) -> Found:
    """What a process runs."""
    return run_all(small_machines(), seed, range(first, end), vectors, until)


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--programs", type=int, default=300, help="0: without end")
    options.add_argument("--seconds", type=float, default=0, help="0: no limit")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--first", type=int, default=0, help="number of the first program")
    options.add_argument("--processes", type=int, default=1, help="of small rings")
    options.add_argument("--set", help="of parameters; its rings are not made smaller")
    options.add_argument("--device", default="cpu")
    options.add_argument("--vectors", type=int, default=3, help="of most arrays")
    given = options.parse_args()
    if given.programs == 0 and given.seconds == 0:
        options.error("--programs 0 wants --seconds")
    begun = time.monotonic()
    until = begun + given.seconds if given.seconds else np.inf
    found = Found()
    if given.set:
        N = ckks.parameters(given.set).N
        machines = [Machine(given.set, N // 2, N // 2, given.device, small=False)]
        end = given.first + given.programs
        numbers = range(given.first, end) if given.programs else itertools.count(given.first)
        until = time.monotonic() + given.seconds if given.seconds else np.inf
        found = run_all(machines, given.seed, numbers, given.vectors, until)
    else:
        count = given.programs or 10**9
        ends = [given.first + count * k // given.processes for k in range(given.processes + 1)]
        calls: list[Callable[[], Found]] = []
        with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
            for first, end in itertools.pairwise(ends):
                task = pool.submit(run_small, given.seed, first, end, given.vectors, until)
                calls.append(task.result)
        for call in calls:
            found.add(call())
    passed = not found.failed and found.wrong == 0 and found.beyond == 0
    seconds = time.monotonic() - begun
    print(f"lane-programs: {found} seconds={seconds:.0f}: {'PASSED' if passed else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
