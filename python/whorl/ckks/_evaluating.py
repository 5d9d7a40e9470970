"""Polynomials of encrypted arrays, as a function."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from .._core.array import no_ciphertexts
from ._ciphertexts import Ciphertexts
from ._parameters import Parameters
from ._polynomials import Polynomial
from ._server import EncryptedArray


def evaluate(
    x: EncryptedArray,
    polynomial: Polynomial | Sequence[Polynomial],
    mapping: ArrayLike | None = None,
    within: bool = False,
) -> EncryptedArray:
    """The polynomial of each value of an encrypted array, or one of several for each value.

    `Server.evaluate` has the details.
    """
    given: object = x
    if isinstance(given, Ciphertexts):
        raise TypeError("evaluate needs a server: write server.upload(x) first")
    if not isinstance(given, EncryptedArray):
        raise no_ciphertexts(Parameters, given)
    return given.evaluate(polynomial, mapping, within)
