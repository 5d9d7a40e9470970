"""Quotients of unsigned numbers by reciprocals, where the engine multiplies.

Newton's iteration makes reciprocals, and its last step the quotient (Karp and Markstein, ACM TOMS
1997; Brent and Zimmermann, Modern Computer Arithmetic, 2010, sections 3.4.1 and 4.2). The bounds of
errors stand beside each step. Digits -2 … 2 that are left out are 2/3 of a unit of the last one
kept, at most.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ._carry import Form, clean, flush, prefix, renew, weights
from ._circuit import Circuit, Wires
from ._digits import FLAG, Digits, Number
from ._lookup import look_up
from ._products import product
from ._shifts import moved

LEAST_DIGITS = 12
"""Numbers of fewer digits are divided digit by digit, which takes as few rotations."""
MORE_DIGITS = 7
"""Products have so many digits more than numbers at most."""
TERMS = 20
"""So many signs are one sum, whose noise tables bear."""
PLACES = 6
"""Digits behind the point of the first reciprocal."""
GOOD = 5
"""Its relative error is at most 4^-5."""


def divides(circuit: Circuit, count: int) -> bool:
    """Whether the engine makes all products that quotients of so many digits take, none of them
    in halves, and these are worth it."""
    even, most = count + count % 2, count + count % 2 + MORE_DIGITS
    return count >= LEAST_DIGITS and circuit.engine.multiplies(circuit.account.limit, even, most)


def divide(on: Digits, x: Number, y: Number, rest: bool) -> tuple[Number, Number]:
    """x / y rounded down, and the remainder, of unsigned numbers of one type; without `rest` x is
    in its place.

    y is moved up by k digits, so that its highest digit is not 0. x / y is then less than 4 times
    4^k, and `_ratio` is below it, by less than a unit once it is moved down. So the quotient is
    what is left of that or 1 more, and the remainder tells which. For y = 0 the reciprocal is 0,
    the ratio is less than 0 and all bits of the quotient are 1; then nothing is added.
    """
    circuit, count = on.circuit, x.form.digits
    a, b = (clean(circuit, on.flush(each).wires) for each in (x, y))
    if circuit.common([a, b]):
        b = renew(circuit, b)
    even = circuit.known([0] * (count % 2), x.size)
    scale = _normalised(on, circuit.join(b, even))
    ratio = _ratio(on, circuit.join(a, even), scale.digits)
    top = circuit.take(ratio, [len(ratio) - 1])
    fill, sign = circuit.tables(
        (top, [(lambda v: np.where(v < 0, 3, 0), None), (lambda v: np.where(v < 0, -1, 0), None)])
    )[0]
    least = circuit.take(ratio, np.arange(len(ratio) - 1))
    least = moved(on, least, scale.down, scale.steps, fill, up=False)
    least = circuit.take(least, np.arange(count))
    # The remainder less y, of the larger quotient: at least -y, and below y.
    made = product(circuit, circuit.join(least, sign), b, count + 2)
    left = _narrow(circuit, _sum(circuit, (1, 0, a), (-1, 0, b), (-1, 0, made)))
    # It counts as below 0 if y is 0.
    signs = circuit.join(left, circuit.shifted(scale.found, -1))
    larger = on.sign_of(signs, "ge")
    whole = _sum(circuit, (1, 0, least), (1, 0, on.plain(larger).wires))
    quotient = on.flush(Number(x.bits, False, whole))
    if not rest:
        return quotient, x
    back = on.choose(larger.wires, circuit.known([0] * count, x.size), b)
    remainder = _narrow(circuit, _sum(circuit, (1, 0, left), (1, 0, back)))
    return quotient, on.flush(Number(x.bits, False, remainder))


# ---- sums of digits


def _sum(circuit: Circuit, *terms: tuple[int, int, Wires]) -> Wires:
    """The sum of numbers that are moved up by so many digits, each with its sign."""
    count = max(at + len(x) for _, at, x in terms)

    def moved_up(at: int, x: Wires) -> Wires:
        below, above = (circuit.known([0] * n, x.size) for n in (at, count - at - len(x)))
        return circuit.join(below, x, above)

    whole = [(sign, moved_up(at, x)) for sign, at, x in terms]
    if not circuit.fits(*whole):
        whole = [(sign, clean(circuit, x, 2.0)) for sign, x in whole]
    return circuit.linear(*whole)


def _narrow(circuit: Circuit, x: Wires) -> Wires:
    """Digits of -3 … 3: larger ones keep a remainder, and give the next one their multiple of 4, by
    one layer (Avizienis 1961). What the last digit gives is left out."""
    wide = np.flatnonzero(x.width > 4)
    if not len(wide):
        return x
    rest, over = circuit.tables(
        (
            circuit.take(x, wide),
            [(lambda v: (v + 2) % 4 - 2, None), (lambda v: (v + 2) // 4, None)],
        )
    )[0]
    index = np.arange(len(x))
    index[wide] = len(x) + np.arange(len(wide))
    kept = circuit.take(circuit.join(x, rest), index)
    inner = np.flatnonzero(wide + 1 < len(x))
    groups = [[(i, 1)] for i in range(len(x))]
    for k in inner.tolist():
        groups[int(wide[k]) + 1].append((len(x) + k, 1))
    return circuit.sums(circuit.join(kept, over), groups)


def _plain(circuit: Circuit, x: Wires) -> Wires:
    """A number of at least 0 in digits 0 … 3."""
    return flush(circuit, x, Form(2 * len(x), False))


def _balanced(circuit: Circuit, x: Wires) -> Wires:
    """A number of at least 0 in digits -2 … 1, but for the last one of 0 … 3.

    To a digit 0 … 3 or -2 … 1 comes -1 … 1 where a small number is added. The carries of the
    result are then of two kinds if it has the other digits.
    """
    two = np.where(np.arange(len(x)) < len(x) - 1, 2, 0)
    return circuit.shifted(_plain(circuit, circuit.shifted(x, two)), -two)


# ---- the divisor between 1/4 and 1


@dataclasses.dataclass(frozen=True)
class _Scale:
    """A divisor that was moved up; `down` tells, a flag for each of so many `steps`, how far its
    highest digit is from the lowest one. `found` is 1 if it is not 0, else 0."""

    digits: Wires
    down: list[Wires]
    steps: list[int]
    found: Wires


def _normalised(on: Digits, y: Wires) -> _Scale:
    """y, of an even number of digits, times the power of 4 that makes its highest digit not 0."""
    circuit, pairs = on.circuit, len(y) // 2
    order = range(pairs - 1, -1, -1)
    both = circuit.sums(y, [[(2 * i, 1), (2 * i + 1, 4)] for i in order])
    states = circuit.table(both, lambda v, w: np.where(v > 0, w, 0), weights(pairs))
    # Row i is 1 if there is a digit in the upper i + 1 pairs.
    found = circuit.stated(prefix(circuit, states, carries=True), 0, 1)
    zeros = circuit.shifted(circuit.linear((-1, found)), 1)
    bits = range((pairs - 1).bit_length())
    # So many pairs of 0 are above the digits, and so many pairs are below.
    up = [[k - 1 for k in range(1 << i, pairs, 1 << i)] for i in bits]
    down = [[pairs - 1 - k for k in range(1 << i, pairs, 1 << i)] for i in bits]
    flags = _bits(circuit, circuit.join(zeros, found), up + [[pairs + k for k in d] for d in down])
    steps = [2 << i for i in bits]
    zero = circuit.known([0], y.size)
    digits = moved(on, y, flags[: len(bits)], steps, zero, up=True)
    top = circuit.take(digits, [len(y) - 1])
    one, other = circuit.tables(
        (top, [(lambda v: FLAG * (v == 0), None), (lambda v: FLAG * (v > 0), None)])
    )[0]
    digits = moved(on, digits, [one], [1], zero, up=True)
    last = circuit.take(found, [pairs - 1])
    return _Scale(digits, [*flags[len(bits) :], other], [*steps, 1], last)


def _bits(circuit: Circuit, pool: Wires, groups: Sequence[Sequence[int]]) -> list[Wires]:
    """Flags of bit i of a number, from rows that are 1 where the number is at least 2^i, 2·2^i,
    3·2^i …, else 0: their sum with changing signs."""
    parts = [group[k : k + TERMS] for group in groups for k in range(0, len(group), TERMS)]
    owners = [g for g, group in enumerate(groups) for _ in range(0, len(group), TERMS)]
    sums = circuit.sums(pool, [[(row, 1 - k % 2 * 2) for k, row in enumerate(p)] for p in parts])
    flags = circuit.table(circuit.stated(sums, 0, 1), lambda v: FLAG * v)
    owned = [[(k, 1) for k, owner in enumerate(owners) if owner == g] for g in range(len(groups))]
    made = circuit.stated(circuit.sums(flags, owned), 0, FLAG)
    return [circuit.take(made, [g]) for g in range(len(groups))]


# ---- reciprocals


@dataclasses.dataclass(frozen=True)
class _Inverse:
    """r of u in 1/4 … 1, or 0 for 0: digits with so many behind the point, where |1 - u·r| is at
    most 4^-good."""

    digits: Wires
    places: int
    good: int


@functools.cache
def first_entries() -> tuple[int, ...]:
    """Entries for the highest three digits i of u: r in the middle of the interval, in units of
    4^-6, times 4^4, and what it falls by, in units of 4^-2. To the digits of
    r but the last one 2 is added.

    For u = (i + 1/2)/64 + l it is 1/c - l/c^2 + l^2/c^3 - …, of which half of the quadratic part
    is added, and what the digits of l behind the fourth one give on average."""
    twos = 2 * (4 ** (PLACES + 1) - 1) // 3
    entries = [twos << 8] * 16
    for i in range(16, 64):
        middle = Fraction(64 * 2, 2 * i + 1)
        falls = round(16 * middle**2)
        start = middle + middle**3 / 2**15 - Fraction(falls, 2 << 18)
        entries.append(twos + round(start * 4**PLACES) << 8 | falls)
    return tuple(entries)


def _first(on: Digits, y: Wires) -> _Inverse:
    """The reciprocal of y by its highest seven digits: a line in each of 48 intervals."""
    circuit, top = on.circuit, len(y) - 3
    place = Number(6, False, circuit.take(y, np.arange(top, top + 3)))
    entry = look_up(on, place, first_entries(), 24).wires
    falls, start = circuit.take(entry, np.arange(4)), circuit.take(entry, np.arange(4, 12))
    start = circuit.shifted(start, np.where(np.arange(8) < 7, -2, 0))
    inside = circuit.shifted(circuit.take(y, np.arange(top - 4, top)), np.array([0, 0, 0, -2]))
    made = circuit.take(product(circuit, falls, inside, 9), np.arange(3, 9))
    whole = _narrow(circuit, _sum(circuit, (1, 0, start), (-1, 0, made)))
    return _Inverse(_plain(circuit, whole), PLACES, GOOD)


def _better(circuit: Circuit, y: Wires, r: _Inverse, good: int) -> _Inverse:
    """r + r·(1 - u·r), of an error of 4^(1 - 2·good) at most, if that of r is 4^-good at most.

    In units of 4^(-2·good) the error is 1 for that of r squared, and for what is left out: 0 … 1 of
    u, which has 2·good + 1 digits; -2/3 … 2/3 of the digits of 1 - u·r; and as much of those of
    the result. That is 7/3, of 4.
    """
    a, f, n = good, r.places, len(y)
    g = min(n, 2 * a + 1)
    made = product(circuit, circuit.take(y, np.arange(n - g, n)), r.digits, g + f - a + 1)
    # The 1 is left out with all that is above these digits.
    error = circuit.linear((-1, circuit.take(made, np.arange(g + f - 2 * a, len(made)))))
    error = flush(circuit, error, Form(2 * a + 2, True))
    change = circuit.take(product(circuit, r.digits, error, f + a + 2), np.arange(f, f + a + 2))
    digits = _narrow(circuit, _sum(circuit, (1, 2 * a - f, r.digits), (1, 0, change)))
    form = _plain if r.digits.low[0] < 0 else _balanced
    return _Inverse(form(circuit, digits), 2 * a, 2 * a - 1)


def _ratio(on: Digits, x: Wires, y: Wires) -> Wires:
    """z = x·4^(n - 1)/y less an error of 0 … 1, rounded down, of n digits each, of which the last
    one of y is not 0: n digits and a sign. It is -1 if y is 0.

    s = 4·z is made, of two parts. With a = n/2 + 1 and b = n + 1 - a, r has an error of 4^-a. The
    upper part h·4^b of s is that of the highest a + 1 digits of x times r. In units of 4^b it is
    off by 0 … 1/4 for the digits of x, -1 … 1 for r, -2/3 … 2/3 for those that are left out: d is
    -5/3 … 23/12. The remainder x·4^(a - 1) - h·y is then d·y. Without its lowest a - 3 digits, each
    -2 … 5, and times r it is the lower part. That is off by -1/6 … 5/12 for these, by d/4 for r and
    by -2/3 … 2/3 for the digits left out: -1.32 … 1.57, from which 2 are taken. So s is too small
    by 0.68 … 3.57, and z by less than 1.
    """
    circuit, n = on.circuit, len(x)
    a, r = n // 2 + 1, _first(on, y)
    goods = [a]
    while goods[0] > r.good:
        goods.insert(0, goods[0] // 2 + 1)
    for good in goods[:-1]:
        r = _better(circuit, y, r, good)
    b, f = n + 1 - a, r.places
    made = product(circuit, circuit.take(x, np.arange(n - a - 1, n)), r.digits, a + f + 3)
    upper = _balanced(circuit, circuit.take(made, np.arange(f + 2, a + f + 3)))
    made = circuit.take(product(circuit, y, upper, n + 1), np.arange(a - 3, n + 1))
    whole = circuit.join(circuit.known([0] * 2, x.size), circuit.take(x, np.arange(n + 2 - a)))
    left = _narrow(circuit, _sum(circuit, (1, 0, whole), (-1, 0, made)))
    left = flush(circuit, left, Form(2 * len(left), True))
    made = product(circuit, left, r.digits, f + b + 4)
    lower = circuit.take(made, np.arange(f + 2, f + b + 4))
    lower = circuit.shifted(lower, np.where(np.arange(b + 2) == 0, -2, 0))
    digits = _narrow(circuit, _sum(circuit, (1, 0, lower), (1, b, upper)))
    digits = flush(circuit, digits, Form(2 * n + 4, True))
    # Rounded down, a quarter of it is z.
    return circuit.take(digits, np.arange(1, n + 2))
