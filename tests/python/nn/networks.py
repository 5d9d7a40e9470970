"""Random small networks, and a ring for them that is small and insecure."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import whorl
from whorl import ckks, nn

RING = 2048
"""Its 1,024 slots hold all networks but the large ones."""
LEAST_RING = 1024
"""Tensors of large networks take several ciphertexts of its 512 slots."""


@functools.cache
def small_parameters(ring: int = RING) -> ckks.Parameters:
    """The primes of secure parameters, in a small ring."""
    literal = {**ckks.parameters(32).literal(), "N": ring, "name": "small"}
    return ckks.parameters(literal=literal, allow_insecure=True)


@functools.cache
def _client(ring: int) -> ckks.Client:
    return ckks.Client(small_parameters(ring))


def client(ring: int = RING) -> ckks.Client:
    return _client(ring)


def server_of(net: nn.Network, device: str = "cpu") -> ckks.Server:
    keys = client(net.parameters.N).evaluation_keys(**net.keys)
    return ckks.Server(keys, device=device)


class RandomNetwork:
    """A graph with some of all layers, and examples for it."""

    def __init__(self, seed: int, large: bool = False) -> None:
        self.random = np.random.default_rng(seed)
        self.parameters = small_parameters(LEAST_RING if large else RING)
        self.images = 1 if large else int(self.random.choice([1, 1, 2, 4]))
        least, end = (12, 21) if large else (3, 9)
        side = int(self.random.integers(least, end))
        shape = (int(self.random.integers(1, 4)), side, int(self.random.integers(least, end)))
        self.builder = nn.Builder(shape)
        self.last = 0
        for number in range(int(self.random.integers(1, 4))):
            self._image_layer(f"layer{number}")
        self._flat(f"flat{self.last}")
        self.graph = self.builder.graph(self.last)
        self.examples = self.random.uniform(-1, 1, (24, *shape))

    def _normal(self, *shape: int) -> Any:
        fan = max(1, int(np.prod(shape[1:])))
        return self.random.normal(size=shape) / np.sqrt(fan)

    def _image_layer(self, name: str) -> None:
        b, r = self.builder, self.random
        channels, high, wide = b.nodes[self.last].shape
        kinds = ["conv", "conv", "strided", "pool", "residual", "grouped", "scaled", "gated", "row"]
        kind = r.choice(kinds)
        before = self.last
        if kind == "pool" and min(high, wide) >= 2:
            self.last = b.average(name, before, (2, 2), (2, 2))
        elif kind == "strided" and min(high, wide) >= 2:
            weight = self._normal(2 * channels, channels, 2, 2)
            self.last = b.windows(name, before, weight, stride=(2, 2), padding=(1, 0))
        elif kind == "residual":
            weight = self._normal(channels, channels, 3, 3)
            y = b.windows(name, before, weight, self._normal(channels), padding=(1, 1))
            self.last = b.sum(f"{name}.sum", y, before)
        elif kind == "grouped":
            weight = self._normal(2 * channels, 1, 1, 3)
            self.last = b.windows(
                name, before, weight, padding=(0, 2), dilation=(1, 2), groups=channels
            )
        elif kind == "gated":
            weight = self._normal(channels, channels, 1, 1)
            gate = b.function(f"{name}.gate", b.windows(name, before, weight), "sigmoid")
            self.last = b.product(f"{name}.product", before, gate)
        elif kind == "row":  # the first row of each channel, as an image of one row
            places = np.arange(channels * high * wide).reshape(channels, high, wide)[:, :1]
            self.last = b.moved(name, [before], places.ravel(), (channels, 1, wide))
        elif kind == "scaled":
            self.last = b.scaled(name, before, r.uniform(0.5, 2, channels), self._normal(channels))
        else:
            kernel = int(min(3, high, wide))
            weight = self._normal(int(r.integers(1, 4)), channels, kernel, kernel)
            self.last = b.windows(name, before, weight, self._normal(len(weight)))
        self._activation(f"{name}.function")

    def _activation(self, name: str) -> None:
        functions = ["none", "relu", "tanh", "sigmoid", "silu", "gelu", "polynomial"]
        which = self.random.choice(functions, p=[0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2])
        if which == "polynomial":
            self.last = self.builder.function(name, self.last, which, self._normal(3, 1).ravel())
        elif which != "none":
            self.last = self.builder.function(name, self.last, str(which))

    def _flat(self, name: str) -> None:
        b = self.builder
        size = b.nodes[self.last].size
        if self.random.random() < 0.5:
            self.last = b.reshaped(name, self.last, (size,))
        if self.random.random() < 0.8:
            outputs = int(self.random.integers(1, 12))
            self.last = b.linear("head", self.last, self._normal(outputs, size))

    def compiled(self) -> nn.Network:
        """The network; with finer polynomials if coarse ones lead out of the ranges, and with one
        image in a ciphertext if more have no room."""
        for precision, images in itertools.product((2**-5, 2**-9, 2**-13), (self.images, 1)):
            try:
                return self._compiled(images, precision)
            except (whorl.ShapeError, whorl.ParameterError) as error:
                refused = error
        raise refused

    def _compiled(self, images: int, precision: float) -> nn.Network:
        return nn.compile(
            self.graph,
            self.examples,
            precision=precision,
            images=images,
            parameters=self.parameters,
        )
