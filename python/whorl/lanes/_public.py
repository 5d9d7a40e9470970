"""All names of the package but `Client`: what a server has of lanes."""

from .._core.array import concatenate, stack
from ..ckks._parameters import parameters
from ._aes import aes128
from ._columns import multiply, popcount, total
from ._compact import CompactBits
from ._integers import add, equal, less, maximum, minimum, subtract
from ._lwe import LweInputKeys, LweOutputKeys
from ._plan import Plan, plan
from ._server import LaneArray, Server
from ._sort import sort

__all__ = [
    "CompactBits",
    "LaneArray",
    "LweInputKeys",
    "LweOutputKeys",
    "Plan",
    "Server",
    "add",
    "aes128",
    "concatenate",
    "equal",
    "less",
    "maximum",
    "minimum",
    "multiply",
    "parameters",
    "plan",
    "popcount",
    "sort",
    "stack",
    "subtract",
    "total",
]
