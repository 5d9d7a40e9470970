"""FHEW/TFHE: Boolean gates and look-up tables on encrypted bits and small integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._array import concatenate, stack
from ._ciphertexts import Ciphertexts, EncryptedArray
from ._keys import EvaluationKeys
from ._lut import Lut
from ._parameters import ParameterLiteral, Parameters, parameter_sets, parameters
from ._server import Server

if TYPE_CHECKING:
    from ._client import Client

__all__ = [
    "Ciphertexts",
    "Client",
    "EncryptedArray",
    "EvaluationKeys",
    "Lut",
    "ParameterLiteral",
    "Parameters",
    "Server",
    "concatenate",
    "parameter_sets",
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
