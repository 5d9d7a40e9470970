"""Integers from users, as the C++ library takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.integers import refuse, whole_numbers
from .._core.numbers import one_number
from .._core.text import shown
from .._server import binfhe as _lib
from ..errors import ParameterError

ALLOWED_FAILURE = _lib.allowed_failure
"""2^-40: operations that fail more often are refused, unless the program allows more."""

Words = np.ndarray[Any, np.dtype[np.uint32]]


def as_probability(value: Any, field: str) -> float:
    """`value` as a float. `TypeError` unless it is a number, `ParameterError` unless in (0, 1]."""
    number = one_number(value, field)
    if number is None or isinstance(number, complex):
        raise TypeError(f"{field}: a probability is needed, not {shown(value)}")
    if not 0 < number <= 1:
        raise ParameterError(f"{field}: {shown(number)} is not above 0 and at most 1")
    return float(number)


def as_bool(field: str, value: Any) -> bool:
    """`value` as a bool, also NumPy's; `TypeError` for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{field}: a bool is needed, not {shown(value)}")
    return bool(value)


def as_bits(values: ArrayLike, field: str) -> Words:
    """`values` as uint32, shape kept; `TypeError` and `EncodingError` for what is neither 0 nor 1.

    Messages name the entry and its index.
    """
    array = whole_numbers(values, field)
    refuse(array, (array != 0) & (array != 1), field, "neither 0 nor 1")
    return array.astype(np.uint32, order="C")


def as_messages(values: ArrayLike, field: str, p: int | None = None, name: str = "p") -> Words:
    """`values` as uint32, shape kept. With `p` all must be below it; error texts call it `name`.

    `TypeError` unless all are integers or bools, `EncodingError` for a value that is negative, or
    not below p, or not below 2^32. The message names the entry and its index.
    """
    array = whole_numbers(values, field)
    refuse(array, array < 0, field, "below 0")
    if p is not None and p >= 2:  # another p is the library's to refuse
        refuse(array, array >= p, field, f"not below {name} = {p}")
    refuse(array, array >= 2**32, field, "not below 2^32")
    return array.astype(np.uint32, order="C")
