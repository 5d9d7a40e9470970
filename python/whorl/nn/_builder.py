"""Makes graphs for the readers of models: what can be one map, move or polynomial is one."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from .._core.literal import as_integer
from .._core.text import shown
from ..errors import ParameterError, ShapeError
from ._graph import (
    FUNCTIONS,
    Affine,
    Entries,
    Function,
    Graph,
    Indices,
    Input,
    Linear,
    Node,
    Numbers,
    Product,
    Reshaped,
    Shape,
    Sparse,
    Sum,
    Windows,
)

MOST_POWER = 31
"""The largest degree of a polynomial that products and sums of polynomials are merged into."""


class Builder:
    """Makes a graph node by node, with the shapes that follow; readers of models use it.

    `ShapeError` if sizes do not fit, `ParameterError` for weights that are not finite.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        own = tuple(as_integer("shape: an axis", n, 1, 2**31) for n in shape)
        self.nodes: list[Node] = [Input(name="input", inputs=(), shape=own)]
        self._moved: dict[int, tuple[Indices, Indices]] = {}
        self._scalars: dict[int, tuple[int, float, float]] = {}

    def add(self, node: Node) -> int:
        """The number of a node that is added."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    # ---- linear maps

    def linear(self, name: str, x: int, weight: Any, bias: Any = None) -> int:
        """`weight @ x + bias`; the tensor is flattened."""
        matrix = numbers(name, "weight", weight)
        size = self.nodes[x].size
        if matrix.ndim != 2 or matrix.shape[1] != size:
            raise ShapeError(
                f"{name}: a weight of shape {shown(matrix.shape)} meets {size} values of shape "
                f"{shown(self.nodes[x].shape)}"
            )
        shape = (matrix.shape[0],)
        plus = _bias(name, bias, shape)
        nodes, places = self.origin(x)
        sources = [int(each) for each in np.unique(nodes) if each >= 0]
        if len(sources) > 1:  # of joined tensors: a map of each
            parts: list[int] = []
            for source in sources:
                which = nodes == source
                part = _collected(matrix[:, which], places[which], self.nodes[source].size)
                parts.append(self.linear(name, source, part, None if parts else plus))
            return self.sum(name, *parts)
        before = self.nodes[x]
        while isinstance(before, Reshaped):
            (x,) = before.inputs
            before = self.nodes[x]
        if isinstance(before, Sparse):  # one map does what two would
            if before.bias is not None:
                plus = matrix @ before.bias + (0.0 if plus is None else plus)
            (x,) = before.inputs
            entries, size = before.matrix, self.nodes[x].size
            taken = matrix[:, entries.rows] * entries.values
            if len(np.unique(entries.columns)) < size:  # a slice: most columns would be 0
                rows, which = np.nonzero(taken)
                columns = entries.columns[which]
                return self._sparse(
                    name, x, Entries(rows, columns, taken[rows, which]), shape, plus
                )
            matrix = _collected(taken, entries.columns, size)
        return self.add(Linear(name=name, inputs=(x,), shape=shape, bias=plus, weight=matrix))

    def linear_each(self, name: str, x: int, weight: Any, bias: Any = None) -> int:
        """`weight @ row + bias` of each row along the last axis."""
        matrix = numbers(name, "weight", weight)
        shape = self.nodes[x].shape
        if matrix.ndim != 2 or matrix.shape[1:] != shape[-1:]:
            raise ShapeError(
                f"{name}: a weight of shape {shown(matrix.shape)} meets rows of a tensor of shape "
                f"{shown(shape)}"
            )
        if len(shape) == 1:
            return self.linear(name, x, matrix, bias)
        row, column = np.nonzero(matrix)
        start = np.arange(math.prod(shape[:-1]))[:, None]
        outputs, inputs = matrix.shape
        entries = Entries(
            (start * outputs + row).reshape(-1),
            (start * inputs + column).reshape(-1),
            np.tile(matrix[row, column], len(start)),
        )
        each = _bias(name, bias, (outputs,))
        return self._sparse(
            name,
            x,
            entries,
            (*shape[:-1], outputs),
            None if each is None else np.tile(each, len(start)),
        )

    def _sparse(
        self, name: str, x: int, entries: Entries, shape: Shape, bias: Numbers | None = None
    ) -> int:
        return self.add(Sparse(name=name, inputs=(x,), shape=shape, bias=bias, matrix=entries))

    def windows(
        self,
        name: str,
        x: int,
        weight: Any,
        bias: Any = None,
        *,
        stride: Sequence[int] | None = None,
        padding: Sequence[int | Sequence[int]] | None = None,
        dilation: Sequence[int] | None = None,
        groups: int = 1,
    ) -> int:
        """A convolution, by cross-correlation as every framework has it, of an image (channels,
        height, width) or a line (channels, length). `bias`: one number for each output channel.
        `padding`: zeros on both sides of an axis, or a pair for its sides."""
        kernel = numbers(name, "weight", weight)
        image = self.nodes[x].shape
        axes = len(image) - 1
        if axes not in (1, 2) or kernel.ndim != axes + 2 or kernel.shape[1] * groups != image[0]:
            raise ShapeError(
                f"{name}: a convolution of shape {shown(kernel.shape)} with {groups} groups meets "
                f"a tensor of shape {shown(image)}"
            )
        if kernel.shape[0] % groups:
            raise ShapeError(f"{name}: {kernel.shape[0]} channels are not {groups} equal groups")
        stride, dilation = stride or (1,) * axes, dilation or (1,) * axes
        padding = padding or (0,) * axes
        if axes == 1:
            line = self.windows(
                name,
                self.reshaped(name, x, (image[0], 1, image[1])),
                kernel[:, :, None],
                bias,
                stride=(1, *stride),
                padding=(0, *padding),
                dilation=(1, *dilation),
                groups=groups,
            )
            return self.reshaped(name, line, (kernel.shape[0], self.nodes[line].shape[2]))
        pads, gaps = [0, 0], [int(each) for each in dilation]
        for i, pad in enumerate(padding):
            before, after = (pad, pad) if isinstance(pad, int) else pad
            pads[i] = max(before, after)
            if before != after:
                kernel, gaps[i] = _widened(kernel, 2 + i, gaps[i], before, after), 1
        shape = (
            kernel.shape[0],
            *(
                (image[1 + i] + 2 * pads[i] - gaps[i] * (kernel.shape[2 + i] - 1) - 1) // stride[i]
                + 1
                for i in range(2)
            ),
        )
        if min(shape) < 1:
            raise ShapeError(f"{name}: nothing is left of a tensor of shape {shown(image)}")
        each = _bias(name, bias, shape[:1])
        return self.add(
            Windows(
                name=name,
                inputs=(x,),
                shape=shape,
                bias=None if each is None else np.repeat(each, shape[1] * shape[2]),
                weight=kernel,
                step=(int(stride[0]), int(stride[1])),
                padding=(pads[0], pads[1]),
                dilation=(gaps[0], gaps[1]),
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
        padding: Sequence[int | Sequence[int]] | None = None,
        *,
        zeros_count: bool = True,
        divisor: int | None = None,
    ) -> int:
        """Means of windows, channel by channel. `zeros_count`: whether the zeros around the image
        count. `divisor`: what sums are divided by instead."""
        channels = self.nodes[x].shape[0]
        full = math.prod(kernel)
        weight = np.full((channels, 1, *kernel), 1 / (divisor or full))
        out = self.windows(name, x, weight, stride=stride, padding=padding, groups=channels)
        if zeros_count or divisor or not np.any(padding or 0):
            return out
        node = self.nodes[out]
        image = self.nodes[node.inputs[0]] if isinstance(node, Reshaped) else node
        assert isinstance(image, Affine)
        inside = np.bincount(image.entries().rows, minlength=node.size)
        return self.affine(name, out, full / np.maximum(inside, 1).reshape(node.shape), 0.0)

    def adapted(self, name: str, x: int, size: Sequence[int]) -> int:
        """Means of windows of any size, channel by channel: window i of m along an axis of n goes
        from ⌊i·n/m⌋ to ⌈(i + 1)·n/m⌉."""
        channels, *image = self.nodes[x].shape
        means: Numbers = np.ones((1, 1))
        for length, windows in zip(image, size, strict=True):
            made = np.kron(means, _window_means(length, windows))
            means = np.asarray(made, dtype=np.float64)
        row, column = np.nonzero(means)
        start = np.arange(channels)[:, None]
        outputs, inputs = means.shape
        entries = Entries(
            (start * outputs + row).reshape(-1),
            (start * inputs + column).reshape(-1),
            np.tile(means[row, column], channels),
        )
        return self._sparse(name, x, entries, (channels, *size))

    def summed(self, name: str, x: int, axes: Sequence[int], factor: float) -> int:
        """Sums along axes, which leave the shape, times a factor."""
        shape = self.nodes[x].shape
        kept = tuple(n for i, n in enumerate(shape) if i not in axes)
        if len(shape) == 3 and set(axes) == {1, 2}:
            weight = np.full((shape[0], 1, *shape[1:]), factor)
            return self.reshaped(name, self.windows(name, x, weight, groups=shape[0]), kept)
        thin = [1 if i in axes else n for i, n in enumerate(shape)]
        rows = np.broadcast_to(np.arange(math.prod(kept)).reshape(thin), shape).reshape(-1)
        size = self.nodes[x].size
        return self._sparse(name, x, Entries(rows, np.arange(size), np.full(size, factor)), kept)

    def scaled(self, name: str, x: int, factor: Any, shift: Any) -> int:
        """`factor * x + shift` with a number for each channel: a normalisation whose statistics
        are known."""
        shape = self.nodes[x].shape
        thin = (shape[0], *(1 for _ in shape[1:]))
        times, plus = numbers(name, "factor", factor), numbers(name, "shift", shift)
        if times.size != shape[0] or plus.size != shape[0]:
            raise ShapeError(f"{name}: {times.size} channels meet a tensor of shape {shown(shape)}")
        return self.affine(name, x, times.reshape(thin), plus.reshape(thin))

    def affine(self, name: str, x: int, factor: Any, shift: Any) -> int:
        """`factor * x + shift` value by value; both broadcast to the shape. After a linear map, or
        a polynomial that takes one number, no map is added: it is changed."""
        node = self.nodes[x]
        try:
            times = np.broadcast_to(numbers(name, "factor", factor), node.shape).reshape(-1)
            plus = np.broadcast_to(numbers(name, "shift", shift), node.shape).reshape(-1)
        except ValueError as error:
            raise ShapeError(
                f"{name}: constants of shapes {shown(np.shape(factor))} and "
                f"{shown(np.shape(shift))} meet a tensor of shape {shown(node.shape)}"
            ) from error
        if not (np.ptp(times) or np.ptp(plus)):
            by, more = float(times[0]), float(plus[0])
            if x in self._scalars:
                x, first, start = self._scalars[x]
                return self.affine(name, x, first * by, start * by + more)
            if (by, more) == (1.0, 0.0):
                return x
            if _is_polynomial(node):
                powers = by * np.asarray(node.coefficients)
                powers[0] += more
                return self.function(name, node.inputs[0], "polynomial", powers)
            out = self._rescaled(name, x, times, plus)
            self._scalars[out] = x, by, more
            return out
        return self._rescaled(name, x, times, plus)

    def _rescaled(self, name: str, x: int, times: Numbers, plus: Numbers) -> int:
        node = self.nodes[x]
        channel = times.reshape(node.shape[0], -1) if node.shape else times.reshape(1, 1)
        even = not np.any(np.ptp(channel, axis=1))
        if not isinstance(node, Affine):
            if len(node.shape) == 3 and even and not np.any(np.ptp(plus.reshape(channel.shape), 1)):
                weight = channel[:, :1, None, None]
                shift = plus.reshape(channel.shape)[:, 0]
                return self.windows(name, x, weight, shift, groups=node.shape[0])
            every = np.arange(node.size)
            return self._sparse(name, x, Entries(every, every, times), node.shape, plus)
        bias = plus if node.bias is None else node.bias * times + plus
        if isinstance(node, Linear):
            return self.add(
                dataclasses.replace(node, weight=node.weight * times[:, None], bias=bias)
            )
        if isinstance(node, Windows) and even:
            weight = node.weight * channel[:, :1, None, None]
            return self.add(dataclasses.replace(node, weight=weight, bias=bias))
        entries = node.entries()
        values = entries.values * times[entries.rows]
        matrix = dataclasses.replace(entries, values=values)
        return self._sparse(node.name, node.inputs[0], matrix, node.shape, bias)

    # ---- moves

    def origin(self, x: int) -> tuple[Indices, Indices]:
        """Where each value of a tensor comes from, if it was only moved: a node, and its place
        there; node -1 is a 0."""
        size = self.nodes[x].size
        return self._moved.get(x, (np.full(size, x), np.arange(size)))

    def moved(self, name: str, operands: Sequence[int], places: Any, shape: Sequence[int]) -> int:
        """Values of tensors in another order. `places`: for each value of the result its number
        among those of all operands, one after the other, or -1 for a 0. Moves of moves are one."""
        nodes, ats = (
            np.concatenate(each) for each in zip(*(self.origin(x) for x in operands), strict=True)
        )
        which = np.asarray(places, dtype=np.int64).reshape(-1)
        node = np.where(which < 0, -1, nodes[which])
        at = np.where(node < 0, 0, ats[which])
        sources = [int(each) for each in np.unique(node) if each >= 0]
        if not sources:
            raise ShapeError(f"{name}: no value of the operand is taken")
        if len(sources) == 1 and np.array_equal(at, np.arange(self.nodes[sources[0]].size)):
            return self._viewed(name, sources[0], tuple(shape))
        parts = []
        for source in sources:
            rows = np.flatnonzero(node == source)
            entries = Entries(rows, at[rows], np.ones(len(rows)))
            parts.append(self._sparse(name, source, entries, tuple(shape)))
        out = parts[0] if len(parts) == 1 else self.sum(name, *parts)
        self._moved[out] = node, at
        return out

    def reshaped(self, name: str, x: int, shape: Sequence[int]) -> int:
        """The same values in another shape, which are not moved."""
        node = self.nodes[x]
        if math.prod(shape) != node.size:
            raise ShapeError(f"{name}: shape {shown(node.shape)} cannot become {shown(shape)}")
        return self._viewed(name, x, tuple(shape))

    def _viewed(self, name: str, x: int, shape: Shape) -> int:
        if isinstance(self.nodes[x], Reshaped):
            (x,) = self.nodes[x].inputs
        if self.nodes[x].shape == shape:
            return x
        out = self.add(Reshaped(name=name, inputs=(x,), shape=shape))
        self._moved[out] = self.origin(x)
        return out

    # ---- functions, sums and products

    def function(self, name: str, x: int, function: str, coefficients: Any = ()) -> int:
        """A function of each value, by its name in `FUNCTIONS`; a `polynomial` has coefficients of
        1, x, x², …; `ParameterError` for another name, and for a polynomial without any."""
        powers = numbers(name, "coefficients", coefficients)
        known = [*FUNCTIONS, "polynomial"]
        needed = function == "polynomial"
        if function not in known or powers.ndim != 1 or needed != bool(powers.size):
            raise ParameterError(
                f"{name}: {shown(function)} with coefficients of shape {shown(powers.shape)}: it "
                f"has to be one of {', '.join(known)}, of which the last one alone has coefficients"
            )
        return self.add(
            Function(
                name=name,
                inputs=(x,),
                shape=self.nodes[x].shape,
                function=function,
                coefficients=tuple(map(float, powers)),
            )
        )

    def sum(self, name: str, *operands: int) -> int:
        """The sum of tensors; that of polynomials of one tensor is a polynomial."""
        shape = self._one_shape(name, operands)
        sources, powers = zip(*self._polynomials(operands), strict=True)
        if len(set(sources)) == 1 and max(map(len, powers)) > 2:
            total = functools.reduce(np.polynomial.polynomial.polyadd, powers)
            return self.function(name, sources[0], "polynomial", total)
        return self.add(Sum(name=name, inputs=operands, shape=shape))

    def product(self, name: str, x: int, y: int) -> int:
        """The product of two tensors; that of polynomials of one tensor is a polynomial, and
        x·sigmoid(x) and x·(1 + erf(x/√2)) are silu and 2·gelu."""
        shape = self._one_shape(name, (x, y))
        (source, powers), (other, more) = self._polynomials((x, y))
        if source == other and len(powers) + len(more) - 2 <= MOST_POWER:
            product = np.polynomial.polynomial.polymul(powers, more)
            return self.function(name, source, "polynomial", product)
        for a, b in ((x, y), (y, x)):
            named = self._named(name, a, b)
            if named is not None:
                return named
        return self.add(Product(name=name, inputs=(x, y), shape=shape))

    def _one_shape(self, name: str, operands: Sequence[int]) -> Shape:
        shapes = {self.nodes[i].shape for i in operands}
        if len(shapes) > 1:
            raise ShapeError(f"{name}: shapes {' and '.join(map(shown, sorted(shapes)))} differ")
        return shapes.pop()

    def _polynomials(self, operands: Sequence[int]) -> list[tuple[int, Sequence[float]]]:
        """For each tensor the one that it is a polynomial of, and the coefficients."""
        nodes = [self.nodes[x] for x in operands]
        sources = {node.inputs[0] for node in nodes if _is_polynomial(node)}
        out: list[tuple[int, Sequence[float]]] = []
        for x, node in zip(operands, nodes, strict=True):
            if _is_polynomial(node):
                out.append((node.inputs[0], node.coefficients))
            else:
                own = x, 1.0, 0.0
                source, factor, shift = own if x in sources else self._scalars.get(x, own)
                out.append((source, (shift, factor)))
        return out

    def _named(self, name: str, x: int, y: int) -> int | None:
        """The product as a function that has a name, if y is what that function needs beside x."""
        x, first, start = self._scalars.get(x, (x, 1.0, 0.0))
        y, factor, shift = self._scalars.get(y, (y, 1.0, 0.0))
        gate = self.nodes[y]
        if start or not isinstance(gate, Function):
            return None
        (inner,) = gate.inputs
        source, by, plus = self._scalars.get(inner, (inner, 1.0, 0.0))
        if source != x or plus:
            return None
        if gate.function == "sigmoid" and by == 1 and not shift:
            return self.affine(name, self.function(name, x, "silu"), first * factor, 0.0)
        if gate.function == "erf" and abs(by * math.sqrt(2) - 1) < 1e-6 and shift == factor:
            return self.affine(name, self.function(name, x, "gelu"), 2 * first * factor, 0.0)
        return None

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


def _is_polynomial(node: Node) -> TypeGuard[Function]:
    return isinstance(node, Function) and node.function == "polynomial"


def numbers(name: str, what: str, values: Any) -> Numbers:
    """An array of doubles. `ParameterError` if one is not finite."""
    out = np.asarray(values, dtype=np.float64)
    wrong = np.count_nonzero(~np.isfinite(out))
    if wrong:
        raise ParameterError(f"{name}: {wrong} of {out.size} numbers of the {what} are not finite")
    return out


def _window_means(length: int, windows: int) -> Numbers:
    """The matrix of means of windows along an axis."""
    out = np.zeros((windows, length))
    for i, row in enumerate(out):
        row[i * length // windows : -(-(i + 1) * length // windows)] = 1
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _collected(columns: Numbers, places: Indices, size: int) -> Numbers:
    """A matrix of `size` columns: the sums of those that are given for each place."""
    out = np.zeros((size, len(columns)))
    np.add.at(out, places, columns.T)
    return out.T


def _widened(kernel: Numbers, axis: int, gap: int, before: int, after: int) -> Numbers:
    """A kernel without gaps and with zeros at one side, so that equal padding does what unequal
    padding does."""
    dense = list(kernel.shape)
    dense[axis] = gap * (kernel.shape[axis] - 1) + 1
    out = np.zeros(dense)
    out[(slice(None),) * axis + (slice(None, None, gap),)] = kernel
    most = max(before, after)
    return np.pad(out, [(most - before, most - after) if i == axis else (0, 0) for i in range(4)])


def _bias(name: str, bias: Any, shape: Shape) -> Numbers | None:
    if bias is None:
        return None
    values = numbers(name, "bias", bias)
    if values.shape != shape:
        raise ShapeError(f"{name}: a bias of shape {shown(values.shape)} is not {shown(shape)}")
    return values
