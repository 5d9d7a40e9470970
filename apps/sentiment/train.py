"""Trains the network in NumPy, and packs it to the files of the application.

usage: python apps/sentiment/train.py FOLDER    rt-polarity.pos, rt-polarity.neg -> table.npz,
                                                weights.npz

The sentences are those of Pang and Lee (ACL 2005). Seed and split are fixed, so that a run on the
same processor gives the same files. Mini-batches take tanh and the cubic by turns at random. After
each of them, W_rec's rows and the words' vectors are cut down so that no sequence of words leaves
the range of `model`. The last weights are a running mean.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sentiment import model, words
from sentiment.model import CELLS, HEIGHT, RANGE, REACH, STEPS, Weights
from sentiment.words import Sentences, Table, read_polarity, split

Arrays = dict[str, npt.NDArray[np.float32]]
Single = npt.NDArray[np.float32]

LEAST_COUNT = 3
"""How often a word must come in the training to get a row of the table."""
EPOCHS, BATCH, RATE, DECAY = 10, 64, 1e-3, 1e-5
DROPPED = 0.5
"""The share of a word's values, and of the last state's, that a mini-batch leaves out."""
AVERAGED = 0.998
"""What the running mean keeps of itself."""
RECURRENT = 0.6
"""The share of the range that the last state may take; the word has the rest."""
LIMIT = (REACH - 0.01) * RANGE
"""No |z| is larger; it is a little less than `model.load` accepts, since packing rounds."""


def first_weights(rows: int, random: np.random.Generator) -> Arrays:
    """Small numbers at random; cells remember half of themselves."""
    spread = CELLS**-0.5
    made = {
        "table": random.normal(0, 0.1, (rows, CELLS)),
        "inputs": random.normal(0, spread, (CELLS, CELLS)),
        "recurrent": random.normal(0, 0.3 * spread, (CELLS, CELLS)) + np.eye(CELLS) / 2,
        "bias": np.zeros(CELLS),
        "head": random.normal(0, 0.1, CELLS),
        "constant": np.zeros(1),
    }
    made["table"][words.NOTHING] = 0
    return {name: each.astype(np.float32) for name, each in made.items()}


class Adam:
    """The method of Kingma and Ba (ICLR 2015), for rows of an array."""

    def __init__(self, array: Single) -> None:
        self._array, self._step = array, 0
        self._mean, self._square = np.zeros_like(array), np.zeros_like(array)

    def take(self, gradient: Single, rate: float, rows: slice | npt.NDArray[np.int64]) -> None:
        """A step with the gradient of some rows."""
        self._step += 1
        gradient = gradient + DECAY * self._array[rows]
        mean = self._mean[rows] = 0.9 * self._mean[rows] + 0.1 * gradient
        square = self._square[rows] = 0.999 * self._square[rows] + 0.001 * gradient**2
        mean, square = mean / (1 - 0.9**self._step), square / (1 - 0.999**self._step)
        self._array[rows] -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-8))


def gradients(
    at: Arrays, rows: npt.NDArray[np.int64], labels: npt.NDArray[np.int64], tanh: bool, keep: Arrays
) -> tuple[Arrays, npt.NDArray[np.int64]]:
    """The gradients of a mini-batch's mean logistic loss, and the rows of the table that its own
    are of. `rows`: shape (count, steps); `keep`: factors for a word's values and the last state's.
    """
    count, steps = rows.shape
    x = at["table"][rows.T] * keep["words"]
    from_words = x @ at["inputs"].T + at["bias"]
    h = np.zeros((steps + 1, count, CELLS), np.float32)
    slope = np.empty((steps, count, CELLS), np.float32)
    first, third = np.float32(3 * HEIGHT / RANGE), np.float32(4 * HEIGHT / RANGE**3)
    for t in range(steps):
        z = from_words[t] + h[t] @ at["recurrent"].T
        square = z * z
        h[t + 1] = np.tanh(z) if tanh else z * (first - third * square)
        slope[t] = 1 - h[t + 1] ** 2 if tanh else first - 3 * third * square
    last = h[-1] * keep["last"]
    scores = last @ at["head"] + at["constant"]
    error = (1 / (1 + np.exp(-scores)) - labels).astype(np.float32) / np.float32(count)
    back = np.outer(error, at["head"]) * keep["last"]
    z_error = np.empty_like(slope)
    for t in range(steps - 1, -1, -1):
        z_error[t] = back * slope[t]
        back = z_error[t] @ at["recurrent"]
    flat = z_error.reshape(-1, CELLS)
    x_error = ((z_error @ at["inputs"]) * keep["words"]).reshape(-1, CELLS)
    order = np.argsort(rows.T, axis=None, kind="stable")
    touched, starts = np.unique(rows.T.reshape(-1)[order], return_index=True)
    out = {
        "table": np.add.reduceat(x_error[order], starts, axis=0),
        "inputs": flat.T @ x.reshape(-1, CELLS),
        "recurrent": flat.T @ h[:-1].reshape(-1, CELLS),
        "bias": flat.sum(axis=0),
        "head": last.T @ error,
        "constant": error.sum(keepdims=True),
    }
    out["table"][touched == words.NOTHING] = 0
    return out, touched


def clipped(found: Arrays) -> Arrays:
    """Gradients whose norm together is at most 1."""
    norm = np.sqrt(sum(float((each**2).sum()) for each in found.values()))
    return {name: each / np.float32(max(1.0, norm)) for name, each in found.items()}


def bound(at: Arrays, rows: slice | npt.NDArray[np.int64] = slice(None)) -> None:
    """Cuts W_rec and words down to what the range has room for.

    Rows of W_rec go to the nearest point of a ball of the 1-norm (Duchi, Shalev-Shwartz, Singer,
    Chandra, ICML 2008).
    """
    most = RECURRENT * LIMIT / HEIGHT
    matrix = at["recurrent"]
    large = np.flatnonzero(np.abs(matrix).sum(axis=1) > most)
    if len(large):
        falling = -np.sort(-np.abs(matrix[large]), axis=1)
        excess = falling.cumsum(axis=1) - most
        count = (falling * np.arange(1, CELLS + 1) > excess).sum(axis=1)
        by = excess[np.arange(len(large)), count - 1] / count
        kept = np.maximum(np.abs(matrix[large]) - by[:, None], 0)
        matrix[large] = np.sign(matrix[large]) * kept
    left = (1 - RECURRENT) * LIMIT - np.abs(at["bias"])
    over = (np.abs(at["table"][rows] @ at["inputs"].T) / left).max(axis=1, keepdims=True)
    at["table"][rows] /= np.maximum(over, 1)


def parts(at: Arrays, vocabulary: list[str]) -> tuple[Table, Weights]:
    """The model of these numbers, with a table of values of at most 1."""
    most = float(np.abs(at["table"]).max())
    double = {name: each.astype(np.float64) for name, each in at.items()}
    weights = Weights(
        inputs=double["inputs"] * most,
        recurrent=double["recurrent"],
        bias=double["bias"],
        head=double["head"],
        constant=float(double["constant"][0]),
    )
    return Table(vocabulary, double["table"] / most), weights


def train(training: Sentences, seed: int = 0, epochs: int = EPOCHS) -> tuple[Table, Weights]:
    """The model of some sentences."""
    random = np.random.default_rng(seed)
    counts = Counter(word for text in training.texts for word in split(text))
    vocabulary = sorted(word for word, count in counts.items() if count >= LEAST_COUNT)
    at = first_weights(len(vocabulary) + 2, random)
    mean = {name: each.copy() for name, each in at.items()}
    adam = {name: Adam(each) for name, each in at.items()}
    rows = Table(vocabulary, np.empty(0)).rows(training.texts, STEPS)
    batches = len(rows) // BATCH

    def kept() -> Single:
        chosen = random.random((BATCH, CELLS)) >= DROPPED
        return chosen.astype(np.float32) / np.float32(1 - DROPPED)

    for epoch in range(epochs):
        order = random.permutation(len(rows))[: batches * BATCH].reshape(batches, BATCH)
        for chosen in order:
            found, touched = gradients(
                at,
                rows[chosen],
                training.labels[chosen],
                bool(random.integers(2)),
                {"words": kept(), "last": kept()},
            )
            for name, each in clipped(found).items():
                which = touched if name == "table" else slice(None)
                adam[name].take(each, RATE * (1 - epoch / epochs), which)
            bound(at, touched)
            for name, each in at.items():
                mean[name] += np.float32(1 - AVERAGED) * (each - mean[name])
        print(f"epoch {epoch + 1} of {epochs}", flush=True)
    bound(mean)
    return parts(mean, vocabulary)


def accuracy(table: Table, weights: Weights, data: Sentences, function: model.Function) -> float:
    """The share of sentences that the network judges as their labels do."""
    scores = model.run(weights, table.vectors(data.texts, STEPS), function).scores
    return float(np.mean((scores > 0) == data.labels))


def main(argv: list[str] | None = None) -> None:
    """Trains, packs, and prints the accuracies of what was packed."""
    parser = argparse.ArgumentParser(
        prog="train.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent, help="a folder")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args(argv)
    try:
        training, test = read_polarity(arguments.folder)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    table, weights = train(training, epochs=arguments.epochs)
    table.save(arguments.to / words.PACKED.name)
    weights.save(arguments.to / model.PACKED.name)
    table = Table.load(arguments.to / words.PACKED.name)
    weights = model.load(arguments.to / model.PACKED.name, table)
    print(f"{len(table.words)} words; |u| at most {weights.reach(table):.4f}")
    for name, function in (("cubic", model.cubic), ("tanh", np.tanh)):
        for what, data in (("training", training), ("test", test)):
            share = accuracy(table, weights, data, function)
            print(f"{name}: {100 * share:.1f} % of {len(data.texts)} sentences of the {what}")


if __name__ == "__main__":
    main()
