"""Sums of many bits: columns of bits of one weight, of which counters make fewer."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.array import stack
from ..errors import ShapeError
from ._integers import lift, server_of, under_bits
from ._server import LaneArray, Server

AT_ONCE = 8
"""Columns whose products are made together: more of them take memory, fewer take longer."""
LEAST_COUNTED = 7
"""So many bits of a column go through a bootstrap that counts them; fewer take products."""
ADDER_LEVELS = 2
"""What a full adder takes."""

Columns = list[list[LaneArray]]
"""Bits of weight 2^i in list i."""


def multiply(x: LaneArray, y: LaneArray) -> LaneArray:
    """x·y of n and m bits, as n + m bits; the other axes broadcast.

    n·m products are added up by columns of bits of one weight: full adders make a sum and a carry
    of three bits (Wallace, IEEE Trans. Electronic Computers 1964), by two products, until each
    column has two bits; a sum of two numbers is the end. With parameters whose bootstraps hold k
    bits in a coefficient, columns of 7 to 2^k - 1 bits are counted by a bootstrap. Of integers
    modulo p it is `x * y`. `ShapeError` for arrays without an axis of bits.
    """
    server = server_of(x, y)
    if x.p != 2:
        return x * y
    for each in (x, y):
        if not each.shape or not each.shape[0]:
            raise ShapeError(f"multiply: shape {each.shape} has no first axis of bits")
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
        _reduce(server, columns, 2, adds_first=True)
    return _sum_of_two(server, columns)


def popcount(x: LaneArray) -> LaneArray:
    """How many of the n bits along the first axis are 1, as ⌊log2 n⌋ + 1 bits.

    It takes about 2n products, by full adders, or bootstraps that count (`multiply`). `ShapeError`
    for an array without an axis of bits.
    """
    server = server_of(x)
    if not x.shape or not x.shape[0]:
        raise ShapeError(f"popcount: shape {x.shape} has no first axis of bits")
    columns: Columns = [[] for _ in range(x.shape[0].bit_length())]
    columns[0] = [x[i] for i in range(x.shape[0])]
    _reduce(server, columns, 2)
    return _sum_of_two(server, columns)


def _counted(server: Server) -> int:
    """The most bits that a bootstrap counts."""
    bootstrap = server.parameters.literal()["bootstrap"]
    bits = int(bootstrap.get("bits", 0)) if bootstrap else 0
    return (1 << bits) - 1


def _reduce(server: Server, columns: Columns, most: int, adds_first: bool = False) -> None:
    """Counts bits until no column has more than so many. Carries beyond the last one are zeros.

    A bootstrap that counts takes as long as some sixty full adders and saves 26 bits at most. So
    where there are many columns, more bits than it counts are added by products before, as long as
    they have levels.
    """
    counted = _counted(server)
    least = server.parameters.least_bootstrap_level + 2 * ADDER_LEVELS
    while any(len(column) > most for column in columns):
        # What is joined comes to the lowest level: groups are of bits of one level, as far as there
        # are such bits, and all groups of a size and a level are one call.
        groups: dict[tuple[int, int], list[tuple[int, list[LaneArray]]]] = {}
        for i, column in enumerate(columns):
            if len(column) <= most:
                continue
            column.sort(key=lambda bit: -bit.level)
            adds = adds_first and len(column) > counted and column[2].level >= least
            counts = not adds and counted >= LEAST_COUNTED <= len(column)
            size = min(counted, len(column)) if counts else 3
            while len(column) >= size and (not adds or column[2].level >= least):
                level = column[size - 1].level
                groups.setdefault((size, level), []).append((i, column[:size]))
                del column[:size]
        for (size, _), alike in groups.items():
            arrays = [stack([group[k] for _, group in alike]) for k in range(size)]
            for weight, bits in enumerate(_count(server, arrays)):
                for place, (i, _) in enumerate(alike):
                    if i + weight < len(columns):
                        columns[i + weight].append(bits[place])


def _count(server: Server, arrays: Sequence[LaneArray]) -> Sequence[LaneArray]:
    """The bits of how many are 1."""
    if len(arrays) == 3:
        return server.full_add(*arrays)
    return list(server.count_ones(stack(arrays)))


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
