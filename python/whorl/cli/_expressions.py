"""Tables written on the command line: values, or an expression in x."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}


def _power(base: int, exponent: int) -> int:
    if not 0 <= exponent <= 64:
        raise ValueError(f"an exponent of {exponent} is outside 0 … 64")
    return int(base**exponent)


def _value(node: ast.expr, x: int) -> Any:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id="x"):
            return x
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, x), _value(right, x))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, x), _value(right, x))
        case ast.UnaryOp(op=unary, operand=operand) if type(unary) in _UNARY:
            return _UNARY[type(unary)](_value(operand, x))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](_value(left, x), _value(right, x))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body, x) if _value(test, x) else _value(orelse, x)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _CALLS[name](*(_value(each, x) for each in args))
    raise ValueError(f"'{ast.unparse(node)}' is not allowed in a table")


def table(text: str, p: int, p_out: int) -> list[int]:
    """Values f(0) … f(p-1) of "0,1,4,9" or of an expression such as "x*x", taken modulo p_out.

    Expressions have integers, x, + - * // % ** & | ^ >>, comparisons, `a if c else b`, min, max,
    abs; nothing else is run. `ValueError` for anything else.
    """
    parts = [part.strip() for part in text.split(",")]
    if all(part.isdigit() for part in parts):
        return [int(part) for part in parts]
    try:
        body = ast.parse(text, mode="eval").body
        return [int(_value(body, x)) % p_out for x in range(p)]
    except (SyntaxError, ZeroDivisionError, TypeError) as error:
        raise ValueError(f"--lut '{text}': {error}") from None
