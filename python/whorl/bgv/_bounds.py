"""Bounds of unknown integers, slot by slot or coefficient by coefficient.

Bounds are floats that hold integers; those beyond 2^52 count as infinite, so that the others are
exact. No plaintext modulus comes near them.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ShapeError

Floats = np.ndarray[Any, np.dtype[np.float64]]
Rows = np.ndarray[Any, np.dtype[Any]]
LIMIT = 2.0**52


class Bounds(NamedTuple):
    """Least and largest values of rows of N integers: (count, N), or (1, N) if all rows share them.

    Slots are multiplied value by value (Moore, Interval Analysis, 1966), coefficients as
    polynomials modulo X^N + 1.
    """

    low: Floats
    high: Floats

    @staticmethod
    def of(low: Floats, high: Floats) -> Bounds:
        """The bounds. One beyond 2^52 becomes infinite, or 2^52 where that is also a bound."""
        return Bounds(
            np.where(low < -LIMIT, -math.inf, np.minimum(low, LIMIT)),
            np.where(high > LIMIT, math.inf, np.maximum(high, -LIMIT)),
        )

    @staticmethod
    def exactly(values: Rows) -> Bounds:
        """The bounds of known rows: both are the values."""
        known = values.astype(np.float64)
        return Bounds.of(known, known)

    def __add__(self, other: Bounds) -> Bounds:  # type: ignore[override]
        return Bounds.of(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Bounds:
        return Bounds(-self.high, -self.low)

    def __sub__(self, other: Bounds) -> Bounds:
        return self + -other

    def scaled(self, by: int) -> Bounds:
        """Each value times an integer."""
        factor = float(by) if abs(by) <= LIMIT else math.copysign(math.inf, by)
        ends = _product(self.low, factor), _product(self.high, factor)
        return Bounds.of(*(ends if by >= 0 else ends[::-1]))

    def times(self, other: Bounds) -> Bounds:
        """The product of two integers, slot by slot."""
        ends = [_product(a, b) for a in self for b in other]
        return Bounds.of(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def squared(self) -> Bounds:
        """The square of an integer, slot by slot."""
        ends = np.square(self.low), np.square(self.high)
        straddles = (self.low < 0) & (self.high > 0)
        return Bounds.of(np.where(straddles, 0, np.minimum(*ends)), np.maximum(*ends))

    def convolved(self, other: Bounds) -> Bounds:
        """The product of polynomials. Each coefficient is a sum of at most as many products as the
        shorter polynomial has terms."""
        N = self.low.shape[-1]
        lengths = self._length(), other._length()
        size = min(lengths) * self.largest() * other.largest() if min(lengths) else 0.0
        end = lengths[0] + lengths[1] - 1
        # Beyond N signs change.
        positive = end <= N and bool((self.low >= 0).all() and (other.low >= 0).all())
        rows = max(len(self.low), len(other.low))
        low, high = np.zeros((rows, N)), np.zeros((rows, N))
        low[:, : max(end, 0)] = 0 if positive else -size
        high[:, : max(end, 0)] = size
        return Bounds.of(low, high)

    def times_matrix(self, matrix: Rows, N: int) -> Bounds:
        """Rows of values times a matrix, filled up to N with zeros."""
        rows, columns = len(self.low), matrix.shape[-1]
        low, high = np.zeros((rows, N)), np.zeros((rows, N))
        up, down = np.maximum(matrix, 0).astype(float), np.minimum(matrix, 0).astype(float)
        if self.largest() * float(np.abs(matrix).sum(axis=0).max()) > LIMIT:
            low[:, :columns], high[:, :columns] = -math.inf, math.inf
        else:
            low[:, :columns] = self.low @ up + self.high @ down
            high[:, :columns] = self.high @ up + self.low @ down
        return Bounds(low, high)

    def rolled(self, columns: int) -> Bounds:
        """Both rows of N/2 slots rotated to the left."""
        low, high = (np.roll(each.reshape(len(each), 2, -1), -columns, axis=-1) for each in self)
        return Bounds(low.reshape(self.low.shape), high.reshape(self.high.shape))

    def summed(self, columns: int) -> Bounds:
        """Sums of so many slots of a row, from each slot on: a power of two."""
        total, step = self, 1
        while step < columns:
            total, step = total + total.rolled(step), 2 * step
        return total

    def values(self, length: int, each: int) -> Bounds:
        """The first `length` values of each vector of `each` rows, a vector in a row; 0: all."""
        low, high = (ends.reshape(-1, each * ends.shape[-1]) for ends in self)
        return Bounds(low[:, : length or None], high[:, : length or None])

    def kept(self, length: int, each: int) -> Bounds:
        """The same with zeros behind the first `length` values of each vector of `each` rows."""
        low, high = (ends.copy() for ends in self)
        for ends in (low, high):
            ends.reshape(-1, each * ends.shape[-1])[:, length:] = 0
        return Bounds(low, high)

    def swapped(self) -> Bounds:
        """The two rows of N/2 slots exchanged."""
        half = self.low.shape[-1] // 2
        return Bounds(np.roll(self.low, half, axis=-1), np.roll(self.high, half, axis=-1))

    def taken(self, indices: Rows) -> Bounds:
        """The rows at `indices`."""
        return self if len(self.low) == 1 else Bounds(self.low[indices], self.high[indices])

    @staticmethod
    def joined(each: Sequence[Bounds], counts: Sequence[int]) -> Bounds:
        """All bounds one after another; `counts` says how many rows each has."""

        def rows(one: Floats, count: int) -> Floats:
            return np.broadcast_to(one, (count, one.shape[-1]))

        return Bounds(
            np.concatenate([rows(b.low, n) for b, n in zip(each, counts, strict=True)]),
            np.concatenate([rows(b.high, n) for b, n in zip(each, counts, strict=True)]),
        )

    def largest(self) -> float:
        """The largest absolute value."""
        return max(float(np.abs(self.low).max()), float(np.abs(self.high).max()))

    def _length(self) -> int:
        """Terms of the polynomials, up to the last that may not be zero."""
        used = np.flatnonzero(((self.low != 0) | (self.high != 0)).any(axis=0))
        return int(used[-1]) + 1 if used.size else 0


class Traced:
    """An array, plaintexts or a matrix of a dry run, and what is known of the values."""

    def __init__(self, core: Any, known: Any) -> None:
        self.core, self.known = core, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)

    @property
    def bounds(self) -> Bounds:
        """The bounds of rows of N values, as ciphertexts hold them."""
        bounds: Bounds = self.known
        return bounds

    @property
    def values(self) -> Bounds:
        """Bounds of the vectors' values only, without the slots behind them."""
        return self.bounds.values(self.core.length, self.core.each)


# ---- what operations do to bounds


def rotated(a: Traced, columns: int) -> Bounds:
    """Bounds after a rotation; `ShapeError` for one that depends on the ring."""
    half = a.bounds.low.shape[-1] // 2
    if abs(columns) >= half:  # in a larger ring it would be another rotation
        raise ShapeError(
            f"rotate: columns = {columns} is not below N/2 = {half}, the length of a row"
        )
    return a.bounds.rolled(columns)


def parts(bounds: Bounds, each: int) -> list[Bounds]:
    """Bounds of each of the `each` rows that a vector has, for all vectors."""
    return [Bounds(*(ends[i::each] for ends in bounds)) for i in range(each)]


def total(bounds: Bounds, each: int) -> Bounds:
    """Bounds of the sum over all rows of each vector, in every slot."""
    row = functools.reduce(operator.add, parts(bounds, each)).summed(bounds.low.shape[-1] // 2)
    return row + row.swapped()


def product(a: Traced, b: Traced, *_: bool) -> Bounds:
    """Bounds of a product, in the packing of `a`."""
    if a.packing != "slots":
        return a.bounds.convolved(b.bounds)
    return a.bounds.squared() if a is b else a.bounds.times(b.bounds)


def dot(a: Traced, b: Traced) -> Bounds:
    """Bounds of the sum of products, in every slot."""
    if a.everywhere and getattr(b, "everywhere", False):
        return product(a, b)
    return total(product(a, b), max(a.each, b.each))


def matrix_product(a: Traced, matrix: Traced) -> Bounds:
    """Bounds of vectors times a matrix that is known."""
    given = Bounds(*(each[:, : matrix.rows] for each in a.bounds))
    return given.times_matrix(matrix.known, a.bounds.low.shape[-1])


def maps(a: Traced, maps: Traced) -> list[Bounds]:
    """Bounds of the sum of rotated values times diagonals, for each map."""
    values, step = maps.known
    turned = [a.bounds.rolled(k * step) for k in range(values.shape[1])]

    def of(diagonals: Rows) -> Bounds:
        known = (Bounds.exactly(row[None]) for row in diagonals)
        return functools.reduce(operator.add, map(Bounds.times, turned, known))

    return [of(each) for each in values]


def _product(a: Floats, b: Floats | float) -> Floats:
    """The product of bounds. An infinite bound stands for a large integer, so 0 times it is 0."""
    with np.errstate(invalid="ignore"):
        product: Floats = np.multiply(a, b)
    product[np.isnan(product)] = 0
    return product
