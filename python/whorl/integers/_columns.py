"""Sums of many digits: columns of digits of one weight, of which tables make fewer."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from .._core.integers import Integers
from ._carry import clean, reduced
from ._circuit import HALF, Account, Circuit, Wires

Term = tuple[int, int]
"""A row of a pool of wires, and its weight."""
Fact = tuple[float, float, int, int]
"""What is known of a row: square, total, low and high."""
Columns = tuple[tuple[Term, ...], ...]


def add_up(
    circuit: Circuit, pool: Wires, columns: Sequence[Sequence[Term]], common: bool = False
) -> Wires:
    """One digit for each column, of ranges and noise that carries can still be added to.

    Groups of digits are added and become a remainder and a multiple of 4, which goes to the next
    column, until each column is one group; all groups are one layer (Wallace, IEEE Trans.
    Electronic Computers 1964, in radix 4). Carries of the last column are left out. `common`:
    several rows of the pool may have the same errors.
    """
    left: Columns = tuple(map(tuple, columns))
    while True:
        fields = (pool.square, pool.total, pool.low, pool.high)
        facts: tuple[Fact, ...] = tuple(zip(*(each.tolist() for each in fields), strict=True))
        groups, at, left = _round(circuit.account, facts, left, common)
        if not groups:
            break
        sums = circuit.sums(pool, groups)
        low = np.where(sums.low < 0, -2, 0)
        rest, over = circuit.tables(
            (
                sums,
                [
                    (lambda v, least: reduced(v, 4, least), low),
                    (lambda v, least: (v - least) // 4, low),
                ],
            )
        )[0]
        start = len(pool)
        pool = circuit.join(pool, rest, over)
        grown = [list(column) for column in left]
        for g, i in enumerate(at):
            grown[i].append((start + g, 1))
            if i + 1 < len(grown):
                grown[i + 1].append((start + len(groups) + g, 1))
        left = tuple(map(tuple, grown))
    empty = len(pool)
    pool = circuit.join(pool, circuit.known([0], pool.size))
    made = circuit.sums(pool, [column or ((empty, 1),) for column in left])
    return (
        dataclasses.replace(made, square=np.maximum(made.square, made.total**2)) if common else made
    )


@dataclasses.dataclass
class _Sum:
    """Noise and range of a sum that grows."""

    square: float = 0.0
    total: float = 0.0
    low: int = 0
    high: int = 0

    def plus(self, fact: Fact, weight: int) -> _Sum:
        """With one more digit, whose fact this is."""
        square, total, low, high = fact
        ends = (weight * low, weight * high)
        return _Sum(
            self.square + weight * weight * square,
            self.total + abs(weight) * total,
            self.low + min(ends),
            self.high + max(ends),
        )

    def bears(self, account: Account, common: bool, more: int = 0) -> bool:
        """Whether a table takes the sum, and so many bootstraps more."""
        square = max(self.square, self.total**2) if common else self.square
        return bool(account.bears(square + more, self.total + more))


@functools.lru_cache(maxsize=256)
def _round(
    account: Account, facts: tuple[Fact, ...], columns: Columns, common: bool
) -> tuple[list[tuple[Term, ...]], list[int], Columns]:
    """The groups of a layer, the column of each, and what is left of the columns. Programs do the
    same again and again."""
    groups: list[tuple[Term, ...]] = []
    at: list[int] = []
    left: list[tuple[Term, ...]] = []
    for i, column in enumerate(columns):
        if _last(account, facts, column, common):
            left.append(column)
            continue
        taken, rest = _grouped(account, facts, column, common)
        groups += taken
        at += [i] * len(taken)
        left.append(rest)
    return groups, at, tuple(left)


def _last(account: Account, facts: Sequence[Fact], terms: Sequence[Term], common: bool) -> bool:
    """Whether a column needs no table before carries are added."""
    made = _Sum()
    for row, weight in terms:
        made = made.plus(facts[row], weight)
    return (
        made.low >= -3
        and made.high <= (3 if made.low < 0 else 6)
        and made.bears(account, common, 1)
    )


def _grouped(
    account: Account, facts: Sequence[Fact], terms: Sequence[Term], common: bool
) -> tuple[list[tuple[Term, ...]], tuple[Term, ...]]:
    """Groups of a column, as large as a table bears them, and what is left: digits that stand
    alone, with the range of one and the noise of a bootstrap."""
    groups: list[tuple[Term, ...]] = []
    rest: list[Term] = []
    group, made = [terms[0]], _Sum().plus(facts[terms[0][0]], terms[0][1])

    def close() -> None:
        if len(group) > 1 or made.high - made.low > 3 or made.total > 1:
            groups.append(tuple(group))
        else:
            rest.extend(group)

    for row, weight in terms[1:]:
        larger = made.plus(facts[row], weight)
        if larger.high - larger.low < HALF and larger.bears(account, common):
            group.append((row, weight))
            made = larger
        else:
            close()
            group, made = [(row, weight)], _Sum().plus(facts[row], weight)
    close()
    return groups, tuple(rest)


def multiply(circuit: Circuit, x: Wires, y: Wires, count: int) -> Wires:
    """The lowest digits of x·y, of numbers in their forms: all products of two digits, added up."""
    pairs = [(i, j) for i in range(len(x)) for j in range(len(y)) if i + j < count]
    i, j = np.array(pairs).T
    terms = (4, circuit.take(x, i)), (1, circuit.take(y, j))
    if not circuit.fits(*terms):
        four = circuit.table(x, lambda v: 4 * v)
        terms = (1, circuit.take(four, i)), (1, circuit.take(clean(circuit, y), j))
    both = circuit.linear(*terms)
    # The digits of the last column give no carry.
    inner, outer = np.flatnonzero(i + j < count - 1), np.flatnonzero(i + j == count - 1)
    (low, high), (last,) = circuit.tables(
        (
            circuit.take(both, inner),
            [(_low_digit, y.low[j[inner]]), (_high_digit, y.low[j[inner]])],
        ),
        (circuit.take(both, outer), [(_low_digit, y.low[j[outer]])]),
    )
    pool = circuit.join(low, last, high)
    places = [*(i + j)[inner].tolist(), *(i + j)[outer].tolist(), *(i + j + 1)[inner].tolist()]
    columns: list[list[Term]] = [[] for _ in range(count)]
    for row, place in enumerate(places):
        columns[place].append((row, 1))
    return add_up(circuit, pool, columns)


def _low_digit(v: Integers, low: int) -> Integers:
    return _product(v, low) % 4


def _high_digit(v: Integers, low: int) -> Integers:
    return _product(v, low) // 4


def _product(v: Integers, low: int) -> Integers:
    """a·b of v = 4a + b, where b is in `low` … `low` + 3."""
    b = reduced(v, 4, low)
    return np.asarray((v - b) // 4 * b)


def multiply_known(circuit: Circuit, x: Wires, factor: int, count: int) -> Wires:
    """The lowest digits of x·factor, of a number in its form, by the non-adjacent form of the
    factor (Reitwiesner, Advances in Computers 1960): a third of its digits are not 0."""
    x = clean(circuit, x)
    columns: list[list[Term]] = [[] for _ in range(count)]
    place = 0
    while factor and place < 2 * count:
        if factor & 1:
            sign = 2 - (factor & 3)
            factor -= sign
            for i in range(min(len(x), count - place // 2)):
                columns[i + place // 2].append((i, sign << place % 2))
        factor >>= 1
        place += 1
    return add_up(circuit, x, columns)
