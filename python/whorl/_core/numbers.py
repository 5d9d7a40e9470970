"""Real and complex numbers from users, in arrays. Errors name the wrong entry and its index."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import EncodingError
from .entries import at, entries_of
from .integers import as_given, each_of, refuse
from .literal import too_large
from .text import shown

Numbers = np.ndarray[Any, np.dtype[Any]]


def real_or_complex(values: Any, field: str) -> Numbers:
    """`values` as float64, or as complex128 if the type of an entry is complex; shape kept.

    Raises `TypeError` for an entry that is not a number, or is masked, and `EncodingError` for one
    that is not finite. Raises `ShapeError` for rows of different lengths.
    """
    array = entries_of(values, field)
    if array.dtype.kind not in "biufc":
        array = _converted(as_given(values, array), field)
    kind = np.complex128 if array.dtype.kind == "c" else np.float64
    with np.errstate(over="ignore"):  # of longer floats; what is above all doubles is refused
        array = array.astype(kind, copy=False)
    refuse(array, ~np.isfinite(array), field, "not finite")
    return array


def one_number(value: Any, field: str, where: str = "") -> int | float | complex | None:
    """`value` as Python's number, also a 0-d array of NumPy's; None if it is not one number.

    `EncodingError` for a number that is not an integer and is above all doubles; it names `field`,
    and `where` the number is.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biufcO":
        value = value[()]
    if isinstance(value, np.timedelta64):  # which NumPy calls an integer
        return None
    if isinstance(value, (bool, np.bool_, numbers.Integral)):
        return int(value)
    if isinstance(value, numbers.Real):
        with _fitting(value, field, where):
            return float(value)
    return complex(value) if isinstance(value, numbers.Complex) else None


def _converted(given: Numbers, field: str) -> Numbers:
    """Entries of any kind as numbers of NumPy's."""
    found = np.empty(given.shape, dtype=np.complex128)
    real = True
    for index, entry in each_of(given):
        number = one_number(entry, field, at(index))
        if number is None:
            raise TypeError(f"{field}: numbers are needed, not {shown(entry)}{at(index)}")
        real = real and not isinstance(number, complex)
        found[index] = as_complex(number, field, at(index))
    return found.real if real else found


def as_complex(number: float | complex, field: str, where: str = "") -> complex:
    """A Python number as a complex one; errors as of `one_number`, for integers, too."""
    with _fitting(number, field, where):
        return complex(number)


@contextlib.contextmanager
def _fitting(number: Any, field: str, where: str) -> Iterator[None]:
    try:
        yield
    except OverflowError:
        raise EncodingError(f"{field}: {too_large(number, where)}") from None
