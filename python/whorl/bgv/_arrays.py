"""Arrays of ciphertexts and plaintexts on a server's device, with NumPy's operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import DeviceArray
from .._core.entries import entries_of
from .._core.part import OnDevice, Part
from .._ring.arrays import RingArray
from .._server import bgv as _lib
from ._ciphertexts import Accounted, Ciphertexts
from ._parameters import Parameters

if TYPE_CHECKING:
    from ._server import Server

Operand: TypeAlias = Union["EncryptedArray", "Plaintexts", Ciphertexts, ArrayLike]


class Mean(NamedTuple):
    """The result of `EncryptedArray.mean`. Decrypt `total`; the mean is total / n."""

    total: EncryptedArray
    """The sum of each vector's values, modulo t, in every slot."""
    n: int
    """Number of values."""


class Plaintexts(DeviceArray["Server"]):
    """An immutable array of plaintexts on the device of a `Server`, encoded and uploaded once.

    `Server.encode` makes them. `+`, `-` and `*` of encrypted arrays take them at every level, and
    give the same bits as with the values. Shape and indexing are NumPy's.

    >>> from whorl.bgv import Client, Server, parameters
    >>> client = Client(parameters(depth=1))
    >>> server = Server(client.evaluation_keys(2), device="cpu")
    >>> table = server.encode([[1, 2, 3], [4, 5, 6]])
    >>> a = server.upload(client.encrypt([10, 20, 30]))
    >>> client.decrypt(a * table).tolist(), client.decrypt(a - table[1])
    ([[10, 40, 90], [40, 100, 180]], array([ 6, 15, 24]))
    """

    __slots__ = ()

    _core: _lib.Plaintexts
    _server: Server

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")
    packing = Part[str]("_core.packing", "`slots` or `coefficients`.")

    @property
    def _each(self) -> int:
        return self._core.each

    def _details(self) -> list[tuple[str, str]]:
        chosen = self.parameters
        return [("t", f"{chosen.t:,}"), ("packing", f"{self.packing} of N = {chosen.N:,}")]

    def __repr__(self) -> str:
        return (
            f"<Plaintexts of shape {self.shape}, {self.packing} of N={self.parameters.N} modulo "
            f"{self.parameters.t}, on {self.device}>"
        )


class Matrix(OnDevice):
    """A matrix or diagonals, not encrypted, prepared on a `Server` for products `x @ matrix`.

    `Server.encode_matrix` and `Server.encode_diagonals` make them.

    >>> import numpy as np
    >>> from whorl import bgv
    >>> params = bgv.parameters(depth=1)
    >>> client = bgv.Client(params)
    >>> keys = client.evaluation_keys(2, **bgv.rotations_for(params, (3, 2)))
    >>> server = bgv.Server(keys, device="cpu")
    >>> m = server.encode_matrix([[1, 2], [3, 4], [5, 6]])
    >>> m.shape, client.decrypt(server.upload(client.encrypt([1, 0, 2])) @ m)
    ((3, 2), array([11, 14]))
    """

    __slots__ = ("_core", "_server", "_shape")

    __array_ufunc__ = None

    _core: list[_lib.SlotMap]
    """One for each N rows."""
    _server: Server
    _made_by, _sent_as = "Server.encode_matrix or Server.encode_diagonals", "the values"

    shape = Part[tuple[int, ...]](
        "_shape", "(rows, columns); for diagonals the shape that was given."
    )
    nbytes = Part[int](
        "_core", "Bytes on the device.", lambda maps: sum(each.nbytes for each in maps)
    )

    def __repr__(self) -> str:
        return f"<Matrix of shape {self.shape}, on {self._server.device}>"


class EncryptedArray(Accounted, RingArray["Server", Ciphertexts]):
    """An immutable array of ciphertexts on the device of a `Server`, each of N integers modulo t.

    `Server.upload` and operations make them; nothing leaves the device before `to_host`, which has
    less to copy after `shrink`. They have the operators `+`, `-`, `*`, `-a` and `a ** k`. The other
    operand is an array, `Ciphertexts` (which are uploaded), `Plaintexts`, an integer or an integer
    array. One integer goes to all values (with coefficients a sum adds it to the constant one). An
    integer array of shape (..., k) has one row of k ≤ N values, padded with zeros, for all
    ciphertexts, or one row for each. Shapes broadcast as in NumPy, over the ciphertexts: the N
    values inside a ciphertext are not an axis.

    `x @ matrix`, `x.dot(y)`, `x.sum()` and `x.mean()` work on the first `length` values of each
    vector, and ignore the slots behind them.

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

    _core: _lib.Array
    _server: Server

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")

    # ---- operations, as the server's

    def square(self, relinearise: bool = True) -> EncryptedArray:
        """`Server.square`."""
        return self._server.square(self, relinearise)

    def multiply(self, other: Operand, relinearise: bool = True) -> EncryptedArray:
        """`Server.multiply`."""
        return self._server.multiply(self, other, relinearise)

    def swap_rows(self) -> EncryptedArray:
        """`Server.swap_rows`."""
        return self._server.swap_rows(self)

    def inner_sum(self, columns: int | None = None) -> EncryptedArray:
        """`Server.inner_sum`."""
        return self._server.inner_sum(self, columns)

    # ---- over the values of each vector

    def sum(self) -> EncryptedArray:
        """`Server.sum`."""
        return self._server.sum(self)

    def mean(self) -> Mean:
        """`Server.mean`."""
        return self._server.mean(self)

    def __matmul__(self, other: Operand | Matrix) -> EncryptedArray:
        return self._server.matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> EncryptedArray:
        return self._server.matmul(self, np.transpose(entries_of(other, "matrix")))

    def mod_switch(self, limbs: int | None = None) -> EncryptedArray:
        """`Server.mod_switch`."""
        return self._server.mod_switch(self, limbs)

    def shrink(self, spare_bits: float = 8) -> EncryptedArray:
        """`Server.shrink`."""
        return self._server.shrink(self, spare_bits)
