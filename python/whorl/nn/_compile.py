"""Compiles graphs in clear to steps on ciphertexts: fit, pack, place, and the error budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.literal import as_integer, as_real
from .._core.progress import Report, reports
from .._core.text import of_bytes
from ..ckks._functions import SignStages
from ..ckks._parameters import Parameters
from ..ckks._polynomials import Polynomial
from ..errors import ParameterError, ShapeError
from ._budget import budget, costs
from ._difference import difference
from ._ends import End, Ends
from ._fit import Fit, fit, largest_of_others, scales_of, square_of
from ._graph import Affine, Entries, Graph, Input, Node, Product, Reshaped, Sum
from ._keys import file_size
from ._merge import merged
from ._network import Network
from ._pack import Packing
from ._place import planned
from ._steps import MapStep, PolynomialStep, ProductStep, Step, SumStep

MOST_SLOTS = 2**15
"""Slots of the rings that networks are planned for."""
MOST_EXAMPLES = 32
"""Ciphertexts that errors are simulated on, of the largest tensor."""


def compile_graph(
    graph: Graph,
    examples: Any,
    *,
    seen: Sequence[float] | None,
    margin: float,
    precision: float,
    images: int,
    max_key_bytes: int | None,
    parameters: Parameters | None,
    progress: bool | Report | None,
) -> Network:
    """The network of a graph; `compile` has the arguments."""
    given = graph
    graph, kept = merged(given)
    others = None if seen is None else largest_of_others(given, seen)[kept]
    fitted = fit(
        graph, examples, as_real("margin", margin), as_real("precision", precision), others
    )
    together = as_integer("images", images, 1, MOST_SLOTS)
    if together & (together - 1):
        raise ParameterError(f"images: {together} is not a power of two")
    room = parameters.slots if parameters else MOST_SLOTS
    if together > room:
        raise ParameterError(f"images: {together} are more than the {room} slots of a ciphertext")
    most = room // together
    with reports(progress, "layouts") as report:
        packing = Packing(graph, most, report=report)
    if together > 1:
        _check_fits(graph, packing, together)
    scales = scales_of(graph, fitted)
    last = len(graph.nodes) - 1
    first, result = (
        End(graph.nodes[i].shape, packing.layouts[i].places, packing.layouts[i].period, scales[i])
        for i in (0, last)
    )
    shape: tuple[int, ...] = (first.period * together,)
    if first.parts > 1:
        shape = (first.parts, *shape)
    slots = packing.longest * together
    for few_rotations in (False, True):
        steps = pack(graph, fitted, packing, scales, together, few_rotations)
        placed, chosen = planned(steps, slots, parameters)
        with reports(progress, "steps") as report:
            found = costs(placed, shape, chosen, report)
        size = file_size(chosen, found.keys)
        if max_key_bytes is None or size <= max_key_bytes:
            break
    else:
        assert max_key_bytes is not None
        raise ParameterError(
            f"max_key_bytes: the keys take {of_bytes(size)}, above {of_bytes(max_key_bytes)}; "
            "a larger precision takes fewer levels, and so smaller keys"
        )
    ends = Ends(chosen, found.keys, together, first, result)
    most_parts = max(step.parts for step in placed)
    some = _spread(examples, max(1, MOST_EXAMPLES // most_parts) * together)
    budgeted, slots_out = budget(placed, found.errors, ends.packed(some))
    off = difference(ends.unpacked(slots_out, len(some)), graph(some), stacklevel=3)
    result = dataclasses.replace(result, error=budgeted[-1].error * result.scale)
    ends = dataclasses.replace(ends, output=result)
    return Network(graph, fitted, budgeted, ends, packing.grids, found.levels, off)


def _check_fits(graph: Graph, packing: Packing, together: int) -> None:
    for node, layout in zip(graph.nodes, packing.layouts, strict=True):
        if layout.parts > 1:
            raise ShapeError(
                f"{node.name}: a tensor of shape {node.shape} takes more than "
                f"{packing.most} slots, the share of each of {together} images in a ciphertext: "
                "with images=1 it may take several ciphertexts"
            )


def _spread(examples: Any, most: int) -> Any:
    """At most so many examples, from all of them."""
    return np.asarray(examples)[:: max(1, -(-len(examples) // most))]


# ---- steps


def pack(
    graph: Graph,
    fitted: Fit,
    packing: Packing,
    scales: Sequence[float],
    images: int,
    few_rotations: bool,
) -> list[Step]:
    """A step for each node but those that move nothing."""
    steps: list[Step] = []
    number_of: list[int] = []
    for number, node in enumerate(graph.nodes):
        if isinstance(node, Reshaped):
            number_of.append(number_of[node.inputs[0]])
            continue
        inputs = tuple(number_of[i] for i in node.inputs)
        if isinstance(node, (Sum, Product)):
            inputs = _together(
                node, number, inputs, packing, fitted, scales, images, few_rotations, steps
            )
        bound = _bound(fitted.ranges[number].most, scales[number])
        parts = packing.layouts[number].parts
        function = fitted.functions[number]
        step: Step
        if isinstance(node, Input):
            step = Step(name=node.name, inputs=(), bound=bound, parts=parts)
        elif isinstance(node, Affine):
            step = MapStep(
                name=node.name,
                inputs=inputs,
                bound=bound,
                parts=parts,
                entries=packing.entries(number),
                source=packing.layouts[node.inputs[0]],
                target=packing.layouts[number],
                images=images,
                factor=scales[node.inputs[0]] / scales[number],
                bias=None if node.bias is None else node.bias / scales[number],
                few_rotations=few_rotations,
            )
        elif isinstance(node, Product):
            step = ProductStep(name=node.name, inputs=inputs, bound=bound, parts=parts)
        elif square_of(node):
            bound = steps[inputs[0]].bound ** 2
            step = ProductStep(name=node.name, inputs=inputs * 2, bound=bound, parts=parts)
        elif isinstance(node, Sum):
            factors = tuple(scales[i] / scales[number] for i in node.inputs)
            step = SumStep(name=node.name, inputs=inputs, bound=bound, parts=parts, factors=factors)
        elif isinstance(function, Polynomial):
            step = PolynomialStep(
                name=node.name, inputs=inputs, bound=bound, parts=parts, polynomial=function
            )
        else:
            assert isinstance(function, SignStages)
            by = scales[node.inputs[0]] / scales[number]
            step = _relu(node.name, inputs[0], bound, by, function, steps)
        steps.append(step)
        number_of.append(len(steps) - 1)
    return steps


def _together(
    node: Node,
    number: int,
    inputs: tuple[int, ...],
    packing: Packing,
    fitted: Fit,
    scales: Sequence[float],
    images: int,
    few_rotations: bool,
    steps: list[Step],
) -> tuple[int, ...]:
    """The operands of a sum or a product, all of them moved to where the first one lies."""
    target, out = packing.layouts[number], []
    for operand, step in zip(node.inputs, inputs, strict=True):
        source = packing.layouts[operand]
        if source.same(target):
            out.append(step)
            continue
        every = np.arange(node.size)
        steps.append(
            MapStep(
                name=f"{node.name}.moved",
                inputs=(step,),
                bound=_bound(fitted.ranges[operand].most, scales[operand]),
                parts=target.parts,
                entries=Entries(every, every, np.ones(node.size)),
                source=source,
                target=target,
                images=images,
                factor=1.0,
                bias=None,
                few_rotations=few_rotations,
            )
        )
        out.append(len(steps) - 1)
    return tuple(out)


def _bound(most: float, scale: float) -> float:
    """The largest value at a scale; what roundings of the range make of 1 is 1."""
    return 1.0 if 1 < most / scale <= 1 + 2.0**-20 else most / scale


def _relu(
    name: str, x: int, bound: float, by: float, stages: SignStages, steps: list[Step]
) -> Step:
    """x·(sign(x)/2 + 1/2), times the factor `by` that brings it to its scale: at most 1, and less
    where the sign's error could lead out of -1 … 1. The stages of the sign are steps of their own
    before it, so that each has an error, and bootstraps may come between."""
    sign, halves = x, 1.0
    for number, stage in enumerate(stages.stages, 1):
        if number == len(stages.stages):
            halves = by / 2
        steps.append(
            PolynomialStep(
                name=f"{name}.sign{number}",
                inputs=(sign,),
                bound=(1 + stages.error) * halves if halves < 1 else 1.0,
                parts=steps[x].parts,
                polynomial=Polynomial(stage.coefficients * halves, "chebyshev", -1, 1),
            )
        )
        sign = len(steps) - 1
    return ProductStep(name=name, inputs=(x, sign), bound=bound, parts=steps[x].parts, shift=by / 2)
