"""BGV without its client."""

from ..bgv import (
    Ciphertexts,
    EncryptedArray,
    EvaluationKeys,
    ParameterLiteral,
    Parameters,
    Plaintexts,
    PublicKey,
    Server,
    concatenate,
    parameters,
    stack,
)

__all__ = [
    "Ciphertexts",
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
