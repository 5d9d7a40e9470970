"""Arrays of ciphertexts on a server's device, with NumPy's operators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from .._core import BgvArray
from ._ciphertexts import Ciphertexts, as_integers
from ._parameters import Parameters
from ._values import Shape

if TYPE_CHECKING:
    from ._server import Server

Operand: TypeAlias = Union["EncryptedArray", Ciphertexts, ArrayLike]


class EncryptedArray:
    """An immutable array of ciphertexts on the device of a `Server`, each of N integers modulo t.

    `Server.upload` and operations make them; nothing leaves the device before `to_host`. With
    another array, with `Ciphertexts` (which are uploaded), with integers and integer arrays
    (plaintexts) they have `+`, `-`, `*`; `-a`; and `a ** k`. One integer goes to all slots (packed
    as coefficients: to the constant one); an array of shape (..., k) is one row of k ≤ N values,
    padded with zeros, for all ciphertexts, or one each, broadcast over the batch. Two arrays on the
    device have the same shape: nothing is copied there to broadcast, while `Ciphertexts` are
    broadcast on their way.

    There is no indexing on the device: index on the host, before `upload` or after `to_host`.
    `==` raises.

    >>> from whorl.bgv import Client, Server, parameters
    >>> client = Client(parameters(depth=2))
    >>> server = Server(client.evaluation_keys(rotations=[1]), device="cpu")
    >>> a = server.upload(client.encrypt([1, 2, 3]))
    >>> client.decrypt((a * a - [0, 1, 2]).rotate(1), signed=True)[:4]
    array([3, 7, 0, 0])
    """

    __slots__ = ("_core", "_server", "_shape")

    # NumPy is to leave operators, and conversions to arrays, to this class.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    _core: BgvArray
    _server: Server
    _shape: Shape

    def __init__(self) -> None:
        raise TypeError("encrypted arrays are made by Server.upload and by operations")

    @classmethod
    def _wrap(cls, core: BgvArray, server: Server, shape: Shape) -> EncryptedArray:
        self = cls.__new__(cls)
        self._core = core
        self._server = server
        self._shape = shape
        return self

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
        """Bytes on the device."""
        return self._core.nbytes

    @property
    def parameters(self) -> Parameters:
        """Parameters of the server."""
        return self._server.parameters

    @property
    def key_id(self) -> str:
        """Label of the secret key, 32 hexadecimal digits."""
        return self._server.key_id

    @property
    def server(self) -> Server:
        """Server that the operators run on."""
        return self._server

    @property
    def device(self) -> str:
        """Where they lie: `cpu (AVX3, 8 threads)`, `cuda:0 (NVIDIA H200)`."""
        return self._server.device

    @property
    def packing(self) -> str:
        """`slots` or `coefficients`."""
        return self._core.packing

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

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-d array of ciphertexts")
        return self._shape[0]

    def reshape(self, *shape: int | Sequence[int]) -> EncryptedArray:
        """The same ciphertexts in C order in another shape; free.

        One length may be -1. Raises `ValueError` if the sizes differ.
        """
        reshaped = np.empty(self._shape, dtype=np.bool_).reshape(as_integers(shape)).shape
        return EncryptedArray._wrap(self._core, self._server, reshaped)

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

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("ciphertexts are no array of numbers; decrypt them")

    def __reduce__(self) -> NoReturn:
        raise TypeError("an array on a device does not travel; send to_host()")
