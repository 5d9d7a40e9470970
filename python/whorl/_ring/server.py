"""Servers that compute on encrypted vectors: what BGV's and CKKS's have in common."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from .._core.array import DeviceCiphertexts, HostArray, Shape, is_masked, no_ciphertexts
from .._core.base_server import BaseServer
from .._core.entries import refuse_unreadable
from .._core.literal import as_integer
from .._core.saved import Keys
from ..errors import MissingKeyError, ParameterError
from .arrays import RingArray
from .parameters import as_rotation

H = TypeVar("H", bound=HostArray)
D = TypeVar("D", bound="RingArray[Any, Any]")
K = TypeVar("K", bound=Keys[Any])

MAX_POWER = 2**16


class RingServer(BaseServer[K, H, D], Generic[K, H, D]):
    """A server with products, whose operands may also be numbers and arrays of numbers."""

    __slots__ = ()

    def multiply(self, a: D | H, b: Any) -> D:
        """a · b."""
        raise NotImplementedError

    def square(self, a: D | H) -> D:
        """a · a."""
        raise NotImplementedError

    def add(self, a: D | H, b: Any) -> D:
        """a + b; b: ciphertexts, one number, an array of numbers, or encoded ones (OpenFHE:
        EvalAdd)."""
        core = self._core

        def add_scalar(x: Any, value: Any) -> Any:
            return core.add_scalar(x, self._addend(value))

        return self._operate(a, b, core.add, add_scalar, core.add_plain)

    def sub(self, a: D | H, b: Any) -> D:
        """a - b; b as in `add` (OpenFHE: EvalSub)."""
        core = self._core

        def sub_scalar(x: Any, value: Any) -> Any:
            return core.add_scalar(x, self._addend(-value))

        return self._operate(a, b, core.sub, sub_scalar, core.sub_plain)

    def negate(self, a: D | H) -> D:
        """-a (OpenFHE: EvalNegate)."""
        return self._on(a, self._core.negate)

    def relinearise(self, a: D | H) -> D:
        """Brings ciphertexts back to two parts (OpenFHE: Relinearize)."""
        return self._on(a, self._core.relinearise)

    # ---- moving values

    def rotate(self, a: D | H, distance: int) -> D:
        """Rotates values to the left by `distance`, to the right if it is negative.

        BGV rotates each of the two rows of N/2 slots, also those behind the vector's values, so
        that results have N values. `ShapeError` for vectors that take several ciphertexts.

        CKKS rotates the values of each vector, round within it. `ShapeError` unless its length is a
        power of two. The key is that of `distance`, or of a number from 1 - length to length - 1
        that is the same modulo the length.

        `MissingKeyError` without the key, which `evaluation_keys(rotations=[distance])` makes.
        (OpenFHE: EvalRotate, EvalAtIndex; Lattigo: Evaluator.Rotate.)
        """
        return self._on(a, self._core.rotate, as_distance("distance", distance))

    def rotate_many(self, a: D | H, distances: Iterable[int]) -> list[D]:
        """`rotate` by each of `distances`, decomposed once (OpenFHE: EvalFastRotation; Lattigo:
        RotateHoisted)."""
        x = self.upload(a)
        wanted = np.array([as_distance("distances", each) for each in distances], dtype=np.int64)
        return [self._wrap(each, x.shape) for each in self._core.rotate_many(x._core, wanted)]

    def _exponent(self, exponent: Any) -> int:
        """An exponent 0 … 2^16; `ParameterError` for another one."""
        try:
            return as_integer("exponent", exponent, 0, MAX_POWER)
        except ParameterError as error:
            raise ParameterError(f"{error}: {self._parameters._instead['power']}") from None

    def _power(self, a: D | H, exponent: int) -> D:
        """a to a positive power, by ⌈log2 exponent⌉ products in sequence."""
        square, result = self.upload(a), None
        while True:
            if exponent & 1:
                result = square if result is None else self.multiply(result, square)
            exponent >>= 1
            if exponent == 0:
                assert result is not None
                return result
            square = self.square(square)

    def _scalar(self, value: Any) -> Any:
        """One number as an operation takes it; None for anything else."""
        raise NotImplementedError

    def _addend(self, value: Any) -> Any:
        """The same number as `add_scalar` of the C++ library takes it."""
        raise NotImplementedError

    def _plain(self, a: D, values: Any) -> tuple[D, tuple[Any, ...], Shape]:
        """Like `_meet`, with plaintexts, as the arguments of the C++ library."""
        raise NotImplementedError

    def _operate(
        self,
        a: D | H,
        b: Any,
        with_array: Callable[[Any, Any], Any],
        with_scalar: Callable[[Any, Any], Any],
        with_plain: Callable[..., Any],
    ) -> D:
        """Calls the form of the operation that fits the kind of `b`."""
        if isinstance(b, (self._device_type, self._host_type)):
            (x, y), shape = self._meet(a, b)
            return self._wrap(with_array(x._core, y._core), shape)
        if isinstance(b, (HostArray, DeviceCiphertexts)):
            raise no_ciphertexts(self._parameters, b)
        x = self.upload(a)
        if is_masked(b):
            refuse_unreadable(b, "plaintext")
        scalar = self._scalar(b)
        if scalar is not None:
            return self._wrap(with_scalar(x._core, scalar), x.shape)
        x, plain, shape = self._plain(x, b)
        return self._wrap(with_plain(x._core, *plain), shape)


def repeated_rows(values: Any, prefix: Shape, length: int, shape: Shape) -> Any:
    """Flat rows of `length` values, of shape `prefix`, broadcast to `shape`."""
    if prefix == shape:
        return values
    return np.broadcast_to(values.reshape(*prefix, length), (*shape, length)).reshape(-1)


def is_alone(prefix: Shape) -> bool:
    """Whether it is the shape of a single row."""
    return math.prod(prefix) == 1


@contextlib.contextmanager
def needing(operation: str, keys: str) -> Iterator[None]:
    """Says in a `MissingKeyError` what was to be computed, and by which arguments of
    `client.evaluation_keys` keys are made that serve."""
    try:
        yield
    except MissingKeyError as error:
        raise MissingKeyError(
            f"{operation} needs keys that the server does not have: {error}. They are made by "
            f"client.evaluation_keys({keys})"
        ) from None


def as_distance(field: str, value: Any) -> int:
    """`as_rotation`, of an argument of an operation."""
    return as_rotation(f"rotate: {field}", value)
