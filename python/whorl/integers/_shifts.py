"""Shifts and rotations of digits, by known and by encrypted amounts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.integers import Integers
from ._carry import clean
from ._circuit import Wires
from ._digits import FLAG, Digits, Number

QUIET = 0.3
"""Digits that were moved have at most this part of the noise that tables bear: no two are added."""


def left(on: Digits, x: Number, by: int) -> Number:
    """x·2^by."""
    x = on.plain(x)
    if by >= x.bits:
        return on.known([0] * x.size, x.bits, x.signed)
    wires, count = x.wires, len(x.wires)
    if by % 2:
        if not on.circuit.fits((2, wires)):
            wires = clean(on.circuit, on.flush(x).wires)
        wires = on.circuit.linear((2, wires))
    index = np.arange(count) - by // 2
    return dataclasses.replace(x, wires=_moved(on, wires, index))


def right(on: Digits, x: Number, by: int) -> Number:
    """x / 2^by, rounded down."""
    x = on.flush(x)
    if by >= x.bits and not x.signed:
        return on.known([0] * x.size, x.bits, x.signed)
    by = min(by, x.bits - 1)
    wires, count = x.wires, len(x.wires)
    if by % 2:
        wires = _halved(on, wires)
    return dataclasses.replace(x, wires=_moved(on, wires, np.arange(count) + by // 2))


def rotate(on: Digits, x: Number, by: int) -> Number:
    """The bits of x moved up by so many places, those of the upper end to the lower one."""
    by %= x.bits
    if by == 0:
        return x
    whole = on.flush(on.cast(x, x.bits, False))
    count = len(whole.wires)
    if x.bits % 2:
        moved = on.add(left(on, whole, by), right(on, whole, x.bits - by))
    else:
        wires, index = whole.wires, (np.arange(count) - by // 2) % count
        if by % 2:
            wires = _halved(on, on.circuit.take(wires, (np.arange(count) - 1) % count), turned=True)
        moved = dataclasses.replace(whole, wires=on.circuit.take(wires, index))
    return on.cast(moved, x.bits, x.signed)


def _moved(on: Digits, wires: Wires, index: Integers) -> Wires:
    """Rows by their numbers, and zeros where there are none."""
    count = len(wires)
    if np.all((index >= 0) & (index < count)):
        return on.circuit.take(wires, index)
    zero = on.circuit.known([0], wires.size)
    places = np.where((index < 0) | (index >= count), count, index)
    return on.circuit.take(on.circuit.join(wires, zero), places)


def _halved(on: Digits, wires: Wires, turned: bool = False) -> Wires:
    """A number without its lowest bit, or with that bit as the highest one."""
    half, bit = on.circuit.tables(
        (wires, [(lambda v: v // 2, None), (lambda v: 2 * (v % 2), None)])
    )[0]
    count = len(wires)
    groups = [[(i, 1), (count + (i + 1) % count, 1)] for i in range(count)]
    if not turned:
        groups[-1] = groups[-1][:1]
    return on.circuit.sums(on.circuit.join(half, bit), groups)


# ---- encrypted amounts


def shift(on: Digits, x: Number, by: Number, up: bool) -> Number:
    """x·2^by, or x / 2^by rounded down; bits that are moved out are lost, however many they are.

    Amounts are unsigned. A choice for each bit of the amount, of the digits where they are and
    where they would be; the bit that moves half a digit is the last one.
    """
    x, places = on.flush(x), max(1, (x.bits - 1).bit_length())
    if x.signed and up:
        return on.cast(shift(on, on.cast(x, x.bits, False), by, up), x.bits, True)
    flags = _flags(on, by, min(places, by.bits))
    wires, fill = x.wires, on.circuit.known([0], x.size)
    count = len(wires)
    if x.signed:
        # The digits are those of the bits, and above them there is the sign.
        top = on.circuit.take(wires, [count - 1])
        (last, sign) = on.circuit.tables(
            (top, [(lambda v: v % 4, None), (lambda v: np.where(v < 0, 3, 0), None)])
        )[0]
        wires, fill = on.circuit.join(on.circuit.take(wires, np.arange(count - 1)), last), sign
    steps = [1 << j for j in range(len(flags) - 1)]
    wires = moved(on, wires, [flag.wires for flag in flags[1:]], steps, fill, up)
    number = Number(2 * count, False, wires)
    number = _half_step(on, number, flags[0], fill, up)
    if by.bits > places:
        high = right(on, by, places)
        zero = on.known([0] * by.size, by.bits, False)
        lost = on.compare(high, zero, "ne")
        filled = on.circuit.take(fill, np.zeros(count, dtype=np.int64))
        number = on.select(lost, dataclasses.replace(number, wires=filled), number)
    return _as(on, number, x)


def turn(on: Digits, x: Number, by: Number) -> Number:
    """`rotate` by encrypted unsigned amounts, which count modulo the bits of x."""
    number = on.flush(on.cast(x, x.bits, False))
    flags = _flags(on, by, by.bits)
    for j in range(len(flags) - 1, -1, -1):
        step = (1 << j) % x.bits
        if step == 1 and x.bits % 2 == 0:
            count = len(number.wires)
            below = on.circuit.take(number.wires, (np.arange(count) - 1) % count)
            number = dataclasses.replace(
                number, wires=_mixed(on, number.wires, below, flags[j], True)
            )
        elif step:
            number = on.flush(on.select(flags[j], rotate(on, number, step), number))
    return on.cast(number, x.bits, x.signed)


def moved(
    on: Digits, wires: Wires, flags: Sequence[Wires], steps: Sequence[int], fill: Wires, up: bool
) -> Wires:
    """Digits 0 … 3 that are moved by so many places where a flag counts `FLAG`, one flag after the
    other."""
    count = len(wires)
    for flag, step in zip(flags, steps, strict=True):
        index = np.arange(count) + (-step if up else step)
        places = np.where((index < 0) | (index >= count), count, index)
        there = on.circuit.take(on.circuit.join(wires, fill), places)
        wires = on.choose(flag, there, wires, QUIET)
    return wires


def _flags(on: Digits, by: Number, count: int) -> list[Number]:
    """The lowest bits of an amount, in one layer."""
    if by.unit == FLAG:
        return [by]
    wires = on.circuit.take(on.flush(by).wires, np.arange(count) // 2)
    made = on.circuit.table(wires, lambda v, bit: FLAG * (v >> bit & 1), np.arange(count) % 2)
    return [Number(1, False, on.circuit.take(made, [j]), FLAG) for j in range(count)]


def _half_step(on: Digits, x: Number, flag: Number, fill: Wires, up: bool) -> Number:
    """Moved by one bit where the flag is 1."""
    count = len(x.wires)
    index = np.arange(count) + (-1 if up else 1)
    places = np.where((index < 0) | (index >= count), count, index)
    beside = on.circuit.take(on.circuit.join(x.wires, fill), places)
    return dataclasses.replace(x, wires=_mixed(on, x.wires, beside, flag, up))


def _mixed(on: Digits, wires: Wires, beside: Wires, flag: Number, up: bool) -> Wires:
    """Digits, or what a bit of them and a bit of their neighbours make where the flag is 1."""
    count = len(wires)
    bit = on.circuit.take(flag.wires, np.zeros(count, dtype=np.int64))
    own, other = (
        on.circuit.linear((1, each), (1, bit))
        if on.circuit.fits((1, each), (1, bit))
        else on.circuit.linear((1, clean(on.circuit, each)), (1, bit))
        for each in (wires, beside)
    )

    def stays(v: Integers) -> Any:
        digit = v % FLAG
        return np.where(v >= FLAG, 2 * (digit % 2) if up else digit // 2, digit)

    def comes(v: Integers) -> Any:
        digit = v % FLAG
        return np.where(v >= FLAG, digit // 2 if up else 2 * (digit % 2), 0)

    kept, moved = on.circuit.tables((own, [(stays, None)]), (other, [(comes, None)]))
    pool = on.circuit.join(kept[0], moved[0])
    made = on.circuit.sums(pool, [[(i, 1), (count + i, 1)] for i in range(count)])
    return on.circuit.stated(made, 0, 3)


def _as(on: Digits, number: Number, x: Number) -> Number:
    """The digits as a number of the type of x."""
    made = Number(x.bits, x.signed, number.wires)
    return made if x.form.holds(made.wires) else on.flush(made)
