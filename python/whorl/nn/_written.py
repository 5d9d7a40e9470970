"""Networks as bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ckks._functions import SignStages
from ..ckks._polynomials import Polynomial
from ._file import Writer
from ._fit import Fit
from ._graph import Function, Graph, Linear, Node, Shape, Sparse, Windows
from ._pack import Grid
from ._steps import MapStep, RefreshStep, Step


def network_bytes(
    graph: Graph,
    fit: Fit,
    grids: Mapping[Shape, Grid],
    steps: Sequence[Step],
    levels: Sequence[int],
    ends: Callable[[Writer], dict[str, Any]],
) -> bytes:
    """A network's file. Steps are not in it: they follow from what is."""
    writer = Writer()
    fitted = [
        {**dataclasses.asdict(each), "function": _function(function, writer)}
        for each, function in zip(fit.ranges, fit.functions, strict=True)
    ]
    return writer.bytes(
        {
            "kind": "network",
            "nodes": [_node(node, writer) for node in graph.nodes],
            "fit": fitted,
            "grids": [
                {"shape": list(shape), **dataclasses.asdict(grid)} for shape, grid in grids.items()
            ],
            "few_rotations": any(s.few_rotations for s in steps if isinstance(s, MapStep)),
            "refreshes": [list(each) for each in _refreshes_of(steps)],
            "steps": [
                {"error": step.error, "level": level}
                for step, level in zip(steps, levels, strict=True)
            ],
            "ends": ends(writer),
        }
    )


def _node(node: Node, writer: Writer) -> dict[str, Any]:
    out: dict[str, Any] = {
        "is": type(node).__name__,
        "name": node.name,
        "inputs": list(node.inputs),
        "shape": list(node.shape),
    }
    if isinstance(node, (Linear, Windows)):
        out |= {"weight": writer.array(node.weight)}
    if isinstance(node, (Linear, Windows, Sparse)):
        out |= {"bias": writer.array(node.bias)}
    if isinstance(node, Sparse):
        for name in ("rows", "columns", "values"):
            out[name] = writer.array(getattr(node.matrix, name).astype(np.float64))
    if isinstance(node, Windows):
        out |= {
            "step": node.step,
            "padding": node.padding,
            "dilation": node.dilation,
            "groups": node.groups,
        }
    if isinstance(node, Function):
        out |= {"function": node.function, "coefficients": list(node.coefficients)}
    return out


def _function(function: Polynomial | SignStages | None, writer: Writer) -> Any:
    if function is None:
        return None
    if isinstance(function, Polynomial):
        return {"coefficients": writer.array(function.coefficients)}
    return {
        "stages": [writer.array(each.coefficients) for each in function.stages],
        "epsilon": function.epsilon,
        "error": function.error,
    }


def _refreshes_of(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Before which step which operand is refreshed, by their numbers without bootstraps."""
    number_of: list[int] = []
    out: list[tuple[int, int]] = []
    count = 0
    for step in steps:
        if isinstance(step, RefreshStep):
            out.append((count, number_of[step.inputs[0]]))
            number_of.append(number_of[step.inputs[0]])
        else:
            number_of.append(count)
            count += 1
    return out
