"""Makes tables and sums of a graph's nodes, with bounds for every integer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ParameterError
from . import _tables
from ._graph import MOST_INTEGER, MOST_VALUES, Array, Graph, Path, Values, Values2, whole_values
from ._tables import MOST_ENTRIES
from ._wires import Affine, Budget, Wires

Bounds = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Row:
    """What `show` says of a node."""

    name: str
    shape: tuple[int, ...]
    low: int
    high: int
    measured: bool
    tables: int
    level: int


@dataclasses.dataclass(frozen=True)
class Check:
    """An integer that tables take within bounds that the input set has shown and nothing proves."""

    value: Affine
    low: int
    high: int


@dataclasses.dataclass(frozen=True)
class Lowered:
    """A graph as tables: wires, the digits of each input and output, and checks."""

    wires: Wires
    inputs: list[list[int]]
    """The wires of each input, digits of an element one after another."""
    outputs: list[list[tuple[int, list[Affine]]]]
    """Each output's elements: a constant, and digits of the rest."""
    checks: list[Check]
    rows: list[Row]


class Lowering:
    """Goes through a graph. `measured` has the bounds of each node in the input set;
    `prefer_measured` takes them wherever a table's input has bounds that are proven but wider."""

    def __init__(
        self, graph: Graph, measured: Sequence[Bounds], prefer_measured: bool, wires: Wires
    ) -> None:
        self._graph, self._measured, self._wires = graph, measured, wires
        self._prefers = prefer_measured
        self._checks: dict[tuple[Any, ...], Check] = {}
        self._where_measured: set[int] = set()
        self._roots = _roots(graph)

    def run(self, bounds: Sequence[Bounds], outputs: Sequence[int]) -> Lowered:
        """Tables for inputs within bounds."""
        wires, graph = self._wires, self._graph
        values: list[Array] = []
        inputs: list[list[int]] = []
        made = []
        for number, node in enumerate(graph.nodes):
            before = len(wires.looks)
            if node.name == "input":
                value, used = self._input(node.shape, *bounds[len(inputs)])
                inputs.append(used)
                before = len(wires.looks)
            else:
                fused = self._fused(number, values)
                operands = (values[i] for i in node.inputs)
                value = node.lower(self, *operands) if fused is None else fused
            for each in value.ravel():
                self._refuse_large(number, each)
            values.append(value)
            made.append(range(before, len(wires.looks)))
        results = []
        for i in outputs:
            before = len(wires.looks)
            results.append([(each.low, wires.digits(each)) for each in values[i].ravel()])
            made.append(range(before, len(wires.looks)))
        alive = self._alive(results)
        deepest = max((wires.levels[wire] for wire in alive), default=0)
        rows = [
            self._row(i, node.name, values[i], made[i], alive, deepest)
            for i, node in enumerate(graph.nodes)
        ]
        for i, new, result in zip(outputs, made[len(rows) :], results, strict=True):
            digits = [each for _, of in result for each in of]
            row = self._row(i, "result", values[i], new, alive, deepest)
            level = max((wires.level(each) for each in digits), default=0)
            rows.append(dataclasses.replace(row, level=level))
        return Lowered(wires, inputs, results, list(self._checks.values()), rows)

    def _fused(self, number: int, values: Sequence[Array]) -> Array | None:
        """A node as tables of its root, where that has no more values than what it is made of."""
        node, root = self._graph.nodes[number], self._roots[number]
        if node.kind != "table" or root == number or set(node.inputs) == {root}:
            return None
        flat = [self._measured_if_preferred(root, each) for each in values[root].ravel()]
        width = max(each.high - each.low + 1 for each in flat)
        operands = [each for i in node.inputs for each in values[i].ravel()]
        widest = max(each.high - each.low + 1 for each in operands)
        if width > self._wires.p and (width > widest or width > MOST_ENTRIES):
            return None
        rows: dict[Bounds, Array] = {}
        found = np.empty(len(flat), dtype=np.object_)
        for place, each in enumerate(flat):
            bounds = each.low, each.high
            if bounds not in rows:
                of_root = self._of_root(number, root, *bounds)
                if of_root is None:
                    return None
                rows[bounds] = of_root
            found[place] = _tables.table(self._wires, each, rows[bounds][:, place])
        return found.reshape(node.shape)

    def _of_root(self, number: int, root: int, low: int, high: int) -> Array | None:
        """The values of a node at low … high of its root: (values, elements). None if it is not
        defined there, or if there are too many."""
        shape = self._graph.nodes[number].shape
        count = high - low + 1
        if count * math.prod(shape) > MOST_VALUES:
            return None
        counted = np.arange(low, high + 1).reshape(-1, *[1] * len(shape))
        start = np.broadcast_to(counted, (count, *shape))
        known = {root: start.astype(bool) if self._graph.nodes[root].is_bool else start}
        needed, todo = {number}, [number]
        while todo:
            new = {j for j in self._graph.nodes[todo.pop()].inputs if j != root} - needed
            needed |= new
            todo += new
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                for i in sorted(needed):
                    node = self._graph.nodes[i]
                    known[i] = np.asarray(node.clear(*(known[j] for j in node.inputs)))
                found = whole_values(known[number], self._graph.nodes[number].name)
        except (ArithmeticError, ValueError, ParameterError):
            return None
        return np.broadcast_to(found, (count, *shape)).reshape(count, -1)

    def _input(self, shape: tuple[int, ...], low: int, high: int) -> tuple[Array, list[int]]:
        elements = np.empty(int(np.prod(shape)), dtype=np.object_)
        used: list[int] = []
        mosts = digit_limits(high - low, self._wires.base)
        for place in range(elements.size):
            digits = [self._wires.input(most) for most in mosts]
            weights = [self._wires.base**k for k in range(len(mosts))]
            whole = self._wires.total(weights, digits, low)
            elements[place] = self._wires.within(whole, low, high)
            used += [next(iter(digit.terms)) for digit in digits]
        return elements.reshape(shape), used

    def _refuse_large(self, number: int, a: Affine) -> None:
        if a.low < -MOST_INTEGER or a.high > MOST_INTEGER:
            node = self._graph.nodes[number]
            raise ParameterError(
                f"node {number}, {node.name}: integers of {a.low} … {a.high} are possible; those "
                "of circuits lie within ±2^46: round intermediate results"
            )

    def _alive(self, results: list[list[tuple[int, list[Affine]]]]) -> set[int]:
        """The wires that results and checks need."""
        needed = {w for r in results for _, digits in r for d in digits for w in d.terms}
        needed.update(w for check in self._checks.values() for w in check.value.terms)
        for wire in range(len(self._wires.looks) - 1, -1, -1):
            look = self._wires.looks[wire]
            if wire in needed and look is not None:
                needed.update(w for w, _ in look.terms)
        return needed

    def _row(
        self, number: int, name: str, values: Array, made: range, alive: set[int], deepest: int
    ) -> Row:
        flat = values.ravel()
        return Row(
            name,
            values.shape,
            min(each.low for each in flat),
            max(each.high for each in flat),
            number in self._where_measured,
            sum(wire in alive for wire in made),
            min(max(self._wires.level(each) for each in flat), deepest),
        )

    # ---- what nodes ask for

    def total(self, weights: Sequence[int], values: Sequence[Affine]) -> Affine:
        """Σ weights[k]·values[k]."""
        return self._wires.total(weights, values)

    def constant(self, value: int) -> Affine:
        """A known integer."""
        return self._wires.constant(value)

    def product(self, nodes: tuple[int, int], a: Affine, b: Affine) -> Affine:
        """a·b."""
        return _tables.product(self._wires, self._narrow(nodes[0], a), self._narrow(nodes[1], b))

    def chosen(self, bit: Affine, a: Affine, b: Affine) -> Affine:
        """a where a bit is 1, else b."""
        return _tables.chosen(self._wires, bit, a, b)

    def larger(self, nodes: tuple[int, int], a: Affine, b: Affine) -> Affine:
        """The larger one, of integers of any width."""
        x, y = (self._measured_if_preferred(i, v) for i, v in zip(nodes, (a, b), strict=True))
        return _tables.larger(self._wires, x, y)

    def table(self, node: int, a: Affine, values: Values) -> Affine:
        """The function whose values at low … high are `values(low, high)`."""
        a = self._narrow(node, a)
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                found = values(a.low, a.high)
        except (ArithmeticError, ValueError) as error:
            closer = self._as_measured(node, a)
            if closer is a:
                raise ParameterError(
                    f"node {node}, {self._graph.nodes[node].name}: the function that takes it is "
                    f"not defined for all of {a.low} … {a.high}: {error}; clip its input"
                ) from error
            return self.table(node, closer, values)
        return _tables.table(self._wires, a, found)

    def pairs(self, nodes: tuple[int, int], a: Affine, b: Affine, values: Values2) -> Affine:
        """A function of two integers, by the table of (a - low)·width + (b - low)."""
        a, b = self._narrow(nodes[0], a), self._narrow(nodes[1], b)
        width, rows = b.high - b.low + 1, a.high - a.low + 1
        self._refuse_wide("a function of two integers", 0, width * rows - 1)
        index = self._wires.total([width, 1], [a, b], -a.low * width - b.low)
        index = self._wires.within(index, 0, width * rows - 1)
        both = np.arange(index.low, index.high + 1)
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            try:
                found = values(a.low + both // width, b.low + both % width)
            except ArithmeticError as error:
                raise ParameterError(
                    f"nodes {nodes[0]} and {nodes[1]}: a function of two integers is not defined "
                    f"for all of {a.low} … {a.high} and {b.low} … {b.high}: {error}; clip them"
                ) from error
        return _tables.table(self._wires, index, whole_values(found, "function"))

    def shifted(self, node: int, a: Affine, bits: int) -> Affine:
        """a >> bits."""
        a = self._measured_if_preferred(node, a)
        dropped = bits - bits % (self._wires.base.bit_length() - 1)
        if (a.high >> dropped) - (a.low >> dropped) >= MOST_ENTRIES and dropped < bits:
            a = self._as_measured(node, a)
            self._refuse_wide("right_shift", a.low >> dropped, a.high >> dropped)
        return _tables.shifted(self._wires, a, bits)

    def compared(self, node: int, a: Affine, name: str) -> Affine:
        """A comparison with 0, of an integer of any width."""
        a = self._measured_if_preferred(node, a)
        if a.high - a.low >= MOST_ENTRIES:
            return _tables.compared(self._wires, a, name)
        values = getattr(np, name)(np.arange(a.low, a.high + 1), 0)
        return _tables.table(self._wires, a, values)

    def leaves(self, bits: list[Affine], paths: Sequence[Path], values: Array) -> list[Affine]:
        """The values of a tree's leaf, to which bits lead."""
        return _tables.leaves(self._wires, bits, paths, values)

    # ---- bounds

    def _narrow(self, node: int, a: Affine) -> Affine:
        """The integer with bounds that tables take: the proven ones, or those of the input set."""
        a = self._measured_if_preferred(node, a)
        if a.high - a.low < MOST_ENTRIES:
            return a
        closer = self._as_measured(node, a)
        self._refuse_wide(self._graph.nodes[node].name, closer.low, closer.high)
        return closer

    def _measured_if_preferred(self, node: int, a: Affine) -> Affine:
        return self._as_measured(node, a) if self._prefers else a

    def _as_measured(self, node: int, a: Affine) -> Affine:
        low, high = self._measured[node]
        closer = self._wires.within(a, low, high)
        if not a.terms or (closer.low, closer.high) == (a.low, a.high):
            return a
        self._where_measured.add(node)
        check = Check(closer, closer.low, closer.high)
        # The same element may be known within other bounds by way of another node.
        key = (closer.low, closer.high, closer.constant, *sorted(closer.terms.items()))
        self._checks.setdefault(key, check)
        return closer

    def _refuse_wide(self, name: str, low: int, high: int) -> None:
        if high - low >= MOST_ENTRIES:
            raise ParameterError(
                f"{name}: integers of {low} … {high} have more than 2^16 values, which tables do "
                "not take: round them, or trace with smaller inputs"
            )


def _roots(graph: Graph) -> list[int]:
    """For each node the one node that it is an elementwise function of, or itself."""
    roots: list[int] = []
    for number, node in enumerate(graph.nodes):
        of = {roots[i] for i in node.inputs if graph.nodes[i].kind != "constant"}
        whole = node.kind in ("linear", "table") and len(of) == 1
        roots.append(of.pop() if whole else number)
    return roots


def digit_limits(most: int, base: int) -> list[int]:
    """The largest value of each digit of an input 0 … `most`. One that is always 0 has none.

    Fresh ciphertexts have so little noise that their digits make one message without a table, and
    small digits leave room for sums.
    """
    limits, left = [], most
    while left:
        limits.append(min(base - 1, left))
        left //= base
    return limits


def lower(
    graph: Graph,
    measured: Sequence[Bounds],
    bounds: Sequence[Bounds],
    outputs: Sequence[int],
    p: int,
    budget: Budget,
    prefer_measured: bool,
) -> Lowered:
    """A graph as tables of messages below p."""
    wires = Wires(p, budget)
    return Lowering(graph, measured, prefer_measured, wires).run(bounds, outputs)
