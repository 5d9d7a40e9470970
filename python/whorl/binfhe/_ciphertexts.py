"""Arrays of ciphertexts, in the host's memory and on a server's devices."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from .._core.array import DeviceCiphertexts, HostArray
from .._core.integers import as_index
from .._core.part import Part
from .._server import binfhe as _lib
from ._messages import Words
from ._parameters import Parameters

if TYPE_CHECKING:
    from ._gates import Bits
    from ._server import Messages, Server


class Encoded:
    """Public facts about ciphertexts."""

    __slots__ = ()

    parameters: Any

    p = Part[int]("_core.encoding", "Messages are 0 … p-1.", itemgetter(0))
    padding = Part[bool](
        "_core.encoding", "Whether a padding bit lies above the message.", itemgetter(1)
    )

    noise = Part[float](
        "_core.noise",
        """Variance of the errors, in units of that of a bootstrapped ciphertext; public.

        Arrays on a device have an upper bound of it. `Client.noise` measures errors.
        """,
    )

    largest = Part[int](
        "_core.largest",
        """The messages lie in 0 … largest, by what is known of them without a key; public.

        With padding this is p or more, up to 2p-1, where the padding bit may be set: after a sum
        with `modular=True`, after a padded table that is not exact, and for what older files hold.
        Padded tables refuse such arrays.
        """,
    )

    range = Part[tuple[int, int] | None](
        "_core.range",
        """The least and the largest integer that messages stand for, by `with_range`; or None.

        Sums, differences, products with integers, indexing and joining give the range that follows.
        `Client.decrypt` gives the integers of the range.
        """,
    )

    def _details(self) -> list[tuple[str, str]]:
        known = [("p", f"{self.p}{', padded' if self.padding else ''}")]
        if self.range is not None:
            known.append(("range", "{:,} … {:,}".format(*self.range)))
        return known

    def _about(self) -> str:
        pad = ", padded" if self.padding else ""
        return f", p={self.p}{pad}, {self.parameters.name or 'unnamed'}"


class Ciphertexts(Encoded, HostArray):
    """An immutable array of LWE ciphertexts (a, b) under one key, of any shape.

    `Client.encrypt` and `EncryptedArray.to_host` make them. Shape, indexing, iteration, `reshape`,
    `transpose`, `concatenate` and `stack` are NumPy's; 0-d and empty arrays are arrays like any
    other. `Server.upload` brings them to a device, where the operators are. `==` raises: whether
    two ciphertexts hold the same message can only be computed under encryption (XNOR) or after
    decryption.

    >>> from whorl.binfhe import Client, parameters
    >>> x = Client(parameters("W128_P64")).encrypt([[0, 1, 1], [1, 0, 1]])
    >>> x.shape, x[:, 1].shape, x[x.shape[0] - 1, ::2].shape, x.T.shape, len(x)
    ((2, 3), (2,), (2,), (3, 2), 2)
    """

    __slots__ = ()

    _core: _lib.Ciphertexts
    _reader = _lib.Ciphertexts
    _parameters_type = Parameters
    _may_be_empty = True

    parameters = Part[Parameters]("_parameters", "Parameters that they were made under.")

    @property
    def data(self) -> Words:
        """Words a_1 … a_n, b in Z_q: uint32 of shape `shape` + (n + 1,), read-only."""
        words = self._core.data
        return words.reshape(*self._shape, words.shape[-1])


class EncryptedArray(Encoded, DeviceCiphertexts["Server", Ciphertexts]):
    """An immutable array of LWE ciphertexts on the devices of a `Server`.

    `Server.upload` and operations make them; nothing leaves the devices before `to_host`. Bits of
    p = 4 have the operators `&`, `|`, `^` and `~`. The other operand is such an array, or
    `Ciphertexts` (which are uploaded), or known bits as in `x & True` and `x ^ [1, 0, 1]`, which
    need no bootstrap.

    Messages have the operators `+`, `-`, `*` and `-a` without a bootstrap, as `Server.linear` has
    them. The other operand of sums and differences is such an array, `Ciphertexts`, an integer or
    an array of integers; that of a product is one integer. `with_range` states which integers the
    messages stand for, so that differences can be negative.

    Shape, indexing, iteration, `reshape`, `transpose`, `concatenate` and `stack` are NumPy's, on
    the devices. `==` raises.

    >>> from whorl.binfhe import Client, Server, parameters
    >>> client = Client(parameters("W128_P64"))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> a, b = server.upload(client.encrypt([0, 1])), client.encrypt([[0], [1]])
    >>> client.decrypt((a ^ b)[1])
    array([1, 0])
    """

    __slots__ = ()

    _core: _lib.Array
    _server: Server
    _may_be_empty = True

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")

    # ---- operations, as the server's

    def bootstrap(
        self, p_out: int | None = None, padding_out: bool | None = None
    ) -> EncryptedArray:
        """`Server.bootstrap`."""
        return self._server.bootstrap(self, p_out, padding_out)

    def apply(self, luts: Any, within: int | None = None) -> EncryptedArray:
        """`Server.apply`."""
        return self._server.apply(luts, self, within)

    def eval_floor(self, round_bits: int) -> EncryptedArray:
        """`Server.eval_floor`."""
        return self._server.eval_floor(self, round_bits)

    def eval_sign(self, p_out: int = 4, padding_out: bool = False) -> EncryptedArray:
        """`Server.eval_sign`."""
        return self._server.eval_sign(self, p_out, padding_out)

    def eval_decomp(self) -> list[EncryptedArray]:
        """`Server.eval_decomp`."""
        return self._server.eval_decomp(self)

    def with_range(self, low: int, high: int) -> EncryptedArray:
        """`Server.with_range`."""
        return self._server.with_range(self, low, high)

    def __add__(self, other: Messages) -> EncryptedArray:
        return self._server._combined(1, self, 1, other)

    __radd__ = __add__

    def __sub__(self, other: Messages) -> EncryptedArray:
        return self._server._combined(1, self, -1, other)

    def __rsub__(self, other: Messages) -> EncryptedArray:
        return self._server._combined(-1, self, 1, other)

    def __mul__(self, factor: int) -> EncryptedArray:
        return self._server.linear([as_index(factor, "factor")], [self])

    __rmul__ = __mul__

    def __neg__(self) -> EncryptedArray:
        return self * -1

    def __pos__(self) -> EncryptedArray:
        return self

    def __and__(self, other: Bits) -> EncryptedArray:
        return self._server.and_(self, other)

    def __or__(self, other: Bits) -> EncryptedArray:
        return self._server.or_(self, other)

    def __xor__(self, other: Bits) -> EncryptedArray:
        return self._server.xor(self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> EncryptedArray:
        return self._server.not_(self)
