"""Integers from users, as the C++ library takes them."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._array import Shape
from .._integers import refuse, whole_numbers
from ..errors import ShapeError
from ._parameters import Parameters

Packing = Literal["slots", "coefficients"]
Values = np.ndarray[Any, np.dtype[np.int64]]


def as_integers(values: ArrayLike, t: int, field: str) -> Values:
    """`values` as int64, shape kept; what int64 cannot hold is reduced modulo t.

    `TypeError` for what is no integer (bools are), or none of 64 bits, with the entry and its
    index.
    """
    array = whole_numbers(values, field)
    if array.dtype == np.object_:
        wrong = (array < -(2**63)) | (array >= 2**64)
        refuse(array, wrong, field, "not one of the integers of 64 bits", TypeError)
    if array.dtype in (np.uint64, np.object_):
        array = array % array.dtype.type(t)
    return array.astype(np.int64, order="C")


def as_rows(values: ArrayLike, parameters: Parameters, field: str) -> tuple[Values, Shape]:
    """Rows of N values, flattened, and the shape of the ciphertexts.

    The last axis, of k <= N values, is padded with zeros. `ShapeError` for more than N, for a
    single number and for none.
    """
    array = as_integers(values, parameters.t, field)
    N = parameters.N
    if array.ndim == 0:
        raise ShapeError(f"{field}: a single number; a row of up to N = {N} values is needed")
    if array.shape[-1] > N:
        raise ShapeError(f"{field}: rows of {array.shape[-1]} values, at most N = {N}")
    shape = array.shape[:-1]
    if array.size == 0:
        raise ShapeError(f"{field}: no values in shape {array.shape}")
    if array.shape[-1] == N:
        return np.ascontiguousarray(array).reshape(-1), shape
    padded = np.zeros((math.prod(shape), N), dtype=np.int64)
    padded[:, : array.shape[-1]] = array.reshape(-1, array.shape[-1])
    return padded.reshape(-1), shape


def as_scalar(value: object) -> int | None:
    """An int if `value` is one integer, also a 0-d array of NumPy's; else None."""
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return int(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iub":
        return int(value)
    return None
