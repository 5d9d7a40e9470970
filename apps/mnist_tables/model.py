"""The network: 784 pixels of 16 levels, 30 neurons of 16 levels, ten logits; all in integers.

A layer is one product with a matrix of integers, W·x + b, and behind the first one a table, which
makes neurons of sums. `train.py` makes the weights.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from whorl.server.binfhe import Ciphertexts, EncryptedArray, Lut, Parameters, Server

from . import layout
from .layout import Ints

PACKED = Path(__file__).with_name("weights.npz")


@dataclasses.dataclass(frozen=True)
class Layer:
    """A matrix (outputs, inputs) of integers in ±127, and an integer for each output."""

    matrix: Ints
    bias: Ints

    def __call__(self, x: Ints) -> Ints:
        """W·x + b of each row of x."""
        return x @ self.matrix.T + self.bias


@dataclasses.dataclass(frozen=True)
class Network:
    """Two layers."""

    first: Layer
    second: Layer

    def sums(self, pixels: Ints) -> Ints:
        """The sums of the first layer, (count, 30), of pixels (count, 784) of 0 … 15."""
        return self.first(pixels)

    def logits(self, pixels: Ints) -> Ints:
        """The network in the clear: (count, 10)."""
        return self.second(layout.rectified(self.sums(pixels)))


def save(path: Path, network: Network) -> None:
    """Writes a network."""
    arrays: dict[str, Any] = {}
    for name, layer in (("first", network.first), ("second", network.second)):
        arrays |= {f"{name}_matrix": layer.matrix.astype(np.int8)}
        arrays |= {f"{name}_bias": layer.bias.astype(np.int32)}
    np.savez_compressed(path, **arrays)


def load(path: Path = PACKED) -> Network:
    """What `save` wrote. `ValueError` for shapes that do not fit."""
    with np.load(path) as packed:
        first, second = (
            Layer(
                packed[f"{name}_matrix"].astype(np.int64), packed[f"{name}_bias"].astype(np.int64)
            )
            for name in ("first", "second")
        )
    found = [each.shape for layer in (first, second) for each in (layer.matrix, layer.bias)]
    hidden = len(first.bias)
    wanted = [(hidden, layout.PIXELS), (hidden,), (layout.CLASSES, hidden), (layout.CLASSES,)]
    if found != wanted:
        raise ValueError(f"{path}: arrays of the shapes {found} are no network of 784 and 10")
    return Network(first, second)


def table(parameters: Parameters) -> Lut:
    """The table that makes a neuron of a sum; one rotation looks it up, nearly."""
    return Lut(
        parameters,
        layout.neurons(),
        p=layout.P_PIXELS,
        p_out=layout.P_HIDDEN,
        exact=False,
        one_rotation=True,
    )


def classify(
    server: Server, network: Network, lut: Lut, pixels: EncryptedArray | Ciphertexts
) -> EncryptedArray:
    """The network on ciphertexts (count, 784) under the ring key: logits (count, 10), nearly.

    The server must have `allow_failure=1`, since no message of 2^16 or 2^12 is read exactly. Both
    products are under the ring key, so that a neuron and a logit take one key switch each.
    """
    sums = server.linear(network.first.matrix, pixels, network.first.bias)
    neurons = server.apply(lut, sums, under="ring")
    logits = server.linear(network.second.matrix, neurons, network.second.bias)
    half = layout.P_HIDDEN // 2
    return server.with_range(server.to_lwe_key(logits), -half, half - 1)
