"""Handwritten digits, 3 against 8, as 14 × 14 pixels: the file that the application carries.

`pack.py` makes it from MNIST.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt

PACKED = Path(__file__).with_name("digits.npz")
CLASSES = (3, 8)  # labels 1 and -1
SIDE = 14

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]


@dataclasses.dataclass(frozen=True)
class Digits:
    """Pixels of 0 … 1 behind a constant 1, shape (digits, 1 + 14·14), and labels of 1 and -1."""

    training: Floats
    training_labels: Floats
    test: Floats
    test_labels: Floats


def _with_constant(pixels: Bytes) -> Floats:
    return np.concatenate([np.ones((len(pixels), 1)), pixels / 255.0], axis=1)


def _labels(threes: npt.NDArray[np.bool_]) -> Floats:
    return np.where(threes, 1.0, -1.0)


def load(path: Path = PACKED) -> Digits:
    """What `pack.py` wrote."""
    with np.load(path) as packed:
        return Digits(
            training=_with_constant(packed["training"]),
            training_labels=_labels(packed["training_threes"]),
            test=_with_constant(packed["test"]),
            test_labels=_labels(packed["test_threes"]),
        )
