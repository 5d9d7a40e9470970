"""Products of integers through ring elements: what a server needs for them, and does."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.part import Part
from .._core.progress import Report, reports
from .._core.saved import Keys
from .._server import bridges as _lib
from ._parameters import Parameters
from ._server import EncryptedArray, Server


class ProductKeys(Keys[Parameters]):
    """Keys of a `Multiplier`; `Client.product_keys` makes them.

    They are a second key of blind rotations, and keys of automorphisms and of the squared secret of
    the ring. Nothing of them is secret: they may be saved, sent and pickled.
    """

    __slots__ = ()

    _core: _lib.ProductKeys
    _reader, _parameters_type = _lib.ProductKeys, Parameters
    _made_by = "Client.product_keys()"


class Multiplier:
    """Multiplies integers whose digits of radix 4 are ciphertexts of a server.

    One digit of a factor takes one rotation, whatever the other factor is, and one digit of the
    product takes two. `whorl.integers` uses it where a server has the keys.

    Args:
        server: whose ciphertexts these are.
        keys: `Client.product_keys` made them.
        progress: True for a bar on terminals and in notebooks, or a callable that is called with
            (done, total).

    `ParameterMismatchError` or `KeyMismatchError` for keys of others than the server's;
    `DeviceError` for devices without arithmetic on ring ciphertexts, as the FPGA accelerator.

    >>> from whorl.binfhe import Client, Server, parameters
    >>> toy = parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
    >>> client = Client(parameters(toy, allow_insecure=True))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> multiplier = Multiplier(server, client.product_keys())
    >>> def digits(number):
    ...     return server.upload(client.encrypt([[number % 4], [number // 4]], p=32, under="ring"))
    >>> x, y = (server.with_range(digits(number), 0, 3) for number in (6, 7))
    >>> made = client.decrypt(multiplier.multiply(x, y, 3))
    >>> sum(int(digit) * 4**i for i, digit in enumerate(made[:, 0])) % 64
    42
    """

    __slots__ = ("_core", "_server")

    def __init__(
        self, server: Server, keys: ProductKeys, progress: bool | Report | None = None
    ) -> None:
        if not isinstance(server, Server):
            raise TypeError(f"server: a Server is needed, not {type(server).__name__}")
        if not isinstance(keys, ProductKeys):
            raise TypeError(f"keys: ProductKeys are needed, not {type(keys).__name__}")
        self._server = server
        with reports(progress, "keys of products") as report:
            self._core = _lib.Multiplier.create(server._core, keys._core, report)

    @classmethod
    def _dry(cls, server: Server) -> Multiplier:
        """That of the server of a dry run."""
        made = cls.__new__(cls)
        made._server, made._core = server, _lib.Multiplier.dry(server._core)
        return made

    nbytes = Part[int]("_core.nbytes", "Bytes of the keys on each device.")

    def multiply(
        self, x: EncryptedArray, y: EncryptedArray | Sequence[int], digits: int
    ) -> EncryptedArray:
        """Products modulo 4^digits: digits -2 … 2, (digits, integers), the lowest first.

        Args:
            x: digits 0 … 3 of one or more integers, (digits, integers), p = 32 under the ring key.
            y: the same of as many others; or the digits 0 … 3 of one known integer.
            digits: of the results, 1 … 128.

        `EncodingError` for digits that may be others, `ShapeError` for other shapes, `NoiseError`
        where a digit would be wrong more often than the server allows.
        """
        return self._product(x, [], y, [], digits)

    def _product(
        self,
        x: EncryptedArray,
        x_lows: Sequence[int],
        y: EncryptedArray | Sequence[int],
        y_lows: Sequence[int],
        digits: int,
    ) -> EncryptedArray:
        """The same of digits that stand for so much more, -3 … 0 each."""
        count = x.shape[1] if len(x.shape) == 2 else 0
        if isinstance(y, EncryptedArray):
            made = self._core.multiply(x._core, x_lows, y._core, y_lows, count, digits)
        else:
            made = self._core.multiply_known(x._core, x_lows, list(y), count, digits)
        return x._like(made, (digits, count))

    def _failure_log2(self, noise: float, first: int, digits: int) -> float:
        """log2 of the probability that a digit is wrong, of factors with so many times a rotation's
        variance, the first one of so many digits."""
        found: float = self._core.failure_log2(noise, first, digits)
        return found

    def __repr__(self) -> str:
        return f"<Multiplier over {self._server!r}>"
