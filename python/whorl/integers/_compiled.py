"""Recorded operations as programs of the C++ library, which a server runs by one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import binfhe
from .._core.array import Shape
from .._server import binfhe as _lib
from ._circuit import SECTORS

Run = Callable[[list[Any]], list[Any]]
"""Takes the inputs' arrays, and returns the results'."""

Held = tuple[int, Shape]
"""The number of an array while a program is recorded, and its shape: (wires, values)."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A call of an engine that was recorded: its name, the numbers of the arrays that it takes,
    what else it takes, the number of what it makes, and those that nothing needs behind it."""

    name: str
    sources: tuple[int, ...]
    rest: tuple[Any, ...]
    number: int
    ends: tuple[int, ...] = ()


PRODUCTS = frozenset(["product", "product_known"])
"""Steps that are calls of their own."""


@dataclasses.dataclass
class _Piece:
    """Steps that are one call, or one step of a product; the numbers of the arrays that they take,
    of those that they make for later, and of those that nothing needs behind them."""

    steps: list[Step]
    inputs: list[int]
    outputs: list[int]
    ends: list[int]
    run: Run | None = None


def compiled(
    server: binfhe.Server,
    lut: Callable[[tuple[int, ...]], binfhe.Lut],
    product: Callable[..., Any],
    steps: Iterable[Step],
    results: Sequence[int],
) -> Run | None:
    """The steps as one call, or as one between two products through ring elements; None if a call
    has more inputs than programs. `lut` makes a table, and `product` a product; `results` are the
    numbers of what is wanted."""
    pieces = _pieces(steps, results)
    if any(not 0 < len(each.inputs) <= _lib.most_program_inputs for each in pieces):
        return None

    def run(arrays: list[Any]) -> list[Any]:
        held = dict(enumerate(arrays))
        for piece in pieces:
            given = [held[number] for number in piece.inputs]
            if piece.run is None:
                piece.run = _call_of(server, lut, product, piece, [each.shape for each in given])
            held.update(zip(piece.outputs, piece.run(given), strict=True))
            for number in piece.ends:
                del held[number]
        return [held[number] for number in results]

    return run


def _pieces(steps: Iterable[Step], results: Sequence[int]) -> list[_Piece]:
    parts: list[list[Step]] = []
    known: dict[int, Step] = {}  # which go to the piece that takes them first
    for step in steps:
        if not step.sources:
            known[step.number] = step
            continue
        taken = [known.pop(number) for number in dict.fromkeys(step.sources) if number in known]
        for each in (*taken, step):
            if parts and not PRODUCTS & {each.name, parts[-1][-1].name}:
                parts[-1].append(each)
            else:
                parts.append([each])
    parts += [[step] for step in known.values()]
    later = set(results)
    pieces = []
    for part in reversed(parts):
        made = {step.number for step in part}
        inputs = list(dict.fromkeys(n for step in part for n in step.sources if n not in made))
        outputs = sorted(made & later)
        pieces.append(_Piece(part, inputs, outputs, sorted(set(inputs) - later)))
        later.update(inputs)
    return pieces[::-1]


def _call_of(
    server: binfhe.Server,
    lut: Callable[[tuple[int, ...]], binfhe.Lut],
    product: Callable[..., Any],
    piece: _Piece,
    shapes: Sequence[Shape],
) -> Run:
    """What runs a piece, for inputs of these shapes."""
    step = piece.steps[0]
    if step.name in PRODUCTS:
        at = [piece.inputs.index(number) for number in step.sources]
        known = [()] if step.name == "product_known" else []
        rest: list[Any] = [*step.rest[:-1], *known, step.rest[-1]]

        def multiply(arrays: list[Any]) -> list[Any]:
            x, *others = (arrays[k] for k in at)
            return [product(x, rest[0], *others, *rest[1:])]

        return multiply
    inputs = list(zip(piece.inputs, shapes, strict=True))
    program, wanted = program_of(server.parameters, lut, piece.steps, inputs, piece.outputs)

    def run(arrays: list[Any]) -> list[Any]:
        cores = server._core.run(program, [each._core for each in arrays])
        server._warn()
        kind = server._device_type
        return [kind._wrap(core, server, shape) for core, shape in zip(cores, wanted, strict=True)]

    return run


def program_of(
    parameters: binfhe.Parameters,
    lut: Callable[[tuple[int, ...]], binfhe.Lut],
    steps: Iterable[Step],
    inputs: Sequence[Held],
    results: Sequence[int],
) -> tuple[_lib.Program, list[Shape]]:
    """The steps as a program of the library, and the shapes of its results. Steps know inputs and
    results by their numbers."""
    counts = [int(np.prod(shape)) for _, shape in inputs]
    recorder = _lib.ProgramRecorder.create(parameters._core, (SECTORS, False), counts)
    held: dict[int, Held] = {number: (k, shape) for k, (number, shape) in enumerate(inputs)}
    for step in steps:
        sources = [held[number] for number in step.sources]
        held[step.number] = _recorded(recorder, lut, step, sources)
    program = recorder.program(np.array([held[n][0] for n in results], dtype=np.uint32))
    return program, [held[number][1] for number in results]


def _recorded(
    recorder: _lib.ProgramRecorder,
    lut: Callable[[tuple[int, ...]], binfhe.Lut],
    step: Step,
    sources: list[Held],
) -> Held:
    """A step in the recorder's operations, of which arrays are flat."""
    if step.name == "take":
        [(of, (_, size))], [index] = sources, step.rest
        return recorder.take(of, _flat(index, size)), (len(index), size)
    if step.name == "columns":
        [(of, (count, size))], [index] = sources, step.rest
        places = np.arange(count)[:, None] * size + index
        return recorder.take(of, _words(places)), (count, len(index))
    if step.name == "join":
        return _joined(recorder, sources)
    if step.name == "beside":
        count = sources[0][1][0]
        sizes = [size for _, (_, size) in sources]
        starts = np.cumsum([0, *(count * size for size in sizes)])
        rows = np.arange(count)[:, None]
        places = np.concatenate(
            [
                start + rows * size + np.arange(size)
                for start, size in zip(starts, sizes, strict=False)
            ],
            axis=1,
        )
        return recorder.take(_joined(recorder, sources)[0], _words(places)), (count, sum(sizes))
    if step.name == "linear":
        weights, constant = step.rest
        numbers = np.array([of for of, _ in sources], dtype=np.uint32)
        made = recorder.linear(np.array(weights, dtype=np.int32), numbers, int(constant))
        return made, sources[0][1]
    if step.name == "trivial":
        [values] = step.rest
        return recorder.trivial(_words(values % SECTORS)), values.shape
    assert step.name == "tables"
    tables, luts = step.rest
    chosen = [lut(table) for table in luts]
    inputs = [each for each, of in zip(sources, tables, strict=True) for _ in of]
    index = np.concatenate([numbers for of in tables for numbers in of])
    of, (count, size) = _joined(recorder, inputs)
    return _looked_up(recorder, chosen, np.repeat(index, size), of), (count, size)


def _looked_up(recorder: _lib.ProgramRecorder, luts: list[binfhe.Lut], index: Any, of: int) -> int:
    """Tables of each kind apart, as `binfhe.Server` has them; a program rotates them together."""
    kinds = [lut._rotation() for lut in luts]
    if len(set(kinds)) == 1:
        return recorder.apply([lut._core for lut in luts], _words(index), of)
    parts, places = [], []
    for kind in sorted(set(kinds)):
        chosen = np.flatnonzero([each == kind for each in kinds])
        where = np.flatnonzero(np.isin(index, chosen))
        numbers = np.zeros(len(luts), dtype=np.uint32)
        numbers[chosen] = np.arange(len(chosen), dtype=np.uint32)
        part = recorder.take(of, _words(where))
        tables = [luts[k]._core for k in chosen]
        parts.append(recorder.apply(tables, _words(numbers[index[where]]), part))
        places.append(where)
    joined = recorder.concatenate(np.array(parts, dtype=np.uint32))
    return recorder.take(joined, _words(np.argsort(np.concatenate(places))))


def _joined(recorder: _lib.ProgramRecorder, parts: list[Held]) -> Held:
    """Rows of several arrays of equal sizes, or of arrays that come apart later."""
    if len(parts) == 1:
        return parts[0]
    numbers = np.array([of for of, _ in parts], dtype=np.uint32)
    return recorder.concatenate(numbers), (sum(shape[0] for _, shape in parts), parts[0][1][1])


def _flat(index: Any, size: int) -> Any:
    """The places of rows in an array with so many values each."""
    return _words(np.asarray(index)[:, None] * size + np.arange(size))


def _words(numbers: Any) -> Any:
    return np.ascontiguousarray(numbers, dtype=np.uint32).reshape(-1)
