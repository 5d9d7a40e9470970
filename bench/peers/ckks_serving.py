"""What each side of bench/python_peers.py does alike: data, checks, and answers.

It runs in the peers' environments too, so that it needs no more than NumPy, and CPython 3.10.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from math import log2
from typing import Any, NamedTuple

import numpy as np
from answers import answer  # type: ignore[import-not-found]
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

LEAST_BITS = 10
"""Below this a result counts as wrong."""


class Shape(NamedTuple):
    """What bench/python_peers.py asks each side for: N, levels, bits of the scale, of a matrix."""

    N: int
    depth: int
    scale_bits: int
    side: int


class Operation(NamedTuple):
    """A call that is timed, how its result is decrypted, and what that must be."""

    call: Callable[[], Any]
    shown: Callable[[Any], Any]
    expected: Numbers


class Data:
    """Random values of -1 … 1, and what operations make of them."""

    def __init__(self, shape: Shape) -> None:
        random = np.random.default_rng()
        slots = shape.N // 2
        self.x, self.y = random.uniform(-1, 1, (2, slots))
        self.vector = random.uniform(-1, 1, shape.side)
        self.matrix = random.uniform(-1, 1, (shape.side, shape.side))
        self.expected: dict[str, Numbers] = {
            "encrypt": self.x,
            "encrypt_secret": self.x,
            "decrypt": self.x,
            "add": self.x + self.y,
            "mult_relin_rescale": self.x * self.y,
            "rotate": np.roll(self.x, -1),
            "rotate_product": np.roll(self.x * self.y, -1),
            "sum": self.x.sum(keepdims=True),
            "matmul": self.vector @ self.matrix,
        }

    def operation(
        self, op: str, call: Callable[[], Any], shown: Callable[[Any], Any]
    ) -> tuple[str, Operation]:
        """An item of a side's operations."""
        return op, Operation(call, shown, self.expected[op])


def requested() -> Shape:
    """The shape that the command line has, in JSON."""
    return Shape(**json.loads(sys.argv[1]))


def bits_of(op: str, operation: Operation) -> float:
    """-log2 of the largest error of one call. Sums may have their value in all slots."""
    expected = operation.expected
    got = np.asarray(operation.shown(operation.call()))[: len(expected)]
    bits = -log2(float(np.abs(got - expected).max()) or 2.0**-53)
    if not bits > LEAST_BITS:
        raise SystemExit(f"{op}: {bits:.1f} bits of the worst value, {LEAST_BITS} are expected")
    return round(bits, 1)


def serve(package: str, params: str, operations: dict[str, Operation], **more: Any) -> None:
    """Checks each operation, and answers."""
    bits = {op: bits_of(op, operation) for op, operation in operations.items()}
    more = {"version": version(package), "params": params, "bits": bits, **more}
    answer(lambda op: operations[op].call, **more)
