"""Networks and their ends, read from bytes that may be anything."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ckks._functions import SignStages
from ..ckks._parameters import Parameters
from ..ckks._polynomials import Polynomial
from ..errors import FormatError, NoiseError, ParameterError, RangeError, ShapeError
from ._compile import pack
from ._ends import End, Ends
from ._file import Fields, Reader, real, whole
from ._fit import Fit, Range, scales_of
from ._graph import FUNCTIONS, KINDS, Entries, Function, Graph, Node, Shape
from ._network import Network
from ._pack import MOST_PARTS, Grid, Packing
from ._place import with_refreshes
from ._steps import Step

MOST_NODES, MOST_SLOTS, MOST_ENTRIES = 10_000, 2**16, 2**28
MOST_VALUES = MOST_SLOTS * MOST_PARTS


def network_from(data: bytes, max_bytes: int | None, allow_insecure: bool) -> Network:
    """`FormatError` and its kinds for bytes that are no network."""
    reader = Reader(data, max_bytes)
    _check_kind(reader, "network")
    try:
        return _network(reader, allow_insecure)
    except (NoiseError, ShapeError, ParameterError, TypeError, OverflowError) as error:
        if isinstance(error, ParameterError) and "security" in str(error):
            raise
        raise FormatError(f"a network's parts do not go together: {error}") from None


def ends_from(data: bytes, max_bytes: int | None, allow_insecure: bool) -> Ends:
    """The ends of a network; errors as of `network_from`."""
    reader = Reader(data, max_bytes)
    _check_kind(reader, "ends")
    return _ends_of(reader, Fields(reader.header.get("ends"), "ends"), allow_insecure)


def _check_kind(reader: Reader, wanted: str) -> None:
    kind = reader.header.text("kind")
    if kind != wanted:
        raise FormatError(f"a network's file has kind {kind!r}; {wanted!r} is needed")


# ---- nodes


def _graph(reader: Reader) -> Graph:
    """The nodes again. `RangeError` for shapes that do not follow from one another."""
    fields = reader.header.items("nodes", Fields)
    if not 1 <= len(fields) <= MOST_NODES or fields[0].text("is") != "Input":
        raise RangeError(
            f"a network has {len(fields)} nodes; 1 … {MOST_NODES} are read, and the first one is "
            "its input"
        )
    nodes: list[Node] = []
    entries = 0
    for number, each in enumerate(fields):
        kind = each.text("is")
        if kind not in _NODES or (kind == "Input") != (number == 0):
            raise FormatError(f"{each.name}: {kind!r:.40} is no kind of node here")
        inputs = each.items("inputs", functools.partial(whole, least=0, most=number - 1))
        least, most = _INPUTS.get(kind, (1, 1))
        if not least <= len(inputs) <= most:
            raise RangeError(f"{each.name}: {len(inputs)} inputs are not what {kind} has")
        _refuse_unless(math.prod(each.shape("shape")) <= MOST_VALUES, each)
        made = _NODES[kind](reader, each, [nodes[i].shape for i in inputs])
        entries += _entries_of(made, each.shape("shape"))
        _refuse_unless(entries <= MOST_ENTRIES, each)
        made |= {"name": each.text("name"), "inputs": tuple(inputs), "shape": each.shape("shape")}
        nodes.append(KINDS[kind](**made))
    return Graph(tuple(nodes))


def _entries_of(made: dict[str, Any], shape: Shape) -> int:
    """How many entries the matrix of a node has at most."""
    weights = made.get("weight")
    if weights is None:
        return int(made["matrix"].values.size) if "matrix" in made else 0
    return int(weights.size) * (math.prod(shape[1:]) if weights.ndim == 4 else 1)


def _refuse_unless(holds: bool, fields: Fields) -> None:
    if not holds:
        raise RangeError(f"{fields.name}: its shape does not follow from its inputs and numbers")


def _array_or_none(reader: Reader, fields: Fields, field: str) -> Any:
    place = fields.get(field)
    return None if place is None else reader.array(place, f"{fields.name}.{field}")


def _bias(reader: Reader, fields: Fields) -> dict[str, Any]:
    bias = _array_or_none(reader, fields, "bias")
    _refuse_unless(bias is None or bias.shape == (math.prod(fields.shape("shape")),), fields)
    return {"bias": bias}


def _pair(fields: Fields, field: str, least: int) -> tuple[int, int]:
    values = fields.items(field, lambda v, f: whole(v, f, least, 2**16))
    if len(values) != 2:
        raise RangeError(f"{fields.name}.{field}: two integers are needed")
    return values[0], values[1]


def _input(_: Reader, __: Fields, ___: list[Shape]) -> dict[str, Any]:
    return {}


def _same(_: Reader, fields: Fields, shapes: list[Shape]) -> dict[str, Any]:
    _refuse_unless(all(shape == fields.shape("shape") for shape in shapes), fields)
    return {}


def _reshaped(_: Reader, fields: Fields, shapes: list[Shape]) -> dict[str, Any]:
    _refuse_unless(math.prod(shapes[0]) == math.prod(fields.shape("shape")), fields)
    return {}


def _linear(reader: Reader, fields: Fields, shapes: list[Shape]) -> dict[str, Any]:
    weight = reader.array(fields.get("weight"), f"{fields.name}.weight")
    size = math.prod(fields.shape("shape"))
    _refuse_unless(weight.shape == (size, math.prod(shapes[0])), fields)
    return {"weight": weight, **_bias(reader, fields)}


def _sparse(reader: Reader, fields: Fields, shapes: list[Shape]) -> dict[str, Any]:
    rows, columns, values = (
        reader.array(fields.get(each), f"{fields.name}.{each}")
        for each in ("rows", "columns", "values")
    )
    for places, most in [(rows, fields.shape("shape")), (columns, shapes[0])]:
        inside = (places >= 0) & (places < math.prod(most)) & (places == np.floor(places))
        _refuse_unless(places.shape == values.shape and values.ndim == 1 and inside.all(), fields)
    entries = Entries(rows.astype(np.int64), columns.astype(np.int64), values)
    return {"matrix": entries, **_bias(reader, fields)}


def _windows(reader: Reader, fields: Fields, shapes: list[Shape]) -> dict[str, Any]:
    weight = reader.array(fields.get("weight"), f"{fields.name}.weight")
    step, dilation = _pair(fields, "step", 1), _pair(fields, "dilation", 1)
    padding, groups = _pair(fields, "padding", 0), fields.whole("groups", 1, 2**16)
    image, shape = shapes[0], fields.shape("shape")
    _refuse_unless(len(image) == len(shape) == 3 and weight.ndim == 4, fields)
    due = (
        (image[1 + i] + 2 * padding[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // step[i] + 1
        for i in range(2)
    )
    _refuse_unless(shape == (len(weight), *due), fields)
    _refuse_unless(weight.shape[1] * groups == image[0] and len(weight) % groups == 0, fields)
    return {
        "weight": weight,
        "step": step,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "image": image,
        **_bias(reader, fields),
    }


def _function_node(_: Reader, fields: Fields, shapes: list[Shape]) -> dict[str, Any]:
    function = fields.text("function")
    if function != "polynomial" and function not in FUNCTIONS:
        raise FormatError(f"{fields.name}: {function!r:.40} is no function")
    coefficients = fields.items("coefficients", real)
    if (function == "polynomial") != bool(coefficients) or len(coefficients) > 4096:
        raise RangeError(f"{fields.name}: {len(coefficients)} coefficients of {function!r}")
    _refuse_unless(shapes[0] == fields.shape("shape"), fields)
    return {"function": function, "coefficients": tuple(coefficients)}


_INPUTS = {"Input": (0, 0), "Sum": (1, MOST_NODES), "Product": (2, 2)}
"""How many inputs nodes have; others have one."""
_NODES: dict[str, Callable[[Reader, Fields, list[Shape]], dict[str, Any]]] = {
    "Input": _input,
    "Linear": _linear,
    "Sparse": _sparse,
    "Windows": _windows,
    "Function": _function_node,
    "Sum": _same,
    "Product": _same,
    "Reshaped": _reshaped,
}
"""Reads what a kind of node has beside its name, inputs and shape."""


# ---- what was fitted, placed and budgeted


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
    scales = scales_of(graph, fitted)
    for end, number in [(ends.input, 0), (ends.output, len(graph.nodes) - 1)]:
        layout, node = packing.layouts[number], graph.nodes[number]
        same = end.period == layout.period and np.array_equal(end.places, layout.places)
        if not same or end.shape != node.shape or end.scale != scales[number]:
            raise RangeError("ends: they are not those of the graph")
    few = reader.header.get("few_rotations")
    if type(few) is not bool:
        raise RangeError("few_rotations: true or false is needed")
    steps = pack(graph, fitted, packing, scales, ends.images, few)

    def refresh(value: Any, field: str) -> tuple[int, int]:
        if not isinstance(value, list) or len(value) != 2:
            raise RangeError(f"{field}: two integers are needed")
        number = whole(value[0], field, 1, len(steps) - 1)
        return number, whole(value[1], field, 0, number - 1)

    refreshes = reader.header.items("refreshes", refresh)
    slots = packing.longest * ends.images
    placed, least = with_refreshes(steps, refreshes, slots, ends.parameters)
    facts = reader.header.items("steps", Fields)
    if len(facts) != len(placed):
        raise RangeError(f"{len(facts)} errors meet {len(placed)} steps")
    done: list[Step] = []
    for step, fields in zip(placed, facts, strict=True):
        error = fields.real("error")
        if not error > 0:
            raise RangeError(f"{fields.name}.error: {error:g} is not positive")
        done.append(dataclasses.replace(step, error=error))
    levels = tuple(
        fields.whole("level", level, ends.parameters.depth)
        for fields, level in zip(facts, least, strict=True)
    )
    return Network(graph, fitted, tuple(done), ends, packing.grids, levels)


# ---- ends


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
    if images & (images - 1):
        raise RangeError(f"ends.images: {images} is not a power of two")
    return Ends(
        parameters,
        _keys_of(Fields(fields.get("keys"), "keys"), parameters.top),
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
    end = most * MOST_PARTS if period == most else period
    if (whole_places != places).any() or not ((places >= 0) & (places < end)).all():
        raise RangeError(f"{fields.name}: a place is no slot below {end}")
    scale, error = fields.real("scale"), fields.real("error")
    if not (scale > 0 and error >= 0):
        raise RangeError(f"{fields.name}: scale = {scale:g}, error = {error:g}")
    return End(shape, whole_places, period, scale, error)


def _keys_of(fields: Fields, top: int) -> dict[str, Any]:
    conjugate = fields.get("conjugate")
    if type(conjugate) is not bool:
        raise RangeError("keys.conjugate: true or false is needed")
    return {
        "relinearise": fields.whole("relinearise", 2, 8),
        "rotations": fields.items("rotations", lambda v, f: whole(v, f, -(2**17), 2**17)),
        "conjugate": conjugate,
        "bootstrap": fields.items("bootstrap", lambda v, f: whole(v, f, 1, MOST_SLOTS)),
        "low_rotations": dict(
            fields.items("low_rotations", lambda v, f: _low_rotations(v, f, top))
        ),
    }


def _low_rotations(value: Any, field: str, top: int) -> tuple[int, list[int]]:
    if type(value) is not list or len(value) != 2 or type(value[1]) is not list:
        raise RangeError(f"{field}: a level and a list of rotations are needed")
    turns = [whole(each, field, -(2**17), 2**17) for each in value[1]]
    return whole(value[0], field, 0, top), turns
