"""Handwritten digits of MNIST that the application carries: `pack.py` makes the file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt

PACKED = Path(__file__).with_name("digits.npz")


@dataclasses.dataclass(frozen=True)
class Digits:
    """Images (count, 1, 28, 28) of 0 … 1, and what they show."""

    examples: npt.NDArray[np.float64]
    """Some of the training's digits, from which ranges of the network are taken."""
    test: npt.NDArray[np.float64]
    test_labels: npt.NDArray[np.uint8]


def scaled(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Bytes (count, 28, 28) as the network takes them."""
    return images[:, None] / 255.0


def load(path: Path = PACKED) -> Digits:
    """What `pack.py` wrote."""
    with np.load(path) as packed:
        return Digits(scaled(packed["examples"]), scaled(packed["test"]), packed["test_labels"])
