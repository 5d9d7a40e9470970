"""Products and counts of numbers of many bits: by sums in coefficients, or by full adders."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._core.array import stack
from ..errors import ParameterError, ShapeError
from ._integers import lift, server_of, under_bits
from ._server import LaneArray, Server

AT_ONCE = 8
"""Columns whose products are made together: more of them take memory, fewer take longer."""

LEAST_COUNTED = 7
"""So many bits are counted by a bootstrap; fewer by full adders, which take less."""

Columns = list[list[LaneArray]]
"""Bits of weight 2^i in list i."""


def multiply(x: LaneArray, y: LaneArray) -> LaneArray:
    """x·y of n and m bits, as n + m bits; the other axes broadcast.

    With parameters whose bootstraps hold k bits in a coefficient, digits of up to k bits are
    multiplied and added up as they are, by one level, and the bits of each sum, the lowest first,
    come out of bootstraps: about (n + m)/k, one after another. With parameters for real numbers n·m
    products of bits are added up by full adders (Wallace, IEEE Trans. Electronic Computers 1964).
    Of integers modulo p it is `x * y`. `ShapeError` for arrays without an axis of bits.
    """
    server = server_of(x, y)
    if x.p != 2:
        return x * y
    for each in (x, y):
        if not each.shape or not each.shape[0]:
            raise ShapeError(f"multiply: shape {each.shape} has no first axis of bits")
    if _has_bits(server) and min(x.shape[0], y.shape[0]) > 1:
        return server.multiply_numbers(*_alike("multiply", x, y))
    lift(x, y)
    wide, short = (x, y) if x.shape[0] >= y.shape[0] else (y, x)
    bits, rows, ndim = wide.shape[0], short.shape[0], max(x.ndim, y.ndim)
    wide = wide.reshape(under_bits(wide.shape, ndim))
    short = short.reshape(under_bits(short.shape, ndim))
    columns: Columns = [[] for _ in range(bits + rows)]
    for first in range(0, bits + rows, AT_ONCE):
        for j in range(rows):
            low, high = max(first - j, 0), min(first + AT_ONCE - j, bits)
            if low < high:
                made = wide[low:high] & short[j]
                for i in range(low, high):
                    columns[i + j].append(made[i - low])
        _reduce(server, columns)
    return _sum_of_two(server, columns)


def total(numbers: Iterable[LaneArray]) -> LaneArray:
    """The sum of m numbers of n bits, the longest ones, as n + ⌈log2 m⌉ bits; other axes broadcast.

    With parameters whose bootstraps hold k bits in a coefficient, digits of up to k bits are added
    up without products, and bits come out of bootstraps, refreshed: one for each digit, however
    many numbers there are; of more numbers errors bear smaller digits. With parameters for real
    numbers full adders add them up. `ShapeError` for arrays without an axis of bits and for others
    that do not broadcast, `ParameterError` for no number and for integers modulo p.
    """
    each: LaneArray
    given = list(numbers)
    if not given:
        raise ParameterError("total: no number is given")
    server = server_of(*given)
    for each in given:
        if each.p != 2:
            raise ParameterError(f"total: integers modulo {each.p} are added by +; these are bits")
        if not each.shape or not each.shape[0]:
            raise ShapeError(f"total: shape {each.shape} has no first axis of bits")
    alike = _alike("total", *given)
    if len(alike) == 1:
        return alike[0]
    if _has_bits(server):
        return server.sum_numbers(alike)
    bits = max(each.shape[0] for each in alike)
    columns: Columns = [[] for _ in range(bits + (len(alike) - 1).bit_length())]
    for each in alike:
        for i in range(each.shape[0]):
            columns[i].append(each[i])
    _reduce(server, columns)
    return _sum_of_two(server, columns)


def popcount(x: LaneArray) -> LaneArray:
    """How many of the n bits along the first axis are 1, as ⌊log2 n⌋ + 1 bits.

    It takes about 2n products, by full adders, or `server.count_ones`, where the parameters'
    bootstraps are for bits. `ShapeError` for an array without an axis of bits.
    """
    server = server_of(x)
    if not x.shape or not x.shape[0]:
        raise ShapeError(f"popcount: shape {x.shape} has no first axis of bits")
    if _has_bits(server) and x.shape[0] >= LEAST_COUNTED:
        return server.count_ones(x)
    columns: Columns = [[] for _ in range(x.shape[0].bit_length())]
    columns[0] = [x[i] for i in range(x.shape[0])]
    _reduce(server, columns)
    return _sum_of_two(server, columns)


def _alike(what: str, *numbers: LaneArray) -> list[LaneArray]:
    """Numbers whose axes behind that of bits are broadcast."""
    try:
        shape = np.broadcast_shapes(*(each.shape[1:] for each in numbers))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in numbers)
        raise ShapeError(f"{what}: axes behind the first of {shapes} do not broadcast") from None
    return [
        each.reshape(under_bits(each.shape, 1 + len(shape))).broadcast_to((each.shape[0], *shape))
        for each in numbers
    ]


def _has_bits(server: Server) -> bool:
    """Whether the parameters' bootstraps are for bits."""
    bootstrap = server.parameters.literal()["bootstrap"]
    return bool(bootstrap and bootstrap.get("bits", 0))


def _reduce(server: Server, columns: Columns) -> None:
    """Adds bits until no column has more than two. Carries beyond the last one are zeros."""
    while any(len(column) > 2 for column in columns):
        # What is joined comes to the lowest level: groups are of bits of one level, as far as there
        # are such bits, and all groups of a level are one call.
        groups: dict[int, list[tuple[int, list[LaneArray]]]] = {}
        for i, column in enumerate(columns):
            column.sort(key=lambda bit: -bit.level)
            while len(column) > 2:
                groups.setdefault(column[2].level, []).append((i, column[:3]))
                del column[:3]
        for alike in groups.values():
            a, b, c = (stack([group[k] for _, group in alike]) for k in range(3))
            for weight, bits in enumerate(server.full_add(a, b, c)):
                for place, (i, _) in enumerate(alike):
                    if i + weight < len(columns):
                        columns[i + weight].append(bits[place])


def _sum_of_two(server: Server, columns: Columns) -> LaneArray:
    """The sum of columns of at most two bits, modulo 2 to the number of columns."""
    sums: list[LaneArray] = []
    carry: LaneArray | None = None
    for column in columns:
        bits = column if carry is None else [*column, carry]
        carry = None
        if len(bits) == 3:
            total, carry = server.full_add(*bits)
        elif len(bits) == 2:
            total, carry = bits[0] ^ bits[1], bits[0] & bits[1]
        elif bits:
            total = bits[0]
        else:
            total = server.constant(sums[0], False)
        sums.append(total)
    return stack(sums)
