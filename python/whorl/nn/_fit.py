"""Ranges of tensors from examples, and the polynomials that stand for functions on them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ckks._functions import SignStages, minimax_sign
from ..ckks._polynomials import MAX_DEGREE, Polynomial, approximate
from ..errors import EncodingError, ParameterError
from ._graph import Function, Graph, Numbers, Reshaped


@dataclasses.dataclass(frozen=True)
class Range:
    """No value of a tensor is larger in absolute value than `most`."""

    most: float
    seen: float
    """The largest absolute value among the examples."""
    proven: bool
    """Whether it follows from the range of the operand; otherwise it is what the examples have,
    times the margin, and an input that leads outside makes the result wrong."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """What examples say about a graph: the range of each node, and a polynomial, or stages of a
    sign, for each function."""

    ranges: tuple[Range, ...]
    functions: tuple[Polynomial | SignStages | None, ...]
    """Of each node: a polynomial of x/range on -1 … 1, divided by the range of the result; the
    stages of a relu; None where the node is no function."""


def fit(graph: Graph, examples: Any, margin: float, precision: float) -> Fit:
    """Fits ranges with a margin, and polynomials to within `precision` of the range of their
    results. `EncodingError` for examples that are no finite numbers, or lead to some."""
    if not margin >= 1:
        raise ParameterError(f"margin: {margin} is below 1, so that examples would be out of range")
    if not 2**-30 <= precision <= 0.5:
        raise ParameterError(f"precision: {precision:g} is outside 2^-30 … 1/2")
    tensors = graph.tensors(examples)
    if len(tensors[0]) == 0:
        raise ParameterError("examples: there is none")
    ranges: list[Range] = []
    functions: list[Polynomial | SignStages | None] = []
    for number, (node, tensor) in enumerate(zip(graph.nodes, tensors, strict=True)):
        if not np.isfinite(tensor).all():
            raise EncodingError(f"{node.name}: the examples lead to a number that is not finite")
        seen = float(np.abs(tensor).max())
        function: Polynomial | SignStages | None = None
        if isinstance(node, Reshaped):
            ranges.append(ranges[node.inputs[0]])
        elif isinstance(node, Function):
            before = ranges[node.inputs[0]].most
            found, function = _of_function(node, before, precision)
            ranges.append(Range(found, seen, proven=True))
        else:
            ranges.append(Range((seen or 1.0) * margin, seen, proven=number == 0 and margin == 1))
        functions.append(function)
    return Fit(tuple(ranges), tuple(functions))


def _of_function(
    node: Function, most: float, precision: float
) -> tuple[float, Polynomial | SignStages]:
    """The range of a function's results on ±most, and what stands for it."""
    if node.function == "relu":
        return most, _stages(precision)
    ends = np.cos(np.linspace(0, math.pi, 4097))
    largest = float(np.abs(node.of(most * ends)).max()) or 1.0
    scaled = lambda u: float(node.of(np.asarray(most * u))) / largest  # noqa: E731
    if node.function == "polynomial":
        degree = max(1, len(node.coefficients) - 1)
        polynomial = approximate(scaled, -1, 1, degree=degree)
    else:
        polynomial = approximate(scaled, -1, 1, error=precision)
    if polynomial.degree > MAX_DEGREE:
        raise ParameterError(f"{node.name}: no polynomial of degree {MAX_DEGREE} is close enough")
    # Between the points it may be a little larger than at them.
    over = max(1.0, float(np.abs(np.asarray(polynomial(ends))).max()) * (1 + 2**-20))
    return largest * over, _divided(polynomial, over)


def _divided(polynomial: Polynomial, by: float) -> Polynomial:
    coefficients: Sequence[float] = polynomial.coefficients / by
    return Polynomial(coefficients, "chebyshev", -1, 1)


def _stages(precision: float) -> SignStages:
    """Signs for relu: x·(1 + sign)/2 is off by up to half of the error, and by epsilon/2 or less
    near 0, of values up to 1."""
    return minimax_sign(precision, precision)


