"""What a server's device holds beside ciphertexts: plaintexts and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .._core.array import DeviceArray
from .._core.part import OnDevice, Part
from .._server import bgv as _lib
from ._parameters import Parameters

if TYPE_CHECKING:
    from ._server import EncryptedArray, Server


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
