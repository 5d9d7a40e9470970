"""BGV without its server."""

from ..bgv import (
    Ciphertexts,
    EvaluationKeys,
    ParameterLiteral,
    Parameters,
    PublicKey,
    concatenate,
    parameters,
    stack,
)
from ..bgv._client import Client

__all__ = [
    "Ciphertexts",
    "Client",
    "EvaluationKeys",
    "ParameterLiteral",
    "Parameters",
    "PublicKey",
    "concatenate",
    "parameters",
    "stack",
]
