"""Functions that polynomials make: signs and comparisons by several, smooth functions by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from .._core.literal import as_real
from .._core.part import Made, Part
from .._server import ckks as _lib
from ..errors import ParameterError
from ._polynomials import Polynomial, as_error, as_interval


class SignStages(Made):
    """Odd polynomials on -1 … 1 that, one after the other, tell the sign of a number; immutable.

    `ckks.minimax_sign` makes the ones of least depth. (Lattigo: minimax.Polynomial.)

    Args:
        stages: polynomials. Each one but the last stays within -1 … 1 there.
        epsilon: the least absolute value of which they tell the sign.
        error: the largest difference from the sign for absolute values from epsilon to 1.

    `ParameterError` if there is no stage.

    >>> from whorl import ckks
    >>> stages = ckks.minimax_sign(2**-5, 2**-5)
    >>> stages.depth, len(stages.stages), abs(stages(-0.125) + 1) < stages.error
    (7, 2, True)
    """

    __slots__ = ("_core",)

    _core: _lib.SignStages

    def __init__(self, stages: Sequence[Polynomial], epsilon: float, error: float) -> None:
        given = list(stages)
        for each in given:
            if not isinstance(each, Polynomial):
                raise TypeError(f"stages: Polynomials are needed, not {type(each).__name__}")
        if not given:
            raise ParameterError("stages: there is none")
        self._core = _lib.SignStages.create(
            [each._core for each in given], as_real("epsilon", epsilon), as_real("error", error)
        )

    stages = Part[tuple[Polynomial, ...]](
        "_core.stages",
        "The polynomials, in the order in which they are applied.",
        lambda all: tuple(Polynomial._of(each) for each in all),
    )
    epsilon = Part[float]("_core.epsilon", "The least absolute value of which they tell the sign.")
    error = Part[float](
        "_core.error", "The largest difference from the sign, from epsilon to 1 and from -1 on."
    )
    depth = Part[int]("_core.depth", "How many levels they take: the sum of the stages' depths.")

    def __call__(self, x: ArrayLike) -> Any:
        """Their values in clear: float64 of the shape of `x`, a float for a number."""
        value: Any = x
        for stage in self.stages:
            value = stage(value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return SignStages, (self.stages, self.epsilon, self.error)

    def __repr__(self) -> str:
        degrees = ", ".join(str(each.degree) for each in self.stages)
        return (
            f"<SignStages of degrees {degrees}, depth {self.depth}, for |x| ≥ {self.epsilon:g} to "
            f"within {self.error:.2g}>"
        )


def minimax_sign(epsilon: float, error: float) -> SignStages:
    """The stages of least depth that tell the sign of x for epsilon ≤ |x| ≤ 1.

    Args:
        epsilon: the least absolute value of which the sign is told, 2^-24 … 1.
        error: the largest difference from -1 or 1 that is wanted, 2^-40 … 1.

    Each stage is the minimax polynomial on what the one before leaves (Lee, Lee, No, Kim, IEEE
    Access 2021), of degree 3, 7, 15 or 31. `ParameterError` for a number out of range. (Lattigo:
    minimax.GenMinimaxCompositePolynomialForSign.)

    >>> minimax_sign(2**-7, 2**-7)
    <SignStages of degrees 31, 31, depth 10, for |x| ≥ 0.0078125 to within 0.00071>
    """
    return SignStages._of(_lib.minimax_sign(as_real("epsilon", epsilon), as_real("error", error)))


# ---- smooth functions


def inverse_of(low: float, high: float, error: float) -> Polynomial:
    """A polynomial within `error` of 1/x between `low` and `high`, for `evaluate`; both ends are
    above 0, or both below it.

    It has the least degree 2^k - 1 that serves. `ParameterError` for an interval that holds 0, for
    one that is empty, for an error that is not positive, and for one that no degree up to 4,095
    reaches: there, and on wide intervals, take `Server.inverse`. (OpenFHE: EvalDivide; Lattigo:
    inverse.Evaluator.)

    >>> p = inverse_of(0.5, 2, 2**-10)
    >>> p.degree, abs(p(1.25) - 0.8) < 2**-10
    (7, True)
    """
    return _within(_lib.inverse_of, low, high, error)


def sqrt_of(low: float, high: float, error: float) -> Polynomial:
    """The same of the square root of x, with 0 < low (`ParameterError`)."""
    return _within(_lib.sqrt_of, low, high, error)


def inverse_sqrt_of(low: float, high: float, error: float) -> Polynomial:
    """The same of 1/√x, with 0 < low."""
    return _within(_lib.inverse_sqrt_of, low, high, error)


def logistic_of(low: float, high: float, error: float) -> Polynomial:
    """The same of 1/(1 + exp(-x)), on any interval (OpenFHE: EvalLogistic)."""
    return _within(_lib.logistic_of, low, high, error)


def tanh_of(low: float, high: float, error: float) -> Polynomial:
    """The same of tanh x, on any interval."""
    return _within(_lib.tanh_of, low, high, error)


def exp_of(low: float, high: float, error: float) -> Polynomial:
    """The same of exp x, on any interval."""
    return _within(_lib.exp_of, low, high, error)


def sine_of(low: float, high: float, error: float) -> Polynomial:
    """The same of sin x, on any interval (OpenFHE: EvalSin)."""
    return _within(_lib.sine_of, low, high, error)


def _within(
    make: Callable[[float, float, float], _lib.Polynomial], low: float, high: float, error: float
) -> Polynomial:
    return Polynomial._of(make(*as_interval(low, high), as_error(error)))
