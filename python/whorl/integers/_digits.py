"""Integers as digits of radix 4 over wires: the arithmetic on a server of FHEW/TFHE."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.integers import Integers
from ._carry import GROUP, Form, clean, flush, reduced, renew, settle, weights
from ._circuit import HALF, Circuit, Wires
from ._columns import add_up, multiply, multiply_known, terms_of
from ._products import multiplies, product

FLAG = 8
"""What a 1 counts in bits that come out of comparisons: a choice adds them to a digit."""
MANY_TERMS = 7
"""By known factors of so many terms products go through ring elements, if there are keys."""
QUIET = 0.2
"""Results of choices that are added to have at most this part of the noise that tables bear."""


@dataclasses.dataclass(frozen=True)
class Number:
    """Integers of one type: the sum of digit i times 4^i, modulo 2^bits."""

    bits: int
    signed: bool
    wires: Wires
    unit: int = 1
    """What the digits are multiples of: `FLAG` for bits that come out of comparisons."""
    memo: dict[str, Number] = dataclasses.field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    """The same number in other forms, once they are made."""

    @property
    def form(self) -> Form:
        """The ranges of digits without carries."""
        return Form(self.bits, self.signed)

    @property
    def size(self) -> int:
        """How many integers there are."""
        return self.wires.size


class Digits:
    """Arithmetic on numbers of equal sizes; both operands are of one type."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit

    # ---- where numbers come from

    def on_device(self, rows: Any, bits: int, signed: bool, noise: float = 0.0) -> Number:
        """Digits without carries, one for each row, and a value for each column: from a client or,
        with the noise of bootstraps, from a server."""
        form = Form(bits, signed)
        stated = None if noise <= self.circuit.account.fresh else noise
        wires = self.circuit.fresh(rows, form.low, form.high, rows.shape[1], stated)
        return Number(bits, signed, wires)

    def nbytes(self, x: Number) -> int:
        """Bytes on the device, with those of other forms that the number keeps."""
        return sum(int(batch.nbytes) for batch in _batches(x).values())

    def known(self, values: Sequence[int], bits: int, signed: bool) -> Number:
        """Integers that everybody knows."""
        return Number(bits, signed, self.circuit.trivial(digits_of(values, Form(bits, signed))))

    def take(self, x: Number, index: Integers) -> Number:
        """Values by their numbers."""
        return dataclasses.replace(x, wires=self.circuit.columns(x.wires, index))

    def join(self, numbers: Sequence[Number]) -> Number:
        """Values of several numbers of one type."""
        flags = all(x.unit == FLAG for x in numbers)
        plain = numbers if flags else [self.flush(x) for x in numbers]
        wires = self.circuit.beside([x.wires for x in plain])
        return dataclasses.replace(plain[0], wires=wires)

    def rows(self, x: Number) -> Any:
        """The ciphertexts of a result as they are: digits of -16 … 15, or bits that count
        `FLAG`."""
        wires = x.wires
        if np.any(wires.low < -HALF) or np.any(wires.high >= HALF):
            wires = self.flush(x).wires
        return self.circuit.plain(wires, np.arange(len(wires)))

    # ---- form

    def plain(self, x: Number) -> Number:
        """Bits that count 1."""
        if x.unit == 1:
            return x
        if "plain" not in x.memo:
            wires = self.circuit.table(x.wires, lambda v: v // FLAG)
            x.memo["plain"] = dataclasses.replace(x, wires=wires, unit=1)
        return x.memo["plain"]

    def flush(self, x: Number) -> Number:
        """Without carries."""
        x = self.plain(x)
        return dataclasses.replace(x, wires=flush(self.circuit, x.wires, x.form))

    def settle(self, x: Number) -> Number:
        """The same in digits that sums take without carries."""
        x = self.plain(x)
        return dataclasses.replace(x, wires=settle(self.circuit, x.wires))

    def cast(self, x: Number, bits: int, signed: bool) -> Number:
        """Modulo 2^bits; wider integers keep their values."""
        x = self.flush(x) if bits > x.bits else self.plain(x)
        count, wires = Form(bits, signed).digits, x.wires
        if count > len(wires):
            zeros = self.circuit.known([0] * (count - len(wires)), x.size)
            wires = self.circuit.join(wires, zeros)
        return Number(bits, signed, self.circuit.take(wires, np.arange(count)))

    # ---- sums

    def add(self, x: Number, y: Number, sign: int = 1) -> Number:
        """x + y, or x - y."""
        a, b = self.plain(x).wires, self.plain(y).wires
        for smaller in (settle, clean):
            if not self.circuit.fits((1, a), (sign, b)):
                a, b = (smaller(self.circuit, each) for each in (a, b))
        if not self.circuit.fits((1, a), (sign, b)):
            b = renew(self.circuit, b)
        return dataclasses.replace(x, wires=self.circuit.linear((1, a), (sign, b)), unit=1)

    def subtract(self, x: Number, y: Number) -> Number:
        """x - y."""
        return self.add(x, y, -1)

    def negate(self, x: Number) -> Number:
        """-x."""
        return dataclasses.replace(x, wires=self.circuit.linear((-1, self.plain(x).wires)), unit=1)

    def invert(self, x: Number) -> Number:
        """All bits of x flipped, which is -x - 1."""
        if x.unit != 1:
            wires = self.circuit.shifted(self.circuit.linear((-1, x.wires)), x.unit)
            return dataclasses.replace(x, wires=wires)
        made, form = self.negate(x), x.form
        by = (
            form.low + form.high
            if form.holds(x.wires)
            else np.where(np.arange(len(x.wires)) == 0, -1, 0)
        )
        return dataclasses.replace(made, wires=self.circuit.shifted(made.wires, by))

    def sum_of(self, numbers: Sequence[Number]) -> Number:
        """The sum of several numbers."""
        parts = [self.plain(x).wires for x in numbers]
        pool = self.circuit.join(*parts)
        count = len(parts[0])
        columns = [[(k * count + i, 1) for k in range(len(parts))] for i in range(count)]
        return dataclasses.replace(numbers[0], wires=add_up(self.circuit, pool, columns), unit=1)

    # ---- products

    def multiply(self, x: Number, y: Number) -> Number:
        """x·y."""
        a, b = self.flush(x).wires, self.flush(y).wires
        count = x.form.digits
        if multiplies(self.circuit, a, b, count=count):
            made = product(self.circuit, a, b, count)
        else:
            made = multiply(self.circuit, a, b, count)
        return dataclasses.replace(x, wires=made, unit=1)

    def multiply_known(self, x: Number, factor: int) -> Number:
        """x times an integer that everybody knows."""
        wires, count = self.flush(x).wires, x.form.digits
        rest = factor % 4**count
        if terms_of(factor) >= MANY_TERMS and multiplies(self.circuit, wires, count=count):
            digits = tuple(rest >> 2 * i & 3 for i in range(count))
            made = product(self.circuit, wires, digits, count)
        else:
            made = multiply_known(self.circuit, wires, factor, count)
        return dataclasses.replace(x, wires=made, unit=1)

    # ---- comparisons and choices

    def compare(self, x: Number, y: Number, operator: str) -> Number:
        """`lt`, `le`, `gt`, `ge`, `eq` or `ne` of integers, as bits that count `FLAG`.

        The sign of a difference is that of its highest digit that is not 0.
        """
        circuit = self.circuit
        a, b = self.flush(x).wires, self.flush(y).wires
        if not circuit.fits((1, a), (-1, b)):
            a, b = clean(circuit, a), clean(circuit, b)
        if not circuit.fits((1, a), (-1, b)):
            b = renew(circuit, b)
        return self.sign_of(circuit.linear((1, a), (-1, b)), operator)

    def sign_of(self, items: Wires, operator: str) -> Number:
        """How the sum of items compares with 0, if the sign is that of the last one that is not 0.

        It is in bits that count `FLAG`. Two items are one of -15 … 15 where their noise allows it,
        and four signs are one sum.
        """
        circuit, size = self.circuit, GROUP
        items = self._in_pairs(items)
        while len(items) > 1:
            signs = circuit.table(items, lambda v, w: w * np.sign(v), weights(len(items)))
            starts = range(0, len(items), size)
            groups = [[(i, 1) for i in range(a, min(a + size, len(items)))] for a in starts]
            items = circuit.sums(signs, groups)
        if operator in ("eq", "ne"):
            bits = circuit.table(items, lambda v: np.where(v == 0, FLAG, 0))
            made = Number(1, False, bits, FLAG)
            return made if operator == "eq" else self.invert(made)
        # Of 31 values a table is odd but for 0: the result is -4 or 4.
        half = FLAG // 2
        zero = half if operator in ("le", "ge") else -half
        turned = -half if operator in ("lt", "le") else half
        bits = circuit.table(items, lambda v: np.where(v == 0, zero, turned * np.sign(v)))
        return Number(1, False, circuit.stated(circuit.shifted(bits, half), 0, FLAG), FLAG)

    def _in_pairs(self, x: Wires) -> Wires:
        """4a + b of neighbours, where tables bear it."""
        count = len(x) // 2 * 2
        low, high = (self.circuit.take(x, np.arange(start, count, 2)) for start in (0, 1))
        pairs = [[(i, 1), (i + 1, 4)] for i in range(0, count, 2)]
        square, total = self.circuit.noise_of(x, pairs)
        most = np.maximum(abs(high.low), abs(high.high)) * 4
        most = most + np.maximum(abs(low.low), abs(low.high))
        if not count or most.max() > 15 or not np.all(self.circuit.account.bears(square, total)):
            return x
        return self.circuit.sums(x, pairs + [[(i, 1)] for i in range(count, len(x))])

    def select(self, which: Number, x: Number, y: Number) -> Number:
        """x where the bit is 1, and y elsewhere.

        y plus a table of x - y and the bit; where this has too much noise, one table of each.
        """
        circuit = self.circuit
        x, y = (self.plain(each) for each in (x, y))
        flag = self._flags(which)
        a, b = x.wires, y.wires
        wide = np.any(np.maximum(a.high, b.high) - np.minimum(a.low, b.low) > FLAG - 1)
        if wide or np.any(a.width > 3) or np.any(b.width > 3):
            a, b = self.flush(x).wires, self.flush(y).wires
        if not circuit.fits((1, a)) or not circuit.fits((1, b)):
            a, b = clean(circuit, a), clean(circuit, b)
        return dataclasses.replace(x, wires=self.choose(flag, a, b))

    def choose(self, flag: Wires, x: Wires, y: Wires, most: float = QUIET) -> Wires:
        """x where one wire counts `FLAG`, and y where it is 0: digits of ranges that fit both.
        Results of one table have at most such a part of the noise that tables bear."""
        circuit = self.circuit
        low, high = np.minimum(x.low, y.low), np.maximum(x.high, y.high)
        bit = circuit.take(flag, np.zeros(len(x), dtype=np.int64))
        # A choice adds the noise of a rotation. Results must still serve in sums.
        quiet = y.square + 1 <= circuit.account.limit * most
        if np.all(quiet) and circuit.fits((1, x), (-1, y)):
            difference = circuit.linear((1, x), (-1, y))
            if self._takes_flag(difference, bit):
                raised = circuit.linear((1, difference), (1, bit))
                made = circuit.table(raised, _where_set, difference.low)
                return circuit.stated(circuit.linear((1, y), (1, made)), low, high)
        if not (self._takes_flag(x, bit) and self._takes_flag(y, bit)):
            x, y = clean(circuit, x), clean(circuit, y)
        return self.either(bit, x, y)

    def either(self, bit: Wires, x: Wires, y: Wires) -> Wires:
        """x where the bit counts `FLAG`, y where it is 0: a table of each, of which one gives 0."""
        circuit = self.circuit
        one, other = circuit.tables(
            (circuit.linear((1, x), (1, bit)), [(_where_set, x.low)]),
            (circuit.linear((1, y), (1, bit)), [(_where_clear, y.low)]),
        )
        pool = circuit.join(one[0], other[0])
        both = circuit.sums(pool, [[(i, 1), (len(x) + i, 1)] for i in range(len(x))])
        low, high = np.minimum(x.low, y.low), np.maximum(x.high, y.high)
        return circuit.stated(both, np.minimum(low, 0), np.maximum(high, 0))

    def _takes_flag(self, x: Wires, bit: Wires) -> bool:
        return bool(np.all(x.width < FLAG)) and self.circuit.fits((1, x), (1, bit))

    def _flags(self, which: Number) -> Wires:
        """The bits as multiples of `FLAG`, with the noise of one bootstrap at most."""
        if which.unit == FLAG:
            return clean(self.circuit, which.wires)
        wires = self.flush(which).wires
        if np.all(FLAG * FLAG * wires.square < 0.1):
            return self.circuit.linear((FLAG, wires))
        return self.circuit.table(wires, lambda v: FLAG * v)

    # ---- bits

    def bitwise(self, x: Number, y: Number, operator: str) -> Number:
        """`and`, `or` or `xor`."""
        if x.bits == 1 and not x.signed:
            return self._of_bits(x, y, operator)
        a, b, form = self.flush(x).wires, self.flush(y).wires, x.form
        if np.all(a.width == 0):
            a, b = b, a
        function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[operator]

        def alone(v: Integers, other: Any, modulus: int, low: int) -> Integers:
            return reduced(function(v % modulus, other % modulus), modulus, low)

        def both(v: Integers, least: int, modulus: int, low: int) -> Integers:
            second = reduced(v, 4, least)
            return alone((v - second) // 4, second, modulus, low)

        known, rest = np.flatnonzero(b.width == 0), np.flatnonzero(b.width > 0)
        given = np.stack([b.low, form.modulus, form.low], axis=1)
        requests: list[Any] = []
        if len(known):
            requests.append((self.circuit.take(a, known), [(alone, given[known])]))
        if len(rest):
            packed = self.packed(self.circuit.take(a, rest), self.circuit.take(b, rest))
            requests.append((packed, [(both, given[rest])]))
        made = [outputs[0] for outputs in self.circuit.tables(*requests)]
        order = np.argsort(np.concatenate([known, rest]))
        wires = self.circuit.take(self.circuit.join(*made), order)
        return dataclasses.replace(x, wires=wires, unit=1)

    def _of_bits(self, x: Number, y: Number, operator: str) -> Number:
        """The same of single bits, by their sum in units of `FLAG`: of 0 and 2·`FLAG`, which is
        half of the circle, a table has opposite values."""
        both = self.circuit.linear((1, self._flags(x)), (1, self._flags(y)))
        half = FLAG // 2
        if operator == "xor":
            bits = self.circuit.table(
                both, lambda v: np.where((v < half) | (v > 3 * half), 0, FLAG)
            )
            return Number(1, False, bits, FLAG)
        least = 3 * half if operator == "and" else half
        bits = self.circuit.table(both, lambda v: np.where(v < least, -half, half))
        return Number(1, False, self.circuit.shifted(bits, half), FLAG)

    def packed(self, a: Wires, b: Wires) -> Wires:
        """4a + b, where a is written so by a table if it has noise."""
        if self.circuit.fits((4, a), (1, b)):
            return self.circuit.linear((4, a), (1, b))
        b = clean(self.circuit, b, 2.0)
        return self.circuit.linear((1, self.circuit.table(a, lambda v: 4 * v)), (1, b))


def _batches(x: Number) -> dict[int, Any]:
    """The ciphertexts of a number in all forms that it keeps, each once."""
    held = {id(batch): batch for batch in x.wires.batches}
    for each in x.memo.values():
        held.update(_batches(each))
    return held


def _where_set(v: Integers, low: int) -> Integers:
    """d of d + `FLAG`, and 0 of d."""
    return np.where(v - low >= FLAG, v - FLAG, 0)


def _where_clear(v: Integers, low: int) -> Integers:
    """d of d, and 0 of d + `FLAG`."""
    return np.where(v - low >= FLAG, 0, v)


def digits_of(values: Sequence[int], form: Form) -> Integers:
    """The digits of integers in the form, a row for each place."""
    rows = [[int(value) >> 2 * i & 3 for value in values] for i in range(form.digits)]
    return reduced(np.array(rows, dtype=np.int64), form.modulus[:, None], form.low[:, None])


def integers_of(digits: Integers, bits: int, signed: bool) -> list[int]:
    """The integers of digits, a row for each place, modulo 2^bits."""
    least = -(1 << bits - 1) if signed else 0
    totals = [0] * digits.shape[1]
    for row in digits[::-1].tolist():
        totals = [4 * total + digit for total, digit in zip(totals, row, strict=True)]
    return [least + (total - least) % (1 << bits) for total in totals]
