"""Networks and their ends as bytes, and back."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ckks._functions import SignStages
from ..ckks._parameters import Parameters
from ..ckks._polynomials import Polynomial
from ..errors import FormatError, ParameterError, RangeError, ShapeError
from ._builder import Builder
from ._compile import pack, scales_of
from ._file import Fields, Reader, Writer, real, whole
from ._fit import Fit, Range
from ._graph import FUNCTIONS, Function, Graph, Linear, Node, Windows
from ._network import End, Ends, Network
from ._pack import Grid, Packing
from ._place import with_refreshes
from ._steps import RefreshStep, Step

MOST_NODES, MOST_SLOTS = 10_000, 2**16


def network_bytes(network: Network) -> bytes:
    writer = Writer()
    grids = [
        {"shape": list(shape), **dataclasses.asdict(grid)} for shape, grid in network.grids.items()
    ]
    fit = [
        {**dataclasses.asdict(each), "function": _function(function, writer)}
        for each, function in zip(network.fit.ranges, network.fit.functions, strict=True)
    ]
    steps = [
        {"error": step.error, "level": level}
        for step, level in zip(network.steps, network.levels, strict=True)
    ]
    return writer.bytes(
        {
            "kind": "network",
            "nodes": [_node(node, writer) for node in network.graph.nodes],
            "fit": fit,
            "grids": grids,
            "refreshes": [list(each) for each in refreshes_of(network.steps)],
            "steps": steps,
            "ends": _ends(network.ends, writer),
        }
    )


def ends_bytes(ends: Ends) -> bytes:
    writer = Writer()
    return writer.bytes({"kind": "ends", "ends": _ends(ends, writer)})


def network_from(data: bytes, max_bytes: int | None, allow_insecure: bool) -> Network:
    """`FormatError` and its kinds for bytes that are no network."""
    reader = Reader(data, max_bytes)
    _check_kind(reader, "network")
    try:
        return _network(reader, allow_insecure)
    except (ShapeError, ParameterError, TypeError, OverflowError) as error:
        if isinstance(error, ParameterError) and "security" in str(error):
            raise
        raise FormatError(f"a network's parts do not go together: {error}") from None


def ends_from(data: bytes, max_bytes: int | None, allow_insecure: bool) -> Ends:
    reader = Reader(data, max_bytes)
    _check_kind(reader, "ends")
    return _ends_of(reader, Fields(reader.header.get("ends"), "ends"), allow_insecure)


def _check_kind(reader: Reader, wanted: str) -> None:
    kind = reader.header.text("kind")
    if kind != wanted:
        raise FormatError(f"a network's file has kind {kind!r}; {wanted!r} is needed")


# ---- nodes


def _node(node: Node, writer: Writer) -> dict[str, Any]:
    out: dict[str, Any] = {
        "is": type(node).__name__,
        "name": node.name,
        "inputs": list(node.inputs),
        "shape": list(node.shape),
    }
    if isinstance(node, (Linear, Windows)):
        out |= {"weight": writer.array(node.weight), "bias": writer.array(node.bias)}
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


def _graph(reader: Reader) -> Graph:
    """The nodes again, by a builder, which checks shapes."""
    nodes = reader.header.items("nodes", Fields)
    if not 2 <= len(nodes) <= MOST_NODES or nodes[0].text("is") != "Input":
        raise RangeError(
            f"a network has {len(nodes)} nodes; 2 … {MOST_NODES} are read, and the "
            "first one is its input"
        )
    builder = Builder(nodes[0].shape("shape"))
    for number, fields in enumerate(nodes[1:], 1):
        kind = fields.text("is")
        if kind not in _BUILD:
            raise FormatError(f"{fields.name}: {kind!r:.40} is no kind of node")
        inputs = fields.items("inputs", functools.partial(whole, least=0, most=number - 1))
        if not inputs or (kind != "Sum" and len(inputs) != 1):
            raise RangeError(f"{fields.name}: {len(inputs)} inputs are not what a {kind} has")
        _BUILD[kind](builder, reader, fields, inputs)
        if builder.nodes[-1].shape != fields.shape("shape") or len(builder.nodes) != number + 1:
            raise RangeError(f"{fields.name}: its shape does not follow from its inputs")
    return Graph(tuple(builder.nodes))


def _array_or_none(reader: Reader, fields: Fields, field: str) -> Any:
    place = fields.get(field)
    return None if place is None else reader.array(place, f"{fields.name}.{field}")


def _pair(fields: Fields, field: str, least: int) -> tuple[int, int]:
    values = fields.items(field, lambda v, f: whole(v, f, least, 2**16))
    if len(values) != 2:
        raise RangeError(f"{fields.name}.{field}: two integers are needed")
    return values[0], values[1]


def _linear(builder: Builder, reader: Reader, fields: Fields, inputs: list[int]) -> None:
    weight = reader.array(fields.get("weight"), f"{fields.name}.weight")
    builder.linear(fields.text("name"), inputs[0], weight, _array_or_none(reader, fields, "bias"))


def _windows(builder: Builder, reader: Reader, fields: Fields, inputs: list[int]) -> None:
    builder.windows(
        fields.text("name"),
        inputs[0],
        reader.array(fields.get("weight"), f"{fields.name}.weight"),
        stride=_pair(fields, "step", 1),
        padding=_pair(fields, "padding", 0),
        dilation=_pair(fields, "dilation", 1),
        groups=fields.whole("groups", 1, 2**16),
    )
    # A bias may differ from place to place, after a normalisation of padded values.
    bias = _array_or_none(reader, fields, "bias")
    if bias is not None:
        node = builder.nodes[-1]
        if bias.shape != (node.size,):
            raise RangeError(f"{fields.name}.bias: {bias.shape} is not ({node.size},)")
        assert isinstance(node, Windows)
        builder.nodes[-1] = dataclasses.replace(node, bias=bias)


def _function_node(builder: Builder, _: Reader, fields: Fields, inputs: list[int]) -> None:
    function = fields.text("function")
    if function != "polynomial" and function not in FUNCTIONS:
        raise FormatError(f"{fields.name}: {function!r:.40} is no function")
    coefficients = fields.items("coefficients", real)
    if (function == "polynomial") != bool(coefficients) or len(coefficients) > 4096:
        raise RangeError(f"{fields.name}: {len(coefficients)} coefficients of {function!r}")
    builder.function(fields.text("name"), inputs[0], function, coefficients)


def _sum(builder: Builder, _: Reader, fields: Fields, inputs: list[int]) -> None:
    builder.sum(fields.text("name"), *inputs)


def _reshaped(builder: Builder, _: Reader, fields: Fields, inputs: list[int]) -> None:
    builder.reshaped(fields.text("name"), inputs[0], fields.shape("shape"))


_BUILD: dict[str, Callable[[Builder, Reader, Fields, list[int]], None]] = {
    "Linear": _linear,
    "Windows": _windows,
    "Function": _function_node,
    "Sum": _sum,
    "Reshaped": _reshaped,
}


# ---- what was fitted, placed and budgeted


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


def _function_of(reader: Reader, given: Any, field: str) -> Polynomial | SignStages | None:
    if given is None:
        return None
    fields = Fields(given, field)
    if "coefficients" in fields.values:
        return Polynomial(reader.array(fields.get("coefficients"), field), "chebyshev", -1, 1)
    stages = fields.items("stages", lambda v, f: Polynomial(reader.array(v, f), "chebyshev", -1, 1))
    return SignStages(stages, fields.real("epsilon"), fields.real("error"))


def _fit(reader: Reader, graph: Graph) -> Fit:
    ranges: list[Range] = []
    functions: list[Polynomial | SignStages | None] = []
    for fields in reader.header.items("fit", Fields):
        most, scale, seen = (fields.real(each) for each in ("most", "scale", "seen"))
        if not (0 < most <= scale * (1 + 2.0**-40) and 0 <= seen):
            raise RangeError(f"{fields.name}: {most:g} of a scale of {scale:g} is no range")
        ranges.append(Range(most, scale, seen, bool(fields.get("proven"))))
        function = _function_of(reader, fields.get("function"), f"{fields.name}.function")
        functions.append(function)
    if len(ranges) != len(graph.nodes):
        raise RangeError(f"{len(ranges)} ranges meet {len(graph.nodes)} nodes")
    for node, function in zip(graph.nodes, functions, strict=True):
        if isinstance(node, Function) != (function is not None):
            raise RangeError(f"{node.name}: a function and what stands for it do not go together")
    return Fit(tuple(ranges), tuple(functions))


def refreshes_of(steps: Sequence[Step]) -> list[tuple[int, int]]:
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


def _grids(reader: Reader) -> dict[tuple[int, ...], Grid]:
    out = {}
    for fields in reader.header.items("grids", Fields):
        grid = Grid(
            fields.whole("height", 1, MOST_SLOTS),
            fields.whole("width", 1, MOST_SLOTS),
            _pair(fields, "gap", 1),
            _pair(fields, "share", 1),
        )
        shape = fields.shape("shape")
        room = grid.gap[0] * shape[1] <= grid.height + grid.gap[0] - 1
        wide = grid.gap[1] * shape[2] <= grid.width + grid.gap[1] - 1 if len(shape) == 3 else False
        if not (room and wide) or any(s > g for s, g in zip(grid.share, grid.gap, strict=True)):
            raise RangeError(f"{fields.name}: an image of {shape} has no room in it")
        out[shape] = grid
    return out


def _network(reader: Reader, allow_insecure: bool) -> Network:
    graph = _graph(reader)
    ends = _ends_of(reader, Fields(reader.header.get("ends"), "ends"), allow_insecure)
    fitted = _fit(reader, graph)
    packing = Packing(graph, ends.parameters.slots // ends.images, _grids(reader))
    steps = pack(graph, fitted, packing, scales_of(graph, fitted), ends.images)

    def refresh(value: Any, field: str) -> tuple[int, int]:
        if not isinstance(value, list) or len(value) != 2:
            raise RangeError(f"{field}: two integers are needed")
        number = whole(value[0], field, 1, len(steps) - 1)
        operand = whole(value[1], field, 0, number - 1)
        if operand not in steps[number].inputs:
            raise RangeError(f"{field}: step {number} does not take step {operand}")
        return number, operand

    placed = with_refreshes(steps, reader.header.items("refreshes", refresh))
    facts = reader.header.items("steps", Fields)
    if len(facts) != len(placed):
        raise RangeError(f"{len(facts)} errors meet {len(placed)} steps")
    done: list[Step] = []
    for step, fields in zip(placed, facts, strict=True):
        error = fields.real("error")
        if not error > 0:
            raise RangeError(f"{fields.name}.error: {error:g} is not positive")
        done.append(dataclasses.replace(step, error=error))
    levels = tuple(fields.whole("level", 0, ends.parameters.depth) for fields in facts)
    return Network(graph, fitted, tuple(done), ends, packing.grids, levels)


# ---- ends


def _ends(ends: Ends, writer: Writer) -> dict[str, Any]:
    return {
        "parameters": ends.parameters.to_bytes().hex(),
        "keys": ends.keys,
        "images": ends.images,
        "input": _end(ends.input, writer),
        "output": _end(ends.output, writer),
    }


def _end(end: End, writer: Writer) -> dict[str, Any]:
    return {
        "shape": list(end.shape),
        "places": writer.array(end.places.astype(np.float64)),
        "period": end.period,
        "scale": end.scale,
        "error": end.error,
    }


def _ends_of(reader: Reader, fields: Fields, allow_insecure: bool) -> Ends:
    given = fields.get("parameters")
    if not isinstance(given, str):
        raise FormatError("ends.parameters: a text of hexadecimal digits is needed")
    try:
        frame = bytes.fromhex(given)
    except ValueError:
        raise FormatError("ends.parameters: these are no hexadecimal digits") from None
    parameters = Parameters.from_bytes(frame, allow_insecure=allow_insecure)
    images = fields.whole("images", 1, parameters.slots)
    return Ends(
        parameters,
        _keys_of(Fields(fields.get("keys"), "keys")),
        images,
        _end_of(reader, Fields(fields.get("input"), "input"), parameters.slots // images),
        _end_of(reader, Fields(fields.get("output"), "output"), parameters.slots // images),
    )


def _end_of(reader: Reader, fields: Fields, most: int) -> End:
    shape = fields.shape("shape")
    period = fields.whole("period", 1, most)
    places = reader.array(fields.get("places"), f"{fields.name}.places")
    if period & (period - 1) or places.shape != (math.prod(shape),):
        raise RangeError(f"{fields.name}: {places.shape} places of {shape} in {period} slots")
    whole_places = places.astype(np.int64)
    if (whole_places != places).any() or not ((places >= 0) & (places < period)).all():
        raise RangeError(f"{fields.name}: a place is no slot below {period}")
    scale, error = fields.real("scale"), fields.real("error")
    if not (scale > 0 and error >= 0):
        raise RangeError(f"{fields.name}: scale = {scale:g}, error = {error:g}")
    return End(shape, whole_places, period, scale, error)


def _keys_of(fields: Fields) -> dict[str, Any]:
    conjugate = fields.get("conjugate")
    if type(conjugate) is not bool:
        raise RangeError("keys.conjugate: true or false is needed")
    return {
        "relinearise": fields.whole("relinearise", 2, 8),
        "rotations": fields.items("rotations", lambda v, f: whole(v, f, -(2**17), 2**17)),
        "conjugate": conjugate,
        "bootstrap": fields.items("bootstrap", lambda v, f: whole(v, f, 1, MOST_SLOTS)),
    }
