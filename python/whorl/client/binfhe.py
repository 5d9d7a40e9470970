"""FHEW/TFHE without its server."""

from ..binfhe import (
    Ciphertexts,
    EvaluationKeys,
    ParameterLiteral,
    Parameters,
    concatenate,
    parameter_sets,
    parameters,
    stack,
)
from ..binfhe._client import Client

__all__ = [
    "Ciphertexts",
    "Client",
    "EvaluationKeys",
    "ParameterLiteral",
    "Parameters",
    "concatenate",
    "parameter_sets",
    "parameters",
    "stack",
]
