"""The same BGV circuits in Whorl and in OpenFHE: all slots of all results are the same.

OpenFHE's wheel wants CPython 3.10, and runs there in a process of its own (openfhe_worker.py);
openfhe_peer.py finds or makes an environment for it. Without one these tests are skipped; if
WHORL_PEER_PYTHON names one that does not serve they fail. Both pack a vector as two rows of N/2
slots and rotate to the left.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from openfhe_process import Operation, Peer, in_whorl, peer_process, skip_without_openfhe
from whorl import bgv

Ints = np.ndarray[Any, np.dtype[np.int64]]
LOG_SUMS = 2
"""At most 2^LOG_SUMS ciphertexts are summed before they are multiplied."""
TURNS = 2
"""At most so many rotations in sequence at a level."""


@pytest.fixture(scope="module", autouse=True)
def openfhe() -> None:
    skip_without_openfhe()


def peer_of(depth: int, t: int) -> AbstractContextManager[Peer]:
    return peer_process("bgv", {"depth": depth, "t": t, "sums": 2**LOG_SUMS, "turns": TURNS})


def results_of(peer: Peer, inputs: list[Ints], operations: list[Operation]) -> list[Ints]:
    """Signed, as OpenFHE has them."""
    plain = [tuple(x.tolist() if isinstance(x, np.ndarray) else x for x in o) for o in operations]
    answer = peer.run([row.tolist() for row in inputs], plain)
    return [np.array(each["values"]) for each in answer["results"]]


@dataclass
class Ours:
    """The same in Whorl."""

    parameters: bgv.Parameters
    client: bgv.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = bgv.Client(self.parameters)

    def results(self, inputs: list[Ints], operations: list[Operation]) -> list[Ints]:
        """In 0 … t-1; the noise bound of each result says that it decrypts."""
        turns = {o[2] for o in operations if o[0] == "rotate"}
        server = bgv.Server(self.client.evaluation_keys(rotations=sorted(turns)), device="cpu")
        public = self.client.public_key()
        wires = [server.upload(public.encrypt(row)) for row in inputs]
        for operation in operations:
            out = in_whorl(operation, wires)
            assert out.noise_budget > 0, f"{operation[0]} left no budget"
            wires.append(out)
        return [self.client.decrypt(wire, all_slots=True) for wire in wires[len(inputs) :]]


def in_clear(inputs: list[Ints], operations: list[Operation], N: int, t: int) -> list[Ints]:
    """In 0 … t-1."""
    wires = [np.concatenate([row, np.zeros(N - len(row), np.int64)]) % t for row in inputs]
    for name, first, *rest in operations:
        a = wires[first]
        if name == "negate":
            out = -a
        elif name == "rotate":
            out = np.roll(a.reshape(2, -1), -rest[0], axis=-1).reshape(-1)
        else:
            b = a if name == "square" else rest[0] if name.endswith("_plain") else wires[rest[0]]
            kind = name.split("_")[0]
            out = a + b if kind == "add" else a - b if kind == "sub" else a * (b % t)
        wires.append(out % t)
    return wires[len(inputs) :]


def compare(ours: Ours, peer: Peer, inputs: list[Ints], operations: list[Operation]) -> None:
    N, t = ours.parameters.N, ours.parameters.t
    assert peer.N == N
    expected = in_clear(inputs, operations, N, t)
    theirs = results_of(peer, inputs, operations)
    mine = ours.results(inputs, operations)
    assert len(theirs) == len(mine) == len(expected)
    for number, (a, b, clear) in enumerate(zip(mine, theirs, expected, strict=True)):
        what = f"operation {number}, {operations[number][0]}"
        assert np.array_equal(a, b % t), f"{what}: Whorl and OpenFHE differ"
        assert np.array_equal(a, clear), f"{what}: both differ from what is due"


def chosen(depth: int, t: int, peer: Peer) -> Ours:
    """Rings of the same size, so that rows wrap around at the same slot."""
    return Ours(bgv.parameters(depth=depth, plain_modulus=t, N=peer.N, sums=LOG_SUMS))


def test_the_example() -> None:
    """simple-integers-bgvrns, with one more rotation: each slot, also of what was padded."""
    inputs = [
        np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        np.array([3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        np.array([1, 2, 5, 2, 5, 6, 7, 8, 9, 10, 11, 12]),
    ]
    operations: list[Operation] = [
        ("add", 0, 1),
        ("add", 3, 2),
        ("multiply", 0, 1),
        ("multiply", 5, 2),
        *(("rotate", 0, columns) for columns in (1, 2, 3, -1, -2)),
    ]
    with peer_of(2, 65537) as peer:
        compare(chosen(2, 65537, peer), peer, inputs, operations)


def random_circuit(
    generator: np.random.Generator, depth: int, t: int, N: int, steps: int
) -> tuple[list[Ints], list[Operation]]:
    """Any operations, to exactly the depth: a plaintext's product counts as a level."""
    inputs = [generator.integers(-(t // 2), t // 2 + 1, size=N) for _ in range(3)]
    operations: list[Operation] = []
    # What each wire has: products in sequence, terms and rotations since the last.
    wires = [(0, 1, 0)] * len(inputs)

    def push(operation: Operation, wire: tuple[int, int, int]) -> None:
        level, terms, turns = wire
        if level <= depth and terms <= 2**LOG_SUMS and turns <= TURNS:
            operations.append(operation)
            wires.append(wire)

    def step(kind: int, i: int, j: int) -> None:
        (level, terms, turns), other = wires[i], wires[j]
        higher = max(level, other[0])
        if kind < 4:
            both = (higher, terms + other[1], max(turns, other[2]))
            push(("add" if kind < 2 else "sub", i, j), both)
        elif kind < 7:
            push(("multiply", i, j), (higher + 1, 1, 0))
        elif kind == 7:
            push(("square", i), (level + 1, 1, 0))
        elif kind < 11:
            columns = int(generator.choice([1, 3, -2, N // 4]))
            push(("rotate", i, columns), (level, terms, turns + 1))
        elif kind == 11:
            push(("negate", i), (level, terms, turns))
        else:
            name = ("add_plain", "sub_plain", "multiply_plain")[kind - 12]
            row = generator.integers(-(t // 2), t // 2 + 1, size=N)
            plain = (level + 1, 1, 0) if kind == 14 else (level, terms + 1, turns)
            push((name, i, row), plain)

    while len(operations) < steps:
        step(*(int(generator.integers(n)) for n in (15, len(wires), len(wires))))
    while (deepest := max(wires))[0] < depth:
        step(4, wires.index(deepest), int(generator.integers(len(wires))))
    return inputs, operations


@pytest.mark.parametrize("t", [65537, 786433])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_random_circuits(generator: np.random.Generator, depth: int, t: int) -> None:
    with peer_of(depth, t) as peer:
        ours = chosen(depth, t, peer)
        for _ in range(3):
            compare(ours, peer, *random_circuit(generator, depth, t, peer.N, 6 + 3 * depth))
