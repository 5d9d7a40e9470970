"""Integers modulo p in lanes: operators of arrays, and the operations of a server."""

from __future__ import annotations

import operator
from typing import Any, Generic, SupportsIndex, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .. import ckks
from .._core.array import DeviceCiphertexts, Shape, concatenate
from .._core.integers import whole_numbers
from .._core.literal import as_integer
from .._core.part import Part
from .._core.text import shown
from .._server import ckks as _lib
from ..errors import EncodingError, ParameterError, ShapeError

S = TypeVar("S", bound=Any)
A = TypeVar("A", bound="ModularArray[Any]")
Known: TypeAlias = ArrayLike
"""Integers that everybody knows, one for each vector."""
MOST_MODULUS = 2**16
"""No parameters have integers of a larger p."""


def as_messages(messages: ArrayLike, p: int) -> np.ndarray[Any, np.dtype[Any]]:
    """`EncodingError` for values other than 0 … p - 1; of bits True and False are such values."""
    values = np.asarray(messages)
    name, allowed = ("bits", "neither 0 nor 1") if p == 2 else ("integers", f"outside 0 … {p - 1}")
    if np.iscomplexobj(values):
        raise EncodingError(f"{name}: complex numbers were given; they are 0 … {p - 1}")
    if values.dtype == np.bool_:
        return values
    if values.size and not ((values >= 0) & (values < p) & (values == np.floor(values))).all():
        raise EncodingError(f"{name}: a value is {allowed}")
    return values


def as_modulus(p: Any) -> int:
    """A p that there may be; the library knows which ones parameters have."""
    return as_integer("p", p, 2, MOST_MODULUS)


def _whole(what: str, number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(
            f"{what}: a LaneArray or an integer is needed, not {type(number).__name__}; "
            "Server.known makes an array of known ones"
        ) from None


def _is_number(other: Any) -> bool:
    return not isinstance(other, ckks.Ciphertexts) and not hasattr(other, "_core")


class ModularArray(DeviceCiphertexts[S, ckks.Ciphertexts], Generic[S]):
    """What a `LaneArray` of integers does: + - * with integers and arrays, % and comparisons."""

    __slots__ = ()

    p = Part[int]("_core.p", "What its integers are modulo; 2 of bits.")
    lanes = Part[int]("_core.length", "How many lanes each vector has.")

    def __add__(self: A, other: A | ckks.Ciphertexts | SupportsIndex) -> A:
        self._needs_integers("+", "a ^ b is their sum modulo 2, and lanes.add adds numbers of bits")
        if _is_number(other):
            return self._by("_multiply_add", self, 1, _whole("+", other))
        return self._by("_pair", "add", self, other)

    def __sub__(self: A, other: A | ckks.Ciphertexts | SupportsIndex) -> A:
        self._needs_integers("-", "lanes.subtract subtracts numbers of bits")
        if _is_number(other):
            return self._by("_multiply_add", self, 1, -_whole("-", other))
        return self._by("_pair", "subtract", self, other)

    def __rsub__(self: A, other: A | ckks.Ciphertexts | SupportsIndex) -> A:
        return -self + other

    def __mul__(self: A, other: A | ckks.Ciphertexts | SupportsIndex) -> A:
        self._needs_integers("*", "a & b is their product")
        if _is_number(other):
            return self._by("_multiply_add", self, _whole("*", other), 0)
        return self._by("_pair", "multiply", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self: A) -> A:
        self._needs_integers("-", "~a is 1 - a")
        return self._by("_multiply_add", self, -1, 0)

    def __mod__(self: A, p: int) -> A:
        """The same integers modulo a power of two that divides their p, 4 and more: free."""
        self._needs_integers("%", "they are modulo 2")
        return self._like(self._server._core.modulo(self._core, as_modulus(p)), self.shape)

    def __lt__(self: A, other: A | ckks.Ciphertexts | Known) -> A:
        return self._by("less", self, other)

    def __gt__(self: A, other: A | ckks.Ciphertexts | Known) -> A:
        return self._by("less", other, self)

    def __le__(self: A, other: A | ckks.Ciphertexts | Known) -> A:
        return self._by("not_", self > other)

    def __ge__(self: A, other: A | ckks.Ciphertexts | Known) -> A:
        return self._by("not_", self < other)

    def __eq__(self: A, other: object) -> A:  # type: ignore[override]
        return self._by("equal", self, other)

    def __ne__(self: A, other: object) -> A:  # type: ignore[override]
        return self._by("not_", self == other)

    __hash__ = None  # type: ignore[assignment]

    def apply(self: A, table: ArrayLike, p: int | None = None, which: ArrayLike | None = None) -> A:
        """`Server.apply`."""
        return self._by("apply", self, table, p, which)

    def bits(self: A) -> A:
        """`Server.bits`."""
        return self._by("bits", self)

    def sum(self: A, axis: int = 0) -> A:
        """The sum of integers along an axis of vectors, modulo p.

        Sums take no level, and a bootstrap only where errors would add up to too much.
        """
        self._needs_integers("sum", "Server.count_ones counts them")
        if not self.shape:
            raise ShapeError("sum: a single vector has no axis of vectors")
        axes = list(range(self.ndim))
        if not -self.ndim <= axis < self.ndim:
            raise ShapeError(f"sum: axis {axis} is none of shape {self.shape}")
        rest = self.transpose([axes.pop(axis), *axes])
        while rest.shape[0] > 1:
            half = rest.shape[0] // 2
            sums = rest[:half] + rest[half : 2 * half]
            rest = concatenate([sums, rest[2 * half :]]) if rest.shape[0] % 2 else sums
        return rest[0]

    def _by(self: A, method: str, *given: Any) -> A:
        """What a method of the server makes."""
        made: A = getattr(self._server, method)(*given)
        return made

    def _needs_integers(self, written: str, instead: str) -> None:
        if self.p == 2:
            raise TypeError(
                f"bits have no {written}: {instead}; Server.integer makes integers of bits"
            )


class ModularServer(Generic[A]):
    """The operations of a `Server` on integers modulo p, a power of two from 4 on."""

    __slots__ = ()

    _core: _lib.Lanes

    def upload(self, bits: A | ckks.Ciphertexts) -> A:
        """`Server.upload`."""
        raise NotImplementedError

    def _wrap(self, core: Any, shape: Shape) -> A:
        raise NotImplementedError

    def _meet(self, *operands: A | ckks.Ciphertexts) -> tuple[list[A], Shape]:
        raise NotImplementedError

    def integer(self, bits: A | ckks.Ciphertexts, p: int | None = None) -> A:
        """Integers modulo p of bits along the first axis, the lowest one first: free.

        Args:
            bits: up to log2 p of them.
            p: a power of two, 4 … 2^k for parameters with `bootstrap["bits"] = k`; None: 2 to the
                number of bits.

        `ParameterError` for another p or more bits, and for integers in place of bits;
        `ShapeError` for an array without a first axis.
        """
        array = self.upload(bits)
        if not array.shape:
            raise ShapeError("integer: a single vector has no axis of bits; x[None] has")
        count = array.shape[0]
        modulus = as_modulus(2 ** min(count, 16) if p is None else p)
        core = self._core.integers([array[i]._core for i in range(count)], modulus)
        return self._wrap(core, array.shape[1:])

    def bits(self, x: A | ckks.Ciphertexts) -> A:
        """The bits of integers, by one bootstrap: shape (log2 p, ...), the lowest one first."""
        array = self.upload(x)
        made = self._core.bits(array._core)
        return self._wrap(self._core.concatenate(made), (len(made), *array.shape))

    def apply(
        self,
        x: A | ckks.Ciphertexts,
        table: ArrayLike,
        p: int | None = None,
        which: ArrayLike | None = None,
    ) -> A:
        """table[x] in each lane, by one bootstrap.

        Args:
            x: integers.
            table: integers 0 … p - 1 of shape (..., x.p). Further axes are of tables, one for each
                vector, and broadcast with the shape of x: so all tables of one vector share its
                bootstrap.
            p: what the results are modulo; 2: they are bits. None: x.p.
            which: a table for each lane: shape (lanes,), or (..., lanes) with the shape of x, of
                indices into the first axis of `table`, which has shape (tables, x.p) then.

        Two vectors share a bootstrap, and four of p = 4 where bootstraps hold four bits.
        `ParameterError` for other numbers of entries, and for entries outside 0 … p - 1, or
        indices that are none; `ShapeError` for another shape of `which`.
        """
        array = self.upload(x)
        modulus = as_modulus(array.p if p is None else p)
        values = whole_numbers(table, "table")
        if (
            values.ndim == 0
            or values.shape[-1] != array.p
            or (which is not None and values.ndim != 2)
        ):
            axes = "" if which is None else ", and one axis of tables before it"
            raise ParameterError(
                f"apply: the table has shape {values.shape}, and integers modulo {array.p} want "
                f"{array.p} entries along the last axis{axes}"
            )
        flat = values.reshape(-1)
        outside = np.flatnonzero((flat < 0) | (flat >= modulus))
        if outside.size:
            raise ParameterError(
                f"apply: an entry is {shown(int(flat[outside[0]]))}, outside 0 … {modulus - 1}: "
                "take it modulo p, or state a larger p"
            )
        rows = flat.reshape(-1, array.p).astype(np.int64)
        if which is not None:
            places = self._places(array, which, len(rows))
            core = self._core.apply_rows(array._core, rows.tolist(), places, modulus)
            return self._wrap(core, array.shape)
        shape: Shape = np.broadcast_shapes(array.shape, values.shape[:-1])
        rows, own = np.unique(rows, axis=0, return_inverse=True)
        tables = np.broadcast_to(own.reshape(values.shape[:-1]), shape)
        vectors = np.broadcast_to(array._positions(), shape)
        core = self._core.apply(
            array._core,
            rows.tolist(),
            vectors.reshape(-1).tolist(),
            tables.reshape(-1).tolist(),
            modulus,
        )
        return self._wrap(core, shape)

    def apply2(
        self,
        x: A | ckks.Ciphertexts,
        y: A | ckks.Ciphertexts,
        table: ArrayLike,
        p: int | None = None,
    ) -> A:
        """table[x, y] in each lane, by one bootstrap.

        Args:
            x, y: integers, whose moduli have a product up to 2^k for parameters with
                `bootstrap["bits"] = k`.
            table: shape (x.p, y.p), or with further axes before as for `apply`.
            p: as for `apply`; None: x.p.

        Errors are those of `apply`; `ParameterError` for moduli whose product is larger.
        """
        (a, b), shape = self._meet(x, y)
        values = whole_numbers(table, "table")
        if values.shape[-2:] != (a.p, b.p):
            raise ParameterError(
                f"apply2: the table has shape {values.shape}, and integers modulo {a.p} and {b.p} "
                f"want (..., {a.p}, {b.p})"
            )
        joined = self._wrap(self._core.join(a._core, b._core), shape)
        rows = np.swapaxes(values, -1, -2).reshape(*values.shape[:-2], a.p * b.p)
        return self.apply(joined, rows, a.p if p is None else p)

    def less(self, x: A | ckks.Ciphertexts | Known, y: A | ckks.Ciphertexts | Known) -> A:
        """Whether x < y, as bits, by one bootstrap.

        One of both may be known: an integer, or one for each vector, 0 … p - 1 (`ParameterError`).
        `x < y` is written for it.
        """
        return self._compare("less", np.less, x, y)

    def equal(self, x: A | ckks.Ciphertexts | Known, y: A | ckks.Ciphertexts | Known) -> A:
        """Whether x = y; as `less`. `x == y` is written for it."""
        return self._compare("equal", np.equal, x, y)

    def minimum(self, x: A | ckks.Ciphertexts, y: A | ckks.Ciphertexts) -> A:
        """The smaller integer in each lane, by one bootstrap."""
        return self._pair("minimum", x, y)

    def maximum(self, x: A | ckks.Ciphertexts, y: A | ckks.Ciphertexts) -> A:
        """The larger integer in each lane, by one bootstrap."""
        return self._pair("maximum", x, y)

    # ---- what operators call

    def _places(self, array: A, which: ArrayLike, tables: int) -> list[int]:
        """Indices of so many tables, a row for all vectors or one for each."""
        places = whole_numbers(which, "which")
        if places.shape not in ((array.lanes,), (*array.shape, array.lanes)):
            raise ShapeError(
                f"which: shape {places.shape} is neither ({array.lanes},) nor "
                f"{(*array.shape, array.lanes)}"
            )
        flat = places.reshape(-1)
        outside = np.flatnonzero((flat < 0) | (flat >= tables))
        if outside.size:
            raise ParameterError(
                f"which: {shown(int(flat[outside[0]]))} is outside 0 … {tables - 1}, the indices "
                "of tables"
            )
        found: list[int] = flat.tolist()
        return found

    def _multiply_add(self, x: A, by: int, value: int) -> A:
        """by·x + value, for integers of any size."""
        p = x.p
        return self._wrap(self._core.multiply_add(x._core, by % p, value % p), x.shape)

    def _pair(self, name: str, x: A | ckks.Ciphertexts, y: A | ckks.Ciphertexts) -> A:
        (a, b), shape = self._meet(x, y)
        return self._wrap(getattr(self._core, name)(a._core, b._core), shape)

    def _compare(self, name: str, compare: Any, x: Any, y: Any) -> A:
        if not _is_number(x) and not _is_number(y):
            return self._pair(name, x, y)
        if _is_number(x) and _is_number(y):
            raise TypeError(f"{name}: a LaneArray is needed, and none of both is one")
        array = self.upload(y if _is_number(x) else x)
        if array.p == 2:
            raise TypeError(
                f"bits are not compared with numbers: lanes.{name} compares numbers of bits"
            )
        known = whole_numbers(x if _is_number(x) else y, name)
        outside = np.flatnonzero((known.reshape(-1) < 0) | (known.reshape(-1) >= array.p))
        if outside.size:
            raise ParameterError(
                f"{name}: {shown(int(known.reshape(-1)[outside[0]]))} is outside 0 … "
                f"{array.p - 1}, the integers that it is compared with: decide it without "
                "ciphertexts"
            )
        entries, limits = np.arange(array.p), known[..., None].astype(np.int64)
        made = compare(limits, entries) if _is_number(x) else compare(entries, limits)
        return self.apply(array, made.astype(np.int64), 2)
