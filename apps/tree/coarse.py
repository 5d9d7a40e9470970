"""The tree over features of 2,048 levels, which a set tells apart only nearly.

Xiao et al. (TCHES 2025, §5.3) give features 11 bits under a set with q = 2048, so that a level is
half a unit of the modulus, or one of the 2N phases. A test is a table that is not exact: it decides
rightly for levels that are further from its cut than `reach`. Nearer ones may go the other way, as
a measurement that is a little off would, and end in a leaf all the same.

Two rotations follow one another, as in `circuit.py`. Sums are products with matrices. The bits stay
under the ring key, so that the sum of a way has the errors of its rotations and one key switch, and
not one for each bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from common.table import Ints
from whorl.server.binfhe import EncryptedArray, Lut, Parameters, Server

from .circuit import Circuit, Table

LEVELS = 2048
GUARD = 128
"""Levels that stay free at both ends: beyond them a padded table gives the negative of a value."""


def test_of(parameters: Parameters, table: Table, p_out: int) -> Lut:
    """The table of a test. `EncodingError` if the number of its levels is no power of two."""
    return Lut(parameters, table, p_out=p_out, padding=True, exact=False)


def reach(parameters: Parameters, levels: int = LEVELS) -> int:
    """How many levels from its cut a test decides rightly, but for a probability of 2^-40.

    `ValueError` where that is more than the guard.
    """
    halves = [int(2 * level >= levels) for level in range(levels)]
    found = test_of(parameters, halves, 2).reach
    if found > GUARD:
        raise ValueError(
            f"{parameters.name}: a level may be off by {found}, but {GUARD} of {levels} stay free "
            "at both ends; another set is needed"
        )
    return found


def agreements(circuit: Circuit, leaves: Sequence[int]) -> tuple[Ints, Ints]:
    """The matrix and the constants of Σ b + Σ (1 - b) along the ways to leaves, of shapes (leaves,
    nodes) and (leaves,)."""
    weights = np.zeros((len(leaves), len(circuit.tests)), dtype=np.int64)
    for row, leaf in enumerate(leaves):
        for node, right in circuit.ways[leaf]:
            weights[row, node] = 1 if right else -1
    return weights, (weights < 0).sum(axis=1)


class CoarseTree:
    """A circuit on a server; its tables and matrices are made once."""

    def __init__(self, server: Server, circuit: Circuit) -> None:
        """`ValueError` where a level may be off by more than the guard."""
        self._server, self._circuit = server, circuit
        reach(server.parameters, circuit.p_in)
        self._tests = [test_of(server.parameters, each, circuit.p_sum) for each in circuit.tests]
        self._ends = {leaf: self._end(leaf) for leaf in circuit.needed}

    def _end(self, leaf: int) -> Lut:
        return Lut(
            self._server.parameters,
            self._circuit.ends[leaf],
            p_out=self._circuit.p_out,
            padding=True,
            padding_out=False,
        )

    def bits(self, x: EncryptedArray) -> EncryptedArray:
        """(flowers, features) -> (flowers, internal nodes), under the ring key."""
        return self._server.apply(self._tests, x[:, self._circuit.features], under="ring")

    def leaves(self, bits: EncryptedArray, leaves: Sequence[int]) -> EncryptedArray:
        """(flowers, internal nodes) -> (flowers, leaves), indicators of the leaves named."""
        weights, constants = agreements(self._circuit, leaves)
        # Whatever side a test took, the sum of a way is at most its length.
        longest = self._circuit.p_sum - 1
        sums = self._server.linear(weights, bits, constants, largest=longest)
        return self._server.apply(
            [self._ends.get(leaf) or self._end(leaf) for leaf in leaves], sums
        )

    def classes(self, indicators: EncryptedArray) -> EncryptedArray:
        """(flowers, needed leaves) -> (flowers,), the class."""
        weights = [self._circuit.weights[leaf] for leaf in self._circuit.needed]
        return self._server.linear([weights], indicators, self._circuit.base)[:, 0]

    def classify(self, x: EncryptedArray) -> EncryptedArray:
        """(flowers, features) -> (flowers,)."""
        return self.classes(self.leaves(self.bits(x), self._circuit.needed))
