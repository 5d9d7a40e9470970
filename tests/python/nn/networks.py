"""Random small networks, and a ring for them that is small and insecure."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any

import numpy as np
import whorl
from whorl import ckks, nn
from whorl.nn._batched import Batched, Tensor

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

    LAYERS = (
        *("conv", "conv", "line", "strided", "pool", "adaptive", "residual", "grouped", "scaled"),
        *("gated", "squared", "row", "turned", "reshaped", "dropout"),
    )

    def __init__(self, seed: int, large: bool = False) -> None:
        self.random = np.random.default_rng(seed)
        self.parameters = small_parameters(LEAST_RING if large else RING)
        self.images = 1 if large else int(self.random.choice([1, 1, 2, 4]))
        least, end = (12, 21) if large else (3, 9)
        side = int(self.random.integers(least, end))
        shape = (int(self.random.integers(1, 5)), side, int(self.random.integers(least, end)))
        self.batched = Batched(shape)
        self.builder = self.batched.builder
        self.last = 0
        cell = self.random.choice(["none", "elman", "lstm"], p=[0.7, 0.15, 0.15])
        for number in range(int(self.random.integers(1, 4 if cell == "none" else 2))):
            name = f"layer{number}"
            layer = getattr(self, f"_{self.random.choice(self.LAYERS)}")
            self.last = layer(name, self.last, *self.builder.nodes[self.last].shape)
            self._activation(f"{name}.function")
        if cell != "none":
            self.last = getattr(self, f"_{cell}")(cell, self.last)
        self._flat(f"flat{self.last}")
        self.graph = self.builder.graph(self.last)
        self.examples = self.random.uniform(-1, 1, (64, *shape))

    def _normal(self, *shape: int) -> Any:
        fan = max(1, int(np.prod(shape[1:])))
        return self.random.normal(size=shape) / np.sqrt(fan)

    @staticmethod
    def _wider(channels: int) -> int:
        """Twice as many, up to four, so that tensors of large networks take four ciphertexts."""
        return 2 * channels if channels < 3 else channels

    # ---- layers of images: the number of a node for that of an image, and its shape

    def _conv(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        kernel = min(3, high, wide)
        weight = self._normal(int(self.random.integers(1, 4)), channels, kernel, kernel)
        return self.builder.windows(name, x, weight, self._normal(len(weight)))

    def _line(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        """A convolution along all rows, one behind the other."""
        b, length = self.builder, high * wide
        weight = self._normal(int(self.random.integers(1, 4)), channels, min(4, length))
        line = b.windows(
            name,
            b.reshaped(f"{name}.line", x, (channels, length)),
            weight,
            self._normal(len(weight)),
            stride=(int(self.random.integers(1, 3)),),
            padding=((2, 1),),
        )
        return b.reshaped(f"{name}.image", line, (len(weight), 1, b.nodes[line].shape[1]))

    def _strided(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        if min(high, wide) < 2:
            return self._conv(name, x, channels, high, wide)
        weight = self._normal(self._wider(channels), channels, 2, 2)
        return self.builder.windows(name, x, weight, stride=(2, 2), padding=(1, 0))

    def _pool(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        if min(high, wide) < 2:
            return self._conv(name, x, channels, high, wide)
        return self.builder.average(name, x, (2, 2), (2, 2))

    def _adaptive(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        """Means of equal windows, whose number divides each side."""
        rows, columns = (
            int(self.random.choice([n for n in range(1, side + 1) if side % n == 0]))
            for side in (high, wide)
        )
        return self.batched.average_to(name, Tensor(x), (rows, columns)).node

    def _residual(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        weight = self._normal(channels, channels, 3, 3)
        y = self.builder.windows(name, x, weight, self._normal(channels), padding=(1, 1))
        return self.builder.sum(f"{name}.sum", y, x)

    def _grouped(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        weight = self._normal(self._wider(channels), 1, 1, 3)
        return self.builder.windows(
            name, x, weight, padding=(0, 2), dilation=(1, 2), groups=channels
        )

    def _scaled(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        factor = self.random.uniform(0.5, 2, channels)
        return self.builder.scaled(name, x, factor, self._normal(channels))

    def _gated(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        b = self.builder
        inner = b.windows(name, x, self._normal(channels, channels, 1, 1))
        return b.product(f"{name}.product", x, b.function(f"{name}.gate", inner, "sigmoid"))

    def _squared(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        return self.builder.product(name, x, x)

    def _row(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        """The first row of each channel, as an image of one row."""
        places = np.arange(channels * high * wide).reshape(channels, high, wide)[:, :1]
        return self.builder.moved(name, [x], places, (channels, 1, wide))

    def _turned(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        places = np.arange(channels * high * wide).reshape(channels, high, wide)
        return self.builder.moved(name, [x], np.rot90(places, axes=(1, 2)), (channels, wide, high))

    def _reshaped(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        return self.builder.reshaped(name, x, (channels, wide, high))

    def _dropout(self, name: str, x: int, channels: int, high: int, wide: int) -> int:
        """It does nothing where a model is evaluated."""
        size = channels * high * wide
        return self.builder.moved(name, [x], np.arange(size), (channels, high, wide))

    # ---- cells

    def _gate(self, name: str, outputs: int, *operands: int) -> int:
        """A map of each of the operands, and their sum."""
        maps = [
            self.builder.linear(
                f"{name}{i}", x, self._normal(outputs, self.builder.nodes[x].size), bias
            )
            for i, (x, bias) in enumerate(
                zip(operands, (self._normal(outputs), None), strict=False)
            )
        ]
        return self.builder.sum(name, *maps) if len(maps) > 1 else maps[0]

    def _times(self, name: str, x: int, most: int) -> list[int]:
        """The channels, one after the other, up to so many."""
        channels = self.builder.nodes[x].shape[0]
        rows = np.arange(self.builder.nodes[x].size).reshape(channels, -1)[:most]
        return [
            self.builder.moved(f"{name}.time{i}", [x], row, (len(row),))
            for i, row in enumerate(rows)
        ]

    def _elman(self, name: str, x: int) -> int:
        """h' = tanh(W·x + b + U·h), at two times or one."""
        state: list[int] = []
        size = int(self.random.integers(2, 7))
        for i, time in enumerate(self._times(name, x, 2)):
            gate = self._gate(f"{name}{i}", size, time, *state)
            state = [self.builder.function(f"{name}{i}.state", gate, "tanh")]
        return state[0]

    def _lstm(self, name: str, x: int) -> int:
        """c' = f·c + i·g and h' = o·tanh(c'), from a c that is known."""
        b, size = self.builder, int(self.random.integers(2, 7))
        (time,) = self._times(name, x, 1)
        i, f, o = (
            b.function(f"{name}.{each}", self._gate(f"{name}.{each}.map", size, time), "sigmoid")
            for each in "ifo"
        )
        g = b.function(f"{name}.g", self._gate(f"{name}.g.map", size, time), "tanh")
        kept = b.affine(f"{name}.kept", f, self._normal(size), 0.0)
        cell = b.sum(f"{name}.cell", kept, b.product(f"{name}.new", i, g))
        return b.product(f"{name}.state", o, b.function(f"{name}.out", cell, "tanh"))

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nn.PrecisionWarning)  # the first one is coarse
            return nn.compile(
                self.graph,
                self.examples,
                precision=precision,
                images=images,
                parameters=self.parameters,
            )
