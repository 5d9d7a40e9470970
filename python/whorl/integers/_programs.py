"""Operations that are recorded once and then run again. What they do with ciphertexts follows from
what is known of their operands, so that a server need not follow ranges and noise each time."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._core.integers import Integers
from ._arithmetic import DigitArithmetic
from ._circuit import Circuit, Wires
from ._compiled import Step
from ._digits import Number
from ._engine import Lookup
from ._origins import Errors, Marks, Origins, equal_in_some, error_names, marks_of, met
from ._products import width_of

MOST_PROGRAMS = 512
"""So many operations are kept; those that were not used for longest go first."""
FEW_OPERANDS = 3
"""It is known of so many operands which ones may have the same errors, and of more whether any do:
a sum of many takes them all at once."""
FLUSHED = frozenset(
    "multiply multiply_known compare bitwise right rotate shift divide lookup count_ones "
    "count_zeros".split()
)
"""Operations that take numbers without carries. These are made once for each array."""
PLAINED = frozenset("add subtract negate sum_of settle cast".split())
"""Operations that take bits that count 1. These are made once for each array, too."""
NAMES = FLUSHED | PLAINED | frozenset("rows flush plain invert select left turn".split())


@dataclasses.dataclass(frozen=True)
class Held:
    """Ciphertexts while an operation is recorded, and their number."""

    number: int
    rows: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the ciphertexts."""
        shape: tuple[int, ...] = self.rows.shape
        return shape


def _call(engine: Any, name: str, arrays: list[Any], rest: tuple[Any, ...]) -> Any:
    if name == "tables":
        tables, luts = rest
        return engine.tables([Lookup(*each) for each in zip(arrays, tables, strict=True)], luts)
    if name == "linear":
        weights, constant = rest
        return engine.linear(weights, arrays, constant)
    if name == "product":
        return engine.product(arrays[0], rest[0], arrays[1], *rest[1:])
    if name == "product_known":
        return engine.product(arrays[0], *rest[:2], (), rest[2])
    if name in ("join", "beside"):
        return getattr(engine, name)(arrays)
    return getattr(engine, name)(*arrays, *rest)


class Recorder:
    """An engine that calls another one and writes down what it called."""

    sees = False

    def __init__(self, engine: Any, inputs: int) -> None:
        self.engine, self.account = engine, engine.account
        self.steps: list[Step] = []
        self._count = inputs

    def _step(self, name: str, arrays: Sequence[Held], *rest: Any) -> Held:
        made = _call(self.engine, name, [each.rows for each in arrays], rest)
        if arrays and made is arrays[0].rows:
            return arrays[0]
        held = Held(self._count, made)
        self._count += 1
        sources = tuple(each.number for each in arrays)
        self.steps.append(Step(name, sources, rest, held.number))
        return held

    def trivial(self, values: Integers) -> Held:
        """Known integers."""
        return self._step("trivial", [], values)

    def take(self, rows: Held, index: Integers) -> Held:
        """Rows by their numbers."""
        return self._step("take", [rows], index)

    def columns(self, rows: Held, index: Integers) -> Held:
        """Values by their numbers, in all rows."""
        return self._step("columns", [rows], index)

    def beside(self, parts: Sequence[Held]) -> Held:
        """Values of several arrays of equal rows."""
        return self._step("beside", parts)

    def join(self, parts: Sequence[Held]) -> Held:
        """Rows of several arrays."""
        return self._step("join", parts)

    def linear(self, weights: Sequence[int], parts: Sequence[Held], constant: int = 0) -> Held:
        """A weighted sum of arrays, and a known integer."""
        return self._step("linear", parts, list(weights), constant)

    def tables(self, layer: Sequence[Lookup], luts: Sequence[tuple[int, ...]]) -> Held:
        """All look-ups of a layer."""
        tables = [each.tables for each in layer]
        return self._step("tables", [each.rows for each in layer], tables, luts)

    def multiplies(self, noise: float, first: int, digits: int) -> bool:
        """Whether the engine has products of so many digits."""
        made: bool = self.engine.multiplies(noise, first, digits)
        return made

    def product(
        self, x: Held, x_lows: tuple[int, ...], y: Any, y_lows: tuple[int, ...], digits: int
    ) -> Held:
        """Products through ring elements."""
        if isinstance(y, Held):
            return self._step("product", [x, y], x_lows, y_lows, digits)
        return self._step("product_known", [x], x_lows, y, digits)

    def check(self, rows: Held, low: Integers, high: Integers, offset: Integers) -> None:
        """Nothing: a recorder sees no values."""

    def compiled(self, *_: Any) -> None:
        """Nothing: what is recorded is compiled by the engine itself."""


@dataclasses.dataclass(frozen=True)
class _Output:
    """A result: its number without ciphertexts, or None if it is ciphertexts; the numbers of
    these; the operands whose errors it may have, and whether it has errors of its own; where
    `_Named` has the errors' names, `NONE`, or below that numbers of its own ones."""

    number: Number | None
    batches: tuple[int, ...]
    operands: tuple[int, ...] = ()
    own: bool = False
    errors: Integers | None = None


@dataclasses.dataclass
class _Program:
    """A recorded operation, whose steps are few calls from the second time on if the engine has
    them: then `compiled` makes the arrays `made` of the inputs."""

    steps: list[Step]
    outputs: list[_Output]
    single: bool
    rotations: int
    layers: int
    made: list[int]
    runs: int = 1
    compiled: Callable[[list[Any]], list[Any]] | None = None


class Programs(DigitArithmetic):
    """Arithmetic on digits that records operations, and runs them again for operands of which the
    same is known.

    All results of an operation count as one layer of the errors that they may have in common. Its
    number follows from the operation and from the layers of the operands, so that the same of the
    same operands has the same errors.
    """

    def __init__(self, circuit: Circuit) -> None:
        super().__init__(circuit)
        self._programs: OrderedDict[Any, _Program] = OrderedDict()
        self._recording = False
        self._lock = threading.RLock()

    def _run(self, name: str, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        with self._lock:
            if self._recording:
                return method(self, *arguments)
            if name == "flush":
                return self._flushed(arguments[0], method)
            if name == "plain":
                return self._plained(arguments[0], method)
            if name in PLAINED:
                arguments = tuple(_each(self.plain, argument) for argument in arguments)
            if name == "cast" and arguments[1] > arguments[0].bits:
                arguments = (self.flush(arguments[0]), *arguments[1:])
            if name in FLUSHED and not (name == "bitwise" and arguments[0].bits == 1):
                arguments = tuple(self.flush(x) if isinstance(x, Number) else x for x in arguments)
            if name == "multiply":
                # x·y and y·x have the same errors.
                arguments = tuple(sorted(arguments, key=lambda x: width_of(x.wires)))
            return self._made(name, method, arguments)

    def _flushed(self, x: Number, method: Callable[..., Any]) -> Number:
        """The same without carries, which are made once."""
        if x.unit == 1 and x.form.digits == len(x.wires) and x.form.holds(x.wires):
            return x
        if "flush" not in x.memo:
            x.memo["flush"] = self._made("flush", method, (x,))
        return x.memo["flush"]

    def _plained(self, x: Number, method: Callable[..., Any]) -> Number:
        """The same in bits that count 1, which are made once."""
        if x.unit == 1:
            return x
        if "plain" not in x.memo:
            x.memo["plain"] = self._made("plain", method, (x,))
        return x.memo["plain"]

    def _made(self, name: str, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        operands = list(_numbers(arguments))
        arrays: dict[int, tuple[int, Any]] = {}
        facts = tuple(_facts(x, arrays) for x in operands)
        rest = tuple(_static(each) for each in arguments)
        named = _named(operands)
        key = (name, rest, facts, named.key)
        program = self._programs.get(key)
        inputs = [rows for _, rows in arrays.values()]
        if program is None:
            program, held = self._record(method, arguments, arrays, named)
            self._programs[key] = program
            if len(self._programs) > MOST_PROGRAMS:
                self._programs.popitem(last=False)
        else:
            self._programs.move_to_end(key)
            held = self._replay(program, inputs)
        layers = tuple(sorted(layer for x in operands for layer in x.wires.origins))
        # Equal computations have one number, also of parts of arrays.
        known = tuple((*fact[:3], fact[-1]) for fact in facts)
        number = hash((name, rest, known, layers)) & (1 << 62) - 1
        made = [_result(each, held, operands, named, number) for each in program.outputs]
        return made[0] if program.single else tuple(made)

    def _record(
        self,
        method: Callable[..., Any],
        arguments: tuple[Any, ...],
        arrays: dict[int, tuple[int, Any]],
        named: _Named,
    ) -> tuple[_Program, dict[int, Any]]:
        circuit, engine = self.circuit, self.circuit.engine
        recorder = Recorder(engine, len(arrays))
        inputs = {key: Held(number, rows) for key, (number, rows) in arrays.items()}
        before = circuit.rotations, circuit.layers
        circuit.engine, self._recording = recorder, True
        try:
            returned = method(self, *(_wrapped(each, inputs) for each in arguments))
        finally:
            circuit.engine, self._recording = engine, False
        listed = list(returned) if isinstance(returned, tuple) else [returned]
        operands = list(_numbers(arguments))
        held: dict[int, Any] = {number: rows for number, rows in arrays.values()}
        outputs: list[_Output] = []
        numbers: dict[int, int] = {}
        for each in listed:
            batches = each.wires.batches if isinstance(each, Number) else (each,)
            held.update((batch.number, batch.rows) for batch in batches)
            outputs.append(_output(each, batches, operands, named, numbers))
        wanted = {n for each in outputs for n in each.batches}
        steps = needed(recorder.steps, wanted)
        used = circuit.rotations - before[0], circuit.layers - before[1]
        made = sorted(n for n in wanted if n >= len(arrays))
        return _Program(steps, outputs, not isinstance(returned, tuple), *used, made), held

    def _replay(self, program: _Program, inputs: list[Any]) -> dict[int, Any]:
        held = dict(enumerate(inputs))
        program.runs += 1
        if program.runs == 2 and program.made:
            program.compiled = self.circuit.engine.compiled(
                program.steps, program.made, program.rotations
            )
        if program.compiled is not None:
            held.update(zip(program.made, program.compiled(inputs), strict=True))
        else:
            self._by_steps(program.steps, held)
        self.circuit.rotations += program.rotations
        self.circuit.layers += program.layers
        return held

    def _by_steps(self, steps: list[Step], held: dict[int, Any]) -> None:
        """Calls of the engine; each array goes when nothing needs it any more."""
        for step in steps:
            arrays = [held[number] for number in step.sources]
            held[step.number] = _call(self.circuit.engine, step.name, arrays, step.rest)
            del arrays
            for number in step.ends:
                del held[number]


def _recorded(name: str) -> Callable[..., Any]:
    method = getattr(DigitArithmetic, name)

    def call(self: Programs, *arguments: Any) -> Any:
        return self._run(name, method, arguments)

    call.__doc__ = method.__doc__
    return call


def _alone(name: str) -> Callable[..., Any]:
    """What is not recorded waits for other threads that record."""
    method = getattr(DigitArithmetic, name)

    def call(self: Programs, *arguments: Any) -> Any:
        with self._lock:
            return method(self, *arguments)

    call.__doc__ = method.__doc__
    return call


for _name in NAMES:
    setattr(Programs, _name, _recorded(_name))
for _name in ("received", "sent", "on_device", "known", "take", "join"):
    setattr(Programs, _name, _alone(_name))


def _each(work: Callable[[Number], Number], argument: Any) -> Any:
    """What work makes of a number, or of each of a list of them."""
    if isinstance(argument, Number):
        return work(argument)
    if isinstance(argument, list) and argument and isinstance(argument[0], Number):
        return [work(x) for x in argument]
    return argument


def _numbers(arguments: Sequence[Any]) -> Iterator[Number]:
    for each in arguments:
        if isinstance(each, Number):
            yield each
        elif isinstance(each, (list, tuple)) and each and isinstance(each[0], Number):
            yield from each


def _static(argument: Any) -> Any:
    """What a key has of an argument."""
    if isinstance(argument, Number):
        return Number
    if isinstance(argument, (list, tuple)):
        return tuple(_static(each) for each in argument)
    return argument


def _wrapped(argument: Any, inputs: dict[int, Held]) -> Any:
    """The argument with recorded ciphertexts."""
    if isinstance(argument, Number):
        wires = argument.wires
        held = tuple(inputs[id(batch)] for batch in wires.batches)
        return dataclasses.replace(argument, wires=dataclasses.replace(wires, batches=held))
    if isinstance(argument, list):
        return [_wrapped(each, inputs) for each in argument]
    return argument


def _facts(x: Number, arrays: dict[int, tuple[int, Any]]) -> tuple[Any, ...]:
    """All that operations follow of a number, and its ciphertexts, which are numbered."""
    wires = x.wires
    batches = []
    for batch in wires.batches:
        number, _ = arrays.setdefault(id(batch), (len(arrays), batch))
        batches.append((number, batch.shape[0]))
    fields = (wires.batch, wires.place, wires.low, wires.high, wires.offset, wires.square)
    known = tuple(field.tobytes() for field in (*fields, wires.total, wires.errors.sizes))
    noisy = any(layer >= 0 for layer in wires.origins)
    return (x.bits, x.signed, x.unit, wires.size, noisy, tuple(batches), known)


NONE = -1
"""Stands for no error."""


@dataclasses.dataclass(frozen=True)
class _Named:
    """The errors that results may have of operands, by their names and layers, and what operations
    follow of them: which ones are the same."""

    names: Marks
    layers: Integers
    key: tuple[Any, ...]


def _named(operands: list[Number]) -> _Named:
    wires = [x.wires for x in operands]
    common = _common(wires)
    errors = [x.errors for x in wires]
    # If operands have layers in common, sums may have other names for their errors.
    for layer, relation in common.items():
        for k, lists in relation.marks:
            changed = [errors[k].changed(layer, None, merged=False)]
            if len(lists) == 1:
                changed.append(errors[k].changed(layer, lists[0]))
            errors += changed
    names = np.concatenate([each.names.reshape(-1) for each in errors])
    layers = np.concatenate([each.layers.reshape(-1) for each in errors])
    shapes = tuple(each.names.shape for each in errors)
    of_layers = _in_order(layers) if common else b""
    numbers = {layer: k for k, layer in enumerate(dict.fromkeys(layers.tolist()))}
    relations = tuple(
        (numbers.get(layer, NONE), relation.key) for layer, relation in common.items()
    )
    return _Named(names, layers, (shapes, _in_order(names), of_layers, relations))


@dataclasses.dataclass(frozen=True)
class _Common:
    """A layer that several operands have: the marks of each, and what sums follow of them."""

    marks: list[tuple[int, list[Marks]]]
    key: tuple[Any, ...]


def _common(wires: Sequence[Wires]) -> dict[int, _Common]:
    """What operands have in common, by layers."""
    layers: dict[int, list[tuple[int, list[Marks]]]] = {}
    for k, x in enumerate(wires):
        for layer, marks in x.origins.items():
            if layer >= 0:
                layers.setdefault(layer, []).append((k, marks))
    return {
        layer: _Common(held, _relation(held)) for layer, held in layers.items() if len(held) > 1
    }


def _relation(held: list[tuple[int, list[Marks]]]) -> tuple[Any, ...]:
    lists: dict[int, int] = {}
    numbers: dict[bytes, int] = {}
    marks: list[Marks] = []
    by_operand = []
    for k, each in held:
        for one in each:
            if numbers.setdefault(one.tobytes(), len(marks)) == len(marks):
                marks.append(one)
        at = lists.setdefault(id(each), len(lists))
        by_operand.append((k, at, tuple(numbers[one.tobytes()] for one in each)))
    if len(held) > FEW_OPERANDS:
        return (tuple(by_operand), equal_in_some(marks))
    pairs = tuple(equal_in_some([a, b]) for i, a in enumerate(marks) for b in marks[:i])
    return (tuple(by_operand), pairs)


def _in_order(values: Any) -> bytes:
    """Numbers of values, by where each comes first."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    places = np.empty(len(first), dtype=np.int32)
    places[np.argsort(first)] = np.arange(len(first))
    return places[inverse].tobytes()


def _output(
    result: Any,
    batches: Sequence[Held],
    operands: list[Number],
    named: _Named,
    numbers: dict[int, int],
) -> _Output:
    held = tuple(batch.number for batch in batches)
    if not isinstance(result, Number):
        return _Output(None, held)
    layers = set(result.wires.origins)
    from_operands = tuple(
        k for k, x in enumerate(operands) if not layers.isdisjoint(x.wires.origins)
    )
    own = bool(layers.difference(*(x.wires.origins for x in operands)))
    names = result.wires.errors.names
    places = {name: k for k, name in reversed(list(enumerate(named.names.tolist())))}
    found = [
        places[name] if name in places else NONE - 1 - numbers.setdefault(name, len(numbers))
        for name in names.reshape(-1).tolist()
    ]
    errors = np.where(names > 0, np.array(found, dtype=np.int64).reshape(names.shape), NONE)
    wires = dataclasses.replace(result.wires, batches=(), origins={})
    return _Output(dataclasses.replace(result, wires=wires), held, from_operands, own, errors)


def _result(
    output: _Output,
    held: dict[int, Any],
    operands: list[Number],
    named: _Named,
    number: int,
) -> Any:
    batches = tuple(held[n] for n in output.batches)
    if output.number is None or output.errors is None:
        return batches[0]
    wires: Wires = output.number.wires
    origins: Origins = _united([operands[k] for k in output.operands])
    if output.own:
        origins = {**origins, number: [marks_of(_united(operands), wires.size)]}
    names = error_names(number, (NONE - 1 - output.errors).astype(np.uint64))
    layers = np.full(names.shape, number)
    given = output.errors >= 0
    names[given], layers[given] = (x[output.errors[given]] for x in (named.names, named.layers))
    names[output.errors == NONE] = 0
    errors = Errors(names, layers, wires.errors.sizes)
    made = dataclasses.replace(wires, batches=batches, origins=origins, errors=errors)
    return dataclasses.replace(output.number, wires=made)


def _united(operands: Sequence[Number]) -> Origins:
    """The layers of all operands."""
    return met([(x.wires.origins, Errors.none(0)) for x in operands])[0]


def needed(steps: list[Step], results: set[int]) -> list[Step]:
    """Steps that results follow from, each with the ciphertexts that it is the last to take."""
    kept: list[Step] = []
    later = set(results)
    for step in reversed(steps):
        if step.number not in later:
            continue
        ends = tuple(sorted(set(step.sources) - later))
        later.update(step.sources)
        kept.append(dataclasses.replace(step, ends=ends))
    return kept[::-1]
