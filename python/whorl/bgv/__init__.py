"""BGV: exact arithmetic on encrypted vectors of integers modulo t."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.array import concatenate, stack
from .._core.on_demand import client_on_demand
from ._arrays import EncryptedArray, Matrix, Mean, Plaintexts
from ._ciphertexts import Ciphertexts
from ._keys import EvaluationKeys, PublicKey
from ._parameters import ParameterLiteral, Parameters, parameters, plain_modulus
from ._plan import Plan, Range, plan
from ._rotations import rotations_for
from ._server import Server

__all__ = [
    "Ciphertexts",
    "Client",
    "EncryptedArray",
    "EvaluationKeys",
    "Matrix",
    "Mean",
    "ParameterLiteral",
    "Parameters",
    "Plaintexts",
    "Plan",
    "PublicKey",
    "Range",
    "Server",
    "concatenate",
    "parameters",
    "plain_modulus",
    "plan",
    "rotations_for",
    "stack",
]

__getattr__, __dir__ = client_on_demand(__name__, __all__)
if TYPE_CHECKING:
    from ._client import Client
