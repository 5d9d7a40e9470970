"""Expressions on the command line: what tables hold, and what is computed on ciphertexts."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .._core.text import counted

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.MatMult: operator.matmul,
    ast.Div: operator.truediv,
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
    ast.Invert: operator.invert,
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
_LARGEST = 1 << 16
"""Bits of a power."""

Names = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        if not 0 <= exponent <= 64:
            raise ValueError(f"an exponent of {exponent} is outside 0 … 64")
        if base.bit_length() * exponent > _LARGEST:
            raise ValueError(f"a power has more than {_LARGEST} bits")
    return base**exponent


_NO_OPERATOR = ("unsupported operand type", "bad operand type", " has no operator ")
"""What Python says of operands that do not have an operator, and what encrypted arrays do."""


def _operate(
    operate: Callable[..., Any], operands: list[Any], functions: Functions, offers: str
) -> Any:
    try:
        return operate(*operands)
    except TypeError as error:
        if operate is operator.truediv and "inverse" in functions:
            raise ValueError(
                "nothing is divided by ciphertexts: in place of x / y write "
                "x * inverse(y, low, high, error)"
            ) from None
        if not any(said in str(error) for said in _NO_OPERATOR):
            raise
        raise ValueError(
            f"these ciphertexts do not have this operator; there are {offers}"
        ) from None


def _call(name: str, function: Callable[..., Any], given: list[Any]) -> Any:
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        wanted = inspect.signature(function).parameters.values()
        least = sum(each.default is each.empty for each in wanted)
        raise ValueError(f"{name} takes {counted(least, 'input')}, not {len(given)}") from None
    except ValueError:  # a function that does not tell
        pass
    return function(*given)


def _value(node: ast.expr, names: Names, functions: Functions, offers: str = "") -> Any:
    def value(part: ast.expr) -> Any:
        found = _value(part, names, functions, offers)
        if isinstance(found, tuple):
            raise ValueError(
                f"'{_source(part)}' gives two values, so it must be the whole expression"
            )
        return found

    def operate(operation: Callable[..., Any], *parts: ast.expr) -> Any:
        return _operate(operation, [value(part) for part in parts], functions, offers)

    match node:
        case ast.Constant(value=int() | float() | complex() as number):
            return number
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return operate(_power, left, right)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return operate(_BINARY[type(op)], left, right)
        case ast.UnaryOp(op=unary, operand=operand) if type(unary) in _UNARY:
            return operate(_UNARY[type(unary)], operand)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return operate(_COMPARE[type(op)], left, right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return value(body) if value(test) else value(orelse)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in functions:
            return _call(name, functions[name], [value(each) for each in args])
    raise ValueError(f"'{_source(node)}' is not allowed here")


def _source(node: ast.AST) -> str:
    """The text of a part, for messages."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "…"
    return _short(text)


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def _parse(text: str, integers: bool = True) -> ast.expr:
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (MemoryError, RecursionError):
        raise ValueError("it is nested too deeply") from None
    for node in ast.walk(body):
        if integers and isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
            raise ValueError(f"'{_source(node)}' is not allowed here")
    return body


_WRONG = (SyntaxError, ArithmeticError, TypeError, ValueError, RecursionError)
"""Errors of the expression itself when it is parsed or evaluated; not errors of Whorl."""


def _wrong(text: str, said: str, error: Exception) -> ValueError:
    """The error about an expression."""
    match error:
        case SyntaxError():
            reason = error.msg
        case RecursionError():
            reason = "it is nested too deeply"
        case OverflowError():
            reason = "a number is above the largest double, 2^1024"
        case _:
            reason = str(error)
    return ValueError(f"{said.format(_short(text))}: {reason}")


def table(text: str, p: int, p_out: int) -> list[int]:
    """Values f(0) … f(p-1) of "0,1,4,9" or of an expression such as "x*x", taken modulo p_out.

    Expressions have integers, x, + - * // % ** & | ^ ~ >>, comparisons, `a if c else b`, min, max,
    abs; nothing else is run. `ValueError` for anything else.
    """
    parts = [part.strip() for part in text.split(",")]
    if all(part.isdigit() for part in parts):
        return [int(part) for part in parts]
    try:
        body = _parse(text)
        values = [_value(body, {"x": x}, _CALLS) for x in range(p)]
        for x, value in enumerate(values):
            if not isinstance(value, int):
                raise ValueError(f"it is {value} for x = {x}, no integer; write // in place of /")
        return [value % p_out for value in values]
    except _WRONG as error:
        raise _wrong(text, "--lut '{}'", error) from None


def names_of(text: str, functions: Collection[str], offers: str) -> set[str]:
    """The names in an expression except functions. `ValueError` if it is not an expression, or
    calls others; it says what an expression `offers`."""
    try:
        nodes = list(ast.walk(_parse(text, False)))
    except _WRONG as error:
        raise _wrong(text, "'{}' is not an expression", error) from None
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name not in functions:
                raise ValueError(f"'{text}': {name} is no function here; there are {offers}")
    return {node.id for node in nodes if isinstance(node, ast.Name)} - set(functions)


def check_in_clear(text: str, in_clear: Collection[str]) -> None:
    """`ValueError` for an operation on nothing but integers and values that are not encrypted.

    NumPy would do it in 64 bits, which may be too few.
    """
    for node in ast.walk(_parse(text, False)):
        parts: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            parts = [node]
        for part in parts:
            used = {each.id for each in ast.walk(part) if isinstance(each, ast.Name)}
            if used and used <= set(in_clear):
                raise ValueError(
                    f"'{_source(part)}' works on values that are not encrypted; "
                    "write the result into a file instead"
                )


def check_division(text: str, division: str) -> None:
    """`ValueError` for / in an expression of a scheme without it; it says `division`."""
    for node in ast.walk(_parse(text, False)):
        if division and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            raise ValueError(f"'{text}': there is no / here, since {division}")


def evaluate(
    text: str, names: Names, functions: Functions, offers: str, integers: bool = True
) -> Any:
    """The value of an expression: numbers, `names`, Python's operators on them, `functions`.

    With `integers` numbers must be integers. Nothing else is run. `ValueError` for anything else,
    and for an operator that the objects behind the names do not have; it says what an expression
    `offers`.
    """
    try:
        return _value(_parse(text, integers), names, functions, offers)
    except _WRONG as error:
        raise _wrong(text, "'{}'", error) from None
