"""Digits of radix 4: sums of digits, and the carries that make them numbers again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.integers import Integers
from ._circuit import HALF, SECTORS, Circuit, CircuitError, Wires

GROUP = 4
"""So many signs, times 8, 4, 2 and 1, make a sum of -15 … 15, whose sign is one table."""
SETTLED = 3
"""So often digits of any range that tables take are settled at most, until carries are of 0 or 1
above what is due."""


@dataclasses.dataclass(frozen=True)
class Form:
    """The range that the digits of a number of so many bits have once carries are gone. The last
    one is 0 … 3, or 0 … 1 for odd bits, and -2 … 1 or -1 … 0 if the number is signed."""

    bits: int
    signed: bool

    @property
    def digits(self) -> int:
        """How many digits there are."""
        return (self.bits + 1) // 2

    @property
    def modulus(self) -> Integers:
        """Each digit's modulus: 4, and 2 for the last one of odd bits."""
        modulus = np.full(self.digits, 4)
        modulus[-1] = 2 if self.bits % 2 else 4
        return modulus

    @property
    def low(self) -> Integers:
        """The least value of each digit."""
        low = np.zeros(self.digits, dtype=np.int64)
        low[-1] = -self.modulus[-1] // 2 if self.signed else 0
        return low

    @property
    def high(self) -> Integers:
        """The largest value of each digit."""
        return self.low + self.modulus - 1

    def holds(self, x: Wires) -> bool:
        """Whether all digits are in their ranges."""
        return bool(np.all(x.low >= self.low) and np.all(x.high <= self.high))


def reduced(value: Integers, modulus: Any, low: Any) -> Integers:
    """The integer of `low` … `low` + `modulus` - 1 that is equal modulo `modulus`."""
    return np.asarray(low + (value - low) % modulus)


def clean(circuit: Circuit, x: Wires, most: float = 1.0) -> Wires:
    """The same digits with the noise of one bootstrap, by a layer for those that have more."""
    noisy = np.flatnonzero(x.square > most)
    if not len(noisy):
        return x
    made = circuit.table(circuit.take(x, noisy), lambda v: v)
    bare = np.sum(x.total > 0) == np.sum(x.total[noisy] > 0)
    return put(circuit, dataclasses.replace(x, origins={}) if bare else x, noisy, made)


def renew(circuit: Circuit, x: Wires) -> Wires:
    """The same digits with errors of their own: two operands may be the same ciphertexts."""
    return clean(circuit, x, 0.0)


def put(circuit: Circuit, x: Wires, where: Integers, rows: Wires) -> Wires:
    """x with other rows at these places."""
    index = np.arange(len(x))
    index[where] = len(x) + np.arange(len(where))
    return circuit.take(circuit.join(x, rows), index)


def settle(circuit: Circuit, x: Wires) -> Wires:
    """The same number in digits of a smaller range, by one layer: each digit keeps a remainder, and
    gives the next one its multiple of 4. Nothing moves further, whatever the digits are (Avizienis,
    IRE Trans. Electronic Computers 1961). The carry of the last digit is left out."""
    # Digits of -3 … 3, or of 0 … 6, are those that `flush` takes.
    base = np.full(len(x), -2 if np.any(x.low < 0) else 0)
    held = (x.low >= base) & (x.high <= base + 3) & (x.square <= 1)
    if held.all():
        return x
    work = np.flatnonzero(~held)
    part = circuit.take(x, work)
    rest, over = circuit.tables(
        (
            part,
            [
                (lambda v, low: reduced(v, 4, low), base[work]),
                (lambda v, low: (v - low) // 4, base[work]),
            ],
        )
    )[0]
    settled = put(circuit, x, work, rest)
    gives = work + 1 < len(x)
    to, over = work[gives] + 1, circuit.take(over, np.flatnonzero(gives))
    if not len(to):
        return settled
    # The carries come from the digits below, so that no bootstrap is twice in a sum.
    added = circuit.sums(
        circuit.join(circuit.take(settled, to), over),
        [[(i, 1), (len(to) + i, 1)] for i in range(len(to))],
    )
    return put(circuit, settled, to, added)


@dataclasses.dataclass(frozen=True)
class _Carries:
    """What is known of the carry into each digit: it is `least` … `least` + `more`."""

    least: Integers
    more: Integers
    fits: bool


def _carries(circuit: Circuit, x: Wires) -> _Carries:
    least, more = np.zeros((2, len(x) + 1), dtype=np.int64)
    fits = True
    for i in range(len(x)):
        least[i + 1] = (x.low[i] + least[i]) // 4
        more[i + 1] = (x.high[i] + least[i] + more[i]) // 4 - least[i + 1]
        fits = fits and bool(more[i + 1] <= 1 or i + 1 == len(x))
        fits = fits and bool(x.width[i] + more[i] < HALF)
        fits = fits and bool(circuit.account.bears(x.square[i] + 1, x.total[i] + 1))
        if not fits:
            break
    return _Carries(least, more, fits)


def flush(circuit: Circuit, x: Wires, form: Form) -> Wires:
    """The number modulo 2^bits in the digits of its form.

    Carries come from prefixes of signs (Sklansky, IRE Trans. Electronic Computers 1960): below a
    digit the number is negative, zero or positive against the carry that is due. Two digits are one
    state where tables bear 4v + u; then the carry between them is a table of the lower one and the
    carry below.
    """
    x = circuit.take(x, np.arange(form.digits))
    if form.holds(x):
        return x
    carries = _carries(circuit, x)
    for _ in range(SETTLED):
        if not carries.fits:
            x = settle(circuit, x)
            carries = _carries(circuit, x)
    if not carries.fits:
        raise CircuitError(f"carries of {x.low.tolist()} … {x.high.tolist()} are too large")
    # Against the carries that are due digits are 0 … 7 with one that may come, but for the last: it
    # is looked up with the carry into it, unless layers are saved and its form has 0 … 3.
    last = len(x) - 1
    alike = circuit.saves == "layers" and form.modulus[last] == 4 and not form.signed
    alike = alike and bool(carries.more[-1] <= 1)
    due = carries.least.copy()
    if not alike:
        due[-1] = 0
    x = circuit.shifted(x, carries.least[:-1] - 4 * due[1:])
    if not carries.more[:-1].any():
        return canonical(circuit, x, form)
    first = int(np.argmax(carries.more > 0)) - 1
    top: Wires | None = None if alike else circuit.take(x, [last])
    inner = circuit.take(x, np.arange(first, last + alike))
    one_by_one = circuit.saves == "rotations"
    made = (_rippled if one_by_one else _by_prefixes)(circuit, inner, top, form)
    return circuit.join(circuit.take(x, np.arange(first)), made)


def _looked_up(circuit: Circuit, top: Wires, carry: Wires, form: Form) -> tuple[Wires, Any]:
    """What makes the last digit of its sum with the carry into it: a part of a layer."""
    given = np.array([[form.modulus[-1], form.low[-1]]])
    return circuit.linear((1, top), (1, carry)), [(reduced, given)]


def _by_prefixes(circuit: Circuit, x: Wires, top: Wires | None, form: Form) -> Wires:
    """Digits from the first that may give a carry on, in ranges; x has all of them but `top`."""
    blocks, x = _blocks(circuit, x)
    count, pairs = len(x), [(j, block[0]) for j, block in enumerate(blocks) if len(block) > 1]
    # The carry into a digit is that above the block below, or within a pair. That is one more
    # prefix, or a table of the lower digit and the carry below it, beside that of the last digit.
    within = pairs if top is None else []
    states, lower = _states(circuit, x, blocks, within)
    above = prefix(circuit, states, carries=True, others=lower, at=[j for j, _ in within])
    requests: list[Any] = []
    if pairs and not within:
        into = [[(i, 1), (count + j - 1, 1)][: 2 if j else 1] for j, i in pairs]
        sums = circuit.sums(circuit.join(x, above), into)
        requests.append((sums, [(lambda v: v // 4, None)]))
    ends = []
    if top is not None:
        ends.append(_looked_up(circuit, top, circuit.take(above, [len(blocks) - 1]), form))
    # Neighbours have a carry in common, and no table bears the noise of two of them.
    linear = bool(np.all(circuit.account.bears(x.square + 17, x.total + 5)))
    made = circuit.tables(*requests, *(ends if linear else []))
    order = np.zeros(count, dtype=np.int64)
    order[[block[-1] for block in blocks]] = np.arange(len(blocks))
    order[[i for _, i in pairs]] = len(blocks) + np.arange(len(pairs))
    over = circuit.join(above, *(each[0] for each in made[: len(requests)]))
    pool = circuit.join(x, circuit.take(over, order))
    coming = [[(i, 1), (count + i - 1, 1)][: 2 if i else 1] for i in range(count)]
    if linear:
        going = [[*terms, (count + i, -4)] for i, terms in enumerate(coming)]
        digits = circuit.stated(circuit.sums(pool, going), 0, 3)
        made = made[len(requests) :]
    else:
        whole = (circuit.sums(pool, coming), [(lambda v: v % 4, None)])
        (digits,), *made = circuit.tables(whole, *ends)
    return circuit.join(digits, *(each[0] for each in made))


def _rippled(circuit: Circuit, x: Wires, top: Wires | None, form: Form) -> Wires:
    """The same by a table and a layer for each carry."""
    rows: list[tuple[Wires, Wires]] = []
    for i in range(len(x)):
        row = circuit.take(x, [i])
        row = circuit.linear((1, row), (1, rows[-1][1])) if rows else row
        rows.append((row, circuit.table(row, lambda v: v // 4, halves=True)))
    assert top is not None
    ends = [_looked_up(circuit, top, rows[-1][1], form)]
    sums, carries = (circuit.join(*parts) for parts in zip(*rows, strict=True))
    if circuit.fits((1, sums), (-4, carries)):
        (made,) = circuit.tables(*ends)
        digits = circuit.stated(circuit.linear((1, sums), (-4, carries)), 0, 3)
    else:
        (digits,), made = circuit.tables((sums, [(lambda v: v % 4, None)]), *ends)
    return circuit.join(digits, made[0])


def _blocks(circuit: Circuit, x: Wires) -> tuple[list[list[int]], Wires]:
    """Digits of 0 … 6 in pairs, the last ones for sure, if tables bear 4v + u; else each alone.
    Where v has too much noise for that it is looked up first, if there are more states than one
    layer of prefixes takes."""
    count = len(x)
    low, high = np.arange(count % 2, count, 2), np.arange(count % 2 + 1, count, 2)
    alone = [[i] for i in range(count)]
    if count < 2 or np.any(x.low < 0) or np.any(x.high > 6):
        return alone, x

    def borne(y: Wires) -> bool:
        groups = [[(int(i), 1), (int(j), 4)] for i, j in zip(low, high, strict=True)]
        return bool(np.all(circuit.account.bears(*circuit.noise_of(y, groups))))

    if not borne(x):
        noisy = high[x.square[high] > 1]
        apart = x.errors.without(noisy)
        cleaned = dataclasses.replace(x, square=x.square.copy(), total=x.total.copy(), errors=apart)
        cleaned.square[noisy] = cleaned.total[noisy] = 1.0
        if count <= GROUP * GROUP or not borne(cleaned):
            return alone, x
        x = put(circuit, x, noisy, circuit.table(circuit.take(x, noisy), lambda v: v))
    return [[0]] * (count % 2) + [[int(i), int(i) + 1] for i in low], x


def _states(
    circuit: Circuit,
    x: Wires,
    blocks: Sequence[Sequence[int]],
    within: Sequence[tuple[int, int]],
) -> tuple[Wires, Wires]:
    """Whether blocks give a carry without one that comes, 1, or only with one, 0, or never, -1;
    times their `weights`. Then the same of single digits within blocks: pairs of a block and a
    digit."""
    weight = weights(len(blocks))
    single = np.array([j for j, block in enumerate(blocks) if len(block) == 1], dtype=np.int64)
    pairs = np.array([j for j, block in enumerate(blocks) if len(block) > 1], dtype=np.int64)
    digits = [(int(j), blocks[j][0]) for j in single] + list(within)
    requests: list[Any] = []
    if digits:
        alone = circuit.take(x, [i for _, i in digits])
        heavy = weight[[j for j, _ in digits]]
        requests.append((alone, [(lambda v, w: w * np.sign(v - 3), heavy)]))
    if len(pairs):
        groups = [[(blocks[j][0], 1), (blocks[j][1], 4)] for j in pairs]
        offset = [sum(w * int(x.offset[i]) for i, w in group) for group in groups]
        both = circuit.sums(x, groups, [centred(by - 15) for by in offset])
        requests.append((both, [(lambda v, w: w * np.sign(v - 15), weight[pairs])]))
    made = circuit.join(*(outputs[0] for outputs in circuit.tables(*requests)))
    numbers = np.concatenate([single, len(blocks) + np.arange(len(within)), pairs])
    order = np.argsort(numbers)
    return circuit.take(made, order[: len(blocks)]), circuit.take(made, order[len(blocks) :])


def centred(by: int) -> int:
    """The same modulo `SECTORS`, next to 0."""
    return (by + HALF) % SECTORS - HALF


def canonical(circuit: Circuit, x: Wires, form: Form) -> Wires:
    """Each digit modulo its modulus, in the range of the form; those in range stay."""
    out = np.flatnonzero((x.low < form.low) | (x.high > form.high))
    if not len(out):
        return x
    given = np.stack([form.modulus[out], form.low[out]], axis=1)
    return put(circuit, x, out, circuit.table(circuit.take(x, out), reduced, given))


def weights(count: int) -> Integers:
    """1, 2, 4, 8, 1, 2 …, so that the last one of a group decides."""
    return np.asarray(1 << (np.arange(count) % GROUP))


def _sign(v: Integers, weight: int = 1) -> Integers:
    return weight * np.sign(v)


def _positive(v: Integers) -> Integers:
    return np.asarray(v > 0, dtype=np.int64)


def prefix(
    circuit: Circuit,
    states: Wires,
    carries: bool = False,
    others: Wires | None = None,
    at: Sequence[int] = (),
) -> Wires:
    """The signs of states 0 … i, for each i; later states decide. With `carries` 1 in place of the
    sign 1, and 0 in place of others.

    States are -1, 0 and 1 times their `weights`. In a group of four each state and those before it
    in the group have a sign, and a sum of that with the groups below has the sign that is wanted:
    with up to three groups, or with the prefix of all. Behind these are the signs of further
    sequences: the last state of each is one of `others`, in place of the state `at`.
    """
    count, function = len(states), _positive if carries else _sign
    place = np.concatenate([np.arange(count), np.array(at, dtype=np.int64)])
    group, start = place // GROUP, GROUP * (place // GROUP)
    inside = [[*((k, 1) for k in range(start[i], place[i])), (i, 1)] for i in range(len(place))]
    sums = circuit.sums(states if others is None else circuit.join(states, others), inside)
    if count <= GROUP:
        return circuit.table(sums, function, halves=carries)
    first, later = np.flatnonzero(group == 0), np.flatnonzero(group > 0)
    groups = int(group.max()) + 1
    terms: dict[int, list[tuple[int, int]]] = {int(i): [(int(i), 1)] for i in first}
    if groups <= GROUP:
        looked_up = np.concatenate([[GROUP - 1], later])
        signs = circuit.table(circuit.take(sums, looked_up), _sign, 1 << group[looked_up])
        where = {int(i): len(place) + k for k, i in enumerate(looked_up)}
        for i in later.tolist():
            behind = [*range(GROUP - 1, int(start[i]), GROUP), i]
            terms[i] = [(where[k], 1) for k in behind]
        pool = circuit.join(sums, signs)
    else:
        whole = np.arange(GROUP - 1, GROUP * (groups - 1), GROUP)
        rest = np.setdiff1d(later, whole)
        (signs,), (wholes,) = circuit.tables(
            (circuit.take(sums, rest), [(_sign, 0 * rest + 2)]),
            (circuit.take(sums, whole), [(_sign, weights(len(whole)))]),
        )
        pool = circuit.join(sums, signs, prefix(circuit, wholes))
        below = len(place) + len(rest)
        where = {int(i): len(place) + k for k, i in enumerate(rest)}
        for i in later.tolist():
            own = [(where[i], 1), (below + int(group[i]) - 1, 1)] if i in where else []
            terms[i] = own or [(below + int(group[i]), 1)]
    ordered = [terms[i] for i in range(len(place))]
    return circuit.table(circuit.sums(pool, ordered), function, halves=carries)
