"""Sums of many digits: columns of digits of one weight, of which tables make fewer."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from .._core.integers import Integers
from ._carry import clean, reduced
from ._circuit import HALF, Circuit, Wires, first_of_same
from ._engine import Account

Term = tuple[int, int]
"""A row of a pool of wires, and its weight."""
Fact = tuple[float, float, int, int, int, tuple[tuple[int, float], ...]]
"""What is known of a row: square and total; how far its ends are apart; what it is for sure; the
first row that is the same ciphertext; and the errors that other ones have, too, with their sizes.
"""
Columns = tuple[tuple[Term, ...], ...]
MOST = HALF - 1
"""A group is 0 … 15: then its remainder and its multiple of 4 are a rotation each."""
SETTLED = 6
"""Digits of 0 … 6 are those that carries can be added to, two of 0 … 3."""


def add_up(circuit: Circuit, pool: Wires, columns: Sequence[Sequence[Term]]) -> Wires:
    """One digit of 0 … 6 for each column, of which the last one may be larger.

    Groups of digits are added and become a remainder and a multiple of 4, which goes to the next
    column, until each column is one group; all groups are one layer (Wallace, IEEE Trans.
    Electronic Computers 1964, in radix 4). Then one layer makes all columns small at once. Carries
    of the last column are left out.
    """
    count, start = len(columns), len(pool)
    # Terms count from their least value on: all least values are one known number.
    least = _least(pool, columns, [0] * start)
    number = sum(value << 2 * i for i, value in enumerate(least.tolist()))
    known = [number >> 2 * i & 3 for i in range(count)]
    pool = circuit.join(pool, circuit.known(known, pool.size))
    moving = (pool.high > pool.low).tolist()
    left: Columns = tuple(
        (*(term for term in column if moving[term[0]]), *([(start + i, 1)] if known[i] else []))
        for i, column in enumerate(columns)
    )
    sure = [0] * start + known
    last = False
    while not last:
        first = first_of_same(pool, any_offset=True)
        fields = pool.square, pool.total, pool.width, np.array(sure), first
        shared = pool.errors.shared(first)
        facts = tuple(zip(*(each.tolist() for each in fields), shared, strict=True))
        groups, at, left, last = _round(circuit.account, facts, left)
        if not groups:
            continue
        # Groups of the last column, which give no carry, are the last ones.
        sums, inner = circuit.sums(pool, groups), sum(i + 1 < count for i in at)
        base = _least(pool, groups, sure)
        requests = []
        for rows, functions in (
            (np.arange(inner), [_rest, _over]),
            (np.arange(inner, len(groups)), [_rest]),
        ):
            if len(rows):
                given = [(function, base[rows]) for function in functions]
                requests.append((circuit.take(sums, rows), given))
        made = circuit.tables(*requests)
        start = len(pool)
        rest, over = [each[0] for each in made], [each[1] for each in made[:1] if inner]
        pool = circuit.join(pool, *rest, *over)
        sure += pool.low[start:].tolist()
        grown = [list(column) for column in left]
        for g, i in enumerate(at):
            grown[i].append((start + g, 1))
            if g < inner:
                grown[i + 1].append((start + len(groups) + g, 1))
        left = tuple(map(tuple, grown))
    empty = len(pool)
    pool = circuit.join(pool, circuit.known([0], pool.size))
    added = circuit.sums(pool, [column or ((empty, 1),) for column in left])
    return circuit.shifted(added, -_least(pool, left, sure))


def _least(pool: Wires, groups: Sequence[Sequence[Term]], sure: Sequence[int]) -> Integers:
    """What the terms of groups are at least, each by itself, above what they are for sure."""
    lows, highs = pool.low.tolist(), pool.high.tolist()
    return np.array(
        [sum(min(w * lows[i], w * highs[i]) - sure[i] for i, w in group) for group in groups],
        dtype=np.int64,
    )


def _rest(v: Integers, least: int) -> Integers:
    return (v - least) % 4


def _over(v: Integers, least: int) -> Integers:
    return (v - least) // 4


@dataclasses.dataclass
class _Sum:
    """Noise and largest value of a sum above its least one."""

    square: float
    total: float
    most: int

    def fits(self, account: Account, most: int = MOST, more: int = 0) -> bool:
        """Whether the sum is at most so large, and a table takes it and so many bootstraps more."""
        borne = account.bears(self.square + more, self.total + more)
        return self.most <= most and bool(borne)


def _sum_of(facts: Sequence[Fact], terms: Sequence[Term]) -> _Sum:
    weights: dict[int, int] = {}
    most = 0
    for row, weight in terms:
        _, _, width, sure, same, _ = facts[row]
        weights[same] = weights.get(same, 0) + weight
        most += abs(weight) * width + sure
    square = sum(w * w * facts[row][0] for row, w in weights.items())
    sizes = [abs(w) * facts[row][1] for row, w in weights.items()]
    total = sum(sizes)
    equal: dict[int, list[float]] = {}
    for row, w in weights.items():
        for name, size in facts[row][5]:
            equal.setdefault(name, []).append(abs(w) * size)
    more = sum(sum(each) ** 2 - sum(size * size for size in each) for each in equal.values())
    return _Sum(square + min(more, total**2 - sum(size * size for size in sizes)), total, most)


@functools.lru_cache(maxsize=256)
def _round(
    account: Account, facts: tuple[Fact, ...], columns: Columns
) -> tuple[list[tuple[Term, ...]], list[int], Columns, bool]:
    """The groups of a layer, the column of each, what is left of the columns, and whether that is
    the last layer. Programs do the same again and again."""
    groups: list[tuple[Term, ...]] = []
    at: list[int] = []
    left: list[tuple[Term, ...]] = []
    wholes = [_sum_of(facts, column) for column in columns]
    fit = [made.fits(account) for made in wholes]
    last, carry = all(fit), 0
    for i, (column, made) in enumerate(zip(columns, wholes, strict=True)):
        taken: list[tuple[Term, ...]] = []
        rest = column
        if last:
            most = MOST - 2 if i + 1 == len(columns) else SETTLED
            if not made.fits(account, most - carry, 2):
                taken, rest = [column], ()
            carry = 3 if taken else 0
        elif not fit[i]:
            taken, rest = _grouped(account, facts, column)
        groups += taken
        at += [i] * len(taken)
        left.append(rest)
    return groups, at, tuple(left), last


def _grouped(
    account: Account, facts: Sequence[Fact], terms: Sequence[Term]
) -> tuple[list[tuple[Term, ...]], tuple[Term, ...]]:
    """Groups of a column, as large as a table bears them, and what is left: digits that stand
    alone, with the range of one and the noise of a bootstrap."""
    groups: list[tuple[Term, ...]] = []
    rest: list[Term] = []
    group, made = [terms[0]], _sum_of(facts, terms[:1])

    def close() -> None:
        if len(group) > 1 or made.most > 3 or made.total > 1:
            groups.append(tuple(group))
        else:
            rest.extend(group)

    for term in terms[1:]:
        larger = _sum_of(facts, [*group, term])
        if larger.fits(account):
            group.append(term)
            made = larger
        else:
            close()
            group, made = [term], _sum_of(facts, [term])
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


def terms_of(factor: int) -> int:
    """How many terms the non-adjacent form of a factor has."""
    return ((factor ^ 3 * factor) & ~1).bit_count()


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
