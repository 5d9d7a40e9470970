"""The network: 784 pixels, three layers of 1,024 squares, ten logits; its trained weights.

A layer is y = (W·x + b)², so that it is one product with a matrix and one square. `train.py` makes
the weights.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from whorl import ckks

from .layout import Floats

PACKED = Path(__file__).with_name("weights.npz")
HIDDEN = (1024, 1024, 1024)
"""How many neurons the layers have."""
MARGIN = 1.5
"""How much larger sums may be than the largest of the images of the training."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """A matrix (outputs, inputs), a number for each output, and the largest absolute value of the
    sums in the training."""

    matrix: Floats
    bias: Floats
    largest: float


Network = Sequence[Layer]


def save(path: Path, layers: Network) -> None:
    """Writes layers, whose matrices are integers of 8 bits times a number for each output."""
    arrays: dict[str, Any] = {}
    for i, layer in enumerate(layers):
        steps, scales = quantised(layer.matrix)
        arrays |= {
            f"steps{i}": steps,
            f"scales{i}": scales,
            f"bias{i}": layer.bias.astype(np.float32),
            f"largest{i}": np.float64(layer.largest),
        }
    np.savez_compressed(path, **arrays)


def load(path: Path = PACKED) -> list[Layer]:
    """What `save` wrote."""
    with np.load(path) as packed:
        return [
            Layer(
                packed[f"steps{i}"] * packed[f"scales{i}"][:, None].astype(np.float64),
                packed[f"bias{i}"].astype(np.float64),
                float(packed[f"largest{i}"]),
            )
            for i in range(len(packed.files) // 4)
        ]


def quantised(matrix: Floats) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A matrix as integers in ±127 and the size of a step for each row."""
    scales = (np.maximum(np.abs(matrix).max(axis=1), 1e-30) / 127).astype(np.float32)
    steps = np.rint(matrix / scales[:, None].astype(np.float64))
    return np.clip(steps, -127, 127).astype(np.int8), scales


def sums(network: Network, images: Floats) -> list[Floats]:
    """The sums of each layer, before its squares, of images (count, 784) of 0 … 1."""
    found: list[Floats] = []
    x = images
    for layer in network:
        found.append(x @ layer.matrix.T + layer.bias)
        x = found[-1] ** 2
    return found


def logits(network: Network, images: Floats) -> Floats:
    """The network in clear: (count, 10)."""
    return sums(network, images)[-1]


def classify(server: ckks.Server, network: Network, pixels: Any) -> ckks.EncryptedArray:
    """The network on ciphertexts (784, ...), whose slots are images: logits (10, ...)."""
    x = server.upload(pixels)
    for layer in network[:-1]:
        x = server.weighted_sums(layer.matrix, x, layer.bias)
        x = x.with_bound(MARGIN * layer.largest).square()
    return server.weighted_sums(network[-1].matrix, x, network[-1].bias)
