"""FHEW/TFHE without its client."""

from ..binfhe import (
    Ciphertexts,
    EncryptedArray,
    EvaluationKeys,
    Lut,
    ParameterLiteral,
    Parameters,
    Server,
    concatenate,
    parameter_sets,
    parameters,
    stack,
)

__all__ = [
    "Ciphertexts",
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
