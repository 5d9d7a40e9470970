"""Polynomials of real values, and functions that they approximate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._core.integers import refuse, whole_numbers
from .._core.literal import as_integer, as_real, as_text
from .._core.numbers import Numbers, real_or_complex
from .._core.part import Made, Part
from .._core.text import shown
from .._server import ckks as _lib
from ..errors import ParameterError, ShapeError

Basis = Literal["chebyshev", "monomial"]
MAX_DEGREE = 4095


class Polynomial(Made):
    """A real polynomial of one variable, immutable (Lattigo: bignum.Polynomial).

    Args:
        coefficients: of T_0, T_1, … or of 1, x, x^2, …; at most 4,096.
        basis: `"chebyshev"` or `"monomial"`. In Chebyshev's basis the interval is mapped to -1 … 1
            first, where T_k(cos t) = cos(k·t).
        low, high: the ends of the interval where it is evaluated.

    `ShapeError` unless there is one axis of 1 … 4,096 coefficients; `ParameterError` for another
    basis, and unless low < high.

    >>> p = Polynomial([1, 0, 2], "monomial")
    >>> p.degree, p.depth, p(3.0)
    (2, 2, 19.0)
    """

    __slots__ = ("_core",)

    _core: _lib.Polynomial

    def __init__(
        self,
        coefficients: ArrayLike,
        basis: Basis = "chebyshev",
        low: float = -1.0,
        high: float = 1.0,
    ) -> None:
        values = _real("coefficients", coefficients)
        if values.ndim != 1 or not 1 <= values.size <= MAX_DEGREE + 1:
            raise ShapeError(
                f"coefficients: shape {values.shape} is not one axis of 1 … {MAX_DEGREE + 1}"
            )
        ends = as_interval(low, high)
        self._core = _lib.Polynomial.create(
            np.ascontiguousarray(values), as_text("basis", basis), *ends
        )

    coefficients = Part[np.ndarray[Any, np.dtype[np.float64]]](
        "_core.coefficients", "Coefficients, from that of T_0 or 1 on, float64; a copy."
    )
    basis = Part[str]("_core.basis", "`chebyshev` or `monomial`.")
    low = Part[float]("_core.low", "The lower end of the interval.")
    high = Part[float]("_core.high", "The upper end of the interval.")
    degree = Part[int](
        "_core.degree", "The largest index of a coefficient that is not 0; 0 if there is none."
    )
    depth = Part[int](
        "_core.depth",
        "How many levels its evaluation takes: ⌈log2(degree + 1)⌉; one more where "
        "Chebyshev's basis is on another interval than -1 … 1, unless it is a constant.",
    )

    def __call__(self, x: ArrayLike) -> Any:
        """Its values in clear: float64 of the shape of `x`, a float for a number."""
        given = _real("x", x)
        values = self._core.values(np.ascontiguousarray(given).reshape(-1)).reshape(given.shape)
        return float(values) if given.ndim == 0 else values

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial, (self.coefficients, self.basis, self.low, self.high)

    def __repr__(self) -> str:
        return (
            f"<Polynomial of degree {self.degree}, {self.basis}, on {self.low:g} … {self.high:g}, "
            f"depth {self.depth}>"
        )


def approximate(
    f: Callable[[float], float],
    low: float,
    high: float,
    *,
    degree: int | None = None,
    error: float | None = None,
) -> Polynomial:
    """A polynomial in Chebyshev's basis that is close to `f` between `low` and `high`.

    Args:
        f: a function of one float. It is called at the nodes, and with `error` at more points.
        low, high: the ends of the interval.
        degree: 0 … 4095. The result interpolates f at Chebyshev's nodes. Degrees 2^k - 1 use all
            that k levels can give.
        error: the largest error that is wanted. The result has the least degree 2^k - 1 that
            differs from f by at most so much at 4,096 points of the interval.

    `TypeError` unless one of `degree` and `error` is given. `ParameterError` for a number out of
    range, an f that is not finite at a node, and an error that no degree up to 4,095 reaches. What
    f raises is passed on. (OpenFHE: EvalChebyshevFunction; Lattigo: bignum.ChebyshevApproximation.)

    >>> import math
    >>> p = approximate(math.exp, -1, 1, error=1e-6)
    >>> p.degree, p.depth, abs(p(0.5) - math.exp(0.5)) < 1e-6
    (7, 3, True)
    """
    if not callable(f):
        raise TypeError(f"f: a function is needed, not {type(f).__name__}")
    if (degree is None) == (error is None):
        raise TypeError("one of degree and error is needed, and not both")
    ends = as_interval(low, high)

    def value(x: float) -> float:
        found: Any = f(x)
        try:
            return float(found)
        except (TypeError, ValueError, OverflowError):
            message = f"f: a real number is needed at {x:g}, not {shown(found)}"
            raise TypeError(message) from None

    if degree is not None:
        known = as_integer("degree", degree, 0, MAX_DEGREE)
        return Polynomial._of(_lib.approximate(value, *ends, known))
    return Polynomial._of(_lib.approximate_within(value, *ends, as_error(error)))


def as_polynomials(polynomials: Any) -> list[Polynomial]:
    """Several polynomials; `TypeError` for what are none, `ParameterError` for an empty list."""
    each = list(polynomials) if isinstance(polynomials, Sequence) else [polynomials]
    if not each:
        raise ParameterError("polynomial: there is no polynomial in the list")
    for one in each:
        if not isinstance(one, Polynomial):
            raise TypeError(f"polynomial: a Polynomial is needed, not {type(one).__name__}")
    return each


def as_mapping(mapping: ArrayLike | None, count: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Which of `count` polynomials belongs to each value; -1 stands for none."""
    indices = np.arange(count) if mapping is None else whole_numbers(mapping, "mapping")
    wrong = (indices < -1) | (indices >= count)
    refuse(indices, wrong, "mapping", f"outside -1 … {count - 1}", ParameterError)
    return indices.astype(np.int32)


def _real(field: str, values: ArrayLike) -> Numbers:
    array = real_or_complex(values, field)
    if array.dtype.kind == "c":
        raise TypeError(f"{field}: real numbers are needed, not complex ones")
    return array


def as_error(error: float | None) -> float:
    """A positive number; else `ParameterError`."""
    wanted = as_real("error", error)
    if not wanted > 0:
        raise ParameterError(f"error: {wanted} is not positive")
    return wanted


def as_interval(low: float, high: float) -> tuple[float, float]:
    """The ends of an interval; `ParameterError` for one that is empty or endless."""
    ends = as_real("low", low), as_real("high", high)
    if not (ends[0] < ends[1] and ends[1] - ends[0] < np.inf):
        raise ParameterError(f"low = {ends[0]:g} and high = {ends[1]:g} are no interval")
    return ends
