"""What arrays of ciphertexts lack of Python's operators and of NumPy's functions.

Operations are of kinds. What is written in place of a kind, a scheme says: `_instead` of its
parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BINARY = {
    **dict.fromkeys(("add", "sub", "mul"), "arithmetic"),
    **{"truediv": "quotient", "pow": "power", "matmul": "product"},
    **dict.fromkeys(("floordiv", "mod", "divmod"), "whole"),
    **dict.fromkeys(("lshift", "rshift"), "shift"),
    **dict.fromkeys(("and", "or", "xor"), "bits"),
    **dict.fromkeys(("lt", "le", "eq", "ne", "gt", "ge"), "comparison"),
}
_UNARY = {
    **{"neg": "arithmetic", "pos": "arithmetic", "invert": "bits", "abs": "absolute"},
    **dict.fromkeys(("round", "floor", "ceil", "trunc"), "whole"),
    **dict.fromkeys(("float", "int", "complex", "index"), "number"),
}
"""Methods of operators without their underscores, and the kind of each."""

_WRITTEN = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@"},
    **{"floordiv": "//", "mod": "%", "lshift": "<<", "rshift": ">>"},
    **{"and": "&", "or": "|", "xor": "^", "neg": "-", "pos": "+", "invert": "~"},
    **{"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="},
}
"""Operators as they are written. What is not here is a function."""

AS_OPERATORS = {
    **{"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "power": "pow"},
    **{"float_power": "pow", "matmul": "matmul", "negative": "neg", "positive": "pos"},
    **{"invert": "invert", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor"},
    **{"remainder": "mod", "fmod": "mod", "floor_divide": "floordiv"},
    **{"left_shift": "lshift", "right_shift": "rshift"},
    **{"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le"},
    **{"greater": "gt", "greater_equal": "ge"},
}
"""Functions of NumPy, and the operator that each is, as the module `operator` names it."""

_KINDS = {
    "comparison": "maximum minimum fmax fmin max min amax amin argmax argmin sort argsort median "
    "clip array_equal array_equiv isclose allclose",
    "choice": "where select choose all any",
    "sign": "sign heaviside signbit",
    "absolute": "absolute fabs",
    "whole": "divmod modf floor ceil trunc rint round around fix",
    "bits": "logical_and logical_or logical_xor logical_not",
    "quotient": "reciprocal",
    "product": "dot vdot inner outer tensordot einsum vecdot matvec vecmat",
    "total": "sum mean average prod cumsum",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def kind_of(function: Any) -> str:
    """The kind of a function of NumPy: "function" for those that map numbers to numbers."""
    return _KIND_OF.get(function.__name__, "function" if hasattr(function, "nin") else "other")


def refused_operators(leaves: Callable[[Any, Any], bool]) -> dict[str, Callable[..., Any]]:
    """Methods for a class: each raises a `TypeError` that has the class's `_in_place_of(kind)`.

    Where `leaves(self, other)` is true, they leave an operator to the other operand.
    """
    methods = {}
    for name, kind in (_BINARY | _UNARY).items():
        methods[f"__{name}__"] = _refusing(name, kind, leaves)
        if name in _BINARY:
            methods[f"__r{name}__"] = methods[f"__{name}__"]
    return methods


def _refusing(name: str, kind: str, leaves: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    written = f"operator {_WRITTEN[name]}" if name in _WRITTEN else f"{name}()"

    def refuse(self: Any, *others: Any) -> Any:
        if name in _BINARY and leaves(self, others[0]):
            return NotImplemented
        raise TypeError(f"{self._kind()} has no {written}: {self._in_place_of(kind)}")

    return refuse
