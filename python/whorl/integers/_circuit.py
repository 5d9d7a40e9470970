"""Layers of tables over wires: ciphertexts of small integers whose ranges and noise are known."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from .._core.integers import Integers
from .._core.text import shown
from ._engine import Engine, Lookup
from ._origins import Errors, Origins, Reals, marks_of, met

SECTORS = 32
"""A wire holds an integer modulo this, without a padding bit: tables of 16 entries are negacyclic,
one blind rotation each."""
HALF = SECTORS // 2

Saves = Literal["rotations", "both", "layers"]
"""What circuits have fewer of, where one costs the other."""

Function = Callable[..., Integers]
"""Takes an array of the values of a wire, and one integer for each column of parameters."""


class CircuitError(RuntimeError):
    """An algorithm of this package left the ranges or the noise that it states: a bug in it."""


@dataclasses.dataclass(frozen=True)
class Wires:
    """Rows of ciphertexts, which are moved without work: row i is row `place[i]` of
    `batches[batch[i]]`, or 0 if `batch[i]` is -1. It holds m, and stands for the only integer in
    `low[i]` … `high[i]` that is m + `offset[i]` modulo `SECTORS`.

    `square` and `total` are the sums of squares and of sizes of the weights of the bootstraps that
    it is a sum of; `errors` names these, by layers whose marks `origins` has.
    """

    batches: tuple[Any, ...]
    batch: Integers
    place: Integers
    low: Integers
    high: Integers
    offset: Integers
    square: Reals
    total: Reals
    errors: Errors
    size: int
    origins: Origins = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def width(self) -> Integers:
        """How far the ends of the ranges are apart."""
        return self.high - self.low


class Circuit:
    """Operations on wires, which follow ranges and noise; it counts what they take."""

    def __init__(self, engine: Engine, saves: Saves = "both") -> None:
        self.engine = engine
        self.saves = saves
        self.account = engine.account
        self.rotations = 0
        self.layers = 0
        self._numbers = itertools.count()

    # ---- wires without a table

    def fresh(
        self, rows: Any, low: Integers, high: Integers, size: int, noise: float | None = None
    ) -> Wires:
        """Ciphertexts that come from outside: of a client, or of so much noise."""
        number = next(self._numbers)
        square = np.full(len(low), self.account.fresh if noise is None else noise)
        total = 0 * square if noise is None else np.sqrt(square)
        # What is fresh has no error that counts: its layers are below 0.
        layer = -1 - number if noise is None else number
        origins = {layer: [np.arange(1, size + 1, dtype=np.uint64)]}
        facts = square, total, Errors.of_layer(layer, np.arange(len(low)), total), size, origins
        return self._batch(rows, low, high, 0 * low, *facts)

    def known(self, values: Any, size: int) -> Wires:
        """One known integer for each row."""
        offset = np.asarray(values, dtype=np.int64)
        nothing = np.zeros(len(offset))
        at = np.full(len(offset), -1)
        none = Errors.none(len(offset))
        return Wires((), at, at, offset, offset, offset, nothing, nothing, none, size)

    def trivial(self, values: Integers) -> Wires:
        """Known integers, a row of them for each wire."""
        if values.size == 0 or (values == values[:, :1]).all():
            return self.known(values[:, 0] if values.size else [], values.shape[1])
        low, high = values.min(axis=1), values.max(axis=1)
        nothing = np.zeros(len(low))
        rows, none = self.engine.trivial(values % SECTORS), Errors.none(len(low))
        return self._batch(rows, low, high, 0 * low, nothing, nothing, none, values.shape[1])

    def _batch(self, rows: Any, *fields: Any) -> Wires:
        """Wires that are the rows of one batch."""
        count = len(fields[0])
        made = Wires((rows,), np.zeros(count, dtype=np.int64), np.arange(count), *fields)
        return self._checked(made)

    def take(self, x: Wires, index: Any) -> Wires:
        """Rows by their numbers."""
        at = np.asarray(index, dtype=np.int64)
        fields = {name: getattr(x, name)[at] for name in _FIELDS}
        origins = x.origins if np.any(fields["batch"] >= 0) else {}
        return dataclasses.replace(x, **fields, errors=x.errors.take(at), origins=origins)

    def join(self, *parts: Wires) -> Wires:
        """Rows of several."""
        kept = [part for part in parts if len(part)] or [parts[0]]
        if len(kept) == 1:
            return kept[0]
        batches: dict[int, tuple[int, Any]] = {}
        numbers = []
        for part in kept:
            at = [batches.setdefault(id(b), (len(batches), b))[0] for b in part.batches]
            numbers.append(np.array([*at, -1])[part.batch])
        fields = {name: np.concatenate([getattr(x, name) for x in kept]) for name in _FIELDS}
        fields["batch"] = np.concatenate(numbers)
        origins, errors, _ = met([(part.origins, part.errors) for part in kept])
        facts: Any = {**fields, "errors": Errors.joined(errors), "origins": origins}
        return Wires(tuple(batch for _, batch in batches.values()), **facts, size=kept[0].size)

    def columns(self, x: Wires, index: Integers) -> Wires:
        """Values by their numbers, in all rows."""
        if len(index) == x.size and np.array_equal(index, np.arange(x.size)):
            return x
        origins = {layer: [marks[index] for marks in held] for layer, held in x.origins.items()}
        taken = dataclasses.replace(x, size=len(index), origins=origins)
        return self._by_noise(
            taken, [x], lambda where: self.engine.columns(self.rows(x, where), index)
        )

    def beside(self, parts: Sequence[Wires]) -> Wires:
        """Values of several: those of the next one follow those of the last."""
        origins: Origins = {}
        for layer in {layer for part in parts for layer in part.origins}:
            most = max(len(part.origins.get(layer, [])) for part in parts)
            columns = [
                [*part.origins.get(layer, []), *[np.zeros(part.size, np.uint64)] * most][:most]
                for part in parts
            ]
            origins[layer] = [np.concatenate(column) for column in zip(*columns, strict=True)]
        count = len(parts[0])
        low, high = (
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
        )
        known = np.all([part.batch < 0 for part in parts], axis=0)
        joined = Wires(
            (),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            low,
            high,
            np.where(known & (low == high), low, 0),
            np.max([part.square for part in parts], axis=0),
            np.max([part.total for part in parts], axis=0),
            Errors.beside([part.errors for part in parts]),
            sum(part.size for part in parts),
            origins,
        )
        made = self._by_noise(
            joined,
            parts,
            lambda where: self.engine.beside([self.plain(part, where) for part in parts]),
        )
        apart = np.flatnonzero(known & (low < high))
        if not len(apart):
            return made
        # What is known of each part, and differs.
        nothing, none = np.zeros(len(apart)), Errors.none(len(apart))
        rows = self.engine.beside([self.plain(part, apart) for part in parts])
        index = np.arange(count)
        index[apart] = count + np.arange(len(apart))
        ends = low[apart], high[apart]
        extra = self._batch(rows, *ends, 0 * apart, nothing, nothing, none, joined.size)
        return self.take(self.join(made, extra), index)

    def rows(self, x: Wires, where: Integers) -> Any:
        """The ciphertexts of some rows, of which none is 0 without any, in one batch."""
        batch, place = x.batch[where], x.place[where]
        used = np.unique(batch)
        if len(used) == 1:
            return self.engine.take(x.batches[used[0]], place)
        order = np.argsort(batch, kind="stable")
        parts = [self.engine.take(x.batches[b], place[batch == b]) for b in used]
        return self.engine.take(self.engine.join(parts), np.argsort(order))

    def plain(self, x: Wires, where: Integers) -> Any:
        """The ciphertexts of some rows, which hold what they stand for, in one batch."""
        held, offset = where[x.batch[where] >= 0], x.offset[where]
        if not offset.any() and len(held) == len(where):
            return self.rows(x, where)
        values = np.repeat(offset[:, None] % SECTORS, x.size, axis=1)
        if not len(held):
            return self.engine.trivial(values)
        inside = x.batch[where] >= 0
        known = self.engine.trivial(values[~inside]) if len(held) < len(where) else None
        moved = self.engine.linear(
            [1, 1], [self.rows(x, held), self.engine.trivial(values[inside])]
        )
        if known is None:
            return moved
        order = np.argsort(np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)]))
        return self.engine.take(self.engine.join([moved, known]), order)

    def _by_noise(self, x: Wires, terms: Sequence[Wires], work: Callable[[Integers], Any]) -> Wires:
        """x with the ciphertexts that `work` makes of rows, a batch for each kind of noise that the
        rows of terms have: the account of a server knows the largest of a batch alone. Rows that
        are known in all terms stay so, and those that are the same stay the same."""
        held = np.flatnonzero(np.any([term.batch >= 0 for term in terms], axis=0))
        facts = [fact for term in terms for fact in (term.square, term.total, term.batch < 0)]
        batch, place = np.full((2, len(x)), -1)
        batches: list[Any] = []
        same = [each for term in terms for each in (term.batch, term.place, term.offset)]
        for where in _alike(held, *facts):
            inverse = _kinds([each[where] for each in same])[1]
            batch[where], place[where] = len(batches), inverse
            batches.append(work(where[np.unique(inverse, return_index=True)[1]]))
        return self._checked(
            dataclasses.replace(x, batches=tuple(batches), batch=batch, place=place)
        )

    def stated(self, x: Wires, low: Any, high: Any) -> Wires:
        """The same, in a smaller range that follows from more than the sums' ranges."""
        lower, upper = np.maximum(low, x.low), np.minimum(high, x.high)
        return self._checked(dataclasses.replace(x, low=lower, high=upper))

    def with_errors(self, x: Wires, noise: Reals) -> Wires:
        """x with errors of its own in addition, of these variances; equal rows get equal ones."""
        number, sizes = next(self._numbers), np.sqrt(noise)
        own = Errors.of_layer(number, first_of_same(x), sizes)
        errors, _ = Errors.added([(1, x.errors), (1, own)])
        origins = {**x.origins, number: [np.arange(1, x.size + 1, dtype=np.uint64)]}
        square, total = x.square + noise, x.total + sizes
        return dataclasses.replace(x, square=square, total=total, errors=errors, origins=origins)

    def shifted(self, x: Wires, by: Any) -> Wires:
        """Known integers added, one for all rows or one for each."""
        return dataclasses.replace(x, low=x.low + by, high=x.high + by, offset=x.offset + by)

    def linear(self, *terms: tuple[int, Wires], moved: int = 0) -> Wires:
        """A weighted sum of as many wires. Errors that may be the same count as such. `moved` is
        added to what the ciphertexts hold, and not to the integers that they stand for."""
        if len(terms) == 1 and terms[0][0] == 1 and not moved:
            return terms[0][1]
        (low, high), square, total, errors, origins = self._followed(terms)
        first = terms[0][1]
        held = np.any([x.batch >= 0 for _, x in terms], axis=0)
        offset = np.asarray(sum(w * x.offset for w, x in terms)) - np.where(held, moved, 0)
        live = np.array([x.batch >= 0 for _, x in terms])
        if not moved and np.all(live.sum(axis=0) <= 1) and np.all(live.any(axis=1) <= _ones(terms)):
            # No ciphertexts are added up: they stay those that they are.
            index = live.argmax(axis=0) * len(first) + np.arange(len(first))
            stay = self.take(self.join(*(x for _, x in terms)), index)
            return self._checked(
                dataclasses.replace(
                    stay, low=low, high=high, offset=offset, square=square, total=total
                )
            )
        facts = square, total, errors, first.size, origins
        made = Wires((), first.batch, first.place, low, high, offset, *facts)

        def work(where: Integers) -> Any:
            some = [(w, x) for w, x in terms if x.batch[where[0]] >= 0]
            parts = [self.rows(x, where) for _, x in some]
            if len(some) == 1 and some[0][0] == 1 and not moved:
                return parts[0]
            return self.engine.linear([w for w, _ in some], parts, moved)

        return self._by_noise(made, [x for _, x in terms], work)

    def common(self, parts: Sequence[Wires]) -> bool:
        """Whether some of these may have the same errors."""
        return met([(part.origins, part.errors) for part in parts])[2]

    def fits(self, *terms: tuple[int, Wires]) -> bool:
        """Whether tables take a weighted sum, before it is made."""
        ends, square, total, *_ = self._followed(terms)
        borne = self.account.bears(square, total)
        return bool(np.all(ends[1] - ends[0] < HALF) and np.all(borne))

    def _followed(
        self, terms: Sequence[tuple[int, Wires]]
    ) -> tuple[tuple[Integers, Integers], Any, Any, Errors, Origins]:
        """The range and the noise of a sum."""
        ends = [(w * x.low, w * x.high) for w, x in terms]
        square: Any = sum(w * w * x.square for w, x in terms)
        total: Any = sum(abs(w) * x.total for w, x in terms)
        most: Any = total * total - sum((w * x.total) ** 2 for w, x in terms)
        origins, parts, _ = met([(x.origins, x.errors) for _, x in terms])
        errors, equal = Errors.added([(w, part) for (w, _), part in zip(terms, parts, strict=True)])
        square = square + np.minimum(equal, most)
        low, high = (sum(end(*pair) for pair in ends) for end in (np.minimum, np.maximum))
        return (np.asarray(low), np.asarray(high)), square, total, errors, origins

    def sums(
        self,
        pool: Wires,
        groups: Sequence[Sequence[tuple[int, int]]],
        moved: Sequence[int] | None = None,
    ) -> Wires:
        """One wire for each group of (row, weight): the weighted sum of rows, of which those that
        are the same ciphertext count as one. `moved` is that of `linear`, for each group."""
        kinds: dict[tuple[int, ...], list[int]] = {}
        merged = _merged(pool, groups)
        for place, group in enumerate(merged):
            by = moved[place] if moved is not None else 0
            kinds.setdefault((by, *(weight for _, weight in group)), []).append(place)
        parts, places = [], []
        apart = dataclasses.replace(pool, origins={})  # whose errors have their names already
        for (by, *weights), members in kinds.items():
            rows = np.array([[row for row, _ in merged[place]] for place in members])
            taken = [(w, self.take(apart, rows[:, k])) for k, w in enumerate(weights)]
            parts.append(dataclasses.replace(self.linear(*taken, moved=by), origins=pool.origins))
            places += members
        return self._with_noise(self.take(self.join(*parts), np.argsort(places)), pool, groups)

    def noise_of(
        self, pool: Wires, groups: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[Reals, Reals]:
        """The squares and totals of sums, where rows that are the same ciphertext have one error,
        whatever known integers they stand for, and other rows may have errors in common."""
        first, count = first_of_same(pool, any_offset=True), len(groups)
        sizes = [len(group) for group in groups]
        flat = np.array([term for group in groups for term in group], dtype=np.int64).reshape(-1, 2)
        at = np.repeat(np.arange(count), sizes) * len(pool) + first[flat[:, 0]]
        at, inverse = np.unique(at, return_inverse=True)
        group, rows = np.divmod(at, max(len(pool), 1))
        weights = np.bincount(inverse, flat[:, 1], len(at))
        square: Any = np.bincount(group, weights**2 * pool.square[rows], count)
        single = np.abs(weights) * pool.total[rows]
        total: Any = np.bincount(group, single, count)
        most = total**2 - np.bincount(group, single**2, count)
        equal = pool.errors.take(rows).times(weights).equal_in(group, count)
        return square + np.minimum(equal, most), total

    def _with_noise(
        self, x: Wires, pool: Wires, groups: Sequence[Sequence[tuple[int, int]]]
    ) -> Wires:
        """Sums of which some have a ciphertext several times."""
        first = first_of_same(pool, any_offset=True)
        if len(np.unique(first)) == len(pool):
            return x
        square, total = self.noise_of(pool, groups)
        return dataclasses.replace(x, square=square, total=total)

    def _checked(self, x: Wires) -> Wires:
        if len(x) and int(x.width.max()) >= SECTORS:
            place = int(np.argmax(x.width))
            raise CircuitError(f"a wire has the range {x.low[place]} … {x.high[place]}")
        if self.engine.sees:
            held = np.flatnonzero(x.batch >= 0)
            if len(held):
                self.engine.check(self.rows(x, held), x.low[held], x.high[held], x.offset[held])
        return x

    # ---- tables

    def tables(
        self, *requests: tuple[Wires, Sequence[tuple[Function, Any]]], halves: bool = False
    ) -> list[list[Wires]]:
        """A layer: for each batch of wires, the results of its functions.

        A function comes with parameters: None, or an array of integers, a row of them for each wire
        if it has two axes. Where a function is constant over a wire's range the result is known,
        and takes no rotation; nor does what is looked up twice. Tables have f(m + 16) = -f(m), and
        with `halves` 1 - f(m): that is the former for 2·f - 1, in units of half a sector.
        """
        luts: dict[tuple[int, ...], int] = {}
        layer: list[Lookup] = []
        outputs = [
            [self._output(x, function, given, luts, halves) for function, given in functions]
            for x, functions in requests
        ]
        start = 0
        for (x, _), outs in zip(requests, outputs, strict=True):
            # Functions of the same rows are one look-up, and rows of one noise are.
            groups: dict[bytes, list[_Output]] = {}
            for out in outs:
                groups.setdefault((out.index >= 0).tobytes(), []).append(out)
            for members in groups.values():
                live = np.flatnonzero(members[0].index >= 0)
                self._bear(x, live)
                for where in _alike(live, x.square, x.total):
                    indices = [out.index[where] for out in members]
                    kinds, inverse = _kinds([x.batch[where], x.place[where], *indices])
                    once = where[np.unique(inverse, return_index=True)[1]]
                    starts: dict[bytes, tuple[int, Integers]] = {}
                    for out in members:
                        table = out.index[once]
                        first = start + len(starts) * len(kinds)
                        first, _ = starts.setdefault(table.tobytes(), (first, table))
                        out.place[where] = first + inverse
                    layer.append(Lookup(self.rows(x, once), [t for _, t in starts.values()]))
                    start += len(starts) * len(kinds)
                    self.rotations += len(starts) * len(kinds) * x.size
        self.layers += bool(layer)
        rows = self.engine.tables(layer, list(luts)) if layer else None
        return [
            self._found(rows, outs, x, next(self._numbers))
            for (x, _), outs in zip(requests, outputs, strict=True)
        ]

    def table(self, x: Wires, function: Function, given: Any = None, halves: bool = False) -> Wires:
        """A layer of one function of one batch."""
        return self.tables((x, [(function, given)]), halves=halves)[0][0]

    def _bear(self, x: Wires, where: Integers) -> None:
        square, total = x.square[where], x.total[where]
        if not np.all(self.account.bears(square, total)):
            noise = float(np.max(self.account.variance(square, total)))
            raise CircuitError(f"a table gets the noise {noise:.2f}, above {self.account.limit}")

    def _output(
        self,
        x: Wires,
        function: Function,
        given: Any,
        luts: dict[tuple[int, ...], int],
        halves: bool,
    ) -> _Output:
        """The tables of a function, by row, and what they give."""
        columns = [x.low, x.high, x.offset]
        if given is not None:
            columns += list(np.atleast_2d(np.asarray(given, dtype=np.int64).T))
        kinds, flat = _kinds(columns)
        index, low, high = np.zeros((3, len(kinds)), dtype=np.int64)
        for k, (least, most, offset, *parameters) in enumerate(kinds):
            window = np.arange(least, most + 1)
            values = np.broadcast_to(function(window, *parameters), window.shape).astype(np.int64)
            low[k], high[k] = values.min(), values.max()
            if low[k] == high[k]:
                index[k] = -1
                continue
            table = _negacyclic(window - offset, values, int(halves))
            index[k] = luts.setdefault(table, len(luts))
        return _Output(index[flat], low[flat], high[flat], np.full(len(flat), -1))

    def _found(self, rows: Any, outs: Sequence[_Output], x: Wires, number: int) -> list[Wires]:
        """The wires of outputs, whose looked-up rows are among these."""
        origins = {number: [marks_of(x.origins, x.size)]}
        found = []
        for out in outs:
            live = out.index >= 0
            if not live.any():
                found.append(self.known(out.low, x.size))
                continue
            noise, offset = np.where(live, 1.0, 0.0), np.where(live, 0, out.low)
            batch, ends = np.where(live, 0, -1), (out.low, out.high)
            facts: Any = noise, noise, Errors.of_layer(number, out.place, noise), x.size, origins
            found.append(self._checked(Wires((rows,), batch, out.place, *ends, offset, *facts)))
        return found


@dataclasses.dataclass
class _Output:
    """One function of a batch of wires: the number of the table of each row, -1 where the result is
    known; the range of results; their places in what a layer gives."""

    index: Integers
    low: Integers
    high: Integers
    place: Integers


_FIELDS = ("batch", "place", "low", "high", "offset", "square", "total")


def _alike(rows: Integers, *facts: Any) -> list[Integers]:
    """The rows, apart by what is known of them."""
    kinds, inverse = _kinds([fact[rows] for fact in facts])
    return [rows[inverse == kind] for kind in range(len(kinds))]


def _kinds(columns: Sequence[Any]) -> tuple[list[tuple[Any, ...]], Integers]:
    """The different rows of columns, and which of them each row is."""
    numbers: dict[tuple[Any, ...], int] = {}
    rows = zip(*(column.tolist() for column in columns), strict=True)
    inverse = [numbers.setdefault(row, len(numbers)) for row in rows]
    return list(numbers), np.array(inverse, dtype=np.int64)


def first_of_same(pool: Wires, any_offset: bool = False) -> Integers:
    """Returns for each row the first one that is the same ciphertext and stands for the same
    integer, or for another one by a known difference."""
    first: dict[tuple[int, int, int], int] = {}
    offset = 0 * pool.offset if any_offset else pool.offset
    held = zip(pool.batch.tolist(), pool.place.tolist(), offset.tolist(), strict=True)
    rows = (key if key[0] >= 0 else (-1, row, 0) for row, key in enumerate(held))
    return np.array([first.setdefault(key, row) for row, key in enumerate(rows)], dtype=np.int64)


def _merged(
    pool: Wires, groups: Sequence[Sequence[tuple[int, int]]]
) -> list[Sequence[tuple[int, int]]]:
    """Groups with one term for all rows that are the same: their weights are added up."""
    first = first_of_same(pool).tolist()
    if len(set(first)) == len(first):
        return list(groups)
    merged: list[Sequence[tuple[int, int]]] = []
    for group in groups:
        weights: dict[int, int] = {}
        for row, weight in group:
            weights[first[row]] = weights.get(first[row], 0) + weight
        merged.append(list(weights.items()))
    return merged


def _negacyclic(places: Integers, values: Integers, both: int) -> tuple[int, ...]:
    """The table with f(m) + f(m + 16) = both that has these values at these places."""
    table: list[int | None] = [None] * SECTORS
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        for at, wanted in ((place, value), (place + HALF, both - value)):
            held = table[at % SECTORS]
            if held is not None and held != wanted % SECTORS:
                raise CircuitError(
                    f"no table has the values {shown(values.tolist())} at {shown(places.tolist())}"
                )
            table[at % SECTORS] = wanted % SECTORS
    free = [0] * HALF + [both] * HALF
    return tuple(free[at] if value is None else value for at, value in enumerate(table))


def _ones(terms: Sequence[tuple[int, Wires]]) -> Any:
    """Which weights are 1."""
    return np.array([w == 1 for w, _ in terms])
