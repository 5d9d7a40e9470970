"""The client's half: it alone makes, holds and uses secret keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import ShapeError
from ._ciphertexts import Ciphertexts, check_alike
from ._keys import EvaluationKeys
from ._messages import as_messages
from ._parameters import Parameters

Report = Callable[[int, int], object]


class Client:
    """Holds a secret key, in locked memory that is wiped; encrypts and decrypts.

    `Client(parameters)` generates a key (OpenFHE: KeyGen); `load` reads one. A client cannot be
    pickled or copied; `save` writes it under a passphrase.

    >>> from whorl.binfhe import parameters
    >>> client = Client(parameters("W128_P64"))
    >>> client.decrypt(client.encrypt([[1, 0], [0, 1]]))
    array([[1, 0],
           [0, 1]])
    """

    __slots__ = ("_core", "_parameters")

    def __init__(self, parameters: Parameters) -> None:
        if not isinstance(parameters, Parameters):
            raise TypeError(
                f"parameters: {type(parameters).__name__} is not what parameters() makes"
            )
        self._core = _core.Client.generate(parameters._core)
        self._parameters = parameters

    @property
    def parameters(self) -> Parameters:
        """Parameters of the key."""
        return self._parameters

    @property
    def key_id(self) -> str:
        """Random label of the key, 32 hexadecimal digits; not secret."""
        return self._core.key_id.hex()

    def encrypt(self, messages: ArrayLike, p: int = 4, padding: bool = False) -> Ciphertexts:
        """Encrypts integers 0 … p-1, one ciphertext each, in an array of the same shape.

        Bits for gates have p = 4 (6 and 8 for gates of three and four inputs). `padding` leaves a
        zero bit above the message, with which any function can be looked up in one blind rotation.
        `EncodingError` for a message not below p, or a p that the parameters do not carry;
        `TypeError` for what is not integers. (OpenFHE: Encrypt.)
        """
        values = as_messages(messages, "messages")
        batch = self._core.encrypt(values.reshape(-1), p, padding)
        return Ciphertexts._from_batch(batch, values.shape, self._parameters)

    def decrypt(self, ciphertexts: Ciphertexts) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Messages 0 … p-1, an int64 array of the same shape (OpenFHE: Decrypt).

        `KeyMismatchError` or `ParameterMismatchError` for others' ciphertexts. A message that has
        run into its padding bit is reduced modulo p.
        """
        check_alike([ciphertexts])
        values = self._core.decrypt(ciphertexts._as_batch())
        return values.astype(np.int64).reshape(ciphertexts.shape)

    def noise(
        self, ciphertexts: Ciphertexts, expected: ArrayLike
    ) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Error of each ciphertext, -q/2 … q/2, given the messages expected (broadcast).

        Decryption succeeds while |error| < q / (2p), or q / (4p) with padding. Errors are as secret
        as the key: do not publish them.
        """
        check_alike([ciphertexts])
        values = as_messages(expected, "expected")
        try:
            values = np.ascontiguousarray(np.broadcast_to(values, ciphertexts.shape)).reshape(-1)
        except ValueError:
            raise ShapeError(
                f"expected: shape {values.shape} for ciphertexts of shape {ciphertexts.shape}"
            ) from None
        return self._core.noise(ciphertexts._as_batch(), values).reshape(ciphertexts.shape)

    def evaluation_keys(
        self, threads: int = 0, progress: bool | Report | None = None
    ) -> EvaluationKeys:
        """Generates what a server needs (OpenFHE: BTKeyGen).

        `threads`: 0 for all cores. `progress`: True for a bar on terminals, or a callable that is
        called with (done, total); what it raises stops the generation.
        """
        if threads < 0:
            raise ValueError(f"threads: {threads} is below 0")
        if progress is True:
            from .._progress import bar

            with bar("evaluation keys") as report:
                return EvaluationKeys(self._core.evaluation_keys(threads, report))
        return EvaluationKeys(self._core.evaluation_keys(threads, progress or None))

    def save(self, path: str | os.PathLike[str], passphrase: str | bytes) -> None:
        """Writes the secret key, encrypted under `passphrase`, to a file of mode 0600.

        Argon2id and XChaCha20-Poly1305. `ValueError` for an empty passphrase, `IoError` if the
        system refuses.
        """
        self._core.save(os.fspath(path), _passphrase(passphrase))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        passphrase: str | bytes,
        allow_insecure: bool = False,
    ) -> Client:
        """Reads a file that `save` wrote.

        `PassphraseError` for another passphrase; children of `FormatError` for a file that is
        damaged or of another type; `ParameterError` for a set under 128 bits unless
        `allow_insecure`.
        """
        client = cls.__new__(cls)
        client._core = _core.Client.load(os.fspath(path), _passphrase(passphrase), allow_insecure)
        client._parameters = Parameters(client._core.parameters)
        return client

    def __repr__(self) -> str:
        return f"<Client of key {self.key_id[:8]}…, {self.parameters.name or 'unnamed'}>"

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(
            "a client holds a secret key and can be neither pickled nor copied; "
            "use save(path, passphrase)"
        )


def _passphrase(passphrase: str | bytes) -> bytes:
    encoded = passphrase.encode() if isinstance(passphrase, str) else bytes(passphrase)
    if not encoded:
        raise ValueError("passphrase: empty")
    return encoded
