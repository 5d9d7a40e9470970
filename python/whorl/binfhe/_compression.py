"""Results in few bytes: what a server needs for them, and does."""

from __future__ import annotations

from .._core.literal import as_real
from .._core.part import Part
from .._core.progress import Report, reports
from .._core.saved import Keys
from .._server import bridges as _lib
from ._ciphertexts import Ciphertexts
from ._packed import PackedCiphertexts
from ._parameters import Parameters
from ._server import EncryptedArray, Server


class CompressionKeys(Keys[Parameters]):
    """Keys of a `Compressor`; `Client.compression_keys` makes them.

    They encrypt the LWE key under the ring key, and hold nothing secret: they may be saved, sent
    and pickled.
    """

    __slots__ = ()

    _core: _lib.CompressionKeys
    _reader, _parameters_type = _lib.CompressionKeys, Parameters
    _made_by = "Client.compression_keys()"


class Compressor:
    """Puts results of a server into few bytes, which a client decrypts.

    Args:
        server: whose results these are.
        keys: `Client.compression_keys` made them.
        progress: True for a bar on terminals and in notebooks, or a callable that is called with
            (done, total).

    `ParameterMismatchError` or `KeyMismatchError` for keys of others than the server's;
    `DeviceError` for devices without arithmetic on ring ciphertexts, as the FPGA accelerator.

    >>> from whorl.binfhe import Client, Server, parameters
    >>> toy = parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
    >>> client = Client(parameters(toy, allow_insecure=True))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> compressor = Compressor(server, client.compression_keys())
    >>> x = server.upload(client.encrypt(range(16), p=16, under="ring"))
    >>> small = compressor.compress(x + x)
    >>> client.decrypt(small)[:10], small.log2_modulus
    (array([ 0,  2,  4,  6,  8, 10, 12, 14,  0,  2]), 13)
    """

    __slots__ = ("_core", "_server")

    def __init__(
        self, server: Server, keys: CompressionKeys, progress: bool | Report | None = None
    ) -> None:
        if not isinstance(server, Server):
            raise TypeError(f"server: a Server is needed, not {type(server).__name__}")
        if not isinstance(keys, CompressionKeys):
            raise TypeError(f"keys: CompressionKeys are needed, not {type(keys).__name__}")
        self._server = server
        with reports(progress, "keys of compression") as report:
            self._core = _lib.Compressor.create(server._core, keys._core, report)

    nbytes = Part[int]("_core.nbytes", "Bytes of the keys on each device.")

    def compress(
        self, a: EncryptedArray | Ciphertexts, failure_log2: float = -128.0
    ) -> PackedCiphertexts:
        """The messages of an array under either key, in ring ciphertexts of N messages each, with
        the range that the array states.

        They are switched to the LWE key, if they are under the ring key; packed; and their modulus
        is made as small as lets each message decrypt to another one with a probability of at most
        2^`failure_log2`. The last ring ciphertext takes its N words of c_1 whole, however few
        messages it has: give all results to one call. `NoiseError` if no modulus has that
        probability; the errors of `Server.to_lwe_key`.
        """
        array = self._server.upload(a)
        most = as_real("failure_log2", failure_log2)
        packed = self._core.compress(array._core, most)
        return PackedCiphertexts(packed)._reshaped(array.shape)

    def __repr__(self) -> str:
        return f"<Compressor over {self._server!r}>"
