"""CKKS: approximate arithmetic on encrypted vectors of real or complex numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._array import concatenate, stack
from .._on_demand import client_on_demand
from ._arrays import EncryptedArray, evaluate
from ._ciphertexts import Ciphertexts
from ._keys import EvaluationKeys, PublicKey
from ._parameters import ParameterLiteral, Parameters, parameters
from ._polynomials import Polynomial, approximate
from ._precision import Bits, Precision, precision
from ._server import Server

__all__ = [
    "Bits",
    "Ciphertexts",
    "Client",
    "EncryptedArray",
    "EvaluationKeys",
    "ParameterLiteral",
    "Parameters",
    "Polynomial",
    "Precision",
    "PublicKey",
    "Server",
    "approximate",
    "concatenate",
    "evaluate",
    "parameters",
    "precision",
    "stack",
]

__getattr__, __dir__ = client_on_demand(__name__, __all__)
if TYPE_CHECKING:
    from ._client import Client
