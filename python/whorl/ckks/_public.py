"""All names of the package but `Client`: what a server has of CKKS."""

from .._core.array import concatenate, stack
from ._ciphertexts import Ciphertexts
from ._evaluating import evaluate
from ._expectation import Expectation, Released
from ._functions import (
    SignStages,
    exp_of,
    inverse_of,
    inverse_sqrt_of,
    logistic_of,
    minimax_sign,
    sine_of,
    sqrt_of,
    tanh_of,
)
from ._keys import EvaluationKeys, PublicKey
from ._linear_maps import EncodedMap, LinearMap, diagonals, linear_map
from ._matrices import EncodedMatrixProduct, MatrixProduct
from ._parameters import (
    BootstrapLiteral,
    ParameterLiteral,
    Parameters,
    parameter_sets,
    parameters,
)
from ._plan import Plan, Values, plan
from ._polynomials import Polynomial, approximate
from ._precision import Bits, Precision, precision
from ._server import EncryptedArray, Server
from ._tracer import Refresh

__all__ = [
    "Bits",
    "BootstrapLiteral",
    "Ciphertexts",
    "EncodedMap",
    "EncodedMatrixProduct",
    "EncryptedArray",
    "EvaluationKeys",
    "Expectation",
    "LinearMap",
    "MatrixProduct",
    "ParameterLiteral",
    "Parameters",
    "Plan",
    "Polynomial",
    "Precision",
    "PublicKey",
    "Refresh",
    "Released",
    "Server",
    "SignStages",
    "Values",
    "approximate",
    "concatenate",
    "diagonals",
    "evaluate",
    "exp_of",
    "inverse_of",
    "inverse_sqrt_of",
    "linear_map",
    "logistic_of",
    "minimax_sign",
    "parameter_sets",
    "parameters",
    "plan",
    "precision",
    "sine_of",
    "sqrt_of",
    "stack",
    "tanh_of",
]
