"""Digits of radix 4: sums of digits, and the carries that make them numbers again."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from .._core.integers import Integers
from ._circuit import HALF, Circuit, CircuitError, Wires

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
        fits = fits and bool(more[i + 1] <= 1) and bool(x.width[i] + more[i] < HALF)
        fits = fits and bool(not more[i] or 2 * x.width[i] + 2 < HALF)
        fits = fits and bool(circuit.account.bears(4 * x.square[i] + 1, 2 * x.total[i] + 1))
        if not fits:
            break
    return _Carries(least, more, fits)


def flush(circuit: Circuit, x: Wires, form: Form) -> Wires:
    """The number modulo 2^bits in the digits of its form.

    Carries come from prefixes of signs (Sklansky, IRE Trans. Electronic Computers 1960, with groups
    of four): below a digit the number is negative, zero or positive against the borrow that is due,
    and the sign of a group is that of 8a + 4b + 2c + d.
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
    least, more = carries.least[:-1], carries.more[:-1]
    x = circuit.shifted(x, least)
    if not more.any():
        return canonical(circuit, x, form)
    # States of the digits from the one below the first uncertain carry to the last but one.
    first = int(np.argmax(more > 0))
    at = np.arange(first - 1, len(x) - 1)
    states = circuit.table(
        circuit.take(x, at),
        lambda v, more, due, weight: weight * (_over(v, due) + _over(v + more, due) - 1),
        np.stack([more[at], carries.least[at + 1], weights(len(at))], axis=1),
    )
    signs = prefix(circuit, states)
    # A digit takes 2s + c, where c is 1 if there is a carry above the one that is due, else -1.
    pool = circuit.join(circuit.take(x, at + 1), signs)
    both = circuit.sums(pool, [[(i, 2), (len(at) + i, 1)] for i in range(len(at))])
    given = np.stack([form.modulus[at + 1], form.low[at + 1]], axis=1)
    below = circuit.take(x, np.arange(first))
    out = np.flatnonzero((below.low < form.low[:first]) | (below.high > form.high[:first]))
    low = np.stack([form.modulus[out], form.low[out]], axis=1)
    (upper,), (lower,) = circuit.tables(
        (both, [(lambda v, m, low: reduced((v + 1) // 2, m, low), given)]),
        (circuit.take(below, out), [(reduced, low)]),
    )
    return circuit.join(put(circuit, below, out, lower), upper)


def _over(v: Integers, due: int) -> Integers:
    """Whether a carry above the one that is due goes out."""
    return np.where(v // 4 > due, 1, 0)


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


def prefix(circuit: Circuit, states: Wires) -> Wires:
    """The signs of states 0 … i, for each i; later states decide.

    States are -1, 0 and 1 times their `weights`. Of groups of four the first one has its signs in a
    layer. Those of whole groups, and of these before them, decide over the groups behind.
    """
    count = len(states)
    starts = list(range(0, count, GROUP))
    members = [list(range(a, b)) for a, b in itertools.pairwise([*starts, count])]
    inside = [[(i, 1) for i in group[: k + 1]] for group in members for k in range(len(group))]
    sums = circuit.sums(states, inside)
    if count <= GROUP:
        return circuit.table(sums, _sign)
    ends = np.array([group[-1] for group in members[:-1]])
    within = np.setdiff1d(np.arange(GROUP, count), ends)
    # The lowest state of a group is its own sum, of weight 1.
    alone = within % GROUP == 0
    done = np.arange(GROUP - 1)
    results, halves, wholes = (
        made[0]
        for made in circuit.tables(
            (circuit.take(sums, done), [(_sign, None)]),
            (circuit.take(sums, within[~alone]), [(_sign, None)]),
            (circuit.take(sums, ends), [(_sign, weights(len(ends)))]),
        )
    )
    before = wholes if len(ends) == 1 else prefix(circuit, wholes)
    own = circuit.join(circuit.take(states, within[alone]), halves)
    place = np.concatenate([within[alone], within[~alone]])
    groups = [[(i, 2), (len(place) + int(p) // GROUP - 1, 1)] for i, p in enumerate(place)]
    rest = circuit.table(circuit.sums(circuit.join(own, before), groups), _sign)
    order = np.argsort(np.concatenate([done, place, ends]))
    return circuit.take(circuit.join(results, rest, before), order)
