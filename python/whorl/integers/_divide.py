"""Quotients and remainders of unsigned numbers of digits."""

from __future__ import annotations

import numpy as np

from ._carry import Form, clean, flush, prefix, renew, settle, weights
from ._circuit import Circuit, Wires
from ._digits import Digits, Number


def divide(on: Digits, x: Number, y: Number) -> tuple[Number, Number]:
    """x / y rounded down, and the remainder, of unsigned numbers of one type.

    Digits of x are taken from the highest one on. From the remainder so far 2y and then y are
    subtracted where they are not larger; each choice is a bit of the quotient. Remainders have
    redundant digits, -3 … 3: their sign is that of the highest digit that is not 0, so that no
    carries are made. A remainder of k digits is compared with the lowest k of y, and is smaller if
    y has more. For y = 0 all bits of the quotient are 1, and the remainder is x.
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
    rest = zero
    bits: list[Wires] = []
    for k in range(count):
        rest = circuit.join(circuit.take(divided, [count - 1 - k]), rest)
        for taken, more in zip((double, single), above, strict=True):
            part = circuit.join(circuit.take(taken, np.arange(k + 1)), zero)
            less = _guarded(circuit, settle(circuit, circuit.linear((1, rest), (-1, part))))
            signs = circuit.join(less, circuit.linear((-1, circuit.take(more, [k]))))
            bits.append(on.sign_of(signs, "ge").wires)
            bit = circuit.take(bits[-1], np.zeros(k + 2, dtype=np.int64))
            rest = _guarded(circuit, on.either(bit, less, rest))
    values = np.where(np.arange(2 * count) % 2, 1, 2)
    ones = circuit.table(circuit.join(*bits), lambda v, w: np.where(v > 0, w, 0), values)
    digits = [[(2 * i, 1), (2 * i + 1, 1)] for i in range(count)][::-1]
    quotient = Number(x.bits, False, circuit.sums(ones, digits))
    return on.flush(quotient), on.flush(Number(x.bits, False, rest))


def _guarded(circuit: Circuit, x: Wires) -> Wires:
    """A number below 4^k in size of k digits of -3 … 3 and a last one: that is -1, 0 or 1."""
    last = np.arange(len(x)) == len(x) - 1
    return circuit.stated(x, np.where(last, -1, -3), np.where(last, 1, 3))


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
