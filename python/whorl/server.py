"""The server's half: evaluation keys, ciphertexts, gates and tables; nothing secret.

Importing this module brings in no name that makes, loads or uses a secret key, and its loaders
refuse a file that holds one (`TypeMismatchError`).
"""

from .binfhe import (
    Ciphertexts,
    EvaluationKeys,
    Lut,
    Parameters,
    Server,
    concatenate,
    parameter_sets,
    parameters,
    stack,
)

__all__ = [
    "Ciphertexts",
    "EvaluationKeys",
    "Lut",
    "Parameters",
    "Server",
    "concatenate",
    "parameter_sets",
    "parameters",
    "stack",
]
