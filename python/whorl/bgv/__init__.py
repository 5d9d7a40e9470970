"""BGV: exact arithmetic on encrypted vectors of integers modulo t."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._array import concatenate, stack
from ._arrays import EncryptedArray, Plaintexts
from ._ciphertexts import Ciphertexts
from ._keys import EvaluationKeys, PublicKey
from ._parameters import ParameterLiteral, Parameters, parameters
from ._server import Server

if TYPE_CHECKING:
    from ._client import Client

__all__ = [
    "Ciphertexts",
    "Client",
    "EncryptedArray",
    "EvaluationKeys",
    "ParameterLiteral",
    "Parameters",
    "Plaintexts",
    "PublicKey",
    "Server",
    "concatenate",
    "parameters",
    "stack",
]


def __getattr__(name: str) -> Any:
    # At first use, so that a server process never has it.
    if name == "Client":
        from ._client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
