"""From a tree to look-up tables and sums, and their evaluation in any arithmetic.

After PEGASUS (Lu, Huang, Hong, Ma, Qu, IEEE S&P 2021, §VI), as paper "Xiao et al." §5.3 does:

1. A table at every internal node turns the level of its feature into b = [level > cut].
2. Along the way to a leaf the agreements (b where it goes right, 1 - b where it goes left) are
   added up. The sum is the length of the way only for the leaf that the flower ends in; a table
   turns it into 1 there and 0 elsewhere. All leaves are added up in one go: the literals b, 1 - b
   and 0 lie side by side, and column j has the literal at place j of each leaf's way.
3. The class is the sum of the leaves' labels times these indicators, modulo the number of classes.

Step 3 counts labels from the commonest one, so leaves of that class need no table.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

from .model import Leaf, Tree

Table = list[int]


class Array(Protocol):
    """Messages, or ciphertexts of them, with NumPy's indexing."""

    def __getitem__(self: A, key: object, /) -> A: ...


A = TypeVar("A", bound=Array)


class Arithmetic(Protocol[A]):
    """What a circuit is evaluated in: ciphertexts, or numbers in the clear."""

    def look_up(self, tables: Sequence[Table], x: A, p_out: int, padding_out: bool) -> A:
        """Column j of x through tables[j]."""
        ...

    def linear(self, weights: Sequence[int], columns: Sequence[A], constant: int) -> A:
        """constant + sum of weights times columns, modulo their p."""
        ...

    def join(self, arrays: Sequence[A]) -> A:
        """Arrays side by side along the last axis."""
        ...

    def zero(self, like: A) -> A:
        """One column of zeros, as many as `like` has, in its encoding."""
        ...


@dataclasses.dataclass(frozen=True)
class Circuit:
    """Tables and sums of one tree."""

    p_in: int  # features: messages 0 … p_in - 1 under a padding bit
    p_sum: int  # agreements along a way, under a padding bit
    p_out: int  # indicators and the class, without padding: they are only added up
    features: list[int]  # per internal node
    tests: list[Table]  # per internal node
    ways: list[list[tuple[int, bool]]]  # per leaf: (index of an internal node, goes right)
    ends: list[Table]  # per leaf
    weights: list[int]  # per leaf: label - base
    base: int

    @property
    def needed(self) -> list[int]:
        """Leaves that the class depends on."""
        return [leaf for leaf, weight in enumerate(self.weights) if weight] or [0]

    @property
    def skipped(self) -> list[int]:
        """The other leaves, those of the commonest class."""
        needed = set(self.needed)
        return [leaf for leaf in range(len(self.weights)) if leaf not in needed]

    @property
    def rotations(self) -> int:
        """Blind rotations a flower: one a table."""
        return len(self.tests) + len(self.needed)

    def literals(self, leaves: Sequence[int]) -> list[list[int]]:
        """The ways to leaves, as long as the longest: columns of (b, 1 - b, 0) of all nodes."""
        nodes = len(self.tests)
        longest = max(len(self.ways[leaf]) for leaf in leaves)
        ways = [[node if right else nodes + node for node, right in self.ways[i]] for i in leaves]
        return [[*way, *([2 * nodes] * (longest - len(way)))] for way in ways]


def compile_tree(tree: Tree) -> Circuit:
    """The circuit of a tree."""
    leaves = tree.leaves()
    nodes = tree.internal
    index = {node: position for position, node in enumerate(nodes)}
    p_sum = tree.depth + 1
    base = _commonest(leaves)
    return Circuit(
        p_in=tree.levels,
        p_sum=p_sum,
        p_out=max(2, tree.classes),
        features=[tree.feature[node] for node in nodes],
        tests=[[int(level > tree.cut[node]) for level in range(tree.levels)] for node in nodes],
        ways=[[(index[node], right) for node, right in leaf.path] for leaf in leaves],
        ends=[[int(count == len(leaf.path)) for count in range(p_sum)] for leaf in leaves],
        weights=[leaf.label - base for leaf in leaves],
        base=base,
    )


def _commonest(leaves: list[Leaf]) -> int:
    return Counter(leaf.label for leaf in leaves).most_common(1)[0][0]


def compare_features(circuit: Circuit, arithmetic: Arithmetic[A], x: A) -> A:
    """Step 1: (flowers, features) -> (flowers, internal nodes)."""
    return arithmetic.look_up(circuit.tests, x[:, circuit.features], circuit.p_sum, True)


def find_leaves(circuit: Circuit, arithmetic: Arithmetic[A], bits: A, leaves: Sequence[int]) -> A:
    """Step 2: (flowers, internal nodes) -> (flowers, leaves), indicators of the leaves named."""
    opposite = arithmetic.linear([-1], [bits], 1)
    literals = arithmetic.join([bits, opposite, arithmetic.zero(bits)])
    columns = [literals[:, list(column)] for column in zip(*circuit.literals(leaves), strict=True)]
    tables = [circuit.ends[leaf] for leaf in leaves]
    sums = arithmetic.linear([1] * len(columns), columns, 0)
    return arithmetic.look_up(tables, sums, circuit.p_out, False)


def sum_classes(circuit: Circuit, arithmetic: Arithmetic[A], indicators: A) -> A:
    """Step 3: (flowers, needed leaves) -> (flowers,), the class."""
    needed = circuit.needed
    columns = [indicators[:, position] for position in range(len(needed))]
    return arithmetic.linear([circuit.weights[leaf] for leaf in needed], columns, circuit.base)


def evaluate(circuit: Circuit, arithmetic: Arithmetic[A], x: A) -> A:
    """All three steps: (flowers, features) -> (flowers,)."""
    bits = compare_features(circuit, arithmetic, x)
    return sum_classes(circuit, arithmetic, find_leaves(circuit, arithmetic, bits, circuit.needed))
