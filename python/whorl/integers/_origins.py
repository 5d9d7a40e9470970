"""Which errors ciphertexts have, so that those that are the same are counted as such.

An error is that of a row of a layer of tables, in a value. Layers are numbered, and have a mark for
each value: errors of one row are the same where marks are equal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.integers import Integers

Marks = np.ndarray[Any, np.dtype[np.uint64]]
Origins = dict[int, list[Marks]]
"""The marks that values have in each layer; layers below 0 are fresh, without errors that count."""
Reals = np.ndarray[Any, np.dtype[np.float64]]


_KINDS: Any = (np.uint64, np.int64, np.float64)


@dataclasses.dataclass(frozen=True)
class Errors:
    """The errors that each row of ciphertexts may have: up to `sizes` times those that are named,
    of `layers`. A name is 0 where there is none. Signs are not known, and in some of the
    values an error may be missing."""

    names: Marks
    layers: Integers
    sizes: Reals

    @property
    def fields(self) -> tuple[Marks, Integers, Reals]:
        """Names, layers and sizes."""
        return self.names, self.layers, self.sizes

    @classmethod
    def none(cls, count: int) -> Errors:
        """No errors that count."""
        return cls(*(np.zeros((count, 0), kind) for kind in _KINDS))

    @classmethod
    def of_layer(cls, layer: int, rows: Integers, sizes: Any) -> Errors:
        """One error for each row, that of a row of a layer."""
        names = np.where(sizes > 0, error_names(layer, rows.astype(np.uint64)), np.uint64(0))
        return cls(names[:, None], np.full((len(rows), 1), layer), np.asarray(sizes)[:, None])

    @classmethod
    def joined(cls, parts: Sequence[Errors]) -> Errors:
        """Rows of several."""
        count, most = (
            reduce(part.names.shape[axis] for part in parts)
            for axis, reduce in ((0, sum), (1, max))
        )
        made = cls(*(np.zeros((count, most), kind) for kind in _KINDS))
        start = 0
        for part in parts:
            end, width = start + len(part.names), part.names.shape[1]
            for to, field in zip(made.fields, part.fields, strict=True):
                to[start:end, :width] = field
            start = end
        return made

    @classmethod
    def added(cls, terms: Sequence[tuple[int, Errors]]) -> tuple[Errors, Reals]:
        """Those of a weighted sum, and how much larger the sum's square is than the sum of squares
        if equal errors have equal signs."""
        return cls._abreast([part.times(w) for w, part in terms])._merged(np.add)

    @classmethod
    def beside(cls, parts: Sequence[Errors]) -> Errors:
        """All errors that one of several has, of rows whose values are those of all."""
        if all(_equal(part, parts[0]) for part in parts[1:]):
            return parts[0]
        return cls._abreast(parts)._merged(np.maximum)[0]

    @classmethod
    def _abreast(cls, parts: Sequence[Errors]) -> Errors:
        fields = zip(*(part.fields for part in parts), strict=True)
        return cls(*(np.concatenate(list(field), axis=1) for field in fields))

    def take(self, index: Any) -> Errors:
        """Rows by their numbers."""
        return Errors(self.names[index], self.layers[index], self.sizes[index])

    def times(self, weight: Any) -> Errors:
        """The same with a weight for all rows, or one for each."""
        size = np.abs(weight) if np.ndim(weight) == 0 else np.abs(weight)[:, None]
        return dataclasses.replace(self, sizes=self.sizes * size)

    def equal_in(self, group: Integers, count: int) -> Reals:
        """What the squares of sums of groups of rows grow by if equal errors have equal signs."""
        names, sizes = self.names.reshape(-1), self.sizes.reshape(-1)
        at = np.repeat(group, self.names.shape[1])
        order = np.lexsort((names, at))
        names, sizes, at = names[order], sizes[order], at[order]
        if not len(names):
            return np.zeros(count)
        starts = np.flatnonzero((np.diff(names, prepend=0) != 0) | (np.diff(at, prepend=-1) != 0))
        total = np.add.reduceat(sizes, starts)
        more: Reals = total**2 - np.add.reduceat(sizes**2, starts)
        return np.asarray(np.bincount(at[starts], more, count), dtype=np.float64)

    def shared(self, first: Integers) -> list[tuple[tuple[int, float], ...]]:
        """For each row the errors that rows of another ciphertext have, too, numbered from the
        first one on, and their sizes; `first` is the first row that is the same ciphertext."""
        found: list[tuple[tuple[int, float], ...]] = [()] * len(self.names)
        rows, columns = np.nonzero((self.names > 0) & (first == np.arange(len(first)))[:, None])
        _, inverse, counts = np.unique(
            self.names[rows, columns], return_inverse=True, return_counts=True
        )
        several = counts[inverse] > 1
        numbers: dict[int, int] = {}
        for row, column in zip(rows[several].tolist(), columns[several].tolist(), strict=True):
            name = numbers.setdefault(int(self.names[row, column]), len(numbers))
            found[row] = (*found[row], (name, float(self.sizes[row, column])))
        return found

    def without(self, rows: Integers) -> Errors:
        """The same, of which some rows have none."""
        kept = np.ones(len(self.names))
        kept[rows] = 0
        return self.times(kept)

    def changed(self, layer: int, marks: Marks | None, merged: bool = True) -> Errors:
        """The same with other names for the errors of a layer: apart from those of other marks, or
        without marks one name for all, which is `merged`: once in a row."""
        where = (self.layers == layer) & (self.names > 0)
        if not where.any():
            return self
        if marks is not None:
            names = _mixed(self.names, hash(marks.tobytes()))
        else:
            names = np.full_like(self.names, _name_of_all(layer))
        made = dataclasses.replace(self, names=np.where(where, names, self.names))
        return made._merged(np.add)[0] if marks is None and merged else made

    def _merged(self, reduce: np.ufunc) -> tuple[Errors, Reals]:
        """The same with each name once in a row, and by how much the squares of rows grow."""
        count = len(self.names)
        order = np.argsort(self.names, axis=1)
        names, layers, sizes = (np.take_along_axis(x, order, 1) for x in self.fields)
        starts = np.ones(names.shape, dtype=bool)
        starts[:, 1:] = names[:, 1:] != names[:, :-1]
        if not np.any(~starts & (names > 0)):
            return self._trimmed(), np.zeros(count)
        at = np.flatnonzero(starts)
        total = reduce.reduceat(sizes.reshape(-1), at)
        more = total * total - np.add.reduceat(sizes.reshape(-1) ** 2, at)
        grown: Any = np.bincount(np.nonzero(starts)[0], more, count)
        sizes = np.zeros(names.size)
        sizes[at] = total
        names = np.where(starts, names, np.uint64(0))
        return Errors(names, layers, sizes.reshape(names.shape))._trimmed(), grown

    def _trimmed(self) -> Errors:
        """The same in as few columns as hold it."""
        most = int(np.count_nonzero(self.names, axis=1).max(initial=0))
        if most == self.names.shape[1]:
            return self
        order = np.argsort(self.names == 0, axis=1, kind="stable")
        return Errors(*(np.take_along_axis(x, order, 1)[:, :most] for x in self.fields))


def _equal(a: Errors, b: Errors) -> bool:
    return np.array_equal(a.names, b.names) and np.array_equal(a.sizes, b.sizes)


def error_names(layer: int, rows: Marks) -> Marks:
    """The names of errors, one of each row of a layer."""
    return _mixed(rows, layer)


def _name_of_all(layer: int) -> Any:
    """The name of errors of a layer that may be any of them."""
    return error_names(layer, np.full(1, 2**64 - 1, dtype=np.uint64))[0]


def _mixed(values: Marks, by: int) -> Marks:
    """Numbers that depend on all bits of both, and are not 0."""
    return _spread(values + _spread(np.array([by % 2**64], dtype=np.uint64))) | np.uint64(1)


def _spread(values: Marks) -> Marks:
    """Each number as another one, all of whose bits depend on all of its bits (the mixing of
    SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    made = values + np.uint64(0x9E3779B97F4A7C15)
    made = (made ^ (made >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    made = (made ^ (made >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(made ^ (made >> np.uint64(31)))


def met(parts: Sequence[tuple[Origins, Errors]]) -> tuple[Origins, list[Errors], bool]:
    """The origins of a sum or of joined rows; the errors of each part with names by which they are
    compared; and whether two parts may have an error in common.

    Parts of one list of marks, or of one mark each and these are equal, have equal names for equal
    errors. If marks differ in all values, no error is in two parts, and names are made different.
    Else any two errors of that layer count as the same.
    """
    origins: Origins = {}
    errors = [part for _, part in parts]
    common = False
    for layer in {layer: None for held, _ in parts for layer in held}:
        lists = [(k, held[layer]) for k, (held, _) in enumerate(parts) if layer in held]
        first = lists[0][1]
        same = all(marks is first for _, marks in lists)
        distinct = {m.tobytes(): m for _, marks in lists for m in marks} if not same else {}
        if same or (len(distinct) == 1 and layer < 0):
            origins[layer] = first
            common = common or (layer >= 0 and len(lists) > 1)
            continue
        if len(distinct) == 1:
            origins[layer], common = first, True
            continue
        origins[layer] = list(distinct.values())
        if layer < 0:
            continue
        single = all(len(marks) == 1 for _, marks in lists)
        alike = sum(len(marks) for _, marks in lists) > len(distinct)
        equal = equal_in_some(origins[layer])
        common = common or alike or equal
        for k, marks in lists:
            if equal or (alike and not single):
                errors[k] = errors[k].changed(layer, None)
            elif len(marks) == 1:
                errors[k] = errors[k].changed(layer, marks[0])
    return origins, errors, common


def equal_in_some(marks: Sequence[Marks]) -> bool:
    """Whether two of these are equal in some value."""
    ordered = np.sort(np.stack(marks), axis=0)
    return bool(np.any((ordered[1:] == ordered[:-1]) & (ordered[1:] > 0)))


def marks_of(origins: Origins, size: int) -> Marks:
    """Marks of what follows from these: equal only where all of their marks are."""
    made = np.ones(size, dtype=np.uint64)
    for layer, held in sorted(origins.items()):
        for marks in held:
            mixed = (marks + np.uint64(layer % 2**32)) * np.uint64(0x9E3779B97F4A7C15)
            made = (made ^ (mixed >> np.uint64(29)) ^ mixed) * np.uint64(0xBF58476D1CE4E5B9)
    return made | np.uint64(1)
