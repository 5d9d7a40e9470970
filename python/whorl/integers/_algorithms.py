"""Functions of arrays of integers, by the operators that they have."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import concatenate
from ..errors import EncodingError, ShapeError
from ..lanes._sort import layers
from ._arrays import IntegerArray, UintArray
from ._types import MOST_BITS, Kind, as_kind, as_values

A = TypeVar("A", bound=IntegerArray)
MOST_ENTRIES = 2**16
"""A table that is looked up has no more."""


def _needs(what: str, *arrays: Any) -> None:
    for each in arrays:
        if not isinstance(each, IntegerArray):
            raise TypeError(f"{what}: an array of integers is needed, not {type(each).__name__}")


# ---- quotients


def divide(x: A, y: Any, rest: bool = True) -> tuple[A, A]:
    """`divmod(x, y)`: rounded down, and a remainder of the sign of y. Without `rest` x may stand in
    its place, where the remainder takes work of its own."""
    if not isinstance(y, IntegerArray):
        if np.ndim(y) == 0:
            return _divide_known(x, int(as_values(y, x.kind, "divisor")[()]), rest)
        y = x._known_like(y)
    if not x.signed:
        return _divide_unsigned(x, x._known_like(y), rest)
    server, bits = x.server, x.bits
    y = x._known_like(y)
    q, r = _divide_unsigned(abs(x).astype(bits), abs(y).astype(bits), True)
    quotient, left = q.astype(bits, True), r.astype(bits, True)
    apart = ((x < 0) ^ (y < 0)) & (y != 0)
    # Of different signs the quotient is that of sizes, rounded up and negated.
    ragged = apart & (left != 0)
    quotient = server.where(ragged, ~quotient, server.where(apart, -quotient, quotient))
    if not rest:
        return quotient, x
    left = server.where(ragged, abs(y) - left, left)
    left = server.where(y < 0, -left, left)
    return quotient, server.where(y == 0, x, left)


def _divide_unsigned(x: A, y: Any, rest: bool) -> tuple[A, A]:
    a, b, shape = x.server._meet(x, y)
    quotient, left = x.server._on.divide(a, b, rest)
    return x._like(quotient, shape), x._like(left, shape)


def _divide_known(x: A, divisor: int, rest: bool) -> tuple[A, A]:
    if divisor == 0:
        return x * 0 + x.kind.wrap(-1), x
    if divisor > 0:
        quotient = _quotient(x, divisor)
    else:
        # -x has a bit more, and x / -d is -x / d.
        quotient = _quotient(-_wide(x, x.bits + 1, True), -divisor)
    made = _wide(quotient, x.bits, x.signed)
    return made, x - made * divisor if rest else x


def _quotient(x: Any, divisor: int) -> Any:
    """x / d rounded down for d > 0: the upper part of x·m, with m = ⌈2^s/d⌉ and s = bits + ⌈log2 d⌉
    (Granlund, Montgomery, PLDI 1994, Theorem 4.2)."""
    size = (divisor - 1).bit_length()
    if divisor == 1 << size:
        return x >> size
    # Signed integers are moved to be positive, by a multiple of the divisor.
    steps = -(-(1 << x.bits - 1) // divisor) if x.signed else 0
    bits = x.bits + 1 if x.signed else x.bits
    moved = _wide(_wide(x, bits + 1, True) + steps * divisor, bits, False) if x.signed else x
    factor = -(-(1 << bits + size) // divisor)
    width = bits + factor.bit_length()
    product = _wide(moved, width + width % 2, False) * factor  # of whole digits
    upper = product >> bits + size
    if not x.signed:
        return _wide(upper, x.bits, False)
    return _wide(_wide(upper, x.bits + 1, True) - steps, x.bits, True)


def _wide(x: Any, bits: int, signed: bool) -> Any:
    """`astype`, also to more bits than users have."""
    return x._made(x.server._on.cast(x._core, bits, signed), x.shape)


# ---- choices


def minimum(x: Any, y: Any) -> Any:
    """The smaller one of each pair, of which one may be known."""
    a, b = _pair("minimum", x, y)
    return a.server.where(a < b, a, b)


def maximum(x: Any, y: Any) -> Any:
    """The larger one of each pair, of which one may be known."""
    a, b = _pair("maximum", x, y)
    return a.server.where(a < b, b, a)


def _pair(what: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Both as arrays of one type, the encrypted one first."""
    first, other = (x, y) if isinstance(x, IntegerArray) else (y, x)
    _needs(what, first)
    return first, first._known_like(other)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition, of one bit, is 1, and y elsewhere.

    The condition, or one of both choices, may be known; at least one choice is encrypted.
    """
    given = next((each for each in (condition, x, y) if isinstance(each, IntegerArray)), condition)
    _needs("where", given)
    return given.server.where(condition, x, y)


def sort(x: A) -> A:
    """The integers along the first axis in order, the smallest one first.

    The network is Batcher's merge exchange (`lanes.sort`); the comparisons of a layer are done at
    once. `ShapeError` for a single integer.
    """
    _needs("sort", x)
    if not x.ndim:
        raise ShapeError("sort: a single integer has no axis")
    for low, high in layers(x.shape[0]):
        a, b = x[low], x[high]
        swap = b < a
        rest = np.setdiff1d(np.arange(x.shape[0]), [*low, *high])
        smaller, larger = x.server.where(swap, b, a), x.server.where(swap, a, b)
        made = concatenate([smaller, larger, *([x[rest]] if len(rest) else [])])
        x = made[np.argsort([*low, *high, *rest])]
    return x


def argmin(x: IntegerArray) -> UintArray:
    """Where the smallest integer along the first axis is; of equal ones the first one."""
    return _extreme(x, smallest=True)


def argmax(x: IntegerArray) -> UintArray:
    """Where the largest integer along the first axis is; of equal ones the first one."""
    return _extreme(x, smallest=False)


def _extreme(x: Any, smallest: bool) -> UintArray:
    """By a tree of comparisons, all of a layer at once."""
    _needs("argmin" if smallest else "argmax", x)
    if not x.ndim or not x.shape[0]:
        raise ShapeError(f"shape {x.shape} has no axis of integers to choose from")
    count = x.shape[0]
    width = max(2, (count - 1).bit_length())  # one bit would be a bool
    places = np.arange(count).reshape(-1, *[1] * (x.ndim - 1))
    index = x.server.known(np.broadcast_to(places, x.shape), width)
    while count > 1:
        even = count // 2 * 2
        a, b, i, j = x[0:even:2], x[1:even:2], index[0:even:2], index[1:even:2]
        later = b < a if smallest else b > a
        best, place = x.server.where(later, b, a), x.server.where(later, j, i)
        x = concatenate([best, x[even:]]) if even < count else best
        index = concatenate([place, index[even:]]) if even < count else place
        count = x.shape[0]
    made: UintArray = index[0]
    return made


# ---- sums


def dot(x: A, y: Any) -> A:
    """The sum of x·y along the first axis; it wraps."""
    _needs("dot", x)
    made: A = (x * y).sum(axis=0)
    return made


def overflowing_add(x: A, y: Any) -> tuple[A, UintArray]:
    """x + y, and whether the type does not have the sum."""
    return _overflowing(x, y, x.bits + 1, lambda a, b: a + b)


def overflowing_sub(x: A, y: Any) -> tuple[A, UintArray]:
    """x - y, and whether the type does not have the difference."""
    return _overflowing(x, y, x.bits + 1, lambda a, b: a - b)


def overflowing_mul(x: A, y: Any) -> tuple[A, UintArray]:
    """x·y, and whether the type does not have the product."""
    return _overflowing(x, y, 2 * x.bits, lambda a, b: a * b)


def _overflowing(x: A, y: Any, bits: int, operation: Any) -> tuple[A, UintArray]:
    """The result in so many bits, in which it is exact, or negative: of unsigned differences."""
    _needs("overflowing", x)
    other = x._known_like(y)
    wide = operation(*(_wide(each, bits, x.signed) for each in (x, other)))
    wide = wide.server.canonical(wide)
    made = _wide(wide, x.bits, x.signed)
    return made, wide != _wide(made, bits, x.signed)


# ---- tables


def lookup(table: ArrayLike, index: UintArray, bits: int | None = None) -> UintArray:
    """The entries of a table that everybody knows, at encrypted places.

    Args:
        table: up to 2^16 integers from 0 on.
        index: unsigned; places behind the end of the table hold 0.
        bits: of results; default: as few as the largest entry takes.

    One table of 16 entries is a rotation for each digit of the result; of more entries the lower
    two digits of the index take one for each 16, and the others choose.
    """
    _needs("lookup", index)
    if not isinstance(index, UintArray):
        raise TypeError("lookup: the index is unsigned; write index.astype(index.bits)")
    values = as_values(table, Kind(MOST_BITS), "table")
    if values.ndim != 1 or not 1 <= len(values) <= MOST_ENTRIES:
        raise ShapeError(f"table: shape {values.shape} is not 1 … {MOST_ENTRIES} integers")
    least = max(1, max(values.tolist()).bit_length())
    width = least if bits is None else as_kind(bits, False).bits
    if width < least:
        raise EncodingError(f"table: an entry has {least} bits, and results have {width}")
    entries = values.tolist()[: 1 << index.bits]
    number = index.server._on.lookup(index._core, entries, width)
    made: UintArray = index._made(number, index.shape)
    return made
