"""FHEW/TFHE: Boolean gates and look-up tables on encrypted bits and small integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.array import concatenate, stack
from .._core.on_demand import client_on_demand
from ._ciphertexts import Ciphertexts, EncryptedArray
from ._keys import EvaluationKeys
from ._lut import Lut
from ._parameters import ParameterLiteral, Parameters, parameter_sets, parameters
from ._plan import Fresh, Plan, plan
from ._server import Server

__all__ = [
    "Ciphertexts",
    "Client",
    "EncryptedArray",
    "EvaluationKeys",
    "Fresh",
    "Lut",
    "ParameterLiteral",
    "Parameters",
    "Plan",
    "Server",
    "concatenate",
    "parameter_sets",
    "parameters",
    "plan",
    "stack",
]

__getattr__, __dir__ = client_on_demand(__name__, __all__)
if TYPE_CHECKING:
    from ._client import Client
