"""Linear maps of vectors: matrices, and maps that few diagonals make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.literal import as_integer
from .._core.numbers import Numbers, real_or_complex
from .._core.part import Made, OnDevice, Part
from .._core.session import OnDevices
from .._core.text import counted
from .._server import ckks as _lib
from ..errors import ParameterError, ShapeError
from ._values import Complexes, as_vectors

MOST_VALUES = 2**16
"""Slots of the largest ring."""


class LinearMap(Made):
    """A linear map of vectors, in clear and immutable, which a server applies to encrypted ones.

    `ckks.linear_map` makes it of a matrix, and `ckks.diagonals` of its diagonals: value j of the
    result is the sum of diagonals[k][j] · x[j + k] over all k, with indices modulo the period. It
    can be pickled, and called with a vector in clear. (OpenFHE: EvalLinearTransform; Lattigo:
    lintrans.LinearTransformation.)

    >>> from whorl import ckks
    >>> turn = ckks.linear_map([[0, 1], [-1, 0]])
    >>> turn([0.5, 0.25]), turn.rotations
    (array([ 0.25, -0.5 ]), (1,))
    """

    __slots__ = ("_core", "_rotations")

    __array_ufunc__ = None

    _core: _lib.LinearMap
    _made_by = "ckks.linear_map or ckks.diagonals"

    @classmethod
    def _wrap(cls, core: _lib.LinearMap) -> LinearMap:
        return cls._of(core, _rotations=tuple(core.rotations()))  # it checks the map

    period = Part[int](
        "_core.period", "A power of two, which all diagonals have as many values as."
    )
    length = Part[int]("_core.length", "How many values the result has.")
    columns = Part[int](
        "_core.columns",
        "How many values vectors must have; 0: any power of two that divides the period.",
    )

    few_rotations = Part[bool]("_core.few_rotations", "Whether steps are chosen for few rotations.")

    @property
    def diagonals(self) -> dict[int, Complexes]:
        """The diagonals by their index k, each of `period` complex values; copies."""
        return {k: self._core.diagonal(k) for k in self._core.indices}

    rotations = Part[tuple[int, ...]](
        "_rotations",
        """The distances whose keys the map takes, for `Client.evaluation_keys(rotations=...)`.

        There are about 2·√d of them for d diagonals (Lattigo: lintrans.GaloisElements).
        """,
    )

    def __call__(self, x: ArrayLike) -> Numbers:
        """The map of vectors in clear, of shape (..., k): float64 or complex128 of shape
        (..., length)."""
        values, shape, k = as_vectors(x, "x")
        if k != self.columns if self.columns else self.period % k:
            wanted = self.columns or f"a power of two up to {self.period}"
            raise ShapeError(f"x: the map takes vectors of {wanted} values, not of {k}")
        turn = 1 << (k - 1).bit_length()
        rows = np.pad(values.reshape(-1, k), ((0, 0), (0, turn - k)))
        rows = np.tile(rows, self.period // turn)
        out = sum(each * np.roll(rows, -k, axis=-1) for k, each in self.diagonals.items())
        assert isinstance(out, np.ndarray)
        if values.dtype.kind == "f" and not out.imag.any():
            out = out.real
        return np.ascontiguousarray(out[:, : self.length]).reshape(*shape, self.length)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (
            self.diagonals,
            self.period,
            self.length,
            self.columns,
            self.few_rotations,
        )

    def __repr__(self) -> str:
        return f"<LinearMap {_shape(self)}, {counted(len(self._core.indices), 'diagonal')}>"


class EncodedMap(OnDevice):
    """A linear map that is encoded for a level, on the device of a `Server`, for many products.

    `Server.encode` makes it; `encoded @ x` and `x.apply(encoded)` use it.

    >>> from whorl.ckks import Client, Server, linear_map, parameters
    >>> swap = linear_map([[0, 1], [1, 0]])
    >>> client = Client(parameters(depth=1))
    >>> server = Server(client.evaluation_keys(2, swap.rotations), device="cpu")
    >>> encoded = server.encode(swap)
    >>> x = server.upload(client.encrypt([0.25, 0.5]))
    >>> encoded.level, client.decrypt(encoded @ x, raw=True).round(6)
    (1, array([0.5 , 0.25]))
    """

    __slots__ = ("_core", "_map", "_server")

    __array_ufunc__ = None

    _core: _lib.EncodedMap
    _server: OnDevices
    _made_by, _sent_as = "Server.encode", "the LinearMap"

    level = Part[int](
        "_core.level", "Operands are brought to this level; the result has the one below."
    )
    period = Part[int]("_core.period", "Of operands, or a multiple of theirs.")
    length = Part[int]("_map", "How many values the result has.", lambda both: both[0])
    columns = Part[int](
        "_map", "How many values operands must have; 0: any power of two.", lambda both: both[1]
    )
    diagonals = Part[int]("_core.diagonals", "How many plaintexts there are.")
    key_switches = Part[int]("_core.key_switches", "How many rotations a product takes.")
    nbytes = Part[int]("_core.nbytes", "Bytes of the plaintexts on each device.")

    def __repr__(self) -> str:
        return (
            f"<EncodedMap {_shape(self)}, {counted(self.diagonals, 'diagonal')}, for level "
            f"{self.level}, on {self._server.device}>"
        )


def linear_map(matrix: ArrayLike) -> LinearMap:
    """The product of a matrix and vectors: `linear_map(m) @ x` is what `m @ x` is in NumPy.

    Args:
        matrix: real or complex numbers, of shape (rows, columns), at most 2^16 of each. Vectors
            must have as many values as it has columns, and the result has as many as it has rows.

    Diagonals of zeros cost nothing. `ShapeError` unless there are two axes, and for more rows or
    columns; `EncodingError` for a number that is not finite. (OpenFHE: EvalLinearTransform;
    Lattigo: lintrans.)

    >>> linear_map([[1, 2, 3], [4, 5, 6]])
    <LinearMap of 2 × 3, 4 diagonals>
    """
    values = real_or_complex(matrix, "matrix")
    if values.ndim != 2 or not all(1 <= side <= MOST_VALUES for side in values.shape):
        raise ShapeError(
            f"matrix: shape {values.shape} is not (rows, columns) with 1 … {MOST_VALUES} of each"
        )
    flat = np.ascontiguousarray(values, dtype=np.complex128).reshape(-1)
    return LinearMap._wrap(_lib.LinearMap.of_matrix(flat, *values.shape))


def diagonals(
    values: Mapping[int, ArrayLike],
    period: int,
    length: int | None = None,
    few_rotations: bool = False,
) -> LinearMap:
    """The map of which value j is the sum of values[k][j] · x[j + k] over all k, modulo `period`.

    Args:
        values: for each distance k its diagonal: `period` real or complex numbers, or one number
            that stands for all of them. No two k are equal modulo the period.
        period: a power of two, 1 … 2^16. Vectors must have a power of two of values that divides
            it.
        length: how many values the result has; default: the period. If it is at most half of the
            period, results must repeat with the least power of two that is not below it.
        few_rotations: whether steps are chosen for few `rotations`, that is for small keys, and not
            for speed alone.

    Few diagonals make a fast map, whatever its size: a convolution with five values has five.
    `ShapeError` for diagonals of another length, for a period or length that does not fit, and for
    results that do not repeat. `ParameterError` without a diagonal, for two of one place, and for a
    distance that is not an integer of 62 bits. `EncodingError` for a number that is not finite.
    (OpenFHE: EvalLinearTransform of precomputed diagonals; Lattigo: lintrans.Diagonals.)

    >>> blur = diagonals({-1: 0.25, 0: 0.5, 1: 0.25}, 8)
    >>> blur([0, 0, 0, 1, 0, 0, 0, 0])
    array([0.  , 0.  , 0.25, 0.5 , 0.25, 0.  , 0.  , 0.  ])
    """
    size = as_integer("period", period, 1, MOST_VALUES)
    results = size if length is None else as_integer("length", length, 1, MOST_VALUES)
    if not isinstance(values, Mapping):
        raise TypeError(f"diagonals: a mapping is needed, not {type(values).__name__}")
    return _again(values, size, results, 0, bool(few_rotations))


def _again(
    values: Mapping[int, ArrayLike], period: int, length: int, columns: int, few_rotations: bool
) -> LinearMap:
    """A map of its diagonals; `columns` if it was made of a matrix."""
    rows = np.empty((len(values), period), dtype=np.complex128)
    places = np.empty(len(values), dtype=np.int64)
    for i, (k, given) in enumerate(values.items()):
        places[i] = as_integer("diagonals: distance", k, -(2**62), 2**62)
        row = real_or_complex(given, f"diagonal {k}")
        if row.shape not in ((), (period,)):
            raise ShapeError(
                f"diagonal {k}: shape {row.shape} is not one axis of {period} values, the period"
            )
        rows[i] = row
    if len(values) == 0:
        raise ParameterError("diagonals: there is none")
    core = _lib.LinearMap.of_diagonals(
        places, rows.reshape(-1), period, length, columns, few_rotations
    )
    return LinearMap._wrap(core)


def _shape(of: LinearMap | EncodedMap) -> str:
    return f"of {of.length} × {of.columns or of.period}"
