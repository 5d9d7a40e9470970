"""Which gates a graph takes, and in which order: each call evaluates one kind of a layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np

from ._graph import Graph

Numbers = np.ndarray[Any, np.dtype[np.intp]]

GATES: dict[str, Callable[..., int]] = {
    "and": lambda a, b: a & b,
    "xor": lambda a, b: a ^ b,
    "xor3": lambda a, b, c: a ^ b ^ c,
    "majority": lambda a, b, c: a & b | a & c | b & c,
    "mux": lambda s, a, b: a if s else b,
}
"""Functions of one bit."""
SUMS = ("xor3", "majority")
"""Gates of three inputs, which do not take the noise of `mux`."""
KEPT = 6
"""Cuts of a node that are tried with those of other nodes."""


class Match(NamedTuple):
    """How a gate computes a function: which inputs it takes in which order, which of them are
    inverted, and whether the result is."""

    kind: str
    order: tuple[int, ...]
    inverted: tuple[int, ...]
    result: int


class Cut(NamedTuple):
    """Nodes of which a node is a function, and the table of that."""

    leaves: tuple[int, ...]
    table: int


class Chosen(NamedTuple):
    """What computes a node. `flow`: the cost, in which each use of a node bears its share."""

    flow: float
    level: int
    leaves: tuple[int, ...]
    table: int
    match: Match


class Gather(NamedTuple):
    """Where operands lie: sources and places in them, one behind another, and then an order."""

    parts: tuple[tuple[int, Numbers], ...]
    order: Numbers | None


@dataclass(frozen=True, eq=False)
class Step:
    """Gates of one kind in one layer: their operands, which of these are inverted, their tables if
    they have some, and the sources that nothing needs afterwards."""

    kind: str
    count: int
    level: int
    operands: tuple[Gather, ...]
    inverted: tuple[Numbers | None, ...]
    tables: tuple[int, ...]
    last: list[int] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Schedule:
    """Steps in order. Source 0 is the constant 0, then come inputs, then what each step makes."""

    steps: tuple[Step, ...]
    outputs: tuple[tuple[Gather, Numbers | None], ...]

    @property
    def gates(self) -> dict[str, int]:
        """How many gates there are of each kind."""
        counts: Counter[str] = Counter()
        for step in self.steps:
            counts[step.kind] += step.count
        return dict(counts)

    @property
    def layers(self) -> tuple[dict[str, int], ...]:
        """Gates of each layer, by kind. One call of the server evaluates those of a kind."""
        layers: list[dict[str, int]] = [{} for _ in range(self.depth)]
        for step in self.steps:
            layers[step.level - 1][step.kind] = step.count
        return tuple(layers)

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return max((step.level for step in self.steps), default=0)


def schedule(
    graph: Graph,
    inputs: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    costs: Mapping[str, int] | int,
) -> Schedule:
    """The gates that compute the outputs, from literals of inputs. `costs`: the gates that there
    are with their costs, or how many inputs tables have, each of which costs 1."""
    wanted = bytearray(len(graph.first))
    for literals in outputs:
        for literal in literals:
            wanted[literal >> 1] = 1
    chosen = _choose(graph, costs, wanted)
    groups: dict[tuple[int, str], list[int]] = {}
    for node in range(len(wanted) - 1, 0, -1):
        choice = chosen[node]
        if wanted[node] and choice is not None:
            groups.setdefault((choice.level, choice.match.kind), []).append(node)
            for each in choice.match.order:
                wanted[choice.leaves[each]] = 1
    places: dict[int, tuple[int, int]] = {0: (0, 0)}
    for source, literals in enumerate(inputs, 1):
        places |= {literal >> 1: (source, at) for at, literal in enumerate(literals)}
    signs = np.zeros(len(wanted), dtype=np.intp)  # where the inverse of a node is kept
    steps = []
    for source, ((level, kind), nodes) in enumerate(sorted(groups.items()), len(inputs) + 1):
        found: list[Chosen] = [chosen[node] for node in nodes]  # type: ignore[misc]
        if isinstance(costs, int):  # all of a step have as many inputs, of which some are 0
            rows = [(*c.leaves, *[0] * (costs - len(c.leaves))) for c in found]
            tables = tuple(c.table for c in found)
        else:
            rows = [tuple(c.leaves[i] for i in c.match.order) for c in found]
            tables = ()
        columns = np.array(rows, dtype=np.intp)
        flips = np.array([c.match.inverted for c in found], dtype=np.intp) ^ signs[columns]
        steps.append(
            Step(
                kind,
                len(nodes),
                level,
                tuple(_gather(column, places) for column in columns.T),
                tuple(column if column.any() else None for column in flips.T),
                tables,
            )
        )
        signs[nodes] = [c.match.result for c in found]
        places |= {node: (source, at) for at, node in enumerate(nodes)}
    ends = []
    for literals in outputs:
        nodes_of = np.array(literals, dtype=np.intp) >> 1
        flips = np.array(literals, dtype=np.intp) & 1 ^ signs[nodes_of]
        ends.append((_gather(nodes_of, places), flips if flips.any() else None))
    _note_last(steps, [gather for gather, _ in ends])
    return Schedule(tuple(steps), tuple(ends))


def _gather(nodes: Iterable[int], places: Mapping[int, tuple[int, int]]) -> Gather:
    found = np.array([places[int(node)] for node in nodes], dtype=np.intp).reshape(-1, 2)
    order = np.argsort(found[:, 0], kind="stable")
    sources, starts = np.unique(found[order, 0], return_index=True)
    lanes = np.split(found[order, 1], starts[1:])
    parts = tuple(zip(map(int, sources), lanes, strict=True))
    back = np.argsort(order)
    return Gather(parts, None if np.array_equal(back, np.arange(len(back))) else back)


def _note_last(steps: Sequence[Step], ends: Sequence[Gather]) -> None:
    """Notes with each step the sources that are read there for the last time."""
    kept = {source for gather in ends for source, _ in gather.parts}
    for step in reversed(steps):
        used = {source for gather in step.operands for source, _ in gather.parts}
        step.last.extend(sorted(used - kept))
        kept |= used


# ---- which gates


def _choose(
    graph: Graph, costs: Mapping[str, int] | int, outputs: bytearray
) -> list[Chosen | None]:
    """The cheapest gate for each node, by area flow over its cuts (Mishchenko, Chatterjee, Brayton,
    ICCAD 2007), and among those of one cost the one of the lowest level."""
    most = costs if isinstance(costs, int) else 3
    count = len(graph.first)
    uses = list(outputs)
    for node in range(1, count):
        if graph.is_gate(node):
            uses[graph.first[node] >> 1] += 1
            uses[graph.second[node] >> 1] += 1
    # Readers whose cuts are not made yet.
    left = [reads - output for reads, output in zip(uses, outputs, strict=True)]
    cuts: list[list[Cut]] = [[] for _ in range(count)]
    chosen: list[Chosen | None] = [None] * count
    flows, levels = [0.0] * count, [0] * count
    noisy = bytearray(count)
    for node in range(1, count):
        itself = Cut((node,), 2)
        if not graph.is_gate(node):
            cuts[node] = [itself]
            continue
        a, b = graph.first[node], graph.second[node]
        rated = []
        for cut in _merged(cuts[a >> 1], cuts[b >> 1], a & 1, b & 1, graph.is_xor(node), most):
            level = 1 + max(levels[leaf] for leaf in cut.leaves)
            flow = sum(flows[leaf] for leaf in cut.leaves)
            best = None
            for match in _matches(cut, most if isinstance(costs, int) else 0):
                cost = 1 if isinstance(costs, int) else costs.get(match.kind)
                if cost is None or (match.kind in SUMS and any(noisy[x] for x in cut.leaves)):
                    continue
                best = Chosen(flow + cost, level, cut.leaves, cut.table, match)
                break
            rated.append((flow, level, cut, best))
        matched = [best for *_, best in rated if best is not None]
        choice = chosen[node] = min(matched, key=lambda each: (each.flow, each.level))
        flows[node], levels[node] = choice.flow / max(1, uses[node]), choice.level
        noisy[node] = choice.match.kind == "mux"
        rated.sort(key=lambda each: each[:2])
        cuts[node] = [itself, *(cut for _, _, cut, _ in rated[:KEPT])]
        for each in (a >> 1, b >> 1):
            left[each] -= 1
            if left[each] == 0:
                cuts[each] = []
    return chosen


def _merged(
    first: Sequence[Cut], second: Sequence[Cut], a: int, b: int, xor: bool, most: int
) -> list[Cut]:
    """Cuts of a node with operands of these cuts, each inverted or not."""
    found: dict[tuple[int, ...], int] = {}
    for x, y in product(first, second):
        leaves = tuple(sorted({*x.leaves, *y.leaves}))
        if len(leaves) <= most and leaves not in found:
            ones = (1 << (1 << len(leaves))) - 1
            of_x = _spread(x.table, tuple(map(leaves.index, x.leaves)), len(leaves)) ^ a * ones
            of_y = _spread(y.table, tuple(map(leaves.index, y.leaves)), len(leaves)) ^ b * ones
            found[leaves] = of_x ^ of_y if xor else of_x & of_y
    return [Cut(leaves, table) for leaves, table in found.items()]


@lru_cache(1 << 16)
def _spread(table: int, places: tuple[int, ...], count: int) -> int:
    """The table of a function whose inputs are those at `places` among `count`."""
    return sum(
        (table >> sum((i >> place & 1) << k for k, place in enumerate(places)) & 1) << i
        for i in range(1 << count)
    )


def _matches(cut: Cut, tables: int) -> Sequence[Match]:
    count = len(cut.leaves)
    if tables:
        return (Match("table", tuple(range(count)), (0,) * tables, 0),)
    return _known().get((count, cut.table), ())


@lru_cache(1)
def _known() -> dict[tuple[int, int], list[Match]]:
    """What gates compute of two and three inputs: the fewest inverters first."""
    found: dict[tuple[int, int], dict[str, Match]] = {}
    for kind, function in GATES.items():
        arity = function.__code__.co_argcount
        ways = sorted(product((0, 1), repeat=arity), key=sum)
        for count, inverted, result in product((2, 3), ways, (0, 1)):
            for order in permutations(range(count), arity):
                table = 0
                for i in range(1 << count):
                    bits = [
                        i >> place & 1 ^ flip for place, flip in zip(order, inverted, strict=True)
                    ]
                    table |= (function(*bits) ^ result) << i
                match = Match(kind, order, inverted, result)
                found.setdefault((count, table), {}).setdefault(kind, match)
    return {key: list(kinds.values()) for key, kinds in found.items()}
