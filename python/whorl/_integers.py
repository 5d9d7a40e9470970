"""Integers from users, in arrays. Errors name the wrong entry and its index."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import EncodingError, ShapeError

Integers = np.ndarray[Any, np.dtype[Any]]


def entries_of(values: Any, field: str) -> Integers:
    """`values` as an array of whatever kind NumPy makes of them, shape kept.

    Raises `ShapeError` for rows of different lengths.
    """
    try:
        return np.asarray(values)
    except ValueError:  # lists of different lengths: some of them are entries
        array = np.array(values, dtype=np.object_)
        lengths = sorted(
            {len(each) for each in array.reshape(-1) if isinstance(each, (list, tuple))}
        )
        if len(lengths) > 1:
            raise ShapeError(
                f"{field}: rows have different lengths, from {lengths[0]} to {lengths[-1]}"
            ) from None
        return array


def as_given(values: Any, array: Integers) -> Integers:
    """The entries as the user gave them, of `values` that NumPy made `array` of.

    NumPy makes floats of a list with a np.uint64, and text of one with a string.
    """
    return array if isinstance(values, np.ndarray) else np.array(values, dtype=np.object_)


def whole_numbers(values: Any, field: str) -> Integers:
    """`values` as an array of integers or bools, shape kept; empty ones are uint32.

    If no integer type of NumPy can hold all of them, the result is an object array of Python's
    integers. Raises `TypeError` for an entry that is not an integer; the message has the entry and
    its index. Raises `ShapeError` for rows of different lengths.
    """
    array = entries_of(values, field)
    if array.size == 0:
        return array.astype(np.uint32)
    if array.dtype.kind in "iub":
        return array
    given = as_given(values, array)
    whole = np.empty(given.shape, dtype=np.object_)
    for index, entry in each_of(given):
        whole[index] = _as_integer(entry, f"{field}: integers are needed", at(index))
    return whole


def as_modulus(value: Any, field: str) -> int:
    """`value` as an int of 32 bits, such as p. The library checks whether the parameters carry it.

    Raises `TypeError` unless it is an integer, and `EncodingError` outside 0 … 2^32 - 1.
    """
    number = _as_integer(value, f"{field}: an integer is needed", "")
    if not 0 <= number < 2**32:
        raise EncodingError(f"{field}: {number} is outside 0 … 2^32 - 1")
    return number


def refuse(
    array: Integers, wrong: Any, field: str, what: str, error: type[Exception] = EncodingError
) -> None:
    """Raises `error` if an entry of `wrong`, bools of the same shape, is true.

    The message has the first such value and its index; `what` says what is wrong with it.
    """
    if np.any(wrong):
        flat = int(np.argmax(wrong))
        index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
        value = array[index]
        value = value.item() if isinstance(value, np.generic) else value
        raise error(f"{field}: value {reprlib.repr(value)}{at(index)} is {what}")


def at(index: tuple[int, ...]) -> str:
    """The place of an entry as text: " at index 2", " at index (1, 2)", "" for a single number."""
    if not index:
        return ""
    return f" at index {index[0] if len(index) == 1 else index}"


def each_of(given: Integers) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The index of each entry, and the entry, which may be a list."""
    for index in np.ndindex(given.shape):
        yield index, given[index]


def _as_integer(value: Any, needed: str, where: str) -> int:
    """`value` as an int. Otherwise `TypeError` says what is `needed`, and `where` the value is."""
    if isinstance(value, np.bool_):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{needed}, not {reprlib.repr(value)}{where}") from None
