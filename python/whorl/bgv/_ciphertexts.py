"""Arrays of ciphertexts in the host's memory: what is encrypted, sent, kept and decrypted."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import _core
from ..errors import KeyMismatchError, ParameterMismatchError, ShapeError
from ._keys import MAX_BYTES
from ._parameters import Parameters
from ._values import Shape

Residues = np.ndarray[Any, np.dtype[Any]]
Positions = np.ndarray[Any, np.dtype[np.intp]]


class Ciphertexts:
    """An immutable array of ciphertexts under one key, of any shape; each holds N integers.

    `Client.encrypt`, `PublicKey.encrypt` and `EncryptedArray.to_host` make them. Shape, indexing,
    iteration, `reshape`, `broadcast_to`, `concatenate` and `stack` are NumPy's, over the
    ciphertexts: the N values inside one are no axis. `Server.upload` brings them to a device, where
    the operators are.

    >>> from whorl.bgv import Client, parameters
    >>> x = Client(parameters(depth=1)).encrypt([[[1, 2], [3, 4], [5, 6]]])
    >>> x.shape, x[0].shape, x[0, ::2].shape, x.reshape(3).shape, len(x)
    ((1, 3), (3,), (2,), (3,), 1)
    """

    __slots__ = ("_batch", "_data", "_parameters", "_shape")

    # NumPy is to leave operators, and conversions to arrays, to this class.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    _batch: _core.BgvBatch
    _data: Residues
    _parameters: Parameters
    _shape: Shape

    def __init__(self) -> None:
        raise TypeError(
            "ciphertexts are made by Client.encrypt, by EncryptedArray.to_host, or by "
            "Ciphertexts.load"
        )

    # ---- to and from C++

    @classmethod
    def _from_batch(
        cls,
        batch: _core.BgvBatch,
        shape: Shape | None = None,
        parameters: Parameters | None = None,
    ) -> Ciphertexts:
        """Wraps a batch of the C++ library, without copying."""
        self = cls.__new__(cls)
        self._batch = batch
        self._data = batch.data
        self._parameters = parameters or Parameters(batch.parameters)
        self._shape = (self._data.shape[2],) if shape is None else shape
        return self

    def _with(self, data: Residues, shape: Shape, noise: float | None = None) -> Ciphertexts:
        """The same but for residues (parts, limbs, count, N), and so without a seed."""
        if data.shape[2] == 0:
            raise ShapeError("no ciphertexts are left: arrays of them are not empty")
        batch = _core.BgvBatch.create(
            self._parameters._core,
            self._batch.key_id,
            self._batch.packing,
            self._batch.factor,
            self._batch.noise if noise is None else noise,
            np.ascontiguousarray(data),
            None,
        )
        return Ciphertexts._from_batch(batch, shape, self._parameters)

    def _take(self, positions: Positions) -> Ciphertexts:
        """Those at `positions` of the flat array; the whole in order keeps its seed."""
        if positions.size == self.size and np.array_equal(
            positions.reshape(-1), np.arange(self.size)
        ):
            return Ciphertexts._from_batch(self._batch, positions.shape, self._parameters)
        return self._with(self._data[:, :, positions.reshape(-1)], positions.shape)

    def _positions(self) -> Positions:
        return np.arange(self.size).reshape(self._shape)

    # ---- what it is

    @property
    def shape(self) -> Shape:
        """Lengths of the axes; () for a single ciphertext."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of ciphertexts."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """Bytes in memory. A file of fresh ciphertexts is half as large: c_1 travels as a seed."""
        return int(self._data.nbytes)

    @property
    def parameters(self) -> Parameters:
        """Parameters that they were made under."""
        return self._parameters

    @property
    def key_id(self) -> str:
        """Label of the secret key, 32 hexadecimal digits."""
        return self._batch.key_id.hex()

    @property
    def packing(self) -> str:
        """`slots` or `coefficients`."""
        return self._batch.packing

    @property
    def parts(self) -> int:
        """Polynomials of each: c_0 + c_1·s + c_2·s^2 + …; more than 2 of bare products."""
        return int(self._data.shape[0])

    @property
    def limbs(self) -> int:
        """Primes of the chain that are left."""
        return int(self._data.shape[1])

    @property
    def level(self) -> int:
        """Primes of the chain that are gone; 0 for fresh ones (OpenFHE: GetLevel)."""
        return self._parameters.limbs - self.limbs

    @property
    def factor(self) -> int:
        """Plaintexts are messages times this, modulo t; decryption divides by it."""
        return self._batch.factor

    @property
    def noise_budget(self) -> float:
        """Bits left by the bound of the noise, which is public: log2(Q/2) - noise.

        Decryption is right while it is positive. `Client.noise_budget` measures it.
        """
        return self._parameters._core.log2_Q(self.limbs) - 1 - self._batch.noise

    @property
    def data(self) -> Residues:
        """Residues (parts, limbs, size, N) in evaluation form, uint32 or uint64, read-only."""
        return self._data

    def __repr__(self) -> str:
        return (
            f"<Ciphertexts of shape {self.shape}, {self.packing} of N={self._parameters.N} modulo "
            f"{self._parameters.t}, level {self.level} ({self.limbs} of {self._parameters.limbs} "
            f"limbs), {self.parts} parts, {self.noise_budget:.0f} bits of budget, "
            f"key {self.key_id[:8]}…>"
        )

    # ---- as an array

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-d array of ciphertexts")
        return self._shape[0]

    def __iter__(self) -> Iterator[Ciphertexts]:
        if not self._shape:
            raise TypeError("iteration over a 0-d array of ciphertexts")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Ciphertexts:
        """NumPy's indexing: integers, slices, ..., None, masks and arrays of integers.

        Copies what it takes. Raises `IndexError` as NumPy does, `ShapeError` if nothing is left.
        """
        return self._take(np.asarray(self._positions()[key]))

    def reshape(self, *shape: int | Sequence[int]) -> Ciphertexts:
        """The same ciphertexts in C order in another shape, one length of which may be -1.

        Raises `ValueError` if the sizes differ.
        """
        return self._take(self._positions().reshape(as_integers(shape)))

    def ravel(self) -> Ciphertexts:
        """All ciphertexts in C order, shape (size,)."""
        return self.reshape(self.size)

    def broadcast_to(self, shape: Shape) -> Ciphertexts:
        """Repeated along new axes and axes of length 1, as NumPy does. Raises `ValueError`."""
        return self._take(np.broadcast_to(self._positions(), shape))

    # ---- files and messages

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads; ciphertexts in C order, without the shape.

        Fresh ones under the secret key, as a whole, are written as a seed and one polynomial each.
        """
        self._batch.save(os.fspath(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        allow_insecure: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> Ciphertexts:
        """Reads and checks a file; shape (count,).

        Children of `FormatError` for a file of another type, damaged, or of more than `max_bytes`;
        `ParameterError` for parameters under 128 bits unless `allow_insecure`; `IoError`.
        """
        return cls._from_batch(_core.BgvBatch.load(os.fspath(path), allow_insecure, max_bytes))

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        return self._batch.to_bytes()

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, allow_insecure: bool = False, max_bytes: int = MAX_BYTES
    ) -> Ciphertexts:
        """Inverse of `to_bytes`; shape (count,); the errors of `load`."""
        return cls._from_batch(_core.BgvBatch.from_bytes(data, allow_insecure, max_bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.to_bytes(), self.shape)

    # ---- what they cannot do

    def _no_operator(self, *_: object) -> NoReturn:
        raise TypeError("operators need a server: write server.upload(a) first")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __pow__ = __neg__ = _no_operator

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("ciphertexts cannot be compared; decrypt them")

    def __bool__(self) -> NoReturn:
        raise TypeError("a ciphertext has no truth value; decrypt it")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("ciphertexts are no array of numbers; their residues are in .data")


def as_integers(given: tuple[int | Sequence[int], ...]) -> Shape:
    """Integers given one by one or as one sequence, as NumPy's methods take them."""
    items: Any = given[0] if len(given) == 1 and isinstance(given[0], Sequence) else given
    return tuple(operator.index(item) for item in items)


def _unpickle(data: bytes, shape: Shape) -> Ciphertexts:
    return Ciphertexts.from_bytes(data, allow_insecure=True).reshape(shape)


def _check_alike(arrays: Sequence[Ciphertexts]) -> None:
    """Raises a child of `MismatchError`, or `ShapeError`, unless they can be in one array."""
    for array in arrays:
        if not isinstance(array, Ciphertexts):
            raise TypeError(f"ciphertexts are needed, not {type(array).__name__}")
    first = arrays[0]
    for array in arrays[1:]:
        if array.parameters != first.parameters:
            raise ParameterMismatchError(
                f"parameters: {array.parameters.digest} beside {first.parameters.digest}"
            )
        if array.key_id != first.key_id:
            raise KeyMismatchError(f"key_id: {array.key_id} beside {first.key_id}")
        for field in ("packing", "parts", "limbs", "factor"):
            one, other = getattr(array, field), getattr(first, field)
            if one != other:
                raise ShapeError(f"{field}: {one} beside {other}")


def joined_positions(
    arrays: Sequence[Any], join: Callable[[list[Positions]], Positions]
) -> Positions:
    """Where the ciphertexts of a joined array are among those of all arrays in sequence."""
    starts = np.cumsum([0, *(array.size for array in arrays)])
    return join([array._positions() + start for array, start in zip(arrays, starts, strict=False)])


def join(
    arrays: Sequence[Ciphertexts], join: Callable[[list[Positions]], Positions]
) -> Ciphertexts:
    """One array of all, as `join` puts their positions together."""
    if not arrays:
        raise ValueError("at least one array is needed")
    _check_alike(arrays)
    positions = joined_positions(arrays, join)
    data = np.concatenate([array._data for array in arrays], axis=2)
    noise = max(array._batch.noise for array in arrays)
    return arrays[0]._with(data[:, :, positions.reshape(-1)], positions.shape, noise)
