"""Networks as graphs of a few operations, in clear: what models are read into."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .._core.numbers import real_or_complex
from .._core.text import shown
from ..errors import EncodingError, ShapeError

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Indices: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Shape: TypeAlias = tuple[int, ...]


def reals(values: Any, field: str) -> Numbers:
    """`values` as doubles. `TypeError`, `EncodingError` or `ShapeError` for what is no array of
    finite real numbers."""
    array = real_or_complex(values, field)
    if array.dtype.kind == "c":
        raise EncodingError(f"{field}: networks take real numbers, and complex ones were given")
    return array


@dataclasses.dataclass(frozen=True)
class Entries:
    """The entries of a matrix that are not zero: `values[i]` at `rows[i]`, `columns[i]`."""

    rows: Indices
    columns: Indices
    values: Numbers


@dataclasses.dataclass(frozen=True, kw_only=True)
class Node:
    """An operation on tensors without the axis of the batch."""

    name: str
    """What the model calls it, for messages."""
    inputs: tuple[int, ...]
    """Numbers of the nodes that it takes, all of them smaller than its own."""
    shape: Shape
    """What the result has."""

    def __call__(self, *operands: Numbers) -> Numbers:
        """The result in clear, for operands of shape (batch, *shape)."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many values the result has."""
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Input(Node):
    """What is encrypted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Affine(Node):
    """A linear map of one tensor, and a bias for each value of the result (or none)."""

    bias: Numbers | None

    def entries(self) -> Entries:
        """The matrix, of flattened tensors."""
        raise NotImplementedError

    def row_sums(self) -> Numbers:
        """Sums of the absolute entries of each value's row, or more."""
        entries = self.entries()
        sums = np.bincount(entries.rows, np.abs(entries.values), self.size)
        return sums.astype(np.float64, copy=False)

    @property
    def stride(self) -> tuple[int, int]:
        """How far windows of an image move; (1, 1) where there are none."""
        return 1, 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Linear(Affine):
    """`weight @ x + bias` of the flattened tensor."""

    weight: Numbers

    def __call__(self, *operands: Numbers) -> Numbers:
        (x,) = operands
        out = x.reshape(len(x), -1) @ self.weight.T
        return (out if self.bias is None else out + self.bias).reshape(len(x), *self.shape)

    def entries(self) -> Entries:
        """The weights that are not zero."""
        rows, columns = np.nonzero(self.weight)
        return Entries(rows, columns, self.weight[rows, columns])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sparse(Affine):
    """A linear map by its entries: it moves, repeats, drops, scales or sums values."""

    matrix: Entries

    def __call__(self, *operands: Numbers) -> Numbers:
        (x,) = operands
        out = np.zeros((len(x), self.size))
        taken = x.reshape(len(x), -1)[:, self.matrix.columns] * self.matrix.values
        np.add.at(out.T, self.matrix.rows, taken.T)
        return (out if self.bias is None else out + self.bias).reshape(len(x), *self.shape)

    def entries(self) -> Entries:
        """The entries as they are."""
        return self.matrix


@dataclasses.dataclass(frozen=True, kw_only=True)
class Windows(Affine):
    """A convolution of an image (channels, height, width); sums of windows are one with ones.

    Output channel o takes the input channels of its group.
    """

    weight: Numbers
    """(output channels, input channels of a group, height, width)."""
    step: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    image: Shape
    """What the operand has: (channels, height, width)."""

    def row_sums(self) -> Numbers:
        """Those of whole windows; at borders they are smaller."""
        sums = np.abs(self.weight).sum(axis=(1, 2, 3))
        return np.asarray(np.repeat(sums, self.shape[1] * self.shape[2]))

    @property
    def stride(self) -> tuple[int, int]:
        """The step of the windows."""
        return self.step

    def __call__(self, *operands: Numbers) -> Numbers:
        (x,) = operands
        (top, left), (rows, columns) = self.padding, self.step
        padded = np.pad(x, ((0, 0), (0, 0), (top, top), (left, left)))
        outputs, _, high, wide = self.weight.shape
        batch, (_, height, width) = len(x), self.shape
        weight = self.weight.reshape(self.groups, outputs // self.groups, -1, high, wide)
        out = np.zeros((batch, self.groups, outputs // self.groups, height * width))
        for i, j in np.ndindex(high, wide):
            y, z = i * self.dilation[0], j * self.dilation[1]
            taken = padded[:, :, y::rows, z::columns][:, :, :height, :width]
            out += weight[..., i, j] @ taken.reshape(batch, self.groups, -1, height * width)
        out = out.reshape(batch, *self.shape)
        return out if self.bias is None else out + self.bias.reshape(self.shape)

    def entries(self) -> Entries:
        """An entry for each weight and each place of its window."""
        _, height, width = self.image
        outputs, each, high, wide = self.weight.shape
        o, c, i, j, y, x = np.ogrid[:outputs, :each, :high, :wide, : self.shape[1], : self.shape[2]]
        row = y * self.step[0] + i * self.dilation[0] - self.padding[0]
        column = x * self.step[1] + j * self.dilation[1] - self.padding[1]
        channel = o // (outputs // self.groups) * each + c
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        weight = self.weight[..., None, None]
        kept = np.broadcast_to(inside, (outputs, each, high, wide, *self.shape[1:])) & (weight != 0)
        to = (o * self.shape[1] + y) * self.shape[2] + x
        of = (channel * height + row) * width + column
        return Entries(
            np.broadcast_to(to, kept.shape)[kept],
            np.broadcast_to(of, kept.shape)[kept],
            np.broadcast_to(weight, kept.shape)[kept],
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Function(Node):
    """A function of each value: relu, or one that a polynomial approximates."""

    function: str
    """A name in `FUNCTIONS`, or `polynomial`."""
    coefficients: tuple[float, ...] = ()
    """What a polynomial has: those of 1, x, x², …"""

    def __call__(self, *operands: Numbers) -> Numbers:
        (x,) = operands
        return self.of(x)

    def of(self, x: Numbers) -> Numbers:
        """The function of an array."""
        if self.function == "polynomial":
            return np.asarray(np.polynomial.polynomial.polyval(x, self.coefficients))
        return FUNCTIONS[self.function](x)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sum(Node):
    """The sum of tensors of one shape."""

    def __call__(self, *operands: Numbers) -> Numbers:
        return np.asarray(np.add.reduce(operands))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Product(Node):
    """The product of two tensors of one shape, value by value."""

    def __call__(self, *operands: Numbers) -> Numbers:
        x, y = operands
        return x * y


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reshaped(Node):
    """The values of a tensor in another shape."""

    def __call__(self, *operands: Numbers) -> Numbers:
        (x,) = operands
        return x.reshape(len(x), *self.shape)


def _logistic(x: Numbers) -> Numbers:
    return 0.5 * (1 + np.tanh(x / 2))


_erf = np.vectorize(math.erf, otypes=[float])

KINDS: dict[str, type[Node]] = {
    each.__name__: each
    for each in (Input, Linear, Sparse, Windows, Function, Sum, Product, Reshaped)
}
"""Kinds of nodes by the names that files have of them."""
FUNCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": _logistic,
    "silu": lambda x: x * _logistic(x),
    "gelu": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "tanh": np.tanh,
    "erf": _erf,
}
"""The functions that networks have, of arrays."""


@dataclasses.dataclass(frozen=True)
class Graph:
    """A network: its nodes in an order in which they can be computed. The first is the input, the
    last one the result."""

    nodes: tuple[Node, ...]

    def __call__(self, x: Any) -> Numbers:
        """The network in clear, in double precision: (batch, *shape) to (batch, *shape)."""
        return self.tensors(x)[-1]

    def tensors(self, x: Any) -> list[Numbers]:
        """The result of each node for a batch. `ShapeError` for values of another shape."""
        given = reals(x, "x")
        shape = self.nodes[0].shape
        if given.shape[1:] != shape:
            raise ShapeError(
                f"x: shape {shown(given.shape)} is not (batch, {', '.join(map(str, shape))})"
            )
        out = [given]
        for node in self.nodes[1:]:
            out.append(node(*(out[i] for i in node.inputs)))
        return out

    def users(self) -> list[list[int]]:
        """The nodes that take the result of each node."""
        out: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for i in node.inputs:
                out[i].append(number)
        return out
