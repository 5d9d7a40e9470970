"""Arrays of encrypted vectors: what BGV's and CKKS's have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from .._core.array import DeviceCiphertexts, HostArray
from .._core.part import Part
from .keys import MAX_BYTES

S = TypeVar("S", bound=Any)
H = TypeVar("H", bound=HostArray)
R = TypeVar("R", bound="RingArray[Any, Any]")


class RingAccounted:
    """Public facts about ciphertexts."""

    __slots__ = ()

    _core: Any
    parameters: Any

    parts = Part[int](
        "_core.parts",
        "Number of polynomials c_0, c_1, c_2 … of each ciphertext: 2; more before relinearisation.",
    )

    @property
    def _each(self) -> int:
        return int(self._core.each)


class RingCiphertexts(HostArray):
    """Encrypted vectors in the host's memory."""

    __slots__ = ()

    _most = MAX_BYTES

    data = Part[np.ndarray[Any, np.dtype[Any]]](
        "_core.data",
        "Residues (parts, primes that are left, ciphertexts, N) in evaluation form, uint32 or "
        "uint64, read-only.",
    )


class RingArray(DeviceCiphertexts[S, H], Generic[S, H]):
    """Ciphertexts on a device whose operators are a server's methods."""

    __slots__ = ()

    def relinearise(self: R) -> R:
        """`Server.relinearise`."""
        result: R = self._server.relinearise(self)
        return result

    def rotate(self: R, distance: int) -> R:
        """`Server.rotate`."""
        result: R = self._server.rotate(self, distance)
        return result

    def rotate_many(self: R, distances: Iterable[int]) -> list[R]:
        """`Server.rotate_many`."""
        results: list[R] = self._server.rotate_many(self, distances)
        return results

    def dot(self: R, other: Any) -> R:
        """`Server.dot`."""
        result: R = self._server.dot(self, other)
        return result

    def __add__(self: R, other: Any) -> R:
        result: R = self._server.add(self, other)
        return result

    __radd__ = __add__

    def __sub__(self: R, other: Any) -> R:
        result: R = self._server.sub(self, other)
        return result

    def __rsub__(self: R, other: Any) -> R:
        result: R = self._server.add(self._server.negate(self), other)
        return result

    def __mul__(self: R, other: Any) -> R:
        result: R = self._server.multiply(self, other)
        return result

    __rmul__ = __mul__

    def __truediv__(self, _: Any) -> Any:
        raise TypeError(
            "integers modulo t are not divided: multiply by the inverse, pow(d, -1, t), if d has "
            "one, or divide what is decrypted"
        )

    def __rtruediv__(self, _: Any) -> NoReturn:
        raise TypeError("nothing is divided by ciphertexts; CKKS has x.inverse(low, high, error)")

    def __neg__(self: R) -> R:
        result: R = self._server.negate(self)
        return result

    def __pos__(self: R) -> R:
        return self

    def __pow__(self: R, exponent: int) -> R:
        result: R = self._server.power(self, exponent)
        return result
