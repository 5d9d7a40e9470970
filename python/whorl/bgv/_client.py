"""The client's half: it alone makes, holds and uses secret keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._client import bgv as _lib
from .._core.keyholder import KeyHolder
from .._core.part import Part
from .._core.progress import Report
from ._ciphertexts import Ciphertexts
from ._keys import EvaluationKeys, PublicKey
from ._parameters import Parameters, as_request
from ._server import EncryptedArray
from ._values import Packing, Values, encrypted


class Client(KeyHolder):
    """Holds a secret key, in locked memory that is wiped; encrypts and decrypts.

    `Client(parameters)` generates a key (OpenFHE: KeyGen); `load` reads one. A client cannot be
    pickled or copied; `save` writes it under a passphrase.

    >>> from whorl.bgv import parameters
    >>> client = Client(parameters(depth=1))
    >>> client.decrypt(client.encrypt([1, 2, -3]), signed=True)
    array([ 1,  2, -3])
    """

    __slots__ = ()

    _core: _lib.Client
    _maker = _lib.Client
    _parameters_type, _keys_type, _host_type = Parameters, EvaluationKeys, Ciphertexts

    parameters = Part[Parameters]("_parameters", "Parameters of the key.")

    def encrypt(self, values: ArrayLike, packing: Packing = "slots") -> Ciphertexts:
        """Encrypts vectors of integers.

        `values` of shape (..., k) give an array of shape (...) of vectors of k values, with zeros
        in the slots behind them. A vector of more than N values takes several ciphertexts, which
        stay together. Values are -(t-1)/2 … t-1. With `slots` the first N/2 values are row 0 of the
        ciphertext and the others row 1, and operations act value by value. With `coefficients` the
        values are a polynomial, and multiplication is that of polynomials modulo X^N + 1.
        `ShapeError` for polynomials of more than N coefficients; `EncodingError` for values out of
        range, and for `slots` if the parameters have none; `TypeError` for values that are not
        integers, or that a mask hides. (OpenFHE: MakePackedPlaintext or MakeCoefPackedPlaintext,
        then Encrypt.)
        """
        return encrypted(self._core.encrypt, values, packing, self._parameters)

    def decrypt(
        self,
        ciphertexts: Ciphertexts | EncryptedArray,
        signed: bool = False,
        *,
        allow_spent: bool = False,
        all_slots: bool = False,
    ) -> Values:
        """Values 0 … t-1, or with `signed` -t/2 … t/2: int64 of shape `ciphertexts.shape` +
        (`ciphertexts.length`,).

        With `all_slots` the last axis has all N values of each ciphertext that a vector takes, also
        those behind the vector's values.

        `KeyMismatchError` or `ParameterMismatchError` for ciphertexts of another key or parameters.
        `NoiseError` where the bound that the ciphertexts carry (their `noise_budget`) is spent: the
        values may be wrong then. The bound is careful, so they may also be right.
        `allow_spent=True` decrypts them, and `client.noise_budget` measures what is left.
        (OpenFHE: Decrypt, which is signed and does not warn.)
        """
        host = self._on_host(ciphertexts)
        values = self._core.decrypt(host._core, bool(allow_spent), bool(all_slots)).astype(np.int64)
        if signed:
            t = self._parameters.t
            values[values > t // 2] -= t
        return values.reshape(*host.shape, -1)

    def noise_budget(
        self, ciphertexts: Ciphertexts | EncryptedArray
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Measured noise budget in bits: float64 of shape `ciphertexts.shape`.

        It is log2(Q/2) minus log2 of the largest coefficient of the noise; for a vector over
        several ciphertexts, the smallest. It is exact while it is positive, and near 0 where
        decryption fails. It is as secret as the key: do not publish it.
        """
        host = self._on_host(ciphertexts)
        budgets = self._core.noise_budget(host._core).reshape(*host.shape, host._each)
        least: np.ndarray[Any, np.dtype[np.float64]] = budgets.min(axis=-1).reshape(host.shape)
        return least

    def public_key(self) -> PublicKey:
        """A key for those who may only encrypt."""
        return PublicKey(self._core.public_key())

    def evaluation_keys(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        swap_rows: bool = False,
        sums: int = 0,
        threads: int = 0,
        progress: bool | Report | None = None,
    ) -> EvaluationKeys:
        """Generates what a server needs for a circuit, in one call.

        Args:
            relinearise: largest number of parts, 2 … 8, that can be brought back to two; 2 makes no
                key. A product of two ciphertexts has three (OpenFHE: EvalMultKeyGen,
                EvalMultKeysGen).
            rotations: columns to rotate rows by, to the left, negative ones to the right
                (OpenFHE: EvalRotateKeyGen, EvalAtIndexKeyGen).
            swap_rows: whether the two rows are to be exchanged.
            sums: the length of the longest vectors that `sum`, `mean` and `dot` are to add up. For
                any length above 1 it adds the rotations by 1, 2, 4 … N/4 and `swap_rows`
                (OpenFHE: EvalSumKeyGen).
            threads: 0 for all cores.
            progress: True for a bar on terminals and in notebooks, or a callable that is called
                with (done, total); what it raises stops the generation.

        `whorl.bgv.rotations_for` names the rotations of matrices. `Parameters.key_size`
        gives the size before the keys are made. `ParameterError` for a number out of range.
        """
        request = as_request(self._parameters, relinearise, rotations, swap_rows, sums)
        keys: EvaluationKeys = self._generate_keys(threads, progress, request)
        return keys
