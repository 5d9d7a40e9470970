"""A one-bit full adder in two look-ups: the sum, and the carry."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from whorl.server.binfhe import EncryptedArray, Parameters, Server

PARAMETERS = "W128_P64_RTL_M2"
INPUTS = ("a", "b", "carry in")
OUTPUTS = ("sum", "carry out")
LOOKUPS = 2

Bits = npt.NDArray[np.int64]


def every_input() -> Bits:
    """All values of the inputs: (3, 8)."""
    found: Bits = (np.arange(8) >> np.arange(3)[::-1, None]) & 1
    return found


def in_clear(inputs: Bits) -> Bits:
    """Sums and carries of columns of bits: (2, columns)."""
    total = inputs.sum(axis=0)
    return np.stack([total & 1, total >> 1])


def sum_of(
    server: Server, a: EncryptedArray, b: EncryptedArray, c: EncryptedArray
) -> EncryptedArray:
    """a ⊕ b ⊕ c by one gate: XOR asks only for the parity of what it adds, so that it takes a + b,
    which may be 2, in the place of a bit."""
    return server.xor(server.linear([1, 1], [a, b], modular=True), c)


def carry_of(
    server: Server, a: EncryptedArray, b: EncryptedArray, c: EncryptedArray
) -> EncryptedArray:
    """1 where two inputs or three are 1."""
    return server.majority(a, b, c)


def failure_log2(parameters: Parameters) -> float:
    """log2 of the probability at most with which noise makes a look-up wrong: of the sum, whose
    three inputs count twice each, or of the carry."""
    return max(parameters.gate_failure_log2(12, 2), parameters.gate_failure_log2(3, 4))
