"""Circuits: what they are, and how they are evaluated in clear and on encrypted bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.array import Shape
from .._core.integers import as_index, refuse, whole_numbers
from .._core.progress import Report, reports
from .._core.text import Shown, counted, shown
from ..binfhe._messages import as_bits
from ..errors import ParameterError, ShapeError
from ._bits import CLEAR, COSTS, Bits, Clear, bits_of
from ._graph import Graph
from ._netlist import Port
from ._schedule import Gather, Schedule, schedule

MOST_INPUTS = 4
"""Inputs that tables may have."""


class Circuit(Shown):
    """A Boolean circuit without state; `load` and `loads` read it.

    Nodes are shared where they are equal, constants are propagated, and what no output needs is
    dropped. Inverters are free: gates take inverted inputs. `gates`, `depth` and `layers` speak of
    the gates that encrypted bits of p = 4 take, each in one bootstrap but `mux`, which takes two:
    `and`, `xor`, `xor3` (of three inputs), `majority` and `mux`. `tables` has them for tables. On a
    server whose parameters do not carry `mux`, or gates of three inputs, others take their place.
    """

    __slots__ = ("_graph", "_inputs", "_name", "_outputs", "_schedules")

    def __init__(self, name: str, graph: Graph, inputs: list[Port], outputs: list[Port]) -> None:
        self._name, self._graph, self._inputs, self._outputs = name, graph, inputs, outputs
        self._schedules: dict[Any, Schedule] = {}

    @property
    def name(self) -> str:
        """The file, or what `loads` was given."""
        return self._name

    @property
    def inputs(self) -> dict[str, int]:
        """Widths of the inputs, by name."""
        return {port.name: port.width for port in self._inputs}

    @property
    def outputs(self) -> dict[str, int]:
        """Widths of the outputs, by name."""
        return {port.name: port.width for port in self._outputs}

    @property
    def gates(self) -> dict[str, int]:
        """How many gates there are of each kind."""
        return self._schedule(COSTS).gates

    @property
    def depth(self) -> int:
        """How many layers there are, each of which waits for the one before it."""
        return self._schedule(COSTS).depth

    @property
    def layers(self) -> tuple[dict[str, int], ...]:
        """Gates of each layer, by kind: those of one kind are one call of the server."""
        return self._schedule(COSTS).layers

    def tables(self, inputs: int) -> Schedule:
        """The circuit as tables of that many inputs, 2, 3 or 4, which bits of p = 4, 8 or 16 with a
        padding bit take; it has `gates`, `depth` and `layers` too."""
        count = as_index(inputs, "inputs")
        if not 2 <= count <= MOST_INPUTS:
            raise ParameterError(f"inputs: {shown(count)} is outside 2 … {MOST_INPUTS}")
        return self._schedule(count)

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Clear]:
        """The circuit in clear.

        `inputs`: for each input an array of bools, or of integers 0 and 1, of shape (..., width),
        the lowest bit first; (...) if the width is 1. `to_bits` makes them of integers. All have
        the same shape but for the width. Outputs have such shapes.

        `ParameterError` if an input is missing, or there is one that the circuit does not have;
        `ShapeError` for shapes that do not fit; `EncodingError` for what is neither 0 nor 1.
        """
        self._check_names(inputs)
        arrays = [as_bits(inputs[port.name], port.name).astype(np.bool_) for port in self._inputs]
        return self._evaluate(CLEAR, self._schedule(COSTS), arrays, None)

    def run(
        self, server: Any, inputs: Mapping[str, Any], progress: bool | Report | None = None
    ) -> dict[str, Any]:
        """The circuit on encrypted bits.

        `inputs`: for each input `Ciphertexts`, or an `EncryptedArray`, of a shape as for the
        circuit in clear. All have the same encoding. With p = 4, `Client.encrypt`'s default, gates
        are evaluated; with p = 4, 8 or 16 and `padding=True` tables of 2, 3 or 4 inputs. All gates
        of a kind in a layer, for the whole batch, are one call of the server. Outputs that are
        constant are trivial encryptions, which anyone can read. A `whorl.lanes.Server` takes arrays
        of vectors of lanes in place of arrays of bits, and evaluates gates on all lanes at once.
        `progress`: True for a bar on terminals and in notebooks, or a callable that is called as
        progress(done, total), in gates. Ctrl-C stops the call.

        Nothing checks that inputs are bits: encrypt 0 and 1 only. Errors as in clear; also
        `EncodingError` for other encodings, `TypeError` for what is not encrypted, and those of the
        server's methods, such as `NoiseError` where the parameters do not carry the tables.
        """
        self._check_names(inputs)
        given = [inputs[port.name] for port in self._inputs]
        if not given:
            raise ParameterError(f"{self._name}: the circuit has no inputs; evaluate it in clear")
        bits = bits_of(server, {port.name: inputs[port.name] for port in self._inputs})
        arrays = [server.upload(each) for each in given]
        plan = self._schedule(bits.costs)
        with reports(progress, "gates") as report:
            return self._evaluate(bits, plan, arrays, report)

    def __repr__(self) -> str:
        ports = (
            ", ".join(f"{port.name}[{port.width}]" for port in some[:8]) + ", …" * (len(some) > 8)
            for some in (self._inputs, self._outputs)
        )
        return f"<Circuit {self._name}: {' -> '.join(ports)}>"

    def _facts(self) -> list[tuple[str, str]]:
        ports = [("input", port) for port in self._inputs]
        ports += [("output", port) for port in self._outputs]
        rows = [(f"{kind} {port.name}", counted(port.width, "bit")) for kind, port in ports]
        gates = ", ".join(f"{count:,} {kind}" for kind, count in self.gates.items())
        return [("name", self._name), *rows, ("gates", gates), ("depth", f"{self.depth:,}")]

    def _schedule(self, costs: Mapping[str, int] | int) -> Schedule:
        key = costs if isinstance(costs, int) else tuple(costs)
        found = self._schedules.get(key)
        if found is None:
            inputs, outputs = (
                [port.bits for port in ports] for ports in (self._inputs, self._outputs)
            )
            found = self._schedules[key] = schedule(self._graph, inputs, outputs, costs)
        return found

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        if not isinstance(inputs, Mapping):
            raise TypeError(f"inputs: a dict by names is needed, not {type(inputs).__name__}")
        missing, more = self.inputs.keys() - inputs.keys(), inputs.keys() - self.inputs.keys()
        if missing or more:
            raise ParameterError(
                f"inputs: {shown(sorted(map(str, missing or more)))} "
                f"{'are missing' if missing else 'are none of the circuit'}; it has "
                f"{shown(list(self.inputs))}"
            )

    def _evaluate(
        self, bits: Bits[Any], plan: Schedule, arrays: Sequence[Any], report: Report | None
    ) -> dict[str, Any]:
        shapes = [
            array.shape if port.width == 1 else array.shape[:-1]
            for port, array in zip(self._inputs, arrays, strict=True)
        ]
        batch: Shape = shapes[0] if shapes else ()
        for port, array, shape in zip(self._inputs, arrays, shapes, strict=True):
            if shape != batch or (port.width > 1 and array.shape[-1:] != (port.width,)):
                width = "" if port.width == 1 else f" + ({port.width},)"
                raise ShapeError(
                    f"{port.name} has shape {array.shape}; {batch}{width} is needed, since it has "
                    f"{counted(port.width, 'bit')} and {self._inputs[0].name} the shape {batch}"
                )
        first = range(len(batch))
        sources: list[Any] = [bits.zero((1, *batch))]
        for port, array in zip(self._inputs, arrays, strict=True):
            one = port.width == 1
            sources.append(
                array.reshape((1, *batch)) if one else array.transpose((len(batch), *first))
            )

        def gathered(gather: Gather, inverted: Any) -> Any:
            parts = [bits.take(sources[source], lanes) for source, lanes in gather.parts]
            whole = parts[0] if len(parts) == 1 else bits.join(parts)
            if gather.order is not None:
                whole = bits.take(whole, gather.order)
            return whole if inverted is None else bits.invert(whole, inverted)

        done, total = 0, sum(step.count for step in plan.steps)
        for step in plan.steps:
            operands = list(map(gathered, step.operands, step.inverted))
            if step.tables:
                made = bits.table(operands, step.tables)
            else:
                made = getattr(bits, {"and": "and_"}.get(step.kind, step.kind))(*operands)
            sources.append(made)
            for source in step.last:
                sources[source] = None
            done += step.count
            if report is not None:
                report(done, total)
        results = {}
        for port, (gather, inverted) in zip(self._outputs, plan.outputs, strict=True):
            whole = gathered(gather, inverted)
            axes = (*(axis + 1 for axis in first), 0)
            results[port.name] = whole.reshape(batch) if port.width == 1 else whole.transpose(axes)
        return results


def to_bits(numbers: Any, width: int) -> Clear:
    """Integers as bits: bools of shape (..., width), the lowest bit first.

    Negative integers are in two's complement. `EncodingError` for an integer outside
    -2^(width-1) … 2^width - 1, `TypeError` for what is no integer, `ParameterError` for a width
    below 1 or above 65,536.

    >>> to_bits([6, -1], 3).astype(int)
    array([[0, 1, 1],
           [1, 1, 1]])
    """
    count = as_index(width, "width")
    if not 1 <= count <= 1 << 16:
        raise ParameterError(f"width: {shown(count)} is outside 1 … 65,536")
    given = whole_numbers(numbers, "numbers")
    values = given.astype(np.object_)
    wrong = (values < -(1 << (count - 1))) | (values >= 1 << count)
    refuse(given, np.asarray(wrong, dtype=np.bool_), "numbers", f"not of {counted(count, 'bit')}")
    if count < 63:
        values = given.astype(np.int64)
    places = np.arange(count, dtype=values.dtype)
    return np.asarray((values[..., None] >> places) & 1, dtype=np.bool_)


def from_bits(bits: Any, signed: bool = False) -> np.ndarray[Any, np.dtype[Any]]:
    """Integers of bits of shape (..., width), the lowest bit first.

    With `signed` the highest bit counts negative. The integers are int64, or Python's where the
    width is above 62.

    `EncodingError` for what is neither 0 nor 1, `ShapeError` for a single bit without an axis.

    >>> from_bits([[0, 1, 1], [1, 1, 1]]), from_bits([1, 1, 1], signed=True)
    (array([6, 7]), array(-1))
    """
    given = as_bits(bits, "bits")
    if given.ndim == 0 or given.shape[-1] == 0:
        raise ShapeError(f"bits has shape {given.shape}; the last axis must hold a bit or more")
    width = given.shape[-1]
    kind = np.int64 if width < 63 else np.object_
    weights: Any = np.array([1 << place for place in range(width)], dtype=kind)
    if signed:
        weights[-1] = -weights[-1]
    return np.asarray((given.astype(kind) * weights).sum(axis=-1), dtype=kind)
