"""Integers in lanes: their bits are vectors along the first axis, the lowest bit first."""

from __future__ import annotations

from .._core.array import concatenate
from ..errors import ShapeError
from ._server import LaneArray


def add(x: LaneArray, y: LaneArray) -> LaneArray:
    """x + y with one bit more, by two products a bit; both have n bits along the first axis."""
    bits = _bits(x, y)
    total, carry = x[0] ^ y[0], x[0] & y[0]
    sums = [total[None]]
    for i in range(1, bits):
        total, carry = x.server.full_add(x[i], y[i], carry)
        sums.append(total[None])
    return concatenate([*sums, carry[None]])


def less(x: LaneArray, y: LaneArray) -> LaneArray:
    """Whether x < y, as unsigned integers, by a tree of depth log2 n."""
    bits = _bits(x, y)
    smaller, same = ~x & y, ~(x ^ y)
    while bits > 1:
        # Of two halves the upper one decides, unless it is the same.
        low, high, rest = (
            slice(0, bits - bits % 2, 2),
            slice(1, bits, 2),
            slice(bits - bits % 2, bits),
        )
        upper = x.server.where(same[high], smaller[low], smaller[high])
        both = same[high] & same[low]
        if bits % 2:
            upper, both = concatenate([upper, smaller[rest]]), concatenate([both, same[rest]])
        smaller, same, bits = upper, both, (bits + 1) // 2
    return smaller[0]


def equal(x: LaneArray, y: LaneArray) -> LaneArray:
    """Whether x = y, by a tree of depth log2 n."""
    bits = _bits(x, y)
    same = ~(x ^ y)
    while bits > 1:
        both = same[0 : bits - bits % 2 : 2] & same[1:bits:2]
        same = concatenate([both, same[bits - 1 : bits]]) if bits % 2 else both
        bits = (bits + 1) // 2
    return same[0]


def _bits(x: LaneArray, y: LaneArray) -> int:
    """How many bits numbers have."""
    for each in (x, y):
        if not isinstance(each, LaneArray):
            raise TypeError(f"a LaneArray is needed, not {type(each).__name__}")
    if not x.shape or not y.shape or x.shape[0] != y.shape[0]:
        raise ShapeError(
            f"numbers of shapes {x.shape} and {y.shape} have other bits along the first axis"
        )
    return x.shape[0]
