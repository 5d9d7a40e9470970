"""A circuit of tables as arrays of numbers: it runs on ciphertexts, and exactly so in clear."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.array import concatenate
from .._core.integers import refuse, whole_numbers
from ..binfhe._ciphertexts import Ciphertexts
from ..binfhe._lut import Lut
from ..binfhe._messages import ALLOWED_FAILURE
from ..binfhe._server import EncryptedArray, Server
from ..errors import EncodingError, FormatError
from ._lower import Lowered, digit_limits
from ._wires import Affine

Integers = np.ndarray[Any, np.dtype[np.int64]]
Shape = tuple[int, ...]

MOST_CIPHERTEXTS = 1 << 20
"""Those of the inputs of one sample."""


@dataclasses.dataclass(frozen=True)
class Sums:
    """Sums constants[i] + Σ weights[k]·wires[k], k from starts[i] to starts[i+1] - 1."""

    starts: Integers
    wires: Integers
    weights: Integers
    constants: Integers

    def __len__(self) -> int:
        return len(self.constants)

    def key(self, row: int) -> tuple[Any, ...]:
        """What is equal for equal sums."""
        here = slice(self.starts[row], self.starts[row + 1])
        wires, weights = self.wires[here].tolist(), self.weights[here].tolist()
        return tuple(wires), tuple(weights), int(self.constants[row])

    def of(self, values: Integers, first: int, last: int) -> Integers:
        """Sums `first` … `last` - 1 of wires' values (wires, batch)."""
        low, high = int(self.starts[first]), int(self.starts[last])
        total = np.broadcast_to(
            self.constants[first:last, None], (last - first, values.shape[1])
        ).copy()
        terms = values[self.wires[low:high]] * self.weights[low:high, None]
        rows = np.repeat(np.arange(last - first), np.diff(self.starts[first : last + 1]))
        np.add.at(total, rows, terms)
        return total


@dataclasses.dataclass(frozen=True)
class Input:
    """An argument of the function: its shape and bounds."""

    shape: Shape
    low: int
    high: int


@dataclasses.dataclass(frozen=True)
class Output:
    """A result of the function."""

    shape: Shape
    is_bool: bool


@dataclasses.dataclass(frozen=True)
class Program:
    """Wires are numbered: digits of inputs, then results of tables, level by level."""

    p: int
    base: int
    inputs: tuple[Input, ...]
    looks: Sums
    numbers: Integers
    """The table of each look-up."""
    tables: Integers
    """A row of p entries for each table."""
    ends: Sums
    """What clients decrypt: digits of results."""
    outputs: tuple[Output, ...]
    factors: Integers
    """What each of them counts."""
    digits: Integers
    """How many of them each element of the outputs has, and (second column) what is added."""
    checks: Sums
    limits: Integers
    """The least and the largest value of each check."""
    shares: bool = False
    """Whether `groups` share rotations."""

    # ---- sizes

    @functools.cached_property
    def groups(self) -> list[list[int]]:
        """Look-ups in one sum whose results are decrypted as they are, two or more together: one
        rotation serves all (`Server.apply_many`)."""
        inner = {w for w in self.looks.wires.tolist() if w >= self.fresh}
        for row in range(len(self.ends)):
            here = slice(self.ends.starts[row], self.ends.starts[row + 1])
            wires = self.ends.wires[here].tolist()
            if len(wires) > 1 or self.ends.weights[here][0] != 1 or self.ends.constants[row]:
                inner.update(wires)
        found: dict[Any, list[int]] = {}
        for wire in sorted(set(self.ends.wires.tolist()) - inner):
            if wire >= self.fresh:
                found.setdefault(self.looks.key(wire - self.fresh), []).append(wire - self.fresh)
        return [rows for rows in found.values() if len(rows) > 1]

    @property
    def rotations(self) -> int:
        """How many an evaluation takes."""
        saved = sum(len(rows) - 1 for rows in self.groups) if self.shares else 0
        return len(self.looks) - saved

    @functools.cached_property
    def fresh(self) -> int:
        """How many ciphertexts the inputs take."""
        return ciphertexts_of(self.inputs, self.base)

    @functools.cached_property
    def levels(self) -> list[tuple[int, int]]:
        """First and last look-up of each level; `FormatError` if they are out of order."""
        level = np.zeros(self.fresh + len(self.looks), dtype=np.int64)
        starts = self.looks.starts
        for i in range(len(self.looks)):
            wires = self.looks.wires[starts[i] : starts[i + 1]]
            if len(wires) == 0 or wires.max() >= self.fresh + i:
                raise FormatError(f"table {i} looks up a wire that is not known before it")
            level[self.fresh + i] = 1 + level[wires].max()
        own = level[self.fresh :]
        if (np.diff(own) < 0).any():
            raise FormatError("tables are not in the order of their levels")
        bounds = np.flatnonzero(np.diff(own, prepend=0, append=-1))
        return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def _digits_of(self, x: Input) -> list[int]:
        return digit_limits(x.high - x.low, self.base)

    # ---- the client's ends

    def encoded(self, arguments: Sequence[Any]) -> tuple[Integers, Shape]:
        """Digits of the inputs (wires, batch), and the axes of the batch.

        `EncodingError` for integers outside the bounds, with the value and the remedy.
        """
        if len(arguments) != len(self.inputs):
            raise TypeError(f"{len(arguments)} arguments were given to {len(self.inputs)} inputs")
        batch: Shape | None = None
        parts = []
        for number, (given, x) in enumerate(zip(arguments, self.inputs, strict=True)):
            values = whole_numbers(given, f"argument {number}")
            own = values.shape[: values.ndim - len(x.shape)]
            if values.shape[len(own) :] != x.shape or (batch is not None and own != batch):
                raise EncodingError(
                    f"argument {number} has shape {values.shape}; it must end with {x.shape}, and "
                    "all arguments have the same axes before that, for a batch"
                )
            batch = own
            _refuse_outside(values, x, number, len(own))
            flat = values.reshape(-1, math.prod(x.shape)).astype(np.int64) - x.low
            digits = self._digits_of(x)
            if len(digits) != 1:
                powers = self.base ** np.arange(len(digits), dtype=np.int64)
                flat = (flat[:, :, None] // powers % self.base).reshape(len(flat), -1)
            parts.append(flat.T)
        assert batch is not None
        return np.concatenate(parts), batch

    def decoded(self, ends: Integers, batch: Shape) -> Any:
        """Results of decrypted digits (ends, batch)."""
        counts = self.digits[:, 0]
        total = np.broadcast_to(self.digits[:, 1:], (len(counts), ends.shape[1])).copy()
        rows = np.repeat(np.arange(len(counts)), counts)
        np.add.at(total, rows, ends * self.factors[:, None])
        results = []
        start = 0
        for out in self.outputs:
            stop = start + math.prod(out.shape)
            values = total[start:stop].T.reshape((*batch, *out.shape))
            results.append(values.astype(bool) if out.is_bool else values)
            start = stop
        return results[0] if len(results) == 1 else tuple(results)

    # ---- in clear

    def simulated(self, digits: Integers) -> Integers:
        """The digits of results that an encrypted run gives, where no noise is too large."""
        wires = self._wires(digits)
        ends = self.ends.of(wires, 0, len(self.ends))
        return ends % (2 * self.p) % self.p

    def check(self, digits: Integers, batch: Shape) -> None:
        """`EncodingError` if an integer within the circuit leaves the bounds of the input set."""
        if not len(self.checks):
            return
        values = self.checks.of(self._wires(digits), 0, len(self.checks))
        wrong = (values < self.limits[:, :1]) | (values > self.limits[:, 1:])
        if wrong.any():
            row, column = (int(each) for each in np.argwhere(wrong)[0])
            where = f" of sample {np.unravel_index(column, batch)}" if batch else ""
            low, high = self.limits[row].tolist()
            raise EncodingError(
                f"an integer within the circuit{where} is {values[row, column]}, outside "
                f"{low} … {high}, the bounds of the input set: trace with an input set that has "
                "such values"
            )

    def _wires(self, digits: Integers) -> Integers:
        """Messages of all wires, modulo 2p: above p a padded table gives its negative."""
        wires = np.zeros((self.fresh + len(self.looks), digits.shape[1]), dtype=np.int64)
        wires[: self.fresh] = digits
        for first, last in self.levels:
            sums = self.looks.of(wires, first, last) % (2 * self.p)
            found = self.tables[self.numbers[first:last, None], sums % self.p]
            signed = np.where(sums < self.p, found, -found % (2 * self.p))
            wires[self.fresh + first : self.fresh + last] = signed
        return wires

    # ---- on ciphertexts

    def run(self, server: Server, x: Ciphertexts | EncryptedArray) -> EncryptedArray:
        """Encrypted digits of results (ends, batch), for those of inputs (wires, batch)."""
        luts = [Lut(server.parameters, row, padding=True) for row in self.tables]
        held = _Held(server.upload(x), self.fresh, self._last_uses)
        groups = {rows[0]: rows for rows in self.groups} if self._shares_on(server) else {}
        grouped = {row for rows in groups.values() for row in rows}
        done: dict[int, EncryptedArray] = {}
        """Results that are decrypted as they are, by their wires."""
        for first, last in self.levels:
            together: dict[tuple[int, ...], list[int]] = {}
            for row in range(first, last):
                if row in groups:
                    tables = tuple(self.numbers[groups[row]].tolist())
                    together.setdefault(tables, []).append(row)
            for tables, rows in together.items():
                sums, order = self._summed(server, held, self.looks, rows)
                found = server.apply_many(shared_tables([luts[k] for k in tables]), sums)
                for place, row in enumerate(order):
                    for other, results in zip(groups[row], found, strict=False):
                        done[self.fresh + other] = results[place : place + 1]
            alone = [row for row in range(first, last) if row not in grouped]
            if alone:
                sums, order = self._summed(server, held, self.looks, alone)
                chosen = np.empty((len(alone), *[1] * (sums.ndim - 1)), dtype=np.object_)
                for place, row in enumerate(order):
                    chosen[place] = luts[self.numbers[row]]
                held.add(server.apply(chosen, sums, under="ring"), order, last)
        return self._ended(server, held, done)

    def _ended(
        self, server: Server, held: _Held, done: dict[int, EncryptedArray]
    ) -> EncryptedArray:
        """What clients decrypt."""
        first = self.ends.wires[self.ends.starts[:-1]].tolist()
        order = [row for row, wire in enumerate(first) if wire in done]
        parts = [done[first[row]] for row in order]
        rest = [row for row, wire in enumerate(first) if wire not in done]
        if rest:
            ends, places = self._summed(server, held, self.ends, rest)
            parts.append(server.to_lwe_key(ends))
            order += places.tolist()
        return _joined(parts)[np.argsort(order)]

    def _shares_on(self, server: Server) -> bool:
        """Servers that allow more failures than the account may look tables up in another way."""
        return self.shares and server.allow_failure <= ALLOWED_FAILURE

    @functools.cached_property
    def _last_uses(self) -> Integers:
        """The last look-up that uses each wire, or makes it; results are used after all."""
        last = np.arange(-self.fresh, len(self.looks))
        users = np.repeat(np.arange(len(self.looks)), np.diff(self.looks.starts))
        np.maximum.at(last, self.looks.wires, users)
        last[self.ends.wires] = len(self.looks)
        return last

    def _summed(
        self, server: Server, held: _Held, sums: Sums, chosen: Sequence[int]
    ) -> tuple[EncryptedArray, Integers]:
        """Sums in an order that brings those with equal weights into one call, and that order."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        for row in chosen:
            groups.setdefault(self._kind(sums, row), []).append(row)
        parts = []
        for (weights, fresh, constant), rows in groups.items():
            starts = sums.starts[rows]
            terms = []
            for k, is_fresh in enumerate(fresh):
                wires = sums.wires[starts + k]
                terms.append(held.inputs[wires] if is_fresh else held.results_of(wires))
            if weights == (1,) and constant == 0:
                parts.append(terms[0])
            else:
                parts.append(server.linear(weights, terms, constant, largest=self.p - 1))
        order = np.array([row for rows in groups.values() for row in rows], dtype=np.int64)
        return _joined(parts), order

    def _kind(self, sums: Sums, row: int) -> tuple[tuple[int, ...], tuple[bool, ...], int]:
        here = slice(sums.starts[row], sums.starts[row + 1])
        fresh = tuple((sums.wires[here] < self.fresh).tolist())
        return tuple(sums.weights[here].tolist()), fresh, int(sums.constants[row])


class _Held:
    """Ciphertexts of wires on a server: inputs, and the results that are still used.

    Results of a level are one array. It is dropped with its last use, and made smaller when fewer
    than half of its results are used, so that all of this takes time that is linear in wires.
    """

    def __init__(self, inputs: EncryptedArray, fresh: int, last_uses: Integers) -> None:
        self.inputs, self._fresh, self._last_uses = inputs, fresh, last_uses
        self._arrays: list[EncryptedArray | None] = []
        self._wires: list[Integers] = []
        """The wires of each array."""
        self._used: list[int] = []
        """How many of them are still used."""
        self._levels = np.full(len(last_uses), -1, dtype=np.int64)
        self._places = np.full(len(last_uses), -1, dtype=np.int64)
        self._ending = fresh + np.argsort(last_uses[fresh:], kind="stable")
        """Results in the order in which they are dropped, from `_next` on."""
        self._next = 0

    def results_of(self, wires: Integers) -> EncryptedArray:
        """The results of wires."""
        levels = self._levels[wires]
        parts, order = [], []
        for level in np.unique(levels):
            here = np.flatnonzero(levels == level)
            array = self._arrays[level]
            assert array is not None
            parts.append(array[self._places[wires[here]]])
            order.append(here)
        return _joined(parts)[np.argsort(np.concatenate(order))] if len(parts) > 1 else parts[0]

    def add(self, found: EncryptedArray, rows: Integers, last: int) -> None:
        """Holds results of look-ups, and drops what none from `last` on uses."""
        wires = self._fresh + rows
        self._levels[wires], self._places[wires] = len(self._arrays), np.arange(len(wires))
        self._arrays.append(found)
        self._wires.append(wires)
        self._used.append(len(wires))
        fewer = set()
        while self._next < len(self._ending) and self._last_uses[self._ending[self._next]] < last:
            level = int(self._levels[self._ending[self._next]])
            self._used[level] -= 1
            self._next += 1
            fewer.add(level)
        for level in fewer:
            self._shrink(level, last)

    def _shrink(self, level: int, last: int) -> None:
        array, wires = self._arrays[level], self._wires[level]
        if array is None or 2 * self._used[level] > len(wires):
            return
        kept = np.flatnonzero(self._last_uses[wires] >= last)
        self._arrays[level] = array[kept] if len(kept) else None
        self._wires[level] = wires[kept]
        self._places[self._wires[level]] = np.arange(len(kept))


def _joined(arrays: Sequence[EncryptedArray]) -> EncryptedArray:
    return concatenate(arrays) if len(arrays) > 1 else arrays[0]


def _refuse_outside(values: Any, x: Input, number: int, axes: int) -> None:
    what = (
        f"outside {x.low} … {x.high}, the bounds of the input set: trace with an input set that "
        "has such values"
    )
    refuse(values, (values < x.low) | (values > x.high), f"argument {number}", what)


def shared_tables(luts: Sequence[Lut]) -> list[Lut]:
    """Tables for `Server.apply_many`. Two share the phases of a rotation, and more its values,
    which fails less often: of messages above 8 the second one counts twice."""
    return [*luts, luts[-1]] if len(luts) == 2 and luts[0].p > 8 else list(luts)


def ciphertexts_of(inputs: Sequence[Input], base: int) -> int:
    """How many digits below `base` inputs have."""
    return sum(math.prod(x.shape) * len(digit_limits(x.high - x.low, base)) for x in inputs)


def program_of(lowered: Lowered, inputs: Sequence[Input], outputs: Sequence[Output]) -> Program:
    """The arrays of what `lower` made, without wires that nothing needs."""
    wires = lowered.wires
    ends = [
        (digit, wires.base**k)
        for result in lowered.outputs
        for _, digits in result
        for k, digit in enumerate(digits)
        if digit.terms
    ]
    checks = [check.value for check in lowered.checks]
    needed = {w for each in (*(end for end, _ in ends), *checks) for w in each.terms}
    for wire in range(len(wires.looks) - 1, -1, -1):
        look = wires.looks[wire]
        if wire in needed and look is not None:
            needed.update(w for w, _ in look.terms)
    fresh = [wire for used in lowered.inputs for wire in used]
    made = sorted((w for w in needed if wires.looks[w]), key=lambda w: (wires.levels[w], w))
    places = {wire: place for place, wire in enumerate([*fresh, *made])}
    looks = [look for wire in made if (look := wires.looks[wire]) is not None]
    tables: dict[tuple[int, ...], int] = {}
    numbers = [tables.setdefault(look.table, len(tables)) for look in looks]
    digits = [
        (sum(bool(d.terms) for d in of), _known(constant, of, wires.base))
        for result in lowered.outputs
        for constant, of in result
    ]
    return Program(
        wires.p,
        wires.base,
        tuple(inputs),
        _sums([(dict(look.terms), look.constant) for look in looks], places),
        np.array(numbers, dtype=np.int64),
        np.array(list(tables), dtype=np.int64).reshape(-1, wires.p),
        _sums([(end.terms, end.constant) for end, _ in ends], places),
        tuple(outputs),
        np.array([factor for _, factor in ends], dtype=np.int64),
        np.array(digits, dtype=np.int64).reshape(-1, 2),
        _sums([(each.terms, each.constant) for each in checks], places),
        np.array([(c.low, c.high) for c in lowered.checks], dtype=np.int64).reshape(-1, 2),
    )


def _known(constant: int, digits: Sequence[Affine], base: int) -> int:
    known = sum(base**k * d.constant for k, d in enumerate(digits) if not d.terms)
    return int(constant + known)


def _sums(rows: Sequence[tuple[Any, int]], places: dict[int, int]) -> Sums:
    terms = [sorted((places[w], weight) for w, weight in row.items()) for row, _ in rows]
    return Sums(
        np.cumsum([0, *(len(row) for row in terms)], dtype=np.int64),
        np.array([w for row in terms for w, _ in row], dtype=np.int64),
        np.array([weight for row in terms for _, weight in row], dtype=np.int64),
        np.array([constant for _, constant in rows], dtype=np.int64),
    )
