"""What a client gives away: evaluation keys for servers, a public key for those who encrypt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from .. import _core
from ._parameters import Parameters
from ._values import Packing, as_rows

if TYPE_CHECKING:
    from ._ciphertexts import Ciphertexts

MAX_BYTES = 1 << 34
"""Keys for 16 rotations at depth 24 take 3 GB."""


class EvaluationKeys:
    """Keys of relinearisation and rotations; `Client.evaluation_keys` makes them.

    They hold nothing secret: they may be saved, sent and pickled. The uniform halves travel as
    seeds. (OpenFHE: the keys of EvalMultKeyGen and EvalRotateKeyGen.)
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.BgvEvaluationKeys) -> None:
        if not isinstance(core, _core.BgvEvaluationKeys):
            raise TypeError("evaluation keys are made by Client.evaluation_keys()")
        self._core = core

    @property
    def parameters(self) -> Parameters:
        """Parameters that the keys were made under."""
        return Parameters(self._core.parameters)

    @property
    def key_id(self) -> str:
        """Label shared with the secret key and its ciphertexts, 32 hexadecimal digits."""
        return self._core.key_id.hex()

    @property
    def nbytes(self) -> int:
        """Bytes that travel, without the frame."""
        return self._core.nbytes

    @property
    def relinearise(self) -> int:
        """Ciphertexts of up to this many parts can be brought back to two; 2: none."""
        return max((power for g, power in self._core.contents if g == 1), default=1) + 1

    @property
    def rotations(self) -> tuple[int, ...]:
        """Columns that rows can be rotated by, to the left, each in 1 … N/2 - 1, ascending."""
        N = self.parameters.N
        held = {g for g, _ in self._core.contents}
        found, g = [], 1
        for columns in range(1, N // 2):
            g = g * 3 % (2 * N)
            if g in held:
                found.append(columns)
        return tuple(found)

    @property
    def swap_rows(self) -> bool:
        """Whether rows can be exchanged."""
        return (2 * self.parameters.N - 1, 1) in self._core.contents

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` maps. `IoError` if the system refuses."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        allow_insecure: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> EvaluationKeys:
        """Maps and checks a file; the words are used where they lie, without a second copy.

        `TypeMismatchError` for a file of another type, as a secret key; other children of
        `FormatError` for a file that is damaged or larger than `max_bytes`; `ParameterError` for
        parameters under 128 bits unless `allow_insecure`; `IoError`.
        """
        return cls(_core.BgvEvaluationKeys.load(os.fspath(path), allow_insecure, max_bytes))

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, allow_insecure: bool = False, max_bytes: int = MAX_BYTES
    ) -> EvaluationKeys:
        """Inverse of `to_bytes`, with the errors of `load`."""
        return cls(_core.BgvEvaluationKeys.from_bytes(data, allow_insecure, max_bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        return EvaluationKeys.from_bytes, (self.to_bytes(), True)

    def __repr__(self) -> str:
        rotations = len(self.rotations)
        return (
            f"<EvaluationKeys of key {self.key_id[:8]}…, {self.parameters.name or 'unnamed'}: "
            f"relinearise={self.relinearise}, {rotations} rotation{'s' * (rotations != 1)}"
            f"{', swap_rows' if self.swap_rows else ''}, {self.nbytes / 2**20:.1f} MiB>"
        )


class PublicKey:
    """Encrypts, but cannot decrypt; `Client.public_key` makes it.

    It may be saved, sent and pickled. (OpenFHE: PublicKey.)
    """

    __slots__ = ("_core", "_parameters")

    def __init__(self, core: _core.BgvPublicKey) -> None:
        if not isinstance(core, _core.BgvPublicKey):
            raise TypeError("a public key is made by Client.public_key()")
        self._core = core
        self._parameters = Parameters(core.parameters)

    @property
    def parameters(self) -> Parameters:
        """Parameters of the key."""
        return self._parameters

    @property
    def key_id(self) -> str:
        """Label shared with the secret key, 32 hexadecimal digits."""
        return self._core.key_id.hex()

    @property
    def nbytes(self) -> int:
        """Bytes that travel, without the frame."""
        return self._core.nbytes

    def encrypt(self, values: ArrayLike, packing: Packing = "slots") -> Ciphertexts:
        """As `Client.encrypt`, with a little more noise, and files twice as large: no seed."""
        from ._ciphertexts import Ciphertexts

        rows, shape = as_rows(values, self._parameters, "values")
        batch = self._core.encrypt(rows, packing)
        return Ciphertexts._from_batch(batch, shape, self._parameters)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads. `IoError` if the system refuses."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        allow_insecure: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> PublicKey:
        """Reads and checks a file, with the errors of `EvaluationKeys.load`."""
        return cls(_core.BgvPublicKey.load(os.fspath(path), allow_insecure, max_bytes))

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, allow_insecure: bool = False, max_bytes: int = MAX_BYTES
    ) -> PublicKey:
        """Inverse of `to_bytes`, with the errors of `load`."""
        return cls(_core.BgvPublicKey.from_bytes(data, allow_insecure, max_bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        return PublicKey.from_bytes, (self.to_bytes(), True)

    def __repr__(self) -> str:
        return (
            f"<PublicKey of key {self.key_id[:8]}…, {self._parameters.name or 'unnamed'}, "
            f"{self.nbytes / 2**20:.1f} MiB>"
        )
