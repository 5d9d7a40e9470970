"""Comparison and rounding of signed 16-bit numbers, each in one ciphertext.

Numbers are messages modulo P = 2^17: a negative one stands for itself plus P. The difference of two
of them lies within 17 bits with its sign, which EvalSign reads off. EvalFloor rounds down, so that
half a step is added first.
"""

from __future__ import annotations

import numpy as np
from whorl.server.binfhe import EncryptedArray, Server

from .readings import Ints

PARAMETERS = "W128_P40_LOGQ_25"
P = 2**17
MOST_BITS = 12


def above(server: Server, readings: EncryptedArray, limits: EncryptedArray) -> EncryptedArray:
    """1 where a reading is above its limit: limit - reading is negative."""
    return server.sub(limits, readings).eval_sign(p_out=2)


def rounded(server: Server, readings: EncryptedArray, bits: int) -> EncryptedArray:
    """Readings in multiples of 2^bits, rounded to the nearest, modulo P >> bits."""
    return server.linear([1], [readings], 1 << (bits - 1)).eval_floor(bits)


def rounded_in_clear(readings: Ints, bits: int) -> Ints:
    """The same of numbers."""
    return (readings + (1 << (bits - 1))) >> bits


def messages(numbers: Ints) -> Ints:
    """What stands for signed numbers."""
    return np.asarray(numbers) % P


def signed(found: Ints, p: int) -> Ints:
    """The signed numbers that messages modulo p stand for."""
    return np.where(found >= p // 2, found - p, found)


def rotations(bits: int) -> tuple[int, int]:
    """Blind rotations of a comparison, and of rounding: two for each 4 bits, one to decide."""
    return 2 * -(-(17 + 8 - 12) // 4) + 1, 2 * -(-bits // 4)
