"""Integers from users, as the C++ library takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Shape
from .._core.integers import refuse, whole_numbers
from .._core.literal import as_text
from .._ring.arrays import as_rows
from ..errors import ShapeError
from ._ciphertexts import Ciphertexts
from ._parameters import Parameters

Packing = Literal["slots", "coefficients"]
Values = np.ndarray[Any, np.dtype[np.int64]]


def as_integers(values: ArrayLike, least: int, t: int, field: str) -> Values:
    """`values` as int64, shape kept.

    `TypeError` for an entry that is not an integer (bools count as integers), `EncodingError` for
    one that is not in `least` … t-1; both name the entry and its index.
    """
    array = whole_numbers(values, field)
    # NumPy compares integers of different kinds as floats; those of int64 are exact.
    given = array.astype(np.object_) if array.dtype == np.uint64 else array
    refuse(array, (given < least) | (given >= t), field, f"not in {least} … {t - 1}, for t = {t}")
    return array.astype(np.int64, order="C")


def least_message(t: int) -> int:
    """The least integer that `Client.decrypt` gives back."""
    return -((t - 1) // 2)


def as_vectors(
    values: ArrayLike, parameters: Parameters, field: str, least: int | None = None
) -> tuple[Values, Shape, int]:
    """`as_rows` of integers from users. `EncodingError` for a value that is not in `least` … t-1,
    by default 1-t … t-1."""
    t = parameters.t
    return as_rows(as_integers(values, 1 - t if least is None else least, t, field), field)


def encrypted(
    encrypt: Callable[..., Any], values: ArrayLike, packing: Packing, parameters: Parameters
) -> Ciphertexts:
    """What `encrypt` makes of vectors that may be messages."""
    least = least_message(parameters.t)
    vectors, shape, length = as_vectors(values, parameters, "values", least)
    batch = encrypt(vectors, as_text("packing", packing), length)
    return Ciphertexts._wrap(batch, shape, parameters)


def as_matrix(values: ArrayLike, parameters: Parameters, field: str) -> Values:
    """A matrix of integers 1-t … t-1; `ShapeError` unless it has two axes, of 1 … N columns."""
    array = as_integers(values, 1 - parameters.t, parameters.t, field)
    if array.ndim != 2 or array.size == 0 or array.shape[1] > parameters.N:
        raise ShapeError(
            f"{field}: shape {array.shape} is not (rows, columns) with rows, and with 1 … N = "
            f"{parameters.N} columns: multiply by N columns at a time"
        )
    return np.ascontiguousarray(array)


def as_scalar(value: object) -> int | None:
    """An int if `value` is one integer, also a 0-d array of NumPy's; else None."""
    if isinstance(value, np.timedelta64):  # which NumPy calls an integer
        return None
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return int(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iub":
        return int(value)
    return None
