"""Arrays of encrypted integers: NumPy's shapes and operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar, Union, cast

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import ALL_THERE_IS, Array, DeviceArray, Shape
from .._core.integers import as_index
from ..errors import EncodingError, ShapeError
from ._types import Kind, as_kind, as_values

I = TypeVar("I", bound="IntegerArray")  # noqa: E741
Operand: TypeAlias = Union["IntegerArray", ArrayLike]
"""Encrypted integers, or integers that everybody knows."""
Amount: TypeAlias = Union["UintArray", int]


class IntegerArray(DeviceArray[Any]):
    """Encrypted integers of one type, on the devices of a server; `UintArray` and `IntArray` are
    its classes.

    Operators are NumPy's. The other operand is an array of the same type, or an integer or an array
    of integers that everybody knows and that the type has (`EncodingError` else); shapes broadcast.
    Results wrap: they are modulo 2^bits, as NumPy's and Rust's. Comparisons give arrays of one bit.

    `a // b` rounds down, and `a % b` has the sign of b. If b is 0 all bits of the quotient are 1,
    and the remainder is a. `a << k` and `a >> k` take known or encrypted amounts, which are
    unsigned: bits that are moved out are lost, however many they are, and `>>` of signed integers
    copies the sign. Carries are made when they are due, so that a sum may take no rotation and its
    next use take them.
    """

    __slots__ = ()

    _core: Any
    _server: Any
    _made_by, _sent_as = "a Server: upload, known, operations", "integers.Ciphertexts"

    # ---- what it is

    @property
    def bits(self) -> int:
        """How many bits each integer has."""
        return int(self._core.bits)

    @property
    def signed(self) -> bool:
        """Whether integers are signed."""
        return bool(self._core.signed)

    @property
    def kind(self) -> Kind:
        """Bits and sign."""
        return Kind(self.bits, self.signed)

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """Bytes on the device, with those of the form without carries once an operation made it."""
        return int(self._server._on.nbytes(self._core))

    @property
    def device(self) -> str:  # type: ignore[override]
        """Where it lies."""
        return str(self._server.device)

    def _facts(self) -> list[tuple[str, str]]:
        return [("integers", str(self.kind)), ("shape", str(self.shape)), *self._place()]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape}, {self.bits} bits, on {self.device}>"

    def _kind(self) -> str:
        return f"{type(self).__name__} of {self.bits} bits"

    def _in_place_of(self, kind: str, function: str = "f") -> str:
        return _INSTEAD.get(kind, ALL_THERE_IS).format(function=function)

    # ---- as an array

    def _made(self, number: Any, shape: Shape) -> Any:
        return self._server._array(number, shape)

    def _like(self: I, core: Any, shape: Shape) -> I:
        made: I = self._server._array(core, shape)
        return made

    def _gather(self, flat: np.ndarray[Any, np.dtype[np.uint32]]) -> Any:
        return self._server._on.take(self._core, flat.astype(np.int64))

    def _joined(self: I, arrays: Sequence[I]) -> I:
        for array in arrays:
            _same_kind(self, array)
        core = self._server._on.join([array._core for array in arrays])
        return self._like(core, (sum(array.size for array in arrays),))

    def to_host(self) -> Any:
        """`Server.download`."""
        return self._server.download(self)

    # ---- sums and products

    def __add__(self: I, other: Operand) -> I:
        return self._with(other, "add")

    __radd__ = __add__

    def __sub__(self: I, other: Operand) -> I:
        return self._with(other, "subtract")

    def __rsub__(self: I, other: Operand) -> I:
        return -self + other

    def __neg__(self: I) -> I:
        return self._like(self._server._on.negate(self._core), self.shape)

    def __pos__(self: I) -> I:
        return self

    def __mul__(self: I, other: Operand) -> I:
        """The product; by a known integer it takes a third of the rotations or less."""
        if not isinstance(other, Array) and np.ndim(other) == 0:
            factor = int(as_values(other, self.kind, "factor")[()])
            return self._like(self._server._on.multiply_known(self._core, factor), self.shape)
        return self._with(other, "multiply")

    __rmul__ = __mul__

    def __divmod__(self: I, other: Operand) -> tuple[I, I]:
        found: tuple[I, I] = self._server._divide(self, other)
        return found

    def __rdivmod__(self: I, other: Operand) -> tuple[I, I]:
        return divmod(self._known_like(other), self)

    def __floordiv__(self: I, other: Operand) -> I:
        quotient: I = self._server._divide(self, other, rest=False)[0]
        return quotient

    def __rfloordiv__(self: I, other: Operand) -> I:
        return divmod(self._known_like(other), self)[0]

    def __mod__(self: I, other: Operand) -> I:
        return divmod(self, other)[1]

    def __rmod__(self: I, other: Operand) -> I:
        return divmod(self._known_like(other), self)[1]

    def __abs__(self: I) -> I:
        """The least signed integer has no absolute value of its type and stays."""
        return self if not self.signed else self._server.where(self < 0, -self, self)

    def sum(self: I, axis: int | None = None) -> I:
        """The sum along an axis, or of all; it wraps as `+` does. `astype` before makes room.

        `ShapeError` for an axis that there is not, and where there is nothing to add.
        """
        x = self.ravel() if axis is None else self
        place = 0 if axis is None else as_index(axis, "axis")
        if not -x.ndim <= place < x.ndim or x.shape[place] == 0:
            raise ShapeError(f"sum: axis {place} of shape {x.shape} has nothing to add")
        axes = list(range(x.ndim))
        moved = x.transpose([axes.pop(place), *axes])
        number = self._server._on.sum_of([part._core for part in moved])
        return self._like(number, moved.shape[1:])

    # ---- bits

    def __and__(self: I, other: Operand) -> I:
        return self._with(other, "bitwise", "and")

    def __or__(self: I, other: Operand) -> I:
        return self._with(other, "bitwise", "or")

    def __xor__(self: I, other: Operand) -> I:
        return self._with(other, "bitwise", "xor")

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self: I) -> I:
        return self._like(self._server._on.invert(self._core), self.shape)

    def __lshift__(self: I, by: Amount) -> I:
        return self._shifted(by, True)

    def __rshift__(self: I, by: Amount) -> I:
        return self._shifted(by, False)

    def _shifted(self: I, by: Amount, up: bool) -> I:
        on = self._server._on
        amount = self._amount(by)
        if isinstance(amount, int):
            return self._like((on.left if up else on.right)(self._core, amount), self.shape)
        x, y, shape = self._server._meet(self, amount)
        return self._like(on.shift(x, y, up), shape)

    def rotl(self: I, by: Amount) -> I:
        """Bits moved up, those of the upper end to the lower one; amounts are unsigned and count
        modulo the bits."""
        amount = self._amount(by)
        if isinstance(amount, int):
            return self._like(self._server._on.rotate(self._core, amount), self.shape)
        x, y, shape = self._server._meet(self, amount)
        return self._like(self._server._on.turn(x, y), shape)

    def rotr(self: I, by: Amount) -> I:
        """Bits moved down, those of the lower end to the upper one, as `rotl`."""
        amount = self._amount(by)
        if isinstance(amount, int):
            return self.rotl(-amount % self.bits)
        if self.bits & self.bits - 1 == 0:
            return self.rotl(-amount.astype(max(1, (self.bits - 1).bit_length())))
        width = max(amount.bits, self.bits.bit_length())
        return self.rotl(self.bits - amount.astype(width) % self.bits)

    def _amount(self, by: Any) -> Any:
        if isinstance(by, IntArray):
            raise TypeError("amount: it is unsigned; write by.astype(by.bits, signed=False)")
        if isinstance(by, UintArray):
            return by
        if np.ndim(by) > 0:
            return self._server.known(by, 32)
        amount = as_index(by, "amount")
        if amount < 0:
            raise EncodingError(f"amount: {amount} is below 0")
        return amount

    def bit_slice(self, start: int, stop: int) -> UintArray:
        """Bits `start` … `stop` - 1 as unsigned integers of so many bits; the lowest bit is 0."""
        first, last = as_index(start, "start"), as_index(stop, "stop")
        if not 0 <= first < last <= self.bits:
            raise ShapeError(f"bits {first} … {last} are none of {self.bits}")
        made: UintArray = (self.astype(self.bits, False) >> first).astype(last - first, False)
        return made

    def popcount(self) -> UintArray:
        """How many bits are 1, in as few bits as hold their number."""
        width = self.bits.bit_length()
        made: UintArray = self._made(self._server._on.count_ones(self._core, width), self.shape)
        return made

    def leading_zeros(self) -> UintArray:
        """How many bits are 0 above the highest 1: all of them for 0."""
        return self._zeros(True)

    def trailing_zeros(self) -> UintArray:
        """How many bits are 0 below the lowest 1: all of them for 0."""
        return self._zeros(False)

    def _zeros(self, leading: bool) -> UintArray:
        number = self._server._on.count_zeros(self._core, self.bits.bit_length(), leading)
        made: UintArray = self._made(number, self.shape)
        return made

    def astype(self, bits: int, signed: bool = False) -> Any:
        """The same integers modulo 2^bits; wider types have the same values, but negative ones in
        unsigned types, which wrap."""
        kind = as_kind(bits, signed)
        if kind == self.kind:
            return self
        return self._made(self._server._on.cast(self._core, kind.bits, kind.signed), self.shape)

    # ---- comparisons

    def __lt__(self, other: Operand) -> UintArray:
        return self._compared(other, "lt")

    def __le__(self, other: Operand) -> UintArray:
        return self._compared(other, "le")

    def __gt__(self, other: Operand) -> UintArray:
        return self._compared(other, "gt")

    def __ge__(self, other: Operand) -> UintArray:
        return self._compared(other, "ge")

    def __eq__(self, other: object) -> UintArray:  # type: ignore[override]
        return self._compared(other, "eq")

    def __ne__(self, other: object) -> UintArray:  # type: ignore[override]
        return self._compared(other, "ne")

    __hash__ = None  # type: ignore[assignment]

    def _compared(self, other: Any, operator: str) -> UintArray:
        x, y, shape = self._server._meet(self, self._known_like(other))
        made: UintArray = self._made(self._server._on.compare(x, y, operator), shape)
        return made

    # ---- operands

    def _known_like(self: I, other: Any) -> I:
        """An array of this type: the other one, or of known integers."""
        if isinstance(other, Array):
            return _same_kind(self, self._server.upload(cast(Any, other)))
        made: I = self._server.known(as_values(other, self.kind, "other"), self.bits, self.signed)
        return made

    def _with(self: I, other: Any, operation: str, *more: str) -> I:
        x, y, shape = self._server._meet(self, self._known_like(other))
        return self._like(getattr(self._server._on, operation)(x, y, *more), shape)


class UintArray(IntegerArray):
    """Encrypted unsigned integers; those of one bit are what comparisons give."""

    __slots__ = ()


class IntArray(IntegerArray):
    """Encrypted signed integers, in two's complement."""

    __slots__ = ()


_INSTEAD = {
    "choice": "server.where(condition, a, b) is a where the condition is 1, else b",
    "number": "decrypt it first",
    "quotient": "write // and %",
    "comparison": "whorl.integers has maximum, minimum, sort, argmax and argmin",
    "axis": "it is a single integer; x.reshape(1) has an axis",
    "total": "write x.sum(axis)",
    "product": "whorl.integers.dot(x, y) is the sum of products",
}


def _same_kind(x: I, y: Any) -> I:
    if y.kind != x.kind:
        signed = ", signed=True" if x.signed else ""
        raise EncodingError(
            f"integers of {x.kind} meet integers of {y.kind}: write .astype({x.bits}{signed})"
        )
    same: I = y
    return same


def flat_index(shape: Shape, wanted: Shape) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Which element of an array each element of a broadcast one is."""
    places = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    return np.ascontiguousarray(np.broadcast_to(places, wanted)).reshape(-1)
