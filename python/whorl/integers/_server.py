"""The server's half of encrypted integers: it computes with evaluation keys only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import binfhe, lanes
from .._core.array import Shape
from ..errors import EncodingError
from ._algorithms import divide
from ._arithmetic import Arithmetic, DigitArithmetic
from ._arrays import IntArray, IntegerArray, UintArray, flat_index
from ._ciphertexts import Ciphertexts
from ._circuit import Circuit
from ._engines import TABLE_FAILURE_LOG2, BinfheEngine, account_of
from ._lane_bits import LaneArithmetic
from ._programs import Programs
from ._types import as_kind, as_values


class Server:
    """Computes on encrypted integers, by the tables of a `binfhe.Server` or by the gates of a
    `lanes.Server`; results are the same.

    Args:
        server: of FHEW/TFHE, with a set whose tables of 32 sectors bear twice a bootstrap, as those
            of `W128_P128` do (`ParameterError` else); or of lanes. There the last axis of an array
            is that of the lanes of its vectors: it is taken as a whole (`ShapeError`), and other
            axes are indexed, added up and joined.
        table_failure_log2: log2 of the largest probability with which one table gives a wrong
            result, not of lanes. The smaller it is, the fewer terms are added before a table, and
            the more tables there are. `plan` says what a whole program has.

    All look-ups of a layer, of whole arrays, are one call of `binfhe.Server.apply`: give arrays.

    >>> from whorl import binfhe, integers
    >>> toy = binfhe.parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
    >>> lwe = binfhe.Client(binfhe.parameters(toy, allow_insecure=True))
    >>> server = integers.Server(binfhe.Server(lwe.evaluation_keys(), device="cpu"))
    >>> client = integers.Client(lwe)
    >>> x = server.upload(client.encrypt([3, 200], bits=8))
    >>> client.decrypt(x + 100), client.decrypt(x > 100)
    (array([103,  44], dtype=uint64), array([False,  True]))
    """

    __slots__ = ("_on", "_server")

    _on: Arithmetic

    def __init__(
        self,
        server: binfhe.Server | lanes.Server,
        *,
        table_failure_log2: float = TABLE_FAILURE_LOG2,
    ) -> None:
        self._server: Any = server
        if isinstance(server, lanes.Server):
            self._on = LaneArithmetic(server)
        elif isinstance(server, binfhe.Server):
            account = account_of(server.parameters, float(table_failure_log2))
            self._on = Programs(Circuit(BinfheEngine(server, account)))
        else:
            raise TypeError(
                f"server: a binfhe.Server or a lanes.Server is needed, not {type(server).__name__}"
            )

    @property
    def device(self) -> str:
        """Where arrays lie."""
        device: str = self._server.device
        return device

    @property
    def rotations(self) -> int:
        """How many blind rotations there were; 0 in lanes."""
        return self._circuit.rotations if self._circuit else 0

    @property
    def layers(self) -> int:
        """How many layers of tables there were: calls of `binfhe.Server.apply`; 0 in lanes."""
        return self._circuit.layers if self._circuit else 0

    @property
    def _circuit(self) -> Circuit | None:
        return self._on.circuit if isinstance(self._on, DigitArithmetic) else None

    def __repr__(self) -> str:
        return f"<Server of integers over {self._server!r}>"

    # ---- to and from the device

    def upload(self, ciphertexts: Ciphertexts | IntegerArray) -> Any:
        """A `UintArray`, or an `IntArray` of signed integers, on the server's devices.

        `EncodingError` for ciphertexts whose shape is not that of digits of so many bits, and the
        errors of `binfhe.Server.upload`.
        """
        if isinstance(ciphertexts, IntegerArray):
            if ciphertexts._server is not self:
                raise TypeError("an array of another server; download it there")
            return ciphertexts
        if not isinstance(ciphertexts, Ciphertexts):
            raise TypeError(f"integers.Ciphertexts are needed, not {type(ciphertexts).__name__}")
        kind = ciphertexts.kind
        number, shape = self._on.received(ciphertexts.data, kind.bits, kind.signed)
        return self._array(number, shape)

    def download(self, x: IntegerArray, *, carries: bool = False) -> Ciphertexts:
        """Waits for the array, and copies it to the host's memory, where a client decrypts it.

        With `carries` those that are due need not be made: a client adds them up, and no server
        takes such ciphertexts.
        """
        if not isinstance(x, IntegerArray):
            raise TypeError(f"an array of integers is needed, not {type(x).__name__}")
        data = self._on.sent(self.upload(x)._core, x.shape, bool(carries))
        return Ciphertexts(data, x.bits, x.signed)

    def known(self, values: ArrayLike, bits: int, signed: bool = False) -> Any:
        """An array of integers that everybody knows; `EncodingError` for others than the type
        has."""
        kind = as_kind(bits, signed)
        given = as_values(values, kind, "values")
        number = self._on.known(given.reshape(-1).tolist(), kind.bits, kind.signed)
        return self._array(number, given.shape)

    def canonical(self, x: IntegerArray) -> Any:
        """The same integers without carries that are still to be made.

        Operations make them when they are due. Here they are made at once, so that what follows
        need not.
        """
        return self._array(self._on.flush(x._core), x.shape)

    def redundant(self, x: IntegerArray) -> Any:
        """The same integers in digits of -3 … 3 or 0 … 6, by one layer if they are not.

        Of such integers sums take no carries, and a layer each; `canonical` makes carries.
        """
        return self._array(self._on.settle(x._core), x.shape)

    def _divide(self, x: Any, y: Any) -> Any:
        """`divmod` of arrays, which their module does not have."""
        return divide(x, y)

    def where(self, condition: IntegerArray, x: Any, y: Any) -> Any:
        """x where the condition, of one bit, is 1, and y elsewhere. One of both may be known.

        `EncodingError` for a condition of more bits.
        """
        if not isinstance(condition, UintArray) or condition.bits != 1:
            raise EncodingError("where: the condition is an array of one bit, as comparisons give")
        if not isinstance(x, IntegerArray) and not isinstance(y, IntegerArray):
            raise TypeError("where: one of both choices is an encrypted array")
        x, y = (x, x._known_like(y)) if isinstance(x, IntegerArray) else (y._known_like(x), y)
        shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
        parts = (self._spread(each, shape) for each in (condition, x, y))
        return self._array(self._on.select(*parts), shape)

    # ---- operands and results

    def _array(self, number: Any, shape: Shape) -> Any:
        kind = IntArray if number.signed else UintArray
        return kind._wrap(number, self, shape)

    def _meet(self, x: IntegerArray, y: Any) -> tuple[Any, Any, Shape]:
        """Two operands of equal sizes, and their shape."""
        y = self.upload(y)
        shape = np.broadcast_shapes(x.shape, y.shape)
        return self._spread(x, shape), self._spread(y, shape), shape

    def _spread(self, x: Any, shape: Shape) -> Any:
        if x.shape == shape:
            return x._core
        return self._on.take(x._core, flat_index(x.shape, shape))
