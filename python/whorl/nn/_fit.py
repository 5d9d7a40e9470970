"""Ranges of tensors from examples, and the polynomials that stand for functions on them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.text import shown
from ..ckks._functions import SignStages, minimax_sign
from ..ckks._polynomials import Polynomial, approximate
from ..errors import EncodingError, ParameterError
from ._builder import numbers
from ._graph import Affine, Function, Graph, Node, Numbers, Product, Reshaped, Sum

HEADROOM = 1 + 2.0**-6
MOST_MARGIN = 2**20
ROUNDED = 1 + 2.0**-30
"""Sums of doubles are off by less."""
MOST_OF_A_SUM = 2.0
"""How far a sum's scale may be above that of its range, so that it takes no level."""
FINEST_RELU = 2.0**-24
"""The least `precision` of a relu."""
LARGEST = 400
"""Scales lie between 2^-LARGEST and 2^LARGEST, so that a double holds their squares."""


@dataclasses.dataclass(frozen=True)
class Range:
    """How large the values of a tensor are."""

    most: float
    """No absolute value is larger."""
    scale: float
    """What the values are divided by, if no operand says otherwise (`scales_of`). It is a little
    larger than `most` where errors must not lead out of -1 … 1."""
    seen: float
    """The largest absolute value among the examples, and what `compile` was told of others."""
    proven: bool
    """Whether it follows from the ranges of the operands; otherwise it is what the examples have,
    times the margin, and an input that leads outside makes the result wrong."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """What examples say about a graph: the range of each node, and a polynomial, or stages of a
    sign, for each function."""

    ranges: tuple[Range, ...]
    functions: tuple[Polynomial | SignStages | None, ...]
    """For each node a polynomial on -1 … 1 of its operand, divided by the operand's scale, itself
    divided by the scale of the result; the stages of a relu; None where the node is no function.
    `scales_of` has the scales."""


def fit(
    graph: Graph,
    examples: Any,
    margin: float,
    precision: float,
    others: Numbers | None = None,
) -> Fit:
    """Fits ranges with a margin, and polynomials to within `precision` of the range of their
    results. `others` are the largest absolute values that further examples have at the nodes.
    `EncodingError` for examples that are no finite numbers, or lead to some, and for values far
    outside of what doubles hold the squares of."""
    if not 1 <= margin <= MOST_MARGIN:
        raise ParameterError(f"margin: {margin:g} is outside 1 … {MOST_MARGIN}")
    if not 2**-30 <= precision <= 0.5:
        raise ParameterError(f"precision: {precision:g} is outside 2^-30 … 1/2")
    tensors = graph.tensors(examples)
    if len(tensors[0]) == 0:
        raise ParameterError("examples: there is none")
    more = np.zeros(len(tensors)) if others is None else others
    users, scales = graph.users(), list[float]()
    ranges: list[Range] = []
    functions: list[Polynomial | SignStages | None] = []
    for node, tensor, other in zip(graph.nodes, tensors, more, strict=True):
        if not np.isfinite(tensor).all():
            raise EncodingError(f"{node.name}: the examples lead to a number that is not finite")
        seen = max(float(np.abs(tensor).max()), float(other))
        function: Polynomial | SignStages | None = None
        if isinstance(node, Reshaped):
            ranges.append(ranges[node.inputs[0]])
        elif isinstance(node, Function):
            before, scale = ranges[node.inputs[0]], scales[node.inputs[0]]
            if node.function == "relu":
                if precision < FINEST_RELU:
                    raise ParameterError(
                        f"{node.name}: precision: {precision:.3g} is below 2^-24, a relu's finest"
                    )
                function = minimax_sign(precision, precision)
                most = before.most * (1 + function.error / 2)
                ranges.append(Range(most, max(scale, most), seen, proven=True))
            else:
                most, function = _polynomial(node, scale, precision)
                ranges.append(Range(most, most, seen, proven=True))
        else:
            most, limit = (seen or 1.0) * margin, _proven(node, [ranges[i] for i in node.inputs])
            proven = 0 < limit <= most
            most = limit if proven else most
            ranges.append(Range(most, most * HEADROOM, seen, proven))
        functions.append(function)
        scales.append(ranges[-1].scale)
        _settle(graph, users, scales)
        if not 2.0**-LARGEST < scales[-1] < 2.0**LARGEST:
            raise EncodingError(
                f"{node.name}: its values go up to {scales[-1]:.3g}, and tensors of a network lie "
                f"between 2^-{LARGEST} and 2^{LARGEST}: scale the inputs or the layers"
            )
    return Fit(tuple(ranges), tuple(functions))


def scales_of(graph: Graph, fitted: Fit) -> list[float]:
    """What each tensor is divided by: its range's scale, or what `_settle` makes of it. Values are
    then at most 1, but for terms of a sum. Polynomials are fitted to the scales of their operands.
    """
    users, scales = graph.users(), list[float]()
    for each in fitted.ranges:
        scales.append(each.scale)
        _settle(graph, users, scales)
    return scales


def _settle(graph: Graph, users: Sequence[Sequence[int]], scales: list[float]) -> None:
    """Gives the last of the scales what its node's operands say, and a sum's terms what the sum
    says.

    A map that only a sum uses gives its result at the sum's scale; a sum has the scale of an
    operand that no map makes, where its own range is not above it, and not far below, where
    functions of the sum would be less precise. So most sums take no level.
    """
    number = len(scales) - 1
    node = graph.nodes[number]
    if isinstance(node, Reshaped):
        scales[number] = scales[node.inputs[0]]
    if isinstance(node, Product):
        scales[number] = scales[node.inputs[0]] * scales[node.inputs[1]]
    if square := square_of(node):
        scales[number] = square * scales[node.inputs[0]] ** 2
    if not isinstance(node, Sum):
        return
    free = [i for i in node.inputs if isinstance(graph.nodes[i], Affine) and users[i] == [number]]
    kept = [scales[i] for i in node.inputs if i not in free]
    if kept and scales[number] <= max(kept) <= MOST_OF_A_SUM * scales[number]:
        scales[number] = max(kept)
    for i in free:
        scales[i] = scales[number]


def square_of(node: Node) -> float:
    """The factor a of a·x², or 0 for other nodes. As a product, whose scale has the factor, it
    takes one level; as a polynomial it takes two."""
    powers = node.coefficients if isinstance(node, Function) else ()
    return max(0.0, powers[2]) if len(powers) == 3 and not any(powers[:2]) else 0.0


def _proven(node: Node, operands: Sequence[Range]) -> float:
    """What no value can be above if those of the operands are within their ranges."""
    if isinstance(node, Affine):
        sums = node.row_sums() * operands[0].most
        return float((sums if node.bias is None else sums + np.abs(node.bias)).max()) * ROUNDED
    if isinstance(node, Sum):
        return sum(each.most for each in operands) * ROUNDED
    if isinstance(node, Product):
        return math.prod(each.most for each in operands) * ROUNDED
    return math.inf


def largest_of_others(graph: Graph, seen: Sequence[float]) -> Numbers:
    """The largest absolute values of further examples at the nodes of a graph; `ParameterError`
    for another number of them, and for negative ones."""
    out = numbers("seen", "largest values", seen)
    if out.shape != (len(graph.nodes),) or (out < 0).any():
        raise ParameterError(
            f"seen: {shown(out.shape)} numbers, {np.sum(out < 0)} of them negative, are not the "
            f"largest absolute values at {len(graph.nodes)} nodes"
        )
    return out


def _polynomial(node: Function, scale: float, precision: float) -> tuple[float, Polynomial]:
    """The largest value of a function on ±scale, and a polynomial of its values divided by that."""
    points = np.cos(np.linspace(0, math.pi, 4097))
    largest = float(np.abs(node.of(scale * points)).max()) or 1.0

    def scaled(u: float) -> float:
        return float(node.of(np.asarray(scale * u))) / largest

    try:
        if node.function == "polynomial":
            found = approximate(scaled, -1, 1, degree=max(1, len(node.coefficients) - 1))
        else:
            found = approximate(scaled, -1, 1, error=precision)
    except ParameterError as error:
        raise ParameterError(
            f"{node.name}: {node.function} on ±{scale:.3g}: {error}; scale the layer before it, or "
            "take a larger precision"
        ) from error
    # It may be a little larger than the function, and than at the points.
    over = max(1.0, float(np.abs(np.asarray(found(points))).max()) * (1 + 2**-20))
    return largest * over, Polynomial(found.coefficients / over, "chebyshev", -1, 1)
