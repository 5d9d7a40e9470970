"""Arrays of ciphertexts with NumPy's shapes and indexing."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import _core
from ..errors import EncodingError, KeyMismatchError, MismatchError, ParameterMismatchError
from ._keys import MAX_BYTES
from ._messages import Words
from ._parameters import Parameters

if TYPE_CHECKING:
    from ._server import Server

Shape = tuple[int, ...]


class Ciphertexts:
    """An immutable array of LWE ciphertexts (a, b) under one key, of any shape.

    `Client.encrypt` and the methods of `Server` make them. Shape, indexing, iteration, `reshape`,
    `transpose`, `concatenate` and `stack` are NumPy's; 0-d and empty arrays are arrays like any
    other. Results of a server, and what `Server.bind` gives, have the operators `&`, `|`, `^`, `~`,
    which broadcast and run on that server. `==` raises: whether two ciphertexts hold the same
    message can only be computed under encryption (XNOR) or after decryption.

    >>> from whorl.binfhe import Client, parameters
    >>> x = Client(parameters("W128_P64")).encrypt([[0, 1, 1], [1, 0, 1]])
    >>> x.shape, x[:, 1].shape, x[x.shape[0] - 1, ::2].shape, x.T.shape, len(x)
    ((2, 3), (2,), (2,), (3, 2), 2)
    """

    __slots__ = ("_batch", "_data", "_key_id", "_p", "_padding", "_parameters", "_seed", "_server")

    # NumPy is to leave operators, and conversions to arrays, to this class.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    _batch: _core.Batch | None
    _data: Words
    _key_id: bytes
    _p: int
    _padding: bool
    _parameters: Parameters
    _seed: bytes | None
    _server: Server | None

    def __init__(self) -> None:
        raise TypeError(
            "ciphertexts are made by Client.encrypt, by a Server, or by Ciphertexts.load"
        )

    # ---- to and from C++

    @classmethod
    def _from_batch(
        cls,
        batch: _core.Batch,
        shape: Shape | None = None,
        parameters: Parameters | None = None,
        server: Server | None = None,
    ) -> Ciphertexts:
        """Wraps a batch of the C++ library, without copying."""
        self = cls.__new__(cls)
        data = batch.data
        self._batch = batch
        self._data = data if shape is None else data.reshape(*shape, data.shape[-1])
        self._key_id = batch.key_id
        self._p = batch.p
        self._padding = batch.padding
        self._parameters = parameters or Parameters(batch.parameters)
        self._seed = batch.seed
        self._server = server
        return self

    def _with(
        self, data: Words, *, same: bool = False, server: Server | None = None
    ) -> Ciphertexts:
        """The same but for `data`; `same` if they are all ciphertexts in the same order."""
        other = Ciphertexts.__new__(Ciphertexts)
        data.flags.writeable = False
        other._data = data
        other._batch = self._batch if same else None
        other._seed = self._seed if same else None
        other._key_id = self._key_id
        other._p = self._p
        other._padding = self._padding
        other._parameters = self._parameters
        other._server = server or self._server
        return other

    def _as_batch(self) -> _core.Batch:
        """The batch of the C++ library; kept, since the array does not change."""
        if self._batch is None:
            rows = np.ascontiguousarray(self._data).reshape(self.size, self._data.shape[-1])
            self._batch = _core.Batch.create(
                self._parameters._core, self._key_id, self._p, self._padding, rows, self._seed
            )
        return self._batch

    # ---- what it is

    @property
    def shape(self) -> Shape:
        """Lengths of the axes; () for a single ciphertext."""
        shape: Shape = self._data.shape
        return shape[:-1]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._data.ndim - 1

    @property
    def size(self) -> int:
        """Number of ciphertexts."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in memory. A file of fresh ciphertexts is smaller: it has a seed for the a's."""
        return int(self._data.nbytes)

    @property
    def p(self) -> int:
        """Messages are 0 … p-1."""
        return self._p

    @property
    def padding(self) -> bool:
        """Whether a padding bit lies above the message."""
        return self._padding

    @property
    def parameters(self) -> Parameters:
        """Parameters that they were made under."""
        return self._parameters

    @property
    def key_id(self) -> str:
        """Label of the secret key, 32 hexadecimal digits."""
        return self._key_id.hex()

    @property
    def data(self) -> Words:
        """Words a_1 … a_n, b in Z_q: uint32 of shape `shape` + (n + 1,), read-only."""
        return self._data

    @property
    def server(self) -> Server | None:
        """Server that the operators run on, if bound."""
        return self._server

    def __repr__(self) -> str:
        pad = ", padded" if self.padding else ""
        bound = f", bound to {self._server.device}" if self._server is not None else ""
        return (
            f"<Ciphertexts of shape {self.shape}, p={self.p}{pad}, "
            f"{self._parameters.name or 'unnamed'}, key {self.key_id[:8]}…{bound}>"
        )

    # ---- as an array

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-d array of ciphertexts")
        return self.shape[0]

    def __iter__(self) -> Iterator[Ciphertexts]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array of ciphertexts")
        return (self._with(row) for row in self._data)

    def __getitem__(self, key: Any) -> Ciphertexts:
        """NumPy's indexing: integers, slices, ..., None, masks and arrays of integers.

        Raises `IndexError` as NumPy does.
        """
        if _is_basic(key, self.ndim):
            return self._with(self._data[key])
        positions = np.asarray(np.arange(self.size).reshape(self.shape)[key])
        rows = np.ascontiguousarray(self._data).reshape(self.size, self._data.shape[-1])
        return self._with(rows[positions])

    def reshape(self, *shape: int | Sequence[int]) -> Ciphertexts:
        """The same ciphertexts in C order in another shape, one length of which may be -1.

        Raises `ValueError` if the sizes differ.
        """
        wanted = _integers(shape)
        # By way of positions, since NumPy cannot infer -1 beside an axis of length n + 1 when
        # empty.
        positions = np.empty(self.shape, dtype=np.bool_).reshape(wanted)
        return self._with(self._data.reshape(*positions.shape, self._data.shape[-1]), same=True)

    def ravel(self) -> Ciphertexts:
        """All ciphertexts in C order, shape (size,)."""
        return self.reshape(self.size)

    def copy(self) -> Ciphertexts:
        """The same ciphertexts in memory of their own."""
        return self._with(self._data.copy(), same=True)

    def transpose(self, *axes: int | Sequence[int]) -> Ciphertexts:
        """Axes in reverse, or in the order given. Raises `ValueError` if that is no permutation."""
        order = _integers(axes) if axes else list(range(self.ndim))[::-1]
        order = [axis + self.ndim if axis < 0 else axis for axis in order]
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"axes: {axes} is no permutation of {self.ndim} axes")
        return self._with(self._data.transpose(*order, self.ndim))

    @property
    def T(self) -> Ciphertexts:
        """Axes in reverse."""
        return self.transpose()

    def broadcast_to(self, shape: Shape) -> Ciphertexts:
        """Repeated along new axes and axes of length 1, as NumPy does. Raises `ValueError`."""
        if shape == self.shape:
            return self
        # NumPy aligns from the right, where the words are.
        return self._with(np.broadcast_to(self._data, (*shape, self._data.shape[-1])))

    # ---- files and messages

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads; ciphertexts in C order, without the shape.

        Fresh ones, as a whole, are written as a seed and one word each.
        """
        self._as_batch().save(os.fspath(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        allow_insecure: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> Ciphertexts:
        """Reads and checks a file; shape (count,).

        Children of `FormatError` for a file of another type, damaged, or of more than `max_bytes`;
        `ParameterError` for a set under 128 bits unless `allow_insecure`; `IoError`.
        """
        return cls._from_batch(_core.Batch.load(os.fspath(path), allow_insecure, max_bytes))

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        return self._as_batch().to_bytes()

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, allow_insecure: bool = False, max_bytes: int = MAX_BYTES
    ) -> Ciphertexts:
        """Inverse of `to_bytes`; shape (count,); the errors of `load`."""
        return cls._from_batch(_core.Batch.from_bytes(data, allow_insecure, max_bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.to_bytes(), self.shape)  # not bound: a server does not travel

    # ---- operators

    def __and__(self, other: Ciphertexts) -> Ciphertexts:
        """AND on the server that either is bound to."""
        return _operate(self, other, "&", lambda server: server.and_)

    def __or__(self, other: Ciphertexts) -> Ciphertexts:
        """OR on the server that either is bound to."""
        return _operate(self, other, "|", lambda server: server.or_)

    def __xor__(self, other: Ciphertexts) -> Ciphertexts:
        """XOR on the server that either is bound to."""
        return _operate(self, other, "^", lambda server: server.xor)

    def __invert__(self) -> Ciphertexts:
        """NOT on the server that it is bound to; free."""
        if self._server is None:
            raise _unbound("~")
        return self._server.not_(self)

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("ciphertexts cannot be compared; decrypt them, or compute XNOR on a server")

    def __bool__(self) -> NoReturn:
        raise TypeError("a ciphertext has no truth value; decrypt it")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("ciphertexts are no array of numbers; their words are in .data")


def _integers(given: tuple[int | Sequence[int], ...]) -> list[int]:
    """Integers given one by one or as one sequence, as NumPy's methods take them."""
    items: Any = given[0] if len(given) == 1 and isinstance(given[0], Sequence) else given
    return [operator.index(item) for item in items]


def _is_basic(key: Any, ndim: int) -> bool:
    """Whether NumPy may apply `key` to the words as they lie: no more axes than there are."""
    parts = key if isinstance(key, tuple) else (key,)
    plain = all(
        part is None
        or isinstance(part, slice)
        or (isinstance(part, (int, np.integer)) and not isinstance(part, bool))
        for part in parts
    )
    return plain and sum(part is not None for part in parts) <= ndim


def _unpickle(data: bytes, shape: Shape) -> Ciphertexts:
    return Ciphertexts.from_bytes(data, allow_insecure=True).reshape(shape)


def _unbound(symbol: str) -> TypeError:
    return TypeError(
        f"{symbol} on ciphertexts that are bound to no server: write server.bind(a) {symbol} b, "
        "or call the server's method"
    )


Binary = Callable[[Ciphertexts, Ciphertexts], Ciphertexts]


def _operate(
    a: Ciphertexts, b: object, symbol: str, gate: Callable[[Server], Binary]
) -> Ciphertexts:
    if not isinstance(b, Ciphertexts):
        raise TypeError(f"{symbol}: ciphertexts are needed, not {type(b).__name__}")
    server = a._server or b._server
    if server is None:
        raise _unbound(symbol)
    if b._server is not None and b._server is not server:
        raise MismatchError(f"{symbol}: the two sides are bound to different servers")
    return gate(server)(a, b)


def check_alike(arrays: Sequence[Ciphertexts]) -> None:
    """Raises a child of `MismatchError`, or `EncodingError`, unless they belong together."""
    for array in arrays:
        if not isinstance(array, Ciphertexts):
            raise TypeError(f"ciphertexts are needed, not {type(array).__name__}")
    first = arrays[0]
    for array in arrays[1:]:
        if array.parameters != first.parameters:
            raise ParameterMismatchError(
                f"parameters: {array.parameters.digest} beside {first.parameters.digest}"
            )
        if array._key_id != first._key_id:
            raise KeyMismatchError(f"key_id: {array.key_id} beside {first.key_id}")
        if (array.p, array.padding) != (first.p, first.padding):
            raise EncodingError(
                f"p, padding: {array.p}, {array.padding} beside {first.p}, {first.padding}"
            )


def _join(arrays: Sequence[Ciphertexts], join: Callable[[list[Words]], Words]) -> Ciphertexts:
    arrays = list(arrays)
    if not arrays:
        raise ValueError("at least one array is needed")
    check_alike(arrays)
    servers = {id(array._server): array._server for array in arrays}
    server = arrays[0]._server if len(servers) == 1 else None
    result = arrays[0]._with(join([array._data for array in arrays]))
    result._server = server
    return result


def concatenate(arrays: Sequence[Ciphertexts], axis: int = 0) -> Ciphertexts:
    """Joins arrays along an existing axis, as `numpy.concatenate`.

    Raises `ValueError` for shapes that do not fit or an axis out of range, a child of
    `MismatchError` for other parameters or keys, `EncodingError` for another p or padding.
    The result is bound if all are bound to the same server.
    """
    # The words' axis comes last: count from the front.
    return _join(arrays, lambda data: np.concatenate(data, axis=_axis(axis, data[0].ndim - 1)))


def stack(arrays: Sequence[Ciphertexts], axis: int = 0) -> Ciphertexts:
    """Joins arrays of equal shape along a new axis, as `numpy.stack`. Errors as `concatenate`."""
    return _join(arrays, lambda data: np.stack(data, axis=_axis(axis, data[0].ndim)))


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis: {axis} is out of bounds for {ndim} axes")
    return axis % ndim
