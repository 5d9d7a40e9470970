"""Handwritten digits, 3 against 8, as 14 × 14 pixels: the file that the application carries.

`pack.py` makes it from MNIST.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
from common import table

PACKED = Path(__file__).with_name("digits.npz")
CLASSES = (3, 8)  # labels 1 and -1
SIDE = 14

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]


@dataclasses.dataclass(frozen=True)
class Digits:
    """Pixels of 0 … 1 behind a constant 1, shape (digits, 1 + 14·14), and labels of 1 and -1.

    Or rows of a table of one's own: see `of_table`.
    """

    training: Floats
    training_labels: Floats
    test: Floats
    test_labels: Floats


def _with_constant(values: Floats) -> Floats:
    return np.concatenate([np.ones((len(values), 1)), values], axis=1)


def _labels(threes: npt.NDArray[np.bool_]) -> Floats:
    return np.where(threes, 1.0, -1.0)


def load(path: Path = PACKED) -> Digits:
    """What `pack.py` wrote."""
    with np.load(path) as packed:
        return Digits(
            training=_with_constant(packed["training"] / 255.0),
            training_labels=_labels(packed["training_threes"]),
            test=_with_constant(packed["test"] / 255.0),
            test_labels=_labels(packed["test_threes"]),
        )


def of_table(rows: table.Table, seed: int) -> Digits:
    """Rows of two classes, of which the first gets the label 1: two thirds for training.

    Each feature is scaled so that the training data fill 0 … 1; the test's are clipped to that.
    `ValueError` for other than two classes, and unless both parts have rows of each.
    """
    if len(rows.classes) != 2:
        raise ValueError(
            f"the table has {len(rows.classes)} classes ({', '.join(rows.classes[:8])}); "
            "logistic regression tells two apart"
        )
    training, test = table.split(len(rows.labels), seed)
    for part, name in ((training, "training"), (test, "the test")):
        if set(rows.labels[part]) != {0, 1}:
            raise ValueError(
                f"of {len(rows.labels)} rows, {len(part)} are for {name}, and all of them are of "
                "one class; take a table with more rows"
            )
    low, high = rows.features[training].min(axis=0), rows.features[training].max(axis=0)
    scaled = np.clip((rows.features - low) / np.where(high > low, high - low, 1), 0, 1)
    labels = _labels(rows.labels == 0)
    return Digits(
        training=_with_constant(scaled[training]),
        training_labels=labels[training],
        test=_with_constant(scaled[test]),
        test_labels=labels[test],
    )
