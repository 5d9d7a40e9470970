"""Integers as weighted sums of small encrypted messages, and the tables that are looked up in them.

A *wire* is one ciphertext of a message 0 … p-1 under a padding bit: an input's digit, or the result
of a table. An `Affine` is an integer: a constant and a weighted sum of wires, of any size. Sums
cost nothing until they are needed as a message of a table; `Wires.digits` makes digits of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

Terms = Mapping[int, int]


@dataclasses.dataclass(frozen=True)
class Budget:
    """How much noise a table's input may have, in variances of a rotation under the ring key.

    `fresh` is the variance of a fresh ciphertext, and `common` the share that is the same in all
    rotations under one key (docs/noise.md).
    """

    allowed: float
    fresh: float
    common: float


class Affine:
    """constant + Σ weight·wire, which lies in low … high for all inputs that are allowed."""

    __slots__ = ("constant", "high", "low", "terms")

    def __init__(self, constant: int, terms: Terms, low: int, high: int) -> None:
        self.constant, self.terms, self.low, self.high = constant, terms, low, high


@dataclasses.dataclass(frozen=True)
class Look:
    """A table that is looked up at a sum: entries for messages that cannot be are 0."""

    terms: tuple[tuple[int, int], ...]
    constant: int
    low: int
    high: int
    table: tuple[int, ...]


def base_of(p: int) -> int:
    """What digits of wide integers are below: two of them are one message 0 … p-1."""
    return 1 << (p.bit_length() - 1) // 2


class Wires:
    """All wires of a circuit, in an order in which they can be computed.

    Sums that are looked up stay in 0 … p-1 and within the budget of noise. That holds for every
    sum that `digits` returns.
    """

    def __init__(self, p: int, budget: Budget) -> None:
        self.p, self.budget = p, budget
        self.base = base_of(p)
        """Digits of wide integers are below it: two of them are one message."""
        self.looks: list[Look | None] = []
        self.levels: list[int] = []
        self._ranges: list[tuple[int, int]] = []
        self._known: dict[Look, int] = {}
        self._digits: dict[tuple[object, ...], list[Affine]] = {}

    # ---- integers

    def input(self, most: int) -> Affine:
        """A new input's digit, 0 … `most`."""
        return self._wire(None, 0, (0, most))

    def constant(self, value: int) -> Affine:
        """A known integer."""
        return Affine(value, {}, value, value)

    def total(self, weights: Sequence[int], values: Sequence[Affine], constant: int = 0) -> Affine:
        """constant + Σ weights[k]·values[k]. Bounds are those of the values and of the wires,
        whichever are closer."""
        terms: dict[int, int] = {}
        low = high = constant
        for weight, value in zip(weights, values, strict=True):
            constant += weight * value.constant
            low += weight * (value.low if weight > 0 else value.high)
            high += weight * (value.high if weight > 0 else value.low)
            for wire, each in value.terms.items():
                terms[wire] = terms.get(wire, 0) + weight * each
        terms = {wire: weight for wire, weight in terms.items() if weight}
        return self.within(Affine(constant, terms, *self.hull(constant, terms)), low, high)

    def within(self, a: Affine, low: int, high: int) -> Affine:
        """The integer, which is known to lie in low … high."""
        return Affine(a.constant, a.terms, max(a.low, low), min(a.high, high))

    def hull(self, constant: int, terms: Terms) -> tuple[int, int]:
        """What the ranges of wires alone say of a sum."""
        low = high = constant
        for wire, weight in terms.items():
            least, most = self._ranges[wire]
            low += weight * (least if weight > 0 else most)
            high += weight * (most if weight > 0 else least)
        return low, high

    def level(self, a: Affine) -> int:
        """How many tables lie behind one another before the integer is there."""
        return max((self.levels[wire] for wire in a.terms), default=0)

    # ---- noise

    def noise(self, terms: Terms) -> float:
        """The variance of a sum, as the server's account has it (docs/noise.md)."""
        squares, deviations, of_fresh = 0, 0, 0
        for wire, weight in terms.items():
            if self.looks[wire] is None:
                of_fresh += weight * weight
            else:
                squares += weight * weight
                deviations += abs(weight)
        shared = self.budget.common * (deviations * deviations - squares)
        return squares + shared + self.budget.fresh * of_fresh

    def _is_ready(self, a: Affine) -> bool:
        return 0 <= a.low and a.high < self.p and self.noise(a.terms) <= self.budget.allowed

    # ---- tables

    def look_up(self, a: Affine, function: Callable[[int], int]) -> Affine:
        """function(a), 0 … p-1, for a sum that `digits` returned. A table of a table's result is
        one table."""
        if not a.terms:
            return self.constant(function(a.constant))
        if not self._is_ready(a):
            raise AssertionError(f"{a.low} … {a.high} with noise {self.noise(a.terms):.3g}")
        look = self._composed(a, function)
        values = look.table[look.low : look.high + 1]
        if len(set(values)) == 1:
            return self.constant(values[0])
        if look not in self._known:
            level = 1 + max(self.levels[wire] for wire, _ in look.terms)
            wire = self._wire(look, level, (min(values), max(values)))
            [self._known[look]] = wire.terms
        wire_number = self._known[look]
        return Affine(0, {wire_number: 1}, *self._ranges[wire_number])

    def _composed(self, a: Affine, function: Callable[[int], int]) -> Look:
        terms, constant, low, high = tuple(sorted(a.terms.items())), a.constant, a.low, a.high
        values = {m: function(m) for m in range(low, high + 1)}
        [(wire, weight), *others] = terms
        inner = None if others else self.looks[wire]
        if inner is not None:
            outer = values
            terms, low, high = inner.terms, inner.low, inner.high
            found = {m: weight * inner.table[m] + constant for m in range(low, high + 1)}
            # What a known bound excludes cannot be, and has any value.
            some = next(iter(outer.values()))
            values = {m: outer.get(at, some) for m, at in found.items()}
            constant = inner.constant
        table = tuple(values.get(m, 0) for m in range(self.p))
        return Look(terms, constant, low, high, table)

    def _wire(self, look: Look | None, level: int, limits: tuple[int, int]) -> Affine:
        self.looks.append(look)
        self.levels.append(level)
        self._ranges.append(limits)
        return Affine(0, {len(self.looks) - 1: 1}, *limits)

    def cheapest(self, ways: Sequence[Callable[[], Affine]]) -> Affine:
        """The integer by the way with the fewest tables, with those that divide it into digits."""
        costs = []
        before = len(self.looks), len(self._known), len(self._digits)
        for way in ways:
            result = way()
            digits = self.digits(result)
            levels = max(map(self.level, digits))
            costs.append((self._count_since(before[0], digits), levels))
            del self.looks[before[0] :], self.levels[before[0] :], self._ranges[before[0] :]
            for known, count in ((self._known, before[1]), (self._digits, before[2])):
                while len(known) > count:
                    known.popitem()
        return ways[costs.index(min(costs))]()

    def _count_since(self, first: int, values: Sequence[Affine]) -> int:
        """How many tables from `first` on some integers need."""
        needed = {wire for a in values for wire in a.terms}
        for wire in range(len(self.looks) - 1, first - 1, -1):
            look = self.looks[wire]
            if wire in needed and look is not None:
                needed.update(other for other, _ in look.terms)
        return sum(wire >= first for wire in needed)

    # ---- digits

    def digits(self, a: Affine, split: bool = False) -> list[Affine]:
        """a - a.low as one message below p if it fits, and otherwise as digits below `base`, the
        lowest first. All can be looked up. `split` asks for digits below `base` always."""
        key = (a.constant, a.low, a.high, split, *sorted(a.terms.items()))
        if key not in self._digits:
            width = a.high - a.low + 1
            if width <= (self.base if split else self.p):
                self._digits[key] = [self._message(a)]
            else:
                self._digits[key] = self._split(a)
        return self._digits[key]

    def joined(self, digits: Sequence[Affine]) -> Affine:
        """Σ base^k·digits[k], which is below p, as one message."""
        parts = [self.times(digit, self.base**k) for k, digit in enumerate(digits)]
        return self.meet(parts)

    def times(self, a: Affine, factor: int) -> Affine:
        """factor·a, below p, by a table where the product would have too much noise."""
        product = self.total([factor], [a])
        light = factor == 1 or self.noise(product.terms) <= 0.9 * self.budget.allowed
        return product if light else self.look_up(a, lambda m: factor * m)

    def meet(self, parts: Sequence[Affine]) -> Affine:
        """The sum of a few messages, which is below p, for one table. Messages that bring too much
        noise are refreshed."""
        whole = self.total([1] * len(parts), parts)
        if not self._is_ready(whole):
            refreshed = [self.look_up(part, lambda m: m) for part in parts]
            whole = self.total([1] * len(parts), refreshed)
        return whole

    def disjoint(self, parts: Sequence[Affine], most: int) -> Affine:
        """The sum of messages 0 … `most` of which one at most is not 0."""
        items = list(parts)
        while len(items) > 1:
            group = items[:1]
            for item in items[1:]:
                terms = self.total([1] * (len(group) + 1), [*group, item]).terms
                if self.noise(terms) > self.budget.allowed:
                    break
                group.append(item)
            whole = self.total([1] * len(group), group)
            items = [*items[len(group) :], self.look_up(self._bounded(whole, most), lambda m: m)]
        return items[0]

    def _bounded(self, a: Affine, most: int) -> Affine:
        return Affine(a.constant, a.terms, 0, most)

    def _message(self, a: Affine) -> Affine:
        """a - a.low, which is below p, as a sum that can be looked up."""
        low, high = self.hull(a.constant, a.terms)
        if high - low >= self.p:
            return self.joined(self._split(a))
        whole, offset = self._collected(a)
        summed, _ = self._reduced(whole, None)
        known = self.total([1], [summed], offset - a.low)
        return Affine(known.constant, known.terms, 0, a.high - a.low)

    def _collected(self, a: Affine) -> tuple[list[Affine], int]:
        """Terms that are not negative, for one message, and what they lack to a."""
        if self.noise(a.terms) <= self.budget.allowed:
            low = self.hull(a.constant, a.terms)[0]
            return [self.total([1], [a], -low)], low
        items, offset = [], a.constant
        for wire, weight in a.terms.items():
            x, lacking = self._upward(wire, weight)
            offset += lacking
            items.append(self._scaled(x, abs(weight)))
        return items, offset

    def _scaled(self, x: Affine, factor: int) -> Affine:
        product = self.total([factor], [x])
        light = factor == 1 or self.noise(product.terms) <= self.budget.allowed / 2
        return product if light else self.look_up(x, lambda m: factor * m)

    def _upward(self, wire: int, weight: int) -> tuple[Affine, int]:
        """x and c with weight·wire = |weight|·x + c, where x begins at 0."""
        least, most = self._ranges[wire]
        if weight > 0:
            return Affine(-least, {wire: 1}, 0, most - least), weight * least
        return Affine(most, {wire: -1}, 0, most - least), weight * most

    def _split(self, a: Affine) -> list[Affine]:
        """Digits of a - a.low: columns of terms are added up, and carries go to the next column.

        It counts modulo base^columns, above all that the difference can be.
        """
        base, width, count = self.base, a.high - a.low + 1, 1
        while base**count < width:
            count += 1
        columns: list[list[Affine]] = [[] for _ in range(count)]
        constant = a.constant - a.low
        for wire, weight in a.terms.items():
            x, lacking = self._upward(wire, weight)
            constant += lacking + self._place(columns, x, abs(weight))
        constant %= base**count
        digits = []
        for position, items in enumerate(columns):
            digit = constant // base**position % base
            if digit:
                items.append(self.constant(digit))
            whole, carries = self._reduced(items, base)
            if whole.high >= base:
                carries.append(self.look_up(whole, lambda m: m // base))
                whole = self.look_up(whole, lambda m: m % base)
            if position + 1 < count:
                columns[position + 1] += [each for each in carries if each.high]
            most = min(base - 1, (width - 1) // base**position)
            digits.append(self.within(whole, 0, most))
        return digits

    def _place(self, columns: list[list[Affine]], x: Affine, factor: int) -> int:
        """factor·x, for x from 0, in columns, and what these lack to it: by the digits of the
        factor, from 1 - base/2 to base/2, or by tables of the digits of the product."""
        whole, parts, lacking, position = factor, [], 0, 0
        while factor:
            digit = factor % self.base
            if 2 * digit > self.base and factor > digit:
                digit -= self.base
            if digit < 0:
                lacking += digit * self.base**position * x.high
            if digit:
                upward = x if digit > 0 else self.total([-1], [x], x.high)
                parts.append((position, self.total([abs(digit)], [upward])))
            factor, position = (factor - digit) // self.base, position + 1
        if all(self._has_room(part) for _, part in parts):
            for position, part in parts:
                if position < len(columns):
                    columns[position].append(part)
            return lacking
        for place, column in enumerate(columns):
            power = self.base**place
            digit_of = self.look_up(x, lambda m, power=power: whole * m // power % self.base)  # type: ignore[misc]
            if digit_of.high:
                column.append(digit_of)
        return 0

    def _has_room(self, part: Affine) -> bool:
        """Whether a multiple of a wire fits a sum, and leaves room for others. A message that fills
        a sum alone is better divided where its own table is."""
        bare = all(abs(weight) == 1 for weight in part.terms.values())
        is_fresh = all(self.looks[wire] is None for wire in part.terms)
        most = self.p - 1 if is_fresh else self.p - self.base
        share = 1 if bare else 2
        return part.high <= most and self.noise(part.terms) <= self.budget.allowed / share

    def _reduced(self, items: list[Affine], base: int | None) -> tuple[Affine, list[Affine]]:
        """The sum of terms as one that can be looked up, and carries.

        With a base the sum is right modulo the base together with the carries; else it is below p.
        """
        carries: list[Affine] = []
        while True:
            items = sorted(items, key=self.level)
            whole = self.total([1] * len(items), items)
            if self._is_ready(whole):
                return whole, carries
            places = self._group(items, base)
            chosen = self.total([1] * len(places), [items[i] for i in places])
            items = [item for i, item in enumerate(items) if i not in places]
            if base is None:
                items.append(self.look_up(chosen, lambda m: m))
                continue
            if chosen.high >= base:
                carries.append(self.look_up(chosen, lambda m: m // base))
            items.append(self.look_up(chosen, lambda m: m % base))

    def _group(self, items: list[Affine], base: int | None) -> list[int]:
        """The first items that can be looked up together: two or more, or one that becomes
        smaller."""
        for start, first in enumerate(items):
            places, whole = [start], first
            for place in range(start + 1, len(items)):
                more = self.total([1, 1], [whole, items[place]])
                if self._is_ready(more):
                    places.append(place)
                    whole = more
                elif place > start + 16:
                    break
            shrinks = (base is not None and first.high >= base) or self.noise(first.terms) > 1
            if len(places) > 1 or (shrinks and self._is_ready(first)):
                return places
        raise AssertionError("the budget of noise holds no sum of two wires")
