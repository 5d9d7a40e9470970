"""What users give as an array: what NumPy would take for something else is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError
from .array import Array, is_masked, joined_by
from .text import counted

Entries = np.ndarray[Any, np.dtype[Any]]

_MOST_AXES = 64
"""NumPy's arrays have no more axes."""


def entries_of(values: Any, field: str) -> Entries:
    """`values` as an array of whatever kind NumPy makes of them, shape kept.

    Raises `ShapeError` for rows of different lengths. Raises `TypeError` for ciphertexts, for
    masked values, which NumPy would uncover, and for what NumPy makes no array of.
    """
    refuse_unreadable(values, field)
    try:
        return np.asarray(values)
    except ValueError as error:
        uneven = _uneven(values)
        if uneven:
            raise ShapeError(f"{field}: rows have different lengths: {uneven}") from None
        reason = error
    try:
        array = np.array(values, dtype=np.object_)  # some of the entries are lists
    except ValueError:
        raise TypeError(f"{field}: this is no array of numbers: {reason}") from None
    if array.ndim == _MOST_AXES:
        raise TypeError(f"{field}: lists are nested too deeply")
    return array


def refuse_unreadable(values: Any, field: str) -> None:
    """`TypeError` for ciphertexts, and for masked values, also within lists and object arrays."""
    for index, part in _parts(values, ()):
        if isinstance(part, Array):
            raise TypeError(
                f"{field}: numbers are needed, not {part._kind()}{at(index)}"
                + (joined_by(part) if index else "")
            )
        hidden = index + tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(part))[0])
        raise TypeError(
            f"{field}: the value{at(hidden)} is masked; give values for those that are masked, as "
            ".filled(0), or leave them out"
        )


def _parts(values: Any, index: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Ciphertexts and arrays with masked values in nested lists, and where they are."""
    if isinstance(values, Array) or is_masked(values):
        yield index, values
    elif isinstance(values, np.ndarray):
        if values.dtype == np.object_ and len(index) < _MOST_AXES:
            for place in np.ndindex(values.shape):
                yield from _parts(values[place], index + place)
    elif isinstance(values, (list, tuple)) and len(index) < _MOST_AXES:
        if not set(map(type, values)) <= _NUMBERS:
            for i, each in enumerate(values):
                yield from _parts(each, (*index, i))


_NUMBERS = {int, float, complex, bool, np.float64, np.int64, np.bool_}
"""Types of entries that need not be looked at one by one."""


def _uneven(values: Any) -> str:
    """Which rows of nested lists differ in length, and what these are; "" if none do."""
    rows: list[tuple[tuple[int, ...], Any]] = [((), values)] if _is_row(values) else []
    for _ in range(_MOST_AXES):
        rows = [((*index, i), row) for index, each in rows for i, row in enumerate(each)]
        rows = [(index, row) for index, row in rows if _is_row(row)]
        for index, row in rows:
            first, least = rows[0]
            if len(row) != len(least):
                size = counted(len(least), "value")
                return f"row{_place(first)} has {size}, and row{_place(index)} has {len(row)}"
    return ""


def _is_row(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.ndim > 0
    return isinstance(part, Sequence) and not isinstance(part, (str, bytes))


def _place(index: tuple[int, ...]) -> str:
    return f" {index[0] if len(index) == 1 else index}"


def at(index: tuple[int, ...]) -> str:
    """The place of an entry as text: " at index 2", " at index (1, 2)", "" for a single number."""
    return f" at index{_place(index)}" if index else ""
