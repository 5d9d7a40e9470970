"""Arrays of ciphertexts and plaintexts on a server's device, with NumPy's operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, Union, overload

import numpy as np
from numpy.typing import ArrayLike

from .._core import BgvArray, BgvPlaintexts
from ..errors import ShapeError
from . import _ciphertexts
from ._ciphertexts import Ciphertexts, Positions, as_integers
from ._parameters import Parameters
from ._values import Shape

if TYPE_CHECKING:
    from ._server import Server

Operand: TypeAlias = Union["EncryptedArray", "Plaintexts", Ciphertexts, ArrayLike]
Self = TypeVar("Self", bound="_OnDevice")


class _OnDevice:
    """NumPy's shapes and indexing, over what lies on the device of a server."""

    __slots__ = ("_core", "_server", "_shape")

    # NumPy is to leave operators, and conversions to arrays, to these classes.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    _core: Any
    _server: Server
    _shape: Shape

    @classmethod
    def _wrap(cls: type[Self], core: Any, server: Server, shape: Shape) -> Self:
        self = cls.__new__(cls)
        self._core = core
        self._server = server
        self._shape = shape
        return self

    def _take(self: Self, positions: Positions) -> Self:
        """Those at `positions` of the flat array; the whole in order is not copied."""
        flat = positions.reshape(-1)
        if flat.size == 0:
            raise ShapeError("nothing is left: arrays on a device are not empty")
        core = self._core
        if flat.size != self.size or not np.array_equal(flat, np.arange(self.size)):
            core = self._server._core.take(core, np.ascontiguousarray(flat, dtype=np.uint32))
        return self._wrap(core, self._server, positions.shape)

    def _positions(self) -> Positions:
        return np.arange(self.size).reshape(self._shape)

    @property
    def shape(self) -> Shape:
        """Lengths of the axes; () for a single one."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of ciphertexts or plaintexts."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        nbytes: int = self._core.nbytes
        return nbytes

    @property
    def packing(self) -> str:
        """`slots` or `coefficients`."""
        packing: str = self._core.packing
        return packing

    @property
    def parameters(self) -> Parameters:
        """Parameters of the server."""
        return self._server.parameters

    @property
    def server(self) -> Server:
        """Server whose device they are on."""
        return self._server

    @property
    def device(self) -> str:
        """Where they lie: `cpu (AVX3, 8 threads)`, `cuda:0 (NVIDIA H200)`."""
        return self._server.device

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError(f"len() of a 0-d {type(self).__name__}")
        return self._shape[0]

    def __iter__(self: Self) -> Iterator[Self]:
        if not self._shape:
            raise TypeError(f"iteration over a 0-d {type(self).__name__}")
        return (self[i] for i in range(len(self)))

    def __getitem__(self: Self, key: Any) -> Self:
        """NumPy's indexing: integers, slices, ..., None, masks and arrays of integers.

        Copies what it takes, on the device. Raises `IndexError` as NumPy does, `ShapeError` if
        nothing is left.
        """
        return self._take(np.asarray(self._positions()[key]))

    def reshape(self: Self, *shape: int | Sequence[int]) -> Self:
        """The same in C order in another shape, one length of which may be -1; free.

        Raises `ValueError` if the sizes differ.
        """
        return self._take(self._positions().reshape(as_integers(shape)))

    def ravel(self: Self) -> Self:
        """All in C order, shape (size,); free."""
        return self.reshape(self.size)

    def broadcast_to(self: Self, shape: Shape) -> Self:
        """Repeated along new axes and axes of length 1, as NumPy does. Raises `ValueError`.

        Operators broadcast by themselves, and copy nothing where one meets all.
        """
        return self._take(np.broadcast_to(self._positions(), shape))

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is no array of numbers")

    def __reduce__(self) -> NoReturn:
        raise TypeError("what is on a device does not travel; send Ciphertexts, or values")


class Plaintexts(_OnDevice):
    """An immutable array of plaintexts on the device of a `Server`, encoded and uploaded once.

    `Server.encode` makes them; `+`, `-`, `*` of encrypted arrays take them, of every level, and
    give the bits that the values would. Shape and indexing are NumPy's.

    >>> from whorl.bgv import Client, Server, parameters
    >>> client = Client(parameters(depth=1))
    >>> server = Server(client.evaluation_keys(2), device="cpu")
    >>> table = server.encode([[1, 2, 3], [4, 5, 6]])
    >>> a = server.upload(client.encrypt([10, 20, 30]))
    >>> client.decrypt(a * table)[:, :3].tolist(), client.decrypt(a - table[1])[:3]
    ([[10, 40, 90], [40, 100, 180]], array([ 6, 15, 24]))
    """

    __slots__ = ()

    _core: BgvPlaintexts

    def __init__(self) -> None:
        raise TypeError("plaintexts on a device are made by Server.encode")

    def __repr__(self) -> str:
        return (
            f"<Plaintexts of shape {self.shape}, {self.packing} of N={self.parameters.N} modulo "
            f"{self.parameters.t}, on {self.device}>"
        )


class EncryptedArray(_OnDevice):
    """An immutable array of ciphertexts on the device of a `Server`, each of N integers modulo t.

    `Server.upload` and operations make them; nothing leaves the device before `to_host`. With
    another array, with `Ciphertexts` (which are uploaded), with integers, integer arrays and
    `Plaintexts` they have `+`, `-`, `*`; `-a`; and `a ** k`. One integer goes to all slots (packed
    as coefficients: to the constant one); an array of shape (..., k) is one row of k ≤ N values,
    padded with zeros, for all ciphertexts, or one each. Shapes are broadcast as NumPy's, over the
    ciphertexts: the N values inside one are no axis.

    Indexing, iteration, `reshape`, `broadcast_to`, `bgv.concatenate` and `bgv.stack` are NumPy's,
    on the device. `==` raises.

    >>> from whorl.bgv import Client, Server, parameters
    >>> client = Client(parameters(depth=2))
    >>> server = Server(client.evaluation_keys(rotations=[1]), device="cpu")
    >>> a = server.upload(client.encrypt([1, 2, 3]))
    >>> client.decrypt((a * a - [0, 1, 2]).rotate(1), signed=True)[:4]
    array([3, 7, 0, 0])
    """

    __slots__ = ()

    _core: BgvArray

    def __init__(self) -> None:
        raise TypeError("encrypted arrays are made by Server.upload and by operations")

    # ---- what it is

    @property
    def key_id(self) -> str:
        """Label of the secret key, 32 hexadecimal digits."""
        return self._server.key_id

    @property
    def parts(self) -> int:
        """Polynomials of each: 2, or more of a product that is not relinearised."""
        return self._core.parts

    @property
    def limbs(self) -> int:
        """Primes of the chain that are left."""
        return self._core.limbs

    @property
    def level(self) -> int:
        """Primes of the chain that are gone; 0 for fresh ones (OpenFHE: GetLevel)."""
        return self.parameters.limbs - self.limbs

    @property
    def factor(self) -> int:
        """Plaintexts are messages times this, modulo t; operations keep the account."""
        return self._core.factor

    @property
    def noise_budget(self) -> float:
        """Bits left by the bound of the noise, which is public: log2(Q/2) - noise.

        Decryption is right while it is positive. `Client.noise_budget` measures it.
        """
        return self._core.noise_budget

    def __repr__(self) -> str:
        return (
            f"<EncryptedArray of shape {self.shape}, {self.packing} of N={self.parameters.N} "
            f"modulo {self.parameters.t}, level {self.level} ({self.limbs} of "
            f"{self.parameters.limbs} limbs), {self.parts} parts, {self.noise_budget:.0f} bits of "
            f"budget, on {self.device}>"
        )

    def to_host(self) -> Ciphertexts:
        """Waits, and copies to the host's memory. `shrink` first makes that less."""
        return self._server.download(self)

    # ---- operations, as the server's

    def square(self, relinearise: bool = True) -> EncryptedArray:
        """`Server.square`."""
        return self._server.square(self, relinearise)

    def multiply(self, other: Operand, relinearise: bool = True) -> EncryptedArray:
        """`Server.multiply`."""
        return self._server.multiply(self, other, relinearise)

    def relinearise(self) -> EncryptedArray:
        """`Server.relinearise`."""
        return self._server.relinearise(self)

    def rotate(self, columns: int) -> EncryptedArray:
        """`Server.rotate`."""
        return self._server.rotate(self, columns)

    def rotate_many(self, columns: Iterable[int]) -> list[EncryptedArray]:
        """`Server.rotate_many`."""
        return self._server.rotate_many(self, columns)

    def swap_rows(self) -> EncryptedArray:
        """`Server.swap_rows`."""
        return self._server.swap_rows(self)

    def inner_sum(self, columns: int | None = None) -> EncryptedArray:
        """`Server.inner_sum`."""
        return self._server.inner_sum(self, columns)

    def mod_switch(self, limbs: int | None = None) -> EncryptedArray:
        """`Server.mod_switch`."""
        return self._server.mod_switch(self, limbs)

    def shrink(self, spare_bits: float = 8) -> EncryptedArray:
        """`Server.shrink`."""
        return self._server.shrink(self, spare_bits)

    def __add__(self, other: Operand) -> EncryptedArray:
        return self._server.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> EncryptedArray:
        return self._server.sub(self, other)

    def __rsub__(self, other: Operand) -> EncryptedArray:
        return self._server.add(self._server.negate(self), other)

    def __mul__(self, other: Operand) -> EncryptedArray:
        return self._server.multiply(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> EncryptedArray:
        return self._server.negate(self)

    def __pos__(self) -> EncryptedArray:
        return self

    def __pow__(self, exponent: int) -> EncryptedArray:
        return self._server.power(self, exponent)

    # ---- what they cannot do

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("ciphertexts cannot be compared; decrypt them")

    def __bool__(self) -> NoReturn:
        raise TypeError("a ciphertext has no truth value; decrypt it")


@overload
def concatenate(arrays: Sequence[Ciphertexts], axis: int = 0) -> Ciphertexts: ...
@overload
def concatenate(arrays: Sequence[EncryptedArray], axis: int = 0) -> EncryptedArray: ...
@overload
def concatenate(
    arrays: Sequence[EncryptedArray | Ciphertexts], axis: int = 0
) -> EncryptedArray | Ciphertexts: ...
def concatenate(
    arrays: Sequence[EncryptedArray | Ciphertexts], axis: int = 0
) -> EncryptedArray | Ciphertexts:
    """Joins arrays along an existing axis, as `numpy.concatenate`.

    `Ciphertexts` give `Ciphertexts`, of one level, factor and number of parts, or `ShapeError`. If
    some are on a device, the others are uploaded and so is the result; it has the level of the
    lowest and the noise of the noisiest. Raises `ValueError` for shapes that do not fit, a child of
    `MismatchError` for other parameters or keys, `DeviceError` for arrays of several servers,
    `EncodingError` (on the host `ShapeError`) for another packing, `ShapeError` for another number
    of parts.
    """
    return _join(arrays, lambda positions: np.concatenate(positions, axis=axis))


@overload
def stack(arrays: Sequence[Ciphertexts], axis: int = 0) -> Ciphertexts: ...
@overload
def stack(arrays: Sequence[EncryptedArray], axis: int = 0) -> EncryptedArray: ...
@overload
def stack(
    arrays: Sequence[EncryptedArray | Ciphertexts], axis: int = 0
) -> EncryptedArray | Ciphertexts: ...
def stack(
    arrays: Sequence[EncryptedArray | Ciphertexts], axis: int = 0
) -> EncryptedArray | Ciphertexts:
    """Joins arrays of equal shape along a new axis, as `numpy.stack`. Errors as `concatenate`."""
    return _join(arrays, lambda positions: np.stack(positions, axis=axis))


def _join(
    arrays: Sequence[EncryptedArray | Ciphertexts], join: Callable[[list[Positions]], Positions]
) -> EncryptedArray | Ciphertexts:
    arrays = list(arrays)
    server = next((a.server for a in arrays if isinstance(a, EncryptedArray)), None)
    if server is None:
        return _ciphertexts.join(arrays, join)  # type: ignore[arg-type]
    lifted = [server.upload(array) for array in arrays]
    positions = _ciphertexts.joined_positions(lifted, join)
    return server._concatenate(lifted)._take(positions)
