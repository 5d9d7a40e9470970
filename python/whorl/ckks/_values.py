"""Numbers from users as the C++ library takes them, and numbers that it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Shape
from .._core.literal import as_real, as_text
from .._core.numbers import Numbers, real_or_complex
from .._core.text import counted
from .._ring.arrays import as_rows
from ..errors import EncodingError, ShapeError

Packing = Literal["complex", "real", "coefficients"]
Complexes = np.ndarray[Any, np.dtype[np.complex128]]


def as_vectors(values: ArrayLike, field: str) -> tuple[Numbers, Shape, int]:
    """`as_rows` of numbers from users, as float64 or complex128."""
    return as_rows(real_or_complex(values, field), field)


Bound: TypeAlias = float | tuple[float, float]
"""The largest absolute value; or the least and the largest of real values in slots."""


def as_bounds(bound: Bound) -> tuple[float, float]:
    """The lower and the upper bound of a pair; one number stands for both signs."""
    given: Any = bound
    if isinstance(given, (tuple, list)) or (isinstance(given, np.ndarray) and given.ndim > 0):
        if len(given) != 2:
            raise ShapeError(
                f"bound: the sequence has {counted(len(given), 'number')}; give the largest "
                "absolute value as one number, or the lower and the upper bound as two"
            )
        return as_real("bound", given[0]), as_real("bound", given[1])
    most = as_real("bound", given)
    return -most, most


def encrypted(
    of_complex: Callable[..., Any],
    of_real: Callable[..., Any],
    values: ArrayLike,
    bound: Bound,
    packing: Packing | None,
) -> tuple[Any, Shape]:
    """Encrypts vectors by the function for their kind; the batch, and the shape of the array."""
    vectors, shape, length = as_vectors(values, "values")
    natural = "complex" if vectors.dtype.kind == "c" else "real"
    kind = natural if packing is None else as_text("packing", packing)
    low, high = as_bounds(bound)
    if kind == "complex":
        batch = of_complex(vectors.astype(np.complex128, copy=False), length, low, high)
    elif vectors.dtype.kind == "c":
        raise EncodingError(
            f"values: complex numbers do not fit the packing {kind!r}, which is for real numbers"
        )
    else:
        batch = of_real(vectors, length, low, high, kind)
    return batch, shape


def filled(values: Numbers, length: int, slots: int) -> Numbers:
    """Vectors of more than `slots` values, each followed by its own first values up to a multiple
    of that number; flattened."""
    rows = values.reshape(-1, length)
    return np.pad(rows, ((0, 0), (0, -length % slots)), mode="wrap").reshape(-1)


def decrypted(values: Complexes, packing: str, shape: Shape) -> Numbers:
    """Numbers of the packing's kind, with the values of a vector on the last axis."""
    of_kind = values if packing == "complex" else np.ascontiguousarray(values.real)
    return of_kind.reshape(*shape, -1)
