"""What a result of a planned function states, and what was released of results."""

from __future__ import annotations

from typing import NamedTuple

from .._core.literal import Check, as_long, as_real, as_text, as_word
from ..errors import ParameterError
from ._ciphertexts import Accounted


class Expectation(NamedTuple):
    """What a plan says of each ciphertext of a result, for `Client.release(expect=...)`.

    `Plan.results` has them. It is a tuple, which any file can hold: `Expectation(*saved)`.

    >>> from whorl.ckks import Values, plan
    >>> expected = plan(lambda x: x * x, Values((3, 4), bound=2)).results[0]
    >>> expected.packing, expected.parts, expected.level, expected.length, expected.bound
    ('real', 2, 0, 4, 4.0)
    """

    packing: str
    parts: int
    level: int
    scale: float
    length: int
    bound: float
    """No value is larger, in absolute value."""
    error: float
    """Estimated standard deviation of the error of each value."""


class Released(NamedTuple):
    """What was released under a key; `Client.released` counts it."""

    results: int
    """Number of ciphertexts."""
    spent: float
    """The sum of 1/queries over them. At 1 nothing more may be released."""


_CHECKS: dict[str, Check] = {
    **{"packing": as_text, "parts": as_word, "level": as_word, "scale": as_real},
    **{"length": as_long, "bound": as_real, "error": as_real},
}


def stated(result: Accounted) -> Expectation:
    """What is known of ciphertexts."""
    return Expectation(*(getattr(result, field) for field in Expectation._fields))


def checked(given: Expectation) -> Expectation:
    """The same with plain numbers. `ParameterError` for what is none, and for bounds and errors
    of which there is no logarithm."""
    out = Expectation(
        **{name: check(f"expect.{name}", getattr(given, name)) for name, check in _CHECKS.items()}
    )
    for name in ("bound", "error"):
        if not 0 < getattr(out, name) < float("inf"):
            raise ParameterError(f"expect.{name}: {getattr(out, name)} is not positive and finite")
    return out
