"""Integers in lanes: their bits are vectors along the first axis, the lowest bit first."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Shape, concatenate
from .._core.integers import whole_numbers
from .._core.text import shown
from ..errors import ParameterError, ShapeError
from ._server import LaneArray, Server

Number: TypeAlias = LaneArray | ArrayLike
"""Encrypted numbers, or numbers that everybody knows, one for each vector."""
Known = np.ndarray[Any, np.dtype[np.bool_]]
"""The bits of known numbers along the first axis."""


def add(x: LaneArray, y: LaneArray) -> LaneArray:
    """x + y with one bit more, by two products a bit; both have n bits along the first axis."""
    x, y = _pair(x, y)
    return _ripple(x, y, x[0] ^ y[0], x[0] & y[0])


def subtract(x: LaneArray, y: LaneArray) -> LaneArray:
    """x - y with one bit more, the sign, by two products a bit; both have n bits.

    The result is in two's complement: its n lowest bits are x - y modulo 2^n, and the last bit is 1
    where x < y. `ShapeError` for numbers of other bits.
    """
    x, y = _pair(x, y)
    # x + ¬y + 1 is x - y + 2^n.
    made = _ripple(x, ~y, x[0] ^ y[0], x[0] | ~y[0])
    return concatenate([made[:-1], ~made[-1:]])


def _ripple(x: LaneArray, y: LaneArray, total: LaneArray, carry: LaneArray) -> LaneArray:
    """The sums from the second bit on, behind that of the first; and the last carry."""
    sums = [total[None]]
    for i in range(1, x.shape[0]):
        total, carry = x.server.full_add(x[i], y[i], carry)
        sums.append(total[None])
    return concatenate([*sums, carry[None]])


def less(x: Number, y: Number) -> LaneArray:
    """Whether x < y, as unsigned integers, by a tree of depth log2 n.

    Args:
        x, y: numbers of n bits, encrypted, or one of them known: an integer, or an array of
            integers that broadcasts with the vectors of the other.

    Encrypted numbers take about 4n products, and a known one saves half of them. `ShapeError` for
    numbers of other bits, `ParameterError` for a known one outside 0 … 2^n - 1. Integers modulo p
    (`LaneArray.p`) have no axis of bits: for them it is `Server.less`.
    """
    if server := _modular(x, y):
        return server.less(x, y)
    a, b, bits = _numbers("less", x, y)
    smaller = _and(~a, b)
    if bits == 1:
        return smaller[0]
    same = _same(a[1:], b[1:])
    while bits > 1:
        # Of two neighbours the upper one decides, unless it is the same. same[i] is of smaller's
        # i + 1: whether the lowest ones are the same is not asked.
        pairs, odd = bits // 2, bits % 2
        upper = smaller.server.where(same[: 2 * pairs : 2], smaller[: 2 * pairs : 2], smaller[1::2])
        both = [same[2 : 2 * pairs : 2] & same[1 : 2 * pairs - 1 : 2]] if pairs > 1 else []
        if odd:
            upper = concatenate([upper, smaller[bits - 1 :]])
            both.append(same[bits - 2 :])
        smaller, bits = upper, pairs + odd
        if bits > 1:
            same = concatenate(both)
    return smaller[0]


def equal(x: Number, y: Number) -> LaneArray:
    """Whether x = y, by a tree of depth log2 n.

    Arguments and errors are those of `less`. Encrypted numbers take 2n - 1 products, and where one
    is known n - 1. Of integers modulo p it is `Server.equal`.
    """
    if server := _modular(x, y):
        return server.equal(x, y)
    a, b, bits = _numbers("equal", x, y)
    same = _same(a, b)
    while bits > 1:
        both = same[0 : bits - bits % 2 : 2] & same[1:bits:2]
        same = concatenate([both, same[bits - 1 : bits]]) if bits % 2 else both
        bits = (bits + 1) // 2
    return same[0]


def maximum(x: LaneArray, y: LaneArray) -> LaneArray:
    """The larger number in each lane; a comparison and a product a bit. Errors as of `add`.

    Of integers modulo p it is `Server.maximum`.
    """
    if server := _modular(x, y):
        return server.maximum(x, y)
    x, y = _pair(x, y)
    return x.server.where(less(x, y), y, x)


def minimum(x: LaneArray, y: LaneArray) -> LaneArray:
    """The smaller number in each lane; a comparison and a product a bit. Errors as of `add`.

    Of integers modulo p it is `Server.minimum`.
    """
    if server := _modular(x, y):
        return server.minimum(x, y)
    x, y = _pair(x, y)
    return x.server.where(less(x, y), x, y)


def _modular(*numbers: Any) -> Server | None:
    """The server of integers modulo p, if one of both is an array of these."""
    for each in numbers:
        if isinstance(each, LaneArray) and each.p != 2:
            return each.server
    return None


# ---- known numbers


def _numbers(what: str, x: Number, y: Number) -> tuple[LaneArray | Known, LaneArray | Known, int]:
    """The operands, as encrypted or known bits, and how many bits they have."""
    if isinstance(x, LaneArray) and isinstance(y, LaneArray):
        return *_pair(x, y), x.shape[0]
    if isinstance(x, LaneArray):
        return x, _known(what, y, x), x.shape[0]
    if isinstance(y, LaneArray):
        return _known(what, x, y), y, y.shape[0]
    raise TypeError(
        f"{what}: a LaneArray is needed, and {type(x).__name__} and {type(y).__name__} are none"
    )


def _known(what: str, numbers: ArrayLike, beside: LaneArray) -> Known:
    """The bits of numbers, as many as `beside` has."""
    bits = _pair(beside, beside)[0].shape[0]
    values = whole_numbers(numbers, what)
    for value in values.reshape(-1):
        if not 0 <= int(value) < 1 << bits:
            raise ParameterError(
                f"{what}: {shown(int(value))} is outside 0 … {shown((1 << bits) - 1)}, the numbers "
                f"of {bits} bits that it is compared with: give these more bits, by zeros of "
                "Server.constant, or decide it without ciphertexts"
            )
    rows = [[int(value) >> i & 1 for value in values.reshape(-1)] for i in range(bits)]
    return np.array(rows, dtype=np.bool_).reshape(bits, *values.shape)


def _meeting(x: LaneArray, known: Known) -> tuple[LaneArray, Known]:
    """Both of one shape, for bits along the first axis and vectors that broadcast."""
    shape = (len(known), *np.broadcast_shapes(x.shape[1:], known.shape[1:]))
    given = x.reshape(under_bits(x.shape, len(shape)))
    return (
        given if given.shape == shape else given.broadcast_to(shape),
        np.broadcast_to(known.reshape(under_bits(known.shape, len(shape))), shape),
    )


def _chosen(x: LaneArray, other: LaneArray, where: Known) -> LaneArray:
    """x where this is 1, and elsewhere the other, which has one vector or as many; no product."""
    both = concatenate([other.ravel(), x.ravel()])
    place = np.arange(x.size).reshape(x.shape)
    return both[np.where(where, other.size + place, place if other.size > 1 else 0)]


def _and(x: LaneArray | Known, y: LaneArray | Known) -> LaneArray:
    """x ∧ y, of which one at least is encrypted; no product if the other is known."""
    if isinstance(x, LaneArray) and isinstance(y, LaneArray):
        return x & y
    array, ones = _apart(x, y)
    return _chosen(array, array.server.constant(array.ravel()[:1], False), ones)


def _same(x: LaneArray | Known, y: LaneArray | Known) -> LaneArray:
    """¬(x ⊕ y), of which one at least is encrypted; no product if the other is known."""
    if isinstance(x, LaneArray) and isinstance(y, LaneArray):
        return ~(x ^ y)
    array, ones = _apart(x, y)
    return _chosen(array, ~array, ones)


def _apart(x: LaneArray | Known, y: LaneArray | Known) -> tuple[LaneArray, Known]:
    """The encrypted and the known one."""
    if isinstance(x, LaneArray):
        return _meeting(x, np.asarray(y))
    assert isinstance(y, LaneArray)
    return _meeting(y, x)


def server_of(*arrays: Any) -> Server:
    """The server of the first array; `TypeError` unless all are arrays."""
    for each in arrays:
        if not isinstance(each, LaneArray):
            raise TypeError(f"a LaneArray is needed, not {type(each).__name__}")
    server: Server = arrays[0].server
    return server


def under_bits(shape: Shape, ndim: int) -> Shape:
    """The shape with axes of length 1 behind the first one, so many in all: then the others
    broadcast."""
    return (shape[0], *[1] * (ndim - len(shape)), *shape[1:])


def _pair(x: LaneArray, y: LaneArray) -> tuple[LaneArray, LaneArray]:
    """Numbers of equal bits, whose vectors broadcast."""
    server_of(x, y)
    if not x.shape or not y.shape or x.shape[0] != y.shape[0]:
        raise ShapeError(
            f"numbers of shapes {x.shape} and {y.shape} have other bits along the first axis"
        )
    lift(x, y)
    ndim = max(x.ndim, y.ndim)
    return x.reshape(under_bits(x.shape, ndim)), y.reshape(under_bits(y.shape, ndim))


def lift(*numbers: LaneArray) -> None:
    """Refreshes numbers that have no levels left: gates would refresh copies of their bits, a bit
    at a time, and again at the next call."""
    server = server_of(*numbers)
    least = server.parameters.least_bootstrap_level + 2
    low = [number for number in numbers if number.level < least]
    if low:
        server.refresh(*low)
