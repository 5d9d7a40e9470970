"""How precise results are, compared with numbers in clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.numbers import real_or_complex
from ..errors import EncodingError, ShapeError

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Bits:
    """-log2 of the errors of several values, in bits; infinite where a value has no error."""

    min: float
    """Bits of the worst value."""
    median: float
    """The median over all values; infinite if at least half of them are exact."""
    mean: float
    """The mean over the values that are not exact; infinite if all are."""
    max: float
    """Bits of the best value."""
    std: float
    """Standard deviation over the values that are not exact; 0 if all are."""
    exact: int
    """How many values have no error."""

    def __str__(self) -> str:
        return (
            f"min {self.min:.2f}, median {self.median:.2f}, mean {self.mean:.2f}, "
            f"max {self.max:.2f}, std {self.std:.2f}, exact {self.exact}"
        )


@dataclass(frozen=True)
class Precision:
    """The precision of results, in bits: -log2 of their errors. `precision` computes it."""

    real: Bits
    """Bits of the real parts."""
    imaginary: Bits
    """Bits of the imaginary parts."""
    absolute: Bits
    """Bits of the values: the error is the absolute value of the complex difference."""

    def __repr__(self) -> str:
        rows = [("real", self.real), ("imaginary", self.imaginary), ("absolute", self.absolute)]
        return "\n".join(["Precision in bits:", *(f"  {name:<9}  {row}" for name, row in rows)])


def precision(values: ArrayLike, expected: ArrayLike) -> Precision:
    """The bits of precision of `values`, which should be `expected`; both of one shape.

    `ShapeError` if the shapes differ or are empty, `EncodingError` for numbers that are not finite,
    `TypeError` for what is no number. It needs nothing of the library: the arrays are in clear.
    (Lattigo: ckks.GetPrecisionStats, which has further means of the errors.)

    >>> bits = precision([1.5, 2.0, 3.0 + 0.25j], [1.0, 2.0, 3.0])
    >>> bits.absolute.min, bits.absolute.max, bits.real.exact, bits.imaginary.mean
    (1.0, inf, 2, 2.0)
    """
    ours, theirs = real_or_complex(values, "values"), real_or_complex(expected, "expected")
    if ours.shape != theirs.shape or ours.size == 0:
        raise ShapeError(
            f"values and expected have the shapes {ours.shape} and {theirs.shape}; they must be "
            "equal, and not empty"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.asarray(ours - theirs, dtype=np.complex128).reshape(-1)
        finite = np.isfinite(np.abs(error))
    if not finite.all():
        raise EncodingError(
            f"values: the number at index {int(np.argmin(finite))} of all differs from what is "
            "expected by more than a float64 holds"
        )
    return Precision(_bits(error.real), _bits(error.imag), _bits(np.abs(error)))


def _bits(errors: Floats) -> Bits:
    with np.errstate(divide="ignore"):
        bits = -np.log2(np.abs(errors))
    bits += 0.0  # an error of 1 has 0 bits, not -0
    some = bits[np.isfinite(bits)]
    return Bits(
        min=float(bits.min()),
        median=float(np.median(bits)),
        mean=float(some.mean()) if some.size else np.inf,
        max=float(bits.max()),
        std=float(some.std()) if some.size else 0.0,
        exact=int(np.count_nonzero(errors == 0)),
    )
