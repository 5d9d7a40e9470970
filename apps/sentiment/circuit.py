"""The network on ciphertexts: what lies in which slot, and a word in three levels.

**State.** A ciphertext holds u = z/RANGE of all cells and of `sentences` sentences: slot
p·sentences + i is cell p of sentence i, with the period cells·sentences. In

    c = u³ - 3/4·u = u·(u² - 3/4)

lies the cubic of `model`, which is -4·HEIGHT·c. The factor is part of the matrix that comes next,
so that a word costs two products of ciphertexts and one linear map, which are `LEVELS` levels. As
|u| is at most 1, |c| is at most 1/4.

**Words.** A vector x of a word comes from the client. A ciphertext of it has N/2 slots, which are
`share` words of a sentence, one after the other. Each has two copies of the layout above, one
behind the other, so that rotations go round within a word: the matrix W_in acts on all of them as
one map of `cells` diagonals. Its results are right in the first copy of each word. From there
`share` other maps bring one word each to all slots. All this is done for the whole sentence before
the first step, one array for all ciphertexts.

**Refreshing.** u + W_in·x + b is what is refreshed, where the next word would end too low. Words
are needed `LEVELS` below the highest level then, and their two maps take two of them.

The library's estimate of errors takes all of them to have one direction. Over many words it grows
without end. So u is stated to have the error that `budget` found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from whorl.server.ckks import (
    Ciphertexts,
    EncryptedArray,
    LinearMap,
    Parameters,
    Server,
    concatenate,
    diagonals,
    parameters,
)

from .model import CELLS, HEIGHT, RANGE, Weights
from .words import Floats

LEVELS = 3
"""A word takes so many: two products and a map."""
WORDS = 4
"""There are so many between two bootstraps; `budget` has the costs of others."""
SCALE_BITS = 35
TOGETHER = 4
"""Batches of sentences that run as one array; more take more memory."""
MOST_CUBIC = 1 / 4
"""No |c| is larger where |u| is at most 1: it is a quarter of the Chebyshev polynomial T3."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """What lies in which slot; all numbers are powers of two."""

    slots: int = 2**15
    cells: int = CELLS
    sentences: int = 32

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if value < 1 or value & (value - 1):
                raise ValueError(f"{name}: {value} is not a power of two")
        if 2 * self.period > self.slots:
            raise ValueError(
                f"layout: two copies of {self.cells} cells of {self.sentences} sentences do not "
                f"fit {self.slots} slots"
            )

    @property
    def period(self) -> int:
        """Slots of the state."""
        return self.cells * self.sentences

    @property
    def share(self) -> int:
        """Words of a ciphertext."""
        return self.slots // (2 * self.period)

    def pack(self, vectors: Floats) -> Floats:
        """Vectors (count, steps, cells) as slots (batches, ciphertexts, slots); zeros fill up."""
        count, steps, cells = vectors.shape
        ends = (-count % self.sentences, -steps % self.share, self.cells - cells)
        x = np.pad(vectors, [(0, end) for end in ends])
        x = x.reshape(-1, self.sentences, x.shape[1], self.cells).transpose(0, 2, 3, 1)
        x = np.tile(x.reshape(*x.shape[:2], self.period), 2)
        packed: Floats = x.reshape(len(x), -1, self.slots)
        return packed

    def matrix(self, values: Floats, period: int) -> LinearMap:
        """The matrix of all sentences, on vectors of `period` values."""
        cell = np.arange(self.cells)

        def diagonal(k: int) -> Floats:
            return np.resize(
                np.repeat(values[cell, (cell + k) % self.cells], self.sentences), period
            )

        return diagonals({self.sentences * k: diagonal(k) for k in range(self.cells)}, period)

    def picked(self, word: int) -> LinearMap:
        """The map from a ciphertext of words to one of them, in all slots."""
        slot = np.arange(self.slots)
        first = slot // self.period == 2 * word
        turns = range(0, self.slots, self.period)
        return diagonals(
            {turn: np.roll(first, -turn).astype(float) for turn in turns}, self.slots, self.period
        )

    def rotations(self) -> list[int]:
        """Slots that a server rotates by, for which it needs keys."""
        sums = [self.sentences << i for i in range(self.cells.bit_length() - 1)]
        matrix = self.matrix(np.ones((self.cells, self.cells)), self.period)
        return sorted({*matrix.rotations, *self.picked(0).rotations, *sums})


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is public about a run, and the errors that it states."""

    layout: Layout
    steps: int
    error: float
    """Standard deviation of the error of u, after any word."""
    score_error: float
    """That of a score's error."""


def choose(words: int = WORDS, scale_bits: int = SCALE_BITS) -> Parameters:
    """128 bits or more, a bootstrap after so many words."""
    return parameters(depth=LEVELS * words, scale_bits=scale_bits, bootstrap=True)


def levels(params: Parameters, steps: int) -> list[tuple[int, bool]]:
    """For each word the level of u after it, and whether it is refreshed then."""
    out, level = [], params.depth - LEVELS
    for step in range(steps):
        refreshed = step + 1 < steps and level - LEVELS < params.least_bootstrap_level
        out.append((level, refreshed))
        level = (params.depth if refreshed else level) - LEVELS
    return out


def keys(params: Parameters, layout: Layout, steps: int) -> dict[str, Any]:
    """The arguments of `evaluation_keys` and `key_size` for a run."""
    refreshed = any(refreshed for _, refreshed in levels(params, steps))
    return {
        "rotations": layout.rotations(),
        "bootstrap": [layout.period] if refreshed else [],
    }


class Network:
    """The network on a server, with its maps encoded; `run` is the whole of it."""

    def __init__(self, server: Server, weights: Weights, plan: Plan) -> None:
        self._server, self._plan, self._constant = server, plan, weights.constant
        self._levels = levels(server.parameters, plan.steps)
        layout, top = plan.layout, server.parameters.depth - LEVELS
        self._bias = np.resize(np.repeat(weights.bias / RANGE, layout.sentences), layout.slots)
        self._inputs = server.encode(layout.matrix(weights.inputs / RANGE, layout.slots), top + 2)
        count = min(layout.share, plan.steps)
        self._picked = [server.encode(layout.picked(word), top + 1) for word in range(count)]
        # c is -1/(4·HEIGHT) of the cubic.
        recurrent = layout.matrix(weights.recurrent * (-4 * HEIGHT / RANGE), layout.period)
        starts = {
            server.parameters.depth if refreshed else level
            for level, refreshed in self._levels[:-1]
        }
        self._recurrent = {at - 2: server.encode(recurrent, at - 2) for at in sorted(starts)}
        head = np.repeat(weights.head * (-4 * HEIGHT), layout.sentences)
        self._head = server.encode(diagonals({0: head}, layout.period), self._levels[-1][0] - 2)
        self._most = float(np.abs(weights.head).sum() * HEIGHT + abs(weights.constant))

    @property
    def bootstraps(self) -> int:
        """How many a run takes."""
        return sum(refreshed for _, refreshed in self._levels)

    @property
    def nbytes(self) -> int:
        """Bytes of the encoded maps on each device."""
        maps = [self._inputs, *self._picked, *self._recurrent.values(), self._head]
        return sum(each.nbytes for each in maps)

    def words(self, query: EncryptedArray) -> Iterator[EncryptedArray]:
        """W_in·x + b over RANGE of each word, of shape (batches), from a query of the shape
        (batches, ciphertexts)."""
        layout, steps = self._plan.layout, self._plan.steps
        made = self._inputs @ query + self._bias
        picked = [(each @ made).with_bound(1) for each in self._picked]
        return (picked[t % layout.share][:, t // layout.share] for t in range(steps))

    def cubic(self, u: EncryptedArray) -> EncryptedArray:
        """c of the state, two levels lower."""
        return (u * (u.square() - 3 / 4)).with_bound(MOST_CUBIC)

    def recur(self, u: EncryptedArray) -> EncryptedArray:
        """W_rec·h over RANGE, three levels lower."""
        c = self.cubic(u)
        return self._recurrent[c.level] @ c

    def score(self, u: EncryptedArray) -> EncryptedArray:
        """The scores of the last state: a vector of `sentences` values."""
        c = self.cubic(u)
        return (self._head @ c).sum(self._plan.layout.sentences) + self._constant

    def run(
        self,
        query: EncryptedArray,
        refresh: Callable[[EncryptedArray], EncryptedArray] = EncryptedArray.bootstrap,
    ) -> EncryptedArray:
        """Scores, of shape (batches); `refresh` brings a state back to the highest level."""
        words = self.words(query)
        u = self._known(next(words))
        for word, (_, refreshed) in zip(words, self._levels[:-1], strict=True):
            if refreshed:
                u = self._known(refresh(u))
            u = self._known(self.recur(u) + word)
        return self.score(u).with_bound(self._most).with_error(self._plan.score_error)

    def answer(
        self,
        query: Ciphertexts,
        refresh: Callable[[EncryptedArray], EncryptedArray] = EncryptedArray.bootstrap,
    ) -> EncryptedArray:
        """`run` of a query in the host's memory, so many batches at a time that memory suffices."""
        parts = [query[first : first + TOGETHER] for first in range(0, len(query), TOGETHER)]
        return concatenate([self.run(self._server.upload(part), refresh) for part in parts])

    def _known(self, u: EncryptedArray) -> EncryptedArray:
        """The state, of which more is known than operations state."""
        return u.with_bound(1).with_error(self._plan.error)
