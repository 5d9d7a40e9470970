"""Tensors that have the axis of the batch anywhere, as frameworks have them, in a graph without
it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._core.text import shown
from ..errors import ParameterError, ShapeError
from ._builder import MOST_POWER, Builder
from ._graph import Graph, Indices, Shape

BATCH = 2
"""Samples that a batch has while a model is read: two are enough to see whether it mixes them."""

HINTS = {
    "max_*pool": "average pooling takes its place",
    "softmax": "let the model return what softmax is applied to",
    "(layer|group|instance)_*norm": "batch normalisation, whose statistics are known, can be",
    "abs|clamp|clip|minimum|maximum": "relu can be",
    "gru": "LSTM or RNN can be",
}
"""What can be done instead of an operation whose name matches."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A node of the graph, and which axis of the model's tensor is the batch."""

    node: int
    batch: int = 0


Operand: TypeAlias = "Tensor | np.ndarray[Any, Any] | float"


class Batched:
    """A `Builder` whose tensors have an axis of the batch. Errors are the builder's; those that
    are raised here do not know the name of the operation, which the readers add."""

    def __init__(self, shape: Sequence[int], batch: int = BATCH) -> None:
        if not shape or min(shape) < 1:
            raise ShapeError(f"shape: {shown(tuple(shape))} has no values for each sample")
        self.builder = Builder(shape)
        self.batch = batch
        """Samples that a batch has while the model is read."""

    def shape(self, x: Tensor) -> Shape:
        """The shape of a tensor, with the axis of the batch."""
        own = self.builder.nodes[x.node].shape
        return (*own[: x.batch], self.batch, *own[x.batch :])

    def graph(self, x: Tensor) -> Graph:
        """The graph whose result is a tensor."""
        if x.batch:
            raise ShapeError(f"the batch is axis {x.batch} of the result; it has to be axis 0")
        return self.builder.graph(x.node)

    def _first(self, name: str, x: Tensor) -> int:
        if x.batch:
            raise ShapeError(f"{name}: the batch is axis {x.batch} of the operand, not axis 0")
        return x.node

    # ---- moves

    def places(self, operands: Sequence[Tensor]) -> list[Indices]:
        """An array of each operand's shape that has in each place a number of its own, for `moved`;
        -1 stands for a 0."""
        sizes = [self.builder.nodes[x.node].size for x in operands]
        out, start = [], 0
        for x, size in zip(operands, sizes, strict=True):
            own = self.builder.nodes[x.node].shape
            each = start + np.arange(size).reshape(own)
            samples = [each + i * sum(sizes) for i in range(self.batch)]
            out.append(np.stack(samples, axis=x.batch))
            start += size
        return out

    def moved(self, name: str, operands: Sequence[Tensor], places: Any) -> Tensor | None:
        """The tensor whose values come from `places`; None if all are 0. `ShapeError` if samples
        of the batch are mixed."""
        codes = np.asarray(places)
        if not (codes >= 0).any():
            return None
        total = sum(self.builder.nodes[x.node].size for x in operands)
        for axis, length in enumerate(codes.shape):
            if length == self.batch:
                first, *others = np.moveaxis(codes, axis, 0)
                if all(
                    np.array_equal(np.where(first < 0, -1, first + i * total), other)
                    for i, other in enumerate(others, 1)
                ):
                    nodes = [x.node for x in operands]
                    return Tensor(self.builder.moved(name, nodes, first, first.shape), axis)
        raise ShapeError(
            f"{name}: a tensor of shape {shown(codes.shape)} mixes the samples of a batch of "
            f"{self.batch}; their axis has to stay as it is"
        )

    def move(self, name: str, x: Tensor, how: Callable[[Indices], Indices]) -> Tensor:
        """What a function makes of an array, if it does no more than to move values."""
        out = self.moved(name, [x], how(self.places([x])[0]))
        assert out is not None
        return out

    def _broadcast(self, name: str, shape: Shape, x: Tensor) -> Tensor:
        if shape == self.shape(x):
            return x
        return self.move(name, x, lambda places: np.broadcast_to(places, shape))

    def _shape_of_both(self, name: str, x: Any, y: Any) -> Shape:
        shapes = [
            self.shape(each) if isinstance(each, Tensor) else np.shape(each) for each in (x, y)
        ]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            raise ShapeError(
                f"{name}: shapes {' and '.join(map(shown, shapes))} differ, for a batch of "
                f"{self.batch}"
            ) from None

    # ---- arithmetic

    def affine(self, name: str, x: Tensor, factor: Any, shift: Any) -> Tensor | None:
        """`factor * x + shift` value by value, for constants that broadcast; None if it is 0."""
        shape = self._shape_of_both(name, x, factor)
        x = self._broadcast(name, shape, x)
        x = self._broadcast(name, self._shape_of_both(name, x, shift), x)
        times, plus = self._constant(name, x, factor), self._constant(name, x, shift)
        if not (times.any() or plus.any()):
            return None
        return Tensor(self.builder.affine(name, x.node, times, plus), x.batch)

    def divided(self, name: str, x: Tensor, divisor: Any) -> Tensor:
        """The quotient by constants. `ParameterError` if one is 0."""
        by = np.asarray(divisor, dtype=np.float64)
        if not by.all():
            raise ParameterError(f"{name}: {np.sum(by == 0)} of {by.size} divisors are 0")
        out = self.affine(name, x, 1 / by, 0.0)
        assert out is not None
        return out

    def _constant(self, name: str, x: Tensor, constant: Any) -> Any:
        values = np.broadcast_to(np.asarray(constant, dtype=np.float64), self.shape(x))
        first, *others = np.moveaxis(values, x.batch, 0)
        if not all(np.array_equal(first, other, equal_nan=True) for other in others):
            raise ShapeError(f"{name}: a constant differs from sample to sample of the batch")
        return first

    def sum(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """The sum of two tensors, whose shapes broadcast."""
        x, y = self._together(name, x, y)
        return Tensor(self.builder.sum(name, x.node, y.node), x.batch)

    def product(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """The product of two tensors, whose shapes broadcast."""
        x, y = self._together(name, x, y)
        return Tensor(self.builder.product(name, x.node, y.node), x.batch)

    def _together(self, name: str, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        shape = self._shape_of_both(name, x, y)
        x, y = self._broadcast(name, shape, x), self._broadcast(name, shape, y)
        if x.batch != y.batch:
            raise ShapeError(
                f"{name}: the batch is axis {x.batch} of one operand, {y.batch} of the other"
            )
        return x, y

    def function(self, name: str, x: Tensor, function: str, coefficients: Any = ()) -> Tensor:
        """A function of each value."""
        return Tensor(self.builder.function(name, x.node, function, coefficients), x.batch)

    def power(self, name: str, x: Tensor, exponent: Any) -> Tensor:
        """`ParameterError` if the exponent is not one of 1 … 31."""
        given = np.asarray(exponent)
        if given.size != 1 or given.item() not in range(1, MOST_POWER + 1):
            raise ParameterError(
                f"{name}: the exponent {shown(given.tolist())} is not a whole number of "
                f"1 … {MOST_POWER}"
            )
        return self.function(name, x, "polynomial", [0] * int(given.item()) + [1])

    def linear(self, name: str, x: Tensor, weight: Any, bias: Any = None) -> Tensor:
        """`x @ weight.T + bias` along the last axis."""
        if x.batch == len(self.shape(x)) - 1:
            raise ShapeError(f"{name}: the last axis of the operand is the batch")
        return Tensor(self.builder.linear_each(name, x.node, weight, bias), x.batch)

    def summed(
        self, name: str, x: Tensor, axes: Any, keep: bool = False, mean: bool = False
    ) -> Tensor:
        """Sums or means along axes: one, several, or all with None."""
        shape = self.shape(x)
        given = range(len(shape)) if axes is None else np.atleast_1d(axes).tolist()
        if not all(-len(shape) <= axis < len(shape) for axis in given):
            raise ShapeError(f"{name}: a tensor of shape {shown(shape)} has no axes {given}")
        over = sorted({axis % len(shape) for axis in given})
        if x.batch in over:
            raise ShapeError(f"{name}: axis {x.batch} is the batch, whose samples stay apart")
        count = int(np.prod([shape[axis] for axis in over]))
        own = [axis - (axis > x.batch) for axis in over]
        node = self.builder.summed(name, x.node, own, 1 / count if mean else 1.0)
        out = Tensor(node, x.batch - sum(axis < x.batch for axis in over))
        if not keep:
            return out
        thin = tuple(1 if axis in over else n for axis, n in enumerate(shape))
        return self.move(name, out, lambda places: places.reshape(thin))

    # ---- images

    def windows(self, name: str, x: Tensor, weight: Any, bias: Any = None, **how: Any) -> Tensor:
        """A convolution, as `Builder.windows`."""
        return Tensor(self.builder.windows(name, self._first(name, x), weight, bias, **how))

    def average(self, name: str, x: Tensor, *how: Any, **more: Any) -> Tensor:
        """Means of windows, as `Builder.average`."""
        return Tensor(self.builder.average(name, self._first(name, x), *how, **more))

    def average_to(self, name: str, x: Tensor, size: Sequence[int | None]) -> Tensor:
        """Means of the windows that leave a size; None leaves an axis as it is. Where the size does
        not divide the image, windows overlap, as torch's do."""
        image = self.shape(x)[2:]
        wanted = [own if n is None else n for own, n in zip(image, size, strict=True)]
        if any(n < 1 for n in wanted):
            raise ShapeError(f"{name}: {shown(tuple(wanted))} windows leave nothing")
        if any(own % n for own, n in zip(image, wanted, strict=True)):
            return Tensor(self.builder.adapted(name, self._first(name, x), wanted))
        kernel = [own // n for own, n in zip(image, wanted, strict=True)]
        return self.average(name, x, kernel, kernel)

    def normalised(
        self, name: str, x: Tensor, mean: Any, variance: Any, weight: Any, bias: Any, epsilon: float
    ) -> Tensor:
        """A normalisation of channels by given statistics: part of the map before it."""
        at, spread, weights, biases = (
            np.asarray(each, dtype=np.float64) for each in (mean, variance, weight, bias)
        )
        factor = weights / np.sqrt(spread + epsilon)
        shift = biases - at * factor
        return Tensor(self.builder.scaled(name, self._first(name, x), factor, shift))
