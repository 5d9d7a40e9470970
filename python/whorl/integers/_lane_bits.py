"""Integers as bits in lanes: the arithmetic on a server of `whorl.lanes`."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lanes
from .._core.array import Shape, concatenate
from .._core.integers import Integers
from ..errors import EncodingError, ShapeError
from ._types import Kind

PART = 30
"""Bits of entries that one table of lanes looks up."""
MOST_INPUTS = 16
"""Bits of an index of such a table."""


@dataclasses.dataclass(frozen=True)
class LaneNumber:
    """Integers of one type: bits along the first axis and vectors along the second one, or integers
    that everybody knows."""

    bits: int
    signed: bool
    held: Any

    @property
    def known(self) -> bool:
        """Whether everybody knows them."""
        return isinstance(self.held, np.ndarray)

    @property
    def kind(self) -> Kind:
        """Bits and sign."""
        return Kind(self.bits, self.signed)


class LaneArithmetic:
    """Arithmetic on bits in lanes. The values of a number lie in its vectors one after the other,
    so that whole vectors can be moved, and single values cannot."""

    def __init__(self, server: lanes.Server) -> None:
        self.server = server
        self._like: Any = None

    # ---- where numbers come from

    def received(self, data: Any, bits: int, signed: bool) -> tuple[LaneNumber, Shape]:
        """What a client encrypted, and its shape."""
        array = self.server.upload(data)
        return self.on_device(array, bits, signed), (*array.shape[1:], array.lanes)

    def on_device(self, array: lanes.LaneArray, bits: int, signed: bool) -> LaneNumber:
        """Bits along the first axis, as a number."""
        self._like = array.ravel()[:1]
        return LaneNumber(bits, signed, array.reshape(bits, -1))

    def sent(self, x: LaneNumber, shape: Shape, carries: bool) -> Any:
        """What a client decrypts."""
        return self.server.download(self.vectors(x, shape))

    def vectors(self, x: LaneNumber, shape: Shape) -> lanes.LaneArray:
        """The bits of an array of this shape, whose last axis is in lanes."""
        array: lanes.LaneArray = self._array(x).reshape(x.bits, *shape[:-1])
        return array

    def nbytes(self, x: LaneNumber) -> int:
        """Bytes on the device."""
        return 0 if x.known else int(x.held.nbytes)

    def known(self, values: Sequence[int], bits: int, signed: bool) -> LaneNumber:
        """Integers that everybody knows."""
        return LaneNumber(bits, signed, np.array([*values, None], dtype=np.object_)[:-1])

    def take(self, x: LaneNumber, index: Integers) -> LaneNumber:
        """Values by their numbers: whole vectors, `ShapeError` for others."""
        if x.known:
            return dataclasses.replace(x, held=x.held[index])
        size = x.held.lanes
        if len(index) % size:
            raise ShapeError(_MOVED)
        places = index.reshape(-1, size)
        if np.any(places != places[:, :1] + np.arange(size)) or np.any(places[:, 0] % size):
            raise ShapeError(_MOVED)
        return dataclasses.replace(x, held=x.held[:, places[:, 0] // size])

    def join(self, numbers: Sequence[LaneNumber]) -> LaneNumber:
        """Values of several numbers."""
        if all(x.known for x in numbers):
            return dataclasses.replace(numbers[0], held=np.concatenate([x.held for x in numbers]))
        parts = [self._array(x) for x in numbers]
        return dataclasses.replace(numbers[0], held=concatenate(parts, axis=1))

    def _array(self, x: LaneNumber) -> Any:
        """Encrypted bits, also of known integers."""
        if not x.known:
            return x.held
        if self._like is None:
            raise ShapeError("known integers meet encrypted ones in lanes; there are none yet")
        size = self._like.lanes
        if len(x.held) % size:
            raise ShapeError(_MOVED)
        rows = [[value >> i & 1 for value in x.held] for i in range(x.bits)]
        return self.server.known(self._like, np.array(rows).reshape(x.bits, -1, size))

    def _both(self, x: LaneNumber, y: LaneNumber) -> tuple[Any, Any]:
        return self._array(x), self._array(y)

    def _clear(self, x: LaneNumber, values: Any) -> LaneNumber:
        wrapped = [x.kind.wrap(int(value)) for value in values]
        return self.known(wrapped, x.bits, x.signed)

    def _of(self, x: LaneNumber, array: Any) -> LaneNumber:
        """The lowest bits of an array, as a number of the type of x."""
        return dataclasses.replace(x, held=array[: x.bits])

    def _zeros(self, array: Any, count: int) -> Any:
        """So many bits 0 beside those of an array."""
        zero = self.server.constant(array[:1], 0)
        return zero[np.zeros(count, dtype=np.int64)]

    # ---- form

    def flush(self, x: LaneNumber) -> LaneNumber:
        """The number itself: carries are made at once."""
        return x

    settle = flush

    def cast(self, x: LaneNumber, bits: int, signed: bool) -> LaneNumber:
        """Modulo 2^bits; wider integers keep their values."""
        to = LaneNumber(bits, signed, x.held)
        if x.known:
            return self._clear(to, x.held)
        more = bits - x.bits
        if more <= 0:
            return self._of(to, x.held)
        last = x.held[np.full(more, x.bits - 1)] if x.signed else self._zeros(x.held, more)
        return self._of(to, concatenate([x.held, last]))

    # ---- sums and products

    def add(self, x: LaneNumber, y: LaneNumber) -> LaneNumber:
        """x + y."""
        if x.known and y.known:
            return self._clear(x, x.held + y.held)
        return self._of(x, lanes.add(*self._both(x, y)))

    def subtract(self, x: LaneNumber, y: LaneNumber) -> LaneNumber:
        """x - y."""
        if x.known and y.known:
            return self._clear(x, x.held - y.held)
        return self._of(x, lanes.subtract(*self._both(x, y)))

    def negate(self, x: LaneNumber) -> LaneNumber:
        """-x."""
        if x.known:
            return self._clear(x, -x.held)
        return self._of(x, lanes.subtract(self._zeros(x.held, x.bits), x.held))

    def invert(self, x: LaneNumber) -> LaneNumber:
        """-x - 1."""
        return self._clear(x, -x.held - 1) if x.known else self._of(x, ~x.held)

    def sum_of(self, numbers: Sequence[LaneNumber]) -> LaneNumber:
        """The sum of several numbers, by a tree of sums."""
        rest = list(numbers)
        while len(rest) > 1:
            even = len(rest) // 2 * 2
            pairs = zip(rest[0:even:2], rest[1:even:2], strict=True)
            rest = [*(self.add(a, b) for a, b in pairs), *rest[even:]]
        return rest[0]

    def multiply(self, x: LaneNumber, y: LaneNumber) -> LaneNumber:
        """x·y."""
        if x.known and y.known:
            return self._clear(x, x.held * y.held)
        return self._of(x, lanes.multiply(*self._both(x, y)))

    def multiply_known(self, x: LaneNumber, factor: int) -> LaneNumber:
        """x times a known integer, by its non-adjacent form."""
        factor %= 1 << x.bits
        if x.known or not factor:
            size = len(x.held) if x.known else x.held.shape[1] * x.held.lanes
            return self._clear(x, x.held * factor if x.known else [0] * size)
        total: LaneNumber | None = None
        for place in range(x.bits):
            if factor >> place & 1:
                sign = 2 - (factor >> place & 3)
                factor -= sign << place
                part = self.left(x, place)
                if total is None:
                    total = part if sign > 0 else self.negate(part)
                else:
                    total = self.add(total, part) if sign > 0 else self.subtract(total, part)
        assert total is not None
        return total

    def divide(
        self, x: LaneNumber, y: LaneNumber, rest: bool = True
    ) -> tuple[LaneNumber, LaneNumber]:
        """x / y rounded down, and the remainder, of unsigned numbers: a bit of the quotient for
        each subtraction. For y = 0 all of its bits are 1, and the remainder is x. It is there in
        any case."""
        a, b = self._both(x, y)
        zero = self._zeros(a, 1)
        wide, left = concatenate([b, zero]), self._zeros(a, x.bits + 1)
        bits = []
        for i in range(x.bits - 1, -1, -1):
            left = concatenate([a[i : i + 1], left[: x.bits]])
            less = lanes.subtract(left, wide)
            bits.append(~less[-1:])
            left = self.server.where(bits[-1], less[: x.bits + 1], left)
        return self._of(x, concatenate(bits[::-1])), self._of(x, left)

    # ---- comparisons and choices

    def compare(self, x: LaneNumber, y: LaneNumber, name: str) -> LaneNumber:
        """`lt`, `le`, `gt`, `ge`, `eq` or `ne`, as numbers of one bit."""
        if x.known and y.known:
            call = getattr(operator, name)
            return self.known([int(v) for v in call(x.held, y.held)], 1, False)
        a, b = self._both(x, y)
        if name in ("eq", "ne"):
            bit = lanes.equal(a, b)
        else:
            if x.signed:
                # With the other sign they are in the order of unsigned ones.
                a, b = (self._turned(each) for each in (a, b))
            bit = lanes.less(a, b) if name in ("lt", "ge") else lanes.less(b, a)
        return LaneNumber(1, False, (~bit if name in ("ne", "ge", "le") else bit)[None])

    def _turned(self, array: Any) -> Any:
        """The same with the highest bit flipped."""
        last = ~array[-1:]
        return concatenate([array[:-1], last]) if array.shape[0] > 1 else last

    def select(self, which: LaneNumber, x: LaneNumber, y: LaneNumber) -> LaneNumber:
        """x where the bit is 1, else y."""
        a, b = self._both(x, y)
        return self._of(x, self.server.where(self._array(which), a, b))

    # ---- bits

    def bitwise(self, x: LaneNumber, y: LaneNumber, name: str) -> LaneNumber:
        """`and`, `or` or `xor`."""
        call = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[name]
        if x.known and y.known:
            return self._clear(x, call(x.held, y.held))
        return self._of(x, call(*self._both(x, y)))

    def left(self, x: LaneNumber, by: int) -> LaneNumber:
        """x·2^by."""
        array, by = self._array(x), min(by, x.bits)
        return self._of(x, concatenate([self._zeros(array, by), array]) if by else array)

    def right(self, x: LaneNumber, by: int) -> LaneNumber:
        """x / 2^by, rounded down."""
        array, by = self._array(x), min(by, x.bits)
        if not by:
            return x
        last = array[np.full(by, x.bits - 1)] if x.signed else self._zeros(array, by)
        return self._of(x, concatenate([array[by:], last]) if by < x.bits else last)

    def rotate(self, x: LaneNumber, by: int) -> LaneNumber:
        """Bits moved up, those of the upper end to the lower one."""
        return self._of(x, self._array(x)[(np.arange(x.bits) - by) % x.bits])

    def shift(self, x: LaneNumber, by: LaneNumber, up: bool) -> LaneNumber:
        """`left` or `right` by encrypted unsigned amounts: a choice for each bit of the amount."""
        move = self.left if up else self.right
        for j in range(by.bits):
            x = self.select(self._bit(by, j), move(x, min(1 << j, x.bits)), x)
        return x

    def turn(self, x: LaneNumber, by: LaneNumber) -> LaneNumber:
        """`rotate` by encrypted unsigned amounts."""
        for j in range(by.bits):
            if (1 << j) % x.bits:
                x = self.select(self._bit(by, j), self.rotate(x, (1 << j) % x.bits), x)
        return x

    def _bit(self, x: LaneNumber, j: int) -> LaneNumber:
        return LaneNumber(1, False, self._array(x)[j : j + 1])

    def count_ones(self, x: LaneNumber, bits: int) -> LaneNumber:
        """How many bits are 1, as unsigned integers of so many bits."""
        return self._counted(self._array(x), bits)

    def _counted(self, array: Any, bits: int) -> LaneNumber:
        counted = lanes.popcount(array)
        made = LaneNumber(counted.shape[0], False, counted)
        return self.cast(made, bits, False)

    def count_zeros(self, x: LaneNumber, bits: int, leading: bool) -> LaneNumber:
        """How many bits are 0 above the highest 1, or below the lowest one: those that stay 0 where
        each 1 spreads down, or up."""
        array, by = self._array(x), 1
        while by < x.bits:
            zeros = self._zeros(array, by)
            moved = [array[by:], zeros] if leading else [zeros, array[:-by]]
            array, by = array | concatenate(moved), 2 * by
        return self._counted(~array, bits)

    def lookup(self, x: LaneNumber, table: Sequence[int], bits: int) -> LaneNumber:
        """Entries of a known table at unsigned places, as unsigned integers; 0 behind its end."""
        array, needed = self._array(x), max(1, (len(table) - 1).bit_length())
        padded = [*table, *[0] * ((1 << needed) - len(table))]
        parts = []
        for first in range(0, bits, PART):
            width = min(PART, bits - first)
            entries = [entry >> first & (1 << width) - 1 for entry in padded]
            made = self.server.lookup(array[:needed], entries)
            missing = width - made.shape[0]
            parts += [made, self._zeros(made, missing)] if missing else [made]
        found = concatenate(parts)
        if x.bits > needed:
            upper = array[needed:]
            while upper.shape[0] > 1:
                half = upper.shape[0] // 2
                both = upper[:half] | upper[half : 2 * half]
                upper = concatenate([both, upper[2 * half :]]) if upper.shape[0] % 2 else both
            found = found & ~upper
        return LaneNumber(bits, False, found)


_MOVED = (
    "in lanes the last axis of an array is that of the lanes of its vectors: it is taken as a "
    "whole, and other axes are indexed, added up and joined"
)


def as_bits(values: Integers, kind: Kind) -> Integers:
    """The bits of Python's integers along a first axis; `EncodingError` for a single integer."""
    if not values.ndim:
        raise EncodingError("values: lanes are vectors: give an array of them")
    rows = [[int(value) >> i & 1 for value in values.reshape(-1)] for i in range(kind.bits)]
    return np.array(rows, dtype=np.uint8).reshape(kind.bits, *values.shape)


def integers_of_bits(bits: Integers, kind: Kind) -> list[int]:
    """The integers of bits along a first axis, a value for each column."""
    totals = [0] * bits.shape[1]
    for row in bits[::-1].tolist():
        totals = [2 * total + int(bit) for total, bit in zip(totals, row, strict=True)]
    return [kind.wrap(total) for total in totals]
