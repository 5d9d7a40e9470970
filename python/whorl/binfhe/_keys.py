"""Evaluation keys: what a server gets."""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from ._parameters import Parameters

MAX_BYTES = 1 << 32


class EvaluationKeys:
    """Blind-rotation and key-switching keys; `Client.evaluation_keys` makes them.

    They hold nothing secret: they may be saved, sent and pickled. The uniform halves travel as
    seeds. (OpenFHE: the keys of BTKeyGen.)
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.EvaluationKeys) -> None:
        if not isinstance(core, _core.EvaluationKeys):
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
        `FormatError` for a file that is damaged or larger than `max_bytes`; `ParameterError` for a
        set under 128 bits unless `allow_insecure`; `IoError`.
        """
        return cls(_core.EvaluationKeys.load(os.fspath(path), allow_insecure, max_bytes))

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, allow_insecure: bool = False, max_bytes: int = MAX_BYTES
    ) -> EvaluationKeys:
        """Inverse of `to_bytes`, with the errors of `load`."""
        return cls(_core.EvaluationKeys.from_bytes(data, allow_insecure, max_bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        return EvaluationKeys.from_bytes, (self.to_bytes(), True)

    def __repr__(self) -> str:
        return (
            f"<EvaluationKeys of key {self.key_id[:8]}…, {self.parameters.name or 'unnamed'}, "
            f"{self.nbytes / 2**20:.1f} MiB>"
        )
