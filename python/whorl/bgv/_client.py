"""The client's half: it alone makes, holds and uses secret keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ._arrays import EncryptedArray
from ._ciphertexts import Ciphertexts
from ._keys import EvaluationKeys, PublicKey
from ._parameters import Parameters, as_request
from ._values import Packing, Values, as_rows

Report = Callable[[int, int], object]


class Client:
    """Holds a secret key, in locked memory that is wiped; encrypts and decrypts.

    `Client(parameters)` generates a key (OpenFHE: KeyGen); `load` reads one. A client cannot be
    pickled or copied; `save` writes it under a passphrase.

    >>> from whorl.bgv import parameters
    >>> client = Client(parameters(depth=1))
    >>> client.decrypt(client.encrypt([1, 2, -3]), signed=True)[:4]
    array([ 1,  2, -3,  0])
    """

    __slots__ = ("_core", "_parameters")

    def __init__(self, parameters: Parameters) -> None:
        if not isinstance(parameters, Parameters):
            raise TypeError(
                f"parameters: {type(parameters).__name__} is not what whorl.bgv.parameters() makes"
            )
        self._core = _core.BgvClient.generate(parameters._core)
        self._parameters = parameters

    @property
    def parameters(self) -> Parameters:
        """Parameters of the key."""
        return self._parameters

    @property
    def key_id(self) -> str:
        """Random label of the key, 32 hexadecimal digits; not secret."""
        return self._core.key_id.hex()

    def encrypt(self, values: ArrayLike, packing: Packing = "slots") -> Ciphertexts:
        """Encrypts rows of integers, one ciphertext each.

        `values` of shape (..., k), k ≤ N, give ciphertexts of shape (...); a row is padded with
        zeros to N. Values are taken modulo t, negative ones too. With `slots` the first N/2 values
        are row 0 and the others row 1 of a ciphertext's two rows, and operations act value by
        value; with `coefficients` a row is a polynomial, and multiplication is that of polynomials
        modulo X^N + 1. `ShapeError` for more than N values in a row; `EncodingError` for slots that
        the parameters do not have; `TypeError` for what is not integers.
        (OpenFHE: MakePackedPlaintext or MakeCoefPackedPlaintext, then Encrypt.)
        """
        rows, shape = as_rows(values, self._parameters, "values")
        batch = self._core.encrypt(rows, packing)
        return Ciphertexts._from_batch(batch, shape, self._parameters)

    def decrypt(self, ciphertexts: Ciphertexts | EncryptedArray, signed: bool = False) -> Values:
        """Values 0 … t-1, or with `signed` -t/2 … t/2: int64 of shape `ciphertexts.shape` + (N,).

        `KeyMismatchError` or `ParameterMismatchError` for others' ciphertexts. Values are wrong,
        without a sign of it, where the noise has passed its bound: `noise_budget` tells.
        (OpenFHE: Decrypt, which is signed.)
        """
        host = _on_host(ciphertexts)
        values = self._core.decrypt(host._batch).astype(np.int64)
        if signed:
            t = self._parameters.t
            values[values > t // 2] -= t
        return values.reshape(*host.shape, self._parameters.N)

    def noise_budget(
        self, ciphertexts: Ciphertexts | EncryptedArray
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Bits left of each ciphertext, measured: float64 of shape `ciphertexts.shape`.

        log2(Q/2) less log2 of the largest coefficient of the noise: exact while positive, near 0
        where decryption fails. As secret as the key: do not publish it.
        """
        host = _on_host(ciphertexts)
        return self._core.noise_budget(host._batch).reshape(host.shape)

    def public_key(self) -> PublicKey:
        """A key for those who may only encrypt."""
        return PublicKey(self._core.public_key())

    def evaluation_keys(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        swap_rows: bool = False,
        inner_sum: int = 0,
        threads: int = 0,
        progress: bool | Report | None = None,
    ) -> EvaluationKeys:
        """Generates what a server needs for a circuit, in one call.

        Args:
            relinearise: ciphertexts of up to this many parts, 2 … 8, can be brought back to two;
                a product of two has three. 2: none (OpenFHE: EvalMultKeyGen, EvalMultKeysGen).
            rotations: columns to rotate rows by, to the left, negative ones to the right
                (OpenFHE: EvalRotateKeyGen, EvalAtIndexKeyGen).
            swap_rows: whether the two rows are to be exchanged.
            inner_sum: the largest number of columns that `inner_sum` is to add up, a power of two:
                adds the rotations by 1, 2, 4, … below it (OpenFHE: EvalSumKeyGen).
            threads: 0 for all cores.
            progress: True for a bar on terminals, or a callable that is called with (done, total);
                what it raises stops the generation.

        `key_size` tells the size before. `ParameterError` for a number out of range.
        """
        if threads < 0:
            raise ValueError(f"threads: {threads} is below 0")
        request = as_request(relinearise, rotations, swap_rows, inner_sum)
        if progress is True:
            from .._progress import bar

            with bar("evaluation keys") as report:
                return EvaluationKeys(self._core.evaluation_keys(*request, threads, report))
        return EvaluationKeys(self._core.evaluation_keys(*request, threads, progress or None))

    def key_size(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        swap_rows: bool = False,
        inner_sum: int = 0,
    ) -> int:
        """Bytes of the keys that `evaluation_keys` with these arguments would make."""
        return self._parameters.key_size(relinearise, rotations, swap_rows, inner_sum)

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
        damaged or of another type; `ParameterError` for parameters under 128 bits unless
        `allow_insecure`.
        """
        client = cls.__new__(cls)
        phrase = _passphrase(passphrase)
        client._core = _core.BgvClient.load(os.fspath(path), phrase, allow_insecure)
        client._parameters = Parameters(client._core.parameters)
        return client

    def __repr__(self) -> str:
        return f"<Client of key {self.key_id[:8]}…, {self.parameters.name or 'unnamed'}>"

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(
            "a client holds a secret key and can be neither pickled nor copied; "
            "use save(path, passphrase)"
        )


def _on_host(ciphertexts: Ciphertexts | EncryptedArray) -> Ciphertexts:
    if isinstance(ciphertexts, EncryptedArray):
        return ciphertexts.to_host()
    if not isinstance(ciphertexts, Ciphertexts):
        raise TypeError(f"ciphertexts are needed, not {type(ciphertexts).__name__}")
    return ciphertexts


def _passphrase(passphrase: str | bytes) -> bytes:
    encoded = passphrase.encode() if isinstance(passphrase, str) else bytes(passphrase)
    if not encoded:
        raise ValueError("passphrase: empty")
    return encoded
