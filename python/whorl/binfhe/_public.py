"""All names of the package but `Client`: what a server has of FHEW/TFHE."""

from .._core.array import concatenate, stack
from ._ciphertexts import Ciphertexts
from ._compression import CompressionKeys, Compressor
from ._functions import (
    bits_of,
    integers_of,
    max_pool,
    maximum,
    reciprocal,
    relu,
    sigmoid,
    sqrt,
)
from ._keys import EvaluationKeys, PublicKey
from ._lut import Lut
from ._packed import PackedCiphertexts
from ._parameters import ParameterLiteral, Parameters, parameter_sets, parameters
from ._plan import Fresh, Plan, plan
from ._products import Multiplier, ProductKeys
from ._server import EncryptedArray, Server

__all__ = [
    "Ciphertexts",
    "CompressionKeys",
    "Compressor",
    "EncryptedArray",
    "EvaluationKeys",
    "Fresh",
    "Lut",
    "Multiplier",
    "PackedCiphertexts",
    "ParameterLiteral",
    "Parameters",
    "Plan",
    "ProductKeys",
    "PublicKey",
    "Server",
    "bits_of",
    "concatenate",
    "integers_of",
    "max_pool",
    "maximum",
    "parameter_sets",
    "parameters",
    "plan",
    "reciprocal",
    "relu",
    "sigmoid",
    "sqrt",
    "stack",
]
