"""All names of the package but `Client`: what a server has of BGV."""

from .._core.array import concatenate, stack
from ._ciphertexts import Ciphertexts
from ._keys import EvaluationKeys, PublicKey
from ._parameters import ParameterLiteral, Parameters, parameters, plain_modulus
from ._plan import Plan, Range, plan
from ._rotations import rotations_for
from ._server import EncryptedArray, Matrix, Mean, Plaintexts, Server

__all__ = [
    "Ciphertexts",
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
