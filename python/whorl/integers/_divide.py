"""Quotients and remainders of unsigned numbers of digits, digit by digit."""

from __future__ import annotations

import dataclasses

import numpy as np

from .._core.integers import Integers
from ._carry import GROUP, Form, clean, flush, prefix, reduced, renew, weights
from ._circuit import Circuit, Wires
from ._digits import Digits, Number


def divide(on: Digits, x: Number, y: Number, rest: bool) -> tuple[Number, Number]:
    """x / y rounded down, and the remainder, of unsigned numbers of one type.

    Digits of x are taken from the highest one on. From the remainder so far 2y and then y are
    subtracted where it is at least 0, and added where it is below (without restoring, Robertson,
    IRE Trans. Electronic Computers 1958). Remainders have redundant digits, -3 … 3: their sign is
    that of the highest digit that is not 0, so that no carries are made. As long as y has more
    digits than the remainder, nothing is subtracted. For y = 0 all bits of the quotient are 1, and
    the remainder is x. Without `rest` x is in its place.
    """
    circuit = on.circuit
    divided, single = clean(circuit, on.flush(x).wires), clean(circuit, on.flush(y).wires)
    if circuit.common([divided, single]):
        single = renew(circuit, single)
    count, zero = len(divided), circuit.known([0], x.size)
    # 2y has a digit more.
    twice = circuit.linear((2, circuit.join(single, zero)))
    double = clean(circuit, flush(circuit, twice, Form(2 * count + 2, False)))
    above = [_above(circuit, each, count) for each in (double, single)]
    ways: list[Wires] = []
    left = _Rest(circuit.take(divided, []), zero, circuit.known([MINUS], x.size))
    for k in range(count):
        digits = circuit.join(circuit.take(divided, [count - 1 - k]), left.digits)
        left = dataclasses.replace(left, digits=digits)
        for taken, more, most in zip((double, single), above, (2, 1), strict=True):
            # A remainder of k + 1 digits is below y if y has more, and then it is not negative.
            ways.append(circuit.linear((1, left.way), (MINUS, circuit.take(more, [k]))))
            part = circuit.take(taken, np.arange(k + 1))
            left = _stepped(circuit, left, part, ways[-1], most)
    values = np.where(np.arange(2 * count) % 2, 1, 2)
    signs = circuit.table(circuit.join(*ways), lambda v, w: w * _sign(v), values)
    bits = circuit.sums(signs, [[(2 * i, 1), (2 * i + 1, 1)] for i in range(count)][::-1])
    # What is left may be below 0, by less than y.
    less = circuit.table(left.way, lambda v: np.where(v < MINUS, -1, 0))
    lowest = circuit.sums(circuit.join(bits, less), [[(0, 1), (count, 1)]])
    quotient = circuit.join(lowest, circuit.take(bits, np.arange(1, count)))
    made = on.flush(Number(x.bits, False, quotient))
    if not rest:
        return made, x
    last = circuit.take(left.way, np.zeros(count, dtype=np.int64))
    back = circuit.table(
        circuit.linear((1, single), (1, last)), lambda v: np.where(v < MINUS, v, 0)
    )
    remainder = circuit.sums(
        circuit.join(left.digits, back), [[(i, 1), (count + i, 1)] for i in range(count)]
    )
    return made, on.flush(Number(x.bits, False, remainder))


MINUS = 4
"""What says to a digit that it is subtracted. It is added by 0, and left out by twice as much."""
MOST_OF_TOP = 3.0
"""A last digit of more bootstraps' noise is looked up."""


def _sign(v: Integers) -> Integers:
    return np.where(v < MINUS, -1, np.where(v < 2 * MINUS, 1, 0))


@dataclasses.dataclass(frozen=True)
class _Rest:
    """A remainder: digits of -3 … 3 and a last one, and `MINUS` if it is at least 0, else 0."""

    digits: Wires
    top: Wires
    way: Wires


def _stepped(circuit: Circuit, rest: _Rest, y: Wires, way: Wires, most: int) -> _Rest:
    """The remainder minus or plus y, as the way says, which is `most` in its last digit at most."""
    count = len(y)
    both = circuit.join(y, way)
    given = circuit.sums(both, [[(i, 1), (count, 1)] for i in range(count)])
    # The last digit, which all carries come to, has its noise taken off on the way.
    noisy = bool(np.any(rest.top.square > MOST_OF_TOP))
    requests = [(given, [(lambda v: -_sign(v) * (v % MINUS), None)])]
    requests += [(rest.top, [(lambda v: v, None)])] if noisy else []
    made = [each[0] for each in circuit.tables(*requests)]
    turned, last = made[0], made[1] if noisy else rest.top
    pool = circuit.join(rest.digits, turned)
    added = circuit.sums(pool, [[(i, 1), (count + i, 1)] for i in range(count)])
    low, over = circuit.tables(
        (added, [(lambda v: reduced(v, 4, -2), None), (lambda v: (v + 2) // 4, None)])
    )[0]
    pool = circuit.join(low, over, added, last)
    digits = [[(i, 1), (count + i - 1, 1)][: 2 if i else 1] for i in range(count)]
    whole = circuit.sums(pool, [*digits, [(3 * count, 1), (2 * count - 1, 1)]])
    top = circuit.stated(circuit.take(whole, [count]), -most, most)
    # Two digits are 4v + u = 4r + s + c, of the remainder r of v, the sum s of u, and a carry.
    pairs = range(count % 2, count, 2)
    items = [[(0, 1)]] * (count % 2)
    items += [[(i + 1, 4), (2 * count + i, 1), *([(count + i - 1, 1)] if i else [])] for i in pairs]
    signs = circuit.join(circuit.sums(pool, items), top)
    while len(signs) > 1:
        weighed = circuit.table(signs, lambda v, w: w * np.sign(v), weights(len(signs)))
        starts = range(0, len(signs), GROUP)
        groups = [[(i, 1) for i in range(a, min(a + GROUP, len(signs)))] for a in starts]
        signs = circuit.sums(weighed, groups)
    half = MINUS // 2
    sign = circuit.table(signs, lambda v: np.where(v < 0, -half, half))
    onward = circuit.stated(circuit.shifted(sign, half), 0, MINUS)
    return _Rest(circuit.take(whole, np.arange(count)), top, onward)


def _above(circuit: Circuit, y: Wires, count: int) -> Wires:
    """Row k is 1 if a digit of y behind digit k is not 0, else 0."""
    upper = circuit.take(y, np.arange(len(y) - 1, 0, -1))
    if not len(upper):
        return circuit.known([0], y.size)
    states = circuit.table(upper, lambda v, w: np.where(v > 0, w, 0), weights(len(upper)))
    found = prefix(circuit, states)
    # Row r of what is found is of the digits from len(y) - 1 - r on.
    rows = len(y) - 2 - np.arange(count)
    padded = circuit.join(found, circuit.known([0], y.size))
    return circuit.take(padded, np.where(rows < 0, len(upper), rows))
