"""The network in clear: weights, its polynomial, and the range that no sentence leaves.

It is an Elman network of 128 cells: h' = f(W_in·x + W_rec·h + b) for each word x of a sentence,
from h = 0, and a score of the last h, which is positive for praise. f was trained as tanh and as
the cubic by turns, so that the same weights serve both:

    p(z) = HEIGHT·(3·u - 4·u³),  u = z/RANGE.

This is -HEIGHT times the Chebyshev polynomial T3 of u, so |p| is at most HEIGHT where |u| is at
most 1. `Weights.reach` bounds |u| after any word of the table: a cell is at most HEIGHT before, so
|u| is at most (HEIGHT·Σ|W_rec| + max|W_in·x + b|)/RANGE in each row. Training keeps that below
REACH, and `load` refuses weights that do not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .words import Floats, Table

PACKED = Path(__file__).with_name("weights.npz")
CELLS = 128
STEPS = 32
RANGE, HEIGHT = 3.0, 0.93
REACH = 0.98
"""The rest of the range is for errors of ciphertexts."""

Function = Callable[[Floats], Floats]


def cubic(z: Floats) -> Floats:
    """The polynomial in place of tanh."""
    u = z / RANGE
    return HEIGHT * u * (3 - 4 * u * u)


@dataclasses.dataclass(frozen=True)
class Weights:
    """The server's part of the model, which it keeps to itself."""

    inputs: Floats
    """W_in, shape (cells, cells)."""
    recurrent: Floats
    """W_rec, shape (cells, cells)."""
    bias: Floats
    head: Floats
    constant: float
    """The score has it added."""

    def reach(self, table: Table) -> float:
        """The largest |u| that any sequence of words can lead to."""
        words = np.abs(table.values @ self.inputs.T + self.bias).max(axis=0)
        cells = HEIGHT * np.abs(self.recurrent).sum(axis=1)
        return float((words + cells).max() / RANGE)

    def save(self, path: Path) -> None:
        """Writes a small file, in float16."""
        fields = dataclasses.asdict(self).items()
        arrays: dict[str, Any] = {name: np.asarray(each, np.float16) for name, each in fields}
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> Weights:
        """Reads what `save` wrote."""
        with np.load(path) as packed:
            return cls(**{k: packed[k].astype(np.float64)[()] for k in packed.files})


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a network makes of sentences."""

    scores: Floats
    """Shape (sentences): positive for praise."""
    largest: float
    """The largest |u| on the way."""


def run(weights: Weights, vectors: Floats, function: Function = cubic) -> Outcome:
    """The network of vectors (sentences, steps, cells)."""
    words = vectors @ weights.inputs.T + weights.bias
    h, largest = np.zeros(words.shape[::2]), 0.0
    for step in range(words.shape[1]):
        z = words[:, step] + h @ weights.recurrent.T
        largest = max(largest, float(np.abs(z).max()) / RANGE)
        h = function(z)
    return Outcome(h @ weights.head + weights.constant, largest)


def load(path: Path = PACKED, table: Table | None = None) -> Weights:
    """What `Weights.save` wrote, for a table, by default that of the application.

    `ValueError` if a sequence of the table's words may lead out of the range.
    """
    weights = Weights.load(path)
    reach = weights.reach(table or Table.load())
    if not reach <= REACH:  # nor nan
        raise ValueError(
            f"{path}: words may lead to {reach:.3g} of the range, above {REACH}; train.py makes "
            "weights that do not"
        )
    return weights
