"""A network: 784 pixels of 16 levels, layers of neurons of 16 levels, ten logits; all in integers.

A layer is one product with a matrix of integers, W·x + b, and behind all but the last one a table,
which makes neurons of sums. `train.py` makes the weights.
"""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from whorl.server.binfhe import (
    Ciphertexts,
    EncryptedArray,
    Lut,
    Parameters,
    Server,
    concatenate,
)

from . import layout
from .layout import Ints, Kind


@dataclasses.dataclass(frozen=True)
class Layer:
    """A matrix (outputs, inputs) of integers, and an integer for each output."""

    matrix: Ints
    bias: Ints

    def __call__(self, x: Ints) -> Ints:
        """W·x + b of each row of x. Doubles are exact here: sums are far below 2^53."""
        product = x.astype(np.float64) @ self.matrix.T.astype(np.float64)
        return product.astype(np.int64) + self.bias


@dataclasses.dataclass(frozen=True)
class Network:
    """Layers, and what they stand for."""

    kind: Kind
    layers: tuple[Layer, ...]

    @property
    def rotations(self) -> int:
        """How many blind rotations an image takes: one a neuron."""
        return sum(len(layer.bias) for layer in self.layers[:-1])

    def sums(self, pixels: Ints) -> list[Ints]:
        """The sums of each layer in the clear, (count, outputs), of pixels (count, 784) of
        0 … 15. The last ones are the logits."""
        found, x = [], pixels
        for layer in self.layers:
            found.append(layer(x))
            x = layout.rectified(found[-1], self.kind.step)
        return found

    def logits(self, pixels: Ints) -> Ints:
        """The network in the clear: (count, 10)."""
        return self.sums(pixels)[-1]


def save(path: Path, network: Network) -> None:
    """Writes a network."""
    arrays: dict[str, Any] = {}
    for i, layer in enumerate(network.layers):
        arrays |= {f"matrix{i}": layer.matrix.astype(np.int8)}
        arrays |= {f"bias{i}": layer.bias.astype(np.int32)}
    np.savez_compressed(path, **arrays)


def load(kind: Kind, path: Path | None = None) -> Network:
    """What `save` wrote of a network of this kind; default: the packed one. `ValueError` for
    shapes or weights that do not fit."""
    path = path or kind.packed
    with np.load(path) as packed:
        names = {f"{name}{i}" for i in range(len(kind.largest)) for name in ("matrix", "bias")}
        if set(packed) != names:
            raise ValueError(f"{path}: arrays {sorted(packed)}, but {sorted(names)} are needed")
        layers = tuple(
            Layer(packed[f"matrix{i}"].astype(np.int64), packed[f"bias{i}"].astype(np.int64))
            for i in range(len(kind.largest))
        )
    sizes = [layout.PIXELS, *(layer.bias.size for layer in layers[:-1]), layout.CLASSES]
    found = [each.shape for layer in layers for each in (layer.matrix, layer.bias)]
    wanted = [
        shape
        for before, after in itertools.pairwise(sizes)
        for shape in ((after, before), (after,))
    ]
    if found != wanted:
        raise ValueError(f"{path}: arrays of the shapes {found} are no network of 784 and 10")
    for i, (layer, most) in enumerate(zip(layers, kind.largest, strict=True)):
        if np.abs(layer.matrix).max(initial=0) > most:
            raise ValueError(f"{path}: weights of layer {i + 1} are not all within ±{most}")
    return Network(kind, layers)


def table(parameters: Parameters, kind: Kind) -> Lut:
    """The table that makes a neuron of a sum; one rotation looks it up, nearly."""
    return Lut(parameters, layout.neurons(kind.step), exact=False, one_rotation=True)


def classify(
    server: Server, network: Network, lut: Lut, pixels: EncryptedArray | Ciphertexts
) -> EncryptedArray:
    """The network on ciphertexts (count, 784): logits (count, 10), nearly.

    No message of 2^12 is read exactly: sums are known nearly, and tables accept what they are off
    by. `failure_log2` of the logits counts how often one of their neurons reads further off than
    its table promises. Neurons stay under the ring key, so that the sums of each layer but the
    first one take one key switch each.
    """
    x = server.linear(network.layers[0].matrix, pixels, network.layers[0].bias, exact=False)
    for layer in network.layers[1:]:
        neurons = server.apply(lut, x, within=server.error_bound(lut, x), under="ring")
        x = server.linear(layer.matrix, neurons, layer.bias)
    return server.with_range(server.to_lwe_key(x), -layout.P // 2, layout.P // 2 - 1)


def answer(
    server: Server, network: Network, lut: Lut, pixels: EncryptedArray | Ciphertexts
) -> Ciphertexts:
    """`classify` of any number of images, `Kind.together` at a time, and logits in the host's
    memory. While a device has some images the host prepares the next ones."""
    x, together = server.upload(pixels), network.kind.together
    if len(x) <= together:
        return classify(server, network, lut, x).to_host()
    parts = [
        classify(server, network, lut, x[at : at + together]) for at in range(0, len(x), together)
    ]
    return concatenate(parts).to_host()
