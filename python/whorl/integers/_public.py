"""All names of the package but `Client`: what a server has of encrypted integers."""

from .._core.array import concatenate, stack
from ._algorithms import (
    argmax,
    argmin,
    dot,
    lookup,
    maximum,
    minimum,
    overflowing_add,
    overflowing_mul,
    overflowing_sub,
    sort,
    where,
)
from ._arrays import IntArray, UintArray
from ._ciphertexts import Ciphertexts
from ._compile import Program, compile
from ._encryptor import PublicClient
from ._plan import Fresh, Plan, plan
from ._server import Server

__all__ = [
    "Ciphertexts",
    "Fresh",
    "IntArray",
    "Plan",
    "Program",
    "PublicClient",
    "Server",
    "UintArray",
    "argmax",
    "argmin",
    "compile",
    "concatenate",
    "dot",
    "lookup",
    "maximum",
    "minimum",
    "overflowing_add",
    "overflowing_mul",
    "overflowing_sub",
    "plan",
    "sort",
    "stack",
    "where",
]
