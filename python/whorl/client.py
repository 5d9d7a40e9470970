"""The client's half: makes, holds and uses secret keys; encrypts and decrypts."""

from .binfhe import (
    Ciphertexts,
    Client,
    EvaluationKeys,
    Parameters,
    concatenate,
    parameter_sets,
    parameters,
    stack,
)

__all__ = [
    "Ciphertexts",
    "Client",
    "EvaluationKeys",
    "Parameters",
    "concatenate",
    "parameter_sets",
    "parameters",
    "stack",
]
