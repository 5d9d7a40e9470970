"""From a graph in clear to steps on ciphertexts: fit, pack, place, keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .._core.literal import as_integer, as_real
from .._core.text import of_bytes
from ..ckks._functions import SignStages
from ..ckks._parameters import Parameters
from ..ckks._parameters import parameters as choose
from ..ckks._polynomials import Polynomial
from ..errors import NoiseError, ParameterError
from ._fit import Fit, fit
from ._graph import Affine, Function, Graph, Input, Reshaped, Sum
from ._network import Ends, Network
from ._pack import Layout, Packing
from ._place import Levels, place, with_refreshes
from ._steps import MapStep, PolynomialStep, ReluStep, Step, SumStep

MOST_DEPTH = 24
"""Levels between two bootstraps, at most: more leave no room for the bootstrap."""

MOST_SLOTS = 2**15
"""Slots of the rings that networks are planned for first."""


def compile_graph(
    graph: Graph,
    examples: Any,
    *,
    margin: float,
    precision: float,
    images: int,
    max_key_bytes: int | None,
    parameters: Parameters | None,
) -> Network:
    """The network of a graph; `compile` has the arguments."""
    fitted = fit(graph, examples, as_real("margin", margin), as_real("precision", precision))
    together = as_integer("images", images, 1, MOST_SLOTS)
    slots = parameters.slots if parameters else MOST_SLOTS
    packing = Packing(graph, slots // together)
    scales = scales_of(graph, fitted)
    steps = pack(graph, fitted, packing, scales, together)
    result = len(graph.nodes) - 1
    input_layout, output_layout = packing.layouts[0], packing.layouts[result]
    placed, chosen, keys = _placed(steps, input_layout.period * together, parameters)
    if max_key_bytes is not None:
        size = chosen.key_size(**keys)
        if size > max_key_bytes:
            raise ParameterError(
                f"max_key_bytes: the keys take {of_bytes(size)}, above {of_bytes(max_key_bytes)}; "
                "a smaller precision takes fewer levels, and so smaller keys"
            )
    ends = Ends(
        parameters=chosen,
        keys=keys,
        images=together,
        input=_end(graph, 0, input_layout, scales[0]),
        output=_end(graph, result, output_layout, scales[result]),
    )
    return Network(graph=graph, fit=fitted, steps=placed, ends=ends)


def _end(graph: Graph, number: int, layout: Layout, scale: float) -> Any:
    from ._network import End

    return End(graph.nodes[number].shape, layout.places, layout.period, scale)


# ---- scales


def scales_of(graph: Graph, fitted: Fit) -> list[float]:
    """What each tensor is divided by: its range, so that values are at most 1. A map that only a
    sum uses gives its result at the sum's scale; a sum has the scale of an operand that no map
    makes, where its own range allows it. So most sums take no level."""
    scales = [each.most for each in fitted.ranges]
    users = graph.users()
    for number, node in enumerate(graph.nodes):
        if isinstance(node, Reshaped) or (isinstance(node, Function) and _is_relu(fitted, number)):
            scales[number] = scales[node.inputs[0]]
        if not isinstance(node, Sum):
            continue
        free = [
            i for i in node.inputs if isinstance(graph.nodes[i], Affine) and users[i] == [number]
        ]
        bound = [scales[i] for i in node.inputs if i not in free]
        if bound and max(bound) >= scales[number]:
            scales[number] = max(bound)
        for i in free:
            scales[i] = scales[number]
    return scales


def _is_relu(fitted: Fit, number: int) -> bool:
    return isinstance(fitted.functions[number], SignStages)


# ---- steps


def pack(
    graph: Graph, fitted: Fit, packing: Packing, scales: Sequence[float], images: int
) -> list[Step]:
    """A step for each node but those that move nothing."""
    steps: list[Step] = []
    number_of: list[int] = []
    for number, node in enumerate(graph.nodes):
        bound = fitted.ranges[number].most / scales[number]
        inputs = tuple(number_of[i] for i in node.inputs)
        function = fitted.functions[number]
        if isinstance(node, Reshaped):
            number_of.append(inputs[0])
            continue
        if isinstance(node, Input):
            steps.append(Step(name=node.name, inputs=(), bound=1.0))
        elif isinstance(node, Affine):
            source, target = packing.layouts[node.inputs[0]], packing.layouts[number]
            bias = None if node.bias is None else node.bias / scales[number]
            factor = scales[node.inputs[0]] / scales[number]
            steps.append(
                MapStep(
                    name=node.name,
                    inputs=inputs,
                    bound=bound,
                    entries=packing.entries(number),
                    source=source,
                    target=target,
                    images=images,
                    factor=factor,
                    bias=bias,
                )
            )
        elif isinstance(node, Sum):
            factors = tuple(scales[i] / scales[number] for i in node.inputs)
            steps.append(SumStep(name=node.name, inputs=inputs, bound=bound, factors=factors))
        elif isinstance(function, Polynomial):
            steps.append(
                PolynomialStep(name=node.name, inputs=inputs, bound=1.0, polynomial=function)
            )
        else:
            assert isinstance(function, SignStages)
            steps.append(ReluStep(name=node.name, inputs=inputs, bound=bound, stages=function))
        number_of.append(len(steps) - 1)
    return steps


# ---- parameters and bootstraps


def _placed(
    steps: Sequence[Step], slots: int, parameters: Parameters | None
) -> tuple[tuple[Step, ...], Parameters, dict[str, Any]]:
    """The steps with their bootstraps, parameters, and the arguments for the client's keys."""
    if parameters is not None:
        placed = with_refreshes(steps, place(steps, _levels(parameters)))
        return placed, parameters, keys_under(placed, slots, parameters)
    total = _total_depth(steps)
    for N in (None, 2**16, 2**17):
        try:
            chosen = choose(total, slots=slots, N=N)
            return tuple(steps), chosen, keys_under(steps, slots, chosen)
        except (NoiseError, ParameterError):
            continue
    best: tuple[float, tuple[Step, ...], int] | None = None
    deepest = max(step.depth for step in steps)
    for depth in range(deepest, min(total, MOST_DEPTH) + 1):
        try:
            levels = _levels(choose(depth, bootstrap=True))
            placed = with_refreshes(steps, place(steps, levels))
        except (NoiseError, ParameterError):
            continue
        cost = _cost(placed, levels.refreshed)
        if best is None or cost < best[0]:
            best = cost, placed, depth
    if best is None:
        raise ParameterError(
            f"the network takes {total} levels, a step of it {deepest}, and no parameters with "
            "bootstraps carry it: a larger precision takes fewer"
        )
    chosen = choose(best[2], bootstrap=True)
    return best[1], chosen, keys_under(best[1], slots, chosen)


def _levels(parameters: Parameters) -> Levels:
    refreshes = parameters.bootstrap is not None
    return Levels(
        fresh=parameters.depth,
        refreshed=parameters.depth if refreshes else 0,
        least=parameters.least_bootstrap_level if refreshes else 0,
    )


def _cost(placed: Sequence[Step], depth: int) -> float:
    """Bootstraps, each of which costs with the levels that it brings."""
    from ._steps import RefreshStep

    return sum(isinstance(step, RefreshStep) for step in placed) * (depth + 14.0)


def _total_depth(steps: Sequence[Step]) -> int:
    depths: list[int] = []
    for step in steps:
        depths.append(step.depth + max((depths[i] for i in step.inputs), default=0))
    return max(depths)


def _runner(steps: Sequence[Step]) -> Any:
    def run(x: Any) -> Any:
        return run_steps(
            steps, x, lambda _, step, level: x.server.encode(step.linear_map(), level)
        )

    return run


def run_steps(steps: Sequence[Step], x: Any, maps: Any) -> Any:
    """The result of the last step, for an array on a server."""
    server = x.server
    out: list[Any] = [x]
    last = [max((i for i, s in enumerate(steps) if n in s.inputs), default=len(steps))
            for n in range(len(steps))]
    for number, step in enumerate(steps):
        if number == 0:
            continue
        out.append(step.run(server, maps, number, *(out[i] for i in step.inputs)))
        for i in step.inputs:
            if last[i] == number:
                out[i] = None  # its memory is free
    return out[-1]


def keys_under(steps: Sequence[Step], slots: int, parameters: Parameters) -> dict[str, Any]:
    """The arguments of `evaluation_keys` for steps under given parameters."""
    from ..ckks._tracer import TracingServer

    server = TracingServer(parameters, False)
    x = server.fresh("real", (slots,), 1.0, False)
    _runner(steps)(x)
    asked, refreshed = server._core.run.asked(), server._core.refreshed_slots
    return {
        "relinearise": asked.relinearise,
        "rotations": sorted(asked.rotations),
        "conjugate": asked.conjugate and not refreshed,
        "bootstrap": refreshed,
    }
