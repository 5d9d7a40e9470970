"""Products through ring elements: docs/performance/products-of-integers.md says how they work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._circuit import Circuit, CircuitError, Wires
from ._origins import Errors, marks_of, met

LEAST_DIGITS = 6
"""Factors of fewer digits are multiplied by tables, which take as few rotations."""
Factor = tuple[Any, tuple[int, ...]]
"""Rows of digits 0 … 3, and what each stands for more; or digits of a known integer, and none."""


def multiplies(circuit: Circuit, *factors: Wires, count: int) -> bool:
    """Whether `product` multiplies these factors, or one of them by a known integer, in fewer
    rotations than tables."""
    widths = [width_of(x) for x in factors]
    if factors[0].size == 0 or min(*widths, count) < LEAST_DIGITS:
        return False
    most, first = max(*widths, count), min(widths) * (len(factors) - 1)
    return _whole(circuit, factors, first, most) or (
        first > 0 and _whole(circuit, factors, -(-most // 2), most)
    )


def width_of(x: Wires) -> int:
    """How many digits there are below zeros at the upper end."""
    moving = np.flatnonzero((x.batch >= 0) | (x.offset != 0))
    return int(moving[-1]) + 1 if len(moving) else 1


def _whole(circuit: Circuit, factors: Sequence[Wires], first: int, most: int) -> bool:
    """Whether the engine takes factors, the first one of so many digits or the other one known."""
    noise = max(float(circuit.account.variance(x.square, x.total).max()) for x in factors)
    return circuit.engine.multiplies(noise, first, most)


def product(circuit: Circuit, x: Wires, y: Wires | tuple[int, ...], count: int) -> Wires:
    """The lowest digits of x·y, -2 … 2 each; x and y are numbers in their forms, or y is the digits
    0 … 3 of a known integer.

    Each digit of the result is the sum of two rotations' results. One layer brings the factors into
    the ring, and two read the product. Long factors have too many errors for one product: those of
    their halves are added up then, and digits are -6 … 6.
    """
    if not isinstance(y, Wires):
        return _product(circuit, [x], [_factor(circuit, x), (y, ())], count)
    x, y = (y, x) if width_of(y) < width_of(x) else (x, y)
    most = max(width_of(y), count)
    if _whole(circuit, [x, y], width_of(x), most):
        return _product(circuit, [x, y], [_factor(circuit, each) for each in (x, y)], count)
    half = -(-most // 2)
    if width_of(y) <= half:  # halves are the factors themselves
        raise CircuitError(f"factors of {width_of(x)} and {width_of(y)} digits have too much noise")
    (a, b), (c, d) = (
        [circuit.take(each, np.arange(len(each))[at]) for at in (slice(half), slice(half, None))]
        for each in (x, y)
    )
    parts = [(product(circuit, a, c, count), 0)]
    for first, second in ((a, d), (b, c)):
        if len(first) and len(second) and count > half:
            parts.append((product(circuit, first, second, count - half), half))
    groups: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    start = 0
    for made, place in parts:
        for i in range(len(made)):
            groups[place + i].append((start + i, 1))
        start += len(made)
    return circuit.sums(circuit.join(*(made for made, _ in parts)), groups)


def _product(circuit: Circuit, of: list[Wires], factors: list[Factor], count: int) -> Wires:
    """One product of the engine."""
    (first, lows), (second, other_lows) = factors
    made = circuit.engine.product(first, lows, second, other_lows, count)
    size = of[0].size
    circuit.rotations += (len(of) * max(len(lows), len(other_lows)) + 2 * count) * size
    circuit.layers += 3
    origins = met([(each.origins, each.errors) for each in of])[0]
    number, two, one = next(circuit._numbers), np.full(count, 2), np.ones(count)
    # Each digit is the sum of two bootstraps' results.
    halves = [(1, Errors.of_layer(number, np.arange(count) + k * count, one)) for k in range(2)]
    facts = 2 * one, 2 * one, Errors.added(halves)[0], size, {number: [marks_of(origins, size)]}
    return circuit._batch(made, -two, two, 0 * two, *facts)


def _factor(circuit: Circuit, x: Wires) -> Factor:
    """Digits 0 … 3 and what each stands for more; zeros at the upper end take no rotations."""
    kept = np.arange(width_of(x))
    lows = np.minimum(x.low, 0)[kept]
    taken = circuit.shifted(circuit.take(x, kept), -lows)
    return circuit.plain(taken, kept), tuple(lows.tolist())
