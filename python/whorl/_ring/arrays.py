"""Arrays of encrypted vectors: what BGV's and CKKS's have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from .._core.array import DeviceCiphertexts, HostArray, Serving, Shape
from .._core.numbers import Numbers
from .._core.part import Part
from ..errors import ShapeError
from .keys import MAX_BYTES

S = TypeVar("S", bound="RingServing")
H = TypeVar("H", bound=HostArray)
R = TypeVar("R", bound="RingArray[Any, Any]")
P = ParamSpec("P")
T = TypeVar("T")


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

    data = Part[Numbers](
        "_core.data",
        "Residues (parts, primes that are left, ciphertexts, N) in evaluation form, uint32 or "
        "uint64, read-only.",
    )


class RingServing(Serving, Protocol):
    """What arrays of encrypted vectors ask of their server."""

    def add(self, a: Any, b: Any, /) -> Any:
        """The sum."""

    def sub(self, a: Any, b: Any, /) -> Any:
        """The difference."""

    def negate(self, a: Any, /) -> Any:
        """0 - a."""

    def multiply(self, a: Any, b: Any, /) -> Any:
        """The product, value by value."""

    def power(self, a: Any, exponent: int, /) -> Any:
        """A power of each value."""

    def dot(self, a: Any, b: Any, /) -> Any:
        """The sum of the products of values."""

    def relinearise(self, a: Any, /) -> Any:
        """The same in two parts."""

    def rotate(self, a: Any, distance: int, /) -> Any:
        """Values moved by a distance."""

    def rotate_many(self, a: Any, distances: Iterable[int], /) -> Any:
        """Values moved by each distance."""


class RingArray(DeviceCiphertexts[S, H], Generic[S, H]):
    """Ciphertexts on a device whose operators are a server's methods."""

    __slots__ = ()

    def relinearise(self: R) -> R:
        """`Server.relinearise`."""
        return cast(R, self._server.relinearise(self))

    def rotate(self: R, distance: int) -> R:
        """`Server.rotate`."""
        return cast(R, self._server.rotate(self, distance))

    def rotate_many(self: R, distances: Iterable[int]) -> list[R]:
        """`Server.rotate_many`."""
        return cast(list[R], self._server.rotate_many(self, distances))

    def dot(self: R, other: Any) -> R:
        """`Server.dot`."""
        return cast(R, self._server.dot(self, other))

    def __add__(self: R, other: Any) -> R:
        return cast(R, self._server.add(self, other))

    __radd__ = __add__

    def __sub__(self: R, other: Any) -> R:
        return cast(R, self._server.sub(self, other))

    def __rsub__(self: R, other: Any) -> R:
        return cast(R, self._server.add(self._server.negate(self), other))

    def __mul__(self: R, other: Any) -> R:
        return cast(R, self._server.multiply(self, other))

    __rmul__ = __mul__

    def __neg__(self: R) -> R:
        return cast(R, self._server.negate(self))

    def __pos__(self: R) -> R:
        return self

    def __pow__(self: R, exponent: int) -> R:
        return cast(R, self._server.power(self, exponent))


def of_server(method: Callable[Concatenate[Any, Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The method of arrays that calls this one of their server, with the array as first operand."""
    name, signature = method.__name__, inspect.signature(method)

    def call(self: Any, /, *given: P.args, **options: P.kwargs) -> T:
        return cast(T, getattr(self._server, name)(self, *given, **options))

    array, _, *others = signature.parameters.values()
    call.__name__, call.__doc__ = name, f"`Server.{name}`."
    call.__signature__ = signature.replace(parameters=[array, *others])  # type: ignore[attr-defined]
    return call


def as_rows(array: Numbers, field: str) -> tuple[Numbers, Shape, int]:
    """Vectors of k values, flattened; the shape of the array of vectors; and k.

    The last axis has the values of a vector. `ShapeError` for a single number, and if there are no
    values.
    """
    if array.ndim == 0:
        raise ShapeError(f"{field}: a single number is given, but a vector of values is needed")
    if array.size == 0:
        raise ShapeError(f"{field}: shape {array.shape} holds no values")
    return np.ascontiguousarray(array).reshape(-1), array.shape[:-1], array.shape[-1]
