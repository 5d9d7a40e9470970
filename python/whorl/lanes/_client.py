"""The client's half of lanes: its key serves them, and it rounds what it decrypts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from .. import binfhe, ckks
from .._client import bridges as _bridges
from .._core.literal import as_threads
from .._core.paths import PathName
from .._core.progress import Report, reports
from ..ckks._client import Client as CkksClient
from ..errors import ParameterError, ShapeError
from ._compact import CompactBits
from ._lwe import LweInputKeys, LweOutputKeys
from ._modular import as_messages, as_modulus
from ._server import LaneArray, slots_of


def _core_of(lwe: binfhe.Client) -> Any:
    if not isinstance(lwe, binfhe.Client):
        raise TypeError(f"lwe: a binfhe.Client is needed, not {type(lwe).__name__}")
    return lwe._core


class Client(CkksClient):
    """Holds a secret key that serves lanes; encrypts and decrypts bits, and integers modulo p.

    A key serves lanes if all its slots are of usual size. One of 250 does not, and is thrown away.
    `save` and `load` are those of `whorl.ckks.Client`.
    """

    __slots__ = ()

    def __init__(self, parameters: ckks.Parameters) -> None:
        super().__init__(parameters)
        while not self._core.serves_lanes():
            super().__init__(parameters)

    @classmethod
    def load(cls, path: PathName, passphrase: str | bytes, *given: Any, **options: Any) -> Client:
        """Reads a file that `save` wrote; `ParameterError` for a key that does not serve lanes.

        Arguments and other errors are those of `whorl.ckks.Client.load`.
        """
        client: Client = super().load(path, passphrase, *given, **options)
        if not client._core.serves_lanes():
            raise ParameterError(
                f"{os.fsdecode(path)}: this key does not serve lanes, since a slot of it is too "
                "large; lanes.Client(parameters) makes one that does"
            )
        return client

    def evaluation_keys(  # type: ignore[override]
        self,
        lanes: int | None = None,
        rotations: Iterable[int] = (),
        threads: int = 0,
        progress: bool | Report | None = None,
    ) -> ckks.EvaluationKeys:
        """Generates the keys that a `lanes.Server` needs: of products and of bootstraps.

        Args:
            lanes: how many bits each vector has; default: N/2. The least power of two that is not
                below it counts (`ShapeError` above N/2).
            rotations: distances by which lanes are moved.
            threads, progress: as for `whorl.ckks.Client.evaluation_keys`.

        `ParameterError` for parameters without bootstrapping.
        """
        slots = self.parameters.N // 2 if lanes is None else slots_of(lanes)
        return super().evaluation_keys(
            bootstrap=[slots], rotations=rotations, threads=threads, progress=progress
        )

    def lwe_input_keys(
        self,
        lwe: binfhe.Client,
        threads: int = 0,
        progress: bool | Report | None = None,
    ) -> LweInputKeys:
        """Generates the keys with which a server takes LWE ciphertexts of `lwe` into lanes.

        They take some 20 MB, and hide the LWE key behind this one; docs/lanes-lwe.md has the
        security.

        Args:
            lwe: the client of FHEW/TFHE whose ciphertexts will come.
            threads, progress: as for `evaluation_keys`.

        `ParameterError` for parameters whose bootstraps are not made for bits.
        """
        with reports(progress, "keys for LWE input") as report:
            return LweInputKeys(
                _bridges.lwe_input_keys(self._core, _core_of(lwe), as_threads(threads), report)
            )

    def lwe_output_keys(
        self,
        lwe: binfhe.Client,
        threads: int = 0,
        progress: bool | Report | None = None,
    ) -> LweOutputKeys:
        """Generates the keys with which a server gives lanes out as LWE ciphertexts of `lwe`.

        They hide this key behind the LWE key, which must be as secure: docs/lanes-lwe.md. Arguments
        and errors are those of `lwe_input_keys`.
        """
        with reports(progress, "keys for LWE output") as report:
            return LweOutputKeys(
                _bridges.lwe_output_keys(self._core, _core_of(lwe), as_threads(threads), report)
            )

    @overload  # type: ignore[override]
    def encrypt(
        self, bits: ArrayLike, compact: Literal[False] = False, p: int = 2
    ) -> ckks.Ciphertexts: ...
    @overload
    def encrypt(self, bits: ArrayLike, compact: Literal[True], p: int = 2) -> CompactBits: ...
    def encrypt(
        self, bits: ArrayLike, compact: bool = False, p: int = 2
    ) -> ckks.Ciphertexts | CompactBits:
        """Encrypts vectors: shape (..., k) gives an array of shape (...) of k lanes each.

        Args:
            bits: 0, 1, True and False; integers 0 … p - 1 with another p (`EncodingError` for
                others).
            compact: whether bits are encrypted in coefficients of the lowest level. They are then
                shorter on their way, 0.4 bytes a bit in place of 152 with `W128_BITS5_L10`, and
                cost the server a bootstrap. They fill coefficients by as many vectors as
                `parameters.bootstrap["bits"]` says, so that a multiple of this number of vectors is
                shortest. `ParameterError` for parameters whose bootstraps are not made for bits,
                and for another p than 2; `ShapeError` for a single bit, none, and more than N/2
                lanes.
            p: a power of two, up to 2^k for parameters with `bootstrap["bits"] = k`
                (`ParameterError`).
        """
        modulus = self._modulus(p)
        values = as_messages(bits, modulus)
        if compact:
            if modulus != 2:
                raise ParameterError(
                    f"p = {modulus}: integers are not encrypted compactly; encrypt their bits, of "
                    "which Server.integer makes integers"
                )
            return self._compact(values)
        bound = (0.0, float(modulus - 1))
        return super().encrypt(values.astype(np.float64), bound=bound, packing="real")

    def _compact(self, values: np.ndarray[Any, np.dtype[Any]]) -> CompactBits:
        if values.ndim == 0 or values.size == 0 or values.shape[-1] > self.parameters.N // 2:
            raise ShapeError(
                f"bits: shape {values.shape} has no vectors of 1 … {self.parameters.N // 2} lanes"
            )
        flat = np.ascontiguousarray(values, dtype=np.uint8).reshape(-1)
        return CompactBits(self._core.encrypt_bits(flat, values.shape[-1], values.shape[:-1]))

    def decrypt(  # type: ignore[override]
        self, lanes: LaneArray | ckks.Ciphertexts, p: int | None = None
    ) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bits or integers, which others may see: they do not depend on errors.

        Args:
            lanes: an array of a `lanes.Server`, or what `LaneArray.to_host` gave.
            p: what integers are modulo. None: the p of a `LaneArray`, and 2 of ciphertexts.

        Shape as that of the array, and an axis of lanes.

        All are refused (`NoiseError`) if one value is farther than 1/8 from 0 and 1, or from a
        whole number. No server that keeps to the protocol brings that about but with the
        probability that it states. A refusal depends on errors: tell nobody who chooses
        ciphertexts, and make a new key. This client decrypts no lanes afterwards. `EncodingError`
        for ciphertexts in a state that `to_host` does not give for this p; `ParameterError` for a p
        that there is not; other errors as of `whorl.ckks.Client.decrypt`.
        """
        held = lanes.p if isinstance(lanes, LaneArray) else 2
        modulus = self._modulus(held if p is None else p)
        host = lanes.to_host() if isinstance(lanes, LaneArray) else self._on_host(lanes)
        found = (
            self._core.decrypt_bits(host._core)
            if modulus == 2
            else self._core.decrypt_integers(host._core, modulus)
        )
        return found.reshape(*host.shape, host.length)

    def _modulus(self, p: int) -> int:
        """`ParameterError` unless lanes under these parameters may be modulo p."""
        bootstrap = self.parameters.literal()["bootstrap"]
        most = 2 ** max(int(bootstrap.get("bits", 0)) if bootstrap else 0, 1)
        modulus = as_modulus(p)
        if modulus > most or modulus & (modulus - 1):
            have = "bits alone" if most == 2 else f"p = 2, 4 … {most}, powers of two"
            raise ParameterError(f"p = {modulus}: lanes under these parameters have {have}")
        return modulus
