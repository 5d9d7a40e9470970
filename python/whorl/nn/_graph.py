"""Networks as graphs of a few operations, in clear: what models are read into."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._core.text import shown
from ..errors import ShapeError

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Indices: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Shape: TypeAlias = tuple[int, ...]


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
    """Of the result."""

    def __call__(self, *operands: Numbers) -> Numbers:
        """The result in clear, for operands of shape (batch, *shape)."""
        raise NotImplementedError

    @property
    def size(self) -> int:
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
        rows, columns = np.nonzero(self.weight)
        return Entries(rows, columns, self.weight[rows, columns])


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
    """Of the operand."""

    @property
    def stride(self) -> tuple[int, int]:
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
    """Of a polynomial: those of 1, x, x², …"""

    def __call__(self, *operands: Numbers) -> Numbers:
        (x,) = operands
        return self.of(x)

    def of(self, x: Numbers) -> Numbers:
        if self.function == "polynomial":
            return np.asarray(np.polynomial.polynomial.polyval(x, self.coefficients))
        return FUNCTIONS[self.function](x)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sum(Node):
    """The sum of tensors of one shape."""

    def __call__(self, *operands: Numbers) -> Numbers:
        return np.asarray(np.add.reduce(operands))


def _logistic(x: Numbers) -> Numbers:
    return 0.5 * (1 + np.tanh(x / 2))


_erf = np.vectorize(math.erf, otypes=[float])

FUNCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": _logistic,
    "silu": lambda x: x * _logistic(x),
    "gelu": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    "tanh": np.tanh,
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
        given = np.asarray(x, dtype=np.float64)
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


class Builder:
    """Makes a graph node by node, with the shapes that follow; readers of models use it."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.nodes: list[Node] = [Input(name="input", inputs=(), shape=tuple(shape))]

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def linear(self, name: str, x: int, weight: Any, bias: Any = None) -> int:
        """`weight @ x + bias`; the tensor is flattened. `ShapeError` if sizes do not fit."""
        matrix = np.asarray(weight, dtype=np.float64)
        size = self.nodes[x].size
        if matrix.ndim != 2 or matrix.shape[1] != size:
            raise ShapeError(
                f"{name}: a weight of shape {shown(matrix.shape)} meets {size} values of shape "
                f"{shown(self.nodes[x].shape)}"
            )
        shape = (matrix.shape[0],)
        return self.add(
            Linear(
                name=name, inputs=(x,), shape=shape, bias=_bias(name, bias, shape), weight=matrix
            )
        )

    def windows(
        self,
        name: str,
        x: int,
        weight: Any,
        bias: Any = None,
        *,
        stride: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
    ) -> int:
        """A convolution, by cross-correlation as every framework has it. `bias`: one number for
        each output channel. `ShapeError` if shapes do not fit."""
        kernel = np.asarray(weight, dtype=np.float64)
        image = self.nodes[x].shape
        if len(image) != 3 or kernel.ndim != 4 or kernel.shape[1] * groups != image[0]:
            raise ShapeError(
                f"{name}: a convolution of shape {shown(kernel.shape)} with {groups} groups meets "
                f"a tensor of shape {shown(image)}"
            )
        if kernel.shape[0] % groups:
            raise ShapeError(f"{name}: {kernel.shape[0]} channels are not {groups} equal groups")
        shape = (
            kernel.shape[0],
            *(
                (image[1 + i] + 2 * padding[i] - dilation[i] * (kernel.shape[2 + i] - 1) - 1)
                // stride[i]
                + 1
                for i in range(2)
            ),
        )
        if min(shape) < 1:
            raise ShapeError(f"{name}: nothing is left of a tensor of shape {shown(image)}")
        each = None
        if bias is not None:
            each = np.repeat(_checked(name, bias, shape[:1]), shape[1] * shape[2])
        return self.add(
            Windows(
                name=name,
                inputs=(x,),
                shape=shape,
                bias=each,
                weight=kernel,
                step=(int(stride[0]), int(stride[1])),
                padding=(int(padding[0]), int(padding[1])),
                dilation=(int(dilation[0]), int(dilation[1])),
                groups=int(groups),
                image=image,
            )
        )

    def average(
        self,
        name: str,
        x: int,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int] = (0, 0),
    ) -> int:
        """Means of windows, channel by channel; zeros around the image count."""
        channels = self.nodes[x].shape[0]
        weight = np.full((channels, 1, *kernel), 1 / math.prod(kernel))
        return self.windows(name, x, weight, stride=stride, padding=padding, groups=channels)

    def scaled(self, name: str, x: int, factor: Any, shift: Any) -> int:
        """`factor * x + shift` with a number for each channel: a normalisation whose statistics
        are known. It becomes part of the linear map before it, if nothing else uses that."""
        node = self.nodes[x]
        channels = node.shape[0]
        times = np.asarray(factor, dtype=np.float64).reshape(channels)
        plus = np.asarray(shift, dtype=np.float64).reshape(channels)
        each = math.prod(node.shape[1:])
        rows, shifts = np.repeat(times, each), np.repeat(plus, each)
        if x == len(self.nodes) - 1 and isinstance(node, (Linear, Windows)):
            bias = shifts if node.bias is None else node.bias * rows + shifts
            by = rows[:, None] if isinstance(node, Linear) else times[:, None, None, None]
            self.nodes[x] = dataclasses.replace(node, weight=node.weight * by, bias=bias)
            return x
        if len(node.shape) == 3:
            weight = times.reshape(channels, 1, 1, 1)
            return self.windows(name, x, weight, plus, groups=channels)
        return self.linear(name, x, np.diag(rows), shifts)

    def function(self, name: str, x: int, function: str, coefficients: Sequence[float] = ()) -> int:
        return self.add(
            Function(
                name=name,
                inputs=(x,),
                shape=self.nodes[x].shape,
                function=function,
                coefficients=tuple(map(float, coefficients)),
            )
        )

    def sum(self, name: str, *operands: int) -> int:
        """`ShapeError` for tensors of different shapes."""
        shapes = {self.nodes[i].shape for i in operands}
        if len(shapes) > 1:
            raise ShapeError(f"{name}: shapes {' and '.join(map(shown, sorted(shapes)))} differ")
        return self.add(Sum(name=name, inputs=operands, shape=shapes.pop()))

    def reshaped(self, name: str, x: int, shape: Sequence[int]) -> int:
        """The same values in another shape, which are not moved."""
        node = self.nodes[x]
        if math.prod(shape) != node.size:
            raise ShapeError(f"{name}: shape {shown(node.shape)} cannot become {shown(shape)}")
        return self.add(Reshaped(name=name, inputs=(x,), shape=tuple(shape)))

    def graph(self, result: int) -> Graph:
        """The nodes that the result needs. `ShapeError` if it does not depend on the input."""
        needed = {result}
        for number in range(result, -1, -1):
            if number in needed:
                needed.update(self.nodes[number].inputs)
        if 0 not in needed:
            raise ShapeError("the result of the model does not depend on its input")
        order = sorted(needed)
        place = {number: i for i, number in enumerate(order)}
        return Graph(
            tuple(
                dataclasses.replace(
                    self.nodes[number], inputs=tuple(place[i] for i in self.nodes[number].inputs)
                )
                for number in order
            )
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reshaped(Node):
    """The values of a tensor in another shape."""

    def __call__(self, *operands: Numbers) -> Numbers:
        (x,) = operands
        return x.reshape(len(x), *self.shape)


def _bias(name: str, bias: Any, shape: Shape) -> Numbers | None:
    return None if bias is None else _checked(name, bias, shape)


def _checked(name: str, bias: Any, shape: Shape) -> Numbers:
    values = np.asarray(bias, dtype=np.float64)
    if values.shape != shape:
        raise ShapeError(f"{name}: a bias of shape {shown(values.shape)} is not {shown(shape)}")
    return values
