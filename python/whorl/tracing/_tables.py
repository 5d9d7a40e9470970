"""Functions and products of integers of up to 16 bits, by tables of single messages.

A function of several digits becomes a decision diagram (Bryant, IEEE Trans. Comput. 1986, with
nodes of many branches): a node of the lowest digit is one table, and a node above it chooses among
those below it by products with indicators of its digit. Equal nodes are one node, so that
comparisons and clipping have few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._wires import Affine, Wires

MOST_ENTRIES = 1 << 16
"""Entries of the table of a function: 16 bits."""
MOST_PIECES = 3
"""Functions of so many straight pieces, as maxima with a known number, may be choices by
comparisons; one comparison takes a carry a digit."""

Integers = np.ndarray[Any, np.dtype[np.int64]]


def table(wires: Wires, a: Affine, values: Sequence[int] | Integers) -> Affine:
    """The integer values[a - a.low]; there is a value for each a from a.low to a.high."""
    entries = np.asarray(values, dtype=np.int64)
    least, most = int(entries.min()), int(entries.max())
    if least == most:
        return wires.constant(least)
    if a.high - a.low < wires.p:
        [message] = wires.digits(a)
        places = _places(wires, most - least, wires.p)
        parts = [
            wires.look_up(message, lambda m, t=t: int(t[min(m, len(t) - 1)]))  # type: ignore[misc]
            for t in _split(entries - least, places)
        ]
        return _of_parts(wires, parts, places, least, most)
    pieces = _pieces(entries)

    def by_diagram() -> Affine:
        variables = _variables(wires, wires.digits(a), len(entries))
        places = _places(wires, most - least, wires.p // 2)
        parts = [
            _diagram(wires, variables, t, places[0][1]) for t in _split(entries - least, places)
        ]
        return _of_parts(wires, parts, places, least, most)

    def by_pieces() -> Affine:
        result, before = wires.constant(0), wires.constant(0)
        for start, value, slope in pieces:
            bit = at_least(wires, a, a.low + start)
            line = wires.total([slope], [a], value - slope * (a.low + start))
            apart = wires.total([1, -1], [line, before])
            if apart.terms:
                result = chosen(wires, bit, line, result)  # lines go on beyond their pieces
            else:
                result = wires.total([1, apart.constant], [result, bit])
            before = line
        return wires.within(result, least, most)

    return wires.cheapest([by_diagram, by_pieces]) if pieces else by_diagram()


def _pieces(entries: Integers) -> list[tuple[int, int, int]]:
    """Where the straight pieces of a function begin, with the value there and the slope; none if
    there are more than a few."""
    pieces: list[tuple[int, int, int]] = []
    start = 0
    slopes = np.diff(entries)
    while start < len(entries):
        if len(pieces) == MOST_PIECES:
            return []
        slope = int(slopes[start]) if start < len(slopes) else 0
        bends = np.flatnonzero(slopes[start:] != slope)
        length = int(bends[0]) + 1 if len(bends) else len(entries) - start
        if length == 2 and start + 2 < len(entries):
            slope, length = 0, 1  # a jump
        pieces.append((start, int(entries[start]), slope))
        start += length
    return pieces


def at_least(wires: Wires, a: Affine, least: int) -> Affine:
    """1 where a >= least, else 0: the carry of a + base^k - least into digit k, for a base^k that
    is as large as both can be apart."""
    if least <= a.low or least > a.high:
        return wires.constant(int(least <= a.low))
    count = 1
    while wires.base**count < max(least - a.low, a.high - least + 1):
        count += 1
    moved = Affine(a.constant, a.terms, least - wires.base**count, a.high)
    return wires.digits(moved, split=True)[count]


def compared(wires: Wires, a: Affine, name: str) -> Affine:
    """Whether a is as NumPy's comparison of this name says, beside 0."""
    positive, natural = at_least(wires, a, 1), at_least(wires, a, 0)
    bits, weights, constant = {
        "greater": ([positive], [1], 0),
        "greater_equal": ([natural], [1], 0),
        "less": ([natural], [-1], 1),
        "less_equal": ([positive], [-1], 1),
        "equal": ([natural, positive], [1, -1], 0),
        "not_equal": ([natural, positive], [-1, 1], 1),
    }[name]
    return wires.within(wires.total(weights, bits, constant), 0, 1)


def _of_parts(
    wires: Wires, parts: Sequence[Affine], places: list[tuple[int, int]], least: int, most: int
) -> Affine:
    weights = [weight for weight, _ in places]
    return wires.within(wires.total(weights, parts, least), least, most)


def _places(wires: Wires, most: int, one: int) -> list[tuple[int, int]]:
    """Weight and radix of each digit of a result 0 … `most`: one digit if that is below `one`."""
    if most < one:
        return [(1, most + 1)]
    places, weight = [], 1
    while weight <= most:
        places.append((weight, wires.base))
        weight *= wires.base
    return places


def _split(values: Integers, places: list[tuple[int, int]]) -> list[Integers]:
    return [values // weight % radix for weight, radix in places]


def _variables(wires: Wires, digits: Sequence[Affine], width: int) -> list[tuple[Affine, int]]:
    """Digits of an integer below `width`, as many together as one message holds, and how many
    values each has."""
    together, base = 1, wires.base
    while base ** (together + 1) <= wires.p:
        together += 1
    variables = []
    for start in range(0, len(digits), together):
        group = digits[start : start + together]
        count = min(base ** len(group), -(-width // base**start))
        variables.append((wires.within(wires.joined(group), 0, count - 1), count))
    return variables


def _diagram(
    wires: Wires, variables: Sequence[tuple[Affine, int]], values: Integers, radix: int
) -> Affine:
    """The value, 0 … radix-1, at the integer whose digits are the variables, the lowest first."""
    (lowest, width), *others = variables
    full = width * int(np.prod([count for _, count in others], dtype=np.int64))
    # Digits can make numbers above the last one; they do not occur, and repeat the last value.
    padded = np.concatenate([values, np.full(full - len(values), values[-1], dtype=np.int64)])
    rows, ids = np.unique(padded.reshape(-1, width), axis=0, return_inverse=True)
    nodes = [wires.look_up(lowest, lambda m, row=row: int(row[m])) for row in rows]  # type: ignore[misc]
    for variable, count in others:
        rows, ids = np.unique(ids.reshape(-1, count), axis=0, return_inverse=True)
        nodes = [_chosen(wires, variable, [nodes[i] for i in row], radix) for row in rows]
    return nodes[int(ids.reshape(-1)[0])]


def _chosen(wires: Wires, variable: Affine, nodes: list[Affine], radix: int) -> Affine:
    """nodes[variable], for messages 0 … radix-1."""
    known = [0 if node.terms else node.constant for node in nodes]
    parts = [wires.look_up(variable, lambda m: known[m])] if any(known) else []
    branches: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for place, node in enumerate(nodes):
        if node.terms:
            branches.setdefault(tuple(node.terms.items()), []).append(place)
    for places in branches.values():
        node = nodes[places[0]]
        if len(places) == len(nodes):
            return node
        here = set(places)
        indicator = wires.look_up(variable, lambda m, here=here: radix * (m in here))  # type: ignore[misc]
        both = wires.meet([indicator, node])
        parts.append(wires.look_up(both, lambda m: m - radix if m >= radix else 0))
    return wires.disjoint(parts, radix - 1) if parts else wires.constant(0)


def product(wires: Wires, a: Affine, b: Affine) -> Affine:
    """a·b.

    Small factors meet in one table of both. Else, if a + b is one message, a·b is
    ⌊(a + b)²/4⌋ - ⌊(a - b)²/4⌋, since a + b and a - b are both even or both odd. Larger factors are
    multiplied digit by digit.
    """
    if not a.terms or not b.terms:
        factor, other = (a, b) if not a.terms else (b, a)
        return wires.total([factor.constant], [other])
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    wide, narrow = (a, b) if a.high - a.low >= b.high - b.low else (b, a)
    widths = wide.high - wide.low + 1, narrow.high - narrow.low + 1
    if a.terms == b.terms:
        apart = b.constant - a.constant
        result = table(wires, a, [m * (m + apart) for m in range(a.low, a.high + 1)])
    elif widths[0] * widths[1] <= wires.p:
        result = _pair(wires, wide, narrow)
    elif widths[0] + widths[1] - 1 <= wires.p:
        sum_, difference = wires.total([1, 1], [a, b]), wires.total([1, -1], [a, b])
        result = wires.total([1, -1], [_quarter(wires, sum_), _quarter(wires, difference)])
    else:
        result = _by_digits(wires, wide, narrow)
    return wires.within(result, min(corners), max(corners))


def _pair(wires: Wires, a: Affine, b: Affine) -> Affine:
    """a·b by one message that holds both."""
    [x], [y] = wires.digits(a), wires.digits(b)
    width = b.high - b.low + 1
    both = wires.meet([wires.times(x, width), y])
    index = Affine(both.constant, both.terms, 0, (a.high - a.low) * width + width - 1)
    values = [(a.low + m // width) * (b.low + m % width) for m in range(index.low, index.high + 1)]
    return table(wires, index, values)


def _quarter(wires: Wires, a: Affine) -> Affine:
    return table(wires, a, [m * m // 4 for m in range(a.low, a.high + 1)])


def _by_digits(wires: Wires, wide: Affine, narrow: Affine) -> Affine:
    """(x + c)·(y + d), where products of the digits of x and y are tables."""
    base, c, d = wires.base, wide.low, narrow.low
    ys = wires.digits(narrow, split=narrow.high - narrow.low >= base)
    room = wires.p // (1 + max(y.high for y in ys))
    xs = wires.digits(wide, split=wide.high - wide.low >= room)
    weights, parts = [d, c], [wide, narrow]
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            weights.append(base ** (i + j))
            parts.append(_pair_of_digits(wires, x, y))
    return wires.total(weights, parts, -c * d)


def _pair_of_digits(wires: Wires, x: Affine, y: Affine) -> Affine:
    if not x.terms or not y.terms:
        return wires.total([x.constant if not x.terms else y.constant], [y if not x.terms else x])
    width = y.high + 1
    both = wires.meet([wires.times(x, width), y])
    return wires.look_up(both, lambda m: m // width * (m % width))


def shifted(wires: Wires, a: Affine, bits: int) -> Affine:
    """⌊a / 2^bits⌋. Digits that are dropped as a whole take no table."""
    low, high = a.low >> bits, a.high >> bits
    per_digit = wires.base.bit_length() - 1
    if a.high - a.low < wires.p or bits < per_digit:
        values = np.arange(a.low, a.high + 1) >> bits
        return wires.within(table(wires, a, values), low, high)
    aligned = Affine(a.constant, a.terms, a.low >> bits << bits, a.high)
    digits = wires.digits(aligned, split=True)
    kept = digits[bits // per_digit :]
    rest = wires.total([wires.base**k for k in range(len(kept))], kept)
    left = bits % per_digit
    rest = wires.within(rest, 0, (a.high - aligned.low) >> (bits - left))
    if left:
        rest = table(wires, rest, np.arange(rest.low, rest.high + 1) >> left)
    return wires.within(wires.total([1], [rest], low), low, high)


def chosen(wires: Wires, bit: Affine, a: Affine, b: Affine) -> Affine:
    """a where a bit is 1, else b: b + bit·(a - b), or the digits of both times the bit and its
    complement, whichever has fewer tables."""
    if not bit.terms:
        return a if bit.constant else b

    def by_product() -> Affine:
        change = product(wires, bit, wires.total([1, -1], [a, b]))
        return wires.within(wires.total([1, 1], [b, change]), low, high)

    low, high = min(a.low, b.low), max(a.high, b.high)
    return wires.cheapest([by_product, lambda: _by_selection(wires, bit, a, b)])


def _by_selection(wires: Wires, bit: Affine, a: Affine, b: Affine) -> Affine:
    low, high = min(a.low, b.low), max(a.high, b.high)
    split = high - low >= wires.p // 2
    radix = wires.base if split else high - low + 1
    [message] = wires.digits(bit)
    places = [wires.digits(Affine(each.constant, each.terms, low, high), split) for each in (a, b)]
    parts = []
    for x, y in zip(*places, strict=True):
        if x.terms or y.terms:
            both = [_times(wires, message, x, radix, 1), _times(wires, message, y, radix, 0)]
            digit = wires.disjoint(both, radix - 1) if split else wires.total([1, 1], both)
        else:
            digit = wires.look_up(
                message,
                lambda m, x=x, y=y: x.constant if m else y.constant,  # type: ignore[misc]
            )
        parts.append(wires.within(digit, 0, radix - 1))
    weights = [wires.base**k for k in range(len(parts))]
    return wires.within(wires.total(weights, parts, low), low, high)


def _times(wires: Wires, bit: Affine, digit: Affine, radix: int, wanted: int) -> Affine:
    """A digit below a radix where the bit is as wanted, else 0."""
    if not digit.terms:
        return wires.look_up(bit, lambda m: digit.constant * (m == wanted))
    indicator = wires.look_up(bit, lambda m: radix * (m == wanted))
    both = wires.meet([indicator, digit])
    return wires.look_up(both, lambda m: m - radix if m >= radix else 0)


def larger(wires: Wires, a: Affine, b: Affine) -> Affine:
    """The larger one: b + max(a - b, 0), or the one that a comparison chooses."""
    apart = wires.total([1, -1], [a, b])
    low, high = max(a.low, b.low), max(a.high, b.high)

    def by_difference() -> Affine:
        more = table(wires, apart, np.maximum(np.arange(apart.low, apart.high + 1), 0))
        return wires.within(wires.total([1, 1], [b, more]), low, high)

    def by_choice() -> Affine:
        bit = at_least(wires, apart, 1)
        if not bit.terms:
            return a if bit.constant else b
        return wires.within(_by_selection(wires, bit, a, b), low, high)

    is_narrow = apart.high - apart.low < MOST_ENTRIES
    return wires.cheapest([by_difference, by_choice]) if is_narrow else by_choice()


def leaves(
    wires: Wires, bits: Sequence[Affine], paths: Sequence[Sequence[tuple[int, bool]]], values: Any
) -> list[Affine]:
    """The row of `values` of the only path whose bits are all as it says.

    Of p - 1 leaves together one message says which one it is, or 0. Every value is a table of it.
    """
    bits = [b if wires.noise(b.terms) <= 1 else wires.look_up(b, lambda m: m) for b in bits]
    rows = np.asarray(values, dtype=np.int64).reshape(len(paths), -1)
    lows, highs = rows.min(axis=0), rows.max(axis=0)
    parts: list[list[Affine]] = [[] for _ in lows]
    size = wires.p - 1
    for start in range(0, len(paths), size):
        group = paths[start : start + size]
        whole = len(paths) <= size  # then it may be the first one that 0 says
        numbers = []
        for number, path in enumerate(group):
            count = number if whole else number + 1
            if count:
                numbers.append(_times_all(wires, bits, path, count))
        place = wires.disjoint(numbers, size) if numbers else wires.constant(0)
        for column, low in enumerate(lows):
            found = rows[start : start + len(group), column] - low
            entries = found if whole else np.concatenate([[0], found])
            within = wires.within(place, 0, len(entries) - 1)
            parts[column].append(table(wires, within, entries[within.low : within.high + 1]))
    return [
        wires.within(wires.total([1] * len(each), each, int(low)), int(low), int(high))
        for each, low, high in zip(parts, lows, highs, strict=True)
    ]


def _times_all(
    wires: Wires, bits: Sequence[Affine], path: Sequence[tuple[int, bool]], factor: int
) -> Affine:
    """factor if all bits are as the path says, else 0."""
    items = [bits[k] if value else wires.total([-1], [bits[k]], 1) for k, value in path]
    while len(items) > (count := _together(wires, items)):
        items = [_look_at(wires, items[:count], 1), *items[count:]]
    return _look_at(wires, items, factor)


def _together(wires: Wires, items: Sequence[Affine]) -> int:
    """How many of the first bits one table can take."""
    for count in range(len(items), 1, -1):
        terms = wires.total([1] * count, items[:count]).terms
        if count < wires.p and wires.noise(terms) <= wires.budget.allowed:
            return count
    return 1


def _look_at(wires: Wires, items: Sequence[Affine], factor: int) -> Affine:
    """factor if all bits are 1, else 0."""
    whole = wires.total([1] * len(items), items)
    return wires.look_up(whole, lambda m: factor * (m == len(items)))
