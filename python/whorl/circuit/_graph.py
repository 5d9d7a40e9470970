"""Boolean functions as a graph of ANDs and XORs, in which equal nodes are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ..errors import OversizedError

MOST_IN_TABLE = 6
"""Inputs of a function that is given by its table."""


class Graph:
    """Nodes and how they are connected.

    A literal is twice a node's number, plus 1 where the node is inverted; 0 and 1 are the
    constants. Operands of a node have smaller numbers than the node. An XOR's first operand is the
    larger one, and an AND's the smaller one; inputs have neither.
    """

    def __init__(self, name: str, most: int) -> None:
        self.first, self.second = [0], [0]
        self.line = 0
        """Where the text asks for what is added."""
        self._name, self._most = name, most
        self._known: dict[tuple[int, int], int] = {}

    def input(self) -> int:
        """A new input's literal."""
        return self._add(0, 0)

    def is_gate(self, node: int) -> bool:
        """Whether a node has operands."""
        return self.second[node] != 0

    def is_xor(self, node: int) -> bool:
        """Whether a node with operands is an XOR."""
        return self.first[node] > self.second[node]

    def and_(self, a: int, b: int) -> int:
        """a ∧ b."""
        a, b = min(a, b), max(a, b)
        if a <= 1:
            return b if a else 0
        if a ^ b <= 1:
            return a if a == b else 0
        return self._shared(a, b)

    def or_(self, a: int, b: int) -> int:
        """a ∨ b."""
        return self.and_(a ^ 1, b ^ 1) ^ 1

    def xor(self, a: int, b: int) -> int:
        """a ⊕ b; inverters go to the result."""
        inverted = (a ^ b) & 1
        a, b = max(a, b) & ~1, min(a, b) & ~1
        if a == b or b == 0:
            return (0 if a == b else a) | inverted
        return self._shared(a, b) | inverted

    def mux(self, select: int, a: int, b: int) -> int:
        """select ? a : b."""
        if a == b:
            return a
        if a ^ b == 1:
            return self.xor(select, b)
        if a <= 1:
            return self.or_(select, b) if a else self.and_(select ^ 1, b)
        if b <= 1:
            return self.or_(select ^ 1, a) if b else self.and_(select, a)
        return self.or_(self.and_(select, a), self.and_(select ^ 1, b))

    def chain(self, join: Callable[[int, int], int], literals: Sequence[int]) -> int:
        """A balanced tree of one operation over one literal or more."""
        level = list(literals)
        while len(level) > 1:
            pairs = [join(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
            level = pairs + level[len(level) & ~1 :]
        return level[0]

    def cover(self, cubes: Sequence[str], inputs: Sequence[int]) -> int:
        """The OR of cubes, each of which has `0`, `1` or `-` for each input."""
        literals = sum(len(cube) - cube.count("-") for cube in cubes)
        if len(inputs) <= MOST_IN_TABLE:
            table = sum(1 << i for i in range(1 << len(inputs)) if _covers(cubes, i))
            if _steps(table, len(inputs)) < literals:
                return self._of_table(table, list(inputs))
        products = []
        for cube in cubes:
            pairs = zip(cube, inputs, strict=True)
            factors = [x ^ (bit == "0") for bit, x in pairs if bit != "-"]
            products.append(self.chain(self.and_, factors) if factors else 1)
        return self.chain(self.or_, products) if products else 0

    def _of_table(self, table: int, inputs: list[int]) -> int:
        """The function whose value for inputs i_0, i_1, … is bit i_0 + 2·i_1 + … of the table.
        It calls itself at most once for each input."""
        if not inputs:
            return table
        v, low, high = _split(table, len(inputs))
        x, rest = inputs[v], inputs[:v] + inputs[v + 1 :]
        ones = (1 << (1 << len(rest))) - 1
        if low == high:
            return self._of_table(low, rest)
        if low == high ^ ones:
            return self.xor(x, self._of_table(low, rest))
        of_1, of_0 = self._of_table(high, rest), self._of_table(low, rest)
        if low & ~high == 0:
            return self.or_(of_0, self.and_(x, of_1))
        if high & ~low == 0:
            return self.or_(of_1, self.and_(x ^ 1, of_0))
        return self.mux(x, of_1, of_0)

    def _shared(self, first: int, second: int) -> int:
        found = self._known.get((first, second))
        if found is None:
            found = self._known[first, second] = self._add(first, second)
        return found

    def _add(self, first: int, second: int) -> int:
        if len(self.first) > self._most:
            raise OversizedError(
                f"{self._name}, line {self.line}: the circuit has more than {self._most:,} nodes, "
                "which are inputs and two-input gates; a larger max_nodes accepts it"
            )
        self.first.append(first)
        self.second.append(second)
        return 2 * len(self.first) - 2


def _covers(cubes: Sequence[str], i: int) -> bool:
    return any(all(bit in ("-", str(i >> k & 1)) for k, bit in enumerate(cube)) for cube in cubes)


@lru_cache(1 << 14)
def _split(table: int, count: int) -> tuple[int, int, int]:
    """The input by which a table is cut, and its halves where that is 0 and 1."""
    return min((_effort(table, count, v), v, *_halves(table, count, v)) for v in range(count))[1:]


def _halves(table: int, count: int, v: int) -> tuple[int, int]:
    halves = [0, 0]
    for i in range(1 << count):
        rest = i & ((1 << v) - 1) | i >> (v + 1) << v
        halves[i >> v & 1] |= (table >> i & 1) << rest
    return halves[0], halves[1]


def _effort(table: int, count: int, v: int) -> int:
    """Gates that a cut by input v takes, and those behind it."""
    low, high = _halves(table, count, v)
    ones = (1 << (1 << (count - 1))) - 1
    if low == high:
        return _steps(low, count - 1)
    if low == high ^ ones:
        return 1 + _steps(low, count - 1)
    if low in (0, ones) or high in (0, ones):
        return 1 + _steps(low, count - 1) + _steps(high, count - 1)
    unate = low & ~high == 0 or high & ~low == 0
    return (2 if unate else 3) + _steps(low, count - 1) + _steps(high, count - 1)


@lru_cache(1 << 14)
def _steps(table: int, count: int) -> int:
    """Two-input gates that a table takes."""
    if count == 0:
        return 0
    return min(_effort(table, count, v) for v in range(count))
