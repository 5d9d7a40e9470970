"""Integers from users, in arrays. Errors name the wrong entry and its index."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import EncodingError
from .entries import at, entries_of
from .text import shown

Integers = np.ndarray[Any, np.dtype[Any]]


def as_given(values: Any, array: Integers) -> Integers:
    """The entries as the user gave them, of `values` that NumPy made `array` of.

    NumPy makes floats of a list with a np.uint64, and text of one with a string.
    """
    return array if isinstance(values, np.ndarray) else np.array(values, dtype=np.object_)


def whole_numbers(values: Any, field: str) -> Integers:
    """`values` as an array of integers or bools, shape kept; empty ones are uint32.

    If no integer type of NumPy can hold all of them, the result is an object array of Python's
    integers. Raises `TypeError` for an entry that is not an integer, or is masked; the message has
    the entry and its index. Raises `ShapeError` for rows of different lengths.
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
    number = as_index(value, field)
    if not 0 <= number < 2**32:
        raise EncodingError(f"{field}: {shown(number)} is outside 0 … 2^32 - 1")
    return number


def as_index(value: Any, field: str) -> int:
    """`value` as an int; `TypeError` unless it is an integer."""
    return _as_integer(value, f"{field}: an integer is needed", "")


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
        raise error(f"{field}: value {shown(value)}{at(index)} is {what}")


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
        raise TypeError(f"{needed}, not {shown(value)}{where}") from None
