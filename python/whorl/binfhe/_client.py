"""The client's half: it alone makes, holds and uses secret keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._client import binfhe as _lib
from .._client import bridges as _bridges
from .._core.integers import as_modulus, whole_numbers
from .._core.keyholder import KeyHolder
from .._core.literal import as_text, as_threads
from .._core.part import Part
from .._core.progress import Report, reports
from ..errors import ShapeError
from ._ciphertexts import Ciphertexts
from ._compression import CompressionKeys
from ._keys import EvaluationKeys, PublicKey
from ._messages import ALLOWED_FAILURE, as_bool, as_messages, as_probability
from ._packed import PackedCiphertexts
from ._parameters import Parameters
from ._products import ProductKeys
from ._server import EncryptedArray


class Client(KeyHolder):
    """Holds a secret key, in locked memory that is wiped; encrypts and decrypts.

    `Client(parameters)` generates a key (OpenFHE: KeyGen); `load` reads one. A client cannot be
    pickled or copied; `save` writes it under a passphrase.

    >>> from whorl.binfhe import parameters
    >>> client = Client(parameters("W128_P64"))
    >>> client.decrypt(client.encrypt([[1, 0], [0, 1]]))
    array([[1, 0],
           [0, 1]])
    """

    __slots__ = ()

    _core: _lib.Client
    _maker = _lib.Client
    _parameters_type = Parameters
    _keys_type = EvaluationKeys
    _host_type = Ciphertexts

    parameters = Part[Parameters]("_parameters", "Parameters of the key.")

    def encrypt(
        self,
        messages: ArrayLike,
        p: int = 4,
        padding: bool = False,
        *,
        allow_failure: float = ALLOWED_FAILURE,
        under: str = "lwe",
    ) -> Ciphertexts:
        """Encrypts integers 0 … p-1, one ciphertext each, in an array of the same shape.

        Bits for gates have p = 4 (6 and 8 for gates of three and four inputs). `padding` leaves a
        zero bit above the message, with which any function can be looked up in one blind rotation.
        Raises `EncodingError` for a message not below p, or a p that the parameters do not carry.
        Raises `TypeError` for an entry that is not an integer, or that a mask hides. Both name the
        entry and its index.
        Raises `NoiseError` if a fresh ciphertext of this p decrypts to another message with a
        probability above `allow_failure`, by default 2^-40; it names a p or a set that would serve.
        (OpenFHE: Encrypt.)

        `under`: the secret key that the ciphertexts are under. `"ring"` is for large sums
        (`Server.linear`): errors are sigma_ring at Q, and a ciphertext takes N + 1 words of Q in
        memory, and one in a file. Raises `ParameterError` for another name.
        """
        allowed = as_probability(allow_failure, "allow_failure")
        p = as_modulus(p, "p")
        encoding = p, as_bool("padding", padding)
        values = as_messages(messages, "messages", p)
        key = as_text("under", under)
        batch = self._core.encrypt(values.reshape(-1), encoding, allowed, key)
        return Ciphertexts._wrap(batch, values.shape, self._parameters)

    def decrypt(
        self, ciphertexts: Ciphertexts | PackedCiphertexts | EncryptedArray
    ) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Messages 0 … p-1, an int64 array of the same shape (OpenFHE: Decrypt).

        `KeyMismatchError` or `ParameterMismatchError` for ciphertexts of another key or other
        parameters. A message that has overflowed into its padding bit is reduced modulo p. Arrays
        with a range (`Server.with_range`) give the integers of the range.
        """
        host: Any
        if isinstance(ciphertexts, PackedCiphertexts):
            host, words = ciphertexts, self._core.decrypt_packed(ciphertexts._core)
        else:
            host = self._on_host(ciphertexts)
            words = self._core.decrypt(host._core)
        messages = words.astype(np.int64).reshape(host.shape)
        if host.range is None:
            return messages
        low = host.range[0]
        integers: np.ndarray[Any, np.dtype[np.int64]] = low + (messages - low) % host.p
        return integers

    def noise(
        self, ciphertexts: Ciphertexts | PackedCiphertexts | EncryptedArray, expected: ArrayLike
    ) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The error of each ciphertext, -q/2 … q/2, if it holds the `expected` message (broadcast).

        Under the ring key Q stands in the place of q, and of compressed results their modulus.
        Decryption succeeds while |error| < q / (2p), or q / (4p) with padding. Errors are as secret
        as the key: do not publish them. `EncodingError` for a message that is not in 0 … p-1.
        Arrays with a range take integers, as `decrypt` gives them.
        """
        packed = isinstance(ciphertexts, PackedCiphertexts)
        host: Any = ciphertexts if packed else self._on_host(ciphertexts)
        noise: Any = self._core.noise_packed if packed else self._core.noise
        if host.range is None:
            values = as_messages(expected, "expected", host.p)
        else:  # A negative integer sets the padding bit.
            sectors = 2 * host.p if host.padding else host.p
            integers = whole_numbers(expected, "expected").astype(np.object_)
            values = np.array(integers % sectors, dtype=np.uint32)
        try:
            values = np.ascontiguousarray(np.broadcast_to(values, host.shape)).reshape(-1)
        except ValueError:
            raise ShapeError(
                f"expected has shape {values.shape}, but the ciphertexts have shape {host.shape}"
            ) from None
        errors: np.ndarray[Any, np.dtype[np.int64]] = noise(host._core, values)
        return errors.reshape(host.shape)

    def public_key(self) -> PublicKey:
        """Returns a key for those who may only encrypt, of two polynomials modulo Q."""
        return PublicKey(self._core.public_key())

    def compression_keys(
        self, threads: int = 0, progress: bool | Report | None = None
    ) -> CompressionKeys:
        """Generates the keys with which a server compresses results; arguments as of
        `evaluation_keys`."""
        threads = as_threads(threads)
        with reports(progress, "compression keys") as report:
            return CompressionKeys(_bridges.compression_keys(self._core, threads, report))

    def product_keys(self, threads: int = 0, progress: bool | Report | None = None) -> ProductKeys:
        """Generates the keys with which a server multiplies integers through ring elements
        (`integers.Server(…, products=)`); arguments as of `evaluation_keys`.

        `ParameterError` for sets whose N is below 2,048, whose Q has not 40 … 48 bits, or which
        rotate by automorphisms.
        """
        threads = as_threads(threads)
        with reports(progress, "product keys") as report:
            return ProductKeys(_bridges.product_keys(self._core, threads, report))

    def evaluation_keys(
        self, threads: int = 0, progress: bool | Report | None = None
    ) -> EvaluationKeys:
        """Generates what a server needs (OpenFHE: BTKeyGen).

        `threads`: 0 for all cores. `progress`: True for a bar on terminals and in notebooks, or a
        callable that is called with (done, total); what it raises stops the generation.
        """
        keys: EvaluationKeys = self._generate_keys(threads, progress)
        return keys
